"""Lecture 05's trainings on the digits: what the text claims, on seeds that it does not show; partial results drawn."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from course_lib.data import Split
from course_lib.lectures.learning_rate.decay import DecayGain, MiscountedSchedule, decay_gain, miscounted_schedule
from course_lib.lectures.learning_rate.restarts import Restarts, barrier, between, restarts
from course_lib.lectures.learning_rate.scaling import (
    METHODS,
    BatchRule,
    Horizons,
    averaged,
    batch_rule,
    horizons,
    landing,
    scheduled,
)
from course_lib.lectures.learning_rate.training import SIZES, batches_in, cut, final, geometric_mean, handwriting, train
from course_lib.lectures.learning_rate.warmup import WarmupGain, warmup_gain
from course_lib.models import mlp
from course_lib.optim import Stepper, schedule_free, sgd
from course_lib.schedules import cosine, warm_restarts
from course_lib.train import evaluate, fit
from course_lib.trials import compare
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


def test_train_is_fit_for_each_setting_and_seed():
    runs = train(sgd, {"lr": [0.1, 0.5]}, [3, 4], epochs=1, batch=64, label_noise=0.3, judge="test")
    paired = train(sgd, {"lr": [0.1, 0.5]}, [3, 4], epochs=1, batch=64, label_noise=0.3, judge="test", paired=True)
    for i, (lr, seed) in enumerate([(0.1, 3), (0.1, 4), (0.5, 3), (0.5, 4)]):
        model = mlp(SIZES, seed=seed)
        history = fit(
            model,
            cross_entropy,
            Stepper(model.parameters(), sgd(lr)),
            handwriting(0.3).train,
            batch=64,
            epochs=1,
            seed=seed,
        )
        torch.testing.assert_close(runs.loss[i], history.loss, rtol=1e-4, atol=1e-4)
        assert final(runs, 2)[i // 2, i % 2] == pytest.approx(
            evaluate(model, cross_entropy, handwriting().test)["loss"], rel=1e-3
        )
    torch.testing.assert_close(paired.loss, runs.loss[[0, 3]], rtol=1e-4, atol=1e-4)
    assert runs.loss.shape[1] == batches_in(1, 64)


def test_wrong_labels_are_drawn_for_the_training_part_alone():
    clean, wrong = handwriting(), handwriting(0.2)
    share = float((clean.train.y != wrong.train.y).float().mean())
    assert share == pytest.approx(0.9 * 0.2, abs=0.03)
    assert torch.equal(clean.validation.y, wrong.validation.y)
    assert torch.equal(clean.test.y, wrong.test.y)
    assert cut(torch.tensor([1.0, 1e9, float("nan"), float("inf")])).tolist() == [1, 100, 100, 100]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100])
def test_decay_helps_where_noise_stays_and_not_where_the_network_fits_every_label(seed):
    noisy = run_and_watch(decay_gain, DecayGain.draw, label_noise=0.2, seed=seed)
    assert noisy.against_constant("linear").higher == noisy.against_constant("cosine").higher == 0
    assert min(noisy.ratio("linear"), noisy.ratio("cosine")) > 1.08
    assert min(noisy.points("linear"), noisy.points("cosine")) > 2
    assert noisy.tried["constant"].lr < 0.3 < noisy.tried["linear"].lr
    clean = decay_gain(label_noise=0.0, seed=seed)
    assert clean.against_constant("linear").higher is None
    assert clean.against_constant("cosine").higher is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100])
def test_the_wrong_unit_ruins_all_schedules_but_the_cosine_that_comes_back(seed):
    result = run_and_watch(miscounted_schedule, MiscountedSchedule.draw, seed=seed)
    for kind in ("linear", "step decay", "exponential"):
        assert result.cost(kind, 1).higher == result.cost(kind, 2).higher == 0
        assert result.cost(kind, 1).mean > 0.12
        assert 0.01 < result.cost(kind, 2).mean < 0.08
    assert abs(result.cost("cosine", 1).mean) < 0.01
    assert abs(result.cost("cosine", 2).mean) < 0.01


@pytest.mark.slow
def test_a_warm_up_costs_up_to_the_best_lr_and_helps_far_beyond_it():
    runs = [run_and_watch(warmup_gain, WarmupGain.draw, seed=seed) for seed in (1000, 1008, 1016)]
    for run in runs:
        assert run.at_best.higher != 0
        assert [c.higher for c in run.by_lr[:3]] == [1, 1, 1]
        assert 0.01 < run.best("none")[0] < 0.04
    pooled = [
        compare(*(np.log(np.concatenate([run.losses[name][i] for run in runs])) for name in ("none", "warm-up")))
        for i in range(8)
    ]
    assert [c.higher for c in pooled[:5]] == [1] * 5
    assert -0.2 < pooled[4].mean < -0.05
    assert pooled[7].higher == 0
    assert 0.2 < pooled[7].mean < 0.6


@pytest.mark.slow
def test_without_correction_the_best_lr_is_lower_with_a_warm_up_or_without():
    raw = warmup_gain("Adam without correction", seed=100)
    assert raw.at_best.higher is None
    assert max(raw.best("none")[0], raw.best("warm-up")[0]) < 0.005


@pytest.mark.slow
def test_the_best_lr_grows_linearly_for_sgd_and_with_the_root_for_adam():
    linear = run_and_watch(batch_rule, BatchRule.draw, optimizer="SGD", seed=100)
    slope = linear.slope()
    assert slope.low < 1 < slope.high + 0.1
    assert slope.low > 0.6
    assert linear.slope(256).high < 0.8
    assert linear.holds_to == 64
    root = batch_rule("Adam", seed=100)
    assert 0.35 < root.slope().low < 0.5 < root.slope().high < 0.75
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


@pytest.mark.slow
def test_restarts_stay_in_their_basin_and_over_many_seeds_one_cosine_is_ahead():
    runs = [run_and_watch(restarts, Restarts.draw, seed=seed) for seed in (1000, 1008, 1016)]
    for run in runs:
        assert run.barriers.max() < 0.01 < 0.1 < run.stranger_barriers.min()
        assert run.gain.higher != 0
        assert run.epochs.shape == run.once.shape == (12,)
    pooled = compare(*(np.concatenate([getattr(run, name) for run in runs]) for name in ("restarted", "single")))
    assert pooled.higher == 1
    assert -0.006 < pooled.mean < 0


@pytest.mark.slow
def test_restarts_stay_in_their_basin_with_wrong_labels_too():
    result = restarts(cycles=2, label_noise=0.2, seed=200)
    assert result.barriers.max() < 0.01 < 0.4 < result.stranger_barriers.min()
    assert result.gain.higher != 0
    assert result.epochs[3] > 1.3 * result.epochs[2]


@pytest.mark.slow
def test_near_divergence_barriers_appear_and_are_a_small_share_of_those_between_seeds():
    result = restarts(0.9, 2, label_noise=0.2, seed=0)
    assert 0.01 < result.barriers.max() < 0.1 * result.stranger_barriers.min()
    assert result.gain.higher is None


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


@pytest.mark.slow
def test_plans_that_know_no_horizon_do_as_well_as_a_cosine_made_for_it():
    runs = [run_and_watch(horizons, Horizons.draw, seed=seed) for seed in (1000, 1008, 1016)]

    def against_cosine(method):
        """At each horizon, over all seeds."""
        both = [np.log(np.concatenate([run.tested[name] for run in runs], axis=1)) for name in (method, "cosine")]
        return [compare(a, b) for a, b in zip(*both, strict=True)]

    assert all(c.higher == 0 and 0.1 < c.mean < 0.25 for c in against_cosine("constant"))
    assert all(c.higher is None and abs(c.mean) < 0.02 for c in against_cosine("stable, decay"))
    for method in ("linear", "schedule-free"):
        ahead = against_cosine(method)
        assert all(c.higher != 0 and -0.04 < c.mean < 0 for c in ahead), method
        assert sum(c.higher == 1 for c in ahead) >= 2, method
    assert runs[0].price == (7, pytest.approx(4.6))


def test_a_landing_is_the_average_of_the_run_without_it():
    data, models = handwriting().train, [mlp(SIZES), mlp(SIZES)]
    steppers = [
        Stepper(m.parameters(), t)
        for m, t in zip(models, (schedule_free(sgd(0.3)), landing(schedule_free(sgd(0.3)), 17)), strict=True)
    ]
    for model, stepper in zip(models, steppers, strict=True):
        fit(model, cross_entropy, stepper, data, epochs=1)
    for x, p in zip(steppers[0].state.average, models[1].parameters(), strict=True):
        torch.testing.assert_close(p.detach(), x, rtol=1e-5, atol=1e-6)
    for y, p in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert not torch.equal(y, p)


@pytest.mark.parametrize("method", ["constant", "stable, decay", "schedule-free"])
def test_runs_of_different_lengths_share_their_path_until_the_short_one_ends(method):
    kind = METHODS.index(method)
    make, hyper = (averaged, {}) if method == "schedule-free" else (scheduled, {"kind": [kind]})
    short, long = (train(make(batches_in(e, 64)), {"lr": [0.4], **hyper}, [1], epochs=e, batch=64) for e in (1, 2))
    shared = 17 - 17 // 5 if method == "stable, decay" else 17
    torch.testing.assert_close(short.loss[:, :shared], long.loss[:, :shared], rtol=1e-5, atol=1e-5)
    assert len(short.loss[0]) == 17
    assert geometric_mean(final(short, 1)).shape == (1,)
