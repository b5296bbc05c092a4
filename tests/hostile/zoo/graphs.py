"""Models whose graph, opsets or versions break the rules."""

from onnx import helper

from zoo.build import case, constant, info, model, node, relu


@case
def no_graph():
    broken = relu()
    broken.ClearField("graph")
    return broken


@case
def no_ir_version():
    broken = relu()
    broken.ClearField("ir_version")
    return broken


@case
def ir_version_from_the_future():
    broken = relu()
    broken.ir_version = 999
    return broken


@case
def ir_version_negative():
    broken = relu()
    broken.ir_version = -5
    return broken


@case
def no_opset_import():
    broken = relu()
    del broken.opset_import[:]
    return broken


@case
def opset_9999():
    return model([node("Relu", ["x"], ["y"])], opset=9999)


@case
def opset_0():
    return model([node("Relu", ["x"], ["y"])], opset=0)


@case
def opset_negative():
    return model([node("Relu", ["x"], ["y"])], opset=-3)


@case
def opset_twice():
    broken = relu()
    broken.opset_import.append(helper.make_opsetid("", 13))
    return broken


@case
def operator_unknown():
    return model([node("Frobnicate", ["x"], ["y"], "froth")])


@case
def operator_of_a_later_opset():
    return model([node("Gelu", ["x"], ["y"], "early_gelu")], opset=13)


@case
def operator_of_an_unknown_domain():
    return model([node("Secret", ["x"], ["y"], "mystery", "acme.secret")], domains={"acme.secret": 1})


@case
def domain_not_imported():
    return model([node("Scaler", ["x"], ["y"], "scaler", "ai.onnx.ml", offset=[0.0], scale=[1.0])])


@case
def operator_missing():
    broken = relu()
    broken.graph.node[0].ClearField("op_type")
    return broken


@case
def cycle_of_two():
    return model([node("Add", ["x", "b_out"], ["a_out"], "a"), node("Neg", ["a_out"], ["b_out"], "b"),
                  node("Relu", ["b_out"], ["y"])])


@case
def cycle_of_one():
    return model([node("Add", ["x", "y"], ["y"], "ouroboros")])


@case
def cycle_of_1000():
    nodes = [node("Add", ["x", f"v{(i + 1) % 1000}"], [f"v{i}"], f"n{i}") for i in range(1000)]
    return model([*nodes, node("Relu", ["v0"], ["y"])])


@case
def input_dangling():
    return model([node("Add", ["x", "ghost"], ["y"], "haunted")])


@case
def value_produced_twice():
    return model([node("Relu", ["x"], ["y"], "first"), node("Neg", ["x"], ["y"], "second")])


@case
def value_twice_in_one_node():
    return model([node("Split", ["x"], ["y", "y"], "twins", num_outputs=2)], outputs=[info("y", [1])])


@case
def node_overwrites_graph_input():
    return model([node("Relu", ["x"], ["x"], "overwriter"), node("Neg", ["x"], ["y"])])


@case
def node_overwrites_initializer():
    nodes = [node("Relu", ["x"], ["w"], "overwriter"), node("Neg", ["w"], ["y"])]
    return model(nodes, constants=[constant("w", [1, 2])])


@case
def initializer_twice():
    return model([node("Add", ["x", "w"], ["y"])], constants=[constant("w", [1, 2]), constant("w", [3, 4])])


@case
def graph_input_twice():
    return model([node("Relu", ["x"], ["y"])], inputs=[info("x"), info("x", [3])])


@case
def output_not_produced():
    return model([node("Relu", ["x"], ["z"])], outputs=[info("phantom")])


@case
def output_without_name():
    return model([node("Relu", ["x"], ["y"])], outputs=[info("y"), info("")])


@case
def input_without_name():
    return model([node("Relu", ["x"], ["y"])], inputs=[info("x"), info("")])


@case
def input_without_type():
    broken = relu()
    broken.graph.input[0].ClearField("type")
    return broken


@case
def input_of_unknown_element_type():
    broken = relu()
    broken.graph.input[0].type.tensor_type.elem_type = 99
    return broken


@case
def input_of_rank_100000():
    return model([node("Relu", ["x"], ["y"])], inputs=[info("x", [1] * 100_000)])


@case
def node_without_outputs():
    return model([node("Relu", ["x"], [], "mute"), node("Neg", ["x"], ["y"])])


@case
def node_without_inputs():
    return model([node("Relu", [], ["y"], "deaf")])


@case
def node_with_too_many_inputs():
    return model([node("Relu", ["x", "x", "x"], ["y"], "greedy")])


@case
def node_with_required_input_empty():
    return model([node("Add", ["x", ""], ["y"], "half")])


@case
def initializer_of_another_type_than_its_input():
    weight = constant("w", [1, 2, 3], "int64")
    return model([node("Relu", ["x"], ["y"])], inputs=[info("x"), info("w")], constants=[weight])


@case
def operands_of_two_types():
    return model([node("Add", ["x", "i"], ["y"], "mixed")], constants=[constant("i", [1, 2], "int64")])


@case
def output_of_another_type_than_declared():
    return model([node("Cast", ["x"], ["y"], "cast", to=7)])


@case
def matmul_of_unfit_shapes():
    return model([node("MatMul", ["x", "w"], ["y"], "unfit")], inputs=[info("x", [2, 3])], outputs=[info("y", [2, 5])],
                 constants=[constant("w", [[1] * 5] * 4)])


@case
def dequantize_of_a_float():
    return model([node("DequantizeLinear", ["x", "s"], ["y"], "dequantize")], constants=[constant("s", 0.5)])
