"""A transform at the wheel of an nn.Module."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from course_lib.optim.transform import Transform


class Stepper:
    """`step`, `zero_grad`, `state_dict` over parameters that it moves in place, as a torch optimizer does.

    Give it `model.parameters()`; parameters that need no gradient are left alone. Raises ValueError where none is left.
    """

    def __init__(self, params: Iterable[Tensor], transform: Transform):
        self.params = [p for p in params if p.requires_grad]
        if not self.params:
            raise ValueError("Stepper: params must hold a tensor that requires a gradient, got none")
        self.transform = transform
        self.state = transform.init([p.detach() for p in self.params])

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for p in self.params:
            p.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter once. Raises ValueError where one has no gradient, which torch passes over silently."""
        grads = [p.grad for p in self.params if p.grad is not None]
        if len(grads) < len(self.params):
            missing = [i for i, p in enumerate(self.params) if p.grad is None]
            raise ValueError(f"Stepper: call backward before step; parameters {missing} have no gradient")
        steps, self.state = self.transform.update(grads, self.state, self.params)
        for p, s in zip(self.params, steps, strict=True):
            p.add_(s)

    def state_dict(self) -> dict[str, list[Tensor]]:
        """The tensors of the state, in order. Updates are out of place, so what is handed out never changes later."""
        return {"state": list(_leaves(self.state))}

    def load_state_dict(self, saved: dict[str, list[Tensor]]) -> None:
        """Go on from a saved state, bit for bit. Raises ValueError where its tensors have other shapes than ours."""
        want = [tuple(t.shape) for t in _leaves(self.state)]
        have = [tuple(t.shape) for t in saved["state"]]
        if want != have:
            raise ValueError(f"Stepper: the saved state must hold tensors of shapes {want}, got {have}")
        self.state = _rebuilt(self.state, iter(saved["state"]))


def _leaves(state: Any) -> Iterator[Tensor]:
    if isinstance(state, Tensor):
        yield state
    else:
        for part in state:
            yield from _leaves(part)


def _rebuilt(state: Any, leaves: Iterator[Tensor]) -> Any:
    if isinstance(state, Tensor):
        return next(leaves)
    parts = [_rebuilt(part, leaves) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
