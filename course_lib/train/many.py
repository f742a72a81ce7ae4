"""`fit_many`: N trainings at once, equal to N calls of `fit`."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.data import Split, minibatches
from course_lib.optim import Transform
from course_lib.ranges import Progress, no_progress
from course_lib.train.loop import CLASSIFICATION, History, Loss, validate
from course_lib.train.stack import Named, Stack


@dataclass(frozen=True, eq=False)
class Runs:
    """What N runs left behind.

    loss: (N, steps). epochs[name]: (N, epochs), with the names of `History`; runs["train_loss"] is short for
    runs.epochs["train_loss"]. diverged_at: (N,) int64, the first step, counted from 1, whose loss was not finite, or
    the last one where only the weights it left are not; 0 for a run that stayed finite.
    weights[name]: (N, ...), parameters and buffers. chunk: runs trained at one time; bytes: what they were expected to
    need at most.
    """

    loss: Tensor
    epochs: Mapping[str, Tensor]
    diverged_at: Tensor
    weights: Mapping[str, Tensor]
    chunk: int
    bytes: int
    template: nn.Module = field(repr=False)

    def __len__(self) -> int:
        return len(self.loss)

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.epochs:
            raise KeyError(f"runs: there is no {name!r}; there are {', '.join(self.epochs)}")
        return self.epochs[name]

    def history(self, run: int) -> History:
        """What `fit` would have returned for this run."""
        return History(self.loss[run], {name: values[run] for name, values in self.epochs.items()})

    @torch.no_grad()
    def model(self, run: int) -> nn.Module:
        """A new module with the weights that this run ended with."""
        model = copy.deepcopy(self.template)
        for name, t in [*model.named_parameters(), *model.named_buffers()]:
            t.copy_(self.weights[name][run])
        return model


def fit_many(
    models: nn.Module | Sequence[nn.Module],
    loss: Loss,
    make_transform: Callable[..., Transform],
    train: Split,
    validation: Split | None = None,
    *,
    hyper: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = 0,
    epochs: int = 10,
    batch: int = 64,
    metrics: Mapping[str, Loss] = CLASSIFICATION,
    limit: float = 2**30,
    on_epoch: Callable[[range, Named], object] = lambda runs, record: None,
    progress: Progress = no_progress,
) -> Runs:
    """Train N models, each as `fit` would with Stepper(model.parameters(), make_transform(**its hyper-parameters)).

    Each of three things has one value, which all runs share, or N. models: where the runs start, equal but for their
    weights; they are left as they are. hyper: arguments of make_transform by name; of N values each
    run receives its own as a () tensor. seeds: each alone decides an order of batches; runs of one seed share them.

        runs = fit_many(mlp([64, 64, 10]), cross_entropy, adam, digits().train, hyper={"lr": torch.logspace(-4, 0, 32)})

    A run that becomes NaN is reported in `diverged_at` and does not affect the others. Dropout draws a mask for each
    run from torch's global generator: not the mask that `fit` would draw. The step is recorded
    (course_lib.train.replay): Python in model, loss and transform runs once for each shape of batch, not once a step,
    and may not look at values.

    limit: bytes; where all runs at once might need more they are trained in chunks, of at least one. on_epoch(runs,
    record): after each epoch of a chunk, {"epoch": (), "step": (), "train_loss": (len(runs),), ...}. progress goes
    over the epochs of all chunks.

    Raises what `fit` and make_transform raise; ValueError where numbers of runs or architectures differ, or a value is
    looked at; TypeError where make_transform does not return a Transform.
    """
    validate("fit_many", train, validation, epochs, batch)
    stack = Stack(models, loss, make_transform, hyper or {}, seeds, metrics)
    need = stack.bytes_a_run(train, validation, batch)
    chunks = -(-stack.runs // max(1, min(stack.runs, int(limit // need))))
    bounds = [stack.runs * i // chunks for i in range(chunks + 1)]
    ticks = iter(progress(range(chunks * epochs)))
    every: list[Tensor] = []
    curves: list[Named] = []
    weights: list[Named] = []
    for runs in map(range, bounds, bounds[1:]):
        training, generators = stack.start(runs), stack.generators(runs)
        losses: list[Tensor] = []
        records: list[Named] = []
        for epoch, _ in zip(range(1, epochs + 1), ticks, strict=False):
            first = len(losses)
            orders = [minibatches(len(train), batch, generator=generator) for generator in generators]
            for rows in map(torch.stack, zip(*orders, strict=True)):
                training, error = stack.step(training, *stack.batch(train, rows))
                losses.append(error)
            record = {"train_loss": torch.stack(losses[first:]).mean(0)}
            if validation is not None:
                record |= {f"validation_{name}": v for name, v in stack.measure(training, validation).items()}
            records.append(record)
            on_epoch(runs, {"epoch": torch.tensor(epoch), "step": torch.tensor(len(losses)), **record})
        every.append(torch.stack(losses, dim=1).cpu())
        curves.append({name: torch.stack([r[name] for r in records], dim=1).float().cpu() for name in records[0]})
        weights.append(training.params | training.buffers)
    next(ticks, None)  # so that the hook sees the end
    loss_curves, final, largest = torch.cat(every), _joined(weights), max(map(len, every))
    diverged_at = _diverged_at(loss_curves, final)
    return Runs(loss_curves, _joined(curves), diverged_at, final, largest, largest * need, stack.models[0])


def bytes_a_run(
    models: nn.Module | Sequence[nn.Module],
    loss: Loss,
    make_transform: Callable[..., Transform],
    train: Split,
    validation: Split | None = None,
    *,
    hyper: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = 0,
    batch: int = 64,
    metrics: Mapping[str, Loss] = CLASSIFICATION,
) -> int:
    """What `fit_many` reckons one run to need at most; `limit` divided by it is the size of a chunk.

    Counted are the run's weights, the transform's state, a batch, and every tensor that a step or a measurement makes,
    all of which a recording holds at once. The data set, and what each step adds to the history, are not.
    """
    validate("bytes_a_run", train, validation, 1, batch)
    return Stack(models, loss, make_transform, hyper or {}, seeds, metrics).bytes_a_run(train, validation, batch)


def _joined(parts: Sequence[Named]) -> Named:
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def _diverged_at(losses: Tensor, weights: Named) -> Tensor:
    bad = ~losses.isfinite()
    lost = torch.stack([~w.isfinite().reshape(len(w), -1).all(1) for w in weights.values()]).any(0).cpu()
    first = torch.where(bad.any(1), bad.int().argmax(1) + 1, losses.shape[1])
    return torch.where(bad.any(1) | lost, first, 0)
