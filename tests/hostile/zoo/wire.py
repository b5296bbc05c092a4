"""Protobuf's wire format by hand, for files that no protobuf library would write.

Field numbers are those of onnx.proto; only the ones needed here are named.
"""

VARINT, FIXED64, BYTES, GROUP_START, GROUP_END, FIXED32 = range(6)


class Model:
    IR_VERSION, GRAPH, OPSET_IMPORT, METADATA = 1, 7, 8, 14


class Graph:
    NODE, NAME, INITIALIZER, INPUT, OUTPUT, VALUE_INFO = 1, 2, 5, 11, 12, 13


class Node:
    INPUT, OUTPUT, NAME, OP_TYPE, ATTRIBUTE = 1, 2, 3, 4, 5


class Attribute:
    NAME, GRAPH, TYPE = 1, 6, 20
    TYPE_GRAPH = 5


class Tensor:
    DIMS, DATA_TYPE, FLOAT_DATA, NAME, RAW_DATA, EXTERNAL_DATA = 1, 2, 4, 8, 9, 13


class Type:
    TENSOR, SEQUENCE = 1, 4


def varint(value: int) -> bytes:
    """Negative numbers take ten bytes, as protobuf writes an int64."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(field: int, wire_type: int) -> bytes:
    return varint(field << 3 | wire_type)


def number(field: int, value: int) -> bytes:
    return tag(field, VARINT) + varint(value)


def block(field: int, payload: bytes | str) -> bytes:
    """A length-delimited field: string, bytes, message or packed numbers."""
    data = payload.encode() if isinstance(payload, str) else payload
    return tag(field, BYTES) + varint(len(data)) + data


def lying_block(field: int, claimed_length: int, payload: bytes = b"") -> bytes:
    return tag(field, BYTES) + varint(claimed_length) + payload


def node(op_type: str | bytes, inputs: list, outputs: list, name: str | bytes = b"", extra: bytes = b"") -> bytes:
    """A NodeProto field of a GraphProto."""
    body = b"".join(block(Node.INPUT, value) for value in inputs)
    body += b"".join(block(Node.OUTPUT, value) for value in outputs)
    body += block(Node.NAME, name) if name else b""
    return block(Graph.NODE, body + block(Node.OP_TYPE, op_type) + extra)


def float_type(dims: tuple = (2,)) -> bytes:
    shape = b"".join(block(1, number(1, dim)) for dim in dims)
    return block(Type.TENSOR, number(1, 1) + block(2, shape))


def value_info(field: int, name: str | bytes, type_proto: bytes | None = None) -> bytes:
    """A graph's input, output or value_info entry: float [2] unless told otherwise."""
    return block(field, block(1, name) + block(2, float_type() if type_proto is None else type_proto))


def float_tensor(field: int, name: str, dims: tuple, raw: bytes, extra: bytes = b"") -> bytes:
    body = b"".join(number(Tensor.DIMS, dim) for dim in dims) + number(Tensor.DATA_TYPE, 1)
    return block(field, body + block(Tensor.NAME, name) + block(Tensor.RAW_DATA, raw) + extra)


def model(graph: bytes, opset: int = 21, extra: bytes = b"") -> bytes:
    """A ModelProto around the fields of a GraphProto."""
    head = number(Model.IR_VERSION, 10) + block(Model.OPSET_IMPORT, number(2, opset))
    return head + block(Model.GRAPH, graph + block(Graph.NAME, "g")) + extra


def relu_graph(extra: bytes = b"") -> bytes:
    """x -> Relu 'relu' -> y, float [2]: the smallest graph that is right."""
    ends = value_info(Graph.INPUT, "x") + value_info(Graph.OUTPUT, "y")
    return node("Relu", ["x"], ["y"], "relu") + ends + extra
