"""torch.autograd as the reference that hand-written gradients are compared with."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch


def by_torch(
    forward: Callable[..., Any], inputs: Mapping[str, np.ndarray], upstream: np.ndarray
) -> tuple[np.ndarray, ...]:
    """torch.autograd's gradients of forward(*inputs), pulled back from upstream."""
    leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in inputs.values()]
    grads = torch.autograd.grad(forward(*leaves), leaves, torch.tensor(upstream, dtype=torch.float64))
    return tuple(g.numpy() for g in grads)
