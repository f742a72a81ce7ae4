"""Mistakes made in a line of an optimizer that is written as a learner writes it."""

import re

import numpy as np
import pytest

from course_lib.grading.optimizers import check_adam, check_adamw
from course_lib.grading.optimizers.conformance import UNKNOWN
from tests.grading.optimizers.written import ADAM_CLASS, ADAMW_CLASS, CHECKS, SOURCES, written

# The formula's own lines are edited in test_conformance: here is what is written otherwise, or stands around them.
EDITS = [
    ("adam", "no bias correction", [(" / (1 - self.b1**self.t)", ""), (" / (1 - self.b2**self.t)", "")]),
    ("adam", "eps inside the root", [("v.sqrt() + self.eps", "(v + self.eps).sqrt()")]),
    ("adam", "missing parentheses", [("(v.sqrt() + self.eps)", "v.sqrt() + self.eps")]),
    ("adam", "missing parentheses", [("self.lr * m / (v.sqrt() + self.eps)", "m * (self.lr / v.sqrt() + self.eps)")]),
    ("adam", "one square for a whole parameter", [("g**2", "(g**2).mean()")]),
    ("adam", "one square for a whole parameter", [("g**2", "g.norm() ** 2")]),
    (
        "adam",
        "b1 used for both averages",
        [("self.b2 * self.v[i] + (1 - self.b2)", "self.b1 * self.v[i] + (1 - self.b1)")],
    ),
    ("adam", "b1 used for both averages", [("= lr, b1, b2, eps", "= lr, b1, b1, eps")]),
    ("adam", "b2 used for both averages", [("= lr, b1, b2, eps", "= lr, b2, b2, eps")]),
    ("adam", "t starts at 0", [("        self.t += 1\n", ""), ("def zero", "    self.t += 1\n\n    def zero")]),
    ("adam", "t starts at 2", [("self.t = 0", "self.t = 1")]),
    (
        "adam",
        "t counts parameters",
        [("        self.t += 1\n", ""), ("            g = p.grad", "            self.t += 1\n            g = p.grad")],
    ),
    ("adam", "sign of the update", [("p -= ", "p += ")]),
    ("adam", "parameters never move", [("p -= ", "p = p - ")]),
    ("adam", "decoupled decay", [(" + self.decay * p\n", "\n"), ("p -= ", "p -= self.lr * self.decay * p + ")]),
    ("adam", "b1 and b2 exchanged", [("lr, b1, b2, eps, decay\n", "lr, b2, b1, eps, decay\n")]),
    (
        "adam",
        "corrected averages kept in the state",
        [
            ("   m = ", "   self.m[i] = m = "),
            ("   v = ", "   self.v[i] = v = "),
        ],
    ),
    (
        "adam",
        "state shared between parameters",
        [
            ("[torch.zeros_like(p) for p in self.params]", "[0.0]"),
            ("[i]", "[0]"),
        ],
    ),
    (
        "adam",
        "zero gradients skipped",
        [
            ("            g = p", "            if not p.grad.any(): continue\n            g = p"),
        ],
    ),
    ("adam", "gradients changed", [("p.grad + self.decay * p", "p.grad.add_(self.decay * p)")]),
    ("adam", "zero_grad", [("p.grad = None", "p.grad = p.grad")]),
    (
        "adamw",
        "coupled decay",
        [
            ("g = p.grad", "g = p.grad + self.decay * p"),
            ("            p *= 1 - self.lr * self.decay\n", ""),
        ],
    ),
    ("adamw", "decay not multiplied by lr", [("1 - self.lr * self.decay", "1 - self.decay")]),
    (
        "adamw",
        "decay inside the division",
        [
            ("            p *= 1 - self.lr * self.decay\n", ""),
            ("* m /", "* (m + self.decay * p) /"),
        ],
    ),
    (
        "adamw",
        "decay after the step",
        [
            ("            p *= 1 - self.lr * self.decay\n", ""),
            ("self.eps)\n", "self.eps)\n            p *= 1 - self.lr * self.decay\n"),
        ],
    ),
    ("transform", "eps added before the bias correction", [(" + eps * (1 - b2**t) ** 0.5)", " + eps)")]),
    (
        "transform",
        "bias correction outside the root",
        [
            ("lr * (1 - b2**t) ** 0.5", "lr * (1 - b2**t)"),
            (" * (1 - b2**t) ** 0.5)", " * (1 - b2**t))"),
        ],
    ),
    (
        "transform",
        "returns the parameters, not the steps",
        [
            ("[-scale * x", "[p - scale * x"),
            ("for x, y in zip(m, v)]", "for x, y, p in zip(m, v, params)]"),
        ],
    ),
    ("transform", "t starts at 0", [("t = t + 1\n", "pass\n"), ("(t, m, v)", "(t + 1, m, v)")]),
    ("transform", "state changed in place", [("b1 * x + (1", "x.mul_(b1) + (1")]),
    ("transform", "gradients changed", [("b1 * x + (1 - b1) * g ", "b1 * x + g.mul_(1 - b1) ")]),
    ("sgd", "momentum not accumulated", [("self.v[i].mul_(self.beta).add_(g)", "self.v[i] = g")]),
    ("sgd", "dampening", [("add_(g)", "add_(g, alpha=1 - self.beta)")]),
    (
        "sgd",
        "lr inside the velocity",
        [
            ("add_(g)", "add_(g, alpha=self.lr)"),
            ("self.lr * self.v[i])", "self.v[i])"),
        ],
    ),
    ("sgd", "sign of the update", [("p.sub_", "p.add_")]),
    (
        "sgd",
        "state shared between parameters",
        [
            ("[torch.zeros_like(p) for p in self.params]", "[torch.zeros_like(p) for p in self.params][:1]"),
            ("[i]", "[0]"),
        ],
    ),
    (
        "sgd",
        "state shared between parameters",
        [
            ("[torch.zeros_like(p) for p in self.params]", "[torch.zeros_like(self.params[0])] * len(self.params)"),
        ],
    ),
    (
        "sgd",
        "a changed lr is ignored",
        [
            ("self.params, self.lr,", "self.lr, self.params, self.eta,"),
            ("list(params), lr", "lr, list(params), lr"),
            ("self.lr * self.v", "self.eta * self.v"),
        ],
    ),
    (
        "sgd",
        "decoupled decay",
        [
            ("p.grad.add(p, alpha=self.decay)", "p.grad"),
            ("self.v[i])", "(self.v[i] + self.decay * p))"),
        ],
    ),
    ("sgd", "gradients changed", [("p.grad.add(", "p.grad.add_(")]),
    (
        "sgd",
        "velocity is the gradient's own array",
        [
            ("[torch.zeros_like(p) for p in self.params]", "[None for p in self.params]"),
            ("p.grad.add(p, alpha=self.decay)", "p.grad + self.decay * p if self.decay else p.grad"),
            ("self.v[i].mul_(self.beta).add_(g)", "self.v[i] = g if self.v[i] is None else self.beta * self.v[i] + g"),
        ],
    ),
    ("nesterov", "no look-ahead", [("g + self.beta * self.v[i]", "self.v[i]")]),
    (
        "nesterov",
        "no look-ahead",
        [
            ("            self.v[i].mul_(self.beta).add_(g)\n", ""),
            ("v[i]))\n", "v[i]))\n            self.v[i].mul_(self.beta).add_(g)\n"),
        ],
    ),
    (
        "nesterov",
        "lr inside the velocity",
        [
            (
                "self.v[i].mul_(self.beta).add_(g)",
                "old = self.v[i].clone(); self.v[i].mul_(self.beta).sub_(self.lr * g)",
            ),
            ("p.sub_(self.lr * (g + self.beta * self.v[i]))", "p.add_((1 + self.beta) * self.v[i] - self.beta * old)"),
        ],
    ),
    ("rmsprop", "v never decays", [("alpha * v + (1 - alpha) *", "v +")]),
    ("rmsprop", "state started anew at every step", [('{"v": v}', "{}")]),
    ("rmsprop", "square of the mean", [("np.square(g)\n", "g\n"), ("np.sqrt(v)", "np.abs(v)")]),
    ("rmsprop", "one square for a whole parameter", [("np.square(g)", "np.mean(np.square(g))")]),
    (
        "rmsprop",
        "step taken before the state is updated",
        [
            ("np.sqrt(v) + eps", "np.sqrt(state.get('v', 0 * v)) + eps"),
        ],
    ),
    ("rmsprop", "returns the steps, not the parameters", [("return theta -", "return -")]),
    (
        "rmsprop",
        "parameters changed in place",
        [
            (
                "return theta - lr * g / (np.sqrt(v) + eps),",
                "theta -= lr * g / (np.sqrt(v) + eps)\n    return theta,",
            ),
        ],
    ),
    (
        "rmsprop",
        "gradients changed",
        [
            ("g = grad + weight_decay * theta", "grad += weight_decay * theta\n    g = grad"),
        ],
    ),
    (
        "rmsprop",
        "state survives from run to run",
        [
            ("weight_decay=0.0", "weight_decay=0.0, kept={}"),
            ('state.get("v"', "kept.get(theta.shape"),
            ("    return", "    kept[theta.shape] = v\n    return"),
        ],
    ),
]


@pytest.mark.parametrize(("source", "mistake", "edits"), EDITS, ids=[f"{s}: {m}" for s, m, _ in EDITS])
def test_a_mistake_in_a_learner_s_own_code_is_named(source, mistake, edits):
    check = CHECKS.get(source, check_adam)
    verdict = check(written(SOURCES[source], *edits))
    assert (verdict.status, verdict.mistake) == ("wrong", mistake), verdict


def test_a_missing_root_is_told_in_a_sentence():
    verdict = check_adam(written(ADAM_CLASS, ("v.sqrt()", "v")))
    assert verdict.message == "The step is divided by v, and should be divided by its square root."


def test_the_evidence_tells_the_numbers_apart():
    """Decay after the step differs by lr decay times the step: its ninth digit here."""
    late = [("            p *= 1 - self.lr * self.decay\n", "")]
    late += [("self.eps)\n", "self.eps)\n            p *= 1 - self.lr * self.decay\n")]
    attempts = [(check_adamw(written(ADAMW_CLASS, *late)), "decay after the step")]
    attempts += [(check_adam(written(ADAM_CLASS, (" + self.eps)", ")"))), "eps left out")]
    for verdict, mistake in attempts:
        assert verdict.mistake == mistake
        number = r"(-?[\d.]+(?:e-?\d+)?|nan|-?inf)"
        shown = re.search(f"is {number}, expected {number}: it moved by {number}, expected {number}$", verdict.evidence)
        is_, expected, moved, due = shown.groups()
        assert is_ != expected
        assert moved != due


def test_the_evidence_is_the_entry_that_differs_most():
    def off(theta, grad, state, lr, b1, b2, eps):
        return theta - lr * np.sign(grad) * np.resize([1.01, 1.0, 1.5], theta.shape), state

    assert "step 1, parameter 0[2] is" in check_adam(off).evidence


PAIRS = [
    (
        ["no bias correction", "eps inside the root"],
        "adam",
        [
            (" / (1 - self.b1**self.t)", ""),
            (" / (1 - self.b2**self.t)", ""),
            ("v.sqrt() + self.eps", "(v + self.eps).sqrt()"),
        ],
    ),
    (["dampening", "sign of the update"], "sgd", [("add_(g)", "add_(g, alpha=1 - self.beta)"), ("p.sub_", "p.add_")]),
]


@pytest.mark.parametrize(("mistakes", "kind", "edits"), PAIRS, ids=["adam", "sgd"])
def test_two_mistakes_in_a_learner_s_own_code_are_both_named(mistakes, kind, edits):
    verdict = CHECKS[kind](written(SOURCES[kind], *edits))
    assert sorted(verdict.mistake.split("; ")) == sorted(mistakes)
    assert verdict.message.startswith("Two mistakes at once.")


def test_three_mistakes_at_once_are_not_named():
    edits = [(" / (1 - self.b1**self.t)", ""), ("v.sqrt() + self.eps", "(v + self.eps).sqrt()"), ("p -= ", "p += ")]
    verdict = check_adam(written(ADAM_CLASS, *edits))
    assert (verdict.status, verdict.mistake) == ("wrong", "")
    assert verdict.message == UNKNOWN
    assert "step 1, parameter" in verdict.evidence
