"""Drawings of the races. Each draws once and returns the function that redraws, for the same names on any ground."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.race import GROUNDS, LrSweep, Race
from course_lib.plots.style import INK, LINES


def draw_race(result: Race, figure: Figure):
    """Left the paths over level curves, a dot at each end with its latest step as an arrow; right the height above the
    minimum and the effective learning rate, |step| / |gradient|, against the step."""
    left, high, low = figure.subplot_mosaic([["map", "height"], ["map", "rate"]], width_ratios=(1.1, 1)).values()
    left.set(xlabel="x", ylabel="y")
    left.grid(False)
    high.set(ylabel="height above\nthe minimum", yscale="log", xlim=(0, 300), ylim=(1e-8, 1e4))
    high.set_xlabel("step")
    low.set(
        xlabel="step", ylabel="effective $\\eta$,\n|step| / |gradient|", yscale="log", xlim=(0, 300), ylim=(1e-5, 1e3)
    )
    looks = dict(zip(result.paths, LINES, strict=False))
    color = [look[0] for look in looks.values()]
    paths, heights, rates = (
        {name: ax.plot([], [], color=c, ls=ls, lw=1.4, label=name)[0] for name, (c, ls) in looks.items()}
        for ax in (left, high, low)
    )
    (goal,) = left.plot([], [], "*", color=INK, ms=11)
    ends = left.scatter([0.0] * len(color), [0.0] * len(color), c=color, s=26, edgecolors=INK, linewidths=0.6, zorder=4)
    arrows = left.quiver(
        *np.zeros((4, len(color))), color=color, angles="xy", scale_units="xy", scale=0.3, width=0.008, zorder=3
    )
    figure.legend(handles=list(paths.values()), loc="outside upper center", ncols=len(looks), handlelength=3)
    shown: list[Any] = []  # the name of the ground whose level curves stand, and the curves

    def redraw(result: Race):
        place = GROUNDS[result.ground]
        for name, line in paths.items():
            path = np.clip(result.paths[name], -100, 100)
            line.set_data(*path.T)
            heights[name].set_data(np.arange(len(path)), np.clip(result.gap(name), 1e-30, 1e30))
            rates[name].set_data(np.arange(1, len(path)), np.clip(result.effective(name), 1e-30, 1e30))
        last = np.clip([result.paths[name][-1] for name in paths], -100, 100)
        ends.set_offsets(last)
        arrows.set_offsets(last)
        arrows.set_UVC(*np.clip([result.velocity(name)[-1] for name in paths], -100, 100).T)
        goal.set_data(*([c] for c in place.minimum))
        if shown and shown[0] == result.ground:
            return *paths.values(), arrows, ends, goal, *heights.values(), *rates.values()
        if shown:
            shown[1].remove()
        x0, x1, y0, y1 = place.window
        x, y = np.meshgrid(np.linspace(x0, x1, 160), np.linspace(y0, y1, 160))
        relief = np.log10(place.at(x, y) - place.at(*place.minimum) + 1e-2)
        shown[:] = result.ground, left.contourf(x, y, relief, levels=18, cmap="Greys_r", zorder=0)
        left.set(xlim=(x0, x1), ylim=(y0, y1))
        return None

    redraw(result)
    return redraw


def draw_lr_sweep(result: LrSweep, figure: Figure):
    """Height above the minimum at the end of the race against the learning rate, and each one's lowest point."""
    ax = figure.subplots()
    ax.set(xlabel=r"learning rate $\eta$", ylabel="height above the minimum at the end", xscale="log", yscale="log")
    ax.set(xlim=(1e-4, 1), ylim=(1e-12, 1e4))
    looks = dict(zip(result.gaps, LINES, strict=False))
    lines = {name: ax.plot([], [], color=c, ls=ls, label=name)[0] for name, (c, ls) in looks.items()}
    dots = {name: ax.plot([], [], "o", color=c, ms=7, mec=INK, mew=0.6)[0] for name, (c, _) in looks.items()}
    figure.legend(handles=list(lines.values()), loc="outside upper center", ncols=len(looks), handlelength=3)

    def redraw(result: LrSweep):
        for name, gaps in result.gaps.items():
            shown = np.clip(gaps, 1.3e-12, 1e9)
            lines[name].set_data(result.lrs, shown)
            best = int(gaps.argmin())
            dots[name].set_data([result.lrs[best]], [min(shown[best], 7e3)])
        return *lines.values(), *dots.values()

    redraw(result)
    return redraw
