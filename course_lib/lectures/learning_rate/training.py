"""What lecture 05's trainings share: one small network, the digits, many settings and seeds at once."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_lib.data import Dataset, Split, digits
from course_lib.models import mlp
from course_lib.optim import Transform, adam, sgd
from course_lib.ranges import Progress, no_progress
from course_lib.schedules import Schedule
from course_lib.train import Runs, fit_many

Array = NDArray[np.float64]

SIZES = (64, 32, 10)
WORST = 100.0  # losses above it, infinite and NaN ones are written as this
OPTIMIZERS: dict[str, Callable[..., Transform]] = {
    "SGD": sgd,
    "momentum": functools.partial(sgd, beta=0.9),
    "Adam": adam,
}


@functools.lru_cache(maxsize=8)
def handwriting(label_noise: float = 0.0) -> Dataset:
    """The digits; a share `wrong` of the training labels is drawn anew at random, so nine in ten of those are false."""
    data, generator = digits(), torch.Generator().manual_seed(0)
    y, chosen = data.train.y, torch.rand(len(data.train), generator=generator) < label_noise
    drawn = torch.randint(10, y.shape, generator=generator)
    return Dataset(
        data.name, Split(data.train.x, torch.where(chosen, drawn, y)), data.validation, data.test, 10, data.source
    )


def batches_in(epochs: int, batch: int) -> int:
    """Updates in so many epochs of the training part; the last batch of an epoch may be smaller."""
    return epochs * math.ceil(len(handwriting().train) / batch)


def train(
    make_transform: Callable[..., Transform],
    hyper: Mapping[str, Sequence[float]],
    seeds: Sequence[int],
    *,
    epochs: int,
    batch: int,
    label_noise: float = 0.0,
    sizes: Sequence[int] = SIZES,
    judge: str = "validation",
    paired: bool = False,
    progress: Progress = no_progress,
) -> Runs:
    """Train the network for each setting and seed, settings outermost, all at once; or, `paired`, setting i on seed i.

    hyper: arguments of make_transform by name, a value for each setting. A seed draws the same start and the same
    batches under every setting. `judge` is the part that each epoch is measured on, "validation" or "test"; the
    results are called validation_loss and validation_accuracy either way.
    """
    data, settings = handwriting(label_noise), 1 if paired else len(next(iter(hyper.values())))
    repeats = 1 if paired else len(seeds)
    every = [*seeds] * settings
    return fit_many(
        [mlp(sizes, seed=seed) for seed in every],
        cross_entropy,
        make_transform,
        data.train,
        data.parts()[judge],
        hyper={name: [float(v) for v in values for _ in range(repeats)] for name, values in hyper.items()},
        seeds=every,
        epochs=epochs,
        batch=batch,
        progress=progress,
    )


def one_of(*schedules: Schedule) -> Callable[[Any], Schedule]:
    """kind -> the schedule of that number; kind may be a () tensor, so that runs side by side may differ in it."""

    def pick(kind: Any) -> Schedule:
        return lambda t: sum(torch.where(torch.as_tensor(kind) == i, s(t), 0.0) for i, s in enumerate(schedules))

    return pick


def final(runs: Runs, settings: int, name: str = "validation_loss") -> Array:
    """(settings, seeds) what the last epoch measured; losses cut at 100, which a run that diverged gets too."""
    return cut(runs[name][:, -1]).reshape(settings, -1)


def cut(values: Tensor) -> Array:
    return values.double().nan_to_num(WORST, WORST).clamp(max=WORST).numpy()


def geometric_mean(losses: Array) -> Array:
    """Over the last axis, the seeds."""
    return np.exp(np.log(losses).mean(axis=-1))


def sweep(make_transform: Callable[..., Transform], lrs: Array, seeds: Sequence[int], **how: Any) -> Array:
    """(lrs,) validation loss at the end, the geometric mean over seeds; `how` goes to `train`."""
    return geometric_mean(final(train(make_transform, {"lr": lrs.tolist()}, seeds, **how), len(lrs)))
