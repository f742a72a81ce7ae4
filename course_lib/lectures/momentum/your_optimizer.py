"""The phase diagram of any optimizer: the learner's own is run over the plane, and told from those that are known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.errors import ContractError, describe
from course_lib.grading.optimizers.contract import NotAttempted
from course_lib.grading.optimizers.forms import Form, form_of
from course_lib.lectures.momentum.phase import color_planes
from course_lib.lectures.momentum.recurrence import fitted_rate, spectral_radius
from course_lib.optim import sgd
from course_lib.ranges import Progress, experiment, no_progress
from course_lib.results import Floats, Result
from course_lib.style import INK, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LRS, BETAS, STEPS = np.geomspace(0.004, 5, 24), np.linspace(0.05, 0.9, 12), 100
FAR = 1e12  # a run is followed no farther than here

KNOWN: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "heavy ball": lambda lr, beta: spectral_radius(lr, beta),
    "Nesterov": lambda lr, beta: spectral_radius(lr, beta, "Nesterov"),
    "heavy ball at eta (1 - beta)": lambda lr, beta: spectral_radius(lr * (1 - beta), beta),
    "plain descent": lambda lr, beta: spectral_radius(lr, 0 * beta),
    "plain descent at eta / (1 - beta)": lambda lr, beta: spectral_radius(lr / (1 - beta), 0 * beta),
}


@dataclass(frozen=True, repr=False)
class OwnPhase(Result):
    """Contraction factors of one optimizer, measured on curvature 1.

    lrs: (24,) eta lambda. betas: (12,). rates: (12, 24).
    """

    lrs: Floats
    betas: Floats
    rates: Floats
    name: str

    def distance(self, known: str) -> float:
        """How far the factors are from a known theory's: the mean difference over the plane, factors cut at 1.5."""
        theory = KNOWN[known](self.lrs, self.betas[:, None])
        return float(np.abs(np.minimum(self.rates, 1.5) - np.minimum(theory, 1.5)).mean())

    @property
    def behaves_as(self) -> str | None:
        """The known method whose factors these are, to 0.01 on average; None if there is none."""
        nearest = min(KNOWN, key=self.distance)
        return nearest if self.distance(nearest) < 0.01 else None

    @property
    def stable(self) -> float:
        """Share of the plane that converges."""
        return float((self.rates < 1).mean())

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        kind = f"behaves as {self.behaves_as}" if self.behaves_as else "behaves as none of the known methods"
        return f"{self.name} {kind}; it converges at {self.stable:.0%} of the settings"

    def draw(self, figure: "Figure"):
        """Left what was measured, right the known method that is nearest; the line is where runs diverge."""
        axes = figure.subplots(1, 2, sharey=True)
        meshes = color_planes(figure, list(axes), self.lrs, self.betas, self.rates)
        for ax in axes:
            ax.set(xlabel=r"$\eta\lambda$", xscale="log")
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

        redraw(self)
        return redraw


@experiment
def own_phase(optimizer: Callable[..., Any] | None = None, *, progress: Progress = no_progress) -> OwnPhase:
    """Run `optimizer` at 288 settings of learning rate and beta, 100 steps each, on x^2 / 2 from x = 1.

    It comes in any of the forms of `course_lib.grading.optimizers`: (lr, beta) -> Transform; a torch-style class of
    (params, lr, beta), where beta may be called momentum; a function (theta, velocity, grad, lr, beta) -> (theta,
    velocity) on arrays of shape (1,), the velocity zero at first, or (theta, grad, state, lr, beta) -> (theta, state),
    the state {} at first. Without one, course_lib's heavy ball runs.

    Raises ValueError with a sentence for anything else, and for an optimizer that raises, returns nothing, another
    shape or NaN, or changes what it was given, naming the setting and, where one raised, the line.
    """
    optimizer = optimizer or sgd
    try:
        form = form_of(optimizer, ("lr", "beta"))
    except ContractError as error:
        raise ValueError(f"own_phase: {error}") from None
    rates = np.empty((len(BETAS), len(LRS)))
    for i in progress(range(len(BETAS))):
        rates[i] = [_rate(form, float(lr), float(BETAS[i])) for lr in LRS]
    return OwnPhase(LRS, BETAS, rates, getattr(optimizer, "__name__", type(optimizer).__name__))


def _rate(form: Form, lr: float, beta: float) -> float:
    """The fitted factor a step; a run that leaves for 1e12 is judged by the part before that."""
    x, path = np.ones(1), [1.0]
    try:
        step = form.start([x], {"lr": lr, "beta": beta})
        while len(path) <= STEPS and abs(path[-1]) <= FAR:
            (x,) = step([x], lr)
            if np.isnan(x[0]):
                raise ContractError(f"Your optimizer returns NaN at step {len(path)} for the gradient {path[-1]:.3g}.")
            path.append(float(x[0]))
    except NotAttempted:
        raise ValueError("own_phase: the optimizer is still to be written") from None
    except Exception as error:
        told = error if isinstance(error, ContractError) else f"your optimizer raised {describe(error)}"
        raise ValueError(f"own_phase: {told} (lr={lr:.3g}, beta={beta:.3g})") from None
    if len(path) < 8:
        return abs(path[-1]) ** (1 / (len(path) - 1))
    return float(fitted_rate(np.array(path)))
