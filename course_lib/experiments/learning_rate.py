"""What a schedule is, what it does to the noise floor, and what it is when it counts in the wrong unit."""

import functools
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from course_lib import schedules
from course_lib.controls import Linear, Log, experiment
from course_lib.schedules import Schedule

Array = NDArray[np.float64]

Shape = Literal[
    "constant",
    "step decay",
    "exponential",
    "polynomial",
    "inverse square root",
    "cosine",
    "warm restarts",
    "one cycle",
    "warm-up, stable, decay",
]


@dataclass(frozen=True)
class Gallery:
    """factors: (steps,) what each update's learning rate is multiplied by. code: the call that makes the schedule."""

    factors: Array
    code: str

    @property
    def area(self) -> float:
        """The mean factor: how far the run may walk, beside one at the constant peak."""
        return float(self.factors.mean())

    @property
    def peak(self) -> tuple[int, float]:
        """The update with the largest factor, counted from 0, and that factor."""
        place = int(self.factors.argmax())
        return place, float(self.factors[place])

    @property
    def end(self) -> float:
        """The last update's factor."""
        return float(self.factors[-1])

    def summary(self) -> str:
        place, peak = self.peak
        return f"{self.code}: mean factor {self.area:.3f}, peak {peak:.3g} at update {place}, last {self.end:.3g}"


@experiment
def gallery(
    shape: Shape = "cosine",
    steps: Annotated[int, Linear(50, 400)] = 200,
    warm: Annotated[int, Linear(0, 40)] = 20,
    floor: Annotated[float, Linear(0.0, 0.5)] = 0.0,
    parts: Annotated[int, Linear(1, 5)] = 3,
    growth: Annotated[float, Linear(1.0, 3.0)] = 1.0,
    power: Annotated[float, Linear(0.5, 4.0)] = 1.0,
) -> Gallery:
    """Make a schedule over `steps` updates, the first `warm` of them a line from 0. Deterministic.

    floor: where polynomial, cosine, restarts and the last decay end. parts: plateaus of step decay, each 0.3 of the
    one before, or cosines of warm restarts, each `growth` times as long. power: of the polynomial. Exponential falls to
    a hundredth; inverse square root starts to fall after a tenth; stable ends where the last fifth begins.
    """
    rest = steps - warm
    pieces = sum(growth**i for i in range(parts))
    late = rest // 5
    name, arguments = {
        "constant": ("constant", {}),
        "step decay": ("step_decay", {"every": -(-rest // parts), "factor": 0.3}),
        "exponential": ("exponential", {"rate": 0.01 ** (1 / rest)}),
        "polynomial": ("polynomial", {"steps": rest, "power": power, "floor": floor}),
        "inverse square root": ("inverse_sqrt", {"steps": max(rest // 10, 1)}),
        "cosine": ("cosine", {"steps": rest, "floor": floor}),
        "warm restarts": ("warm_restarts", {"period": math.ceil(rest / pieces), "growth": growth, "floor": floor}),
        "one cycle": ("one_cycle", {"steps": steps, "rise": max(warm, 1) / steps}),
        "warm-up, stable, decay": (
            "warmup_stable_decay",
            {"warm": 0, "stable": rest - late, "decay": late, "floor": floor},
        ),
    }[shape]
    after, code = _called(name, arguments)
    if warm and shape == "warm-up, stable, decay":
        after, code = _called(name, arguments | {"warm": warm})
    elif warm and shape != "one cycle":  # which rises by itself
        after, code = schedules.then(schedules.warmup(warm), after, at=warm), f"then(warmup({warm}), {code}, at={warm})"
    return Gallery(after(torch.arange(steps)).numpy(), code)


def _called(name: str, arguments: dict[str, Any]) -> tuple[Schedule, str]:
    """The schedule of that name, and the call that makes it, as text."""
    listed = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in arguments.items())
    return getattr(schedules, name)(**arguments), f"{name}({listed})"


Decay = Literal["constant", "step", "cosine", "linear"]


@dataclass(frozen=True)
class NoiseFloor:
    """256 runs of SGD on a noisy bowl. All (steps+1,), entry 0 the start, but lrs (steps,).

    measured: mean of lambda theta^2 / 2 over the runs. predicted: the same by recursion. floor: where the loss would
    settle if the learning rate of the moment were kept.
    """

    measured: Array
    predicted: Array
    floor: Array
    lrs: Array

    @property
    def lag(self) -> float:
        """The last predicted loss over the floor of the last learning rate: infinite where that is 0."""
        return float(self.predicted[-1] / self.floor[-1]) if self.floor[-1] else float("inf")

    @property
    def gain(self) -> float:
        """The floor of the first learning rate over the last measured loss."""
        return float(self.floor[0] / self.measured[-1])

    def summary(self) -> str:
        return (
            f"ends at {self.measured[-1]:.2g} (theory {self.predicted[-1]:.2g}); "
            f"the floor of the first learning rate, {self.floor[0]:.2g}, is {self.gain:.3g} times that"
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
    measured, predicted = [curvature * start**2 / 2], [curvature * start**2 / 2]
    for t, eta in enumerate(lrs.tolist()):
        theta = (1 - eta * curvature) * theta - eta * noise[t]  # (1)
        moment = (1 - eta * curvature) ** 2 * moment + eta**2  # (2)
        measured.append(curvature * (theta @ theta) / len(theta) / 2)
        predicted.append(curvature * moment / 2)
    floor = lrs / (2 - lrs * curvature) / 2  # (3)
    return NoiseFloor(np.array(measured), np.array(predicted), np.append(floor, floor[-1]), lrs)


def decaying(decay: Decay, steps: int) -> Schedule:
    """Cosine and linear reach 0 after `steps` updates; step falls to a tenth and a hundredth at the thirds."""
    return {
        "constant": schedules.constant(),
        "step": schedules.step_decay(-(-steps // 3)),
        "cosine": schedules.cosine(steps),
        "linear": schedules.polynomial(steps),
    }[decay]


@functools.lru_cache(maxsize=4)
def _noise(seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal((300, 256))


Kind = Literal["cosine", "linear", "step decay", "exponential"]
NAMES = ("as meant", "stepped per batch", "stepped by each process")


def meant(kind: Kind, epochs: int) -> Schedule:
    """A schedule whose step is one epoch: to 0 over the run, or to a thousandth in three drops, or evenly."""
    return {
        "cosine": schedules.cosine(epochs),
        "linear": schedules.polynomial(epochs),
        "step decay": schedules.step_decay(max(-(-epochs // 4), 1)),
        "exponential": schedules.exponential(0.001 ** (1 / epochs)),
    }[kind]


@dataclass(frozen=True)
class UnitCurves:
    """factors: (3, epochs * per_epoch) of each batch's learning rate: as meant, per batch, by each process."""

    factors: Array
    epochs: int
    per_epoch: int
    processes: int

    @property
    def gone(self) -> Array:
        """(3,) epochs until the factor is first below a hundredth; the whole run where it never is."""
        low = self.factors < 0.01
        first = np.where(low.any(axis=1), low.argmax(axis=1), low.shape[1])
        return first / self.per_epoch

    def summary(self) -> str:
        means = ", ".join(f"{name} {row.mean():.3f}" for name, row in zip(NAMES, self.factors, strict=True))
        return f"mean factor over {self.epochs} epochs of {self.per_epoch} batches: {means}"


@experiment
def unit_curves(
    kind: Kind = "cosine",
    epochs: Annotated[int, Linear(3, 30)] = 12,
    per_epoch: Annotated[int, Log(4, 60)] = 20,
    processes: Annotated[int, Linear(2, 8)] = 4,
) -> UnitCurves:
    """The learning rate that each batch gets from a schedule made for epochs. Deterministic.

    As meant it is stepped once an epoch. Stepped after every batch it runs per_epoch times too fast; where each of N
    processes steps the one that all share, N times too fast.
    """
    schedule, t = meant(kind, epochs), torch.arange(epochs * per_epoch)
    epoch = t // per_epoch
    rows = [schedule(count).numpy() for count in (epoch, t, processes * epoch)]
    return UnitCurves(np.stack(rows), epochs, per_epoch, processes)
