r"""Two transforms side by side, each with its own parameters."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from course_lib.optim.transform import Tensors, Transform


class PartitionState(NamedTuple):
    chosen: Any  # the state of the first transform
    others: Any  # and of the second


def partition(choose: Callable[[Tensor], bool], first: Transform, second: Transform) -> Transform:
    """Move the parameters that `choose` picks with `first`, all others with `second`.

    What torch does with parameter groups: partition(lambda p: p.ndim < 2, adam(), adamw()) decays no bias. `choose` may
    look at a parameter's shape and dtype, not at its values, which vmap hides.
    """

    def init(params: Tensors) -> PartitionState:
        return PartitionState(*(t.init(part) for t, part in zip((first, second), _parts(params, params), strict=True)))

    def update(grads: Tensors, state: PartitionState, params: Tensors) -> tuple[list[Tensor], PartitionState]:
        flows, after = [], []
        for t, g, s, p in zip((first, second), _parts(grads, params), state, _parts(params, params), strict=True):
            steps, s = t.update(g, s, p) if p else ([], s)
            flows.append(iter(steps))
            after.append(s)
        return [next(flows[0] if choose(p) else flows[1]) for p in params], PartitionState(*after)

    def _parts(tensors: Tensors, params: Tensors) -> tuple[list[Tensor], list[Tensor]]:
        pairs = list(zip(tensors, params, strict=True))
        return [t for t, p in pairs if choose(p)], [t for t, p in pairs if not choose(p)]

    return Transform(init, update)
