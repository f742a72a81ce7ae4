"""The drawing of what decay is worth. It draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.learning_rate_decay import DecayWorth
from course_lib.plots.style import INK, LINES

NAMES = ("constant", "step", "cosine", "linear")


def draw_decay_worth(result: DecayWorth, figure: Figure):
    """Left the validation loss by learning rate, right the test loss of new seeds at the best of each schedule."""
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    left.set(xlabel=r"learning rate $\eta$", ylabel="validation loss (nats)", xscale="log", yscale="log")
    left.set(xlim=(0.045, 1.1), ylim=(0.06, 3))
    right.set(xlabel="schedule", ylabel="test loss of new seeds (nats)", yscale="log", xlim=(-0.5, 3.5), ylim=(0.05, 3))
    right.set_xticks(range(4), NAMES)
    looks = dict(zip(NAMES, zip(LINES, "os^D", strict=False), strict=True))
    curves = {n: left.plot([], [], m, color=c, ls=ls, ms=4, label=n)[0] for n, ((c, ls), m) in looks.items()}
    dots = {n: right.plot([], [], m, color=c, ms=4, alpha=0.7)[0] for n, ((c, _), m) in looks.items()}
    means = {n: right.plot([], [], "_", color=INK, ms=26, mew=1.6)[0] for n in NAMES}
    figure.legend(handles=list(curves.values()), loc="outside upper center", ncols=4, handlelength=3)

    def redraw(result: DecayWorth):
        for i, name in enumerate(NAMES):
            tried = result.tried.get(name)
            curves[name].set_data((result.lrs, tried.losses) if tried else ([], []))
            seeds = len(tried.tested) if tried else 0
            dots[name].set_data(i + np.linspace(-0.15, 0.15, seeds), tried.tested if tried else [])
            means[name].set_data([i] if tried else [], [np.exp(np.log(tried.tested).mean())] if tried else [])
        return *curves.values(), *dots.values(), *means.values()

    redraw(result)
    return redraw
