"""Operators without a generator, each with the reason."""

import re
from pathlib import Path

from onnx import defs
from registry import GENERATORS

REASONS = {
    ("", "ImageDecoder"): "neither reference decodes by itself",
    ("ai.onnx.preview.training", "Gradient"): "no reference computes it",
    ("com.microsoft", "BiasSoftmax"): "ONNX Runtime has no kernel for processors",
    ("com.microsoft", "GroupNorm"): "ONNX Runtime has no kernel for processors",
    ("com.microsoft", "LayerNormalization"): "ONNX Runtime has no such operator",
    ("com.microsoft", "SimplifiedLayerNormalization"): "ONNX Runtime has it in ai.onnx",
}


def own_operators() -> set[tuple[str, str]]:
    """Those of core's own table."""
    table = (Path(__file__).resolve().parents[2] / "core" / "ops" / "contrib.cc").read_text()
    rows = re.findall(r'\{(kMs|""), "(\w+)", \d', table)
    return {("com.microsoft" if domain == "kMs" else "", name) for domain, name in rows}


def report() -> int:
    """Prints what is covered; 1 when an operator has neither a generator nor a reason."""
    standard = {(s.domain, s.name) for s in defs.get_all_schemas_with_history()}
    known = standard | own_operators()
    covered = set(GENERATORS)
    print(f"{len(covered)} operators have a generator: {len(covered & standard)} of ONNX's {len(standard)}, "
          f"{len(covered - standard)} of {len(known - standard)} others")
    missing = sorted(known - covered)
    for key in missing:
        print(f"not covered: {key[0] or 'ai.onnx'}:{key[1]}: {REASONS.get(key, 'no reason is given')}")
    return 1 if any(key not in REASONS for key in missing) else 0
