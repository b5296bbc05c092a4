"""Makes `import onnxruntime` mean tenon.onnxruntime.

A module of its own, outside of the package: with TENON_AS_ONNXRUNTIME=1 every Python process of the environment loads it when it
starts, and it must be quick. It imports tenon only when somebody imports onnxruntime.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

REAL = "tenon.onnxruntime"
NAME = "onnxruntime"


class _Loader(importlib.abc.Loader):
    """Gives the module of the other name."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        real = REAL + spec.name.removeprefix(NAME)
        try:
            return importlib.import_module(real)
        except ModuleNotFoundError as error:
            if error.name != real:
                raise
            raise ModuleNotFoundError(
                f"{spec.name} is a part of ONNX Runtime that Tenon does not have; use it in a process without tenon.onnxruntime",
                name=spec.name,
            ) from None

    def exec_module(self, module: ModuleType) -> None:
        """The module is complete."""


class _Distribution(importlib.metadata.Distribution):
    """What programs see that ask for the version of the package "onnxruntime"."""

    def read_text(self, filename: str) -> str | None:
        if filename in ("METADATA", "PKG-INFO"):
            return f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.31.1\nSummary: tenon.onnxruntime\n"
        return None

    def locate_file(self, path: Any) -> Any:
        return path


class Finder(importlib.abc.MetaPathFinder):
    """Finds onnxruntime and everything below before sys.path is searched."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != NAME and not fullname.startswith(NAME + "."):
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=fullname in (NAME, f"{NAME}.capi"))

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        if getattr(context, "name", None) == NAME:
            yield _Distribution()


def install() -> None:
    """Idempotent. Raises ImportError when ONNX Runtime itself is loaded."""
    loaded = sys.modules.get(NAME)
    if loaded is not None and not getattr(loaded, "__name__", "").startswith(REAL):
        raise ImportError(f"ONNX Runtime is loaded already ({getattr(loaded, '__file__', NAME)}): install before anything imports it")
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())


def install_if_asked() -> None:
    """For the .pth file."""
    if os.environ.get("TENON_AS_ONNXRUNTIME", "").lower() in ("1", "true", "on", "yes"):
        install()
