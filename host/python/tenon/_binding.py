"""Inputs and outputs that are bound to memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _tenon
from ._errors import InvalidInputError
from ._values import EXTENDED, Value, number_of

if TYPE_CHECKING:
    from ._session import Session


class Binding:
    """Inputs and outputs of a session that are bound once and run often. For one thread at a time.

    A Run with shapes that do not change allocates nothing and looks nothing up. Read ``outputs`` after a Run: arrays that were
    bound, which the next Run overwrites, or new ones.
    """

    def __init__(self, session: Session, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        self._session = session
        self._raw = _tenon.Slots(session._raw)
        self._input_index = {info.name: i for i, info in enumerate(session.inputs)}
        self._output_index = {info.name: i for i, info in enumerate(session.outputs)}
        self._bound: dict[str, np.ndarray] = {}
        for name, obj in inputs.items():
            self.bind_input(name, obj)
        for name, array in outputs.items():
            self.bind_output(name, array)

    def _index(self, table: dict[str, int], name: str, side: str) -> int:
        if name not in table:
            raise InvalidInputError(f"the model has no {side} '{name}'; it has {', '.join(table)}")
        return table[name]

    def bind_input(self, name: str, obj: Any) -> None:
        """Every Run from now on reads this array, tensor or Value. A contiguous array is not copied: write into it between Runs."""
        self._raw.bind_input(self._index(self._input_index, name, "input"), self._session._convert(name, obj))

    def bind_output(self, name: str, array: np.ndarray) -> None:
        """Every Run from now on writes this output into the array, which is writable and contiguous and has its type and shape."""
        index = self._index(self._output_index, name, "output")
        if not isinstance(array, np.ndarray):
            raise InvalidInputError(f"output '{name}' is bound to a numpy array, not to {type(array).__name__}")
        number = number_of(array.dtype)
        if number == 0 or not array.flags.c_contiguous or not array.flags.writeable or not array.dtype.isnative:
            raise InvalidInputError(f"the array for output '{name}' must be writable, contiguous and of a type of ONNX")
        if number in EXTENDED:
            if EXTENDED[number][1] < 8:
                raise InvalidInputError(f"output '{name}' has packed elements and cannot be bound")
            self._raw.bind_output(index, array.view(np.uint16 if array.itemsize == 2 else np.uint8), number, array.shape)
        else:
            self._raw.bind_output(index, array, number, array.shape)
        self._bound[name] = array

    def keep_output(self, name: str, keep: bool = True) -> None:
        """True: the output stays in the memory of the device that makes it, as a Value. False: it comes to the host."""
        self._raw.keep_output(self._index(self._output_index, name, "output"), int(keep))
        self._bound.pop(name, None)

    def run(self, *, timeout: float | None = None, cancel: Any = None, state: Any = None) -> None:
        """Runs the model with what is bound. As ``Session.run``."""
        self._raw.run(
            0 if timeout is None else max(1, int(timeout * 1e9)), cancel, state._raw if state is not None else None, 0
        )

    def output(self, name: str) -> Any:
        """An output of the last Run: the bound array, or an array that later Runs do not change."""
        if name in self._bound:
            return self._bound[name]
        return self._raw.output(self._index(self._output_index, name, "output"))

    @property
    def outputs(self) -> dict[str, Any]:
        """All outputs of the last Run by name."""
        return {name: self.output(name) for name in self._output_index}


__all__ = ["Binding", "Value"]
