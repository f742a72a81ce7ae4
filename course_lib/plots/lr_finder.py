"""Drawings of range tests and of their trial. Each draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.lr_finder import GRIDS, RULES, FinderTrial, RangeCurves
from course_lib.plots.style import BLUE, GREEN, GREY, INK, LINES, ORANGE, RED


def draw_range_curves(result: RangeCurves, figure: Figure):
    """The smoothed loss of every seed against its learning rate, and where the two rules point."""
    ax = figure.subplots()
    ax.set(xlabel=r"learning rate $\eta_t$", ylabel="smoothed loss of the batches (nats)", xscale="log")
    ax.set(xlim=(2e-5, 110), ylim=(0, 6))
    curves = [ax.plot([], [], color=BLUE, lw=0.9, alpha=0.7)[0] for _ in range(16)]
    looks = {"steepest": (ORANGE, "o"), "minimum / 10": (GREEN, "s")}
    dots = {n: ax.plot([], [], m, color=c, mec=INK, mew=0.5, ms=6, label=n)[0] for n, (c, m) in looks.items()}
    name = ax.text(0.02, 0.95, "", transform=ax.transAxes, va="top")
    figure.legend(handles=list(dots.values()), loc="outside upper center", ncols=2)

    def redraw(result: RangeCurves):
        for i, curve in enumerate(curves):
            curve.set_data((result.lrs, result.smooth[i]) if i < len(result.smooth) else ([], []))
        for rule, dot in dots.items():
            lrs = result.suggested[rule]
            at = [np.interp(lr, result.lrs, row) for lr, row in zip(lrs, result.smooth, strict=True)]
            dot.set_data(lrs, at)
        name.set_text(result.optimizer)
        return *curves, *dots.values(), name

    redraw(result)
    return redraw


def draw_finder_trial(result: FinderTrial, figure: Figure):
    """For each optimizer the loss by learning rate, above it what each seed's test suggests, a star at the best; right
    how many times higher the loss is at the suggestions, with the interval."""
    axes = figure.subplots(1, 4, width_ratios=(1, 1, 1, 1.25))
    looks = {"steepest": (ORANGE, "o", -0.12), "minimum / 10": (GREEN, "s", 0.12)}
    curves, stars, ticks = {}, {}, {}
    for ax, name, (color, ls) in zip(axes, GRIDS, LINES, strict=False):
        low, high = GRIDS[name][[0, -1]]
        ax.set(xlabel=r"$\eta$", ylabel="validation loss (nats)" if ax is axes[0] else " ", xscale="log", yscale="log")
        ax.set(xlim=(low / 2, 2 * high), ylim=(0.05, 100))
        ax.set_title(name)
        curves[name] = ax.plot([], [], color=color, ls=ls)[0]
        stars[name] = ax.plot([], [], "*", color=RED, mec=INK, ms=11)[0]
        for rule, (c, m, _) in looks.items():
            ticks[name, rule] = ax.plot([], [], m, color=c, mec=INK, mew=0.4, ms=5, label=rule)[0]
            ticks[name, rule].set_transform(ax.get_xaxis_transform())
    last = axes[3]
    last.set(xlabel="optimizer", ylabel="test loss / best", yscale="log", xlim=(-0.5, 2.5), ylim=(0.5, 30))
    last.set_xticks(range(3), ["SGD", "mom.", "Adam"])
    last.axhline(1, color=GREY, lw=0.9, ls=":")
    bars = {
        (name, rule): last.plot([], [], m + "-", color=c, mec=INK, mew=0.4, ms=6, lw=2.2, markevery=[1])[0]
        for name in GRIDS
        for rule, (c, m, _) in looks.items()
    }
    handles = [ticks["SGD", rule] for rule in RULES] + [stars["SGD"]]
    figure.legend(handles, ["steepest", "minimum / 10", "best of the sweep"], loc="outside upper center", ncols=3)

    size = last.text(0.95, 0.96, "", transform=last.transAxes, va="top", ha="right")

    def redraw(result: FinderTrial):
        size.set_text(f"batch {result.batch}")
        for name in GRIDS:
            tried = result.tried.get(name)
            curves[name].set_data((GRIDS[name], tried.losses) if tried else ([], []))
            stars[name].set_data(([tried.best], [tried.losses.min()]) if tried else ([], []))
            for rule, (_, _, shift) in looks.items():
                tick, bar = ticks[name, rule], bars[name, rule]
                lrs = tried.suggested[rule] if tried else np.empty(0)
                tick.set_data(lrs, np.full(len(lrs), 0.86 - shift / 3))
                regret = tried.regret(rule) if tried else None
                x = list(GRIDS).index(name) + shift
                ends = [regret.low, regret.mean, regret.high] if regret else []
                bar.set_data([x] * len(ends), np.exp(ends))
        return *curves.values(), *stars.values(), *ticks.values(), *bars.values(), size

    redraw(result)
    return redraw
