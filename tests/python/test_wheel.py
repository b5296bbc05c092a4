"""The wheel: in a fresh environment it runs the README's lines, the command, other packages' providers; it needs nothing else.

tools/wheel makes build/wheels first. pip loads numpy.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

DIGITS = ROOT / "tests/data/digits"


def clean(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TENON_"))} | environment


def must(*words: object, folder: Path | None = None, **environment: str) -> str:
    done = subprocess.run([str(word) for word in words], cwd=folder, env=clean(environment), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel() -> Path:
    (found,) = (ROOT / "build/wheels").glob("tenon-*.whl")
    return found


@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory) -> Path:
    """A new environment with the wheel."""
    folder = tmp_path_factory.mktemp("fresh")
    must("/usr/bin/python3", "-m", "venv", folder / "venv")
    must(folder / "venv/bin/pip", "install", "--disable-pip-version-check", "-q", wheel)
    return folder / "venv"


def test_names_and_size(wheel):
    assert re.fullmatch(r"tenon-[0-9.]+-cp311-abi3-manylinux_2_3[0-4]_x86_64\.whl", wheel.name)
    assert wheel.stat().st_size <= 40_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for wanted in ("tenon/_tenon.abi3.so", "tenon/py.typed", "tenon/_tenon.pyi", "tenon/lib/libtenon.so.0", "tenon/lib/tenon-scan", "tenon/bin/tenon", "tenon_as_onnxruntime.pth"):
        assert wanted in names
    assert {name.rsplit("/", 1)[1].split("-")[0] for name in names if name.endswith(".tenon.json")} == {"cpu", "image", "onednn"}


def test_auditwheel(wheel):
    said = must(sys.executable, "-m", "auditwheel", "show", wheel)
    assert re.search(r'"manylinux_2_3[0-4]_x86_64"', said), said


def test_the_readme(fresh, tmp_path):
    text = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S | re.M)
    for name in ("digits.onnx", "digit_7.npy"):
        shutil.copy(DIGITS / name, tmp_path)
    assert must(fresh / "bin/python", "-c", text[1], folder=tmp_path).strip() == "7"


def test_the_command(fresh, tmp_path):
    said = must(fresh / "bin/tenon", "run", DIGITS / "digits.onnx", "--input", f"image={DIGITS / 'digit_7.png'}")
    assert "7" in said
    listed = must(fresh / "bin/tenon", "providers", "list")
    for provider in ("cpu", "onednn", "image"):
        assert re.search(rf"{provider}\b", listed)
    verdicts = must(fresh / "bin/python", "-c", "import tenon; print(*[(p.id, p.verdict, p.reason) for p in tenon.providers()], sep='\\n')")
    assert verdicts.count("'usable'") == 3, verdicts


def test_every_provider_works(fresh):
    program = f"""
import numpy as np, tenon
x = np.load({str(DIGITS / 'digit_7.npy')!r})
for order in (["cpu"], ["onednn", "cpu"]):
    config = {{"select.order": order, "provider.onednn.options.claim": "all"}} if "onednn" in order else {{"select.order": order}}
    session = tenon.Session({str(DIGITS / 'digits.onnx')!r}, config)
    print(session.explain().counts, session.run({{"image": x}})["probabilities"].argmax())
"""
    said = must(fresh / "bin/python", "-c", program)
    assert "onednn/cpu:0" in said and said.count(" 7\n") == 2, said


def test_the_variable(fresh):
    program = "import sys; assert 'tenon' not in sys.modules; import onnxruntime; print(onnxruntime.__name__, onnxruntime.get_available_providers())"
    said = must(fresh / "bin/python", "-c", program, TENON_AS_ONNXRUNTIME="1")
    assert said.startswith("tenon.onnxruntime ")
    absent = must(fresh / "bin/python", "-c", "import importlib.util; print(importlib.util.find_spec('onnxruntime'))", TENON_AS_ONNXRUNTIME="0")
    assert absent.strip() == "None"
    assert "TENON_AS_ONNXRUNTIME" not in must(fresh / "bin/tenon", "config", "check", TENON_AS_ONNXRUNTIME="1")


def test_a_provider_of_the_scaffold(fresh, tmp_path):
    """`tenon new-provider` writes a project whose wheel is found without a path."""
    must(fresh / "bin/tenon", "new-provider", "acme-pip", folder=tmp_path)
    project = tmp_path / "acme-pip"
    tools = ROOT / "build/python-tests"
    (site,) = (fresh / "lib").glob("python3*/site-packages")
    must(tools / "bin/python", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-w", tmp_path / "wheels", project,
         CMAKE_PREFIX_PATH=str(site / "tenon"), PATH=f"{tools / 'bin'}:{os.environ['PATH']}")
    (made,) = (tmp_path / "wheels").glob("*.whl")
    must(fresh / "bin/pip", "install", "-q", "--no-deps", "--disable-pip-version-check", made)
    try:
        program = f"""
import numpy as np, tenon
session = tenon.Session({str(DIGITS / 'digits.onnx')!r}, {{"select.order": ["acme-pip", "cpu"]}})
print(session.explain().counts, session.run({{"image": np.load({str(DIGITS / 'digit_7.npy')!r})}})["probabilities"].argmax())
"""
        said = must(fresh / "bin/python", "-c", program)
        assert "'acme-pip/cpu:0'" in said and said.strip().endswith("7"), said
        assert "acme-pip" in must(fresh / "bin/tenon", "providers", "list")
        # It need not be named, and nobody is warned then.
        quiet = f"import tenon; print(tenon.Session({str(DIGITS / 'digits.onnx')!r}).explain().counts)"
        done = subprocess.run([fresh / "bin/python", "-W", "error", "-c", quiet], env=clean({}), capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stderr == "" and "acme" not in done.stdout, done.stderr
    finally:
        must(fresh / "bin/pip", "uninstall", "-q", "-y", "tenon-acme-pip")


def test_broken_provider_packages_do_not_stop_others(fresh):
    (site,) = (fresh / "lib").glob("python3*/site-packages")
    info = site / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[tenon.providers]\nbroken = nothing_there:folder\n")
    try:
        program = "import warnings; warnings.simplefilter('always'); import tenon; print(len(tenon.providers()))"
        done = subprocess.run([fresh / "bin/python", "-c", program], env=clean({}), capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "3" and "'broken'" in done.stderr and "nothing_there" in done.stderr
    finally:
        shutil.rmtree(info)


def libraries(*files: Path) -> set[str]:
    """What the loader opens for some files."""
    found = set()
    for file in files:
        said = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        found |= set(re.findall(r"(?:=> |^\s*)(/\S+)", said, re.M))
    return {name for name in found if "/tmp/" not in name and "site-packages" not in name}


def test_a_bare_root(fresh, tmp_path):
    """A root folder with Debian's Python, the C and C++ libraries and the environment, and nothing else."""
    root = tmp_path / "root"
    python = Path("/usr/bin/python3.11").resolve()
    standard = Path("/usr/lib/python3.11")
    for folder in ("usr/bin", "usr/lib", "tmp", "proc", "dev", "etc", "data", "root"):
        (root / folder).mkdir(parents=True)
    (root / "dev/null").touch()
    shutil.copy(python, root / "usr/bin/python3")
    shutil.copytree(standard, root / "usr/lib/python3.11", symlinks=False, ignore=shutil.ignore_patterns("__pycache__", "test", "dist-packages"), ignore_dangling_symlinks=True)
    (site,) = (fresh / "lib").glob("python3*/site-packages")
    for package in ("numpy", "numpy.libs", "tenon", "tenon.libs"):
        shutil.copytree(site / package, root / "data/site" / package)
    shutil.copy(site / "_tenon_as_onnxruntime.py", root / "data/site")
    wanted = libraries(python, *standard.glob("lib-dynload/*.so"), Path("/usr/lib/x86_64-linux-gnu/libstdc++.so.6"))
    wanted.add("/usr/lib/x86_64-linux-gnu/libstdc++.so.6")
    wanted |= {f"/usr/lib/x86_64-linux-gnu/{name}" for name in ("libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libgcc_s.so.1")}  # of libc6 and libgcc
    for name in wanted:
        target = root / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy(Path(name).resolve(), target)
    for name in ("digits.onnx", "digit_7.npy"):
        shutil.copy(DIGITS / name, root / "data")
    text = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S | re.M)
    (root / "data/program.py").write_text("import os; os.chdir('/data')\n" + text[1] + "print(sorted(p.id for p in tenon.providers() if p.verdict == 'usable'))\n")
    mounts = f"mount --rbind /proc '{root}/proc' && mount --bind /dev/null '{root}/dev/null' && exec chroot '{root}' /usr/bin/python3 /data/program.py"
    command = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", mounts]
    if os.getuid() != 0:
        command[1:1] = ["--user", "--map-root-user"]
    done = subprocess.run(command, env={"PYTHONPATH": "/data/site", "PYTHONHOME": "/usr", "HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split("\n")[:2] == ["7", "['cpu', 'image', 'onednn']"]
