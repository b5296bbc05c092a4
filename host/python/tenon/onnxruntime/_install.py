"""`import onnxruntime` means tenon.onnxruntime."""

from __future__ import annotations

import _tenon_as_onnxruntime as finder


def install() -> None:
    """From now on ``import onnxruntime`` in this process means ``tenon.onnxruntime``.

    ONNX Runtime need not be installed; when it is, none of it is loaded. Raises ImportError when it is loaded already. Its
    parts beside the inference API (``onnxruntime.quantization`` and others) cannot be imported afterwards.
    """
    finder.install()
