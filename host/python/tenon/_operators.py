"""Operators that the application runs itself, as functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _tenon
from ._errors import InvalidInputError
from ._values import NAMES, Value, value_of

_KINDS = ("none", "tensor", "sequence", "optional", "map", "sparse")
_TYPES = {float: 1, int: 2, str: 3, np.ndarray: 4, list[float]: 6, list[int]: 7, list[str]: 8}
_MANY = 0xFFFFFFFF

class Type:
    """What is known of an input of an operator."""

    __slots__ = ("dtype", "kind", "shape", "text", "value")

    def __init__(self, entry: tuple, value: Any) -> None:
        _, kind, number, dims, names, self.text, _ = entry
        self.kind = _KINDS[kind]
        self.dtype = NAMES[number]
        self.shape = None if dims is None else tuple(s if s >= 0 else (n or None) for s, n in zip(dims, names, strict=True))
        self.value = value
        """Of a constant; else None."""

    def __repr__(self) -> str:
        return f"<tenon.Type {self.text}>"


def type_text(told: Any, node: str) -> str | None:
    """What `infer` gave for an output, as Tenon writes types: a text, (dtype, shape), a Type, or None."""
    if told is None or isinstance(told, str):
        return told
    if isinstance(told, Type):
        return told.text
    if isinstance(told, tuple) and len(told) == 2:
        dtype, shape = told
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
        if shape is None:
            return f"{name}[?...]"
        return f"{name}[{','.join('?' if size is None else str(size) for size in shape)}]"
    raise InvalidInputError(f"node '{node}': a type is a text such as 'float32[N,4]', or (dtype, shape), not {told!r}")


class _Node:
    """One node of a session."""

    __slots__ = ("attributes", "kinds", "name")

    def __init__(self, name: str, attributes: dict[str, Any], types: list[tuple | None]) -> None:
        self.name = name
        self.attributes = attributes
        self.kinds = [(entry[1], entry[2], entry[5]) if entry else (0, 0, "") for entry in types]


class Operators(_tenon.Operators):
    """A set of operators, for ``Session(model, operators=...)``. Sessions that were made keep what they had."""

    __slots__ = ()

    def add(  # type: ignore[override]
        self,
        name: str,
        run: Callable[..., Any],
        infer: Callable[..., Any] | str | Sequence[str],
        *,
        domain: str,
        since_version: int = 1,
        inputs: int | tuple[int, int | None] = 1,
        outputs: int | tuple[int, int | None] = 1,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Adds an operator.

        ``run(*inputs, **attributes)`` gives the output, or a tuple of them: arrays, lists and dicts as for ``Session.run``. Inputs
        are copies, None where they are left out.

        ``infer(*types, **attributes)`` gives the type of the output, or a list of types: a text ("float32[N,4]"), ``(dtype, shape)``,
        or None for what the model tells. A ``Type`` has ``kind``, ``dtype``, ``shape``, ``text``, and ``value`` where it is a
        constant. A text or a list of texts instead of a function is the same for every node. It is a promise: ``run`` fails when
        it breaks it.

        ``inputs`` and ``outputs``: how many, or (least, most), with None for any number. ``attributes``: the type of each
        attribute that nodes must have (int, float, str, numpy.ndarray, list[int], list[float], list[str]), or its default value;
        None: any attributes.

        Both functions may be called on several threads at a time, also of one session. They must not use the session that calls
        them. An exception ends the Run with an OperatorError that names the node, and is its ``__cause__``.
        """
        defaults: dict[str, Any] = {}
        rows: list[tuple[str, int, int]] = []
        for key, kind in (attributes or {}).items():
            required = kind in _TYPES if not isinstance(kind, list | np.ndarray) else False
            if not required:
                defaults[key] = kind
                first = kind[0] if isinstance(kind, list) and kind else 0
                kind = list[type(first)] if isinstance(kind, list) else type(kind)  # type: ignore[misc]
            if kind not in _TYPES:
                raise InvalidInputError(f"attribute '{key}': {kind!r} is no type of an attribute")
            rows.append((key, _TYPES[kind], int(required)))

        def infer_all(node: str, given: dict[str, Any], types: list, values: list, count: int) -> list[str | None]:
            if callable(infer):
                known = [None if entry is None else Type(entry, value) for entry, value in zip(types, values, strict=True)]
                told = infer(*known, **defaults | given)
            else:
                told = infer
            told = told if isinstance(told, list) else [told]
            if len(told) != count:
                raise InvalidInputError(f"node '{node}' has {count} outputs, and infer gave {len(told)} types")
            return [type_text(one, node) for one in told]

        def create(node: str, given: dict[str, Any], types: list) -> _Node:
            return _Node(node, defaults | given, types)

        def run_all(node: _Node, given: list, count: int) -> list[Value | None]:
            made = run(*given, **node.attributes)
            made = made if isinstance(made, tuple) else (made,)
            if len(made) != count:
                raise InvalidInputError(f"node '{node.name}' has {count} outputs, and the function gave {len(made)}")
            return [
                None if one is None and kind == 0 else value_of(one, kind, number, "", text)
                for one, (kind, number, text) in zip(made, node.kinds, strict=True)
            ]

        super().add(
            domain, name, since_version, *_range(inputs), *_range(outputs), rows, attributes is None, infer_all, create, run_all
        )

    def register(self, name: str, infer: Any, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """``add`` as a decorator of ``run``."""

        def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
            self.add(name, run, infer, **more)
            return run

        return decorate


def _range(count: int | tuple[int, int | None]) -> tuple[int, int]:
    least, most = (count, count) if isinstance(count, int) else count
    return least, _MANY if most is None else most

