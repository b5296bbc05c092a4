"""Sessions: models that are ready to run."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import _tenon
from ._async import Pending, completions
from ._binding import Binding
from ._config import Config, config_of
from ._errors import InvalidInputError
from ._explain import Explanation
from ._operators import Operators
from ._profile import Profile
from ._providers import register_packaged
from ._values import NAMES, Value, value_of

_KINDS = ("none", "tensor", "sequence", "optional", "map", "sparse")
_KEEP = 1  # TENON_RUN_KEEP_OUTPUTS
_ALL_VALUES = 1  # TENON_SESSION_ALL_VALUES


@dataclasses.dataclass(frozen=True)
class Info:
    """An input or output of a model."""

    name: str
    kind: str
    """ "tensor", "sequence", "optional" or "map"."""
    dtype: str
    """Name of the element type, of the innermost tensor: "float32"."""
    shape: tuple[int | str | None, ...] | None
    """A number, the name of a dimension that may vary, or None where that has no name; None when the rank is not known."""
    type: str
    """As text: "float32[N,3,224,224]", "seq(map(int64,float32[]))"."""
    has_default: bool
    """An input that may be left out."""
    number: int = dataclasses.field(default=0, repr=False)
    """Of the element type, as in ONNX."""


@dataclasses.dataclass(frozen=True)
class Instance:
    """A provider on a device, as a session uses it."""

    name: str
    """As in the config: "cuda/gpu:0"."""
    provider: str
    version: str
    library: str
    """The path of its file."""


class Outputs(dict):
    """The outputs of a Run by name, in the model's order: ``out["scores"]``, ``out[0]``, ``scores, boxes = out.values()``."""

    __slots__ = ()

    def __missing__(self, key: Any) -> Any:
        if isinstance(key, int):
            return tuple(self.values())[key]
        raise KeyError(f"{key!r} is no output; the outputs are {', '.join(map(repr, self))}")


class Cancel(_tenon.Cancel):
    """One flag that stops the Runs to which it is given, and stays set. Any thread may use it."""

    __slots__ = ()

    def trigger(self) -> None:
        """Stops the Runs: they raise CancelledError."""
        super().trigger()


class State:
    """What one sequence keeps between its Runs, such as a key-value cache (``state.pairs`` in the config).

    Two Runs may not use a state at the same time.
    """

    def __init__(self, session: Session) -> None:
        """A state before its first Run: empty, zero, or the default values of the inputs."""
        self._raw = _tenon.State(session._raw)
        self._pairs = session._raw.pairs()

    def reset(self) -> None:
        """Makes the state as it was created; it keeps its memory."""
        self._raw.reset()

    def read(self, name: str) -> Any:
        """A copy of the value of the pair with this input or output."""
        for index, pair in enumerate(self._pairs):
            if name in pair:
                return self._raw.read(index)
        raise InvalidInputError(f"'{name}' is no input or output of a state pair")


def _info(entry: tuple) -> Info:
    name, kind, number, dims, dim_names, text, has_default = entry
    shape = None
    if dims is not None:
        shape = tuple(size if size >= 0 else (label or None) for size, label in zip(dims, dim_names, strict=True))
    return Info(name, _KINDS[kind], NAMES[number], shape, text, has_default, number)


def _convert(inputs: dict[str, Info], name: str, obj: Any) -> Value:
    info = inputs.get(name)
    if info is None:  # the library says that there is no such input
        return value_of(obj, 1 if isinstance(obj, np.ndarray) else 0, 0, name)
    return value_of(obj, _KINDS.index(info.kind), info.number, name, info.type)


def timeout_ns(timeout: float | None) -> int:
    """Seconds as the deadline of a Run; 0: none."""
    if timeout is None:
        return 0
    return max(1, int(timeout * 1e9))


class Session:
    """A model that is ready to run. Any number of threads may run it at the same time.

    Runs release the interpreter's lock. A session belongs to the process that made it: after ``fork`` the child's calls raise
    an Error, and the child makes sessions of its own. ``close``, or the end of a ``with`` block, frees it; otherwise it is freed
    with the last reference.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | bytes | bytearray | memoryview | Any,
        config: Config | Mapping[str, Any] | str | os.PathLike[str] | None = None,
        *,
        operators: Operators | None = None,
        external_data: str | os.PathLike[str] = "",
        all_values: bool = False,
        progress: Callable[[float, str], bool | None] | None = None,
    ) -> None:
        """Loads and compiles a model.

        ``model``: a path, the bytes of a file, or an ``onnx.ModelProto``. ``config``: a dict, a Config, or the path of a file.
        ``operators``: those that the application runs itself. ``external_data``: the folder of external data when the model is not a path. ``all_values``: every value of the graph
        is an output, for debugging. ``progress(fraction, stage)`` is called on this thread with a fraction in [0, 1]; False
        stops.

        Raises InvalidModelError, UnsupportedError (a node that no provider runs), ProviderMissingError,
        ProviderRefusedError, ConfigError, LimitError, CancelledError. Causes a TenonWarning for each provider that is passed
        over.
        """
        register_packaged()
        is_path = isinstance(model, str | os.PathLike)
        data: Any = model
        if not is_path and hasattr(model, "SerializeToString"):
            data = model.SerializeToString()
        elif not is_path:
            try:
                memoryview(data)
            except TypeError:
                raise InvalidInputError(
                    f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}"
                ) from None
        self._inputs: dict[str, Info] = {}
        # Only of the inputs: the extension keeps it, and must not keep the session alive.
        self._convert = functools.partial(_convert, self._inputs)
        self._raw = _tenon.Session(
            data, is_path, external_data, config_of(config), _ALL_VALUES if all_values else 0, progress, self._convert, operators
        )
        self.inputs: tuple[Info, ...] = tuple(_info(entry) for entry in self._raw.inputs())
        """What the model wants, in its order."""
        self.outputs: tuple[Info, ...] = tuple(_info(entry) for entry in self._raw.outputs())
        """What the model gives, in its order."""
        self._inputs.update((info.name, info) for info in self.inputs)
        self._names = tuple(info.name for info in self.outputs)

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        outputs: Iterable[str] | None = None,
        *,
        into: Mapping[str, np.ndarray | Value] | None = None,
        timeout: float | None = None,
        cancel: Cancel | None = None,
        state: State | None = None,
        keep_on_device: bool = False,
    ) -> Outputs:
        """Runs the model once.

        ``inputs``: by name, arrays of numpy or of a library with DLPack (torch), numbers, str, lists and dicts. Contiguous
        arrays are not copied; do not change them during the Run. Arrays keep their dtype, and one that the model does not
        take is an InvalidInputError; Python's numbers become what the input wants. ``outputs``: the names of those that are
        wanted; None: all. ``into``: writable contiguous arrays of the right type and shape that outputs are written into.
        ``timeout``: seconds from now. ``state``: of this session. ``keep_on_device``: tensors stay in the memory of a device
        as Values.

        Gives the outputs by name: numpy arrays that own their memory (of ml_dtypes for bfloat16, float8 and types of fewer
        than 8 bits; of object for strings), lists for sequences, dicts for maps, None for an empty optional.

        Raises InvalidInputError (wrong name, type or shape), DeadlineError, CancelledError, OutOfMemoryError, DeviceError,
        UnsupportedError (a shape that no provider serves).
        """
        names = None if outputs is None else (outputs,) if isinstance(outputs, str) else tuple(outputs)
        memory = None if into is None else self._into(into, names)
        made = self._raw.run(
            inputs if type(inputs) is dict else dict(inputs or {}),
            names,
            memory,
            timeout_ns(timeout),
            cancel,
            state._raw if state is not None else None,
            _KEEP if keep_on_device else 0,
            False,
        )
        return Outputs(zip(names or self._names, made))

    def _into(self, into: Mapping[str, Any], names: tuple[str, ...] | None) -> list:
        chosen = names or self._names
        for name in into:
            if name not in chosen:
                raise InvalidInputError(f"memory is given for '{name}', which is not among the outputs: {', '.join(chosen)}")
        return [None if name not in into else writable_value(into[name], name) for name in chosen]

    async def run_async(
        self,
        inputs: Mapping[str, Any] | None = None,
        outputs: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        state: State | None = None,
        keep_on_device: bool = False,
    ) -> Outputs:
        """As ``run``, for asyncio: a thread of Tenon runs the model, and the event loop goes on meanwhile.

        To cancel the task cancels the Run. Do not change input arrays before it has ended. At most 1024 Runs of a session may be
        waiting; one more raises OutOfMemoryError.
        """
        names = None if outputs is None else tuple(outputs)
        inbox, future = completions()
        pending = self._submit(inputs, names, timeout, None, state, keep_on_device, inbox, future)
        try:
            await future
        finally:
            if not future.done() or future.cancelled():
                pending.cancel()
        return pending.result()

    def submit(
        self,
        inputs: Mapping[str, Any] | None = None,
        outputs: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        cancel: Cancel | None = None,
        state: State | None = None,
        keep_on_device: bool = False,
    ) -> Pending:
        """As ``run``, but returns at once. ``Pending.result`` waits for the outputs. ``timeout`` counts from this call."""
        names = None if outputs is None else tuple(outputs)
        return self._submit(inputs, names, timeout, cancel, state, keep_on_device, None, None)

    def _submit(self, inputs, names, timeout, cancel, state, keep_on_device, inbox, tag) -> Pending:
        raw = self._raw.submit(
            dict(inputs or {}),
            names,
            None,
            timeout_ns(timeout),
            cancel,
            state._raw if state is not None else None,
            _KEEP if keep_on_device else 0,
            inbox,
            tag,
        )
        return Pending(raw, names or self._names, Outputs)

    def bind(self, inputs: Mapping[str, Any] | None = None, outputs: Mapping[str, Any] | None = None) -> Binding:
        """Memory for inputs and outputs that is named once and used by many Runs: the fastest way to run.

        ``inputs``: as for ``run``; later Runs read the same memory again. ``outputs``: writable arrays that every Run writes.
        """
        return Binding(self, inputs or {}, outputs or {})

    def state(self) -> State:
        """A state for one sequence of Runs."""
        return State(self)

    def to_device(self, name: str, obj: Any) -> Value:
        """A copy of an input in the memory in which the model reads it; the input may be used many times."""
        for index, info in enumerate(self.inputs):
            if info.name == name:
                return self._raw.to_device(index, self._convert(name, obj))
        raise InvalidInputError(f"the model has no input '{name}'; it has {', '.join(self._inputs)}")

    def default(self, name: str) -> Any:
        """The value of an input with ``has_default`` when a Run does not give it; a read-only array."""
        for index, info in enumerate(self.inputs):
            if info.name == name:
                return self._raw.default(index)
        raise InvalidInputError(f"the model has no input '{name}'; it has {', '.join(self._inputs)}")

    @property
    def instances(self) -> tuple[Instance, ...]:
        """The providers and devices that Runs use now, in the order in which they are asked for nodes."""
        return tuple(Instance(*entry) for entry in self._raw.instances())

    @property
    def metadata(self) -> dict[str, str]:
        """The model's metadata (``metadata_props``)."""
        return dict(self._raw.metadata())

    def explain(self) -> Explanation:
        """Which provider runs which node, and why the others do not. Notebooks show it as a table."""
        return Explanation(json.loads(self._raw.describe(1)))

    def plans(self) -> list[dict[str, Any]]:
        """The plans made so far, one for each set of input shapes: steps and memory ("Plans" in docs/json.md)."""
        return json.loads(self._raw.describe(2))["plans"]

    def describe(self) -> dict[str, Any]:
        """Inputs, outputs, opsets, operators and size ("Model" in docs/json.md)."""
        return json.loads(self._raw.describe(3))

    def profile(self, inputs: Mapping[str, Any] | None = None, *, runs: int = 10) -> Profile:
        """Where the time of a Run goes: the medians over ``runs`` Runs, after one that does not count."""
        feeds = {name: self._convert(name, obj) for name, obj in (inputs or {}).items() if obj is not None}
        traces = []
        for _ in range(max(1, runs) + 1):
            _, trace = self._raw.run(feeds, None, None, 0, None, None, 0, True)
            traces.append(json.loads(trace))
        return Profile(traces[1:])

    def close(self) -> None:
        """Frees the session when its Runs have ended. Later calls raise InvalidInputError."""
        self._raw.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        def side(infos: tuple[Info, ...]) -> str:
            return ", ".join(f"{info.name}: {info.type}" for info in infos)

        return f"<tenon.Session ({side(self.inputs)}) -> ({side(self.outputs)})>"


def writable_value(obj: Any, name: str) -> Value:
    """The memory of an output that the caller gives."""
    from ._values import EXTENDED, number_of

    if isinstance(obj, Value):
        return obj
    if not isinstance(obj, np.ndarray):
        raise InvalidInputError(f"the memory for output '{name}' is a numpy array or a tenon.Value, not {type(obj).__name__}")
    number = number_of(obj.dtype)
    packed = number in EXTENDED and EXTENDED[number][1] < 8
    if number == 0 or packed or not obj.flags.c_contiguous or not obj.flags.writeable or not obj.dtype.isnative:
        raise InvalidInputError(
            f"the array for output '{name}' must be writable, contiguous and of an element type of at least one byte"
        )
    if number in EXTENDED:
        return _tenon.wrap(obj.view(np.uint16 if obj.itemsize == 2 else np.uint8), number, True)
    return _tenon.wrap(obj, 0, True)


def describe_model(path: str | os.PathLike[str], config: Any = None) -> dict[str, Any]:
    """Inputs, outputs, opsets and operators of a model file, without a session and without providers."""
    return json.loads(_tenon.model_describe(path, config_of(config)))


def optimize_model(path: str | os.PathLike[str], out: str | os.PathLike[str], config: Any = None) -> None:
    """Writes the transformed model as ONNX to ``out``."""
    _tenon.model_optimize(path, config_of(config), out)
