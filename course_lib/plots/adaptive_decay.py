"""The drawing of what decay does to each weight. It draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.adaptive_decay import Shrinkage
from course_lib.plots.style import BLUE, GREEN, INK, ORANGE


def draw_shrinkage(result: Shrinkage, figure: Figure):
    """Each weight's shrinkage a step, over lr times decay, against the root by which Adam divides its gradient."""
    ax = figure.subplots()
    ax.set(xlabel=r"root $\sqrt{\hat v}$ of the weight", ylabel=r"share lost a step, over $\eta \lambda$")
    ax.set(xscale="log", yscale="log", xlim=(1e-6, 1), ylim=(0.1, 3e6))
    (coupled,) = ax.plot([], [], ".", color=BLUE, ms=3, alpha=0.5, label="L2 inside Adam")
    (blank,) = ax.plot([], [], "x", color=ORANGE, ms=4, alpha=0.7, label="the same, pixels that are always blank")
    (decoupled,) = ax.plot([], [], ".", color=GREEN, ms=3, alpha=0.5, label="AdamW")
    (theory,) = ax.plot([], [], color=INK, ls="--", lw=1, label=r"theory, $1 / \sqrt{\hat v}$")
    figure.legend(handles=[coupled, blank, decoupled, theory], loc="outside upper center", ncols=4, markerscale=2)

    def redraw(result: Shrinkage):
        unit, lit = result.lr * result.decay, ~result.blank
        roots = np.clip(result.root, 1.1e-6, None)
        coupled.set_data(roots[lit], np.clip(result.coupled[lit] / unit, 0.11, None))
        blank.set_data(roots[~lit], np.clip(result.coupled[~lit] / unit, 0.11, None))
        decoupled.set_data(roots, np.clip(result.decoupled / unit, 0.11, None))
        theory.set_data([1e-6, 1], [1e6, 1])
        return coupled, blank, decoupled, theory

    redraw(result)
    return redraw
