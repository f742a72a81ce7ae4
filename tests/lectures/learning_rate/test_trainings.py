"""Lecture 05's trainings on the digits: what the text claims, on seeds that it does not show; partial results drawn."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from course_lib.data import Split
from course_lib.lectures.learning_rate.counting import MiscountedSchedule, miscounted_schedule
from course_lib.lectures.learning_rate.restarts import Restarts, barrier, between, restarts
from course_lib.lectures.learning_rate.scaling import (
    METHODS,
    BatchRule,
    Horizons,
    averaged,
    batch_rule,
    horizons,
    scheduled,
)
from course_lib.lectures.learning_rate.shapes import decaying
from course_lib.lectures.learning_rate.training import SIZES, batches_in, final, geometric_mean, handwriting
from course_lib.lectures.learning_rate.warmup import WarmupGain, warmup_gain
from course_lib.models import mlp
from course_lib.optim import chain, sgd
from course_lib.schedules import cosine, scale_by_schedule, warm_restarts
from course_lib.train import evaluate
from course_lib.trials import compare, grid, tune
from course_lib.widgets.canvas import Canvas


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def run_and_watch(experiment, draw, **setting):
    """The result; every partial one on the way is drawn and read aloud, and no two pictures are the same."""
    canvas, pictures = Canvas(draw), []

    def show(partial):
        pictures.append(canvas.render(partial))
        assert partial.summary().strip()

    result = experiment(**setting, preview=show)
    pictures.append(canvas.render(result))
    assert len(set(pictures)) >= len(pictures) - 1 >= 2 - (experiment is warmup_gain)
    return result


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 100])
def test_decay_helps_where_noise_stays_and_little_where_the_network_fits_every_label(seed):
    def scheduled(name):
        return lambda lr: chain(sgd(lr), scale_by_schedule(decaying(name, batches_in(4, 32))))

    made = {name: scheduled(name) for name in ("constant", "step", "cosine", "linear")}
    how = {"epochs": 4, "batch": 32, "seeds": range(seed, seed + 8), "choose": "mean"}
    noisy, clean = (tune(made, np.geomspace(0.1, 1.6, 7), handwriting(share), **how) for share in (0.2, 0.0))
    for name in ("cosine", "linear"):
        assert noisy.compare("constant", name, "loss").mean > 0.03
        assert noisy.compare(name, "constant").mean > 0.01
        assert noisy.best(name) > 2 * noisy.best("constant")
        assert abs(clean.compare("constant", name, "loss").mean) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100])
def test_the_wrong_unit_ruins_all_schedules_but_the_cosine_that_comes_back(seed):
    result = run_and_watch(miscounted_schedule, MiscountedSchedule.draw, seed=seed)
    for kind in ("linear", "step decay", "exponential"):
        assert min(result.cost(kind, 1).margin, result.cost(kind, 2).margin) > 0.3
        assert result.cost(kind, 1).mean > 0.12
        assert 0.01 < result.cost(kind, 2).mean < 0.08
    assert abs(result.cost("cosine", 1).mean) < 0.01
    assert abs(result.cost("cosine", 2).mean) < 0.01


@pytest.mark.thorough
def test_a_warm_up_costs_up_to_the_best_lr_and_helps_far_beyond_it():
    runs = [run_and_watch(warmup_gain, WarmupGain.draw, seed=seed) for seed in (1000, 1008, 1016)]
    assert all(0.008 < run.best("none")[0] < 0.04 for run in runs)
    pooled = [
        compare(*(np.log(np.concatenate([run.losses[name][i] for run in runs])) for name in ("none", "warm-up")))
        for i in range(8)
    ]
    assert all(c.mean < -0.01 for c in pooled[:5])  # the loss with a warm-up is higher
    assert min(c.margin for c in pooled[:3]) > 0.5
    assert 0.2 < pooled[7].mean < 0.6
    assert pooled[7].margin > 0.5


@pytest.mark.slow
def test_without_correction_the_best_lr_is_lower_with_a_warm_up_or_without():
    raw = warmup_gain("Adam without correction")
    assert max(raw.best("none")[0], raw.best("warm-up")[0]) < 0.01
    assert raw.at_best.largest < 0.5


@pytest.mark.slow
def test_the_best_lr_grows_linearly_for_sgd_and_with_the_root_for_adam():
    linear = run_and_watch(batch_rule, BatchRule.draw, optimizer="SGD", seed=100)
    slope = linear.slope()
    assert slope.mean == pytest.approx(1, abs=0.2)
    assert linear.slope(256).mean < 0.8
    assert linear.holds_to in (32, 64)
    root = batch_rule("Adam", seed=100)
    assert root.slope().mean == pytest.approx(0.5, abs=0.12)
    assert root.holds_to >= 128


def test_the_best_lr_is_the_bottom_of_a_parabola():
    lrs = np.geomspace(0.01, 1, 13)
    bottoms = np.array([[0.05, 0.06, 0.05], [0.1, 0.11, 0.1], [0.2, 0.23, 0.2]])
    losses = np.exp((np.log(lrs)[None, :, None] - np.log(bottoms)[:, None]) ** 2)
    result = BatchRule(np.array([8, 16, 32]), lrs, losses, "SGD")
    np.testing.assert_allclose(result.best, bottoms)
    assert result.slope().mean == pytest.approx(1, abs=0.05)
    assert result.holds_to == 32
    flat = BatchRule(
        np.array([8, 16, 32]), lrs, np.exp((np.log(lrs)[None, :, None] + 3 + np.zeros((3, 1, 3))) ** 2), "SGD"
    )
    assert flat.slope().mean == pytest.approx(0, abs=1e-9)
    assert flat.holds_to == 8


@pytest.mark.thorough
def test_restarts_stay_in_their_basin_and_over_many_seeds_one_cosine_is_level_or_ahead():
    runs = [run_and_watch(restarts, Restarts.draw, seed=seed) for seed in (1000, 1008, 1016)]
    for run in runs:
        assert run.barriers.max() < 0.01 < 0.05 < run.stranger_barriers.min()
        assert run.epochs.shape == run.once.shape == (12,)
    pooled = compare(*(np.concatenate([getattr(run, name) for run in runs]) for name in ("restarted", "single")))
    assert -0.008 < pooled.mean < 0.002


@pytest.mark.slow
def test_restarts_stay_in_their_basin_with_wrong_labels_too():
    result = restarts(cycles=2, label_noise=0.2, seed=200)
    assert result.barriers.max() < 0.01 < 0.3 < result.stranger_barriers.min()
    assert result.gain.mean < 0.01
    assert result.epochs[3] > 1.3 * result.epochs[2]


@pytest.mark.slow
def test_near_divergence_barriers_appear_and_are_a_small_share_of_those_between_seeds():
    result = restarts(0.9, 2, label_noise=0.2, seed=0)
    assert 0.003 < result.barriers.max() < 0.2 * result.stranger_barriers.min()


def test_a_cycle_is_a_cosine_of_its_own():
    t = torch.arange(60)
    assert torch.allclose(warm_restarts(20)(t), cosine(20)(t % 20))


def test_a_barrier_is_the_height_above_the_chord():
    share = np.linspace(0, 1, 21)[:, None]
    lines = np.stack([3 - share * [1, 2], share * (1 - share) * [4, 8] + share])
    np.testing.assert_allclose(barrier(lines), [[0, 0], [1, 2]], atol=1e-12)


def test_the_ends_of_a_line_are_the_two_networks():
    nets = [mlp(SIZES, seed=s) for s in range(4)]
    part = Split(handwriting().train.x[:100], handwriting().train.y[:100])
    a, b = (
        {n: torch.stack([dict(m.named_parameters())[n].detach() for m in pair]) for n, _ in nets[0].named_parameters()}
        for pair in (nets[:2], nets[2:])
    )
    line = between(a, b, part)
    for i in range(2):
        assert line[0, i] == pytest.approx(evaluate(nets[i], cross_entropy, part)["loss"], rel=1e-5)
        assert line[-1, i] == pytest.approx(evaluate(nets[2 + i], cross_entropy, part)["loss"], rel=1e-5)


@pytest.mark.thorough
def test_plans_that_know_no_horizon_do_as_well_as_a_cosine_made_for_it():
    runs = [run_and_watch(horizons, Horizons.draw, seed=seed) for seed in (1000, 1008, 1016)]

    def against_cosine(method):
        """At each horizon, over all seeds."""
        both = [np.log(np.concatenate([run.tested[name] for run in runs], axis=1)) for name in (method, "cosine")]
        return [compare(a, b) for a, b in zip(*both, strict=True)]

    assert all(c.margin > 0.5 and 0.08 < c.mean < 0.3 for c in against_cosine("constant"))
    assert all(abs(c.mean) < 0.04 for c in against_cosine("stable, decay"))
    assert all(-0.06 < c.mean < 0.02 for method in ("linear", "schedule-free") for c in against_cosine(method))
    assert runs[0].price == (7, pytest.approx(4.6))


@pytest.mark.parametrize("method", ["constant", "stable, decay", "schedule-free"])
def test_runs_of_different_lengths_share_their_path_until_the_short_one_ends(method):
    kind = METHODS.index(method)
    make, hyper = (averaged, {}) if method == "schedule-free" else (scheduled, {"kind": [kind]})
    short, long = (
        grid(make(batches_in(e, 64)), {"lr": [0.4], **hyper}, [1], handwriting(), epochs=e, batch=64) for e in (1, 2)
    )
    shared = 17 - 17 // 5 if method == "stable, decay" else 17
    torch.testing.assert_close(short.loss[:, :shared], long.loss[:, :shared], rtol=1e-5, atol=1e-5)
    assert len(short.loss[0]) == 17
    assert geometric_mean(final(short, 1)).shape == (1,)
