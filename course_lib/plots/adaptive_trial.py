"""Drawings of the two trials. Each draws once and returns the function that redraws; what is not known is left out."""

from matplotlib.figure import Figure

from course_lib.experiments.adaptive_trial import DEFAULT, OPTIMIZERS, TASKS, Generalizes, NoTuning
from course_lib.plots.style import BLUE, GREEN, GREY, INK, RED

LOOKS = {"SGD": (RED, "--", "s"), "Adam": (BLUE, "-", "o")}
SIZE = (7.0, 4.6)


def draw_no_tuning(result: NoTuning, figure: Figure):
    """A panel a task: validation accuracy against the learning rate, mean of the seeds, the best marked."""
    axes = dict(zip(TASKS, figure.subplots(2, 2).ravel(), strict=True))
    parts = {}
    for task, ax in axes.items():
        ax.set(xlabel=r"learning rate $\eta$", ylabel="validation\naccuracy", xscale="log")
        ax.set(xlim=(5e-6, 2), ylim=(0, 1.05), title=task)
        default = ax.axvline(DEFAULT, color=GREY, ls=":", lw=1.5, label="Adam's default, 0.001")
        for name, (color, line, mark) in LOOKS.items():
            (curve,) = ax.plot([], [], color=color, ls=line, marker=mark, ms=3.5, lw=1.4, label=name)
            (best,) = ax.plot([], [], mark, color=color, ms=9, mec=INK, mew=0.8)
            parts[task, name] = curve, best
    handles = [parts["digits", name][0] for name in LOOKS]
    figure.legend(handles=[*handles, default], loc="outside upper center", ncols=3, handlelength=3)

    def redraw(result: NoTuning):
        for (task, name), (curve, best) in parts.items():
            if (task, name) in result.sweeps:
                sweep = result.sweeps[task, name].mean(axis=1)
                curve.set_data(OPTIMIZERS[name][1], sweep)
                best.set_data([result.best(task, name)], [sweep.max()])
            else:
                curve.set_data([], [])
                best.set_data([], [])
        return [artist for pair in parts.values() for artist in pair]

    redraw(result)
    return redraw


def draw_generalizes(result: Generalizes, figure: Figure):
    """Left the sweeps on validation; right the test accuracy of fresh runs, a line for each seed."""
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    left.set(xlabel=r"learning rate $\eta$", ylabel="validation accuracy", xscale="log", xlim=(5e-6, 2), ylim=(0, 1.05))
    curves = {
        name: left.plot([], [], color=c, ls=line, marker=mark, ms=3.5, lw=1.4, label=name)[0]
        for name, (c, line, mark) in LOOKS.items()
    }
    figure.legend(handles=list(curves.values()), loc="outside upper center", ncols=2, handlelength=3)
    right.set(xlabel="optimizer, tuned", ylabel="test accuracy", xlim=(-0.5, 1.5))
    right.set_xticks([0, 1], list(LOOKS))
    pairs = [right.plot([], [], "o-", color=GREEN, lw=0.8, ms=4)[0] for _ in range(12)]
    (means,) = right.plot([], [], "D", color=GREY, ms=9, mec=INK, mew=0.6)

    def redraw(result: Generalizes):
        for name, curve in curves.items():
            known = name in result.sweeps
            curve.set_data(OPTIMIZERS[name][1] if known else [], result.sweeps[name].mean(axis=1) if known else [])
        tested = list(result.tested.values())
        for i, pair in enumerate(pairs):
            rows = [row[i] for row in tested if i < len(row)]
            pair.set_data(range(len(rows)), rows)
        means.set_data(range(len(tested)), [row.mean() for row in tested])
        if tested:
            low, high = min(row.min() for row in tested), max(row.max() for row in tested)
            right.set_ylim(low - 0.1 * (high - low) - 0.002, high + 0.1 * (high - low) + 0.002)
        return None

    redraw(result)
    return redraw
