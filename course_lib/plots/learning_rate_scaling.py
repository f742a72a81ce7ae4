"""Drawings of the batch-size rules and of training without a fixed end. Each draws once and returns its redraw."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments._learning_rate import geometric_mean
from course_lib.experiments.learning_rate_scaling import METHODS, RULES, BatchRule, Horizons
from course_lib.plots.style import BLUE, GREEN, GREY, INK, LINES, RED


def draw_batch_rule(result: BatchRule, figure: Figure):
    """Left each seed's best learning rate by batch size, with the rule; right the loss at the rule's over the best."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="batch size", ylabel=r"best learning rate $\eta$", xscale="log", yscale="log", xlim=(6, 340))
    left.set_ylim(2e-3, 6)
    right.set(xlabel="batch size", ylabel="loss at the rule's learning rate / best", xscale="log", yscale="log")
    right.set(xlim=(6, 340), ylim=(0.8, 100))
    for ax in (left, right):
        ax.set_xticks([8, 16, 32, 64, 128, 256], ["8", "16", "32", "64", "128", "256"], minor=False)
        ax.minorticks_off()
    (dots,) = left.plot([], [], "o", color=BLUE, ms=4, alpha=0.5, label="each seed")
    (means,) = left.plot([], [], "D", color=BLUE, mec=INK, ms=7, label="mean")
    (rule,) = left.plot([], [], color=RED, ls="--", label="the rule, from batch 8")
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1)
    right.axhline(1, color=GREY, lw=0.8, ls=":")
    (cost,) = right.plot([], [], "s-", color=GREEN, ms=5)
    note = right.text(0.04, 0.94, "", transform=right.transAxes, va="top")

    def redraw(result: BatchRule):
        best, power = result.best, RULES[result.optimizer]
        dots.set_data(np.repeat(result.batches, best.shape[1]), best.ravel())
        middle = np.exp(np.log(best).mean(axis=1))
        means.set_data(result.batches, middle)
        ends = np.array([8, 256])
        rule.set_data(ends, middle[0] * (ends / 8) ** power)
        cost.set_data(result.batches, result.followed.clip(max=1e6))
        note.set_text(f"{result.optimizer}: " + (r"$\eta \propto B$" if power == 1 else r"$\eta \propto \sqrt{B}$"))
        return dots, means, rule, cost, note

    redraw(result)
    return redraw


def draw_horizons(result: Horizons, figure: Figure):
    """Left the test loss by horizon, right the same over that of the cosine made for this horizon, with intervals."""
    left, right = figure.subplots(1, 2)
    for ax, label in ((left, "test loss (nats)"), (right, "test loss / cosine's")):
        ax.set(xlabel="epochs", ylabel=label, xscale="log", xlim=(0.8, 5))
        ax.set_xticks([1, 2, 4], ["1", "2", "4"])
        ax.minorticks_off()
    left.set(yscale="log", ylim=(0.05, 2))
    right.set(ylim=(0.6, 1.8))
    right.axhline(1, color=GREY, lw=0.9)
    looks = dict(zip(METHODS, zip(LINES, "osD^v", strict=False), strict=True))
    curves = {n: left.plot([], [], m, color=c, ls=ls, ms=5, label=n)[0] for n, ((c, ls), m) in looks.items()}
    bars = {n: right.plot([], [], color=c, lw=1.2)[0] for n, ((c, _), _) in looks.items()}
    dots = {n: right.plot([], [], m, color=c, ms=5)[0] for n, ((c, _), m) in looks.items()}
    figure.legend(handles=list(curves.values()), loc="outside upper center", ncols=5, handlelength=3)

    def redraw(result: Horizons):
        for i, name in enumerate(METHODS):
            curves[name].set_data(result.epochs, geometric_mean(result.tested[name]))
            cells = [result.against_cosine(name, k) for k in range(len(result.epochs)) if name != "cosine"]
            x = result.epochs[: len(cells)] * 1.06 ** (i - 2)
            dots[name].set_data(x, np.exp([c.mean for c in cells]))
            ends = np.exp([[c.low, c.high, np.nan] for c in cells]).ravel()
            bars[name].set_data(np.repeat(x, 3), ends)
        return *curves.values(), *bars.values(), *dots.values()

    redraw(result)
    return redraw
