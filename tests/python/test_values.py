"""Element types and kinds of values, in and out."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tenon
from models import FLOAT, model, of_type, one_node, tensor
from onnx import TensorProto, helper
from tenon._values import EXTENDED, NAMES, extended_dtype, pack, unpack

PLAIN = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"]


def identity(dtype: int, shape=None) -> tenon.Session:
    return tenon.Session(one_node("Identity", dtype, shape, opset=23))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_plain_types(name, shape):
    number = NAMES.index(name)
    x = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(name)
    y = identity(number, shape).run({"x0": x})["y"]
    assert y.dtype == x.dtype and y.shape == x.shape and np.array_equal(x, y)


@pytest.mark.parametrize("number", [n for n in EXTENDED if n <= 23])
def test_types_of_ml_dtypes(number):
    dtype = extended_dtype(number)
    x = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1]], np.float32).astype(dtype)
    y = identity(number, (3, 3)).run({"x0": x})["y"]
    assert y.dtype == dtype and np.array_equal(x.astype(np.float32), y.astype(np.float32))
    assert identity(number, (3, 3)).run({"x0": x.T})["y"].astype(np.float32).tolist() == x.T.astype(np.float32).tolist()


@pytest.mark.parametrize("bits,number", [(2, 25), (4, 21), (6, 27)])
def test_packing_is_the_one_of_onnx(bits, number):
    values = (np.arange(13) * 7 % (1 << bits)).astype(np.uint8)
    packed = pack(values, bits)
    assert len(packed) == -(-13 * bits // 8)
    whole = sum(int(v) << (bits * i) for i, v in enumerate(values))
    assert packed == whole.to_bytes(len(packed), "little")
    if number in EXTENDED and hasattr(ml_dtypes, EXTENDED[number][0]):
        assert unpack(np.frombuffer(packed, np.uint8), number, (13,)).view(np.uint8).tolist() == values.tolist()


def test_negative_int4():
    x = np.array([-8, -1, 0, 7, 3], ml_dtypes.int4)
    assert identity(22, (5,)).run({"x0": x})["y"].astype(int).tolist() == [-8, -1, 0, 7, 3]


def test_bfloat16_computes():
    x = np.array([1.5, -2], ml_dtypes.bfloat16)
    y = tenon.Session(one_node("Neg", TensorProto.BFLOAT16, (2,))).run({"x0": x})["y"]
    assert y.dtype == ml_dtypes.bfloat16 and y.astype(float).tolist() == [-1.5, 2]


def test_strings():
    session = identity(TensorProto.STRING, ("N",))
    words = ["", "a", "ünïcode", "z" * 100]
    for given in (words, np.array(words), np.array(words, object), np.array([w.encode() for w in words], object)):
        y = session.run({"x0": given})["y"]
        assert y.dtype == object and y.tolist() == words
    assert tenon.Session(one_node("Identity", TensorProto.STRING, ())).run({"x0": "word"})["y"].item() == "word"


def test_numbers_of_python_become_what_the_input_wants():
    assert identity(TensorProto.INT8, (3,)).run({"x0": [1, 2, -3]})["y"].dtype == np.int8
    assert identity(FLOAT, ()).run({"x0": 2.5})["y"].item() == 2.5
    with pytest.raises(tenon.InvalidInputError, match="input 'x0'"):
        identity(TensorProto.INT8, (1,)).run({"x0": [300]})
    with pytest.raises(tenon.InvalidInputError, match="input 'x0'.*float32"):  # but arrays keep their type
        identity(FLOAT, (3,)).run({"x0": np.ones(3)})


@pytest.mark.parametrize("bad", [object(), [[1], [1, 2]], np.array(["2020"], "M8[D]"), {"a": 1}])
def test_objects_without_a_type(bad):
    with pytest.raises(tenon.InvalidInputError, match="x0"):
        identity(FLOAT, (1,)).run({"x0": bad})


def test_sequences():
    seq = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    session = tenon.Session(model([helper.make_node("Identity", ["x"], ["y"])], [of_type("x", seq)], [of_type("y", seq)]))
    parts = [np.ones((1, 2), np.float32), np.zeros(3, np.float32)]
    y = session.run({"x": parts})["y"]
    assert isinstance(y, list) and [p.tolist() for p in y] == [[[1, 1]], [0, 0, 0]]
    parts[0][:] = 9
    assert y[0].tolist() == [[1, 1]]  # not a view of the input
    assert session.run({"x": []})["y"] == []
    with pytest.raises(tenon.InvalidInputError, match="input 'x' must be seq"):
        session.run({"x": parts[0]})
    with pytest.raises(tenon.InvalidInputError, match="input 'x': a sequence is a list"):
        session.run({"x": "word"})


def test_sequence_elements_outlive_their_input():
    seq = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    session = tenon.Session(model([helper.make_node("SequenceConstruct", ["x"], ["y"])], [tensor("x")], [of_type("y", seq)]))
    x = np.full((50, 4), 3, np.float32)
    y = session.run({"x": x})["y"]
    x[:] = 4
    assert y[0].tolist() == [[3] * 4] * 50


def test_optionals():
    optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, [2]))
    has = tenon.Session(
        model([helper.make_node("OptionalHasElement", ["x"], ["y"])], [of_type("x", optional)], [tensor("y", TensorProto.BOOL, [])])
    )
    assert has.run({"x": np.ones(2, np.float32)})["y"].item() is True
    same = tenon.Session(model([helper.make_node("Identity", ["x"], ["y"])], [of_type("x", optional)], [of_type("y", optional)]))
    assert same.run({"x": np.ones(2, np.float32)})["y"].tolist() == [1, 1]
    assert same.run({"x": tenon.Value.optional("float32")})["y"] is None
    assert same.run({"x": tenon.Value.optional("float32", np.ones(2, np.float32))})["y"].tolist() == [1, 1]


def test_maps_in_and_out():
    map_type = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(FLOAT, []))
    node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", int64_vocabulary=[1, 5, 9])
    session = tenon.Session(model([node], [of_type("x", map_type)], [tensor("y", FLOAT, [1, 3])]))
    assert session.run({"x": {5: 2.5, 9: 1.0}})["y"].reshape(-1).tolist() == [0, 2.5, 1]
    seq = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(FLOAT, [])))
    zipmap = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["a", "b"])
    out = tenon.Session(model([zipmap], [tensor("x", FLOAT, ["N", 2])], [of_type("y", seq)])).run({"x": np.eye(2, dtype=np.float32)})
    assert out["y"] == [{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}]


def test_dlpack_out_and_in():
    value = tenon.Value.of(np.arange(6, dtype=np.float32).reshape(2, 3))
    array = np.from_dlpack(value)
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.shares_memory(array, np.asarray(value))
    assert value.__dlpack_device__() == (1, 0)

    class Foreign:
        """A tensor of another library."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **more):
            return self.array.__dlpack__(**more)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    session = tenon.Session(one_node("Neg"))
    assert session.run({"x0": Foreign(np.ones((1, 4), np.float32))})["y"].tolist() == [[-1] * 4]


def test_unused_capsules_do_not_leak():
    import gc
    import weakref

    class Mine(np.ndarray):
        pass

    array = np.ones(4, np.float32).view(Mine)
    gone = weakref.ref(array)
    value = tenon.Value.of(array)
    capsules = [value.__dlpack__(), value.__dlpack__(max_version=(1, 0))]
    del array, value
    assert gone() is not None or capsules
    del capsules
    gc.collect()
    assert gone() is None


def test_values_describe_themselves(tmp_path):
    value = tenon.Value.of(np.ones((2, 3), np.int16))
    assert (value.kind, value.dtype, value.shape, value.device, value.nbytes) == ("tensor", "int16", (2, 3), "cpu", 12)
    assert repr(value) == "<tenon.Value int16[2, 3] on cpu>"
    assert value.to_host().numpy().tolist() == [[1] * 3] * 2
    assert repr(tenon.Value.of([np.ones(1, np.float32)])) == "<tenon.Value sequence of 1>"
    empty = tenon.Value.empty("float32", (2, 2))
    np.asarray(empty)[:] = 4
    assert tenon.Session(one_node("Neg", shape=(2, 2))).run({"x0": empty})["y"].tolist() == [[-4, -4]] * 2
    assert memoryview(empty).format == "f" and memoryview(empty).shape == (2, 2) and memoryview(empty).contiguous
    half = tenon.Value.of(np.ones(3, ml_dtypes.bfloat16))
    assert np.asarray(half).dtype == ml_dtypes.bfloat16
    with pytest.raises(BufferError):
        memoryview(half)
    with pytest.raises(TypeError):
        tenon.Value()


def test_subclasses_of_arrays():
    class Mine(np.ndarray):
        pass

    assert tenon.Session(one_node("Neg")).run({"x0": np.ones((1, 4), np.float32).view(Mine)})["y"].tolist() == [[-1] * 4]
