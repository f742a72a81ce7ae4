"""The drawing of the batch-size rules. It draws once and returns the function that redraws."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.learning_rate_batch import RULES, BatchRule
from course_lib.plots.style import BLUE, GREEN, GREY, INK, RED


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
