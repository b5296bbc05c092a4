"""Values of inputs that divide by zero, reach outside or make no sense."""

import numpy as np

from zoo.build import INT32, INT64, case, closed, constant, ints, node


@case
def split_sizes_do_not_add_up():
    return closed([node("Split", ["c", "s"], ["y", "z"], "split")], [constant("c", [1, 2, 3]), ints("s", 1, 100)])


@case
def split_size_negative():
    return closed([node("Split", ["c", "s"], ["y", "z"], "split")], [constant("c", [1, 2, 3]), ints("s", -2, 5)])


def with_ints(op_type: str, name: str, shape: tuple, *values: int, rank: int = 1, **attributes):
    """op(float constant of `shape`, int64 constant)."""
    constants = [constant("c", np.ones(shape)), ints("i", *values)]
    return closed([node(op_type, ["c", "i"], ["y"], name, **attributes)], constants, rank=rank)


@case
def reshape_two_unknowns():
    return with_ints("Reshape", "reshape", (2, 3), -1, -1, rank=2)


@case
def reshape_to_other_size():
    return with_ints("Reshape", "reshape", (2, 3), 7)


@case
def reshape_product_overflows():
    return with_ints("Reshape", "reshape", (2, 3), 1 << 32, 1 << 32, 6, rank=3)


@case
def reshape_divides_by_zero():
    return with_ints("Reshape", "reshape", (0, 3), 0, -1, rank=2)


@case
def squeeze_of_a_wide_axis():
    return with_ints("Squeeze", "squeeze", (2, 3), 0)


@case
def unsqueeze_axis_twice():
    return with_ints("Unsqueeze", "unsqueeze", (2, 3), 1, 1, rank=4)


@case
def gather_index_out_of_range():
    return with_ints("Gather", "gather", (3,), 99)


@case
def gather_index_of_int64_min():
    return with_ints("Gather", "gather", (3,), -(1 << 63))


@case
def gather_elements_index_out_of_range():
    return with_ints("GatherElements", "gather", (3,), 0, 77, 1)


@case
def gather_nd_index_out_of_range():
    return with_ints("GatherND", "gather", (3,), 1 << 40, rank=0)


@case
def tile_negative():
    return with_ints("Tile", "tile", (3,), -2)


@case
def expand_negative():
    return with_ints("Expand", "expand", (1,), -5)


@case
def top_k_over_size():
    return closed([node("TopK", ["c", "k"], ["y", "z"], "top")], [constant("c", [1, 2, 3]), ints("k", 100)])


def scatter(op_type: str, *indices: int, shape: tuple = (-1,)):
    index = constant("i", np.reshape(indices, shape), np.int64)
    values = [constant("c", [1, 2, 3]), index, constant("u", [9.0])]
    return closed([node(op_type, ["c", "i", "u"], ["y"], "scatter")], values)


@case
def scatter_elements_index_out_of_range():
    return scatter("ScatterElements", 1 << 33)


@case
def scatter_nd_index_out_of_range():
    return scatter("ScatterND", 1 << 33, shape=(1, 1))


@case
def slice_step_zero():
    names = ["c", "starts", "ends", "axes", "steps"]
    indices = [ints(name, value) for name, value in zip(names[1:], (0, 3, 0, 0))]
    return closed([node("Slice", names, ["y"], "slice")], [constant("c", [1, 2, 3]), *indices])


@case
def slice_axis_out_of_range():
    names = ["c", "starts", "ends", "axes"]
    indices = [ints(name, value) for name, value in zip(names[1:], (0, 3, 50))]
    return closed([node("Slice", names, ["y"], "slice")], [constant("c", [1, 2, 3]), *indices])


@case
def pad_list_too_short():
    return with_ints("Pad", "pad", (2, 2), 1, rank=2)


@case
def pad_negative_beyond_input():
    return with_ints("Pad", "pad", (2,), -5, -5)


@case
def pad_reflect_of_nothing():
    return with_ints("Pad", "pad", (0,), 3, 3, mode="reflect")


def resize(*scales: float):
    values = [constant("c", np.ones((1, 1, 2, 2))), constant("s", scales)]
    return closed([node("Resize", ["c", "", "s"], ["y"], "resize")], values, rank=4)


@case
def resize_scale_zero():
    return resize(1, 1, 0, 0)


@case
def resize_scale_nan():
    return resize(1, 1, np.nan, np.inf)


@case
def roi_align_batch_out_of_range():
    values = [constant("c", np.ones((1, 1, 4, 4))), constant("rois", [[0, 0, 3, 3]]), ints("batch", 1 << 30)]
    return closed([node("RoiAlign", ["c", "rois", "batch"], ["y"], "roi")], values, rank=4)


@case
def max_unpool_index_out_of_range():
    values = [constant("c", np.ones((1, 1, 1, 1))), constant("i", [[[[1 << 40]]]], np.int64)]
    return closed([node("MaxUnpool", ["c", "i"], ["y"], "unpool", kernel_shape=[2, 2])], values, rank=4)


@case
def lstm_of_unfit_shapes():
    values = [constant("c", np.ones((2, 1, 3))), constant("w", np.ones((1, 4, 3))), constant("r", np.ones((1, 4, 9)))]
    return closed([node("LSTM", ["c", "w", "r"], ["y"], "lstm", hidden_size=500)], values, rank=4)


@case
def lstm_lengths_beyond_sequence():
    values = [constant("c", np.ones((2, 1, 3))), constant("w", np.ones((1, 8, 3))), constant("r", np.ones((1, 8, 2))),
              constant("lengths", [1 << 30], np.int32)]
    return closed([node("LSTM", ["c", "w", "r", "", "lengths"], ["y"], "lstm", hidden_size=2)], values, rank=4)


def integers(op_type: str, left: int, right: int, **attributes):
    values = [constant("a", [left], np.int32), constant("b", [right], np.int32)]
    return closed([node(op_type, ["a", "b"], ["y"], "divide", **attributes)], values, INT32)


@case
def integer_divided_by_zero():
    return integers("Div", 1, 0)


@case
def integer_min_divided_by_minus_one():
    return integers("Div", -(1 << 31), -1)


@case
def integer_modulo_zero():
    return integers("Mod", 1, 0)


@case
def integer_min_modulo_minus_one():
    return integers("Mod", -(1 << 31), -1, fmod=1)


@case
def shift_by_more_than_the_width():
    values = [constant("a", [1], np.uint32), constant("b", [4000], np.uint32)]
    return closed([node("BitShift", ["a", "b"], ["y"], "shift", direction="LEFT")], values, 12)


@case
def cast_nan_to_integer():
    values = [constant("c", [np.nan, np.inf, -np.inf, 1e30])]
    return closed([node("Cast", ["c"], ["y"], "cast", to=INT64)], values, INT64)
