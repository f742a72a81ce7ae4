"""No correct variant is accused, and two mistakes at once get no wrong name."""

import math

import numpy as np
import pytest
import torch

from course_lib.checks import learning_rate, learning_rate_plateau, learning_rate_rules
from course_lib.checks.learning_rate import (
    check_plateau,
    check_scaled_lr,
    check_sgdr,
    check_suggest,
    check_warmup_cosine,
)
from course_lib.schedules import cosine, reduce_on_plateau, then, warm_restarts, warmup

EXERCISES = {
    check_warmup_cosine: learning_rate.WARMUP_COSINE_MUTANTS,
    check_sgdr: learning_rate.SGDR_MUTANTS,
    check_plateau: learning_rate_plateau.PLATEAU_MUTANTS,
    check_suggest: learning_rate_rules.SUGGEST_MUTANTS,
    check_scaled_lr: learning_rate_rules.SCALED_LR_MUTANTS,
}


def warmup_cosine_by_numpy(t, warm, total):
    rest = np.clip((t - warm) / (total - warm), 0, 1)
    return np.minimum(t / warm, 1) * np.cos(np.pi * rest / 2) ** 2


def warmup_cosine_by_torch(t, warm, total):
    parameter = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    make = torch.optim.lr_scheduler
    up = make.LambdaLR(optimizer, lambda t: t / warm)
    schedule = make.SequentialLR(optimizer, [up, make.CosineAnnealingLR(optimizer, total - warm)], [warm])
    for _ in range(t):
        optimizer.step()
        schedule.step()
    return optimizer.param_groups[0]["lr"]


def sgdr_by_logarithm(t, period, growth):
    if growth == 1:
        return (1 + math.cos(math.pi * (t % period) / period)) / 2
    n = int(math.log(t / period * (growth - 1) + 1 + 1e-12, growth))
    start = period * (growth**n - 1) / (growth - 1)
    return (1 + math.cos(math.pi * (t - start) / (period * growth**n))) / 2


def sgdr_by_recursion(t, period, growth):
    if t >= period:
        return sgdr_by_recursion(t - period, growth * period, growth)
    return 0.5 + 0.5 * np.cos(np.pi * t / period)


def plateau_by_cases(lr, best, bad, loss, factor, patience):
    if loss < best:
        return [lr, loss, 0]
    if bad == patience:
        return [lr * factor, best, 0]
    return [lr, best, bad + 1]


def plateau_by_library(lr, best, bad, loss, factor, patience):
    machine = reduce_on_plateau(factor, patience, threshold=0.0)
    state = machine.transform.init([])._replace(
        best=torch.tensor(best, dtype=torch.float64), bad=torch.tensor(float(bad), dtype=torch.float64)
    )
    state = machine.observe(state, loss)
    return lr * state.scale, state.best, state.bad


def suggest_by_weights(lrs, losses, smoothing):
    means = []
    for t in range(len(losses)):
        weights = smoothing ** np.arange(t, -1, -1)
        means.append((weights * losses[: t + 1]).sum() / weights.sum())
    return 0.1 * lrs[int(np.argmin(means))]


def suggest_in_place(lrs, losses, smoothing):
    mean, weight, lowest, answer = 0.0, 0.0, math.inf, None
    for lr, loss in zip(lrs, losses, strict=True):
        mean, weight = smoothing * mean + loss, smoothing * weight + 1
        if mean / weight < lowest:
            lowest, answer = mean / weight, lr / 10
    return answer


def scaled_by_table(lr, batch, new_batch, optimizer):
    k = new_batch / batch
    return {"sgd": k, "adam": math.sqrt(k)}[optimizer] * lr


@pytest.mark.parametrize(
    ("check", "right"),
    [
        (check_warmup_cosine, warmup_cosine_by_numpy),
        (check_warmup_cosine, warmup_cosine_by_torch),
        (check_warmup_cosine, lambda t, warm, total: then(warmup(warm), cosine(total - warm), at=warm)(t)),
        (check_sgdr, sgdr_by_logarithm),
        (check_sgdr, sgdr_by_recursion),
        (check_sgdr, lambda t, period, growth: warm_restarts(period, growth)(t)),
        (check_plateau, plateau_by_cases),
        (check_plateau, plateau_by_library),
        (check_suggest, suggest_by_weights),
        (check_suggest, suggest_in_place),
        (check_scaled_lr, scaled_by_table),
    ],
)
def test_no_correct_variant_is_accused(check, right):
    verdict = check(right)
    assert verdict.passed, verdict
    assert "Verified" in verdict.message


@pytest.mark.parametrize(
    ("check", "doubly_wrong"),
    [
        (check_warmup_cosine, lambda t, w, n: (t + 1) / w if t < w else 1 + math.cos(math.pi * t / n)),
        (check_sgdr, lambda t, p, m: 1 + math.cos(math.pi * (t % p) / p)),
        (
            check_plateau,
            lambda lr, best, bad, loss, f, p: (lr / f, loss, bad) if bad >= p else (lr, min(best, loss), bad + 1),
        ),
        (check_suggest, lambda lrs, losses, s: lrs[np.argmax(losses)]),
        (check_scaled_lr, lambda lr, b, n, o: lr * b / n),
    ],
)
def test_two_mistakes_at_once_get_no_wrong_name(check, doubly_wrong):
    verdict = check(doubly_wrong)
    assert (verdict.status, verdict.mistake) == ("wrong", ""), verdict
    assert "not in a way the check knows" in verdict.message


@pytest.mark.parametrize("check", EXERCISES)
def test_not_attempted_wrong_shape_and_no_function(check):
    assert check(...).status == "not attempted"
    assert check(lambda *case: ...).status == "not attempted"
    assert "was given" in check(3.0).message
    wrong = (np.zeros((7, 7)),) * 3 if check is check_plateau else np.zeros((7, 7))
    assert "shape" in check(lambda *case: wrong).evidence


def test_a_learner_who_sorts_the_arrays_in_place_is_told_so():
    def sorts(lrs, losses, smoothing):
        losses.sort()
        return lrs[0]

    assert check_suggest(sorts).mistake == "changes its input"


@pytest.mark.parametrize("check", EXERCISES)
def test_a_crash_shows_the_learner_s_line(check):
    def mine(*case):
        return case[0].no_such_thing

    verdict = check(mine)
    assert verdict.status == "wrong"
    assert "case[0].no_such_thing" in verdict.evidence
