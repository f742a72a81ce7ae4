"""Check of lecture 02, continued: the Hessian's eigenvalue of largest size from Hessian-vector products."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.grading.verdict import Case, Mutant, Verdict, judge

Numbers = np.ndarray


@dataclass
class Product:
    """v -> H v, for as many calls as power iteration needs.

    H is (n, n), or (n,) if it is diagonal. Raises RuntimeError at the call after `limit`.
    """

    hessian: Numbers
    limit: int
    calls: int = 0

    def __call__(self, v: Any) -> Numbers:
        self.calls += 1
        if self.calls > self.limit:
            raise RuntimeError(
                f"hvp was called {self.calls} times: power iteration needs one call a round and one more"
            )
        return self.hessian * v if self.hessian.ndim == 1 else self.hessian @ v


def power_iteration(normalize: Callable[[Numbers], Numbers], answer: Callable[[Numbers, Numbers], Any]) -> Callable:
    """A solution of the sharpness exercise, right or wrong: how it normalizes, and what it makes of v and H v."""

    def run(hvp, v, rounds):
        with np.errstate(all="ignore"):
            for _ in range(rounds):
                v = normalize(hvp(v))
            return answer(normalize(v), hvp(normalize(v)))

    return run


def unit(v: Numbers) -> Numbers:
    return v / np.linalg.norm(v)


GROWS = "The vector is never normalized: H v grows or shrinks by the eigenvalue every round, until it overflows."
STAYS = "v stays what it was at the start: feed H v, normalized, into the next round."
SHARPNESS_MUTANTS = (
    Mutant("not normalized", GROWS, power_iteration(lambda v: v, lambda v, hv: v @ hv)),
    Mutant("normalized only at the end", GROWS, power_iteration(lambda v: v, lambda v, hv: v @ hv / (v @ v))),
    Mutant(
        "sign lost",
        "A length or an absolute value has no sign, and the eigenvalue has one: take v . H v.",
        power_iteration(unit, lambda v, hv: np.linalg.norm(hv)),
    ),
    Mutant("vector not updated", STAYS, lambda hvp, v, rounds: unit(v) @ hvp(unit(v))),
    Mutant("vector not updated", STAYS, lambda hvp, v, rounds: v @ hvp(v)),
    Mutant("vector not updated", STAYS, lambda hvp, v, rounds: unit(hvp(v)) @ hvp(unit(hvp(v)))),
    Mutant(
        "vector returned",
        "That is the eigenvector: return its eigenvalue, v . H v.",
        power_iteration(unit, lambda v, hv: v),
    ),
    Mutant(
        "wrong norm",
        "v is divided by the sum of its sizes: v . H v is the eigenvalue only where v has Euclidean length 1.",
        power_iteration(lambda v: v / np.abs(v).sum(), lambda v, hv: v @ hv),
    ),
    Mutant(
        "largest entry for length",
        "v is divided by its largest entry, so its length is not 1: v . H v is the eigenvalue times v . v.",
        power_iteration(lambda v: v / np.abs(v).max(), lambda v, hv: v @ hv),
    ),
    Mutant(
        "largest, not largest in size",
        "Of -4 and 3 the larger is 3, but -4 is larger in size: a direction that curves down counts as well.",
        lambda hvp, v, rounds: np.linalg.eigvalsh(np.stack([hvp(column) for column in np.eye(len(v))])).max(),
    ),
)


def hessian_case(title: str, eigenvalues: Sequence[float], *, turned: bool = True) -> Case:
    """300 rounds, five calls a round at most; the eigenvectors are turned at random, or are the axes."""
    random = np.random.default_rng(len(title))
    n, hessian = len(eigenvalues), np.array(eigenvalues)
    if turned:
        turn = np.linalg.qr(random.normal(size=(n, n)))[0]
        hessian = turn * hessian @ turn.T
    return Case(title, {"hvp": Product(hessian, limit=1500), "v": random.normal(size=n), "rounds": 300})


def check_sharpness(fn: Any) -> Verdict:
    """Judge fn(hvp, v, rounds) -> the eigenvalue of largest size; hvp(v) is H v, v (n,) the start."""
    cases = (
        hessian_case("eigenvalues 5, 2, 1, 0.1", [5.0, 2.0, 1.0, 0.1]),
        hessian_case("a saddle: eigenvalues -4, 3, 1", [-4.0, 3.0, 1.0]),
        hessian_case("a sharp one: eigenvalues 80, 40, 1", [80.0, 40.0, 1.0]),
        hessian_case("2000 parameters, eigenvalues -1 to 6 and 9", [*np.linspace(-1, 6, 1999), 9.0], turned=False),
    )
    return judge(
        "sharpness",
        fn,
        power_iteration(unit, lambda v, hv: v @ hv),
        cases,
        SHARPNESS_MUTANTS,
        outputs=("eigenvalue",),
        verified="finds the eigenvalue of largest size, its sign included, without overflow and without rebuilding H",
    )
