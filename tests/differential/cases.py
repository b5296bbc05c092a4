"""A case: a small model with its inputs. Made from a seed and a number, kept as a folder in ONNX's test layout."""

import json
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from draw import NEWEST, Draw, NoSuchCase
from onnx import defs
from registry import GENERATORS

import generators  # noqa: F401  fills the registry

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "conformance"))
import write_cases  # noqa: E402

ATTEMPTS = 60
OLDEST = 7


@dataclass
class Case:
    model: onnx.ModelProto
    feeds: dict
    operator: str
    steps: int = 0
    scaled: bool = False
    deterministic: bool = True
    invalid: bool = False  # drawn with a value out of range
    huge: bool = False  # asks for more than any machine has
    origin: dict = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Nodes and input types on one line."""
        graph = self.model.graph
        nodes = "; ".join(f"{','.join(n.output)} = {n.op_type}({','.join(n.input)}"
                          f"{''.join(' ' + attribute_text(a) for a in n.attribute)})" for n in graph.node)
        kept = [f"{t.name} = {value_text(onnx.numpy_helper.to_array(t))}" for t in graph.initializer]
        given = [f"{name}: {value_text(value)}" for name, value in self.feeds.items()]
        opset = next((o.version for o in self.model.opset_import if o.domain == ""), 0)
        return f"opset {opset}: {nodes} | {', '.join(given)}" + (f" | constants {', '.join(kept)}" if kept else "")


def attribute_text(attribute: onnx.AttributeProto) -> str:
    if attribute.type in (attribute.GRAPH, attribute.TENSOR):
        return f"{attribute.name}=..."
    return f"{attribute.name}={str(onnx.helper.get_attribute_value(attribute))[:60]}"


def value_text(value) -> str:
    if not isinstance(value, np.ndarray):
        return str(value)[:60]
    shown = f" {value.tolist()}" if 0 < value.size <= 8 else ""
    return f"{value.dtype}{list(value.shape)}{shown}"


def operator_names(only: list[str]) -> list[tuple[str, str]]:
    known = sorted(GENERATORS)
    return [key for key in known if not only or key[1] in only or f"{key[0]}:{key[1]}" in only]


def opset_for(rng: random.Random, domain: str, operator: str) -> int:
    """The newest opset half of the time, else any that has the operator; each of its versions has its share."""
    if rng.random() < 0.5 or domain not in ("", "ai.onnx.ml"):
        return rng.choice((NEWEST[""], 25, 22)) if domain else NEWEST[""]
    versions = sorted(s.since_version for s in defs.get_all_schemas_with_history() if s.name == operator and s.domain == domain)
    if domain or not versions:
        return rng.randint(13, NEWEST[""])
    k = rng.randrange(len(versions))
    last = versions[k + 1] - 1 if k + 1 < len(versions) else NEWEST[""]
    return rng.randint(max(versions[k], OLDEST), max(last, OLDEST))


def make(seed: int, index: int, operators: list[tuple[str, str]]) -> Case:
    rng = random.Random(f"{seed}:{index}")
    order = list(range(len(operators)))
    random.Random(f"{seed}:{index // len(operators)}").shuffle(order)
    domain, operator = operators[order[index % len(operators)]]
    for attempt in range(ATTEMPTS):
        draw = Draw(rng.getrandbits(60), opset_for(rng, domain, operator))
        try:
            rng.choice(GENERATORS[domain, operator])(draw, operator)
            model = draw.finish()
        except (NoSuchCase, defs.SchemaError):
            continue
        return Case(model, draw.inputs, operator if not domain else f"{domain}:{operator}", draw.steps, draw.scaled,
                    draw.deterministic, draw.invalid, draw.huge, {"seed": seed, "case": index})
    raise NoSuchCase(f"{operator}: no case in {ATTEMPTS} attempts")


def save(case: Case, folder: Path, expected: list | None, notes: dict) -> None:
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    infos = {info.name: info for info in case.model.graph.input}
    for i, (name, value) in enumerate(case.feeds.items()):
        (data / f"input_{i}.pb").write_bytes(write_cases.value_proto(value, infos[name]).SerializeToString())
    for i, (value, info) in enumerate(zip(expected or [], case.model.graph.output)):
        if isinstance(value, np.ndarray) or info.type.WhichOneof("value") != "tensor_type":
            try:
                (data / f"output_{i}.pb").write_bytes(write_cases.value_proto(value, info).SerializeToString())
            except ValueError:  # maps have no file layout
                continue
    facts = {"operator": case.operator, "steps": case.steps, "scaled": case.scaled, "deterministic": case.deterministic, "invalid": case.invalid, "huge": case.huge,
             "origin": case.origin, "text": case.text} | notes
    (folder / "case.json").write_text(json.dumps(facts, indent=1) + "\n")


def read_map(proto: onnx.MapProto) -> dict:
    """A map whose values are scalars, each a tensor of the sequence of values."""
    keys = [key.decode() for key in proto.string_keys] or list(proto.keys)
    return dict(zip(keys, (onnx.numpy_helper.to_array(t).reshape(-1)[0].item() for t in proto.values.tensor_values)))


def read_value(path: Path, info: onnx.ValueInfoProto):
    kind = info.type.WhichOneof("value")
    data = path.read_bytes()
    if kind == "sequence_type" and info.type.sequence_type.elem_type.HasField("map_type"):
        return [read_map(item) for item in onnx.SequenceProto.FromString(data).map_values]
    if kind == "sequence_type":
        return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    array = onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))
    return np.vectorize(lambda t: t.decode() if isinstance(t, bytes) else t, otypes=[object])(array) if array.dtype == object and array.size else array


def load(folder: Path) -> Case:
    model = onnx.load(folder / "model.onnx")
    facts = json.loads((folder / "case.json").read_text()) if (folder / "case.json").is_file() else {}
    constants = {t.name for t in model.graph.initializer}
    infos = [info for info in model.graph.input if info.name not in constants]
    feeds = {info.name: read_value(folder / "test_data_set_0" / f"input_{i}.pb", info) for i, info in enumerate(infos)
             if (folder / "test_data_set_0" / f"input_{i}.pb").is_file()}
    return Case(model, feeds, facts.get("operator", folder.name), facts.get("steps", 0), facts.get("scaled", False),
                facts.get("deterministic", True), facts.get("invalid", False), facts.get("huge", False), facts.get("origin", {"folder": str(folder)}))
