"""Sessions, Runs, bindings, and what they say about themselves."""

from __future__ import annotations

import gc
import json
import os
import warnings
import weakref

import numpy as np
import onnx
import pytest
import tenon
from models import FLOAT, matmul_chain, model, one_node, tensor
from onnx import helper

X = np.array([[-1.0, 2.0, -3.0, 4.0]], np.float32)


def test_path_bytes_and_proto_give_the_same(digits):
    x = np.random.default_rng(0).random((2, 1, 8, 8), np.float32)
    data = digits.read_bytes()
    expected = tenon.Session(str(digits)).run({"image": x})["probabilities"]
    for given in (digits, data, bytearray(data), memoryview(data), onnx.load(digits)):
        assert np.array_equal(tenon.Session(given).run({"image": x})["probabilities"], expected)


def test_bytes_may_be_freed_and_changed():
    data = bytearray(one_node("Relu"))
    session = tenon.Session(data)
    data[:] = bytes(len(data))
    assert session.run({"x0": X})["y"].tolist() == [[0, 2, 0, 4]]
    kept = tenon.Session(one_node("Relu"))  # bytes are kept by the session
    gc.collect()
    assert kept.run({"x0": X})["y"].tolist() == [[0, 2, 0, 4]]


def test_outputs_by_name_index_and_order():
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])]
    session = tenon.Session(model(nodes, [tensor("x")], [tensor("a"), tensor("b")]))
    out = session.run({"x": X})
    assert list(out) == ["a", "b"]
    assert out[0] is out["a"] and out[1] is out["b"] and out[-1] is out["b"]
    with pytest.raises(KeyError, match="the outputs are 'a', 'b'"):
        out["c"]
    assert list(session.run({"x": X}, ["b"])) == ["b"]
    assert list(session.run({"x": X}, "b")) == ["b"]
    assert list(session.run({"x": X}, ["b", "a"])) == ["b", "a"]


def test_infos(digits):
    session = tenon.Session(digits)
    (image,) = session.inputs
    assert (image.name, image.kind, image.dtype, image.shape, image.type) == ("image", "tensor", "float32", ("N", 1, 8, 8), "float32[N,1,8,8]")
    assert session.outputs[0].name == "probabilities"
    assert session.metadata["tenon.labels"].startswith("0,1")
    assert session.instances[0].name == "cpu/cpu:0" or session.instances[0].provider == "onednn"
    assert session.describe()["operators"]["Conv"] == 2
    assert tenon.describe_model(digits)["operators"]["Conv"] == 2
    assert "image: float32[N,1,8,8]" in repr(session)


def test_inputs_are_not_copied_and_outputs_own_their_memory():
    session = tenon.Session(one_node("Identity"))
    x = np.ones((2, 4), np.float32)
    y = session.run({"x0": x})["y"]
    assert y.flags.writeable and y.flags.c_contiguous
    x[:] = 5
    assert y.tolist() == [[1] * 4] * 2  # not a view of the input
    y[:] = 7
    assert session.run({"x0": x})["y"].tolist() == [[5] * 4] * 2


def test_an_output_outlives_its_session():
    session = tenon.Session(one_node("Relu"))
    y = session.run({"x0": X})["y"]
    session.close()
    del session
    gc.collect()
    assert y.tolist() == [[0, 2, 0, 4]]


def test_a_constant_output_may_be_changed():
    node = helper.make_node("Constant", [], ["y"], value=helper.make_tensor("v", FLOAT, [2], [1.0, 2.0]))
    session = tenon.Session(model([node], [], [tensor("y", FLOAT, [2])]))
    y = session.run()["y"]
    y[:] = 9
    assert session.run({})["y"].tolist() == [1, 2]


def test_default_values_of_inputs():
    w = onnx.numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    made = model([helper.make_node("Add", ["x", "w"], ["y"])], [tensor("x"), tensor("w", FLOAT, [4])], [tensor("y")], [w])
    session = tenon.Session(made)
    assert [info.has_default for info in session.inputs] == [False, True]
    default = session.default("w")
    assert default.tolist() == [0, 1, 2, 3] and not default.flags.writeable
    assert session.run({"x": X})["y"].tolist() == (X + default).tolist()
    with pytest.raises(tenon.InvalidInputError, match="no input 'q'"):
        session.default("q")
    with pytest.raises(tenon.Error):
        session.default("x")


@pytest.mark.parametrize("change", [lambda x: x[:, ::-1], lambda x: np.asfortranarray(np.repeat(x, 2, 0)), lambda x: x.astype(">f4")])
def test_arrays_that_are_not_contiguous_or_not_native_are_copied(change):
    x = change(X)
    assert np.array_equal(tenon.Session(one_node("Neg")).run({"x0": x})["y"], -x)


def test_read_only_arrays():
    x = X.copy()
    x.flags.writeable = False
    session = tenon.Session(one_node("Relu"))
    assert session.run({"x0": x})["y"].tolist() == [[0, 2, 0, 4]]
    value = tenon.Value.of(x)
    assert memoryview(value).readonly and not value.numpy().flags.writeable
    assert value.copy().numpy().flags.writeable and not np.shares_memory(value.copy().numpy(), x)
    with pytest.raises(tenon.Error):
        session.run({"x0": X}, into={"y": value})
    assert x.tolist() == X.tolist()


def test_into_writes_in_place():
    session = tenon.Session(one_node("Relu"))
    y = np.zeros((1, 4), np.float32)
    out = session.run({"x0": X}, into={"y": y})
    assert y.tolist() == [[0, 2, 0, 4]]
    assert np.shares_memory(out["y"], y)
    with pytest.raises(tenon.InvalidInputError, match="'z', which is not among the outputs: y"):
        session.run({"x0": X}, into={"z": y})
    with pytest.raises(tenon.InvalidInputError):
        session.run({"x0": X}, into={"y": np.zeros((1, 5), np.float32)})
    with pytest.raises(tenon.InvalidInputError, match="writable, contiguous"):
        session.run({"x0": X}, into={"y": np.zeros((4, 2), np.float32).T})


def test_bindings():
    session = tenon.Session(one_node("Relu"))
    x, y = X.copy(), np.zeros((1, 4), np.float32)
    binding = session.bind({"x0": x}, {"y": y})
    binding.run()
    assert y.tolist() == [[0, 2, 0, 4]] and binding.output("y") is y
    x[:] = 3  # the same memory is read again
    binding.run()
    assert y.tolist() == [[3] * 4]
    free = session.bind({"x0": x})
    free.run()
    first = free.output("y")
    x[:] = 4
    free.run()
    assert first.tolist() == [[3] * 4] and free.outputs["y"].tolist() == [[4] * 4]
    free.bind_input("x0", np.ones((3, 4), np.float32))
    free.run()
    assert free.output("y").shape == (3, 4)
    for wrong in (lambda: free.bind_input("q", x), lambda: free.bind_output("q", y), lambda: session.bind().run()):
        with pytest.raises(tenon.InvalidInputError):
            wrong()


def test_a_binding_keeps_its_memory():
    session = tenon.Session(one_node("Relu"))
    x = X.copy()
    gone = weakref.ref(x)
    binding = session.bind({"x0": x})
    del x
    gc.collect()
    assert gone() is not None
    binding.run()
    binding.bind_input("x0", X)
    gc.collect()
    assert gone() is None


def test_explain_and_profile_have_html(digits):
    session = tenon.Session(digits)
    x = np.zeros((1, 1, 8, 8), np.float32)
    explained = session.explain()
    assert sum(explained.counts.values()) == len(explained.nodes) == 11
    assert "conv1" in str(explained)
    assert explained._repr_html_().startswith("<ul>") and "<td style='text-align:left'>conv1</td>" in explained._repr_html_()
    profile = session.profile({"image": x}, runs=3)
    assert profile.steps and abs(sum(step.share for step in profile.steps) - 1) < 1e-6
    assert profile.steps[0].median_ns >= profile.steps[-1].median_ns > 0
    assert "<table>" in profile._repr_html_()
    assert session.plans()[0]["steps"]


def test_html_is_escaped():
    session = tenon.Session(model([helper.make_node("Relu", ["x"], ["y"], name="<b>&")], [tensor("x")], [tensor("y")]))
    assert "&lt;b&gt;&amp;" in session.explain()._repr_html_()


def test_profile_saves_a_trace(digits, tmp_path):
    profile = tenon.Session(digits).profile({"image": np.zeros((1, 1, 8, 8), np.float32)}, runs=1)
    profile.save(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_all_values(digits):
    out = tenon.Session(digits, all_values=True).run({"image": np.zeros((1, 1, 8, 8), np.float32)})
    assert len(out) == 11


def test_progress_and_stopping(digits):
    seen = []
    tenon.Session(digits, progress=lambda fraction, stage: seen.append((fraction, stage)))
    assert seen and seen[-1][0] <= 1
    with pytest.raises(tenon.CancelledError):
        tenon.Session(digits, progress=lambda fraction, stage: False)

    def fail(fraction, stage):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        tenon.Session(digits, progress=fail)


def test_deadline_and_cancel():
    session = tenon.Session(matmul_chain(512, 12))
    x = np.ones((512, 512), np.float32)
    with pytest.raises(tenon.DeadlineError) as caught:
        session.run({"x": x}, timeout=1e-6)
    assert isinstance(caught.value, TimeoutError)
    cancel = tenon.Cancel()
    cancel.trigger()
    with pytest.raises(tenon.CancelledError):
        session.run({"x": x}, cancel=cancel)


@pytest.mark.parametrize("passes", [{}, {"transforms.disable": ["*"]}])
def test_outputs_that_nobody_uses(passes):
    """A provider writes the first output of a node in any case; it must not be into an input."""
    relu = helper.make_node("Relu", ["x"], ["y"])
    scale = onnx.numpy_helper.from_array(np.ones(4, np.float32), "s")
    cases = [
        ([helper.make_node("Exp", ["y"], ["w"]), helper.make_node("Add", ["y", "y"], ["z"])], "w"),
        ([helper.make_node("LayerNormalization", ["y", "s"], ["n", "mean", "inverse"])], "mean"),
        ([helper.make_node("LayerNormalization", ["y", "s"], ["n", "mean", "inverse"])], "inverse"),
    ]
    for nodes, other in cases:
        made = model([relu, *nodes], [tensor("x")], [tensor("y"), tensor(other, FLOAT, None)], [scale])
        x = np.random.default_rng(0).standard_normal((200, 4)).astype("f")
        assert np.array_equal(tenon.Session(made, passes).run({"x": x})["y"], np.maximum(x, 0))


def test_state_pairs():
    node = helper.make_node("Add", ["past", "x"], ["present"])
    made = model([node], [tensor("past", FLOAT, [2]), tensor("x", FLOAT, [2])], [tensor("present", FLOAT, [2])])
    session = tenon.Session(made, {"state": {"pairs": ["past=present"]}})
    one = np.ones(2, np.float32)
    state = session.state()
    for _ in range(3):
        session.run({"x": one}, state=state)
    assert state.read("past").tolist() == [3, 3]
    state.reset()
    session.run({"x": one}, state=state)
    assert state.read("present").tolist() == [1, 1]
    with pytest.raises(tenon.InvalidInputError, match="another session"):
        tenon.Session(made, {"state": {"pairs": ["past=present"]}}).run({"x": one}, state=state)


def test_closed_sessions_say_so():
    with tenon.Session(one_node("Relu")) as session:
        session.run({"x0": X})
    for call in (lambda: session.run({"x0": X}), session.explain, session.state, session.bind, lambda: session.submit({"x0": X})):
        with pytest.raises(tenon.InvalidInputError, match="the session is closed"):
            call()
    session.close()


def test_external_data(tmp_path):
    made = model(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [tensor("x", FLOAT, [1000])],
        [tensor("y", FLOAT, [1000])],
        [onnx.numpy_helper.from_array(np.arange(1000, dtype=np.float32), "w")],
    )
    onnx.save(made, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    raw = (tmp_path / "m.onnx").read_bytes()
    x = np.ones(1000, np.float32)
    expected = x + np.arange(1000)
    assert np.array_equal(tenon.Session(tmp_path / "m.onnx").run({"x": x})["y"], expected)
    assert np.array_equal(tenon.Session(raw, external_data=tmp_path).run({"x": x})["y"], expected)


def test_optimize_model(digits, tmp_path):
    tenon.optimize_model(digits, tmp_path / "o.onnx")
    x = np.zeros((1, 1, 8, 8), np.float32)
    a, b = (tenon.Session(path).run({"image": x})["probabilities"] for path in (digits, tmp_path / "o.onnx"))
    assert np.allclose(a, b, atol=1e-6)


def test_warnings_for_what_is_passed_over(digits, caplog):
    config = {"select": {"order": ["nothere", "cpu"], "fallback": "next"}}
    with pytest.warns(tenon.TenonWarning, match="nothere") as caught:
        session = tenon.Session(digits, config)
    assert caught[0].message.code == "PASSED_OVER"
    assert "PASSED_OVER" in caplog.text and "nothere" in caplog.text
    assert session.explain().passed_over[0]["provider"] == "nothere"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(tenon.TenonWarning):
            tenon.Session(digits, config)


def test_memory_stays_flat(script):
    times = os.environ.get("TENON_TEST_SESSIONS", "1500")
    out = script(
        """
import gc, sys
import numpy as np, tenon
from models import one_node
data, x = one_node("Relu"), np.ones((1, 4), np.float32)

def cycle(times):
    for _ in range(times):
        session = tenon.Session(data)
        session.run({"x0": x})
        session.bind({"x0": x}).run()
        session.submit({"x0": x}).result()
        try:
            session.run({"no": x})
        except tenon.Error:
            pass
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4

cycle(300)
before = cycle(300)
print(cycle(int(sys.argv[1])) - before)
""",
        times,
    )
    assert int(out) < 1024, f"{out} KiB"
