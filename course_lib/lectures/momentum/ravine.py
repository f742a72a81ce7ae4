"""A ravine has many curvatures at once: which setting of momentum is fastest in it, and how much does that buy?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from course_lib.lectures.momentum.phase import WHITE, color_planes
from course_lib.lectures.momentum.recurrence import Method, fitted_rate, run, tuned
from course_lib.ranges import Log, Progress, experiment, no_progress
from course_lib.results import Curves, Floats, Result
from course_lib.style import INK, ORANGE, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Tuning(Result):
    """Contraction factors measured on a ravine with curvatures from 1/kappa to 1, in its slowest direction.

    lrs: (120,). betas: (100,). rates: (100, 120).
    """

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
        """The contraction factor over learning rate and momentum, its lowest point and theory's."""
        ax = figure.subplots()
        (mesh,) = color_planes(figure, [ax], self.lrs, self.betas, self.rates)
        ax.set(xlabel=r"learning rate $\eta$, in units of $1/L$", xlim=(0.02, 4), ylim=(0, 0.99))
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


LINEAR, ROOT = r"$\propto \kappa$", r"$\propto \sqrt{\kappa}$"


@dataclass(frozen=True)
class Growth(Curves):
    """Steps to a thousandth of the distance by condition number, each method at its own settings."""

    xlabel = r"condition number $\kappa$"
    ylabel = "steps to 1/1000 of the distance"
    scales = ("log", "log")
    limits = ((3, 2500), (4, 1e4))
    theory = (LINEAR, ROOT)

    def slope(self, name: str) -> float:
        """The exponent p of steps ~ kappa^p, by least squares on the upper half of the log-log curve."""
        return float(np.polyfit(np.log(self.x[5:]), np.log(self.rows[name][5:]), 1)[0])

    def summary(self) -> str:
        counts = {name: row[-1] for name, row in self.rows.items() if name not in self.theory}
        each = ", ".join(f"{name}: {count:.0f} (kappa^{self.slope(name):.2f})" for name, count in counts.items())
        return f"steps at kappa {self.x[-1]:.0f}: {each}"


@experiment
def growth(worst: Annotated[float, Log(50.0, 2000.0)] = 1000.0, *, progress: Progress = no_progress) -> Growth:
    """Count the steps of plain descent, heavy ball and Nesterov on ravines with condition numbers from 4 to `worst`."""
    kappas = np.geomspace(4, worst, 10)
    counts: dict[str, list[float]] = {"gradient descent": [], "heavy ball": [], "Nesterov": []}
    for kappa in progress(kappas):
        settings = {"gradient descent": (2 / (1 + 1 / kappa), 0.0)}
        settings |= {m: tuned(kappa, m)[:2] for m in ("heavy ball", "Nesterov")}
        for name, (lr, beta) in settings.items():
            counts[name].append(_steps_to(1e-3, lr, beta, name, np.geomspace(1 / kappa, 1, 6)))
    theory = {LINEAR: 5 * kappas, ROOT: 3.2 * kappas**0.5}
    return Growth(kappas, {name: np.array(c) for name, c in counts.items()} | theory)


def _steps_to(share: float, lr: float, beta: float, method: str, spectrum: Floats) -> int:
    """Steps until the distance stays below `share` of its start, found by doubling the length of the run."""
    steps = 64
    while True:
        far = np.linalg.norm(run(lr, beta, method, steps, spectrum), axis=1) > share * len(spectrum) ** 0.5
        if not far[steps // 2 :].any():
            return int(np.flatnonzero(far)[-1]) + 1
        steps *= 2
