"""Many trainings of one network, each setting on each seed, in stacks of `fit_many`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy

from course_lib.data import Dataset
from course_lib.models import mlp
from course_lib.optim import Transform
from course_lib.ranges import Progress, no_progress
from course_lib.train import Loss, Runs, fit_many

Model = Callable[[int], nn.Module]


def small_mlp(data: Dataset) -> Model:
    """seed -> a network with one hidden layer of 32 for this data set."""
    features = data.train.x[0].numel()
    return lambda seed: mlp((features, 32, data.classes), seed=seed)


def grid(
    make_transform: Callable[..., Transform],
    hyper: Mapping[str, Sequence[Any]],
    seeds: Sequence[int],
    data: Dataset,
    *,
    model: Model | None = None,
    loss: Loss = cross_entropy,
    epochs: int = 10,
    batch: int = 64,
    part: str = "validation",
    paired: bool = False,
    progress: Progress = no_progress,
) -> Runs:
    """Train every setting with every seed, settings outermost; `paired`: setting i with seed i only.

    hyper: arguments of make_transform by name, one value for each setting. A seed draws the same start, model(seed),
    and the same batches under every setting. `part` of the data is measured after every epoch; its columns are called
    validation_loss and validation_accuracy whichever part it is. Raises what `fit_many` raises.
    """
    lengths = {name: len(values) for name, values in hyper.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"grid: hyper must hold one value for each setting under every name, got {lengths}")
    settings = next(iter(lengths.values()))
    if paired and settings != len(seeds):
        raise ValueError(f"grid: paired needs as many settings as seeds, got {settings} and {len(seeds)}")
    if part not in data.parts():
        raise ValueError(f"grid: part must be one of {', '.join(data.parts())}, got {part!r}")
    each = list(seeds) if paired else [*seeds] * settings
    repeats = 1 if paired else len(seeds)
    make = model or small_mlp(data)
    return fit_many(
        [make(seed) for seed in each],
        loss,
        make_transform,
        data.train,
        data.parts()[part],
        hyper={name: [value for value in values for _ in range(repeats)] for name, values in hyper.items()},
        seeds=each,
        epochs=epochs,
        batch=batch,
        progress=progress,
    )


def at_the_end(runs: Runs, settings: int, name: str = "validation_loss") -> NDArray[np.float64]:
    """(settings, seeds) what the last epoch measured; infinite where the run diverged (0 for an accuracy)."""
    diverged = (runs.diverged_at > 0).numpy()
    worst = 0.0 if name.endswith("accuracy") else np.inf
    return np.where(diverged, worst, runs[name][:, -1].double().numpy()).reshape(settings, -1)
