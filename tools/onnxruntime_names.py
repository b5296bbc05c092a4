#!/usr/bin/env python3
"""Every public name of ONNX Runtime's Python inference API, and what tenon.onnxruntime makes of it.

    build/venv/bin/python tools/onnxruntime_names.py names            prints the names of the installed ONNX Runtime as JSON
    build/python-tests/bin/python tools/onnxruntime_names.py table    prints the table of docs/onnxruntime-names.md

The names are those of the module, those of its classes, and its exceptions. tests/python/onnxruntime_names.json keeps them;
tests/python/test_names.py compares it, the table, and what really happens. PYTHONPATH names the package for `table`.
"""

import inspect
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMES = ROOT / "tests/python/onnxruntime_names.json"
# Names that a module has by chance.
NOT_API = {"contextlib", "capi", "onnxruntime_validation", "import_capi_exception"}


def introspect() -> dict[str, list[str]]:
    """Name -> names of its parameters, in order, where it is written in Python; else an empty list."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    def parameters(item: object) -> list[str]:
        try:
            return [name for name in inspect.signature(item).parameters if name != "self"]
        except (TypeError, ValueError):
            return []

    out: dict[str, list[str]] = {"__version__": [onnxruntime.__version__]}
    for name in sorted(dir(onnxruntime)):
        if name.startswith("_") or name in NOT_API:
            continue
        item = getattr(onnxruntime, name)
        out[name] = parameters(item) if callable(item) and not hasattr(item, "__members__") else []
        if inspect.isclass(item):
            is_enum = hasattr(item, "__members__")
            for member in sorted(dir(item)):
                hidden = member.startswith("_") or (is_enum and member not in item.__members__)
                if not hidden:
                    value = inspect.getattr_static(item, member)
                    plain = getattr(item, member)
                    out[f"{name}.{member}"] = parameters(plain) if inspect.isfunction(plain) or isinstance(value, staticmethod | classmethod) else []
    for name in sorted(dir(state)):
        item = getattr(state, name)
        if inspect.isclass(item) and issubclass(item, Exception):
            out[f"capi.onnxruntime_pybind11_state.{name}"] = []
    return out


# What works, but not quite as there.
NOTES = {
    "AdapterFormat": "holds numbers and values; files are not read or written",
    "ExecutionMode.ORT_SEQUENTIAL": "",
    "InferenceSession.run": "a list of numbers becomes the type that the input wants",
    "InferenceSession.disable_fallback": "kept; `provider.<id>.on_lost` of the config decides",
    "InferenceSession.enable_fallback": "kept; `provider.<id>.on_lost` of the config decides",
    "InferenceSession.get_tuning_results": "always empty",
    "InferenceSession.release_captured_graph": "nothing is captured, so there is nothing to do",
    "ModelCompiler": "writes the model with the passes of a level; no EPContext nodes",
    "OrtEpContextData": "never given to anybody",
    "OrtEpContextDataBuffer": "never given to anybody",
    "OrtArenaCfg": "kept; Tenon plans the memory of each shape",
    "SessionOptions.enable_cpu_mem_arena": "kept; Tenon plans the memory of each shape",
    "SessionOptions.enable_mem_pattern": "kept; Tenon plans the memory of each shape",
    "SessionOptions.enable_mem_reuse": "kept; Tenon plans the memory of each shape",
    "SessionOptions.graph_optimization_level": "ORT_DISABLE_ALL is `transforms.disable = [\"*\"]`; the others are alike",
    "SessionOptions.intra_op_num_threads": "`threads.count`",
    "SessionOptions.inter_op_num_threads": "kept; the steps of one Run are sequential",
    "SessionOptions.use_deterministic_compute": "`precision.deterministic`",
    "SessionOptions.optimized_model_filepath": "`tenon optimize`",
    "SessionOptions.log_severity_level": "from 3 on the session causes no TenonWarning",
    "SessionOptions.add_session_config_entry": "hints are kept, others warn once when a session is made",
    "RunOptions.only_execute_path_to_fetches": "kept",
    "RunOptions.add_run_config_entry": "hints are kept, others warn once",
    "SparseTensor": "a container; sessions take dense tensors",
    "get_available_providers": "Tenon's providers by ONNX Runtime's names, other vendors' by their id",
    "preload_dlls": "nothing to do",
    "version": "of ONNX Runtime; `tenon.__version__` is Tenon's",
}


def status(name: str) -> tuple[str, str]:
    """works, raises or warns, and the reason."""
    from tenon.onnxruntime._errors import RAISES, WARNS

    if name in RAISES:
        return "raises", RAISES[name]
    if name in WARNS:
        return "warns", WARNS[name]
    return "works", NOTES.get(name, "")


def table() -> str:
    names = json.loads(NAMES.read_text(encoding="utf-8"))
    rows = [(name, *status(name)) for name in names]
    counts = {word: sum(row[1] == word for row in rows) for word in ("works", "warns", "raises")}
    lines = [
        f"{len(rows)} names of ONNX Runtime {names['__version__'][0]}: {counts['works']} work ({counts['works'] / len(rows):.0%}), "
        f"{counts['warns']} warn once, {counts['raises']} raise.",
        "",
        "| name | | |",
        "|---|---|---|",
    ]
    # Members that simply work are listed together with their class.
    plain: dict[str, list[str]] = {}
    for name, word, note in rows:
        owner, _, member = name.rpartition(".")
        if owner and word == "works" and not note:
            plain.setdefault(owner, []).append(member)
    done = set()
    for name, word, note in rows:
        owner, _, member = name.rpartition(".")
        if owner and word == "works" and not note:
            if owner not in done:
                done.add(owner)
                lines.append(f"| `{owner}.` {', '.join(f'`{m}`' for m in plain[owner])} | works | |")
        else:
            lines.append(f"| `{name}` | {word} | {note} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["names"]:
        print(json.dumps(introspect(), indent=1))
    elif sys.argv[1:] == ["table"]:
        print(table())
    else:
        sys.exit(__doc__)
