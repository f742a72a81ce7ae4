"""No correct variant is accused, and two mistakes at once get no wrong name."""

import numpy as np
import pytest
import torch

from course_lib.lectures.gradient_descent import (
    check_best_step,
    check_gradient_step,
    check_minibatch_gradient,
    check_noise_scale,
    check_sharpness,
)


def step_on_a_copy(theta, grad, lr):
    theta = theta.copy()
    theta -= lr * grad
    return theta


def step_in_torch(theta, grad, lr):
    parameter = torch.tensor(theta, requires_grad=True)
    parameter.grad = torch.tensor(grad)
    torch.optim.SGD([parameter], lr=lr).step()
    return parameter


def best_step_by_sorting(eigenvalues):
    ordered = sorted(eigenvalues.tolist())
    return 1 / ((ordered[0] + ordered[-1]) / 2)


def minibatch_by_loop(X, y, w, rows):
    return [sum((X[r] @ w - y[r]) * X[r, j] for r in rows) / len(rows) for j in range(len(w))]


def minibatch_in_torch(X, y, w, rows):
    weights = torch.tensor(w, requires_grad=True)
    residual = torch.tensor(X[rows]) @ weights - torch.tensor(y[rows])
    ((residual**2).mean() / 2).backward()
    return weights.grad


def sharpness_that_normalizes_first(hvp, v, rounds):
    for _ in range(rounds):
        v = v / np.sqrt(np.sum(v * v))
        hv = hvp(v)
        eigenvalue, v = float(np.dot(v, hv)), hv
    return eigenvalue


def minibatch_by_counting(X, y, w, rows):
    counts = np.bincount(rows, minlength=len(X))
    return X.T @ (counts * (X @ w - y)) / counts.sum()


def sharpness_in_torch(hvp, v, rounds):
    direction = torch.tensor(v)
    for _ in range(rounds):
        direction = torch.nn.functional.normalize(torch.tensor(hvp(direction.numpy())), dim=0)
    return direction @ torch.tensor(hvp(direction.numpy()))


def sharpness_that_asks_twice_a_round(hvp, v, rounds):
    for _ in range(rounds):
        v = hvp(v) / np.linalg.norm(hvp(v))
    return v @ hvp(v)


def sharpness_by_the_largest_entry(hvp, v, rounds):
    for _ in range(rounds):
        v = hvp(v / np.abs(v).max())
    return v @ hvp(v) / (v @ v)


def noise_scale_in_one_line(small, big, norm_small, norm_big):
    return (norm_small - norm_big) * small * big / (big * norm_big - small * norm_small)


def noise_scale_by_solving(small, big, norm_small, norm_big):
    signal, noise = np.linalg.solve([[1, 1 / small], [1, 1 / big]], [norm_small, norm_big])
    return noise / signal


@pytest.mark.parametrize(
    ("check", "right"),
    [
        (check_gradient_step, step_on_a_copy),
        (check_gradient_step, step_in_torch),
        (check_best_step, best_step_by_sorting),
        (check_minibatch_gradient, minibatch_by_loop),
        (check_minibatch_gradient, minibatch_in_torch),
        (check_minibatch_gradient, minibatch_by_counting),
        (check_sharpness, sharpness_that_normalizes_first),
        (check_sharpness, sharpness_in_torch),
        (check_sharpness, sharpness_that_asks_twice_a_round),
        (check_sharpness, sharpness_by_the_largest_entry),
        (check_noise_scale, noise_scale_in_one_line),
        (check_noise_scale, noise_scale_by_solving),
    ],
)
def test_no_correct_variant_is_accused(check, right):
    verdict = check(right)
    assert verdict.passed, verdict
    assert "Verified" in verdict.message


@pytest.mark.parametrize(
    ("check", "doubly_wrong", "names"),
    [
        (check_gradient_step, lambda theta, grad, lr: theta + grad / lr, "uphill; divided by the learning rate"),
        (check_gradient_step, lambda theta, grad, lr: lr * grad, ""),
        (check_best_step, lambda e: 1 / (e[0] + e[-1]), ""),
        (
            check_minibatch_gradient,
            lambda X, y, w, rows: -2 * X[rows].T @ (X[rows] @ w - y[rows]) / len(rows),
            "wrong sign; factor 2",
        ),
        (check_sharpness, lambda hvp, v, rounds: np.linalg.norm(hvp(v)), "sign lost; vector not updated"),
        (check_noise_scale, lambda s, b, p, q: -(p - q) / (1 / s - 1 / b) / q, "the big batch's own norm; wrong sign"),
    ],
)
def test_two_mistakes_at_once_are_both_named_or_neither(check, doubly_wrong, names):
    verdict = check(doubly_wrong)
    assert (verdict.status, verdict.mistake) == ("wrong", names), verdict


def test_the_ways_learners_write_a_known_mistake_are_named():
    def counted_once(X, y, w, rows):
        m = np.zeros(len(X))
        m[rows] += 1
        return X.T @ (m * (X @ w - y)) / len(rows)

    def counted_once_and_divided_by_the_count(X, y, w, rows):
        m = np.zeros(len(X))
        m[rows] += 1
        return X.T @ (m * (X @ w - y)) / m.sum()

    def start_kept(hvp, v, rounds):
        for _ in range(rounds):
            w = hvp(v)
            w = w / np.linalg.norm(w)
        return w @ hvp(w)

    def by_the_largest_entry(hvp, v, rounds):
        for _ in range(rounds):
            v = hvp(v)
            v = v / np.abs(v).max()
        return v @ hvp(v)

    def small_less_big(small, big, norm_small, norm_big):
        noise = (norm_small - norm_big) / (1 / small - 1 / big)
        return noise / (norm_small - noise / big)

    assert check_minibatch_gradient(counted_once).mistake == "repeated rows counted once"
    assert check_minibatch_gradient(counted_once_and_divided_by_the_count).mistake == "repeated rows dropped"
    assert check_sharpness(start_kept).mistake == "vector not updated"
    assert check_sharpness(by_the_largest_entry).mistake == "largest entry for length"
    assert check_noise_scale(small_less_big).mistake == "size and norm do not belong together"


def test_a_best_step_found_by_search_is_called_close_and_a_far_one_is_not():
    def searched(eigenvalues):
        lrs = np.linspace(0, 2 / eigenvalues.max(), 1001)[1:]
        return lrs[np.abs(1 - lrs[:, None] * eigenvalues).max(axis=1).argmin()]

    verdict = check_best_step(searched)
    assert (verdict.status, verdict.mistake) == ("wrong", "approximate")
    assert "within one part in a hundred" in verdict.message
    assert verdict.evidence
    assert check_best_step(lambda e: 1.02 * 2 / (e.min() + e.max())).mistake == ""


def test_a_hessian_rebuilt_column_by_column_is_refused_where_it_is_large():
    def rebuilt(hvp, v, rounds):
        eigenvalues = np.linalg.eigvalsh(np.stack([hvp(e) for e in np.eye(len(v))]))
        return eigenvalues[np.abs(eigenvalues).argmax()]

    verdict = check_sharpness(rebuilt)
    assert verdict.status == "wrong"
    assert "power iteration needs one call a round" in verdict.evidence
    assert "2000 parameters" in verdict.evidence


def test_a_step_taken_in_place_is_named():
    def in_place(theta, grad, lr):
        theta -= lr * grad
        return theta

    assert check_gradient_step(in_place).mistake == "changes its input"
