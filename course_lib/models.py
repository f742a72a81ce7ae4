"""Models small enough to train while one watches."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import nn

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}


def mlp(sizes: Sequence[int], activation: str = "relu", *, seed: int = 0) -> nn.Sequential:
    """Linear layers of these sizes, the activation between them and none after the last; two sizes are a linear model.

    Weights are normal. With relu their variance is 2 / n_in, which keeps the second moment of the signal through a
    rectifier (He et al. 2015); with tanh and sigmoid it is 2 / (n_in + n_out), a compromise between signal and gradient
    (Glorot & Bengio 2010). The last layer, which nothing follows, has variance 1 / n_in. Biases are 0. nn.Linear alone
    would give 1 / (3 n_in). `seed` draws the weights; the global generator is left as it was.

    Raises ValueError for fewer than two sizes, one below 1, or an unknown activation.
    """
    if len(sizes) < 2 or min(sizes) < 1:
        raise ValueError(f"mlp: sizes must be two or more numbers of at least 1, got {list(sizes)}")
    if activation not in ACTIVATIONS:
        raise ValueError(f"mlp: activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    generator = torch.Generator().manual_seed(seed)
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes[:-1]):
        variance = 2 / n_in if activation == "relu" else 2 / (n_in + n_out)
        layers += [_linear(n_in, n_out, variance, generator), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers, _linear(sizes[-2], sizes[-1], 1 / sizes[-2], generator))


def _linear(n_in: int, n_out: int, variance: float, generator: torch.Generator) -> nn.Linear:
    layer = nn.utils.skip_init(nn.Linear, n_in, n_out)
    with torch.no_grad():
        layer.weight.normal_(0, math.sqrt(variance), generator=generator)
        layer.bias.zero_()
    return layer
