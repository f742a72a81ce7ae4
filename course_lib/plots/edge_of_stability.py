"""Drawings of a real network's landscape and of its sharpness in training."""

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from course_lib.experiments.edge_of_stability import Edge, Plane
from course_lib.plots.style import BLUE, INK, ORANGE, RED


def draw_edge(result: Edge, figure: Figure):
    """Left the loss, right the sharpness and 2 / eta, against the step."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="step", ylabel="training loss", yscale="log", ylim=(1e-3, 3))
    (loss,) = left.plot([], [], color=BLUE, lw=1)
    right.set(xlabel="step", ylabel="sharpness (largest Hessian eigenvalue)", ylim=(0, 12))
    (sharp,) = right.plot([], [], color=BLUE, lw=1.2, label="measured, by power iteration")
    (edge,) = right.plot([], [], color=RED, ls="--", label=r"$2 / \eta$")
    right.legend(loc="lower right")

    def redraw(result: Edge):
        loss.set_data(np.arange(len(result.losses)), np.clip(np.nan_to_num(result.losses, nan=1e9), 1e-9, 1e9))
        sharp.set_data(result.moments, np.clip(np.nan_to_num(result.sharpness, nan=1e3), -1e3, 1e3))
        edge.set_data([0, result.steps], [result.threshold] * 2)
        for ax in (left, right):
            ax.set_xlim(0, result.steps)
        right.set_ylim(0, 1.7 * max(result.threshold, 2.0))
        return None

    redraw(result)
    return redraw


def draw_plane(result: Plane, figure: Figure):
    """Left the loss over the plane, right the two lines through its middle."""
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    left.set(xlabel="first direction", ylabel="second direction")
    left.grid(False)
    norm = LogNorm(1e-2, 1e2)
    picture = left.imshow(
        np.ones((25, 25)), origin="lower", extent=(-1, 1, -1, 1), norm=norm, cmap="Blues_r", interpolation="bilinear"
    )
    left.plot(0, 0, "*", color=ORANGE, ms=11)
    figure.colorbar(picture, ax=left, label="training loss (nats)")
    right.set(xlabel="along the direction", ylabel="training loss (nats)", yscale="log")
    right.set(xlim=(-1, 1), ylim=(1e-2, 1e2))
    (first,) = right.plot([], [], color=BLUE, label="first direction")
    (second,) = right.plot([], [], color=RED, ls="--", label="second direction")
    right.axvline(0, color=INK, lw=0.8, ls=":")
    right.legend(loc="upper center")

    def redraw(result: Plane):
        losses = np.clip(result.losses, 1e-3, 1e3)
        picture.set_data(losses)
        first.set_data(result.offsets, losses[12])
        second.set_data(result.offsets, losses[:, 12])
        return picture, first, second

    redraw(result)
    return redraw
