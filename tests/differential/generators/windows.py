"""Convolutions, pools, resampling: operators that look at windows."""

import numpy as np
from draw import FLOATS, Draw, NoSuchCase
from generators.elementwise import finish_chain
from generators.movement import as_list
from registry import generator


def window(draw: Draw, spatial: int, transposed: bool = False) -> dict:
    """kernel_shape and the attributes around it, pads either given or by auto_pad.

    SAME_UPPER and SAME_LOWER with a stride over the kernel would ask for pads below 0, which "can take any value greater
    than or equal to 0": the references make of it what they like, so only transposed convolutions get it.
    """
    kernel = [draw.int(1, 4) for _ in range(spatial)]
    strides = [draw.int(1, 3) for _ in kernel]
    attributes = {"kernel_shape": kernel, "strides": draw.maybe(strides, 0.6)}
    way = draw.pick("none", "pads", "pads", "VALID", "SAME_UPPER", "SAME_LOWER")
    if way == "pads":
        attributes["pads"] = [draw.int(0, k - 1) for k in kernel * 2]
    elif way != "none":
        attributes["auto_pad"] = way
    if way.startswith("SAME") and attributes["strides"] and not transposed:
        attributes["strides"] = [min(stride, size) for stride, size in zip(strides, kernel)]
    return attributes


def image(draw: Draw, spatial: int, kernel: list[int], dilations: list[int] | None = None, short: bool = True) -> list[int]:
    """Spatial dims, at times too short for the kernel, of which ONNX Runtime and onnx.reference make different things:
    `short` only where both are asked."""
    dilations = dilations or [1] * spatial
    span = [d * (k - 1) + 1 for k, d in zip(kernel, dilations)]
    return [max(1, s + draw.int(-1 if short and draw.chance(0.1) else 0, 5)) for s in span]


@generator("Conv")
def conv(draw: Draw, op: str):
    dtype, spatial = draw.dtype(op, only=FLOATS), draw.pick(1, 2, 2, 2, 3)
    attributes = window(draw, spatial)
    kernel = attributes["kernel_shape"]
    attributes["dilations"] = draw.maybe([draw.int(1, 2) for _ in kernel], 0.3)
    group = draw.pick(1, 1, 2, 3, 4)
    inner, outer = draw.int(1, 3) if draw.chance(0.6) else 1, draw.int(1, 3)
    size = image(draw, spatial, kernel, attributes["dilations"], short=np.dtype(dtype) == np.float32)
    x = draw.array((draw.dim(0.02, 3), group * inner, *size), dtype)
    w = draw.array((group * outer, inner, *kernel), dtype)
    b = draw.cut(draw.maybe(draw.array((group * outer,), dtype)))
    draw.scaled = True
    y = draw.op(op, [draw.feed(x), draw.feed(w), None if b is None else draw.feed(b)], group=group if group > 1 else None,
                **(attributes | {"kernel_shape": draw.maybe(kernel, 0.7)}))
    draw.out(fused_behind(draw, y, np.dtype(dtype)))


def fused_behind(draw: Draw, name: str, dtype: np.dtype) -> str:
    """Activations and scalars that compilers put into the operator before."""
    for _ in range(draw.pick(0, 0, 1, 2)):
        if dtype != np.float32:
            break
        op = draw.pick("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Clip", "HardSigmoid", "Mul", "Add", "Silu", "Abs")
        if op == "Clip" and draw.opset >= 11:
            name = draw.op(op, [name, draw.feed(np.float32(-1), True), draw.feed(np.float32(2), True)])
        elif op == "Silu":
            name = draw.op("Mul", [name, draw.op("Sigmoid", [name])])
        elif op in ("Mul", "Add"):
            name = draw.op(op, [name, draw.feed(draw.array((), dtype))])
        elif op != "Clip":
            name = draw.op(op, [name])
    return name


@generator("ConvTranspose")
def conv_transpose(draw: Draw, op: str):
    dtype, spatial = draw.dtype(op, only=FLOATS), draw.pick(1, 2, 2, 3)
    attributes = window(draw, spatial, transposed=True)
    kernel, strides = attributes["kernel_shape"], attributes["strides"] or [1] * spatial
    attributes["dilations"] = draw.maybe([draw.int(1, 2) for _ in kernel], 0.3)
    group, inner, outer = draw.pick(1, 1, 2), draw.int(1, 3), draw.int(1, 3)
    size = [draw.int(1, 5) for _ in kernel]
    if draw.chance(0.3):
        attributes["output_padding"] = [draw.int(0, s - 1) for s in strides]
    if draw.chance(0.25):
        attributes.pop("pads", None)
        attributes.pop("output_padding", None)
        # From two short of what the windows cover to one past it: more would ask for pads below 0, which there are not.
        spans = [s * (i - 1) + (k - 1) * d + 1 for s, i, k, d in zip(strides, size, kernel, attributes["dilations"] or [1] * spatial)]
        attributes["output_shape"] = [max(1, span + draw.int(-2, min(s - 1, 1))) for s, span in zip(strides, spans)]
        attributes["auto_pad"] = draw.pick(None, "NOTSET", "SAME_UPPER", "SAME_LOWER")
    x = draw.array((draw.int(1, 2), group * inner, *size), dtype)
    w = draw.array((group * inner, outer, *kernel), dtype)
    b = draw.cut(draw.maybe(draw.array((group * outer,), dtype)))
    draw.scaled = True
    y = draw.op(op, [draw.feed(x), draw.feed(w), None if b is None else draw.feed(b)], group=group if group > 1 else None, **attributes)
    draw.out(fused_behind(draw, y, np.dtype(dtype)))


@generator("DeformConv")
def deform_conv(draw: Draw, op: str):
    dtype, kernel = draw.dtype(op, only=FLOATS), [draw.int(1, 3), draw.int(1, 3)]
    strides, pads, dilations = [draw.int(1, 2)] * 2, [draw.int(0, 1)] * 4, [draw.int(1, 2)] * 2
    group, offsets = draw.pick(1, 2), draw.pick(1, 2)
    channels = 2 * draw.int(1, 2)
    size = image(draw, 2, kernel, dilations)
    out = [(s + 2 * pads[0] - d * (k - 1) - 1) // t + 1 for s, d, k, t in zip(size, dilations, kernel, strides)]
    if min(out) < 1:
        raise NoSuchCase("no output")
    n, points = draw.int(1, 2), offsets * kernel[0] * kernel[1]
    x, w = draw.array((n, channels, *size), dtype), draw.array((group * draw.int(1, 2), channels // group, *kernel), dtype)
    # Quarters: places that every type tells exactly, so that a narrow one does not move a sample.
    offset = (np.round(draw.array((n, 2 * points, *out), np.float32, -2, 2) * 4) / 4).astype(dtype)
    mask = draw.maybe(draw.array((n, points, *out), dtype, 0, 1))
    b = draw.maybe(draw.array((w.shape[0],), dtype))
    parts = [x, w, offset, b, mask]
    draw.scaled = True
    draw.out(draw.op(op, [None if p is None else draw.feed(p) for p in parts], strides=strides, pads=pads, dilations=dilations,
                     group=group, offset_group=offsets, kernel_shape=draw.maybe(kernel)))


@generator("AveragePool", "MaxPool", "LpPool")
def pool(draw: Draw, op: str):
    since, dtype, spatial = draw.since(op), draw.dtype(op, only=(*FLOATS, np.int8, np.uint8)), draw.pick(1, 2, 2, 3)
    attributes = window(draw, spatial)
    kernel = attributes["kernel_shape"]
    if op == "MaxPool" and since >= 10 or op == "AveragePool" and since >= 19 or op == "LpPool" and since >= 18:
        attributes["dilations"] = draw.maybe([draw.int(1, 2) for _ in kernel], 0.3)
    if op != "LpPool" and since >= 10 or op == "LpPool" and since >= 18:
        attributes["ceil_mode"] = draw.pick(None, 0, 1)
    if attributes.get("auto_pad") == "VALID" and np.dtype(dtype) != np.float32:
        # ONNX's text and its shape inference say different things: only where both references are asked.
        attributes.pop("ceil_mode", None)
    if op == "AveragePool" and since >= 7:
        attributes["count_include_pad"] = draw.pick(None, 0, 1)
    if op == "LpPool":
        attributes["p"] = draw.pick(None, 1, 2, 3)
    size = image(draw, spatial, kernel, attributes.get("dilations"), short=np.dtype(dtype) == np.float32)
    x = draw.array((draw.dim(0.02, 3), draw.int(1, 3), *size), dtype)
    outputs = 2 if op == "MaxPool" and since >= 8 and draw.chance(0.2) and x.dtype.kind == "f" else 1
    if outputs == 2:
        attributes["storage_order"] = draw.pick(None, 0, 1)
        x = draw.numpy.permutation(x.size).reshape(x.shape).astype(dtype)
    names = as_list(draw.op(op, [draw.feed(x)], outputs, **attributes))
    draw.out(*names if outputs == 2 else [fused_behind(draw, names[0], x.dtype)])


@generator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(draw: Draw, op: str):
    x = draw.array((draw.dim(0.02, 3), draw.int(1, 4), *draw.shape(1, 3)), draw.dtype(op))
    draw.scaled = True
    draw.out(draw.op(op, [draw.feed(x)], **({"p": draw.pick(None, 1, 3)} if op == "GlobalLpPool" else {})))


@generator("MaxUnpool")
def max_unpool(draw: Draw, op: str):
    dtype, k, s = draw.dtype(op, "T1"), [draw.int(1, 3), draw.int(1, 3)], None
    s = k if draw.chance(0.7) else [draw.int(1, 3), draw.int(1, 3)]
    n, c, h, w = draw.int(1, 2), draw.int(1, 2), draw.int(1, 4), draw.int(1, 4)
    out = [(h - 1) * s[0] + k[0], (w - 1) * s[1] + k[1]]
    count = n * c * out[0] * out[1]
    if count < n * c * h * w:
        raise NoSuchCase("too few places")
    indices = draw.numpy.permutation(count)[:n * c * h * w].reshape(n, c, h, w).astype(np.int64)
    if draw.misfit():
        if draw.chance(0.5):
            s = [draw.pick(0, -1), s[1]]
        else:
            indices = draw.cut(indices) if n > 1 or draw.chance(0.5) else indices[..., :0]
    draw.out(draw.op(op, [draw.feed(draw.array((n, c, h, w), dtype)), draw.feed(indices)], kernel_shape=k, strides=s))


@generator("MaxRoiPool")
def max_roi_pool(draw: Draw, op: str):
    n, h, w, count = draw.int(1, 2), draw.int(4, 8), draw.int(4, 8), draw.int(1, 3)
    rois = np.stack([draw.numpy.integers(0, n, count), *(draw.numpy.integers(0, 3, count) for _ in range(2)),
                     draw.numpy.integers(3, w, count), draw.numpy.integers(3, h, count)], 1)
    dtype = draw.dtype(op)
    x = draw.array((n, draw.int(1, 2), h, w), dtype)
    draw.out(draw.op(op, [draw.feed(x), draw.feed(rois.astype(dtype))], pooled_shape=[draw.int(1, 3), draw.int(1, 3)],
                     spatial_scale=draw.pick(None, 1.0, 0.5)))


@generator("RoiAlign")
def roi_align(draw: Draw, op: str):
    since, dtype, n, count = draw.since(op), draw.dtype(op, "T1"), draw.int(1, 2), draw.int(0, 3)
    h, w = draw.int(3, 8), draw.int(3, 8)
    corner = draw.numpy.uniform(0, 3, (count, 2))
    rois = np.concatenate([corner, corner + draw.numpy.uniform(0.5, 4, (count, 2))], 1).astype(dtype)
    batch = draw.numpy.integers(0, n, count).astype(np.int64)
    attributes = {"mode": draw.pick(None, "avg", "max"), "output_height": draw.maybe(draw.int(1, 3)), "output_width": draw.maybe(draw.int(1, 3)),
                  "sampling_ratio": draw.pick(None, 0, 1, 2), "spatial_scale": draw.pick(None, 1.0, 0.5)}
    if since >= 16:
        attributes["coordinate_transformation_mode"] = draw.pick(None, "half_pixel", "output_half_pixel")
    x = draw.array((n, draw.int(1, 2), h, w), dtype)
    draw.out(draw.op(op, [draw.feed(x), draw.feed(rois), draw.feed(batch)], **attributes))


@generator("Resize")
def resize(draw: Draw, op: str):
    since, rank = draw.since(op), draw.pick(1, 2, 3, 4, 4, 4)
    mode = draw.pick("nearest", "linear", "cubic") if since >= 11 else draw.pick("nearest", "linear")
    if mode == "cubic":
        rank = draw.pick(2, 4)
    shape = [draw.int(1, 3), draw.int(1, 2), draw.int(1, 6), draw.int(1, 6)][4 - rank:] if rank > 2 else [draw.int(1, 6) for _ in range(rank)]
    x = draw.array(shape, draw.dtype(op, "T1" if since >= 11 else "T", only=(np.float32, np.float32, np.float64, np.float16, np.int32, np.uint8)))
    if x.dtype.kind in "iu" and mode != "nearest":
        draw.steps = 1  # how what lies between two integers becomes one is not said
    scaled_axes = rank if rank <= 2 else rank - 2
    free = list(range(rank - scaled_axes, rank))
    scales = [draw.pick(0.5, 1.0, 2.0, 1.5, 0.7, 3.0, 2.3) if i in free else 1.0 for i in range(rank)]
    sizes = [max(1, draw.int(1, 9)) if i in free else shape[i] for i in range(rank)]
    if since < 11:
        draw.out(draw.op(op, [draw.feed(x), draw.feed(np.array(scales, np.float32), chain=False)], mode=mode))
        return
    by_sizes = draw.chance(0.5)
    if draw.wrong and draw.chance(0.5) and since >= 13:
        draw.huge = True
        big = draw.pick(2**32, 10**9, 2**62)
        draw.out(draw.op(op, [draw.feed(x), None, None, draw.feed(draw.ints([big if i in free else shape[i] for i in range(rank)]), chain=False)] if by_sizes else
                         [draw.feed(x), None, draw.feed(np.array([1e9 if i in free else 1.0 for i in range(rank)], np.float32), chain=False)], mode=mode))
        return
    ways = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", *(["half_pixel_symmetric"] if since >= 19 else [])]
    way = draw.pick(None, *ways, "tf_crop_and_resize")
    attributes = {"mode": draw.maybe(mode) if mode == "nearest" else mode, "coordinate_transformation_mode": way,
                  "nearest_mode": draw.pick(None, "floor", "ceil", "round_prefer_ceil", "round_prefer_floor") if mode == "nearest" else None}
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": draw.maybe(-0.5), "exclude_outside": draw.pick(None, 0, 1)}
    if since >= 18:
        attributes["antialias"] = draw.pick(None, None, 1) if mode != "nearest" else None
        if by_sizes:
            attributes["keep_aspect_ratio_policy"] = draw.pick(None, None, "not_larger", "not_smaller")
        if draw.chance(0.3):
            attributes["axes"] = free
            scales, sizes = scales[-len(free):], sizes[-len(free):]
    count = len(scales)
    roi = None
    if way == "tf_crop_and_resize":
        attributes["extrapolation_value"] = draw.maybe(7.0)
        roi = draw.feed(np.concatenate([draw.numpy.uniform(0, 0.4, count), draw.numpy.uniform(0.6, 1.2, count)]).astype(np.float32), chain=False)
    scales_name = None if by_sizes else draw.feed(np.array(scales, np.float32), chain=False)
    if since < 13 and by_sizes:
        scales_name = draw.feed(np.array([], np.float32), True)
    if since < 13 and roi is None:
        roi = draw.feed(np.array([], np.float32), True)
    draw.out(draw.op(op, [draw.feed(x), roi, scales_name, draw.feed(draw.ints(sizes), chain=False) if by_sizes else None], **attributes))


@generator("Upsample")
def upsample(draw: Draw, op: str):
    since = draw.since(op)
    if draw.opset >= 10 or since < 7:
        raise NoSuchCase("deprecated")
    x = draw.array((draw.int(1, 2), draw.int(1, 2), draw.int(1, 4), draw.int(1, 4)), np.float32)
    scales, mode = [1.0, 1.0, draw.pick(1.0, 2.0, 3.0), draw.pick(1.0, 2.0)], draw.pick(None, "nearest", "linear")
    if since >= 9:
        draw.out(draw.op(op, [draw.feed(x), draw.feed(np.array(scales, np.float32), chain=False)], mode=mode))
    else:
        draw.out(draw.op(op, [draw.feed(x)], scales=scales, mode=mode))


@generator("GridSample")
def grid_sample(draw: Draw, op: str):
    since, dtype, spatial = draw.since(op), draw.dtype(op, "T1", only=FLOATS), draw.pick(2, 2, 3)
    if since < 20:
        spatial = 2
    n = draw.int(1, 2)
    x = draw.array((n, draw.int(1, 2), *(draw.int(1, 5) for _ in range(spatial))), dtype)
    grid = draw.array((n, *(draw.int(1, 4) for _ in range(spatial)), spatial), draw.dtype(op, "T2", only=(np.float32,)), -1.4, 1.4)
    modes = ("bilinear", "nearest", "bicubic") if since < 20 else ("linear", "nearest", "cubic")
    mode = draw.pick(None, *modes)
    if spatial == 3 and mode == "cubic":
        mode = None
    draw.out(draw.op(op, [draw.feed(x), draw.feed(grid)], mode=mode, align_corners=draw.pick(None, 0, 1),
                     padding_mode=draw.pick(None, "zeros", "border", "reflection")))


@generator("AffineGrid")
def affine_grid(draw: Draw, op: str):
    dtype, spatial, n = draw.dtype(op, "T1", only=FLOATS), draw.pick(2, 3), draw.int(1, 2)
    theta = draw.array((n, spatial, spatial + 1), dtype)
    size = draw.ints([n, draw.int(1, 2), *(draw.int(1, 4) for _ in range(spatial))])
    draw.out(draw.op(op, [draw.feed(theta), draw.feed(size, chain=False)], align_corners=draw.pick(None, 0, 1)))


@generator("NonMaxSuppression")
def non_max_suppression(draw: Draw, op: str):
    n, classes, count = draw.int(1, 2), draw.int(1, 2), draw.int(1, 6)
    corner = draw.numpy.uniform(0, 1, (n, count, 2))
    boxes = np.concatenate([corner, corner + draw.numpy.uniform(0.1, 1, (n, count, 2))], 2).astype(np.float32)
    scores = draw.numpy.permutation(n * classes * count).reshape(n, classes, count).astype(np.float32) / (n * classes * count)
    extra = [draw.feed(np.array([draw.int(0, 4)], np.int64), chain=False), draw.feed(np.array([draw.pick(0.0, 0.3, 0.5)], np.float32), chain=False),
             draw.maybe(draw.feed(np.array([0.2], np.float32), chain=False))]
    draw.out(draw.op(op, [draw.feed(boxes), draw.feed(scores), *extra], center_point_box=draw.pick(None, 0, 1)))
