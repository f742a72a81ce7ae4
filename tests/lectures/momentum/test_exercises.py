"""No correct variant is accused, and two mistakes at once get no wrong name."""

import numpy as np
import pytest
import torch

from course_lib.lectures.momentum import check_best_setting, check_heavy_ball_step, check_nesterov_step, check_rate


def on_copies(theta, velocity, grad, lr, beta):
    theta, velocity = theta.copy(), velocity.copy()
    velocity *= beta
    velocity += grad
    theta -= lr * velocity
    return [theta, velocity]


def by_positions(theta, velocity, grad, lr, beta):
    before = theta + lr * velocity
    after = theta - lr * grad + beta * (theta - before)
    return after, (theta - after) / lr


def torch_step(nesterov):
    def step(theta, velocity, grad, lr, beta):
        parameter = torch.tensor(theta, requires_grad=True)
        optimizer = torch.optim.SGD([parameter], lr=lr, momentum=beta, nesterov=nesterov)
        optimizer.state[parameter]["momentum_buffer"] = torch.tensor(velocity)
        parameter.grad = torch.tensor(grad)
        optimizer.step()
        return parameter, optimizer.state[parameter]["momentum_buffer"]

    return step


def nesterov_expanded(theta, velocity, grad, lr, beta):
    return theta - lr * ((1 + beta) * grad + beta**2 * velocity), grad + beta * velocity


def best_by_kappa(mu, L):
    kappa = L / mu
    rate = (kappa**0.5 - 1) / (kappa**0.5 + 1)
    return (1 + rate) ** 2 / L, rate**2


def rate_by_matrix(lr, beta, curvature):
    matrix = [[1 - lr * curvature, -lr * beta], [curvature, beta]]
    return max(abs(np.linalg.eigvals(np.array(matrix))))


def rate_by_roots(lr, beta, curvature):
    return np.abs(np.roots([1, lr * curvature - 1 - beta, beta])).max()


def rate_by_cases(lr, beta, curvature):
    z = lr * curvature
    if (1 - z**0.5) ** 2 < beta:
        return beta**0.5
    p = 1 + beta - z
    return (abs(p) + (p * p - 4 * beta) ** 0.5) / 2


@pytest.mark.parametrize(
    ("check", "right"),
    [
        (check_heavy_ball_step, on_copies),
        (check_heavy_ball_step, by_positions),
        (check_heavy_ball_step, torch_step(False)),
        (check_nesterov_step, nesterov_expanded),
        (check_nesterov_step, torch_step(True)),
        (check_best_setting, best_by_kappa),
        (check_rate, rate_by_matrix),
        (check_rate, rate_by_roots),
        (check_rate, rate_by_cases),
    ],
)
def test_no_correct_variant_is_accused(check, right):
    verdict = check(right)
    assert verdict.passed, verdict
    assert "Verified" in verdict.message


@pytest.mark.parametrize(
    ("check", "doubly_wrong", "names"),
    [
        (
            check_heavy_ball_step,
            lambda t, v, g, lr, b: (t + lr * (b * v + (1 - b) * g), b * v + (1 - b) * g),
            "dampened; uphill",
        ),
        (
            check_heavy_ball_step,
            lambda t, v, g, lr, b: (t - lr * (g + b * (v + g)), v + g),
            "velocity not decayed; Nesterov",
        ),
        (check_nesterov_step, lambda t, v, g, lr, b: (t + lr * (b * v + g), b * v + g), ""),
        (check_best_setting, lambda mu, L: (2 / L, (L - mu) / (L + mu)), ""),
        (check_rate, lambda lr, b, c: abs(1 - lr), "no momentum; curvature forgotten"),
    ],
)
def test_two_mistakes_at_once_are_both_named_or_neither(check, doubly_wrong, names):
    verdict = check(doubly_wrong)
    assert (verdict.status, verdict.mistake) == ("wrong", names), verdict


def only_half_right(condition, inside, outside):
    """A rate that goes by cases, with a slip in one of them."""

    def rate(lr, beta, curvature):
        z = lr * curvature
        p, q = 1 + beta - z, complex((1 + beta - z) ** 2 - 4 * beta) ** 0.5
        return abs(inside(z, beta, p, q) if condition(z, beta) else outside(z, beta, p, q))

    return rate


COMPLEX = lambda z, beta: (1 - z**0.5) ** 2 < beta  # noqa: E731


@pytest.mark.parametrize(
    "rate",
    [
        only_half_right(lambda z, b: (1 - z) ** 2 < b, lambda z, b, p, q: b**0.5, lambda z, b, p, q: (p + q) / 2),
        only_half_right(COMPLEX, lambda z, b, p, q: abs(p) ** 0.5, lambda z, b, p, q: (abs(p) + q) / 2),
        only_half_right(COMPLEX, lambda z, b, p, q: (z * b) ** 0.5, lambda z, b, p, q: (abs(p) + q) / 2),
        only_half_right(COMPLEX, lambda z, b, p, q: b**0.5, lambda z, b, p, q: (p + q) / 2),
        only_half_right(lambda z, b: abs(1 - z) < 0.5, lambda z, b, p, q: b**0.5, lambda z, b, p, q: (abs(p) + q) / 2),
    ],
)
def test_a_rate_that_is_right_in_some_cases_only_is_not_accepted(rate):
    assert check_rate(rate).status == "wrong"


def test_the_best_setting_may_come_as_one_array():
    assert check_best_setting(lambda mu, L: np.array(best_by_kappa(mu, L))).passed


def test_what_has_no_name_is_still_told_plainly():
    assert "`rate` becomes NaN" in check_rate(lambda lr, b, c: np.sqrt(complex(-1).real) * lr).message
    assert (
        "`rate` does not have the shape" in check_rate(lambda lr, b, c: np.roots([1, lr * c - 1 - b, b]).real).message
    )
    rounded = check_heavy_ball_step(lambda *case: tuple(np.float32(a) for a in on_copies(*case)))
    assert "was it rounded to float32?" in rounded.evidence


def test_a_velocity_changed_in_place_is_named():
    def in_place(theta, velocity, grad, lr, beta):
        velocity *= beta
        velocity += grad
        return theta - lr * velocity, velocity

    assert check_heavy_ball_step(in_place).mistake == "changes its input"
