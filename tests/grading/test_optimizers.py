"""Learners' optimizers: each known mistake is named, right ones pass, two mistakes at once get no wrong name.

The mistakes are made twice: in the switches of the check's own simulator, and by editing a line of an optimizer written
here as a learner writes it.
"""

import math
import re
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import optim
from course_lib.grading.optimizers.cases import DEFAULTS, reference, sequences
from course_lib.grading.optimizers.diagnosis import UNKNOWN, Run, alike, diagnose, wrong_path
from course_lib.grading.optimizers.flaws import candidates
from course_lib.grading.optimizers.mutants import simulate
from course_lib.grading.optimizers.suite import (
    check_adam,
    check_adamw,
    check_nesterov,
    check_optimizer,
    check_rmsprop,
    check_sgd_momentum,
)

CHECKS = {
    "sgd": check_sgd_momentum,
    "nesterov": check_nesterov,
    "rmsprop": check_rmsprop,
    "adam": check_adam,
    "adamw": check_adamw,
}
ADAM_CLASS = """
class Mine:
    def __init__(self, params, lr, b1, b2, eps, decay=0.0):
        self.params = list(params)
        self.lr, self.b1, self.b2, self.eps, self.decay = lr, b1, b2, eps, decay
        self.t = 0
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        self.t += 1
        for i, p in enumerate(self.params):
            g = p.grad + self.decay * p
            self.m[i] = self.b1 * self.m[i] + (1 - self.b1) * g
            self.v[i] = self.b2 * self.v[i] + (1 - self.b2) * g**2
            m = self.m[i] / (1 - self.b1**self.t)
            v = self.v[i] / (1 - self.b2**self.t)
            p -= self.lr * m / (v.sqrt() + self.eps)

    def zero_grad(self):
        for p in self.params:
            p.grad = None
"""
ADAMW_CLASS = ADAM_CLASS.replace("g = p.grad + self.decay * p", "g = p.grad").replace(
    "p -= self.lr * m / (v.sqrt() + self.eps)",
    "p *= 1 - self.lr * self.decay\n            p -= self.lr * m / (v.sqrt() + self.eps)",
)
SGD_CLASS = """
class Mine:
    def __init__(self, params, lr, momentum, weight_decay=0.0):
        self.params, self.lr, self.beta, self.decay = list(params), lr, momentum, weight_decay
        self.v = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        for i, p in enumerate(self.params):
            g = p.grad.add(p, alpha=self.decay)
            self.v[i].mul_(self.beta).add_(g)
            p.sub_(self.lr * self.v[i])

    def zero_grad(self):
        for p in self.params:
            p.grad.zero_()
"""
NESTEROV_CLASS = SGD_CLASS.replace("self.lr * self.v[i]", "self.lr * (g + self.beta * self.v[i])")
RMSPROP_FUNCTION = """
def mine(theta, grad, state, lr, alpha, eps, weight_decay=0.0):
    v = state.get("v", np.zeros_like(theta))
    g = grad + weight_decay * theta
    v = alpha * v + (1 - alpha) * np.square(g)
    return theta - lr * g / (np.sqrt(v) + eps), {"v": v}
"""
ADAM_TRANSFORM = """
def mine(lr, b1, b2, eps):
    def init(params):
        return 0, [torch.zeros_like(p) for p in params], [torch.zeros_like(p) for p in params]

    def update(grads, state, params):
        t, m, v = state
        t = t + 1
        m = [b1 * x + (1 - b1) * g for x, g in zip(m, grads)]
        v = [b2 * x + (1 - b2) * g * g for x, g in zip(v, grads)]
        scale = lr * (1 - b2**t) ** 0.5 / (1 - b1**t)
        steps = [-scale * x / (y.sqrt() + eps * (1 - b2**t) ** 0.5) for x, y in zip(m, v)]
        return steps, (t, m, v)

    return optim.Transform(init, update)
"""
SOURCES = {
    "adam": ADAM_CLASS,
    "adamw": ADAMW_CLASS,
    "sgd": SGD_CLASS,
    "nesterov": NESTEROV_CLASS,
    "rmsprop": RMSPROP_FUNCTION,
    "transform": ADAM_TRANSFORM,
}


def written(source, *edits):
    """The class or function of a source after replacing text in it; every edit must find its text."""
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    names: dict = {}
    exec(source, {"torch": torch, "np": np, "math": math, "optim": optim}, names)
    return names.get("Mine") or names["mine"]


EVERYWHERE = [(kind, f) for kind in DEFAULTS for f in candidates(kind, 1)]


@pytest.mark.parametrize("kind", DEFAULTS)
def test_the_simulator_without_a_mistake_is_the_course_s_optimizer(kind):
    for case in sequences(kind, (), True, True, True):
        params, state, path = [torch.tensor(p) for p in case.start], None, []
        for grads, lr in zip(case.grads, case.lrs, strict=True):
            transform = reference(kind, dict(case.hyper) | {"lr": float(lr)})
            state = transform.init(params) if state is None else state
            steps, state = transform.update([torch.tensor(g) for g in grads], state, params)
            params = optim.apply_steps(params, steps)
            path.append(np.concatenate([p.numpy().ravel() for p in params]))
        np.testing.assert_allclose(simulate(kind, case, {}), np.stack(path), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("kind", "flaws"), EVERYWHERE, ids=lambda x: x if isinstance(x, str) else x[0].value)
def test_each_mistake_is_named(kind, flaws):
    cases = sequences(kind, (), True, True, True)
    message, evidence, mistake = diagnose(kind, cases, [Run(wrong_path(kind, c, flaws)) for c in cases])
    assert mistake == flaws[0].name
    assert flaws[0].explanation in message
    assert "expected" in evidence


EDITS = [
    ("adam", "no bias correction", [(" / (1 - self.b1**self.t)", ""), (" / (1 - self.b2**self.t)", "")]),
    ("adam", "bias correction of m alone", [(" / (1 - self.b2**self.t)", "")]),
    ("adam", "bias correction of v alone", [(" / (1 - self.b1**self.t)", "")]),
    ("adam", "bias correction without the power", [("**self.t", "")]),
    ("adam", "b t in place of b^t", [("**self.t", " * self.t")]),
    ("adam", "eps inside the root", [("v.sqrt() + self.eps", "(v + self.eps).sqrt()")]),
    ("adam", "missing root", [("v.sqrt()", "v")]),
    ("adam", "missing parentheses", [("(v.sqrt() + self.eps)", "v.sqrt() + self.eps")]),
    ("adam", "missing parentheses", [("self.lr * m / (v.sqrt() + self.eps)", "m * (self.lr / v.sqrt() + self.eps)")]),
    ("adam", "one square for a whole parameter", [("g**2", "(g**2).mean()")]),
    ("adam", "one square for a whole parameter", [("g**2", "g.norm() ** 2")]),
    ("adam", "norm in place of the squares", [("g**2", "g.norm()")]),
    (
        "adam",
        "b1 used for both averages",
        [("self.b2 * self.v[i] + (1 - self.b2)", "self.b1 * self.v[i] + (1 - self.b1)")],
    ),
    ("adam", "b1 used for both averages", [("= lr, b1, b2, eps", "= lr, b1, b1, eps")]),
    ("adam", "b2 used for both averages", [("= lr, b1, b2, eps", "= lr, b2, b2, eps")]),
    ("adam", "b1 in both corrections", [("self.b2**self.t", "self.b1**self.t")]),
    ("adam", "eps left out", [(" + self.eps)", ")")]),
    ("adam", "eps as a floor", [("(v.sqrt() + self.eps)", "v.sqrt().clamp_min(self.eps)")]),
    ("adam", "t starts at 0", [("        self.t += 1\n", ""), ("def zero", "    self.t += 1\n\n    def zero")]),
    ("adam", "t starts at 2", [("self.t = 0", "self.t = 1")]),
    (
        "adam",
        "t counts parameters",
        [("        self.t += 1\n", ""), ("            g = p.grad", "            self.t += 1\n            g = p.grad")],
    ),
    ("adam", "sign of the update", [("p -= ", "p += ")]),
    ("adam", "parameters never move", [("p -= ", "p = p - ")]),
    ("adam", "lr left out", [("self.lr * m", "m")]),
    ("adam", "decoupled decay", [(" + self.decay * p\n", "\n"), ("p -= ", "p -= self.lr * self.decay * p + ")]),
    ("adam", "weight decay ignored", [(" + self.decay * p\n", "\n")]),
    ("adam", "b1 and b2 exchanged", [("lr, b1, b2, eps, decay\n", "lr, b2, b1, eps, decay\n")]),
    ("adam", "m squared in place of g", [("g**2", "self.m[i]**2")]),
    ("adam", "gradient not squared", [("g**2", "g.abs()")]),
    ("adam", "gradient not weighted by 1 - b1", [("(1 - self.b1) * g", "g")]),
    ("adam", "square not weighted by 1 - b2", [("(1 - self.b2) * g**2", "g**2")]),
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
    ("adamw", "weight decay ignored", [("p *= 1 - self.lr * self.decay", "pass")]),
    ("adamw", "sign of the decay", [("1 - self.lr * self.decay", "1 + self.lr * self.decay")]),
    ("transform", "eps added before the bias correction", [(" + eps * (1 - b2**t) ** 0.5)", " + eps)")]),
    (
        "transform",
        "bias correction outside the root",
        [
            ("lr * (1 - b2**t) ** 0.5", "lr * (1 - b2**t)"),
            (" * (1 - b2**t) ** 0.5)", " * (1 - b2**t))"),
        ],
    ),
    ("transform", "sign of the update", [("[-scale", "[scale")]),
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
    ("sgd", "velocity never decays", [(".mul_(self.beta)", "")]),
    (
        "sgd",
        "lr inside the velocity",
        [
            ("add_(g)", "add_(g, alpha=self.lr)"),
            ("self.lr * self.v[i])", "self.v[i])"),
        ],
    ),
    ("sgd", "look-ahead where there is none", [("self.lr * self.v[i]", "self.lr * (g + self.beta * self.v[i])")]),
    ("sgd", "sign of the update", [("p.sub_", "p.add_")]),
    ("sgd", "beta on the gradient too", [(".mul_(self.beta).add_(g)", ".add_(g).mul_(self.beta)")]),
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
    ("sgd", "sign of the decay", [("alpha=self.decay", "alpha=-self.decay")]),
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
    ("nesterov", "look-ahead without beta", [("g + self.beta * self.v[i]", "g + self.v[i]")]),
    ("nesterov", "look-ahead adds the velocity to itself", [("(g + self.beta", "(self.v[i] + self.beta")]),
    ("nesterov", "gradient left out of the look-ahead", [("(g + self.beta * self.v[i])", "self.beta * self.v[i]")]),
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
    ("rmsprop", "eps inside the root", [("np.sqrt(v) + eps", "np.sqrt(v + eps)")]),
    ("rmsprop", "missing root", [("np.sqrt(v)", "v")]),
    ("rmsprop", "b and 1 - b exchanged", [("alpha * v + (1 - alpha) *", "(1 - alpha) * v + alpha *")]),
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEFAULTS)
def test_two_mistakes_at_once_get_no_wrong_name(kind):
    """Every pair, of Adam's and AdamW's 1700 every tenth, on few sequences: where names are hardest to tell apart."""
    cases = tuple(c for c in sequences(kind, (), True, True, True) if c.title in FEW)
    assert len(cases) == len(FEW)

    def same(flaws, runs):
        return all(alike(r, wrong_path(kind, c, flaws), c) for r, c in zip(runs, cases, strict=True))

    pairs = candidates(kind, 2)[:: 10 if kind in ("adam", "adamw") else 1]
    both = 0
    for pair in pairs:
        runs = [Run(wrong_path(kind, c, pair)) for c in cases]
        found = diagnose(kind, cases, runs)
        if found is None:
            assert same((), runs), pair
        elif found[2] == "; ".join(f.name for f in pair):
            both += 1
        elif found[2]:
            named = [flaws for size in (1, 2) for flaws in candidates(kind, size) if found[2] == joined(flaws)]
            assert any(same(flaws, runs) for flaws in named), (pair, found)
        else:
            assert found[0].startswith("These numbers have more than one explanation"), (pair, found)
    assert both > 0.8 * len(pairs)


FEW = ("sparse gradients", "random gradients with weight decay", "an lr that changes under way")


def joined(flaws):
    return "; ".join(f.name for f in flaws)


def test_three_mistakes_at_once_are_not_named():
    edits = [(" / (1 - self.b1**self.t)", ""), ("v.sqrt() + self.eps", "(v + self.eps).sqrt()"), ("p -= ", "p += ")]
    verdict = check_adam(written(ADAM_CLASS, *edits))
    assert (verdict.status, verdict.mistake) == ("wrong", "")
    assert verdict.message == UNKNOWN
    assert "step 1, parameter" in verdict.evidence


class SgdInPlace:
    """As torch's, in place, the velocity made at the first step."""

    def __init__(self, params, lr, beta, decay=0.0, nesterov=False):
        self.groups, self.lr, self.beta, self.decay, self.nesterov = list(params), lr, beta, decay, nesterov
        self.velocity = {}

    def step(self):
        for p in self.groups:
            g = p.grad.clone().add_(p.data, alpha=self.decay)
            v = self.velocity.setdefault(p, torch.zeros_like(p.data))
            v *= self.beta
            v += g
            p.data -= self.lr * (g.add_(v, alpha=self.beta) if self.nesterov else v)

    def zero_grad(self):
        for p in self.groups:
            p.grad = None


def sgd_on_arrays(theta, grad, state, lr, momentum):
    state["v"] = momentum * state.get("v", 0.0) + grad
    return theta - lr * state["v"], state


def sgd_from_none(theta, grad, state=None, *, lr, beta):
    state = grad.copy() if state is None else beta * state + grad
    return theta - lr * state, state


def nesterov_by_two_velocities(theta, grad, state, lr, beta, decay=0.0):
    """The step as the heavy ball's now and beta times the next one's, had its gradient been 0 and not g."""
    old = state.get("v", np.zeros_like(theta))
    new = beta * old + (grad + decay * theta)
    return theta - lr * ((1 + beta) * new - beta * old), {"v": new}


def rmsprop_by_rates(theta, grad, state, lr, b2, eps):
    square = state["s"] + (1 - b2) * (grad * grad - state["s"]) if state else (1 - b2) * grad * grad
    rate = lr / (square**0.5 + eps)
    return theta - rate * grad, {"s": square}


def adam_in_float32(theta, grad, state, lr, beta1, beta2, epsilon):
    grad = grad.astype(np.float32)
    m, v, t = state.get("m", np.float32(0)), state.get("v", np.float32(0)), state.get("t", 0) + 1
    m = np.float32(beta1) * m + np.float32(1 - beta1) * grad
    v = np.float32(beta2) * v + np.float32(1 - beta2) * grad**2
    step = m / np.float32(1 - beta1**t) / (np.sqrt(v / np.float32(1 - beta2**t)) + np.float32(epsilon))
    return theta.astype(np.float32) - np.float32(lr) * step, {"m": m, "v": v, "t": t}


class AdamOfTorch(torch.optim.Optimizer):
    """A subclass that keeps its settings where torch's schedulers look for them."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                s = self.state[p]
                if not s:
                    s["t"], s["m"], s["v"] = 0, torch.zeros_like(p), torch.zeros_like(p)
                s["t"] += 1
                g = p.grad + group["weight_decay"] * p
                s["m"].lerp_(g, 1 - b1)
                s["v"].mul_(b2).addcmul_(g, g, value=1 - b2)
                below = s["v"].sqrt().div_(math.sqrt(1 - b2 ** s["t"])).add_(group["eps"])
                p.addcdiv_(s["m"], below, value=-group["lr"] / (1 - b1 ** s["t"]))


def adamw_as_a_chain(lr, b1, b2, eps, decay):
    return optim.chain(optim.adam(lr, b1, b2, eps), optim.decoupled_decay(lr * decay))


def adamw_that_shrinks_first(theta, grad, state, **h):
    t, m, v = state.get("t", 0) + 1, *(state.get(k, np.zeros_like(theta)) for k in "mv")
    m, v = m + (1 - h["b1"]) * (grad - m), v + (1 - h["b2"]) * (grad**2 - v)
    theta = theta * (1 - h["lr"] * h["decay"])
    root = np.sqrt(v) + h["eps"] * math.sqrt(1 - h["b2"] ** t)
    return theta - h["lr"] * math.sqrt(1 - h["b2"] ** t) / (1 - h["b1"] ** t) * m / root, {"t": t, "m": m, "v": v}


def adam_by_other_names(w, g, s, learning_rate, beta_1, beta_2, epsilon):
    t, m, v = s.get("t", 0) + 1, *(s.get(k, 0.0) for k in "mv")
    m, v = beta_1 * m + (1 - beta_1) * g, beta_2 * v + (1 - beta_2) * g**2
    step = m / (1 - beta_1**t) / (np.sqrt(v / (1 - beta_2**t)) + epsilon)
    return w - learning_rate * step, {"t": t, "m": m, "v": v}


def adam_from_none(w, g, s=None, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    return adam_by_other_names(w, g, s or {}, lr, b1, b2, eps)


def adam_from_a_tuple(w, g, s=(0, 0.0, 0.0), *, lr, b1, b2, eps):
    w, after = adam_by_other_names(w, g, dict(zip("tmv", s, strict=True)), lr, b1, b2, eps)
    return w, tuple(after.values())


def adamw_by_other_names(w, g, s, lr, b1, b2, eps, lam):
    moved, s = adam_by_other_names(w, g, s, lr, b1, b2, eps)
    return moved - lr * lam * w, s


RIGHT = [
    ("sgd", optim.sgd),
    ("sgd", torch.optim.SGD),
    ("sgd", SgdInPlace),
    ("sgd", sgd_on_arrays),
    ("sgd", sgd_from_none),
    ("sgd", lambda params, lr, beta: torch.optim.SGD(params, lr, beta, foreach=True)),
    ("sgd", lambda lr, beta, decay: optim.chain(optim.add_decay(decay), optim.sgd(lr, beta))),
    ("nesterov", optim.sgd),
    ("nesterov", torch.optim.SGD),
    ("nesterov", partial(torch.optim.SGD, nesterov=True)),
    ("nesterov", SgdInPlace),
    ("nesterov", nesterov_by_two_velocities),
    ("rmsprop", optim.rmsprop),
    ("rmsprop", torch.optim.RMSprop),
    ("rmsprop", rmsprop_by_rates),
    ("rmsprop", lambda params, lr, b2, eps: optim.Stepper(params, optim.rmsprop(lr, b2, eps))),
    ("adam", optim.adam),
    ("adam", torch.optim.Adam),
    ("adam", AdamOfTorch),
    ("adam", adam_in_float32),
    ("adam", adam_by_other_names),
    ("adam", adam_from_none),
    ("adam", adam_from_a_tuple),
    ("adam", optim.adam()),
    ("adamw", optim.adamw),
    ("adamw", torch.optim.AdamW),
    ("adamw", adamw_as_a_chain),
    ("adamw", adamw_by_other_names),
    ("adamw", adamw_that_shrinks_first),
    ("adamw", optim.adamw()),
    *((kind if kind != "transform" else "adam", written(source)) for kind, source in SOURCES.items()),
]


@pytest.mark.parametrize(("kind", "right"), RIGHT)
def test_no_correct_variant_is_accused(kind, right):
    verdict = CHECKS[kind](right)
    assert verdict.passed, verdict
    assert "Verified: each step is the reference's" in verdict.message


# Below b = 0.01 a sum such as v + (1 - b) (g^2 - v) loses its digits when the gradients fall from 1e6 to 0 at once.
rates, betas, small = st.floats(1e-4, 1.0), st.floats(0.01, 0.999), st.floats(1e-10, 1e-2)


@settings(deadline=None, max_examples=6)
@given(lr=rates, b1=betas, b2=betas, eps=small, decay=st.floats(0.0, 0.5))
def test_no_adam_is_accused_at_any_setting(lr, b1, b2, eps, decay):
    h = {"lr": lr, "b1": b1, "b2": b2, "eps": eps, "decay": decay}
    for kind, right in (
        ("adam", torch.optim.Adam),
        ("adamw", adamw_that_shrinks_first),
        ("adamw", adamw_as_a_chain(**h)),
    ):
        assert CHECKS[kind](right, **h).passed
    assert check_rmsprop(torch.optim.RMSprop, lr=lr, b2=b2, eps=eps, decay=decay).passed


@settings(deadline=None, max_examples=6)
@given(lr=rates, beta=st.floats(0.001, 0.999), decay=st.floats(0.0, 0.5))
def test_no_momentum_is_accused_at_any_setting(lr, beta, decay):
    for right in (torch.optim.SGD, SgdInPlace):
        assert check_sgd_momentum(right, lr=lr, beta=beta, decay=decay).passed
        assert check_nesterov(right, lr=lr, beta=beta, decay=decay).passed
    assert check_nesterov(nesterov_by_two_velocities, lr=lr, beta=beta, decay=decay).passed


def test_a_transform_that_is_made_is_judged_at_the_settings_given():
    assert check_sgd_momentum(optim.sgd(0.3, 0.7), lr=0.3, beta=0.7).passed
    assert check_sgd_momentum(optim.sgd(0.3, 0.7), lr=0.3, beta=0.8).status == "wrong"
    assert check_nesterov(optim.sgd(0.3, 0.7), lr=0.3, beta=0.7).mistake == "no look-ahead"
    decayed = optim.chain(optim.add_decay(0.1), optim.adam())
    assert check_adam(decayed, decay=0.1).passed
    assert check_adamw(decayed, decay=0.1).mistake == "coupled decay"
    assert check_adam(optim.adamw(decay=0.1), decay=0.1).mistake == "decoupled decay"
    assert "at one lr" in check_adam(optim.adam()).message


def test_an_optimizer_of_another_kind_is_not_given_a_wrong_name():
    assert check_adam(torch.optim.AdamW).mistake == "decoupled decay"
    assert check_adamw(torch.optim.Adam).mistake == "coupled decay"
    assert check_rmsprop(partial(torch.optim.RMSprop, centered=True)).mistake == "centered"
    assert check_nesterov(partial(torch.optim.SGD, nesterov=False)).mistake == "no look-ahead"
    assert check_adam(torch.optim.NAdam).message == UNKNOWN
    assert check_adam(torch.optim.RAdam).message == UNKNOWN


def returning(answer):
    return lambda theta, grad, state, lr, beta: answer


def transform_returning(answer):
    return lambda lr, beta: optim.Transform(lambda params: (), lambda grads, state, params: answer)


class NoZeroGrad:
    def __init__(self, params, lr, beta):
        self.params = params

    def step(self):
        return [p.add_(1) for p in self.params]


BAD = [
    (3.0, "needs your optimizer itself, and was given float 3.0"),
    (dict, "Your class dict has no method `step`"),
    (returning(None), "returns nothing: is a `return` missing?"),
    (returning(np.zeros(3)), "should return (theta, state), and returns an array of shape (3,)"),
    (returning((np.zeros((3, 1)), {})), "has shape (3, 1), and the parameter has (3,)"),
    (returning((np.zeros(3, dtype=int), {})), "has dtype int64"),
    (returning(([0.0, 0.0, 0.0], {})), "should be an array of floats, and is a list of 3"),
    (lambda theta, grad, state, lr, beta: (theta * np.nan, {}), "gives NaN or infinity where the reference is finite"),
    (transform_returning(None), "`update` returns nothing"),
    (transform_returning([torch.zeros(3)] * 2), "should return (steps, state), and returns a list of 2"),
    (transform_returning(([torch.zeros(3)], ())), "should return 2 steps, one for each parameter: it has a list of 1"),
    (transform_returning(([torch.zeros(2)] * 2, ())), "The step for parameter 0 has shape (2,)"),
    (lambda lr, beta: 5, "should make a Transform(init, update), and makes int 5"),
    (NoZeroGrad, "has no method `zero_grad`"),
    (lambda theta, grad, state, lr: (theta, state), "should take `beta`: the check sets it by name"),
    (lambda theta, grad, lr, beta: theta, "Hand in a Transform or its maker"),
    (lambda theta, grad, nesterov=False, *, lr, beta: theta, "yours takes (theta, grad, nesterov, lr, beta)."),
    (lambda w, g, s, lr, gamma: (w, s), "yours takes (w, g, s, lr, gamma), and none of these is `beta`."),
]


@pytest.mark.parametrize(("attempt", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_what_is_no_optimizer_is_told_so_in_a_sentence(attempt, sentence):
    verdict = check_sgd_momentum(attempt)
    assert verdict.status == "wrong"
    assert sentence in verdict.message
    assert verdict.mistake == ""


@pytest.mark.parametrize(
    "blank", [..., None, lambda lr, beta: ..., returning(...), transform_returning(...), lambda lr, beta: None]
)
def test_a_blank_is_not_attempted(blank):
    assert check_sgd_momentum(blank).status == "not attempted"


def test_a_blank_method_is_not_attempted():
    class Blank:
        def __init__(self, params, lr, beta): ...
        def step(self): ...
        def zero_grad(self): ...

    def maker(lr, beta):
        def update(grads, state, params): ...

        return optim.Transform(lambda params: (), update)

    assert check_sgd_momentum(Blank).status == "not attempted"
    assert check_sgd_momentum(maker).status == "not attempted"


def test_a_crash_shows_the_learner_s_line():
    class Crash(torch.optim.Optimizer):
        def __init__(self, params, lr, beta):
            super().__init__(params, {"lr": lr})

        def step(self):
            self.no_such_thing += 1

    def crash(lr, beta):
        def update(grads, state, params):
            return [torch.zeros(3) @ torch.zeros(4) for g in grads], state

        return optim.Transform(lambda params: (), update)

    for attempt, line in ((Crash, "self.no_such_thing += 1"), (crash, "torch.zeros(3) @ torch.zeros(4)")):
        verdict = check_sgd_momentum(attempt)
        assert verdict.message == "Your optimizer stopped with an error."
        assert line in verdict.evidence
        assert "your line" in verdict.evidence
        assert verdict.mistake == ""


def test_dividing_by_zero_in_plain_numbers_is_t_at_0_too():
    def late(theta, grad, state, lr, b1, b2, eps):
        t, m, v = state.get("t", 0), state.get("m", 0 * theta), state.get("v", 0 * theta)
        m, v = b1 * m + (1 - b1) * grad, b2 * v + (1 - b2) * grad**2
        lr = lr * (1 / (1 - b1**t))
        return theta - lr * m / (np.sqrt(v / (1 - b2**t)) + eps), {"t": t + 1, "m": m, "v": v}

    verdict = check_adam(late)
    assert verdict.mistake == "t starts at 0"
    assert "lr = lr * (1 / (1 - b1**t))" in verdict.evidence


def test_the_lr_is_left_alone_where_it_cannot_be_reached():
    class Hidden(SgdInPlace):
        def __init__(self, params, lr, beta):
            super().__init__(params, lr, beta)
            self.rate = self.__dict__.pop("lr")

        def step(self):
            self.lr = self.rate
            super().step()
            del self.lr

    verdict = check_sgd_momentum(Hidden)
    assert verdict.passed
    assert "at one lr" in verdict.message


def test_settings_that_are_none_are_refused():
    with pytest.raises(TypeError, match="adam has the settings lr, b1, b2, eps, decay, got 'beta'"):
        check_adam(optim.adam, beta=0.9)
    with pytest.raises(ValueError, match="lr must be at least 0"):
        check_adam(optim.adam, lr=-1.0)
    with pytest.raises(ValueError, match="kind must be one of sgd, nesterov, rmsprop, adam, adamw, got 'adagrad'"):
        check_optimizer(optim.adagrad, "adagrad")
