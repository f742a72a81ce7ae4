"""5.2  What does decay do to the noise floor?"""

import functools
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch

from course_lib import schedules
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Curves, Floats
from course_lib.schedules import Schedule

Decay = Literal["constant", "step", "cosine", "linear"]


@dataclass(frozen=True)
class NoiseFloor(Curves):
    """256 runs of SGD on a noisy bowl. x: updates, 0 the start. Rows: their mean loss lambda theta^2 / 2; the same by
    recursion; where it would settle if the learning rate of the moment were kept; and that learning rate.
    """

    xlabel = "update"
    ylabel = r"mean loss; $\eta_t$"
    scales = ("linear", "log")
    limits = ((0, 300), (1e-4, 200))
    theory = ("theory",)

    @property
    def gain(self) -> float:
        """The floor of the first learning rate over the last measured loss."""
        return float(self.rows["floor"][0] / self.rows["measured"][-1])

    def summary(self) -> str:
        return (
            f"ends at {self.rows['measured'][-1]:.2g} (theory {self.rows['theory'][-1]:.2g}); "
            f"the floor of the first learning rate, {self.rows['floor'][0]:.2g}, is {self.gain:.3g} times that"
        )


@experiment
def noise_floor(
    decay: Decay = "cosine",
    lr: Annotated[float, Log(0.02, 1.8)] = 0.5,
    steps: Annotated[int, Linear(20, 300)] = 200,
    curvature: Annotated[float, Log(0.1, 1.0)] = 1.0,
    *,
    seed: int = 0,
) -> NoiseFloor:
    r"""Walk down lambda theta^2 / 2 from theta = 10 with gradient noise of variance 1, under four schedules.

    .. math::
        \theta_{t+1} &= (1 - \eta_t \lambda)\, \theta_t - \eta_t\, \xi_t                                  \qquad (1) \\
        M_{t+1} &= (1 - \eta_t \lambda)^2 M_t + \eta_t^2 \sigma^2, \quad M_t = \mathrm{E}\, \theta_t^2    \qquad (2) \\
        \text{floor}_t &= \tfrac12 \lambda \cdot \eta_t \sigma^2 / (\lambda (2 - \eta_t \lambda))         \qquad (3)
    """
    lrs = lr * decaying(decay, steps)(torch.arange(steps)).numpy()
    noise, start = _noise(seed), 10.0
    theta, moment = np.full(noise.shape[1], start), start**2
    squares = [(start**2, start**2)]
    for t, eta in enumerate(lrs.tolist()):
        theta = (1 - eta * curvature) * theta - eta * noise[t]  # (1)
        moment = (1 - eta * curvature) ** 2 * moment + eta**2  # (2)
        squares.append((theta @ theta / len(theta), moment))
    measured, predicted = curvature * np.array(squares).T / 2
    lrs = np.append(lrs, lrs[-1])
    floor = lrs / (2 - lrs * curvature) / 2  # (3)
    rows = {"measured": measured, "theory": predicted, "floor": floor, "learning rate": lrs}
    return NoiseFloor(np.arange(steps + 1.0), rows)


def decaying(decay: Decay, steps: int) -> Schedule:
    """Cosine and linear reach 0 after `steps` updates; step falls to a tenth and a hundredth at the thirds."""
    return {
        "constant": schedules.constant(),
        "step": schedules.step_decay(-(-steps // 3)),
        "cosine": schedules.cosine(steps),
        "linear": schedules.polynomial(steps),
    }[decay]


@functools.lru_cache(maxsize=4)
def _noise(seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((300, 256))
