"""The drawing of training without a fixed end. It draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments._learning_rate import geometric_mean
from course_lib.experiments.learning_rate_horizon import METHODS, Horizons
from course_lib.plots.style import GREY, LINES


def draw_horizons(result: Horizons, figure: Figure):
    """Left the test loss by horizon, right the same over that of the cosine made for this horizon, with intervals."""
    left, right = figure.subplots(1, 2)
    for ax, label in ((left, "test loss (nats)"), (right, "test loss / cosine's")):
        ax.set(xlabel="epochs", ylabel=label, xscale="log", xlim=(0.8, 5))
        ax.set_xticks([1, 2, 4], ["1", "2", "4"])
        ax.minorticks_off()
    left.set(yscale="log", ylim=(0.05, 2))
    right.set(ylim=(0.6, 1.8))
    right.axhline(1, color=GREY, lw=0.9)
    looks = dict(zip(METHODS, zip(LINES, "osD^v", strict=False), strict=True))
    curves = {n: left.plot([], [], m, color=c, ls=ls, ms=5, label=n)[0] for n, ((c, ls), m) in looks.items()}
    bars = {n: right.plot([], [], color=c, lw=1.2)[0] for n, ((c, _), _) in looks.items()}
    dots = {n: right.plot([], [], m, color=c, ms=5)[0] for n, ((c, _), m) in looks.items()}
    figure.legend(handles=list(curves.values()), loc="outside upper center", ncols=5, handlelength=3)

    def redraw(result: Horizons):
        for i, name in enumerate(METHODS):
            rows = result.tested.get(name)
            curves[name].set_data(([], []) if rows is None else (result.epochs, geometric_mean(rows)))
            known = rows is not None and name != "cosine" and "cosine" in result.tested
            cells = [result.against_cosine(name, k) for k in range(len(result.epochs))] if known else []
            x = result.epochs[: len(cells)] * 1.06 ** (i - 2)
            dots[name].set_data(x, np.exp([c.mean for c in cells]))
            ends = np.exp([[c.low, c.high, np.nan] for c in cells]).ravel()
            bars[name].set_data(np.repeat(x, 3), ends)
        return *curves.values(), *bars.values(), *dots.values()

    redraw(result)
    return redraw
