"""What is set once for a process: threads, logging, seed."""

from __future__ import annotations

import sys
from typing import Any

import tenon

from ._errors import RAISES, Fail, make, refuse, warns
from ._options import OrtArenaCfg

VERSION = "1.31.1"
"""The version of ONNX Runtime whose names these are."""

_state = {"severity": 2, "threads": 0}


def severity() -> int:
    """The level from which on warnings are shown: 2 warnings, 3 errors."""
    return _state["severity"]


def global_threads() -> int:
    """Of sessions that share a pool; 0: not set."""
    return _state["threads"]


def set_default_logger_severity(severity: int, /) -> None:
    """0: verbose, 1: info, 2: warning, 3: error, 4: fatal. From 3 on, sessions cause no TenonWarning."""
    if not 0 <= severity <= 4:
        raise make(Fail, f"{severity} is no severity: 0 to 4")
    _state["severity"] = severity


def set_default_logger_verbosity(verbosity: int, /) -> None:
    """A number for verbose lines; Tenon's go to the logger "tenon" of Python."""
    int(verbosity)


def set_global_thread_pool_sizes(intra_op_num_threads: int = 0, inter_op_num_threads: int = 0) -> None:
    """Threads of sessions with use_per_session_threads = False and no number of their own."""
    if intra_op_num_threads < 0 or inter_op_num_threads < 0:
        raise ValueError("numbers of threads must not be negative")
    _state["threads"] = intra_op_num_threads


@warns("set_seed", "operators that draw numbers take the seed of their attribute, and draw another one in each session otherwise")
def set_seed(seed: int, /) -> None:
    """No effect."""


def disable_telemetry_events() -> None:
    """Tenon sends nothing."""


def enable_telemetry_events() -> None:
    """Tenon sends nothing."""


@warns("create_and_register_allocator", "Tenon plans the memory of each shape")
def create_and_register_allocator(memory_info: Any, arena_cfg: OrtArenaCfg, /) -> None:
    """No effect."""


@warns("create_and_register_allocator_v2", "Tenon plans the memory of each shape")
def create_and_register_allocator_v2(provider: str, memory_info: Any, options: Any, arena_cfg: OrtArenaCfg, /) -> None:
    """No effect."""


RAISES["register_execution_provider_library"] = (
    "the library is written against ONNX Runtime's API. With the path of a *.tenon.json it registers a provider of Tenon"
)
RAISES["unregister_execution_provider_library"] = "a provider stays until the process ends"


def register_execution_provider_library(name: str, path: str, /) -> None:
    """Adds a provider of Tenon: ``path`` is its manifest."""
    from . import _devices

    if not str(path).endswith(".tenon.json"):
        refuse("register_execution_provider_library")
    tenon.register_provider(path)
    _devices.forget()


def unregister_execution_provider_library(name: str, /) -> None:
    """Not supported."""
    refuse("unregister_execution_provider_library")


def get_build_info() -> str:
    """What this is."""
    return f"Tenon {tenon.__version__} in place of ONNX Runtime {VERSION}"


def get_version_string() -> str:
    """The version of ONNX Runtime whose names these are."""
    return VERSION


def has_collective_ops() -> bool:
    """False."""
    return False


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Nothing to do: a provider's libraries are found when it is opened."""


def print_debug_info() -> None:
    """Prints versions and providers."""
    print(get_build_info(), file=sys.stdout)
    print(f"Python {sys.version}")
    for provider in tenon.providers():
        print(f"{provider.id} {provider.version}: {provider.verdict} {provider.reason}")
