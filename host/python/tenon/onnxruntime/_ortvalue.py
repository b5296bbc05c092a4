"""OrtValue and SparseTensor."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tenon
from tenon import _tenon
from tenon._values import EXTENDED, NAMES, OPTIONAL, SEQUENCE, TENSOR, Value, array_value, value_of

from ._devices import OrtDevice, OrtMemoryInfo
from ._enums import OrtDeviceVendorId, OrtSparseFormat
from ._errors import RAISES, raises, refuse
from ._types import dtype_of, element_type, word_of

_DEVICES = "OrtValue on other devices"
RAISES[_DEVICES] = "the value is in host memory; Runs copy what a device needs (IOBinding.bind_output keeps outputs on a device)"


def check_host(device: OrtDevice) -> None:
    """Refuses memory of a device."""
    if device.device_type() != 0:
        refuse(_DEVICES)


def at_address(address: int, number: int, shape: Sequence[int]) -> np.ndarray:
    """The array at an address of host memory, which the caller keeps."""
    dtype = dtype_of(number)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * size).from_address(address)
    return np.frombuffer(memory, np.uint8).view(dtype).reshape(shape)


class OrtValue:
    """A tensor, sparse tensor, sequence, map or optional."""

    _value: Any  # a Value or SparseTensor

    def __init__(self, ortvalue: Any, numpy_obj: np.ndarray | None = None, session: Any = None) -> None:
        if isinstance(ortvalue, OrtValue):
            ortvalue = ortvalue._value
        if not isinstance(ortvalue, Value | SparseTensor):
            raise ValueError("`Provided ortvalue` needs to be of type `onnxruntime.capi.onnxruntime_pybind11_state.OrtValue`")
        self._value = ortvalue
        self._numpy_obj = numpy_obj
        self._session = session

    def __tenon_value__(self) -> Value:
        if isinstance(self._value, SparseTensor):
            raise tenon.UnsupportedError("sparse tensors cannot be inputs; use the dense tensor")
        return self._value

    @property
    def _ortvalue(self) -> OrtValue:
        return self

    def _get_c_value(self) -> OrtValue:
        return self

    def _is_webgpu_buffer(self) -> bool:
        return False

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: np.ndarray, /, device_type: Any = "cpu", device_id: int = 0, vendor_id: int | OrtDeviceVendorId = -1
    ) -> OrtValue:
        """A tensor over the memory of a contiguous array, which it keeps; of strings, a copy."""
        device = device_type if isinstance(device_type, OrtDevice) else OrtDevice.make(device_type, device_id, vendor_id)
        check_host(device)
        if isinstance(numpy_obj, np.ndarray) and numpy_obj.dtype.kind not in "OUS" and not numpy_obj.flags.c_contiguous:
            raise RuntimeError("ONNXRuntime only supports contiguous arrays; use numpy.ascontiguousarray")
        return cls(value_of(numpy_obj, TENSOR if isinstance(numpy_obj, np.ndarray) else 0, 0, ""), numpy_obj)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, /, onnx_element_type: int) -> OrtValue:
        """A tensor over the memory of an array, with an element type of the same size."""
        number = int(onnx_element_type)
        if number in EXTENDED and EXTENDED[number][1] < 8:
            count = data.nbytes * 8 // EXTENDED[number][1]
            return cls(_tenon.wrap(data, number, False, data.shape if data.size == count else (count,)), data)
        if dtype_of(number).itemsize != data.itemsize:
            raise RuntimeError(f"Expected a type of {data.itemsize} bytes, and {NAMES[number]} has {dtype_of(number).itemsize}")
        return cls(_tenon.wrap(data.view(f"u{data.itemsize}"), number), data)

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: Any,
        device_type: Any = "cpu",
        device_id: int = 0,
        vendor_id: int | OrtDeviceVendorId = -1,
        memory_info: OrtMemoryInfo | None = None,
    ) -> OrtValue:
        """An uninitialised tensor."""
        device = device_type if isinstance(device_type, OrtDevice) else OrtDevice.make(device_type, device_id, vendor_id)
        check_host(device)
        return cls(_tenon.empty(_element(element_type), shape))

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: SparseTensor) -> OrtValue:
        """Holds a sparse tensor."""
        return cls(sparse_tensor)

    def as_sparse_tensor(self) -> SparseTensor:
        """Raises RuntimeError for other kinds."""
        if not isinstance(self._value, SparseTensor):
            raise RuntimeError("Only sparse tensors can be converted")
        return self._value

    def data_ptr(self) -> int:
        """The address of the first element."""
        if self.element_type() == 8:
            raise RuntimeError("tensors of strings have no address")
        return np.ndarray((self._tensor().nbytes,), np.uint8, _memory(self._tensor())).ctypes.data

    def device_name(self) -> str:
        """ "cpu", or the kind of device."""
        return "cpu" if isinstance(self._value, SparseTensor) or self._value._kind != TENSOR else self._value.device.split("/")[0]

    def _tensor(self) -> Value:
        if isinstance(self._value, SparseTensor) or self._value._kind != TENSOR:
            raise RuntimeError("Only OrtValues that are Tensors are currently supported")
        return self._value

    def shape(self) -> list[int]:
        """Of a tensor."""
        return list(self._value._shape if isinstance(self._value, SparseTensor) else self._tensor().shape)

    def data_type(self) -> str:
        """ "tensor(float)", "seq(tensor(int64))", "sparse_tensor(float)"."""
        if isinstance(self._value, SparseTensor):
            return f"sparse_tensor({word_of(element_type(self._value._values.dtype))})"
        return _type_of(self._value)

    def element_type(self) -> int:
        """ONNX's number."""
        value = self._value
        if isinstance(value, SparseTensor):
            return element_type(value._values.dtype)
        if value._kind == SEQUENCE and value._elements():
            value = value._elements()[0]
        return value._place()[0]

    def tensor_size_in_bytes(self) -> int:
        """Of a tensor."""
        return self._tensor().nbytes

    def has_value(self) -> bool:
        """False for an empty optional."""
        return isinstance(self._value, SparseTensor) or self._value._kind != OPTIONAL or bool(self._value._elements())

    def is_tensor(self) -> bool:
        """A dense one."""
        return not isinstance(self._value, SparseTensor) and self._value._kind == TENSOR

    def is_sparse_tensor(self) -> bool:
        """A sparse one."""
        return isinstance(self._value, SparseTensor)

    def is_tensor_sequence(self) -> bool:
        """A sequence of tensors."""
        return not isinstance(self._value, SparseTensor) and self._value._kind == SEQUENCE

    def numpy(self) -> np.ndarray:
        """The tensor as an array."""
        return self._tensor().numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if copy is not None:
            return np.array(array, dtype=dtype, copy=copy)
        return array if dtype is None else np.asarray(array, dtype=dtype)

    def __dlpack__(self, *, stream: Any = None, **more: Any) -> Any:
        """A capsule, without a copy."""
        return self._tensor().__dlpack__(stream=stream, **more)

    to_dlpack = __dlpack__

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    @classmethod
    def from_dlpack(cls, data: Any, /, is_bool_tensor: bool = False) -> OrtValue:
        """A tensor over the memory of another library's; ``data`` is its object or a capsule."""
        if isinstance(data, OrtValue):
            return cls(data._tensor())
        if hasattr(data, "__dlpack__"):
            name = getattr(getattr(data, "dtype", None), "name", str(getattr(data, "dtype", "")))
            is_bool_tensor = is_bool_tensor or name in ("bool", "bool_", "torch.bool")
            value = value_of(data, TENSOR, 0, "") if not isinstance(data, np.ndarray) else array_value(data, "")
        else:
            value = _tenon.from_dlpack(data)
        if is_bool_tensor and value.dtype == "uint8":
            value = _tenon.wrap(value.numpy().view(np.bool_))
        return cls(value)

    def update_inplace(self, data: Any) -> None:
        """Copies an array or OrtValue of the same shape and type into this one."""
        if not isinstance(data, np.ndarray | OrtValue):
            raise TypeError("data must be a numpy.ndarray or an OrtValue.")
        source = data.numpy() if isinstance(data, OrtValue) else data
        target = self.numpy()
        if source.dtype != target.dtype or source.nbytes != target.nbytes:
            raise RuntimeError(f"the tensor is {target.dtype}{list(target.shape)}, and the data {source.dtype}{list(source.shape)}")
        np.copyto(target, source.reshape(target.shape))


def _memory(value: Value) -> Any:
    return value


def _element(given: Any) -> int:
    return element_type(given)


def _type_of(value: Value) -> str:
    if value._kind == TENSOR:
        return f"tensor({word_of(value._place()[0])})"
    elements = value._elements()
    if value._kind == SEQUENCE:
        return f"seq({_type_of(elements[0]) if elements else 'tensor(float)'})"
    if value._kind == OPTIONAL:
        return f"optional({_type_of(elements[0]) if elements else 'tensor(float)'})"
    return f"map({word_of(elements[0]._place()[0])},{_type_of(elements[1]).removeprefix('tensor(').removesuffix(')')})"


class OrtValueVector:
    """A list of OrtValues."""

    def __init__(self, values: Iterable[OrtValue] = ()) -> None:
        self._values = list(values)

    def push_back(self, value: Any, is_bool_tensor: bool = False) -> None:
        """Adds an OrtValue, or a DLPack capsule."""
        self._values.append(value if isinstance(value, OrtValue) else OrtValue.from_dlpack(value, is_bool_tensor))

    @raises("OrtValueVector.push_back_batch", "it takes tensors of torch by their address; use push_back with DLPack")
    def push_back_batch(self, *args: Any) -> None:
        """Not supported."""

    def reserve(self, count: int, /) -> None:
        """Nothing to do for a list."""

    def shrink_to_fit(self) -> None:
        """Nothing to do for a list."""

    def bool_tensor_indices(self) -> list[int]:
        """Which elements are boolean tensors."""
        return [i for i, value in enumerate(self._values) if value.is_tensor() and value.element_type() == 9]

    def dlpack_at(self, index: int, /) -> Any:
        """A capsule of an element."""
        return self._values[index].__dlpack__()

    def element_type_at(self, idx: int) -> int:
        """ONNX's number."""
        return self._values[idx].element_type()

    def to_dlpacks(self, to_tensor: Any) -> list:
        """A capsule of each, or what ``to_tensor`` makes of it."""
        capsules = [value.__dlpack__() for value in self._values]
        return capsules if to_tensor is None else [to_tensor(capsule) for capsule in capsules]

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[OrtValue]:
        return iter(self._values)

    def __getitem__(self, index: Any) -> Any:
        return self._values[index]


class _View:
    """Indices of a sparse tensor."""

    def __init__(self, **indices: np.ndarray) -> None:
        self._indices = indices

    def indices(self) -> np.ndarray:
        """Of COO and of blocks."""
        return self._indices["indices"]

    def inner(self) -> np.ndarray:
        """Of CSR: the columns."""
        return self._indices["inner"]

    def outer(self) -> np.ndarray:
        """Of CSR: where each row begins."""
        return self._indices["outer"]


class SparseTensor:
    """A sparse tensor in host memory. Sessions do not take it as an input."""

    def __init__(self, sparse_tensor: Any) -> None:
        if not isinstance(sparse_tensor, SparseTensor):
            raise ValueError("`Provided object` needs to be of type `onnxruntime.capi.onnxruntime_pybind11_state.SparseTensor`")
        self.__dict__.update(sparse_tensor.__dict__)

    @classmethod
    def _make(cls, kind: OrtSparseFormat, shape: Any, values: np.ndarray, device: OrtDevice, **indices: Any) -> SparseTensor:
        check_host(device)
        out = cls.__new__(cls)
        out._format, out._shape, out._values = kind, [int(size) for size in shape], np.asarray(values)
        out._indices = {name: np.asarray(array) for name, array in indices.items()}
        return out

    _format: OrtSparseFormat
    _shape: list[int]
    _values: np.ndarray
    _indices: dict[str, np.ndarray]

    @classmethod
    def sparse_coo_from_numpy(cls, dense_shape: Any, values: np.ndarray, coo_indices: np.ndarray, ort_device: OrtDevice) -> SparseTensor:
        """Non-zero elements and their positions: linear, or pairs of coordinates."""
        indices = np.asarray(coo_indices, np.int64)
        if indices.size not in (len(values), 2 * len(values)):
            raise RuntimeError("coo_indices must have one or two numbers for each value")
        return cls._make(OrtSparseFormat.ORT_SPARSE_COO, dense_shape, values, ort_device, indices=indices)

    @classmethod
    def sparse_csr_from_numpy(
        cls, dense_shape: Any, values: np.ndarray, inner_indices: np.ndarray, outer_indices: np.ndarray, ort_device: OrtDevice
    ) -> SparseTensor:
        """Non-zero elements, their columns, and where each row begins."""
        inner, outer = np.asarray(inner_indices, np.int64), np.asarray(outer_indices, np.int64)
        if inner.size != len(values) or outer.size != int(dense_shape[0]) + 1:
            raise RuntimeError("inner_indices need one number for each value, outer_indices one more than there are rows")
        return cls._make(OrtSparseFormat.ORT_SPARSE_CSRC, dense_shape, values, ort_device, inner=inner, outer=outer)

    @classmethod
    def blocksparse_from_numpy(cls, dense_shape: Any, values: np.ndarray, indices: np.ndarray, ort_device: OrtDevice) -> SparseTensor:
        """Blocks and their positions."""
        return cls._make(OrtSparseFormat.ORT_SPARSE_BLOCK_SPARSE, dense_shape, values, ort_device, indices=np.asarray(indices, np.int32))

    def _get_c_tensor(self) -> SparseTensor:
        return self

    def values(self) -> np.ndarray:
        """The non-zero elements."""
        return self._values

    def _view(self, kind: OrtSparseFormat) -> _View:
        if self._format != kind:
            raise RuntimeError(f"the tensor has the format {self._format}, not {kind}")
        return _View(**self._indices)

    def as_coo_view(self) -> _View:
        """Raises RuntimeError for another format."""
        return self._view(OrtSparseFormat.ORT_SPARSE_COO)

    get_coo_data = as_coo_view

    def as_csrc_view(self) -> _View:
        """Raises RuntimeError for another format."""
        return self._view(OrtSparseFormat.ORT_SPARSE_CSRC)

    get_csrc_data = as_csrc_view

    def as_blocksparse_view(self) -> _View:
        """Raises RuntimeError for another format."""
        return self._view(OrtSparseFormat.ORT_SPARSE_BLOCK_SPARSE)

    get_blocksparse_data = as_blocksparse_view

    @raises("SparseTensor.to_cuda", "sparse tensors stay in host memory")
    def to_cuda(self, ort_device: OrtDevice) -> SparseTensor:
        """Not supported."""
        raise NotImplementedError

    def format(self) -> OrtSparseFormat:
        """How the indices are written."""
        return self._format

    def dense_shape(self) -> np.ndarray:
        """Of the dense tensor."""
        return np.array(self._shape, np.int64)

    def data_type(self) -> str:
        """ "sparse_tensor(float)"."""
        return f"sparse_tensor({word_of(element_type(self._values.dtype))})"

    def device_name(self) -> str:
        """ "cpu"."""
        return "cpu"


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: Any = None) -> None:
    """Copies the content of each tensor into the one at the same place."""
    if len(src) != len(dst):
        raise ValueError("src and dst must have the same length")
    for source, target in zip(src, dst, strict=True):
        target.update_inplace(source)
