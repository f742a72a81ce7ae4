"""The range test beside the package torch-lr-finder: same model, data and batches; suggestions, their regret, time."""

import contextlib
import io
from collections.abc import Callable, Iterator
from math import exp

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from benchmarks import CannotRun, Line, alternate
from course_lib.data import digits, minibatches
from course_lib.models import mlp
from course_lib.optim import Transform, adam, sgd
from course_lib.train import RangeTest, fit_many, range_test
from course_lib.trials.compare import compare

SIZES, BATCH, STEPS, SEEDS, EPOCHS = (64, 32, 10), 64, 100, range(8), 3
BUDGETS = {"steepest": 1.3, "minimum / 10": 1.6}
Optimizers = tuple[Callable[..., Transform], Callable[..., torch.optim.Optimizer]]
CASES: dict[str, tuple[Optimizers, float, float]] = {  # ours and torch's, the lowest and the highest learning rate
    "SGD": ((sgd, torch.optim.SGD), 1e-3, 100.0),
    "momentum": (
        (lambda lr: sgd(lr, 0.9), lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9)),
        1e-4,
        10.0,
    ),
    "Adam": ((adam, torch.optim.Adam), 3e-5, 3.0),
}


def lines() -> Iterator[Line]:
    """For each optimizer: how far the losses differ before smoothing; by each of our rules the test loss at what it
    suggests over that at the package's suggestion, geometric means over eight seeds; and the time of eight tests. In
    brackets stand ours and the package's suggestion, and the loss there over that at the best of a sweep.

    The package's own rule is the steepest descent of its smoothed loss per step, without bias correction, the first ten
    and the last five steps left out.
    """
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            import torch_lr_finder
    except ImportError:
        raise CannotRun("the package torch-lr-finder is not installed") from None
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for name, (optimizers, low, high) in CASES.items():
            yield from _lines(torch_lr_finder.LRFinder, name, optimizers, low, high)
    finally:
        torch.set_num_threads(threads)


def _lines(finder: Callable, name: str, optimizers: Optimizers, low: float, high: float) -> Iterator[Line]:
    ours, theirs = optimizers
    batches = [_batches(seed) for seed in SEEDS]

    def many(diverged: float = 4.0) -> RangeTest:
        models = [mlp(SIZES, seed=seed) for seed in SEEDS]
        return range_test(
            models,
            cross_entropy,
            ours,
            digits().train,
            low=low,
            high=high,
            steps=STEPS,
            batch=BATCH,
            seeds=SEEDS,
            diverged=diverged,
        )

    def one_by_one(**arguments: float) -> list:
        return [_package(finder, theirs, low, high, seed, batches[seed], **arguments) for seed in SEEDS]

    result, raw = many(), one_by_one(smooth_f=0, diverge_th=4.0)
    gaps = [
        np.abs(np.array(one.history["loss"][:50]) / result.losses[i, :50].numpy() - 1).max()
        for i, one in enumerate(raw)
    ]
    yield Line(f"{name}: losses of 50 steps, largest relative difference", float(max(gaps)), 0.01, "", "below")

    suggested = {
        "package": np.array([_suggestion(one) for one in one_by_one()]),
        "steepest": result.suggest("steepest").numpy(),
        "minimum / 10": result.suggest("minimum / 10").numpy(),
    }
    tested = {rule: _tested(ours, lrs) for rule, lrs in suggested.items()}
    grid = np.geomspace(10 * low, high / 10, 13)
    best = np.log(np.stack([_tested(ours, np.full(len(SEEDS), lr)) for lr in grid])).mean(axis=1).min()
    regrets = {rule: exp(np.log(losses).mean() - best) for rule, losses in tested.items()}
    for rule, budget in BUDGETS.items():
        ratio = compare(np.log(tested[rule]), np.log(tested["package"]))
        pair = ", ".join(f"{np.exp(np.log(suggested[r]).mean()):.2g} {regrets[r]:.2f}x" for r in (rule, "package"))
        yield Line(f"{name}: loss by {rule} / by the package ({pair})", exp(ratio.mean), budget, "x", "below")
    seconds = alternate(many, one_by_one, repeats=3)
    yield Line(f"{name}: loop over torch-lr-finder / range_test, 8 tests", seconds[1] / seconds[0], 2.5, "x", "above")


def _batches(seed: int) -> list[list[int]]:
    """The rows of the first batches of `fit` with this seed."""
    rows, generator = len(digits().train), torch.Generator().manual_seed(seed)
    found: list[list[int]] = []
    while len(found) < STEPS:
        found += [batch.tolist() for batch in minibatches(rows, BATCH, generator=generator)]
    return found[:STEPS]


def _package(finder: Callable, make: Callable, low: float, high: float, seed: int, batches: list, **arguments: float):
    train, model = digits().train, mlp(SIZES, seed=seed)
    loader = DataLoader(TensorDataset(train.x, train.y), batch_sampler=batches)
    test = finder(model, make(model.parameters(), lr=low), cross_entropy)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        test.range_test(loader, end_lr=high, num_iter=STEPS, **arguments)
    return test


def _suggestion(test) -> float:
    """What the package's `plot` returns, without the plot."""
    lrs, losses = test.history["lr"][10:-5], np.array(test.history["loss"][10:-5])
    return lrs[int(np.gradient(losses).argmin())]


def _tested(make: Callable[..., Transform], lrs: np.ndarray) -> np.ndarray:
    """(seeds,) test loss after three epochs, seed i at lrs[i]; 100 where a run diverged."""
    data, models = digits(), [mlp(SIZES, seed=seed) for seed in SEEDS]
    runs = fit_many(
        models, cross_entropy, make, data.train, data.test, hyper={"lr": lrs}, seeds=SEEDS, epochs=EPOCHS, batch=BATCH
    )
    return runs["validation_loss"][:, -1].double().nan_to_num(100, 100).clamp(max=100).numpy()
