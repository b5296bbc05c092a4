#!/usr/bin/env python3
"""json_shapes.py BUILD_DIR: what Tenon prints as JSON has the fields that docs/json.md says, with their types, and no others.

A table of the page is a shape. Each is held against real output of json_samples.py: a field that is there and not in the table
fails, one of the table that is absent, unless its name ends in `?`, and one that no sample has.
"""

import re
import sys
import tempfile
import unittest
from dataclasses import dataclass, field
from pathlib import Path

import json_samples

REPO = Path(__file__).resolve().parents[2]
PAGE = REPO / "docs/json.md"
# What no sample can have in a test, and why.
UNSEEN = {
    "Traces": {"otherData": "events are dropped after a million of them"},
    "Providers": {"[].devices[].same_as[]": "no two providers here have the same hardware"},
    "Doctor": {"providers[].devices[].same_as[]": "no two providers here have the same hardware"},
    "Plans": {
        "plans[].steps[].waits_for": "the sample has one instance with a stream",
        "plans[].islands[].reason": "the sample's provider records everything",
        "plans[].uploads[]": "no claim of the sample reads a constant",
    },
    "Explain": {f"parts[].cost.{name}": "no provider here estimates it" for name in ("flops", "bytes", "time_ns")},
}
BUILD = Path()


@dataclass
class Shape:
    types: set[str] = field(default_factory=set)
    members: dict[str, "Shape"] = field(default_factory=dict)
    free: "Shape | None" = None  # of an object whose names are not fixed
    element: "Shape | None" = None
    may_lack: bool = False
    seen: bool = False


def type_name(value) -> str:
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "list"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "null"


def place(root: Shape, path: str) -> Shape:
    """The shape at `nodes[].name`, made where it is not there yet, with what it is in."""
    here = root
    for name, free, _ in re.findall(r"([\w$]+)|<(\w[\w ]*)>|(\[\])", path):
        here.types.add("object" if name or free else "list")
        if name:
            here = here.members.setdefault(name, Shape())
        elif free:
            here.free = here.free or Shape()
            here = here.free
        else:
            here.element = here.element or Shape()
            here = here.element
    return here


def find(root: Shape, path: str) -> Shape:
    for name, free, _ in re.findall(r"([\w$]+)|<(\w[\w ]*)>|(\[\])", path):
        root = root.members[name] if name else root.free if free else root.element
    return root


def read_page(text: str) -> dict[str, Shape]:
    shapes = {}
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        rows = re.findall(r"^\| `([^`]+)` \| (.+?) \|.*\|$", section, re.M)
        title, root = section.splitlines()[0], Shape()
        for path, said in rows:
            shape = place(root, path.rstrip("?"))
            shape.may_lack = path.endswith("?")
            same = re.fullmatch(r"(null or )?as (?:`(\S+)` of )?\[(.+?)\]\(.*\)", said)
            if same:
                source = find(shapes.get(same[3], root), same[2] or "")
                shape.members, shape.free, shape.element = source.members, source.free, source.element
                shape.types = source.types | ({"null"} if same[1] else set())
                continue
            for word in said.split(" or "):
                shape.types.add("list" if word.startswith("list of") else word)
                if word.startswith("list of"):
                    shape.element = Shape(types={word.removeprefix("list of ").removesuffix("s")})
        if rows:
            shapes[title] = root
    return shapes


def problems(value, shape: Shape, path: str = "") -> list[str]:
    shape.seen = True
    name = type_name(value)
    if name not in shape.types and not (name == "integer" and "number" in shape.types) and "any" not in shape.types:
        return [f"{path or 'the whole'} is {name}, the page says {' or '.join(sorted(shape.types)) or 'nothing'}"]
    found = []
    if isinstance(value, dict) and "any" not in shape.types:
        found += [f"{path}.{key} is absent" for key, inner in shape.members.items() if key not in value and not inner.may_lack]
        for key, inner in value.items():
            known = shape.members.get(key) or shape.free
            found += problems(inner, known, f"{path}.{key}") if known else [f"{path}.{key} is not on the page"]
    elif isinstance(value, list) and shape.element:
        for inner in value:
            found += problems(inner, shape.element, f"{path}[]")
    return found


def unseen(shape: Shape, path: str = "") -> list[str]:
    if not shape.seen:
        return [path.lstrip(".")]
    inside = [(f"{path}.{name}", inner) for name, inner in shape.members.items()]
    inside += [(f"{path}.<>", shape.free)] if shape.free else []
    inside += [(f"{path}[]", shape.element)] if shape.element else []
    return [each for name, inner in inside for each in unseen(inner, name)]


class JsonShapes(unittest.TestCase):
    def test_the_page_says_what_is_printed(self):
        shapes = read_page(PAGE.read_text())
        # Not in /tmp: a folder above that everybody may write to makes providers untrusted.
        with tempfile.TemporaryDirectory(dir=BUILD, prefix="json.") as folder:
            samples = json_samples.all_samples(BUILD, Path(folder))
        self.assertEqual(set(shapes), set(samples))
        for title, values in samples.items():
            with self.subTest(title):
                found = [problem for value in values for problem in problems(value, shapes[title])]
                self.assertEqual(sorted(set(found)), [])
                self.assertEqual(set(unseen(shapes[title])), set(UNSEEN.get(title, {})))


class Judge(unittest.TestCase):
    PAGE = "## Thing\n\n| field | type | meaning |\n|---|---|---|\n| `a` | integer | x |\n| `b[].c?` | list of strings | y |\n"

    def judge(self, value) -> list[str]:
        return problems(value, read_page(self.PAGE)["Thing"])

    def test_it_takes_what_fits(self):
        self.assertEqual(self.judge({"a": 1, "b": [{"c": ["x"]}, {}]}), [])

    def test_it_names_what_does_not(self):
        self.assertEqual(self.judge({"a": 1.5, "b": []}), [".a is number, the page says integer"])
        self.assertEqual(self.judge({"b": []}), [".a is absent"])
        self.assertEqual(self.judge({"a": 1, "b": [{"d": 1}]}), [".b[].d is not on the page"])
        self.assertEqual(self.judge({"a": 1, "b": [{"c": [1]}]}), [".b[].c[] is integer, the page says string"])

    def test_it_names_what_was_not_seen(self):
        shape = read_page(self.PAGE)["Thing"]
        problems({"a": 1, "b": [{}]}, shape)
        self.assertEqual(unseen(shape), ["b[].c"])


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
