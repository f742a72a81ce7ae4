"""Nesterov's method as it is explained and as torch writes it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from course_lib.optim import on_numbers, sgd
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Floats, Result
from course_lib.style import BLUE, INK, ORANGE, RED, level_curves
from course_lib.surfaces import SURFACES, Name

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class TwoForms(Result):
    """Nesterov's method twice on one surface. All (steps+1, 2), row 0 the start.

    plain: theta in Sutskever's form. ahead: theta + beta v there, where it looks. torch: theta in torch's form.
    """

    surface: Name
    plain: Floats
    ahead: Floats
    torch: Floats

    @property
    def apart(self) -> Floats:
        """(steps+1,) the distance of torch's theta from the look-ahead point, over the latter's size."""
        return np.linalg.norm(self.torch - self.ahead, axis=1) / np.linalg.norm(self.ahead, axis=1).clip(1e-9)

    @property
    def between(self) -> Floats:
        """(steps+1,) the distance of torch's theta from Sutskever's."""
        return np.linalg.norm(self.torch - self.plain, axis=1)

    def summary(self) -> str:
        far = f"torch's theta is up to {self.between.max():.2g} from the look-ahead form's theta"
        return f"{self.surface}: {far}, and up to {self.apart.max():.1g} of its size from theta + beta v there"

    def draw(self, figure: "Figure"):
        """Left the paths of both forms, right how far torch's theta is from the other's theta and its look-ahead."""
        left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
        left.set(xlabel="x", ylabel="y")
        left.grid(False)
        (plain,) = left.plot([], [], "o-", color=BLUE, ms=3, lw=1, label=r"$\theta$, look-ahead form")
        (ahead,) = left.plot([], [], "s", color=ORANGE, ms=5, mec=INK, mew=0.5, label=r"$\theta + \beta v$ there")
        (torch,) = left.plot([], [], "x", color=RED, ms=5, label=r"$\theta$, torch's form")
        left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1, handletextpad=0.4)
        right.set(xlabel="step", ylabel=r"distance of torch's $\theta$", yscale="log", xlim=(0, 200), ylim=(1e-18, 1e2))
        (between,) = right.plot([], [], color=BLUE, label=r"from $\theta$, look-ahead form")
        (apart,) = right.plot([], [], color=ORANGE, ls="--", label=r"from $\theta + \beta v$, over its size")
        right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
        shown: list[Any] = []  # the surface whose level curves are drawn, and the curves

        def redraw(result: TwoForms):
            for line, path in ((plain, result.plain), (ahead, result.ahead), (torch, result.torch)):
                line.set_data(*np.clip(path, -100, 100).T)
            for line, distance in ((between, result.between), (apart, result.apart)):
                line.set_data(np.arange(len(distance)), np.clip(distance, 1e-17, 1e9))
            if shown and shown[0] == result.surface:
                return plain, ahead, torch, between, apart
            if shown:
                shown[1].remove()
            shown[:] = result.surface, level_curves(left, SURFACES[result.surface])
            return None

        redraw(self)
        return redraw


@experiment
def two_forms(
    surface: Name = "rosenbrock",
    lr: Annotated[float, Log(1e-4, 0.02)] = 1e-3,
    beta: Annotated[float, Linear(0.0, 0.95)] = 0.9,
    steps: Annotated[int, Linear(2, 200)] = 60,
) -> TwoForms:
    r"""Run Nesterov's method as it is explained and as torch writes it, both from rest. Deterministic.

    .. math::
        v_t &= \beta v_{t-1} - \eta\, \nabla f(\theta_{t-1} + \beta v_{t-1}), \quad
            \theta_t = \theta_{t-1} + v_t                                                 \qquad (1) \\
        v_t &= \beta v_{t-1} + \nabla f(\theta_{t-1}), \quad
            \theta_t = \theta_{t-1} - \eta\, (\nabla f(\theta_{t-1}) + \beta v_t) \qquad (2)

    (1) Sutskever et al. 2013, eq. 3 and 4; (2) torch.optim.SGD. A run that leaves |x|, |y| < 100 stops there.
    """
    place = SURFACES[surface]
    theta = moved = np.array(place.start)
    v, step = np.zeros(2), on_numbers(sgd(lr, beta, nesterov=beta > 0), moved)
    places = [(theta, theta, moved)]
    for _ in range(steps):
        if np.abs(moved).max() < 100:
            v = beta * v - lr * place.gradient(theta + beta * v)  # (1)
            theta = theta + v
            moved = moved + step(place.gradient(moved))  # (2)
        places.append((theta, theta + beta * v, moved))
    return TwoForms(surface, *np.stack(places, axis=1))
