"""How ONNX Runtime writes types: "tensor(float)", "seq(map(int64,tensor(float)))"."""

from __future__ import annotations

from typing import Any

import numpy as np
import tenon
from tenon._values import NAMES, NUMBERS, dtype_of, number_of

_WORDS = {"float32": "float", "float64": "double"}
_NAMES = {word: name for name, word in _WORDS.items()}


def word_of(number: int) -> str:
    """ONNX Runtime's word for an element type."""
    return _WORDS.get(NAMES[number], NAMES[number])


def number_of_word(word: str) -> int:
    """The element type of "float", or of "tensor(float)"."""
    word = word.removeprefix("tensor(").removesuffix(")")
    return NUMBERS[_NAMES.get(word, word)]


def type_text(text: str) -> str:
    """The type of an input or output from Tenon's text: "seq(map(int64,float32[]))"."""
    for kind in ("seq", "optional"):
        if text.startswith(f"{kind}("):
            return f"{kind}({type_text(text[len(kind) + 1 : -1])})"
    if text.startswith("map("):
        key, inner = text[4:-1].split(",", 1)
        return f"map({_WORDS.get(key, key)},{type_text(inner)})"
    name = text.split("[", 1)[0]
    return f"tensor({_WORDS.get(name, name)})"


def element_type(value: Any) -> int:
    """The element type that a caller names: a number of ONNX, or a dtype of numpy."""
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.startswith("tensor("):
        return number_of_word(value)
    dtype = np.dtype(value)
    number = 8 if dtype.kind in "OUS" else number_of(dtype)
    if number == 0:
        raise tenon.InvalidInputError(f"ONNX has no element type for {dtype}")
    return number


__all__ = ["dtype_of", "element_type", "number_of_word", "type_text", "word_of"]
