"""The modules that some programs import instead of ``onnxruntime`` itself."""
