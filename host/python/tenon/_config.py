"""The config, as a dict or a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _tenon
from ._errors import ConfigError


def toml(value: Any) -> str:
    """A value as TOML, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | os.PathLike):
        return json.dumps(os.fspath(value)).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
    raise ConfigError(f"a value of the config is a bool, number, str, list or dict, not {type(value).__name__}")


class Config(_tenon.Config):
    """Settings of sessions: a file, and keys that go above it.

    ``values``: a dict as the file has it, nested (``{"select": {"order": ["cpu"]}}``) or with dots
    (``{"select.order": ["cpu"]}``). ``path``: a TOML or JSON file; without one that of ``TENON_CONFIG``. The layers of the
    system, the user and the environment lie below both (docs/config.md). Raises ConfigError with the nearest valid name.
    One thread at a time may call ``set``.
    """

    def __new__(cls, values: Mapping[str, Any] | None = None, *, path: str | os.PathLike[str] = "") -> Config:
        self = super().__new__(cls, path)
        for key, value in (values or {}).items():
            self._set(str(key), value)
        return self

    @classmethod
    def from_text(cls, text: str, name: str = "config text") -> Config:
        """A config file in memory: TOML, or JSON when it begins with "{". Messages call it ``name``. No file is read in its place."""
        return super().__new__(cls, text, name)

    def _set(self, key: str, value: Any) -> None:
        if isinstance(value, Mapping) and key != "shapes.input":  # every other table of the file consists of keys
            for name, item in value.items():
                self._set(f"{key}.{name}", item)
        elif not (key == "schema" and value == 1):
            super().set(key, toml(value), "the application's config")

    def set(self, key: str, value: Any) -> None:  # type: ignore[override]
        """Sets one key ("threads.count") above all layers."""
        self._set(key, value)

    def describe(self) -> dict[str, dict[str, Any]]:
        """Every key: ``{"threads.count": {"value": 2, "origin": "/etc/tenon/config.toml:3"}}``."""
        return json.loads(_tenon.config_describe(self))

    def check(self) -> dict[str, list]:
        """A trial without a model: chooses and loads providers and opens devices.

        ``errors``: every error that a session would have. ``warnings``: settings without effect. ``instances``: the instances
        that a session would ask. The fields are those of docs/json.md.
        """
        return json.loads(_tenon.config_check(self))


def config_of(config: Config | Mapping[str, Any] | str | os.PathLike[str] | None) -> Config | None:
    """What the argument `config` of other calls may be."""
    if config is None or isinstance(config, Config):
        return config
    if isinstance(config, Mapping):
        return Config(config)
    return Config(path=config)


def config_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the config file: type, default and meaning of every key."""
    return json.loads(_tenon.config_schema())
