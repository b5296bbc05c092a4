"""Operators that are written in Python."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tenon
from models import FLOAT, of_type, tensor
from onnx import TensorProto, helper

X = np.array([[1.0, 2.0, 3.0, 4.0]], np.float32)


def acme(op: str, inputs=("x",), outputs=("y",), types=None, **attributes) -> bytes:
    """A model of one node of com.acme between a Neg and another one."""
    nodes = [
        helper.make_node("Neg", ["in"], ["x"], "before"),
        helper.make_node(op, list(inputs), list(outputs), "mine", domain="com.acme", **attributes),
    ]
    graph = helper.make_graph(nodes, "g", [tensor("in")], types or [tensor(name, FLOAT, None) for name in outputs])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.acme", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def session_of(op: str, run, infer=lambda x, **_: x, **more) -> tenon.Session:
    attributes = more.pop("node_attributes", {})
    names = {key: more.pop(key) for key in ("node_inputs", "node_outputs") if key in more}
    operators = tenon.Operators()
    operators.add(op, run, infer, domain="com.acme", **more)
    made = acme(op, names.get("node_inputs", ("x",)), names.get("node_outputs", ("y",)), **attributes)
    return tenon.Session(made, operators=operators)


def test_a_function_is_an_operator():
    session = session_of("Scale", lambda x, factor: x * np.float32(factor), attributes={"factor": float}, node_attributes={"factor": 2.5})
    assert session.run({"in": X})["y"].tolist() == (X * -2.5).tolist()
    assert session.outputs[0].type in ("float32[N,4]", "float32[?...]")
    assert session.explain().counts.get("custom") == 1 or any("custom" in name for name in session.explain().counts)


def test_defaults_decorator_and_several_outputs():
    operators = tenon.Operators()

    @operators.register("Split", lambda x, at: [("float32", (x.shape[0], at)), ("float32", (x.shape[0], None))], domain="com.acme", outputs=2, attributes={"at": 1})
    def split(x, at):
        return x[:, :at], x[:, at:]

    session = tenon.Session(acme("Split", outputs=("a", "b")), operators=operators)
    out = session.run({"in": X})
    assert out["a"].tolist() == [[-1]] and out["b"].tolist() == [[-2, -3, -4]]


def test_kinds_of_attributes():
    seen = {}

    def run(x, **attributes):
        seen.update(attributes)
        return x

    values = {"f": 1.5, "i": 3, "s": "word", "fs": [1.0, 2.0], "is_": [1, 2], "ss": ["a", "b"], "t": helper.make_tensor("t", TensorProto.INT32, [2], [7, 8])}
    session_of("Any", run, node_attributes=values).run({"in": X})
    assert seen.pop("t").tolist() == [7, 8]
    assert seen == {"f": 1.5, "i": 3, "s": "word", "fs": [1.0, 2.0], "is_": [1, 2], "ss": ["a", "b"]}


def test_a_required_attribute():
    with pytest.raises(tenon.Error, match="factor"):
        session_of("Scale", lambda x, factor: x, attributes={"factor": float})
    with pytest.raises(tenon.InvalidInputError, match="'factor'"):
        tenon.Operators().add("Scale", lambda x: x, "float32[N]", domain="com.acme", attributes={"factor": object})


def test_an_exception_names_the_node():
    def run(x):
        raise LookupError("of mine")

    session = session_of("Bad", run)
    with pytest.raises(tenon.OperatorError, match="LookupError: of mine") as caught:
        session.run({"in": X})
    assert caught.value.node == "mine" and caught.value.kind == "operator"
    assert isinstance(caught.value.__cause__, LookupError)
    with pytest.raises(tenon.OperatorError, match="LookupError: of mine"):
        session.submit({"in": X}).result()


@pytest.mark.parametrize(
    "run",
    [
        lambda x: x[:, :2],  # another shape than was told
        lambda x: x.astype(np.float64),
        lambda x: (x, x),
        lambda x: None,
        lambda x: "words",
        lambda x, y: x,
    ],
)
def test_what_breaks_its_promise(run):
    session = session_of("Bad", run, lambda x: ("float32", (x.shape[0], 4)))
    with pytest.raises(tenon.OperatorError) as caught:
        session.run({"in": X})
    assert caught.value.node == "mine"


@pytest.mark.parametrize("infer", [lambda x: 5, lambda x: ["float32[4]", "float32[4]"], lambda x: "no type", lambda: "float32[4]"])
def test_what_infer_does_wrong(infer):
    with pytest.raises(tenon.Error) as caught:
        session_of("Bad", lambda x: x, infer)
    assert caught.value.node == "mine"


def test_memory_errors():
    def run(x):
        raise MemoryError("too large")

    with pytest.raises(tenon.OutOfMemoryError):
        session_of("Big", run).run({"in": X})


def test_inputs_may_be_kept():
    kept = []
    session = session_of("Keep", lambda x: kept.append(x) or x * 2)
    for i in range(20):
        session.run({"in": X * i})
    assert [k.tolist() for k in kept] == [(X * -i).tolist() for i in range(20)]


def test_concurrent_runs():
    threads = set()

    def run(x):
        threads.add(threading.get_ident())
        return x + np.float32(1)

    session = session_of("Add1", run)
    with ThreadPoolExecutor(8) as pool:
        for i, out in enumerate(pool.map(lambda i: session.run({"in": X * i})["y"], range(200))):
            assert np.allclose(out, 1 - X * i)

    async def main():
        return await asyncio.gather(*(session.run_async({"in": X * i}) for i in range(50)))

    for i, out in enumerate(asyncio.run(main())):
        assert np.allclose(out["y"], 1 - X * i)
    assert len(threads) > 1


def test_strings_and_sequences():
    operators = tenon.Operators()
    operators.add("Words", lambda x: np.array([f"{v:.0f}" for v in x.ravel()], object), "string[?]", domain="com.acme")
    out = tenon.Session(acme("Words", types=[tensor("y", TensorProto.STRING, None)]), operators=operators).run({"in": X})
    assert out["y"].tolist() == ["-1", "-2", "-3", "-4"]
    seq = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    operators = tenon.Operators()
    operators.add("Rows", lambda x: list(x), "seq(float32[?...])", domain="com.acme")
    out = tenon.Session(acme("Rows", types=[of_type("y", seq)]), operators=operators).run({"in": np.repeat(X, 2, 0)})
    assert [row.tolist() for row in out["y"]] == [[-1, -2, -3, -4]] * 2


def test_operators_outlive_what_made_them():
    import gc
    import weakref

    class Function:
        def __call__(self, x):
            return x * np.float32(3)

    function = Function()
    gone = weakref.ref(function)
    session = session_of("Three", function)
    del function
    gc.collect()
    assert session.run({"in": X})["y"].tolist() == (X * -3).tolist() and gone() is not None
    session.close()
    del session
    gc.collect()
    assert gone() is None


def test_names_that_are_taken():
    with pytest.raises(tenon.InvalidInputError):
        tenon.Operators().add("Relu", lambda x: x, "float32[4]", domain="")
    operators = tenon.Operators()
    operators.add("Mine", lambda x: x, "float32[4]", domain="com.acme")
    with pytest.raises(tenon.InvalidInputError):
        operators.add("Mine", lambda x: x, "float32[4]", domain="com.acme")
    with pytest.raises(tenon.Error, match="Other"):
        tenon.Session(acme("Other"), operators=operators)


def test_the_end_of_a_process_within_an_operator(script):
    for ending in ("", "import sys; sys.exit(0)"):
        script(
            f"""
import threading, time
import numpy as np
from test_operators import X, session_of
def slow(x):
    time.sleep(0.01)
    return x
s = session_of("Slow", slow)
def loop():
    while True:
        s.run({{"in": X}})
for _ in range(3):
    threading.Thread(target=loop, daemon=True).start()
pending = [s.submit({{"in": X}}) for _ in range(30)]
time.sleep(0.1)
{ending}
""",
            timeout=60,
        )
