"""Checks of lecture 03: the heavy-ball step and Nesterov's step, on numpy arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.grading.verdict import Case, Mutant, Verdict, judge
from course_lib.lectures.momentum.exercises_rates import check_best_setting, check_rate

__all__ = ["check_best_setting", "check_heavy_ball_step", "check_nesterov_step", "check_rate"]


def heavy_ball(theta, velocity, grad, lr, beta):
    velocity = beta * velocity + grad
    return theta - lr * velocity, velocity


def nesterov(theta, velocity, grad, lr, beta):
    velocity = beta * velocity + grad
    return theta - lr * (grad + beta * velocity), velocity


def from_velocity(velocity: Callable, step: Callable) -> Callable:
    """A two-line optimizer: velocity(v, g, lr, beta) -> v, then step(v_new, v_old, g, lr, beta), added to theta."""

    def update(theta, old, grad, lr, beta):
        new = velocity(old, grad, lr, beta)
        return theta + step(new, old, grad, lr, beta), new

    return update


def summed(v, g, lr, beta):
    return beta * v + g


DAMPED = from_velocity(lambda v, g, lr, beta: beta * v + (1 - beta) * g, lambda v, old, g, lr, beta: -lr * v)
INSIDE = from_velocity(lambda v, g, lr, beta: beta * v + lr * g, lambda v, old, g, lr, beta: -v)
INSIDE_SIGNED = from_velocity(lambda v, g, lr, beta: beta * v - lr * g, lambda v, old, g, lr, beta: v)

VELOCITY_MUTANTS = (
    Mutant(
        "dampened",
        "The gradient enters the velocity times 1 - beta: that is an average (dampening), and its effective learning "
        "rate is lr, not lr / (1 - beta).",
        DAMPED,
    ),
    Mutant(
        "learning rate inside",
        "The learning rate stands inside the velocity: the same iteration until lr changes. Here the velocity sums "
        "gradients, and lr multiplies it afterwards.",
        INSIDE,
    ),
    Mutant(
        "learning rate inside",
        "The learning rate stands inside the velocity: the same iteration until lr changes. Here the velocity sums "
        "gradients, and lr multiplies it afterwards.",
        INSIDE_SIGNED,
    ),
    Mutant(
        "velocity not decayed",
        "beta is missing from the velocity: it sums all gradients for ever and never forgets one.",
        from_velocity(lambda v, g, lr, beta: v + g, lambda v, old, g, lr, beta: -lr * v),
    ),
    Mutant(
        "learning rate twice",
        "The learning rate is used twice, in the velocity and in the step.",
        from_velocity(lambda v, g, lr, beta: beta * v + lr * g, lambda v, old, g, lr, beta: -lr * v),
    ),
    Mutant(
        "uphill",
        "The sign is turned: the velocity sums gradients, which point uphill, and the step goes against it.",
        from_velocity(summed, lambda v, old, g, lr, beta: lr * v),
    ),
    Mutant(
        "decays the gradient",
        "beta multiplies the gradient, and should multiply the old velocity.",
        from_velocity(lambda v, g, lr, beta: v + beta * g, lambda v, old, g, lr, beta: -lr * v),
    ),
)
HEAVY_BALL_MUTANTS = (
    *VELOCITY_MUTANTS,
    Mutant(
        "learning rate forgotten",
        "The learning rate is not used: the step is lr times the new velocity.",
        from_velocity(summed, lambda v, old, g, lr, beta: -v),
    ),
    Mutant(
        "velocity turned",
        "The velocity has the opposite sign: here it sums the gradients themselves, and the step goes against it.",
        lambda theta, v, g, lr, beta: (theta + lr * (beta * v - g), beta * v - g),
    ),
    Mutant(
        "swapped",
        "The two are returned in the wrong order: theta first, then the velocity.",
        lambda *case: heavy_ball(*case)[::-1],
    ),
    Mutant(
        "old velocity",
        "The step uses the velocity from before this gradient: update the velocity first, then step with the new one.",
        from_velocity(summed, lambda v, old, g, lr, beta: -lr * old),
    ),
    Mutant(
        "velocity not kept",
        "The velocity that is returned is the old one: what this step added is forgotten.",
        lambda theta, v, g, lr, beta: (theta - lr * (beta * v + g), v),
    ),
    Mutant(
        "Nesterov",
        "That is Nesterov's step, g + beta v: heavy ball steps along the velocity alone.",
        nesterov,
    ),
    Mutant(
        "no momentum",
        "The velocity is updated and not used: the step is plain gradient descent.",
        from_velocity(summed, lambda v, old, g, lr, beta: -lr * g),
    ),
)
INSIDE_EXPLAINED = (
    "The learning rate stands inside the velocity, as in the form with the look-ahead: the same iteration until lr "
    "changes. In torch's form the velocity sums gradients, and lr multiplies g + beta v afterwards."
)
NESTEROV_MUTANTS = (
    *VELOCITY_MUTANTS[3:4],
    *VELOCITY_MUTANTS[6:],
    *(
        Mutant("learning rate inside", INSIDE_EXPLAINED, from_velocity(velocity, step))
        for velocity, step in (
            (lambda v, g, lr, beta: beta * v + lr * g, lambda v, old, g, lr, beta: -(lr * g + beta * v)),
            (lambda v, g, lr, beta: beta * v - lr * g, lambda v, old, g, lr, beta: beta * v - lr * g),
            (lambda v, g, lr, beta: beta * v - lr * g, lambda v, old, g, lr, beta: v),
        )
    ),
    Mutant(
        "learning rate on the gradient only",
        "The learning rate multiplies the gradient and not beta v: it belongs before the whole of g + beta v.",
        from_velocity(summed, lambda v, old, g, lr, beta: -lr * g - beta * v),
    ),
    Mutant(
        "look-ahead stored",
        "The velocity that is returned is g + beta v, the direction of the step: what is kept is v alone.",
        lambda theta, v, g, lr, beta: (nesterov(theta, v, g, lr, beta)[0], g + beta * (beta * v + g)),
    ),
    Mutant(
        "swapped",
        "The two are returned in the wrong order: theta first, then the velocity.",
        lambda *case: nesterov(*case)[::-1],
    ),
    Mutant(
        "heavy ball",
        "That is heavy ball's step, v alone, which is g + beta times the old v: the look-ahead takes the new v.",
        heavy_ball,
    ),
    Mutant(
        "beta missing in the step",
        "The step is g + v, without beta: the look-ahead is beta v.",
        from_velocity(summed, lambda v, old, g, lr, beta: -lr * (g + v)),
    ),
    Mutant(
        "beta squared",
        "beta multiplies the gradient as well: the step is g + beta v, not beta (g + v).",
        from_velocity(summed, lambda v, old, g, lr, beta: -lr * beta * (g + v)),
    ),
    Mutant(
        "gradient missing",
        "The step is beta v alone: the gradient itself belongs to it, g + beta v.",
        from_velocity(summed, lambda v, old, g, lr, beta: -lr * beta * v),
    ),
    Mutant(
        "dampened",
        "The gradient enters the velocity times 1 - beta: that is an average (dampening), which torch forbids here.",
        from_velocity(
            lambda v, g, lr, beta: beta * v + (1 - beta) * g, lambda v, old, g, lr, beta: -lr * (g + beta * v)
        ),
    ),
    Mutant(
        "uphill",
        "The sign is turned: g + beta v points uphill, and the step goes against it.",
        from_velocity(summed, lambda v, old, g, lr, beta: lr * (g + beta * v)),
    ),
    Mutant(
        "velocity not kept",
        "The velocity that is returned is the old one: what this step added is forgotten.",
        lambda theta, v, g, lr, beta: (theta - lr * (g + beta * (beta * v + g)), v),
    ),
)


def step_case(title: str, shape: tuple[int, ...], lr: float, beta: float, *, rest: bool = False) -> Case:
    random = np.random.default_rng(len(title))
    theta, velocity, grad = (random.normal(size=shape) for _ in range(3))
    start = 0 * velocity if rest else velocity
    return Case(title, {"theta": theta, "velocity": start, "grad": grad, "lr": lr, "beta": beta})


STEP_CASES = (
    step_case("from rest, lr 0.1, beta 0.9", (3,), 0.1, 0.9, rest=True),
    step_case("moving, lr 0.1, beta 0.9", (3,), 0.1, 0.9),
    step_case("a matrix, lr 2.5, beta 0.3", (4, 2), 2.5, 0.3),
)


def check_heavy_ball_step(fn: Any) -> Verdict:
    """Judge fn(theta, velocity, grad, lr, beta) -> (theta, velocity), new arrays; in torch's form, lr outside."""
    return judge(
        "heavy-ball step",
        fn,
        heavy_ball,
        STEP_CASES,
        HEAVY_BALL_MUTANTS,
        outputs=("theta", "velocity"),
        verified="decays the velocity, adds the gradient, then steps by lr times the new velocity, in any shape",
        tolerance=1e-12,
    )


def check_nesterov_step(fn: Any) -> Verdict:
    """Judge fn(theta, velocity, grad, lr, beta) -> (theta, velocity), new arrays; in torch's form."""
    return judge(
        "Nesterov step",
        fn,
        nesterov,
        STEP_CASES,
        NESTEROV_MUTANTS,
        outputs=("theta", "velocity"),
        verified="steps by lr (g + beta v) with the new velocity, as torch.optim.SGD with nesterov=True does",
        tolerance=1e-12,
    )
