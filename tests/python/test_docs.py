"""The Python blocks of the pages run, in their order, each page in a process and a folder of its own."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from conftest import ROOT

PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("host/python/*.md"), *ROOT.glob("plugins/*/*.md")]
    if "```python\n" in path.read_text(encoding="utf-8")
)


def test_there_are_pages():
    assert {"README.md", "docs/python.md", "docs/from-onnxruntime.md"} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_blocks(page, script, tmp_path):
    digits = ROOT / "tests/data/digits"
    shutil.copy(digits / "digits.onnx", tmp_path)
    shutil.copy(digits / "digit_7.npy", tmp_path)
    shutil.copy(digits / "digits.onnx", tmp_path / "model.onnx")
    np.save(tmp_path / "digit.npy", np.load(digits / "digit_7.npy"))
    text = (ROOT / page).read_text(encoding="utf-8")
    lines: list[str] = ["import os; os.chdir(os.path.dirname(__file__))"]
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M):
        lines += [""] * (text[: block.start(1)].count("\n") - len(lines)) + block[1].splitlines()
    if page.startswith("host/python"):  # shows a model with an input x
        (tmp_path / "model.onnx").write_bytes(_named_x())
    out = script("\n".join(lines))
    if page in ("README.md", "docs/python.md"):
        assert out.splitlines()[0] == "7"


def _named_x() -> bytes:
    from models import model, tensor
    from onnx import helper

    return model([helper.make_node("Identity", ["x"], ["y"])], [tensor("x", 1, ["N", 3])], [tensor("y", 1, ["N", 3])]).SerializeToString()
