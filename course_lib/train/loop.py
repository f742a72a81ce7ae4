"""The one training loop of the course, written to be read aloud."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from course_lib.data import Split, minibatches
from course_lib.ranges import Progress, no_progress

Loss = Callable[[Tensor, Tensor], Tensor]
Record = dict[str, float]


class Optimizer(Protocol):
    """A torch.optim optimizer, or a course_lib.optim.Stepper."""

    def zero_grad(self) -> None: ...

    def step(self) -> Any: ...


def accuracy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Share of rows whose largest output is the label's: (), 0 to 1. outputs: (n, classes), labels: (n,) int64."""
    return (outputs.argmax(-1) == labels).float().mean()


CLASSIFICATION: Mapping[str, Loss] = MappingProxyType({"accuracy": accuracy})


@dataclass(frozen=True, eq=False)
class History:
    """What a run left behind.

    loss: (steps,), of each minibatch before its update. epochs[name]: (epochs,), at the end of each epoch:
    "train_loss", the mean over its minibatches, and where there is a validation part "validation_loss" and a
    "validation_..." for each metric. history["train_loss"] is short for history.epochs["train_loss"].
    """

    loss: Tensor
    epochs: Mapping[str, Tensor]

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.epochs:
            raise KeyError(f"history: there is no {name!r}; there are {', '.join(self.epochs)}")
        return self.epochs[name]


def fit(
    model: nn.Module,
    loss: Loss,
    optimizer: Optimizer,
    train: Split,
    validation: Split | None = None,
    *,
    epochs: int = 10,
    batch: int = 64,
    seed: int = 0,
    metrics: Mapping[str, Loss] = CLASSIFICATION,
    on_step: Callable[[int, Tensor], object] = lambda step, loss: None,
    on_epoch: Callable[[Record], object] = lambda record: None,
    progress: Progress = no_progress,
) -> History:
    """Train the model in place; batches are drawn without replacement, in an order that `seed` alone decides.

    loss(outputs, y) -> (), the mean over rows. metrics: name -> function(outputs, y) -> (), measured on validation in
    eval mode; {} for none. on_step(step, loss) is called after each update, with the gradients still in place; loss
    is a tensor, so that nothing waits for a device unless the hook does. on_epoch(record) is called with the numbers
    of each epoch. Every module is left in the mode, train or eval, in which it came.

    Raises ValueError for data that are not finite and for epochs or batch below 1, TypeError for data not in a Split.
    """
    validate("fit", train, validation, epochs, batch)
    generator = torch.Generator().manual_seed(seed)
    losses: list[Tensor] = []
    records: list[Record] = []
    with train_mode(model, training=True):
        for epoch in progress(range(1, epochs + 1)):
            start = len(losses)
            for rows in minibatches(len(train), batch, generator=generator):
                optimizer.zero_grad()
                error = loss(model(train.x[rows]), train.y[rows])
                error.backward()
                optimizer.step()
                losses.append(error.detach())
                on_step(len(losses), losses[-1])
            record = {"epoch": epoch, "step": len(losses), "train_loss": float(torch.stack(losses[start:]).mean())}
            if validation is not None:
                measured = evaluate(model, loss, validation, metrics=metrics)
                record |= {f"validation_{name}": value for name, value in measured.items()}
            records.append(record)
            on_epoch(record)
    names = [name for name in records[0] if name not in ("epoch", "step")]
    return History(torch.stack(losses).cpu(), {name: torch.tensor([r[name] for r in records]) for name in names})


@torch.no_grad()
def evaluate(model: nn.Module, loss: Loss, split: Split, *, metrics: Mapping[str, Loss] = CLASSIFICATION) -> Record:
    """The loss and each metric on all rows of a split at once, in eval mode: {"loss": ..., name: ...}."""
    with train_mode(model, training=False):
        outputs = model(split.x)
    return {name: float(measure(outputs, split.y)) for name, measure in {"loss": loss, **metrics}.items()}


@contextmanager
def train_mode(model: nn.Module, *, training: bool) -> Iterator[None]:
    """Train or eval mode inside the context; afterwards each module is as it was, also where they differed."""
    before = [(module, module.training) for module in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        for module, was in before:
            module.training = was


def validate(who: str, train: Split, validation: Split | None, epochs: int, batch: int) -> None:
    """Raise what `fit` says it raises, in the name of `who`."""
    if epochs < 1 or batch < 1:
        raise ValueError(f"{who}: epochs and batch must be at least 1, got {epochs=}, {batch=}")
    for name, split in (("train", train), ("validation", validation)):
        if split is None:
            continue
        if not isinstance(split, Split):
            raise TypeError(f"{who}: {name} must be a Split, such as digits().{name}, got {type(split).__name__}")
        try:
            Split(split.x, split.y)  # looks again: a tensor may have been written to in the meantime
        except ValueError as error:
            raise ValueError(f"{who}: {name}.{error}") from None
