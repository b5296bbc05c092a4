"""The classes that ONNX Runtime writes in Python."""

from .._choose import check_and_normalize_provider_args  # noqa: F401
from .._compile import AdapterFormat, ModelCompiler  # noqa: F401
from .._devices import OrtDevice, get_ort_device_type  # noqa: F401
from .._enums import OrtDeviceVendorId  # noqa: F401
from .._ortvalue import OrtValue, SparseTensor, copy_tensors  # noqa: F401
from .._session import InferenceSession, IOBinding, Session  # noqa: F401
