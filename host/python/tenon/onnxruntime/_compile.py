"""ModelCompiler, LoRA adapters, and EPContext data."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import tenon

from ._enums import GraphOptimizationLevel, OrtCompileApiFlags
from ._errors import RAISES, Fail, InvalidArgument, make, raises, refuse, translated
from ._options import SessionOptions

RAISES["ModelCompiler(external_initializers_file_path=)"] = "initializers stay in the model"
RAISES["ModelCompiler(get_initializer_location_func=)"] = "initializers stay in the model"


class ModelCompiler:
    """Writes a model with the passes of a level applied. Nothing is compiled for one provider: each process does that."""

    def __init__(
        self,
        sess_options: SessionOptions,
        input_model_path_or_bytes: str | os.PathLike | bytes,
        embed_compiled_data_into_model: bool = False,
        external_initializers_file_path: str | os.PathLike | None = None,
        external_initializers_size_threshold: int = 1024,
        flags: int = OrtCompileApiFlags.NONE,
        graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_DISABLE_ALL,
        get_initializer_location_func: Callable[..., Any] | None = None,
    ) -> None:
        """The arguments of ONNX Runtime. Raises for external initializers."""
        if not isinstance(input_model_path_or_bytes, str | os.PathLike | bytes):
            raise TypeError(f"Unable to load from type '{type(input_model_path_or_bytes)}'")
        if not input_model_path_or_bytes:
            raise ValueError("Input model is empty")
        if external_initializers_file_path:
            refuse("ModelCompiler(external_initializers_file_path=)")
        if get_initializer_location_func is not None:
            refuse("ModelCompiler(get_initializer_location_func=)")
        self._model = input_model_path_or_bytes
        self._flags = int(flags)
        self._level = GraphOptimizationLevel(graph_optimization_level)

    def compile_to_file(self, output_model_path: str | None = None) -> None:
        """Writes the model; without a path beside the input, as ``NAME_ctx.onnx``."""
        if self._flags & OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED:
            raise make(Fail, "no nodes were compiled: Tenon's providers compile in each process")
        if not output_model_path:
            if isinstance(self._model, bytes):
                raise make(InvalidArgument, "a model of bytes needs a path for its output")
            output_model_path = f"{os.fspath(self._model).removesuffix('.onnx')}_ctx.onnx"
        if self._flags & OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS and os.path.exists(output_model_path):
            raise make(Fail, f"'{output_model_path}' exists already")
        try:
            if isinstance(self._model, bytes):
                with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
                    file.write(self._model)
                    file.flush()
                    self._write(file.name, output_model_path)
            else:
                self._write(os.fspath(self._model), output_model_path)
        except tenon.Error as error:
            raise translated(error, loading=True) from error

    def _write(self, source: str, target: str) -> None:
        tenon.describe_model(source)  # raises when it is no model
        if self._level == GraphOptimizationLevel.ORT_DISABLE_ALL:
            shutil.copyfile(source, target)
        else:
            tenon.optimize_model(source, target)

    def compile_to_bytes(self) -> bytes:
        """The model as bytes."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            self.compile_to_file(path)
            with open(path, "rb") as file:
                return file.read()

    def compile_to_stream(self, write_function: Callable[[bytes], None]) -> None:
        """Gives the bytes to a function."""
        write_function(self.compile_to_bytes())

    @raises("ModelCompiler.set_ep_context_data_write_func", "no EPContext nodes are made")
    def set_ep_context_data_write_func(self, write_func: Callable[..., None]) -> None:
        """Not supported."""

    def clear_ep_context_data_write_func(self) -> None:
        """Nothing is set."""


class OrtExternalInitializerInfo:
    """Where an initializer is."""

    def __init__(self, filepath: str, file_offset: int, byte_size: int, /) -> None:
        self.filepath = filepath
        self.file_offset = file_offset
        self.byte_size = byte_size


class LoraAdapter:
    """An adapter of weights."""

    @raises("LoraAdapter.Load", "Tenon has no LoRA adapters; merge them into the model")
    def Load(self, path: str, /) -> None:  # noqa: N802
        """Not supported."""


class AdapterFormat:
    """A file of adapter weights."""

    def __init__(self, adapter: Any = None) -> None:
        self._versions = {"adapter": 0, "model": 0}
        self._parameters: dict[str, Any] = {}

    @staticmethod
    @raises("AdapterFormat.read_adapter", "Tenon has no LoRA adapters; merge them into the model")
    def read_adapter(file_path: os.PathLike) -> AdapterFormat:
        """Not supported."""
        raise NotImplementedError

    @raises("AdapterFormat.export_adapter", "Tenon has no LoRA adapters; merge them into the model")
    def export_adapter(self, file_path: os.PathLike) -> None:
        """Not supported."""

    def get_format_version(self) -> int:
        """Of the format."""
        return 1

    def set_adapter_version(self, adapter_version: int) -> None:
        """A number of the author."""
        self._versions["adapter"] = adapter_version

    def get_adapter_version(self) -> int:
        """See set_adapter_version."""
        return self._versions["adapter"]

    def set_model_version(self, model_version: int) -> None:
        """A number of the author."""
        self._versions["model"] = model_version

    def get_model_version(self) -> int:
        """See set_model_version."""
        return self._versions["model"]

    def set_parameters(self, params: dict[str, Any]) -> None:
        """OrtValues by name."""
        self._parameters = dict(params)

    def get_parameters(self) -> dict[str, Any]:
        """See set_parameters."""
        return dict(self._parameters)


class OrtEpContextData:
    """Data of an EPContext node. Tenon makes none."""

    @property
    def size(self) -> int:
        """Bytes."""
        return 0

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """A part of it."""
        return b""


class OrtEpContextDataBuffer:
    """Memory for the data of an EPContext node. Tenon asks for none."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.max_size = 0

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self._data)

    @property
    def is_allocated(self) -> bool:
        """Whether allocate was called."""
        return bool(self._data)

    def allocate(self, size: int) -> None:
        """Makes room."""
        self._data = bytearray(size)

    def write(self, data: Any, offset: int = 0) -> None:
        """Copies a part into it."""
        self._data[offset : offset + len(data)] = data
