"""How far off is a gradient from a few examples, where does the iterate settle, and when are more examples worth it?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from numpy.typing import NDArray

from course_lib.data import Split
from course_lib.lectures.gradient_descent.network import (
    Net,
    gradient,
    handwriting,
    losses,
    noise_and_signal,
    squared_norm,
    start,
    step,
)
from course_lib.ranges import Linear, Log, Progress, experiment, no_progress
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, INK, ORANGE, RED
from course_lib.trials import single_threaded
from course_lib.trials.compare import Comparison, compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class NoiseBall(Result):
    """256 walkers of SGD on lambda theta^2 / 2, all started at theta = 2. walkers: (301, 256)."""

    walkers: Floats
    lr: float
    batch: int
    curvature: float

    @property
    def second_moment(self) -> Floats:
        """(301,) mean of theta^2 over the walkers."""
        return (self.walkers**2).mean(axis=1)

    @property
    def predicted(self) -> float:
        """eta sigma^2 / (lambda (2 - eta lambda)), with sigma^2 = 1 / B; infinite from eta = 2 / lambda on."""
        room = self.curvature * (2 - self.lr * self.curvature)
        return self.lr / (self.batch * room) if room > 0 else np.inf

    @property
    def measured(self) -> float:
        """Mean of theta^2 over the walkers and the second half of the run."""
        return float(self.second_moment[len(self.walkers) // 2 :].mean())

    @property
    def expected(self) -> Floats:
        """(301,) the same in theory: each step keeps (1 - eta lambda)^2 of it and adds eta^2 / B."""
        kept, added, moments = (1 - self.lr * self.curvature) ** 2, self.lr**2 / self.batch, [4.0]
        for _ in self.walkers[1:]:
            moments.append(kept * moments[-1] + added)
        return np.array(moments)

    def summary(self) -> str:
        if np.isinf(self.predicted):
            return f"learning rate {self.lr:.3g} is at or above 2 / lambda = {2 / self.curvature:.3g}: it never settles"
        return f"mean of theta^2 in the second half {self.measured:.3g}, theory {self.predicted:.3g}"

    def draw(self, figure: "Figure"):
        """Left a few walkers and the predicted band, right the mean square of all of them, over the theory."""
        left, right = figure.subplots(1, 2)
        left.set(xlabel="step", ylabel=r"$\theta$", xlim=(0, 300), ylim=(-3, 3))
        walks = [
            left.plot([], [], mark, color=color, ms=3)[0] for mark, color in (("o", BLUE), ("x", RED), ("+", GREEN))
        ]
        (band,) = left.plot([], [], color=INK, ls="--", lw=1.2, label=r"theory, $\pm 2$ standard deviations")
        left.legend(loc="upper right")
        right.set(
            xlabel="step", ylabel=r"mean of $\theta^2$ over 256 runs", yscale="log", xlim=(0, 300), ylim=(1e-5, 1e3)
        )
        (measured,) = right.plot([], [], color=BLUE, label="measured")
        (expected,) = right.plot([], [], color=ORANGE, ls="--", label="theory, step by step")
        (stationary,) = right.plot([], [], color=INK, ls=":", label=r"$\eta\sigma^2 / (B\lambda(2 - \eta\lambda))$")
        right.legend(loc="upper right")

        def redraw(result: NoiseBall):
            steps = np.arange(len(result.walkers))
            for line, walk in zip(walks, result.walkers.T, strict=False):
                line.set_data(steps, np.where(np.abs(walk) < 10, walk, np.nan))
            level = min(result.predicted, 1e9)
            spread = 2 * np.sqrt(level)
            band.set_data([0, 300, np.nan, 0, 300], [spread, spread, np.nan, -spread, -spread])
            measured.set_data(steps, np.minimum(result.second_moment, 1e30))
            expected.set_data(steps, np.minimum(result.expected, 1e30))
            stationary.set_data([0, 300], [level, level])
            return *walks, band, measured, expected, stationary

        redraw(self)
        return redraw


@experiment
def noise_ball(
    lr: Annotated[float, Log(0.02, 2.5)] = 0.3,
    batch: Annotated[int, Log(1, 256)] = 4,
    curvature: Annotated[float, Linear(0.2, 1.0)] = 1.0,
    *,
    seed: int = 0,
) -> NoiseBall:
    """Run SGD whose gradient is lambda theta + noise of variance 1 / batch: the mean of `batch` unit noises."""
    steps = 300
    noise = np.random.default_rng(seed).standard_normal((steps, 256)) / batch**0.5
    walkers = np.empty((steps + 1, 256))
    walkers[0] = 2.0
    for t in range(steps):
        walkers[t + 1] = walkers[t] - lr * (curvature * walkers[t] + noise[t])
    return NoiseBall(walkers, lr, batch, curvature)


@dataclass(frozen=True)
class GradientVariance(Result):
    """Mean squared distance of a batch's gradient from the full one, for a network on the digits.

    batches: (k,). independent, distinct: (k,) measured, examples drawn with and without replacement.
    example: tr(Sigma), that of a single example, computed from all n examples.
    """

    batches: NDArray[np.int64]
    independent: Floats
    distinct: Floats
    example: float
    examples: int

    @property
    def slope(self) -> float:
        """p in independent ~ B^p, by least squares on the log-log curve."""
        return float(np.polyfit(np.log(self.batches), np.log(self.independent), 1)[0])

    @property
    def predicted_distinct(self) -> Floats:
        """(k,) tr(Sigma) / B (n - B) / (n - 1): the last batch of an epoch has no freedom left."""
        return self.example / self.batches * (self.examples - self.batches) / (self.examples - 1)

    def summary(self) -> str:
        return f"one example: {self.example:.3g}; a batch with replacement: falls as B^{self.slope:.2f}"

    def draw(self, figure: "Figure"):
        """Mean squared error of a batch's gradient against the batch size, with and without replacement."""
        ax = figure.subplots()
        ax.set(
            xlabel="batch size $B$", ylabel="mean squared distance\nfrom the full gradient", xscale="log", yscale="log"
        )
        ax.set(xlim=(0.8, 700), ylim=(1e-4, 1e2))
        (theory,) = ax.plot([], [], color=GREY, label=r"$\mathrm{tr}\,\Sigma / B$")
        (theory_,) = ax.plot([], [], color=GREY, ls=":", label=r"$\mathrm{tr}\,\Sigma / B \cdot (n - B) / (n - 1)$")
        (independent,) = ax.plot([], [], "o", color=BLUE, ms=5, label="with replacement")
        (distinct,) = ax.plot([], [], "x", color=RED, ms=7, label="without")
        ax.legend(loc="lower left")

        def redraw(result: GradientVariance):
            theory.set_data(result.batches, result.example / result.batches)
            theory_.set_data(result.batches, result.predicted_distinct)
            independent.set_data(result.batches, result.independent)
            distinct.set_data(result.batches, result.distinct)
            return theory, theory_, independent, distinct

        redraw(self)
        return redraw


@experiment
@single_threaded
def gradient_variance(
    trained: Annotated[int, Linear(0, 100)] = 20,
    draws: Annotated[int, Log(50, 400)] = 200,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> GradientVariance:
    """Compare gradients of random batches with the full gradient, after `trained` steps of SGD."""
    part = handwriting()[0]
    n, generator = len(part), torch.Generator().manual_seed(seed)
    net, lr = start([seed]), torch.full((1, 1, 1), 0.3)
    for _ in range(trained):
        rows = torch.randint(n, (1, 32), generator=generator)
        net = step(net, part.x[rows], part.y[rows], lr)
    full = gradient(net, part.x[None], part.y)
    noise, _ = noise_and_signal(net, part)
    batches, chunk = 2 ** np.arange(10), 50
    errors = np.zeros((2, len(batches)))
    for i in progress(range(len(batches))):
        for _ in range(draws // chunk):
            with_ = torch.randint(n, (chunk, int(batches[i])), generator=generator)
            without = torch.rand(chunk, n, generator=generator).argsort(dim=1)[:, : batches[i]]
            for kind, rows in enumerate((with_, without)):
                estimate = gradient(net, part.x[rows], part.y[rows])
                gaps = squared_norm(Net(*(a - b for a, b in zip(estimate, full, strict=True))))
                errors[kind, i] += float(gaps.mean()) / (draws // chunk)
    return GradientVariance(batches, errors[0], errors[1], float(noise[0]), n)


@dataclass(frozen=True)
class NoiseScale(Result):
    """B_simple = tr(Sigma) / |G|^2 along a run of SGD on the digits, both averaged over three networks.

    steps, losses, exact, estimated: (k,). exact is from every example's gradient; estimated from the squared norms of
    gradients of two batch sizes, drawn again and again (McCandlish et al. 2018, appendix A.1).
    naive: (k,) the same with |G|^2 taken for the small batch's own squared norm.
    """

    steps: NDArray[np.int64]
    losses: Floats
    exact: Floats
    estimated: Floats
    naive: Floats

    @property
    def growth(self) -> float:
        """How many times larger the noise scale is at the end than at the start."""
        return float(self.exact[-1] / self.exact[0])

    def summary(self) -> str:
        return (
            f"noise scale {self.exact[0]:.0f} examples at the start, {self.exact[-1]:.0f} at the end of the run; "
            f"two-batch estimate at the end {self.estimated[-1]:.0f}"
        )

    def draw(self, figure: "Figure"):
        """The gradient noise scale along a run: from every example, from two batch sizes, and the biased way."""
        ax = figure.subplots()
        ax.set(xlabel="training loss (falls to the right, as training goes)", ylabel="noise scale (examples)")
        ax.set(xscale="log", yscale="log", xlim=(4, 0.03), ylim=(2, 5000))
        (exact,) = ax.plot([], [], color=BLUE, label=r"$\mathrm{tr}\,\Sigma / |G|^2$ from every example")
        (estimated,) = ax.plot([], [], "o", color=ORANGE, ms=6, label="estimate from two batch sizes")
        (naive,) = ax.plot([], [], "x--", color=RED, lw=1, label=r"with the small batch's own $|g|^2$ for $|G|^2$")
        ax.legend(loc="upper left")

        def redraw(result: NoiseScale):
            exact.set_data(result.losses, result.exact)
            estimated.set_data(result.losses, np.clip(result.estimated, 1e-3, None))
            naive.set_data(result.losses, np.clip(result.naive, 1e-3, None))
            return exact, estimated, naive

        redraw(self)
        return redraw


@experiment
@single_threaded
def noise_scale(
    small: Annotated[int, Log(2, 32)] = 8,
    big: Annotated[int, Log(64, 256)] = 128,
    draws: Annotated[int, Log(50, 200)] = 200,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> NoiseScale:
    """Train three networks with batches of 32 and measure the noise scale at eight moments, both ways."""
    part, copies = handwriting()[0], 3
    n, generator = len(part), torch.Generator().manual_seed(seed)
    net, lr = start(range(seed, seed + copies)), torch.full((copies, 1, 1), 0.3)
    moments, rows = np.array([0, 3, 6, 12, 25, 50, 100, 200]), []
    for now, then in progress(list(zip(moments, [*moments[1:], moments[-1]], strict=True))):
        noise, signal = (float(v.mean()) for v in noise_and_signal(net, part))
        low, high = (_mean_square(net, part, size, draws, generator) for size in (small, big))
        g2, trace = (big * high - small * low) / (big - small), (low - high) / (1 / small - 1 / big)
        rows.append([float(losses(net, part).mean()), noise / signal, trace / g2, trace / low])
        for _ in range(now, then):
            batch = torch.randint(n, (copies, 32), generator=generator)
            net = step(net, part.x[batch], part.y[batch], lr)
    return NoiseScale(moments, *np.array(rows).T)


def _mean_square(net: Net, part: Split, size: int, draws: int, generator: torch.Generator) -> float:
    """Mean of |g|^2 over the copies and `draws` batches of `size` examples each, drawn with replacement."""
    total = 0.0
    for _ in range(draws):
        rows = torch.randint(len(part), (len(net.w1), size), generator=generator)
        total += float(squared_norm(gradient(net, part.x[rows], part.y[rows])).mean())
    return total / draws


@dataclass(frozen=True)
class Replacement(Result):
    """Training loss after equal epochs on the digits: independent, distinct: (seeds,), with replacement and without.

    comparison: independent less distinct, paired by seed.
    """

    independent: Floats
    distinct: Floats
    comparison: Comparison

    def summary(self) -> str:
        each = f"{self.independent.mean():.4f} with replacement, {self.distinct.mean():.4f} without"
        return f"mean training loss {each}; {self.comparison.verdict}"

    def draw(self, figure: "Figure"):
        """Each seed's training loss with replacement and without, joined by a line."""
        ax = figure.subplots()
        ax.set(
            xlabel="how the examples of an epoch are drawn",
            ylabel="training loss after equal epochs (nats)",
            xlim=(-0.5, 1.5),
        )
        ax.set_xticks([0, 1], ["with replacement", "without (shuffled)"])

        def redraw(result: Replacement):
            for line in list(ax.lines):
                line.remove()
            pairs = np.stack([result.independent, result.distinct])
            ax.plot([0, 1], pairs, "o-", color=BLUE, lw=1, ms=4)
            ax.plot([0, 1], pairs.mean(axis=1), "D", color=ORANGE, ms=9, label="mean over the seeds")
            ax.legend(loc="lower left")
            ax.set_ylim(0, 1.2 * min(max(pairs.max(), 1e-6), 1e3))
            return None

        redraw(self)
        return redraw


@experiment
@single_threaded
def replacement(
    lr: Annotated[float, Log(0.05, 0.5)] = 0.3,
    batch: Annotated[int, Log(4, 64)] = 16,
    epochs: Annotated[int, Linear(1, 10)] = 5,
    seeds: Annotated[int, Linear(4, 20)] = 10,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Replacement:
    """Train each seed's network twice, from the same start: on independent draws and on a new shuffle every epoch."""
    part = handwriting()[0]
    n, generator = len(part), torch.Generator().manual_seed(seed)
    lrs, first = torch.full((seeds, 1, 1), lr), start(range(seed, seed + seeds))
    nets = [first, first]
    for _ in progress(range(epochs)):
        orders = (
            torch.randint(n, (seeds, n), generator=generator),
            torch.rand(seeds, n, generator=generator).argsort(dim=1),
        )
        for kind, order in enumerate(orders):
            for rows in order.split(batch, dim=1):
                nets[kind] = step(nets[kind], part.x[rows], part.y[rows], lrs)
    independent, distinct = (losses(net, part).double().numpy() for net in nets)
    return Replacement(independent, distinct, compare(independent, distinct, names=("with replacement", "without")))
