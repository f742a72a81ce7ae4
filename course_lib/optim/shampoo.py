r"""Shampoo: AdaGrad with a small matrix for each axis in place of one number for each coordinate."""

from typing import NamedTuple

import torch
from torch import Tensor, atleast_1d

from course_lib.optim.transform import Tensors, Transform, legal, require


class ShampooState(NamedTuple):
    factors: list[list[Tensor]]  # for each parameter, for each of its axes, H (n, n), float64


def shampoo(lr: float | Tensor = 0.1, eps: float = 1e-4) -> Transform:
    r"""Gupta, Koren & Singer 2018, algorithm 2: for a tensor of k axes. Not in torch.optim.

    .. math::
        H_i &\leftarrow H_i + g_t \cdot g_t \text{ over every axis but } i, \quad H_i = \varepsilon I \text{ at first}
            \qquad (1) \\
        \Delta_t &= -\eta\, g_t \times_1 H_1^{-1/2k} \times_2 \dots \times_k H_k^{-1/2k}      \qquad (2)

    For a matrix (1) is L + g g^T and R + g^T g, and (2) is L^(-1/4) g R^(-1/4): algorithm 1 of the paper. A vector has
    AdaGrad's full matrix; a number is a vector of length one. There is no momentum, and every root is recomputed at
    every step, n^3 for an axis of n, in float64: meant for small models. A gradient that is not finite makes every
    later step of its parameter NaN. eps >= 1e-30 may not be a tensor.
    """
    legal("shampoo", lr=lr)
    require("shampoo: eps", eps, low=1e-30)

    def init(params: Tensors) -> ShampooState:
        return ShampooState([[eps * eye(n, p) for n in atleast_1d(p).shape] for p in params])

    def update(grads: Tensors, state: ShampooState, params: Tensors) -> tuple[list[Tensor], ShampooState]:
        steps, after = [], []
        for grad, factors in zip(grads, state.factors, strict=True):
            g = step = atleast_1d(grad).double()
            axes = range(g.ndim)
            others = [[j for j in axes if j != i] for i in axes]
            factors = [h + torch.tensordot(g, g, (rest, rest)) for h, rest in zip(factors, others, strict=True)]  # (1)
            for i, h in enumerate(factors):
                root = _power(h, -1 / (2 * g.ndim), eps)
                step = torch.tensordot(root, step, ([1], [i])).movedim(0, i)  # (2)
            steps.append((-lr * step).reshape(grad.shape).to(grad.dtype))
            after.append(factors)
        return steps, ShampooState(after)

    return Transform(init, update)


def eye(n: int, like: Tensor) -> Tensor:
    """The identity (n, n) in float64, on the device of another tensor."""
    return torch.eye(n, dtype=torch.float64, device=like.device)


def _power(matrix: Tensor, exponent: float, least: float) -> Tensor:
    """A symmetric matrix to a power; NaN where it is not finite.

    Its eigenvalues are at least `least`; those below the rounding of the largest are noise, and raised to it.
    """
    finite = matrix.isfinite().all()
    values, vectors = torch.linalg.eigh(torch.where(finite, matrix, torch.ones_like(matrix)))
    floor = (values[-1:] * len(values) * torch.finfo(values.dtype).eps).clamp_min(least)
    power = (vectors * torch.maximum(values, floor) ** exponent) @ vectors.mT
    return torch.where(finite, power, torch.nan)
