"""Makes a failing case smaller: fewer nodes and outputs, plain dims, simple numbers, as long as it fails in the same way."""

import itertools
from dataclasses import replace

import numpy as np
import onnx
from cases import Case
from onnx import helper
from onnx.reference import ReferenceEvaluator


def copied(case: Case) -> Case:
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    return replace(case, model=model, feeds=dict(case.feeds))


def tidy(case: Case) -> Case:
    """Without nodes, constants and inputs that no output needs."""
    graph = case.model.graph
    needed, kept = {output.name for output in graph.output}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            kept.append(node)
            needed |= set(node.input) | captured(node)
    nodes = list(reversed(kept))
    del graph.node[:]
    graph.node.extend(nodes)
    for field in (graph.initializer, graph.input):
        rest = [item for item in field if item.name in needed]
        del field[:]
        field.extend(rest)
    case.feeds = {name: value for name, value in case.feeds.items() if name in needed}
    return case


def captured(node: onnx.NodeProto) -> set[str]:
    graphs = [g for a in node.attribute for g in ([a.g] if a.HasField("g") else a.graphs)]
    return {name for g in graphs for n in g.node for name in (*n.input, *captured(n))}


def values_inside(case: Case) -> dict:
    """What each node's outputs hold, by the reference; nothing where it cannot say."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    names = [name for node in model.graph.node for name in node.output if name]
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    try:
        with np.errstate(all="ignore"):
            values = ReferenceEvaluator(model).run(None, case.feeds)
    except Exception:  # a case that the reference refuses is not taken apart
        return {}
    return {name: value for name, value in zip(names, values) if isinstance(value, np.ndarray)}


def typed(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape))


def single_outputs(case: Case):
    for k in range(len(case.model.graph.output)) if len(case.model.graph.output) > 1 else ():
        smaller = copied(case)
        output = smaller.model.graph.output[k]
        del smaller.model.graph.output[:]
        smaller.model.graph.output.append(output)
        yield tidy(smaller)


def without_last_nodes(case: Case, inside: dict):
    """Values inside the graph as its only output."""
    finals = {output.name for output in case.model.graph.output}
    for name, value in inside.items():
        if name not in finals and value.dtype != object:
            smaller = copied(case)
            del smaller.model.graph.output[:]
            info = typed(name, value)
            info.type.tensor_type.ClearField("shape")
            smaller.model.graph.output.append(info)
            yield tidy(smaller)


def without_first_nodes(case: Case, inside: dict):
    """The value that a node makes, as an input in its place."""
    for i, node in enumerate(case.model.graph.node):
        names = [name for name in node.output if name]
        if len(case.model.graph.node) > 1 and all(name in inside and inside[name].dtype != object for name in names):
            smaller = copied(case)
            del smaller.model.graph.node[i]
            for name in names:
                smaller.feeds[name] = inside[name]
                smaller.model.graph.input.append(typed(name, inside[name]))
            yield tidy(smaller)


def static_dims(case: Case):
    smaller = copied(case)
    for info in smaller.model.graph.input:
        if info.name in smaller.feeds and isinstance(smaller.feeds[info.name], np.ndarray) and smaller.feeds[info.name].dtype != object:
            info.CopyFrom(typed(info.name, smaller.feeds[info.name]))
    if smaller.model != case.model:
        yield smaller


def smaller_dims(case: Case):
    """Each size that occurs in the inputs made smaller, wherever it occurs."""
    arrays = {name: value for name, value in case.feeds.items() if isinstance(value, np.ndarray)}
    sizes = sorted({d for value in arrays.values() for d in value.shape if d > 1}, reverse=True)
    for size, less in itertools.chain(*(((s, 1), (s, 2), (s, s // 2), (s, s - 1)) for s in sizes)):
        if less < size:
            smaller = copied(case)
            for name, value in arrays.items():
                if size in value.shape:
                    set_array(smaller, name, value[tuple(slice(0, less) if d == size else slice(None) for d in value.shape)])
            yield smaller


def set_array(case: Case, name: str, array: np.ndarray) -> None:
    case.feeds[name] = np.ascontiguousarray(array).reshape(array.shape)
    for info in case.model.graph.input:
        dims = info.type.tensor_type.shape.dim
        for dim, size in zip(dims, array.shape) if info.name == name else ():
            if dim.HasField("dim_value"):
                dim.dim_value = size
            elif dim.dim_param:
                dim.dim_param = f"d{size}"
    for output in case.model.graph.output:
        output.type.tensor_type.ClearField("shape")


def simpler_numbers(case: Case):
    for name, value in case.feeds.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            for array in (np.ones_like(value), np.arange(value.size).reshape(value.shape), np.round(value)):
                if not np.array_equal(array, value, equal_nan=True):
                    smaller = copied(case)
                    smaller.feeds[name] = array.astype(value.dtype)
                    yield smaller


def candidates(case: Case):
    """Cases that are smaller by one step, the largest steps first."""
    inside = values_inside(case)
    yield from single_outputs(case)
    yield from without_last_nodes(case, inside)
    yield from without_first_nodes(case, inside)
    yield from static_dims(case)
    yield from smaller_dims(case)
    yield from simpler_numbers(case)


def size(case: Case) -> tuple:
    elements = sum(value.size for value in case.feeds.values() if isinstance(value, np.ndarray))
    plain = sum(float(np.count_nonzero(value != np.round(value))) for value in case.feeds.values()
                if isinstance(value, np.ndarray) and value.dtype.kind == "f")
    named = sum(not d.HasField("dim_value") for info in case.model.graph.input for d in info.type.tensor_type.shape.dim)
    unranked = sum(not info.type.tensor_type.HasField("shape") for info in case.model.graph.input)
    ones = sum(not np.array_equal(v, np.ones_like(v)) for v in case.feeds.values()
               if isinstance(v, np.ndarray) and v.dtype.kind == "f")
    return len(case.model.graph.node), len(case.model.graph.output), unranked, named, elements, plain, ones


def shrink(case: Case, still_fails, tries: int = 60) -> Case:
    """The smallest case found for which still_fails(case) holds."""
    while True:
        for smaller in candidates(case):
            if size(smaller) >= size(case):
                continue
            if tries == 0:
                return case
            tries -= 1
            if still_fails(smaller):
                case = smaller
                break
        else:
            return case
