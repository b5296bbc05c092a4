"""Quantised forms of exported models, made by ONNX Runtime's tools."""

import tempfile
from pathlib import Path

import numpy as np
import onnx

from exports.made import SEED, Made
from sides.case import data_files, read_tensor


def inputs_of(folder: Path) -> dict[str, np.ndarray]:
    return dict(map(read_tensor, data_files(folder, "input")))


def images_to_calibrate(inputs: dict[str, np.ndarray]):
    """The case's own image and three others."""
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):
        def __init__(self):
            random = np.random.default_rng(SEED)
            more = [{key: random.normal(size=value.shape).astype(value.dtype) for key, value in inputs.items()} for _ in range(3)]
            self.images = iter([inputs, *more])

        def get_next(self):
            return next(self.images, None)

    return Reader()


def quantise_dequantise(source: Path, signed: bool) -> Made:
    """Static int8: QuantizeLinear and DequantizeLinear around the operators, weights with a scale for each channel."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    inputs = inputs_of(source)
    with tempfile.TemporaryDirectory() as name:
        ready, path = Path(name) / "ready.onnx", Path(name) / "model.onnx"
        quant_pre_process(str(source / "model.onnx"), str(ready), skip_symbolic_shape=True)
        quantize_static(str(ready), str(path), images_to_calibrate(inputs), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QInt8 if signed else QuantType.QUInt8, weight_type=QuantType.QInt8)
        return Made(onnx.load(path), inputs)


def unsigned_activations(source: Path) -> Made:
    """Activations of 0 to 255: what comes from a Relu has zero point 0."""
    return quantise_dequantise(source, signed=False)


def signed_activations(source: Path) -> Made:
    """Activations of -128 to 127, the default of ONNX Runtime's tools: what comes from a Relu has zero point -128."""
    return quantise_dequantise(source, signed=True)


def dynamic(source: Path) -> Made:
    """Int8 weights; activations are quantised in the Run: DynamicQuantizeLinear and MatMulInteger."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.onnx"
        quantize_dynamic(str(source / "model.onnx"), str(path), weight_type=QuantType.QInt8)
        return Made(onnx.load(path), inputs_of(source))


def four_bits(source: Path) -> Made:
    """MatMulNBits: weights of 4 bits in blocks of 32, each with a scale and a zero point, for all products."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantiser = MatMulNBitsQuantizer(onnx.load(source / "model.onnx"), block_size=32, is_symmetric=False, bits=4)
    quantiser.process()
    return Made(quantiser.model.model, inputs_of(source))


# Name: the exported model that it comes from, and how.
MODELS = {
    "resnet50_int8": ("resnet50", unsigned_activations),
    "resnet50_int8_zero_points": ("resnet50", signed_activations),
    "bert_base_dynamic_int8": ("bert_base", dynamic),
    "minilm_dynamic_int8": ("minilm", dynamic),
    "llama160m_decode_4bit": ("llama160m_decode", four_bits),
}
