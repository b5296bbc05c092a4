#!/usr/bin/env python3
"""cuda_peers.py onnxruntime|pytorch [MODEL SECONDS]: what the provider cuda is measured beside.

Without a model it prints the peer's version; with one, the median of a Run in ms. What is measured is that of `tenon bench`: the inputs
begin in the host's memory, and the outputs end there. When the peer cannot use the GPU, the exit code is 3 and the last line says why;
when there is no such package, it is 4.
"""

import importlib
import statistics
import sys
import time

NO_GPU, NOT_THERE = 3, 4


def no_gpu(why: str):
    print(why)
    sys.exit(NO_GPU)


def median(call, seconds: float) -> float:
    for _ in range(5):
        call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


class OnnxRuntime:
    def __init__(self):
        self.module = importlib.import_module("onnxruntime")
        self.module.set_default_logger_severity(4)
        self.version = self.module.__version__
        if "CUDAExecutionProvider" not in self.module.get_available_providers():
            no_gpu(f"{self.version} without CUDA: it has {', '.join(self.module.get_available_providers())}")

    def call_of(self, model: str):
        import numpy as np

        session = self.module.InferenceSession(model, providers=[("CUDAExecutionProvider", {"use_tf32": 0}), "CPUExecutionProvider"])
        if "CUDAExecutionProvider" not in session.get_providers():  # it goes on without a word
            no_gpu(f"{self.version} cannot load its CUDA libraries, so it would run on the processor")
        draw = np.random.default_rng(1)

        def value(wanted):
            shape = [dim if isinstance(dim, int) else 1 for dim in wanted.shape]
            if "float" in wanted.type:
                return draw.standard_normal(shape).astype(np.float16 if "16" in wanted.type else np.float32)
            return np.ones(shape, np.int64 if "64" in wanted.type else np.int32)

        inputs = {wanted.name: value(wanted) for wanted in session.get_inputs()}
        return lambda: session.run(None, inputs)


class PyTorch:
    """Only has the networks that cuda_networks.py writes."""

    def __init__(self):
        self.torch = torch = importlib.import_module("torch")
        self.version = torch.__version__
        if not torch.cuda.is_available():
            no_gpu(f"{self.version} without a GPU that it can use")
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.set_grad_enabled(False)
        self.functions = torch.nn.functional

    def drawn(self, *shape: int):
        return self.torch.randn(*shape, device="cuda") * 0.02

    def call_of(self, network: str):
        layer, x = getattr(self, network)()
        return lambda: layer(x.to("cuda")).cpu()

    def products(self):
        layers = [(self.drawn(1024, 1024), self.drawn(1024)) for _ in range(8)]

        def forward(x):
            for weights, bias in layers:
                x = self.functions.relu(self.torch.addmm(bias, x, weights))
            return x

        return forward, self.torch.randn(256, 1024)

    def convolutions(self):
        layers = [(self.drawn(64, 64, 3, 3), self.drawn(64)) for _ in range(6)]

        def forward(x):
            for weights, bias in layers:
                x = self.functions.relu(self.functions.conv2d(x, weights, bias, padding=1))
            return x

        return forward, self.torch.randn(1, 64, 112, 112)

    def rows(self):
        scale, shift = self.drawn(1024), self.drawn(1024)

        def forward(x):
            for _ in range(4):
                x = self.torch.softmax(self.functions.layer_norm(x, (1024,), scale, shift), -1)
            return x

        return forward, self.torch.randn(4096, 1024)

    def attention(self):
        def forward(x):
            for _ in range(4):
                x = self.functions.scaled_dot_product_attention(x, x, x)
            return x

        return forward, self.torch.randn(1, 12, 512, 64)


def main() -> int:
    try:
        peer = {"onnxruntime": OnnxRuntime, "pytorch": PyTorch}[sys.argv[1]]()
    except ModuleNotFoundError as missing:
        print(missing)
        return NOT_THERE
    print(median(peer.call_of(sys.argv[2]), float(sys.argv[3])) if len(sys.argv) > 2 else peer.version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
