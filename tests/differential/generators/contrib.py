"""Operators of com.microsoft, and those that ONNX dropped or ONNX Runtime keeps in ai.onnx: ONNX Runtime alone knows them."""

import ml_dtypes
import numpy as np
from draw import Draw, NoSuchCase
from generators.movement import as_list
from generators.quantized import EIGHT_BITS, scale, zero_point
from generators.products import product_shapes
from generators.windows import image, window
from registry import generator

MS = "com.microsoft"
F = np.float32


def node(draw: Draw, op: str, parts: list, outputs: int = 1, hint=F, **attributes):
    """`parts` are arrays, or None where an input is left out."""
    names = [None if p is None else draw.feed(p) for p in parts]
    draw.out(*as_list(draw.op(op, names, outputs, domain=MS, hint=hint, **attributes)))


@generator("BiasGelu", "FastGelu", "Gelu", "QuickGelu", domain=MS)
def gelus(draw: Draw, op: str):
    x = draw.array(draw.shape(1, 4), F, *draw.pick((-3, 3), (-50, 50)), special=True)
    bias = draw.array((x.shape[-1],)) if op == "BiasGelu" else draw.maybe(draw.array((x.shape[-1],))) if op == "FastGelu" else None
    node(draw, op, [x, bias], alpha=draw.maybe(1.3) if op == "QuickGelu" else None)


@generator("FusedMatMul", "TransposeMatMul", domain=MS)
def fused_matmul(draw: Draw, op: str):
    batch, (m, k, n) = draw.shape(0, 2, zero=0), (draw.dim(0), draw.dim(0), draw.dim(0))
    ta, tb = draw.pick(None, 0, 1), draw.pick(None, 0, 1)
    a, b = draw.array((*batch, k, m) if ta else (*batch, m, k)), draw.array((*batch, n, k) if tb else (*batch, k, n))
    attributes = {}
    if op == "FusedMatMul" and batch and draw.chance(0.3):  # the matrix's first axis stands before those of the batch
        a, attributes = np.moveaxis(a, -2, 0), {"transBatchA": 1}
    draw.scaled = True
    node(draw, op, [a, b], transA=ta, transB=tb, alpha=draw.maybe(0.5), **attributes)


@generator("FusedGemm", domain=MS)
def fused_gemm(draw: Draw, op: str):
    m, k, n, ta, tb = draw.dim(0), draw.dim(0), draw.dim(0), draw.pick(None, 0, 1), draw.pick(None, 0, 1)
    c = draw.maybe(draw.array(draw.broadcast((m, n))), 0.7)
    draw.scaled = True
    node(draw, op, [draw.array((k, m) if ta else (m, k)), draw.array((n, k) if tb else (k, n)), c], transA=ta, transB=tb, alpha=draw.maybe(0.5),
         beta=draw.maybe(0.5), activation=draw.pick("Relu", "Sigmoid", "Tanh"))


@generator("FusedConv", domain=MS)
def fused_conv(draw: Draw, op: str):
    attributes, group = window(draw, 2), draw.pick(1, 2)
    inner, outer = draw.int(1, 2), draw.int(1, 3)
    x = draw.array((draw.int(1, 2), group * inner, *image(draw, 2, attributes["kernel_shape"])))
    w, b = draw.array((group * outer, inner, *attributes["kernel_shape"])), draw.maybe(draw.array((group * outer,)))
    way = draw.pick("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid")
    extra = {"LeakyRelu": [0.1], "Clip": [-1.0, 2.0], "HardSigmoid": [0.2, 0.5]}.get(way)
    draw.scaled = True
    node(draw, op, [x, w, b], group=group, activation=way, activation_params=extra, **attributes)


@generator("Attention", domain=MS)
def attention(draw: Draw, op: str):
    n, t, heads, size = draw.int(1, 3), draw.int(1, 5), draw.pick(1, 2, 3), draw.int(1, 4)
    inner, hidden = draw.int(1, 5), heads * size
    mask = draw.pick(None, None, draw.array((n,), np.int32, 1, t), (np.arange(t)[None] < draw.numpy.integers(1, t + 1, (n, 1))).astype(np.int32))
    past = draw.maybe(draw.array((2, n, heads, 2, size)), 0.25)
    if past is not None:
        mask = None
    bias = draw.maybe(draw.array((n, heads, t, t)), 0.2) if past is None else None
    draw.scaled = True
    outputs = 2 if past is not None or draw.chance(0.2) else 1
    node(draw, op, [draw.array((n, t, inner)), draw.array((inner, 3 * hidden)), draw.array((3 * hidden,)), mask, past, bias], outputs, num_heads=heads,
         unidirectional=draw.pick(None, 0, 1), scale=draw.maybe(0.4, 0.3))


@generator("QAttention", domain=MS)
def qattention(draw: Draw, op: str):
    n, t, heads, size = draw.int(1, 3), draw.int(1, 5), draw.pick(1, 2, 3), draw.int(1, 4)
    inner, columns, first, second = draw.int(1, 5), 3 * heads * size, draw.pick(*EIGHT_BITS), draw.pick(*EIGHT_BITS)
    mask = draw.pick(None, draw.array((n,), np.int32, 1, t), (np.arange(t)[None] < draw.numpy.integers(1, t + 1, (n, 1))).astype(np.int32))
    past = draw.maybe(draw.array((2, n, heads, 2, size)), 0.25) if mask is None else None
    per = (columns,) if draw.chance(0.3) else ()
    draw.scaled = True
    node(draw, op, [draw.array((n, t, inner), first, -9, 9), draw.array((inner, columns), second, -9, 9), draw.array((columns,)), scale(draw) / 32,
                    scale(draw, per), mask, draw.maybe(zero_point(draw, (), first)), draw.maybe(zero_point(draw, per, second)), past],
         2 if past is not None or draw.chance(0.2) else 1, num_heads=heads, unidirectional=draw.pick(None, 0, 1))


@generator("MultiHeadAttention", domain=MS)
def multi_head(draw: Draw, op: str):
    n, q, kv, heads, size = draw.int(1, 2), draw.int(1, 4), draw.int(1, 4), draw.int(1, 3), draw.int(1, 4)
    value = size if draw.chance(0.7) else draw.int(1, 4)
    query, key, v = draw.array((n, q, heads * size)), draw.array((n, kv, heads * size)), draw.array((n, kv, heads * value))
    bias = draw.maybe(draw.array((2 * heads * size + heads * value,)), 0.3)
    mask = draw.maybe((np.arange(kv)[None] < draw.numpy.integers(1, kv + 1, (n, 1))).astype(np.int32), 0.3)
    extra = draw.maybe(draw.array((draw.pick(1, n), draw.pick(1, heads), q, kv)), 0.3)
    draw.scaled = True
    node(draw, op, [query, key, v, bias, mask, extra], draw.pick(1, 1, 3), num_heads=heads, scale=draw.maybe(0.4, 0.3), unidirectional=draw.pick(None, 1) if q == kv else None)


@generator("GroupQueryAttention", domain=MS)
def group_query(draw: Draw, op: str):
    n, length, size, past = draw.int(1, 2), draw.int(1, 2), 8 * draw.int(1, 2), draw.pick(0, 3)
    heads, t = length * draw.int(1, 2), 1 if past else draw.int(1, 4)
    total = past + t
    pasts = [draw.array((n, length, past, size)) for _ in range(2)]
    rotary = draw.maybe(True, 0.3)
    caches = [draw.array((16, size // 2), F, -1, 1) for _ in range(2)] if rotary else []
    draw.scaled = True
    if draw.chance(0.3):
        inputs = [draw.array((n, t, (heads + 2 * length) * size)), None, None]
    else:
        inputs = [draw.array((n, t, heads * size)), draw.array((n, t, length * size)), draw.array((n, t, length * size))]
    node(draw, op, [*inputs, *pasts, np.full((n,), total - 1, np.int32), np.array(total, np.int32), *caches], 3, num_heads=heads, kv_num_heads=length,
         scale=draw.maybe(0.4, 0.3), do_rotary=1 if rotary else None, rotary_interleaved=draw.pick(None, 0, 1) if rotary else None,
         softcap=draw.maybe(2.0, 0.2), **draw.pick({}, {}, {"local_window_size": 2}, {"causal": 0}, {"causal": 1}))


@generator("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MS)
def skip_norm(draw: Draw, op: str):
    shape = (draw.int(1, 3), draw.int(1, 4), draw.int(1, 8))
    skip = draw.pick(shape, shape, shape[1:], (1, *shape[1:]))
    parts = [draw.array(shape), draw.array(skip), draw.array(shape[-1:])]
    if op == "SkipLayerNormalization":
        parts.append(draw.maybe(draw.array(shape[-1:])))
    parts.append(draw.maybe(draw.array(shape[-1:])))
    draw.scaled = True
    name = as_list(draw.op(op, [None if p is None else draw.feed(p) for p in parts], draw.pick(1, 4), domain=MS, hint=F, epsilon=draw.maybe(1e-3)))
    draw.out(name[0], *name[3:])


@generator("EmbedLayerNormalization", domain=MS)
def embed_norm(draw: Draw, op: str):
    n, t, h = draw.int(1, 3), draw.int(1, 4), draw.int(1, 6)
    segment = draw.chance(0.6)
    parts = [draw.array((n, t), np.int32, 0, 4), draw.array((n, t), np.int32, 0, 1) if segment else None, draw.array((5, h)), draw.array((6, h)),
             draw.array((2, h)) if segment else None, draw.array((h,)), draw.array((h,)), draw.maybe(draw.array((n, t), np.int32, 0, 1)),
             draw.maybe(draw.array((n, t), np.int32, 0, 5), 0.3)]
    draw.scaled = True
    node(draw, op, parts, 2, hint=[F, np.int32], epsilon=draw.maybe(1e-3))


@generator("QEmbedLayerNormalization", domain=MS)
def qembed_norm(draw: Draw, op: str):
    n, t, h, packed, segment = draw.int(1, 3), draw.int(1, 4), draw.int(1, 6), draw.pick(*EIGHT_BITS), draw.chance(0.6)
    tables = [draw.array(shape, packed, -99, 99) for shape in ((5, h), (6, h), (2, h), (h,), (h,))]
    scales, zeros = [scale(draw) for _ in tables], [zero_point(draw, (), packed) for _ in tables]
    ids = [draw.array((n, t), np.int32, 0, 4), draw.array((n, t), np.int32, 0, 1)]
    if not segment:
        ids[1] = tables[2] = scales[2] = zeros[2] = None
    draw.scaled = True
    node(draw, op, [*ids, *tables, draw.maybe(draw.array((n, t), np.int32, 0, 1)), *scales, *zeros], 2, hint=[F, np.int32], epsilon=draw.maybe(1e-3))


@generator("RotaryEmbedding", domain=MS)
def rotary(draw: Draw, op: str):
    n, t, heads, size = draw.int(1, 2), draw.int(1, 4), draw.int(1, 3), 2 * draw.int(1, 4)
    flat = draw.chance(0.5)
    x = draw.array((n, t, heads * size) if flat else (n, heads, t, size))
    ids = draw.pick(draw.array((n, t), np.int64, 0, 7), np.array([draw.int(0, 3)], np.int64))
    node(draw, op, [x, ids, draw.array((8, size // 2), F, -1, 1), draw.array((8, size // 2), F, -1, 1)], interleaved=draw.pick(None, 0, 1),
         num_heads=draw.maybe(heads, 0.3))


@generator("MatMulNBits", domain=MS)
def matmul_nbits(draw: Draw, op: str):
    m, k, n, block, bits = draw.int(1, 4), draw.int(1, 70), draw.int(1, 9), draw.pick(16, 32), draw.pick(2, 4, 4, 8)
    blocks = -(-k // block)
    a, b = draw.array((*draw.shape(0, 1, zero=0), m, k)), draw.array((n, blocks, block * bits // 8), np.uint8, 0, 255)
    zeros = draw.pick(None, draw.array((n, -(-blocks * bits // 8)), np.uint8, 0, 255))
    kept = draw.chance(0.7)  # else the weights come with the Run
    places = None
    if bits == 4 and zeros is None and draw.chance(0.5):  # with g_idx, ONNX Runtime takes no zero points
        places = draw.feed(draw.numpy.integers(0, blocks, (k,)).astype(np.int32), chain=False)
    names = [draw.feed(a), draw.feed(b, kept, False), draw.feed(draw.array((n, blocks), F, 0.01, 0.1), kept, False),
             None if zeros is None else draw.feed(zeros, kept, False), places, draw.maybe(draw.feed(draw.array((n,)), True), 0.3)]
    draw.scaled = True
    draw.out(draw.op(op, names, domain=MS, hint=F, K=k, N=n, bits=bits, block_size=block))


@generator("QuantizeLinear", "DequantizeLinear", domain=MS)
def quantize(draw: Draw, op: str):
    shape, packed = draw.shape(1, 3), draw.pick(np.uint8, np.int8, np.uint16, np.int16)
    axis = draw.maybe(draw.axis(len(shape)))
    sizes = () if axis is None else (shape[axis],)
    x = draw.array(shape, F, -20, 20) if op == "QuantizeLinear" else draw.array(shape, packed, -100, 100)
    node(draw, op, [x, scale(draw, sizes), zero_point(draw, sizes, packed)], hint=packed if op == "QuantizeLinear" else F, axis=axis)


@generator("DynamicQuantizeMatMul", "MatMulIntegerToFloat", domain=MS)
def integer_products(draw: Draw, op: str):
    m, k, n, packed = draw.int(1, 4), draw.int(1, 9), draw.int(1, 6), draw.pick(*EIGHT_BITS)
    per = (n,) if draw.chance(0.4) else ()
    b, bias = draw.array((k, n), packed, -128, 127), draw.maybe(draw.array((n,)))
    zero = draw.maybe(zero_point(draw, per, packed))
    draw.scaled = True
    if op == "DynamicQuantizeMatMul":
        node(draw, op, [draw.array((*draw.shape(0, 1, zero=0), m, k)), b, scale(draw, per), zero, bias])
    else:
        first = draw.pick(np.uint8, packed)
        node(draw, op, [draw.array((m, k), first, -128, 255), b, scale(draw), scale(draw, per), draw.maybe(zero_point(draw, (), first)), zero, bias])


@generator("QGemm", domain=MS)
def qgemm(draw: Draw, op: str):
    m, k, n, ta, tb = draw.int(1, 4), draw.int(1, 6), draw.int(1, 5), draw.pick(None, 0, 1), draw.pick(None, 0, 1)
    first, second = draw.pick(np.uint8, np.int8), draw.pick(np.uint8, np.int8)
    parts = [draw.array((k, m) if ta else (m, k), first, -100, 100), scale(draw), zero_point(draw, (), first),
             draw.array((n, k) if tb else (k, n), second, -100, 100), scale(draw), zero_point(draw, (), second), draw.maybe(draw.array((n,), np.int32, -99, 99))]
    quantized = draw.chance(0.5)
    if quantized:
        parts += [scale(draw), zero_point(draw, (), first)]
    draw.steps, draw.scaled = 1, True
    node(draw, op, parts, hint=first if quantized else F, transA=ta, transB=tb, alpha=draw.maybe(0.5))


@generator("QLinearAdd", "QLinearMul", domain=MS)
def qlinear_binary(draw: Draw, op: str):
    packed, shape = draw.pick(*EIGHT_BITS), draw.shape(0, 4)
    parts = []
    for s in (shape, draw.broadcast(shape)):
        parts += [draw.array(s, packed, -128, 255), scale(draw), zero_point(draw, (), packed)]
    draw.steps = 1
    node(draw, op, [*parts, scale(draw), draw.maybe(zero_point(draw, (), packed), 0.8)], hint=packed)


@generator("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", domain=MS)
def qlinear_unary(draw: Draw, op: str):
    packed, shape = draw.pick(*EIGHT_BITS), draw.shape(1, 4, zero=0)
    attributes = {"alpha": draw.maybe(0.2)} if op == "QLinearLeakyRelu" else {}
    if op == "QLinearSoftmax":
        attributes = {"axis": draw.pick(None, -1, 0, 1) if len(shape) > 1 else draw.pick(-1, 0), "opset": draw.pick(12, 13)}
    draw.steps = 1
    y_scale = np.array(1 / 256 if op != "QLinearLeakyRelu" else 0.25, F)
    y_zero = np.array(0 if packed == np.uint8 else -128, packed) if op == "QLinearSoftmax" else draw.maybe(zero_point(draw, (), packed), 0.8)
    node(draw, op, [draw.array(shape, packed, -128, 255), scale(draw), zero_point(draw, (), packed), y_scale, y_zero], hint=packed, **attributes)


@generator("QLinearConcat", domain=MS)
def qlinear_concat(draw: Draw, op: str):
    packed, shape = draw.pick(*EIGHT_BITS), list(draw.shape(1, 3, zero=0))
    axis = draw.axis(len(shape))
    parts = [scale(draw), zero_point(draw, (), packed)]
    for _ in range(draw.int(1, 3)):
        shape[axis] = draw.int(1, 4)
        parts += [draw.array(shape, packed, -128, 255), scale(draw), zero_point(draw, (), packed)]
    draw.steps = 1
    node(draw, op, parts, hint=packed, axis=axis)


@generator("QLinearGlobalAveragePool", domain=MS)
def qlinear_pool(draw: Draw, op: str):
    packed = draw.pick(*EIGHT_BITS)
    x = draw.array((draw.int(1, 2), draw.int(1, 3), *draw.shape(2, 2, zero=0)), packed, -128, 255)
    draw.steps = 1
    node(draw, op, [x, scale(draw), zero_point(draw, (), packed), scale(draw), zero_point(draw, (), packed)], hint=packed, channels_last=draw.pick(None, 0, 1))


@generator("QLinearAveragePool", domain=MS)
def qlinear_average_pool(draw: Draw, op: str):
    packed, spatial, last = draw.pick(*EIGHT_BITS), draw.pick(1, 2, 2, 3), draw.pick(None, 0, 1)
    attributes, batch, channels = window(draw, spatial), draw.int(1, 2), draw.int(1, 3)
    size = image(draw, spatial, attributes["kernel_shape"])
    x = draw.array((batch, *size, channels) if last else (batch, channels, *size), packed, -128, 255)
    draw.steps = 1
    # With both, ONNX Runtime also counts what is neither image nor padding. Its AveragePool does not.
    ceil, include = draw.pick((None, None), (0, 1), (1, 0), (None, 1))
    node(draw, op, [x, scale(draw), zero_point(draw, (), packed), scale(draw), draw.maybe(zero_point(draw, (), packed))], hint=packed, channels_last=last,
         ceil_mode=ceil, count_include_pad=include, **attributes)


@generator("QLinearWhere", domain=MS)
def qlinear_where(draw: Draw, op: str):
    packed, shape = draw.pick(*EIGHT_BITS), draw.shape(0, 4)
    parts = [draw.array(draw.broadcast(shape), bool)]
    for s in (shape, draw.broadcast(shape)):
        parts += [draw.array(s, packed, -128, 255), scale(draw), zero_point(draw, (), packed)]
    draw.steps = 1
    node(draw, op, [*parts, scale(draw), zero_point(draw, (), packed)], hint=packed)


@generator("DynamicQuantizeLSTM", domain=MS)
def quantized_lstm(draw: Draw, op: str):
    """ONNX Runtime quantises the input and each hidden state, and Tenon does not. So there is one step, whose numbers are multiples of
    the scale that ONNX Runtime finds: each row has the ends of the range, 0 and 255."""
    direction, packed = draw.pick(None, "forward", "reverse", "bidirectional"), draw.pick(*EIGHT_BITS)
    d = 2 if direction == "bidirectional" else 1
    batch, inner, hidden = draw.int(1, 3), draw.int(2, 5), draw.int(2, 4)

    def exact(*shape: int) -> np.ndarray:
        values = draw.array(shape, np.uint8, 0, 255)
        values[..., 0], values[..., 1] = 0, 255
        return values.astype(F) / 128

    per = (d, 4 * hidden) if draw.chance(0.3) else (d,)
    weights = [draw.array((d, k, 4 * hidden), packed, -60, 60) for k in (inner, hidden)]
    factors = [part for _ in weights for part in (scale(draw, per) / 32, zero_point(draw, per, packed))]
    options = [draw.array((d, 8 * hidden), F, -1, 1), np.ones(batch, np.int32), exact(d, batch, hidden), draw.array((d, batch, hidden)), draw.array((d, 3 * hidden))]
    kept = draw.chance(0.8)  # else the weights come with the Run
    names = [draw.feed(exact(1, batch, inner)), *(draw.feed(w, kept, False) for w in weights), *(draw.maybe(draw.feed(o), 0.5) for o in options),
             *(draw.feed(f, kept, False) for f in factors)]
    draw.scaled = True
    draw.out(*as_list(draw.op(op, names, draw.int(1, 3), domain=MS, hint=F, hidden_size=hidden, direction=direction, clip=draw.maybe(0.7, 0.2),
                              input_forget=draw.maybe(1, 0.1))))


@generator("GatherBlockQuantized", domain=MS)
def gather_blocks(draw: Draw, op: str):
    rows, columns, block, packed = draw.int(1, 5), 2 * draw.int(1, 40), draw.pick(16, 32), draw.pick(np.uint8, np.uint8, ml_dtypes.int4, ml_dtypes.uint4)
    more, bits = draw.shape(0, 1, zero=0), draw.pick(4, 8) if packed == np.uint8 else 4
    shape, blocks = [*more, rows, columns], [*more, rows, -(-columns // block)]
    gathered = 0 if packed == np.uint8 else draw.int(0, len(shape) - 2)
    bytes_of = lambda dims: [*dims[:-1], -(-dims[-1] * bits // 8)] if packed == np.uint8 else dims  # noqa: E731
    drawn = lambda dims: draw.array(bytes_of(dims), np.uint8 if packed != ml_dtypes.int4 else np.int8, *((0, 255) if packed == np.uint8 else (0, 7))).astype(packed)  # noqa: E731
    zeros = draw.maybe(drawn(blocks))
    names = [draw.feed(drawn(shape), True, False), draw.feed(draw.indices(draw.shape(0, 2), shape[gathered])), draw.feed(draw.array(blocks, F, 0.01, 0.1), True, False),
             None if zeros is None else draw.feed(zeros, True, False)]
    axis = draw.pick(len(shape) - 1, -1)
    draw.out(draw.op(op, names, domain=MS, hint=F, gather_axis=draw.pick(gathered, gathered - len(shape)), quantize_axis=axis, block_size=block, bits=bits))


@generator("Inverse", domain=MS)
def inverse(draw: Draw, op: str):
    n = draw.int(1, 4)
    x = draw.array((*draw.shape(0, 2, zero=0, top=3), n, n), F, -1, 1) + 3 * np.eye(n, dtype=F)
    draw.scaled = True
    node(draw, op, [x.astype(F)])


@generator("Tokenizer", domain=MS)
def tokenizer(draw: Draw, op: str):
    pieces = ("a", "b", "ab", "abc", "é", "日本", "x.y", "1", "22", " ", "  ", ",", "-", "𝄞", "A", "\n")
    separators = (" ", ",", "[ ,]+", "-", "é", "b+", "ab|abc", r"\s", r"\d+", "日", "^a", "b$", r"\bx", "[^a-z]", "(?i)a")
    expressions = ("[a-z]+", r"\w+", r"\S+", "a*", "ab|abc", "[0-9]{2}", r"\b\w", "(a|b)+", "日?本", r"^\w+", "[^ ]+$", "x*")
    shape = draw.pick((1,), (3,), (2, 3), (0,), (2, 0), (0, 2))
    texts = ["".join(draw.pick(*pieces) for _ in range(draw.int(0, 7))) for _ in range(int(np.prod(shape)))]
    way = draw.pick({"separators": [""]}, {"tokenexp": "."}, {"separators": [draw.pick(*separators) for _ in range(draw.int(1, 3))]},
                    {"tokenexp": draw.pick(*expressions)})
    least = 1 if way in ({"separators": [""]}, {"tokenexp": "."}) else draw.pick(1, 1, 2, 3)
    node(draw, op, [np.array(texts, dtype=object).reshape(shape)], hint=object, mark=draw.pick(0, 1), mincharnum=least, pad_value=draw.pick("#", "", "é"), **way)


@generator("MurmurHash3", domain=MS)
def murmur_hash3(draw: Draw, op: str):
    shape = draw.shape(0, 3, zero=0)
    if draw.pick(True, False):
        x = np.array(["".join(draw.pick("a", "é", "日", "=", "7") for _ in range(draw.int(0, 9))) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)
    else:
        x = draw.array(shape, draw.pick(np.int32, np.uint32, np.int64, np.uint64, F, np.float64), 0, 100)
    positive = draw.pick(None, 0, 1)
    node(draw, op, [x], hint=np.int32 if positive == 0 else np.uint32, positive=positive, seed=draw.pick(None, 0, 42, -1))


@generator("ExpandDims", "Trilu", "GatherND", "GridSample", domain=MS)
def as_standard(draw: Draw, op: str):
    x = draw.array(draw.shape(2, 4, zero=0))
    if op == "ExpandDims":
        node(draw, op, [x, np.array(draw.int(-x.ndim - 1, x.ndim), np.int32)])
    elif op == "Trilu":
        node(draw, op, [x, draw.maybe(np.array(draw.int(-3, 3), np.int64))], upper=draw.pick(None, 0, 1))
    elif op == "GatherND":
        depth = draw.int(1, x.ndim)
        node(draw, op, [x, np.stack([draw.indices((3,), x.shape[i]) for i in range(depth)], -1)])
    else:
        x = draw.array((1, 2, draw.int(1, 4), draw.int(1, 4)))
        node(draw, op, [x, draw.array((1, 3, 2, 2), F, -1.3, 1.3)], mode=draw.pick(None, "bilinear", "nearest", "bicubic"),
             padding_mode=draw.pick(None, "zeros", "border", "reflection"), align_corners=draw.pick(None, 0, 1))


@generator("Affine", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh", "Crop", "DynamicSlice", "SimplifiedLayerNormalization")
def kept_in_ai_onnx(draw: Draw, op: str):
    draw.opset = min(draw.opset, 21 if op == "SimplifiedLayerNormalization" else 9)
    draw.opsets[""] = draw.opset
    x = draw.array((draw.int(1, 2), draw.int(1, 3), draw.int(3, 6), draw.int(3, 6)))
    if op == "DynamicSlice":
        y = draw.op(op, [draw.feed(x), *(draw.feed(draw.ints([v]), chain=False) for v in (draw.int(-3, 2), draw.int(1, 9), draw.int(0, 3)))], hint=F)
    elif op == "SimplifiedLayerNormalization":
        draw.scaled = True
        y = draw.op(op, [draw.feed(x), draw.feed(draw.array(x.shape[-1:]))], hint=F, epsilon=draw.maybe(1e-3))
    else:
        attributes = {"ImageScaler": {"scale": 0.5, "bias": draw.array((x.shape[1],)).tolist()}, "Scale": {"scale": 2.5},
                      "Crop": {"border": [draw.int(0, 1) for _ in range(4)], "scale": draw.maybe([2, 2])}}.get(op, {"alpha": 0.7, "beta": 1.3})
        y = draw.op(op, [draw.feed(x)], hint=F, **attributes)
    draw.out(y)
