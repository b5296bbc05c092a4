"""What the tests share. TENON_REPOSITORY is the checkout; the package is on PYTHONPATH or installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("TENON_REPOSITORY", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def digits() -> Path:
    return ROOT / "tests/data/digits/digits.onnx"


@pytest.fixture
def script(tmp_path):
    """Runs a program in a process of its own, and gives what it printed. Fails when it ends by a signal or hangs."""

    def run(text: str, *arguments: str, timeout: float = 120, code: int = 0, python: str = sys.executable, **environment: str) -> str:
        path = tmp_path / "script.py"
        path.write_text(text, encoding="utf-8")
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
        variables.update(environment)
        done = subprocess.run(
            [python, "-X", "faulthandler", str(path), *arguments], env=variables, capture_output=True, text=True, timeout=timeout
        )
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def real_onnxruntime(tmp_path_factory) -> str:
    """A PYTHONPATH with this package, and with ONNX Runtime itself, which the environment of the tests does not have."""
    (found,) = ROOT.glob("build/venv/lib/python3*/site-packages/onnxruntime")
    folder = tmp_path_factory.mktemp("onnxruntime")
    (folder / "onnxruntime").symlink_to(found)
    return os.pathsep.join([str(Path(__file__).parent), str(folder), os.environ.get("PYTHONPATH", "")])
