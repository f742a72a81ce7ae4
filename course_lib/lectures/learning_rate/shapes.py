"""What a schedule is, what it does to the noise floor, and what it is when it counts in the wrong unit."""

import functools
import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import torch

from course_lib import schedules
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Floats, Result
from course_lib.schedules import Schedule
from course_lib.style import BLUE, GREEN, GREY, INK, LINES, ORANGE, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
class Gallery(Result):
    """factors: (steps,) what each update's learning rate is multiplied by. code: the call that makes the schedule."""

    factors: Floats
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

    def draw(self, figure: "Figure"):
        """Left the factor at each update, right the sum of the factors so far, beside that of a constant 1."""
        left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
        left.set(xlabel="update", ylabel="factor on the learning rate", xlim=(0, 400), ylim=(0, 1.3))
        (curve,) = left.plot([], [], color=BLUE)
        (peak,) = left.plot([], [], "o", color=ORANGE, mec=INK, ms=7)
        code = left.text(0.02, 0.97, "", transform=left.transAxes, va="top", family="monospace", fontsize=7.5)
        right.set(xlabel="update", ylabel="sum of the factors so far", xlim=(0, 400), ylim=(0, 400))
        right.plot([0, 400], [0, 400], color=GREY, ls=":", lw=1.2, label="constant 1")
        (area,) = right.plot([], [], color=GREEN, ls="--", label="this schedule")
        right.legend(loc="upper left")

        def redraw(result: Gallery):
            steps = np.arange(len(result.factors))
            curve.set_data(steps, result.factors)
            peak.set_data([result.peak[0]], [result.peak[1]])
            area.set_data(steps + 1, result.factors.cumsum())
            code.set_text(textwrap.fill(result.code, 44, subsequent_indent="  "))
            return curve, peak, area, code

        redraw(self)
        return redraw


@experiment
def gallery(
    shape: Shape = "cosine",
    steps: Annotated[int, Linear(50, 400)] = 200,
    warmup_steps: Annotated[int, Linear(0, 40)] = 20,
    floor: Annotated[float, Linear(0.0, 0.5)] = 0.0,
    drops: Annotated[int, Linear(1, 5)] = 3,
    growth: Annotated[float, Linear(1.0, 3.0)] = 1.0,
    power: Annotated[float, Linear(0.5, 4.0)] = 1.0,
) -> Gallery:
    """Make a schedule over `steps` updates, the first `warmup_steps` of them a line from 0. Deterministic.

    floor: where polynomial, cosine, restarts and the last decay end. drops: plateaus of step decay, each 0.3 of the
    one before, or cosines of warm restarts, each `growth` times as long. power: of the polynomial. Exponential falls to
    a hundredth; inverse square root starts to fall after a tenth; stable ends where the last fifth begins.
    """
    rest = steps - warmup_steps
    pieces = sum(growth**i for i in range(drops))
    late = rest // 5
    name, arguments = {
        "constant": ("constant", {}),
        "step decay": ("step_decay", {"every": -(-rest // drops), "factor": 0.3}),
        "exponential": ("exponential", {"rate": 0.01 ** (1 / rest)}),
        "polynomial": ("polynomial", {"steps": rest, "power": power, "floor": floor}),
        "inverse square root": ("inverse_sqrt", {"steps": max(rest // 10, 1)}),
        "cosine": ("cosine", {"steps": rest, "floor": floor}),
        "warm restarts": ("warm_restarts", {"period": math.ceil(rest / pieces), "growth": growth, "floor": floor}),
        "one cycle": ("one_cycle", {"steps": steps, "rise": max(warmup_steps, 1) / steps}),
        "warm-up, stable, decay": (
            "warmup_stable_decay",
            {"warm": 0, "stable": rest - late, "decay": late, "floor": floor},
        ),
    }[shape]
    after, code = _called(name, arguments)
    if warmup_steps and shape == "warm-up, stable, decay":
        after, code = _called(name, arguments | {"warm": warmup_steps})
    elif warmup_steps and shape != "one cycle":  # which rises by itself
        after, code = (
            schedules.join(schedules.warmup(warmup_steps), after, at=warmup_steps),
            f"join(warmup({warmup_steps}), {code}, at={warmup_steps})",
        )
    return Gallery(after(torch.arange(steps)).numpy(), code)


def _called(name: str, arguments: dict[str, Any]) -> tuple[Schedule, str]:
    """The schedule of that name, and the call that makes it, as text."""
    listed = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in arguments.items())
    return getattr(schedules, name)(**arguments), f"{name}({listed})"


Decay = Literal["constant", "step", "cosine", "linear"]


@dataclass(frozen=True)
class NoiseFloor(Result):
    """256 runs of SGD on a noisy bowl. All (steps+1,), entry 0 the start, but lrs (steps,).

    measured: mean of lambda theta^2 / 2 over the runs. predicted: the same by recursion. floor: where the loss would
    settle if the learning rate of the moment were kept.
    """

    measured: Floats
    predicted: Floats
    floor: Floats
    lrs: Floats

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

    def draw(self, figure: "Figure"):
        """Above the mean loss of the runs, its prediction and the floor of each moment; below the learning rate."""
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.6, 1))
        top.set(ylabel="mean loss", yscale="log", xlim=(0, 300), ylim=(1e-4, 200))
        top.set_xlabel("update")
        (measured,) = top.plot([], [], color=BLUE, lw=1.4, label="measured, 256 runs")
        (predicted,) = top.plot([], [], color=ORANGE, ls="--", label="theory")
        (floor,) = top.plot([], [], color=RED, ls=":", label=r"floor if $\eta_t$ were kept")
        figure.legend(handles=[measured, predicted, floor], loc="outside upper center", ncols=3)
        bottom.set(xlabel="update", ylabel=r"$\eta_t$", yscale="log", ylim=(1e-4, 2.5))
        (lr,) = bottom.plot([], [], color=GREEN, drawstyle="steps-post")

        def redraw(result: NoiseFloor):
            steps = np.arange(len(result.measured))
            measured.set_data(steps, result.measured.clip(1e-9, 1e9))
            predicted.set_data(steps, result.predicted.clip(1e-9, 1e9))
            floor.set_data(steps, result.floor.clip(1e-9))
            lr.set_data(steps[:-1], result.lrs.clip(1e-9))
            return measured, predicted, floor, lr

        redraw(self)
        return redraw


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
def _noise(seed: int) -> Floats:
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
class UnitCurves(Result):
    """factors: (3, epochs * per_epoch) of each batch's learning rate: as meant, per batch, by each process."""

    factors: Floats
    epochs: int
    per_epoch: int
    processes: int

    @property
    def gone(self) -> Floats:
        """(3,) epochs until the factor is first below a hundredth; the whole run where it never is."""
        low = self.factors < 0.01
        first = np.where(low.any(axis=1), low.argmax(axis=1), low.shape[1])
        return first / self.per_epoch

    def summary(self) -> str:
        means = ", ".join(f"{name} {row.mean():.3f}" for name, row in zip(NAMES, self.factors, strict=True))
        return f"mean factor over {self.epochs} epochs of {self.per_epoch} batches: {means}"

    def draw(self, figure: "Figure"):
        """The factor on the learning rate against the share of the run that is done, for the three ways of counting."""
        axes = figure.subplots(1, 3, sharey=True)
        lines = []
        for ax, (color, _), name in zip(axes, LINES, NAMES, strict=False):
            ax.set(
                xlabel="share of the run", ylabel="factor" if ax is axes[0] else " ", xlim=(0, 1), ylim=(-0.02, 1.05)
            )
            ax.set_title(name)
            lines.append(ax.plot([], [], color=color, lw=1.2)[0])

        def redraw(result: UnitCurves):
            share = np.arange(result.factors.shape[1]) / result.factors.shape[1]
            for line, row in zip(lines, result.factors, strict=True):
                line.set_data(share, row)
            return lines

        redraw(self)
        return redraw


@experiment
def unit_curves(
    kind: Kind = "cosine",
    epochs: Annotated[int, Linear(3, 30)] = 12,
    per_epoch: Annotated[int, Log(4, 60)] = 20,
    processes: Annotated[int, Linear(2, 8)] = 4,
) -> UnitCurves:
    """The learning rate that each batch gets from a schedule made for epochs. Deterministic.

    As meant it is stepped once an epoch. Stepped after every batch it runs per_epoch times too fast; where each of N
    processes steps the one that all share, as Accelerate does, N times too fast.
    """
    schedule, t = meant(kind, epochs), torch.arange(epochs * per_epoch)
    epoch = t // per_epoch
    rows = [schedule(count).numpy() for count in (epoch, t, processes * epoch)]
    return UnitCurves(np.stack(rows), epochs, per_epoch, processes)
