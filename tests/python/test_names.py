"""Every public name of ONNX Runtime's inference API exists, and does what the table of docs/onnxruntime-names.md says."""

from __future__ import annotations

import copy
import inspect
import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import tenon.onnxruntime as ort
import tenon.onnxruntime.capi.onnxruntime_pybind11_state as state
from conftest import ROOT
from models import one_node
from tenon.onnxruntime import _errors

sys.path.insert(0, str(ROOT / "tools"))
import onnxruntime_names as tool

NAMES = json.loads(tool.NAMES.read_text(encoding="utf-8"))
X = np.ones((1, 4), np.float32)


def test_the_names_are_those_of_onnxruntime():
    python = ROOT / "build/venv/bin/python"
    done = subprocess.run([python, ROOT / "tools/onnxruntime_names.py", "names"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == NAMES, "write tests/python/onnxruntime_names.json again"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_exists_with_its_parameters(name):
    top, _, member = name.partition(".")
    if top == "capi":
        assert issubclass(getattr(state, member.split(".")[-1]), Exception)
        return
    item = getattr(ort, top)
    if member:
        annotated = set().union(*(getattr(base, "__annotations__", {}) for base in item.__mro__))
        assert hasattr(item, member) or member in annotated or f"self.{member} " in inspect.getsource(item) or f"self.{member}:" in inspect.getsource(item)
        item = getattr(item, member, None)
    if NAMES[name] and name != "__version__":
        own = list(inspect.signature(item).parameters)
        assert [word for word in NAMES[name] if word not in own and word != "kwargs"] == []


def test_the_table_of_the_page_is_up_to_date():
    page = (ROOT / "docs/onnxruntime-names.md").read_text(encoding="utf-8")
    written = re.search(r"<!-- generated: names -->\n(.*?)<!-- end -->", page, re.S)
    assert written and written[1].strip() == tool.table().strip(), "run tools/write_docs.py"


def test_at_least_nine_of_ten_work():
    words = [tool.status(name)[0] for name in NAMES]
    assert words.count("works") >= 0.9 * len(words)


def test_rows_of_the_table_name_something():
    declared = [*_errors.RAISES, *_errors.WARNS, *tool.NOTES]
    inner = {"OrtValueVector.push_back_batch", "OrtValue on other devices"}  # not names of the module
    assert [name for name in declared if name not in NAMES and name not in inner and "(" not in name] == []


def session() -> ort.InferenceSession:
    return ort.InferenceSession(one_node("Relu"))


CPU = ort.OrtDevice.make("cpu", 0)
RAISES = {
    "AdapterFormat.export_adapter": lambda: ort.AdapterFormat().export_adapter("a"),
    "AdapterFormat.read_adapter": lambda: ort.AdapterFormat.read_adapter("a"),
    "InferenceSession.set_tuning_results": lambda: session().set_tuning_results([]),
    "LoraAdapter.Load": lambda: ort.LoraAdapter().Load("a"),
    "ModelCompiler(external_initializers_file_path=)": lambda: ort.ModelCompiler(ort.SessionOptions(), b"x", external_initializers_file_path="a"),
    "ModelCompiler(get_initializer_location_func=)": lambda: ort.ModelCompiler(ort.SessionOptions(), b"x", get_initializer_location_func=print),
    "ModelCompiler.set_ep_context_data_write_func": lambda: ort.ModelCompiler(ort.SessionOptions(), b"x").set_ep_context_data_write_func(print),
    "OrtEpDevice.create_sync_stream": lambda: ort.get_ep_devices()[0].create_sync_stream(),
    "OrtSyncStream.get_handle": lambda: ort.OrtSyncStream().get_handle(),
    "OrtValue on other devices": lambda: ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0),
    "OrtValueVector.push_back_batch": lambda: state.OrtValueVector().push_back_batch([], [], [], [], []),
    "RunOptions.add_active_adapter": lambda: ort.RunOptions().add_active_adapter(ort.LoraAdapter()),
    "SessionOptions.add_external_initializers": lambda: ort.SessionOptions().add_external_initializers([], []),
    "SessionOptions.add_external_initializers_from_files_in_memory": lambda: ort.SessionOptions().add_external_initializers_from_files_in_memory([], [], []),
    "SessionOptions.add_free_dimension_override_by_denotation": lambda: ort.SessionOptions().add_free_dimension_override_by_denotation("BATCH", 1),
    "SessionOptions.add_initializer": lambda: ort.SessionOptions().add_initializer("w", None),
    "SessionOptions.register_custom_ops_library": lambda: ort.SessionOptions().register_custom_ops_library("a.so"),
    "SessionOptions.set_ep_context_data_read_func": lambda: ort.SessionOptions().set_ep_context_data_read_func(print, 1),
    "SparseTensor.to_cuda": lambda: ort.SparseTensor.sparse_coo_from_numpy([2], X[0, :1], np.array([1]), CPU).to_cuda(CPU),
    "register_execution_provider_library": lambda: ort.register_execution_provider_library("a", "a.so"),
    "unregister_execution_provider_library": lambda: ort.unregister_execution_provider_library("a"),
}


@pytest.mark.parametrize("name", sorted({*RAISES, *_errors.RAISES}))
def test_what_the_table_says_raises_raises(name):
    with pytest.raises(state.NotImplemented, match=re.escape(_errors.RAISES[name])):
        RAISES[name]()


def with_options(**values):
    options = ort.SessionOptions()
    for name, value in values.items():
        setattr(options, name, value)
    return ort.InferenceSession(one_node("Relu"), options)


INFO = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
WARNS = {
    "ExecutionMode.ORT_PARALLEL": lambda: with_options(execution_mode=ort.ExecutionMode.ORT_PARALLEL),
    "ExecutionOrder.MEMORY_EFFICIENT": lambda: with_options(execution_order=ort.ExecutionOrder.MEMORY_EFFICIENT),
    "ExecutionOrder.PRIORITY_BASED": lambda: with_options(execution_order=ort.ExecutionOrder.PRIORITY_BASED),
    "InferenceSession.set_ep_dynamic_options": lambda: session().set_ep_dynamic_options({"ep.dynamic.workload_type": "Default"}),
    "create_and_register_allocator": lambda: ort.create_and_register_allocator(INFO, ort.OrtArenaCfg({"max_mem": 1})),
    "create_and_register_allocator_v2": lambda: ort.create_and_register_allocator_v2("CPUExecutionProvider", INFO, {}, ort.OrtArenaCfg(0, -1, -1, -1)),
    "set_seed": lambda: ort.set_seed(3),
}


@pytest.mark.parametrize("name", sorted({*WARNS, *_errors.WARNS}))
def test_what_the_table_says_warns_warns_once(name):
    _errors._warned.clear()
    with pytest.warns(UserWarning, match=re.escape(_errors.WARNS[name])):
        WARNS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WARNS[name]()


def test_settings_without_a_meaning_warn():
    options = ort.SessionOptions()
    options.add_session_config_entry("session.no_such_setting", "1")
    with pytest.warns(UserWarning, match="session.no_such_setting"):
        ort.InferenceSession(one_node("Relu"), options)
    with pytest.warns(UserWarning, match="no.such.entry"):
        ort.RunOptions().add_run_config_entry("no.such.entry", "1")
    with pytest.warns(UserWarning, match="no_such_option"):
        ort.InferenceSession(one_node("Relu"), providers=[("CPUExecutionProvider", {"no_such_option": 1})])
    with pytest.warns(UserWarning, match="'NoSuchExecutionProvider' is not in available provider names"):
        ort.InferenceSession(one_node("Relu"), providers=["NoSuchExecutionProvider", "CPUExecutionProvider"])


def test_options_have_types():
    options = ort.SessionOptions()
    with pytest.raises(AttributeError):
        options.no_such = 1
    with pytest.raises(TypeError):
        options.intra_op_num_threads = "two"
    options.intra_op_num_threads = 2
    assert copy.deepcopy(options).intra_op_num_threads == 2
    with pytest.raises(RuntimeError, match="does not have configuration with key"):
        options.get_session_config_entry("absent")
