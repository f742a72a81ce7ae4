"""No correct variant is accused, and two mistakes at once get no wrong name. Adam and AdamW: tests of the suite."""

import numpy as np
import pytest
import torch

from course_lib.checks import adaptive, adaptive_amsgrad
from course_lib.checks.adaptive import check_adagrad_step, check_amsgrad_step

EXERCISES = {
    check_adagrad_step: adaptive.ADAGRAD_MUTANTS,
    check_amsgrad_step: adaptive_amsgrad.AMSGRAD_MUTANTS,
}


def adagrad_on_copies(theta, total, grad, lr, eps):
    theta, total = theta.copy(), total.copy()
    total += grad * grad
    theta -= lr * (grad / (total**0.5 + eps))
    return [theta, total]


def adagrad_by_torch(theta, total, grad, lr, eps):
    parameter = torch.tensor(theta, requires_grad=True)
    optimizer = torch.optim.Adagrad([parameter], lr=lr, eps=eps)
    optimizer.state[parameter]["sum"] = torch.tensor(total)
    parameter.grad = torch.tensor(grad)
    optimizer.step()
    return parameter, optimizer.state[parameter]["sum"]


def amsgrad_by_torch(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    parameter = torch.tensor(theta, requires_grad=True)
    optimizer = torch.optim.Adam([parameter], lr=lr, betas=(b1, b2), eps=eps, amsgrad=True)
    state = {"exp_avg": mean, "exp_avg_sq": square, "max_exp_avg_sq": peak, "step": np.array(t - 1.0)}
    optimizer.state[parameter] = {name: torch.tensor(value) for name, value in state.items()}
    parameter.grad = torch.tensor(grad)
    optimizer.step()
    after = optimizer.state[parameter]
    return parameter, after["exp_avg"], after["exp_avg_sq"], after["max_exp_avg_sq"]


def amsgrad_with_where(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    m = mean + (1 - b1) * (grad - mean)
    v = square + (1 - b2) * (grad**2 - square)
    u = np.where(v > peak, v, peak)
    alpha = lr * np.sqrt(1 - b2**t) / (1 - b1**t)
    return theta - alpha * m / (np.sqrt(u) + eps * np.sqrt(1 - b2**t)), m, v, u


@pytest.mark.parametrize(
    ("check", "right"),
    [
        (check_adagrad_step, adagrad_on_copies),
        (check_adagrad_step, adagrad_by_torch),
        (check_amsgrad_step, amsgrad_by_torch),
        (check_amsgrad_step, amsgrad_with_where),
    ],
)
def test_no_correct_variant_is_accused(check, right):
    verdict = check(right)
    assert verdict.passed, verdict
    assert "Verified" in verdict.message


@pytest.mark.parametrize(
    ("check", "doubly_wrong"),
    [
        (check_adagrad_step, lambda t, s, g, lr, eps: (t + lr * g / (s + g**2 + eps), s + g**2)),
        (
            check_amsgrad_step,
            lambda th, m, s, p, g, t, lr, b1, b2, eps: (th + lr * g / (np.sqrt(p) + eps), b1 * m + g, s + g**2, p + s),
        ),
    ],
)
def test_two_mistakes_at_once_get_no_wrong_name(check, doubly_wrong):
    verdict = check(doubly_wrong)
    assert (verdict.status, verdict.mistake) == ("wrong", "")
    assert "not in a way the check knows" in verdict.message


def test_a_sum_changed_in_place_is_named():
    def in_place(theta, total, grad, lr, eps):
        total += grad**2
        return theta - lr * grad / (np.sqrt(total) + eps), total

    assert check_adagrad_step(in_place).mistake == "changes its input"


@pytest.mark.parametrize("check", EXERCISES)
def test_not_attempted_wrong_shape_and_no_function(check):
    assert check(...).status == "not attempted"
    assert check(lambda *case: ...).status == "not attempted"
    assert "was given" in check(3.0).message
    wrong = (np.zeros((7, 7)),) * (2 if check is check_adagrad_step else 4)
    assert "shape" in check(lambda *case: wrong).evidence


@pytest.mark.parametrize("check", EXERCISES)
def test_a_crash_shows_the_learner_s_line(check):
    def mine(*case):
        return case[0].no_such_thing

    verdict = check(mine)
    assert verdict.status == "wrong"
    assert "case[0].no_such_thing" in verdict.evidence
