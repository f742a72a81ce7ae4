"""The phase diagram of any optimizer: the learner's own is run over the plane, and told from those that are known."""

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from course_lib.errors import ContractError, describe
from course_lib.lectures.momentum.recurrence import fitted_rate, spectral_radius
from course_lib.optim import sgd
from course_lib.optim.contract import checked
from course_lib.ranges import Progress, experiment, no_progress
from course_lib.results import Floats, Result
from course_lib.style import INK, RED, rate_colors

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
    """Measured rates of one optimizer on curvature 1. rates: (12, 24), by beta and by learning rate (eta lambda)."""

    lrs: Floats
    betas: Floats
    rates: Floats
    name: str

    def distance(self, known: str) -> float:
        """How far the rates are from a known theory's: the mean difference over the plane, rates cut at 1.5."""
        theory = KNOWN[known](self.lrs, self.betas[:, None])
        return float(np.abs(np.minimum(self.rates, 1.5) - np.minimum(theory, 1.5)).mean())

    @property
    def behaves_as(self) -> str | None:
        """The known method whose rates these are, to 0.01 on average; None where they are nobody's."""
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
        """Left the rates measured, right those of the known method that is nearest; the line is where runs diverge."""
        axes = figure.subplots(1, 2, sharey=True)
        meshes = []
        for ax in axes:
            ax.set(xlabel=r"$\eta\lambda$", ylabel=r"momentum $\beta$", xscale="log")
            ax.grid(False)
            meshes.append(ax.pcolormesh(self.lrs, self.betas, self.rates, cmap=rate_colors(), vmin=0, vmax=1))
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

        redraw(self)
        return redraw


@experiment
def own_phase(optimizer: Callable[..., Any] | None = None, *, progress: Progress = no_progress) -> OwnPhase:
    """Run `optimizer` at 288 settings of learning rate and beta, 100 steps each, on x^2 / 2 from x = 1.

    It is one of three things, told apart by what it takes; without one, course_lib's heavy ball runs:
    (lr, beta) -> Transform; a torch-style class of (params, lr, beta), where beta may be called momentum; or a function
    (theta, velocity, grad, lr, beta) -> (theta, velocity) on arrays of shape (1,), the velocity zero at first, or one
    (theta, grad, state, lr, beta) -> (theta, state), told by the third name, the state {} at first.

    Raises ValueError with a sentence for anything else, and for an optimizer that raises, returns nothing, another
    shape or NaN, or changes the gradient it was given, naming the setting and, where one raised, the line.
    """
    optimizer = optimizer or sgd
    start = _kind(optimizer)
    rates = np.empty((len(BETAS), len(LRS)))
    for i in progress(range(len(BETAS))):
        rates[i] = [_rate(start, float(lr), float(BETAS[i])) for lr in LRS]
    return OwnPhase(LRS, BETAS, rates, getattr(optimizer, "__name__", type(optimizer).__name__))


Step = Callable[[float, float], float]  # (theta, gradient) -> the new theta
Start = Callable[[float, float], Step]  # (lr, beta) -> Step


def _rate(start: Start, lr: float, beta: float) -> float:
    """The fitted factor a step; a run that leaves for 1e12 is judged by the part before that."""
    x, path = 1.0, [1.0]
    try:
        step = start(lr, beta)
        for _ in range(STEPS):
            x = step(x, x)
            if np.isnan(x):
                raise Misbehaved(f"returns NaN at step {len(path)} for the gradient {path[-1]:.3g}")
            path.append(x)
            if abs(x) > FAR:
                break
    except Misbehaved as error:
        raise ValueError(f"own_phase: your optimizer {error} (lr={lr:.3g}, beta={beta:.3g})") from None
    except ContractError as error:
        raise ValueError(f"{error} (lr={lr:.3g}, beta={beta:.3g})") from None
    except Exception as error:
        raise ValueError(f"own_phase: your optimizer raised {describe(error)} (lr={lr:.3g}, beta={beta:.3g})") from None
    if len(path) < 8:
        return abs(path[-1]) ** (1 / (len(path) - 1))
    return float(fitted_rate(np.array(path)))


class Misbehaved(Exception):
    """What an optimizer does wrong, as the second half of a sentence."""


def _kind(optimizer: Any) -> Start:
    """How to start the optimizer, by the names and the number of what it takes."""
    wanted = (
        "a function of (lr, beta) that returns a Transform, a class of (params, lr, beta) with a step method, or a "
        "function of (theta, velocity, grad, lr, beta)"
    )
    if not callable(optimizer):
        raise ValueError(f"own_phase: optimizer must be {wanted}, got {optimizer!r}")
    takes = inspect.signature(optimizer).parameters
    needed = [name for name, p in takes.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if "params" in takes and {"beta", "momentum"} & takes.keys():
        name = "beta" if "beta" in takes else "momentum"
        return lambda lr, beta: _torch_style(optimizer, {"lr": lr, name: beta})
    if "params" in takes:
        raise ValueError(f"own_phase: a class must take beta or momentum, and yours takes {', '.join(takes)}")
    if len(needed) == 5 and needed[2] == "state":
        return lambda lr, beta: _function(lambda x, state, g: optimizer(x, g, state, lr, beta), {})
    if len(needed) == 5:
        return lambda lr, beta: _function(lambda x, v, g: optimizer(x, v, g, lr, beta), np.zeros(1))
    if len(needed) <= 2 <= len(takes):
        return lambda lr, beta: _transform(optimizer(lr, beta))
    raise ValueError(f"own_phase: optimizer must be {wanted}, got one of ({', '.join(takes)})")


def _transform(made: Any) -> Step:
    transform = checked(made, "own_phase: your optimizer")
    state = transform.init([torch.ones(1, dtype=torch.float64)])

    def step(theta: float, slope: float) -> float:
        nonlocal state
        here, grad = (torch.tensor([a], dtype=torch.float64) for a in (theta, slope))
        steps, state = transform.update([grad], state, [here])
        return theta + float(steps[0])

    return step


def _torch_style(make: Callable[..., Any], settings: dict[str, float]) -> Step:
    theta = torch.ones(1, dtype=torch.float64, requires_grad=True)
    made = make([theta], **settings)
    if not callable(getattr(made, "step", None)):
        raise Misbehaved("has no step method")

    def step(x: float, slope: float) -> float:
        theta.grad = torch.tensor([slope], dtype=torch.float64)
        made.step()
        return _number(theta, "its parameter")

    return step


def _function(update: Callable[[Floats, Any, Floats], Any], state: Any) -> Step:
    def step(theta: float, slope: float) -> float:
        nonlocal state
        here, grad, kept = np.array([theta]), np.array([slope]), copy.copy(state)
        answer = update(here, state, grad)
        _untouched(float(grad[0]), slope, "the gradient")
        _untouched(float(here[0]), theta, "theta")
        if isinstance(kept, np.ndarray):
            _untouched(float(state[0]), float(kept[0]), "the velocity")
        after, state = _two(answer, "theta and what it keeps")
        if isinstance(kept, np.ndarray) and np.isnan(_number(state, "the velocity")):
            raise Misbehaved(f"returns NaN as its velocity for the gradient {slope:.3g}")
        return _number(after, "theta")

    return step


def _two(answer: Any, named: str) -> tuple[Any, Any]:
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Misbehaved(f"returns {'nothing' if answer is None else repr(answer)} instead of {named}")
    return answer[0], answer[1]


def _number(value: Any, named: str) -> float:
    """The one number in an array of shape (1,)."""
    if not isinstance(value, np.ndarray | torch.Tensor):
        raise Misbehaved(f"makes {named} a {type(value).__name__} instead of an array of shape (1,)")
    if tuple(value.shape) != (1,):
        raise Misbehaved(f"makes {named} an array of shape {tuple(value.shape)} instead of (1,)")
    return float(value.detach()[0] if isinstance(value, torch.Tensor) else value[0])


def _untouched(now: float, before: float, named: str) -> None:
    if now != before:
        raise Misbehaved(f"changes {named} that it is given, from {before:.3g} to {now:.3g}: it belongs to the caller")
