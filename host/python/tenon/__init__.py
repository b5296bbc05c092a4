"""Tenon runs ONNX models.

    import tenon

    session = tenon.Session("model.onnx")
    outputs = session.run({"image": image})
    print(outputs["probabilities"])

Arrays of numpy go in and come out without copies. ``tenon.onnxruntime`` has the names and types of ONNX Runtime.
"""

from __future__ import annotations

import atexit as _atexit

import numpy as _np

from . import _tenon
from ._async import Pending
from ._binding import Binding
from ._config import Config, config_schema
from ._errors import (
    CancelledError,
    ConfigError,
    DeadlineError,
    DeviceError,
    Error,
    InternalError,
    InvalidInputError,
    InvalidModelError,
    LimitError,
    OperatorError,
    OutOfMemoryError,
    ProviderMissingError,
    ProviderRefusedError,
    TenonWarning,
    UnsupportedError,
)
from ._errors import log as _log
from ._errors import make_error as _make_error
from ._errors import stash as _stash
from ._explain import Explanation
from ._operators import Operators, Type
from ._profile import Profile, Step
from ._providers import Provider, providers, register_provider
from ._session import Cancel, Info, Instance, Outputs, Session, State, describe_model, optimize_model
from ._values import PLAIN as _PLAIN
from ._values import Value
from ._values import from_value as _from_value

_tenon.setup(_np.ndarray, [_PLAIN.get(i) for i in range(32)], Value, _from_value, _make_error, _log, _stash)
_atexit.register(_tenon.finish)

__version__: str = _tenon.version
"""Of the library and this package."""

__all__ = [
    "Binding",
    "Cancel",
    "CancelledError",
    "Config",
    "ConfigError",
    "DeadlineError",
    "DeviceError",
    "Error",
    "Explanation",
    "Info",
    "Instance",
    "InternalError",
    "InvalidInputError",
    "InvalidModelError",
    "LimitError",
    "OperatorError",
    "Operators",
    "OutOfMemoryError",
    "Outputs",
    "Pending",
    "Profile",
    "Provider",
    "ProviderMissingError",
    "ProviderRefusedError",
    "Session",
    "State",
    "Step",
    "TenonWarning",
    "Type",
    "UnsupportedError",
    "Value",
    "config_schema",
    "describe_model",
    "optimize_model",
    "providers",
    "register_provider",
]
