"""Drawings of schedules, rightly and wrongly counted, and of noise floors. Each draws once and returns its redraw."""

import textwrap

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.learning_rate import NAMES, Gallery, NoiseFloor, UnitCurves
from course_lib.plots.style import BLUE, GREEN, GREY, INK, LINES, ORANGE, RED


def draw_gallery(result: Gallery, figure: Figure):
    """Left the factor at each update, right the sum of the factors so far, beside that of a constant 1."""
    left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
    left.set(xlabel="update", ylabel="factor on the learning rate", xlim=(0, 400), ylim=(0, 1.3))
    (curve,) = left.plot([], [], color=BLUE)
    (peak,) = left.plot([], [], "o", color=ORANGE, mec=INK, ms=7)
    code = left.text(0.02, 0.97, "", transform=left.transAxes, va="top", family="monospace", fontsize=7.5)
    right.set(xlabel="update", ylabel="sum of the factors so far", xlim=(0, 400), ylim=(0, 400))
    right.plot([0, 400], [0, 400], color=GREY, ls=":", lw=1.2, label="constant 1")
    (area,) = right.plot([], [], color=GREEN, ls="--", label="this schedule")
    right.legend(loc="upper left")

    def redraw(result: Gallery):
        steps = np.arange(len(result.factors))
        curve.set_data(steps, result.factors)
        peak.set_data([result.peak[0]], [result.peak[1]])
        area.set_data(steps + 1, result.factors.cumsum())
        code.set_text(textwrap.fill(result.code, 44, subsequent_indent="  "))
        return curve, peak, area, code

    redraw(result)
    return redraw


def draw_noise_floor(result: NoiseFloor, figure: Figure):
    """Above the mean loss of the runs, its prediction and the floor of each moment; below the learning rate."""
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.6, 1))
    top.set(ylabel="mean loss", yscale="log", xlim=(0, 300), ylim=(1e-4, 200))
    top.set_xlabel("update")
    (measured,) = top.plot([], [], color=BLUE, lw=1.4, label="measured, 256 runs")
    (predicted,) = top.plot([], [], color=ORANGE, ls="--", label="theory")
    (floor,) = top.plot([], [], color=RED, ls=":", label=r"floor if $\eta_t$ were kept")
    figure.legend(handles=[measured, predicted, floor], loc="outside upper center", ncols=3)
    bottom.set(xlabel="update", ylabel=r"$\eta_t$", yscale="log", ylim=(1e-4, 2.5))
    (lr,) = bottom.plot([], [], color=GREEN, drawstyle="steps-post")

    def redraw(result: NoiseFloor):
        steps = np.arange(len(result.measured))
        measured.set_data(steps, result.measured.clip(1e-9, 1e9))
        predicted.set_data(steps, result.predicted.clip(1e-9, 1e9))
        floor.set_data(steps, result.floor.clip(1e-9))
        lr.set_data(steps[:-1], result.lrs.clip(1e-9))
        return measured, predicted, floor, lr

    redraw(result)
    return redraw


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
