"""No correct variant is accused, and two mistakes at once get no wrong name. Adam and AdamW: tests of the suite."""

import numpy as np
import pytest

from course_lib.lectures.adaptive import check_adagrad_step, check_amsgrad_step

ADAGRAD = """
def mine(theta, total, grad, lr, eps):
    s = total + grad**2
    return theta - lr * grad / (np.sqrt(s) + eps), s
"""
AMSGRAD = """
def mine(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    m = b1 * mean + (1 - b1) * grad
    v = b2 * square + (1 - b2) * grad**2
    u = np.maximum(peak, v)
    m_hat = m / (1 - b1**t)
    u_hat = u / (1 - b2**t)
    step = lr * m_hat / (np.sqrt(u_hat) + eps)
    return theta - step, m, v, u
"""


def written(source, *edits):
    """The function of a source after replacing text in it; every edit must find its text."""
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    names: dict = {"np": np}
    exec(source, names)
    return names["mine"]


def adagrad_on_copies(theta, total, grad, lr, eps):
    theta, total = theta.copy(), total.copy()
    total += grad * grad
    theta -= lr * (grad / (total**0.5 + eps))
    return [theta, total]


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
        (check_adagrad_step, lambda *case: check_adagrad_step.oracle(*case)),
        (check_amsgrad_step, lambda *case: check_amsgrad_step.oracle(*case)),
        (check_amsgrad_step, amsgrad_with_where),
    ],
)
def test_no_correct_variant_is_accused(check, right):
    verdict = check(right)
    assert verdict.passed, verdict
    assert "Verified" in verdict.message


ADAGRAD_EDITS = [
    ("step returned", [("return theta - lr", "return lr")]),
    ("one sum for all", [("grad**2", "np.linalg.norm(grad)**2")]),
    ("sum not kept", [("eps), s", "eps), total")]),
]
AMSGRAD_EDITS = [
    ("old peak returned", [("v, u\n", "v, peak\n")]),
    ("eps added before the bias correction", [("(np.sqrt(u_hat) + eps)", "((np.sqrt(u) + eps) / (1 - b2**t) ** 0.5)")]),
    ("b1 and b2 exchanged", [("lr, b1, b2, eps", "lr, b2, b1, eps")]),
    ("b1 used for both averages", [("b2", "b1"), ("b1, b1, eps", "b1, b2, eps")]),
    ("t starts at 2", [("**t", "**(t + 1)")]),
    ("t starts at 0", [("**t", "**(t - 1)")]),
    ("results in another order", [("step, m, v, u", "step, v, m, u")]),
]
EDITS = [(check_adagrad_step, ADAGRAD, *e) for e in ADAGRAD_EDITS] + [
    (check_amsgrad_step, AMSGRAD, *e) for e in AMSGRAD_EDITS
]


@pytest.mark.parametrize(
    ("check", "source", "mistake", "edits"), EDITS, ids=[f"{c.title}: {m}" for c, _, m, _ in EDITS]
)
def test_a_mistake_in_a_learner_s_own_code_is_named(check, source, mistake, edits):
    verdict = check(written(source, *edits))
    assert (verdict.status, verdict.mistake) == ("wrong", mistake), verdict


def test_the_new_peak_used_and_the_old_one_returned_is_not_taken_for_an_old_v():
    verdict = check_amsgrad_step(written(AMSGRAD, ("v, u\n", "v, peak\n")))
    assert verdict.message.startswith("The step takes the new peak, but the old one is returned")
    assert "gradient" not in verdict.message


@pytest.mark.parametrize(
    ("check", "doubly_wrong", "names"),
    [
        (
            check_adagrad_step,
            lambda t, s, g, lr, eps: (t + lr * g / (s + g**2 + eps), s + g**2),
            "missing root; sign of the update",
        ),
        (
            check_amsgrad_step,
            lambda th, m, s, p, g, t, lr, b1, b2, eps: (th + lr * g / (np.sqrt(p) + eps), b1 * m + g, s + g**2, p + s),
            "",
        ),
        (
            check_adagrad_step,
            written(ADAGRAD, ("lr * grad", "grad"), ("(np.sqrt(s) + eps)", "np.sqrt(s) + eps")),
            "missing parentheses; lr left out",
        ),
        (
            check_adagrad_step,
            written(ADAGRAD, ("total + grad**2", "grad**2"), ("theta - lr", "theta + lr")),
            "old sum dropped; sign of the update",
        ),
        (
            check_amsgrad_step,
            written(AMSGRAD, ("m / (1 - b1**t)", "m"), ("theta - step", "theta + step")),
            "bias correction of v alone; sign of the update",
        ),
        (
            check_amsgrad_step,
            written(AMSGRAD, ("np.maximum(peak, v)", "np.maximum(peak, grad**2)"), ("u_hat)", "u)")),
            "peak of the squares; bias correction of m alone",
        ),
    ],
)
def test_two_mistakes_at_once_are_both_named_or_neither(check, doubly_wrong, names):
    verdict = check(doubly_wrong)
    assert (verdict.status, verdict.mistake) == ("wrong", names), verdict


def test_two_mistakes_that_show_in_different_results_are_both_named():
    verdict = check_amsgrad_step(written(AMSGRAD, ("theta - step", "theta + step"), ("step, m,", "step, mean,")))
    assert verdict.mistake == "sign of the update; old m returned"
    verdict = check_adagrad_step(written(ADAGRAD, (" + eps", ""), ("), s", "), total")))
    assert verdict.mistake == "eps left out; sum not kept"


def test_a_sum_changed_in_place_is_named():
    def in_place(theta, total, grad, lr, eps):
        total += grad**2
        return theta - lr * grad / (np.sqrt(total) + eps), total

    assert check_adagrad_step(in_place).mistake == "changes its input"
