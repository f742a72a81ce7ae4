"""Drawings of schedules counted in the wrong unit. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.learning_rate_units import NAMES, UnitCost, UnitCurves
from course_lib.plots.style import INK, LINES


def draw_unit_curves(result: UnitCurves, figure: Figure):
    """The factor on the learning rate against the share of the run that is done, for the three ways of counting."""
    axes = figure.subplots(1, 3, sharey=True)
    lines = []
    for ax, (color, _), name in zip(axes, LINES, NAMES, strict=False):
        ax.set(xlabel="share of the run", ylabel="factor" if ax is axes[0] else " ", xlim=(0, 1), ylim=(-0.02, 1.05))
        ax.set_title(name)
        lines.append(ax.plot([], [], color=color, lw=1.2)[0])

    def redraw(result: UnitCurves):
        share = np.arange(result.factors.shape[1]) / result.factors.shape[1]
        for line, row in zip(lines, result.factors, strict=True):
            line.set_data(share, row)
        return lines

    redraw(result)
    return redraw


def draw_unit_cost(result: UnitCost, figure: Figure):
    """Test accuracy of each seed, by schedule and by way of counting."""
    kinds = ("cosine", "linear", "step decay", "exponential")
    ax = figure.subplots()
    ax.set(xlabel="schedule", ylabel="test accuracy", xlim=(-0.5, 3.5), ylim=(0, 1))
    ax.set_xticks(range(4), kinds)
    looks = list(zip(LINES, "os^", NAMES, strict=False))
    dots = [ax.plot([], [], mark, color=c, ms=5, alpha=0.7, label=name)[0] for (c, _), mark, name in looks]
    means = [ax.plot([], [], "_", color=INK, ms=22, mew=1.5)[0] for _ in looks]
    figure.legend(handles=dots, loc="outside upper center", ncols=3)

    def redraw(result: UnitCost):
        for i, (dot, mean) in enumerate(zip(dots, means, strict=True)):
            places, values, middles = [], [], []
            for kind, rows in result.accuracies.items():
                x = kinds.index(kind) + (i - 1) * 0.26
                places.append(x + np.linspace(-0.07, 0.07, rows.shape[1]))
                values.append(rows[i])
                middles.append((x, rows[i].mean()))
            dot.set_data(np.ravel(places), np.ravel(values))
            mean.set_data(*np.array(middles).reshape(-1, 2).T)
        return *dots, *means

    redraw(result)
    return redraw
