"""Values: tensors, sequences, maps and optionals, as numpy arrays, lists, dicts and None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _tenon
from ._errors import InvalidInputError

TENSOR, SEQUENCE, OPTIONAL, MAP = 1, 2, 3, 4
STRING = 8

# Names of the element types, by ONNX's numbers. Bits of those that numpy does not pack.
NAMES = (
    "undefined float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 complex128 "
    "bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 uint2 int2 float6e2m3 "
    "float6e3m2"
).split()
NUMBERS = {name: number for number, name in enumerate(NAMES)}
PLAIN = {
    number: np.dtype(name)
    for number, name in enumerate(NAMES)
    if name in "float32 uint8 int8 uint16 int16 int32 int64 bool float16 float64 uint32 uint64 complex64 complex128".split()
}
_FROM_PLAIN = {dtype: number for number, dtype in PLAIN.items()}
# Types of the package ml_dtypes: its name, and the bits of an element in a tensor.
EXTENDED = {
    16: ("bfloat16", 16),
    17: ("float8_e4m3fn", 8),
    18: ("float8_e4m3fnuz", 8),
    19: ("float8_e5m2", 8),
    20: ("float8_e5m2fnuz", 8),
    21: ("uint4", 4),
    22: ("int4", 4),
    23: ("float4_e2m1fn", 4),
    24: ("float8_e8m0fnu", 8),
    25: ("uint2", 2),
    26: ("int2", 2),
    27: ("float6_e2m3fn", 6),
    28: ("float6_e3m2fn", 6),
}
_extended: dict[int, np.dtype] = {}


def extended_dtype(number: int) -> np.dtype:
    """The dtype of ml_dtypes for an element type that numpy lacks."""
    if number not in _extended:
        name = EXTENDED[number][0]
        try:
            import ml_dtypes

            _extended[number] = np.dtype(getattr(ml_dtypes, name))
        except (ImportError, AttributeError) as error:
            raise ImportError(
                f"arrays of {NAMES[number]} need the package ml_dtypes with the type {name}: pip install -U ml_dtypes"
            ) from error
    return _extended[number]


def dtype_of(number: int) -> np.dtype:
    """The dtype of numpy or ml_dtypes for an element type; object for strings."""
    if number == STRING:
        return np.dtype(object)
    return PLAIN[number] if number in PLAIN else extended_dtype(number)


def number_of(dtype: np.dtype) -> int:
    """The element type of a dtype, or 0."""
    number = _FROM_PLAIN.get(dtype, 0)
    if number == 0 and dtype.kind not in "OUSTM":
        for candidate, (name, _) in EXTENDED.items():
            if dtype.name == name:
                return candidate
    return number


def pack(array: np.ndarray, bits: int) -> bytes:
    """Elements of fewer than 8 bits, one in a byte, as ONNX packs them: the first in the low bits."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & np.uint8((1 << bits) - 1)
    if bits == 6:
        ones = np.unpackbits(flat[:, None], axis=1, bitorder="little", count=6)
        return np.packbits(ones.reshape(-1), bitorder="little").tobytes()
    per_byte = 8 // bits
    padded = np.zeros(-(-flat.size // per_byte) * per_byte, np.uint8)
    padded[: flat.size] = flat
    out = np.zeros(padded.size // per_byte, np.uint8)
    for i in range(per_byte):
        out |= padded[i::per_byte] << np.uint8(i * bits)
    return out.tobytes()


def unpack(data: np.ndarray, number: int, shape: tuple[int, ...]) -> np.ndarray:
    """The opposite of pack: an array of the type of ml_dtypes, one element in a byte."""
    name, bits = EXTENDED[number]
    count = int(np.prod(shape, dtype=np.int64))
    if bits == 6:
        ones = np.unpackbits(data, bitorder="little", count=count * 6).reshape(count, 6)
        flat = np.packbits(ones, axis=1, bitorder="little").reshape(-1)
    else:
        per_byte = 8 // bits
        flat = np.empty(data.size * per_byte, np.uint8)
        for i in range(per_byte):
            flat[i::per_byte] = (data >> np.uint8(i * bits)) & np.uint8((1 << bits) - 1)
        flat = flat[:count]
    if name in ("int4", "int2"):  # the type keeps them with their sign in the upper bits
        sign = np.uint8(1 << (bits - 1))
        flat = ((flat ^ sign) - sign).astype(np.uint8)
    return flat.view(extended_dtype(number)).reshape(shape)


class Value(_tenon.Value):
    """A tensor, sequence, map or optional of the library; it keeps its memory. Any thread may use it.

    Runs take Values as inputs. They give them for tensors that stay in the memory of a device
    (``Session.run(..., keep_on_device=True)``); everything else comes as numpy arrays, lists and dicts. A tensor in host
    memory has the buffer protocol and DLPack, both without a copy.
    """

    __slots__ = ()

    @staticmethod
    def of(obj: Any, dtype: str | None = None) -> Value:
        """A Value of an array, tensor of another library (DLPack), str, list, dict or None.

        ``dtype``: name of the element type ("bfloat16") for Python's numbers; arrays keep their own. Contiguous arrays and
        DLPack tensors in host memory are not copied: do not change them while a Run uses the Value.
        Raises InvalidInputError for objects that ONNX has no type for.
        """
        return value_of(obj, TENSOR if not isinstance(obj, list | tuple | dict) else 0, NUMBERS[dtype] if dtype else 0, "")

    @staticmethod
    def empty(dtype: str, shape: Sequence[int]) -> Value:
        """An uninitialised tensor in host memory, aligned to 64 bytes."""
        return _tenon.empty(NUMBERS[dtype], shape)

    @staticmethod
    def optional(dtype: str, obj: Any = None) -> Value:
        """An optional of tensors with this element type; None: an empty one."""
        number = NUMBERS[dtype]
        return _tenon.make_value(OPTIONAL, number, [] if obj is None else [value_of(obj, TENSOR, number, "")])

    @property
    def kind(self) -> str:
        """ "tensor", "sequence", "optional" or "map"."""
        return ("none", "tensor", "sequence", "optional", "map", "sparse")[self._kind]

    @property
    def dtype(self) -> str:
        """Name of the element type: "float32". Of tensors."""
        return NAMES[self._place()[0]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of tensors."""
        return self._place()[1]

    @property
    def device(self) -> str:
        """Where the tensor is: "cpu" for host memory, else as in the config: "cuda/gpu:0"."""
        return self._place()[2] or "cpu"

    @property
    def nbytes(self) -> int:
        """Bytes of a tensor."""
        return self._place()[4]

    def to_host(self) -> Value:
        """The same content in host memory; this Value when it is there already."""
        return self._to_host()

    def copy(self) -> Value:
        """The same content in new memory of the host, with all elements."""
        return self._copy()

    def numpy(self) -> Any:
        """As a Run gives it: an array (a view of a tensor in host memory), list, dict or None."""
        return self._to_host()._to_python() if self._kind == TENSOR else self._to_python()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.asarray(self.numpy())
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("another dtype needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule for ``from_dlpack`` of another library, without a copy. Host memory only."""
        if dl_device is not None and tuple(dl_device) != (1, 0):
            raise BufferError("Tenon gives DLPack tensors in host memory only")
        value = self._copy() if copy else self
        return value._dlpack(max_version is not None and max_version[0] >= 1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __repr__(self) -> str:
        if self._kind != TENSOR:
            return f"<tenon.Value {self.kind} of {len(self._elements())}>"
        return f"<tenon.Value {self.dtype}{list(self.shape)} on {self.device}>"


def from_value(value: Value) -> Any:
    """What a Run gives for a value that is not a tensor of a type of numpy."""
    kind = value._kind
    if kind == TENSOR:
        number, shape, *_ = value._place()
        if number == STRING:
            flat = np.empty(int(np.prod(shape, dtype=np.int64)), object)
            flat[:] = value._strings()
            return flat.reshape(shape)
        memory: Any = value  # has the buffer protocol
        if EXTENDED[number][1] < 8:
            return unpack(np.ndarray((value.nbytes,), np.uint8, memory), number, shape)
        return np.ndarray(shape, extended_dtype(number), memory)
    elements = value._elements()
    if kind == SEQUENCE:
        return [element._to_python() for element in elements]
    if kind == OPTIONAL:
        return elements[0]._to_python() if elements else None
    if kind == MAP:
        keys, values = (element._to_python() for element in elements)
        return dict(zip(keys.tolist(), values.tolist() if isinstance(values, np.ndarray) else values, strict=True))
    raise InvalidInputError("a sparse tensor has no form in Python")


def array_value(array: np.ndarray, name: str) -> Value:
    """A Value that refers to the array where it can, and has a copy where it cannot."""
    if array.dtype.kind in "OUST":
        flat = array.reshape(-1).tolist()
        try:
            return _tenon.make_strings(
                array.shape, [item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogateescape") for item in flat]
            )
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"{_label(name)}a string is not valid Unicode: {error}") from None
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    number = number_of(array.dtype)
    if number == 0:
        raise InvalidInputError(f"{_label(name)}ONNX has no element type for the dtype {array.dtype}")
    array = np.ascontiguousarray(array).reshape(array.shape)  # the first makes scalars one-dimensional
    if number in PLAIN:
        return _tenon.wrap(array)
    bits = EXTENDED[number][1]
    if bits < 8:
        return _tenon.wrap(pack(array, bits), number, False, array.shape)
    return _tenon.wrap(array.view(np.uint16 if bits == 16 else np.uint8), number)


def _label(name: str) -> str:
    return f"input '{name}': " if name else ""


def _same_type(values: list[Value]) -> int:
    return values[0]._place()[0] if values and values[0]._kind == TENSOR else 0


def value_of(obj: Any, kind: int, dtype: int, name: str, type_text: str = "") -> Value:
    """The Value of an input of kind `kind` and innermost element type `dtype`; 0: what the object suggests."""
    if isinstance(obj, Value):
        return obj
    if hasattr(obj, "__tenon_value__"):  # an object of another package that holds one
        return obj.__tenon_value__()
    if kind == OPTIONAL:
        inner = [] if obj is None else [value_of(obj, SEQUENCE if type_text.startswith("optional(seq") else TENSOR, dtype, name)]
        return _tenon.make_value(OPTIONAL, dtype, inner)
    if kind == MAP or (kind != TENSOR and isinstance(obj, Mapping)):
        return _map_of(obj, dtype, name)
    if kind == SEQUENCE or (kind == 0 and isinstance(obj, list | tuple)):
        if isinstance(obj, str) or not isinstance(obj, Sequence):
            raise InvalidInputError(f"{_label(name)}a sequence is a list, not {type(obj).__name__}")
        is_map = type_text.startswith("seq(map")
        # Copies, because an output may share the elements of an input.
        elements = [
            value_of(item.copy() if isinstance(item, np.ndarray) else item, MAP if is_map else TENSOR, dtype, name) for item in obj
        ]
        return _tenon.make_value(SEQUENCE, dtype or _same_type(elements), elements)
    return _tensor_of(obj, dtype, name)


def _map_of(obj: Any, dtype: int, name: str) -> Value:
    if not isinstance(obj, Mapping):
        raise InvalidInputError(f"{_label(name)}a map is a dict, not {type(obj).__name__}")
    keys, values = list(obj.keys()), list(obj.values())
    is_text = bool(keys) and isinstance(keys[0], str)
    key_array = np.empty(len(keys), object) if is_text else np.array(keys, np.int64)
    if is_text:
        key_array[:] = keys
    if dtype == STRING:
        value_array = np.empty(len(values), object)
        value_array[:] = values
    else:
        value_array = np.array(values, dtype_of(dtype) if dtype else None)
    return _tenon.make_value(MAP, dtype, [array_value(key_array, name), array_value(value_array, name)])


def _tensor_of(obj: Any, dtype: int, name: str) -> Value:
    if isinstance(obj, np.ndarray | np.generic):
        return array_value(np.asarray(obj), name)
    if hasattr(obj, "__dlpack__"):
        return _from_dlpack(obj, name)
    if hasattr(obj, "__array__"):
        return array_value(np.asarray(obj), name)
    try:
        array = np.array(obj, dtype_of(dtype) if dtype else None)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInputError(f"{_label(name)}{type(obj).__name__} cannot be made a tensor: {error}") from None
    if array.dtype == object and dtype != STRING:
        raise InvalidInputError(f"{_label(name)}{type(obj).__name__} cannot be made a tensor")
    return array_value(array, name)


def _from_dlpack(obj: Any, name: str) -> Value:
    if getattr(obj, "requires_grad", False):
        raise InvalidInputError(f"{_label(name)}the tensor needs gradients, which Tenon does not compute: use tensor.detach()")
    device = obj.__dlpack_device__() if hasattr(obj, "__dlpack_device__") else (1, 0)
    if device[0] not in (1, 3, 11):
        raise InvalidInputError(f"{_label(name)}the tensor is on a device (DLPack type {device[0]}): copy it to the host first")
    try:
        capsule = obj.__dlpack__(max_version=(1, 1))
    except TypeError:  # older than DLPack 1.0
        capsule = obj.__dlpack__()
    return _tenon.from_dlpack(capsule)
