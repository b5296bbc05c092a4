"""Operators that compute each element by itself: one input, two with broadcasting, many."""

import ml_dtypes
import numpy as np
from draw import DTYPES, FLOATS, INTS, Draw, NoSuchCase, number_of
from registry import generator

UNARY = ("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor",
         "HardSwish", "IsNaN", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh",
         "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "Not", "BitwiseNot", "Identity")
ATTRIBUTES = {
    "Celu": {"alpha": (1.0, 0.5, 2.0, -1.0)}, "Elu": {"alpha": (1.0, 0.5, -1.0, 0.0)},
    "HardSigmoid": {"alpha": (0.2, 0.5, -0.5), "beta": (0.5, 0.0, 0.2)}, "LeakyRelu": {"alpha": (0.01, 0.3, -0.5, 2.0)},
    "Selu": {"alpha": (1.67, 0.5), "gamma": (1.05, 2.0)}, "Shrink": {"bias": (0.0, 0.5), "lambd": (0.5, 1.0, 0.0)},
    "Swish": {"alpha": (1.0, 1.7, -0.5)}, "ThresholdedRelu": {"alpha": (1.0, 0.0, -0.5, 2.0)},
    "Gelu": {"approximate": ("none", "tanh")}, "IsInf": {"detect_negative": (0, 1), "detect_positive": (0, 1)},
}
BINARY = ("Add", "Sub", "Mul", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor",
          "BitwiseAnd", "BitwiseOr", "BitwiseXor")


def type_parameter(draw: Draw, op: str) -> str:
    return "T1" if op in ("IsInf", "IsNaN", "Hardmax") and draw.opset >= 9 and op != "Hardmax" else "T"


def one_input(draw: Draw, op: str):
    draw.since(op)
    if op in ("IsNaN", "IsInf"):
        dtype = draw.dtype(op, "T1")
    else:
        dtype = draw.dtype(op)
    low, high = draw.pick((-3, 3), (-3, 3), (-100, 100), (-1, 1))
    return draw.array(draw.shape(), dtype, low, high, special=True)


@generator(*UNARY)
def unary(draw: Draw, op: str):
    x = one_input(draw, op)
    if x.dtype == object and op != "Identity":
        raise NoSuchCase("text")
    draw.out(finish_chain(draw, draw.op(op, [draw.feed(x)]), x.shape, x.dtype if op != "IsNaN" else np.dtype(bool)))


@generator(*ATTRIBUTES)
def unary_with_attributes(draw: Draw, op: str):
    x = one_input(draw, op)
    attributes = {key: draw.maybe(draw.pick(*values), 0.7) for key, values in ATTRIBUTES[op].items()}
    y = draw.op(op, [draw.feed(x)], **attributes)
    draw.out(finish_chain(draw, y, x.shape, x.dtype if op != "IsInf" else np.dtype(bool)))


def two_shapes(draw: Draw):
    """Two shapes that broadcast with each other."""
    shape = draw.shape()
    if draw.chance(0.4):
        return shape, shape
    a, b = draw.broadcast(shape), draw.broadcast(shape)
    return draw.pick((shape, b), (a, shape), (a, b))


@generator(*BINARY)
def binary(draw: Draw, op: str):
    since = draw.since(op)
    if op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor"):
        dtype = draw.dtype(op)
    else:
        dtype = draw.dtype(op)
    if since < 7:
        raise NoSuchCase("broadcasting by attribute")
    shapes = two_shapes(draw)
    compares = op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
    low, high = (-2, 2) if compares else (-9, 9)
    a, b = (draw.array(shape, dtype, low, high, special=np.dtype(dtype).kind not in "iu") for shape in shapes)
    if op == "Div" and np.dtype(dtype).kind in "iu":
        b = np.where(b == 0, 1, b).astype(dtype)
    a_name = draw.feed(a)
    b_name = a_name if draw.chance(0.05) and shapes[0] == shapes[1] and op != "Div" else draw.feed(b)
    y = draw.op(op, [a_name, b_name])
    out = np.broadcast_shapes(*shapes)
    plain = op in ("Add", "Sub", "Mul", "Div")
    draw.out(finish_chain(draw, y, out, np.dtype(dtype) if plain else np.dtype(bool)))


@generator("Pow")
def power(draw: Draw, op: str):
    dtype = draw.dtype(op, "T")
    second = draw.dtype(op, "T1") if draw.since(op) >= 12 else dtype
    shapes = two_shapes(draw)
    if np.dtype(dtype).kind in "iu":
        a, b = draw.array(shapes[0], dtype, -3, 3), draw.array(shapes[1], second, 0, 3)
    else:
        a, b = draw.array(shapes[0], dtype, 0, 3), draw.array(shapes[1], second, -2, 3)
        if draw.chance(0.3):
            b = np.asarray(draw.pick(0, 1, 2, 3, 4)).astype(second)
            a = draw.array(shapes[0], dtype, -3, 3, special=True)
    draw.out(draw.op(op, [draw.feed(a), draw.feed(b)]))


@generator("Mod")
def modulo(draw: Draw, op: str):
    dtype = np.dtype(draw.dtype(op))
    shapes = two_shapes(draw)
    a, b = (draw.array(shape, dtype, -9, 9) for shape in shapes)
    is_int = dtype.kind in "iu"
    if is_int:
        b = np.where(b == 0, 1, b).astype(dtype)
    draw.out(draw.op(op, [draw.feed(a), draw.feed(b)], fmod=draw.pick(None, 0, 1) if is_int else 1))


@generator("BitShift")
def shift(draw: Draw, op: str):
    dtype = draw.dtype(op)
    shapes = two_shapes(draw)
    a, b = draw.array(shapes[0], dtype, 0, 100), draw.array(shapes[1], dtype, 0, np.dtype(dtype).itemsize * 8 - 1)
    draw.out(draw.op(op, [draw.feed(a), draw.feed(b)], direction=draw.pick("LEFT", "RIGHT")))


@generator("PRelu")
def prelu(draw: Draw, op: str):
    dtype, shape = draw.dtype(op), draw.shape()
    slope = draw.broadcast(shape) if draw.since(op) >= 7 else shape
    draw.out(draw.op(op, [draw.feed(draw.array(shape, dtype, -9, 9, special=True)), draw.feed(draw.array(slope, dtype))]))


@generator("Max", "Min", "Mean", "Sum")
def variadic(draw: Draw, op: str):
    since, dtype, shape = draw.since(op), draw.dtype(op), draw.shape()
    count = draw.int(1, 4)
    shapes = [draw.broadcast(shape) if since >= 8 and draw.chance(0.5) else shape for _ in range(count)]
    special = np.dtype(dtype).kind == "f" and draw.chance(0.3)
    draw.out(draw.op(op, [draw.feed(draw.array(s, dtype, -9, 9, special=special)) for s in shapes]))


@generator("Where")
def where(draw: Draw, op: str):
    dtype, shape = draw.dtype(op), draw.shape()
    parts = [draw.array(draw.broadcast(shape) if draw.chance(0.5) else shape, t) for t in (bool, dtype, dtype)]
    draw.out(draw.op(op, [draw.feed(part) for part in parts]))


@generator("Clip")
def clip(draw: Draw, op: str):
    since, dtype, shape = draw.since(op), draw.dtype(op), draw.shape()
    x = draw.array(shape, dtype, -9, 9, special=True)
    low, high = draw.maybe(draw.int(-3, 3)), draw.maybe(draw.int(0, 5))
    if np.dtype(dtype).kind == "u":
        low = abs(low) if low is not None else None
    if since < 11:
        draw.out(draw.op(op, [draw.feed(x)], min=None if low is None else float(low), max=None if high is None else float(high)))
        return
    bounds = [None if v is None else draw.feed(np.array(v).astype(dtype), chain=False) for v in (low, high)]
    draw.out(draw.op(op, [draw.feed(x), *bounds]))


@generator("Cast", "CastLike")
def cast(draw: Draw, op: str):
    first = "T1" if op == "Cast" or True else "T"
    source, target = np.dtype(draw.dtype(op, first)), np.dtype(draw.dtype(op, "T2"))
    if object in (source, target) and source != target:
        numeric = target if source == object else source
        if numeric.kind not in "iu" or numeric.itemsize < 4:
            raise NoSuchCase("how a number is written is the runtime's choice")
        x = draw.array(draw.shape(), np.int32, 0, 99)
        x = x.astype(source) if source != object else np.vectorize(str, otypes=[object])(x)
    else:
        x = cast_input(draw, source, target)
    eight = "float8" in target.name or "float4" in target.name or "float6" in target.name
    if op == "CastLike":
        y = draw.op(op, [draw.feed(x), draw.feed(draw.array((1,), target), const=True)],
                    saturate=draw.maybe(draw.int(0, 1)) if eight and draw.opset >= 19 else None)
    else:
        y = draw.op(op, [draw.feed(x)], to=number_of(target),
                    saturate=draw.maybe(draw.int(0, 1)) if eight and draw.opset >= 19 else None)
    draw.out(y)


def cast_input(draw: Draw, source: np.dtype, target: np.dtype) -> np.ndarray:
    """Values whose conversion the language defines: no number outside the range of an integer type."""
    x = draw.array(draw.shape(), source, -9, 9)
    if target.kind in "iu" or "int" in target.name:
        info = ml_dtypes.iinfo(target)
        low, high = max(-9, int(info.min)), min(9, int(info.max))
        x = draw.array(draw.shape(), source, low, high)
    elif source.kind == "f" and draw.chance(0.3):
        x = draw.array(x.shape, source, -500, 500, special=True)
    return x


@generator("BitCast")
def bit_cast(draw: Draw, op: str):
    source = np.dtype(draw.dtype(op, "T1", only=(*FLOATS, *INTS)))
    targets = [t for t in (*FLOATS, *INTS) if np.dtype(t).itemsize == source.itemsize]
    draw.out(draw.op(op, [draw.feed(draw.array(draw.shape(), source, 0, 9))], to=number_of(draw.pick(*targets))))


@generator("Dropout")
def dropout(draw: Draw, op: str):
    since, dtype = draw.since(op), draw.dtype(op, only=FLOATS)
    x, outputs = draw.feed(draw.array(draw.shape(), dtype)), draw.int(1, 2)
    if since >= 12:
        ratio = draw.maybe(draw.feed(np.float32(draw.pick(0, 0.5)).astype(draw.dtype(op, "T1")), chain=False))
        y = draw.op(op, [x, ratio], outputs)
    else:
        y = draw.op(op, [x], outputs, ratio=draw.maybe(0.4))
    draw.out(*([y] if outputs == 1 else y))


@generator("SwiGLU")
def swiglu(draw: Draw, op: str):
    dtype, shape = draw.dtype(op), draw.shape()
    draw.out(draw.op(op, [draw.feed(draw.array(shape, dtype)), draw.feed(draw.array(shape, dtype))],
                     alpha=draw.maybe(draw.pick(1.0, 1.7, -0.5))))


def finish_chain(draw: Draw, name: str, shape: tuple, dtype: np.dtype) -> str:
    """With some chance more nodes behind a result: what compilers of providers fuse."""
    if not draw.chains or dtype not in (np.dtype(np.float32), np.dtype(np.float16)):
        return name
    for _ in range(draw.int(0, 3)):
        name, shape = one_more(draw, name, tuple(shape), dtype)
    return name


def one_more(draw: Draw, name: str, shape: tuple, dtype: np.dtype):
    way = draw.pick("activation", "activation", "binary", "binary", "self", "silu", "transpose", "reshape", "concat")
    if way == "activation":
        op = draw.pick("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "LeakyRelu", "Elu", "HardSigmoid", "Clip", "Exp")
        if op == "Clip" and draw.opset >= 11:
            return draw.op(op, [name, draw.feed(np.array(0, dtype), True), draw.feed(np.array(6, dtype), True)]), shape
        return draw.op(op, [name]), shape
    if way == "binary":
        other = draw.feed(draw.array(draw.broadcast(shape), dtype))
        sides = [name, other] if draw.chance(0.5) else [other, name]
        return draw.op(draw.pick("Add", "Mul", "Sub", *(["Max", "Min"] if draw.opset >= 8 else [])), sides), shape
    if way == "self":
        return draw.op(draw.pick("Add", "Mul"), [name, name]), shape
    if way == "silu":
        return draw.op("Mul", [name, draw.op("Sigmoid", [name])]), shape
    if way == "transpose" and shape:
        perm = draw.random.sample(range(len(shape)), len(shape))
        return draw.op("Transpose", [name], perm=perm), tuple(shape[i] for i in perm)
    if way == "reshape" and 0 not in shape:
        flat = (int(np.prod(shape)),)
        return draw.op("Reshape", [name, draw.feed(np.array(flat), True)]), flat
    if way == "concat" and shape:
        axis = draw.int(0, len(shape) - 1)
        return draw.op("Concat", [name, name], axis=axis), shape[:axis] + (shape[axis] * 2,) + shape[axis + 1:]
    return name, shape
