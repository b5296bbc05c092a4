"""Searches over what a decoder says next, by small decoders with random weights, alone and behind an encoder."""

import numpy as np
from draw import Draw
from onnx import TensorProto, helper, numpy_helper
from registry import generator

MS = "com.microsoft"
HEADS, SIZE, WORDS, FEATURES = 2, 3, 13, 4
WIDTH = HEADS * SIZE
END, PAD, START = 1, 0, 2
GPT, T5, WHISPER = range(3)
I32, F32 = TensorProto.INT32, TensorProto.FLOAT


class Body:
    """A nested graph in the making. `weights` draws: two bodies with equal seeds have equal weights."""

    def __init__(self, seed: int):
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.weights = np.random.default_rng(seed)

    def constant(self, value, dtype=np.int64) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def weight(self, *shape: int) -> str:
        return self.constant(self.weights.normal(0, 0.5, shape), np.float32)

    def op(self, op: str, inputs: list, out: str | None = None, **attributes) -> str:
        out = out or f"inner{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [out], **attributes))
        return out

    def take(self, name: str, dtype: int, *dims) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        return name

    def give(self, name: str, value: str, *dims) -> None:
        self.op("Identity", [value], name)
        self.outputs.append(helper.make_tensor_value_info(name, F32, dims))

    def graph(self, name: str):
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)

    def project(self, x: str) -> str:
        return self.op("MatMul", [x, self.weight(WIDTH, WIDTH)])

    def heads(self, x: str) -> str:
        return self.op("Transpose", [self.op("Reshape", [self.project(x), self.constant([0, 0, HEADS, SIZE])])], perm=[0, 2, 1, 3])

    def attend(self, q: str, k: str, v: str, mask: str | None) -> str:
        scores = self.op("MatMul", [q, self.op("Transpose", [k], perm=[0, 1, 3, 2])])
        if mask:
            scores = self.op("Add", [scores, mask])
        mixed = self.op("Transpose", [self.op("MatMul", [self.op("Softmax", [scores], axis=-1), v])], perm=[0, 2, 1, 3])
        return self.op("Reshape", [mixed, self.constant([0, 0, WIDTH])])

    def hide(self, mask: str) -> str:
        """0 and 1 of [B, L] as what is added to scores."""
        centred = self.op("Sub", [self.op("Cast", [mask], to=F32), self.constant(1, np.float32)])
        return self.op("Unsqueeze", [self.op("Mul", [centred, self.constant(1e4, np.float32)]), self.constant([1, 2])])

    def embed(self, ids: str) -> str:
        return self.op("Gather", [self.weight(WORDS, WIDTH), ids])

    def scores(self, x: str) -> str:
        return self.op("MatMul", [x, self.weight(WIDTH, WORDS)])


def layers_of_decoder(body: Body, seed: int, x: str, own: list, cross: list, mask: str | None) -> tuple[str, list[str]]:
    """Scores and the longer caches; own and cross hold keys and values by layer."""
    weights, body.weights = body.weights, np.random.default_rng(seed)
    x, caches = body.embed(x), []
    for i, (past_key, past_value) in enumerate(own):
        q, k, v = (body.heads(x) for _ in range(3))
        if past_key:
            k, v = body.op("Concat", [past_key, k], axis=2), body.op("Concat", [past_value, v], axis=2)
        caches += [k, v]
        x = body.op("Add", [x, body.project(body.attend(q, k, v, None if cross else mask))])
        if cross:
            x = body.op("Add", [x, body.project(body.attend(body.heads(x), *cross[i], mask))])
        x = body.op("Add", [x, body.op("Tanh", [body.project(x)])])
    out = body.scores(x)
    body.weights = weights
    return out, caches


def names_of(what: str, layers: int) -> list[tuple[str, str]]:
    return [(f"{what[0]}_key_{what[1]}_{i}", f"{what[0]}_value_{what[1]}_{i}") for i in range(layers)]


def give_pairs(body: Body, names: list[tuple[str, str]], values: list[str], length: str) -> None:
    for name, value in zip((n for pair in names for n in pair), values):
        body.give(name, value, "rows", HEADS, length, SIZE)


def encoder(seed: int, layers: int, whisper: bool, first_step: bool):
    body, mask = Body(seed), None
    if whisper:
        features = body.take("encoder_input_ids", F32, "rows", FEATURES, "length")
        x = body.op("MatMul", [body.op("Transpose", [features], perm=[0, 2, 1]), body.weight(FEATURES, WIDTH)])
    else:
        x = body.embed(body.take("encoder_input_ids", I32, "rows", "length"))
        mask = body.hide(body.take("encoder_attention_mask", I32, "rows", "length"))
    x = body.op("Add", [x, body.attend(*(body.heads(x) for _ in range(3)), mask)])
    cross = [(body.heads(x), body.heads(x)) for _ in range(layers)]
    if first_step:
        ids = body.take("decoder_input_ids", I32, "rows", "some")
        scores, caches = layers_of_decoder(body, seed + 1, ids, [(None, None)] * layers, cross, mask)
        body.give("logits", scores, "rows", "some", WORDS)
        body.give("encoder_hidden_states", x, "rows", "length", WIDTH)
        give_pairs(body, names_of(("present", "self"), layers), caches, "some")
    give_pairs(body, names_of(("present", "cross"), layers), [value for pair in cross for value in pair], "length")
    return body.graph("encoder")


def decoder(seed: int, layers: int, whisper: bool, hidden: bool, whole: bool):
    body = Body(seed)
    ids = body.take("input_ids", I32, "rows", "some" if whole else 1)
    mask = None if whisper else body.hide(body.take("encoder_attention_mask", I32, "rows", "length"))
    if hidden:
        body.take("encoder_hidden_states", F32, "rows", "length", WIDTH)
    own, cross = names_of(("past", "self"), layers), names_of(("past", "cross"), layers)
    for pairs, length in ((own, "past"), (cross, "length")):
        for name in (n for pair in pairs for n in pair):
            body.take(name, F32, "rows", HEADS, length, SIZE)
    if whole:  # the last is the one that is not in the cache
        ids = body.op("Slice", [ids, body.constant([-1]), body.constant([2**31]), body.constant([1])])
    scores, caches = layers_of_decoder(body, seed + 1, ids, own, cross, mask)
    body.give("logits", scores, "rows", 1, WORDS)
    give_pairs(body, names_of(("present", "self"), layers), caches, "total")
    return body.graph("decoder")


def gpt_decoder(seed: int, layers: int):
    body = Body(seed)
    ids, places = body.take("input_ids", I32, "rows", "some"), body.take("position_ids", I32, "rows", "some")
    mask = body.hide(body.take("attention_mask", I32, "rows", "total"))
    past = [body.take(f"past_{i}", F32, 2, "rows", HEADS, "past", SIZE) for i in range(layers)]
    half = [[body.op("Gather", [p, body.constant(k)], axis=0) for k in (0, 1)] for p in past]
    # Each token sees all that are there: the numbers need not be those of a language.
    words, caches = layers_of_decoder(body, seed + 1, ids, half, [], mask)
    body.give("logits", body.op("Add", [words, body.op("Gather", [body.weight(40, WORDS), places])]), "rows", "some", WORDS)
    for i in range(layers):
        both = [body.op("Unsqueeze", [caches[2 * i + k], body.constant([0])]) for k in (0, 1)]
        body.give(f"present_{i}", body.op("Concat", both, axis=0), 2, "rows", HEADS, "total", SIZE)
    return body.graph("decoder")


def graphs(draw: Draw, form: int) -> tuple[dict, int]:
    """The nested graphs, and how many tokens there must be room for."""
    seed, layers = draw.int(0, 10**6), draw.int(1, 2)
    if form == GPT:
        return {"decoder": gpt_decoder(seed, layers)}, 1
    first_step = form == WHISPER or draw.chance(0.6)
    hidden = first_step and draw.chance(0.5)
    # With a first step inside, ONNX Runtime runs the decoder on nothing when there is room for one token alone.
    return {"encoder": encoder(seed, layers, form == WHISPER, first_step),
            "decoder": decoder(seed, layers, form == WHISPER, hidden, draw.chance(0.3))}, 2 if first_step else 1


@generator("BeamSearch", domain=MS)
def beam_search(draw: Draw, op: str):
    form, batch, length, beams = draw.pick(GPT, T5, T5, WHISPER), draw.int(1, 3), draw.int(1, 5), draw.int(1, 4)
    bodies, room = graphs(draw, form)
    ids = draw.numpy.integers(2, WORDS, (batch, length)).astype(np.int32)
    if form != WHISPER and length > 1 and draw.chance(0.4):
        ids[0, :draw.int(1, length - 1)] = PAD
    data = draw.array((batch, FEATURES, length)) if form == WHISPER else ids
    start = None
    if form == WHISPER and draw.chance(0.5):
        start = draw.numpy.integers(2, WORDS, (batch, draw.int(1, 3))).astype(np.int32)
    begun = length if form == GPT else 1 if start is None else start.shape[1]
    most = begun + draw.int(room, 7)
    allowed = (draw.numpy.random((WORDS,)) < 0.8).astype(np.int32) | (np.arange(WORDS) < 6).astype(np.int32)
    first = (draw.numpy.random((batch, WORDS)) < 0.7).astype(np.int32) | (np.arange(WORDS) < 6).astype(np.int32)
    mask = draw.maybe((ids != PAD).astype(np.int32), 0.3) if form != WHISPER else None
    one = lambda value, dtype=np.int32: draw.feed(np.array([value], dtype), chain=False)  # noqa: E731
    # Scores of steps that an early end leaves are not defined: with them, nothing ends early.
    outputs = draw.pick(2, 2, 3)
    least = most - 1 if outputs == 3 else draw.pick(0, draw.int(0, most - 1))
    inputs = [draw.feed(data, False), one(most), one(least), one(beams), one(draw.int(1, beams)),
              one(draw.pick(1.0, 0.5, 2.0), np.float32), one(1.3, np.float32) if draw.chance(0.3) else None,
              *(None if value is None else draw.feed(value, chain=False)
                for value in (draw.maybe(allowed, 0.3), draw.maybe(first, 0.3), mask, start))]
    # ONNX Runtime ends the entries behind the first by scores of their neighbours, unless they end early: one by one they
    # end as here.
    early = draw.pick(None, 0, 1) if batch == 1 else 1
    draw.out(*draw.op(op, inputs, outputs, domain=MS, hint=[np.int32, np.float32, np.float32], model_type=form or None, eos_token_id=END,
                      pad_token_id=PAD, decoder_start_token_id=START if form else None, early_stopping=early,
                      no_repeat_ngram_size=draw.pick(None, None, 2, 3), vocab_size=draw.pick(None, WORDS), **bodies))


@generator("GreedySearch", domain=MS)
def greedy_search(draw: Draw, op: str):
    batch, length = draw.int(1, 3), draw.int(1, 5)
    bodies, _ = graphs(draw, GPT)
    ids = draw.numpy.integers(2, WORDS, (batch, length)).astype(np.int32)
    if length > 1 and draw.chance(0.4):
        ids[0, :draw.int(1, length - 1)] = PAD
    most = length + draw.int(1, 7)
    allowed = (draw.numpy.random((WORDS,)) < 0.8).astype(np.int32) | (np.arange(WORDS) < 6).astype(np.int32)
    first = (draw.numpy.random((batch, WORDS)) < 0.7).astype(np.int32) | (np.arange(WORDS) < 6).astype(np.int32)
    one = lambda value, dtype=np.int32: draw.feed(np.array([value], dtype), chain=False)  # noqa: E731
    # Behind the end of all sequences ONNX Runtime leaves what is in memory: with so long a least length none ends early.
    inputs = [draw.feed(ids, False), one(most), one(most - 1), one(draw.pick(1.0, 1.3), np.float32),
              *(None if value is None else draw.feed(value, chain=False)
                for value in (draw.maybe(allowed, 0.3), draw.maybe(first, 0.3), draw.maybe((ids != PAD).astype(np.int32), 0.3)))]
    draw.out(draw.op(op, inputs, domain=MS, hint=np.int32, eos_token_id=draw.pick(END, 5), pad_token_id=PAD, no_repeat_ngram_size=draw.pick(None, None, 2, 3),
                     vocab_size=draw.pick(None, WORDS), **bodies))
