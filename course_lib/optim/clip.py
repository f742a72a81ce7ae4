r"""Gradient clipping: by the norm of everything together, or each coordinate by itself."""

import torch
from torch import Tensor

from course_lib.optim.elementwise import maximum, stateless
from course_lib.optim.transform import Hyper, Stateless, Tensors, Transform, legal


def clip_norm(limit: float | Tensor) -> Transform:
    r"""Shorten the whole gradient to at most `limit`, its direction kept (Pascanu, Mikolov & Bengio 2013, algorithm 1).

    .. math::
        n &= \sqrt{\textstyle\sum_i |g_i|^2} \quad\text{over all parameters}            \qquad (1) \\
        g_i &\leftarrow g_i \cdot \min\bigl(1,\ c / (n + 10^{-6})\bigr)                 \qquad (2)

    Equal to torch.nn.utils.clip_grad_norm_, whose 1e-6 the paper does not have. An infinite n makes finite gradients 0
    and infinite ones NaN; a NaN anywhere makes every gradient NaN.
    """
    legal("clip_norm", limit=limit)

    def update(grads: Tensors, state: Stateless, params: Tensors) -> tuple[list[Tensor], Stateless]:
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))  # (1)
        factor = (limit / (norm + 1e-6)).clamp_max(1)
        return [g * factor for g in grads], state  # (2)

    return Transform(lambda params: Stateless(), update)


def clip_value(limit: Hyper) -> Transform:
    r"""Clamp every coordinate of the gradient to [-limit, limit]; its direction changes.

    .. math::
        g_i \leftarrow \max(-c,\ \min(c,\ g_i))                                         \qquad (1)

    Equal to torch.nn.utils.clip_grad_value_.
    """
    legal("clip_value", limit=limit)
    return stateless(lambda g, p: maximum(-limit, -maximum(-limit, -g)))  # (1), min(c, g) being -max(-c, -g)
