"""InferenceSession."""

from __future__ import annotations

import datetime
import json
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tenon
from tenon import _tenon
from tenon._session import Session as TenonSession

from . import _devices, _environment
from ._binding import IOBinding
from ._choose import check_and_normalize_provider_args, choose, config_of
from ._devices import OrtEpDevice, OrtMemoryInfo, get_available_providers, host_memory
from ._errors import WARNS, raises, translated, warn_once
from ._options import RunOptions, SessionOptions
from ._ortvalue import OrtValue, OrtValueVector
from ._types import type_text


class NodeArg:
    """An input or output: name, type ("tensor(float)"), shape (numbers, names of dimensions, None)."""

    def __init__(self, info: tenon.Info, dims: dict[str, int]) -> None:
        self.name = info.name
        self.type = type_text(info.type)
        self.shape = [dims.get(size, size) if isinstance(size, str) else size for size in info.shape or ()]

    def __str__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"

    __repr__ = __str__


class ModelMetadata:
    """What the model says about itself."""

    def __init__(self, fields: tuple[str, str, int, str, str, str], metadata: dict[str, str]) -> None:
        self.producer_name = fields[0]
        self.domain = fields[1]
        self.version = fields[2] or 0x7FFFFFFFFFFFFFFF  # ONNX Runtime's for a model without one
        self.description = fields[3]
        self.graph_name = fields[4]
        self.graph_description = fields[5]
        self.custom_metadata_map: dict[str, str] = metadata


class OrtEpAssignedNode:
    """A node and the provider that runs it."""

    def __init__(self, node: dict[str, Any]) -> None:
        self.name: str = node["name"]
        self.domain: str = node["domain"]
        self.op_type: str = node["op"]


class OrtEpAssignedSubgraph:
    """Nodes that run together."""

    def __init__(self, provider: str, nodes: list[OrtEpAssignedNode]) -> None:
        self.ep_name = provider
        self._nodes = nodes

    def get_nodes(self) -> list[OrtEpAssignedNode]:
        """In the order of the graph."""
        return self._nodes


class _Callbacks(threading.Thread):
    """Calls the callbacks of run_async, one after the other."""

    _lock = threading.Lock()
    _one: _Callbacks | None = None

    def __init__(self) -> None:
        super().__init__(name="tenon run_async", daemon=True)
        self.fd = os.eventfd(0, os.EFD_CLOEXEC)
        self.inbox = _tenon.Completions(self.fd)
        self.process = os.getpid()

    @classmethod
    def get(cls) -> _Callbacks:
        with cls._lock:
            if cls._one is None or cls._one.process != os.getpid():
                cls._one = cls()
                cls._one.start()
            return cls._one

    def run(self) -> None:
        while True:
            os.eventfd_read(self.fd)
            for job in self.inbox.take():
                job()


class Session:
    """The base of InferenceSession."""

    def __init__(self, enable_fallback: bool = True) -> None:
        self._enable_fallback = enable_fallback

    _session: TenonSession
    _sess_options: SessionOptions
    _events: list[dict] | None
    _dims: dict[str, int]
    _run: Any
    _inputs_meta: list[NodeArg]
    _outputs_meta: list[NodeArg]
    _overridable_initializers: list[NodeArg]
    _profiling_start_time_ns: int

    def get_session_options(self) -> SessionOptions:
        """Those that the session was made with."""
        return self._sess_options

    def get_inputs(self) -> list[NodeArg]:
        """Inputs without those that have a default value."""
        return self._inputs_meta

    def get_outputs(self) -> list[NodeArg]:
        """Outputs in the model's order."""
        return self._outputs_meta

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs with a default value."""
        return self._overridable_initializers

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says about itself."""
        if self._meta is None:
            self._meta = ModelMetadata(self._session._raw.model(), self._session.metadata)
        return self._meta

    _meta: ModelMetadata | None = None
    _model_path: str | None
    _model_bytes: Any

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        """Host memory, for each input."""
        return [host_memory() for _ in self._inputs_meta]

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        """Host memory, for each output."""
        return [host_memory() for _ in self._outputs_meta]

    def get_input_epdevices(self) -> list[OrtEpDevice | None]:
        """The device of the first provider, for each input."""
        first = self._name_of(self._session.instances[0].provider)
        device = next((device for device in _devices.get_ep_devices() if device.ep_name == first), None)
        return [device for _ in self._inputs_meta]

    def _name_of(self, provider: str) -> str:
        """The name under which the session chose a provider: CPUExecutionProvider stands for several."""
        name = _devices.name_of(provider)
        return name if name in dict(self._chosen) else "CPUExecutionProvider"

    def get_providers(self) -> list[str]:
        """Names of the providers that the session may use."""
        return [name for name, _ in self._chosen]

    _chosen: list[tuple[str, dict[str, str]]]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options that were given to each."""
        return {name: dict(options) for name, options in self._chosen}

    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]:
        """Which provider runs which nodes. Needs no setting."""
        explained = self._session.explain().data
        parts: dict[tuple, list[OrtEpAssignedNode]] = {}
        for node in explained["nodes"]:
            parts.setdefault((node["graph"], node["part"], node["provider"]), []).append(OrtEpAssignedNode(node))
        return [OrtEpAssignedSubgraph(self._name_of(provider), nodes) for (_, _, provider), nodes in parts.items()]

    def disable_fallback(self) -> None:
        """A Run that fails in a provider is an error."""
        self._enable_fallback = False

    def enable_fallback(self) -> None:
        """A Run that fails in a provider is repeated on the next one; Tenon's ``on_lost`` does that in any case."""
        self._enable_fallback = True

    def _fail(self, error: tenon.Error, feeds: Any) -> Exception:
        """The exception for a failed Run."""
        if isinstance(error, tenon.InvalidInputError):
            missing = [arg.name for arg in self._inputs_meta if arg.name not in feeds and not arg.type.startswith("optional")]
            if missing:
                return ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feeds)}).")
        return translated(error)

    def _check_dims(self, feeds: dict[str, Any]) -> None:
        for arg in self._inputs_meta:
            shape = getattr(feeds.get(arg.name), "shape", None)
            shape = shape() if callable(shape) else shape
            for wanted, given in zip(arg.shape, shape or (), strict=False):
                if isinstance(wanted, int) and wanted != given:
                    raise tenon.InvalidInputError(f"Got invalid dimensions for input: {arg.name} Got: {given} Expected: {wanted}")

    def run(self, output_names: Sequence[str] | None, input_feed: dict[str, Any], run_options: RunOptions | None = None) -> list:
        """A list of the outputs: arrays, lists of arrays, lists of dicts. ``output_names``: None for all."""
        if not isinstance(input_feed, dict):
            input_feed = dict(input_feed)
        try:
            if run_options is None and self._plain:
                return self._run(input_feed, output_names or None, None, 0, None, None, 0, False)
            return self._run_with(input_feed, output_names or None, run_options, 0)
        except tenon.Error as error:
            raise self._fail(error, input_feed) from error

    _plain: bool

    def _run_with(self, feeds: Any, names: Any, run_options: RunOptions | None, flags: int) -> list:
        """A Run with options, overridden dimensions or a profile."""
        if self._dims:
            self._check_dims(feeds)
        cancel = run_options._cancel if run_options is not None else None
        if self._events is None:
            return self._run(feeds, names, None, 0, cancel, None, flags, False)
        begin = (time.monotonic_ns() - self._profiling_start_time_ns) / 1e3
        made, trace = self._run(feeds, names, None, 0, cancel, None, flags, True)
        for event in json.loads(trace)["traceEvents"]:
            if "ts" in event:
                event["ts"] += begin
            self._events.append(event)
        return made

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: dict[str, Any],
        callback: Callable[[list, Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Returns at once; another thread calls ``callback(results, user_data, error)``: an empty str when there is none."""
        cancel = run_options._cancel if run_options is not None else None
        names = tuple(output_names) if output_names else None
        box: list[Any] = []

        def done() -> None:
            results, text = [], ""
            try:
                box[0].wait(-1)
                results = box[0].outputs()
            except tenon.Error as error:
                text = str(error)
            try:
                callback(results, user_data, text)
            except Exception:  # the thread serves other Runs, too
                import sys

                sys.excepthook(*sys.exc_info())

        try:
            box.append(self._session._raw.submit(input_feed, names, None, 0, cancel, None, 0, _Callbacks.get().inbox, done))
        except tenon.Error as error:
            raise self._fail(error, input_feed) from error

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: dict[str, OrtValue], run_options: RunOptions | None = None
    ) -> list[OrtValue]:
        """As run, with OrtValues in and out."""
        return [self._as_ortvalue(value) for value in self.run(output_names, input_dict_ort_values, run_options)]

    def _as_ortvalue(self, value: Any) -> OrtValue:
        return value if isinstance(value, OrtValue) else OrtValue(tenon.Value.of(value))

    def run_with_ortvaluevector(
        self,
        run_options: RunOptions | None,
        feed_names: Sequence[str],
        feeds: Sequence[OrtValue],
        fetch_names: Sequence[str],
        fetches: OrtValueVector,
        fetch_devices: Sequence[Any],
    ) -> None:
        """As run, with vectors of OrtValues; the outputs are added to ``fetches``."""
        for value in self.run_with_ort_values(fetch_names, dict(zip(feed_names, feeds, strict=True)), run_options):
            fetches.push_back(value)

    def io_binding(self) -> IOBinding:
        """Memory for inputs and outputs."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """A Run with what is bound."""
        if iobinding._session is not self:
            raise ValueError("IOBinding must be used with the session that created it.")
        try:
            iobinding._run(run_options)
        except tenon.Error as error:
            raise self._fail(error, iobinding._inputs) from error

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: Any, device_type: str, device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """An uninitialised tensor in host memory."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id, vendor_id)

    def end_profiling(self) -> str:
        """Writes the profile of the Runs since the session was made, and gives the name of the file; "" without one."""
        if self._events is None:
            return ""
        now = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S_%f")[:-3]
        path = f"{self._sess_options.profile_file_prefix}_{now}.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._events, file)
        self._events = None
        self._plain = not self._dims
        return path

    def get_profiling_start_time_ns(self) -> int:
        """As time.monotonic_ns()."""
        return self._profiling_start_time_ns

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Nothing is captured."""

    def set_ep_dynamic_options(self, options: dict[str, str]) -> None:
        """Options of a running session. Warns once for each: Tenon's providers have none."""
        for key in options:
            warn_once(f"the dynamic option '{key}'", WARNS["InferenceSession.set_ep_dynamic_options"])

    def get_tuning_results(self) -> list:
        """An empty list: nothing is tuned that could be given to another session."""
        return []

    @raises("InferenceSession.set_tuning_results", "results of ONNX Runtime's tuning are for its kernels")
    def set_tuning_results(self, results: list, *, error_on_invalid: bool = False) -> None:
        """Not supported."""

    def set_providers(self, providers: Sequence[Any] | None = None, provider_options: Sequence[dict] | None = None) -> None:
        """Makes the session again with these providers."""
        self._create(providers, provider_options, None)

    def _create(self, providers: Sequence[Any] | None, provider_options: Sequence[dict] | None, disabled: Any) -> None:
        options = self._sess_options
        names, given = check_and_normalize_provider_args(
            providers, provider_options, get_available_providers()
        )
        if names and options.has_providers():
            warnings.warn(
                "Specified 'providers'/'provider_options' when creating InferenceSession but SessionOptions has already been configured "
                "with providers. InferenceSession will only use the providers passed to InferenceSession().",
                stacklevel=3,
            )
        self._chosen = choose(options, names, given)
        level = options.log_severity_level if options.log_severity_level >= 0 else _environment.severity()
        model = self._model_path if self._model_path is not None else self._model_bytes
        try:
            config = config_of(options, self._chosen, disabled)
            with warnings.catch_warnings():
                if level > 2:
                    warnings.simplefilter("ignore", tenon.TenonWarning)
                folder = options._entries.get("session.model_external_initializers_file_folder_path", "")
                self._session = TenonSession(
                    model, config, external_data=folder, progress=lambda *_: False if options._stop_loading else None
                )
        except tenon.Error as error:
            raise translated(error, loading=True) from error
        self._run = self._session._raw.run
        self._dims = options._dims
        self._inputs_meta = [NodeArg(info, self._dims) for info in self._session.inputs if not info.has_default]
        self._overridable_initializers = [NodeArg(info, {}) for info in self._session.inputs if info.has_default]
        self._outputs_meta = [NodeArg(info, self._dims) for info in self._session.outputs]
        self._events = [] if options.enable_profiling else None
        self._profiling_start_time_ns = time.monotonic_ns()
        self._plain = not self._dims and self._events is None
        if options.optimized_model_filepath:
            self._write_optimized(options.optimized_model_filepath, config)

    def _write_optimized(self, path: str, config: tenon.Config) -> None:
        try:
            if self._model_path is not None:
                tenon.optimize_model(self._model_path, path, config)
                return
            with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
                file.write(self._model_bytes)
                file.flush()
                tenon.optimize_model(file.name, path, config)
        except tenon.Error as error:
            raise translated(error, loading=True) from error


class InferenceSession(Session):
    """A model that is ready to run. Any number of threads may run it at the same time."""

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike,
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, dict[Any, Any]]] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        """A path, or the bytes of a model. Raises the exceptions of ONNX Runtime: NoSuchFile, InvalidGraph, NotImplemented ..."""
        super().__init__(enable_fallback=int(kwargs.get("enable_fallback", 1)) == 1)
        self._model_path = self._model_bytes = None
        if isinstance(path_or_bytes, str | os.PathLike):
            self._model_path = os.fspath(path_or_bytes)
        elif isinstance(path_or_bytes, bytes):
            self._model_bytes = path_or_bytes
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options must be a SessionOptions, not {type(sess_options).__name__}")
        self._sess_options = sess_options if sess_options is not None else SessionOptions()
        self._create(providers, provider_options, kwargs.get("disabled_optimizers"))

    @property
    def _sess(self) -> Session:
        return self


__all__ = ["InferenceSession", "ModelMetadata", "NodeArg", "Session"]
