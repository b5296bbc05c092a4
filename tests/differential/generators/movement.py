"""Operators that move elements: reshaping, slicing, gathering, scattering, padding."""

import numpy as np
from draw import FLOATS, INTS, Draw, NoSuchCase, number_of, tensor_proto
from generators.elementwise import finish_chain
from registry import generator


def data(draw: Draw, op: str, least: int = 0, most: int = 4, parameter: str = "T", **more) -> np.ndarray:
    return draw.array(draw.shape(least, most), draw.dtype(op, parameter), **more)


@generator("Transpose")
def transpose(draw: Draw, op: str):
    x = data(draw, op, 0, 5)
    perm = draw.maybe(draw.random.sample(range(x.ndim), x.ndim), 0.8)
    shape = x.transpose(perm).shape if x.ndim else ()
    draw.out(finish_chain(draw, draw.op(op, [draw.feed(x)], perm=perm or None), shape, x.dtype))


def factors(draw: Draw, count: int) -> list[int]:
    dims = []
    while count > 1 and len(dims) < 4:
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        dims.append(draw.pick(*divisors))
        count //= dims[-1]
    dims += [count] if count != 1 or not dims else []
    for _ in range(draw.int(0, 2)):
        dims.insert(draw.int(0, len(dims)), 1)
    return dims


@generator("Reshape")
def reshape(draw: Draw, op: str):
    x, since = data(draw, op), draw.since(op)
    dims = factors(draw, x.size) if x.size else [0, draw.int(1, 3)]
    allow = draw.maybe(draw.int(0, 1), 0.2) if since >= 14 else None
    if x.size == 0:
        allow = 1 if since >= 14 else None
        if since < 14:
            dims = list(x.shape)
    elif draw.chance(0.4) and not allow:
        dims[draw.int(0, len(dims) - 1)] = -1
    if draw.misfit(x.size):
        dims = [d if d > 0 else 1 for d in dims] + [draw.pick(2, 3, 300)]
    if since < 5:
        raise NoSuchCase("shape as attribute")
    y = draw.op(op, [draw.feed(x), draw.feed(draw.ints(dims), chain=False)], allowzero=allow)
    draw.out(y if draw.invalid else finish_chain(draw, y, x.reshape(dims).shape, x.dtype))


@generator("Flatten")
def flatten(draw: Draw, op: str):
    x = data(draw, op, 0 if draw.since(op) >= 9 else 1)
    axis = draw.int(-x.ndim if draw.since(op) >= 11 else 0, x.ndim)
    draw.out(draw.op(op, [draw.feed(x)], axis=draw.maybe(axis, 0.8)))


@generator("Squeeze", "Unsqueeze")
def squeeze(draw: Draw, op: str):
    since, x = draw.since(op), data(draw, op, 0, 4)
    if op == "Squeeze":
        shape = tuple(1 if draw.chance(0.4) else d for d in x.shape)
        x = draw.array(shape, x.dtype)
        ones = [i for i, d in enumerate(shape) if d == 1]
        axes = draw.random.sample(ones, draw.int(0, len(ones)))
        axes = [a - (len(shape) if since >= 11 and draw.chance(0.3) else 0) for a in axes] or None
    else:
        rank = x.ndim + draw.int(1, 2)
        axes = draw.random.sample(range(rank), rank - x.ndim)
        axes = [a - (rank if since >= 11 and draw.chance(0.3) else 0) for a in axes]
    if since >= 13:
        draw.out(draw.op(op, [draw.feed(x), None if axes is None else draw.feed(draw.ints(axes), chain=False)]))
    else:
        draw.out(draw.op(op, [draw.feed(x)], axes=axes))


@generator("Concat")
def concat(draw: Draw, op: str):
    dtype, shape = draw.dtype(op), list(draw.shape(1, 4))
    axis, parts = draw.axis(len(shape)) if draw.since(op) >= 11 else draw.int(0, len(shape) - 1), []
    for _ in range(draw.int(1, 4)):
        shape[axis] = draw.dim()
        parts.append(draw.array(shape, dtype))
    y = draw.op(op, [draw.feed(part) for part in parts], axis=axis)
    draw.out(finish_chain(draw, y, np.concatenate(parts, axis).shape, np.dtype(dtype)))


@generator("Split")
def split(draw: Draw, op: str):
    since, x = draw.since(op), data(draw, op, 1, 4)
    axis, count = draw.axis(x.ndim) if since >= 11 else draw.int(0, x.ndim - 1), draw.int(1, 4)
    size = x.shape[axis]
    cuts = sorted(draw.int(0, size) for _ in range(count - 1))
    lengths = np.diff([0, *cuts, size]).tolist()
    attributes = {"axis": draw.maybe(axis, 0.8) if axis in (0, -x.ndim) else axis}
    if since < 13:
        draw.out(*as_list(draw.op(op, [draw.feed(x)], count, split=lengths, **attributes)))
    elif draw.chance(0.6):
        draw.out(*as_list(draw.op(op, [draw.feed(x), draw.feed(draw.ints(lengths), chain=False)], count, **attributes)))
    else:
        if since < 18 and size % count:
            raise NoSuchCase("no equal split")
        if size < count:
            raise NoSuchCase("too many parts")
        draw.out(*as_list(draw.op(op, [draw.feed(x)], count, num_outputs=count if since >= 18 else None, **attributes)))


def as_list(names) -> list[str]:
    return [names] if isinstance(names, str) else names


@generator("Slice")
def slice_(draw: Draw, op: str):
    since, x = draw.since(op), data(draw, op, 1, 4)
    axes = draw.random.sample(range(x.ndim), draw.int(1, x.ndim))
    starts, ends, steps = [], [], []
    for axis in axes:
        step = draw.pick(1, 1, 2, 3, -1, -2) if since >= 10 else 1
        a, b = draw.int(-9, 9), draw.pick(draw.int(-9, 9), 2**31 - 1, 2**63 - 1, -2**63 if step < 0 else 5)
        starts.append(a), ends.append(b), steps.append(step)
    if draw.chance(0.4):
        axes = [axis - x.ndim for axis in axes] if since >= 10 else axes
    if since < 10:
        draw.out(draw.op(op, [draw.feed(x)], starts=starts, ends=[min(e, 2**31 - 1) for e in ends], axes=axes))
        return
    kind = draw.pick(np.int64, np.int64, np.int32)
    if kind == np.int32:
        ends = [max(min(e, 2**31 - 1), -2**31) for e in ends]
    parts = [draw.feed(draw.ints(p, kind), chain=False) for p in (starts, ends, axes)]
    steps = None if all(s == 1 for s in steps) and draw.chance(0.7) else draw.feed(draw.ints(steps, kind), chain=False)
    draw.out(draw.op(op, [draw.feed(x), *parts, steps]))


@generator("Gather", "GatherElements")
def gather(draw: Draw, op: str):
    since, x = draw.since(op), data(draw, op, 1, 4)
    axis = draw.axis(x.ndim) if since >= 11 else draw.int(0, x.ndim - 1)
    shape = draw.shape(0, 3)
    if op == "GatherElements":
        shape = tuple(draw.int(0 if draw.chance(0.1) else 1, d) if d else 0 for d in x.shape)
        shape = list(shape)
        shape[axis] = draw.dim()
        if draw.misfit(x.ndim > 1 and x.size):
            wide = draw.pick(*(i for i in range(x.ndim) if i != axis % x.ndim))
            shape[wide] = x.shape[wide] + draw.pick(1, 3, 50)
            indices = draw.numpy.integers(0, x.shape[axis], shape)
            draw.out(draw.op(op, [draw.feed(x), draw.feed(indices)], axis=axis))
            return
    indices = draw.indices(tuple(shape), x.shape[axis], draw.pick(np.int64, np.int32), negative=since >= 11)
    draw.out(draw.op(op, [draw.feed(x), draw.feed(indices)], axis=draw.maybe(axis) if axis == 0 else axis))


@generator("GatherND")
def gather_nd(draw: Draw, op: str):
    since, x = draw.since(op), data(draw, op, 1, 4)
    batch = draw.int(0, x.ndim - 1) if since >= 12 and draw.chance(0.5) else 0
    depth = draw.int(1, x.ndim - batch)
    lead = x.shape[:batch] + draw.shape(0, 2)
    columns = [draw.indices(lead, x.shape[batch + i]) for i in range(depth)]
    draw.out(draw.op(op, [draw.feed(x), draw.feed(np.stack(columns, -1))], batch_dims=batch or None))


@generator("Scatter", "ScatterElements")
def scatter_elements(draw: Draw, op: str):
    since, x = draw.since(op), data(draw, op, 1, 4)
    if op == "Scatter" and draw.opset > 10:
        raise NoSuchCase("deprecated")
    axis = draw.axis(x.ndim)
    shape = [draw.int(1, d) if d else 0 for d in x.shape]
    indices = np.argsort(draw.numpy.random(x.shape), axis)[tuple(slice(0, d) for d in shape)]  # none twice
    if draw.misfit(indices.size):
        indices = draw.indices(indices.shape, x.shape[axis])
    reduction = draw.pick("none", "add", "mul", "max", "min") if since >= 18 else draw.pick("none", "add") if since >= 16 else None
    if x.dtype.kind not in "fiu" and reduction:
        reduction = "none"
    if reduction in ("add", "max", "min") and x.shape[axis]:
        indices = draw.indices(indices.shape, x.shape[axis])
    draw.out(draw.op(op, [draw.feed(x), draw.feed(indices), draw.feed(draw.array(shape, x.dtype))],
                     axis=draw.maybe(axis) if axis == 0 else axis, reduction=reduction))


@generator("ScatterND")
def scatter_nd(draw: Draw, op: str):
    since, x = draw.since(op), data(draw, op, 1, 4)
    depth, count = draw.int(1, x.ndim), draw.int(0, 4)
    places = int(np.prod(x.shape[:depth]))
    flat = draw.random.sample(range(places), min(count, places))
    indices = np.stack(np.unravel_index(np.array(flat, np.int64), x.shape[:depth]), -1) if places else np.zeros((0, depth))
    indices = indices.astype(np.int64)
    if draw.misfit(indices.size):
        indices.reshape(-1)[0] = draw.pick(x.shape[0], -x.shape[0] - 1, 99)
    reduction = draw.pick("none", "add", "mul", "max", "min") if since >= 18 else None
    if x.dtype.kind not in "fiu" and reduction:
        reduction = "none"
    updates = draw.array((indices.shape[0], *x.shape[depth:]), x.dtype)
    draw.out(draw.op(op, [draw.feed(x), draw.feed(indices), draw.feed(updates)], reduction=reduction))


@generator("TensorScatter")
def tensor_scatter(draw: Draw, op: str):
    dtype = draw.dtype(op)
    shape = [draw.int(1, 3), draw.int(1, 3), draw.int(2, 6), draw.int(1, 4)]
    axis, mode = draw.pick(-2, 2, 1), draw.pick(None, "linear", "circular")
    update = list(shape)
    update[axis] = draw.int(1, shape[axis])
    room = shape[axis] - update[axis] if mode != "circular" else shape[axis] - 1
    write = draw.maybe(draw.array((shape[0],), np.int64, 0, room))
    draw.out(draw.op(op, [draw.feed(draw.array(shape, dtype)), draw.feed(draw.array(update, dtype)),
                          None if write is None else draw.feed(write)], mode=mode, axis=axis))


@generator("Expand")
def expand(draw: Draw, op: str):
    shape = draw.shape()
    x = draw.array(draw.broadcast(shape), draw.dtype(op))
    wanted = [1 if draw.chance(0.2) else d for d in shape]
    draw.out(draw.op(op, [draw.feed(x), draw.feed(draw.ints(wanted), chain=False)]))


@generator("Tile")
def tile(draw: Draw, op: str):
    if draw.chance(0.1):
        tile_1(draw, op)
        return
    x = data(draw, op, 0, 4)
    repeats = [draw.pick(0, 1, 1, 2, 3) if draw.chance(0.3) else draw.int(1, 3) for _ in x.shape]
    draw.out(draw.op(op, [draw.feed(x), draw.feed(draw.ints(repeats), chain=False)]))


def tile_1(draw: Draw, op: str):
    """One axis, so many times."""
    draw.opset = draw.opsets[""] = 5
    x = draw.array(draw.shape(1, 4), np.float32)
    parts = [np.array(draw.int(1, 3), np.float32), np.array(draw.int(0, x.ndim - 1), np.float32)]
    draw.out(draw.op(op, [draw.feed(x, chain=False), *(draw.feed(draw.nothing(p), chain=False) for p in parts)], hint=np.float32))


@generator("Pad")
def pad(draw: Draw, op: str):
    since = draw.since(op)
    mode = draw.pick("constant", "constant", "reflect", "edge", *(["wrap"] if since >= 19 else []))
    dtype = draw.dtype(op)
    x = draw.array([draw.int(3, 6) for _ in range(draw.int(1, 4))] if mode != "constant" else draw.shape(1, 4), dtype)
    axes = draw.axes(x.ndim, 1) if since >= 18 and draw.chance(0.4) else None
    padded = axes if axes is not None else list(range(x.ndim))
    least = -1 if mode == "constant" and draw.chance(0.2) else 0
    pads = [draw.int(least if min(x.shape) > 2 else 0, 2) for _ in range(2 * len(padded))]
    if since < 11:
        draw.out(draw.op(op, [draw.feed(x)], pads=pads, mode=mode, value=draw.maybe(1.5)))
        return
    value = draw.maybe(draw.feed(draw.array((), x.dtype), chain=False)) if mode == "constant" else None
    axes = None if axes is None else draw.feed(draw.ints(axes, draw.pick(np.int64, np.int32)), chain=False)
    draw.out(draw.op(op, [draw.feed(x), draw.feed(draw.ints(pads), chain=False), value, axes], mode=draw.maybe(mode) if mode == "constant" else mode))


@generator("CenterCropPad")
def center_crop_pad(draw: Draw, op: str):
    x = data(draw, op, 1, 4)
    axes = draw.maybe(draw.axes(x.ndim, 1))
    wanted = draw.array((x.ndim if axes is None else len(axes),), draw.pick(np.int64, np.int32), 1, 8)
    draw.out(draw.op(op, [draw.feed(x), draw.feed(wanted, chain=False)], axes=axes))


@generator("DepthToSpace", "SpaceToDepth")
def depth_to_space(draw: Draw, op: str):
    dtype, block = draw.dtype(op), draw.int(1, 3)
    n, c, h, w = draw.dim(), draw.int(1, 3), draw.int(1, 3), draw.int(1, 3)
    shape = (n, c * block * block, h, w) if op == "DepthToSpace" else (n, c, h * block, w * block)
    if op == "SpaceToDepth" and draw.misfit(block > 1 and n):
        shape = (n, shape[1], shape[2] + 1, shape[3])
    mode = draw.pick(None, "DCR", "CRD") if op == "DepthToSpace" and draw.since(op) >= 11 else None
    draw.out(draw.op(op, [draw.feed(draw.array(shape, dtype))], blocksize=block, mode=mode))


@generator("ReverseSequence")
def reverse_sequence(draw: Draw, op: str):
    batch_axis = draw.int(0, 1)
    x = data(draw, op, 2, 4)
    if 0 in x.shape[:2]:
        raise NoSuchCase("nothing to reverse")
    n, t = x.shape[batch_axis], x.shape[1 - batch_axis]
    lengths = draw.array((n,), np.int64, 1, t)
    if draw.misfit():
        lengths[0] = t + draw.int(1, 5)
    draw.out(draw.op(op, [draw.feed(x), draw.feed(lengths)], batch_axis=batch_axis, time_axis=1 - batch_axis))


@generator("Compress")
def compress(draw: Draw, op: str):
    x = data(draw, op, 1, 4)
    axis = draw.maybe(draw.axis(x.ndim), 0.7)
    size = x.size if axis is None else x.shape[axis]
    draw.out(draw.op(op, [draw.feed(x), draw.feed(draw.array((draw.int(0, size),), bool))], axis=axis))


@generator("NonZero")
def non_zero(draw: Draw, op: str):
    draw.out(draw.op(op, [draw.feed(data(draw, op, 0, 4, low=-1, high=1))]))


@generator("Trilu")
def trilu(draw: Draw, op: str):
    k = draw.maybe(draw.feed(np.array(draw.pick(-9, -1, 0, 1, 2, 9), np.int64), chain=False))
    draw.out(draw.op(op, [draw.feed(data(draw, op, 2, 4)), k], upper=draw.pick(None, 0, 1)))


@generator("Shape", "Size")
def shape_of(draw: Draw, op: str):
    x, attributes = data(draw, op), {}
    if op == "Shape" and draw.since(op) >= 15:
        attributes = {"start": draw.maybe(draw.int(-5, 5)), "end": draw.maybe(draw.int(-5, 5))}
    draw.out(draw.op(op, [draw.feed(x)], **attributes))


@generator("Constant")
def constant(draw: Draw, op: str):
    x = draw.array(draw.shape(), draw.dtype(op))
    draw.out(draw.op("Identity", [draw.op(op, [], value=tensor_proto(x, ""))]))


@generator("ConstantOfShape")
def constant_of_shape(draw: Draw, op: str):
    value = draw.maybe(tensor_proto(draw.array((1,), draw.dtype(op, "T2")), ""), 0.8)
    draw.out(draw.op(op, [draw.feed(draw.ints(draw.shape()), chain=False)], value=value))


@generator("EyeLike")
def eye_like(draw: Draw, op: str):
    x = draw.array(draw.shape(2, 2), draw.dtype(op, "T1"))
    draw.out(draw.op(op, [draw.feed(x)], k=draw.pick(None, -1, 0, 2), dtype=draw.maybe(number_of(draw.pick(np.float32, np.int64, np.float64)))))


@generator("OneHot")
def one_hot(draw: Draw, op: str):
    depth, kind = draw.int(1, 6), draw.dtype(op, "T3")
    # ONNX's shape inference wants a rank of at least one, its text does not.
    indices = draw.array(draw.shape(1, 3), draw.pick(np.int64, np.int32, np.float32), -depth if draw.since(op) >= 11 else 0, depth + 1)
    if indices.dtype.kind == "f":
        indices = np.trunc(indices)
    size = draw.nothing(np.array(depth if draw.chance(0.5) else [depth], draw.pick(np.int64, np.int32, np.float32)))
    draw.out(draw.op(op, [draw.feed(indices), draw.feed(size, chain=False), draw.feed(draw.array((2,), kind), chain=False)],
                     axis=draw.pick(None, -1, 0, draw.int(-indices.ndim - 1, indices.ndim))))


@generator("Range")
def range_(draw: Draw, op: str):
    dtype = np.dtype(draw.dtype(op))
    delta = draw.pick(1, 2, -1, -3) if dtype.kind != "u" else draw.int(1, 3)
    values = [np.array(v).astype(dtype) for v in (draw.int(-5, 5), draw.int(-9, 9), delta)]
    if draw.wrong:
        place = draw.int(0, 2)
        values[place] = draw.nothing(values[place])
    draw.out(draw.op(op, [draw.feed(v, chain=False) for v in values]))


@generator("Unique")
def unique(draw: Draw, op: str):
    x = data(draw, op, 1, 3, low=-2, high=2)
    if 0 in x.shape:
        raise NoSuchCase("nothing")
    axis = draw.maybe(draw.axis(x.ndim))
    draw.out(*as_list(draw.op(op, [draw.feed(x)], draw.int(1, 4), axis=axis, sorted=draw.pick(None, 1))))


@generator("Col2Im")
def col2im(draw: Draw, op: str):
    spatial = draw.int(1, 2)
    block = [draw.int(1, 3) for _ in range(spatial)]
    image = [draw.int(3, 6) for _ in range(spatial)]
    strides, dilations = [draw.int(1, 2) for _ in block], [draw.int(1, 2) if b * 2 < i else 1 for b, i in zip(block, image)]
    pads = [draw.int(0, 1) for _ in range(2 * spatial)]
    counts = [(i + pads[k] + pads[k + spatial] - d * (b - 1) - 1) // s + 1
              for k, (i, b, s, d) in enumerate(zip(image, block, strides, dilations))]
    x = draw.array((draw.int(1, 2), draw.int(1, 3) * int(np.prod(block)), int(np.prod(counts))), draw.dtype(op))
    draw.out(draw.op(op, [draw.feed(x), draw.feed(draw.ints(image), chain=False), draw.feed(draw.ints(block), chain=False)],
                     strides=strides, dilations=dilations, pads=pads))


@generator("Transpose", "Mul", "Add")
def transposed_with_ones(draw: Draw, op: str):
    """Layouts of dims of 1 say nothing by their strides: what follows a Transpose must not read them."""
    if draw.opset < 8:
        raise NoSuchCase("broadcasting by attribute")
    shape = tuple(1 if draw.chance(0.5) else draw.int(2, 20) for _ in range(draw.int(2, 5)))
    perm = draw.random.sample(range(len(shape)), len(shape))
    if draw.chance(0.6):
        k = draw.int(0, len(shape) - 2)
        perm = [*range(k), k + 1, k, *range(k + 2, len(shape))]
    moved = tuple(shape[i] for i in perm)
    y = draw.op("Transpose", [draw.feed(draw.array(shape), const=False, chain=False)], perm=perm)
    if draw.chance(0.4):
        y = draw.op("Mul", [y, draw.op("Sigmoid", [y])])
    for _ in range(draw.int(1, 2)):
        other = draw.feed(draw.array(moved if draw.chance(0.6) else draw.broadcast(moved)))
        y = draw.op(op if op != "Transpose" else draw.pick("Mul", "Add", "Sub"), [y, other] if draw.chance(0.5) else [other, y])
    draw.out(y)
