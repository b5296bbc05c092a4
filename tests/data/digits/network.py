"""A small convolutional network in numpy: forward, backward and Adam, enough to train on 8 x 8 images.

Layers take and return arrays with the batch first. `backward` returns the gradient of the layer's input and leaves the
gradients of its parameters in `gradients`, in the order of `parameters`.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


class Conv3x3:
    """3 x 3 convolution, padding 1, stride 1."""

    def __init__(self, rng: np.random.Generator, channels_in: int, channels_out: int):
        scale = np.sqrt(2 / (channels_in * 9))
        self.weight = rng.normal(0, scale, (channels_out, channels_in, 3, 3)).astype(np.float32)
        self.bias = np.zeros(channels_out, np.float32)

    @property
    def parameters(self) -> list[np.ndarray]:
        return [self.weight, self.bias]

    @staticmethod
    def _windows(x: np.ndarray) -> np.ndarray:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        return sliding_window_view(padded, (3, 3), axis=(2, 3))

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.windows = self._windows(x)
        return np.einsum("nchwij,ocij->nohw", self.windows, self.weight, optimize=True) + self.bias[:, None, None]

    def backward(self, grad: np.ndarray) -> np.ndarray:
        self.gradients = [
            np.einsum("nchwij,nohw->ocij", self.windows, grad, optimize=True),
            grad.sum(axis=(0, 2, 3)),
        ]
        flipped = self.weight[:, :, ::-1, ::-1]
        return np.einsum("nohwij,ocij->nchw", self._windows(grad), flipped, optimize=True)


class Dense:
    """y = x W + b over the flattened input."""

    def __init__(self, rng: np.random.Generator, features_in: int, features_out: int):
        scale = np.sqrt(2 / features_in)
        self.weight = rng.normal(0, scale, (features_in, features_out)).astype(np.float32)
        self.bias = np.zeros(features_out, np.float32)

    @property
    def parameters(self) -> list[np.ndarray]:
        return [self.weight, self.bias]

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.shape, self.x = x.shape, x.reshape(len(x), -1)
        return self.x @ self.weight + self.bias

    def backward(self, grad: np.ndarray) -> np.ndarray:
        self.gradients = [self.x.T @ grad, grad.sum(axis=0)]
        return (grad @ self.weight.T).reshape(self.shape)


class Relu:
    parameters: list[np.ndarray] = []
    gradients: list[np.ndarray] = []

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.positive = x > 0
        return x * self.positive

    def backward(self, grad: np.ndarray) -> np.ndarray:
        return grad * self.positive


class MaxPool2x2:
    """2 x 2 maximum, stride 2. Equal maxima share the gradient."""

    parameters: list[np.ndarray] = []
    gradients: list[np.ndarray] = []

    def forward(self, x: np.ndarray) -> np.ndarray:
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        largest = blocks.max(axis=(3, 5), keepdims=True)
        self.share = blocks == largest
        self.share = self.share / self.share.sum(axis=(3, 5), keepdims=True)
        self.shape = x.shape
        return largest[:, :, :, 0, :, 0]

    def backward(self, grad: np.ndarray) -> np.ndarray:
        return (self.share * grad[:, :, :, None, :, None]).reshape(self.shape).astype(np.float32)


class Network:
    """conv - relu - pool - conv - relu - pool - dense - relu - dense; `forward` returns logits."""

    def __init__(self, rng: np.random.Generator, classes: int):
        self.conv1, self.conv2 = Conv3x3(rng, 1, 16), Conv3x3(rng, 16, 32)
        self.dense1, self.dense2 = Dense(rng, 32 * 2 * 2, 64), Dense(rng, 64, classes)
        self.layers = [self.conv1, Relu(), MaxPool2x2(), self.conv2, Relu(), MaxPool2x2(),
                       self.dense1, Relu(), self.dense2]

    def forward(self, x: np.ndarray) -> np.ndarray:
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, grad: np.ndarray) -> None:
        for layer in reversed(self.layers):
            grad = layer.backward(grad)

    def parameters_and_gradients(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [pair for layer in self.layers for pair in zip(layer.parameters, layer.gradients)]


class Adam:
    """Updates the parameters in place; decays weights of rank two and more, not biases."""

    def __init__(self, weight_decay: float):
        self.weight_decay = weight_decay
        self.moments: list[tuple[np.ndarray, np.ndarray]] = []
        self.steps = 0

    def step(self, pairs: list[tuple[np.ndarray, np.ndarray]], rate: float) -> None:
        self.moments = self.moments or [(np.zeros_like(p), np.zeros_like(p)) for p, _ in pairs]
        self.steps += 1
        for (parameter, gradient), (mean, square) in zip(pairs, self.moments):
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient * gradient - square)
            update = mean / (1 - 0.9**self.steps) / (np.sqrt(square / (1 - 0.999**self.steps)) + 1e-8)
            if parameter.ndim > 1:
                update = update + self.weight_decay * parameter
            parameter -= rate * update


def softmax(logits: np.ndarray) -> np.ndarray:
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)
