"""Drawings of a step of Adam. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.adaptive import SIZES, STEPS, FirstSteps, Memory, Rescaled
from course_lib.plots.style import BLUE, GREEN, GREY, LINES, ORANGE, RED


def draw_first_steps(result: FirstSteps, figure: Figure):
    """Left the step over lr against the step's number, with and without bias correction; right the first step against
    the size of the gradient, and where this gradient stands."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="step $t$", ylabel="|step| / lr", xscale="log", yscale="log", xlim=(1, STEPS), ylim=(1e-2, 40))
    left.axhline(1, color=GREY, lw=0.8)
    (plain,) = left.plot([], [], color=RED, ls="--", lw=1.5, label="no bias correction")
    (theory,) = left.plot([], [], color=ORANGE, ls=":", lw=2.2, label=r"$(1-\beta_1^t)/\sqrt{1-\beta_2^t}$")
    (adam,) = left.plot([], [], color=BLUE, lw=1.5, label="Adam")
    left.legend(loc="lower left")
    right.set(xlabel="size of the gradient $|g|$", ylabel="first step / lr", xscale="log", yscale="log")
    right.set(xlim=(1e-12, 1e6), ylim=(1e-7, 1e7))
    (first,) = right.plot([], [], color=BLUE, label="Adam")
    right.plot(SIZES, SIZES, color=GREEN, ls="-.", label="SGD")
    edge = right.axvline(1e-8, color=GREY, ls=":", lw=1.5, label=r"$|g| = \varepsilon$")
    (here,) = right.plot([], [], "o", color=ORANGE, mec="black", mew=0.6, ms=8)
    right.legend(loc="upper left")
    steps = np.arange(1, STEPS + 1)

    def redraw(result: FirstSteps):
        for line, values in ((plain, result.uncorrected), (theory, result.theory), (adam, result.adam)):
            line.set_data(steps, np.clip(values, 1e-30, None))
        first.set_data(SIZES, result.first)
        edge.set_xdata([result.eps, result.eps])
        here.set_data([result.scale], [result.scale / (result.scale + result.eps)])
        return plain, theory, adam, first, edge, here

    redraw(result)
    return redraw


def draw_rescaled(result: Rescaled, figure: Figure):
    """What is left of the value after 60 steps, against the number that the whole problem is multiplied by."""
    ax = figure.subplots()
    ax.set(xlabel="what the loss is multiplied by, $c$", ylabel="value at the end / at the start")
    ax.set(xscale="log", yscale="log", xlim=(1e-12, 1e6), ylim=(1e-6, 1e3))
    ax.axhline(1, color=GREY, lw=0.8)
    looks = zip(result.ends, LINES, strict=False)
    lines = {name: ax.plot([], [], color=c, ls=ls, label=name)[0] for name, (c, ls) in looks}
    edge = ax.axvline(1e-8, color=GREY, ls=":", lw=1.5, label=r"$c = \varepsilon$")
    ax.legend(loc="upper left")

    def redraw(result: Rescaled):
        for name, line in lines.items():
            line.set_data(result.scales, np.clip(result.ends[name], 1e-30, None))
        edge.set_xdata([result.eps, result.eps])
        return *lines.values(), edge

    redraw(result)
    return redraw


def draw_memory(result: Memory, figure: Figure):
    """Above the size of the gradients, below the effective learning rates over what they were before the burst."""
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2))
    above.set(ylabel="size of the\ngradient", xlabel="step", yscale="log", xlim=(0, 600), ylim=(0.5, 2000))
    below.set(xlabel="step", ylabel="effective learning rate,\n1 before the burst", yscale="log", ylim=(1e-4, 20))
    above.xaxis.label.set_visible(False)
    (grads,) = above.plot([], [], color=GREY)
    looks = zip(result.rates, LINES, strict=False)
    lines = {name: below.plot([], [], color=c, ls=ls, label=name)[0] for name, (c, ls) in looks}
    below.legend(loc="upper right", ncols=3)

    def redraw(result: Memory):
        steps = np.arange(1, len(result.grads) + 1)
        grads.set_data(steps, result.grads)
        for name, line in lines.items():
            line.set_data(steps, np.clip(result.rates[name], 1e-30, None))
        return grads, *lines.values()

    redraw(result)
    return redraw
