"""The race on the digits: what it records is what the runs did, and each optimizer has the learning rate it should."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from course_lib.data import digits
from course_lib.lectures.adaptive.digits_race import OWN, digits_race
from course_lib.models import mlp
from course_lib.optim import Stepper, adam, chain, clip_norm, lion, schedule_free, sgd, soap
from course_lib.train import evaluate, fit, fit_many


def test_a_run_is_the_one_that_fit_makes():
    data, model = digits(), mlp((64, 64, 64, 10), seed=2)
    steps = 2 * -(-len(data.train) // 64)
    ran = digits_race(steps=steps, optimizers={"Adam": lambda lr_scale, beta: adam(0.003 * lr_scale, beta)}, seed=2)
    fit(model, cross_entropy, Stepper(model.parameters(), adam(0.003)), data.train, epochs=2, seed=2)
    assert ran.losses["Adam"][-1] == pytest.approx(evaluate(model, cross_entropy, data.train)["loss"], rel=1e-4)
    assert ran.accuracy["Adam"] == pytest.approx(evaluate(model, cross_entropy, data.test)["accuracy"])


@pytest.mark.slow
def test_each_own_learning_rate_beats_a_quarter_and_four_times_as_much():
    """Over three seeds and five epochs, by fit_many."""
    data, lr_scale, seeds = digits().train, (0.25, 1.0, 4.0), range(3)
    models = [mlp((64, 64, 64, 10), seed=s) for _ in lr_scale for s in seeds]
    for name, make in OWN.items():
        hyper = {"lr_scale": [t for t in lr_scale for _ in seeds]}
        runs = fit_many(
            models,
            cross_entropy,
            lambda lr_scale, make=make: make(lr_scale, 0.9),
            data,
            hyper=hyper,
            seeds=[s for _ in lr_scale for s in seeds],
            epochs=5,
        )
        ends = runs["train_loss"][:, -1].nan_to_num(1e3).log().view(len(lr_scale), -1).mean(1)
        assert ends[1] < min(ends[0], ends[2]), name


@pytest.mark.parametrize("seed", range(3))
def test_sgd_has_one_learning_rate_and_the_adaptive_ones_have_many(seed):
    ran = digits_race(lr_scale=0.5, steps=60, seed=seed)
    np.testing.assert_allclose(ran.effective["SGD"], 0.5, rtol=2e-3)
    assert ran.spread("momentum") < 5
    assert min(ran.spread(name) for name in ("AdaGrad", "RMSProp", "Adam")) > 10


def test_what_the_state_keeps_is_shown():
    ran = digits_race(steps=10)
    assert np.isnan(ran.directions["SGD"]).all()
    assert np.isnan(ran.directions["AdaGrad"]).all()
    assert np.isnan(ran.sizes["momentum"]).all()
    assert (ran.directions["Adam"] > 0).all()
    assert (np.diff(ran.sizes["AdaGrad"]) >= 0).all()  # a sum never forgets
    model, data = mlp((64, 64, 64, 10), seed=0), digits().train
    rows = torch.randperm(len(data), generator=torch.Generator().manual_seed(0))[:64]
    cross_entropy(model(data.x[rows]), data.y[rows]).backward()
    slope = torch.cat([p.grad.flatten() for p in model.parameters()])
    rms = float(slope.square().mean().sqrt())
    assert ran.directions["momentum"][0] == pytest.approx(rms, rel=1e-5)
    assert ran.directions["Adam"][0] == pytest.approx(0.1 * rms, rel=1e-5)
    assert ran.sizes["Adam"][0] == pytest.approx(0.001**0.5 * rms, rel=1e-5)


def test_it_is_seen_as_it_comes():
    parts = []
    whole = digits_race(steps=35, preview=parts.append)
    assert [len(part.directions["SGD"]) for part in parts] == [10, 20, 30]
    for part in parts:
        assert (part.losses["Adam"] == whole.losses["Adam"][: len(part.losses["Adam"])]).all()
        assert part.summary().startswith(f"training loss (test accuracy) after {len(part.sizes['SGD'])} of 35 steps")


def test_any_set_of_optimizers_can_race():
    """Also chains, one whose state is a state inside a state, and one of which nothing is known."""
    ran = digits_race(
        steps=10,
        optimizers={
            "clipped": lambda lr_scale, beta: chain(clip_norm(1.0), adam(0.01 * lr_scale, beta)),
            "Lion": lambda lr_scale, beta: lion(1e-3 * lr_scale, beta),
            "SOAP": lambda lr_scale, beta: soap(0.01 * lr_scale, beta),
            "schedule-free": lambda lr_scale, beta: schedule_free(sgd(lr_scale), beta),
        },
    )
    assert set(ran.ranking) == {"clipped", "Lion", "SOAP", "schedule-free"}
    assert np.isfinite(ran.directions["clipped"]).all()
    assert np.isfinite(ran.sizes["SOAP"]).all()
    assert (ran.effective["Lion"] > 0).all()


def test_a_lost_run_comes_last_and_harms_no_other():
    alone = digits_race(steps=12, optimizers={"Adam": OWN["Adam"]})
    ran = digits_race(
        steps=12, optimizers={"wild": lambda lr_scale, beta: sgd(1e30 * lr_scale, beta), "Adam": OWN["Adam"]}
    )
    assert ran.ranking == ("Adam", "wild")
    assert not np.isfinite(ran.losses["wild"][-1])
    assert (ran.losses["Adam"] == alone.losses["Adam"]).all()


def test_what_is_no_optimizer_is_refused():
    with pytest.raises(ValueError, match="optimizers must name at least one"):
        digits_race(optimizers={})
    with pytest.raises(ValueError, match="digits_race: mine must be a Transform, got NoneType None"):
        digits_race(optimizers={"mine": lambda lr_scale, beta: None})
