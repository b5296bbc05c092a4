"""Reads the keys of the config file from the JSON Schema that `tenon config schema` prints."""

import json
import subprocess
from pathlib import Path


def schema(tenon: Path | str) -> dict:
    return json.loads(subprocess.run([tenon, "config", "schema"], check=True, capture_output=True, text=True).stdout)


def keys(schema: dict, prefix: str = "") -> dict[str, dict]:
    """The schema of each key by its dotted name, in which `*` stands for a provider's id."""
    found = {}
    for name, inner in schema.get("properties", {}).items():
        if "title" in inner:
            found[prefix + name] = inner
        found |= keys(inner, f"{prefix}{name}.")
    for inner in schema.get("patternProperties", {}).values():
        found |= keys(inner, prefix + "*.")
    return found
