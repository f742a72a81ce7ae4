"""Drawings of momentum on quadratics. Each draws once and returns the function that redraws."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from course_lib.experiments._momentum_step import oscillates
from course_lib.experiments.momentum import Contraction, Growth, Phase, Tuning
from course_lib.plots.style import BLUE, GREEN, GREY, INK, LINES, ORANGE, RED

CIRCLE = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
WHITE = "#FFFFFF"
RATES = colormaps["cividis"].with_extremes(over="#F2B8A0")  # above 1, where runs diverge


def draw_contraction(result: Contraction, figure: Figure):
    """Left the position against the step, between theory's envelopes; right its distance, logarithmic."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="step", ylabel="x", xlim=(0, 200), ylim=(-1.5, 1.5))
    left.axhline(0, color=GREY, lw=0.8)
    (path,) = left.plot([], [], "o-", color=BLUE, ms=2, lw=1)
    (envelope,) = left.plot([], [], color=ORANGE, ls="--", lw=1.4)
    right.set(xlabel="step", ylabel="distance to the minimum, |x|", xlim=(0, 200), ylim=(1e-12, 1e6), yscale="log")
    (distance,) = right.plot([], [], color=BLUE, lw=1.2, label="measured")
    (slope,) = right.plot([], [], color=ORANGE, ls="--", lw=1.4, label=r"theory, rate$^t$, from 1")
    right.legend(loc="upper right")

    def redraw(result: Contraction):
        steps = np.arange(len(result.path))
        shape = np.exp(np.clip(steps * np.log(max(result.rate, 1e-30)), -100, 100))
        path.set_data(steps, np.clip(result.path, -10, 10))
        envelope.set_data([*steps, np.nan, *steps], np.clip([*shape, np.nan, *-shape], -10, 10))
        distance.set_data(steps, np.clip(np.abs(result.path), 1e-30, 1e30))
        slope.set_data(steps, np.clip(shape, 1e-30, 1e30))
        return path, envelope, distance, slope

    redraw(result)
    return redraw


def draw_phase(result: Phase, figure: Figure):
    """Left the measured rate over the plane, theory's borders on it and the setting marked; right the eigenvalues of a
    step at the setting, on the curve that they run along when the learning rate is moved."""
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
    left.set(xlabel=r"$\eta\lambda$", ylabel=r"momentum $\beta$", xscale="log", xlim=(1e-3, 5), ylim=(0, 0.99))
    left.grid(False)
    mesh = left.pcolormesh(result.lrs, result.betas, result.rates, cmap=RATES, vmin=0, vmax=1, rasterized=True)
    bar = figure.colorbar(mesh, ax=left, extend="max", label="error left after a step / before, measured")
    bar.ax.set_label("<colorbar>")
    (here,) = left.plot([], [], "o", color=WHITE, mec=INK, ms=8, mew=1.5)
    borders = [Line2D([], [], color=RED, lw=2), Line2D([], [], color=WHITE, lw=1.5, ls="--")]
    legend = left.legend(
        borders, ["diverges beyond", "complex pair inside"], loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2
    )
    legend.get_frame().set_facecolor("#9A9A9A")

    right.set(xlabel="real part of the eigenvalues", ylabel="imaginary part", xlim=(-1.35, 1.35), ylim=(-1.35, 1.35))
    right.set_aspect("equal")
    right.plot(CIRCLE.real, CIRCLE.imag, color=RED, lw=1.2, label="size 1: beyond it, diverges")
    (locus,) = right.plot([], [], ".", color=GREY, ms=2.5, label=r"for $\eta\lambda$ from 0.001 to 5")
    (ring,) = right.plot([], [], color=ORANGE, ls="--", lw=1.4, label="size of the larger one: the rate")
    (pair,) = right.plot([], [], "o", color=BLUE, ms=7, mec=INK)
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)
    shown: list[Any] = []  # the method whose map stands, and its borders

    def redraw(result: Phase):
        here.set_data([result.lr], [result.beta])
        points = result.locus.ravel()
        locus.set_data(np.clip(points.real, -9, 9), points.imag)
        ring.set_data(*(min(result.rate, 9) * part for part in (CIRCLE.real, CIRCLE.imag)))
        pair.set_data(np.clip(result.eigenvalues.real, -1.33, 1.33), result.eigenvalues.imag)
        if shown and shown[0] == result.method:
            return here, locus, ring, pair
        for border in shown[1:]:
            border.remove()
        mesh.set_array(result.rates)
        lrs, betas = np.geomspace(1e-3, 5, 300), np.linspace(0, 0.99, 200)[:, None]
        inside = oscillates(lrs, betas, result.method).astype(float)
        edge = left.contour(result.lrs, result.betas, result.predicted, levels=[1.0], colors=RED, linewidths=2)
        dashed = left.contour(lrs, betas[:, 0], inside, levels=[0.5], colors=WHITE, linewidths=1.5, linestyles="--")
        shown[:] = result.method, edge, dashed
        return None

    redraw(result)
    return redraw


def draw_tuning(result: Tuning, figure: Figure):
    """The measured rate on a ravine over learning rate and momentum, its lowest point and theory's."""
    ax = figure.subplots()
    ax.set(xlabel=r"learning rate $\eta$, in units of $1/L$", ylabel=r"momentum $\beta$")
    ax.set(xlim=(0.02, 4), ylim=(0, 0.99))
    ax.grid(False)
    mesh = ax.pcolormesh(result.lrs, result.betas, result.rates, cmap=RATES, vmin=0, vmax=1, rasterized=True)
    bar = figure.colorbar(mesh, ax=ax, extend="max", label="error left after a step / before, measured")
    bar.ax.set_label("<colorbar>")
    (plain,) = ax.plot([], [], "s", color=WHITE, mec=INK, ms=8, clip_on=False, label="fastest without momentum")
    (best,) = ax.plot([], [], "o", color=ORANGE, mec=INK, ms=11, label="fastest measured")
    (theory,) = ax.plot([], [], "x", color=RED, ms=9, mew=2.5, label="theory's setting")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    def redraw(result: Tuning):
        mesh.set_array(result.rates)
        plain.set_data([result.lrs[result.rates[0].argmin()]], [0])
        best.set_data([result.best[0]], [result.best[1]])
        theory.set_data([result.predicted[0]], [result.predicted[1]])
        return mesh, plain, best, theory

    redraw(result)
    return redraw


def draw_growth(result: Growth, figure: Figure):
    """Steps to a thousandth of the distance against the condition number, both axes logarithmic."""
    ax = figure.subplots()
    ax.set(xlabel=r"condition number $\kappa$", ylabel="steps to 1/1000 of the distance", xscale="log", yscale="log")
    ax.set(xlim=(3, 2500), ylim=(4, 1e4))
    lines = {
        name: ax.plot([], [], marker, color=c, ls=ls, ms=5, label=name)[0]
        for (name, (c, ls)), marker in zip(zip(result.counts, LINES, strict=False), "os^", strict=True)
    }
    guide = np.array([30.0, 2000.0])
    ax.plot(guide, 5 * guide, color=INK, lw=0.8, ls=":")
    ax.text(280, 1900, r"$\propto \kappa$", ha="right")
    ax.plot(guide, 3.2 * guide**0.5, color=INK, lw=0.8, ls=":")
    ax.text(900, 62, r"$\propto \sqrt{\kappa}$", color=GREEN)
    ax.legend(loc="upper left")

    def redraw(result: Growth):
        for name, line in lines.items():
            line.set_data(result.kappas, result.counts[name])
        return list(lines.values())

    redraw(result)
    return redraw
