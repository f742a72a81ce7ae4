"""The phase diagram of one optimizer, drawn beside the nearest known one."""

from typing import Any

from matplotlib.figure import Figure

from course_lib.experiments.momentum_lab import KNOWN, OwnPhase
from course_lib.plots.momentum import RATES
from course_lib.plots.style import INK, RED


def draw_own_phase(result: OwnPhase, figure: Figure):
    """Left the rates measured, right those of the known method that is nearest; the line is where runs diverge."""
    axes = figure.subplots(1, 2, sharey=True)
    meshes = []
    for ax in axes:
        ax.set(xlabel=r"$\eta\lambda$", ylabel=r"momentum $\beta$", xscale="log")
        ax.grid(False)
        meshes.append(ax.pcolormesh(result.lrs, result.betas, result.rates, cmap=RATES, vmin=0, vmax=1))
    bar = figure.colorbar(meshes[0], ax=axes, extend="max", label="error left after a step / before")
    bar.ax.set_label("<colorbar>")
    edges: list[Any] = []

    def redraw(result: OwnPhase):
        nearest = min(KNOWN, key=result.distance)
        theory = KNOWN[nearest](result.lrs, result.betas[:, None])
        for edge in edges:
            edge.remove()
        edges.clear()
        told = "theory" if result.behaves_as else f"not alike ({result.distance(nearest):.2f} off), but nearest"
        titles = (f"measured: {result.name}", f"{told}: {nearest}")
        for ax, mesh, rates, title in zip(axes, meshes, (result.rates, theory), titles, strict=True):
            mesh.set_array(rates)
            ax.set_title(title, color=INK, fontsize=8.5)
            if rates.min() < 1 < rates.max():
                edges.append(ax.contour(result.lrs, result.betas, rates, levels=[1.0], colors=RED, linewidths=2))
        return None

    redraw(result)
    return redraw
