r"""Gradient clipping: by the norm of everything together, or each coordinate by itself."""

import torch
from torch import Tensor

from course_lib.optim.decay import Stateless
from course_lib.optim.transform import Tensors, Transform, require


def clip_norm(limit: float | Tensor) -> Transform:
    r"""Shorten the whole gradient to at most `limit`, its direction kept (Pascanu, Mikolov & Bengio 2013, algorithm 1).

    .. math::
        n &= \sqrt{\textstyle\sum_i |g_i|^2} \quad\text{over all parameters}            \qquad (1) \\
        g_i &\leftarrow g_i \cdot \min\bigl(1,\ c / (n + 10^{-6})\bigr)                 \qquad (2)

    Equal to torch.nn.utils.clip_grad_norm_, whose 1e-6 the paper does not have. An infinite n makes finite gradients 0
    and infinite ones NaN; a NaN anywhere makes every gradient NaN.

    limit >= 0; a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    """
    require("clip_norm: limit", limit)

    def update(grads: Tensors, state: Stateless, params: Tensors) -> tuple[list[Tensor], Stateless]:
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))  # (1)
        factor = (limit / (norm + 1e-6)).clamp_max(1)
        return [g * factor for g in grads], state  # (2)

    return Transform(lambda params: Stateless(), update)


def clip_value(limit: float | Tensor) -> Transform:
    r"""Clamp every coordinate of the gradient to [-limit, limit]; its direction changes.

    .. math::
        g_i \leftarrow \max(-c,\ \min(c,\ g_i))                                         \qquad (1)

    Equal to torch.nn.utils.clip_grad_value_.

    limit >= 0; a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    """
    require("clip_value: limit", limit)

    def update(grads: Tensors, state: Stateless, params: Tensors) -> tuple[list[Tensor], Stateless]:
        return [g.clamp(min=-limit, max=limit) for g in grads], state  # type: ignore[arg-type]  # (1)

    return Transform(lambda params: Stateless(), update)
