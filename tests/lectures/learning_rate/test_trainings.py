"""Lecture 05's trainings on the digits: what the text claims, on seeds that it does not show; partial results drawn."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from course_lib.data import Split, digits, with_label_noise
from course_lib.lectures.learning_rate.batch_rule import BatchRule, batch_rule
from course_lib.lectures.learning_rate.counting import by_epoch
from course_lib.lectures.learning_rate.noise_floor import decaying
from course_lib.lectures.learning_rate.restarts import Restarts, barrier, between, restarts
from course_lib.lectures.learning_rate.warmup import correction
from course_lib.models import mlp
from course_lib.optim import adam, chain, landing, schedule_free, sgd
from course_lib.schedules import (
    constant,
    cosine,
    join,
    polynomial,
    product,
    scale_by_schedule,
    warm_restarts,
    warmup,
    warmup_stable_decay,
)
from course_lib.train import evaluate
from course_lib.trials import at_the_end, compare, grid, tune
from course_lib.widgets.canvas import Canvas

NOISY = with_label_noise(digits(), 0.2)


def scheduled(make, schedule):
    return lambda lr: chain(make(lr), scale_by_schedule(schedule))


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
    assert len(set(pictures)) >= len(pictures) - 1 >= 2
    return result


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 100])
def test_decay_helps_where_noise_stays_and_little_where_the_network_fits_every_label(seed):
    made = {name: scheduled(sgd, decaying(name, 4 * 34)) for name in ("constant", "step", "cosine", "linear")}
    how = {"epochs": 4, "batch": 32, "seeds": range(seed, seed + 8), "choose": "mean"}
    noisy, clean = (tune(made, np.geomspace(0.1, 1.6, 7), data, **how) for data in (NOISY, digits()))
    for name in ("cosine", "linear"):
        assert noisy.compare("constant", name, "loss").mean > 0.03
        assert noisy.compare(name, "constant").mean > 0.01
        assert noisy.best(name) > 2 * noisy.best("constant")
        assert abs(clean.compare("constant", name, "loss").mean) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100])
def test_the_wrong_unit_ruins_all_schedules_but_the_cosine_that_comes_back(seed):
    def counted(schedule):
        return lambda updates, steps: scheduled(sgd, lambda t: schedule(steps * (t / updates).floor()))(0.4)

    hyper = {"updates": [17, 1, 17], "steps": [1, 1, 4]}
    for kind in ("cosine", "linear", "step decay", "exponential"):
        runs = grid(counted(by_epoch(kind, 8)), hyper, range(seed, seed + 8), digits(), epochs=8, part="test")
        meant, *wrong = at_the_end(runs, 3, "validation_accuracy")
        per_batch, four = (compare(meant, row) for row in wrong)
        if kind == "cosine":
            assert max(abs(per_batch.mean), abs(four.mean)) < 0.01
        else:
            assert min(per_batch.margin, four.margin) > 0.3
            assert per_batch.mean > 0.12
            assert 0.01 < four.mean < 0.08


def warm_up_trial(make, lrs, seeds):
    plans = {"none": cosine(102), "warm-up": join(warmup(20), cosine(82), at=20)}
    made = {name: make(plan) for name, plan in plans.items()}
    how = {"epochs": 3, "batch": 32, "choose": "mean", "seeds": seeds}
    return tune(made, lrs, digits(), model=lambda seed: mlp((64, 32, 32, 32, 10), seed=seed), **how)


@pytest.mark.thorough
def test_a_warm_up_costs_up_to_the_best_lr_and_helps_far_beyond_it():
    trial = warm_up_trial(lambda plan: scheduled(adam, plan), np.geomspace(1e-3, 0.128, 8), range(1000, 1024))
    gains = [compare(*rows) for rows in zip(*(np.log(trial.losses[name]) for name in trial.losses), strict=True)]
    assert all(0.008 < trial.best(name) < 0.04 for name in trial.losses)
    assert all(gain.mean < -0.01 for gain in gains[:5])  # the loss with a warm-up is higher
    assert min(gain.margin for gain in gains[:3]) > 0.5
    assert 0.1 < gains[7].mean < 0.7


@pytest.mark.slow
def test_without_correction_the_best_lr_is_lower_with_a_warm_up_or_without():
    def made(plan):
        return scheduled(adam, product(lambda t: correction(t + 1), plan))

    raw = warm_up_trial(made, np.geomspace(1e-3, 0.032, 6), 8)
    assert max(map(raw.best, raw.lrs)) < 0.01
    assert abs(raw.compare(*raw.lrs, "loss").mean) < 0.1


@pytest.mark.thorough
def test_the_best_lr_grows_linearly_for_sgd_and_with_the_root_for_adam():
    linear = run_and_watch(batch_rule, BatchRule.draw, optimizer="SGD", seed=100)
    slope = linear.slope()
    assert slope.mean == pytest.approx(1, abs=0.2)
    assert linear.slope(256).mean < 0.8
    assert linear.holds_to in (32, 64)
    root = batch_rule("Adam", seed=100)
    assert root.slope().mean == pytest.approx(0.5, abs=0.12)
    assert root.followed[-1] < 1.25


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
    nets = [mlp((64, 32, 10), seed=s) for s in range(4)]
    part = Split(digits().train.x[:100], digits().train.y[:100])
    a, b = (
        {n: torch.stack([dict(m.named_parameters())[n].detach() for m in pair]) for n, _ in nets[0].named_parameters()}
        for pair in (nets[:2], nets[2:])
    )
    line = between(a, b, part)
    for i in range(2):
        assert line[0, i] == pytest.approx(evaluate(nets[i], cross_entropy, part)["loss"], rel=1e-5)
        assert line[-1, i] == pytest.approx(evaluate(nets[2 + i], cross_entropy, part)["loss"], rel=1e-5)


def plans(epochs):
    steps, late = 34 * epochs, 34 * epochs // 5
    shapes = {"constant": constant(), "cosine": cosine(steps), "linear": polynomial(steps)}
    shapes |= {"stable": warmup_stable_decay(0, steps - late, late)}
    made = {name: scheduled(sgd, shape) for name, shape in shapes.items()}
    return made | {"averaged": lambda lr: landing(schedule_free(sgd(lr)), steps)}


@pytest.mark.thorough
def test_plans_that_know_no_horizon_do_as_well_as_a_cosine_made_for_it():
    how = {"batch": 32, "seeds": range(1000, 1024), "choose": "mean"}
    trials = {4: tune(plans(4), np.geomspace(0.16, 2.5, 7), NOISY, epochs=4, **how)}
    for epochs in (1, 2):
        known = {name: (make, [trials[4].best(name)]) for name, make in plans(epochs).items()}
        trials[epochs] = tune(known, None, NOISY, epochs=epochs, **how)

    def against_cosine(name):
        return [compare(*(np.log(trial.loss[n]) for n in (name, "cosine"))) for trial in trials.values()]

    assert not any(map(trials[4].at_an_end, trials[4].lrs))
    assert all(c.margin > 0.5 and 0.08 < c.mean < 0.3 for c in against_cosine("constant"))
    assert all(abs(c.mean) < 0.04 for c in against_cosine("stable"))
    assert all(-0.06 < c.mean < 0.02 for c in against_cosine("linear"))
    assert all(-0.12 < c.mean < 0.02 for c in against_cosine("averaged"))


@pytest.mark.parametrize("name", ["constant", "stable", "averaged"])
def test_runs_of_different_lengths_share_their_path_until_the_short_one_ends(name):
    short, long = (grid(plans(e)[name], {"lr": [0.4]}, [1], digits(), epochs=e, batch=32) for e in (1, 2))
    shared = 34 - 34 // 5 if name == "stable" else 34
    torch.testing.assert_close(short.loss[:, :shared], long.loss[:, :shared], rtol=1e-5, atol=1e-5)
    assert len(short.loss[0]) == 34
