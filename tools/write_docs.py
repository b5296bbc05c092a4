#!/usr/bin/env python3
"""write_docs.py TENON [--check]: fills in the generated tables of the documentation.

Config keys come from `TENON config schema`, the API from its headers, a provider's operators from the registrations
of its kernels, refusal codes from host/provider/refusal.h, the checks of the provider kit from `tenon-cts --list`, with
the tenon-cts beside TENON, and what is made of ONNX Runtime's names from the Python package. --check changes nothing, and fails when a page is not up to date.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import api_reference
import config_keys

REPO = pathlib.Path(__file__).resolve().parents[1]


def config_table(tenon):
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key, row in config_keys.keys(config_keys.schema(tenon)).items():
        default = f"`{json.dumps(row['default'])}`" if "default" in row else ""
        lines.append(f"| `{key.replace('*', '<id>')}` | {row['title']} | {default} | {row['description']} |")
    return "\n".join(lines)


def refusal_codes(_):
    text = (REPO / "host/provider/refusal.h").read_text()
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r'"\s+"', "", text)
    rows = re.findall(r'X\(k\w+,\s*"(E_\w+)",\s*"([^"]*)",\s*"([^"]*)"\)', text)
    if len(rows) < 20:
        sys.exit(f"write_docs: found only {len(rows)} refusal codes in host/provider/refusal.h")
    lines = ["| code | cause | cure |", "|---|---|---|"]
    return "\n".join(lines + [f"| `{code}` | {cause} | {cure} |" for code, cause, cure in sorted(rows)])


def cts_checks(tenon):
    command = pathlib.Path(tenon).with_name("tenon-cts")
    rows = subprocess.run([command, "--list"], check=True, capture_output=True, text=True).stdout.splitlines()
    lines = ["| check | what holds when it passes |", "|---|---|"]
    return "\n".join(lines + [f"| `{id}` | {title} |" for id, title in (row.split("\t") for row in rows)])


def operators_of(folder, register, shorthands, least):
    """A table of the operators that `folder`/*.cc registers with `register`(name, .domain = .., .op_type = ..) or a shorthand macro."""
    found = {}
    for path in sorted((REPO / folder).glob("*.cc")):
        text = path.read_text()
        pattern = rf'^{register}\(\s*[\w:<>]+,\s*(?:\.domain = "([\w.]+)",\s*)?\.op_type = "(\w+)"(?:,\s*\.since = (\d+))?(?:,\s*\.until = (\d+))?'
        rows = [(f"{op} ({domain})" if domain else op, *versions) for domain, op, *versions in re.findall(pattern, text, re.M)]
        rows += [(*row, "") for row in shorthands(text)]
        for op, since, until in rows:
            found.setdefault(op, []).append((int(since or 1), int(until or 0), path.name))
    if len(found) < least:
        sys.exit(f"write_docs: found only {len(found)} operators in {folder}")
    lines = [f"| operator | versions | {pathlib.Path(folder).name}/ |", "|---|---|---|"]
    for op, rows in sorted(found.items()):
        versions = ", ".join(f"{since} to {until}" if until else f"{since} and later" for since, until, _ in sorted(rows))
        lines.append(f"| {op} | {versions} | {', '.join(sorted({name for _, _, name in rows}))} |")
    return "\n".join(lines + ["", f"{len(found)} operators."])


def opencl_operators(_):
    return operators_of("plugins/opencl/kernels", "TENON_KERNEL",
                        lambda text: re.findall(r"^[A-Z]+_OPERATOR\((\w+), (\d+),", text, re.M), 60)


def elementwise(text):
    """What a source registers with the table of tenon/ep/device/elementwise.hpp."""
    if "ElementwiseKernels<" not in text:
        return []
    return re.findall(r'^ +\{"(\w+)", (\d+), ', (REPO / "ep-sdk/include/tenon/ep/device/elementwise.hpp").read_text(), re.M)


def vulkan_operators(_):
    return operators_of("plugins/vulkan/kernels", "TENON_KERNEL", elementwise, 90)


def cuda_operators(_):
    return operators_of("plugins/cuda/kernels", "TENON_KERNEL", elementwise, 130)


def onednn_operators(_):
    def shorthands(text):
        rows = re.findall(r"^ONEDNN_BINARY\((\w+), [\w:]+, (\d+)\)", text, re.M)
        return rows + [(op, "1") for op in re.findall(r"^ONEDNN_(?:ELTWISE|REDUCTION)\((\w+),", text, re.M)]

    return operators_of("plugins/onednn/compiler/ops", "ONEDNN_OPERATOR", shorthands, 60)


def api_c(_):
    return api_reference.c_reference((REPO / "host/include/tenon/tenon.h").read_text())


def api_cpp(_):
    return api_reference.cpp_reference("".join((REPO / "host/include/tenon" / name).read_text() for name in ("value.hpp", "operator.hpp", "run.hpp", "tenon.hpp")))


def onnxruntime_names(tenon):
    """None where the Python package is not built."""
    package = pathlib.Path(tenon).parent.parent / "python"
    if not (package / "tenon/_tenon.abi3.so").exists():
        return None
    command = [REPO / "build/python-tests/bin/python", "-B", REPO / "tools/onnxruntime_names.py", "table"]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(package)}).stdout.rstrip()


TABLES = {
    "docs/onnxruntime-names.md": {"names": onnxruntime_names},
    "plugins/cuda/README.md": {"operators": cuda_operators},
    "docs/api.md": {"C": api_c, "C++": api_cpp},
    "plugins/opencl/README.md": {"operators": opencl_operators},
    "plugins/onednn/README.md": {"operators": onednn_operators},
    "plugins/vulkan/README.md": {"operators": vulkan_operators},
    "docs/config.md": {"config keys": config_table},
    "docs/providers.md": {"refusal codes": refusal_codes},
    "docs/cts.md": {"checks": cts_checks},
}


def main():
    tenon, check, stale = sys.argv[1], "--check" in sys.argv, []
    for page, tables in TABLES.items():
        path = REPO / page
        before = after = path.read_text()
        for name, make in tables.items():
            pattern = re.compile(rf"(<!-- generated: {re.escape(name)} -->\n).*?(<!-- end -->)", re.S)
            if not pattern.search(after):
                sys.exit(f"write_docs: {page} has no place for '{name}'")
            table = make(tenon)
            if table is None:
                continue
            after = pattern.sub(lambda match: match[1] + table + "\n" + match[2], after)
        if before != after:
            stale.append(page)
            if not check:
                path.write_text(after)
    if check and stale:
        sys.exit(f"write_docs: not up to date: {', '.join(stale)}; run tools/write_docs.py {tenon}")
    print("write_docs: " + (f"wrote {', '.join(stale)}" if stale else "up to date"))


main()
