"""The C API of libtenon for test scripts: the function table of tenon/tenon.h through ctypes, with values as numpy arrays.

    api = Api(library)
    with api.config({"select.order": '["cpu"]'}) as config:
        with api.session(model_bytes, config) as session:
            outputs = session.run({"x": array})

A tensor is an array, a sequence a list, an optional None or its element, a map a dict. Every failure raises a TenonError with a
kind from docs/errors.md.
"""

import contextlib
import ctypes as c
from pathlib import Path

import ml_dtypes
import numpy as np

KINDS = ("none", "invalid model", "unsupported", "limit exceeded", "provider missing", "provider refused", "device lost",
         "out of memory", "cancelled", "deadline", "invalid input", "config", "internal")
NONE, TENSOR, SEQUENCE, OPTIONAL, MAP = range(5)
STRING = 8
# By number in tenon/ep.h. BITS has the bits per element of the packed types.
DTYPES = {1: np.dtype(np.float32), 2: np.dtype(np.uint8), 3: np.dtype(np.int8), 4: np.dtype(np.uint16),
          5: np.dtype(np.int16), 6: np.dtype(np.int32), 7: np.dtype(np.int64), 8: np.dtype(object), 9: np.dtype(bool),
          10: np.dtype(np.float16), 11: np.dtype(np.float64), 12: np.dtype(np.uint32), 13: np.dtype(np.uint64),
          14: np.dtype(np.complex64), 15: np.dtype(np.complex128), 16: np.dtype(ml_dtypes.bfloat16),
          17: np.dtype(ml_dtypes.float8_e4m3fn), 18: np.dtype(ml_dtypes.float8_e4m3fnuz),
          19: np.dtype(ml_dtypes.float8_e5m2), 20: np.dtype(ml_dtypes.float8_e5m2fnuz),
          21: np.dtype(ml_dtypes.uint4), 22: np.dtype(ml_dtypes.int4), 23: np.dtype(ml_dtypes.float4_e2m1fn),
          24: np.dtype(ml_dtypes.float8_e8m0fnu), 25: np.dtype(ml_dtypes.uint2), 26: np.dtype(ml_dtypes.int2),
          27: np.dtype(ml_dtypes.float6_e2m3fn), 28: np.dtype(ml_dtypes.float6_e3m2fn)}
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}


class Str(c.Structure):
    _fields_ = [("data", c.c_char_p), ("size", c.c_uint64)]

    def text(self) -> str:
        return c.string_at(self.data, self.size).decode("utf-8", "replace") if self.size else ""


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("code", c.c_int32), ("flags", c.c_uint32), ("reserved", c.c_uint32),
                ("where", c.c_char * 256), ("message", c.c_char * 1024)]


class Tensor(c.Structure):
    _fields_ = [("kind", c.c_uint32), ("dtype", c.c_uint32), ("rank", c.c_uint32), ("domain", c.c_uint32),
                ("dims", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("data", c.c_void_p),
                ("buffer", c.c_void_p), ("byte_offset", c.c_uint64), ("byte_size", c.c_uint64),
                ("offsets", c.POINTER(c.c_int64)), ("object", c.c_void_p), ("reserved", c.c_uint64 * 2)]


class IoInfo(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("kind", c.c_uint32), ("dtype", c.c_uint32), ("rank", c.c_int32),
                ("name", Str), ("dims", c.POINTER(c.c_int64)), ("dim_names", c.POINTER(Str)), ("type_text", Str),
                ("has_default", c.c_uint32), ("reserved", c.c_uint32)]


class NamedValue(c.Structure):
    _fields_ = [("name", Str), ("value", c.c_void_p)]


class RunOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("deadline_ns", c.c_int64),
                ("cancel", c.c_void_p), ("out_trace", c.c_void_p)]


_P, _PP, _U32, _U64, _I32 = c.c_void_p, c.POINTER(c.c_void_p), c.c_uint32, c.c_uint64, c.c_int32
_ERROR, _DIMS = c.POINTER(Error), c.POINTER(c.c_int64)
# The functions of tenon_api in order. Functions that no test script calls are only counted.
_SLOTS = (
    ("runtime_version", Str), ("error_kind", _U32, _ERROR),
    ("text_get", Str, _P), ("text_release", None, _P),
    ("config_create", _I32, Str, _PP, _ERROR), ("config_release", None, _P),
    ("config_set", _I32, _P, Str, Str, Str, _ERROR), ("config_describe", _I32, _P, _PP, _ERROR),
    ("providers_describe", _I32, _P, _U32, _PP, _ERROR), ("provider_register", _I32, Str, _ERROR),
    ("session_create", _I32, Str, _P, _P, _PP, _ERROR),
    ("session_create_from_memory", _I32, _P, _U64, _U32, Str, _P, _P, _PP, _ERROR),
    ("session_release", None, _P), ("session_input_count", _U32, _P), ("session_output_count", _U32, _P),
    ("session_input", _I32, _P, _U32, c.POINTER(IoInfo)), ("session_output", _I32, _P, _U32, c.POINTER(IoInfo)),
    ("session_describe", _I32, _P, _U32, _PP, _ERROR),
    ("value_make_tensor", _I32, _U32, _U32, _DIMS, _PP, _PP, _ERROR), ("value_wrap", _I32),
    ("value_make_strings", _I32, _U32, _DIMS, _DIMS, c.c_char_p, _PP, _ERROR),
    ("value_make", _I32, _U32, _U32, _PP, _U64, _PP, _ERROR), ("value_retain", None, _P), ("value_release", None, _P),
    ("value_kind", _U32, _P), ("value_size", _U64, _P), ("value_element", _P, _P, _U64),
    ("value_tensor", _I32, _P, c.POINTER(Tensor)), ("value_read_pb", _I32), ("value_write_pb", _I32),
    ("cancel_create", _I32, _PP), ("cancel_trigger", None, _P), ("cancel_release", None, _P),
    ("run", _I32, _P, c.POINTER(RunOptions), c.POINTER(NamedValue), _U32, c.POINTER(Str), _U32, _PP, _ERROR),
)


class _Table(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("version", c.c_uint32)] + [
        (name, c.CFUNCTYPE(result, *arguments)) for name, result, *arguments in _SLOTS]


class TenonError(Exception):
    def __init__(self, code: int, kind: int, where: str, message: str):
        super().__init__(f"{where}: {message}" if where else message)
        self.code, self.kind = code, KINDS[kind] if kind < len(KINDS) else str(kind)


def _str(text: str) -> Str:
    data = text.encode()
    return Str(data, len(data))


def _dims(shape) -> c.Array:
    return (c.c_int64 * max(len(shape), 1))(*shape)


def pack(array: np.ndarray, bits: int) -> bytes:
    """Packs elements of `bits` bits each: the first is in the low bits, the last byte is padded with zeros."""
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    stream = (codes[:, None] >> np.arange(bits, dtype=np.uint8)) & 1
    return np.packbits(stream.reshape(-1), bitorder="little").tobytes()


def unpack(data: bytes, dtype: np.dtype, bits: int, count: int) -> np.ndarray:
    stream = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count * bits].reshape(count, bits)
    codes = (stream.astype(np.uint8) << np.arange(bits, dtype=np.uint8)).sum(axis=1).astype(np.uint8)
    if dtype in (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.int2)):
        codes = np.where(codes >> (bits - 1), codes.astype(np.int16) - (1 << bits), codes).astype(np.int8)
        return codes.astype(dtype)
    return codes.view(dtype)


class Value:
    """Owns one reference to a tenon_value."""

    def __init__(self, api: "Api", handle: int):
        self.api, self.handle = api, handle

    def __del__(self):
        if self.handle:
            self.api.table.value_release(self.handle)


class Session:
    def __init__(self, api: "Api", handle: c.c_void_p):
        self.api, self.handle = api, handle

    def close(self) -> None:
        if self.handle:
            self.api.table.session_release(self.handle)
            self.handle = None

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _infos(self, count, get) -> list[IoInfo]:
        infos = []
        for i in range(count(self.handle)):
            info = IoInfo(struct_size=c.sizeof(IoInfo))
            get(self.handle, i, c.byref(info))
            infos.append(info)
        return infos

    def inputs(self) -> list[IoInfo]:
        return self._infos(self.api.table.session_input_count, self.api.table.session_input)

    def outputs(self) -> list[IoInfo]:
        return self._infos(self.api.table.session_output_count, self.api.table.session_output)

    def run(self, feeds: dict, deadline_s: float = 0, read: bool = True) -> list:
        """Returns the outputs in the model's order. If `read` is False, they are tenon_values and are not copied."""
        kinds = {info.name.text(): info for info in self.inputs()}
        values = [self.api.make(value, kinds.get(name)) for name, value in feeds.items()]
        named = (NamedValue * max(len(feeds), 1))(*(
            NamedValue(_str(name), value.handle) for name, value in zip(feeds, values)))
        names = [info.name.text() for info in self.outputs()]
        asked = (Str * max(len(names), 1))(*map(_str, names))
        out = (c.c_void_p * max(len(names), 1))()
        options = RunOptions(struct_size=c.sizeof(RunOptions), deadline_ns=int(deadline_s * 1e9))
        error = Error(struct_size=c.sizeof(Error))
        status = self.api.table.run(self.handle, c.byref(options), named, len(feeds), asked, len(names), out,
                                    c.byref(error))
        results = [Value(self.api, handle) for handle in out[:len(names)]]
        self.api.check(status, error)
        return [self.api.read(value.handle) for value in results] if read else results


class Api:
    def __init__(self, library: Path | str):
        self.library = c.CDLL(str(library))
        get = self.library.tenon_get_api
        get.restype, get.argtypes = c.POINTER(_Table), [c.c_uint32]
        self.table = get(1).contents

    def check(self, status: int, error: Error) -> None:
        if status != 0:
            kind = self.table.error_kind(c.byref(error))
            raise TenonError(status, kind, error.where.decode("utf-8", "replace"),
                             error.message.decode("utf-8", "replace"))

    def _call(self, function, *arguments) -> None:
        error = Error(struct_size=c.sizeof(Error))
        self.check(function(*arguments, c.byref(error)), error)

    def register(self, manifest: Path | str) -> None:
        self._call(self.table.provider_register, _str(str(manifest)))

    @contextlib.contextmanager
    def config(self, keys: dict[str, str]):
        """Yields a config with these keys set. Values are TOML."""
        handle = c.c_void_p()
        self._call(self.table.config_create, _str(""), c.byref(handle))
        try:
            for key, value in keys.items():
                self._call(self.table.config_set, handle, _str(key), _str(value), _str("test"))
            yield handle
        finally:
            self.table.config_release(handle)

    def session(self, model: bytes, config, folder: str = "") -> Session:
        handle = c.c_void_p()
        self._call(self.table.session_create_from_memory, c.cast(c.c_char_p(model), c.c_void_p), len(model), 0,
                   _str(folder), config, None, c.byref(handle))
        return Session(self, handle)

    def make(self, value, info: IoInfo | None = None) -> Value:
        """Makes a tenon_value from an array, list, dict or None. `info` gives the type of an empty list or None."""
        kind = info.kind if info is not None else TENSOR
        dtype = info.dtype if info is not None else 1
        if kind == OPTIONAL:
            return self._make_parts(OPTIONAL, dtype, [] if value is None else [self.make(value)])
        if isinstance(value, dict):
            keys, values = list(value), list(value.values())
            parts = [np.array(keys, dtype=object if isinstance(keys[0], str) else np.int64), np.array(values)]
            return self._make_parts(MAP, NUMBERS[parts[1].dtype], [self.make(part) for part in parts])
        if isinstance(value, (list, tuple)):
            return self._make_parts(SEQUENCE, dtype, [self.make(part) for part in value])
        array = np.asarray(value)
        if array.dtype.kind in "US":
            array = array.astype(object)
        return self._make_strings(array) if array.dtype == object else self._make_tensor(array)

    def _make_parts(self, kind: int, dtype: int, parts: list[Value]) -> Value:
        handles = (c.c_void_p * max(len(parts), 1))(*(part.handle for part in parts))
        out = c.c_void_p()
        self._call(self.table.value_make, kind, dtype, handles, len(parts), c.byref(out))
        return Value(self, out.value)

    def _make_tensor(self, array: np.ndarray) -> Value:
        number = NUMBERS[array.dtype]
        data = pack(array, BITS[number]) if number in BITS else np.ascontiguousarray(array).tobytes()
        out, where = c.c_void_p(), c.c_void_p()
        self._call(self.table.value_make_tensor, number, array.ndim, _dims(array.shape), c.byref(out), c.byref(where))
        if data:
            c.memmove(where, data, len(data))
        return Value(self, out.value)

    def _make_strings(self, array: np.ndarray) -> Value:
        texts = [text if isinstance(text, bytes) else str(text).encode() for text in array.reshape(-1)]
        offsets = np.cumsum([0] + [len(text) for text in texts])
        out = c.c_void_p()
        self._call(self.table.value_make_strings, array.ndim, _dims(array.shape), _dims(offsets), b"".join(texts),
                   c.byref(out))
        return Value(self, out.value)

    def read(self, handle: int):
        if not handle:
            return None
        kind = self.table.value_kind(handle)
        if kind == TENSOR:
            return self._read_tensor(handle)
        parts = [self.read(self.table.value_element(handle, i)) for i in range(self.table.value_size(handle))]
        if kind == SEQUENCE:
            return parts
        if kind == MAP:
            return dict(zip(parts[0].tolist(), parts[1].tolist()))
        return parts[0] if parts else None

    def _read_tensor(self, handle: int) -> np.ndarray:
        tensor = Tensor()
        self.table.value_tensor(handle, c.byref(tensor))
        shape = tuple(tensor.dims[i] for i in range(tensor.rank))
        count = int(np.prod(shape, dtype=np.int64))
        if tensor.dtype == STRING:
            ends = [tensor.offsets[i] for i in range(count + 1)] if count else [0]
            data = c.string_at(tensor.data, ends[-1]) if ends[-1] else b""
            texts = [data[a:b].decode("utf-8", "replace") for a, b in zip(ends, ends[1:])]
            return np.array(texts, dtype=object).reshape(shape)
        dtype = DTYPES[tensor.dtype]
        bits = BITS.get(tensor.dtype, dtype.itemsize * 8)
        data = c.string_at(tensor.data, (count * bits + 7) // 8) if count else b""
        if tensor.dtype in BITS:
            return unpack(data, dtype, bits, count).reshape(shape)
        return np.frombuffer(data, dtype).reshape(shape).copy()
