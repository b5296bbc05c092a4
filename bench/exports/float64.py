"""The outputs of an ONNX model in float64: what its float32 weights give with exact arithmetic, but for rounding at 1e-16.

ONNX's reference evaluator runs the model after all float32 in it became float64. Operators that it computes one element at a time,
in float32, or not at all are here, over PyTorch's and NumPy's float64; PyTorch is imported when the first of them runs. Where the
evaluator still falls back to float32, `Narrow` is raised.
"""

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
TYPES = ("to", "dtype", "output_dtype")  # attributes that name an element type


class Narrow(Exception):
    """An output, which the text names, is not float64."""


# ---- Operators ----


def of_rank(function: str, x: np.ndarray):
    """PyTorch's function for the spatial dimensions that x has."""
    import torch

    return getattr(torch.nn.functional, f"{function}{x.ndim - 2}d")


def tensor(value: np.ndarray | None):
    import torch

    return None if value is None else torch.from_numpy(np.ascontiguousarray(value))


def padded(x: np.ndarray, pads: list[int] | None, value: float):
    """x with ONNX's pads of its spatial dimensions: all at the beginning, then all at the end."""
    half = x.ndim - 2
    sides = [(0, 0), (0, 0), *((pads[i], pads[i + half]) for i in range(half))] if pads else [(0, 0)] * x.ndim
    return tensor(np.pad(x, sides, constant_values=value))


def explicit(auto_pad: str) -> None:
    if auto_pad not in (None, "NOTSET"):
        raise NotImplementedError(f"auto_pad {auto_pad}")


def ones(values: list[int] | None, x: np.ndarray) -> list[int]:
    return list(values) if values else [1] * (x.ndim - 2)


class Conv(OpRun):
    def _run(self, X, W, B=None, auto_pad=None, dilations=None, group=None, kernel_shape=None, pads=None, strides=None):
        explicit(auto_pad)
        run = of_rank("conv", X)
        return (run(padded(X, pads, 0), tensor(W), tensor(B), ones(strides, X), 0, ones(dilations, X), group or 1).numpy(),)


class ConvTranspose(OpRun):
    def _run(self, X, W, B=None, auto_pad=None, dilations=None, group=None, kernel_shape=None, output_padding=None, output_shape=None,
             pads=None, strides=None):  # fmt: skip
        explicit(auto_pad)
        rank = X.ndim - 2
        pads = list(pads or [0] * 2 * rank)
        if output_shape or pads[:rank] != pads[rank:]:
            raise NotImplementedError("ConvTranspose with output_shape, or with other pads at the end than at the beginning")
        run, more = of_rank("conv_transpose", X), list(output_padding or [0] * rank)
        answer = run(tensor(X), tensor(W), tensor(B), ones(strides, X), pads[:rank], more, group or 1, ones(dilations, X))
        return (answer.numpy(),)


class MaxPool(OpRun):
    def _run(self, x, auto_pad=None, ceil_mode=None, dilations=None, kernel_shape=None, pads=None, storage_order=None, strides=None):
        explicit(auto_pad)
        run = of_rank("max_pool", x)
        return (run(padded(x, pads, -np.inf), list(kernel_shape), ones(strides, x), 0, ones(dilations, x), bool(ceil_mode)).numpy(),)


class Erf(OpRun):
    def _run(self, x):
        return (tensor(x).erf().numpy(),)


class Gelu(OpRun):
    def _run(self, x, approximate=None):
        import torch

        return (torch.nn.functional.gelu(tensor(x), approximate=approximate or "none").numpy(),)


class MatMulInteger(OpRun):
    """In float64, which holds these sums exactly."""

    def _run(self, A, B, a_zero_point=None, b_zero_point=None):
        left, right = A.astype(np.float64), B.astype(np.float64)
        if a_zero_point is not None:
            left -= a_zero_point.astype(np.float64)[..., None] if a_zero_point.ndim else float(a_zero_point)
        if b_zero_point is not None:
            right -= b_zero_point.astype(np.float64) if b_zero_point.ndim else float(b_zero_point)
        return ((left @ right).astype(np.int32),)


class MatMulNBits(OpRun):
    """Weights of 4 bits, packed in uint8, in blocks along K with a scale and a zero point (8 without one) each."""

    op_domain = "com.microsoft"

    def _run(self, A, B, scales, zero_points=None, *more, K=None, N=None, accuracy_level=None, bits=None, block_size=None):
        if bits != 4 or more or (zero_points is not None and zero_points.dtype != np.uint8):
            raise NotImplementedError("MatMulNBits with other than 4 bits, g_idx, a bias, or zero points in floating point")
        blocks = -(-K // block_size)

        def nibbles(packed: np.ndarray, count: int) -> np.ndarray:
            rows = packed.reshape(N, -1)
            return np.stack([rows & 15, rows >> 4], axis=-1).reshape(N, -1)[:, :count].astype(np.float64)

        zeros = np.full((N, blocks), 8.0) if zero_points is None else nibbles(zero_points, blocks)
        weight = nibbles(B, blocks * block_size).reshape(N, blocks, block_size) - zeros[..., None]
        weight = (weight * scales.reshape(N, blocks, 1)).reshape(N, -1)[:, :K]
        return (A @ weight.T,)


OPERATORS = [Conv, ConvTranspose, MaxPool, Erf, Gelu, MatMulInteger, MatMulNBits]

# ---- The model ----


def widened(tensor: TensorProto) -> TensorProto:
    if tensor.data_type != FLOAT:
        return tensor
    return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name)


def widen_graph(graph) -> None:
    """Makes all float32 of a graph float64, in subgraphs too."""
    for tensor in graph.initializer:
        tensor.CopyFrom(widened(tensor))
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == FLOAT:
            value.type.tensor_type.elem_type = DOUBLE
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and not node.attribute:  # its default is a float32
            node.attribute.append(onnx.helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))
        for attribute in node.attribute:
            if attribute.name in TYPES and attribute.type == onnx.AttributeProto.INT and attribute.i == FLOAT:
                attribute.i = DOUBLE
            if attribute.type == onnx.AttributeProto.TENSOR:
                attribute.t.CopyFrom(widened(attribute.t))
            for inner in ([attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs):
                widen_graph(inner)


def in_float64(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a float32 model, one array each. The model becomes float64. Raises Narrow, and what the evaluator raises."""
    widen_graph(model.graph)
    wide = {name: value.astype(np.float64) if value.dtype == np.float32 else value for name, value in inputs.items()}
    outputs = [np.asarray(value) for value in ReferenceEvaluator(model, new_ops=OPERATORS).run(None, wide)]
    for info, value in zip(model.graph.output, outputs, strict=True):
        if info.type.tensor_type.elem_type == DOUBLE and value.dtype != np.float64:
            raise Narrow(f"output '{info.name}' is {value.dtype}: ONNX's evaluator computes an operator before it in that type")
    return outputs
