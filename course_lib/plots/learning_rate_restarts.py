"""The drawing of warm restarts. It draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.learning_rate_restarts import Restarts
from course_lib.plots.style import BLUE, GREY, LINES, ORANGE


def draw_restarts(result: Restarts, figure: Figure):
    """Left the test loss by epoch, right the training loss along the lines between ends of cycles and of seeds."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="share of the run", ylabel="test loss (nats)", yscale="log", xlim=(0, 1.03), ylim=(0.05, 2))
    (cycles,) = left.plot([], [], "o-", color=BLUE, ms=3.5, lw=1.3, label="restarts")
    (once,) = left.plot([], [], "s--", color=ORANGE, ms=3.5, lw=1.3, label="a single cosine")
    left.legend(loc="upper right")
    right.set(xlabel="share of the way from one network to the other", ylabel="training loss (nats)", yscale="log")
    right.set(xlim=(0, 1), ylim=(1e-3, 4))
    (strangers,) = right.plot([], [], color=GREY, lw=1, label="between two seeds")
    paths = [
        right.plot([], [], color=c, ls=ls, lw=1, label=f"cycle {i + 1} to {i + 2}")[0]
        for i, (c, ls) in enumerate(LINES[:3])
    ]
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1)

    def joined(lines):
        """All seeds of one kind as a single line with gaps."""
        gap = np.full((1, lines.shape[1]), np.nan)
        share = np.append(np.linspace(0, 1, len(lines)), np.nan)
        return np.tile(share, lines.shape[1]), np.concatenate([lines, gap]).T.ravel().clip(1e-6)

    def redraw(result: Restarts):
        total = len(result.once)
        cycles.set_data(np.arange(1, len(result.epochs) + 1) / total, result.epochs)
        once.set_data(np.arange(1, total + 1) / total, result.once)
        strangers.set_data(*joined(result.strangers))
        for i, path in enumerate(paths):
            path.set_data(*(joined(result.lines[i]) if i < len(result.lines) else ([], [])))
        return cycles, once, strangers, *paths

    redraw(result)
    return redraw
