"""Providers: those that are installed, and those that other packages bring."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from . import _tenon
from ._config import Config, config_of
from ._errors import Error, TenonWarning

GROUP = "tenon.providers"
_lock = threading.Lock()
_registered = False


def packaged() -> Iterator[tuple[str, list[Path]]]:
    """The entry points of the group ``tenon.providers`` with their manifests.

    An entry point names a function, which returns a folder, or an object that is one: a str or a path. Its
    ``*.tenon.json`` are manifests. One that cannot be loaded causes a TenonWarning.
    """
    for point in metadata.entry_points(group=GROUP):
        try:
            folder = point.load()
            folder = Path(os.fspath(folder() if callable(folder) else folder)).absolute()
            manifests = sorted(folder.glob("*.tenon.json"))
            if not manifests:
                raise FileNotFoundError(f"{folder} has no *.tenon.json")
        except Exception as error:  # of another package: it must not stop this one
            warnings.warn(TenonWarning(f"the provider package '{point.name}' ({point.value}) is not used: {error}"), stacklevel=2)
            continue
        yield point.name, manifests


def register_packaged() -> None:
    """Makes the providers of other packages known to the library, once in a process."""
    global _registered
    if _registered:
        return
    with _lock:
        if _registered:
            return
        _registered = True
        for name, manifests in packaged():
            for manifest in manifests:
                try:
                    _tenon.provider_register(manifest)
                except Error as error:
                    warnings.warn(TenonWarning(f"the provider package '{name}' is not used: {error}"), stacklevel=2)


@dataclasses.dataclass(frozen=True)
class Provider:
    """A provider's manifest that was found, and the verdict on it."""

    id: str
    version: str
    name: str
    vendor: str
    verdict: str
    """ "usable", "not_chosen" (another manifest of the id goes first) or "refused"."""
    code: str
    """Of a refusal (docs/providers.md): "E_SHA_MISMATCH"; else ""."""
    reason: str
    cure: str
    manifest: str
    library: str
    details: Mapping[str, Any] = dataclasses.field(repr=False)
    """Everything that is known, as in docs/json.md: devices, options, place."""


def register_provider(manifest: str | os.PathLike[str]) -> None:
    """Adds a manifest for this process. Sessions that are made afterwards find it."""
    _tenon.provider_register(manifest)


def providers(config: Config | Mapping[str, Any] | str | os.PathLike[str] | None = None, *, scan: bool = True) -> list[Provider]:
    """Every manifest that is found under ``config``, in the order of the search places.

    ``scan``: also opens the libraries in a helper process, unless the answer of an earlier scan is stored; without it no code
    of a provider runs, and devices are not known.
    """
    register_packaged()
    found = json.loads(_tenon.providers_describe(config_of(config), 1 if scan else 0))
    return [
        Provider(
            id=entry.get("id", ""),
            version=entry.get("version", ""),
            name=entry.get("name", ""),
            vendor=entry.get("vendor", ""),
            verdict=entry.get("verdict", "").replace(" ", "_"),
            code=entry.get("refusal", ""),
            reason=entry.get("reason", ""),
            cure=entry.get("cure", ""),
            manifest=entry.get("manifest", ""),
            library=entry.get("library", ""),
            details=entry,
        )
        for entry in found
    ]
