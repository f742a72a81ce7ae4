"""4.12  What if a matrix were treated as a matrix? A problem made for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from course_lib.optim import Transform, adam, apply_steps, chain, muon, sgd, shampoo, soap
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.schedules import polynomial, scale_by_schedule
from course_lib.style import LINES
from course_lib.trials import single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Factory = Callable[[Any], Transform]
Maker = Callable[[Any, int], Transform]
LRS = 12


def _decayed(make: Factory) -> Maker:
    """The optimizer with a learning rate that falls to 0 along a line."""
    return lambda lr, steps: chain(make(lr), scale_by_schedule(polynomial(steps)))


OPTIMIZERS: dict[str, tuple[Maker, float]] = {
    "momentum": (_decayed(lambda lr: sgd(lr, 0.9)), 16.0),
    "Adam": (_decayed(adam), 4.0),
    "Muon": (_decayed(muon), 4.0),
    "Shampoo": (_decayed(shampoo), 256.0),
    "SOAP": (_decayed(lambda lr: soap(lr, 0.9, 0.9)), 4.0),
}
"""name -> (lr, steps) -> transform, and the largest of its 12 learning rates, each half of the one above.

SOAP forgets faster than its authors' 0.95: the runs are short.
"""


@dataclass(frozen=True)
class MatrixRace(Result):
    """Height above the minimum over the start's after each step, every optimizer at its best of 12 learning rates.

    straight[name], turned[name]: (seeds, steps+1), the problem with curvatures along the matrix's rows and columns, and
    the same turned by a random rotation on either side. place[name]: where in the 12 the best stands on each, 0 the
    largest and 11 the smallest.
    """

    straight: Mapping[str, Floats]
    turned: Mapping[str, Floats]
    place: Mapping[str, list[int]]

    def end(self, name: str, *, turned: bool = False) -> float:
        """Geometric mean over the seeds of the height left."""
        return float(np.exp(np.log((self.turned if turned else self.straight)[name][:, -1]).mean()))

    def loses(self, name: str) -> float:
        """How many times higher it ends where the problem is turned."""
        return self.end(name, turned=True) / self.end(name)

    def summary(self) -> str:
        each = ", ".join(f"{n} {self.end(n):.1e} and {self.end(n, turned=True):.1e}" for n in self.turned)
        return f"height left, straight and turned: {each}"

    def draw(self, figure: "Figure"):
        """The height left against the step, one seed, left on the straight problem and right on the turned one."""
        axes = figure.subplots(1, 2, sharey=True)
        for ax, title in zip(axes, ("along the axes", "turned"), strict=True):
            ax.set(xlabel="step", ylabel="height / height at the start", yscale="log", title=title)
            ax.set(xlim=(0, 100), ylim=(1e-14, 1e4))
        looks = dict(zip(("momentum", "Adam", "Muon", "Shampoo", "SOAP"), LINES, strict=False))
        lines = [
            {n: ax.plot([], [], color=c, ls=ls, lw=1.4, label=n)[0] for n, (c, ls) in looks.items()} for ax in axes
        ]
        figure.legend(handles=list(lines[0].values()), loc="outside upper center", ncols=5, handlelength=3)

        def redraw(result: MatrixRace):
            for drawn, rows in zip(lines, (result.straight, result.turned), strict=True):
                for name, line in drawn.items():
                    heights = rows[name][0] if name in rows else np.empty(0)
                    line.set_data(np.arange(len(heights)), heights)
            return [line for drawn in lines for line in drawn.values()]

        redraw(self)
        return redraw


@experiment
@single_threaded
def matrix_race(
    kappa: Annotated[float, Log(1.0, 300.0)] = 100.0,
    steps: Annotated[int, Linear(20, 100)] = 100,
    seeds: Annotated[int, Linear(2, 6)] = 4,
    *,
    optimizers: Mapping[str, tuple[Maker, float]] = OPTIMIZERS,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> MatrixRace:
    """Minimize |A (W - W*) B|^2 / 2 over W (12, 8) from 0, A and B of condition number sqrt(kappa): in all kappa^2.

    W* is normal. All learning rates and seeds of an optimizer run at once; the best has the lowest geometric mean.
    """
    straight: dict[str, Floats] = {}
    turned: dict[str, Floats] = {}
    place: dict[str, list[int]] = {name: [] for name in optimizers}
    for name in progress(list(optimizers)):
        for kept, turn in ((straight, False), (turned, True)):
            problem = [_problem(kappa, turn, s) for s in range(seed, seed + seeds)]
            best, kept[name] = _best(*optimizers[name], problem, steps)
            place[name].append(best)
        preview(MatrixRace(dict(straight), dict(turned), place))
    return MatrixRace(straight, turned, place)


def _problem(kappa: float, turn: bool, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """A (12, 12), B (8, 8), with singular values from kappa^(-1/2) to 1, and W* (12, 8), which is turned along."""
    generator = torch.Generator().manual_seed(seed)
    goal = torch.randn(12, 8, generator=generator, dtype=torch.float64)
    a, b = (torch.diag(torch.logspace(0, -0.5 * float(np.log10(kappa)), n, dtype=torch.float64)) for n in (12, 8))
    if not turn:
        return a, b, goal
    p, q = (torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=torch.float64)).Q for n in (12, 8))
    return p @ a @ p.mT, q @ b @ q.mT, p @ goal @ q.mT


def _best(make: Maker, top: float, problems: Sequence[tuple[Tensor, ...]], steps: int) -> tuple[int, Floats]:
    """The place of the learning rate whose runs end lowest in the geometric mean, and its heights (seeds, steps+1)."""
    lrs = (top * 0.5 ** torch.arange(LRS, dtype=torch.float64)).repeat_interleave(len(problems))
    a, b, goal = (torch.stack(part).repeat(LRS, 1, 1) for part in zip(*problems, strict=True))
    w = [torch.zeros_like(goal)]
    state = vmap(lambda lr, w: make(lr, steps).init(w))(lrs, w)
    update = vmap(lambda lr, g, s, w: make(lr, steps).update(g, s, w))
    heights = []
    for t in range(steps + 1):
        off = a @ (w[0] - goal) @ b
        heights.append((off**2).sum(dim=(1, 2)))
        if t < steps:
            moves, state = update(lrs, [a.mT @ off @ b.mT], state, w)
            w = apply_steps(w, moves)
    path = (torch.stack(heights, dim=1) / heights[0][:, None]).nan_to_num(1e12, 1e12).clamp(1e-30, 1e12)
    path = path.view(LRS, len(problems), -1)
    best = int(path[:, :, -1].log().mean(dim=1).argmin())
    return best, path[best].numpy()
