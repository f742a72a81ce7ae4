"""The race on a network: any set of optimizers trains one MLP on the digits, step by step and side by side."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector

from course_lib.data import Dataset, digits, minibatches
from course_lib.models import mlp
from course_lib.optim import Stepper, Transform, adagrad, adam, rmsprop, sgd
from course_lib.optim.contract import checked
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.style import LINES
from course_lib.train import accuracy
from course_lib.trials import single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Factory = Callable[[float, float], Transform]

OWN: Mapping[str, Factory] = {
    "SGD": lambda lr_scale, beta: sgd(1.0 * lr_scale),
    "momentum": lambda lr_scale, beta: sgd(0.1 * lr_scale, beta),
    "AdaGrad": lambda lr_scale, beta: adagrad(0.06 * lr_scale),
    "RMSProp": lambda lr_scale, beta: rmsprop(0.006 * lr_scale),
    "Adam": lambda lr_scale, beta: adam(0.01 * lr_scale, beta),
}
"""name -> (times, beta) -> Transform, each with the learning rate that suits it here, multiplied by `times`."""

DIRECTIONS, SIZES = ("velocity", "mean"), ("square", "total", "peak")  # what states call them
QUANTILES = (0.1, 0.5, 0.9)
FORGET = 0.9  # of the running means over steps


@dataclass(frozen=True)
class DigitsRace(Result):
    """Runs on the same batches, up to the step that was reached; row t belongs to the (t+1)-th step.

    losses[name]: (t+1,) cross-entropy over the training part, before the first step and after each.
    effective[name]: (t, 3) the effective learning rate of a coordinate, |step| / |gradient|, each a root mean square
    over about the last ten steps: its 10, 50 and 90 % quantile over all coordinates that have a gradient.
    directions[name], sizes[name]: (t,) root mean square of what the state keeps of gradients (v, or Adam's m) and of
    their sizes (the root of Adam's v); NaN where the optimizer keeps no such thing. accuracy[name]: on the test part.
    steps: how many the race is to have.
    """

    losses: Mapping[str, Floats]
    effective: Mapping[str, Floats]
    directions: Mapping[str, Floats]
    sizes: Mapping[str, Floats]
    accuracy: Mapping[str, float]
    steps: int

    size: ClassVar[tuple[float, float]] = (7.0, 4.8)

    @property
    def ranking(self) -> tuple[str, ...]:
        """The names by the loss reached, lowest first, the lost ones last."""
        return tuple(sorted(self.losses, key=lambda name: np.nan_to_num(self.losses[name][-1], nan=np.inf)))

    def spread(self, name: str) -> float:
        """How many times the 10 % quantile of the effective learning rates goes into the 90 % one, at the end."""
        low, _, high = self.effective[name][-1]
        return float(high / low)

    def summary(self) -> str:
        reached = len(next(iter(self.effective.values())))
        ends = ", ".join(
            f"{n} {self.losses[n][-1]:.2g} ({self.accuracy[n]:.1%})" if np.isfinite(self.losses[n][-1]) else f"{n} lost"
            for n in self.ranking
        )
        return f"training loss (test accuracy) after {reached} of {self.steps} steps: {ends}"

    def draw(self, figure: "Figure"):
        """Training loss; the effective learning rate of the median coordinate, thin lines at 10 and 90 %; and what the
        state keeps, of gradients and of their sizes."""
        panels = figure.subplot_mosaic([["loss", "effective"], ["direction", "size"]])
        labels = {
            "loss": "training loss",
            "effective": "effective $\\eta$ of a coordinate,\n|step| / |gradient|",
            "direction": "rms of the velocity,\nor of Adam's $m$",
            "size": "root mean of the\nsquares kept ($v$)",
        }
        limits = {"loss": (1e-4, 10), "effective": (1e-4, 1e3), "direction": (1e-5, 10), "size": (1e-5, 10)}
        for name, ax in panels.items():
            ax.set(xlabel="step", ylabel=labels[name], yscale="log", ylim=limits[name])
        looks = dict(zip(self.losses, LINES, strict=False))
        lines = {
            panel: {name: ax.plot([], [], color=c, ls=ls, lw=1.4, label=name)[0] for name, (c, ls) in looks.items()}
            for panel, ax in panels.items()
        }
        figure.legend(
            handles=list(lines["loss"].values()), loc="outside upper center", ncols=len(looks), handlelength=3
        )
        bands = {name: panels["effective"].plot([], [], color=c, ls=ls, lw=0.6)[0] for name, (c, ls) in looks.items()}
        steps = 0

        def redraw(result: DigitsRace):
            nonlocal steps
            for name in looks:
                at = np.arange(1, len(result.directions[name]) + 1)
                lines["loss"][name].set_data(np.append(0, at), np.clip(result.losses[name], 1e-30, 1e30))
                low, median, high = np.clip(result.effective[name], 1e-30, 1e30).T
                lines["effective"][name].set_data(at, median)
                bands[name].set_data([*at, np.nan, *at], [*low, np.nan, *high])
                for panel, rows in (("direction", result.directions), ("size", result.sizes)):
                    lines[panel][name].set_data(at, np.clip(rows[name], 1e-30, 1e30))
            if steps != result.steps:
                steps = result.steps
                for ax in panels.values():
                    ax.set_xlim(0, steps)
                return None
            return *bands.values(), *(line for panel in lines.values() for line in panel.values())

        redraw(self)
        return redraw


@experiment
@single_threaded
def digits_race(
    lr_scale: Annotated[float, Log(0.01, 100.0)] = 1.0,
    beta: Annotated[float, Linear(0.0, 0.99)] = 0.9,
    batch: Annotated[int, Log(8, 512)] = 64,
    steps: Annotated[int, Log(10, 300)] = 120,
    *,
    optimizers: Mapping[str, Factory] = OWN,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> DigitsRace:
    """Train the MLP 64-64-64-10 once with each optimizer, from the same weights and on the same batches.

    times: what multiplies the learning rate that each optimizer has of its own. optimizers: name -> (times, beta) ->
    Transform, such as {"Lion": lambda times, beta: lion(3e-4 * times, beta)}; six can be told apart in the picture.
    Raises ValueError where there is none, and what `checked` raises for one that misbehaves.
    """
    if not optimizers:
        raise ValueError("digits_race: optimizers must name at least one")
    data = digits()
    runners = {
        name: _Runner(checked(make(lr_scale, beta), f"digits_race: {name}"), data, seed)
        for name, make in optimizers.items()
    }
    batches = _batches(len(data.train), batch, seed)

    def reached() -> DigitsRace:
        rows = {name: np.array(runner.rows, dtype=float).reshape(-1, 6) for name, runner in runners.items()}
        return DigitsRace(
            losses={name: np.array([runner.start, *rows[name][:, 0]]) for name, runner in runners.items()},
            effective={name: row[:, 1:4] for name, row in rows.items()},
            directions={name: row[:, 4] for name, row in rows.items()},
            sizes={name: row[:, 5] for name, row in rows.items()},
            accuracy={name: runner.accuracy() for name, runner in runners.items()},
            steps=steps,
        )

    for t in progress(range(steps)):
        rows = next(batches)
        for runner in runners.values():
            runner.step(rows)
        if t % 10 == 9:
            preview(reached())
    return reached()


def _batches(rows: int, size: int, seed: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from minibatches(rows, size, generator=generator)


class _Runner:
    """One network and its optimizer. rows: for each step the loss after it, three quantiles, direction and size."""

    def __init__(self, transform: Transform, data: Dataset, seed: int):
        self.train, self.test = data.train, data.test
        self.model = mlp((64, 64, 64, 10), seed=seed)
        self.stepper = Stepper(self.model.parameters(), transform)
        self.start = self.loss()
        self.rows: list[tuple[float, ...]] = []
        self.moved = self.sloped = torch.zeros(())  # running means of each coordinate's step^2 and gradient^2

    @torch.no_grad()
    def loss(self) -> float:
        return float(cross_entropy(self.model(self.train.x), self.train.y))

    @torch.no_grad()
    def accuracy(self) -> float:
        return float(accuracy(self.model(self.test.x), self.test.y))

    def step(self, rows: Tensor) -> None:
        params = self.stepper.params
        self.stepper.zero_grad()
        cross_entropy(self.model(self.train.x[rows]), self.train.y[rows]).backward()
        before = parameters_to_vector(params).detach()
        self.stepper.step()
        kept = dict(_kept(self.stepper.state))
        direction = next((_rms(kept[n]) for n in DIRECTIONS if n in kept), torch.nan)
        size = next((_rms([v.sqrt() for v in kept[n]]) for n in SIZES if n in kept), torch.nan)
        self.rows.append((self.loss(), *self.effective(before), direction, size))

    @torch.no_grad()
    def effective(self, before: Tensor) -> list[float]:
        """Quantiles of |step| / |gradient|; NaN where no coordinate has a gradient, or the run is lost."""
        slope = parameters_to_vector([p.grad for p in self.stepper.params if p.grad is not None])
        self.moved = FORGET * self.moved + (parameters_to_vector(self.stepper.params) - before) ** 2
        self.sloped = FORGET * self.sloped + slope**2
        alive = self.sloped > 0
        ratios = (self.moved[alive] / self.sloped[alive]).sqrt()
        ratios = ratios[ratios.isfinite()]
        return np.quantile(ratios.numpy(), QUANTILES).tolist() if len(ratios) else [np.nan] * 3


def _kept(state: Any) -> Iterator[tuple[str, list[Tensor]]]:
    """The fields of a state that hold a tensor for each parameter, also inside a chain; of one name the last counts."""
    fields = state._asdict().items() if hasattr(state, "_asdict") else ((str(i), part) for i, part in enumerate(state))
    for name, part in fields:
        if isinstance(part, tuple):
            yield from _kept(part)
        elif isinstance(part, list) and part and all(isinstance(p, Tensor) for p in part):
            yield name, part


def _rms(tensors: list[Tensor]) -> float:
    return float(parameters_to_vector(tensors).square().mean().sqrt())
