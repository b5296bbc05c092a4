#!/usr/bin/env python3
"""cuda_exports.py NAME FOLDER [SECONDS]: a network with random weights as PyTorch exports it, for the provider cuda.

Without SECONDS it writes FOLDER/model.onnx, the inputs FOLDER/NAME.npy, and FOLDER/reference.npy, what PyTorch computes on the
processor in float32. With SECONDS it prints the median of a Run in ms, in PyTorch on the GPU without TF32; the inputs begin in the host's memory,
and the output ends there. The exit code is 3 when PyTorch cannot use the GPU, and 4 when a package is missing; the last line says why.
"""

import contextlib
import sys
import warnings
from pathlib import Path

NO_GPU, NOT_THERE = 3, 4
VOCABULARY, LENGTH = 2000, 128


def stop(code: int, why: str):
    print(why)
    sys.exit(code)


try:
    import numpy as np
    import torch
except ImportError as error:
    stop(NOT_THERE, str(error))


def of_torchvision(name: str):
    import torchvision

    network = getattr(torchvision.models, name)(weights=None)
    if name.startswith("vit"):
        torch.nn.init.normal_(network.heads.head.weight, std=0.02)  # they are zeros at first
    return network, {"image": torch.randn(1, 3, 224, 224)}


class OneOutput(torch.nn.Module):
    def __init__(self, network, output: str):
        super().__init__()
        self.network, self.output = network, output

    def forward(self, ids):
        return getattr(self.network(ids), self.output)


def tokens():
    return {"ids": torch.randint(0, VOCABULARY, (1, LENGTH))}


def bert():
    from transformers import BertConfig, BertModel

    return OneOutput(BertModel(BertConfig(vocab_size=VOCABULARY, attn_implementation="eager")), "last_hidden_state"), tokens()


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=VOCABULARY, bos_token_id=0, eos_token_id=0, attn_implementation="eager", use_cache=False)
    return OneOutput(GPT2LMHeadModel(config), "logits"), tokens()


class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.LSTM(256, 256, 2, batch_first=True)

    def forward(self, x):
        return self.layers(x)[0]


def lstm():
    return Lstm(), {"x": torch.randn(1, 64, 256)}


def make(name: str):
    """The network in float32, and its inputs."""
    torch.manual_seed(3)
    torch.set_grad_enabled(False)
    makers = {"bert": bert, "gpt2": gpt2, "lstm": lstm}
    try:
        network, inputs = makers[name]() if name in makers else of_torchvision(name)
    except ImportError as error:
        stop(NOT_THERE, str(error))
    return network.eval(), inputs


def narrow(network, inputs, is_narrow: bool):
    if not is_narrow:
        return network, inputs
    return network.half(), {name: value.half() if value.is_floating_point() else value for name, value in inputs.items()}


def export(name: str, folder: Path) -> None:
    torch.set_num_threads(4)  # several networks are exported at once
    base = name.removesuffix("_float16")
    network, inputs = make(base)
    reference = network(*inputs.values())
    network, inputs = narrow(network, inputs, base != name)
    folder.mkdir(parents=True)
    torch.onnx.export(network, tuple(inputs.values()), folder / "model.onnx", input_names=list(inputs), dynamo=base != "lstm",
                      opset_version=17 if base == "lstm" else 18, verbose=False)  # fmt: skip
    for each, value in inputs.items():
        np.save(folder / f"{each}.npy", value.numpy())
    np.save(folder / "reference.npy", reference.numpy())


def measure(name: str, seconds: float) -> None:
    from cuda_peers import median

    if not torch.cuda.is_available():
        stop(NO_GPU, f"{torch.__version__} without CUDA")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    base = name.removesuffix("_float16")
    network, inputs = narrow(*make(base), base != name)
    network.cuda()
    print(median(lambda: network(*(value.cuda() for value in inputs.values())).cpu(), seconds))


def main() -> None:
    name, folder, *seconds = sys.argv[1:]
    if seconds:
        measure(name, float(seconds[0]))
    else:
        with contextlib.redirect_stdout(sys.stderr):  # the exporter's progress
            export(name, Path(folder))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
