"""Recent optimizers that treat a weight matrix as a matrix, and one that needs no schedule. Each at its best lr."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import vmap

from course_lib.optim import Transform, adam, apply_steps, chain, muon, schedule_free, sgd, shampoo, soap
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Result
from course_lib.schedules import polynomial, scale_by_schedule
from course_lib.style import BLUE, INK, LINES, ORANGE
from course_lib.trials import single_threaded
from course_lib.trials.compare import Comparison, compare
from course_lib.trials.stacked import Net, accuracies, gradient, handwriting, losses, start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Factory = Callable[[Any], Transform]
Maker = Callable[[Any, int], Transform]
LRS = 12


def _decayed(make: Factory) -> Maker:
    """The optimizer with a learning rate that falls to 0 along a line."""
    return lambda lr, steps: chain(make(lr), scale_by_schedule(polynomial(steps)))


OPTIMIZERS: dict[str, tuple[Maker, float]] = {
    "momentum": (_decayed(lambda lr: sgd(lr, 0.9)), 4.0),
    "Adam": (_decayed(adam), 4.0),
    "Muon": (_decayed(muon), 4.0),
    "Shampoo": (_decayed(shampoo), 16.0),
    "SOAP": (_decayed(lambda lr: soap(lr, 0.9, 0.9)), 4.0),
}
"""name -> (lr, steps) -> transform, and the largest of its 12 learning rates, each half of the one above.

SOAP forgets faster than its authors' 0.95: the runs are short.
"""
SCHEDULE_FREE: tuple[Maker, float] = (lambda lr, steps: schedule_free(adam(lr, b1=0.0)), 4.0)
CONSTANT: tuple[Maker, float] = (lambda lr, steps: adam(lr), 4.0)


@dataclass(frozen=True)
class MatrixRace(Result):
    """Height above the minimum over the start's after each step, every optimizer at its best of 12 learning rates.

    straight[name], turned[name]: (seeds, steps+1), the problem with curvatures along the matrix's rows and columns, and
    the same turned by a random rotation on either side.
    """

    straight: Mapping[str, Array]
    turned: Mapping[str, Array]

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
            ax.set(xlim=(0, 100), ylim=(1e-14, 1e2))
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
    straight: dict[str, Array] = {}
    turned: dict[str, Array] = {}
    for name in progress(list(optimizers)):
        for kept, turn in ((straight, False), (turned, True)):
            problem = [_problem(kappa, turn, s) for s in range(seed, seed + seeds)]
            kept[name] = _best(*optimizers[name], problem, steps)
        preview(MatrixRace(dict(straight), dict(turned)))
    return MatrixRace(straight, turned)


def _problem(kappa: float, turn: bool, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """A (12, 12), B (8, 8), with singular values from kappa^(-1/2) to 1, and W* (12, 8), which is turned along."""
    generator = torch.Generator().manual_seed(seed)
    goal = torch.randn(12, 8, generator=generator, dtype=torch.float64)
    a, b = (torch.diag(torch.logspace(0, -0.5 * float(np.log10(kappa)), n, dtype=torch.float64)) for n in (12, 8))
    if not turn:
        return a, b, goal
    p, q = (torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=torch.float64)).Q for n in (12, 8))
    return p @ a @ p.mT, q @ b @ q.mT, p @ goal @ q.mT


def _best(make: Maker, top: float, problems: Sequence[tuple[Tensor, ...]], steps: int) -> Array:
    """(seeds, steps+1) of the learning rate whose runs end lowest in the geometric mean."""
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
    return path[int(path[:, :, -1].log().mean(dim=1).argmin())].numpy()


@dataclass(frozen=True)
class RecentOptimizers(Result):
    """Training loss of digits networks at the end, each optimizer at its own best learning rate.

    tested[name]: (seeds,) of fresh seeds, nats. lrs[name]: the best of five by the geometric mean of two seeds.
    accuracies[name]: (seeds,) on the test part.
    """

    tested: Mapping[str, Array]
    accuracies: Mapping[str, Array]
    lrs: Mapping[str, float]
    steps: int

    def against(self, name: str, other: str = "Adam") -> Comparison:
        """The logarithm of its loss less that of the other's, paired by seed."""
        return compare(np.log(self.tested[name]), np.log(self.tested[other]), names=(name, other))

    def ratio(self, name: str, other: str = "Adam") -> float:
        """Geometric mean over the seeds of its loss over the other's."""
        return float(np.exp(self.against(name, other).mean))

    def accuracy_gain(self, name: str, other: str = "Adam") -> Comparison:
        """Its test accuracy less the other's, paired by seed."""
        return compare(self.accuracies[name], self.accuracies[other], names=(name, other))

    def summary(self) -> str:
        each = ", ".join(f"{n} {np.exp(np.log(a).mean()):.2g}" for n, a in self.tested.items())
        return f"training loss after {self.steps} steps, each at its best learning rate: {each}"

    def draw(self, figure: "Figure"):
        """Training loss, left, and test accuracy, right, of fresh seeds at each optimizer's best learning rate."""
        axes = figure.subplots(1, 2, sharey=True)
        axes[0].set(xlabel="training loss at the end (nats)", ylabel="optimizer", xscale="log", xlim=(1e-5, 3))
        axes[1].set(xlabel="test accuracy", ylabel="optimizer", xlim=(0.8, 1))
        axes[0].set_yticks(range(len(NETWORK)), NETWORK)
        axes[0].set_ylim(len(NETWORK) - 0.5, -0.5)
        axes[1].set_xticks([0.8, 0.85, 0.9, 0.95, 1.0])
        axes[1].yaxis.label.set_visible(False)
        dots = [ax.plot([], [], "o", color=BLUE, ms=4, alpha=0.6)[0] for ax in axes]
        means = [ax.plot([], [], "D", color=ORANGE, ms=8, mec=INK, mew=0.6)[0] for ax in axes]

        def redraw(result: RecentOptimizers):
            names = [name for name in NETWORK if name in result.tested]
            for rows, dot, mean in zip((result.tested, result.accuracies), dots, means, strict=True):
                every = [(value, list(NETWORK).index(name)) for name in names for value in rows[name]]
                dot.set_data(*zip(*every, strict=True) if every else ([], []))
                log = rows is result.tested
                mean.set_data(
                    [np.exp(np.log(rows[n]).mean()) if log else rows[n].mean() for n in names],
                    [list(NETWORK).index(n) for n in names],
                )
            return *dots, *means

        redraw(self)
        return redraw


NETWORK: dict[str, tuple[Maker, float]] = {
    "momentum": (OPTIMIZERS["momentum"][0], 6.4),
    "Adam, constant": (CONSTANT[0], 0.4),
    "Adam": (OPTIMIZERS["Adam"][0], 0.4),
    "schedule-free": (SCHEDULE_FREE[0], 0.8),
    "Muon": (OPTIMIZERS["Muon"][0], 0.8),
    "Shampoo": (OPTIMIZERS["Shampoo"][0], 12.8),
    "SOAP": (OPTIMIZERS["SOAP"][0], 0.2),
}
"""As OPTIMIZERS, with five learning rates each."""


@experiment
@single_threaded
def recent_optimizers(
    steps: Annotated[int, Log(20, 100)] = 80,
    batch: Annotated[int, Log(32, 256)] = 128,
    seeds: Annotated[int, Linear(3, 8)] = 6,
    *,
    optimizers: Mapping[str, tuple[Maker, float]] = NETWORK,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> RecentOptimizers:
    """Train a 64-32-10 network for `steps` steps: five learning rates, two seeds to tune; then fresh seeds."""
    part, test = handwriting()[0], handwriting()[2]
    tested, scores, lrs = {}, {}, {}
    for name in progress(list(optimizers)):
        make, top = optimizers[name]
        grid = [top * 0.5**k for k in range(5)]
        tuned = _train(make, grid, range(seed + 500, seed + 502), steps, batch)
        means = losses(tuned, part).nan_to_num(1e3, 1e3).clamp(1e-12, 1e3).log().view(5, -1).mean(dim=1)
        lrs[name] = grid[int(means.argmin())]
        final = _train(make, [lrs[name]], range(seed, seed + seeds), steps, batch)
        tested[name] = losses(final, part).nan_to_num(1e3, 1e3).clamp(1e-12, 1e3).double().numpy()
        scores[name] = accuracies(final, test).double().numpy()
        preview(RecentOptimizers(dict(tested), dict(scores), dict(lrs), steps))
    return RecentOptimizers(tested, scores, lrs, steps)


def _train(make: Maker, grid: Sequence[float], seeds: range, steps: int, batch: int) -> Net:
    """A copy for each learning rate and seed; equal seeds start and draw equally. Of schedule-free, the average."""
    part = handwriting()[0]
    net = start([s for _ in grid for s in seeds])
    lrs = torch.tensor(grid).repeat_interleave(len(seeds))
    dice = [torch.Generator().manual_seed(s) for s in seeds]
    theta = _layers(net)
    state = vmap(lambda lr, p: make(lr, steps).init(p))(lrs, theta)
    update = vmap(lambda lr, g, s, p: make(lr, steps).update(g, s, p))
    for _ in range(steps):
        rows = torch.stack([torch.randint(len(part), (batch,), generator=g) for g in dice]).repeat(len(grid), 1)
        grads = gradient(_net(theta), part.x[rows], part.y[rows])
        moves, state = update(lrs, _layers(grads), state, theta)
        theta = apply_steps(theta, moves)
    return _net(state.average if hasattr(state, "average") else theta)


def _layers(net: Net) -> list[Tensor]:
    """As torch keeps them: weights (outputs, inputs), biases (outputs,), so that the optimizers see what they are."""
    return [net.w1.mT, net.b1.squeeze(1), net.w2.mT, net.b2.squeeze(1)]


def _net(layers: Sequence[Tensor]) -> Net:
    w1, b1, w2, b2 = layers
    return Net(w1.mT, b1.unsqueeze(1), w2.mT, b2.unsqueeze(1))
