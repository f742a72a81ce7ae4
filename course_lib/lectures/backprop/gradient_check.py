"""How small a step should a gradient check take, and where do gradients lie?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from course_lib.autograd import Array, where
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Result
from course_lib.style import BLUE, GREEN, GREY, INK, ORANGE, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": lambda x: x.exp(),
    "sin": lambda x: x.sin(),
    "cube": lambda x: x**3,
    "relu": lambda x: x.relu(),
}
STEPS = np.geomspace(1e-12, 1.0, 97)
SPREAD = 0.97 + 0.06 * (np.arange(129) * 0.618 % 1)  # so that no single step is lucky in how x + h rounds


@dataclass(frozen=True)
class Check(Result):
    """The central difference of f at x against the engine's derivative.

    steps, errors: (97,) the step h, and the root mean square error at 129 points within 0.1 % of x and as
    many steps within 3 % of h. chord: the slope that a step of `h` gives at x itself, exact: the engine's. curve:
    (2, 129) f around 0.
    """

    function: str
    eps: float
    x: float
    h: float
    steps: np.ndarray
    errors: np.ndarray
    chord: float
    exact: float
    curve: np.ndarray

    @property
    def best_step(self) -> float:
        return float(self.steps[self.errors.argmin()])

    @property
    def best_error(self) -> float:
        return float(self.errors.min())

    @property
    def error(self) -> float:
        """At x itself, with the step asked for."""
        return abs(self.chord - self.exact)

    def summary(self) -> str:
        return (
            f"{self.function} at {self.x:g}: slope {self.exact:.6g}, central difference with h = {self.h:.1e} "
            f"{self.chord:.6g}; best h {self.best_step:.1e}, error there {self.best_error:.1e}"
        )

    def draw(self, figure: "Figure"):
        """Left: the function and the chord that the step takes for its tangent. Right: the error against the step."""
        left, right = figure.subplots(1, 2, width_ratios=(2, 3))
        left.set(xlabel="x", ylabel="f", xlim=(-3.2, 3.2), ylim=(-8, 10))
        right.set(xlabel="step h", ylabel="error of the slope", xscale="log", yscale="log")
        right.set(xlim=(1e-12, 1), ylim=(1e-16, 1e10))
        (curve,) = left.plot([], [], color=BLUE, label="f")
        (chord,) = left.plot([], [], color=RED, ls="--", marker="o", ms=4, label="chord")
        left.legend(loc="upper left")
        (error,) = right.plot([], [], color=BLUE, label="measured")
        (rounding,) = right.plot([], [], color=GREEN, ls="-.", lw=1.2, label="eps / h: rounding")
        (curving,) = right.plot([], [], color=ORANGE, ls="--", lw=1.2, label="h²: chord for tangent")
        guess = right.axvline(1e-6, color=GREY, ls=":", lw=1.2, label="eps to the power 1/3")
        (here,) = right.plot([], [], "o", color=RED, ms=7, label="this h")
        right.legend(loc="upper right", ncols=2, fontsize=7)
        reading = left.text(0.97, 0.04, "", ha="right", transform=left.transAxes, size=8, color=INK)

        def redraw(result: Check):
            x, h = result.x, result.h
            height = np.interp([x - h, x + h], *result.curve)
            curve.set_data(*result.curve)
            chord.set_data([x - h, x + h], height)
            error.set_data(result.steps, np.clip(result.errors, 1e-16, 1e4))
            rounding.set_data(result.steps, result.eps / result.steps)
            curving.set_data(result.steps, result.steps**2)
            guess.set_xdata([result.eps ** (1 / 3)] * 2)
            here.set_data([h], [np.interp(np.log(h), np.log(result.steps), np.clip(result.errors, 1e-16, 1e4))])
            reading.set_text(f"slope {result.exact:.5g}\nchord {result.chord:.5g}")
            return curve, chord, error, rounding, curving, guess, here, reading

        redraw(self)
        return redraw


@experiment
def difference_error(
    function: Literal["exp", "sin", "cube", "relu"] = "exp",
    dtype: Literal["float32", "float64"] = "float64",
    x: Annotated[float, Linear(-2.0, 2.0)] = 1.0,
    h: Annotated[float, Log(1e-12, 1.0)] = 1e-3,
) -> Check:
    """Check a derivative by central differences, for every step from 1e-12 to 1, in the precision asked for."""
    f = FUNCTIONS[function]
    kind = np.dtype(dtype)

    def difference(x: np.ndarray, h: np.ndarray) -> np.ndarray:
        x, h = x.astype(kind), h.astype(kind)
        return (f(Array(x + h)).data - f(Array(x - h)).data) / (2 * h)

    def exact(x: np.ndarray) -> np.ndarray:
        leaf = Array(x)
        f(leaf).sum().backward()
        return leaf.grad

    points = (x * (1 + np.linspace(-1e-3, 1e-3, 129))).astype(kind).astype(np.float64)
    errors = difference(points, STEPS[:, None] * SPREAD) - exact(points)
    here = np.array([x]).astype(kind).astype(np.float64)
    around = np.linspace(-3.2, 3.2, 129)
    return Check(
        function=function,
        eps=float(np.finfo(kind).eps),
        x=x,
        h=h,
        steps=STEPS,
        errors=np.sqrt((errors**2).mean(axis=1)),
        chord=float(difference(here, np.array([h]))[0]),
        exact=float(exact(here)[0]),
        curve=np.stack([around, f(Array(around)).data]),
    )


HALVES: dict[str, Callable[[Array], Array]] = {
    "sqrt(x)": lambda x: x.sqrt(),
    "x*log(x)": lambda x: x * x.log(),
    "1/x": lambda x: 1.0 / x,
}


@dataclass(frozen=True)
class Trap(Result):
    """f(x) where x > 0, else 0, on x: (201,) from -1 to 1, with 0 among them. values, gradients: (201,)."""

    half: str
    guarded: bool
    x: np.ndarray
    values: np.ndarray
    gradients: np.ndarray

    @property
    def nans(self) -> int:
        """How many of the 201 gradients are NaN; every value is finite."""
        return int(np.isnan(self.gradients).sum())

    def summary(self) -> str:
        guard = "with" if self.guarded else "without"
        return f"where(x > 0, {self.half}, 0) {guard} a guard: {self.nans} of {len(self.x)} gradients are NaN"

    def draw(self, figure: "Figure"):
        """Left: the function, finite everywhere. Right: its gradient, with a mark on the lower edge for every NaN."""
        left, right = figure.subplots(1, 2)
        left.set(xlabel="x", ylabel="where(x > 0, f(x), 0)", xlim=(-1.02, 1.02), ylim=(-1, 5))
        right.set(xlabel="x", ylabel="its gradient", xlim=(-1.02, 1.02), ylim=(-6, 6))
        for ax in (left, right):
            ax.set_xticks((-1, -0.5, 0, 0.5, 1))
        (value,) = left.plot([], [], color=BLUE)
        (gradient,) = right.plot([], [], color=GREEN, label="finite")
        (lost,) = right.plot([], [], "x", color=RED, ms=4, label="NaN")
        right.legend(loc="upper left", fontsize=8)

        def redraw(result: Trap):
            nan = np.isnan(result.gradients)
            value.set_data(result.x, np.clip(result.values, -1, 5))
            gradient.set_data(result.x, np.clip(result.gradients, -6.5, 6.5))
            lost.set_data(result.x[nan], np.full(nan.sum(), -5.7))
            return value, gradient, lost

        redraw(self)
        return redraw


@experiment
def where_trap(half: Literal["sqrt(x)", "x*log(x)", "1/x"] = "sqrt(x)", guarded: bool = False) -> Trap:
    """Differentiate where(x > 0, f(x), 0); guarded, f sees 1 in place of every x that is not above 0."""
    x = Array(np.linspace(-1, 1, 201).round(2))
    positive = x.data > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        safe = where(positive, x, 1.0) if guarded else x
        result = where(positive, HALVES[half](safe), 0.0)
        result.sum().backward()
    return Trap(half, guarded, x.data, result.data, x.grad)
