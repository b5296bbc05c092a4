"""tenon.onnxruntime: sessions, values, bindings, options, exceptions, and how it takes the place of ONNX Runtime."""

from __future__ import annotations

import json
import os
import threading

import numpy as np
import onnx
import pytest
import tenon
import tenon.onnxruntime as ort
from models import FLOAT, matmul_chain, model, of_type, one_node, tensor
from onnx import TensorProto, helper
from tenon.onnxruntime.capi import onnxruntime_pybind11_state as state

X = np.array([[-1.0, 2.0, -3.0, 4.0]], np.float32)
Y = [[0, 2, 0, 4]]


@pytest.fixture
def session():
    return ort.InferenceSession(one_node("Relu"))


def test_run(session):
    assert session.run(None, {"x0": X})[0].tolist() == Y
    assert session.run(["y"], {"x0": X})[0].tolist() == Y
    assert session.run([], {"x0": X})[0].tolist() == Y
    assert session.run(None, {"x0": ort.OrtValue.ortvalue_from_numpy(X)})[0].tolist() == Y
    assert session.run(None, {"x0": X.tolist()})[0].tolist() == Y


def test_what_a_session_says(session, digits):
    assert str(session.get_inputs()[0]) == "NodeArg(name='x0', type='tensor(float)', shape=['N', 4])"
    assert session.get_outputs()[0].name == "y"
    assert session.get_providers() == ["CPUExecutionProvider"] and session.get_provider_options() == {"CPUExecutionProvider": {}}
    assert session.get_provider_graph_assignment_info()[0].get_nodes()[0].op_type == "Relu"
    assert session.get_input_memory_infos()[0].name == "Cpu" and session.get_input_epdevices()[0].ep_name == "CPUExecutionProvider"
    meta = ort.InferenceSession(str(digits)).get_modelmeta()
    proto = onnx.load(digits)
    assert (meta.producer_name, meta.graph_name, meta.domain, meta.description) == (proto.producer_name, proto.graph.name, proto.domain, proto.doc_string)
    assert meta.custom_metadata_map["tenon.labels"].startswith("0,1")


def test_metadata_of_a_file_and_of_bytes(tmp_path):
    made = model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x")], [tensor("y")])
    made.producer_name, made.domain, made.model_version, made.doc_string = "me", "com.x", -3, "words"
    made.graph.doc_string = "graph words"
    onnx.save(made, tmp_path / "m.onnx")
    for given in (tmp_path / "m.onnx", made.SerializeToString()):
        meta = ort.InferenceSession(given).get_modelmeta()
        assert (meta.producer_name, meta.domain, meta.version, meta.description, meta.graph_name, meta.graph_description) == ("me", "com.x", -3, "words", "g", "graph words")


def test_types_of_inputs():
    cases = {
        "seq(tensor(int64))": helper.make_sequence_type_proto(helper.make_tensor_type_proto(7, None)),
        "optional(tensor(double))": helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.DOUBLE, [2])),
        "tensor(bfloat16)": helper.make_tensor_type_proto(TensorProto.BFLOAT16, [2]),
    }
    for text, proto in cases.items():
        made = model([helper.make_node("Identity", ["x"], ["y"])], [of_type("x", proto)], [of_type("y", proto)])
        assert ort.InferenceSession(made.SerializeToString()).get_inputs()[0].type == text
    proto = helper.make_map_type_proto(7, helper.make_tensor_type_proto(FLOAT, []))
    node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", int64_vocabulary=[1, 5])
    made = model([node], [of_type("x", proto)], [tensor("y", FLOAT, [1, 2])])
    session = ort.InferenceSession(made.SerializeToString())
    assert session.get_inputs()[0].type == "map(int64,tensor(float))" and session.get_inputs()[0].shape == []
    assert session.run(None, {"x": {5: 2.0}})[0].tolist() == [[0, 2]]


def test_overridable_initializers():
    made = model([helper.make_node("Add", ["x", "w"], ["y"])], [tensor("x"), tensor("w", FLOAT, [4])], [tensor("y")], [onnx.numpy_helper.from_array(np.ones(4, "f"), "w")])
    made = ort.InferenceSession(made.SerializeToString())
    assert [a.name for a in made.get_inputs()] == ["x"] and [a.name for a in made.get_overridable_initializers()] == ["w"]
    assert made.run(None, {"x": X})[0].tolist() == (X + 1).tolist()
    assert made.run(None, {"x": X, "w": np.zeros(4, "f")})[0].tolist() == X.tolist()


def test_exceptions(session, tmp_path):
    with pytest.raises(ValueError, match=r"Required inputs \(\['x0'\]\) are missing from input feed \(\[\]\)"):
        session.run(None, {})
    cases = [
        (state.InvalidArgument, lambda: session.run(None, {"x0": X, "z": X})),
        (state.InvalidArgument, lambda: session.run(["q"], {"x0": X})),
        (state.InvalidArgument, lambda: session.run(None, {"x0": X.astype("d")})),
        (state.InvalidArgument, lambda: session.run(None, {"x0": X[0]})),
        (state.NoSuchFile, lambda: ort.InferenceSession(str(tmp_path / "absent.onnx"))),
        (state.InvalidProtobuf, lambda: ort.InferenceSession(b"abc")),
        (TypeError, lambda: ort.InferenceSession(3)),
        (ValueError, lambda: ort.InferenceSession(one_node("Relu"), providers="CPU", provider_options=[{}])),
    ]
    for kind, call in cases:
        with pytest.raises(kind) as caught:
            call()
        assert type(caught.value) is kind
        if kind.__module__.startswith("tenon"):
            assert str(caught.value).startswith("[ONNXRuntimeError] : ") and isinstance(caught.value.__cause__, tenon.Error)
    unknown = model([helper.make_node("Nope", ["x"], ["y"])], [tensor("x")], [tensor("y")]).SerializeToString()
    with pytest.raises((state.InvalidGraph, state.NotImplemented, state.Fail), match="Nope"):
        ort.InferenceSession(unknown)


def test_terminate(session):
    options = ort.RunOptions()
    assert session.run(None, {"x0": X}, options)[0].tolist() == Y
    options.terminate = True
    with pytest.raises(state.Fail, match="Exiting due to terminate flag"):
        session.run(None, {"x0": X}, options)
    options.terminate = False
    assert session.run(None, {"x0": X}, run_options=options)[0].tolist() == Y


def test_run_async(session):
    got = {}  # by user data: either Run may end first
    ended = threading.Event()

    def callback(results, user_data, error):
        got[user_data] = (results, error)
        if len(got) == 2:
            ended.set()

    session.run_async(None, {"x0": X}, callback, "mine")
    session.run_async(["y"], {"x0": X.astype("d")}, callback, "other")
    assert ended.wait(10)
    results, error = got["mine"]
    assert results[0].tolist() == Y and error == ""
    results, error = got["other"]
    assert results == [] and "float64" in error


def test_ort_values(session):
    value = ort.OrtValue.ortvalue_from_numpy(X)
    assert (value.data_type(), value.device_name(), value.shape(), value.element_type()) == ("tensor(float)", "cpu", [1, 4], 1)
    assert value.is_tensor() and not value.is_sparse_tensor() and not value.is_tensor_sequence() and value.has_value()
    assert value.tensor_size_in_bytes() == 16 and value.data_ptr() == X.ctypes.data
    assert np.shares_memory(np.asarray(value), X) and np.from_dlpack(value).tolist() == X.tolist()
    (out,) = session.run_with_ort_values(["y"], {"x0": value})
    assert isinstance(out, ort.OrtValue) and out.numpy().tolist() == Y
    empty = ort.OrtValue.ortvalue_from_shape_and_type([1, 4], np.float32)
    empty.update_inplace(X)
    assert empty.numpy().tolist() == X.tolist()
    other = ort.OrtValue.ortvalue_from_shape_and_type([1, 4], 1)
    ort.copy_tensors([empty], [other])
    assert other.numpy().tolist() == X.tolist()
    with pytest.raises(RuntimeError):
        empty.update_inplace(np.zeros((2, 2), "d"))
    bf16 = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(3, np.uint16), TensorProto.BFLOAT16)
    assert bf16.data_type() == "tensor(bfloat16)"
    flag = ort.OrtValue.from_dlpack(ort.OrtValue.ortvalue_from_numpy(np.array([True, False])))
    assert flag.data_type() == "tensor(bool)"
    vector = state.OrtValueVector()
    session.run_with_ortvaluevector(None, ["x0"], [value], ["y"], vector, [])
    assert vector[0].numpy().tolist() == Y and vector.element_type_at(0) == 1
    words = ort.OrtValue.ortvalue_from_numpy(np.array(["a", "b"]))
    assert words.data_type() == "tensor(string)" and words.numpy().tolist() == ["a", "b"]


def test_sparse_tensors():
    device = ort.OrtDevice.make("cpu", 0)
    sparse = ort.SparseTensor.sparse_coo_from_numpy([3, 3], np.array([1, 2], "f"), np.array([0, 4]), device)
    assert sparse.format() == ort.OrtSparseFormat.ORT_SPARSE_COO and sparse.as_coo_view().indices().tolist() == [0, 4]
    assert sparse.dense_shape().tolist() == [3, 3] and sparse.data_type() == "sparse_tensor(float)" and sparse.device_name() == "cpu"
    with pytest.raises(RuntimeError):
        sparse.as_csrc_view()
    csr = ort.SparseTensor.sparse_csr_from_numpy([2, 2], np.array([5], "f"), np.array([1]), np.array([0, 1, 1]), device)
    assert csr.as_csrc_view().inner().tolist() == [1] and csr.as_csrc_view().outer().tolist() == [0, 1, 1]
    value = ort.OrtValue.ort_value_from_sparse_tensor(sparse)
    assert value.is_sparse_tensor() and value.as_sparse_tensor().values().tolist() == [1, 2]
    with pytest.raises(state.NotImplemented, match="sparse"):
        ort.InferenceSession(one_node("Relu")).run(None, {"x0": value})


def test_io_binding(session):
    binding = session.io_binding()
    binding.bind_cpu_input("x0", X)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == Y and binding.get_outputs()[0].numpy().tolist() == Y
    x, y = X.copy(), np.zeros((1, 4), np.float32)
    binding.bind_input("x0", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
    session.run_with_iobinding(binding)
    assert y.tolist() == Y
    target = ort.OrtValue.ortvalue_from_shape_and_type([1, 4], np.float32)
    binding.clear_binding_inputs()
    binding.clear_binding_outputs()
    binding.bind_ortvalue_input("x0", ort.OrtValue.ortvalue_from_numpy(X))
    binding.bind_ortvalue_output("y", target)
    session.run_with_iobinding(binding, ort.RunOptions())
    assert target.numpy().tolist() == Y and binding.get_outputs()[0] is target
    assert binding.get_outputs_as_ortvaluevector()[0].numpy().tolist() == Y
    with pytest.raises(ValueError, match="the session that created it"):
        ort.InferenceSession(one_node("Relu")).run_with_iobinding(binding)
    with pytest.raises(state.InvalidArgument, match="no input 'q'"):
        binding.bind_cpu_input("q", X)
    binding.clear_binding_inputs()
    with pytest.raises(ValueError, match="Required inputs"):
        session.run_with_iobinding(binding)


def test_session_options(tmp_path, digits):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.use_deterministic_compute = True
    options.optimized_model_filepath = str(tmp_path / "o.onnx")
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "p")
    options.add_free_dimension_override_by_name("N", 1)
    x = np.zeros((1, 1, 8, 8), np.float32)
    session = ort.InferenceSession(digits, options)
    assert session.get_inputs()[0].shape == [1, 1, 8, 8]
    session.run(None, {"image": x})
    with pytest.raises(state.InvalidArgument, match="Got: 2 Expected: 1"):
        session.run(None, {"image": np.zeros((2, 1, 8, 8), np.float32)})
    events = json.loads(open(session.end_profiling(), encoding="utf-8").read())
    assert any(event.get("cat") == "run" for event in events)
    assert session.end_profiling() == ""
    assert len(onnx.load(tmp_path / "o.onnx").graph.node) > 0
    assert len(session.get_provider_graph_assignment_info()) >= 1
    options.set_load_cancellation_flag(True)
    with pytest.raises(state.ModelLoadCanceled):
        ort.InferenceSession(digits, options)


def test_choosing_providers(digits):
    options = ort.SessionOptions()
    options.add_provider_for_devices(ort.get_ep_devices()[:1], {})
    assert options.has_providers()
    assert ort.InferenceSession(digits, options).get_providers()[-1] == "CPUExecutionProvider"
    options = ort.SessionOptions()
    options.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_GPU)
    ort.InferenceSession(digits, options)
    options.set_provider_selection_policy_delegate(lambda devices, *_: devices[:1])
    ort.InferenceSession(digits, options)
    session = ort.InferenceSession(digits)
    session.set_providers(["CPUExecutionProvider"])
    assert session.run(None, {"image": np.zeros((1, 1, 8, 8), np.float32)})[0].shape == (1, 10)
    assert ort.get_available_providers()[-1] == "CPUExecutionProvider" and "CPUExecutionProvider" in ort.get_all_providers()


def test_model_compiler(tmp_path):
    data = matmul_chain(16, 2)
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    compiler = ort.ModelCompiler(ort.SessionOptions(), str(path), graph_optimization_level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
    compiler.compile_to_file()
    x = np.ones((1, 16), np.float32)
    expected = ort.InferenceSession(data).run(None, {"x": x})[0]
    assert np.allclose(ort.InferenceSession(tmp_path / "m_ctx.onnx").run(None, {"x": x})[0], expected)
    assert ort.ModelCompiler(ort.SessionOptions(), data).compile_to_bytes() == data
    parts = []
    ort.ModelCompiler(ort.SessionOptions(), data).compile_to_stream(parts.append)
    assert b"".join(parts) == data
    strict = ort.ModelCompiler(ort.SessionOptions(), str(path), flags=ort.OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS)
    with pytest.raises(state.Fail, match="exists already"):
        strict.compile_to_file(str(tmp_path / "m_ctx.onnx"))
    with pytest.raises(state.InvalidProtobuf):
        ort.ModelCompiler(ort.SessionOptions(), b"abc").compile_to_bytes()


def test_the_rest_of_the_module(capsys):
    assert ort.get_version_string() == ort.__version__ == ort.version
    assert "Tenon" in ort.get_build_info() and ort.get_device() in ("CPU", "GPU") and ort.has_collective_ops() is False
    ort.print_debug_info()
    assert "Tenon" in capsys.readouterr().out
    ort.preload_dlls()
    ort.disable_telemetry_events()
    ort.set_global_thread_pool_sizes(1, 1)
    options = ort.SessionOptions()
    options.use_per_session_threads = False
    ort.InferenceSession(one_node("Relu"), options)
    ort.set_global_thread_pool_sizes(0, 0)
    assert str(ort.GraphOptimizationLevel.ORT_ENABLE_ALL) == "GraphOptimizationLevel.ORT_ENABLE_ALL"
    assert repr(ort.ExecutionMode(1)) == "<ExecutionMode.ORT_PARALLEL: 1>" and ort.ExecutionMode.ORT_PARALLEL.name == "ORT_PARALLEL"
    assert [device.ep_name for device in ort.get_ep_devices()]


def test_quiet_sessions(recwarn):
    config = os.environ.get("TENON_CONFIG")
    assert config is None
    ort.set_default_logger_severity(3)
    ort.InferenceSession(one_node("Relu"))
    ort.set_default_logger_severity(2)
    with pytest.raises(state.Fail):
        ort.set_default_logger_severity(9)


INSTALLED = """
import sys, importlib.metadata, importlib.util
import tenon.onnxruntime
tenon.onnxruntime.install()
tenon.onnxruntime.install()
assert importlib.util.find_spec("onnxruntime") is not None
import onnxruntime
import onnxruntime as rt
from onnxruntime import InferenceSession, SessionOptions
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument
from onnxruntime.capi import _pybind_state
import onnxruntime.capi.onnxruntime_inference_collection
assert onnxruntime is tenon.onnxruntime and rt.InferenceSession is tenon.onnxruntime.InferenceSession
assert importlib.metadata.version("onnxruntime") == onnxruntime.__version__
try:
    import onnxruntime.quantization
    raise SystemExit("imported")
except ImportError as error:
    assert "Tenon does not have" in str(error)
import numpy
from models import one_node
print(InferenceSession(one_node("Neg")).run(None, {"x0": numpy.ones((1, 4), "f")})[0].tolist())
real = [name for name, m in sys.modules.items() if "/onnxruntime/" in (getattr(m, "__file__", "") or "") and "/tenon/" not in m.__file__]
assert not real, real
"""


def test_install(script, real_onnxruntime):
    assert "[[-1.0, -1.0, -1.0, -1.0]]" in script(INSTALLED)
    # with ONNX Runtime on the path nothing of it is loaded
    assert "[[-1.0, -1.0, -1.0, -1.0]]" in script(INSTALLED, PYTHONPATH=real_onnxruntime)
    out = script("import onnxruntime, tenon.onnxruntime\ntry:\n  tenon.onnxruntime.install()\nexcept ImportError as e:\n  print(e)", PYTHONPATH=real_onnxruntime)
    assert "ONNX Runtime is loaded already" in out
