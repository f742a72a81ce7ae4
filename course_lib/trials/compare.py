"""Is a better than b, or were the seeds kind? Paired over seeds, with an interval, and free to say "cannot tell"."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit


@dataclass(frozen=True)
class Comparison:
    """Differences a - b over n seeds: their mean, and the interval that holds the true mean in `level` of cases."""

    names: tuple[str, str]
    n: int
    mean: float
    low: float
    high: float
    level: float

    @property
    def higher(self) -> Literal[0, 1] | None:
        """0 where the first is higher, 1 where the second is, None where the interval holds zero."""
        return 0 if self.low > 0 else 1 if self.high < 0 else None

    @property
    def verdict(self) -> str:
        """ "a is higher", "b is higher" or "not distinguishable", with the two names."""
        return "not distinguishable" if self.higher is None else f"{self.names[self.higher]} is higher"

    @property
    def margin(self) -> float:
        """How far the near end of the interval is from zero, in widths of the interval; below 0 where it holds zero.

        A claim that one is higher wants 0.5 and more, so that it survives another processor's rounding.
        """
        near = max(self.low, -self.high)
        return near / (self.high - self.low) if self.high > self.low else math.copysign(math.inf, near)

    @property
    def largest(self) -> float:
        """The largest |difference| in the interval: what "no difference" is bounded by."""
        return max(abs(self.low), abs(self.high))

    def summary(self) -> str:
        a, b = self.names
        return (
            f"{self.verdict}: {a} - {b} = {self.mean:.3g}, "
            f"{self.level:.0%} interval [{self.low:.3g}, {self.high:.3g}], {self.n} pairs"
        )


def compare(a: ArrayLike, b: ArrayLike, *, level: float = 0.95, names: tuple[str, str] = ("a", "b")) -> Comparison:
    r"""Compare two rows of results, entry i of both from seed i, by the paired t interval (Student 1908).

    .. math::
        d_i &= a_i - b_i                                                                \qquad (1) \\
        \bar d &\pm t_{n-1}\bigl(\tfrac{1 + \text{level}}{2}\bigr)\, s_d / \sqrt{n}     \qquad (2)

    It supposes that the differences are roughly normal and that each pair shares what a seed decides. Where nothing
    separates a from b, one comparison in 1 / (1 - level) still names a winner; of many comparisons, so many more.

    Raises ValueError for fewer than three pairs, unequal lengths, results that are not finite (a run that diverged has
    no number to average: count such runs instead), and a level outside (0, 1).
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"compare: a and b must be lists of one length, got shapes {first.shape} and {second.shape}")
    if len(first) < 3:
        raise ValueError(f"compare: a and b must hold at least 3 pairs, got {len(first)}")
    if not 0 < level < 1:
        raise ValueError(f"compare: level must be above 0 and below 1, got {level}")
    for name, results in zip(names, (first, second), strict=True):
        if not np.isfinite(results).all():
            lost = int((~np.isfinite(results)).sum())
            raise ValueError(f"compare: {lost} of the {len(first)} runs of {name} diverged (NaN or infinite result)")
    difference = first - second  # (1)
    n, mean = len(difference), float(difference.mean())
    half = float(stdtrit(n - 1, (1 + level) / 2) * difference.std(ddof=1) / math.sqrt(n))  # (2)
    return Comparison(names, n, mean, mean - half, mean + half, level)
