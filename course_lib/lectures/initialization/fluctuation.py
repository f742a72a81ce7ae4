"""6.5  The mean of all networks, or one network? How far the signal's length strays in a stack that keeps its mean."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from course_lib.ranges import Log, experiment
from course_lib.results import Curves

NETWORKS = 1000


@dataclass(frozen=True)
class Fluctuation(Curves):
    """Over 1000 networks, at layers 0 to depth, of s = |h|^2 / |h_0|^2: log of the mean, mean and variance of log s."""

    width: int

    xlabel = "layer"
    ylabel = "over 1000 networks"
    limits = ((0, 100), (-4, 4))
    theory = ("5 l / n", "-5 l / 2n")

    @property
    def ends(self) -> dict[str, float]:
        """What each row is at the last layer."""
        return {name: float(row[-1]) for name, row in self.rows.items()}

    def summary(self) -> str:
        end = self.ends
        return (
            f"width {self.width}, after {len(self.x) - 1} layers: log |h|^2 has mean {end['mean of log']:.2f} (about "
            f"{end['-5 l / 2n']:.2f}) and variance {end['variance of log']:.2f} (about {end['5 l / n']:.2f})"
        )


@experiment
def fluctuation(
    depth: Annotated[int, Log(1, 100)] = 50, width: Annotated[int, Log(16, 512)] = 128, *, seed: int = 0
) -> Fluctuation:
    """One input through 1000 ReLU stacks with He's weights.

    For a single input no matrix is needed: a fresh normal W times h is a normal vector of length |h|, so that
    |h_l|^2 = |h_(l-1)|^2 (2 / n) |relu(x)|^2 with x standard normal in n dimensions, exactly. In wide layers its log
    has variance 5 / n and mean -5 / 2n. The sum of 1 / n over layers is what matters (Hanin & Rolnick 2018).
    """
    rng = np.random.default_rng(seed)
    above = rng.binomial(width, 0.5, (depth, NETWORKS))  # units above zero; their squares add up to a chi-squared value
    factors = 2 / width * rng.chisquare(np.maximum(above, 1))
    logs = np.concatenate([np.zeros((1, NETWORKS)), np.log(factors).cumsum(axis=0)])
    layer = np.arange(depth + 1.0)
    rows = {
        "log of the mean": np.log(np.exp(logs).mean(axis=1)),
        "mean of log": logs.mean(axis=1),
        "variance of log": logs.var(axis=1),
        "5 l / n": 5 * layer / width,
        "-5 l / 2n": -2.5 * layer / width,
    }
    return Fluctuation(layer, rows, width)
