#!/usr/bin/env python3
"""Every operator with a kernel has a table of cases. That its kernels state contracts is a test of the built libraries."""

import re
import tempfile
import unittest
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ["plugins/cpu/kernels"]  # other providers have no operator that it lacks
TABLES = ROOT / "tests/ops"

MACRO = re.compile(r"^#define (\w+)\(([^)]*)\)((?:.*\\\n)*.*)", re.M)
TABLE = re.compile(r"\bOP_(?:CASES|FAILS)\(\s*(\w+),")
TABLE_IN = re.compile(r'\bOP_(?:CASES|FAILS)(?:_LOWERED)?_IN\(\s*"([^"]*)",\s*(\w+),')


class Kernel(NamedTuple):
    place: str
    domain: str
    operator: str


def calls(text: str, name: str) -> Iterator[tuple[int, str]]:
    """Position and arguments of each call of a macro, at the beginning of a line."""
    for match in re.finditer(rf"^\s*{name}\(", text, re.M):
        depth, quoted = 1, False
        for end in range(match.end(), len(text)):
            c = text[end]
            if c == '"':
                quoted = not quoted
            elif not quoted:
                depth += (c == "(") - (c == ")")
            if depth == 0:
                yield match.start(), text[match.end():end]
                break


def literal(field: str, arguments: str) -> Optional[str]:
    """The value of `.field = "..." "..."`."""
    match = re.search(rf'\.{field} =((?:\s*"[^"]*")+)', arguments)
    return "".join(re.findall(r'"([^"]*)"', match[1])) if match else None


def registrations(text: str, macros: dict[str, tuple[list[str], str]]) -> Iterator[tuple[int, str]]:
    """Position and arguments of every TENON_KERNEL, those that a macro of the folder writes included."""
    plain = MACRO.sub(lambda m: "\n" * m[0].count("\n"), text)
    yield from ((plain[:at].count("\n") + 1, arguments) for at, arguments in calls(plain, "TENON_KERNEL"))
    for name, (parameters, body) in macros.items():
        for at, arguments in calls(plain, name):
            filled = body
            for parameter, value in zip(parameters, arguments.split(",")):
                filled = re.sub(rf"#{parameter}\b", f'"{value.strip()}"', filled)
                filled = re.sub(rf"\b{parameter}\b", value.strip(), filled)
            for _, inner in calls(filled, "TENON_KERNEL"):
                yield plain[:at].count("\n") + 1, inner


def kernels(folder: Path) -> list[Kernel]:
    sources = {path: path.read_text() for path in sorted(folder.rglob("*")) if path.suffix in (".cc", ".h")}
    macros = {}
    for text in sources.values():
        for match in MACRO.finditer(text):
            body = match[3].replace("\\\n", "\n")
            if "TENON_KERNEL(" in body:
                macros[match[1]] = ([p.strip() for p in match[2].split(",")], body)
    out = []
    for path, text in sources.items():
        for line, arguments in registrations(text, macros):
            out.append(Kernel(f"{path.relative_to(folder)}:{line}", literal("domain", arguments) or "",
                              literal("op_type", arguments) or ""))
    return out


def tables(folder: Path) -> set[tuple[str, str]]:
    """Domain and operator of every table."""
    out = set()
    for path in folder.rglob("*_test.cc"):
        text = path.read_text()
        out |= {("", name) for name in TABLE.findall(text)} | set(TABLE_IN.findall(text))
    return out


class Tables(unittest.TestCase):
    maxDiff = None

    def test_every_operator_has_a_table(self):
        known = tables(TABLES)
        for folder in KERNELS:
            missing = [f"{folder}/{k.place}: {k.domain}{'.' if k.domain else ''}{k.operator} has no table in tests/ops"
                       for k in kernels(ROOT / folder) if (k.domain, k.operator) not in known]
            self.assertEqual(missing, [])

    def test_what_is_missing_is_noticed(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "family.h").write_text('#define FAMILY(NAME, SINCE) \\\n'
                                             '  TENON_KERNEL(NAME, .op_type = #NAME, .until = SINCE - 1) \\\n'
                                             '  TENON_KERNEL(NAME, .op_type = #NAME, .since = SINCE, .contract = "X: any")\n')
            (folder / "add.cc").write_text('TENON_KERNEL(Add, .op_type = "Add", .since = 7,\n'
                                           '             .contract = "A: (~); "\n                         "B: ~")\n'
                                           'FAMILY(Mean, 13)\nTENON_KERNEL(Sub, .domain = "acme", .op_type = "Sub")\n'
                                           '// TENON_KERNEL(Not, .op_type = "Not")\n')
            (folder / "ops_test.cc").write_text('OP_CASES(Add, 7, {})\nOP_FAILS_IN("acme",\n  Sub, 1, {})\n')
            self.assertEqual(kernels(folder), [
                Kernel("add.cc:1", "", "Add"),
                Kernel("add.cc:5", "acme", "Sub"),
                Kernel("add.cc:4", "", "Mean"),
                Kernel("add.cc:4", "", "Mean"),
            ])
            self.assertEqual(tables(folder), {("", "Add"), ("acme", "Sub")})


if __name__ == "__main__":
    unittest.main()
