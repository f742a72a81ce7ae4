"""Drawings of gradient descent on bowls and surfaces. Each draws once and returns the function that redraws."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.gradient_descent import Bowl, Contraction, Iterations, StepSweep, Walk
from course_lib.plots.style import BLUE, GREEN, GREY, INK, LINES, ORANGE, RED
from course_lib.surfaces import surface

CIRCLE = np.stack([np.cos(np.linspace(0, 2 * np.pi, 200)), np.sin(np.linspace(0, 2 * np.pi, 200))])


def draw_bowl(result: Bowl, figure: Figure):
    """Left the path over level curves, right what a step multiplies each coordinate by, against the learning rate."""
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    left.set(xlabel=r"$\theta_1$ (flat direction)", ylabel=r"$\theta_2$ (steep direction)")
    left.set(xlim=(-2.2, 2.2), ylim=(-1.1, 1.1))
    left.grid(False)
    levels = [left.plot([], [], color=GREY, lw=0.8)[0] for _ in range(7)]
    (path,) = left.plot([], [], "o-", color=BLUE, ms=3, lw=1.2)
    left.plot(0, 0, "+", color=INK, ms=10)

    grid = np.geomspace(0.005, 3, 400)
    right.set(xlabel=r"learning rate $\eta$", ylabel="size after a step / size before", xscale="log")
    right.set(xlim=(0.005, 3), ylim=(0, 2))
    right.axhspan(1, 2, color=RED, alpha=0.08, lw=0)
    right.text(0.006, 1.9, "grows", color=RED, va="top")
    (flat,) = right.plot(grid, np.abs(1 - grid), color=GREEN, ls="-.", label=r"flat, $|1 - \eta\lambda_{\min}|$")
    (steep,) = right.plot([], [], color=ORANGE, ls="-", label=r"steep, $|1 - \eta\lambda_{\max}|$")
    (edge,) = right.plot([], [], color=RED, ls="--", lw=1.2, label=r"threshold $2 / \lambda_{\max}$")
    (here,) = right.plot([], [], "o", color=BLUE, label="this learning rate")
    right.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=2)

    def redraw(result: Bowl):
        start = result.path[0] ** 2 @ result.eigenvalues
        for line, share in zip(levels, (0.02, 0.1, 0.3, 0.6, 1.0, 1.6, 2.4), strict=True):
            line.set_data(*(CIRCLE * np.sqrt(share * start / result.eigenvalues)[:, None]))
        path.set_data(*np.clip(result.path, -50, 50).T)
        steep.set_data(grid, np.minimum(np.abs(1 - grid * result.eigenvalues[1]), 10))
        edge.set_data([result.threshold] * 2, [0, 2])
        here.set_data([result.lr] * 2, np.minimum(result.factors, 1.98))
        return [*levels, path, steep, flat, edge, here]

    redraw(result)
    return redraw


def draw_contraction(result: Contraction, figure: Figure):
    """The size of each eigen-component against the step, and the slopes that theory predicts."""
    ax = figure.subplots()
    ax.set(xlabel="step", ylabel="component along the eigenvector", yscale="log", xlim=(0, 100), ylim=(1e-8, 1e4))
    lines = [ax.plot([], [], color=color, ls=style)[0] for color, style in LINES[:5]]
    (theory,) = ax.plot([], [], ".", color=INK, ms=2.5)
    for line, name in zip(lines, ("1$ (flattest)", "2$", "3$", "4$", "5$ (steepest)"), strict=True):
        line.set_label(r"$\lambda_" + name)
    theory.set_label(r"theory, $|1 - \eta\lambda|^t$")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=6)

    def redraw(result: Contraction):
        steps = np.arange(len(result.components))
        for line, sizes in zip(lines, np.abs(result.components).T, strict=True):
            line.set_data(steps, np.clip(sizes, 1e-30, 1e30))
        every = steps[::4]
        predicted = np.clip(result.factors[:, None], 1e-30, None) ** every
        theory.set_data(np.tile(every, len(predicted)), np.clip(predicted, 1e-30, 1e30).ravel())
        return [*lines, theory]

    redraw(result)
    return redraw


def draw_step_sweep(result: StepSweep, figure: Figure):
    """Measured rate of convergence against the learning rate, over the theory."""
    ax = figure.subplots()
    ax.set(xlabel=r"learning rate $\eta$, in units of $1 / \lambda_{\max}$", ylabel="error left after a step / before")
    ax.set(xlim=(0, 2.2), ylim=(0, 1.3))
    ax.axhline(1, color=RED, lw=1, ls="--")
    ax.text(0.02, 1.02, "diverges above this line", color=RED, va="bottom")
    (predicted,) = ax.plot([], [], color=ORANGE, lw=4, alpha=0.5, label=r"theory, $\max_i |1 - \eta\lambda_i|$")
    (measured,) = ax.plot([], [], color=BLUE, ls="--", lw=1.2, label="measured")
    (best,) = ax.plot([], [], "o", color=GREEN, label=r"$\eta = 2/(\lambda_{\min} + \lambda_{\max})$")
    ax.legend(loc="lower left")

    def redraw(result: StepSweep):
        predicted.set_data(result.lrs, result.predicted)
        measured.set_data(result.lrs, result.rates)
        best.set_data(*([value] for value in result.best_predicted))
        return predicted, measured, best

    redraw(result)
    return redraw


def draw_iterations(result: Iterations, figure: Figure):
    """Steps to the tolerance against the condition number, both axes logarithmic."""
    ax = figure.subplots()
    ax.set(xlabel=r"condition number $\kappa$", ylabel="steps to the tolerance", xscale="log", yscale="log")
    ax.set(xlim=(1.8, 330), ylim=(1, 6000))
    (safe,) = ax.plot([], [], "s--", color=ORANGE, ms=4, label=r"measured, $\eta = 1/\lambda_{\max}$")
    (best,) = ax.plot([], [], "o-", color=BLUE, ms=4, label=r"measured, $\eta = 2/(\lambda_{\min} + \lambda_{\max})$")
    (theory,) = ax.plot([], [], color=INK, ls=":", label=r"theory for the best $\eta$")
    ax.legend(loc="upper left")

    def redraw(result: Iterations):
        safe.set_data(result.kappas, result.safe)
        best.set_data(result.kappas, result.best)
        theory.set_data(result.kappas, result.predicted)
        return safe, best, theory

    redraw(result)
    return redraw


def draw_walk(result: Walk, figure: Figure):
    """Left the path over the surface's level curves, right the height above the minimum against the step."""
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    left.set(xlabel="x", ylabel="y", title="darker is lower")
    left.grid(False)
    (path,) = left.plot([], [], "o-", color=RED, ms=2.5, lw=1.2)
    (goal,) = left.plot([], [], "*", color=INK, ms=11)
    right.set(xlabel="step", ylabel="height above the minimum", yscale="log", xlim=(0, 1000), ylim=(1e-8, 1e4))
    (height,) = right.plot([], [], color=BLUE)
    shown: list[Any] = []  # the name of the surface whose level curves stand, and the curves

    def redraw(result: Walk):
        ground = surface(result.name)
        path.set_data(*np.clip(result.path, -1e3, 1e3).T)
        goal.set_data(*([c] for c in ground.minimum))
        height.set_data(np.arange(len(result.gap)), np.clip(result.gap, 1e-30, 1e30))
        if shown and shown[0] == result.name:
            return path, goal, height
        if shown:
            shown[1].remove()
        x0, x1, y0, y1 = ground.window
        x, y = np.meshgrid(np.linspace(x0, x1, 160), np.linspace(y0, y1, 160))
        relief = np.log10(ground.at(x, y) - ground.at(*ground.minimum) + 1e-2)
        shown[:] = result.name, left.contourf(x, y, relief, levels=18, cmap="Blues_r", zorder=0)
        left.set(xlim=(x0, x1), ylim=(y0, y1))
        return None

    redraw(result)
    return redraw
