"""Optimizers as learners write them, to be edited."""

import math

import numpy as np
import torch

from course_lib import optim
from course_lib.grading.optimizers import (
    check_adagrad,
    check_adam,
    check_adamw,
    check_amsgrad,
    check_nesterov,
    check_rmsprop,
    check_sgd_momentum,
)

CHECKS = {
    "sgd": check_sgd_momentum,
    "nesterov": check_nesterov,
    "rmsprop": check_rmsprop,
    "adam": check_adam,
    "adamw": check_adamw,
    "adagrad": check_adagrad,
    "amsgrad": check_amsgrad,
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
