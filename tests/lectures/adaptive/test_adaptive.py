"""Laws of the adaptive optimizers: the length of a step, rare features, decay, convergence, state."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._pytree import tree_leaves

from course_lib.lectures.adaptive import variants
from course_lib.lectures.adaptive.adam_step import STEPS, first_steps, longest_after_a_rise, memory, rescaled
from course_lib.lectures.adaptive.counterexample import adam_counterexample, counterexample_map, drift
from course_lib.lectures.adaptive.rare_features import rare_features
from course_lib.lectures.adaptive.variants import MEMBERS, early_steps, state_bytes
from course_lib.lectures.adaptive.weight_decay import shrinkage
from course_lib.optim import adam, on_numbers


@given(scale=st.floats(1e-4, 1e6), b1=st.floats(0, 0.99), b2=st.floats(0.9, 0.9995))
@settings(max_examples=25, deadline=None)
def test_adam_s_first_step_is_lr_and_without_correction_it_is_too_long_by_the_formula(scale, b1, b2):
    result = first_steps(scale, b1, b2)
    assert result.adam[0] == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(result.factor, result.theory, rtol=1e-2)
    assert result.uncorrected[0] == pytest.approx((1 - b1) / math.sqrt(1 - b2), rel=1e-2)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
def test_the_first_step_of_torch_s_adam_is_lr(scale):
    p = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.Adam([p], lr=0.02)
    p.grad = scale * torch.tensor([1.0, -2.0, 0.3])
    optimizer.step()
    torch.testing.assert_close(p.detach(), torch.tensor([-0.02, 0.02, -0.02]), rtol=1e-3, atol=0)


def test_the_correction_matters_most_at_step_12_and_for_thousands_of_steps():
    result = first_steps()
    assert result.factor[0] == pytest.approx(math.sqrt(10), rel=1e-6)
    step, worst = result.worst
    assert (step, round(worst, 2)) == (12, 6.57)
    assert result.steps_above(2) == 287
    assert result.steps_above(1.05) == 2374 < STEPS
    assert first_steps(b2=0.99).steps_above(1.05) < 250


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_gradient_after_a_long_silence_moves_adam_furthest(size):
    move = on_numbers(adam(1.0))
    for _ in range(10_000):
        move(0.0)
    assert -move(size) == pytest.approx(0.1 / math.sqrt(0.001), rel=1e-2)


@pytest.mark.parametrize(("scale", "step"), [(1e-12, 1e-4), (1e-8, 0.5), (1e-6, 0.99)])
def test_eps_shortens_the_steps_of_gradients_of_its_own_size(scale, step):
    assert first_steps(scale).adam[0] == pytest.approx(step, rel=1e-2)
    assert first_steps(1e4 * scale, eps=1e-4).adam[0] == pytest.approx(step, rel=1e-2)  # only the quotient counts


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_adam_does_not_see_the_units_of_the_loss_until_they_are_as_small_as_eps(seed):
    result = rescaled(seed=seed)
    for name in ("Adam", "RMSProp"):
        assert result.spread(name, 1e-4, 1e6) < 1.001
        assert result.works(name)[0] < 1e-8
        assert result.ends[name][0] > 0.9
    low, high = result.works("SGD")
    assert high / low < 100
    coarse = rescaled(eps=1e-5, seed=seed)
    assert coarse.works("Adam")[0] == pytest.approx(1e3 * result.works("Adam")[0], rel=0.01)


@pytest.mark.parametrize("size", [10.0, 30.0, 300.0])
@pytest.mark.parametrize("b2", [0.9, 0.95])
def test_adagrad_never_forgets_a_burst_and_rmsprop_does_in_time(size, b2):
    result = memory(size, 10, b2)
    assert result.recovers("AdaGrad") is None
    after = 1 + (size**2 - 1) * (1 - b2**10)  # v when the burst ends
    steps = math.log((after - 1) / 3) / -math.log(b2)  # until v is 4, and the root 2
    assert result.recovers("RMSProp") == pytest.approx(steps, abs=1.5)
    assert result.rates["AdaGrad"][-1] < 0.45


def test_adadelta_recovers_later_than_rmsprop():
    result = memory()
    assert result.recovers("RMSProp") < result.recovers("AdaDelta") < 400


@pytest.mark.parametrize("seed", [0, 100])
def test_sgd_starves_rare_features_and_adagrad_feeds_them(seed):
    result = rare_features(seed=seed)
    assert result.against("SGD", "AdaGrad").low > 0.05
    assert result.against("RMSProp", "AdaGrad").low > 0.05
    assert result.rare_error("SGD").mean() > 1.8 * result.rare_error("AdaGrad").mean()
    assert result.losses["SGD"].mean() > 2 * result.losses["AdaGrad"].mean()


def test_where_no_feature_is_rare_adagrad_has_no_lead():
    result = rare_features(rarest=0.3)
    assert result.against("SGD", "AdaGrad").high < 0.01
    assert result.losses["SGD"].mean() < 1.1 * result.losses["AdaGrad"].mean()


@pytest.mark.parametrize(("seed", "decay"), [(0, 1e-3), (1, 1e-3), (2, 1e-2), (3, 1e-4)])
def test_l2_inside_adam_shrinks_by_the_root_and_adamw_all_alike(seed, decay):
    result = shrinkage(decay, seed=seed)
    assert result.slope == pytest.approx(-1, abs=0.05)
    assert np.median(result.ratio[~result.blank]) == pytest.approx(1, abs=0.1)
    assert np.median(result.decoupled) == pytest.approx(result.lr * decay, rel=0.01)
    assert np.ptp(result.decoupled) < 0.2 * result.lr * decay
    assert result.spread > 30


def test_weights_of_blank_pixels_shrink_alike_whatever_the_decay():
    strong, weak = shrinkage(1e-2), shrinkage(1e-5)
    assert strong.blank.sum() == 128
    for result in (strong, weak):
        assert np.median(result.ratio[result.blank]) == pytest.approx(1, abs=0.1)
    assert np.median(weak.coupled[weak.blank]) == pytest.approx(np.median(strong.coupled[strong.blank]), rel=0.05)
    assert np.median(weak.decoupled) == pytest.approx(np.median(strong.decoupled) / 1000, rel=0.01)


def test_adam_goes_to_the_worst_point_of_the_published_sequence_and_amsgrad_does_not():
    for large in (2.5, 3.0, 5.0):
        result = adam_counterexample(large / 2, b2=1 / (1 + large**2))
        assert result.drift < 0
        assert result.paths["Adam"][-1] > 0.9
        assert result.paths["AMSGrad"][-1] < -0.9 > result.paths["SGD"][-1]
        assert result.regret("Adam")[-1] > 10 * result.regret("AMSGrad")[-1]


def test_the_second_published_sequence_with_the_usual_betas():
    result = adam_counterexample(1.01, 101, 0.9, 0.99, steps=6000)
    assert result.paths["Adam"][-1] > 0.4
    assert result.paths["AMSGrad"][-1] < -0.85


def test_a_long_memory_or_momentum_cures_the_short_sequence():
    assert adam_counterexample(b2=0.9).paths["Adam"][-1] < -0.9
    assert adam_counterexample(b1=0.9).paths["Adam"][-1] < -0.9


def test_the_drift_says_where_adam_ends():
    result = counterexample_map()
    assert result.agreement > 0.98
    assert 0.2 < (result.ends > 0).mean() < 0.3


@given(large=st.floats(2.1, 10), b2=st.floats(0, 0.95), period=st.integers(3, 12))
@settings(max_examples=30, deadline=None)
def test_the_drift_s_formula_is_the_sum_over_a_round(large, b2, period):
    v, total = 0.0, 0.0
    for t in range(1000 * period):
        g = -1.0 if t % period else large
        v = b2 * v + (1 - b2) * g * g
        total += g / v**0.5 if t >= 999 * period else 0.0
    assert drift(large, b2, period) == pytest.approx(total, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("rows", "columns"), [(16, 8), (512, 128), (2, 2048)])
def test_state_bytes_a_parameter(rows, columns):
    result = state_bytes(rows, columns)
    want = {"SGD": 0, "momentum": 4, "AdaGrad": 4, "RMSProp": 4, "AdaDelta": 8, "Adam": 8, "AdamW": 8, "AMSGrad": 12}
    want |= {"NAdam": 8, "RAdam": 8, "Lion": 4, "Muon": 4, "schedule-free": 8}
    want["Adafactor"] = 4 * (rows + columns) / (rows * columns)
    want["Shampoo"] = 8 * (rows**2 + columns**2) / (rows * columns)
    want["SOAP"] = 16 + 2 * want["Shampoo"]
    assert {name: result.per_parameter(name) for name in MEMBERS} == want


def test_state_bytes_are_those_of_real_tensors_and_of_torch():
    counted = state_bytes(6, 4).bytes
    for name, member in MEMBERS.items():
        leaves = tree_leaves(member.init([torch.zeros(6, 4)]))
        assert counted[name] == sum(t.nbytes for t in leaves if t.ndim)
    theirs = {
        "Adam": torch.optim.Adam,
        "AMSGrad": lambda p: torch.optim.Adam(p, amsgrad=True),
        "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        "RMSProp": torch.optim.RMSprop,
        "Adafactor": torch.optim.Adafactor,
    }
    for name, make in theirs.items():
        p = torch.zeros(6, 4, requires_grad=True)
        optimizer = make([p])
        p.grad = torch.ones(6, 4)
        optimizer.step()
        held = [t for t in optimizer.state[p].values() if isinstance(t, torch.Tensor)]
        assert counted[name] == sum(t.nbytes for t in held if t.ndim), name


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_first_steps_of_adam_s_relatives(seed):
    small, large = early_steps(0.0, 0.01, seed=seed), early_steps(0.0, 10.0, seed=seed)
    assert small.waits == 5
    for name in ("Adam", "AMSGrad", "NAdam", "Lion"):
        np.testing.assert_allclose(small.sizes[name], large.sizes[name], rtol=1e-4)
    np.testing.assert_allclose(large.sizes["RAdam"][:5], 1000 * small.sizes["RAdam"][:5])
    np.testing.assert_allclose(large.sizes["RAdam"][5:], small.sizes["RAdam"][5:], rtol=1e-4)
    assert large.sizes["RAdam"][0] > 5 > 1 == large.sizes["Lion"].max() == large.sizes["Lion"].min()
    assert small.settled("Adam") == pytest.approx(math.sqrt(0.1 / 1.9), rel=0.1)
    assert small.settled("NAdam") > 2 * small.settled("Adam")
    assert small.sizes["Adam"][0] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("b2", [0.9, 0.99, 0.999])
def test_radam_s_factor_is_a_warm_up(b2):
    t = np.arange(1.0, 20_000)
    factor = variants.factor(t, b2)
    warmed = np.minimum(1, t * (1 - b2) / 2)
    assert (factor == 0).sum() == 5
    assert (np.diff(factor) > -1e-12).all()
    assert factor[-1] > 0.99
    assert np.abs(factor - warmed)[5:].max() < 0.24


@pytest.mark.parametrize(
    ("experiment", "wrong", "sentence"),
    [
        (first_steps, {"scale": 0.0}, "scale must be a number from 1e-12 to 1e\\+06, got 0.0"),
        (adam_counterexample, {"excess": 0.9}, "excess must be a number from 1.01 to 5, got 0.9"),
        (state_bytes, {"rows": 2.5}, "rows must be a whole number from 2 to 2048, got 2.5"),
        (rare_features, {"seeds": 1}, "seeds must be a whole number from 3 to 12, got 1"),
    ],
)
def test_illegal_settings_are_refused_in_a_sentence(experiment, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        experiment(**wrong)


@pytest.mark.parametrize("size", [10.0, 1e6])
def test_a_sudden_rise_makes_steps_as_long_as_a_start_without_correction(size):
    longest = longest_after_a_rise(size)
    assert longest_after_a_rise(1.0) == pytest.approx(1)
    assert 3 < longest < first_steps().worst[1] + 1e-6
