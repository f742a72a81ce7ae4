"""The range test is training under a growing learning rate: as by hand, as in torch-lr-finder; what it refuses."""

import copy
import math

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.data import DataLoader, TensorDataset

from course_lib.data import Split, minibatches, moons
from course_lib.models import mlp
from course_lib.optim import adam, rmsprop, sgd
from course_lib.train import range_test, smoothed, suggestion

DATA = moons(100, noise=0.2).train
OPTIMIZERS = {
    "SGD": (sgd, torch.optim.SGD),
    "momentum": (lambda lr: sgd(lr, 0.9), lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9)),
    "Adam": (adam, torch.optim.Adam),
    "RMSProp": (rmsprop, torch.optim.RMSprop),
}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def nets(n):
    return [mlp([2, 12, 2], seed=seed) for seed in range(n)]


def batches(steps, size, seed):
    generator = torch.Generator().manual_seed(seed)
    drawn = []
    while len(drawn) < steps:
        drawn += minibatches(len(DATA), size, generator=generator)
    return drawn[:steps]


def curve(*values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_run_is_a_loop_by_hand_that_sets_the_learning_rate(name):
    ours, theirs = OPTIMIZERS[name]
    result = range_test(nets(3), cross_entropy, ours, DATA, low=1e-4, high=1.0, steps=30, batch=16, seeds=range(3))
    np.testing.assert_allclose(result.lrs, np.geomspace(1e-4, 1.0, 30))
    for run, model in enumerate(nets(3)):
        optimizer = theirs(model.parameters(), lr=1e-4)
        for t, rows in enumerate(batches(30, 16, run)):
            optimizer.param_groups[0]["lr"] = float(result.lrs[t])
            optimizer.zero_grad()
            loss = cross_entropy(model(DATA.x[rows]), DATA.y[rows])
            assert float(result.losses[run, t]) == pytest.approx(loss.item(), rel=2e-3), t
            loss.backward()
            optimizer.step()


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_its_losses_are_those_of_torch_lr_finder_on_the_same_batches(name):
    finder = pytest.importorskip("torch_lr_finder")
    ours, theirs = OPTIMIZERS[name]
    model = mlp([2, 12, 2])
    result = range_test(model, cross_entropy, ours, DATA, low=1e-4, high=1.0, steps=40, batch=10, seeds=5)
    package = finder.LRFinder(model, theirs(model.parameters(), lr=1e-4), cross_entropy)
    loader = DataLoader(TensorDataset(DATA.x, DATA.y), batch_sampler=[rows.tolist() for rows in batches(40, 10, 5)])
    package.range_test(loader, end_lr=1.0, num_iter=40, smooth_f=0, diverge_th=1e9)
    np.testing.assert_allclose(package.history["lr"], result.lrs, rtol=1e-9)
    np.testing.assert_allclose(package.history["loss"], result.losses[0], rtol=2e-4)


def test_models_are_left_as_they_were_and_one_model_serves_many_seeds():
    model = mlp([2, 12, 2])
    before = copy.deepcopy(model.state_dict())
    result = range_test(model, cross_entropy, sgd, DATA, seeds=[0, 1, 1], steps=20, batch=10)
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
    assert result.losses.shape == result.smooth.shape == (3, 20)
    assert torch.equal(result.losses[1], result.losses[2])
    assert not torch.equal(result.losses[0], result.losses[1])


def test_hyper_parameters_may_differ_from_run_to_run():
    result = range_test(mlp([2, 12, 2]), cross_entropy, sgd, DATA, hyper={"beta": [0.0, 0.9]}, steps=30, high=1.0)
    alone = range_test(mlp([2, 12, 2]), cross_entropy, lambda lr: sgd(lr, 0.9), DATA, steps=30, high=1.0)
    torch.testing.assert_close(result.losses[1:], alone.losses)


def test_a_mean_of_equal_losses_is_that_loss_from_the_first_step_on():
    torch.testing.assert_close(smoothed(torch.full((2, 50), 3.0), 0.98), torch.full((2, 50), 3.0))
    assert torch.equal(smoothed(curve(3, 1, 2), 0.0), curve(3, 1, 2))
    torch.testing.assert_close(smoothed(curve(3, 1), 0.9), curve(3, (0.9 * 3 + 1) / 1.9))


def test_a_run_stops_where_its_smoothed_loss_is_above_the_bound_and_touches_no_other():
    x = torch.linspace(-1, 1, 40)[:, None]
    line = Split(x, 2 * x)

    def go(**arguments):
        return range_test(
            mlp([1, 1]), mse_loss, sgd, line, low=1e-3, high=1e4, steps=60, batch=10, seeds=[0, 1, 2], **arguments
        )

    result = go(diverged=3.0)
    for losses, smooth in zip(result.losses, result.smooth, strict=True):
        whole = smoothed(losses)
        bad = (whole > 3 * whole.cummin(0).values) | ~losses.isfinite()
        first = int(bad.int().argmax())
        assert 30 < first < 60
        assert smooth[first:].isnan().all()
        torch.testing.assert_close(smooth[:first], whole[:first])
    assert go(diverged=1e300).smooth.isfinite().sum() > result.smooth.isfinite().sum()
    alone = range_test(mlp([1, 1]), mse_loss, sgd, line, low=1e-3, high=1e4, steps=60, batch=10, seeds=1, diverged=3.0)
    torch.testing.assert_close(alone.smooth[0], result.smooth[1], equal_nan=True)


def test_a_single_infinite_loss_ends_the_reading_for_good():
    losses = torch.ones(1, 10, dtype=torch.float64)
    losses[0, 6] = math.inf
    assert smoothed(losses)[0, :6].isfinite().all()
    assert not smoothed(losses)[0, 6:].isfinite().any()


def test_the_rules_read_what_they_say():
    lrs = torch.logspace(-4, 0, 41, dtype=torch.float64)
    place = lrs.log10()
    smooth = 1 - torch.tanh(4 * (place + 2))  # falls fastest at 1e-2
    assert suggestion(lrs, smooth) == pytest.approx(1e-2)
    bowl = (place + 1) ** 2
    assert suggestion(lrs, bowl, "minimum / 10") == pytest.approx(1e-2)
    cut = bowl.clone()
    cut[25:] = torch.nan
    assert suggestion(lrs, cut, "minimum / 10") == pytest.approx(float(lrs[24]) / 10)
    early = smooth.clone()
    early[0] += 100  # within the first tenth, which is not looked at
    assert suggestion(lrs, early) == pytest.approx(1e-2)
    assert suggestion(lrs, 5 * smooth + 3) == suggestion(lrs, smooth)


@pytest.mark.parametrize("stretch", [0.5, 1.5, 3.0])
def test_on_a_bowl_sgd_s_loss_rises_for_good_near_the_stability_limit(stretch):
    x = stretch * torch.linspace(-1, 1, 64)[:, None]
    limit = 1 / max(1.0, float((x**2).mean()))  # 2 / lambda; the bias has curvature 2, the weight 2 mean x^2
    wave = Split(x, 3 * x + torch.sin(9 * x))
    result = range_test(mlp([1, 1]), mse_loss, sgd, wave, low=1e-3, high=1e2, steps=200, batch=16, smoothing=0.0)
    lost = int((~(result.losses[0] < 1e6)).int().argmax())
    falls = result.losses[0, :lost].diff() <= 0
    turn = float(result.lrs[falls.nonzero()[-1, 0] + 1])  # from here on the loss only rises
    assert 0.7 * limit < turn < 4 * limit


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": 0.0}, "range_test: low must be above 0 and below high, high finite, got low=0.0, high=10.0"),
        ({"low": 1.0, "high": 0.1}, "below high, high finite, got low=1.0, high=0.1"),
        ({"high": math.inf}, "high finite, got low=1e-05, high=inf"),
        ({"low": math.nan}, "low must be above 0"),
        ({"steps": 2}, "range_test: steps must be at least 3, got 2"),
        ({"smoothing": 1.0}, "range_test: smoothing must be at least 0 and below 1, got 1.0"),
        ({"smoothing": math.nan}, "smoothing must be at least 0 and below 1, got nan"),
        ({"diverged": 1.0}, "range_test: diverged must be above 1, got 1.0"),
        ({"batch": 0}, "epochs and batch must be at least 1"),
        ({"seeds": []}, "number of runs, got 0 in seeds"),
    ],
)
def test_what_cannot_be_tested_is_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        range_test(mlp([2, 4, 2]), cross_entropy, sgd, DATA, **changes)


@pytest.mark.parametrize(
    ("smooth", "rule", "message"),
    [
        ([1.0] * 20, "valley", "rule must be one of 'steepest', 'minimum / 10', got 'valley'"),
        ([1.0, 0.9, 0.8, 0.7] + [math.nan] * 16, "steepest", "at least 5 numbers before its first NaN, got 4"),
        ([1.0] + [math.nan] * 19, "minimum / 10", "before its first NaN, got 1"),
        ([math.nan] * 20, "steepest", "before its first NaN, got 0"),
    ],
)
def test_a_curve_that_says_nothing_is_refused(smooth, rule, message):
    with pytest.raises(ValueError, match=message):
        suggestion(torch.logspace(-3, 0, 20), curve(*smooth), rule)
