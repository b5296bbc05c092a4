"""Sequences, optionals, control flow, text, random numbers, losses."""

import numpy as np
import onnx
from draw import FLOATS, Draw, NoSuchCase, number_of, tensor_proto
from generators.movement import as_list
from onnx import helper
from registry import generator


def sequence(draw: Draw, parts: list[np.ndarray]) -> str:
    """A sequence as an input of the model or made by a node."""
    if draw.chance(0.5) and parts[0].dtype in (np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.float64)):
        name = draw.name()
        draw.inputs[name] = parts
        draw.kinds[name] = helper.make_sequence_type_proto(helper.make_tensor_type_proto(number_of(parts[0].dtype), None))
        return name
    return draw.op("SequenceConstruct", [draw.feed(part) for part in parts])


def parts(draw: Draw, same_shape: bool = False) -> list[np.ndarray]:
    dtype, shape = draw.pick(np.float32, np.float32, np.int64, np.float64, bool, np.int32), draw.shape(0, 3)
    return [draw.array(shape if same_shape else draw.shape(0, 3), dtype) for _ in range(draw.int(1, 4))]


@generator("SequenceConstruct", "SequenceLength", "SequenceEmpty")
def sequence_made(draw: Draw, op: str):
    draw.since(op)
    values = parts(draw)
    if op == "SequenceConstruct":
        draw.out(draw.op(op, [draw.feed(v) for v in values]))
    elif op == "SequenceLength":
        draw.out(draw.op(op, [sequence(draw, values)]))
    else:
        draw.out(draw.op("SequenceInsert", [draw.op(op, [], dtype=number_of(values[0].dtype)), draw.feed(values[0])]))


@generator("SequenceAt", "SequenceErase", "SequenceInsert")
def sequence_place(draw: Draw, op: str):
    draw.since(op)
    values = parts(draw)
    count = len(values) + (op == "SequenceInsert")
    place = draw.int(-len(values), count - 1)
    if draw.misfit():
        place = draw.pick(count + 1, -count - 2)
    given = draw.feed(np.array(place, draw.pick(np.int64, np.int32)), chain=False)
    if op == "SequenceErase":
        given = draw.maybe(given)
    if op == "SequenceInsert":
        draw.out(draw.op(op, [sequence(draw, values), draw.feed(draw.array(draw.shape(0, 3), values[0].dtype)), draw.maybe(given)]))
    else:
        draw.out(draw.op(op, [sequence(draw, values), given]))


@generator("ConcatFromSequence")
def concat_from_sequence(draw: Draw, op: str):
    draw.since(op)
    values = parts(draw, same_shape=True)
    new, rank = draw.pick(None, 0, 1), values[0].ndim
    if not new and not rank:
        raise NoSuchCase("scalars")
    draw.out(draw.op(op, [sequence(draw, values)], axis=draw.axis(rank + (1 if new else 0)), new_axis=new))


@generator("SplitToSequence")
def split_to_sequence(draw: Draw, op: str):
    x = draw.array(draw.shape(1, 3, zero=0), draw.dtype(op))
    axis = draw.axis(x.ndim)
    size, split = x.shape[axis], None
    if draw.chance(0.4):
        split = draw.feed(np.array(draw.int(1, size), np.int64), chain=False)
    elif draw.chance(0.6):
        cut = draw.int(0, size)
        split = draw.feed(draw.ints([cut, size - cut]), chain=False)
    draw.out(draw.op(op, [draw.feed(x), split], axis=axis, keepdims=draw.pick(None, 0, 1)))


@generator("SequenceMap")
def sequence_map(draw: Draw, op: str):
    draw.since(op)
    values = [v.astype(np.float32) for v in parts(draw)]
    body = helper.make_graph([helper.make_node("Mul", ["e", "e"], ["f"])], "body", [helper.make_tensor_value_info("e", 1, None)],
                             [helper.make_tensor_value_info("f", 1, None)])
    draw.out(draw.op(op, [sequence(draw, values)], body=body))


@generator("Optional", "OptionalHasElement", "OptionalGetElement")
def optional(draw: Draw, op: str):
    draw.since(op)
    x = draw.array(draw.shape(0, 3), draw.pick(np.float32, np.int64))
    value = draw.op("Optional", [draw.feed(x)])
    if op == "Optional":
        value = draw.op("OptionalGetElement", [value])
    else:
        value = draw.op(op, [value])
    draw.out(value)


@generator("If")
def if_(draw: Draw, op: str):
    shape, outer = draw.shape(0, 3), None
    x = draw.feed(draw.array(shape, np.float32))
    branches = []
    for k, inner in enumerate(("Relu", "Neg")):
        branches.append(helper.make_graph([helper.make_node(inner, [x], [f"b{k}"])], f"branch{k}", [], [helper.make_tensor_value_info(f"b{k}", 1, None)]))
    condition = draw.feed(np.array(draw.chance(0.5)).reshape(draw.pick((), (1,))), chain=False)
    draw.out(draw.op(op, [condition], then_branch=branches[0], else_branch=branches[1]))


@generator("Loop")
def loop(draw: Draw, op: str):
    shape = draw.shape(0, 2)
    captured = draw.feed(draw.array(shape, np.float32, -1, 1), chain=False)
    info = helper.make_tensor_value_info
    body = helper.make_graph([helper.make_node("Identity", ["c"], ["co"]), helper.make_node("Add", ["s", captured], ["so"]),
                              helper.make_node("Mul", ["so", "so"], ["scan"])], "body",
                             [info("i", 7, []), info("c", 9, []), info("s", 1, None)], [info("co", 9, []), info("so", 1, None), info("scan", 1, None)])
    count = draw.maybe(draw.feed(np.array(draw.pick(0, 1, 2, 5), np.int64), chain=False), 0.9)
    condition = draw.feed(np.array(draw.chance(0.8) if count else False), chain=False) if not count or draw.chance(0.6) else None
    draw.out(*draw.op(op, [count, condition, draw.feed(draw.array(shape, np.float32), chain=False)], 2, body=body))


@generator("Scan")
def scan(draw: Draw, op: str):
    if draw.since(op) < 9:
        raise NoSuchCase("Scan-8")
    steps, width, axis = draw.int(1, 4), draw.int(1, 3), draw.pick(0, 0, 1)
    info = helper.make_tensor_value_info
    body = helper.make_graph([helper.make_node("Add", ["s", "x"], ["so"]), helper.make_node("Mul", ["so", "x"], ["y"])], "body",
                             [info("s", 1, [width]), info("x", 1, [width])], [info("so", 1, [width]), info("y", 1, [width])])
    x = draw.array((steps, width) if axis == 0 else (width, steps), np.float32)
    attributes = {"scan_input_axes": [axis] if axis else None, "scan_input_directions": draw.pick(None, [0], [1]),
                  "scan_output_directions": draw.pick(None, [1]), "scan_output_axes": draw.pick(None, [1], [-1])}
    draw.out(*draw.op(op, [draw.feed(draw.array((width,), np.float32)), draw.feed(x)], 2, body=body, num_scan_inputs=1, **attributes))


@generator("StringConcat")
def string_concat(draw: Draw, op: str):
    shape = draw.shape()
    draw.out(draw.op(op, [draw.feed(draw.array(shape, object)), draw.feed(draw.array(draw.broadcast(shape), object))]))


@generator("StringSplit")
def string_split(draw: Draw, op: str):
    words = np.array([draw.pick("a b c", "a,b", "", " x  y ", "a,,b,", "hello") for _ in range(draw.int(1, 4))], object)
    draw.out(*draw.op(op, [draw.feed(words)], 2, delimiter=draw.pick(None, "", " ", ","), maxsplit=draw.maybe(draw.int(0, 3))))


@generator("RegexFullMatch")
def regex(draw: Draw, op: str):
    draw.out(draw.op(op, [draw.feed(draw.array(draw.shape(0, 3), object))], pattern=draw.pick("a.*", "[ab]+", ".", "", "The|of", r"\d+")))


@generator("StringNormalizer")
def string_normalizer(draw: Draw, op: str):
    words = draw.array((draw.int(1, 5),), object)
    if draw.chance(0.3):
        words = words.reshape(1, -1)
    draw.out(draw.op(op, [draw.feed(words)], case_change_action=draw.pick(None, "LOWER", "UPPER", "NONE"), is_case_sensitive=draw.pick(None, 0, 1),
                     stopwords=draw.maybe(["a", "The"])))


@generator("TfIdfVectorizer")
def tf_idf(draw: Draw, op: str):
    pool = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]
    x = draw.array(draw.pick((draw.int(1, 9),), (draw.int(1, 3), draw.int(1, 9))), draw.pick(np.int32, np.int64), 2, 8)
    draw.out(draw.op(op, [draw.feed(x)], mode=draw.pick("TF", "IDF", "TFIDF"), min_gram_length=draw.int(1, 2), max_gram_length=2, max_skip_count=draw.int(0, 3),
                     ngram_counts=[0, 4], ngram_indexes=draw.random.sample(range(7), 7), pool_int64s=pool, weights=draw.maybe([0.5, 1, 2, 3, 4, 5, 6.5])))


@generator("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial")
def random_numbers(draw: Draw, op: str):
    draw.deterministic = False
    seed, kind = draw.maybe(3.0), draw.maybe(number_of(draw.pick(np.float32, np.float64)))
    if op in ("RandomNormal", "RandomUniform"):
        draw.out(draw.op(op, [], shape=[max(d, 1) for d in draw.shape(1, 3)], seed=seed, dtype=kind))
    elif op == "Multinomial":
        draw.out(draw.op(op, [draw.feed(draw.array((draw.int(1, 3), draw.int(1, 4)), np.float32, -2, 0))], sample_size=draw.int(1, 4), seed=seed,
                         dtype=draw.pick(None, 6, 7)))
    else:
        draw.out(draw.op(op, [draw.feed(draw.array(draw.shape(), np.float32, 0, 1))], seed=seed, dtype=kind))


@generator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(draw: Draw, op: str):
    dtype, n, c, rest = draw.dtype(op, only=(np.float32, np.float64, np.float16)), draw.int(1, 4), draw.int(1, 5), draw.shape(0, 2, zero=0)
    target = draw.array((n, *rest), draw.pick(np.int64, np.int32), 0, c - 1)
    if draw.misfit():
        target.reshape(-1)[0] = c + 3
    weight, ignore = draw.maybe(draw.feed(draw.array((c,), dtype, 0.1, 2))), draw.maybe(draw.int(0, c), 0.3)
    outputs = draw.int(1, 2) if op == "SoftmaxCrossEntropyLoss" else 1
    draw.scaled = True
    draw.out(*as_list(draw.op(op, [draw.feed(draw.array((n, c, *rest), dtype)), draw.feed(target), weight], outputs,
                              reduction=draw.pick(None, "none", "sum", "mean"), ignore_index=ignore)))


@generator("FlexAttention", domain="ai.onnx.preview")
def flex_attention(draw: Draw, op: str):
    n, heads, length, size = draw.int(1, 2), draw.pick(2, 4), 2, draw.int(1, 4)
    q, k = draw.array((n, heads, draw.int(1, 3), size), np.float32), draw.array((n, length, draw.int(1, 4), size), np.float32)
    v = draw.array((*k.shape[:3], draw.int(1, 3)), np.float32)
    body = helper.make_graph([helper.make_node("Tanh", ["p"], ["o"])], "mod", [helper.make_tensor_value_info("p", 1, None)], [helper.make_tensor_value_info("o", 1, None)])
    draw.scaled = True
    draw.out(draw.op(op, [draw.feed(q), draw.feed(k), draw.feed(v)], domain="ai.onnx.preview", scale=draw.maybe(0.5), score_mod=draw.maybe(body)))


@generator("Adagrad", "Adam", "Momentum", domain="ai.onnx.preview.training")
def optimizer(draw: Draw, op: str):
    shapes = [draw.shape(0, 2) for _ in range(draw.int(1, 2))]
    states = {"Adagrad": 1, "Adam": 2, "Momentum": 1}[op]
    arrays = [draw.array(s, np.float32) for s in shapes] + [draw.array(s, np.float32) for s in shapes]
    arrays += [draw.array(s, np.float32, 0, 2) for _ in range(states) for s in shapes]
    attributes = {"norm_coefficient": draw.pick(0.0, 0.01)}
    if op == "Adagrad":
        attributes |= {"epsilon": 1e-5, "decay_factor": draw.pick(None, 0.1)}
    elif op == "Adam":
        attributes |= {"alpha": 0.9, "beta": 0.95, "epsilon": 1e-6}
    else:
        attributes |= {"alpha": 0.9, "beta": 0.8, "mode": draw.pick("standard", "nesterov")}
    rate, step = draw.nothing(np.array(0.1, np.float32)), np.array(draw.int(0, 3), np.int64)
    names = draw.op(op, [draw.feed(rate, chain=False), draw.feed(step, chain=False), *(draw.feed(a) for a in arrays)], len(shapes) * (states + 1),
                    domain="ai.onnx.preview.training", **attributes)
    draw.out(*names)
