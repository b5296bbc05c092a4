"""Model-local functions that call themselves, grow without end or are not well formed."""

from onnx import AttributeProto, FunctionProto, helper

from zoo.build import OPSET, case, info, model, node

DOMAIN = "local"
IMPORTS = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]


def function(name: str, nodes: list, inputs: tuple = ("a",), outputs: tuple = ("b",), **kwargs) -> FunctionProto:
    return helper.make_function(DOMAIN, name, list(inputs), list(outputs), nodes, IMPORTS, **kwargs)


def call(name: str, source: str = "a", target: str = "b", node_name: str = "") -> object:
    return node(name, [source], [target], node_name or f"call_{name}", DOMAIN)


def calling(name: str, functions: list, *inputs: str):
    start = node(name, list(inputs) or ["x"], ["y"], "start", DOMAIN)
    return model([start], functions=functions, domains={DOMAIN: 1})


@case
def function_calls_itself():
    return calling("f", [function("f", [call("f")])])


@case
def functions_call_each_other():
    return calling("f", [function("f", [call("g")]), function("g", [call("f")])])


@case
def function_calls_itself_in_a_branch():
    branch = helper.make_graph([call("f", "a", "t")], "then", [], [info("t")])
    other = helper.make_graph([node("Identity", ["a"], ["e"])], "else", [], [info("e")])
    nodes = [node("Constant", [], ["c"], value=helper.make_tensor("c", 9, [], [True])),
             node("If", ["c"], ["b"], "choose", then_branch=branch, else_branch=other)]
    return calling("f", [function("f", nodes)])


@case
def functions_expand_2_to_40():
    levels = [function(f"f{i}", [call(f"f{i + 1}", "a", "m", "left"), call(f"f{i + 1}", "m", "b", "right")])
              for i in range(40)]
    return calling("f0", [*levels, function("f40", [node("Relu", ["a"], ["b"])])])


@case
def functions_expand_10_to_9():
    """Few levels, many calls in each: a limit on depth alone does not see it."""
    def level(i: int) -> FunctionProto:
        return function(f"f{i}", [call(f"f{i + 1}", f"v{k}" if k else "a", f"v{k + 1}" if k < 9 else "b", f"c{k}")
                                  for k in range(10)])
    return calling("f0", [*map(level, range(9)), function("f9", [node("Relu", ["a"], ["b"])])])


@case
def functions_chained_2000():
    levels = [function(f"f{i}", [call(f"f{i + 1}")]) for i in range(2000)]
    return calling("f0", [*levels, function("f2000", [node("Relu", ["a"], ["b"])])])


@case
def function_defined_twice():
    return calling("f", [function("f", [node("Relu", ["a"], ["b"])]), function("f", [node("Neg", ["a"], ["b"])])])


@case
def function_input_twice():
    return calling("f", [function("f", [node("Relu", ["a"], ["b"])], inputs=("a", "a"))], "x", "x")


@case
def function_output_not_produced():
    return calling("f", [function("f", [node("Relu", ["a"], ["m"])])])


@case
def function_body_dangling():
    return calling("f", [function("f", [node("Add", ["a", "ghost"], ["b"], "haunted")])])


@case
def function_body_cyclic():
    return calling("f", [function("f", [node("Add", ["a", "n"], ["m"], "one"), node("Add", ["m", "a"], ["n"], "two"),
                                        node("Relu", ["n"], ["b"])])])


@case
def function_given_too_many_inputs():
    return calling("f", [function("f", [node("Relu", ["a"], ["b"])])], "x", "x", "x")


@case
def function_without_opset():
    broken = function("f", [node("Relu", ["a"], ["b"])])
    del broken.opset_import[:]
    return calling("f", [broken])


@case
def function_without_name():
    broken = function("f", [node("Relu", ["a"], ["b"])])
    broken.ClearField("name")
    return calling("f", [broken])


@case
def function_refers_to_undeclared_attribute():
    soft = node("Softmax", ["a"], ["b"], "soft")
    soft.attribute.append(AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="never_declared"))
    return calling("f", [function("f", [soft])])


@case
def function_required_attribute_not_given():
    cast = node("Cast", ["a"], ["b"], "cast")
    cast.attribute.append(AttributeProto(name="to", type=AttributeProto.INT, ref_attr_name="target"))
    return calling("f", [function("f", [cast], attributes=["target"])])


def too_few(nodes: list, formal: tuple, given: list, imports: list | None = None):
    """A call that leaves arguments out; the body needs them all."""
    called = helper.make_function(DOMAIN, "f", list(formal), ["b"], nodes, imports or IMPORTS)
    start = node("f", given, ["y"], "start", DOMAIN)
    return model([start], functions=[called], domains={DOMAIN: 1})


@case
def function_called_without_its_last_argument():
    return too_few([node("Add", ["a", "c"], ["b"], "add")], ("a", "c"), ["x"])


@case
def function_called_without_its_first_argument():
    return too_few([node("Sub", ["a", "c"], ["b"], "sub")], ("a", "c"), ["", "x"])


@case
def function_called_without_any_argument():
    return too_few([node("EyeLike", ["a"], ["b"], "eye")], ("a",), [])


@case
def function_called_without_an_operand_of_many():
    return too_few([node("Concat", ["a", "c"], ["b"], "join", axis=0)], ("a", "c"), ["", "x"])


@case
def function_called_without_argument_two_levels_down():
    outer = function("f", [node("g", ["a", "c"], ["b"], "inner", DOMAIN)], ("a", "c"))
    inner = function("g", [node("Mul", ["a", "c"], ["b"], "mul")], ("a", "c"))
    return calling("f", [outer, inner])


def learned(op_type: str, **attributes):
    ml = [*IMPORTS, helper.make_opsetid("ai.onnx.ml", 3)]
    return too_few([node(op_type, ["a"], ["b"], "learned", "ai.onnx.ml", **attributes)], ("a",), [], ml)


@case
def function_leaves_out_the_input_of_a_label_encoder():
    return learned("LabelEncoder", keys_int64s=[1], values_int64s=[2])


@case
def function_leaves_out_the_input_of_a_dict_vectorizer():
    return learned("DictVectorizer", int64_vocabulary=[1])
