"""The drawing of learning rare features. It draws once and returns the function that redraws."""

from matplotlib.figure import Figure

from course_lib.experiments.adaptive_rare import LEARNERS, Rare
from course_lib.plots.style import GREY, INK, LINES


def draw_rare(result: Rare, figure: Figure):
    """Left the error of a weight against how often its feature is there; right that of the eight rarest, each seed."""
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    left.set(xlabel="share of examples that have the feature", ylabel="error of its weight, 1 at the start")
    left.set(xscale="log", xlim=(1e-3, 0.6), ylim=(0, 1.15))
    left.axhline(1, color=GREY, lw=0.8)
    right.set(xlabel="optimizer", ylabel="error of the eight rarest", xlim=(-0.5, 4.5), ylim=(0, 1.15))
    right.set_xticks(range(len(LEARNERS)), LEARNERS, rotation=30)
    right.axhline(1, color=GREY, lw=0.8)
    looks = dict(zip(LEARNERS, LINES, strict=False))
    lines = {n: left.plot([], [], color=c, ls=ls, lw=1.5, label=n)[0] for n, (c, ls) in looks.items()}
    dots = {n: right.plot([], [], "o", color=c, ms=4, alpha=0.6)[0] for n, (c, _) in looks.items()}
    means = {n: right.plot([], [], "D", color=c, ms=9, mec=INK, mew=0.6)[0] for n, (c, _) in looks.items()}
    figure.legend(handles=list(lines.values()), loc="outside upper center", ncols=5, handlelength=3)

    def redraw(result: Rare):
        for place, name in enumerate(LEARNERS):
            if name not in result.errors:
                for artists in (lines, dots, means):
                    artists[name].set_data([], [])
                continue
            rare = result.rare_error(name)
            lines[name].set_data(result.frequency, result.errors[name].mean(axis=0))
            dots[name].set_data([place] * len(rare), rare)
            means[name].set_data([place], [rare.mean()])
        return *lines.values(), *dots.values(), *means.values()

    redraw(result)
    return redraw
