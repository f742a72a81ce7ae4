"""The range test on trial: its verdict on seeds that the text does not show, and its pictures."""

from typing import get_args

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from course_lib.data import digits
from course_lib.lectures.learning_rate.range_curves import OPTIMIZERS, RangeCurves, range_curves
from course_lib.models import mlp
from course_lib.train import range_test, suggestion
from course_lib.train.range_test import Rule
from course_lib.trials import at_the_end, grid, single_threaded, tune
from course_lib.widgets.canvas import Canvas

RULES = get_args(Rule)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_suggestion_is_that_of_the_range_test_on_this_start_and_these_batches(optimizer):
    (make, lrs), result = OPTIMIZERS[optimizer], range_curves(optimizer, 32, seeds=3, seed=7)
    alone = range_test(
        mlp((64, 32, 10), seed=8),
        cross_entropy,
        make,
        digits().train,
        low=result.lrs[0],
        high=result.lrs[-1],
        batch=32,
        seeds=8,
    )
    for rule in RULES:
        assert result.suggested[rule][1] == pytest.approx(float(alone.suggest(rule)[0]), rel=0.5)
        assert result.suggested[rule][2] == suggestion(
            torch.from_numpy(result.lrs), torch.from_numpy(result.smooth[2]), rule
        )
    assert result.lrs[0] < lrs[0] < lrs[-1] < result.lrs[-1]


@single_threaded
def on_trial(batch, seed):
    """By optimizer and rule: suggestion over best learning rate, test loss over that at the best; where runs diverge.

    The last is the lowest point of the range tests over the first learning rate whose loss is twice the lowest.
    """
    each, ratio, cost, upper = range(seed, seed + 8), {}, {}, {}
    best = tune(OPTIMIZERS, None, digits(), epochs=3, batch=batch, seeds=each, choose="mean")
    for name, (make, lrs) in OPTIMIZERS.items():
        suggested, losses = range_curves(name, batch, seed=seed).suggested, best.mean_loss(name)
        for rule in RULES:
            hyper = {"lr": suggested[rule]}
            runs = grid(make, hyper, each, digits(), epochs=3, batch=batch, part="test", paired=True)
            cost[name, rule] = np.exp(np.log(at_the_end(runs, 1)[0] / best.loss[name]).mean())
            ratio[name, rule] = np.exp(np.log(suggested[rule]).mean()) / best.best(name)
        end = lrs[(lrs > best.best(name)) & (losses > 2 * losses.min())][0]
        upper[name] = 10 * np.exp(np.log(suggested["minimum / 10"]).mean()) / end
    return ratio, cost, upper


@pytest.mark.slow
@pytest.mark.parametrize("batch", [pytest.param(64, marks=pytest.mark.thorough), 256])
@pytest.mark.parametrize("seed", [100])
def test_what_a_suggestion_costs(batch, seed):
    ratio, cost, upper = on_trial(batch, seed)
    for rule in RULES:
        assert cost["SGD", rule] > 1.4
        assert ratio["SGD", rule] < 0.5
    assert cost["momentum", "steepest"] > 1.3
    assert cost["momentum", "minimum / 10"] < 1.4
    assert cost["Adam", "minimum / 10"] < 1.3
    assert all(0.4 < place < 5 for place in upper.values())
    if batch == 256:
        assert cost["Adam", "steepest"] > 1.3


def test_the_picture_of_range_tests_follows_its_settings():
    canvas = Canvas(RangeCurves.draw)
    first = canvas.render(range_curves(seeds=2))
    assert canvas.render(range_curves("Adam", seeds=3)) != first
    assert canvas.render(range_curves(seeds=2)) == first
