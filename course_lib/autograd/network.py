"""A small multilayer perceptron, for both engines: the same weights, one node for a matrix or one for each number."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from course_lib.autograd.array import Array, node

Weights = list[tuple[np.ndarray, np.ndarray]]


def draw_weights(sizes: Sequence[int], seed: int = 0) -> Weights:
    """(W, b) a layer: W (n_in, n_out) normal of variance 2/n_in (He et al. 2015), b zeros (n_out,). Float64."""
    if len(sizes) < 2 or min(sizes) < 1:
        raise ValueError(f"draw_weights: sizes must be two or more positive numbers, got {list(sizes)}")
    random = np.random.default_rng(seed)
    return [(random.normal(0, np.sqrt(2 / n), (n, m)), np.zeros(m)) for n, m in pairwise(sizes)]


def on_arrays(layers: Sequence[tuple[Any, Any]], x: Any) -> Any:
    """x (batch, n_in) to (batch, n_out); ReLU after every layer but the last. layers: pairs of Arrays."""
    *hidden, (w, b) = layers
    for wi, bi in hidden:
        x = (x @ wi + bi).relu()
    return x @ w + b


def on_scalars(layers: Sequence[tuple[Sequence[Sequence[Any]], Sequence[Any]]], x: Sequence[Any]) -> list[Any]:
    """One example's n_in numbers to n_out numbers. layers: nested lists of scalar nodes, W as a list of columns."""
    for depth, (columns, biases) in enumerate(layers, 1):
        sums = []
        for column, total in zip(columns, biases, strict=True):
            for weight, xi in zip(column, x, strict=True):
                total = total + weight * xi
            sums.append(total if depth == len(layers) else total.relu())
        x = sums
    return list(x)


def scalar_layers(weights: Weights, make: Callable[[float], Any]) -> list[tuple[list[list[Any]], list[Any]]]:
    """The same weights for `on_scalars`, each number wrapped by `make`."""
    return [([[make(v) for v in col] for col in w.T.tolist()], [make(v) for v in b.tolist()]) for w, b in weights]


def cross_entropy(logits: Array, labels: np.ndarray) -> Array:
    r"""Mean over the batch of -log softmax(logits)[label], as one node. logits (batch, classes), labels (batch,), int.

    Its gradient is (softmax - one-hot) / batch: the exponentials of the two halves cancel.
    """
    shifted = logits.data - logits.data.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(labels))

    def pull(g: np.ndarray) -> np.ndarray:
        slope = np.exp(log_p)
        slope[rows, labels] -= 1
        return g * slope / len(labels)

    return node("cross entropy", -log_p[rows, labels].mean(), (logits, pull))
