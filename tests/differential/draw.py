"""What the generators of cases draw from: a seeded source of types, shapes and arrays that builds one small model."""

import random

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper

NEWEST = {"": 28, "ai.onnx.ml": 5, "ai.onnx.preview.training": 1, "ai.onnx.preview": 1, "com.microsoft": 1}
FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
INTS = (np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32, np.uint64)
TYPE_NAMES = {np.dtype(helper.tensor_dtype_to_np_dtype(number)): name.lower()
              for name, number in TensorProto.DataType.items() if name not in ("UNDEFINED", "STRING")}
TYPE_NAMES |= {np.dtype(object): "string", np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
DTYPES = {name: dtype for dtype, name in TYPE_NAMES.items()}
# Most cases use the types that models use; the rest of what a schema allows comes less often.
WEIGHTS = {"float": 12, "int64": 4, "int32": 3, "float16": 2, "double": 2, "uint8": 2, "int8": 2, "bool": 2}


class NoSuchCase(Exception):
    """The draw led to nothing that can be built, such as an operator that this opset does not have."""


def number_of(dtype) -> int:
    return TensorProto.STRING if np.dtype(dtype) == object else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def tensor_proto(array: np.ndarray, name: str) -> TensorProto:
    if array.dtype == object:
        return helper.make_tensor(name, TensorProto.STRING, array.shape, [str(text).encode() for text in array.reshape(-1)])
    return numpy_helper.from_array(array, name)


class Draw:
    """One case in the making. `feed` brings an array in, `op` adds a node, `finish` gives the model and its inputs."""

    def __init__(self, seed: int, opset: int):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.opset = opset
        self.opsets = {"": opset}
        self.nodes, self.initializers, self.inputs, self.outputs, self.hints = [], [], {}, [], {}
        self.kinds = {}  # declared types of inputs that are no tensors
        self.steps = 0  # in which a quantized output may differ from the reference
        self.scaled = False  # whether errors are judged against the size of the output as a whole
        self.deterministic = True  # False: outputs are random, only types and shapes count
        self.names = 0
        self.chains = self.chance(0.45)
        self.constants = self.pick(0, 0, 0.3, 0.3, 0.7, 1)  # share of inputs that are constants
        self.wrong = self.chance(0.06)  # draws indices that are out of range
        self.invalid = False  # whether it did: the case must be refused where both references refuse it
        self.huge = False  # asks for more than any machine has: the case must be refused in time, and no reference is asked

    # Numbers

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *items):
        return self.random.choice(items)

    def int(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def maybe(self, value, share: float = 0.5):
        return value if self.chance(share) else None

    def dim(self, zero: float = 0.03, high: int = 7) -> int:
        if self.chance(zero):
            return 0
        return self.random.choices((1, self.int(2, high), self.int(8, 40)), (25, 70, 5 if high >= 7 else 0))[0]

    def shape(self, low: int = 0, high: int = 4, zero: float = 0.03, top: int = 7) -> tuple[int, ...]:
        dims = [self.dim(zero, top) for _ in range(self.int(low, high))]
        while np.prod(dims) > 20000:
            dims[dims.index(max(dims))] = 2
        return tuple(dims)

    def broadcast(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to `shape`."""
        kept = list(shape[self.random.choice((0, 0, self.int(0, len(shape)))):])
        return tuple(1 if self.chance(0.25) else dim for dim in kept)

    def axis(self, rank: int) -> int:
        return self.int(-rank, rank - 1)

    def axes(self, rank: int, least: int = 0) -> list[int]:
        chosen = self.random.sample(range(rank), self.int(min(least, rank), rank))
        return [axis - rank if self.chance(0.3) else axis for axis in chosen]

    # Types

    def since(self, op: str, domain: str = "") -> int:
        try:
            return defs.get_schema(op, self.opset if domain == "" else NEWEST[domain], domain).since_version
        except defs.SchemaError:
            raise NoSuchCase(f"{op} is not in opset {self.opset}") from None

    def dtype(self, op: str, parameter: str = "T", domain: str = "", only=None) -> np.dtype:
        """A type that the operator's schema allows, those of everyday models first."""
        self.since(op, domain)
        schema = defs.get_schema(op, self.opset if domain == "" else NEWEST[domain], domain)
        constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
        allowed = constraints.get(parameter) or constraints.get(schema.inputs[0].type_str) or [schema.inputs[0].type_str]
        names = [text[7:-1] for text in allowed if text.startswith("tensor(") and text[7:-1] in DTYPES]
        names = [name for name in names if only is None or any(DTYPES[name] == np.dtype(t) for t in only)]
        if not names:
            raise NoSuchCase(f"{op}: no type")
        return DTYPES[self.random.choices(names, [WEIGHTS.get(name, 1) for name in names])[0]]

    # Arrays

    def array(self, shape, dtype=np.float32, low: float = -3, high: float = 3, special: bool = False) -> np.ndarray:
        dtype = np.dtype(dtype)
        if dtype == object:
            words = ("", "a", "b", "ab", "tenon", "é", "The", "of", "10", "x y")
            return np.array([self.pick(*words) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)
        if dtype == bool:
            return self.numpy.integers(0, 2, shape).astype(bool)
        if dtype.kind == "c":
            return (self.numpy.uniform(low, high, shape) + 1j * self.numpy.uniform(low, high, shape)).astype(dtype)
        if dtype.kind in "iu" or "int" in dtype.name:
            info = ml_dtypes.iinfo(dtype)
            bottom, top = max(int(low), int(info.min)), min(int(high), int(info.max))
            array = np.asarray(self.numpy.integers(bottom, top + 1, shape))
            if special and self.chance(0.3) and array.size and dtype.itemsize <= 4:
                array.reshape(-1)[self.int(0, array.size - 1)] = self.pick(int(info.min), int(info.max))
            return array.astype(dtype)
        array = np.asarray(self.numpy.uniform(low, high, shape)).astype(dtype)
        if special and array.size and self.chance(0.5):
            big = float(ml_dtypes.finfo(dtype).max)
            values = (0.0, -0.0, 1e-4, 1.0, -1.0, 20.0, -90.0, 1e4, -1e6, np.nan, np.nan, np.nan, np.inf, -np.inf, big, -big)
            for _ in range(self.int(1, 4)):
                with np.errstate(all="ignore"):
                    array.reshape(-1)[self.int(0, array.size - 1)] = np.float64(self.pick(*values)).astype(dtype)
        return array

    def ints(self, values, dtype=np.int64) -> np.ndarray:
        return np.array(values, dtype=dtype)

    def indices(self, shape, size: int, dtype=np.int64, negative: bool = True) -> np.ndarray:
        if size == 0 and int(np.prod(shape)) > 0:
            raise NoSuchCase("no index into nothing")
        array = np.asarray(self.numpy.integers(-size if negative and self.chance(0.4) else 0, max(size, 1), shape))
        if self.misfit(array.size):
            array.reshape(-1)[self.int(0, array.size - 1)] = self.pick(size, size + 7, -size - 1, 2**31 - 1)
        return array.astype(dtype)

    def misfit(self, possible=True) -> bool:
        """Whether this value is to be out of range."""
        self.invalid |= self.wrong and bool(possible)
        return self.wrong and bool(possible)

    def cut(self, array: np.ndarray | None, share: float = 1.0) -> np.ndarray | None:
        """The array, or in cases that are to be wrong one of another length: shorter, longer or empty."""
        if array is None or not array.ndim or not array.size or not (self.wrong and self.chance(share)):
            return array
        self.invalid = True
        size = len(array) + self.pick(-1, 1, -len(array), 2 * len(array))
        return np.resize(array, (size, *array.shape[1:])) if size > 0 else array[:0]

    def nothing(self, array: np.ndarray) -> np.ndarray:
        """The scalar, or in cases that are to be wrong a list without it."""
        return np.zeros((0,), array.dtype) if self.misfit(array.size == 1) else array

    # The model

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def feed(self, array, const: bool | None = None, chain: bool | None = None) -> str:
        """An array as an input, an initializer or a Constant, or as what a node makes of another array."""
        array = np.asarray(array)
        if const is None:
            const = self.chance(self.constants)
        if not const and chain is not False and self.chains and array.dtype != object and self.chance(0.4):
            return self._behind_a_node(array)
        name = self.name()
        if not const:
            self.inputs[name] = array
        elif self.chance(0.3) and array.dtype.kind in "fiub":
            self.op("Constant", [], name=name, value=tensor_proto(array, ""))
        else:
            self.initializers.append(tensor_proto(array, name))
        return name

    def _behind_a_node(self, array: np.ndarray) -> str:
        """A node whose output is exactly `array`."""
        if array.dtype.isbuiltin != 1 and (array.dtype.name != "bfloat16" or self.opset < 13):  # not every version moves it
            return self.feed(array, const=False, chain=False)
        way, rank = self.pick("Transpose", "Reshape", "Slice", "Concat", "Identity", "Unsqueeze"), array.ndim
        if way == "Transpose" and rank:
            perm = self.random.sample(range(rank), rank)
            return self.op("Transpose", [self.feed(array.transpose(np.argsort(perm)), False, False)], perm=perm)
        if way == "Reshape" and array.size:
            return self.op("Reshape", [self.feed(array.reshape(self.pick((-1,), (1, -1), (-1, 1))), False, False),
                                       self.feed(self.ints(array.shape), self.chance(0.7), False)])
        if way == "Slice" and rank and self.opset >= 10:
            axis, before, after = self.int(0, rank - 1), self.int(0, 2), self.int(0, 2)
            widths = [(before, after) if i == axis else (0, 0) for i in range(rank)]
            start, end = before, before + array.shape[axis]
            return self.op("Slice", [self.feed(np.pad(array, widths), False, False)] + [
                self.feed(self.ints([n]), True) for n in (start, end, axis)])
        if way == "Concat" and rank:
            axis = self.int(0, rank - 1)
            parts = np.split(array, [self.int(0, array.shape[axis])], axis)
            return self.op("Concat", [self.feed(part, self.chance(0.3), False) for part in parts], axis=axis)
        if way == "Unsqueeze" and self.opset >= 13 and 1 in array.shape:
            axis = array.shape.index(1)
            return self.op("Unsqueeze", [self.feed(array.squeeze(axis), False, False), self.feed(self.ints([axis]), True)])
        return self.op("Identity", [self.feed(array, False, False)])

    def op(self, op: str, inputs: list, outputs: int = 1, domain: str = "", name: str | None = None, hint=None, **attributes):
        """A node; the name of its output, or a list of names. An input of None is left out, and so is an attribute."""
        names = [name] if name else [self.name() for _ in range(outputs)]
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, [i or "" for i in inputs], names, domain=domain, **attributes))
        self.opsets.setdefault(domain, NEWEST[domain])
        if hint is not None:
            self.hints |= dict(zip(names, hint if isinstance(hint, (list, tuple)) else [hint] * len(names)))
        return names[0] if outputs == 1 else names

    def out(self, *names: str) -> None:
        self.outputs += names

    def finish(self) -> onnx.ModelProto:
        dims = self.pick("static", "static", "symbolic", "unknown", "unranked" if self.chance(0.3) else "symbolic")
        graph = helper.make_graph(self.nodes, "g", [self._input(name, value, dims) for name, value in self.inputs.items()],
                                  [onnx.ValueInfoProto(name=name) for name in self.outputs], self.initializers)
        imports = [helper.make_opsetid(d, v) for d, v in self.opsets.items()]
        if "" in self.opsets and self.chance(0.03):  # another name of the same
            imports.append(helper.make_opsetid("ai.onnx", self.opsets[""]))
        model = helper.make_model(graph, opset_imports=imports,
                                  ir_version=10 if self.opset < 25 else 13, producer_name="tenon differential")
        return self._typed(model)

    def _input(self, name: str, value, dims: str) -> onnx.ValueInfoProto:
        if name in self.kinds:
            return helper.make_value_info(name, self.kinds[name])
        shape = list(value.shape)
        if dims == "symbolic":
            shape = [f"d{dim}" if self.chance(0.7) else dim for dim in shape]
        elif dims == "unknown":
            shape = [None if self.chance(0.7) else dim for dim in shape]
        return helper.make_tensor_value_info(name, number_of(value.dtype), None if dims == "unranked" else shape)

    def _typed(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """Outputs get the types that ONNX infers, or what the generator said where ONNX knows no schema."""
        try:
            inferred = {info.name: info for info in onnx.shape_inference.infer_shapes(model, data_prop=True).graph.output}
        except Exception:  # a case that inference refuses is a case all the same
            inferred = {}
        for output in model.graph.output:
            info = inferred.get(output.name)
            if info is not None and info.type.WhichOneof("value"):
                output.type.CopyFrom(info.type)
                if output.type.HasField("tensor_type") and self.chance(0.6):
                    output.type.tensor_type.ClearField("shape")
            elif output.name in self.hints:
                hint = self.hints[output.name]
                output.type.CopyFrom(hint if isinstance(hint, onnx.TypeProto)
                                     else helper.make_tensor_type_proto(number_of(hint), None))
            else:
                raise NoSuchCase("an output without a type")
        return model
