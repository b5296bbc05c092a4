"""If, Loop and Scan whose bodies do not fit, or capture what is not there yet."""

import numpy as np
from onnx import helper

from zoo.build import BOOL, INT64, case, constant, graph, info, model, node

TRUE = constant("cond", True, np.bool_)


def branch(source: str, result: str, inputs: list | None = None) -> object:
    return graph([node("Identity", [source], [result], f"make_{result}")], inputs or [], [info(result)], name=result)


def choose(then_branch=None, else_branch=None, condition=TRUE):
    branches = {"then_branch": then_branch, "else_branch": else_branch}
    given = {name: body for name, body in branches.items() if body is not None}
    return model([node("If", ["cond"], ["y"], "choose", **given)], constants=[condition])


@case
def if_without_branches():
    return choose()


@case
def if_without_else():
    return choose(branch("x", "t"))


@case
def if_branches_of_unequal_outputs():
    two = graph([node("Identity", ["x"], ["e1"]), node("Neg", ["x"], ["e2"])], [], [info("e1"), info("e2")], name="two")
    return choose(branch("x", "t"), two)


@case
def if_branches_of_unequal_types():
    integer = graph([node("Cast", ["x"], ["e"], to=INT64)], [], [info("e", None, INT64)], name="integer")
    return choose(branch("x", "t"), integer)


@case
def if_branch_with_inputs():
    return choose(branch("z", "t", [info("z")]), branch("x", "e"))


@case
def if_condition_of_floats():
    return choose(branch("x", "t"), branch("x", "e"), constant("cond", [1.0, 2.0]))


@case
def branch_captures_ghost():
    return choose(branch("ghost", "t"), branch("x", "e"))


@case
def branch_output_not_produced():
    body = graph([node("Identity", ["x"], ["t"])], [], [info("phantom")], name="broken")
    return choose(body, branch("x", "e"))


@case
def branch_captures_its_own_result():
    """The branch reads a value that is made from the result of the If."""
    branches = {"then_branch": branch("later", "t"), "else_branch": branch("x", "e")}
    nodes = [node("If", ["cond"], ["chosen"], "choose", **branches), node("Neg", ["chosen"], ["later"], "after")]
    return model([*nodes, node("Relu", ["later"], ["y"])], constants=[TRUE])


@case
def branch_leaks_to_outer_graph():
    body = graph([node("Identity", ["x"], ["inside"]), node("Neg", ["inside"], ["t"])], [], [info("t")], name="leaky")
    choose_node = node("If", ["cond"], ["chosen"], "choose", then_branch=body, else_branch=branch("x", "e"))
    return model([choose_node, node("Add", ["chosen", "inside"], ["y"], "thief")], constants=[TRUE])


def loop_body(inputs: list, outputs: list) -> object:
    nodes = [node("Identity", ["go"], ["go_on"]), node("Relu", ["state"], ["next"])]
    return graph(nodes, inputs, outputs, name="body")


def loop(inputs: list, outputs: list):
    constants = [constant("trips", 3, np.int64), TRUE]
    nodes = [node("Loop", ["trips", "cond", "x"], ["y"], "loop", body=loop_body(inputs, outputs))]
    return model(nodes, constants=constants)


STEP, GO, STATE = info("step", [], INT64), info("go", [], BOOL), info("state")
GO_ON, NEXT = info("go_on", [], BOOL), info("next")


@case
def loop_body_takes_too_few():
    return loop([STEP, GO], [GO_ON, NEXT])


@case
def loop_body_takes_too_many():
    return loop([STEP, GO, STATE, info("extra")], [GO_ON, NEXT])


@case
def loop_body_gives_too_few():
    return loop([STEP, GO, STATE], [])


@case
def loop_body_gives_too_many():
    return loop([STEP, GO, STATE], [GO_ON, NEXT, info("state"), info("go", [], BOOL)])


@case
def loop_without_body():
    constants = [constant("trips", 3, np.int64), TRUE]
    return model([node("Loop", ["trips", "cond", "x"], ["y"], "loop")], constants=constants)


def scan(scan_inputs: int, body_inputs: list, **attributes):
    body = graph([node("Relu", ["element"], ["result"])], body_inputs, [info("result", [])], name="body")
    return model([node("Scan", ["x"], ["y"], "scan", body=body, num_scan_inputs=scan_inputs, **attributes)])


@case
def scan_of_minus_one_inputs():
    return scan(-1, [info("element", [])])


@case
def scan_of_more_inputs_than_given():
    return scan(1 << 40, [info("element", [])])


@case
def scan_body_takes_too_many():
    return scan(1, [info("element", []), info("other", [])])


@case
def scan_axis_out_of_range():
    return scan(1, [info("element", [])], scan_input_axes=[9])


@case
def scan_directions_too_many():
    return scan(1, [info("element", [])], scan_input_directions=[0, 1, 0, 1])


@case
def graph_attribute_on_a_plain_node():
    broken = node("Relu", ["x"], ["y"], "rectifier")
    broken.attribute.append(helper.make_attribute("body", branch("x", "t")))
    return model([broken])
