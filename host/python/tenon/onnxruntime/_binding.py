"""IOBinding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tenon

from ._devices import OrtDevice
from ._ortvalue import OrtValue, OrtValueVector, at_address, check_host
from ._types import element_type

if TYPE_CHECKING:
    from ._session import Session

_KEEP = 1


class IOBinding:
    """Memory for the inputs and outputs of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}  # None: Tenon allocates it
        self._on_device: set[str] = set()
        self._made: list[Any] = []

    @property
    def _iobinding(self) -> IOBinding:
        return self

    def _check_name(self, name: str, side: str) -> None:
        infos = self._session._session.inputs if side == "input" else self._session._session.outputs
        if all(info.name != name for info in infos):
            from ._errors import InvalidArgument, make

            raise make(InvalidArgument, f"the model has no {side} '{name}'; it has {', '.join(info.name for info in infos)}")

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """An array in host memory, which is kept."""
        self._check_name(name, "input")
        self._inputs[name] = arr_on_cpu

    def bind_input(
        self, name: str, device_type: Any, device_id: Any = 0, element_type: Any = None, shape: Sequence[int] = (), buffer_ptr: int = 0
    ) -> None:
        """The address of a tensor in host memory, which the caller keeps."""
        self._check_name(name, "input")
        check_host(device_type if isinstance(device_type, OrtDevice) else OrtDevice.make(device_type, device_id))
        self._inputs[name] = at_address(buffer_ptr, _number(element_type), shape)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """An OrtValue."""
        self._check_name(name, "input")
        self._inputs[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """Nothing to wait for: Runs copy what a device needs."""

    def bind_output(
        self,
        name: str,
        device_type: Any = "cpu",
        device_id: Any = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Memory at an address; or, without one, memory that the Run allocates, on a device when it is named."""
        self._check_name(name, "output")
        device = device_type if isinstance(device_type, OrtDevice) else OrtDevice.make(device_type, device_id)
        self._on_device.discard(name)
        if buffer_ptr is None:
            if device.device_type() != 0:
                self._on_device.add(name)
            self._outputs[name] = None
            return
        if element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        check_host(device)
        self._outputs[name] = at_address(buffer_ptr, _number(element_type), shape)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """An OrtValue of the right type and shape, which Runs write."""
        self._check_name(name, "output")
        self._outputs[name] = ortvalue

    def synchronize_outputs(self) -> None:
        """Nothing to wait for: a Run ends when its outputs are there."""

    def _memory(self, name: str) -> Any:
        from tenon._session import writable_value

        bound = self._outputs[name]
        if isinstance(bound, OrtValue):
            return bound.__tenon_value__()
        return None if bound is None else writable_value(bound, name)

    def _run(self, run_options: Any) -> None:
        session = self._session
        names = tuple(self._outputs)
        if not names:
            raise tenon.InvalidInputError("no output is bound")
        if session._dims:
            session._check_dims(self._inputs)
        cancel = run_options._cancel if run_options is not None else None
        flags = _KEEP if self._on_device else 0
        made = session._run(self._inputs, names, [self._memory(name) for name in names], 0, cancel, None, flags, False)
        self._made = [
            value.to_host() if isinstance(value, tenon.Value) and name not in self._on_device else value
            for name, value in zip(names, made, strict=True)
        ]

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last Run, in the order in which they were bound."""
        bound = list(self._outputs.values())
        return [
            kept if isinstance(kept, OrtValue) else OrtValue(value if isinstance(value, tenon.Value) else tenon.Value.of(value))
            for kept, value in zip(bound, self._made, strict=False)
        ]

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        """The same as a vector."""
        return OrtValueVector(self.get_outputs())

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The outputs of the last Run as arrays."""
        made = [value.numpy() if isinstance(value, tenon.Value) else value for value in self._made]
        return [np.array(value) if isinstance(value, np.ndarray) else value for value in made]

    def clear_binding_inputs(self) -> None:
        """No input is bound."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """No output is bound."""
        self._outputs.clear()
        self._on_device.clear()
        self._made = []


def _number(given: Any) -> int:
    return element_type(given)
