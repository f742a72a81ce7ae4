r"""The schedule that is not a function of the step: it watches the loss, and so has a state."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from course_lib.optim import Tensors, Transform
from course_lib.optim.transform import require, scalar
from course_lib.schedules.compose import Number, check_whole


class PlateauState(NamedTuple):
    scale: Tensor  # () s, the current factor
    best: Tensor  # () l*, the lowest loss so far
    bad: Tensor  # () b, observations since the last improvement
    rest: Tensor  # () r, observations still to be ignored


class Plateau(NamedTuple):
    """transform: multiplies steps by the scale in its state; put it after an optimizer in a `chain`.

    observe(state, loss) -> state: to be called with each measured loss. The state may be the transform's own or the
    whole chain's: stepper.state = plateau.observe(stepper.state, loss).
    """

    transform: Transform
    observe: Callable[[Any, Number], Any]


def reduce_on_plateau(
    factor: Number = 0.1,
    patience: int | Tensor = 10,
    *,
    threshold: Number = 1e-4,
    cooldown: int | Tensor = 0,
    floor: Number = 0.0,
) -> Plateau:
    r"""Reduce the learning rate when the loss has stopped falling. Equal to torch's ReduceLROnPlateau in mode "min".

    .. math::
        \text{better} &\iff l < l^* (1 - \theta), \quad l^* = \infty \text{ at first}            \qquad (1) \\
        l^* &\leftarrow l,\; b \leftarrow 0 \text{ if better, else } b \leftarrow b + 1         \qquad (2) \\
        r &\leftarrow r - 1,\; b \leftarrow 0 \quad\text{if } r > 0                            \qquad (3) \\
        s &\leftarrow \max(\gamma s, f),\; r \leftarrow c,\; b \leftarrow 0 \quad\text{if } b > p  \qquad (4)

    with \gamma = factor, p = patience, \theta = threshold, c = cooldown, f = floor.
    A NaN is not better. floor = min_lr / lr; torch also skips changes of lr below 1e-8. For an accuracy observe
    1 - accuracy.

    factor, threshold in [0, 1), floor >= 0, patience, cooldown whole and >= 0; each may be a () tensor, which is not
    checked. Raises ValueError or TypeError otherwise; the loss must be a number or a () tensor.
    """
    require("reduce_on_plateau: factor", factor, below=1)
    require("reduce_on_plateau: threshold", threshold, below=1)
    require("reduce_on_plateau: floor", floor)
    check_whole("reduce_on_plateau: patience", patience, 0)
    check_whole("reduce_on_plateau: cooldown", cooldown, 0)

    def init(params: Tensors) -> PlateauState:
        one = scalar(params, 1.0)
        return PlateauState(one, one * torch.inf, one * 0, one * 0)

    def update(steps: Tensors, state: PlateauState, params: Tensors) -> tuple[list[Tensor], PlateauState]:
        return [(state.scale * s).to(s.dtype) for s in steps], state

    def observe(state: Any, loss: Number) -> Any:
        if not isinstance(state, PlateauState):
            return tuple(observe(part, loss) for part in state) if type(state) is tuple else state
        scale, best, bad, rest = state
        better = loss < best * (1 - threshold)  # (1)
        best, bad = torch.where(better, loss, best), torch.where(better, 0, bad + 1)  # (2)
        bad, rest = torch.where(rest > 0, 0, bad), (rest - 1).clamp_min(0)  # (3)
        tired = bad > patience
        reduced = (factor * scale).clamp_min(floor)
        return PlateauState(
            torch.where(tired, reduced, scale), best, torch.where(tired, 0, bad), torch.where(tired, cooldown, rest)
        )  # (4)

    return Plateau(Transform(init, update), observe)
