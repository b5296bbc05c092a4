"""Small models, right by the rules, that ask for terabytes: folding them or planning their memory must refuse."""

import numpy as np
from onnx import helper

from zoo.build import STRING, case, closed, constant, info, ints, model, node

ONES = constant("c", [1.0])


@case
def constant_of_shape_2_to_40():
    return closed([node("ConstantOfShape", ["s"], ["y"], "fill")], [ints("s", 1 << 40)])


@case
def constant_of_shape_overflows():
    return closed([node("ConstantOfShape", ["s"], ["y"], "fill")], [ints("s", 1 << 32, 1 << 32, 1 << 32)], rank=3)


@case
def constant_of_shape_negative():
    return closed([node("ConstantOfShape", ["s"], ["y"], "fill")], [ints("s", -4)])


@case
def expand_to_2_to_40():
    return closed([node("Expand", ["c", "s"], ["y"], "expand")], [ONES, ints("s", 1 << 20, 1 << 20)], rank=2)


@case
def expand_overflows():
    return closed([node("Expand", ["c", "s"], ["y"], "expand")], [ONES, ints("s", 1 << 40, 1 << 40)], rank=2)


@case
def tile_2_to_40():
    return closed([node("Tile", ["c", "s"], ["y"], "tile")], [ONES, ints("s", 1 << 40)])


@case
def range_to_2_to_40():
    values = [constant(name, value, np.int64) for name, value in (("a", 0), ("b", 1 << 40), ("d", 1))]
    return closed([node("Range", ["a", "b", "d"], ["y"], "range")], values, 7)


@case
def range_of_step_zero():
    values = [constant(name, value) for name, value in (("a", 0), ("b", 10), ("d", 0))]
    return closed([node("Range", ["a", "b", "d"], ["y"], "range")], values)


@case
def range_of_nan():
    values = [constant(name, value) for name, value in (("a", 0), ("b", np.nan), ("d", 1e-30))]
    return closed([node("Range", ["a", "b", "d"], ["y"], "range")], values)


@case
def pad_by_2_to_40():
    return closed([node("Pad", ["c", "p"], ["y"], "pad")], [ONES, ints("p", 1 << 40, 1 << 40)])


@case
def conv_pads_of_1e9():
    values = [constant("image", np.ones((1, 1, 3, 3))), constant("weight", np.ones((1, 1, 3, 3)))]
    return closed([node("Conv", ["image", "weight"], ["y"], "conv", pads=[10**9] * 4)], values, rank=4)


@case
def resize_by_1e6():
    values = [constant("c", np.ones((1, 1, 4, 4))), constant("s", [1, 1, 1e6, 1e6])]
    return closed([node("Resize", ["c", "", "s"], ["y"], "resize")], values, rank=4)


@case
def one_hot_of_2_to_40():
    values = [ints("i", 3), constant("depth", 1 << 40, np.int64), constant("values", [0, 1])]
    return closed([node("OneHot", ["i", "depth", "values"], ["y"], "onehot")], values, rank=2)


@case
def one_hot_of_minus_one():
    values = [ints("i", 3), constant("depth", -1, np.int64), constant("values", [0, 1])]
    return closed([node("OneHot", ["i", "depth", "values"], ["y"], "onehot")], values, rank=2)


@case
def concat_doubles_40_times():
    nodes = [node("Concat", [f"v{i}", f"v{i}"], [f"v{i + 1}"], f"double{i}", axis=0) for i in range(40)]
    return closed([*nodes, node("Relu", ["v40"], ["y"])], [constant("v0", [1.0])])


@case
def string_doubles_40_times():
    nodes = [node("StringConcat", [f"v{i}", f"v{i}"], [f"v{i + 1}"], f"double{i}") for i in range(40)]
    text = helper.make_tensor("v0", STRING, [1], [b"boom"])
    return closed([*nodes, node("Identity", ["v40"], ["y"])], [text], STRING)


@case
def outer_product_of_2_to_20():
    nodes = [node("ConstantOfShape", ["s"], ["column"], "column"), node("ConstantOfShape", ["t"], ["row"], "row"),
             node("MatMul", ["column", "row"], ["y"], "outer")]
    return closed(nodes, [ints("s", 1 << 20, 1), ints("t", 1, 1 << 20)], rank=2)


@case
def eye_of_2_to_20():
    nodes = [node("ConstantOfShape", ["s"], ["square"], "square", value=helper.make_tensor("v", 2, [1], [1])),
             node("EyeLike", ["square"], ["y"], "eye", dtype=11)]
    return closed(nodes, [ints("s", 1 << 20, 1 << 20)], 11, rank=2)


@case
def many_fills_of_60_mib():
    """Each stays under the limit of one folded value; all together do not fit."""
    fills = [node("ConstantOfShape", [f"s{i}"], [f"v{i}"], f"fill{i}") for i in range(400)]
    return closed([*fills, node("Concat", [f"v{i}" for i in range(400)], ["y"], "join", axis=0)],
                  [ints(f"s{i}", (15 << 20) + i) for i in range(400)])


@case
def input_of_2_to_62():
    """The declared shape alone must not make anyone reserve memory."""
    huge = [1 << 31, 1 << 31]
    return model([node("Relu", ["x"], ["y"])], inputs=[info("x", huge)], outputs=[info("y", huge)])


def of_unknown_shape(op_type: str, inputs: list, name: str, *constants, **attributes):
    """Declares nothing of what the node makes, and needs all of it: rank and size must be found by inference."""
    return closed([node(op_type, inputs, ["v"], name, **attributes), node("ReduceSum", ["v"], ["y"], "total", keepdims=0)],
                  list(constants), rank=0)


@case
def reshape_to_rank_33():
    return of_unknown_shape("Reshape", ["c", "s"], "deep", ONES, ints("s", *[1] * 33))


@case
def reshape_to_rank_1000():
    return of_unknown_shape("Reshape", ["c", "s"], "deep", ONES, ints("s", *[1] * 1000))


@case
def constant_of_shape_of_rank_40():
    return of_unknown_shape("ConstantOfShape", ["s"], "deep", ints("s", *[1] * 40))


@case
def expand_to_rank_40():
    return of_unknown_shape("Expand", ["c", "s"], "deep", ONES, ints("s", *[1] * 40))


@case
def unsqueeze_to_rank_33():
    return of_unknown_shape("Unsqueeze", ["c", "s"], "deep", constant("c", np.ones([1] * 32)), ints("s", 0))


@case
def gather_to_rank_63():
    return of_unknown_shape("Gather", ["c", "i"], "deep", constant("c", np.ones([1] * 32)),
                            constant("i", np.zeros([1] * 32), np.int64))


@case
def random_normal_of_rank_40():
    return of_unknown_shape("RandomNormal", [], "deep", shape=[1] * 40)


@case
def max_pool_padded_by_2_to_20():
    return of_unknown_shape("MaxPool", ["c"], "pool", constant("c", np.ones((1, 1, 4, 4))), kernel_shape=[3, 3],
                            pads=[1 << 20] * 4)


@case
def average_pool_padded_by_2_to_40():
    return of_unknown_shape("AveragePool", ["c"], "pool", constant("c", np.ones((1, 1, 4))), kernel_shape=[3],
                            pads=[1 << 40] * 2)


@case
def resize_to_2_to_31_squared():
    return of_unknown_shape("Resize", ["c", "", "", "s"], "grow", constant("c", np.ones((1, 1, 4, 4))),
                            ints("s", 1, 1, 1 << 31, 1 << 31))


@case
def resize_by_1e9():
    return of_unknown_shape("Resize", ["c", "", "s"], "grow", constant("c", np.ones((1, 1, 4, 4))),
                            constant("s", [1, 1, 1e9, 1e9]))


@case
def upsample_by_1e9():
    nodes = [node("Upsample", ["c", "s"], ["v"], "grow"), node("ReduceSum", ["v"], ["y"], "total", keepdims=0)]
    return closed(nodes, [constant("c", np.ones((1, 1, 4, 4))), constant("s", [1, 1, 1e9, 1e9])], rank=0, opset=9)


@case
def dft_of_2_to_44():
    return of_unknown_shape("DFT", ["c", "n"], "wave", constant("c", np.ones((1, 8, 1))), constant("n", 1 << 44, np.int64))


@case
def window_of_2_to_44():
    return of_unknown_shape("HannWindow", ["n"], "window", constant("n", 1 << 44, np.int64))
