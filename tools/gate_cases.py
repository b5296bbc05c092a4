"""The cases that the gate runs with `tenon test`, and the orders of providers that run them."""

import os
import random
import secrets
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
DATA = Path(os.environ.get("TENON_TEST_DATA", ROOT.parent / "shared"))


@dataclass(frozen=True)
class CaseSet:
    """Folders of ONNX test cases that `tenon test` runs."""

    name: str
    folder: Path
    cases: int  # the published number: fewer are a failure; all count as not run when the folder is absent
    everywhere: bool = False  # run with each provider in first place, not only with the CPU provider


CASE_SETS = [
    CaseSet("onnx node", BUILD / "conformance" / "node", 1884, everywhere=True),
    CaseSet("onnx node, dims unknown", BUILD / "conformance" / "symbolic", 1834),
    CaseSet("onnx simple", BUILD / "conformance" / "simple", 23),
    CaseSet("onnx pytorch-converted", BUILD / "conformance" / "pytorch-converted", 82),
    CaseSet("onnx pytorch-operator", BUILD / "conformance" / "pytorch-operator", 35),
    CaseSet("onnx light", BUILD / "conformance" / "light", 9),
    CaseSet("onnx older opsets", BUILD / "conformance" / "older", 1090),
    CaseSet("published models", DATA / "models", 35, everywhere=True),
    CaseSet("networks", BUILD / "bench" / "models", 3, everywhere=True),
]


def stand_ins(preset: str) -> dict[str, str]:
    """What lets the provider cuda find the stand-ins for NVIDIA's libraries. Nothing else may see them."""
    return {"LD_LIBRARY_PATH": str(BUILD / preset / "fakes/cuda"), "TENON_FAKE_CUDA_RACES": "1"}


@dataclass(frozen=True)
class Order:
    """Providers in order of preference. The expectations files of all of them apply."""

    providers: tuple[str, ...]
    setting: str = ""  # KEY=VALUE of the config
    note: str = ""  # added to the name of the step
    stands_in: bool = False  # what plays the device is slow, so only --all runs every case of a large set

    def environment(self, preset: str) -> dict[str, str]:
        return stand_ins(preset) if self.stands_in else {}

    def step(self, cases: CaseSet) -> str:
        return cases.name if self.providers[0] == "cpu" else f"{cases.name} on {self.providers[0]}{self.note}"


# All orders have the image provider: only it runs ImageDecoder, and it runs nothing else.
ORDERS = [
    Order(("cpu", "image")),
    # claim=all: also nodes that the provider would leave to the cpu provider because they are small.
    Order(("onednn", "cpu", "image"), "provider.onednn.options.claim=all"),
    Order(("opencl", "cpu", "image")),
    Order(("vulkan", "cpu", "image")),
    Order(("cuda", "cpu", "image"), "provider.cuda.on_lost=fail", stands_in=True),
]
# As if the device had its own memory. Only for the first set, and only with --all.
DEVICE_MEMORY = Order(("opencl", "cpu", "image"), "provider.opencl.options.memory=device", ", device memory")


# A provider that cannot compile what it claimed fails the case. Otherwise the next provider would give the same numbers.
NOTHING_MENDED = ("select.on_compile_failed=error",)
LARGE_SET = 500  # cases


def seed_of_gate() -> int:
    """The same for all that this gate starts: TENON_GATE_SEED, or a new one."""
    return int(os.environ.setdefault("TENON_GATE_SEED", str(secrets.randbelow(1_000_000))))


def sample_of(names: list[str], seed: int) -> list[str]:
    """A fifth that is always the same, and of the others as many again, which the seed draws."""
    fixed = {name for name in names if zlib.crc32(name.encode()) % 5 == 0}
    others = sorted(set(names) - fixed)
    return sorted(fixed | set(random.Random(seed).sample(others, len(others) // 4)))


def part_of(cases: CaseSet, links: Path, seed: int) -> int:
    """Fills the folder `links` with a sample of the cases, and returns how many must run."""
    every = [path.parent.name for path in cases.folder.glob("*/model.onnx")]
    names = sample_of(every, seed)
    shutil.rmtree(links, ignore_errors=True)
    links.mkdir(parents=True)
    for name in names:
        (links / name).symlink_to(cases.folder / name)
    return len(names) if len(every) >= cases.cases else cases.cases
