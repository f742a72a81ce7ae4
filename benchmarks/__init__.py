"""Side-by-side measurements of the project's budgets: `python -m benchmarks [name ...]`, or `make bench`.

A module `bench_<name>.py` defines `lines()`, which yields a `Line` for each budget, or raises `CannotRun` with the
reason where something it needs is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Literal


class CannotRun(RuntimeError):
    """What a benchmark needs is not on this machine; the message says what."""


@dataclass(frozen=True)
class Line:
    """One budget: `measured` must be at most `budget` (better="below"), or at least (better="above")."""

    name: str
    measured: float
    budget: float
    unit: str
    better: Literal["below", "above"] = "below"

    @property
    def ok(self) -> bool:
        return self.measured <= self.budget if self.better == "below" else self.measured >= self.budget

    def __str__(self) -> str:
        sign = "<=" if self.better == "below" else ">="
        reading = f"{self.measured:>10.4g} {self.unit:<4} {sign} {self.budget:>7.4g} {self.unit:<4}"
        return f"{self.name:<62} {reading} {'ok' if self.ok else 'short'}"


def alternate(*candidates: Callable[[], object], repeats: int = 5) -> list[float]:
    """Median seconds of each candidate, taken in turns, so that a machine that slows down slows them all."""
    seconds: list[list[float]] = [[] for _ in candidates]
    for _ in range(repeats):
        for candidate, kept in zip(candidates, seconds, strict=True):
            start = perf_counter()
            candidate()
            kept.append(perf_counter() - start)
    return [median(kept) for kept in seconds]
