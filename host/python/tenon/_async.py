"""Runs that were submitted, and how an event loop of asyncio hears of their end."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Callable
from typing import Any

from . import _tenon

# For each event loop its list of ended Runs. Threads of Tenon write to an eventfd, which the loop watches, so that they never
# wait for the interpreter's lock.
_inboxes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()


def completions() -> tuple[Any, asyncio.Future]:
    """The list of the running loop, and a future that ends when a Run with it as its tag has ended."""
    loop = asyncio.get_running_loop()
    inbox = _inboxes.get(loop)
    if inbox is None:
        fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        inbox = _inboxes[loop] = _tenon.Completions(fd)  # which closes it
        loop.add_reader(fd, _take, fd, inbox)
    return inbox, loop.create_future()


def _take(fd: int, inbox: Any) -> None:
    try:
        os.eventfd_read(fd)
    except BlockingIOError:
        pass
    for future in inbox.take():
        if not future.done():
            future.set_result(None)


class Pending:
    """A Run that was submitted. It goes on when the object is gone. Any thread may use it."""

    def __init__(self, raw: Any, names: tuple[str, ...], make: Callable[[Any], Any]) -> None:
        self._raw = raw
        self._names = names
        self._make = make

    def wait(self, timeout: float | None = None) -> bool:
        """Waits at most ``timeout`` seconds (None: without limit). True when the Run has ended; raises its failure."""
        return self._raw.wait(-1 if timeout is None else max(0, int(timeout * 1e9)))

    def done(self) -> bool:
        """True when the Run has ended; raises its failure."""
        return self.wait(0)

    def result(self, timeout: float | None = None) -> Any:
        """The outputs by name, as of ``Session.run``. Raises TimeoutError when they are not there in time."""
        if not self.wait(timeout):
            raise TimeoutError(f"the Run has not ended after {timeout} seconds")
        return self._make(zip(self._names, self._raw.outputs()))

    def cancel(self) -> None:
        """Stops the Run: ``result`` raises CancelledError."""
        self._raw.cancel()
