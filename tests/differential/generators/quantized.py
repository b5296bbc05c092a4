"""Operators that quantise, or compute with quantised numbers."""

import ml_dtypes
import numpy as np
from draw import DTYPES, Draw, NoSuchCase, number_of
from generators.movement import as_list
from generators.products import product_shapes
from generators.windows import image, window
from registry import generator

EIGHT_BITS = (np.int8, np.uint8)


def scale(draw: Draw, shape=(), dtype=np.float32) -> np.ndarray:
    """Powers of two, so that nothing depends on how a product is rounded."""
    return np.asarray(2.0 ** draw.numpy.integers(-4, 2, shape)).astype(dtype)


def zero_point(draw: Draw, shape, dtype) -> np.ndarray:
    return draw.array(shape, dtype, -3, 3) if np.dtype(dtype).kind in "iu" else np.zeros(shape, dtype)


@generator("QuantizeLinear", "DequantizeLinear")
def quantize(draw: Draw, op: str):
    since = draw.since(op)
    quantizes = op == "QuantizeLinear"
    packed = draw.dtype(op, ("T3" if since >= 23 else "T2") if quantizes else "T1")
    if quantizes and since < 13:
        packed = draw.dtype(op, "T2")
    real = draw.dtype(op, ("T1" if quantizes else "T2") if since >= 19 else "none", only=(np.float32, np.float16, ml_dtypes.bfloat16)) if since >= 19 else np.dtype(np.float32)
    if np.dtype(packed).kind == "i" and np.dtype(packed).itemsize == 4 and quantizes:
        raise NoSuchCase("no such type")
    shape = draw.shape(1, 4)
    axis, way, block = draw.axis(len(shape)), draw.pick("tensor", "axis", "block"), None
    sizes, attributes = (), {}
    if way == "axis" and since >= 13:
        sizes, attributes = (shape[axis],), {"axis": axis}
    elif way == "block" and since >= 21 and shape[axis]:
        block = draw.int(1, shape[axis])
        sizes = tuple(-(-d // block) if i == axis % len(shape) else d for i, d in enumerate(shape))
        attributes = {"axis": axis, "block_size": block}
    low = 0 if np.dtype(packed).kind == "u" else -100
    x = draw.array(shape, real, -20, 20, special=draw.chance(0.1)) if quantizes else draw.array(shape, packed, low, 100)
    if quantizes and not np.isfinite(x.astype(np.float32)).all():
        x = np.nan_to_num(x.astype(np.float32), nan=0, posinf=1e4, neginf=-1e4).astype(real)
    zero = zero_point(draw, sizes, packed)
    if not quantizes and np.dtype(packed) == np.int32:
        zero = np.zeros(sizes, np.int32)
    given = draw.maybe(zero, 0.8)
    if quantizes and given is None:
        if since >= 21:
            attributes["output_dtype"] = number_of(packed)
            if np.dtype(packed) == np.uint8 and draw.chance(0.5):
                attributes.pop("output_dtype")
    if quantizes and "float8" in np.dtype(packed).name and since >= 19:
        attributes["saturate"] = draw.pick(None, 0, 1)
    y = draw.op(op, [draw.feed(x), draw.feed(scale(draw, sizes, real)), None if given is None else draw.feed(given)], **attributes)
    draw.out(y)


@generator("DynamicQuantizeLinear")
def dynamic_quantize(draw: Draw, op: str):
    draw.steps = 1
    draw.out(*draw.op(op, [draw.feed(draw.array(draw.shape(zero=0), np.float32, *draw.pick((-3, 3), (1, 3), (-3, -1))))], 3))


def scaled(draw: Draw, sums: str, columns: int) -> str:
    """What core raises to MatMulIntegerToFloat: sums as floats, times the scale of a DynamicQuantizeLinear and constants, plus a bias.
    The bytes are not those of the DynamicQuantizeLinear, so that no sum depends on how a float was rounded."""
    of_a = draw.op("DynamicQuantizeLinear", [draw.feed(draw.array((7,), np.float32, -3, 3))], 3)[1]
    factors = [of_a, draw.feed(scale(draw, draw.pick((), (1,), (columns,))), const=True)]
    by = draw.op("Mul", factors if draw.chance(0.5) else factors[::-1])
    y = draw.op("Mul", [draw.op("Cast", [sums], to=number_of(np.float32)), by])
    if draw.chance(0.6):
        y = draw.op("Add", [y, draw.feed(draw.array(draw.pick((columns,), (columns,), (1,))), const=True)])
    if draw.chance(0.2):  # another reader
        draw.out(draw.op("Neg", [by]))
    draw.scaled = True
    return y


@generator("MatMulInteger")
def matmul_integer(draw: Draw, op: str):
    (a, b), types = product_shapes(draw), (draw.dtype(op, "T1"), draw.dtype(op, "T2"))
    zeros = [draw.maybe(zero_point(draw, (), types[0])), draw.maybe(zero_point(draw, draw.pick((), (b[-1],) if len(b) > 1 else ()), types[1]))]
    y = draw.op(op, [draw.feed(draw.array(a, types[0], -128, 255)), draw.feed(draw.array(b, types[1], -128, 255)),
                     *(None if z is None else draw.feed(z) for z in zeros)])
    draw.out(scaled(draw, y, b[-1]) if draw.opset >= 13 and len(b) > 1 and draw.chance(0.4) else y)


@generator("ConvInteger")
def conv_integer(draw: Draw, op: str):
    spatial = draw.pick(1, 2)
    attributes, types = window(draw, spatial), (draw.dtype(op, "T1"), draw.dtype(op, "T2"))
    group, inner, outer = draw.pick(1, 1, 2), draw.int(1, 3), draw.int(1, 3)
    x = draw.array((draw.int(1, 2), group * inner, *image(draw, spatial, attributes["kernel_shape"], short=False)), types[0], -128, 255)
    w = draw.array((group * outer, inner, *attributes["kernel_shape"]), types[1], -128, 255)
    zeros = [draw.maybe(zero_point(draw, (), types[0])), draw.maybe(zero_point(draw, (), types[1]))]
    draw.out(draw.op(op, [draw.feed(x), draw.feed(w), *(None if z is None else draw.feed(z) for z in zeros)], group=group, **attributes))


def in_floats(draw: Draw, op: str, parts: list, bias=None, axis: int = 1, **attributes) -> str:
    """What core raises to an operator on bytes: the operator on floats between conversions. `parts` are the inputs of the operator
    on bytes without the bias, `axis` that of several scales."""
    def converted(name: str, value, scale, zero, axis: int) -> str:
        along = {"axis": axis} if np.ndim(scale) else {}
        return draw.op(name, [value, draw.feed(scale, const=True), draw.feed(zero, const=True)], **along)
    x, w = draw.feed(parts[0]), draw.feed(parts[3], const=True)
    inputs = [converted("DequantizeLinear", x, *parts[1:3], axis), converted("DequantizeLinear", w, *parts[4:6], axis)]
    if bias is not None:
        scale = parts[1] * parts[4]
        inputs.append(converted("DequantizeLinear", draw.feed(bias, const=True), scale, np.zeros(scale.shape, np.int32), 0))
    y = draw.op(op, inputs, **attributes)
    if draw.chance(0.3):
        y = draw.op("Relu", [y])
    if draw.chance(0.2):  # another reader
        draw.out(draw.op("Neg", [inputs[0]]))
    return converted("QuantizeLinear", y, *parts[6:8], axis)


@generator("QLinearMatMul")
def qlinear_matmul(draw: Draw, op: str):
    (a, b), types = product_shapes(draw), [draw.pick(*EIGHT_BITS) for _ in range(3)]
    per = (b[-1],) if len(b) > 1 and draw.chance(0.3) else ()
    parts = []
    for shape, dtype, sizes in ((a, types[0], ()), (b, types[1], per), (None, types[2], ())):
        if shape is not None:
            parts.append(draw.array(shape, dtype, -128, 255))
        parts += [scale(draw, sizes), zero_point(draw, sizes, dtype)]
    draw.steps = 1
    if draw.opset >= 13 and draw.chance(0.4) and (not per or len(b) == 2):
        draw.out(in_floats(draw, "MatMul", parts))
        return
    draw.out(draw.op(op, [draw.feed(p) for p in parts]))


@generator("QLinearConv")
def qlinear_conv(draw: Draw, op: str):
    spatial = draw.pick(1, 2, 2)
    attributes, types = window(draw, spatial), [draw.pick(*EIGHT_BITS) for _ in range(3)]
    group, inner, outer = draw.pick(1, 1, 2), draw.int(1, 3), draw.int(1, 3)
    outputs = group * outer
    per = (outputs,) if draw.chance(0.4) else ()
    x = draw.array((draw.int(1, 2), group * inner, *image(draw, spatial, attributes["kernel_shape"], short=False)), types[0], -128, 255)
    w = draw.array((outputs, inner, *attributes["kernel_shape"]), types[1], -128, 127)
    zero_w = np.zeros(per, types[1]) if draw.chance(0.7) or per else zero_point(draw, per, types[1])
    parts = [x, scale(draw), zero_point(draw, (), types[0]), w, scale(draw, per), zero_w, scale(draw), zero_point(draw, (), types[2])]
    bias = draw.cut(draw.maybe(draw.array((outputs,), np.int32, -500, 500)))
    draw.steps = 1
    if draw.opset >= 13 and draw.chance(0.4):
        draw.out(in_floats(draw, "Conv", parts, bias, 0, group=group, **attributes))
        return
    draw.out(draw.op(op, [*(draw.feed(p) for p in parts), None if bias is None else draw.feed(bias)], group=group, **attributes))
