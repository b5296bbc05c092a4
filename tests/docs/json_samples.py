"""Real JSON of every kind that Tenon prints, by the headings of docs/json.md."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

REPO = Path(__file__).resolve().parents[2]
DIGITS = REPO / "tests/data/digits/digits.onnx"
sys.path.insert(0, str(REPO / "tests/support"))
import tenon_c  # noqa: E402

EXPLAIN, PLAN = 1, 2  # TENON_DESCRIBE_x


def model(nodes: list, inputs: dict, outputs: list, path: Path) -> Path:
    """`outputs` are value infos; inputs are float32 by name and shape."""
    graph = helper.make_graph(nodes, path.stem,
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()], outputs)
    opsets = [helper.make_opsetid("", 21)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="samples")
    onnx.save(made, path)
    return path


def float_output(name: str, dims: list) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


class Samples:
    ABSENT = ("--provider", "absent,cpu", "--set", "select.fallback='next'")

    def __init__(self, build: Path, folder: Path):
        self.build, self.folder = build, folder
        self.tenon, self.fakes = build / "bin/tenon", build / "fakes"
        node = helper.make_node
        chain = [node("Add", ["x", "x"], ["a"], "sum"), node("Relu", ["a"], ["r"], "cut"), node("Mul", ["r", "a"], ["y"], "product")]
        self.chain = model(chain, {"x": [4]}, [float_output("y", [4])], folder / "chain.onnx")
        gated = [node("Sigmoid", ["x"], ["g"], "gate"), node("Mul", ["x", "g"], ["y"], "product")]
        self.gated = model(gated, {"x": [4]}, [float_output("y", [4])], folder / "gated.onnx")
        listed = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
        self.sequence = model([node("SequenceConstruct", ["x", "x"], ["s"])], {"x": [4]}, [listed], folder / "sequence.onnx")
        self.function = self.with_function(folder / "function.onnx")
        self.accelerated = {"discovery.search": f"['{self.fakes}/accelerator']", "select.order": "['accelerator', 'cpu']"}
        shape = node("Constant", [], ["shape"], value=helper.make_tensor("shape", TensorProto.INT64, [2], [2, 2]))
        views = [shape, node("Relu", ["x"], ["r"]), node("Sigmoid", ["r"], ["g"]), node("Reshape", ["g", "shape"], ["v"]),
                 node("MatMul", ["v", "v"], ["y"])]
        self.views = model(views, {"x": [4]}, [float_output("y", [2, 2])], folder / "views.onnx")

    @staticmethod
    def with_function(path: Path) -> Path:
        opset = helper.make_opsetid("", 21)
        twice = helper.make_function("samples", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [opset])
        model([helper.make_node("Twice", ["x"], ["y"], domain="samples")], {"x": [4]}, [float_output("y", [4])], path)
        made = onnx.load(path)
        made.functions.append(twice)
        made.opset_import.append(helper.make_opsetid("samples", 1))
        onnx.save(made, path)
        return path

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENON_", "XDG_"))}
        return kept | {"HOME": str(self.folder), "LC_ALL": "C.UTF-8"} | more

    def text(self, *words: object, codes=(0,), program: str = "tenon", **more: str) -> str:
        done = subprocess.run([str(word) for word in (self.build / "bin" / program, *words)], cwd=self.folder, capture_output=True,
                              text=True, env=self.environment(**more), timeout=300, check=False)
        if done.returncode not in codes:
            raise AssertionError(f"{words}: exit code {done.returncode}: {done.stderr}")
        return done.stdout

    def json(self, *words: object, **keywords) -> dict | list:
        return json.loads(self.text(*words, **keywords))

    def accelerator(self, *lines: str) -> list[str]:
        """Flags: the fake accelerator, asked before cpu."""
        config = self.folder / f"accelerator-{len(list(self.folder.glob('accelerator-*')))}.toml"
        config.write_text("\n".join(["schema = 1", f"discovery.search = ['{self.fakes}/accelerator']",
                                     "select.order = ['accelerator', 'cpu']", *lines]) + "\n")
        return ["--config", str(config)]

    def run(self) -> list:
        return [self.json("run", DIGITS, "--input", "random", "--format", "json", "--profile"),
                self.json("run", self.chain, "--input", "random", "--format", "json", "--profile", *self.accelerator()),
                self.json("run", self.sequence, "--input", "random", "--format", "json"),
                self.json("run", self.chain, "--input", "random", "--format", "json", *self.ABSENT)]

    def explain(self) -> list:
        fault = ["provider.accelerator.options.fault = 'compile'", "provider.accelerator.options.fault_op = 'Relu'"]
        rule = ["[[placement]]", "match = { op = 'Conv' }", "provider = 'cpu'"]
        return [self.json("explain", DIGITS, "--format", "json"),
                self.json("explain", self.chain, "--format", "json", *self.accelerator("provider.accelerator.options.ops = 'Relu'", *rule)),
                self.json("explain", self.chain, "--format", "json", *self.accelerator(*fault)),
                self.json("explain", self.gated, "--format", "json", "--provider", "cpu"),
                self.json("explain", self.chain, "--format", "json", "--set", "state.pairs=['x=y']"),
                self.json("explain", self.chain, "--format", "json", *self.ABSENT), self.fallback(), *self.by_cost()]

    def by_cost(self) -> list:
        """Explained before and after `tenon tune`."""
        words = [self.chain, "--format", "json", *self.accelerator("select.partition = 'cost'")]
        before = self.json("explain", *words)
        self.json("tune", *words, "--seconds", "0.01")
        return [before, self.json("explain", *words)]

    def tune(self) -> list:
        return [self.json("tune", self.chain, "--seconds", "0.01", "--format", "json", *self.accelerator()),
                self.json("tune", self.chain, "--seconds", "0.01", "--format", "json", "--provider", "cpu")]

    def fallback(self) -> dict:
        """What a session says of itself after a Run that failed in the accelerator and went on without it."""
        return self.described(self.chain, {"x": np.zeros(4, np.float32)}, EXPLAIN, self.accelerated | {
            "provider.accelerator.options.fault": "'run'"})

    def plans(self) -> list:
        cpu, x = {"select.order": "['cpu']"}, {"x": np.zeros(4, np.float32)}
        return [self.described(self.views, x, PLAN, cpu),
                self.described(self.chain, x, PLAN, self.accelerated),
                self.described(self.chain, x, PLAN, self.accelerated | {"provider.accelerator.options.ops": "'Relu'"})]

    def described(self, path: Path, feeds: dict, what: int, keys: dict) -> dict:
        api = tenon_c.Api(self.build / "lib/libtenon.so.0")
        with api.config(keys) as config, api.session(path.read_bytes(), config) as session:
            session.run(feeds)
            text, error = ctypes.c_void_p(), tenon_c.Error(struct_size=ctypes.sizeof(tenon_c.Error))
            api.check(api.table.session_describe(session.handle, what, ctypes.byref(text), ctypes.byref(error)), error)
            try:
                return json.loads(api.table.text_get(text).text())
            finally:
                api.table.text_release(text)

    def trace(self) -> list:
        self.text("run", self.chain, "--input", "random", "--trace", "trace.json", *self.accelerator("provider.accelerator.options.ops = 'Relu'"))
        return [json.loads((self.folder / "trace.json").read_text())]

    def case(self) -> Path:
        data = self.folder / "cases/chain/test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.chain, data.parent / "model.onnx")
        for name, values in (("input_0", [1, 2, 3, 4]), ("output_0", [4, 16, 36, 64])):
            (data / f"{name}.pb").write_bytes(onnx.numpy_helper.from_array(np.array(values, np.float32)).SerializeToString())
        return data.parents[1]

    def test(self) -> list:
        self.text("test", self.case(), "--format", "json", "--output", "report.json", "--provider", "cpu")
        return [json.loads((self.folder / "report.json").read_text())]

    def compare(self) -> list:
        wrong = self.accelerator("provider.accelerator.options.wrong_op = 'Relu'")
        same = self.json("compare", self.chain, "--providers", "accelerator,cpu", "--format", "json", *self.accelerator())
        return [same, self.json("compare", self.chain, "--providers", "accelerator,cpu", "--all-nodes", "--format", "json", *wrong, codes=(1,)),
                self.json("compare", self.sequence, "--providers", "accelerator,cpu", "--format", "json", *self.accelerator())]

    def providers(self) -> list:
        flags = self.accelerator()
        found = self.json("providers", "list", "--format", "json", *flags)
        bounded = json.loads(next((self.fakes / "accelerator").glob("*.tenon.json")).read_text())
        bounded["options"] += [{"name": "more", "type": "int", "default": 1, "min": 0, "max": 9, "doc": "bounded on both sides"}]
        bounded["requires"] = {"files": ["/nowhere/firmware.bin"]}
        edited = self.folder / "edited"
        shutil.copytree(self.fakes / "accelerator", edited)
        (edited / "accelerator.tenon.json").write_text(json.dumps(bounded))
        (edited / "broken.tenon.json").write_text("{")
        return [found, self.json("providers", "show", "accelerator", *flags),
                self.json("providers", "list", "--format", "json", TENON_ADD_PROVIDER_FILES=str(edited))]

    def doctor(self) -> list:
        """Of what providers() made."""
        return [self.json("providers", "doctor", "--format", "json", codes=(1,), TENON_ADD_PROVIDER_FILES=str(self.folder / "edited"))]

    def quarantine(self) -> list:
        self.text("providers", "list", TENON_ADD_PROVIDER_FILES=str(self.fakes / "defects/negotiate_crashes.tenon.json"))
        found = self.json("providers", "quarantine")
        assert found, "the provider that crashes in negotiation is not in quarantine"
        return [found]

    def kit(self) -> list:
        manifest = next((self.fakes / "accelerator").glob("*.tenon.json"))
        self.text(manifest, "--cases", self.case(), "--filter", "hygiene.*", "--filter", "op.*", "--format", "json", "--output", "kit.json", codes=(0, 1),
                  program="tenon-cts")
        return [json.loads((self.folder / "kit.json").read_text())]


def all_samples(build: Path, folder: Path) -> dict[str, list]:
    s = Samples(build, folder)
    check = [s.json("config", "check", "--format", "json", "--set", "select.order=['cpu']"),
             s.json("config", "check", "--format", "json", "--set", "select.order=['absent']", codes=(11,), TENON_NONSENSE="1")]
    return {
        "Run": s.run(),
        "Explain": s.explain(),
        "Model": [s.json("inspect", path, "--format", "json") for path in (DIGITS, s.function)],
        "Plans": s.plans(),
        "Compare": s.compare(),
        "Test": s.test(),
        "Tune": s.tune(),
        "Bench": [s.json("bench", s.chain, "--seconds", "0.01", "--format", "json")],
        "Providers": s.providers(),
        "Doctor": s.doctor(),
        "Quarantine": s.quarantine(),
        "Config check": check,
        "Config show": [s.json("config", "show", "--format", "json")],
        "Traces": s.trace(),
        "Kit": s.kit(),
    }


if __name__ == "__main__":
    import tempfile
    with tempfile.TemporaryDirectory(dir=sys.argv[1], prefix="json.") as work:
        made = Samples(Path(sys.argv[1]).resolve(), Path(work).resolve())
        for kind in sys.argv[2:]:
            print(json.dumps(getattr(made, kind)(), indent=1))
