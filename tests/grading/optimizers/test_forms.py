"""Right optimizers pass in every form, and whatever is not an optimizer is told so in a sentence."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import optim
from course_lib.grading.optimizers import check_adam, check_adamw, check_nesterov, check_rmsprop, check_sgd_momentum
from course_lib.grading.optimizers.conformance import UNKNOWN
from tests.grading.optimizers.written import CHECKS, SOURCES, written


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


def sgd_by_columns(theta, velocity, grad, lr, beta):
    velocity = beta * velocity + grad
    return theta - lr * velocity, velocity


def adagrad_by_columns(theta, total, grad, lr, eps):
    total = total + grad**2
    return theta - lr * grad / (np.sqrt(total) + eps), total


def amsgrad_by_columns(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    mean, square = b1 * mean + (1 - b1) * grad, b2 * square + (1 - b2) * grad**2
    peak = np.maximum(peak, square)
    step = mean / (1 - b1**t) / (np.sqrt(peak / (1 - b2**t)) + eps)
    return [theta - lr * step, mean, square, peak]


def adam_from_none(w, g, s=None, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    return adam_by_other_names(w, g, s or {}, lr, b1, b2, eps)


def adam_from_a_tuple(w, g, s=(0, 0.0, 0.0), *, lr, b1, b2, eps):
    w, after = adam_by_other_names(w, g, dict(zip("tmv", s, strict=True)), lr, b1, b2, eps)
    return w, tuple(after.values())


def adamw_by_other_names(w, g, s, lr, b1, b2, eps, lam):
    moved, s = adam_by_other_names(w, g, s, lr, b1, b2, eps)
    return moved - lr * lam * w, s


RIGHT = [
    ("sgd", partial(optim.sgd)),
    ("sgd", torch.optim.SGD),
    ("sgd", SgdInPlace),
    ("sgd", sgd_on_arrays),
    ("sgd", sgd_from_none),
    ("sgd", lambda params, lr, beta: torch.optim.SGD(params, lr, beta, foreach=True)),
    ("sgd", lambda lr, beta, decay: optim.chain(optim.add_decay(decay), optim.sgd(lr, beta))),
    ("sgd", sgd_by_columns),
    ("adagrad", torch.optim.Adagrad),
    ("adagrad", adagrad_by_columns),
    ("amsgrad", partial(torch.optim.Adam, amsgrad=True)),
    ("amsgrad", amsgrad_by_columns),
    ("nesterov", partial(optim.sgd)),
    ("nesterov", torch.optim.SGD),
    ("nesterov", partial(torch.optim.SGD, nesterov=True)),
    ("nesterov", SgdInPlace),
    ("nesterov", nesterov_by_two_velocities),
    ("rmsprop", partial(optim.rmsprop)),
    ("rmsprop", torch.optim.RMSprop),
    ("rmsprop", rmsprop_by_rates),
    ("rmsprop", lambda params, lr, b2, eps: optim.Stepper(params, optim.rmsprop(lr, b2, eps))),
    ("adam", partial(optim.adam)),
    ("adam", torch.optim.Adam),
    ("adam", AdamOfTorch),
    ("adam", adam_in_float32),
    ("adam", adam_by_other_names),
    ("adam", adam_from_none),
    ("adam", adam_from_a_tuple),
    ("adam", optim.adam()),
    ("adamw", partial(optim.adamw)),
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
    (3.0, "Hand in your optimizer itself, not float 3.0"),
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
    (lambda theta, grad, state, lr: (theta, state), "should take `beta`: it is set by name"),
    (lambda theta, grad, lr, beta: theta, "Hand in a Transform or its maker"),
    (lambda theta, grad, nesterov=False, *, lr, beta: theta, "yours takes (theta, grad, nesterov, lr, beta)."),
    (lambda w, g, s, lr, gamma: (w, s), "yours takes (w, g, s, lr, gamma), and none of these is `beta`."),
]


@pytest.mark.parametrize(("attempt", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_anything_else_gets_a_sentence(attempt, sentence):
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


def test_a_crash_shows_the_learners_line():
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


def test_unknown_and_illegal_settings_are_refused():
    with pytest.raises(TypeError, match="Adam has the settings lr, b1, b2, eps, decay, got 'beta'"):
        check_adam(optim.adam, beta=0.9)
    with pytest.raises(ValueError, match="lr must be at least 0"):
        check_adam(optim.adam, lr=-1.0)


@pytest.mark.parametrize(("kind", "own"), [("sgd", optim.sgd), ("adam", optim.adam), ("adamw", optim.adamw)])
def test_the_library_own_optimizer_is_said_to_be_that(kind, own):
    verdict = CHECKS[kind](own)
    assert verdict.status == "not attempted"
    assert "the library's own" in verdict.message
