"""The phase diagram of momentum: at which settings does it converge, and how fast?"""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from course_lib.lectures.momentum.recurrence import Method, eigenvalues, fitted_rate, oscillates, run, spectral_radius
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREY, INK, ORANGE, RED, rate_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

CIRCLE = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
WHITE = "#FFFFFF"
LRS, BETAS = np.geomspace(1e-3, 5, 100), np.linspace(0, 0.99, 60)
STEPS = 240


def color_planes(figure: "Figure", axes: "list[Axes]", lrs: Floats, betas: Floats, rates: Floats) -> "list[QuadMesh]":
    """On each of the axes the contraction factors (betas, lrs) as colors, with one bar; above 1 there is one color."""
    for ax in axes:
        ax.set_ylabel(r"momentum $\beta$")
        ax.grid(False)
    meshes = [ax.pcolormesh(lrs, betas, rates, cmap=rate_colors(), vmin=0, vmax=1) for ax in axes]
    bar = figure.colorbar(meshes[0], ax=axes, extend="max", label="contraction factor")
    bar.ax.set_label("<colorbar>")
    return meshes


@dataclass(frozen=True)
class Phase(Result):
    """Contraction factors measured over the plane, and one setting in it, seen closely.

    lrs: (100,) eta lambda. betas: (60,). rates: (60, 100). lr (that is eta lambda), beta: the setting.
    """

    lrs: Floats
    betas: Floats
    rates: Floats
    lr: float
    beta: float
    method: str

    @property
    def predicted(self) -> Floats:
        """(60, 100) the spectral radius of a step."""
        return spectral_radius(self.lrs, self.betas[:, None], self.method)

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """(2,) of a step at the setting."""
        return eigenvalues(self.lr, self.beta, self.method)

    @property
    def locus(self) -> NDArray[np.complex128]:
        """(2, 400) the eigenvalues at this beta, for eta lambda from 0.001 to 5."""
        return eigenvalues(np.geomspace(1e-3, 5, 400), self.beta, self.method)

    @property
    def rate(self) -> float:
        """Theory, at the setting."""
        return float(spectral_radius(self.lr, self.beta, self.method))

    @property
    def error(self) -> float:
        """The largest difference of measured and predicted contraction factor over the plane."""
        return float(np.abs(self.rates - self.predicted).max())

    def summary(self) -> str:
        kind = "diverges" if self.rate > 1 else "oscillates" if self.eigenvalues[0].imag else "does not oscillate"
        setting = f"{self.method}, eta lambda {self.lr:.3g}, beta {self.beta:.3g}"
        return f"{setting}: {kind}; a step leaves {self.rate:.4f} of the distance"

    def draw(self, figure: "Figure"):
        """Left the measured contraction factor over the plane, with theory's borders and the setting marked;
        right the eigenvalues of a step there, on the curve that they run along when the learning rate moves."""
        left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
        (mesh,) = color_planes(figure, [left], self.lrs, self.betas, self.rates)
        left.set(xlabel=r"$\eta\lambda$", xscale="log", xlim=(1e-3, 5), ylim=(0, 0.99))
        (here,) = left.plot([], [], "o", color=WHITE, mec=INK, ms=8, mew=1.5)
        borders = [
            left.plot([], [], **look)[0] for look in ({"color": RED, "lw": 2}, {"color": WHITE, "lw": 1.5, "ls": "--"})
        ]
        legend = left.legend(
            borders, ["diverges beyond", "complex pair inside"], loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2
        )
        legend.get_frame().set_facecolor("#9A9A9A")
        right.set(xlabel="real part of the eigenvalues", ylabel="imaginary part", aspect="equal")
        right.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35))
        right.plot(CIRCLE.real, CIRCLE.imag, color=RED, lw=1.2, label="size 1: beyond it, diverges")
        (locus,) = right.plot([], [], ".", color=GREY, ms=2.5, label=r"for $\eta\lambda$ from 0.001 to 5")
        (ring,) = right.plot([], [], color=ORANGE, ls="--", lw=1.4, label="contraction factor: size of the larger one")
        (pair,) = right.plot([], [], "o", color=BLUE, ms=7, mec=INK)
        right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)
        shown: list[Any] = []  # the method whose plane is drawn, and its borders

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

        redraw(self)
        return redraw


@experiment
def phase(
    lr: Annotated[float, Log(1e-3, 5.0)] = 0.1,
    beta: Annotated[float, Linear(0.0, 0.99)] = 0.8,
    method: Method = "heavy ball",
) -> Phase:
    """Measure the contraction factor of 6000 settings by running each for 240 steps on curvature 1. Deterministic."""
    return Phase(LRS, BETAS, _map(method), lr, beta, method)


@functools.cache
def _map(method: str) -> Floats:
    return fitted_rate(run(LRS, BETAS[:, None], method, STEPS))
