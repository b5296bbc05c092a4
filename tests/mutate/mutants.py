"""Mutations of models and of the inputs of a run, each drawn from a random.Random."""

import random

import numpy as np
import onnx
from onnx import TensorProto, helper

INTEGERS = (0, -1, 1, 2, 3, 7, 255, 2**15, 2**31 - 1, 2**31, -2**31, 2**32, 2**40, 2**62, 2**63 - 1, -2**63)
DIMS = (0, 1, 2, 3, 5, 17, 64, 1000, 2**16, 2**31, 2**40, 2**62, -1)
NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-30, 1e30, float("nan"), float("inf"), float("-inf"))
ATTEMPTS = 20  # mutations to try, as many do not apply to every model
WORDS = (b"", b"NOTSET", b"SAME_UPPER", b"linear", b"ij->", b"...", b"\xff\xfe", b"x" * 5000, b"none", b"i..j->")


def all_graphs(model: onnx.ModelProto) -> list:
    graphs, rest = [], [model.graph]
    while rest:
        graph = rest.pop()
        graphs.append(graph)
        for node in graph.node:
            for attribute in node.attribute:
                rest += [attribute.g] if attribute.type == attribute.GRAPH else list(attribute.graphs)
    return graphs


def some_node(model: onnx.ModelProto, rng: random.Random) -> onnx.NodeProto | None:
    nodes = [node for graph in all_graphs(model) for node in graph.node]
    nodes += [node for function in model.functions for node in function.node]
    return rng.choice(nodes) if nodes else None


def drop_input(model, rng) -> None:
    node = some_node(model, rng)
    if node and node.input:
        k = rng.randrange(len(node.input))
        if rng.random() < 0.5:
            del node.input[k:]
        else:
            node.input[k] = ""


def change_input(model, rng) -> None:
    """One input is another value of the graph, or comes twice."""
    node = some_node(model, rng)
    names = [i.name for i in model.graph.input] + [t.name for t in model.graph.initializer]
    names += [name for n in model.graph.node for name in n.output]
    if node and names:
        if node.input and rng.random() < 0.7:
            node.input[rng.randrange(len(node.input))] = rng.choice(names)
        else:
            node.input.append(rng.choice(names))


def change_outputs(model, rng) -> None:
    node = some_node(model, rng)
    if node and node.output:
        if rng.random() < 0.5:
            node.output.append(f"extra{rng.randrange(100)}")
        else:
            node.output[rng.randrange(len(node.output))] = ""


def change_operator(model, rng) -> None:
    node = some_node(model, rng)
    schemas = onnx.defs.get_all_schemas()
    if node:
        schema = rng.choice(schemas)
        node.op_type, node.domain = schema.name, schema.domain
        if schema.domain and not any(o.domain == schema.domain for o in model.opset_import):
            model.opset_import.append(helper.make_opsetid(schema.domain, 1))


def change_attribute(model, rng) -> None:
    node = some_node(model, rng)
    if node is None or not node.attribute:
        return add_attribute(model, rng)
    attribute = rng.choice(node.attribute)
    if attribute.type == attribute.INT:
        attribute.i = rng.choice(INTEGERS)
    elif attribute.type == attribute.FLOAT:
        attribute.f = rng.choice(NUMBERS)
    elif attribute.type == attribute.STRING:
        attribute.s = rng.choice(WORDS)
    elif attribute.type == attribute.INTS:
        change_list(attribute.ints, INTEGERS, rng)
    elif attribute.type == attribute.FLOATS:
        change_list(attribute.floats, NUMBERS, rng)
    elif attribute.type == attribute.STRINGS:
        change_list(attribute.strings, WORDS, rng)
    elif attribute.type == attribute.TENSOR:
        change_tensor(attribute.t, rng)
    if rng.random() < 0.1:
        node.attribute.remove(attribute)


def add_attribute(model, rng) -> None:
    """One that the operator's schema has, at an extreme."""
    node = some_node(model, rng)
    try:
        schema = onnx.defs.get_schema(node.op_type, node.domain)
    except (onnx.defs.SchemaError, AttributeError):
        return
    present = {attribute.name for attribute in node.attribute}
    absent = [a for name, a in schema.attributes.items() if name not in present]
    kinds = onnx.defs.OpSchema.AttrType
    if absent:
        chosen = rng.choice(absent)
        values = {kinds.INT: INTEGERS, kinds.FLOAT: NUMBERS, kinds.STRING: WORDS}
        lists = {kinds.INTS: INTEGERS, kinds.FLOATS: NUMBERS}
        if chosen.type in values:
            node.attribute.append(helper.make_attribute(chosen.name, rng.choice(values[chosen.type])))
        elif chosen.type in lists:
            drawn = [rng.choice(lists[chosen.type]) for _ in range(rng.randint(1, 6))]
            node.attribute.append(helper.make_attribute(chosen.name, drawn))


def change_list(field, values, rng) -> None:
    way = rng.random()
    if way < 0.6 and len(field):
        field[rng.randrange(len(field))] = rng.choice(values)
    elif way < 0.8 and len(field):
        del field[rng.randrange(len(field)):]
    else:
        field.extend(rng.choice(values) for _ in range(rng.randint(1, 4)))


def change_tensor(tensor: TensorProto, rng) -> None:
    """Dims unlike the data, data unlike the dims, another type, other values."""
    way = rng.randrange(5)
    if way == 0 and len(tensor.dims):
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(DIMS)
    elif way == 1:
        tensor.raw_data = tensor.raw_data[:rng.randrange(len(tensor.raw_data) + 1)] if tensor.raw_data else bytes(rng.randrange(64))
    elif way == 2:
        tensor.data_type = rng.choice((0, 1, 2, 6, 7, 8, 9, 10, 11, 14, 16, 21, 22, 23, 99, -1))
    elif way == 3:
        change_values(tensor, rng)
    else:
        change_shape_of_tensor(tensor, rng)


def change_values(tensor: TensorProto, rng) -> None:
    try:
        array = np.array(onnx.numpy_helper.to_array(tensor))
    except Exception:  # the tensor is broken already
        return
    if array.size and array.dtype.kind in "iuf":
        tensor.CopyFrom(onnx.numpy_helper.from_array(extreme(array, rng), tensor.name))


def change_shape_of_tensor(tensor: TensorProto, rng) -> None:
    """Consistent, but of another shape: the length of a companion."""
    try:
        array = np.array(onnx.numpy_helper.to_array(tensor))
    except Exception:  # the tensor is broken already
        return
    if array.dtype != object:
        tensor.CopyFrom(onnx.numpy_helper.from_array(reshaped(array, rng), tensor.name))


def extreme(array: np.ndarray, rng) -> np.ndarray:
    """One or all elements at a number where something overflows."""
    array = array.copy()
    flat = array.reshape(-1)
    with np.errstate(all="ignore"):
        if array.dtype.kind in "iu":
            info = np.iinfo(array.dtype)
            value = min(max(rng.choice(INTEGERS), int(info.min)), int(info.max))
        else:
            value = rng.choice(NUMBERS)
        if rng.random() < 0.8:
            flat[rng.randrange(flat.size)] = value
        else:
            flat[:] = value
    return array


def reshaped(array: np.ndarray, rng) -> np.ndarray:
    """The elements, repeated as needed, in another shape."""
    shape = list(array.shape)
    way = rng.randrange(7)
    if way == 0 and shape:
        shape[rng.randrange(len(shape))] = rng.choice((0, 1, 2, 3, 5, 17, 64))
    elif way == 1 and shape:
        k = rng.randrange(len(shape))
        shape[k] = max(0, shape[k] + rng.choice((-1, 1)))
    elif way == 2 and shape:
        del shape[rng.randrange(len(shape))]
    elif way == 3:
        shape.insert(rng.randint(0, len(shape)), rng.choice((0, 1, 2)))
    elif way == 4:
        shape = []
    elif way == 5:
        shape = [rng.choice((0, 1, 2, 3)) for _ in range(rng.randint(0, 9))]
    else:
        shape = [rng.choice((0, 1, 4096, 100000))]
    if np.prod(shape, dtype=float) > 1 << 20:
        shape = shape[:1]
    return np.resize(array if array.size else np.zeros(1, array.dtype), shape).astype(array.dtype)


def change_initializer(model, rng) -> None:
    tensors = [tensor for graph in all_graphs(model) for tensor in graph.initializer]
    if tensors:
        change_tensor(rng.choice(tensors), rng)


def change_declared(model, rng) -> None:
    """The type or shape that the graph declares for an input, output or inner value."""
    infos = [info for field in (model.graph.input, model.graph.output, model.graph.value_info) for info in field]
    infos = [info for info in infos if info.type.HasField("tensor_type")]
    if not infos:
        return
    tensor = rng.choice(infos).type.tensor_type
    way = rng.randrange(4)
    if way == 0 and tensor.shape.dim:
        tensor.shape.dim[rng.randrange(len(tensor.shape.dim))].dim_value = rng.choice(DIMS)
    elif way == 1:
        tensor.elem_type = rng.choice((0, 1, 2, 6, 7, 8, 9, 10, 11, 16, 22, 99))
    elif way == 2:
        tensor.ClearField("shape")
    else:
        for _ in range(rng.choice((1, 1, 2, 33, 70))):
            tensor.shape.dim.add().dim_value = rng.choice(DIMS)


def change_opset(model, rng) -> None:
    if model.opset_import:
        rng.choice(model.opset_import).version = rng.choice((0, 1, 5, 6, 7, 9, 11, 13, 17, 21, 28, 29, 2**31, -1))


def call_with_too_few(model, rng) -> None:
    """A node becomes a call of a local function that has as many inputs, with fewer arguments."""
    nodes = [node for node in model.graph.node if node.input and not any(a.type == a.GRAPH for a in node.attribute)]
    if not nodes:
        return
    node = rng.choice(nodes)
    inner = onnx.NodeProto()
    inner.CopyFrom(node)
    names = [f"a{i}" for i in range(len(node.input))]
    del inner.input[:]
    inner.input.extend(names)
    model.functions.append(helper.make_function("mutant", "F", names, list(node.output), [inner], list(model.opset_import)))
    model.opset_import.append(helper.make_opsetid("mutant", 1))
    node.op_type, node.domain = "F", "mutant"
    del node.attribute[:]
    del node.input[rng.randrange(len(node.input)):]


MODEL_MUTATIONS = (drop_input, change_input, change_outputs, change_operator, change_attribute, change_attribute, change_attribute, add_attribute,
                   change_initializer, change_initializer, change_declared, change_opset, call_with_too_few)


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(4)
        if way == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1 and at < len(data):
            data[at] = rng.choice((0, 1, 127, 128, 255))
        elif way == 2:
            del data[at:at + rng.choice((1, 2, 8, 100))]
        else:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 2, 9))))
    return bytes(data)


def mutate_model(model: onnx.ModelProto, feeds: dict, rng: random.Random) -> tuple[bytes, dict]:
    """The bytes of a mutant, and inputs that mostly are the original's."""
    mutant = onnx.ModelProto()
    mutant.CopyFrom(model)
    if rng.random() < 0.15:
        return mutate_bytes(mutant.SerializeToString(), rng), feeds
    left = rng.choice((1, 1, 1, 2, 3))
    for _ in range(ATTEMPTS):
        before = mutant.SerializeToString()
        try:
            rng.choice(MODEL_MUTATIONS)(mutant, rng)
        except (ValueError, OverflowError, TypeError):
            continue  # a value that the field cannot hold
        left -= mutant.SerializeToString() != before
        if left <= 0:
            break
    return mutant.SerializeToString(), feeds


def open_inputs(model: onnx.ModelProto, feeds: dict, rng: random.Random) -> tuple[bytes, dict]:
    """The model with undeclared shapes and with its constants as inputs, mostly."""
    opened, feeds = onnx.ModelProto(), dict(feeds)
    opened.CopyFrom(model)
    if rng.random() < 0.6:
        constants_to_inputs(opened, feeds)
    if rng.random() < 0.85:
        for info in (*opened.graph.input, *opened.graph.output):
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
        del opened.graph.value_info[:]
    return opened.SerializeToString(), feeds


def change_inputs(feeds: dict, rng: random.Random) -> dict:
    """The inputs with one or more of them changed."""
    feeds = dict(feeds)
    arrays = [name for name, value in feeds.items() if isinstance(value, np.ndarray) and value.dtype != object]
    for name in rng.sample(arrays, min(len(arrays), rng.choice((1, 1, 2)))):
        for _ in range(ATTEMPTS):
            change = extreme if feeds[name].size and feeds[name].dtype.kind in "iuf" and rng.random() < 0.4 else reshaped
            changed = change(feeds[name], rng)
            if changed.shape != feeds[name].shape or changed.tobytes() != feeds[name].tobytes():
                break
        feeds[name] = changed
    return feeds


def constants_to_inputs(model: onnx.ModelProto, feeds: dict) -> None:
    named = {info.name for info in model.graph.input}
    for tensor in model.graph.initializer:
        try:
            array = np.array(onnx.numpy_helper.to_array(tensor))
        except Exception:  # external or broken
            continue
        if array.dtype == object or tensor.name in feeds:
            continue
        feeds[tensor.name] = array
        if tensor.name not in named:
            model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, None))
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in feeds]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
