#!/usr/bin/env python3
"""ep-sdk/RULES.md and ep-sdk/manifest.schema.json against the code that checks what they say."""

import json
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "ep-sdk" / "RULES.md"
SCHEMA = ROOT / "ep-sdk" / "manifest.schema.json"
RULE = re.compile(r"^\| R(\d+)(?: \*)? \| (.+?) \| (.+?) \|$", re.MULTILINE)
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def rules():
    return {int(number): checked for number, _, checked in RULE.findall(RULES.read_text())}


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cc", ".hpp"):
                yield path.read_text()


def has_type(value, name):
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, TYPES[name])


def complaints(value, schema, place="$"):
    """The part of JSON Schema that the file uses; an unknown keyword is a complaint too."""
    found = []
    for key, rule in schema.items():
        if key in ("$schema", "title", "description", "default"):
            continue
        bad = False
        if key == "type":
            bad = not any(has_type(value, t) for t in ([rule] if isinstance(rule, str) else rule))
        elif key == "const":
            bad = value != rule
        elif key == "enum":
            bad = value not in rule
        elif key == "pattern":
            bad = isinstance(value, str) and re.search(rule, value) is None
        elif key in ("minLength", "minItems"):
            bad = len(value) < rule
        elif key == "maxItems":
            bad = len(value) > rule
        elif key == "minimum":
            bad = value < rule
        elif key == "maximum":
            bad = value > rule
        elif key == "required":
            found += [f"{place}: {name} is missing" for name in rule if name not in value]
        elif key == "properties":
            for name, inner in rule.items():
                if name in value:
                    found += complaints(value[name], inner, f"{place}.{name}")
        elif key == "additionalProperties":
            for name, inner in value.items():
                found += complaints(inner, rule, f"{place}.{name}")
        elif key == "items":
            for i, inner in enumerate(value):
                found += complaints(inner, rule, f"{place}[{i}]")
        else:
            found.append(f"{place}: keyword {key} is not known to this test")
        if bad:
            found.append(f"{place}: {key} {rule!r} is broken by {value!r}")
            if key == "type":
                return found
    return found


def property_names(schema):
    names = set()
    for name, inner in schema.get("properties", {}).items():
        names |= {name} | property_names(inner) | property_names(inner.get("items", {}))
    return names


class Rules(unittest.TestCase):
    def test_numbers_rise_without_a_double(self):
        numbers = [int(n) for n, _, _ in RULE.findall(RULES.read_text())]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        self.assertGreater(len(numbers), 50)

    def test_whatever_the_host_cites_is_a_rule(self):
        cited = {int(n) for text in sources("host", "core") for n in re.findall(r'"R(\d+): ', text)}
        self.assertTrue(cited)
        self.assertEqual(cited - set(rules()), set())

    def test_a_rule_that_the_host_checks_has_a_test_of_its_number(self):
        tested = {
            int(n) for text in sources("tests/unit/host") for n in re.findall(r"TEST(?:_F)?\((?:Load)?Rules, R(\d+)\)", text)
        }
        checked = {number for number, by in rules().items() if by == "run" or by.startswith("E_")}
        checked.discard(7)  # an undefined symbol is told by the dynamic loader
        self.assertEqual(checked - tested, set())
        self.assertEqual(tested - set(rules()), set())


class ManifestSchema(unittest.TestCase):
    def setUp(self):
        self.schema = json.loads(SCHEMA.read_text())
        self.manifest = {
            "manifest_version": 1,
            "provider": {"id": "acme", "name": "Acme", "vendor": "Acme", "version": "1.2.3-rc.1+b5"},
            "abi": {"major": 0, "min_minor": 1, "max_minor": 1},
            "library": {"path": "acme/1.2.3/a.so", "sha256": "0" * 64, "size": 1, "os": "linux", "arch": "x86_64"},
            "opsets": {"": [1, 22]},
            "options": [{"name": "tf32", "type": "bool", "default": True}],
            "x-anything": {"a": [1]},
        }

    def test_a_good_manifest(self):
        self.assertEqual(complaints(self.manifest, self.schema), [])

    def test_bad_manifests(self):
        for path, value in [
            ("manifest_version", 2), ("provider.id", "Acme"), ("provider.version", "1.2"), ("library.path", "../a.so"),
            ("library.path", "a/../../b.so"), ("library.path", "/a.so"), ("library.sha256", "xyz"), ("library.size", 0),
            ("abi.major", -1), ("abi.major", True), ("opsets", {"": [1]}), ("options", [{"name": "a"}]),
            ("options", [{"name": "a", "type": "library"}]), ("priority", 1e9), ("traits", {"completes": "yes"}),
            ("devices", [{"kind": "quantum"}]), ("files", [{"path": "a"}]),
            ("files", [{"path": "../a", "sha256": "0" * 64, "size": 1}]),
        ]:  # fmt: skip
            changed = json.loads(json.dumps(self.manifest))
            *folders, name = path.split(".")
            at = changed
            for folder in folders:
                at = at[folder]
            at[name] = value
            self.assertNotEqual(complaints(changed, self.schema), [], (path, value))
        for name in self.schema["required"]:
            changed = {key: value for key, value in self.manifest.items() if key != name}
            self.assertNotEqual(complaints(changed, self.schema), [], name)

    def test_the_templates_of_this_tree(self):
        inner = {**self.schema, "required": []}
        inner["properties"] = {
            key: {k: v for k, v in value.items() if k != "required"} for key, value in self.schema["properties"].items()
        }
        templates = [p for folder in ("ep-sdk", "plugins", "tests") for p in (ROOT / folder).rglob("manifest.json.in")]
        self.assertTrue(templates)
        for template in templates:
            self.assertEqual(complaints(json.loads(template.read_text()), inner), [], template)

    def test_the_host_reads_the_same_keys(self):
        text = (ROOT / "host" / "provider" / "manifest.cc").read_text()
        read = set(re.findall(r'(?:in|inner)\.(?:text|integer|flag|strings|objects?|elements|find)\(\s*"(\w+)"', text))
        read |= set(re.findall(r'read_bound\(in, "(\w+)"', text)) | {"$schema"}
        self.assertEqual(property_names(self.schema), read)


if __name__ == "__main__":
    unittest.main()
