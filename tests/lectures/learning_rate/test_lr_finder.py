"""The range test on trial: its verdict on seeds that the text does not show, and its pictures."""

from functools import partial

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from course_lib.lectures.learning_rate.lr_finder import (
    GRIDS,
    RULES,
    FinderTrial,
    RangeCurves,
    finder_trial,
    range_curves,
)
from course_lib.lectures.learning_rate.training import OPTIMIZERS, SIZES, final, handwriting
from course_lib.models import mlp
from course_lib.train import range_test, suggestion
from course_lib.trials import grid
from course_lib.widgets.canvas import Canvas


@pytest.mark.parametrize("optimizer", GRIDS)
def test_a_suggestion_is_that_of_the_range_test_on_this_start_and_these_batches(optimizer):
    result = range_curves(optimizer, 32, seeds=3, seed=7)
    alone = range_test(
        mlp(SIZES, seed=8),
        cross_entropy,
        OPTIMIZERS[optimizer],
        handwriting().train,
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
    assert result.lrs[0] < GRIDS[optimizer][0] < GRIDS[optimizer][-1] < result.lrs[-1]
    assert result.spread("steepest") >= 1


@pytest.mark.slow
@pytest.mark.parametrize("batch", [pytest.param(64, marks=pytest.mark.thorough), 256])
@pytest.mark.parametrize("seed", [100])
def test_the_finder_s_regret(batch, seed):
    canvas, pictures = Canvas(FinderTrial.draw), []
    result = finder_trial(
        batch, seed=seed, preview=lambda partial: pictures.append((canvas.render(partial), partial.summary()))
    )
    assert len(set(pictures)) == 3
    sgd, momentum, adam = (result.tried[name] for name in GRIDS)
    for rule in RULES:
        assert sgd.ratio(rule) > 1.4
        assert sgd.off(rule) < 0.5
    assert momentum.ratio("steepest") > 1.3
    assert momentum.ratio("minimum / 10") < 1.4
    assert adam.ratio("minimum / 10") < 1.3
    for tried in (sgd, momentum, adam):  # the upper end
        lowest = 10 * np.exp(np.log(tried.suggested["minimum / 10"]).mean())
        assert 0.4 < lowest / tried.end < 2.5
    if batch == 256:
        assert adam.ratio("steepest") > 1.3


def test_every_seed_is_trained_at_its_own_suggestion():
    result = finder_trial(128, 2, 4, seed=20).tried["Adam"]
    asked, fresh = {"lr": result.suggested["steepest"].tolist()}, range(20, 24)
    train = partial(grid, OPTIMIZERS["Adam"], data=handwriting(), epochs=2, batch=128, part="test")
    np.testing.assert_allclose(result.tested["steepest"], final(train(asked, fresh, paired=True), 1)[0], rtol=1e-3)
    np.testing.assert_allclose(result.tested["best"], final(train({"lr": [result.best]}, fresh), 1)[0], rtol=1e-3)
    assert result.best == GRIDS["Adam"][result.losses.argmin()]


def test_the_picture_of_range_tests_follows_its_settings():
    canvas = Canvas(RangeCurves.draw)
    first = canvas.render(range_curves(seeds=2))
    assert canvas.render(range_curves("Adam", seeds=3)) != first
    assert canvas.render(range_curves(seeds=2)) == first
