#!/usr/bin/env python3
"""tools/test-cuda: a folder that tries the provider cuda anywhere, and runs it.

The folder has the command, libtenon, the providers cpu and cuda, the libraries that a machine may lack, the ONNX node cases, published
models where they are present, and small files of networks to measure. Its `run` (tools/cuda_run.py) says what it does. With
--bundle the folder is only made; otherwise it is made in BUILD/test-cuda and run.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from cuda_machine import minutes, output_file
from gate_cases import BUILD, DATA, ROOT

MOST_BYTES = 60 << 20
# Cases of an operator that the provider image runs, which is not in the bundle: it links a dozen libraries.
OF_OTHERS = "test_image_decoder_"
MOST_OF_MODELS = 30 << 20  # before they are packed
COMPONENTS = ("runtime", "tools", "tenon_ep_cpu", "tenon_ep_cuda")
MEASURED = ("tribuo_tinybert", "ort_squeezenet_imagescaler_zipmap", "fastestdet", "yolox_nano", "super_resolution_10")  # published models
# The C and C++ libraries belong to the machine: an older C++ library than its own would break NVIDIA's. NVIDIA's are never copied.
OF_THE_MACHINE = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s)\.so.*|lib(cuda|nvrtc|cublas|cudnn).*)$")


def fail(text: str) -> None:
    sys.exit(f"test-cuda: {text}")


def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, words))} exited with {done.returncode}: {done.stderr[-1500:]}")
    return done.stdout


def install(build: Path, bundle: Path) -> None:
    for component in COMPONENTS:
        run("cmake", "--install", build, "--prefix", bundle, "--component", component)
    for folder in ("share", "include"):
        shutil.rmtree(bundle / folder, ignore_errors=True)
    if not list((bundle / "lib").rglob("cuda*.tenon.json")):
        fail(f"{build} has no provider cuda: it needs NVIDIA's headers (tools/setup --cuda)")
    foreign = bundle / "lib/foreign"
    foreign.mkdir()
    for binary in [bundle / "bin/tenon", *(bundle / "lib").rglob("*.so*"), *(bundle / "lib").rglob("tenon-scan")]:
        if not binary.is_file() or binary.is_symlink():
            continue
        for name, path in re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", binary), re.MULTILINE):
            if not OF_THE_MACHINE.match(name) and not Path(path).is_relative_to(bundle) and not (foreign / name).exists():
                shutil.copy2(Path(path).resolve(), foreign / name)


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def pack(folder: Path, archive: Path, name: str, most: int, without: str = "") -> int:
    """An archive of the cases of a folder, and how many are in it: those that are measured, then the smaller ones, up to `most` bytes.
    Cases whose name begins with `without` are left out."""
    packed, left = 0, most
    cases = sorted((path.parent for path in folder.glob("*/model.onnx")), key=lambda case: (case.name not in MEASURED, bytes_of(case), case.name))
    with tarfile.open(archive, "w:xz", preset=3) as out:
        for case in cases:
            if bytes_of(case) > left or (without and case.name.startswith(without)):
                continue
            left -= bytes_of(case)
            out.add(case, f"{name}/{case.name}")
            packed += 1
    return packed


def make(build: Path, bundle: Path) -> None:
    if bundle.exists():
        if not (bundle / "bundle.json").exists() and any(bundle.iterdir()):
            fail(f"{bundle} is there and is no bundle; name another folder")
        shutil.rmtree(bundle)
    bundle.mkdir(parents=True)
    install(build, bundle)
    cases = pack(BUILD / "conformance/node", bundle / "node.tar.xz", "node", 1 << 40, OF_OTHERS)
    if cases == 0:
        fail("there are no node cases: build/venv/bin/python tools/conformance/write_cases.py build/conformance")
    models = pack(DATA / "models", bundle / "models.tar.xz", "models", MOST_OF_MODELS)
    from cuda_networks import write_networks  # NumPy and ONNX are there after the set-up only

    write_networks(bundle / "networks")
    for id in ("cuda", "cpu"):
        shutil.copy2(ROOT / f"plugins/{id}/expectations.json", bundle / f"expectations-{id}.json")
    shutil.copy2(ROOT / "tools/cuda_run.py", bundle / "run")
    (bundle / "run").chmod(0o755)
    for script in ("cuda_machine.py", "cuda_peers.py", "cuda_exports.py"):
        shutil.copy2(ROOT / "tools" / script, bundle)
    version = run(bundle / "bin/tenon", "--version").strip()
    (bundle / "bundle.json").write_text(json.dumps({"version": version, "cases": cases, "models": models, "measured": MEASURED}) + "\n")
    size = bytes_of(bundle)
    if size > MOST_BYTES:
        fail(f"{bundle} has {size >> 20} MiB, at most {MOST_BYTES >> 20} are wanted")
    print(f"test-cuda: {bundle} has {size / (1 << 20):.0f} MiB: {cases} node cases, {models} models")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/test-cuda", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=BUILD / "release")
    parser.add_argument("--bundle", type=Path, metavar="DIR", help="make the folder, and do not run it")
    parser.add_argument("--output", type=output_file, metavar="FILE", help="file that gets the table; the log is beside it")
    parser.add_argument("--minutes", type=minutes, help="of the run; when they are over, what is left is not run")
    parser.add_argument("--quick", action="store_true", help="a few small cases, and short measurements")
    parser.add_argument("--on-stand-ins", action="store_true", help="a part of it, on what stands in for NVIDIA's libraries in the tests")
    parser.add_argument("--check-arguments", action="store_true", help=argparse.SUPPRESS)  # and do nothing
    options = parser.parse_args()
    of_run = {"--output": options.output, "--minutes": options.minutes, "--quick": options.quick, "--on-stand-ins": options.on_stand_ins}
    if options.bundle and any(of_run.values()):
        given = ", ".join(name for name, value in of_run.items() if value)
        parser.error(f"--bundle only makes the folder; give {given} to its run")
    return options


def main() -> int:
    options = arguments()
    if options.check_arguments:
        return 0
    build = options.build.resolve()
    bundle = (options.bundle or build / "test-cuda").resolve()
    make(build, bundle)
    if options.bundle:
        return 0
    words: list[object] = ["--quick"] if options.quick or options.on_stand_ins else []
    words += ["--output", options.output] if options.output else []
    words += ["--minutes", options.minutes] if options.minutes else []
    words += ["--on-stand-ins", build / "fakes/cuda"] if options.on_stand_ins else ["--libraries", BUILD / "cuda/lib"]
    # By the user's Python, which may have PyTorch and ONNX Runtime.
    return subprocess.run([str(word) for word in [bundle / "run", *words]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
