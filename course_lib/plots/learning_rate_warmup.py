"""Drawings of Adam's first updates and of what a warm-up is worth. Each draws once and returns its redraw."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments._learning_rate import geometric_mean
from course_lib.experiments.learning_rate_warmup import EarlySteps, WarmupWorth
from course_lib.plots.style import BLUE, GREEN, INK, ORANGE, RED


def draw_early_steps(result: EarlySteps, figure: Figure):
    """Size of the update in units of lr against the number of the update, logarithmic."""
    ax = figure.subplots()
    ax.set(xlabel="update", ylabel=r"root mean square of the update, in units of $\eta$", yscale="log")
    ax.set(xlim=(0, 61), ylim=(0.02, 10))
    looks = (
        ("uncorrected", RED, "--", "without bias correction"),
        ("corrected", BLUE, "-", "Adam"),
        ("warmed", GREEN, "-.", "Adam, warm-up"),
        ("noise", INK, ":", "theory for pure noise"),
    )
    lines = {n: ax.plot([], [], color=c, ls=ls, label=label)[0] for n, c, ls, label in looks}
    figure.legend(handles=list(lines.values()), loc="outside upper center", ncols=4)

    def redraw(result: EarlySteps):
        for name, line in lines.items():
            values = getattr(result, name)
            line.set_data(np.arange(1, len(values) + 1), values.clip(1e-6))
        return list(lines.values())

    redraw(result)
    return redraw


def draw_warmup_worth(result: WarmupWorth, figure: Figure):
    """Validation loss of each seed, and its mean, against the learning rate, with warm-up and without."""
    ax = figure.subplots()
    ax.set(xlabel=r"learning rate $\eta$", ylabel="validation loss (nats)", xscale="log", yscale="log")
    ax.set(xlim=(8e-4, 0.16), ylim=(0.06, 100))
    looks = {"none": (BLUE, "-", "o", 0.97), "warm-up": (ORANGE, "--", "s", 1.03)}
    labels = {"none": "without warm-up", "warm-up": "with warm-up"}
    lines = {n: ax.plot([], [], color=c, ls=ls, label=labels[n])[0] for n, (c, ls, _, _) in looks.items()}
    dots = {n: ax.plot([], [], m, color=c, ms=3, alpha=0.5)[0] for n, (c, _, m, _) in looks.items()}
    best = {n: ax.plot([], [], "*", color=c, mec=INK, ms=12)[0] for n, (c, *_) in looks.items()}
    ax.legend(loc="upper left")
    method = ax.text(0.3, 0.93, "", transform=ax.transAxes, va="top")

    def redraw(result: WarmupWorth):
        method.set_text(result.method)
        for name, (*_, shift) in looks.items():
            rows = result.losses.get(name, np.ones((len(result.lrs), 0)))
            known = rows.shape[1] > 0
            lines[name].set_data((result.lrs, geometric_mean(rows)) if known else ([], []))
            dots[name].set_data(np.repeat(result.lrs * shift, rows.shape[1]), rows.ravel())
            best[name].set_data(*([[x] for x in result.best(name)] if known else ([], [])))
        return *lines.values(), *dots.values(), *best.values(), method

    redraw(result)
    return redraw
