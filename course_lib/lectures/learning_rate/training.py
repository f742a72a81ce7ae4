"""What lecture 05's trainings share: the digits with some labels replaced, and how results over seeds are read."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from course_lib.data import Dataset, digits, with_label_noise
from course_lib.optim import Transform, adam, sgd
from course_lib.results import Floats
from course_lib.schedules import Schedule
from course_lib.train import Runs
from course_lib.trials import at_the_end

SIZES = (64, 32, 10)
WORST = 100.0  # losses above it, infinite and NaN ones are written as this
OPTIMIZERS: dict[str, Callable[..., Transform]] = {
    "SGD": sgd,
    "momentum": functools.partial(sgd, beta=0.9),
    "Adam": adam,
}


@functools.lru_cache(maxsize=8)
def handwriting(label_noise: float = 0.0) -> Dataset:
    """The digits with this share of the training labels replaced by random ones, nine in ten of which are false."""
    return with_label_noise(digits(), label_noise)


def batches_in(epochs: int, batch: int) -> int:
    """Updates in so many epochs of the training part; the last batch of an epoch may be smaller."""
    return epochs * math.ceil(len(handwriting().train) / batch)


def one_of(*schedules: Schedule) -> Callable[[Any], Schedule]:
    """kind -> the schedule of that number; kind may be a () tensor, so that runs side by side may differ in it."""

    def pick(kind: Any) -> Schedule:
        return lambda t: sum(torch.where(torch.as_tensor(kind) == i, s(t), 0.0) for i, s in enumerate(schedules))

    return pick


def final(runs: Runs, settings: int, name: str = "validation_loss") -> Floats:
    """(settings, seeds) what the last epoch measured; losses cut at 100, which a run that diverged gets too."""
    return at_the_end(runs, settings, name).clip(max=WORST)


def geometric_mean(losses: Floats) -> Floats:
    """Over the last axis, the seeds."""
    return np.exp(np.log(losses).mean(axis=-1))
