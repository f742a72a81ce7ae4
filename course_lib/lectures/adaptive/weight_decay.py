"""What does weight decay do to each weight: as L2 inside Adam's gradient, and beside Adam's step?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_lib.data import digits
from course_lib.models import mlp
from course_lib.optim import adam, adamw, add_decay, chain
from course_lib.ranges import Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, INK, ORANGE
from course_lib.trials import single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WATCHED = 50


@dataclass(frozen=True)
class Shrinkage(Result):
    """What decay takes from each of the 2368 weights of a 64-32-10 network a step, as a share of the weight.

    All on the same gradients, those of a training with Adam: the step with decay less the step without, over -theta,
    averaged over 50 steps. root: (2368,) sqrt(v-hat) of the gradients that Adam with L2 sees, at the end.
    coupled: (2368,) L2 inside Adam. decoupled: (2368,) AdamW. blank: (2368,) weights of pixels that no image has inked.
    """

    root: Floats
    coupled: Floats
    decoupled: Floats
    blank: NDArray[np.bool_]
    lr: float
    decay: float
    steps: int

    @property
    def predicted(self) -> Floats:
        """(2368,) lr decay / sqrt(v-hat)."""
        return self.lr * self.decay / self.root

    @property
    def slope(self) -> float:
        """Of log coupled against log root, by least squares where coupled is positive; -1 by theory."""
        good = (self.coupled > 0) & ~self.blank
        return float(np.polyfit(np.log(self.root[good]), np.log(self.coupled[good]), 1)[0])

    @property
    def ratio(self) -> Floats:
        """(2368,) measured over predicted shrinkage under L2."""
        return self.coupled / self.predicted

    @property
    def spread(self) -> float:
        """The 95th over the 5th percentile of L2's shrinkage, weights of blank pixels left out."""
        low, high = np.percentile(self.coupled[~self.blank], [5, 95])
        return float(high / max(low, 1e-12))

    def summary(self) -> str:
        ends = np.percentile(self.coupled[~self.blank], [5, 50, 95]) / (self.lr * self.decay)
        return (
            f"shrinkage a step over lr decay: AdamW {np.median(self.decoupled) / (self.lr * self.decay):.3f} for every "
            f"weight; L2 inside Adam {ends[0]:.2g}, {ends[1]:.2g}, {ends[2]:.2g} (5, 50, 95 %), slope {self.slope:.2f}"
        )

    def draw(self, figure: "Figure"):
        """Each weight's shrinkage a step, over lr times decay, against the root by which Adam divides its gradient."""
        ax = figure.subplots()
        ax.set(xlabel=r"root $\sqrt{\hat v}$ of the weight", ylabel=r"share lost a step, over $\eta \lambda$")
        ax.set(xscale="log", yscale="log", xlim=(1e-6, 1), ylim=(0.1, 3e6))
        (coupled,) = ax.plot([], [], ".", color=BLUE, ms=3, alpha=0.5, label="L2 inside Adam")
        (blank,) = ax.plot([], [], "x", color=ORANGE, ms=4, alpha=0.7, label="the same, pixels that are always blank")
        (decoupled,) = ax.plot([], [], ".", color=GREEN, ms=3, alpha=0.5, label="AdamW")
        (theory,) = ax.plot([], [], color=INK, ls="--", lw=1, label=r"theory, $1 / \sqrt{\hat v}$")
        figure.legend(handles=[coupled, blank, decoupled, theory], loc="outside upper center", ncols=4, markerscale=2)

        def redraw(result: Shrinkage):
            unit, lit = result.lr * result.decay, ~result.blank
            roots = np.clip(result.root, 1.1e-6, None)
            coupled.set_data(roots[lit], np.clip(result.coupled[lit] / unit, 0.11, None))
            blank.set_data(roots[~lit], np.clip(result.coupled[~lit] / unit, 0.11, None))
            decoupled.set_data(roots, np.clip(result.decoupled / unit, 0.11, None))
            theory.set_data([1e-6, 1], [1e6, 1])
            return coupled, blank, decoupled, theory

        redraw(self)
        return redraw


@experiment
@single_threaded
def shrinkage(
    decay: Annotated[float, Log(1e-5, 1e-1)] = 1e-3,
    lr: Annotated[float, Log(1e-4, 1e-2)] = 1e-3,
    steps: Annotated[int, Log(60, 1000)] = 300,
    batch: Annotated[int, Log(8, 128)] = 32,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> Shrinkage:
    """Train a digits network with Adam and feed the same gradients and weights to Adam with L2 and to AdamW."""
    part, generator = digits().train, torch.Generator().manual_seed(seed)
    blank = torch.zeros(32, 64, dtype=torch.bool)
    blank[:, (part.x == part.x[0]).all(dim=0)] = True
    marked = torch.cat([blank.flatten(), torch.zeros(320, dtype=torch.bool)]).numpy()
    model = mlp((64, 32, 10), "tanh", seed=seed)
    params = list(model.parameters())
    optimizers = [adam(lr), chain(add_decay(decay), adam(lr)), adamw(lr, decay=decay)]
    states = [optimizer.init(params) for optimizer in optimizers]
    taken: list[list[Floats]] = [[], []]

    def so_far(step: int) -> Shrinkage:
        v = _weights(states[1][1].square) / (1 - 0.999**step)
        coupled, decoupled = (np.mean(rows[-WATCHED:], axis=0) for rows in taken)
        return Shrinkage(np.sqrt(v), coupled, decoupled, marked, lr, decay, step)

    for step in progress(range(1, steps + 1)):
        rows = torch.randint(len(part), (batch,), generator=generator)
        grads = torch.autograd.grad(cross_entropy(model(part.x[rows]), part.y[rows]), params)
        with torch.no_grad():
            moves = []
            for i, optimizer in enumerate(optimizers):
                move, states[i] = optimizer.update(grads, states[i], params)
                moves.append(move)
            theta = _weights(params)
            for kept, move in zip(taken, moves[1:], strict=True):
                kept.append((_weights(moves[0]) - _weights(move)) / theta)
            for p, change in zip(params, moves[0], strict=True):
                p.add_(change)
        if step % WATCHED == 0:
            preview(so_far(step))
    return so_far(steps)


def _weights(tensors: Sequence[Tensor]) -> Floats:
    """The entries of the two weight matrices; biases start at 0, and nobody should decay them."""
    return torch.cat([tensors[0].flatten(), tensors[2].flatten()]).detach().double().numpy()
