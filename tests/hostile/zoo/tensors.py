"""Initializers whose dims, element type and data do not fit each other."""

import numpy as np
from onnx import SparseTensorProto, TensorProto, helper

from zoo import wire
from zoo.build import FLOAT, STRING, case, constant, ints, model, node, relu


def tensor(dims: list[int], data_type: int = FLOAT, **fields) -> TensorProto:
    """An initializer called 'w' with exactly these fields."""
    return TensorProto(name="w", dims=dims, data_type=data_type, **fields)


@case
def dims_product_overflows():
    return relu([tensor([1 << 33, 1 << 33], raw_data=bytes(16))])


@case
def dims_product_overflows_to_two():
    """2^63 * 2^62 * ... wraps around to the two elements that are there."""
    return relu([tensor([(1 << 63) - 1, (1 << 63) - 1, 2], raw_data=bytes(8))])


@case
def dims_2_to_62():
    return relu([tensor([1 << 62], raw_data=bytes(16))])


@case
def dims_negative():
    return relu([tensor([-1, -2], raw_data=bytes(8))])


@case
def dims_zero_times_huge():
    """No element, yet a product that overflows on the way."""
    return relu([tensor([1 << 40, 1 << 40, 0, -3])])


@case
def rank_100000():
    return relu([tensor([1] * 100_000, raw_data=bytes(4))])


@case
def dims_packed_2000000():
    dims = wire.block(wire.Tensor.DIMS, b"\1" * 2_000_000)
    return wire.model(wire.relu_graph(wire.float_tensor(wire.Graph.INITIALIZER, "w", (), bytes(4), dims)))


@case
def raw_data_short():
    return relu([tensor([4], raw_data=bytes(12))])


@case
def raw_data_long():
    return relu([tensor([4], raw_data=bytes(20))])


@case
def raw_data_missing():
    return relu([tensor([4])])


@case
def float_data_short():
    return relu([tensor([4], float_data=[1.0, 2.0, 3.0])])


@case
def float_data_in_an_integer():
    return relu([tensor([2], TensorProto.INT64, float_data=[1.0, 2.0])])


@case
def raw_data_and_float_data():
    return relu([tensor([2], raw_data=bytes(8), float_data=[1.0, 2.0])])


@case
def raw_data_in_a_string():
    return relu([tensor([2], STRING, raw_data=b"ab")])


@case
def int4_of_wrong_length():
    return relu([tensor([3], TensorProto.INT4, raw_data=bytes(3))])


@case
def int8_out_of_range():
    return relu([tensor([2], TensorProto.INT8, int32_data=[1, 70_000])])


@case
def element_type_99():
    return relu([tensor([2], 99, raw_data=bytes(8))])


@case
def element_type_undefined():
    return relu([tensor([2], 0, raw_data=bytes(8))])


@case
def initializer_without_name():
    broken = relu([tensor([2], raw_data=bytes(8))])
    broken.graph.initializer[0].ClearField("name")
    return broken


@case
def attribute_tensor_short():
    value = TensorProto(name="v", dims=[1000], data_type=FLOAT, raw_data=bytes(8))
    return model([node("Constant", [], ["c"], "short_constant", value=value), node("Add", ["x", "c"], ["y"])])


def sparse(values: TensorProto, indices: TensorProto, dims: list[int]):
    broken = model([node("Add", ["x", "w"], ["y"], "adder")])
    broken.graph.sparse_initializer.append(SparseTensorProto(values=values, indices=indices, dims=dims))
    return broken


@case
def sparse_index_out_of_range():
    return sparse(constant("w", [1, 2]), ints("i", 0, 9), [2])


@case
def sparse_index_negative():
    return sparse(constant("w", [1, 2]), ints("i", -5, 1), [2])


@case
def sparse_indices_unsorted():
    return sparse(constant("w", [1, 2]), ints("i", 1, 0), [2])


@case
def sparse_fewer_indices_than_values():
    return sparse(constant("w", [1, 2]), ints("i", 0), [2])


@case
def sparse_of_2_to_40():
    return sparse(constant("w", [1]), ints("i", 5), [1 << 40])


@case
def sparse_dims_overflow():
    return sparse(constant("w", [1]), ints("i", 5), [1 << 40, 1 << 40])


@case
def string_constant_not_strings():
    value = helper.make_tensor("v", FLOAT, [2], np.ones(2, np.float32))
    return model([node("Constant", [], ["c"], "two_values", value=value, value_string=b"x"),
                  node("Add", ["x", "c"], ["y"])])
