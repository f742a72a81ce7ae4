"""Drawings of what a gradient costs, in operations and in memory."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.gradient_costs import Costs, Memory
from course_lib.plots.style import BLUE, GREY, LINES, RED


def draw_gradient_cost(result: Costs, figure: Figure):
    """Left: operations against inputs. Right: the same, for each operation of f alone."""
    left, right = figure.subplots(1, 2)
    ticks = (2, 4, 8, 16, 32)
    for ax in (left, right):
        ax.set(xlabel="inputs n", xscale="log", yscale="log", xlim=(1.8, 36))
        ax.set_xticks(ticks, map(str, ticks), minor=False)
        ax.set_xticks([], minor=True)
    left.set(ylabel="operations", ylim=(0.8, 40_000))
    right.set(ylabel="operations / operations of f", ylim=(0.8, 200))
    right.set_yticks((1, 5, 10, 50, 100), ("1", "5", "10", "50", "100"))
    names = ("f alone", "gradient, reverse mode", "gradient, forward mode")
    pairs = [
        [ax.plot([], [], color=c, ls=s, marker=m, ms=4, label=n)[0] for ax in (left, right)]
        for n, (c, s), m in zip(names, LINES, ("o", "s", "^"), strict=False)
    ]
    marks = [ax.axvline(2, color=GREY, lw=1, ls=":") for ax in (left, right)]
    left.legend(loc="upper left")

    def redraw(result: Costs):
        for (count, ratio), operations in zip(pairs, (result.plain, result.reverse, result.forward), strict=True):
            count.set_data(result.sizes, operations)
            ratio.set_data(result.sizes, operations / result.plain)
        for mark in marks:
            mark.set_xdata([result.sizes[result.at]] * 2)
        return [*marks, *(line for pair in pairs for line in pair)]

    redraw(result)
    return redraw


def draw_checkpoint_memory(result: Memory, figure: Figure):
    """Outputs alive at the worst moment against the number of segments, beside segments + layers / segments."""
    ax = figure.subplots()
    ax.set(xlabel="segments", ylabel="layer outputs alive at once, at most", xscale="log", yscale="log")
    ax.set(xlim=(0.9, 160), ylim=(1.5, 250))
    ticks = (1, 2, 5, 10, 20, 50, 100)
    ax.set_xticks(ticks, map(str, ticks))
    ax.set_yticks(ticks[1:], map(str, ticks[1:]))
    ax.minorticks_off()
    (plain,) = ax.plot([], [], color=GREY, ls="--", label="no checkpoints: every output")
    (law,) = ax.plot([], [], color=RED, ls=":", label="segments + layers / segments")
    (peak,) = ax.plot([], [], color=BLUE, marker="o", ms=4, label="counted")
    (here,) = ax.plot([], [], "o", ms=11, mfc="none", mec=RED, mew=1.8)
    note = ax.text(0.98, 0.05, "", ha="right", transform=ax.transAxes)
    ax.legend(loc="upper right")

    def redraw(result: Memory):
        n, at = result.layers, result.at
        s = np.geomspace(1, n, 100)
        plain.set_data([0.9, 160], [n, n])
        law.set_data(s, s + n / s)
        peak.set_data(result.segments, result.peak)
        here.set_data([result.segments[at]], [result.peak[at]])
        note.set_text(f"{n} layers, {result.evaluations[at]} evaluations of a layer")
        return plain, law, peak, here, note

    redraw(result)
    return redraw
