"""mypy agrees with the package's types, and every public name has a docstring."""

from __future__ import annotations

import inspect
import subprocess
import sys

import tenon
from conftest import ROOT


def test_mypy(tmp_path):
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), "--python-version", "3.11", str(ROOT / "host/python/tenon")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_docstrings():
    missing = []
    for name in tenon.__all__:
        item = getattr(tenon, name)
        if not item.__doc__:
            missing.append(name)
        if inspect.isclass(item):
            missing += [
                f"{name}.{member}"
                for member, value in vars(item).items()
                if not member.startswith("_") and callable(value) and not value.__doc__
            ]
    assert missing == []
