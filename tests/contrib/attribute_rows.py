"""The rows of run_attributes.py: for each operator a node that runs, and for each attribute two values."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, MS = np.float32, "com.microsoft"


@dataclass
class Row:
    inputs: list  # arrays; None: left out
    values: dict = field(default_factory=dict)  # attribute: two values; None: left out
    attributes: dict = field(default_factory=dict)  # of every node of the row
    outputs: int = 1
    kinds: list = field(default_factory=lambda: [TensorProto.FLOAT] * 4)  # of the outputs
    constants: tuple = ()  # inputs that are
    opset: int = 17
    without_effect: dict = field(default_factory=dict)  # attribute: the reason
    words: dict = field(default_factory=dict)  # attribute: what a refusal says that does not name it


ROWS: dict[tuple[str, str], Row] = {}


def number_of(array: np.ndarray) -> int:
    return TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)


def proto(name: str, array: np.ndarray):
    return numpy_helper.from_array(array, name)


def some(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(F)


def texts(*words: str) -> np.ndarray:
    return np.array(words, dtype=object)


def row(domain: str, *operators: str, **fields) -> None:
    for operator in operators:
        ROWS[domain, operator] = Row(**fields)


KIND = [TensorProto.UINT8]
QUANTIZED = [np.array([[3, 200, 9], [77, 1, 130]], np.uint8), np.array(0.5, F), np.array(10, np.uint8)]
TAIL = [np.array(0.25, F), np.array(100, np.uint8)]

# Attention

row(MS, "Attention", inputs=[some(1, 3, 4), some(4, 24, seed=1), some(24, seed=2), np.array([[1, 1, 0]], np.int32)], attributes={"num_heads": 2},
    values={"num_heads": (2, 4), "unidirectional": (0, 1), "qkv_hidden_sizes": ([8, 8, 8], [4, 4, 16]), "scale": (0.1, 1.0), "mask_filter_value": (-1.0, -100.0),
            "do_rotary": (0, 1), "rotary_embedding_dim": (32, 64), "past_present_share_buffer": (0, 1)},
    without_effect={"rotary_embedding_dim": "only a node with do_rotary reads it, and that is refused"})
row(MS, "MultiHeadAttention", inputs=[some(1, 3, 8), some(1, 3, 8, seed=1), some(1, 3, 8, seed=2), None, np.array([[1, 1, 0]], np.int32)],
    attributes={"num_heads": 2}, values={"num_heads": (2, 4), "unidirectional": (0, 1), "scale": (0.1, 1.0), "mask_filter_value": (-1.0, -100.0)})
CACHES = [np.cos(some(8, 4, seed=7)), np.sin(some(8, 4, seed=7))]
row(MS, "GroupQueryAttention",
    inputs=[some(1, 3, 16), some(1, 3, 8, seed=1), some(1, 3, 8, seed=2), None, None, np.array([2], np.int32), np.array(3, np.int32), *CACHES],
    attributes={"num_heads": 2, "kv_num_heads": 1, "do_rotary": 1}, outputs=3, words={"num_heads": "with 4 and 1 heads", "kv_num_heads": "with 2 and 2 heads"},
    values={"num_heads": (2, 4), "kv_num_heads": (1, 2), "causal": (0, 1), "do_rotary": (0, 1), "rotary_interleaved": (0, 1), "local_window_size": (-1, 1),
            "scale": (0.1, 1.0), "softcap": (0.0, 1.0), "smooth_softmax": (0, 1), "sliding_window_cache": (0, 1), "kv_cache_bit_width": (0, 8),
            "k_quant_type": ("NONE", "PER_TENSOR"), "v_quant_type": ("NONE", "PER_CHANNEL"), "qk_norm_epsilon": (1e-6, 1e-2), "qk_output": (0, 1)},
    without_effect={"qk_norm_epsilon": "only a node with q_norm_weight and k_norm_weight reads it, and that is refused"})
row(MS, "RotaryEmbedding", inputs=[some(1, 3, 16), np.array([0], np.int64), *CACHES], attributes={"num_heads": 2, "rotary_embedding_dim": 8},
    words={"rotary_embedding_dim": "caches of shape {8, 4}"},
    values={"interleaved": (0, 1), "is_packed_batching": (0, 1), "num_heads": (1, 2), "rotary_embedding_dim": (8, 4), "scale": (1.0, 2.0)})

# Normalisations

NORM = {"axis": (-1, 1), "epsilon": (1e-5, 1.0), "stash_type": (1, 16)}
row(MS, "LayerNormalization", "SimplifiedLayerNormalization", inputs=[some(2, 3, 4), np.ones((3, 4), F)], attributes={"axis": 1}, values=NORM)
row("", "LayerNormalization", "SimplifiedLayerNormalization", inputs=[some(2, 3, 4), np.ones((3, 4), F)], attributes={"axis": 1}, values=NORM, opset=9)
row(MS, "SkipLayerNormalization", "SkipSimplifiedLayerNormalization", inputs=[some(2, 3, 4), some(2, 3, 4, seed=1), some(4)], values={"epsilon": (1e-5, 1.0)})
row(MS, "EmbedLayerNormalization", inputs=[np.array([[0, 1]], np.int32), None, some(3, 4), some(3, 4, seed=1), None, some(4), some(4)], outputs=2,
    kinds=[TensorProto.FLOAT, TensorProto.INT32], values={"epsilon": (1e-5, 1.0), "mask_index_type": (0, 1)},
    without_effect={"mask_index_type": "the type that inference gives an output, which is there either way"})
row(MS, "GroupNorm", inputs=[some(1, 2, 2, 4), some(4, seed=1), some(4, seed=2)], attributes={"activation": 0, "groups": 2},
    values={"activation": (0, 1), "groups": (1, 2), "channels_last": (0, 1), "epsilon": (1e-5, 1.0)}, words={"channels_last": "GroupNormalization"})
row(MS, "BiasSoftmax", inputs=[some(2, 3, 4), some(1, 3, 4, seed=1)], attributes={"is_inner_broadcast": 0}, values={"is_inner_broadcast": (0, 1), "axis": (1, 2)},
    without_effect={"is_inner_broadcast": "the bias has as many dims as the data, and those of 1 say it too"})
row("", "MeanVarianceNormalization", inputs=[some(2, 3, 2, 2)], values={"across_channels": (0, 1), "normalize_variance": (0, 1)}, opset=8)

# Products

row(MS, "FusedMatMul", "TransposeMatMul", inputs=[some(3, 3, 3), some(3, 3, 3, seed=1)],
    values={"alpha": (1.0, 2.0), "transA": (0, 1), "transB": (0, 1), "transBatchA": (0, 1), "transBatchB": (0, 1)})
row(MS, "FusedGemm", inputs=[some(3, 3), some(3, 3, seed=1), some(3)], attributes={"activation": "HardSigmoid", "activation_alpha": 0.1},
    values={"alpha": (1.0, 2.0), "beta": (1.0, 2.0), "transA": (0, 1), "transB": (0, 1), "activation": ("Relu", "Tanh"), "activation_alpha": (0.1, 0.3),
            "activation_beta": (0.1, 0.3), "activation_gamma": (0.0, 0.5)})
row(MS, "FusedConv", inputs=[some(1, 2, 5, 5), some(2, 2, 3, 3, seed=1), some(2)], attributes={"activation": "LeakyRelu"},
    values={"auto_pad": ("VALID", "SAME_UPPER"), "dilations": ([1, 1], [2, 2]), "group": (1, 2), "kernel_shape": ([3, 3], [2, 2]), "pads": ([0] * 4, [1] * 4),
            "strides": ([1, 1], [2, 2]), "activation": ("Relu", "Tanh"), "activation_params": ([0.1], [0.3])})
row(MS, "MatMulNBits", inputs=[some(2, 32), np.arange(3 * 2 * 8, dtype=np.uint8).reshape(3, 2, 8), some(6)], constants=(1, 2),
    attributes={"N": 3, "K": 32, "block_size": 16},
    values={"N": (3, 4), "K": (32, 31), "block_size": (16, 32), "bits": (4, 8), "accuracy_level": (0, 4), "weight_prepacked": (0, 1)},
    words={"K": "Incompatible dimensions"})
SQUARE = np.array([[5, 7, 61], [100, 3, 90], [9, 250, 1]], np.uint8)
row(MS, "QAttention", inputs=[SQUARE[None], np.arange(72, dtype=np.uint8).reshape(3, 24), some(24), np.array(0.05, F), np.array(0.01, F), np.array([[1, 1, 0]], np.int32)],
    attributes={"num_heads": 2},
    values={"num_heads": (2, 4), "unidirectional": (0, 1), "scale": (0.1, 1.0), "mask_filter_value": (-1.0, -100.0), "do_rotary": (0, 1),
            "past_present_share_buffer": (0, 1)})
row(MS, "QGemm", inputs=[SQUARE, np.array(0.5, F), np.array(10, np.uint8), SQUARE + 1, np.array(0.25, F), np.array(3, np.uint8)],
    values={"alpha": (1.0, 2.0), "transA": (0, 1), "transB": (0, 1)})

# Quantised

row(MS, "QuantizeLinear", inputs=[some(2, 2), np.array([0.1, 0.3], F), np.array([3, 9], np.uint8)], attributes={"axis": 0}, kinds=KIND, values={"axis": (0, 1)})
row(MS, "DequantizeLinear", inputs=[QUANTIZED[0][:, :2].copy(), np.array([0.1, 0.3], F), np.array([3, 9], np.uint8)], attributes={"axis": 0}, values={"axis": (0, 1)})
WEIGHTS = np.arange(-64, 64, dtype=np.int8)
row(MS, "DynamicQuantizeLSTM", inputs=[some(3, 2, 4), WEIGHTS[None].reshape(1, 4, 32)[:, :, :8].copy(), WEIGHTS[:16].reshape(1, 2, 8), *[None] * 5, np.array([0.02], F),
                                       np.array([3], np.int8), np.array([0.02], F), np.array([-3], np.int8)],
    attributes={"hidden_size": 2, "activations": ["HardSigmoid", "Tanh", "Tanh"]},
    values={"activations": (["Sigmoid", "Tanh", "Tanh"], ["Relu", "Tanh", "Tanh"]), "activation_alpha": ([0.2], [0.1]), "activation_beta": ([0.5], [0.2]),
            "clip": (None, 0.1), "direction": ("forward", "reverse"), "hidden_size": (2, 3), "input_forget": (0, 1)},
    words={"hidden_size": "was inferred"})
row(MS, "GatherBlockQuantized", inputs=[np.arange(96, dtype=np.uint8).reshape(3, 32), np.array([[0, 2]]), some(3, 4)], constants=(0, 2), attributes={"block_size": 16},
    values={"bits": (4, 8), "block_size": (16, 32), "gather_axis": (0, 1), "quantize_axis": (1, 0)}, words={"block_size": "DequantizeLinear", "bits": "DequantizeLinear"})
row(MS, "QEmbedLayerNormalization", inputs=[np.array([[0, 1]], np.int32), None, SQUARE, SQUARE + 7, None, SQUARE[0], SQUARE[1], None,
                                            *[np.array(0.02, F)] * 2, None, *[np.array(0.02, F)] * 2, *[np.array(9, np.uint8)] * 2, None, *[np.array(9, np.uint8)] * 2],
    outputs=2, kinds=[TensorProto.FLOAT, TensorProto.INT32], values={"epsilon": (1e-5, 1.0)})
PLANES = np.arange(32, dtype=np.uint8).reshape(1, 2, 4, 4) * 7
row(MS, "QLinearAveragePool", inputs=[PLANES, *QUANTIZED[1:], *TAIL], kinds=KIND, attributes={"kernel_shape": [3, 3], "pads": [1] * 4, "strides": [2, 2]},
    values={"auto_pad": ("NOTSET", "SAME_UPPER"), "ceil_mode": (0, 1), "channels_last": (0, 1), "count_include_pad": (0, 1), "kernel_shape": ([3, 3], [2, 3]),
            "pads": ([0] * 4, [1] * 4), "strides": ([1, 1], [3, 3])})
row(MS, "QLinearConcat", inputs=[*TAIL, *QUANTIZED, *QUANTIZED], kinds=KIND, values={"axis": (0, 1)})
row(MS, "QLinearGlobalAveragePool", inputs=[np.arange(8, dtype=np.uint8).reshape(1, 2, 2, 2) * 20, *QUANTIZED[1:], *TAIL], kinds=KIND, values={"channels_last": (0, 1)})
row(MS, "QLinearLeakyRelu", inputs=[np.array([0, 5, 250], np.uint8), *QUANTIZED[1:], np.array(0.25, F), np.array(100, np.uint8)], kinds=KIND, values={"alpha": (0.01, 0.9)})
row(MS, "QLinearSoftmax", inputs=[np.array([[[3, 9], [4, 7]]], np.uint8), np.array(0.5, F), np.array(0, np.uint8), np.array(1 / 256, F), np.array(0, np.uint8)], kinds=KIND,
    attributes={"opset": 13, "axis": 1}, values={"opset": (12, 13), "axis": (1, 2)})

# Activations and what ONNX dropped

row(MS, "QuickGelu", inputs=[some(3)], values={"alpha": (1.0, 2.0)})
row("", "Affine", "ParametricSoftplus", "ScaledTanh", inputs=[some(3)], attributes={"alpha": 0.5, "beta": 0.5}, values={"alpha": (0.5, 2.0), "beta": (0.5, 2.0)}, opset=9)
row("", "Scale", inputs=[some(3)], values={"scale": (1.0, 2.0)}, opset=9)
row("", "ThresholdedRelu", inputs=[some(9)], values={"alpha": (0.1, 1.5)}, opset=9)
row("", "ImageScaler", inputs=[some(1, 2, 2, 2)], values={"scale": (1.0, 2.0), "bias": ([0.0, 1.0], [1.0, 0.0])}, opset=9)
row("", "Crop", inputs=[some(1, 1, 4, 4)], attributes={"border": [0, 0, 0, 0]}, values={"border": ([0] * 4, [1, 0, 0, 1]), "scale": ([2, 2], [3, 2])}, opset=9)

# Movement

row(MS, "GridSample", inputs=[some(1, 1, 3, 3), some(1, 2, 2, 2, seed=1)],
    values={"align_corners": (0, 1), "mode": ("nearest", "bilinear"), "padding_mode": ("zeros", "border")})
row(MS, "Trilu", inputs=[some(3, 3)], values={"upper": (0, 1)})
row(MS, "Tokenizer", inputs=[texts("a bc", "d")], kinds=[TensorProto.STRING], attributes={"mark": 0, "mincharnum": 1, "pad_value": "#", "separators": [" "]},
    values={"mark": (0, 1), "mincharnum": (1, 2), "pad_value": ("#", "-"), "separators": ([" "], ["b"]), "tokenexp": (None, "a")})
row(MS, "MurmurHash3", inputs=[texts("a bc", "d")], kinds=[TensorProto.UINT32], values={"seed": (0, 5), "positive": (1, 0)},
    words={"positive": "declared as uint32"})

# Searches: the graphs of the searcher's cases

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "differential"))
from generators import generation  # noqa: E402

I32 = np.int32
GRAPHS = {name: (make(2), make(8)) for name, make in {
    "encoder": lambda seed: generation.encoder(seed, 1, False, True), "decoder": lambda seed: generation.decoder(seed, 1, False, False, False)}.items()}
row(MS, "BeamSearch", inputs=[np.array([[5, 3, 0, 9], [4, 11, 7, 2]], I32), *(np.array([n], I32) for n in (9, 0, 3, 2)), np.array([1], F)], outputs=2,
    kinds=[TensorProto.INT32, TensorProto.FLOAT],
    attributes={"eos_token_id": 1, "pad_token_id": 12, "model_type": 1, "decoder_start_token_id": 2, "encoder": GRAPHS["encoder"][0], "decoder": GRAPHS["decoder"][0]},
    values={"eos_token_id": (1, 4), "pad_token_id": (12, 10), "decoder": GRAPHS["decoder"], "encoder": GRAPHS["encoder"], "init_decoder": (None, GRAPHS["decoder"][0]),
            "model_type": (1, 2), "decoder_start_token_id": (2, 7), "early_stopping": (0, 1), "no_repeat_ngram_size": (0, 2), "vocab_size": (13, 6)},
    words={"model_type": "is not of Whisper's form"})
DECODERS = tuple(generation.gpt_decoder(seed, 1) for seed in (3, 8))
row(MS, "GreedySearch", inputs=[np.array([[5, 3, 0, 9], [4, 11, 7, 2]], I32), np.array([12], I32)], kinds=[TensorProto.INT32],
    attributes={"eos_token_id": 1, "pad_token_id": 12, "decoder": DECODERS[0]},
    values={"eos_token_id": (1, 4), "pad_token_id": (12, 10), "decoder": DECODERS, "encoder": (None, GRAPHS["encoder"][0]), "init_decoder": (None, DECODERS[1]),
            "model_type": (0, 1), "decoder_start_token_id": (-1, 7), "no_repeat_ngram_size": (0, 1), "vocab_size": (13, 6)},
    without_effect={"decoder_start_token_id": "the prompts say what a decoder of this form begins with"})
