"""Drawings of what a batch's size costs and brings. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.batch_size import BatchSweep, Generalization, LinearScaling
from course_lib.plots.style import BLUE, GREEN, GREY, INK, ORANGE, RED


def draw_batch_sweep(result: BatchSweep, figure: Figure):
    """Left steps to the target against the batch, right the learning rate that got there first."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="batch size $B$", ylabel="steps to the target", xscale="log", yscale="log")
    left.set(xlim=(1.5, 700), ylim=(1, 5000))
    (measured,) = left.plot([], [], "o", color=BLUE, label="measured")
    (fitted,) = left.plot([], [], color=ORANGE, label=r"fit, $S_{\min}(1 + B_{\mathrm{crit}}/B)$")
    (critical,) = left.plot([], [], color=RED, ls="--", lw=1.2, label=r"$B_{\mathrm{crit}}$")
    (noise,) = left.plot([], [], color=GREEN, ls=":", label="noise scale")
    left.legend(loc="upper right")
    right.set(xlabel="batch size $B$", ylabel="best learning rate of the grid", xscale="log", yscale="log")
    right.set(xlim=(1.5, 700), ylim=(0.02, 20))
    (lrs,) = right.plot([], [], "o", color=BLUE, label="measured")
    (linear,) = right.plot([], [], color=GREY, ls="--", label=r"proportional to $B$")
    right.legend(loc="lower right")
    grid = np.geomspace(1.5, 700, 100)

    def redraw(result: BatchSweep):
        fewest, crit = result.fit
        measured.set_data(result.batches, result.steps)
        fitted.set_data(grid, np.clip(fewest * (1 + crit / grid), 1e-3, None))
        critical.set_data([crit, crit], [1, 5000])
        noise.set_data([result.noise_scale] * 2, [1, 5000])
        lrs.set_data(result.batches, result.lrs)
        first = np.exp(np.log(result.lrs[:4] / result.batches[:4]).mean())
        linear.set_data(grid, first * grid)
        return measured, fitted, critical, noise, lrs, linear

    redraw(result)
    return redraw


def draw_linear_scaling(result: LinearScaling, figure: Figure):
    """Training loss after equal epochs against the batch size: learning rate kept, and scaled with the batch."""
    ax = figure.subplots()
    ax.set(xlabel="batch size $B$", ylabel="training loss after equal epochs (nats)", xscale="log", yscale="log")
    ax.set(xlim=(0.8, 700), ylim=(1e-2, 150))
    (fixed,) = ax.plot([], [], "s--", color=ORANGE, ms=4, label="same learning rate for every batch")
    (scaled,) = ax.plot([], [], "o-", color=BLUE, ms=5, label="learning rate proportional to the batch")
    ax.axhline(np.log(10), color=INK, lw=0.8, ls=":")
    ax.text(0.9, np.log(10) * 1.08, "guessing, ln 10", fontsize=8)
    ax.legend(loc="upper left")

    def redraw(result: LinearScaling):
        fixed.set_data(result.batches, result.fixed)
        scaled.set_data(result.batches, result.scaled)
        return fixed, scaled

    redraw(result)
    return redraw


def draw_generalization(result: Generalization, figure: Figure):
    """Left each seed's test accuracy, right the interval of the paired difference."""
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    left.set(xlabel="batch size", ylabel="test accuracy (%)", xlim=(-0.5, 1.5))
    right.set(
        ylabel="95 % interval over the seeds",
        xlabel="small less large (percentage points)",
        ylim=(-1, 1),
        yticks=[],
        xlim=(-3, 3),
    )
    right.axvline(0, color=GREY, lw=1)

    def redraw(result: Generalization):
        for line in [*left.lines, *right.lines[1:]]:
            line.remove()
        for text in list(right.texts):
            text.remove()
        pairs = 100 * np.stack([result.small, result.large])
        left.plot([0, 1], pairs, "o-", color=BLUE, lw=0.8, ms=4, alpha=0.6)
        left.plot([0, 1], pairs.mean(axis=1), "D", color=ORANGE, ms=9)
        means = zip(result.sizes, pairs.mean(axis=1), strict=True)
        left.set_xticks([0, 1], [f"{size}\nmean {mean:.2f} %" for size, mean in means])
        left.set_ylim(pairs.min() - 0.5, min(pairs.max() + 0.5, 101))
        low, mid, high = (100 * v for v in (result.comparison.low, result.comparison.mean, result.comparison.high))
        right.plot([low, high], [0, 0], color=BLUE, lw=3, solid_capstyle="butt")
        right.plot([mid], [0], "D", color=ORANGE, ms=9)
        right.text(0, 0.3, result.comparison.verdict, ha="center")
        right.text(0, -0.4, result.difference.replace(", ", "\n", 1), ha="center", va="top")
        reach = max(3.0, 1.2 * abs(low), 1.2 * abs(high))
        right.set_xlim(-reach, reach)
        return None

    redraw(result)
    return redraw
