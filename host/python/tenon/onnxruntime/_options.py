"""SessionOptions and RunOptions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tenon

from ._enums import ArenaExtendStrategy, ExecutionMode, ExecutionOrder, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy
from ._errors import raises, warn_once

# Entries of add_session_config_entry that change nothing of what is computed, so that nobody needs to hear of them.
HINTS = {
    "session.intra_op.allow_spinning",
    "session.inter_op.allow_spinning",
    "session.disable_prepacking",
    "session.use_env_allocators",
    "session.use_device_allocator_for_initializers",
    "session.use_memory_mapped_ort_model",
    "session.save_model_format",
    "session.dynamic_block_base",
    "session.force_spinning_stop",
    "session.intra_op_thread_affinities",
    "session.qdq_matmulnbits_accuracy_level",
    "session.record_ep_graph_assignment_info",
    "session.model_external_initializers_file_folder_path",
    "session.disable_quant_qdq",
    "session.enable_quant_qdq_cleanup",
    "session.disable_double_qdq_remover",
    "session.disable_aot_function_inlining",
    "session.graph_optimizations_loop_level",
    "optimization.enable_gelu_approximation",
    "optimization.disable_specified_optimizers",
    "optimization.minimal_build_optimizations",
    "mlas.enable_gemm_fastmath_arm64_bfloat16",
    "session.node_partition_config_file",
    "session.load_model_format",
    "session.disable_cpu_ep_fallback",
}


class _Checked:
    """Attributes with types, as of an extension: another name is an AttributeError, another type a TypeError."""

    _types: dict[str, type] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        kind = self._types.get(name)
        if kind is None and not name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if kind is not None:
            if kind is str and isinstance(value, os.PathLike):
                value = os.fspath(value)
            if kind is bool and isinstance(value, int):
                value = bool(value)
            if not isinstance(value, int if issubclass(kind, int) and kind is not bool else kind):
                raise TypeError(f"{type(self).__name__}.{name} must be {kind.__name__}, not {type(value).__name__}")
            value = kind(value)
        object.__setattr__(self, name, value)


class SessionOptions(_Checked):
    """Options of a session. docs/from-onnxruntime.md says which key of Tenon's config each is."""

    _types = {
        "enable_cpu_mem_arena": bool,
        "enable_mem_pattern": bool,
        "enable_mem_reuse": bool,
        "enable_profiling": bool,
        "execution_mode": ExecutionMode,
        "execution_order": ExecutionOrder,
        "graph_optimization_level": GraphOptimizationLevel,
        "inter_op_num_threads": int,
        "intra_op_num_threads": int,
        "log_severity_level": int,
        "log_verbosity_level": int,
        "logid": str,
        "optimized_model_filepath": str,
        "profile_file_prefix": str,
        "use_deterministic_compute": bool,
        "use_per_session_threads": bool,
    }
    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    enable_profiling: bool
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    graph_optimization_level: GraphOptimizationLevel
    inter_op_num_threads: int
    intra_op_num_threads: int
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    optimized_model_filepath: str
    profile_file_prefix: str
    use_deterministic_compute: bool
    use_per_session_threads: bool
    _entries: dict[str, str]
    _dims: dict[str, int]
    _providers: list[tuple[str, dict[str, str]]]
    _devices: list[Any]
    _policy: Any
    _stop_loading: bool

    def __init__(self) -> None:
        for name, value in {
            "enable_cpu_mem_arena": True,
            "enable_mem_pattern": True,
            "enable_mem_reuse": True,
            "enable_profiling": False,
            "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
            "execution_order": ExecutionOrder.DEFAULT,
            "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
            "inter_op_num_threads": 0,
            "intra_op_num_threads": 0,
            "log_severity_level": -1,
            "log_verbosity_level": 0,
            "logid": "",
            "optimized_model_filepath": "",
            "profile_file_prefix": "onnxruntime_profile_",
            "use_deterministic_compute": False,
            "use_per_session_threads": True,
            "_entries": {},
            "_dims": {},
            "_providers": [],
            "_devices": [],
            "_policy": None,
            "_stop_loading": False,
        }.items():
            setattr(self, name, value)

    def add_session_config_entry(self, key: str, value: str, /) -> None:
        """Sets a word for a key. Keys that Tenon does not know warn when a session is made."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str, /) -> str:
        """Raises RuntimeError for a key that was not set."""
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, size: int, /) -> None:
        """A named dimension of the inputs has this size; other sizes are refused."""
        self._dims[name] = int(size)

    @raises("SessionOptions.add_free_dimension_override_by_denotation", "Tenon does not keep the denotations of dimensions; use the name")
    def add_free_dimension_override_by_denotation(self, denotation: str, size: int, /) -> None:
        """Not supported."""

    @raises("SessionOptions.add_initializer", "initializers are part of the model; make them inputs")
    def add_initializer(self, name: str, value: Any, /) -> None:
        """Not supported."""

    @raises("SessionOptions.add_external_initializers", "initializers are read from the model's folder")
    def add_external_initializers(self, names: list, values: list, /) -> None:
        """Not supported."""

    @raises("SessionOptions.add_external_initializers_from_files_in_memory", "external data is read from files")
    def add_external_initializers_from_files_in_memory(self, names: Sequence[str], buffers: Sequence[Any], sizes: Sequence[int], /) -> None:
        """Not supported."""

    @raises("SessionOptions.register_custom_ops_library", "the library is written against ONNX Runtime's API; write an execution provider instead (docs/first-provider.md)")
    def register_custom_ops_library(self, path: str, /) -> None:
        """Not supported."""

    @raises("SessionOptions.set_ep_context_data_read_func", "models with EPContext nodes belong to one provider of ONNX Runtime")
    def set_ep_context_data_read_func(self, read_func: Callable[..., Any], max_data_size: int = 0) -> None:
        """Not supported."""

    def clear_ep_context_data_read_func(self) -> None:
        """Nothing is set."""

    def add_provider(self, name: str, options: Mapping[str, str], /) -> None:
        """Adds a provider; those that were added first are asked first."""
        self._providers.append((name, {str(key): str(value) for key, value in options.items()}))

    def add_provider_for_devices(self, devices: Sequence[Any], options: Mapping[str, str], /) -> None:
        """Adds the provider of the devices, which get_ep_devices lists."""
        if not devices or len({device.ep_name for device in devices}) != 1:
            raise tenon.InvalidInputError("the devices must be of one provider")
        self._devices.extend(devices)
        self._providers.append((devices[0].ep_name, dict(options)))

    def has_providers(self) -> bool:
        """True when providers or a policy were set."""
        return bool(self._providers) or self._policy is not None

    def set_provider_selection_policy(self, policy: OrtExecutionProviderDevicePolicy, /) -> None:
        """Which kind of device is asked first."""
        self._policy = OrtExecutionProviderDevicePolicy(policy)

    def set_provider_selection_policy_delegate(self, delegate: Callable[..., Any], /) -> None:
        """``delegate(devices, model_metadata, runtime_metadata, max_selected)`` chooses among the devices."""
        if not callable(delegate):
            raise TypeError("the delegate must be callable")
        self._policy = delegate

    def set_load_cancellation_flag(self, value: bool, /) -> None:
        """True: loading a model with these options stops with ModelLoadCanceled."""
        self._stop_loading = bool(value)

    def __deepcopy__(self, memo: dict) -> SessionOptions:
        out = SessionOptions()
        for name, value in vars(self).items():
            object.__setattr__(out, name, value.copy() if isinstance(value, dict | list) else value)
        return out


class RunOptions(_Checked):
    """Options of a Run."""

    _types = {
        "log_severity_level": int,
        "log_verbosity_level": int,
        "logid": str,
        "only_execute_path_to_fetches": bool,
    }
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    only_execute_path_to_fetches: bool
    _entries: dict[str, str]
    _cancel: tenon.Cancel
    _terminate: bool

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self._entries = {}
        self._cancel = tenon.Cancel()
        self._terminate = False

    @property
    def terminate(self) -> bool:
        """True stops the Runs that use these options, on any thread: they raise Fail."""
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        if value:
            self._cancel.trigger()
        elif self._terminate:
            self._cancel = tenon.Cancel()
        self._terminate = bool(value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "terminate":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def add_run_config_entry(self, key: str, value: str, /) -> None:
        """Sets a word for a key. Keys that Tenon does not know warn once."""
        self._entries[key] = value
        if key not in ("memory.enable_memory_arena_shrinkage", "disable_synchronize_execution_providers", "gpu_graph_id"):
            warn_once(f"the run config entry '{key}'", "it is a setting of ONNX Runtime's")

    def get_run_config_entry(self, key: str, /) -> str:
        """Raises RuntimeError for a key that was not set."""
        if key not in self._entries:
            raise RuntimeError(f"RunOptions does not have configuration with key: {key}")
        return self._entries[key]

    @raises("RunOptions.add_active_adapter", "Tenon has no LoRA adapters; merge them into the model")
    def add_active_adapter(self, adapter: Any, /) -> None:
        """Not supported."""


class OrtArenaCfg:
    """Sizes of an arena. Kept, and without effect: Tenon plans the memory of each shape."""

    def __init__(self, *args: Any) -> None:
        """Either a dict, or max_mem, arena_extend_strategy, initial_chunk_size_bytes, max_dead_bytes_per_chunk."""
        given: dict[str, Any] = {}
        if len(args) == 1 and isinstance(args[0], Mapping):
            given = dict(args[0])
        elif len(args) == 4:
            four = ("max_mem", "arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk")
            given = dict(zip(four, args, strict=True))
        elif args:
            raise TypeError("OrtArenaCfg takes a dict or four numbers")
        names = {
            "max_mem": 0,
            "arena_extend_strategy": -1,
            "initial_chunk_size_bytes": -1,
            "max_dead_bytes_per_chunk": -1,
            "initial_growth_chunk_size_bytes": -1,
            "max_power_of_two_extend_bytes": -1,
        }
        if unknown := set(given) - set(names):
            raise RuntimeError(f"Invalid OrtArenaCfg option: {', '.join(sorted(unknown))}")
        self.max_mem = int(given.get("max_mem", 0))
        self.arena_extend_strategy = int(given.get("arena_extend_strategy", -1))
        self.initial_chunk_size_bytes = int(given.get("initial_chunk_size_bytes", -1))
        self.max_dead_bytes_per_chunk = int(given.get("max_dead_bytes_per_chunk", -1))
        self.initial_growth_chunk_size_bytes = int(given.get("initial_growth_chunk_size_bytes", -1))
        self.max_power_of_two_extend_bytes = int(given.get("max_power_of_two_extend_bytes", -1))


__all__ = ["ArenaExtendStrategy", "OrtArenaCfg", "RunOptions", "SessionOptions"]
