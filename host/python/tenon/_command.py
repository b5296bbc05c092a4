"""The commands `tenon` and `tenon-cts` of the wheel. They run the programs of the package."""

from __future__ import annotations

import os
import sys

from ._folders import COMMANDS
from ._providers import packaged

_VARIABLE = "TENON_ADD_PROVIDER_FILES"


def _run(name: str) -> None:
    program = COMMANDS / name
    if not program.exists():
        sys.exit(f"{name}: this installation of the package has no {program}")
    files = [os.fspath(manifest) for _, manifests in packaged() for manifest in manifests]
    if files:
        os.environ[_VARIABLE] = ":".join([*files, *filter(None, [os.environ.get(_VARIABLE)])])
    os.execv(program, [name, *sys.argv[1:]])


def main() -> None:
    """The command `tenon`; providers of other packages take part."""
    _run("tenon")


def cts() -> None:
    """The kit `tenon-cts`."""
    _run("tenon-cts")
