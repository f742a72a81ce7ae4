"""An optimizer that computes in another precision than its parameters are kept in."""

from typing import Any

import torch
from torch import Tensor

from course_lib.optim.transform import Tensors, Transform


def in_dtype(dtype: torch.dtype, transform: Transform) -> Transform:
    """Run a transform as on parameters of another dtype: in_dtype(torch.float32, adam()) on bfloat16 weights.

    Its state is kept, and its formula computed, in `dtype`; only the steps are rounded to the gradients' dtype.
    """

    def cast(tensors: Tensors) -> list[Tensor]:
        return [t.to(dtype) for t in tensors]

    def update(grads: Tensors, state: Any, params: Tensors) -> tuple[list[Tensor], Any]:
        steps, state = transform.update(cast(grads), state, cast(params))
        return [s.to(g.dtype) for s, g in zip(steps, grads, strict=True)], state

    return Transform(lambda params: transform.init(cast(params)), update, transform.rule)
