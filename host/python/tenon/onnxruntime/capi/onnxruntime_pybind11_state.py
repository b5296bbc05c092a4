"""The names of ONNX Runtime's extension module."""

from .._compile import (  # noqa: F401
    AdapterFormat,
    LoraAdapter,
    ModelCompiler,
    OrtEpContextData,
    OrtEpContextDataBuffer,
    OrtExternalInitializerInfo,
)
from .._devices import (  # noqa: F401
    OrtDevice,
    OrtEpDevice,
    OrtHardwareDevice,
    OrtMemoryInfo,
    OrtSyncStream,
    get_all_providers,
    get_available_providers,
    get_device,
    get_ep_devices,
    get_hardware_devices,
)
from .._enums import *  # noqa: F403
from .._enums import (  # noqa: F401
    ArenaExtendStrategy,
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtAllocatorType,
    OrtCompileApiFlags,
    OrtCompiledModelCompatibility,
    OrtDeviceEpIncompatibilityReason,
    OrtDeviceMemoryType,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from .._environment import (  # noqa: F401
    create_and_register_allocator,
    create_and_register_allocator_v2,
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_version_string,
    has_collective_ops,
    register_execution_provider_library,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
    unregister_execution_provider_library,
)
from .._errors import (  # noqa: F401
    DeviceReset,
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoadCanceled,
    ModelLoaded,
    ModelRequiresCompilation,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,
    RuntimeException,
)
from .._options import OrtArenaCfg, RunOptions, SessionOptions  # noqa: F401
from .._ortvalue import OrtValue, OrtValueVector, SparseTensor, copy_tensors  # noqa: F401
from .._session import (  # noqa: F401
    InferenceSession,
    IOBinding,
    ModelMetadata,
    NodeArg,
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
)

SessionIOBinding = IOBinding
kNextPowerOfTwo = ArenaExtendStrategy.kNextPowerOfTwo
kSameAsRequested = ArenaExtendStrategy.kSameAsRequested


def get_default_session_options() -> SessionOptions:
    """New options."""
    return SessionOptions()


def is_dlpack_uint8_tensor(capsule: object, /) -> bool:
    """Whether a capsule holds bytes. It is used up."""
    return OrtValue.from_dlpack(capsule).element_type() == 2
