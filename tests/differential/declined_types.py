#!/usr/bin/env python3
"""Lists the element types that an operator's schema allows and the cpu provider declines.

    declined_types.py build/release [--operators NAME...]

Cases come from the generators, with one type parameter held at each type in turn; refusals that name a type count.
"""

import argparse
import collections
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "support"))

import cases  # noqa: E402
import tenon_c  # noqa: E402
from draw import DTYPES, Draw, NoSuchCase  # noqa: E402
from judge import run_tenon  # noqa: E402
from onnx import defs  # noqa: E402
from registry import GENERATORS  # noqa: E402

ATTEMPTS = 25  # draws, until three give a case that uses the type
DECLINED = re.compile(r"has element type|element type \w+ is not supported|computes nothing of")


class Held(Draw):
    """Draws `number` wherever the generator asks for the type parameter."""

    def __init__(self, seed: int, parameter: str, number):
        super().__init__(seed, cases.NEWEST[""])
        self.parameter, self.number, self.used = parameter, number, False
        self.chains, self.wrong = False, False

    def dtype(self, op, parameter="T", domain="", only=None):
        schema = defs.get_schema(op, self.opset if domain == "" else cases.NEWEST[domain], domain)
        known = {c.type_param_str for c in schema.type_constraints}
        asked = parameter if parameter in known else schema.inputs[0].type_str
        if asked != self.parameter:
            return super().dtype(op, parameter, domain, only)
        self.used = True
        return self.number


def parameters(schema: defs.OpSchema):
    for constraint in schema.type_constraints:
        names = [text[7:-1] for text in constraint.allowed_type_strs if text.startswith("tensor(")]
        for name in sorted(name for name in names if name in DTYPES):
            yield constraint.type_param_str, name


def answer(api, domain: str, op: str, parameter: str, name: str) -> str:
    """"" when a case ran or nothing could be drawn; else what the provider says of the type."""
    words = ""
    for seed in range(ATTEMPTS):
        draw = Held(seed, parameter, DTYPES[name])
        try:
            GENERATORS[domain, op][seed % len(GENERATORS[domain, op])](draw, op)
            model = draw.finish()
        except Exception:  # a generator that cannot make this type says so in many ways
            continue
        if not draw.used:
            continue
        try:
            run_tenon(api, cases.Case(model, draw.inputs, op), "cpu", 1)
            return ""
        except tenon_c.TenonError as error:
            if DECLINED.search(str(error)):
                words = str(error)
        except Exception:  # an array that numpy cannot make
            continue
    return words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--operators", nargs="*", default=[])
    args = parser.parse_args()
    api = tenon_c.Api(args.build.resolve() / "lib" / "libtenon.so")
    declined = collections.defaultdict(list)
    for domain, op in cases.operator_names(args.operators):
        try:
            schema = defs.get_schema(op, cases.NEWEST[domain], domain)
        except defs.SchemaError:  # com.microsoft has none
            continue
        if schema.deprecated:
            continue
        for parameter, name in parameters(schema):
            if answer(api, domain, op, parameter, name):
                declined[domain, op, parameter].append(name)
    for (domain, op, parameter), names in declined.items():
        print(f"{domain + ':' if domain else ''}{op} {parameter}: {', '.join(names)}")
    print(f"{sum(map(len, declined.values()))} types of {len(declined)} parameters are declined")
    return 0


if __name__ == "__main__":
    sys.exit(main())
