"""The exercises of lecture 03: the heavy-ball step, Nesterov's step, heavy ball's best setting and its rate."""

import numpy as np
import torch

from course_lib.grading import Case, Exercise, Mistake


def heavy_ball(theta, velocity, grad, lr, beta):
    """theta, velocity, grad: arrays of one shape. Returns theta and velocity after the step, in torch's form."""
    new = beta * velocity + grad
    step = -lr * new
    return theta + step, new


def nesterov(theta, velocity, grad, lr, beta):
    """theta, velocity, grad: arrays of one shape. Returns theta and velocity after the step, in torch's form."""
    new = beta * velocity + grad
    step = -lr * (grad + beta * new)
    return theta + step, new


def by_torch(nesterov: bool):
    def step(theta, velocity, grad, lr, beta):
        parameter = torch.tensor(theta, requires_grad=True)
        optimizer = torch.optim.SGD([parameter], lr=lr, momentum=beta, nesterov=nesterov)
        optimizer.state[parameter]["momentum_buffer"] = torch.tensor(velocity)
        parameter.grad = torch.tensor(grad)
        optimizer.step()
        return parameter, optimizer.state[parameter]["momentum_buffer"]

    return step


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
SHARED = (
    Mistake(
        "velocity not decayed",
        "beta is missing from the velocity: it sums all gradients and never forgets one.",
        ("beta * velocity", "velocity"),
    ),
    Mistake(
        "decays the gradient",
        "beta multiplies the gradient, and should multiply the old velocity.",
        ("beta * velocity + grad", "velocity + beta * grad"),
    ),
    Mistake(
        "swapped",
        "The two are returned in the wrong order: theta first, then the velocity.",
        ("theta + step, new", "new, theta + step"),
    ),
    Mistake(
        "velocity not kept",
        "The velocity that is returned is the old one: what this step added is forgotten.",
        ("step, new", "step, velocity"),
    ),
)

check_heavy_ball_step = Exercise(
    "heavy-ball step",
    heavy_ball,
    STEP_CASES,
    (
        *SHARED,
        Mistake(
            "dampened",
            "The gradient enters the velocity times 1 - beta: that is an average (dampening), and its effective "
            "learning rate is lr, not lr / (1 - beta).",
            ("+ grad", "+ (1 - beta) * grad"),
        ),
        Mistake(
            "learning rate inside",
            "The learning rate is inside the velocity: the same iteration until lr changes. Here the velocity sums "
            "gradients, and lr multiplies it afterwards.",
            [("+ grad", "+ lr * grad"), ("-lr * new", "-new")],
            [("+ grad", "- lr * grad"), ("-lr * new", "new")],
        ),
        Mistake(
            "learning rate twice",
            "The learning rate is used twice, in the velocity and in the step.",
            ("+ grad", "+ lr * grad"),
        ),
        Mistake(
            "learning rate forgotten",
            "The learning rate is not used: the step is lr times the new velocity.",
            ("-lr * new", "-new"),
        ),
        Mistake(
            "uphill",
            "The sign is wrong: the velocity sums gradients, which point uphill, and the step goes against it.",
            ("-lr", "lr"),
        ),
        Mistake(
            "velocity turned",
            "The velocity has the opposite sign: here it sums the gradients themselves, and the step goes against it.",
            [("+ grad", "- grad"), ("-lr", "lr")],
        ),
        Mistake(
            "old velocity",
            "The step uses the velocity from before this gradient: update the velocity, then step with the new one.",
            ("-lr * new", "-lr * velocity"),
        ),
        Mistake(
            "Nesterov",
            "That is Nesterov's step, g + beta v: heavy ball steps along the velocity alone.",
            ("-lr * new", "-lr * (grad + beta * new)"),
        ),
        Mistake(
            "no momentum",
            "The velocity is updated but not used: the step is plain gradient descent.",
            ("-lr * new", "-lr * grad"),
        ),
    ),
    outputs=("theta", "velocity"),
    verified="decays the velocity, adds the gradient, then steps by lr times the new velocity, in any shape",
    tolerance=1e-12,
    oracle=by_torch(nesterov=False),
)

STEP = "-lr * (grad + beta * new)"
check_nesterov_step = Exercise(
    "Nesterov step",
    nesterov,
    STEP_CASES,
    (
        *SHARED,
        Mistake(
            "learning rate inside",
            "The learning rate is inside the velocity, as in the form with the look-ahead: the same iteration until lr "
            "changes. In torch's form the velocity sums gradients, and lr multiplies g + beta v afterwards.",
            [("+ grad", "+ lr * grad"), (STEP, "-(lr * grad + beta * new)")],
            [("+ grad", "- lr * grad"), (STEP, "beta * new - lr * grad")],
            [("+ grad", "- lr * grad"), (STEP, "new")],
        ),
        Mistake(
            "learning rate on the gradient only",
            "The learning rate multiplies the gradient but not beta v: it belongs before the whole of g + beta v.",
            (STEP, "-lr * grad - beta * new"),
        ),
        Mistake(
            "look-ahead stored",
            "The velocity that is returned is g + beta v, the direction of the step: what is kept is v alone.",
            ("step, new", "step, grad + beta * new"),
        ),
        Mistake(
            "heavy ball",
            "That is heavy ball's step, v alone, which is g + beta times the old v: the look-ahead takes the new v.",
            (STEP, "-lr * new"),
        ),
        Mistake(
            "beta missing in the step",
            "The step is g + v, without beta: the look-ahead is beta v.",
            ("beta * new", "new"),
        ),
        Mistake(
            "beta squared",
            "beta multiplies the gradient as well: the step is g + beta v, not beta (g + v).",
            ("grad + beta * new", "beta * (grad + new)"),
        ),
        Mistake(
            "gradient missing",
            "The step is beta v alone: the gradient itself belongs to it, g + beta v.",
            ("(grad + beta * new)", "beta * new"),
        ),
        Mistake(
            "dampened",
            "The gradient enters the velocity times 1 - beta: that is an average (dampening), forbidden in torch here.",
            ("+ grad", "+ (1 - beta) * grad"),
        ),
        Mistake("uphill", "The sign is wrong: g + beta v points uphill, and the step goes against it.", ("-lr", "lr")),
    ),
    outputs=("theta", "velocity"),
    verified="steps by lr (g + beta v) with the new velocity, as torch.optim.SGD with nesterov=True does",
    tolerance=1e-12,
    oracle=by_torch(nesterov=True),
)


def best_setting(mu, L):
    """mu, L: the smallest and the largest curvature. Returns heavy ball's best (lr, beta) (Polyak 1964)."""
    low, high = np.sqrt(mu), np.sqrt(L)
    lr = 4 / (low + high) ** 2
    beta = ((high - low) / (high + low)) ** 2
    return lr, beta


check_best_setting = Exercise(
    "best setting",
    best_setting,
    [
        Case(f"curvatures from {mu:g} to {L:g}", {"mu": mu, "L": L})
        for mu, L in ((1.0, 25.0), (0.04, 1.0), (2.0, 200.0), (3.0, 5.0))
    ],
    (
        Mistake(
            "not squared",
            "beta is the square of (sqrt(kappa) - 1) / (sqrt(kappa) + 1): the contraction factor is its root, "
            "and that is what you gave. (It is also Nesterov's beta.)",
            ("(high + low)) ** 2", "(high + low))"),
        ),
        Mistake(
            "plain descent's step",
            "2 / (mu + L) is the best learning rate without momentum: with it, longer steps are stable.",
            ("4 / (low + high) ** 2", "2 / (mu + L)"),
        ),
        Mistake(
            "1 / L",
            "1 / L is Nesterov's learning rate: heavy ball can go up to almost four times as far.",
            ("4 / (low + high) ** 2", "1 / L"),
        ),
        Mistake(
            "2 instead of 4",
            "The learning rate is half of the best: 4 / (sqrt(L) + sqrt(mu))^2.",
            ("4 /", "2 /"),
        ),
        Mistake(
            "roots missing",
            "beta has kappa without its root: that is the contraction factor of plain descent, squared.",
            ("((high - low) / (high + low))", "((L - mu) / (L + mu))"),
        ),
        Mistake(
            "swapped",
            "The two are returned in the wrong order: the learning rate first, then beta.",
            ("return lr, beta", "return beta, lr"),
        ),
        Mistake(
            "no momentum",
            "That is plain descent's best: 2 / (mu + L), without momentum.",
            [("4 / (low + high) ** 2", "2 / (mu + L)"), ("((high - low) / (high + low)) ** 2", "0.0")],
        ),
        Mistake(
            "square outside",
            "The roots are taken after adding: it is the sum of the roots, squared, not the sum of mu and L.",
            ("(low + high) ** 2", "(mu + L)"),
        ),
    ),
    outputs=("lr", "beta"),
    verified="finds the learning rate and the beta that Polyak derived, on four ravines",
)


def rate(lr, beta, curvature):
    """Returns the spectral radius of a heavy-ball step on curvature x^2 / 2: what a step leaves, in the long run."""
    z = lr * curvature
    p, q = 1 + beta - z, beta
    root = np.sqrt(complex(p * p / 4 - q))
    roots = np.array([p / 2 + root, p / 2 - root])
    return np.abs(roots).max()


LARGEST = "np.abs(roots).max()"
check_rate = Exercise(
    "rate",
    rate,
    [
        Case(f"lr {lr:g}, beta {beta:g}, curvature {c:g}", {"lr": lr, "beta": beta, "curvature": c})
        for lr, beta, c in (
            (0.5, 0.5, 2.0),
            (0.05, 0.5, 2.0),  # complex, lr curvature below 1
            (1.5, 0.9, 2.0),  # and above
            (0.01, 0.8, 0.5),
            (0.3, 0.0, 1.0),
            (0.55, 0.05, 1.0),
            (0.95, 0.1, 2.0),  # real and negative, yet stable
            (0.9, 0.25, 3.0),
            (1.2, 0.8, 4.0),
        )
    ],
    (
        Mistake(
            "real part",
            "That is a real part: a complex eigenvalue shrinks by its absolute value, |a + bi|.",
            (LARGEST, "roots.real.max()"),
            (LARGEST, "np.abs(roots.real).max()"),
        ),
        Mistake(
            "largest, not largest in size",
            "That is the largest eigenvalue, and past the stability limit the most negative one rules: compare sizes.",
            (LARGEST, "abs(roots[0])"),
        ),
        Mistake(
            "smaller eigenvalue",
            "That is the eigenvalue that dies first: in the long run the larger one is left.",
            (".max()", ".min()"),
        ),
        Mistake(
            "always sqrt(beta)",
            "sqrt(beta) is the contraction factor only while the eigenvalues are a complex pair, "
            "(1 - sqrt(lr curvature))^2 < beta.",
            (LARGEST, "beta**0.5"),
        ),
        Mistake(
            "determinant",
            "beta is the product of the two eigenvalues: the contraction factor is the size of the larger one.",
            (LARGEST, "beta"),
        ),
        Mistake(
            "no momentum",
            "|1 - lr curvature| is plain descent's factor: with a velocity a step is a 2 x 2 matrix.",
            (LARGEST, "abs(1 - z)"),
        ),
        Mistake(
            "sign of beta",
            "beta has the wrong sign at the older x: x_(t+1) = (1 + beta - lr curvature) x_t - beta x_(t-1).",
            ("- z, beta", "- z, -beta"),
        ),
        Mistake(
            "1 instead of 1 + beta",
            "The trace is 1 + beta - lr curvature: moving on at the old speed adds beta x_t and takes beta x_(t-1).",
            ("1 + beta", "1"),
        ),
        Mistake(
            "not halved",
            "The roots of r^2 - p r + q are (p +- sqrt(p^2 - 4 q)) / 2: the halving is missing.",
            ("return np", "return 2 * np"),
        ),
        Mistake(
            "cut at 1",
            "The contraction factor is cut at 1: beyond the stability limit it is larger, and says how fast "
            "the run diverges.",
            (LARGEST, "min(1.0, np.abs(roots).max())"),
        ),
        Mistake(
            "curvature forgotten",
            "The curvature is not used: only its product with the learning rate counts.",
            ("lr * curvature", "lr"),
        ),
    ),
    outputs=("rate",),
    verified="is the size of the larger eigenvalue, real of either sign, a complex pair, and beyond the limit",
    oracle=lambda lr, beta, curvature: np.abs(np.roots([1, lr * curvature - 1 - beta, beta])).max(),
)
