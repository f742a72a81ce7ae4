"""How large are Adam's first updates, and is a warm-up worth anything on the digits?"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from course_lib.data import minibatches
from course_lib.lectures.learning_rate.training import SIZES, batches_in, final, geometric_mean, handwriting
from course_lib.models import mlp
from course_lib.optim import Stepper, Transform, adam, chain, steps_on
from course_lib.ranges import Linear, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.schedules import constant, cosine, join, scale_by_schedule, warmup
from course_lib.style import BLUE, GREEN, INK, ORANGE, RED
from course_lib.trials import Comparison, compare, grid, single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

B1 = 0.9


@dataclass(frozen=True)
class EarlySteps(Result):
    """Root mean square over coordinates of Adam's update, in units of lr; each (60,), from update 1 on."""

    corrected: Floats
    uncorrected: Floats
    warmed: Floats
    noise: Floats

    @property
    def peak(self) -> tuple[int, float]:
        """The update, from 1, at which leaving the correction out enlarges most, and the factor."""
        ratio = self.uncorrected / self.corrected
        return int(ratio.argmax()) + 1, float(ratio.max())

    def summary(self) -> str:
        place, factor = self.peak
        return (
            f"first update {self.corrected[0]:.2f} lr, later {self.corrected[-20:].mean():.2f} lr; without bias "
            f"correction {self.uncorrected[0]:.2f} lr, and up to {factor:.1f} times as long, at update {place}"
        )

    def draw(self, figure: "Figure"):
        """Size of the update in units of lr against the number of the update, logarithmic."""
        ax = figure.subplots()
        ax.set(xlabel="update", ylabel=r"root mean square of the update, in units of $\eta$", yscale="log")
        ax.set(xlim=(0, 61), ylim=(0.02, 10))
        looks = (
            ("uncorrected", RED, "--", "without bias correction"),
            ("corrected", BLUE, "-", "Adam"),
            ("warmed", GREEN, "-.", "Adam, warm-up"),
            ("noise", INK, ":", "theory for pure noise"),
        )
        lines = {n: ax.plot([], [], color=c, ls=ls, label=label)[0] for n, c, ls, label in looks}
        figure.legend(handles=list(lines.values()), loc="outside upper center", ncols=4)

        def redraw(result: EarlySteps):
            for name, line in lines.items():
                values = getattr(result, name)
                line.set_data(np.arange(1, len(values) + 1), values.clip(1e-6))
            return list(lines.values())

        redraw(self)
        return redraw


@experiment
def early_steps(
    gradients: Literal["noise", "digits"] = "noise",
    warmup_steps: Annotated[int, Linear(1, 60)] = 20,
    b2: Annotated[float, Linear(0.9, 0.999)] = 0.999,
    *,
    seed: int = 0,
) -> EarlySteps:
    r"""Adam with b1 = 0.9 on a given sequence of gradients: pure noise, or those of a run on the digits.

    .. math::
        \text{uncorrected} / \text{corrected} &= (1 - \beta_1^t) / \sqrt{1 - \beta_2^t}                   \qquad (1) \\
        \text{rms of } \hat m_t &= \sqrt{\frac{1 - \beta_1}{1 + \beta_1} \cdot \frac{1 + \beta_1^t}{1 - \beta_1^t}}
            \text{ for independent noise of variance } 1                                            \qquad (2)

    `noise` in the result is (2). The warm-up multiplies update t by min(t / warmup_steps, 1).
    """
    g = _drawn(seed) if gradients == "noise" else _met(seed)
    t = np.arange(1, len(g) + 1)
    rms = np.sqrt(np.square(steps_on(adam(1.0, B1, b2), list(g))).mean(axis=1))
    noise = np.sqrt((1 - B1) / (1 + B1) * (1 + B1**t) / (1 - B1**t))  # (2)
    return EarlySteps(rms, rms * correction(t, b2), rms * np.minimum(t / warmup_steps, 1), noise)


def correction(t, b2: float = 0.999):
    """(1) of `early_steps`: how many times too long update t = 1, 2, ... is without bias correction."""
    return (1 - B1**t) / (1 - b2**t) ** 0.5


@functools.lru_cache(maxsize=4)
def _drawn(seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((60, 400))


@functools.lru_cache(maxsize=4)
def _met(seed: int) -> Floats:
    """(60, 600) the gradients of some weights in 60 updates of Adam at 0.003, batches of 32; none that is always 0."""
    data, model = handwriting().train, mlp(SIZES, seed=seed)
    seen: list[torch.Tensor] = []
    optimizer = Stepper(model.parameters(), adam(0.003))
    generator = torch.Generator().manual_seed(seed)
    while len(seen) < 60:
        for rows in minibatches(len(data), 32, generator=generator):
            optimizer.zero_grad()
            cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            seen.append(torch.cat([p.grad.flatten() for p in model.parameters()]))  # type: ignore[union-attr]
            optimizer.step()
    g = torch.stack(seen[:60]).double().numpy()
    used = np.flatnonzero((g != 0).mean(axis=0) > 0.9)
    return g[:, np.random.default_rng(0).permutation(used)[:600]]


@dataclass(frozen=True)
class WarmupGain(Result):
    """lrs: (8,). losses[name]: (8, seeds) validation loss; name "none" or "warm-up". Partial results lack one."""

    lrs: Floats
    losses: Mapping[str, Floats]
    warmup_steps: int
    method: str

    def best(self, name: str) -> tuple[float, float]:
        """The best learning rate by the mean over seeds, and its loss."""
        means = geometric_mean(self.losses[name])
        return float(self.lrs[means.argmin()]), float(means.min())

    @property
    def by_lr(self) -> list[Comparison]:
        """At each learning rate the logarithm of the loss, without warm-up less with it, paired by seed."""
        rows = zip(np.log(self.losses["none"]), np.log(self.losses["warm-up"]), strict=True)
        return [compare(a, b, names=("without", "with warm-up")) for a, b in rows]

    @property
    def at_best(self) -> Comparison:
        """The same, each at its own best."""
        a, b = (np.log(rows[geometric_mean(rows).argmin()]) for rows in self.losses.values())
        return compare(a, b, names=("without", "with warm-up"))

    def summary(self) -> str:
        each = "; ".join(
            f"{name}: best {loss:.3f} at lr {lr:.2g}" for name in self.losses for lr, loss in [self.best(name)]
        )
        verdict = f"; at the best: {self.at_best.verdict}" if len(self.losses) == 2 else ""
        return f"{self.method}, {each}{verdict}"

    def draw(self, figure: "Figure"):
        """Validation loss of each seed, and its mean, against the learning rate, with warm-up and without."""
        ax = figure.subplots()
        ax.set(xlabel=r"learning rate $\eta$", ylabel="validation loss (nats)", xscale="log", yscale="log")
        ax.set(xlim=(8e-4, 0.16), ylim=(0.06, 100))
        looks = {"none": (BLUE, "-", "o", 0.97), "warm-up": (ORANGE, "--", "s", 1.03)}
        labels = {"none": "without warm-up", "warm-up": "with warm-up"}
        lines = {n: ax.plot([], [], color=c, ls=ls, label=labels[n])[0] for n, (c, ls, _, _) in looks.items()}
        dots = {n: ax.plot([], [], m, color=c, ms=3, alpha=0.5)[0] for n, (c, _, m, _) in looks.items()}
        best = {n: ax.plot([], [], "*", color=c, mec=INK, ms=12)[0] for n, (c, *_) in looks.items()}
        ax.legend(loc="upper left")
        method = ax.text(0.3, 0.93, "", transform=ax.transAxes, va="top")

        def redraw(result: WarmupGain):
            method.set_text(result.method)
            for name, (*_, shift) in looks.items():
                rows = result.losses.get(name, np.ones((len(result.lrs), 0)))
                known = rows.shape[1] > 0
                lines[name].set_data((result.lrs, geometric_mean(rows)) if known else ([], []))
                dots[name].set_data(np.repeat(result.lrs * shift, rows.shape[1]), rows.ravel())
                best[name].set_data(*([[x] for x in result.best(name)] if known else ([], [])))
            return *lines.values(), *dots.values(), *best.values(), method

        redraw(self)
        return redraw


@experiment
@single_threaded
def warmup_gain(
    method: Literal["Adam", "Adam without correction"] = "Adam",
    hidden: Annotated[int, Linear(1, 3)] = 3,
    warmup_steps: Annotated[int, Linear(2, 50)] = 20,
    seeds: Annotated[int, Linear(4, 8)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> WarmupGain:
    """Train `hidden` layers of 32 units for three epochs in batches of 32, at eight learning rates, then cosine to 0.

    The cosine runs over the updates that the warm-up leaves, so that both walk equally far: the factors' sums agree.
    """
    lrs, steps = np.geomspace(1e-3, 0.128, 8), batches_in(3, 32)
    fix = constant() if method == "Adam" else lambda t: correction(t + 1)
    found: dict[str, Floats] = {}

    def model(seed: int) -> nn.Module:
        return mlp((64, *[32] * hidden, 10), seed=seed)

    for name in progress(("none", "warm-up")):
        plan = (
            cosine(steps)
            if name == "none"
            else join(warmup(warmup_steps), cosine(steps - warmup_steps), at=warmup_steps)
        )

        def made(lr, plan=plan) -> Transform:
            return chain(adam(lr, B1), scale_by_schedule(fix), scale_by_schedule(plan))

        each = range(seed, seed + seeds)
        runs = grid(made, {"lr": lrs.tolist()}, each, handwriting(), model=model, epochs=3, batch=32)
        found = found | {name: final(runs, len(lrs))}
        preview(WarmupGain(lrs, found, warmup_steps, method))
    return WarmupGain(lrs, found, warmup_steps, method)
