r"""Muon: momentum whose matrix is made orthogonal, so that every direction it holds is taken at one length."""

from typing import NamedTuple

import torch
from torch import Tensor, zeros_like

from course_lib.optim.adam import adam
from course_lib.optim.partition import partition
from course_lib.optim.transform import Tensors, Transform, legal

QUINTIC = 3.4445, -4.7750, 2.0315


class MuonState(NamedTuple):
    velocity: list[Tensor]  # v, one for each matrix


def muon(
    lr: float | Tensor = 0.02,
    beta: float | Tensor = 0.95,
    *,
    nesterov: bool = True,
    match_rms: bool = False,
    rest: Transform | None = None,
) -> Transform:
    r"""Jordan et al. 2024, for matrices (n, m) with n outputs; all other parameters are moved by `rest`, or adam(lr).

    .. math::
        v_t &= \beta v_{t-1} + (1 - \beta)\, g_t                                              \qquad (1) \\
        u_t &= \beta v_t + (1 - \beta)\, g_t \quad\text{(Nesterov; otherwise } u_t = v_t)     \qquad (2) \\
        \Delta_t &= -\eta\, s \operatorname{orthogonalize}(u_t), \quad s = \sqrt{\max(1,\, n / m)}  \qquad (3) \\
        s &= 0.2 \sqrt{\max(n,\, m)} \quad\text{(match_rms)}                                  \qquad (3')

    (3') gives steps of the root mean square usual for Adam, so that they share an lr (Liu et al. 2025). Equal to
    torch.optim.Muon, whose `adjust_lr_fn` "match_rms_adamw" is match_rms, but for two things: torch iterates in
    bfloat16 where we keep the gradient's dtype, and its decay, 0.1 by default, is decoupled_decay(lr * decay) after
    this. The authors give the first and the last layer to AdamW as well: see `partition`.
    """
    legal("muon", lr=lr, beta=beta)

    def init(params: Tensors) -> MuonState:
        return MuonState([zeros_like(p) for p in params])

    def update(grads: Tensors, state: MuonState, params: Tensors) -> tuple[list[Tensor], MuonState]:
        velocity = [beta * v + (1 - beta) * g for v, g in zip(state.velocity, grads, strict=True)]  # (1)
        ahead = velocity
        if nesterov:
            ahead = [beta * v + (1 - beta) * g for v, g in zip(velocity, grads, strict=True)]  # (2)
        return [-lr * _scale(u, match_rms) * orthogonalize(u) for u in ahead], MuonState(velocity)  # (3)

    return partition(lambda p: p.ndim == 2, Transform(init, update), adam(lr) if rest is None else rest)


def orthogonalize(matrix: Tensor, rounds: int = 5, eps: float = 1e-7) -> Tensor:
    r"""Bring every singular value of an (n, m) matrix near 1, its singular vectors kept, by products alone.

    .. math::
        X_0 &= M / \max(|M|_F,\, \varepsilon)                                                 \qquad (4) \\
        X_{k+1} &= a X_k + (b A_k + c A_k^2)\, X_k, \quad A_k = X_k X_k^\top                  \qquad (5)

    A Newton-Schulz iteration: each singular value x goes to a x + b x^3 + c x^5. The authors' a, b, c lift small values
    fast and do not settle on 1: after 5 rounds whatever was above 0.002 |M| lies between 0.68 and 1.21.
    """
    a, b, c = QUINTIC
    x = matrix.mT if matrix.shape[-2] > matrix.shape[-1] else matrix
    x = x / torch.linalg.vector_norm(x).clamp_min(eps)  # (4)
    for _ in range(rounds):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x  # (5)
    return x.mT if matrix.shape[-2] > matrix.shape[-1] else x


def _scale(matrix: Tensor, match_rms: bool) -> float:
    n, m = matrix.shape
    return 0.2 * max(n, m) ** 0.5 if match_rms else max(1.0, n / max(m, 1)) ** 0.5  # (3') (3)
