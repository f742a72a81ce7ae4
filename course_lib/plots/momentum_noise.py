"""Drawings of momentum under noise. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.momentum_noise import NAMES, Smoothness, Worth
from course_lib.plots.style import BLUE, GREEN, GREY, LINES, ORANGE, RED


def draw_smoothness(result: Smoothness, figure: Figure):
    """Left the batch losses of one seed, middle the training loss of its last steps, right how often that rises."""
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 0.85))
    left.set(xlabel="step", ylabel="loss of the batch (nats)", yscale="log", xlim=(0, 200), ylim=(1e-3, 10))
    middle.set(xlabel="step", ylabel="training loss (nats)", yscale="log", xlim=(100, 200), ylim=(1e-2, 10))
    right.set(ylabel="share of steps that raise the\ntraining loss, each seed", xlim=(-0.5, 2.5), ylim=(0, 0.8))
    right.set_xticks([0, 1, 2], ["plain", "same\neff.", "same\n$\\eta$"])
    right.set_xlabel("training")
    looks = LINES[:3]
    curves = [left.plot([], [], color=c, ls=ls, lw=0.9)[0] for c, ls in looks]
    watched = [middle.plot([], [], color=c, ls=ls, lw=1.4, label=n)[0] for (c, ls), n in zip(looks, NAMES, strict=True)]
    dots = [right.plot([], [], "o", color=c, ms=4, alpha=0.6)[0] for c, _ in looks]
    means = [right.plot([], [], "D", color=c, ms=9, mec="black", mew=0.6)[0] for c, _ in looks]
    figure.legend(handles=watched, loc="outside upper center", ncols=3)

    def redraw(result: Smoothness):
        for i in range(3):
            curves[i].set_data(np.arange(result.seen.shape[1]), result.seen[i].clip(1e-6))
            watched[i].set_data(100 + np.arange(1, result.watched.shape[1] + 1), result.watched[i].clip(1e-6))
            seeds = len(result.rises[i])
            dots[i].set_data(i + np.linspace(-0.2, 0.2, seeds), result.rises[i])
            means[i].set_data([i], [result.rises[i].mean()])
        return *curves, *watched, *dots, *means

    redraw(result)
    return redraw


def draw_worth(result: Worth, figure: Figure):
    """Left the loss against the effective learning rate, right the loss of new seeds at the best of each."""
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    left.set(xlabel=r"effective learning rate $\eta / (1 - \beta)$", ylabel="training loss at the end (nats)")
    left.set(xscale="log", yscale="log", xlim=(0.08, 70), ylim=(1e-4, 150))
    left.axhline(np.log(10), color=GREY, lw=0.8, ls=":")
    left.text(0.09, np.log(10) * 1.15, "guessing, ln 10", fontsize=8)
    marks = ((BLUE, "o-", "plain"), (RED, "s--", r"momentum, $\beta = 0.9$"))
    lines = [left.plot([], [], mark, color=c, ms=5, label=name)[0] for c, mark, name in marks]
    left.legend(loc="upper left")
    right.set(xlabel="method", ylabel="loss of new seeds at the best", yscale="log", xlim=(-0.5, 1.5), ylim=(1e-4, 1))
    right.set_xticks([0, 1], ["plain", "momentum"])
    pairs = [right.plot([], [], "o-", color=GREEN, lw=0.8, ms=4)[0] for _ in range(12)]
    (means,) = right.plot([], [], "D", color=ORANGE, ms=9, mec="black", mew=0.6)

    def redraw(result: Worth):
        for line, losses in zip(lines, result.losses, strict=True):
            line.set_data(result.effective, losses)
        for i, pair in enumerate(pairs):
            pair.set_data([0, 1], result.tested[:, i] if i < result.tested.shape[1] else [np.nan, np.nan])
        means.set_data([0, 1], np.exp(np.log(result.tested).mean(axis=1)))
        return *lines, *pairs, means

    redraw(result)
    return redraw
