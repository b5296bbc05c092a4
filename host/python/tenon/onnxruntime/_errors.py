"""ONNX Runtime's exceptions, and which of them stands for which of Tenon's.

They are subclasses of Exception alone, as there. ``__cause__`` is Tenon's exception, with node, provider, cause and cure.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import tenon


class Fail(Exception):
    """Code 1."""


class InvalidArgument(Exception):
    """Code 2."""


class NoSuchFile(Exception):
    """Code 3."""


class NoModel(Exception):
    """Code 4."""


class EngineError(Exception):
    """Code 5."""


class RuntimeException(Exception):
    """Code 6."""


class InvalidProtobuf(Exception):
    """Code 7."""


class ModelLoaded(Exception):
    """Code 8."""


class NotImplemented(Exception):  # noqa: A001 (ONNX Runtime's name)
    """Code 9."""


class InvalidGraph(Exception):
    """Code 10."""


class EPFail(Exception):
    """Code 11."""


class ModelLoadCanceled(Exception):
    """Code 12."""


class ModelRequiresCompilation(Exception):
    """Code 13."""


class NotFound(Exception):
    """Code 14."""


class DeviceReset(Exception):
    """Code 15."""


_CODES: tuple[tuple[type[Exception], int, str], ...] = (
    (Fail, 1, "FAIL"),
    (InvalidArgument, 2, "INVALID_ARGUMENT"),
    (NoSuchFile, 3, "NO_SUCHFILE"),
    (RuntimeException, 6, "RUNTIME_EXCEPTION"),
    (InvalidProtobuf, 7, "INVALID_PROTOBUF"),
    (NotImplemented, 9, "NOT_IMPLEMENTED"),
    (InvalidGraph, 10, "INVALID_GRAPH"),
    (EPFail, 11, "EP_FAIL"),
    (ModelLoadCanceled, 12, "MODEL_LOAD_CANCELED"),
)
_NAMES = {kind: (code, name) for kind, code, name in _CODES}


def make(kind: type[Exception], text: str) -> Exception:
    """An exception with ONNX Runtime's prefix."""
    code, name = _NAMES[kind]
    return kind(f"[ONNXRuntimeError] : {code} : {name} : {text}")


_KINDS: dict[type[tenon.Error], type[Exception]] = {
    tenon.InvalidModelError: InvalidGraph,
    tenon.UnsupportedError: NotImplemented,
    tenon.ProviderMissingError: EPFail,
    tenon.ProviderRefusedError: EPFail,
    tenon.DeviceError: EPFail,
    tenon.InvalidInputError: InvalidArgument,
    tenon.ConfigError: InvalidArgument,
    tenon.OutOfMemoryError: RuntimeException,
    tenon.InternalError: RuntimeException,
}


_NOT_FOUND = 5  # TENON_NOT_FOUND, of a file


def translated(error: tenon.Error, loading: bool = False) -> Exception:
    """The exception of ONNX Runtime for one of Tenon."""
    kind = _KINDS.get(type(error), Fail)
    text = str(error)
    if loading:
        if isinstance(error, tenon.InvalidInputError) and error.status == _NOT_FOUND:
            kind = NoSuchFile
        elif isinstance(error, tenon.InvalidModelError) and "not an ONNX model" in text:
            kind = InvalidProtobuf
        elif isinstance(error, tenon.CancelledError):
            kind = ModelLoadCanceled
    elif isinstance(error, tenon.CancelledError):
        text = f"Exiting due to terminate flag being set to true. {text}"
    return make(kind, text)


# ---- What cannot be honoured ----

RAISES: dict[str, str] = {}
"""Qualified names that raise NotImplemented, with the reason. docs/onnxruntime-names.md is made of it."""
WARNS: dict[str, str] = {
    "ExecutionMode.ORT_PARALLEL": "the steps of one Run are sequential; several Runs may be active at once",
    "ExecutionOrder.MEMORY_EFFICIENT": "Tenon has one order of the nodes",
    "ExecutionOrder.PRIORITY_BASED": "Tenon has one order of the nodes",
    "InferenceSession.set_ep_dynamic_options": "providers take their options when a session is made",
}
"""Qualified names without effect, which warn once."""
_warned: set[str] = set()


def warn_once(what: str, reason: str) -> None:
    """A UserWarning, the first time."""
    if what not in _warned:
        _warned.add(what)
        warnings.warn(f"{what} has no effect on Tenon: {reason}", UserWarning, stacklevel=3)


def refuse(what: str) -> NoReturn:
    """Raises NotImplemented for one of RAISES."""
    raise make(NotImplemented, f"{what}: {RAISES[what]}")


def raises(name: str, reason: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function that Tenon does not have: it keeps its signature, and raises."""
    RAISES[name] = reason

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def refused(*_: Any, **__: Any) -> NoReturn:
            refuse(name)

        return refused

    return decorate


def warns(name: str, reason: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function without effect: it runs, and warns the first time."""
    WARNS[name] = reason

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def warned(*args: Any, **more: Any) -> Any:
            warn_once(name, reason)
            return function(*args, **more)

        return warned

    return decorate
