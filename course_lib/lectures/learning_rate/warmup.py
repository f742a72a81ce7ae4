"""5.4  What does a warm-up do for Adam, whose first updates are its longest?"""

import functools
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from course_lib.data import digits, minibatches
from course_lib.models import mlp
from course_lib.optim import Stepper, adam, steps_on
from course_lib.ranges import Linear, experiment
from course_lib.results import Curves, Floats

B1 = 0.9


@dataclass(frozen=True)
class EarlySteps(Curves):
    """x: updates, from 1 on. Rows: root mean square over coordinates of Adam's update, in units of lr."""

    xlabel = "update"
    ylabel = r"root mean square of the update, in units of $\eta$"
    scales = ("linear", "log")
    limits = ((0, 61), (0.02, 10))
    theory = ("theory for pure noise",)

    @property
    def peak(self) -> tuple[int, float]:
        """The update, from 1, at which leaving the correction out enlarges most, and the factor."""
        ratio = self.rows["without bias correction"] / self.rows["Adam"]
        return int(ratio.argmax()) + 1, float(ratio.max())

    def summary(self) -> str:
        (place, factor), size, raw = self.peak, self.rows["Adam"], self.rows["without bias correction"]
        return (
            f"first update {size[0]:.2f} lr, later {size[-20:].mean():.2f} lr; without bias correction "
            f"{raw[0]:.2f} lr, and up to {factor:.1f} times as long, at update {place}"
        )


@experiment
def early_steps(
    gradients: Literal["noise", "digits"] = "noise",
    warmup_steps: Annotated[int, Linear(1, 60)] = 20,
    b2: Annotated[float, Linear(0.9, 0.999)] = 0.999,
    *,
    seed: int = 0,
) -> EarlySteps:
    r"""Adam with b1 = 0.9 on a given sequence of gradients: pure noise, or those of a run on the digits.

    .. math::
        \text{uncorrected} / \text{corrected} &= (1 - \beta_1^t) / \sqrt{1 - \beta_2^t}                   \qquad (1) \\
        \text{rms of } \hat m_t &= \sqrt{\frac{1 - \beta_1}{1 + \beta_1} \cdot \frac{1 + \beta_1^t}{1 - \beta_1^t}}
            \text{ for independent noise of variance } 1                                            \qquad (2)

    The theory in the result is (2). The warm-up multiplies update t by min(t / warmup_steps, 1).
    """
    g = _noise(seed) if gradients == "noise" else _met(seed)
    t = np.arange(1.0, len(g) + 1)
    rms = np.sqrt(np.square(steps_on(adam(1.0, B1, b2), list(g))).mean(axis=1))
    theory = np.sqrt((1 - B1) / (1 + B1) * (1 + B1**t) / (1 - B1**t))  # (2)
    rows = {"without bias correction": rms * correction(t, b2), "Adam": rms}
    rows |= {"Adam, warm-up": rms * np.minimum(t / warmup_steps, 1), "theory for pure noise": theory}
    return EarlySteps(t, rows)


def correction(t, b2: float = 0.999):
    """(1) of `early_steps`: how many times too long update t = 1, 2, ... is without bias correction."""
    return (1 - B1**t) / (1 - b2**t) ** 0.5


@functools.lru_cache(maxsize=4)
def _noise(seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((60, 400))


@functools.lru_cache(maxsize=4)
def _met(seed: int) -> Floats:
    """(60, 600) the gradients of some weights in 60 updates of Adam at 0.003, batches of 32; none that is always 0."""
    data, model = digits().train, mlp((64, 32, 10), seed=seed)
    seen: list[torch.Tensor] = []
    optimizer = Stepper(model.parameters(), adam(0.003))
    generator = torch.Generator().manual_seed(seed)
    while len(seen) < 60:
        for rows in minibatches(len(data), 32, generator=generator):
            optimizer.zero_grad()
            cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            seen.append(torch.cat([p.grad.flatten() for p in model.parameters()]))  # type: ignore[union-attr]
            optimizer.step()
    g = torch.stack(seen[:60]).double().numpy()
    used = np.flatnonzero((g != 0).mean(axis=0) > 0.9)
    return g[:, np.random.default_rng(0).permutation(used)[:600]]
