"""Drawings of the gradient check and of the trap in `where`."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.gradient_check import Check, Trap
from course_lib.plots.style import BLUE, GREEN, GREY, INK, ORANGE, RED


def draw_difference_error(result: Check, figure: Figure):
    """Left: the function and the chord that the step takes for its tangent. Right: the error against the step."""
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    left.set(xlabel="x", ylabel="f", xlim=(-3.2, 3.2), ylim=(-8, 10))
    right.set(xlabel="step h", ylabel="error of the slope", xscale="log", yscale="log")
    right.set(xlim=(1e-12, 1), ylim=(1e-16, 1e10))
    (curve,) = left.plot([], [], color=BLUE, label="f")
    (chord,) = left.plot([], [], color=RED, ls="--", marker="o", ms=4, label="chord")
    left.legend(loc="upper left")
    (error,) = right.plot([], [], color=BLUE, label="measured")
    (rounding,) = right.plot([], [], color=GREEN, ls="-.", lw=1.2, label="eps / h: rounding")
    (curving,) = right.plot([], [], color=ORANGE, ls="--", lw=1.2, label="h²: chord for tangent")
    guess = right.axvline(1e-6, color=GREY, ls=":", lw=1.2, label="eps to the power 1/3")
    (here,) = right.plot([], [], "o", color=RED, ms=7, label="this h")
    right.legend(loc="upper right", ncols=2, fontsize=7)
    reading = left.text(0.97, 0.04, "", ha="right", transform=left.transAxes, size=8, color=INK)

    def redraw(result: Check):
        x, h = result.x, result.h
        height = np.interp([x - h, x + h], *result.curve)
        curve.set_data(*result.curve)
        chord.set_data([x - h, x + h], height)
        error.set_data(result.steps, np.clip(result.errors, 1e-16, 1e4))
        rounding.set_data(result.steps, result.eps / result.steps)
        curving.set_data(result.steps, result.steps**2)
        guess.set_xdata([result.eps ** (1 / 3)] * 2)
        here.set_data([h], [np.interp(np.log(h), np.log(result.steps), np.clip(result.errors, 1e-16, 1e4))])
        reading.set_text(f"slope {result.exact:.5g}\nchord {result.chord:.5g}")
        return curve, chord, error, rounding, curving, guess, here, reading

    redraw(result)
    return redraw


def draw_where_trap(result: Trap, figure: Figure):
    """Left: the function, finite everywhere. Right: its gradient, with a mark on the lower edge for every NaN."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="x", ylabel="where(x > 0, f(x), 0)", xlim=(-1.02, 1.02), ylim=(-1, 5))
    right.set(xlabel="x", ylabel="its gradient", xlim=(-1.02, 1.02), ylim=(-6, 6))
    for ax in (left, right):
        ax.set_xticks((-1, -0.5, 0, 0.5, 1))
    (value,) = left.plot([], [], color=BLUE)
    (gradient,) = right.plot([], [], color=GREEN, label="finite")
    (lost,) = right.plot([], [], "x", color=RED, ms=4, label="NaN")
    right.legend(loc="upper left", fontsize=8)

    def redraw(result: Trap):
        nan = np.isnan(result.gradients)
        value.set_data(result.x, np.clip(result.values, -1, 5))
        gradient.set_data(result.x, np.clip(result.gradients, -6.5, 6.5))
        lost.set_data(result.x[nan], np.full(nan.sum(), -5.7))
        return value, gradient, lost

    redraw(result)
    return redraw
