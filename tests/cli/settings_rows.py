"""The rows of run_settings.py: for each key and variable two values, and what each does."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import command
import run_errors

KEYS, VARIABLES = {}, {}


def key(name: str):
    return lambda row: KEYS.setdefault(name, row)


def variable(name: str):
    return lambda row: VARIABLES.setdefault(name, row)


class Bench:
    """A folder with models, and the command in a clean environment. `name` is the key in question: `value` gives it from a
    file, or from `variable` where that is not empty."""

    def __init__(self, tenon: Path, folder: Path, name: str, variable: str):
        self.tenon, self.root, self.name, self.variable = tenon, folder, name, variable
        self.folder = folder / "work"
        self.folder.mkdir()
        self.fakes = tenon.parents[1] / "fakes"
        np.save(self.folder / "x.npy", np.array([1.7, -2.3, 3.1, -4.9], np.float32))

    def config(self, value: str | None, *lines: str) -> list[str]:
        """A file with these lines, and the key of the row at `value`, TOML; the accelerator is found, and asked before cpu."""
        given = list(lines)
        if value is not None and not self.variable:
            given.append(f"{self.name.replace('*', 'accelerator')} = {value}")
        for line in (f"discovery.search = ['{self.fakes}/accelerator']", "select.order = ['accelerator', 'cpu']"):
            name = line.split(" ")[0]
            if not any(each.startswith(name) for each in given) and not (self.variable and self.name == name):
                given.append(line)
        (self.folder / "c.toml").write_text("schema = 1\n" + "\n".join(given) + "\n")
        return ["--config", "c.toml"]

    def environment(self, value: str | None, extra: dict | None = None) -> dict[str, str]:
        own = {self.variable: value} if self.variable and value is not None else {}
        return command.clean_environment(self.root, own | (extra or {}))

    def start(self, value: str | None, args: list, *lines: str, env: dict | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([self.tenon, *args, *self.config(value, *lines)], cwd=self.folder,
                              env=self.environment(value, env), capture_output=True, text=True, timeout=120, check=False)

    def run(self, value: str | None, model: str, *lines: str, env: dict | None = None, args=()) -> subprocess.CompletedProcess:
        source = "x.npy" if model in ("chain", "relu") else "random"
        extra = ["--input", source] if model != "strings" else []
        return self.start(value, ["run", self.model(model), *extra, *args], *lines, env=env)

    def who(self, value: str | None, model: str = "chain", *lines: str, env: dict | None = None) -> str:
        """Who ran the model, from the last line of `tenon run`."""
        done = self.run(value, model, *lines, env=env)
        assert done.returncode == 0, done.stderr
        return re.search(r"^ran (.*) in ", done.stdout, re.MULTILINE).group(1)

    def exit(self, value: str | None, model: str = "chain", *lines: str, env: dict | None = None) -> int:
        return self.run(value, model, *lines, env=env).returncode

    def outputs(self, value: str | None, model: str, *lines: str) -> bytes:
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        done = self.run(value, model, *lines, args=("--output", "out"))
        assert done.returncode == 0, done.stderr
        return b"".join(path.read_bytes() for path in sorted((self.folder / "out").iterdir()))

    def while_running(self, value: str | None, model: str, look, *lines: str):
        """What `look(process id)` sees last while `tenon bench` runs the model."""
        words = [self.tenon, "bench", self.model(model), "--seconds", "1", *self.config(value, *lines)]
        process = subprocess.Popen(words, cwd=self.folder, env=self.environment(value), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        seen = []
        while process.poll() is None:
            try:
                seen.append(look(process.pid))
            except (FileNotFoundError, ProcessLookupError):
                pass
            time.sleep(0.05)
        assert process.returncode == 0, process.stderr.read()
        return max(seen)

    def copied(self, name: str, change=lambda manifest: None, append: bytes = b"") -> str:
        """The accelerator in a folder of this bench, its manifest changed."""
        target = self.folder / name
        shutil.copytree(self.fakes / "accelerator", target)
        path = target / "accelerator.tenon.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))
        if append:
            with (target / manifest["library"]["path"]).open("ab") as library:
                library.write(append)
        return str(target)

    def unit_test(self, name: str) -> None:
        """The effect is one of host_tests, which sees more of a process."""
        done = subprocess.run([self.tenon.parent / "host_tests", f"--gtest_filter={name}"], capture_output=True, text=True,
                              env=self.environment(None), timeout=300, check=False)
        assert done.returncode == 0 and "[  PASSED  ] 1 test." in done.stdout, done.stdout[-2000:]

    def is_built(self, provider: str) -> bool:
        return (self.tenon.parents[1] / "lib/tenon/providers.d" / f"{provider}.tenon.json").is_file()

    def model(self, name: str) -> str:
        path = self.folder / f"{name}.onnx"
        if not path.exists():
            MODELS[name](path)
        return path.name


# ---- Models ----

def save(path: Path, nodes: list, inputs: dict, outputs: dict, constants: dict | None = None) -> None:
    def values(named: dict) -> list:
        return [helper.make_tensor_value_info(name, kind, dims) for name, (kind, dims) in named.items()]

    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs), initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


F32 = TensorProto.FLOAT
FOUR = (F32, [4])


def chain(path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "x"], ["a"], "sum"), helper.make_node("Relu", ["a"], ["r"], "cut"),
             helper.make_node("Mul", ["r", "a"], ["y"], "product")]
    save(path, nodes, {"x": FOUR}, {"y": FOUR})


def half(path: Path) -> None:
    node = helper.make_node("Add", ["x", "x"], ["y"], "sum")
    save(path, [node], {"x": (TensorProto.FLOAT16, [4])}, {"y": (TensorProto.FLOAT16, [4])})


def absolute(path: Path) -> None:
    """The accelerator has no Abs."""
    save(path, [helper.make_node("Abs", ["x"], ["y"], "size")], {"x": FOUR}, {"y": FOUR})


def twice(path: Path) -> None:
    """Identity nodes, which a transform removes."""
    nodes = [helper.make_node("Identity", ["x"], ["a"], "same"), helper.make_node("Abs", ["a"], ["y"], "size")]
    save(path, nodes, {"x": FOUR}, {"y": FOUR})


def folded(path: Path) -> None:
    """A sum of two constants of 64 KiB, which folding may make."""
    nodes = [helper.make_node("Add", ["a", "b"], ["c"], "constants"), helper.make_node("Add", ["x", "c"], ["y"], "sum")]
    ones = np.ones(1 << 14, np.float32)
    save(path, nodes, {"x": (F32, [1])}, {"y": (F32, [1 << 14])}, {"a": ones, "b": ones})


def nested(path: Path) -> None:
    """An If in an If."""
    def branch(name: str, node) -> onnx.GraphProto:
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, F32, [4])])

    def choose(name: str, then: onnx.GraphProto) -> onnx.NodeProto:
        other = branch(f"{name}_else", helper.make_node("Neg", ["x"], [f"{name}_else"]))
        return helper.make_node("If", ["c"], [name], then_branch=then, else_branch=other)

    inner = branch("deep", choose("deep", branch("deepest", helper.make_node("Abs", ["x"], ["deepest"]))))
    flag = helper.make_node("Greater", ["s", "zero"], ["c"], "positive")
    total = helper.make_node("ReduceSum", ["x"], ["s"], "total", keepdims=0)
    save(path, [total, flag, choose("y", inner)], {"x": FOUR}, {"y": FOUR}, {"zero": np.zeros((), np.float32)})


def strings(path: Path) -> None:
    """Text that doubles ten times."""
    nodes = [helper.make_node("StringConcat", [f"s{i}", f"s{i}"], [f"s{i + 1}"], f"double{i}") for i in range(10)]
    save(path, nodes, {}, {"s10": (TensorProto.STRING, [1])}, {"s0": np.array(["0123456789"], object)})


def large(path: Path) -> None:
    """Work for several threads, on 4 MiB of weights."""
    rng = np.random.default_rng(1)
    weights = {f"w{i}": rng.standard_normal((512, 512)).astype(np.float32) for i in range(4)}
    nodes = [helper.make_node("MatMul", [f"h{i}" if i else "x", f"w{i}"], [f"h{i + 1}" if i < 3 else "y"]) for i in range(4)]
    save(path, nodes, {"x": (F32, [300, 512])}, {"y": (F32, [300, 512])}, weights)


def outside(path: Path) -> None:
    large(path)
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)


def rounded(path: Path) -> None:
    """Results whose last bits depend on how the work is divided among threads."""
    rng = np.random.default_rng(1)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Gelu", ["h"], ["g"]),
             helper.make_node("Softmax", ["g"], ["s"], axis=1), helper.make_node("Tanh", ["h"], ["t"]),
             helper.make_node("Add", ["s", "t"], ["a"]), helper.make_node("MatMul", ["a", "v"], ["y"])]
    save(path, nodes, {"x": (F32, [301, 67])}, {"y": (F32, [301, 61])},
         {"w": rng.standard_normal((67, 509)).astype(np.float32), "v": rng.standard_normal((509, 61)).astype(np.float32)})


MODELS = {"chain": chain, "relu": lambda path: path.write_bytes(run_errors.relu_model()), "half": half, "absolute": absolute,
          "twice": twice, "folded": folded, "nested": nested, "strings": strings, "large": large, "outside": outside,
          "rounded": rounded}


# ---- What is seen ----

def workers(pid: int) -> int:
    return sum(path.read_text().strip() == "tenon-worker" for path in Path(f"/proc/{pid}/task").glob("*/comm"))


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def maps_model(pid: int) -> bool:
    return "large.onnx" in Path(f"/proc/{pid}/maps").read_text()


def seconds(call) -> float:
    begin = time.monotonic()
    call()
    return time.monotonic() - begin


def state_files(bench: Bench) -> int:
    return sum(1 for path in bench.root.glob("tenon/**/*") if path.is_file())


NEXT = "select.fallback = 'next'"


# ---- Where providers are found ----

@key("discovery.search")
def _(b: Bench):
    return b.who("[]", "chain", NEXT), b.who(f"['{b.fakes}/accelerator']", "chain", NEXT)


@key("discovery.allow")
def _(b: Bench):
    return b.who("['*']", "chain", NEXT), b.who("['cpu']", "chain", NEXT)


@key("discovery.deny")
def _(b: Bench):
    return b.who("[]", "chain", NEXT), b.who("['accel*']", "chain", NEXT)


@key("discovery.trust")
def _(b: Bench):
    search = f"discovery.search = ['{b.copied('changed', append=b'more')}']"
    return b.who("'owner'", "chain", NEXT, search), b.who("'hash'", "chain", NEXT, search)


@key("discovery.scan")
def _(b: Bench):
    files = []
    for value in ("'off'", "'on'"):
        b.who(value)
        files.append(state_files(b))
    assert files[0] == 0, "a scan leaves its verdict behind, and there was none"
    return files


@key("discovery.scan_timeout")
def _(b: Bench):
    lines = [f"discovery.search = ['{b.fakes}/defects/enumerate_hangs.tenon.json']", NEXT,
             "select.order = ['enumerate_hangs', 'cpu']"]
    short = seconds(lambda: b.who("0.2", "chain", *lines))
    shutil.rmtree(b.root / "tenon", ignore_errors=True)  # what is known of the library
    long = seconds(lambda: b.who("2.0", "chain", *lines))
    assert long > short + 1, f"{short} and {long} s"


@key("discovery.user")
def _(b: Bench):
    shutil.copytree(b.fakes / "accelerator", b.root / "tenon" / "providers.d")
    return b.who("false", "chain", NEXT, "discovery.search = []"), b.who("true", "chain", NEXT, "discovery.search = []")


# ---- Who is chosen ----

@key("select.order")
def _(b: Bench):
    return b.who("['cpu']"), b.who("['accelerator', 'cpu']")


@key("select.fallback")
def _(b: Bench):
    order = "select.order = ['absent', 'cpu']"
    return b.exit("'error'", "chain", order), b.exit("'next'", "chain", order)


@key("select.on_declined")
def _(b: Bench):
    return b.exit("'error'", "absolute"), b.exit("'next'", "absolute")


@key("select.on_compile_failed")
def _(b: Bench):
    fault = "provider.accelerator.options.fault = 'compile'"
    return b.exit("'error'", "chain", fault), b.exit("'next'", "chain", fault)


@key("select.partition")
def _(b: Bench):
    return b.exit("'order'"), b.exit("'cost'")


@key("provider.*.version")
def _(b: Bench):
    return b.who("'>=1'", "chain", NEXT), b.who("'>=2'", "chain", NEXT)


@key("provider.*.devices")
def _(b: Bench):
    assert "accelerator/npu:0" in b.who(None), "the default is the first"
    found = {"TENON_PROVIDER_FILES": str(b.fakes / "accelerator")}  # where "auto" looks
    for order in ("['accelerator']", "'auto'"):
        done = b.run("['gpu:0']", "chain", f"select.order = {order}", env=found)
        assert done.returncode == command.EXIT_CODES["config error"], done
        assert re.search(r"c\.toml:\d: 'provider.accelerator.devices' names 'gpu:0', but .* its devices: npu:0", done.stderr), done
    both = b.who("['npu:1', 'npu:0']", "chain", "placement = [{match = {op = 'Add'}, provider = 'accelerator/npu:0'}]")
    assert "accelerator/npu:0" in both and "accelerator/npu:1" in both, both
    return b.who("['npu:0']"), b.who("['npu:1']")


@key("provider.*.isolation")
def _(b: Bench):
    return b.exit("'inproc'"), b.exit("'process'")


@key("provider.*.on_lost")
def _(b: Bench):
    fault = "provider.accelerator.options.fault = 'lost'"
    return b.exit("'fail'", "chain", fault), b.exit("'next'", "chain", fault)


@key("provider.*.options.ops")
def _(b: Bench):
    return b.who("'Add'"), b.who("'Add,Relu,Mul'")


@key("placement")
def _(b: Bench):
    return b.who("[{match = {op = 'Add'}, provider = 'cpu'}]"), b.who("[{match = {op = 'Relu'}, provider = 'accelerator'}]")


# ---- How it runs ----

@key("shapes.keep")
def _(b: Bench):
    b.unit_test("Settings.KeepHoldsSoManyPlans")
    too_many = "shapes.input = [[4], [4]]"
    return b.exit("1", "chain", too_many), b.exit("2", "chain", too_many)


@key("shapes.input")
def _(b: Bench):
    b.unit_test("Settings.InputShapesAreCompiledAtLoad")
    return b.exit("[[4]]"), b.exit("[[5]]")


@key("memory.host_limit")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    return b.exit("'64KiB'", "large", cpu), b.exit("'64MiB'", "large", cpu)


@key("memory.device_limit")
def _(b: Bench):
    return b.exit("8"), b.exit("'1MiB'")


@key("threads.count")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    seen = [b.while_running(value, "large", workers, cpu) for value in ("1", "3")]
    assert seen == [0, 2], seen


@key("precision.default")
def _(b: Bench):
    return b.outputs("'exact'", "chain"), b.outputs("'bf16'", "chain")


@key("precision.widen")
def _(b: Bench):
    return b.who("false", "half"), b.who("true", "half")


@key("precision.deterministic")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    for model in ("rounded", "large"):
        bits = {b.outputs("true", model, cpu, f"threads.count = {count}") for count in (1, 2, 3, 5, 16, 40)}
        assert len(bits) == 1, f"{model}: {len(bits)} results"
    if b.is_built("onednn"):  # it keeps to one thread, however many there are
        lines = ["select.order = ['onednn', 'cpu']", "threads.count = 3"]
        alone, together = (b.while_running(value, "large", threads, *lines) for value in ("true", "false"))
        assert alone < together, f"{alone} and {together} threads"
    silent = b.copied("silent", lambda manifest: manifest["traits"].update(deterministic=False))
    search = f"discovery.search = ['{silent}']"
    return b.exit("true", "chain", search), b.exit("false", "chain", search)


# ---- What a model may do ----

@key("limits.model_bytes")
def _(b: Bench):
    return b.exit("100"), b.exit("100000")


@key("limits.graph_depth")
def _(b: Bench):
    return b.exit("1", "nested"), b.exit("2", "nested")


@key("limits.nodes")
def _(b: Bench):
    return b.exit("2"), b.exit("100")


@key("limits.load_time")
def _(b: Bench):
    return b.exit("0.000001"), b.exit("600.0")


@key("limits.string_bytes")
def _(b: Bench):
    lines = ["select.order = ['cpu']", "transforms.disable = ['*']"]
    return b.exit("'1KiB'", "strings", *lines), b.exit("'16KiB'", "strings", *lines)


@key("limits.fold_bytes")
def _(b: Bench):
    return b.who("'1KiB'", "folded", "select.order = ['cpu']"), b.who("'64MiB'", "folded", "select.order = ['cpu']")


@key("limits.external_data")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    return b.exit("'deny'", "outside", cpu), b.exit("'beneath-model'", "outside", cpu)


@key("limits.map_weights")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    return b.while_running("false", "large", maps_model, cpu), b.while_running("true", "large", maps_model, cpu)


@key("transforms.disable")
def _(b: Bench):
    return b.who("[]", "twice"), b.who("['*']", "twice")


@key("upgrade.mode")
def _(b: Bench):
    b.unit_test("Settings.PinKeepsTheBuildThatWasChosenFirst")
    return b.exit("'pin'"), b.exit("'migrate'")


@key("profiling.file")
def _(b: Bench):
    files = []
    for value in ("''", "'trace-{pid}.json'"):
        assert b.exit(value) == 0
        files.append(len(list(b.folder.glob("trace-*.json"))))
    assert files == [0, 1], files


# ---- What is refused: (key, value) and what the message must offer ----

REFUSED = {("discovery.trust", "signature"): '"hash"', ("select.partition", "cost"): '"order"',
           ("provider.*.isolation", "process"): '"inproc"', ("upgrade.mode", "migrate"): '"next-session"'}


def refusal(name: str, word: str, cure: str):
    def row(b: Bench) -> None:
        b.name = name
        for args in (["config", "check"], ["run", b.model("chain"), "--input", "x.npy"]):
            done = b.start(f"'{word}'", args)
            assert done.returncode == command.EXIT_CODES["config error"], done
            place, reason = rf"c\.toml:\d+: '{name.replace('*', 'accelerator')}'", rf"cannot be \"{word}\": .*this version.*"
            assert re.search(place, done.stderr) and re.search(reason, done.stderr) and cure in done.stderr, done.stderr
    return row


# ---- Variables that stand for no key, or for one under another name ----

@variable("TENON_CONFIG")
def _(b: Bench):
    (b.folder / "bad.toml").write_text("schema = 1\nthread.count = 1\n")
    words = [b.tenon, "run", b.model("chain"), "--input", "x.npy"]
    return tuple(subprocess.run(words, cwd=b.folder, env=b.environment(None, extra), capture_output=True, check=False).returncode
                 for extra in ({}, {"TENON_CONFIG": str(b.folder / "bad.toml")}))


@variable("TENON_PROVIDERS_SELECT")
def _(b: Bench):
    return b.who(None, "chain", NEXT), b.who(None, "chain", NEXT, env={"TENON_PROVIDERS_SELECT": "cpu"})


@variable("TENON_PROVIDERS_DISABLE")
def _(b: Bench):
    return b.who(None, "chain", NEXT), b.who(None, "chain", NEXT, env={"TENON_PROVIDERS_DISABLE": "accelerator"})


@variable("TENON_PROVIDER_FILES")
def _(b: Bench):
    lines = ["discovery.search = []", "select.order = ['accelerator']"]
    return b.exit(None, "chain", *lines), b.exit(None, "chain", *lines, env={"TENON_PROVIDER_FILES": str(b.fakes / "accelerator")})


@variable("TENON_ADD_PROVIDER_FILES")
def _(b: Bench):
    lines = ["discovery.search = []", NEXT]
    return b.who(None, "chain", *lines), b.who(None, "chain", *lines, env={"TENON_ADD_PROVIDER_FILES": str(b.fakes / "accelerator")})


@variable("TENON_CPU_ISA")
def _(b: Bench):
    cpu = "select.order = ['cpu']"
    return b.exit(None, "chain", cpu), b.exit(None, "chain", cpu, env={"TENON_CPU_ISA": "no_such_set"})


@variable("OCL_ICD_VENDORS")
def _(b: Bench):
    if not b.is_built("opencl"):
        return None
    lines = ["select.order = ['opencl', 'cpu']", NEXT]
    return b.who(None, "chain", *lines), b.who(None, "chain", *lines, env={"OCL_ICD_VENDORS": "/nonexistent"})




@variable("XDG_CONFIG_HOME")
def _(b: Bench):
    folder = b.root / "xdg" / "tenon"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("schema = 1\nlimits.nodes = 1\n")
    return b.exit(None), b.exit(None, env={"XDG_CONFIG_HOME": str(b.root / "xdg")})


@variable("HOME")
def _(b: Bench):
    folder = b.root / "home" / ".config" / "tenon"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("schema = 1\nlimits.nodes = 1\n")
    nowhere = {"XDG_CONFIG_HOME": ""}
    return b.exit(None, env=nowhere), b.exit(None, env=nowhere | {"HOME": str(b.root / "home")})


@variable("XDG_DATA_HOME")
def _(b: Bench):
    shutil.copytree(b.fakes / "accelerator", b.root / "xdg" / "tenon" / "providers.d")
    lines = ["discovery.search = []", "discovery.user = true", NEXT]
    return b.who(None, "chain", *lines), b.who(None, "chain", *lines, env={"XDG_DATA_HOME": str(b.root / "xdg")})


@variable("XDG_STATE_HOME")
def _(b: Bench):
    b.who(None, env={"XDG_STATE_HOME": str(b.root / "xdg")})
    return 0, sum(1 for path in (b.root / "xdg").rglob("*") if path.is_file())


@variable("XDG_CACHE_HOME")
def _(b: Bench):
    b.unit_test("BlobFolder.FollowsXdgCacheHome")
