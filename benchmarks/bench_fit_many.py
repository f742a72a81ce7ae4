"""What `fit_many` saves beside a loop of torch.optim.Adam: digits MLP 64-64-64-10, batch 64, 100 steps, N runs."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import torch
from torch.nn.functional import cross_entropy

from benchmarks import Line, alternate
from course_lib.data import Split, digits
from course_lib.models import mlp
from course_lib.optim import adam
from course_lib.train import fit_many

SIZES, ROWS, BATCH, EPOCHS, STEPS = (64, 64, 64, 10), 640, 64, 10, 100
BUDGETS = {8: 1.5, 32: 4.0, 128: 5.0}
LOOPED = 8


def lines() -> Iterator[Line]:
    """Each run has its own start, learning rate and order of batches; the loop trains eight, its time is scaled up.

    Both may use all cores or one: whichever is faster. In brackets the share of this machine's peak, which is the rate
    of N products of 64 x 64 matrices at once: a step needs 6 operations a weight and row, 4 in the first layer.
    """
    data = digits().train
    train = Split(data.x[:ROWS], data.y[:ROWS])
    weights = [a * b for a, b in pairwise(SIZES)]
    operations = BATCH * STEPS * (6 * sum(weights) - 2 * weights[0])
    loop = _at_best(partial(_loop, train, LOOPED))
    for n, budget in BUDGETS.items():
        looped, many = alternate(loop, _at_best(partial(_many, train, n)), repeats=5)
        (product,) = alternate(
            _at_best(partial(torch.bmm, torch.randn(n, BATCH, 64), torch.randn(n, 64, 64))), repeats=51
        )
        share = operations / many / (2 * BATCH * 64 * 64 / product)
        name = f"loop of torch.optim.Adam / fit_many, {n} runs ({100 * share:.0f} % of peak)"
        yield Line(name, looped * n / LOOPED / many, budget, "x", "above")


def _at_best(run: Callable[[], object]) -> Callable[[], None]:
    """The run with as many threads as torch would take or with one, whichever is tried to be faster."""

    def with_threads(count: int) -> None:
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            run()
        finally:
            torch.set_num_threads(before)

    candidates = [partial(with_threads, count) for count in (1, torch.get_num_threads())]
    seconds = alternate(*candidates, repeats=2)
    return candidates[seconds.index(min(seconds))]


def _lrs(n: int) -> list[float]:
    return torch.logspace(-4, -2, n, dtype=torch.float64).tolist()


def _loop(train: Split, n: int) -> None:
    for seed, lr in enumerate(_lrs(n)):
        model, generator = mlp(SIZES, seed=seed), torch.Generator().manual_seed(seed)
        optimizer = torch.optim.Adam(model.parameters(), lr)
        for _ in range(EPOCHS):
            for rows in torch.randperm(ROWS, generator=generator).split(BATCH):
                optimizer.zero_grad()
                cross_entropy(model(train.x[rows]), train.y[rows]).backward()
                optimizer.step()


def _many(train: Split, n: int) -> None:
    models = [mlp(SIZES, seed=seed) for seed in range(n)]
    fit_many(models, cross_entropy, adam, train, hyper={"lr": _lrs(n)}, seeds=range(n), epochs=EPOCHS, batch=BATCH)
