"""Operators that reduce, normalise or scan along axes."""

import numpy as np
from draw import FLOATS, Draw, NoSuchCase
from generators.elementwise import finish_chain
from generators.movement import as_list
from registry import generator

REDUCE = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
          "ReduceSum", "ReduceSumSquare")


@generator(*REDUCE)
def reduce(draw: Draw, op: str):
    since, dtype = draw.since(op), draw.dtype(op)
    low = 0 if op == "ReduceLogSum" else -3
    x = draw.array(draw.shape(0, 4), dtype, low, 3, special=op in ("ReduceMax", "ReduceMin") and draw.chance(0.4))
    axes = draw.pick(None, draw.axes(x.ndim, 0 if since >= 18 or op == "ReduceSum" and since >= 13 else 1))
    if since < 11 and axes is not None:
        axes = [a % x.ndim for a in axes]
    keep = draw.pick(None, 0, 1)
    if np.dtype(dtype).kind in "iu" and op in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2"):
        draw.steps = 1  # how a root or logarithm becomes an integer is not said
    draw.scaled = True
    if since >= 18 or (op == "ReduceSum" and since >= 13):
        given = None if axes is None else draw.feed(draw.ints(axes), chain=False)
        y = draw.op(op, [draw.feed(x), given], keepdims=keep, noop_with_empty_axes=draw.pick(None, 0, 1))
    else:
        y = draw.op(op, [draw.feed(x)], axes=axes or None, keepdims=keep)
    draw.out(y)


@generator("ArgMax", "ArgMin")
def arg_reduce(draw: Draw, op: str):
    since, dtype = draw.since(op), draw.dtype(op)
    x = draw.array(draw.shape(1, 4), dtype, -4, 4)
    axis = draw.axis(x.ndim) if since >= 11 else draw.int(0, x.ndim - 1)
    last = draw.pick(None, 0, 1) if since >= 12 else None
    draw.out(draw.op(op, [draw.feed(x)], axis=draw.maybe(axis) if axis == 0 else axis, keepdims=draw.pick(None, 0, 1),
                     select_last_index=last))


@generator("CumSum", "CumProd")
def cumulate(draw: Draw, op: str):
    x = draw.array(draw.shape(1, 4), draw.dtype(op), -2, 2)
    axis = draw.feed(np.array(draw.axis(x.ndim), draw.pick(np.int64, np.int32)), chain=False)
    draw.scaled = True
    draw.out(draw.op(op, [draw.feed(x), axis], exclusive=draw.pick(None, 0, 1), reverse=draw.pick(None, 0, 1)))


@generator("TopK")
def top_k(draw: Draw, op: str):
    since, dtype = draw.since(op), draw.dtype(op)
    shape = draw.shape(1, 3)
    x = draw.numpy.permutation(int(np.prod(shape))).reshape(shape).astype(dtype)  # no ties, so the indices are decided
    if len(set(x.reshape(-1).tolist())) != x.size:
        raise NoSuchCase("ties")
    axis = draw.axis(x.ndim)
    if since < 11:
        axis %= x.ndim
    k, attributes = draw.int(0, x.shape[axis]), {}
    if since >= 11:
        attributes = {"largest": draw.pick(None, 0, 1), "sorted": draw.pick(None, 1)}
    if since >= 10:
        names = draw.op(op, [draw.feed(x), draw.feed(draw.ints([k]), chain=False)], 2, axis=axis, **attributes)
    else:
        names = draw.op(op, [draw.feed(x)], 2, axis=axis, k=max(k, 1))
    draw.out(*names)


@generator("Softmax", "LogSoftmax", "Hardmax")
def softmax(draw: Draw, op: str):
    since = draw.since(op)
    x = draw.array(draw.shape(1, 4), draw.dtype(op), *draw.pick((-3, 3), (-100, 100), (-1e4, 1e4)))
    axis = draw.axis(x.ndim) if since >= 11 else draw.int(0, x.ndim - 1)
    draw.out(finish_chain(draw, draw.op(op, [draw.feed(x)], axis=draw.maybe(axis, 0.8)), x.shape, x.dtype))


@generator("LayerNormalization", "RMSNormalization")
def layer_normalization(draw: Draw, op: str):
    dtype = draw.dtype(op, only=FLOATS)
    x = draw.array(draw.shape(1, 4), dtype)
    axis = draw.axis(x.ndim)
    inner = x.shape[axis:]
    scale = draw.pick(inner, inner, draw.broadcast(inner), draw.broadcast(x.shape) if op == "LayerNormalization" else inner)
    bias = draw.pick(None, inner, draw.broadcast(inner)) if op == "LayerNormalization" else None
    parts = [draw.feed(x), draw.feed(draw.cut(draw.array(scale, dtype))), None if bias is None else draw.feed(draw.array(bias, dtype))]
    outputs = draw.pick(1, 1, 3) if op == "LayerNormalization" else 1
    draw.scaled = True
    names = as_list(draw.op(op, parts, outputs, axis=draw.maybe(axis) if axis == -1 else axis, epsilon=draw.pick(None, 1e-5, 0.1)))
    draw.out(finish_chain(draw, names[0], x.shape, x.dtype), *names[1:])


@generator("GroupNormalization", "InstanceNormalization", "BatchNormalization")
def channel_normalization(draw: Draw, op: str):
    since, dtype = draw.since(op), draw.dtype(op, only=FLOATS)
    groups = draw.int(1, 3)
    channels = groups * draw.int(1, 3)
    shape = (draw.dim(0.02, 3), channels, *draw.shape(1 if op != "BatchNormalization" else 0, 2, top=6))
    x, eps, draw.scaled = draw.feed(draw.array(shape, dtype)), draw.pick(None, 1e-5, 0.1), True
    size = groups if op == "GroupNormalization" and since < 21 else channels
    scale, bias = (draw.feed(draw.cut(draw.array((size,), dtype), 0.5)) for _ in range(2))
    if op == "GroupNormalization":
        y = draw.op(op, [x, scale, bias], num_groups=groups, epsilon=eps)
    elif op == "InstanceNormalization":
        y = draw.op(op, [x, scale, bias], epsilon=eps)
    else:
        mean, var = draw.feed(draw.array((channels,), dtype)), draw.feed(draw.array((channels,), dtype, 0.1, 3))
        if since >= 14 and draw.chance(0.2):
            names = draw.op(op, [x, scale, bias, mean, var], 3, epsilon=eps, training_mode=1, momentum=draw.maybe(0.7))
            draw.out(*names)
            return
        y = draw.op(op, [x, scale, bias, mean, var], epsilon=eps)
    draw.out(finish_chain(draw, y, shape, np.dtype(dtype)))


@generator("LRN")
def lrn(draw: Draw, op: str):
    x = draw.array((draw.int(1, 2), draw.int(1, 6), *draw.shape(1, 2)), draw.dtype(op))
    draw.out(draw.op(op, [draw.feed(x)], size=draw.pick(1, 3, 5), alpha=draw.maybe(0.1), beta=draw.maybe(0.5), bias=draw.maybe(2.0)))


@generator("LpNormalization")
def lp_normalization(draw: Draw, op: str):
    x = draw.array(draw.shape(1, 4), draw.dtype(op), 0.1, 3)
    draw.out(draw.op(op, [draw.feed(x)], axis=draw.maybe(draw.axis(x.ndim)), p=draw.pick(None, 1, 2)))


@generator("MeanVarianceNormalization")
def mean_variance(draw: Draw, op: str):
    x = draw.array([draw.int(1, 4) for _ in range(4)], draw.dtype(op))
    draw.out(draw.op(op, [draw.feed(x)], axes=draw.pick(None, [0, 2, 3], [2, 3], [1], [0, 1, 2, 3])))
