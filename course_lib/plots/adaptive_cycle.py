"""Drawings of the problem on which Adam does not converge. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.adaptive_cycle import Rounds, Verdicts, drift
from course_lib.plots.style import GREY, INK, LINES


def draw_rounds(result: Rounds, figure: Figure):
    """Left the iterate between the best point and the worst; right the average loss above the best so far."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="step", ylabel="$x$, best at -1", xscale="log", xlim=(1, 6000), ylim=(-1.1, 1.1))
    left.axhline(-1, color=GREY, lw=0.8)
    right.set(xlabel="step", ylabel="average regret a step", xscale="log", yscale="log")
    right.set(xlim=(1, 6000), ylim=(1e-3, 1e3))
    looks = dict(zip(result.paths, LINES, strict=False))
    paths = {n: left.plot([], [], color=c, ls=ls, lw=1.4, label=n)[0] for n, (c, ls) in looks.items()}
    regrets = {n: right.plot([], [], color=c, ls=ls, lw=1.4)[0] for n, (c, ls) in looks.items()}
    figure.legend(handles=list(paths.values()), loc="outside upper center", ncols=3, handlelength=3)

    def redraw(result: Rounds):
        steps = np.arange(1, len(result.paths["SGD"]))
        for name in paths:
            paths[name].set_data(steps, result.paths[name][1:])
            regrets[name].set_data(steps, np.clip(result.regret(name), 1e-30, None))
        return *paths.values(), *regrets.values()

    redraw(result)
    return redraw


def draw_verdicts(result: Verdicts, figure: Figure):
    """Where Adam ends, over the large slope and b2, and theory's border for Adam without momentum."""
    ax = figure.subplots()
    ax.set(xlabel="the large slope $C$ (the other two are -1)", ylabel=r"$\beta_2$", xlim=(2.1, 10), ylim=(0, 0.99))
    ax.grid(False)
    mesh = ax.pcolormesh(result.larges, result.b2s, result.ends, cmap="cividis", vmin=-1, vmax=1, rasterized=True)
    bar = figure.colorbar(mesh, ax=ax, label="where Adam ends: -1 best, +1 worst")
    bar.ax.set_label("<colorbar>")
    larges, b2s = np.linspace(2.1, 10, 200), np.linspace(0.001, 0.99, 200)
    ax.contour(larges, b2s, drift(larges, b2s[:, None]), levels=[0.0], colors=INK, linewidths=2, linestyles="--")
    (published,) = ax.plot(larges, 1 / (1 + larges**2), color=INK, lw=1.5, ls=":", label=r"published: $1/(1+C^2)$")
    (border,) = ax.plot([], [], color=INK, lw=2, ls="--", label=r"theory at $\beta_1 = 0$")
    figure.legend(handles=[border, published], loc="outside upper center", ncols=2, handlelength=3)

    def redraw(result: Verdicts):
        mesh.set_array(result.ends)
        return (mesh,)

    redraw(result)
    return redraw
