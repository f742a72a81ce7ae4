"""One direction of a bowl: when does momentum oscillate, and what does a step leave of the error?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from course_lib.lectures.momentum.recurrence import Method, fitted_rate, oscillates, polynomial, run, spectral_radius
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        """The contraction factor, fitted to the last two thirds of the run."""
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
        (theory,) = right.plot([], [], color=ORANGE, ls="--", lw=1.4, label=r"theory, factor$^t$, from 1")
        right.legend(loc="upper right")

        def redraw(result: Contraction):
            steps = np.arange(len(result.path))
            shape = np.exp(np.clip(steps * np.log(max(result.rate, 1e-30)), -100, 100))
            path.set_data(steps, np.clip(result.path, -10, 10))
            envelope.set_data([*steps, np.nan, *steps], np.clip([*shape, np.nan, *-shape], -10, 10))
            distance.set_data(steps, np.clip(np.abs(result.path), 1e-30, 1e30))
            theory.set_data(steps, np.clip(shape, 1e-30, 1e30))
            return path, envelope, distance, theory

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
