"""4.10  Does Adam need no tuning? Four tasks to try it on."""

import functools
from dataclasses import replace
from typing import Any

from torch import Tensor
from torch.nn.functional import cross_entropy

from course_lib.data import Split, digits, mnist1d
from course_lib.models import mlp


@functools.cache
def tasks() -> dict[str, dict[str, Any]]:
    """name -> what `tune` takes: data, model, loss. The third task is the first in other units of the loss.

    Of MNIST-1D the first 1000 training rows are used: few enough that the network fits them all.
    """
    hand, whole = digits(), mnist1d()
    shapes = replace(whole, train=Split(whole.train.x[:1000], whole.train.y[:1000]))
    return {
        "digits": {"data": hand},
        "digits, deep": {"data": hand, "model": lambda seed: mlp((64, 32, 32, 32, 32, 10), seed=seed)},
        "digits, loss x 100": {"data": hand, "loss": scaled},
        "MNIST-1D": {"data": shapes, "model": lambda seed: mlp((40, 64, 10), seed=seed)},
    }


def scaled(outputs: Tensor, labels: Tensor) -> Tensor:
    return 100 * cross_entropy(outputs, labels)
