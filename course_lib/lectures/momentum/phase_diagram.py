"""How fast does momentum contract a quadratic, when does it oscillate, and when does it explode?"""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from course_lib.lectures.momentum.recurrence import (
    eigenvalues,
    fitted_rate,
    oscillates,
    polynomial,
    run,
    spectral_radius,
    tuned,
)
from course_lib.ranges import Linear, Log, Progress, experiment, no_progress
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, INK, LINES, ORANGE, RED, rate_colors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CIRCLE = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
WHITE = "#FFFFFF"
Method = Literal["heavy ball", "Nesterov"]
LRS, BETAS = np.geomspace(1e-3, 5, 100), np.linspace(0, 0.99, 60)  # the phase diagram's grid
STEPS = 240


@dataclass(frozen=True)
class Contraction(Result):
    """x_t on curvature x^2 / 2 from x = 1. path: (steps+1,)."""

    path: Floats
    lr: float
    beta: float
    curvature: float
    method: str

    @property
    def rate(self) -> float:
        """Theory: the spectral radius of a step."""
        return float(spectral_radius(self.lr * self.curvature, self.beta, self.method))

    @property
    def measured(self) -> float:
        """The factor a step, fitted to the second half of the run."""
        return float(fitted_rate(self.path))

    @property
    def oscillates(self) -> bool:
        """Theory: whether the eigenvalues are a complex pair."""
        return bool(oscillates(self.lr * self.curvature, self.beta, self.method))

    @property
    def crossings(self) -> int:
        """Measured: how often the run changes sides of the minimum."""
        return int((np.sign(self.path[1:]) * np.sign(self.path[:-1]) < 0).sum())

    def summary(self) -> str:
        trace, _ = polynomial(self.lr * self.curvature, self.beta, self.method)
        kind = "complex pair: oscillates" if self.oscillates else "real eigenvalues"
        if not self.oscillates and trace < 0:
            kind += ", the larger negative: changes sides every step"
        if self.rate > 1:
            kind += ", diverges"
        factor = f"factor a step: theory {self.rate:.4f}, measured {self.measured:.4f}"
        return f"{kind}; crosses the minimum {self.crossings} times; {factor}"

    def draw(self, figure: "Figure"):
        """Left the position against the step, between theory's envelopes; right its distance, logarithmic."""
        left, right = figure.subplots(1, 2)
        left.set(xlabel="step", ylabel="x", xlim=(0, 200), ylim=(-1.5, 1.5))
        left.axhline(0, color=GREY, lw=0.8)
        (path,) = left.plot([], [], "o-", color=BLUE, ms=2, lw=1)
        (envelope,) = left.plot([], [], color=ORANGE, ls="--", lw=1.4)
        right.set(xlabel="step", ylabel="distance to the minimum, |x|", xlim=(0, 200), ylim=(1e-12, 1e6), yscale="log")
        (distance,) = right.plot([], [], color=BLUE, lw=1.2, label="measured")
        (slope,) = right.plot([], [], color=ORANGE, ls="--", lw=1.4, label=r"theory, factor$^t$, from 1")
        right.legend(loc="upper right")

        def redraw(result: Contraction):
            steps = np.arange(len(result.path))
            shape = np.exp(np.clip(steps * np.log(max(result.rate, 1e-30)), -100, 100))
            path.set_data(steps, np.clip(result.path, -10, 10))
            envelope.set_data([*steps, np.nan, *steps], np.clip([*shape, np.nan, *-shape], -10, 10))
            distance.set_data(steps, np.clip(np.abs(result.path), 1e-30, 1e30))
            slope.set_data(steps, np.clip(shape, 1e-30, 1e30))
            return path, envelope, distance, slope

        redraw(self)
        return redraw


@experiment
def contraction(
    lr: Annotated[float, Log(1e-3, 4.0)] = 0.05,
    beta: Annotated[float, Linear(0.0, 0.99)] = 0.9,
    curvature: Annotated[float, Log(0.25, 4.0)] = 1.0,
    steps: Annotated[int, Linear(20, 200)] = 150,
    method: Method = "heavy ball",
) -> Contraction:
    """Run momentum on one direction of a bowl. Deterministic."""
    return Contraction(run(lr, beta, method, steps, curvature), lr, beta, curvature, method)


@dataclass(frozen=True)
class Phase(Result):
    """Measured rates over the plane, and one setting in it, seen closely. rates: (60, 100), by beta and by eta lambda.

    lrs: (100,) eta lambda. betas: (60,). lr (that is eta lambda), beta: the setting.
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
        left.set(xlabel=r"$\eta\lambda$", ylabel=r"momentum $\beta$", xscale="log", xlim=(1e-3, 5), ylim=(0, 0.99))
        left.grid(False)
        mesh = left.pcolormesh(self.lrs, self.betas, self.rates, cmap=rate_colors(), vmin=0, vmax=1, rasterized=True)
        bar = figure.colorbar(mesh, ax=left, extend="max", label="error left after a step / before, measured")
        bar.ax.set_label("<colorbar>")
        (here,) = left.plot([], [], "o", color=WHITE, mec=INK, ms=8, mew=1.5)
        borders = [
            left.plot([], [], **look)[0] for look in ({"color": RED, "lw": 2}, {"color": WHITE, "lw": 1.5, "ls": "--"})
        ]
        legend = left.legend(
            borders, ["diverges beyond", "complex pair inside"], loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2
        )
        legend.get_frame().set_facecolor("#9A9A9A")

        right.set(
            xlabel="real part of the eigenvalues", ylabel="imaginary part", xlim=(-1.35, 1.35), ylim=(-1.35, 1.35)
        )
        right.set_aspect("equal")
        right.plot(CIRCLE.real, CIRCLE.imag, color=RED, lw=1.2, label="size 1: beyond it, diverges")
        (locus,) = right.plot([], [], ".", color=GREY, ms=2.5, label=r"for $\eta\lambda$ from 0.001 to 5")
        (ring,) = right.plot([], [], color=ORANGE, ls="--", lw=1.4, label="contraction factor: size of the larger one")
        (pair,) = right.plot([], [], "o", color=BLUE, ms=7, mec=INK)
        right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)
        shown: list[Any] = []  # the method whose map stands, and its borders

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


@dataclass(frozen=True)
class Tuning(Result):
    """Measured rates on a ravine with curvatures 1/kappa to 1. rates: (100, 120), by beta and lr, slowest direction."""

    kappa: float
    lrs: Floats
    betas: Floats
    rates: Floats
    method: str

    @property
    def best(self) -> tuple[float, float, float]:
        """eta, beta and contraction factor of the fastest setting of the grid."""
        i, j = np.unravel_index(self.rates.argmin(), self.rates.shape)
        return float(self.lrs[j]), float(self.betas[i]), float(self.rates[i, j])

    @property
    def predicted(self) -> tuple[float, float, float]:
        """eta, beta and contraction factor that theory names: heavy ball's best, for Nesterov only the usual ones."""
        lr, beta, rate = tuned(self.kappa, self.method)
        return float(lr), float(beta), float(rate)

    @property
    def plain(self) -> float:
        """The best contraction factor without momentum, on the grid's first row."""
        return float(self.rates[0].min())

    def summary(self) -> str:
        here, there = ("eta {:.2f}, beta {:.2f}, factor {:.3f}".format(*t) for t in (self.best, self.predicted))
        named = "theory's best" if self.method == "heavy ball" else "the usual setting"
        return f"{self.method}, fastest measured: {here}; {named}: {there}; without momentum {self.plain:.3f}"

    def draw(self, figure: "Figure"):
        """The measured rate on a ravine over learning rate and momentum, its lowest point and theory's."""
        ax = figure.subplots()
        ax.set(xlabel=r"learning rate $\eta$, in units of $1/L$", ylabel=r"momentum $\beta$")
        ax.set(xlim=(0.02, 4), ylim=(0, 0.99))
        ax.grid(False)
        mesh = ax.pcolormesh(self.lrs, self.betas, self.rates, cmap=rate_colors(), vmin=0, vmax=1, rasterized=True)
        bar = figure.colorbar(mesh, ax=ax, extend="max", label="error left after a step / before, measured")
        bar.ax.set_label("<colorbar>")
        (plain,) = ax.plot([], [], "s", color=WHITE, mec=INK, ms=8, clip_on=False, label="fastest without momentum")
        (best,) = ax.plot([], [], "o", color=ORANGE, mec=INK, ms=11, label="fastest measured")
        (theory,) = ax.plot([], [], "x", color=RED, ms=9, mew=2.5, label="theory's setting")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

        def redraw(result: Tuning):
            mesh.set_array(result.rates)
            plain.set_data([result.lrs[result.rates[0].argmin()]], [0])
            best.set_data([result.best[0]], [result.best[1]])
            theory.set_data([result.predicted[0]], [result.predicted[1]])
            return mesh, plain, best, theory

        redraw(self)
        return redraw


@experiment
def tuning(
    kappa: Annotated[float, Log(2.0, 200.0)] = 30.0, method: Method = "heavy ball", *, progress: Progress = no_progress
) -> Tuning:
    """Run 12000 settings of eta and beta on a ravine: six directions, curvatures evenly spaced in ratio."""
    lrs, betas = np.linspace(0.02, 4, 120), np.linspace(0, 0.99, 100)
    spectrum, rates = np.geomspace(1 / kappa, 1, 6), np.empty((100, 120))
    for i in progress(range(100)):
        rates[i] = fitted_rate(run(lrs[:, None], betas[i], method, 300, spectrum)).max(axis=1)
    return Tuning(kappa, lrs, betas, rates, method)


@dataclass(frozen=True)
class Growth(Result):
    """Steps to a thousandth of the distance, each method at its own settings. kappas: (10,). counts[name]: (10,)."""

    kappas: Floats
    counts: dict[str, NDArray[np.int64]]

    def slope(self, name: str) -> float:
        """The exponent p of steps ~ kappa^p, by least squares on the upper half of the log-log curve."""
        return float(np.polyfit(np.log(self.kappas[5:]), np.log(self.counts[name][5:]), 1)[0])

    def summary(self) -> str:
        each = ", ".join(f"{n}: {c[-1]} (kappa^{self.slope(n):.2f})" for n, c in self.counts.items())
        return f"steps at kappa {self.kappas[-1]:.0f}: {each}"

    def draw(self, figure: "Figure"):
        """Steps to a thousandth of the distance against the condition number, both axes logarithmic."""
        ax = figure.subplots()
        ax.set(
            xlabel=r"condition number $\kappa$", ylabel="steps to 1/1000 of the distance", xscale="log", yscale="log"
        )
        ax.set(xlim=(3, 2500), ylim=(4, 1e4))
        lines = {
            name: ax.plot([], [], marker, color=c, ls=ls, ms=5, label=name)[0]
            for (name, (c, ls)), marker in zip(zip(self.counts, LINES, strict=False), "os^", strict=True)
        }
        guide = np.array([30.0, 2000.0])
        ax.plot(guide, 5 * guide, color=INK, lw=0.8, ls=":")
        ax.text(280, 1900, r"$\propto \kappa$", ha="right")
        ax.plot(guide, 3.2 * guide**0.5, color=INK, lw=0.8, ls=":")
        ax.text(900, 62, r"$\propto \sqrt{\kappa}$", color=GREEN)
        ax.legend(loc="upper left")

        def redraw(result: Growth):
            for name, line in lines.items():
                line.set_data(result.kappas, result.counts[name])
            return list(lines.values())

        redraw(self)
        return redraw


@experiment
def growth(worst: Annotated[float, Log(50.0, 2000.0)] = 1000.0, *, progress: Progress = no_progress) -> Growth:
    """Count the steps of plain descent, heavy ball and Nesterov on ravines with condition numbers from 4 to `worst`."""
    kappas = np.geomspace(4, worst, 10)
    counts: dict[str, list[int]] = {"gradient descent": [], "heavy ball": [], "Nesterov": []}
    for kappa in progress(kappas):
        settings = {"gradient descent": (2 / (1 + 1 / kappa), 0.0)}
        settings |= {m: tuned(kappa, m)[:2] for m in ("heavy ball", "Nesterov")}
        for name, (lr, beta) in settings.items():
            counts[name].append(_steps_to(1e-3, lr, beta, name, np.geomspace(1 / kappa, 1, 6)))
    return Growth(kappas, {name: np.array(c) for name, c in counts.items()})


def _steps_to(share: float, lr: float, beta: float, method: str, spectrum: Floats) -> int:
    """Steps until the distance stays below `share` of its start, found by doubling the length of the run."""
    steps = 64
    while True:
        far = np.linalg.norm(run(lr, beta, method, steps, spectrum), axis=1) > share * len(spectrum) ** 0.5
        if not far[steps // 2 :].any():
            return int(np.flatnonzero(far)[-1]) + 1
        steps *= 2
