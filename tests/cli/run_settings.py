#!/usr/bin/env python3
"""Runs a row for every key of the config and every environment variable: two values, two effects, or the refusal.

    run_settings.py build/release/bin/tenon [--filter TEXT]

The keys are those that `tenon config schema` prints, the variables those that the sources read; one without a row fails. A row
of settings_rows/ gives the key two values and returns what each did: outputs, who ran, exit codes, processes, files, threads,
memory or time, never what `config show` or `explain` print. The effects must differ. Each key without a provider in its name is
tried twice, from a file and as TENON_<KEY>. What can only be seen inside one process is a test of host_tests that the row
names. Prints a line for each failure, then `N passed, N failed`; ends with 1 when one failed.
"""

import argparse
import re
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import command
import config_keys
import run_errors
import settings_rows

READS = re.compile(r'(?:getenv|environment|environment_ignored|variable)\((?:Place::\w+, )?"([A-Z][A-Z0-9_]+)"\)'
                   r'|(?:kOtherVariables|kShortVariables)\[\] = \{(.*?)\};|user_directory\("(\w+)"', re.DOTALL)


def variables_read() -> set[str]:
    """What the shipped sources ask the environment for, beside the variables of keys."""
    found = set()
    for folder in ("host", "plugins", "tools/tenon"):
        for path in (run_errors.ROOT / folder).rglob("*.[ch]*"):
            for name, listed, kind in READS.findall(path.read_text(errors="replace")):
                found |= {name} if name else set()
                found |= set(re.findall(r'"(TENON_\w+)"', listed))
                found |= {f"XDG_{kind}_HOME", "HOME"} if kind else set()
    return {name for name in found if not name.startswith("LD_")}  # those are the dynamic loader's


def try_row(tenon: Path, name: str, row, variable: str) -> list[str]:
    # Not in /tmp: a folder above that everybody may write to makes providers untrusted.
    with tempfile.TemporaryDirectory(dir=tenon.parents[1], prefix="settings-") as folder:
        bench = settings_rows.Bench(tenon, Path(folder), name, variable)
        try:
            effects = row(bench)
        except Exception:  # whatever a row trips over is its failure
            return [traceback.format_exc(limit=3)]
    if effects is None:
        return []  # the row has asserted what is to be seen
    return [] if effects[0] != effects[1] else [f"both values do the same: {effects[0]!r}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon", type=Path)
    parser.add_argument("--filter", default="", help="only rows with this text in their name")
    args = parser.parse_args()
    tenon = args.tenon.resolve()
    keys, variables = config_keys.keys(config_keys.schema(tenon)), variables_read()
    failures = [f"key {key}: no row in settings_rows/" for key in keys if key not in settings_rows.KEYS]
    failures += [f"variable {name}: no row in settings_rows/" for name in sorted(variables) if name not in settings_rows.VARIABLES]
    failures += [f"row {name}: nothing reads it" for name in settings_rows.KEYS if name not in keys and "options" not in name]
    failures += [f"row {name}: nothing reads it" for name in settings_rows.VARIABLES if name not in variables]
    for key, schema_row in keys.items():
        unrefused = [word for word in schema_row.get("x-refused", {}) if (key, word) not in settings_rows.REFUSED]
        failures += [f"key {key}: no row for the refused value {word}" for word in unrefused]
    tried = [(key, row, "") for key, row in settings_rows.KEYS.items()]
    tried += [(key, row, command_variable(key)) for key, row in settings_rows.KEYS.items() if "*" not in key]
    tried += [(name, row, "") for name, row in settings_rows.VARIABLES.items()]
    tried += [(f"{key}={word}", settings_rows.refusal(key, word, cure), "")
              for (key, word), cure in settings_rows.REFUSED.items()]
    tried = [entry for entry in tried if args.filter in entry[0]]
    passed = 0
    for name, row, variable in tried:
        problems = try_row(tenon, name, row, variable)
        passed += not problems
        failures += [f"{variable or name}: {problem}" for problem in problems]
    for failure in failures:
        print(f"failed {failure}", flush=True)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or not tried else 0


def command_variable(key: str) -> str:
    return "TENON_" + key.upper().replace(".", "_")


if __name__ == "__main__":
    sys.exit(main())
