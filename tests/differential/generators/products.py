"""Matrix products, recurrent networks, attention, transforms."""

import numpy as np
from draw import FLOATS, Draw, NoSuchCase
from generators.elementwise import finish_chain
from generators.movement import as_list
from generators.windows import fused_behind
from registry import generator


def product_shapes(draw: Draw):
    m, k, n = (draw.dim(0.04, 9) for _ in range(3))
    a, b = [m, k], [k, n]
    batch = list(draw.shape(0, 2, zero=0.12, top=4))
    if draw.chance(0.6):
        a = list(draw.broadcast(tuple(batch))) + a
        b = list(batch if draw.chance(0.5) else draw.broadcast(tuple(batch))) + b
    elif draw.chance(0.3):
        a = [k]
    elif draw.chance(0.3):
        b = [k]
    return tuple(a), tuple(b)


@generator("MatMul")
def matmul(draw: Draw, op: str):
    dtype, (a, b) = draw.dtype(op), product_shapes(draw)
    low = 0 if np.dtype(dtype).kind == "u" else -3
    x, w = draw.array(a, dtype, low, 3), draw.array(b, dtype, low, 3)
    draw.scaled = True
    y, shape = draw.op(op, [draw.feed(x), draw.feed(w)]), np.matmul(np.zeros(a), np.zeros(b)).shape
    if draw.chance(0.3) and shape and np.dtype(dtype).kind == "f":
        y = draw.op("Add", [y, draw.feed(draw.array(draw.broadcast(shape), dtype))])
    draw.out(finish_chain(draw, y, shape, np.dtype(dtype)))


@generator("Gemm")
def gemm(draw: Draw, op: str):
    since, dtype = draw.since(op), draw.dtype(op)
    m, k, n = (draw.dim(0.03, 9) for _ in range(3))
    ta, tb = draw.pick(None, 0, 1), draw.pick(None, 0, 1)
    a, b = draw.array((k, m) if ta else (m, k), dtype), draw.array((n, k) if tb else (k, n), dtype)
    c = draw.maybe(draw.array(draw.broadcast((m, n)), dtype), 0.7)
    if c is None and since < 11:
        c = draw.array((n,), dtype)
    kinds = (None, 1.0, 0.5, 2.0, -1.0) if np.dtype(dtype).kind != "i" and np.dtype(dtype).kind != "u" else (None, 1.0)
    draw.scaled = True
    y = draw.op(op, [draw.feed(a), draw.feed(b), None if c is None else draw.feed(c)], transA=ta, transB=tb, alpha=draw.pick(*kinds),
                beta=draw.pick(*kinds))
    draw.out(fused_behind(draw, y, np.dtype(dtype)))


@generator("Einsum")
def einsum(draw: Draw, op: str):
    dtype, sizes = draw.dtype(op, only=FLOATS), {letter: draw.dim(0.02, 5) for letter in "abijk"}
    equation = draw.pick("ij,jk->ik", "bij,bjk->bik", "ij->ji", "ii->i", "ii->", "ij->", "i,j->ij", "bij,bjk", "ij,ij->i", "...ij,...jk->...ik",
                         "ij , jk", "a,a,a->a", "bij,bkj->bik", "ij,j", "...i->...", "abi,bj->aij")
    terms = [t.strip() for t in equation.split("->")[0].split(",")]
    lead = draw.shape(0, 2, top=3)
    shapes = [(*(lead if "..." in t else ()), *(sizes[l] for l in t.replace("...", ""))) for t in terms]
    draw.scaled = True
    draw.out(draw.op(op, [draw.feed(draw.array(s, dtype)) for s in shapes], equation=equation))


@generator("Det")
def det(draw: Draw, op: str):
    n = draw.int(1, 4)
    x = draw.array((*draw.shape(0, 2), n, n), draw.dtype(op, only=(np.float32, np.float64)))
    draw.scaled = True
    draw.out(draw.op(op, [draw.feed(x)]))


@generator("RNN", "GRU", "LSTM")
def recurrent(draw: Draw, op: str):
    since, dtype = draw.since(op), draw.dtype(op, only=(np.float32, np.float64, np.float16))
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    direction = draw.pick(None, "forward", "reverse", "bidirectional")
    d = 2 if direction == "bidirectional" else 1
    steps, batch, inner, hidden = draw.int(1, 4), draw.int(1, 3), draw.int(1, 4), draw.int(1, 4)
    layout = draw.pick(None, 0, 0, 1) if since >= 14 else None
    x = draw.array((batch, steps, inner) if layout else (steps, batch, inner), dtype)
    state = (batch, d, hidden) if layout else (d, batch, hidden)
    parts = [x, draw.array((d, gates * hidden, inner), dtype, -1, 1), draw.array((d, gates * hidden, hidden), dtype, -1, 1),
             draw.maybe(draw.array((d, 2 * gates * hidden), dtype, -1, 1)), draw.maybe(draw.array((batch,), np.int32, 1, steps), 0.3),
             draw.maybe(draw.array(state, dtype))]
    attributes = {"hidden_size": hidden, "direction": direction, "layout": layout, "clip": draw.maybe(0.7, 0.2)}
    if op == "LSTM":
        parts += [draw.maybe(draw.array(state, dtype)), draw.maybe(draw.array((d, 3 * hidden), dtype), 0.3)]
        attributes["input_forget"] = draw.maybe(1, 0.1)
    if op == "GRU":
        attributes["linear_before_reset"] = draw.pick(None, 0, 1)
    if draw.chance(0.3):
        per = {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
        attributes["activations"] = [draw.pick("Relu", "Tanh", "Sigmoid", "HardSigmoid", "Softsign") for _ in range(per * d)]
    count = draw.int(1, 3 if op == "LSTM" else 2)
    draw.out(*as_list(draw.op(op, [None if p is None else draw.feed(p) for p in parts], count, **attributes)))


@generator("Attention")
def attention(draw: Draw, op: str):
    since, dtype = draw.since(op), draw.dtype(op, "T1", only=FLOATS)
    n, q, size, value = draw.int(1, 2), draw.int(1, 4), draw.int(1, 4), draw.int(1, 4)
    kv, length, past = draw.int(1, 4), draw.pick(1, 2, 3), draw.pick(0, 0, 2)
    heads = length * draw.int(1, 2)
    flat = draw.chance(0.5)
    shapes = [(n, heads, q, size), (n, length, kv, size), (n, length, kv, value)]
    arrays = [draw.array(s, dtype) for s in shapes]
    if flat:
        arrays = [a.transpose(0, 2, 1, 3).reshape(n, a.shape[2], -1) for a in arrays]
    total = kv + past
    mask = draw.pick(None, None, bool, dtype)
    if mask is not None:
        mask = draw.array(draw.pick((q, total), (1, 1, q, total), (n, heads, q, total)), mask)
        if mask.dtype == bool:
            mask[..., 0] = True
    pasts = [draw.array((n, length, past, size), dtype), draw.array((n, length, past, value), dtype)] if past else [None, None]
    attributes = {"scale": draw.maybe(0.3), "is_causal": draw.pick(None, 0, 1), "softcap": draw.maybe(2.0, 0.2)}
    if flat:
        attributes |= {"q_num_heads": heads, "kv_num_heads": length}
    outputs = draw.pick(1, 3, 4) if past else draw.pick(1, 1, 4)
    if outputs == 4:
        attributes["qk_matmul_output_mode"] = draw.pick(None, 0, 1, 2, 3)
    if since >= 25 and draw.chance(0.2):
        attributes |= {"left_window_size": draw.int(0, 3), "right_window_size": draw.maybe(draw.int(0, 3))}
    parts = [*arrays, mask, *pasts]
    draw.scaled = True
    names = as_list(draw.op(op, [None if p is None else draw.feed(p) for p in parts], outputs, **attributes))
    draw.out(*(names if past else [names[0], *names[3:]]))


@generator("RotaryEmbedding")
def rotary(draw: Draw, op: str):
    dtype, n, t, heads, half = draw.dtype(op, only=FLOATS), draw.int(1, 2), draw.int(1, 4), draw.int(1, 3), draw.int(1, 3)
    size, flat, most = 2 * half + draw.pick(0, 0, 2), draw.chance(0.5), 6
    part = draw.maybe(2 * half) if size == 2 * half else 2 * half
    width = (part or size) // 2
    x = draw.array((n, t, heads * size) if flat else (n, heads, t, size), dtype)
    ids = draw.maybe(draw.array((n, t), np.int64, 0, most - 1))
    caches = [draw.array((n, t, width) if ids is None else (most, width), dtype, -1, 1) for _ in range(2)]
    draw.out(draw.op(op, [draw.feed(x), *(draw.feed(c) for c in caches), None if ids is None else draw.feed(ids)],
                     interleaved=draw.pick(None, 0, 1), num_heads=heads if flat else None, rotary_embedding_dim=part))


@generator("LinearAttention")
def linear_attention(draw: Draw, op: str):
    dtype, n, t, length = draw.dtype(op, only=FLOATS), draw.int(1, 2), draw.int(1, 4), draw.int(1, 2)
    heads, dk, dv, rule = length * draw.int(1, 2), draw.int(1, 3), draw.int(1, 3), draw.pick("linear", "gated", "delta", "gated_delta")
    parts = [draw.array((n, t, heads * dk), dtype, -1, 1), draw.array((n, t, length * dk), dtype, -1, 1), draw.array((n, t, length * dv), dtype, -1, 1),
             draw.maybe(draw.array((n, length, dk, dv), draw.pick(np.float32, dtype))),
             draw.array((n, t, draw.pick(length, length * dk)), dtype, -1, 0) if "gated" in rule else None,
             draw.array((n, t, length), dtype, 0, 1) if "delta" in rule else None]
    draw.scaled = True
    draw.out(*draw.op(op, [None if p is None else draw.feed(p) for p in parts], 2, q_num_heads=heads, kv_num_heads=length, update_rule=rule,
                      scale=draw.maybe(0.5)))


@generator("CausalConvWithState")
def causal_conv(draw: Draw, op: str):
    dtype, n, c, t, k = draw.dtype(op, only=FLOATS), draw.int(1, 2), draw.int(1, 3), draw.int(1, 5), draw.int(1, 4)
    parts = [draw.array((n, c, t), dtype), draw.array((c, 1, k), dtype), draw.maybe(draw.array((c,), dtype)), draw.maybe(draw.array((n, c, k - 1), dtype))]
    draw.scaled = True
    draw.out(*draw.op(op, [None if p is None else draw.feed(p) for p in parts], 2, activation=draw.pick(None, "none", "silu", "swish")))


@generator("DFT")
def dft(draw: Draw, op: str):
    since, dtype = draw.since(op), draw.dtype(op, "T1", only=(np.float32, np.float64, np.float16))
    shape = draw.shape(2, 3, zero=0)
    complex_, inverse, onesided = draw.chance(0.4), draw.pick(None, 0, 1), None
    if not complex_ and not inverse:
        onesided = draw.pick(None, 0, 1)
    x = draw.array((*shape, 2 if complex_ else 1), dtype)
    axis = draw.int(1 if len(shape) > 1 else 0, len(shape) - 1)
    length = draw.maybe(draw.feed(np.array(draw.int(1, 9), np.int64), chain=False), 0.3)
    draw.scaled = True
    if since >= 20:
        given = draw.feed(np.array(draw.pick(axis, axis - x.ndim), np.int64), chain=False)
        draw.out(draw.op(op, [draw.feed(x), length, given], inverse=inverse, onesided=onesided))
    else:
        draw.out(draw.op(op, [draw.feed(x), length], axis=axis, inverse=inverse, onesided=onesided))


@generator("STFT")
def stft(draw: Draw, op: str):
    dtype, n, frame = draw.dtype(op, "T1", only=(np.float32, np.float64)), draw.int(1, 2), draw.int(2, 8)
    x = draw.array((n, frame + draw.int(0, 12), 1), dtype)
    window = draw.maybe(draw.array((frame,), dtype, 0, 1))
    length = draw.feed(np.array(frame, np.int64), chain=False) if window is None or draw.chance(0.5) else None
    draw.scaled = True
    draw.out(draw.op(op, [draw.feed(x), draw.feed(np.array(draw.int(1, 4), np.int64), chain=False),
                          None if window is None else draw.feed(window), length], onesided=draw.pick(None, 0, 1)))


@generator("HannWindow", "HammingWindow", "BlackmanWindow")
def signal_window(draw: Draw, op: str):
    size = draw.nothing(np.array(draw.int(2, 12), draw.pick(np.int64, np.int32)))
    draw.out(draw.op(op, [draw.feed(size, chain=False)], periodic=draw.pick(None, 0, 1), output_datatype=draw.pick(None, 1, 11)))


@generator("MelWeightMatrix")
def mel_weights(draw: Draw, op: str):
    values = [np.array(draw.int(2, 8), np.int64), np.array(draw.pick(16, 32, 64), np.int64), np.array(draw.pick(8000, 16000), np.int64),
              np.array(draw.pick(0.0, 20.0), np.float32), np.array(draw.pick(3000.0, 4000.0), np.float32)]
    draw.out(draw.op(op, [draw.feed(v, chain=False) for v in values]))
