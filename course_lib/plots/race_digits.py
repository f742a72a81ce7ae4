"""The race on the digits: loss, effective learning rates and state of each optimizer, as far as it has run."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.race_digits import DigitsRace
from course_lib.plots.style import LINES

SIZE = (7.0, 4.8)


def draw_digits_race(result: DigitsRace, figure: Figure):
    """Training loss; the effective learning rate of the median coordinate, thin lines at 10 and 90 %; and what the
    state keeps, of gradients and of their sizes."""
    panels = figure.subplot_mosaic([["loss", "effective"], ["direction", "size"]])
    labels = {
        "loss": "training loss",
        "effective": "effective $\\eta$ of a coordinate,\n|step| / |gradient|",
        "direction": "rms of the velocity,\nor of Adam's $m$",
        "size": "root mean of the\nsquares kept ($v$)",
    }
    limits = {"loss": (1e-4, 10), "effective": (1e-4, 1e3), "direction": (1e-5, 10), "size": (1e-5, 10)}
    for name, ax in panels.items():
        ax.set(xlabel="step", ylabel=labels[name], yscale="log", ylim=limits[name])
    looks = dict(zip(result.losses, LINES, strict=False))
    lines = {
        panel: {name: ax.plot([], [], color=c, ls=ls, lw=1.4, label=name)[0] for name, (c, ls) in looks.items()}
        for panel, ax in panels.items()
    }
    figure.legend(handles=list(lines["loss"].values()), loc="outside upper center", ncols=len(looks), handlelength=3)
    bands = {name: panels["effective"].plot([], [], color=c, ls=ls, lw=0.6)[0] for name, (c, ls) in looks.items()}
    steps = 0

    def redraw(result: DigitsRace):
        nonlocal steps
        for name in looks:
            at = np.arange(1, len(result.directions[name]) + 1)
            lines["loss"][name].set_data(np.append(0, at), np.clip(result.losses[name], 1e-30, 1e30))
            low, median, high = np.clip(result.effective[name], 1e-30, 1e30).T
            lines["effective"][name].set_data(at, median)
            bands[name].set_data([*at, np.nan, *at], [*low, np.nan, *high])
            for panel, rows in (("direction", result.directions), ("size", result.sizes)):
                lines[panel][name].set_data(at, np.clip(rows[name], 1e-30, 1e30))
        if steps != result.steps:
            steps = result.steps
            for ax in panels.values():
                ax.set_xlim(0, steps)
            return None
        return *bands.values(), *(line for panel in lines.values() for line in panel.values())

    redraw(result)
    return redraw
