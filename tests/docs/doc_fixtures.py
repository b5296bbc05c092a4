"""What the readers of a page have in their folder before they type: one table, FIXTURES."""

import re
import shutil
import subprocess
from pathlib import Path
from threading import Lock

REPO = Path(__file__).resolve().parents[2]
DIGITS = REPO / "tests/data/digits"
EXAMPLE = REPO / "ep-sdk/examples/minimal-provider"


class Fixtures:
    """Makes them; what takes long is made once, in `made`."""

    def __init__(self, environment: dict[str, str], made: Path):
        self.environment, self.made, self.lock = environment, made, Lock()

    def put(self, page: str, folder: Path) -> None:
        for name, make in FIXTURES.get(page, {}).items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            make(self, target)

    def provider(self, version: str) -> Path:
        """The folder of a provider `acme`, made of the SDK's example."""
        with self.lock:
            build = self.made / f"acme-{version}"
            if build.exists():
                return build / "providers.d"
            source = self.made / f"acme-{version}-source"
            shutil.copytree(EXAMPLE, source)
            lists = source / "CMakeLists.txt"
            lists.write_text(lists.read_text().replace("ID minimal", "ID acme").replace("tenon_ep_minimal", "tenon_ep_acme"))
            for command in (["-S", source, "-B", build, f"-DMINIMAL_VERSION={version}"], ["--build", build]):
                subprocess.run(["cmake", *command], env=self.environment, check=True, capture_output=True)
            return build / "providers.d"


def copy(source: Path):
    def make(_: Fixtures, target: Path) -> None:
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)
    return make


def block(page: str, language: str, number: int = 0):
    """A block of a page, as its reader would copy it."""
    def make(_: Fixtures, target: Path) -> None:
        target.write_text(re.findall(rf"^```{language}\n(.*?)^```", (REPO / page).read_text(), re.S | re.M)[number])
    return make


def provider(version: str):
    def make(fixtures: Fixtures, target: Path) -> None:
        shutil.copytree(fixtures.provider(version), target)
    return make


def manifest(version: str):
    """The manifest at `target`, and the library beside it."""
    def make(fixtures: Fixtures, target: Path) -> None:
        shutil.copytree(fixtures.provider(version), target.parent, dirs_exist_ok=True)
    return make


def picture_as_array(_: Fixtures, target: Path) -> None:
    import numpy as np
    np.save(target, np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 1, 8, 8))


def cases(_: Fixtures, target: Path) -> None:
    """One case in the layout of ONNX's own: y = a + b."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save
    a, b, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "aby")
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"])], "sum", [a, b], [y])
    data = target / "sum/test_data_set_0"
    data.mkdir(parents=True)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), target / "sum/model.onnx")
    for name, values in (("input_0", [1, 2]), ("input_1", [3, 4]), ("output_0", [4, 6])):
        tensor = numpy_helper.from_array(np.array(values, np.float32), name)
        (data / f"{name}.pb").write_bytes(tensor.SerializeToString())


MODEL = {"model.onnx": copy(DIGITS / "digits.onnx")}
FIXTURES = {
    "README.md": MODEL | {"digit.png": copy(DIGITS / "digit_7.png"), "cases": cases},
    "docs/command-line.md": MODEL | {"cases": cases},
    "docs/config.md": MODEL | {"tenon.toml": block("docs/config.md", "toml")},
    "docs/cts.md": {"acme.tenon.json": manifest("1.4.2"), "cases": copy(EXAMPLE / "cases")},
    "docs/first-provider.md": MODEL,
    "docs/install.md": MODEL | {"app.cc": block("docs/user-guide.md", "cpp")},
    "docs/from-onnxruntime.md": MODEL,
    "docs/performance.md": MODEL,
    "docs/upgrade.md": {"acme-1.4.2": provider("1.4.2"), "acme-1.5.0": provider("1.5.0")},
    "docs/user-guide.md": MODEL | {"input.npy": picture_as_array},
    "ep-sdk/examples/minimal-provider/README.md": {"": copy(EXAMPLE)},
}


def unused(pages: list[Path]) -> list[str]:
    """What is wrong with FIXTURES: a page that is none, a file that no command of its page names."""
    texts = {str(page.relative_to(REPO)): page.read_text() for page in pages}
    problems = []
    for page, files in FIXTURES.items():
        commands = "\n".join(re.findall(r"^```sh\n(.*?)^```", texts.get(page, ""), re.S | re.M))
        problems += [f"{page}: no sh block names '{name}': take it out of doc_fixtures.py" for name in files if name not in commands]
    return problems + [f"{page}: doc_fixtures.py has a row for it, and it is no page" for page in FIXTURES if page not in texts]
