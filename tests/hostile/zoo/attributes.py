"""Attributes of the wrong type, and values of them that divide by zero, reach outside or make no sense."""

import numpy as np
from onnx import AttributeProto, helper

from zoo import wire
from zoo.build import FLOAT, case, closed, constant, info, model, node


def attribute(name: str, **fields) -> AttributeProto:
    return AttributeProto(name=name, **fields)


def with_attributes(op_type: str, name: str, *attributes: AttributeProto):
    broken = node(op_type, ["x"], ["y"], name)
    broken.attribute.extend(attributes)
    return model([broken], inputs=[info("x", [2, 2])], outputs=[info("y", [2, 2])])


@case
def attribute_of_wrong_type():
    return with_attributes("Softmax", "soft", attribute("axis", type=AttributeProto.FLOAT, f=1.0))


@case
def attribute_lies_about_its_type():
    return with_attributes("Softmax", "soft", attribute("axis", type=AttributeProto.INT, floats=[1.0, 2.0]))


@case
def attribute_without_type():
    return with_attributes("Softmax", "soft", attribute("axis", i=1, f=2.0))


@case
def attribute_of_unknown_type():
    """77 is no AttributeType: a reader drops it, or keeps a number that it does not know."""
    axis = wire.block(1, "axis") + wire.number(3, 1) + wire.number(wire.Attribute.TYPE, 77)
    ends = wire.value_info(wire.Graph.INPUT, "x") + wire.value_info(wire.Graph.OUTPUT, "y")
    return wire.model(wire.node("Softmax", ["x"], ["y"], "soft", wire.block(wire.Node.ATTRIBUTE, axis)) + ends)


@case
def attribute_twice():
    return with_attributes("Softmax", "soft", helper.make_attribute("axis", 0), helper.make_attribute("axis", 1))


@case
def attribute_unknown():
    return with_attributes("Relu", "rectifier", helper.make_attribute("speed", 11))


@case
def attribute_required_missing():
    return with_attributes("Cast", "caster")


@case
def attribute_refers_outside_a_function():
    return with_attributes("Softmax", "soft", attribute("axis", type=AttributeProto.INT, ref_attr_name="outer_axis"))


def unary(op_type: str, name: str, shape: tuple, **attributes):
    return closed([node(op_type, ["c"], ["y"], name, **attributes)], [constant("c", np.ones(shape))], rank=len(shape))


@case
def axis_out_of_range():
    return unary("Softmax", "soft", (2, 2), axis=7)


@case
def axis_of_int64_min():
    return unary("Softmax", "soft", (2, 2), axis=-(1 << 63))


@case
def cast_to_type_99():
    return unary("Cast", "caster", (2, 2), to=99)


@case
def transpose_axis_twice():
    return unary("Transpose", "turn", (2, 2), perm=[0, 0])


@case
def transpose_axis_out_of_range():
    return unary("Transpose", "turn", (2, 2), perm=[0, 1 << 40])


def convolution(name: str, **attributes):
    image, weight = constant("image", np.ones((1, 2, 5, 5))), constant("weight", np.ones((2, 2, 3, 3)))
    return closed([node("Conv", ["image", "weight"], ["y"], name, **attributes)], [image, weight], rank=4)


@case
def conv_kernel_negative():
    return convolution("conv", kernel_shape=[-3, 3])


@case
def conv_kernel_unlike_weight():
    return convolution("conv", kernel_shape=[5, 5])


@case
def conv_stride_zero():
    return convolution("conv", strides=[0, 1])


@case
def conv_dilation_zero():
    return convolution("conv", dilations=[0, 0])


@case
def conv_group_zero():
    return convolution("conv", group=0)


@case
def conv_group_does_not_divide():
    return convolution("conv", group=3)


@case
def conv_pads_negative_beyond_input():
    return convolution("conv", pads=[-9, -9, -9, -9])


@case
def conv_strides_too_many():
    return convolution("conv", strides=[1, 1, 1, 1, 1])


@case
def pool_kernel_zero():
    return unary("MaxPool", "pool", (1, 1, 4, 4), kernel_shape=[0, 0])


@case
def pool_pads_of_int64_max():
    return unary("MaxPool", "pool", (1, 1, 4, 4), kernel_shape=[2, 2], pads=[(1 << 63) - 1] * 4)


@case
def depth_to_space_of_zero():
    return unary("DepthToSpace", "shuffle", (1, 4, 2, 2), blocksize=0)


@case
def space_to_depth_of_zero():
    return unary("SpaceToDepth", "shuffle", (1, 1, 4, 4), blocksize=0)


@case
def split_into_no_parts():
    return closed([node("Split", ["c"], ["y"], "split", num_outputs=0)], [constant("c", [1, 2, 3])])


@case
def einsum_nonsense():
    return unary("Einsum", "einsum", (2, 2), equation="i...j...k,->>(")


@case
def regex_that_backtracks():
    text = helper.make_tensor("text", 8, [1], [b"a" * 64 + b"b"])
    return closed([node("RegexFullMatch", ["text"], ["y"], "match", pattern="(a+)+(a+)+(a+)+c")], [text], 9)


def trees(name: str, **changed):
    """A regressor of one split and two leaves, with some of its arrays replaced."""
    arrays = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0],
        "n_targets": 1,
    }
    regressor = node("TreeEnsembleRegressor", ["c"], ["y"], name, "ai.onnx.ml", **(arrays | changed))
    return closed([regressor], [constant("c", [[0.0]])], FLOAT, rank=2, domains={"ai.onnx.ml": 3})


@case
def tree_that_loops():
    return trees("looping", nodes_truenodeids=[0, 0, 0], nodes_falsenodeids=[0, 0, 0])


@case
def tree_branch_to_nowhere():
    return trees("lost", nodes_truenodeids=[1 << 40, 0, 0])


@case
def tree_feature_out_of_range():
    return trees("blind", nodes_featureids=[1 << 30, 0, 0])


@case
def tree_arrays_of_unequal_length():
    return trees("uneven", nodes_values=[0.5])


@case
def tree_target_out_of_range():
    return trees("astray", target_ids=[0, 1 << 30])


def einsum(equation: str):
    return unary("Einsum", "sum", (2, 2), equation=equation)


@case
def einsum_of_two_dots():
    """ONNX's inference waits for ever for the third one."""
    return einsum("i..j->")


@case
def einsum_of_digits():
    return einsum("i1->i")


@case
def einsum_of_two_ellipses_in_a_term():
    return einsum("......ij->ij")


@case
def einsum_of_two_arrows():
    return einsum("ij->i->j")


@case
def crop_by_int64_min():
    """Of the first opset, and since dropped; the border is subtracted from a dim."""
    border = attribute("border", type=AttributeProto.INTS, ints=[-(1 << 63)] * 4)
    broken = node("Crop", ["x"], ["y"], "crop")
    broken.attribute.append(border)
    return model([broken], inputs=[info("x", [1, 1, 4, 4])], outputs=[info("y", ["a", "b", "c", "d"])], opset=1)


@case
def pad_by_sums_that_overflow():
    broken = node("Pad", ["x"], ["y"], "pad", paddings=[(1 << 63) - 1] * 4)
    return model([broken], inputs=[info("x", [2, 2])], outputs=[info("y", ["a", "b"])], opset=1)
