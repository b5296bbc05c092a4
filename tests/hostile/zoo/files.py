"""Files that are no protobuf message, or whose message lies about its own layout."""

import os
from pathlib import Path

from zoo import wire
from zoo.build import case, placed
from zoo.wire import Attribute, Graph, Model, Node, Tensor

WHOLE = wire.model(wire.relu_graph(wire.float_tensor(Graph.INITIALIZER, "w", (64,), bytes(256))))


@case
def empty_file():
    return b""


@case
def text_file():
    return b"This is a letter, not a model.\n" * 40


@case
def html_page():
    return b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body>Not Found</body></html>\n"


@case
def large_file_pointer():
    return b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"7f" * 32 + b"\nsize 44717239\n"


@case
def random_bytes():
    state, out = 1, bytearray()
    for _ in range(4096):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        out.append(state >> 16 & 0xFF)
    return bytes(out)


@case
def truncated_in_header():
    return WHOLE[:5]


@case
def truncated_in_graph():
    return WHOLE[:30]


@case
def truncated_in_weights():
    return WHOLE[:-40]


@case
def trailing_garbage():
    return WHOLE + b"\xff\xfe\xfd\xfc" * 8


@case
def varint_without_end():
    return wire.tag(Model.IR_VERSION, wire.VARINT) + b"\xff" * 64


@case
def graph_length_beyond_file():
    return wire.number(Model.IR_VERSION, 10) + wire.lying_block(Model.GRAPH, 1 << 30, wire.relu_graph())


@case
def graph_length_2_to_63():
    return wire.number(Model.IR_VERSION, 10) + wire.lying_block(Model.GRAPH, 1 << 63, wire.relu_graph())


@case
def graph_length_minus_one():
    return wire.number(Model.IR_VERSION, 10) + wire.lying_block(Model.GRAPH, -1, wire.relu_graph())


@case
def string_length_beyond_node():
    return wire.model(wire.block(Graph.NODE, wire.lying_block(Node.OP_TYPE, 4000, b"Relu")) + bytes(8))


@case
def raw_data_length_beyond_file():
    body = wire.number(Tensor.DIMS, 1 << 20) + wire.number(Tensor.DATA_TYPE, 1)
    body += wire.block(Tensor.NAME, "w") + wire.lying_block(Tensor.RAW_DATA, 1 << 22, bytes(16))
    return wire.model(wire.relu_graph(wire.block(Graph.INITIALIZER, body)))


@case
def raw_data_length_beyond_tensor():
    """The lying length stays inside the file, so that only the enclosing message tells."""
    body = wire.number(Tensor.DIMS, 16) + wire.number(Tensor.DATA_TYPE, 1)
    body += wire.block(Tensor.NAME, "w") + wire.lying_block(Tensor.RAW_DATA, 64, bytes(4))
    return wire.model(wire.block(Graph.INITIALIZER, body) + wire.relu_graph(), extra=wire.block(6, bytes(512)))


@case
def raw_data_twice():
    """The last of two occurrences counts, and that one is too short."""
    short = wire.block(Tensor.RAW_DATA, bytes(4))
    return wire.model(wire.relu_graph(wire.float_tensor(Graph.INITIALIZER, "w", (2,), bytes(8), short)))


@case
def graph_twice():
    """Two occurrences of a message field are merged, so every node is there twice."""
    return WHOLE + wire.block(Model.GRAPH, wire.relu_graph())


@case
def graph_as_number():
    return wire.number(Model.IR_VERSION, 10) + wire.number(Model.GRAPH, 1)


@case
def packed_floats_cut():
    body = wire.number(Tensor.DIMS, 2) + wire.number(Tensor.DATA_TYPE, 1) + wire.block(Tensor.NAME, "w")
    return wire.model(wire.relu_graph(wire.block(Graph.INITIALIZER, body + wire.block(Tensor.FLOAT_DATA, bytes(7)))))


@case
def group_without_end():
    return WHOLE + wire.tag(500, wire.GROUP_START)


@case
def group_end_without_start():
    return WHOLE + wire.tag(500, wire.GROUP_END)


@case
def groups_nested_100000():
    return WHOLE + wire.tag(500, wire.GROUP_START) * 100_000 + wire.tag(500, wire.GROUP_END) * 100_000


@case
def wire_type_seven():
    return WHOLE + wire.tag(500, 7) + bytes(8)


@case
def field_number_zero():
    return WHOLE + wire.tag(0, wire.VARINT) + b"\1"


@case
def field_number_over_limit():
    return WHOLE + wire.varint(1 << 40) + b"\1"


@case
def nodes_250000():
    # Names as short as possible, all different, keep the file under 4 MB.
    digits = [chr(c) for c in range(33, 127)]
    names = (a + b + c for a in digits for b in digits for c in digits)
    nodes = b"".join(wire.node("Abs", ["x"], [name]) for _, name in zip(range(250_000), names))
    return wire.model(nodes + wire.relu_graph())


@case
def empty_nodes_1500000():
    return wire.model(wire.block(Graph.NODE, b"") * 1_500_000 + wire.relu_graph())


@case
def empty_metadata_1500000():
    return wire.model(wire.relu_graph(), extra=wire.block(Model.METADATA, b"") * 1_500_000)


@case
def empty_value_infos_1500000():
    return wire.model(wire.block(Graph.VALUE_INFO, b"") * 1_500_000 + wire.relu_graph())


@case
def empty_attributes_1500000():
    flood = wire.node("Relu", ["x"], ["z"], "flooded", wire.block(Node.ATTRIBUTE, b"") * 1_500_000)
    return wire.model(wire.relu_graph(flood))


@case
def empty_node_inputs_1500000():
    return wire.model(wire.relu_graph(wire.node("Sum", [b""] * 1_500_000, ["z"], "flooded")))


def nested_ifs(depth: int) -> bytes:
    """Every level is a node with one graph attribute; the innermost graph is plain."""
    body = wire.node("Identity", ["x"], ["inner"]) + wire.value_info(Graph.OUTPUT, "inner")
    for level in range(depth):
        body += wire.block(Graph.NAME, f"g{level}")
        branches = b"".join(
            wire.block(Node.ATTRIBUTE, wire.block(Attribute.NAME, name) + wire.block(Attribute.GRAPH, content)
                       + wire.number(Attribute.TYPE, Attribute.TYPE_GRAPH))
            for name, content in (("then_branch", body), ("else_branch", EMPTY_BRANCH)))
        body = wire.node("If", ["c"], [f"v{level}"], f"if{level}", branches)
        body += wire.value_info(Graph.OUTPUT, f"v{level}")
    scalar_bool = wire.block(wire.Type.TENSOR, wire.number(1, 9) + wire.block(2, b""))
    ends = wire.value_info(Graph.INPUT, "x") + wire.value_info(Graph.INPUT, "c", scalar_bool)
    return wire.model(body + ends)


EMPTY_BRANCH = (wire.node("Identity", ["x"], ["other"]) + wire.value_info(Graph.OUTPUT, "other")
                + wire.block(Graph.NAME, "else"))


@case
def ifs_nested_40():
    return nested_ifs(40)


@case
def ifs_nested_100():
    return nested_ifs(100)


@case
def ifs_nested_5000():
    return nested_ifs(5000)


def nested_sequence_type(depth: int) -> bytes:
    type_proto = wire.float_type()
    for _ in range(depth):
        type_proto = wire.block(wire.Type.SEQUENCE, wire.block(1, type_proto))
    ends = wire.value_info(Graph.INPUT, "x", type_proto) + wire.value_info(Graph.OUTPUT, "y", type_proto)
    return wire.model(wire.node("Identity", ["x"], ["y"], "copy") + ends)


@case
def types_nested_40():
    return nested_sequence_type(40)


@case
def types_nested_5000():
    return nested_sequence_type(5000)


@case
def name_not_utf8():
    bad = b"x\xff\xfe\x80"
    ends = wire.value_info(Graph.INPUT, bad) + wire.value_info(Graph.OUTPUT, "y")
    return wire.model(wire.node("Relu", [bad], ["y"], "relu") + ends)


@case
def name_with_nul():
    bad = b"x\0hidden"
    ends = wire.value_info(Graph.INPUT, bad) + wire.value_info(Graph.OUTPUT, "y")
    return wire.model(wire.node("Relu", [bad], ["y"], "relu") + ends)


@case
def name_with_escape_codes():
    """A terminal must not see these bytes: the error message quotes the name."""
    ends = wire.value_info(Graph.INPUT, "x") + wire.value_info(Graph.OUTPUT, "y")
    return wire.model(wire.node("Frobnicate", ["x"], ["y"], b"node\x1b[2J\x1b]0;owned\x07\r\n") + ends)


@case
def operator_name_of_1_mb():
    ends = wire.value_info(Graph.INPUT, "x") + wire.value_info(Graph.OUTPUT, "y")
    return wire.model(wire.node(b"F" * (1 << 20), ["x"], ["y"], "long") + ends)


@placed
def model_is_directory(folder: Path):
    (folder / "model.onnx").mkdir()


@placed
def model_is_fifo(folder: Path):
    os.mkfifo(folder / "model.onnx")


@placed
def model_is_device(folder: Path):
    (folder / "model.onnx").symlink_to("/dev/zero")


@placed
def model_is_dangling_link(folder: Path):
    (folder / "model.onnx").symlink_to("nowhere.onnx")


@placed
def model_is_link_loop(folder: Path):
    (folder / "model.onnx").symlink_to("model.onnx")


@placed
def model_is_sparse_16_gib(folder: Path):
    with open(folder / "model.onnx", "wb") as file:
        file.write(WHOLE)
        file.truncate(16 << 30)
