"""Drawings of Adam's relatives. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.adaptive_family import MEMBERS, STEPS, EarlySteps, StateBytes
from course_lib.plots.style import BLUE, INK, LINES, ORANGE

SIZE = (7.0, 4.0)  # of draw_state_bytes


def draw_state_bytes(result: StateBytes, figure: Figure):
    """Bytes of state for each float32 parameter of a matrix, a row for each optimizer."""
    ax = figure.subplots()
    ax.set(xlabel="bytes of state a parameter, float32", ylabel="optimizer", xscale="log", xlim=(1e-3, 1e5))
    ax.set(ylim=(len(MEMBERS) - 0.4, -0.9))
    ax.set_yticks(range(len(MEMBERS)), MEMBERS)
    ax.axvline(4, color=ORANGE, ls="--", lw=1.2)
    ax.text(4.6, -0.25, "the parameter itself", color=INK, fontsize=8)
    (dots,) = ax.plot([], [], "D", color=BLUE, ms=6)
    notes = [ax.text(1e-3, i, "", va="center", fontsize=8, color=INK) for i in range(len(MEMBERS))]

    def redraw(result: StateBytes):
        values = [result.per_parameter(name) for name in MEMBERS]
        dots.set_data([value or np.nan for value in values], range(len(MEMBERS)))
        for note, value in zip(notes, values, strict=True):
            note.set_text(f"{value:.3g}" if value else "nothing")
            note.set_x(1.5 * max(value, 1e-3))
        return dots, *notes

    redraw(result)
    return redraw


def draw_early_steps(result: EarlySteps, figure: Figure):
    """Left the size of the steps over lr; right the factor of RAdam and that of a linear warm-up."""
    left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
    left.set(xlabel="step", ylabel="root mean square step / lr", xscale="log", yscale="log")
    left.set(xlim=(1, STEPS), ylim=(1e-4, 1e3))
    right.set(xlabel="step", ylabel="factor on Adam's step", xscale="log", xlim=(1, STEPS), ylim=(0, 1.05))
    looks = dict(zip(result.sizes, LINES, strict=False))
    lines = {n: left.plot([], [], color=c, ls=ls, lw=1.4, label=n)[0] for n, (c, ls) in looks.items()}
    (rectified,) = right.plot([], [], color=looks["RAdam"][0], ls=looks["RAdam"][1])
    (warmed,) = right.plot([], [], color=looks["Adam, warmed up"][0], ls=looks["Adam, warmed up"][1])
    figure.legend(
        handles=list(lines.values()), loc="outside upper center", ncols=6, handlelength=2.4, columnspacing=1.2
    )
    steps = np.arange(1, STEPS + 1)

    def redraw(result: EarlySteps):
        for name, line in lines.items():
            line.set_data(steps, result.sizes[name])
        divides = result.rectified > 0
        rectified.set_data(steps[divides], result.rectified[divides])
        warmed.set_data(steps, result.warmed)
        return *lines.values(), rectified, warmed

    redraw(result)
    return redraw
