"""Drawings of reduce-on-plateau. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.learning_rate_plateau import PatienceSweep, PlateauRun
from course_lib.plots.style import BLUE, GREEN, GREY, INK, RED


def draw_plateau(result: PlateauRun, figure: Figure):
    """Above the loss and what was seen of it, below the learning rate, each reduction marked."""
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    top.set(ylabel="loss", yscale="log", xlim=(0, 120), ylim=(0.005, 6))
    top.set_xlabel("epoch")
    (seen,) = top.plot([], [], ".", color=GREY, ms=4, label="as it was seen")
    (loss,) = top.plot([], [], color=BLUE, label="loss")
    (marks,) = top.plot([], [], "v", color=RED, ms=7, label="reduction")
    figure.legend(handles=[loss, seen, marks], loc="outside upper center", ncols=3)
    bottom.set(xlabel="epoch", ylabel=r"$\eta$", yscale="log", ylim=(5e-5, 3))
    (lr,) = bottom.plot([], [], color=GREEN, drawstyle="steps-post")

    def redraw(result: PlateauRun):
        epochs = np.arange(len(result.loss))
        seen.set_data(epochs, result.observed.clip(1e-6))
        loss.set_data(epochs, result.loss)
        marks.set_data(result.reductions, result.loss[result.reductions])
        lr.set_data(epochs, result.lrs.clip(1e-12))
        return seen, loss, marks, lr

    redraw(result)
    return redraw


def draw_patience_sweep(result: PatienceSweep, figure: Figure):
    """Left the loss at the end, right the epoch of the first reduction, against the patience; dots are seeds."""
    axes = figure.subplots(1, 2)
    axes[0].set(xlabel="patience (epochs)", ylabel="loss at the end", yscale="log", xlim=(-1, 21), ylim=(0.005, 6))
    axes[1].set(xlabel="patience (epochs)", ylabel="epoch of the first reduction", xlim=(-1, 21), ylim=(0, 125))
    dots = [ax.plot([], [], "o", color=c, ms=3, alpha=0.4)[0] for ax, c in zip(axes, (BLUE, GREEN), strict=True)]
    means = [ax.plot([], [], color=INK, lw=1.4)[0] for ax in axes]

    def redraw(result: PatienceSweep):
        for dot, mean, rows in zip(dots, means, (result.ends, result.first), strict=True):
            known = result.patiences[: len(rows)]
            dot.set_data(np.repeat(known, rows.shape[1]), rows.ravel())
            mean.set_data(known, rows.mean(axis=1))
        return *dots, *means

    redraw(result)
    return redraw
