"""What a wide layer does to the second moment of its signal, for any activation: integrals over one normal variable."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.results import Floats

Activation = Literal["relu", "leaky_relu", "linear", "tanh", "sigmoid", "gelu", "silu", "elu", "selu"]

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {
        "relu": torch.relu,
        "leaky_relu": F.leaky_relu,
        "linear": lambda z: z * 1,
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "gelu": F.gelu,
        "silu": F.silu,
        "elu": F.elu,
        "selu": F.selu,
    }
)

Z = torch.linspace(-10, 10, 2000, dtype=torch.float64)  # 0, where rectifiers have their kink, lies between two points
WEIGHT = torch.exp(-Z * Z / 2) / torch.exp(-Z * Z / 2).sum()


def moments(activation: Activation, variance: float) -> tuple[float, float]:
    """E[phi(z)^2] and E[phi'(z)^2] for z normal with mean 0 and this variance."""
    z = (Z * variance**0.5).requires_grad_()
    h = ACTIVATIONS[activation](z)
    (slope,) = torch.autograd.grad(h.sum(), z)
    return float((WEIGHT * h.detach() ** 2).sum()), float((WEIGHT * slope**2).sum())


def law(activation: Activation, gain: float, depth: int) -> tuple[Floats, Floats]:
    """Second moments of signal and gradient at layers 0 to depth of a wide stack with Var W = gain^2 / n: (depth + 1,).

        z_l = W_l h_(l-1),  h_l = phi(z_l),  E[h_0^2] = 1
        E[z_l^2] = gain^2 E[h_(l-1)^2]                          (1)
        E[h_l^2] = E[phi(z_l)^2]                                (2)
        E[d_(l-1)^2] = gain^2 E[phi'(z_l)^2] E[d_l^2]           (3)

    d_l is the gradient with respect to h_l, and E[d_depth^2] = 1. In (3) the gradient is taken to be independent of the
    signal that it passes (Poole et al. 2016; Schoenholz et al. 2017, from memory).
    """
    signal, factors = [1.0], []
    for _ in range(depth):
        square, slope = moments(activation, gain**2 * signal[-1])  # (1), (2)
        signal.append(square)
        factors.append(gain**2 * slope)  # (3)
    return np.array(signal), np.append(np.cumprod(factors[::-1])[::-1], 1.0)
