"""What `fit` costs beside a bare loop of torch.optim, on the digits MLP 64-64-64-10 in batches of 64."""

from collections.abc import Iterator
from statistics import median
from time import perf_counter

import torch
from torch.nn.functional import cross_entropy

from benchmarks import Line
from course_lib.data import digits
from course_lib.models import mlp
from course_lib.train import fit

EPOCHS, REPEATS = 5, 42


def lines() -> Iterator[Line]:
    """The first ratio is the loop's own cost; the second adds what a bare loop does not do, an evaluation each epoch.

    Each is the median over repeats of the ratio of two runs close in time; the order rotates from repeat to repeat.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        data = digits()
        runs = [_bare, _fit(None), _fit(data.validation)]
        for run in runs:
            run(data)
        times = []
        for repeat in range(REPEATS):
            order = [(repeat + i) % 3 for i in range(3)]
            seconds = {i: _seconds(runs[i], data) for i in order}
            times.append([seconds[i] for i in range(3)])
    finally:
        torch.set_num_threads(threads)
    yield Line("fit / bare loop of torch.optim", median(f / b for b, f, _ in times), 1.10, "x", "below")
    yield Line("fit evaluating each epoch / bare loop without", median(e / b for b, _, e in times), 1.10, "x", "below")


def _seconds(run, data) -> float:
    start = perf_counter()
    run(data)
    return perf_counter() - start


def _started():
    model = mlp([64, 64, 64, 10])
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def _bare(data) -> None:
    model, optimizer = _started()
    x, y, generator = data.train.x, data.train.y, torch.Generator().manual_seed(0)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x), generator=generator).split(64):
            optimizer.zero_grad()
            cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()


def _fit(validation):
    def run(data) -> None:
        model, optimizer = _started()
        fit(model, cross_entropy, optimizer, data.train, validation, epochs=EPOCHS)

    return run
