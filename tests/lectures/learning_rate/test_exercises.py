"""No correct variant is accused, and two mistakes at once get no wrong name."""

import itertools
import math
import operator

import numpy as np
import pytest
import torch

from course_lib.grading.mutate import Overlap
from course_lib.lectures.learning_rate import (
    check_plateau,
    check_scaled_lr,
    check_sgdr,
    check_suggest,
    check_warmup_cosine,
)
from course_lib.schedules import cosine, join, reduce_on_plateau, warm_restarts, warmup


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
        (check_warmup_cosine, lambda t, warm, total: join(warmup(warm), cosine(total - warm), at=warm)(t)),
        (check_sgdr, sgdr_by_logarithm),
        (check_sgdr, sgdr_by_recursion),
        (check_sgdr, lambda t, period, growth: warm_restarts(period, growth)(t)),
        (check_plateau, plateau_by_cases),
        (check_plateau, plateau_by_library),
        (check_suggest, suggest_by_weights),
        (check_suggest, suggest_in_place),
        (check_suggest, lambda lrs, losses, s: suggest_by_weights(lrs, (1 - s) * losses, s)),
        (check_scaled_lr, scaled_by_table),
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
            check_warmup_cosine,
            lambda t, w, n: (t + 1) / w if t < w else 1 + math.cos(math.pi * t / n),
            "",
        ),
        (check_warmup_cosine, lambda t, w, n: t / n if t < w else math.cos(math.pi / 2 * t / n), ""),
        (check_sgdr, lambda t, p, m: 1 + math.cos(math.pi * (t % p) / p), "not halved; equal cycles"),
        (check_sgdr, lambda t, p, m: 1 - (t + 1) % p / p, ""),
        (
            check_plateau,
            lambda lr, best, bad, loss, f, p: (lr / f, loss, bad) if bad >= p else (lr, min(best, loss), bad + 1),
            "",
        ),
        (check_suggest, lambda lrs, losses, s: lrs[np.argmax(losses)], ""),
        (check_suggest, lambda lrs, losses, s: lrs[np.diff(losses).argmin()], ""),
        (check_scaled_lr, lambda lr, b, n, o: lr * b / n, "always linear; upside down"),
        (check_scaled_lr, lambda lr, b, n, o: lr if o == "sgd" else lr * n / b, "always linear; SGD unchanged"),
    ],
)
def test_two_mistakes_at_once_are_both_named_or_neither(check, doubly_wrong, names):
    verdict = check(doubly_wrong)
    assert (verdict.status, verdict.mistake) == ("wrong", names), verdict


def test_a_learner_who_sorts_the_arrays_in_place_is_told_so():
    def sorts(lrs, losses, smoothing):
        losses.sort()
        return lrs[0]

    assert check_suggest(sorts).mistake == "changes its input"


def checks_before_counting(lr, best, bad, loss, factor, patience):
    if bad > patience:
        lr, bad = factor * lr, 0
    return (lr, loss, 0) if loss < best else (lr, best, bad + 1)


def counts_and_never_reduces(lr, best, bad, loss, factor, patience):
    return (lr, loss, 0) if loss < best else (lr, best, bad + 1)


def minimum_before_comparison(lr, best, bad, loss, factor, patience):
    best = min(best, loss)
    bad = 0 if loss < best else bad + 1
    return (factor * lr, best, 0) if bad > patience else (lr, best, bad)


def plateau_with(better):
    def observe(lr, best, bad, loss, factor, patience):
        best, bad = (loss, 0) if better(loss, best) else (best, bad + 1)
        return (factor * lr, best, 0) if bad > patience else (lr, best, bad)

    return observe


def suggest_with(first, rule=lambda lrs, curve: lrs[np.argmin(curve)] / 10):
    def suggest(lrs, losses, smoothing):
        mean, curve = 0.0, []
        for t, loss in enumerate(losses, start=first):
            mean = smoothing * mean + (1 - smoothing) * loss
            curve.append(mean / (1 - smoothing**t))
        return rule(lrs, np.array(curve))

    return suggest


@pytest.mark.parametrize(
    ("check", "wrong", "mistake"),
    [
        (check_warmup_cosine, lambda t, w, n: (1 + math.cos(math.pi * t / n)) / 2, "no warm-up"),
        (check_warmup_cosine, lambda t, w, n: (1 + math.cos(math.pi * (t - w) / (n - w))) / 2, "no warm-up"),
        (
            check_warmup_cosine,
            lambda t, w, n: t / w if t < w else np.cos(np.pi / 2 * (t - w) / (n - w)),
            "quarter wave",
        ),
        (check_sgdr, lambda t, p, m: warm_restarts(p, m)(t + 1), "one step ahead"),
        (check_sgdr, lambda t, p, m: 2 * warm_restarts(p, m)(t) - 1, "cosine alone"),
        (check_sgdr, lambda t, p, m: (2 * warm_restarts(p, m)(t) - 1) ** 2, "whole wave"),
        (check_sgdr, lambda t, p, m: math.acos(2 * warm_restarts(p, m)(t) - 1) / -math.pi + 1, "line"),
        (check_plateau, checks_before_counting, "no reduction"),
        (check_plateau, counts_and_never_reduces, "no reduction"),
        (check_plateau, minimum_before_comparison, "best updated too early"),
        (check_plateau, plateau_with(operator.gt), "comparison reversed"),
        (check_suggest, suggest_with(0), "steps counted from 0"),
        (check_suggest, suggest_with(2), "steps counted from 2"),
        (check_suggest, lambda lrs, losses, s: lrs[0] / 10, "lowest learning rate"),
        (check_suggest, suggest_with(1, lambda lrs, c: lrs[np.gradient(c, np.log(lrs)).argmin()]), "steepest descent"),
    ],
)
def test_a_mistake_is_named_however_it_is_written(check, wrong, mistake):
    assert check(wrong).mistake == mistake, check(wrong)


@pytest.mark.parametrize("share", [1e-5, 1e-4, 0.01, 0.05])
@pytest.mark.parametrize("relative", [True, False])
def test_a_threshold_is_refused_by_name_however_small(share, relative):
    verdict = check_plateau(plateau_with(lambda loss, best: loss < (best * (1 - share) if relative else best - share)))
    assert verdict.mistake == "threshold", verdict
    assert "expected 0.999999" in verdict.evidence


def test_what_is_said_of_a_missing_reduction_is_true():
    for wrong in (checks_before_counting, counts_and_never_reduces):
        assert "never grows" not in check_plateau(wrong).message


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_an_optimizer_s_name_in_the_wrong_case_is_told_only_what_its_numbers_show(name):
    def scaled(lr, batch, new_batch, optimizer):
        ratio = new_batch / batch
        return lr * ratio ** (1.0 if (optimizer == name.upper()) == (name == "sgd") else 0.5)

    assert f'For "{name}", too, this is' in check_scaled_lr(scaled).message


@pytest.mark.parametrize("check", [check_plateau, check_warmup_cosine, check_sgdr], ids=lambda c: c.title)
def test_of_two_mistakes_at_once_none_is_invented(check):
    """Every pair of edits gets its own names, or, where its numbers are also another's, the other's or none."""
    named = 0
    for a, b in itertools.combinations(check.mistakes, 2):
        try:
            wrong = check.versions.edited(*a.ways[0], *b.ways[0])
        except Overlap:
            continue
        verdict = check(wrong)
        names = set(verdict.mistake.split("; "))
        named += names == {a.name, b.name}
        assert names & {a.name, b.name} or len(names) == 1, (a.name, b.name, verdict)
    assert named > 20


@pytest.mark.parametrize("wrong", [("bad + 1", "bad + 2"), ("factor * lr", "lr - factor")])
def test_a_mistake_without_a_name_gets_none(wrong):
    assert check_plateau(check_plateau.versions.edited(wrong)).mistake == ""


@pytest.mark.parametrize("powers", [*itertools.product((-1, -0.5, 0, 0.5, 1, 2), repeat=2)])
def test_powers_of_the_batch_are_named_where_they_are_known(powers):
    sgd, adam = powers
    verdict = check_scaled_lr(lambda lr, batch, new, name: lr * (new / batch) ** (sgd if name == "sgd" else adam))
    single = {(1, 1), (0.5, 0.5), (0.5, 1), (-1, -0.5), (-1, 0.5), (1, -0.5), (0, 0), (0, 0.5), (1, 0), (1, 2)}
    assert verdict.passed == (powers == (1, 0.5))
    assert (bool(verdict.mistake) and ";" not in verdict.mistake) == (powers in single)
