"""A transform at the wheel of an nn.Module."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from course_lib.optim.transform import Transform


class Stepper:
    """`step`, `zero_grad`, `state_dict` over parameters that it moves in place, as a torch optimizer does.

    Give it `model.parameters()`; parameters that need no gradient are left alone. Raises ValueError where none is left.
    """

    def __init__(self, params: Iterable[Tensor], transform: Transform) -> None:
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
        """Move every parameter once. Raises ValueError where one has no gradient, which torch silently skips."""
        grads = [p.grad for p in self.params if p.grad is not None]
        if len(grads) < len(self.params):
            missing = [i for i, p in enumerate(self.params) if p.grad is None]
            raise ValueError(f"Stepper: call backward before step; parameters {missing} have no gradient")
        steps, self.state = self.transform.update(grads, self.state, self.params)
        for p, s in zip(self.params, steps, strict=True):
            p.add_(s)

    def state_dict(self) -> dict[str, Tensor]:
        """The state's tensors by name, such as "t" and "mean.0"; in a chain "1.mean.0" is the second transform's.

        Updates are out of place, so what is handed out never changes later.
        """
        return dict(_leaves(self.state))

    def load_state_dict(self, saved: Mapping[str, Tensor]) -> None:
        """Go on from a saved state, bit for bit, on the devices of ours.

        Raises ValueError where names, shapes or dtypes are not those of this optimizer's own state.
        """
        ours = self.state_dict()
        if missing := [name for name in ours if name not in saved]:
            raise ValueError(f"Stepper: the saved state has no {missing[0]!r}; it has {', '.join(saved) or 'nothing'}")
        if unknown := [name for name in saved if name not in ours]:
            raise ValueError(f"Stepper: the saved state has {unknown[0]!r}, and this optimizer only {', '.join(ours)}")
        for name, t in ours.items():
            want, have = (f"{tuple(x.shape)} of {x.dtype}" for x in (t, saved[name]))
            if want != have:
                raise ValueError(f"Stepper: the saved state's {name!r} must be {want}, got {have}")
        self.state = _filled(self.state, {name: saved[name].to(t.device) for name, t in ours.items()})


def _parts(state: Any) -> list[tuple[str, Any]]:
    """The entries of a NamedTuple, list or tuple with their names: its fields, or 0, 1, ..."""
    names = getattr(state, "_fields", range(len(state)))
    return [(str(name), part) for name, part in zip(names, state, strict=True)]


def _leaves(state: Any, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    for name, part in _parts(state):
        if isinstance(part, Tensor):
            yield prefix + name, part
        else:
            yield from _leaves(part, f"{prefix}{name}.")


def _filled(state: Any, leaves: Mapping[str, Tensor], prefix: str = "") -> Any:
    """The same nest, with the tensor of that name in each place."""
    parts = [
        leaves[prefix + name] if isinstance(part, Tensor) else _filled(part, leaves, f"{prefix}{name}.")
        for name, part in _parts(state)
    ]
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
