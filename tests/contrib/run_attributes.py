#!/usr/bin/env python3
"""A row for every attribute of core's own operators (com.microsoft, and those that ONNX dropped): two values, two results.

    run_attributes.py build/release [--filter TEXT]

The operators and attributes are those of core/ops/contrib.cc; one without a row fails. The cpu provider runs the node with both
values: the outputs must differ, or one value must be refused by a message that names the attribute. What may change nothing is
listed with the reason, and then must change nothing. Where ONNX Runtime is installed, its schemas must have the same
attributes. Prints a line for each failure, then `N passed, N failed`; ends with 1 when one failed.
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

import attribute_rows
import numpy as np
from onnx import helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

ROW = re.compile(r'\{(kMs|""),\s*"(\w+)",[^"{}]*"([^"{}]*(?:"\s*"[^"{}]*)*)"(?:,\s*inputs\(\{[\d, ]*\}\))?\}')
TYPES = {"": "INT", "f": "FLOAT", "s": "STRING", "g": "GRAPH", "is": "INTS", "fs": "FLOATS", "ss": "STRINGS"}


def table() -> dict[tuple[str, str], dict[str, tuple[str, bool]]]:
    """{(domain, operator): {attribute: (type, required)}}"""
    found = {}
    text = (ROOT / "core" / "ops" / "contrib.cc").read_text()
    for domain, name, attributes in ROW.findall(text[text.index("own_operators()"):]):
        words = re.sub(r'"\s*"', "", attributes).split()
        rules = {word.rstrip("!").split(":")[0]: (TYPES[(word.rstrip("!").split(":") + [""])[1]], word.endswith("!")) for word in words}
        found["com.microsoft" if domain == "kMs" else "", name] = rules
    return found


def against_schemas(known: dict) -> list[str]:
    try:
        from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
    except ImportError:
        return []
    failures = []
    for schema in get_all_operator_schema():
        ours = known.get((schema.domain, schema.name))
        if ours is None or (schema.domain == "" and schema.since_version > 1):
            continue
        theirs = {name: (str(a.type).rsplit(".", 1)[-1], a.required) for name, a in schema.attributes.items()}
        failures += [f"{schema.name}: attribute {name} is {ours.get(name)}, ONNX Runtime has {theirs.get(name)}"
                     for name in sorted(ours.keys() | theirs.keys()) if ours.get(name) != theirs.get(name)]
    return failures


def model_of(domain: str, operator: str, row: attribute_rows.Row, attributes: dict) -> bytes:
    names = ["" if value is None else f"i{i}" for i, value in enumerate(row.inputs)]
    outputs = [f"o{i}" for i in range(row.outputs)]
    node = helper.make_node(operator, names, outputs, name="node", domain=domain, **{k: v for k, v in attributes.items() if v is not None})
    typed = lambda name, value: helper.make_tensor_value_info(name, attribute_rows.number_of(value), value.shape)  # noqa: E731
    kept = [attribute_rows.proto(f"i{i}", row.inputs[i]) for i in row.constants]
    inputs = [typed(f"i{i}", value) for i, value in enumerate(row.inputs) if value is not None and i not in row.constants]
    results = [helper.make_value_info(name, helper.make_tensor_type_proto(kind, None)) for name, kind in zip(outputs, row.kinds)]
    opsets = [helper.make_opsetid("", row.opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(helper.make_graph([node], "g", inputs, results, kept), opset_imports=opsets, ir_version=8).SerializeToString()


def effect(api, error_type, domain: str, operator: str, row: attribute_rows.Row, attributes: dict):
    """The outputs as lists, or the words of the error."""
    feeds = {f"i{i}": value for i, value in enumerate(row.inputs) if value is not None and i not in row.constants}
    try:
        with api.config({"select.order": '["cpu"]'}) as config, api.session(model_of(domain, operator, row, attributes), config) as session:
            return [np.asarray(output).tolist() for output in session.run(feeds)]
    except error_type as error:
        return str(error)


def try_row(api, error_type, key: tuple[str, str], row: attribute_rows.Row, attribute: str) -> str:
    """What is wrong, or nothing."""
    effects = [effect(api, error_type, *key, row, row.attributes | {attribute: value}) for value in row.values[attribute]]
    refused = [text for text in effects if isinstance(text, str)]
    if len(refused) == 2:
        return f"both values are refused: {refused[0]}"
    if refused and attribute not in refused[0] and row.words.get(attribute, attribute) not in refused[0]:
        return f"refused, and the message does not name it: {refused[0]}"
    same = repr(effects[0]) == repr(effects[1])
    if attribute in row.without_effect:
        return "" if same else f"is said to change nothing ({row.without_effect[attribute]}), and does"
    return "both values give the same" if same else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--filter", default="", help="only rows with this text in OPERATOR.ATTRIBUTE")
    args = parser.parse_args()
    known = table()
    failures, passed = against_schemas(known), 0
    with tempfile.TemporaryDirectory() as home:
        for name in [name for name in os.environ if name.startswith(("TENON_", "XDG_"))]:
            del os.environ[name]
        os.environ |= {"HOME": home}
        from tenon_c import Api, TenonError
        api = Api(args.build.resolve() / "lib" / "libtenon.so")
        for key, attributes in known.items():
            row = attribute_rows.ROWS.get(key)
            for attribute in attributes:
                name = f"{key[0] or 'ai.onnx'}:{key[1]}.{attribute}"
                if args.filter not in name:
                    continue
                problem = "no row" if row is None or attribute not in row.values else try_row(api, TenonError, key, row, attribute)
                passed += not problem
                failures += [f"{name}: {problem}"] if problem else []
    failures += [f"{key[1]}: a row for an operator that core does not have" for key in attribute_rows.ROWS if key not in known]
    for failure in failures:
        print(f"failed {failure}", flush=True)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
