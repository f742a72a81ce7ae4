"""What lecture 03 says, at more settings than its notebook shows."""

import pytest

from course_lib.lectures import momentum as lab


def test_past_the_edge_of_oscillation_the_eigenvalue_flips_the_sign_each_step():
    flipping = lab.contraction(lr=4.0, beta=0.9)
    assert not flipping.oscillates
    assert flipping.crossings == 150


def test_the_measured_rate_of_a_single_run_is_theory_s():
    fast = lab.contraction(lr=0.1, beta=0.9)
    assert fast.rate == pytest.approx(0.9**0.5)
    assert fast.measured == pytest.approx(fast.rate, abs=0.005)


@pytest.mark.parametrize("z", [0.0027, 0.1, 3.79])
def test_between_the_borders_the_rate_is_the_root_of_beta(z):
    assert lab.phase(z, 0.9).rate == pytest.approx(0.9**0.5)


def test_nesterov_diverges_from_a_third_of_heavy_ball_s_limit_on():
    limit = 3.8 / 2.8
    assert lab.phase(0.99 * limit, 0.9, "Nesterov").rate < 1 < lab.phase(1.01 * limit, 0.9, "Nesterov").rate


def test_plain_descent_is_the_faster_one_in_shallow_ravines():
    assert lab.tuning(34.0, "heavy ball").plain < 0.9**0.5 < lab.tuning(43.0, "heavy ball").plain


def test_the_default_optimizer_of_the_lab_behaves_as_heavy_ball():
    assert lab.own_phase().behaves_as == "heavy ball"
