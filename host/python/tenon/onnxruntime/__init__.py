"""ONNX Runtime's inference API, run by Tenon.

    import tenon.onnxruntime
    tenon.onnxruntime.install()     # from now on `import onnxruntime` means this module

or start the program with ``TENON_AS_ONNXRUNTIME=1``. Names, signatures, types and exceptions are those of ONNX Runtime. What Tenon
cannot honour raises ``NotImplemented``, or warns once when results do not depend on it; docs/onnxruntime-names.md lists every name.
"""

from __future__ import annotations

import contextlib

from . import capi
from ._compile import (
    AdapterFormat,
    LoraAdapter,
    ModelCompiler,
    OrtEpContextData,
    OrtEpContextDataBuffer,
    OrtExternalInitializerInfo,
)
from ._devices import (
    OrtDevice,
    OrtEpDevice,
    OrtHardwareDevice,
    OrtMemoryInfo,
    OrtSyncStream,
    get_all_providers,
    get_available_providers,
    get_device,
    get_ep_devices,
)
from ._enums import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtAllocatorType,
    OrtCompileApiFlags,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from ._environment import (
    VERSION,
    create_and_register_allocator,
    create_and_register_allocator_v2,
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    print_debug_info,
    register_execution_provider_library,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
    unregister_execution_provider_library,
)
from ._install import install
from ._options import OrtArenaCfg, RunOptions, SessionOptions
from ._ortvalue import OrtValue, SparseTensor, copy_tensors
from ._session import InferenceSession, IOBinding, ModelMetadata, NodeArg, OrtEpAssignedNode, OrtEpAssignedSubgraph
from .capi import onnxruntime_validation

SessionIOBinding = IOBinding
import_capi_exception = None
package_name = "onnxruntime"
version = __version__ = VERSION
cuda_version = ""
__author__ = "Tenon"

__all__ = [
    name
    for name in dir()
    if not name.startswith("_") and name not in ("annotations", "capi", "contextlib", "onnxruntime_validation", "VERSION")
]
_KEPT = (capi, contextlib, onnxruntime_validation)  # ONNX Runtime has these names, too
