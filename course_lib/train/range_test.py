r"""The learning-rate range test: train briefly while the learning rate grows, and look where the loss falls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from course_lib.data import Split
from course_lib.optim import Transform, chain
from course_lib.ranges import Progress, no_progress
from course_lib.schedules import exponential, scale_by_schedule
from course_lib.train.loop import Loss
from course_lib.train.many import fit_many

Rule = Literal["steepest", "minimum / 10"]


@dataclass(frozen=True, eq=False)
class RangeTest:
    """What N range tests saw. lrs: (steps,) float64. losses: (N, steps), of each batch before its update.

    smooth: (N, steps), what `smoothed` makes of losses, and NaN from the step on at which a run is stopped.
    """

    lrs: Tensor
    losses: Tensor
    smooth: Tensor

    def suggest(self, rule: Rule = "steepest") -> Tensor:
        """(N,) the learning rate that a rule reads off each curve; see `suggestion`."""
        return torch.tensor([suggestion(self.lrs, curve, rule) for curve in self.smooth], dtype=torch.float64)


def range_test(
    models: nn.Module | Sequence[nn.Module],
    loss: Loss,
    make_transform: Callable[..., Transform],
    train: Split,
    *,
    low: float = 1e-5,
    high: float = 10.0,
    steps: int = 100,
    batch: int = 64,
    hyper: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = 0,
    smoothing: float = 0.9,
    diverged: float = 4.0,
    progress: Progress = no_progress,
) -> RangeTest:
    r"""fastai's range test (Gugger 2018), N of them at once: geometric growth, a smoothed loss.

    .. math::
        \eta_t &= \text{low} \cdot r^{t-1}, \quad r = (\text{high} / \text{low})^{1 / (T - 1)}, \quad
            t = 1 \dots T                                                                              \qquad (1) \\
        m_t &= s\, m_{t-1} + (1 - s)\, \ell_t, \quad \hat m_t = m_t / (1 - s^t)                        \qquad (2) \\
        \text{stop} &\iff \hat m_t > d \min_{i \le t} \hat m_i \text{ or } \ell_t \text{ is not finite}  \qquad (3)

    Smith 2017, section 3.3, from whom it comes, raises the rate linearly over a few epochs and reads off accuracy.

    Here T = steps, s = smoothing, d = diverged; \ell_t is the loss of batch t before its update. (1) is training with
    chain(make_transform(lr=low), scale_by_schedule(exponential(r))): make_transform must be linear in lr. Models,
    hyper, seeds and batch are as in `fit_many`, which leaves the models as they are. A run that is stopped is no longer
    read; it does not affect the others.

    0 < low < high, steps >= 3, 0 <= smoothing < 1, diverged > 1: ValueError otherwise. Raises what `fit_many` raises.
    """
    if not 0 < low < high < float("inf"):
        raise ValueError(f"range_test: low must be above 0 and below high, high finite, got {low=}, {high=}")
    if steps < 3:
        raise ValueError(f"range_test: steps must be at least 3, got {steps}")
    if not diverged > 1:
        raise ValueError(f"range_test: diverged must be above 1, got {diverged}")
    check_smoothing(smoothing)
    rate = (high / low) ** (1 / (steps - 1))

    def growing(**hyper: Any) -> Transform:
        return chain(make_transform(lr=low, **hyper), scale_by_schedule(exponential(rate)))  # (1)

    epochs = -(-steps // -(-len(train) // max(batch, 1)))
    runs = fit_many(
        models,
        loss,
        growing,
        train,
        hyper=hyper,
        seeds=seeds,
        epochs=epochs,
        batch=batch,
        metrics={},
        progress=progress,
    )
    losses = runs.loss[:, :steps].double()
    smooth = smoothed(losses, smoothing)
    stop = (smooth > diverged * smooth.cummin(dim=1).values) | ~losses.isfinite()  # (3)
    smooth = smooth.masked_fill(stop.cummax(dim=1).values, torch.nan)
    return RangeTest(low * rate ** torch.arange(steps, dtype=torch.float64), losses, smooth)


def smoothed(losses: Tensor, smoothing: float = 0.9) -> Tensor:
    """The running mean (2) of `range_test` along the last dimension, corrected for its start at zero; same shape."""
    check_smoothing(smoothing)
    mean, means = torch.zeros_like(losses[..., 0]), []
    for t in range(losses.shape[-1]):
        mean = smoothing * mean + (1 - smoothing) * losses[..., t]  # (2)
        means.append(mean / (1 - smoothing ** (t + 1)))
    return torch.stack(means, dim=-1)


def suggestion(lrs: Tensor, smooth: Tensor, rule: Rule = "steepest") -> float:
    """The learning rate that a rule reads off one smoothed curve, both (steps,); NaN at its end is left out.

    "steepest": where the loss falls fastest per factor of the learning rate, by central differences, leaving out the
    first tenth of the steps, whose means cover few losses. "minimum / 10": a tenth of where the loss is lowest.

    Raises ValueError for another rule, and where fewer than three points are left.
    """
    if rule not in get_args(Rule):
        raise ValueError(f"suggestion: rule must be one of {', '.join(map(repr, get_args(Rule)))}, got {rule!r}")
    known = int(smooth.isfinite().int().cumprod(0).sum())
    first = len(smooth) // 10
    if rule == "minimum / 10" and known >= 3:
        return float(lrs[smooth[:known].argmin()]) / 10
    if known < first + 3:
        raise ValueError(f"suggestion: smooth must hold at least {first + 3} numbers before its first NaN, got {known}")
    slope = smooth[first + 2 : known] - smooth[first : known - 2]
    return float(lrs[first + 1 + slope.argmin()])


def check_smoothing(smoothing: float) -> None:
    if not 0 <= smoothing < 1:
        raise ValueError(f"range_test: smoothing must be at least 0 and below 1, got {smoothing}")
