"""Drawings of the recent optimizers. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.adaptive_frontier import NETWORK, MatrixRace, Newcomers
from course_lib.plots.style import BLUE, INK, LINES, ORANGE


def draw_matrix_race(result: MatrixRace, figure: Figure):
    """The height left against the step, one seed, left on the straight problem and right on the turned one."""
    axes = figure.subplots(1, 2, sharey=True)
    for ax, title in zip(axes, ("along the axes", "turned"), strict=True):
        ax.set(xlabel="step", ylabel="height / height at the start", yscale="log", title=title)
        ax.set(xlim=(0, 100), ylim=(1e-14, 1e2))
    looks = dict(zip(("momentum", "Adam", "Muon", "Shampoo", "SOAP"), LINES, strict=False))
    lines = [{n: ax.plot([], [], color=c, ls=ls, lw=1.4, label=n)[0] for n, (c, ls) in looks.items()} for ax in axes]
    figure.legend(handles=list(lines[0].values()), loc="outside upper center", ncols=5, handlelength=3)

    def redraw(result: MatrixRace):
        for drawn, rows in zip(lines, (result.straight, result.turned), strict=True):
            for name, line in drawn.items():
                heights = rows[name][0] if name in rows else np.empty(0)
                line.set_data(np.arange(len(heights)), heights)
        return [line for drawn in lines for line in drawn.values()]

    redraw(result)
    return redraw


def draw_newcomers(result: Newcomers, figure: Figure):
    """Training loss, left, and test accuracy, right, of fresh seeds at each optimizer's best learning rate."""
    axes = figure.subplots(1, 2, sharey=True)
    axes[0].set(xlabel="training loss at the end (nats)", ylabel="optimizer", xscale="log", xlim=(1e-5, 3))
    axes[1].set(xlabel="test accuracy", ylabel="optimizer", xlim=(0.8, 1))
    axes[0].set_yticks(range(len(NETWORK)), NETWORK)
    axes[0].set_ylim(len(NETWORK) - 0.5, -0.5)
    axes[1].set_xticks([0.8, 0.85, 0.9, 0.95, 1.0])
    axes[1].yaxis.label.set_visible(False)
    dots = [ax.plot([], [], "o", color=BLUE, ms=4, alpha=0.6)[0] for ax in axes]
    means = [ax.plot([], [], "D", color=ORANGE, ms=8, mec=INK, mew=0.6)[0] for ax in axes]

    def redraw(result: Newcomers):
        names = [name for name in NETWORK if name in result.tested]
        for rows, dot, mean in zip((result.tested, result.accuracies), dots, means, strict=True):
            every = [(value, list(NETWORK).index(name)) for name in names for value in rows[name]]
            dot.set_data(*zip(*every, strict=True) if every else ([], []))
            log = rows is result.tested
            mean.set_data(
                [np.exp(np.log(rows[n]).mean()) if log else rows[n].mean() for n in names],
                [list(NETWORK).index(n) for n in names],
            )
        return *dots, *means

    redraw(result)
    return redraw
