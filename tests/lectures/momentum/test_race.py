"""The race: its fast rules are the library's transforms, its numbers are what they say, its refusals name the cause."""

import numpy as np
import pytest
import torch

from course_lib.lectures.momentum.race import OPTIMIZERS, Race, race
from course_lib.lectures.momentum.ravine import tuning
from course_lib.lectures.momentum.sweep import LrSweep, lr_sweep
from course_lib.optim import adamw, chain, clip_norm, sgd
from course_lib.surfaces import SURFACES
from course_lib.widgets.canvas import Canvas


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_by_floats_a_race_is_what_it_is_by_tensors(surface, noise):
    def without_rule(make):
        return lambda lr, beta: make(lr, beta)._replace(rule=None)

    fast = race(surface, 0.003, 0.8, 60, noise, seed=3)
    exact = race(surface, 0.003, 0.8, 60, noise, seed=3, optimizers={n: without_rule(m) for n, m in OPTIMIZERS.items()})
    for name in OPTIMIZERS:
        np.testing.assert_allclose(fast.paths[name], exact.paths[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", ["momentum", "Adam"])
def test_a_race_is_torch_on_the_same_surface(name):
    theta = torch.tensor(SURFACES["beale"].start, dtype=torch.float64, requires_grad=True)
    oracle = (
        torch.optim.SGD([theta], lr=0.003, momentum=0.8)
        if name == "momentum"
        else torch.optim.Adam([theta], lr=0.003, betas=(0.8, 0.999))
    )
    for _ in range(50):
        oracle.zero_grad()
        SURFACES["beale"].value(theta).backward()
        oracle.step()
    mine = race("beale", 0.003, 0.8, 50).paths[name][-1]
    np.testing.assert_allclose(mine, theta.detach().numpy(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("surface", SURFACES)
def test_the_sweep_ends_where_single_races_end(surface):
    sweep = lr_sweep(surface, 0.7, 40, 0.3, seed=1)
    for i in (10, 40, 80):
        single = race(surface, min(float(sweep.x[i]), 1.0), 0.7, 40, 0.3, seed=1)
        for name in OPTIMIZERS:
            want = np.inf if single.diverged(name) else single.gap(name)[-1]
            assert sweep.rows[name][i] == pytest.approx(want, rel=1e-6, abs=1e-15), (name, i)


def test_the_sweep_follows_runs_that_swing_far_out_and_come_back():
    sweep, far = lr_sweep("ravine", 0.95, 100, 5.0), 0.0
    for lr in sweep.x[40::4].clip(max=1.0).tolist():
        single, i = race("ravine", lr, 0.95, 100, 5.0), int(np.abs(sweep.x - lr).argmin())
        for name in OPTIMIZERS:
            want = np.inf if single.diverged(name) else single.gap(name)[-1]
            assert sweep.rows[name][i] == pytest.approx(want, rel=1e-6), (name, lr)
            far = max(far, 0.0 if single.diverged(name) else np.abs(single.paths[name]).max())
    assert far > 10


def test_the_effective_learning_rate_of_sgd_is_lr_and_of_momentum_goes_to_lr_over_one_minus_beta():
    result = race("rosenbrock", 0.001, 0.9, 300)
    np.testing.assert_allclose(result.effective("SGD"), 0.001, rtol=1e-9)
    np.testing.assert_allclose(
        result.effective("momentum")[-20:], 0.01, rtol=0.1
    )  # along the floor, where slopes change slowly


@pytest.mark.parametrize("surface", ["ravine", "rosenbrock", "beale"])
def test_adam_s_first_step_has_length_lr_in_each_coordinate_and_sgd_s_does_not(surface):
    result = race(surface, 0.01, 0.9, 1)
    np.testing.assert_allclose(np.abs(result.velocity("Adam")), 0.01, rtol=1e-6)
    assert not np.allclose(np.abs(result.velocity("SGD")), 0.01, rtol=0.05)
    slope = np.linalg.norm(SURFACES[surface].slope(*SURFACES[surface].start))
    assert result.effective("Adam")[0] == pytest.approx(0.01 * 2**0.5 / slope)


def test_a_run_that_leaves_has_diverged_stays_where_it_left_and_ranks_last():
    result = race("rosenbrock", 0.02, 0.9, 100)
    assert result.diverged("SGD")
    assert not result.diverged("Adam")
    assert result.ranking[0] in ("RMSProp", "Adam")
    assert (result.paths["SGD"][-1] == result.paths["SGD"][-2]).all()
    assert "SGD diverged" in result.summary()


def test_on_the_ravine_at_one_small_lr_momentum_beats_sgd_and_at_its_own_best_too():
    same = race("turned ravine", 0.01, 0.8, 100)
    assert same.gap("momentum")[-1] < 1e-3 * same.gap("SGD")[-1]
    tuned = lr_sweep("turned ravine", 0.6, 60)
    assert tuned.best("momentum")[1] < 0.01 * tuned.best("SGD")[1]


@pytest.mark.parametrize("steps", [130, 150, 170])
def test_in_the_valley_tuned_momentum_ends_below_adam_and_sgd_at_the_edge_and_rmsprop_on_a_needle(steps):
    valley = lr_sweep("rosenbrock", steps=steps)
    assert [n for n in valley.ranking if n in ("SGD", "momentum", "Adam")] == ["momentum", "Adam", "SGD"]
    needle, edge = valley.rows["RMSProp"], valley.rows["momentum"]
    assert min(needle[needle.argmin() - 1], needle[needle.argmin() + 1]) > 40 * needle.min()
    assert np.isinf(edge[edge.argmin() + 1])
    assert valley.rows["SGD"][edge.argmin() + 1] < 1  # where momentum has diverged
    assert valley.best("Adam")[0] > 100 * valley.best("momentum")[0]


def test_turning_the_ravine_changes_nothing_for_momentum_and_much_for_rmsprop():
    straight, turned = (lr_sweep(surface, 0.9, 150) for surface in ("ravine", "turned ravine"))
    for name in ("SGD", "momentum", "Nesterov"):
        np.testing.assert_allclose(turned.rows[name], straight.rows[name], rtol=1e-6, atol=1e-25)
    assert turned.ranking[-1] == "momentum"
    assert straight.best("RMSProp")[1] < 1e-60 < 1e-14 < turned.best("RMSProp")[1] < 1e-12
    assert turned.ranking[-1] == "momentum"  # kappa is 20, and beta 0.9 is for up to 1400
    assert tuning(37.0).plain < 0.9**0.5 < tuning(40.0).plain


def test_any_transform_may_run_also_one_that_looks_at_both_coordinates_or_at_the_position():
    own = {
        "clipped": lambda lr, beta: chain(clip_norm(1.0), sgd(lr, beta)),
        "AdamW": lambda lr, beta: adamw(lr, beta, decay=0.1),
    }
    result = race("beale", 0.01, 0.5, 30, optimizers=own)
    assert result.ranking
    assert np.linalg.norm(result.velocity("clipped")[0]) == pytest.approx(0.01)
    assert not np.allclose(result.paths["AdamW"], race("beale", 0.01, 0.5, 30).paths["Adam"])


def test_noise_is_the_same_for_all_and_its_seed_decides():
    a, b, other = (race("ravine", 0.01, 0.9, 5, 1.0, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(a.gradients["Adam"][0], a.gradients["SGD"][0])
    np.testing.assert_array_equal(a.paths["Adam"], b.paths["Adam"])
    assert not np.array_equal(a.paths["Adam"], other.paths["Adam"])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: race(lr=2.0), "lr must be"),
        (lambda: race("cliff"), "surface must be"),
        (lambda: race(optimizers={}), "race: optimizers must name at least one"),
    ],
)
def test_what_is_not_legal_is_refused_by_name(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_the_pictures_follow_their_results():
    canvas = Canvas(Race.draw)
    first = canvas.render(race())
    assert canvas.render(race(steps=40)) != first
    assert canvas.render(race("saddle")) != first
    assert canvas.render(race()) == first
    canvas = Canvas(LrSweep.draw)
    assert canvas.render(lr_sweep(steps=20)) != canvas.render(lr_sweep("saddle", steps=20))
