r"""SOAP: Adam, run in the basis in which Shampoo's matrices are diagonal."""

from typing import NamedTuple

import torch
from torch import Tensor, zeros_like

from course_lib.optim.adam import adam
from course_lib.optim.partition import partition
from course_lib.optim.shampoo import eye
from course_lib.optim.transform import Tensors, Transform, legal, scalar


class SoapState(NamedTuple):
    t: Tensor
    mean: list[Tensor]  # m, one for each matrix, in the coordinates of the parameters
    square: list[Tensor]  # v, one for each matrix, in those of the bases
    left: list[Tensor]  # L (n, n)
    right: list[Tensor]  # R (m, m)
    rows: list[Tensor]  # P (n, n), orthogonal: the eigenvectors of L, roughly
    columns: list[Tensor]  # Q (m, m), those of R


def soap(
    lr: float | Tensor = 3e-3,
    b1: float | Tensor = 0.95,
    b2: float | Tensor = 0.95,
    eps: float | Tensor = 1e-8,
    *,
    rest: Transform | None = None,
) -> Transform:
    r"""Vyas et al. 2024, algorithm 3, for matrices (n, m); all other parameters are moved by `rest`, or adam(lr, ...).

    .. math::
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t                                     \qquad (1) \\
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, (P^\top g_t\, Q)^2                      \qquad (2) \\
        \Delta_t &= -\eta\, P \left( \frac{P^\top \hat m_t\, Q}{\sqrt{\hat v_t} + \varepsilon} \right) Q^\top
            \qquad (3) \\
        L &\leftarrow \beta_2 L + (1 - \beta_2)\, g_t\, g_t^\top, \quad
        R \leftarrow \beta_2 R + (1 - \beta_2)\, g_t^\top g_t                            \qquad (4) \\
        P &\leftarrow \operatorname{qr}(L P), \quad Q \leftarrow \operatorname{qr}(R\, Q)  \qquad (5)

    The hats are Adam's bias correction. (5) is a round of the power iteration: it turns P and Q toward eigenvectors
    without changing their order, on which v relies. The authors do it every tenth step; here it is done at every one,
    in float64 and n^3 for an axis of n: meant for small models. They also let the first gradient set the bases and move
    nothing; here P = Q = I at first, so the first step is Adam's. Not in torch.optim.

    In directions in which there is almost no gradient, (3) divides one tiny number by another, and rounding is no
    longer small: two runs that differ in the last float32 digit agree to about three digits.
    """
    legal("soap", lr=lr, b1=b1, b2=b2, eps=eps)

    def init(params: Tensors) -> SoapState:
        bases = [[eye(p.shape[axis], p) for p in params] for axis in (0, 1)]
        mean, square = ([zeros_like(p, dtype=torch.float64) for p in params] for _ in range(2))
        return SoapState(scalar(params), mean, square, *([zeros_like(e) for e in side] for side in bases), *bases)

    def update(grads: Tensors, state: SoapState, params: Tensors) -> tuple[list[Tensor], SoapState]:
        after = SoapState(state.t + 1, [], [], [], [], [], [])
        bias1, bias2 = 1 - b1**after.t, 1 - b2**after.t
        steps = []
        for grad, m, v, left, right, p, q in zip(grads, *state[1:], strict=True):
            g = grad.double()
            m = b1 * m + (1 - b1) * g  # (1)
            v = b2 * v + (1 - b2) * (p.mT @ g @ q) ** 2  # (2)
            scaled = p.mT @ (m / bias1) @ q / ((v / bias2).sqrt() + eps)
            steps.append((-lr * p @ scaled @ q.mT).to(grad.dtype))  # (3)
            left = b2 * left + (1 - b2) * g @ g.mT  # (4)
            right = b2 * right + (1 - b2) * g.mT @ g
            p, q = torch.linalg.qr(left @ p).Q, torch.linalg.qr(right @ q).Q  # (5)
            for kept, new in zip(after[1:], (m, v, left, right, p, q), strict=True):
                kept.append(new)
        return steps, after

    return partition(lambda p: p.ndim == 2, Transform(init, update), adam(lr, b1, b2, eps) if rest is None else rest)
