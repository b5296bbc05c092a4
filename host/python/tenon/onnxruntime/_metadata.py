"""The model's metadata, read out of its file: the few fields that Tenon's own description lacks."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

NO_VERSION = 9223372036854775807  # ONNX Runtime's for a model without one


def _varint(data: Any, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: Any, at: int, end: int) -> Iterator[tuple[int, int | tuple[int, int]]]:
    """The fields of a message: number, and a varint or the range of its bytes."""
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif kind == 2:
            size, at = _varint(data, at)
            yield key >> 3, (at, at + size)
            at += size
        else:
            at += 8 if kind == 1 else 4


def read(data: Any) -> dict[str, Any]:
    """``data``: the bytes of a model that was loaded, so they are sound."""
    out: dict[str, Any] = {"producer_name": "", "domain": "", "version": NO_VERSION, "description": "", "graph_name": "", "graph_description": ""}
    names = {2: "producer_name", 4: "domain", 6: "description"}
    graph = None
    for number, value in _fields(data, 0, len(data)):
        if number == 5 and isinstance(value, int):
            out["version"] = value - (1 << 64) if value >> 63 else value
        elif isinstance(value, tuple) and number in names:
            out[names[number]] = bytes(data[value[0] : value[1]]).decode("utf-8", "replace")
        elif isinstance(value, tuple) and number == 7:
            graph = value
    for number, value in _fields(data, *graph) if graph else ():
        if isinstance(value, tuple) and number in (2, 10):
            out["graph_name" if number == 2 else "graph_description"] = bytes(data[value[0] : value[1]]).decode("utf-8", "replace")
    return out


def read_file(path: str) -> dict[str, Any]:
    """The same of a file."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return read(data)
