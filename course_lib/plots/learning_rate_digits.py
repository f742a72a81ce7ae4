"""Drawings of what schedules are worth on the digits. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.learning_rate import NAMES
from course_lib.experiments.learning_rate_digits import DecayWorth, UnitCost
from course_lib.plots.style import INK, LINES

SCHEDULES = ("constant", "step", "cosine", "linear")


def draw_decay_worth(result: DecayWorth, figure: Figure):
    """Left the validation loss by learning rate, right the test loss of new seeds at the best of each schedule."""
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    left.set(xlabel=r"learning rate $\eta$", ylabel="validation loss (nats)", xscale="log", yscale="log")
    left.set(xlim=(0.09, 1.8), ylim=(0.06, 3))
    right.set(xlabel="schedule", ylabel="test loss of new seeds (nats)", yscale="log", xlim=(-0.5, 3.5), ylim=(0.05, 3))
    right.set_xticks(range(4), SCHEDULES)
    looks = dict(zip(SCHEDULES, zip(LINES, "os^D", strict=False), strict=True))
    curves = {n: left.plot([], [], m, color=c, ls=ls, ms=4, label=n)[0] for n, ((c, ls), m) in looks.items()}
    dots = {n: right.plot([], [], m, color=c, ms=4, alpha=0.7)[0] for n, ((c, _), m) in looks.items()}
    means = {n: right.plot([], [], "_", color=INK, ms=26, mew=1.6)[0] for n in SCHEDULES}
    figure.legend(handles=list(curves.values()), loc="outside upper center", ncols=4, handlelength=3)

    share = left.text(0.03, 0.95, "", transform=left.transAxes, va="top")

    def redraw(result: DecayWorth):
        share.set_text(f"{100 * result.wrong:.0f} % of the labels drawn anew")
        for i, name in enumerate(SCHEDULES):
            losses, _, tested, _ = result.tried[name]
            curves[name].set_data(result.lrs, losses)
            dots[name].set_data(i + np.linspace(-0.15, 0.15, len(tested)), tested)
            means[name].set_data(([i], [np.exp(np.log(tested).mean())]) if len(tested) else ([], []))
        return *curves.values(), *dots.values(), *means.values(), share

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
