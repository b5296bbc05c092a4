"""Exceptions: one class for each kind of failure of docs/errors.md, and the warnings."""

from __future__ import annotations

import logging
import threading
import warnings


class Error(RuntimeError):
    """A call of Tenon failed. Catch a subclass to react to one kind of failure.

    ``kind``: the kind of failure as a word ("invalid_input"); ``status``: the number of the status (docs/errors.md).
    ``where``: the place as text ("node 'conv1' (Conv)", a file, a key of the config), or "".
    ``node`` and ``op_type``: the node and its operator when the place is a node, else None.
    ``model``: its path, or "model in memory". ``provider``: the one that is to blame ("cuda 1.4.0"), and ``refusal``, the code when it
    is refused ("E_SHA_MISMATCH"). None where the error does not say.
    ``cause`` is what is wrong, and ``cure`` what helps, or None when the library knows none.
    """

    kind = "none"
    status = 0
    flags = 0
    where = ""
    model: str | None = None
    node: str | None = None
    op_type: str | None = None
    provider: str | None = None
    refusal: str | None = None
    cause: str
    cure: str | None = None

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.cause = str(args[0]) if args else ""

    @property
    def device_lost(self) -> bool:
        """True when the device is gone; sessions that are made now may work."""
        return bool(self.flags & 6)


class InvalidModelError(Error):
    """The model breaks the rules of ONNX."""

    kind = "invalid_model"


class UnsupportedError(Error):
    """A valid request that no installed provider can serve: an operator, a type, an opset, an option."""

    kind = "unsupported"


class LimitError(Error):
    """A limit of the config is exceeded; found before the memory was taken."""

    kind = "limit"


class ProviderMissingError(Error):
    """A provider that the config or the call names is not installed."""

    kind = "provider_missing"


class ProviderRefusedError(Error):
    """A provider is installed but refused; the message begins with the refusal code."""

    kind = "provider_refused"


class DeviceError(Error):
    """The device went away."""

    kind = "device"


class OutOfMemoryError(Error, MemoryError):
    """The host or the device has no memory left, or ``memory.host_limit`` is reached."""

    kind = "memory"


class CancelledError(Error):
    """The caller stopped the call."""

    kind = "cancelled"


class DeadlineError(Error, TimeoutError):
    """The deadline of a Run or of loading passed."""

    kind = "deadline"


class InvalidInputError(Error, ValueError):
    """The caller gave a wrong name, type, shape, index, file or object."""

    kind = "invalid_input"
    status = 3


class ConfigError(Error, ValueError):
    """An error in a config file, a variable, an option or a key."""

    kind = "config"
    status = 3


class OperatorError(Error):
    """An operator of the application failed, or broke its promises. ``__cause__`` is the exception of its function."""

    kind = "operator"


class InternalError(Error):
    """A defect of Tenon or of a provider. Report it, with the model if possible."""

    kind = "internal"


class TenonWarning(UserWarning):
    """Something was passed over or repeated that the config allows: a provider, a build, a device.

    ``code`` is a stable word, such as "PASSED_OVER" or "FALLBACK" (docs/config.md).
    """

    code = ""
    provider = ""


# What a function of Python raised last on this thread, within an operator.
_raised = threading.local()


def stash(error: BaseException) -> str:
    """Keeps an exception for the error that the library makes of it, and gives its text."""
    _raised.error = error
    return f"{type(error).__name__}: {error}"


def unstash() -> BaseException | None:
    """The exception that was kept on this thread."""
    error, _raised.error = getattr(_raised, "error", None), None
    return error


# By the number of the kind.
KINDS: tuple[type[Error], ...] = (
    Error,
    InvalidModelError,
    UnsupportedError,
    LimitError,
    ProviderMissingError,
    ProviderRefusedError,
    DeviceError,
    OutOfMemoryError,
    CancelledError,
    DeadlineError,
    InvalidInputError,
    ConfigError,
    InternalError,
    OperatorError,
)

_LEVELS = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO, 4: logging.DEBUG}
_logger = logging.getLogger("tenon")
_logger.addHandler(logging.NullHandler())  # nothing is printed unless the application says where


def make_error(kind: int, status: int, flags: int, where: str, message: str, parts: tuple[str | None, ...]) -> Error:
    """The exception of a tenon_error. ``parts``: model, node, operator, provider, refusal, cause, cure."""
    kind_class = KINDS[kind] if 0 < kind < len(KINDS) else InternalError
    error = kind_class(f"{where}: {message}" if where and where not in message else message)
    error.status, error.flags, error.where, error.cause = status, flags, where, message
    if parts:
        error.model, error.node, error.op_type, error.provider, error.refusal, cause, error.cure = parts
        error.cause = cause or message
    if kind_class in (OperatorError, OutOfMemoryError):
        error.__cause__ = unstash()
    return error


def log(level: int, provider: str, code: str, message: str) -> None:
    """A line of the library's log: a record of the logger "tenon", and a warning when something was passed over.

    A provider that the automatic order leaves out, because it is not of the installation, is no reason for a warning: it is there
    to be named.
    """
    text = f"{provider}: {message}" if provider else message
    _logger.log(_LEVELS.get(level, logging.DEBUG), "%s%s", f"{code}: " if code else "", text)
    if level <= 2 and "(S_UNNAMED)" not in message:
        warning = TenonWarning(text)
        warning.code, warning.provider = code, provider
        warnings.warn(warning, stacklevel=3)
