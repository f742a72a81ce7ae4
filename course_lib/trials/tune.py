"""Give every optimizer the same budget of learning rates, choose on validation, test what was chosen on fresh runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_lib import style
from course_lib.data import Dataset
from course_lib.optim import Transform
from course_lib.ranges import Preview, Progress, no_preview, no_progress
from course_lib.results import Floats, Redraw, Result
from course_lib.train import Loss
from course_lib.trials.compare import Comparison, compare
from course_lib.trials.grid import Model, at_the_end, grid
from course_lib.trials.threads import single_threaded

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

Make = Callable[[float | Tensor], Transform]
TUNING = 500  # what is added to a seed where learning rates are chosen


@dataclass(frozen=True)
class Trial(Result):
    """What each optimizer reached at learning rates chosen on validation. Runs that diverged count as infinite loss.

    lrs[name]: (lrs,) ascending. losses[name]: (lrs, seeds) validation loss (nats) at the end of the tuning runs.
    chosen[name]: (seeds,) the learning rate that each seed chose. accuracy[name], loss[name]: (seeds,) on the test
    part, of a fresh run of each seed at its choice.
    """

    lrs: Mapping[str, Floats]
    losses: Mapping[str, Floats]
    chosen: Mapping[str, Floats]
    accuracy: Mapping[str, Floats]
    loss: Mapping[str, Floats]

    @property
    def seeds(self) -> int:
        return max(map(len, self.accuracy.values()), default=0)

    def compare(self, a: str, b: str, what: Literal["accuracy", "loss"] = "accuracy") -> Comparison:
        """Test results of `a` less those of `b`, paired by seed."""
        rows = getattr(self, what)
        return compare(rows[a], rows[b], names=(a, b))

    def mean_loss(self, name: str) -> Floats:
        """(lrs,) the geometric mean over seeds of the validation loss."""
        return np.exp(np.log(self.losses[name]).mean(axis=1))

    def best(self, name: str) -> float:
        """The learning rate with the lowest `mean_loss`."""
        return float(self.lrs[name][self.mean_loss(name).argmin()])

    def width(self, name: str, within: float = 1.1) -> float:
        """The largest over the smallest of the learning rates whose loss is within this factor of the best.

        NaN where every learning rate diverged.
        """
        mean = self.mean_loss(name)
        if not np.isfinite(mean).any():
            return math.nan
        good = self.lrs[name][mean <= within * mean.min()]
        return float(good[-1] / good[0])

    def at_an_end(self, name: str) -> float:
        """Share of seeds that chose the first or the last of several learning rates: a better one may lie outside."""
        lrs = self.lrs[name]
        return float(np.isin(self.chosen[name], lrs[[0, -1]]).mean()) if len(lrs) > 1 else 0.0

    def summary(self) -> str:
        scores = [f"{name} {100 * row.mean():.1f} %" for name, row in self.accuracy.items()]
        leads = [
            f"{a} - {b} {100 * c.mean:+.1f} points [{100 * c.low:+.1f}, {100 * c.high:+.1f}]"
            for a, b in pairwise(self.accuracy)
            if (c := self.compare(a, b))
        ]
        ends = [f"{100 * share:.0f} % of {name}'s choices" for name in self.chosen if (share := self.at_an_end(name))]
        outside = [f"at an end of the grid: {', '.join(ends)}"] if ends else []
        return "; ".join(["test accuracy at the learning rate chosen: " + ", ".join(scores), *leads, *outside])

    def draw(self, figure: "Figure") -> Redraw:
        """Left the validation loss by learning rate, each seed's choice marked; right test accuracy, a line a seed."""
        left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
        names = list(self.lrs)
        ends = np.concatenate([self.lrs[name][[0, -1]] for name in names])
        left.set(xlabel=r"learning rate $\eta$", ylabel="validation loss (nats)", xscale="log", yscale="log")
        left.set(xlim=(ends.min() / 2, ends.max() * 2), ylim=(0.02, 5))
        left.xaxis.set_minor_formatter("")  # a label at each power of ten is room enough
        right.set(xlabel="optimizer", ylabel="test accuracy", xlim=(-0.5, len(names) - 0.5), ylim=(0.0, 1.0))
        right.set_xticks(range(len(names)), names)
        curves = style.lines(left, names, marker=".", lw=1.4)
        chosen = {
            n: left.plot([], [], "o", color=curves[n].get_color(), ms=7, mec=style.INK, mew=0.6)[0] for n in names
        }
        dots = {n: right.plot([], [], "o", color=curves[n].get_color(), ms=5, alpha=0.6)[0] for n in names}
        pairs = [right.plot([], [], color=style.GREY, lw=0.6, zorder=1)[0] for _ in range(self.seeds)]
        style.legend_above(figure, curves.values())

        def redraw(result: "Trial") -> "list[Artist] | None":
            for line in (*curves.values(), *chosen.values(), *dots.values()):
                line.set_data([], [])
            for i, name in enumerate(result.accuracy):
                lrs, mean = result.lrs[name], result.mean_loss(name)
                curves[name].set_data(lrs, mean)
                chosen[name].set_data(result.chosen[name], np.interp(result.chosen[name], lrs, mean))
                dots[name].set_data(np.full(result.seeds, i), result.accuracy[name])
            scores = np.array(list(result.accuracy.values())).reshape(-1, result.seeds)
            for pair, row in zip(pairs, scores.T, strict=False):
                pair.set_data(np.arange(len(row)), row)
            if scores.size:
                room = 0.1 * np.ptp(scores) + 0.005
                right.set_ylim(scores.min() - room, scores.max() + room)
                lowest = min(result.mean_loss(name).min() for name in result.accuracy)
                left.set_ylim(lowest / 2, 200 * lowest)
            return None

        redraw(self)
        return redraw


@single_threaded
def tune(
    optimizers: Mapping[str, Make | tuple[Make, ArrayLike]],
    lrs: ArrayLike | None,
    data: Dataset,
    *,
    model: Model | None = None,
    loss: Loss = cross_entropy,
    seeds: int | Sequence[int] = 4,
    epochs: int = 10,
    batch: int = 64,
    by: Literal["loss", "accuracy"] = "loss",
    choose: Literal["seed", "mean"] = "seed",
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> Trial:
    """Tune each optimizer, then test it: every learning rate and seed on validation, the choice on the test part.

    optimizers: name -> make, with make(lr) -> Transform, or (make, its own learning rates). model(seed) -> nn.Module,
    by default one hidden layer of 32. Seed k tunes with start and batches 500 + k: the lowest validation loss wins (or
    the highest accuracy, with by="accuracy"), of equal ones the smaller learning rate; a run that diverged loses to any
    other. It then trains afresh with seed k and is tested. choose="mean" gives all seeds the one learning rate whose
    mean is best, geometric for losses. A grid of one learning rate is an optimizer as it comes, untuned.

    tune({"momentum": partial(sgd, beta=0.9), "Adam": adam}, np.logspace(-4, 0, 9), digits(), seeds=8)

    Raises ValueError for no optimizer, learning rates that are not positive and ascending, fewer than three seeds
    (which leave nothing to compare), and what `fit_many` raises.
    """
    each = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not optimizers:
        raise ValueError("tune: optimizers must hold at least one, got none")
    if len(each) < 3:
        raise ValueError(f"tune: seeds must be at least 3, got {len(each)}")
    for what, value, legal in (("choose", choose, ("seed", "mean")), ("by", by, ("loss", "accuracy"))):
        if value not in legal:
            raise ValueError(f"tune: {what} must be one of {', '.join(legal)}, got {value!r}")
    plans = {name: made if isinstance(made, tuple) else (made, lrs) for name, made in optimizers.items()}
    grids = {name: _ascending(name, own) for name, (_, own) in plans.items()}
    trial = Trial(grids, {}, {}, {}, {})
    train = partial(grid, data=data, model=model, loss=loss, epochs=epochs, batch=batch)
    for name in progress(list(plans)):
        make, own = plans[name][0], grids[name]
        tuning = train(make, {"lr": own.tolist()}, [TUNING + seed for seed in each])
        losses = at_the_end(tuning, len(own))
        cost = np.log(losses) if by == "loss" else -at_the_end(tuning, len(own), "validation_accuracy")
        best = cost.argmin(axis=0) if choose == "seed" else np.full(len(each), cost.mean(axis=1).argmin())
        chosen = own[best]
        tested = train(make, {"lr": chosen.tolist()}, each, part="test", paired=True)
        accuracy, test_loss = (at_the_end(tested, 1, f"validation_{what}")[0] for what in ("accuracy", "loss"))
        rows = (losses, chosen, accuracy, test_loss)
        fields = (trial.losses, trial.chosen, trial.accuracy, trial.loss)
        trial = Trial(grids, *({**known, name: row} for known, row in zip(fields, rows, strict=True)))
        preview(trial)
    return trial


def _ascending(name: str, lrs: ArrayLike | None) -> Floats:
    given = np.asarray(lrs, dtype=np.float64)
    if (
        given.ndim != 1
        or not len(given)
        or not np.isfinite(given).all()
        or given[0] <= 0
        or (np.diff(given) <= 0).any()
    ):
        raise ValueError(f"tune: lrs of {name} must be positive numbers in ascending order, got {lrs!r}")
    return given
