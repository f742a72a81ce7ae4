"""What does a real network's loss look like around the place training finds, and how sharp a place does it choose?"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from course_lib.lectures.gradient_descent.network import handwriting
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.style import BLUE, INK, ORANGE, RED, log_colors
from course_lib.trials import single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sharpness(
    slope: Sequence[Tensor], params: Sequence[Tensor], probe: Sequence[Tensor], rounds: int
) -> tuple[float, list[Tensor]]:
    """The Hessian's eigenvalue of largest size, by power iteration on Hessian-vector products.

    slope: the loss's gradient, one tensor a parameter, made with create_graph=True. probe: where the iteration starts.
    Returns (eigenvalue, the last vector). A Hessian-vector product is the gradient of <slope, v> (Pearlmutter 1994):
    the cost of two backward passes, and no matrix.
    """
    v = list(probe)
    for _ in range(rounds):
        size = torch.stack([(a**2).sum() for a in v]).sum().sqrt()
        v = [a / size for a in v]
        hv = torch.autograd.grad(slope, params, grad_outputs=v, retain_graph=True)
        eigenvalue = torch.stack([(a * b).sum() for a, b in zip(v, hv, strict=True)]).sum()  # Rayleigh: |v| = 1
        v = [b.detach() for b in hv]
    return eigenvalue.item(), v


@dataclass(frozen=True)
class Edge(Result):
    """Full-batch gradient descent. losses: (t,), before each step. moments, sharpness: (k,), every fifth step.

    steps: how many the run is to have; t where it is whole.
    """

    losses: Floats
    moments: NDArray[np.int64]
    sharpness: Floats
    lr: float
    steps: int

    @property
    def threshold(self) -> float:
        """2 / eta: the sharpness above which a quadratic would diverge."""
        return 2 / self.lr

    @property
    def arrival(self) -> int | None:
        """The first step at which the sharpness is above 2 / eta after having been below it; None if it never is."""
        below = np.logical_or.accumulate(self.sharpness < self.threshold)
        crossed = np.flatnonzero(below & (self.sharpness > self.threshold))
        return int(self.moments[crossed[0]]) if len(crossed) else None

    @property
    def hover(self) -> float:
        """Mean of eta sharpness / 2 over the last third of the run: 1 at the edge."""
        return float(self.sharpness[-len(self.sharpness) // 3 :].mean() / self.threshold)

    @property
    def rises(self) -> float:
        """Share of the steps in the last third that raised the loss."""
        return float(self._up.mean())

    @property
    def wave(self) -> float:
        """Mean length, in steps, of an unbroken rise of the loss in the last third; 1 would be a zigzag."""
        begins = np.diff(self._up.astype(int), prepend=0) == 1
        return float(self._up.sum() / max(begins.sum(), 1))

    @property
    def peak(self) -> tuple[int, float]:
        """The step at which the sharpness is highest from the arrival on (without one: at all), and that sharpness."""
        i = int(np.where(self.moments >= (self.arrival or 0), self.sharpness, -np.inf).argmax())
        return int(self.moments[i]), float(self.sharpness[i])

    @property
    def _up(self) -> NDArray[np.bool_]:
        return np.diff(self.losses[-len(self.losses) // 3 :]) > 0

    def summary(self) -> str:
        when = "does not reach" if self.arrival is None else f"at step {self.arrival} passes"
        return (
            f"sharpness {self.sharpness[0]:.2f} at the start, {when} 2 / eta = {self.threshold:.2f}; in the last third "
            f"{self.hover:.2f} of it, {self.rises:.0%} of steps raising the loss, which ends at {self.losses[-1]:.3f}"
        )

    def draw(self, figure: "Figure"):
        """Left the loss, right the sharpness and 2 / eta, against the step."""
        left, right = figure.subplots(1, 2)
        left.set(xlabel="step", ylabel="training loss", yscale="log", ylim=(1e-3, 3))
        (loss,) = left.plot([], [], color=BLUE, lw=1)
        right.set(xlabel="step", ylabel="sharpness (largest Hessian eigenvalue)", ylim=(0, 12))
        (sharp,) = right.plot([], [], color=BLUE, lw=1.2, label="measured, by power iteration")
        (edge,) = right.plot([], [], color=RED, ls="--", label=r"$2 / \eta$")
        right.legend(loc="lower right")

        def redraw(result: Edge):
            loss.set_data(np.arange(len(result.losses)), np.clip(np.nan_to_num(result.losses, nan=1e9), 1e-9, 1e9))
            sharp.set_data(result.moments, np.clip(np.nan_to_num(result.sharpness, nan=1e3), -1e3, 1e3))
            edge.set_data([0, result.steps], [result.threshold] * 2)
            for ax in (left, right):
                ax.set_xlim(0, result.steps)
            right.set_ylim(0, 1.7 * max(result.threshold, 2.0))
            return None

        redraw(self)
        return redraw


@experiment
@single_threaded
def edge_of_stability(
    lr: Annotated[float, Log(0.2, 1.0)] = 0.5,
    steps: Annotated[int, Linear(200, 1000)] = 800,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> Edge:
    """Train a tanh network 64-32-32-10 on 200 digits by full-batch gradient descent, half the squared error a digit."""
    part, generator = handwriting()[0], torch.Generator().manual_seed(seed)
    x, y, sizes = part.x[:200] / 2, part.y[:200], (64, 32, 32, 10)
    params = [0.7 * torch.randn(a, b, generator=generator) / a**0.5 for a, b in pairwise(sizes)]
    probe = [torch.randn(p.shape, generator=generator) for p in params]
    losses, moments, sharpnesses = [], [], []
    for t in progress(range(steps)):
        params = [p.requires_grad_() for p in params]
        loss = ((torch.tanh(torch.tanh(x @ params[0]) @ params[1]) @ params[2] - y) ** 2).sum(dim=1).mean() / 2
        slope = torch.autograd.grad(loss, params, create_graph=t % 5 == 0)
        if t % 5 == 0:
            value, probe = sharpness(slope, params, probe, rounds=4 if t else 30)
            moments.append(t)
            sharpnesses.append(value)
        losses.append(loss.item())
        params = [(p - lr * g).detach() for p, g in zip(params, slope, strict=True)]
        if t % 20 == 19:
            preview(Edge(np.array(losses), np.array(moments), np.array(sharpnesses), lr, steps))
    return Edge(np.array(losses), np.array(moments), np.array(sharpnesses), lr, steps)


@dataclass(frozen=True)
class Plane(Result):
    """The training loss around a trained network, which is in the middle, losses[12, 12].

    offsets: (25,), from -1 to 1. losses: (25, 25), columns along the first direction, rows along the second.
    """

    offsets: Floats
    losses: Floats
    rescale: float
    normalized: bool

    @property
    def center(self) -> float:
        return float(self.losses[12, 12])

    @property
    def rise(self) -> float:
        """How much higher the loss is, on average, a quarter of the way to the border in the four directions."""
        around = (self.losses[12, 9], self.losses[12, 15], self.losses[9, 12], self.losses[15, 12])
        return float(np.mean(around) - self.center)

    def summary(self) -> str:
        how = "by filter" if self.normalized else "as drawn"
        layer = f"first layer times {self.rescale:.3g}"
        return f"directions {how}, {layer}: loss {self.center:.4f}, {self.rise:.3g} more nearby"

    def draw(self, figure: "Figure"):
        """Left the loss over the plane, right the two lines through its middle."""
        left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
        left.set(xlabel="first direction", ylabel="second direction")
        left.grid(False)
        norm = log_colors(1e-2, 1e2)
        picture = left.imshow(
            np.ones((25, 25)),
            origin="lower",
            extent=(-1, 1, -1, 1),
            norm=norm,
            cmap="Blues_r",
            interpolation="bilinear",
        )
        left.plot(0, 0, "*", color=ORANGE, ms=11)
        figure.colorbar(picture, ax=left, label="training loss (nats)")
        right.set(xlabel="along the direction", ylabel="training loss (nats)", yscale="log")
        right.set(xlim=(-1, 1), ylim=(1e-2, 1e2))
        (first,) = right.plot([], [], color=BLUE, label="first direction")
        (second,) = right.plot([], [], color=RED, ls="--", label="second direction")
        right.axvline(0, color=INK, lw=0.8, ls=":")
        right.legend(loc="upper center")

        def redraw(result: Plane):
            losses = np.clip(result.losses, 1e-3, 1e3)
            picture.set_data(losses)
            first.set_data(result.offsets, losses[12])
            second.set_data(result.offsets, losses[:, 12])
            return picture, first, second

        redraw(self)
        return redraw


@experiment
@single_threaded
def landscape(
    rescale: Annotated[float, Log(0.2, 5.0)] = 1.0,
    normalized: bool = True,
    steps: Annotated[int, Linear(0, 400)] = 300,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Plane:
    """Cut a plane through the loss of a ReLU network 64-32-10 after `steps` of SGD on the digits (Li et al. 2018).

    The two directions are random. normalized: each unit's part of a direction is given the length of the unit's own
    weights; else all of a direction is given the length of the weights as they were trained. Biases stay.
    rescale: the first layer is multiplied and the second divided by it, which changes no output of the network.
    """
    part, generator = handwriting()[0], torch.Generator().manual_seed(seed)
    w1, w2 = (torch.randn(a, b, generator=generator) * (2 / a) ** 0.5 for a, b in ((64, 32), (32, 10)))
    b1, b2 = torch.zeros(32), torch.zeros(10)
    params = [p.requires_grad_() for p in (w1, b1, w2, b2)]
    for _ in range(steps):
        rows = torch.randint(len(part), (32,), generator=generator)
        loss = _cross_entropy(params, part.x[rows], part.y[rows])
        with torch.no_grad():
            for p, g in zip(params, torch.autograd.grad(loss, params), strict=True):
                p -= 0.2 * g
    length = torch.sqrt((w1**2).sum() + (w2**2).sum()).detach()
    w1, b1, w2, b2 = w1.detach() * rescale, b1.detach() * rescale, w2.detach() / rescale, b2.detach()
    directions = []
    for _ in range(2):
        d1, d2 = torch.randn(w1.shape, generator=generator), torch.randn(w2.shape, generator=generator)
        if normalized:
            d1, d2 = (d * w.norm(dim=0) / d.norm(dim=0) for d, w in ((d1, w1), (d2, w2)))  # one column a unit
        else:
            d1, d2 = (d * length / torch.sqrt((d1**2).sum() + (d2**2).sum()) for d in (d1, d2))
        directions.append((d1, d2))
    (u1, u2), (v1, v2) = directions
    offsets = torch.linspace(-1, 1, 25)
    a = offsets[:, None, None]
    cut = [
        _cross_entropy((w1 + a * u1 + b * v1, b1, w2 + a * u2 + b * v2, b2), part.x, part.y).double()
        for b in progress(offsets)
    ]
    return Plane(offsets.double().numpy(), torch.stack(cut).numpy(), rescale, normalized)


def _cross_entropy(params: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Mean over the rows of x (n, 64) with one-hot y (n, 10); weights may carry a leading dimension of copies."""
    w1, b1, w2, b2 = params
    return -(torch.log_softmax(torch.relu(x @ w1 + b1) @ w2 + b2, dim=-1) * y).sum(dim=-1).mean(dim=-1)
