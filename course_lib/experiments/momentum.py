"""How fast does momentum contract a quadratic, when does it oscillate, and when does it explode?"""

import functools
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from course_lib.controls import Linear, Log, Progress, experiment, silent
from course_lib.experiments._momentum_step import (
    eigenvalues,
    fitted_rate,
    oscillates,
    polynomial,
    run,
    spectral_radius,
    tuned,
)

Array = NDArray[np.float64]
Method = Literal["heavy ball", "Nesterov"]
LRS, BETAS = np.geomspace(1e-3, 5, 100), np.linspace(0, 0.99, 60)  # the phase diagram's grid
STEPS = 240


@dataclass(frozen=True)
class Contraction:
    """x_t on curvature x^2 / 2 from x = 1. path: (steps+1,)."""

    path: Array
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
class Phase:
    """Measured rates over the plane, and one setting in it, seen closely. rates: (60, 100), by beta and by eta lambda.

    lrs: (100,) eta lambda. betas: (60,). lr (that is eta lambda), beta: the setting.
    """

    lrs: Array
    betas: Array
    rates: Array
    lr: float
    beta: float
    method: str

    @property
    def predicted(self) -> Array:
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
        """The largest difference of measured and predicted rate over the plane."""
        return float(np.abs(self.rates - self.predicted).max())

    def summary(self) -> str:
        kind = "diverges" if self.rate > 1 else "oscillates" if self.eigenvalues[0].imag else "does not oscillate"
        setting = f"{self.method}, eta lambda {self.lr:.3g}, beta {self.beta:.3g}"
        return f"{setting}: {kind}; a step leaves {self.rate:.4f} of the distance"


@experiment
def phase(
    lr: Annotated[float, Log(1e-3, 5.0)] = 0.1,
    beta: Annotated[float, Linear(0.0, 0.99)] = 0.8,
    method: Method = "heavy ball",
) -> Phase:
    """Measure the rate of 6000 settings by running each for 240 steps on curvature 1. Deterministic."""
    return Phase(LRS, BETAS, _map(method), lr, beta, method)


@functools.cache
def _map(method: str) -> Array:
    return fitted_rate(run(LRS, BETAS[:, None], method, STEPS))


@dataclass(frozen=True)
class Tuning:
    """Measured rates on a ravine with curvatures 1/kappa to 1. rates: (100, 120), by beta and lr, slowest direction."""

    kappa: float
    lrs: Array
    betas: Array
    rates: Array
    method: str

    @property
    def best(self) -> tuple[float, float, float]:
        """eta, beta and rate of the fastest setting of the grid."""
        i, j = np.unravel_index(self.rates.argmin(), self.rates.shape)
        return float(self.lrs[j]), float(self.betas[i]), float(self.rates[i, j])

    @property
    def predicted(self) -> tuple[float, float, float]:
        """eta, beta and rate that theory names: heavy ball's best, but for Nesterov only the usual setting."""
        lr, beta, rate = tuned(self.kappa, self.method)
        return float(lr), float(beta), float(rate)

    @property
    def plain(self) -> float:
        """The best rate without momentum, on the grid's first row."""
        return float(self.rates[0].min())

    def summary(self) -> str:
        here, there = ("eta {:.2f}, beta {:.2f}, rate {:.3f}".format(*t) for t in (self.best, self.predicted))
        named = "theory's best" if self.method == "heavy ball" else "the usual setting"
        return f"{self.method}, fastest measured: {here}; {named}: {there}; without momentum {self.plain:.3f}"


@experiment
def tuning(
    kappa: Annotated[float, Log(2.0, 200.0)] = 30.0, method: Method = "heavy ball", *, progress: Progress = silent
) -> Tuning:
    """Run 12000 settings of eta and beta on a ravine: six directions, curvatures evenly spaced in ratio."""
    lrs, betas = np.linspace(0.02, 4, 120), np.linspace(0, 0.99, 100)
    spectrum, rates = np.geomspace(1 / kappa, 1, 6), np.empty((100, 120))
    for i in progress(range(100)):
        rates[i] = fitted_rate(run(lrs[:, None], betas[i], method, 300, spectrum)).max(axis=1)
    return Tuning(kappa, lrs, betas, rates, method)


@dataclass(frozen=True)
class Growth:
    """Steps to a thousandth of the distance, each method at its own settings. kappas: (10,). counts[name]: (10,)."""

    kappas: Array
    counts: dict[str, NDArray[np.int64]]

    def slope(self, name: str) -> float:
        """The exponent p of steps ~ kappa^p, by least squares on the upper half of the log-log curve."""
        return float(np.polyfit(np.log(self.kappas[5:]), np.log(self.counts[name][5:]), 1)[0])

    def summary(self) -> str:
        each = ", ".join(f"{n}: {c[-1]} (kappa^{self.slope(n):.2f})" for n, c in self.counts.items())
        return f"steps at kappa {self.kappas[-1]:.0f}: {each}"


@experiment
def growth(worst: Annotated[float, Log(50.0, 2000.0)] = 1000.0, *, progress: Progress = silent) -> Growth:
    """Count the steps of plain descent, heavy ball and Nesterov on ravines with condition numbers from 4 to `worst`."""
    kappas = np.geomspace(4, worst, 10)
    counts: dict[str, list[int]] = {"gradient descent": [], "heavy ball": [], "Nesterov": []}
    for kappa in progress(kappas):
        settings = {"gradient descent": (2 / (1 + 1 / kappa), 0.0)}
        settings |= {m: tuned(kappa, m)[:2] for m in ("heavy ball", "Nesterov")}
        for name, (lr, beta) in settings.items():
            counts[name].append(_steps_to(1e-3, lr, beta, name, np.geomspace(1 / kappa, 1, 6)))
    return Growth(kappas, {name: np.array(c) for name, c in counts.items()})


def _steps_to(share: float, lr: float, beta: float, method: str, spectrum: Array) -> int:
    """Steps until the distance stays below `share` of its start, found by doubling the length of the run."""
    steps = 64
    while True:
        far = np.linalg.norm(run(lr, beta, method, steps, spectrum), axis=1) > share * len(spectrum) ** 0.5
        if not far[steps // 2 :].any():
            return int(np.flatnonzero(far)[-1]) + 1
        steps *= 2
