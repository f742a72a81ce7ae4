"""Drawings of a cycle, of Nesterov's two forms and of the conventions. Each draws once and returns its redraw."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.momentum_forms import Conventions, Cycle, TwoForms, kinked
from course_lib.experiments.race import GROUNDS
from course_lib.plots.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED


def draw_cycle(result: Cycle, figure: Figure):
    """Left the function and the last places of heavy ball on it, right where both methods are, step by step."""
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.2))
    grid = np.linspace(-4, 4, 300)
    left.set(xlabel="x", ylabel="f(x)", xlim=(-4, 4), ylim=(-8, 150))
    left.axvspan(1, 2, color=GREEN, alpha=0.15, lw=0, label="curvature 1; elsewhere 25")
    left.plot(grid, kinked(grid), color=INK, lw=1.2)
    (places,) = left.plot([], [], "o-", color=RED, ms=6, lw=1, label="heavy ball, last 3 steps")
    (rest,) = left.plot([], [], "*", color=BLUE, ms=11, label="Nesterov, last step")
    left.legend(loc="upper center")
    right.set(xlabel="step", ylabel="x", xlim=(0, 60), ylim=(-4.2, 4.2))
    right.axhline(0, color=GREY, lw=0.8)
    (heavy,) = right.plot([], [], "o--", color=RED, ms=3, lw=1, label="heavy ball")
    (nesterov,) = right.plot([], [], "s-", color=BLUE, ms=3, lw=1.2, label=r"Nesterov, $\eta = 1/25$, $\beta = 2/3$")
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)

    def redraw(result: Cycle):
        loop = np.clip([*result.limit, result.limit[0]], -50, 50)
        places.set_data(loop, kinked(loop))
        end = result.nesterov[-1:]
        rest.set_data(end, kinked(end))
        steps = np.arange(61)
        heavy.set_data(steps, np.clip(result.heavy_ball[:61], -50, 50))
        nesterov.set_data(steps, result.nesterov[:61])
        return places, rest, heavy, nesterov

    redraw(result)
    return redraw


def draw_two_forms(result: TwoForms, figure: Figure):
    """Left the paths of both forms, right how far torch's theta is from the other's theta and from its look-ahead."""
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    left.set(xlabel="x", ylabel="y")
    left.grid(False)
    (plain,) = left.plot([], [], "o-", color=BLUE, ms=3, lw=1, label=r"$\theta$, look-ahead form")
    (ahead,) = left.plot([], [], "s", color=ORANGE, ms=5, mec=INK, mew=0.5, label=r"$\theta + \beta v$ there")
    (torch,) = left.plot([], [], "x", color=RED, ms=5, label=r"$\theta$, torch's form")
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1, handletextpad=0.4)
    right.set(xlabel="step", ylabel=r"distance of torch's $\theta$", yscale="log", xlim=(0, 200), ylim=(1e-18, 1e2))
    (between,) = right.plot([], [], color=BLUE, label=r"from $\theta$, look-ahead form")
    (apart,) = right.plot([], [], color=ORANGE, ls="--", label=r"from $\theta + \beta v$, over its size")
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
    shown: list[Any] = []

    def redraw(result: TwoForms):
        for line, path in ((plain, result.plain), (ahead, result.ahead), (torch, result.torch)):
            line.set_data(*np.clip(path, -100, 100).T)
        steps = np.arange(len(result.plain))
        between.set_data(steps, np.clip(result.between, 1e-17, 1e9))
        apart.set_data(steps, np.clip(result.apart, 1e-17, 1e9))
        if shown and shown[0] == result.ground:
            return plain, ahead, torch, between, apart
        if shown:
            shown[1].remove()
        place = GROUNDS[result.ground]
        x0, x1, y0, y1 = place.window
        x, y = np.meshgrid(np.linspace(x0, x1, 160), np.linspace(y0, y1, 160))
        relief = np.log10(place.at(x, y) - place.at(*place.minimum) + 1e-2)
        shown[:] = result.ground, left.contourf(x, y, relief, levels=18, cmap="Greys_r", zorder=0)
        left.set(xlim=(x0, x1), ylim=(y0, y1))
        return None

    redraw(result)
    return redraw


def draw_conventions(result: Conventions, figure: Figure):
    """Left the step on a constant slope of 1, right the distance on a bowl; the line is where lr changes."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="step", ylabel="length of the step on a slope of 1", yscale="log", xlim=(0, 100), ylim=(1e-4, 1e2))
    right.set(xlabel="step", ylabel="distance on a bowl of curvature 1", yscale="log", xlim=(0, 100), ylim=(1e-6, 1e2))
    looks = {"outside": (BLUE, "-"), "inside": (RED, "--"), "dampened": (PURPLE, "-.")}
    labels = {
        "outside": r"$\eta$ outside the velocity",
        "inside": r"$\eta$ inside",
        "dampened": r"outside, dampening $\beta$",
    }
    steps = {n: left.plot([], [], color=c, ls=ls, label=labels[n])[0] for n, (c, ls) in looks.items()}
    distances = {n: right.plot([], [], color=c, ls=ls)[0] for n, (c, ls) in looks.items()}
    (cruise,) = left.plot([], [], color=INK, ls=":", lw=1.2, label=r"$\eta\,/\,(1 - \beta)$")
    changes = [ax.plot([], [], color=GREY, lw=1)[0] for ax in (left, right)]
    figure.legend(handles=[*steps.values(), cruise], loc="outside upper center", ncols=4)

    def redraw(result: Conventions):
        for name, line in steps.items():
            line.set_data(np.arange(1, 101), np.clip(result.steps[name], 1e-30, 1e30))
            distances[name].set_data(np.arange(101), np.clip(result.distances[name], 1e-30, 1e30))
        low = result.factor * result.cruising
        cruise.set_data([0, result.at, result.at, 100], [result.cruising, result.cruising, low, low])
        for line in changes:
            line.set_data([result.at, result.at], [1e-6, 1e2])
        return *steps.values(), *distances.values(), cruise, *changes

    redraw(result)
    return redraw
