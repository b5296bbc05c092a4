"""What others make of a case: onnx.reference and ONNX Runtime's processor provider."""

import ctypes
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from draw import number_of
from onnx.reference import ReferenceEvaluator

ORT_OPSET, ORT_IR = 26, 13
PLAIN_KINDS = "fiubcO"
ABSENT = ("not implemented", "not_implemented", "no implementation", "could not find an implementation", "is not a registered",
          "unsupported model ir", "guaranteed for released", "no schema registered", "unrecognized", "not supported",
          "unsupported", "no corresponding numpy type", "doesn't implement", "has no attribute", "unable to import",
          "type 'tensor(", "unexpected input data type", "no op registered", "mldatatype for", "issues with types",
          "is a tuple, this is no onnx", "unknown activation function", "non-broadcastable output operand", "only applies on 4d",
          "cannot convert float nan", "except for dimension", "type parameter (t) of optype", "could not infer", "typeerror")


class Unavailable(Exception):
    """The reference does not know the operator, the version or a type: it says nothing of the case."""


class Refused(Exception):
    """The reference holds the case for wrong."""


def translate(error: Exception) -> Exception:
    text = f"{type(error).__name__}: {error}"
    absent = isinstance(error, NotImplementedError) or any(word in text.lower() for word in ABSENT)
    return (Unavailable if absent else Refused)(text[:300])


def run_onnx(model: onnx.ModelProto, feeds: dict) -> list:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return ReferenceEvaluator(model).run(None, feeds)
        except Exception as error:  # the evaluator raises whatever its Python meets
            raise translate(error) from None


def for_ort(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the newest opset and IR that this ONNX Runtime takes."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = min(copy.ir_version, ORT_IR)
    for opset in copy.opset_import:
        if opset.domain == "":
            opset.version = min(opset.version, ORT_OPSET)
    return copy


def to_ort_value(array: np.ndarray) -> ort.OrtValue:
    array = np.ascontiguousarray(array).reshape(array.shape)  # which makes a list of a scalar
    if array.dtype.kind in PLAIN_KINDS and array.dtype in (np.dtype(t) for t in "fdeiqIQbBhH?"):
        return ort.OrtValue.ortvalue_from_numpy(array)
    if array.dtype.itemsize == 1 and ("int" in array.dtype.name or "4" in array.dtype.name[:7]):
        raise Unavailable("packed types")
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8),
                                                           number_of(array.dtype))


def from_ort_value(value: ort.OrtValue):
    if not value.is_tensor():
        return value.numpy()
    kinds = {16: ml_dtypes.bfloat16, 17: ml_dtypes.float8_e4m3fn, 18: ml_dtypes.float8_e4m3fnuz, 19: ml_dtypes.float8_e5m2,
             20: ml_dtypes.float8_e5m2fnuz}
    if value.element_type() not in kinds:
        return value.numpy()
    data = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes()) if np.prod(value.shape()) else b""
    return np.frombuffer(data, kinds[value.element_type()]).reshape(value.shape())


def run_ort(model: onnx.ModelProto, feeds: dict) -> list:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    run_options = ort.RunOptions()
    run_options.log_severity_level = 4
    try:
        session = ort.InferenceSession(for_ort(model).SerializeToString(), options, providers=["CPUExecutionProvider"])
        tensors = all(isinstance(value, np.ndarray) and value.dtype != object for value in feeds.values())
        tensors = tensors and all(output.type.startswith("tensor(") for output in session.get_outputs())
        if not tensors:
            return session.run(None, feeds, run_options)
        values = session.run_with_ort_values(None, {name: to_ort_value(value) for name, value in feeds.items()}, run_options)
        return [from_ort_value(value) for value in values]
    except Unavailable:
        raise
    except Exception as error:  # its bindings raise many types
        raise translate(error) from None


REFERENCES = {"onnx.reference": run_onnx, "ONNX Runtime": run_ort}
