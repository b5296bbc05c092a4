"""The element types of ONNX as the checker's tests need them: how to write elements, and how far one may be off.

Elements are handled as they are stored: an integer type as its value, a float type as its bit pattern, so that no
conversion of ours can hide a mistake of the checker.
"""

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from onnx import TensorProto


@dataclass(frozen=True)
class Specials:
    """Bit patterns of a float type; None where the type has none."""

    nan: int | None = None
    infinity: int | None = None
    minus_infinity: int | None = None
    largest: int = 0  # the largest finite number


@dataclass(frozen=True)
class ElementType:
    name: str
    code: int  # TensorProto.DataType
    bits: int  # of one element
    other: int  # another type of the same width, to write the same bytes as


@dataclass(frozen=True)
class IntegerType(ElementType):
    lowest: int = 0
    highest: int = 0


@dataclass(frozen=True)
class FloatType(ElementType):
    """Compared with |actual - expected| <= atol + rtol |expected|, in each part of a complex number."""

    dtype: object = None  # numpy's
    rtol: float = 0
    atol: float = 0


@dataclass(frozen=True)
class SmallFloatType(ElementType):
    """Compared by steps: neighbouring numbers are as good as equal."""

    signed: bool = True
    specials: Specials = field(default_factory=Specials)


def integer(name: str, code: int, bits: int, signed: bool, other: int) -> IntegerType:
    span = 1 << bits
    return IntegerType(name, code, bits, other, -span // 2 if signed else 0, (span // 2 if signed else span) - 1)


INTEGERS = [
    integer("uint2", TensorProto.UINT2, 2, False, TensorProto.INT2),
    integer("int2", TensorProto.INT2, 2, True, TensorProto.UINT2),
    integer("uint4", TensorProto.UINT4, 4, False, TensorProto.INT4),
    integer("int4", TensorProto.INT4, 4, True, TensorProto.UINT4),
    integer("uint8", TensorProto.UINT8, 8, False, TensorProto.INT8),
    integer("int8", TensorProto.INT8, 8, True, TensorProto.UINT8),
    integer("uint16", TensorProto.UINT16, 16, False, TensorProto.INT16),
    integer("int16", TensorProto.INT16, 16, True, TensorProto.UINT16),
    integer("uint32", TensorProto.UINT32, 32, False, TensorProto.INT32),
    integer("int32", TensorProto.INT32, 32, True, TensorProto.UINT32),
    integer("uint64", TensorProto.UINT64, 64, False, TensorProto.INT64),
    integer("int64", TensorProto.INT64, 64, True, TensorProto.UINT64),
]

FLOATS = [
    FloatType("float16", TensorProto.FLOAT16, 16, TensorProto.BFLOAT16, np.float16, 2.5e-3, 1e-3),
    FloatType("bfloat16", TensorProto.BFLOAT16, 16, TensorProto.FLOAT16, ml_dtypes.bfloat16, 2e-2, 1e-2),
    FloatType("float32", TensorProto.FLOAT, 32, TensorProto.INT32, np.float32, 1e-3, 1e-7),
    FloatType("float64", TensorProto.DOUBLE, 64, TensorProto.INT64, np.float64, 1e-3, 1e-7),
    FloatType("complex64", TensorProto.COMPLEX64, 64, TensorProto.DOUBLE, np.complex64, 1e-3, 1e-7),
    FloatType("complex128", TensorProto.COMPLEX128, 128, TensorProto.COMPLEX64, np.complex128, 1e-3, 1e-7),
]

SMALL_FLOATS = [
    SmallFloatType("float8e4m3fn", TensorProto.FLOAT8E4M3FN, 8, TensorProto.FLOAT8E5M2, True,
                   Specials(0x7F, largest=0x7E)),
    SmallFloatType("float8e4m3fnuz", TensorProto.FLOAT8E4M3FNUZ, 8, TensorProto.FLOAT8E4M3FN, True,
                   Specials(0x80, largest=0x7F)),
    SmallFloatType("float8e5m2", TensorProto.FLOAT8E5M2, 8, TensorProto.FLOAT8E5M2FNUZ, True,
                   Specials(0x7E, 0x7C, 0xFC, largest=0x7B)),
    SmallFloatType("float8e5m2fnuz", TensorProto.FLOAT8E5M2FNUZ, 8, TensorProto.FLOAT8E5M2, True,
                   Specials(0x80, largest=0x7F)),
    SmallFloatType("float8e8m0", TensorProto.FLOAT8E8M0, 8, TensorProto.UINT8, False, Specials(0xFF, largest=0xFE)),
    SmallFloatType("float6e2m3", TensorProto.FLOAT6E2M3, 6, TensorProto.FLOAT6E3M2, True, Specials(largest=0x1F)),
    SmallFloatType("float6e3m2", TensorProto.FLOAT6E3M2, 6, TensorProto.FLOAT6E2M3, True, Specials(largest=0x1F)),
    SmallFloatType("float4e2m1", TensorProto.FLOAT4E2M1, 4, TensorProto.UINT4, True, Specials(largest=0x7)),
]

BOOL = ElementType("bool", TensorProto.BOOL, 8, TensorProto.UINT8)
STRING = ElementType("string", TensorProto.STRING, 0, TensorProto.UINT8)

ALL_TYPES: list[ElementType] = [*INTEGERS, *FLOATS, *SMALL_FLOATS, BOOL, STRING]


def pack(elements: list[int], bits: int) -> bytes:
    """Elements as raw data: a stream of `bits` each, the first in the low bits, the last byte padded with zero."""
    stream = 0
    for position, element in enumerate(elements):
        stream |= (element & (1 << bits) - 1) << position * bits
    return stream.to_bytes((len(elements) * bits + 7) // 8, "little")
