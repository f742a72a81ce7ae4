"""Drawings of the noise in a gradient. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.gradient_noise import GradientVariance, NoiseBall, NoiseScale, Replacement
from course_lib.plots.style import BLUE, GREEN, GREY, INK, ORANGE, RED


def draw_noise_ball(result: NoiseBall, figure: Figure):
    """Left a few walkers and the predicted band, right the mean square of all of them, over the theory."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="step", ylabel=r"$\theta$", xlim=(0, 300), ylim=(-3, 3))
    walks = [left.plot([], [], mark, color=color, ms=3)[0] for mark, color in (("o", BLUE), ("x", RED), ("+", GREEN))]
    (band,) = left.plot([], [], color=INK, ls="--", lw=1.2, label=r"theory, $\pm 2$ standard deviations")
    left.legend(loc="upper right")
    right.set(xlabel="step", ylabel=r"mean of $\theta^2$ over 256 runs", yscale="log", xlim=(0, 300), ylim=(1e-5, 1e3))
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

    redraw(result)
    return redraw


def draw_gradient_variance(result: GradientVariance, figure: Figure):
    """Mean squared error of a batch's gradient against the batch size, with and without replacement."""
    ax = figure.subplots()
    ax.set(xlabel="batch size $B$", ylabel="mean squared distance\nfrom the full gradient", xscale="log", yscale="log")
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

    redraw(result)
    return redraw


def draw_noise_scale(result: NoiseScale, figure: Figure):
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

    redraw(result)
    return redraw


def draw_replacement(result: Replacement, figure: Figure):
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

    redraw(result)
    return redraw
