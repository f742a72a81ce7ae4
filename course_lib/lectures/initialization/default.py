"""6.3  Is torch's default He's? What a stack of nn.Linear and ReLU does to signal and gradient, untouched."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch import nn

from course_lib.ranges import Log, experiment
from course_lib.results import Curves


@dataclass(frozen=True)
class Default(Curves):
    """Second moments at layers 0 to depth, of the signal and of the gradient, relative to where each begins."""

    xlabel = "layer"
    ylabel = "second moment"
    scales = ("linear", "log")
    limits = ((0, 50), (1e-40, 10))
    theory = ("6x a layer, then 0.2 / n", "6x a layer")

    def summary(self) -> str:
        depth = len(self.x) - 1
        return (
            f"after {depth} layers the signal's second moment has stopped at {self.rows['signal'][-1]:.2g} (law "
            f"{self.rows[self.theory[0]][-1]:.2g}), all of it bias; the gradient's is {self.rows['gradient'][0]:.2g}"
        )


@experiment
def default(
    depth: Annotated[int, Log(1, 50)] = 20, width: Annotated[int, Log(16, 200)] = 160, *, seed: int = 0
) -> Default:
    """32 normal inputs through `depth` layers nn.Linear(width, width) and ReLU, and a normal gradient back, in float64.

    The default draws weights and biases with variance 1 / (3 n). So E[h_l^2] = (E[h_(l-1)^2] + 1 / n) / 6, which stops
    at 1 / (5 n), and the gradient, which no bias feeds, loses 6x at every layer.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [nn.Linear(width, width, dtype=torch.float64) for _ in range(depth)]
        h = torch.randn(32, width, dtype=torch.float64).requires_grad_()
        back = torch.randn(32, width, dtype=torch.float64)
    signals = [h]
    for layer in layers:
        signals.append(torch.relu(layer(signals[-1])))
    gradients = torch.autograd.grad(signals[-1], signals, back)
    expected = [1.0]
    for _ in layers:
        expected.append((expected[-1] + 1 / width) / 6)
    rows = {
        "signal": np.array([float(h.detach().square().mean()) for h in signals]),
        "gradient": np.array([float(g.square().mean()) for g in gradients]),
    }
    laws = {Default.theory[0]: np.array(expected), Default.theory[1]: 6.0 ** -np.arange(depth, -1, -1.0)}
    return Default(
        np.arange(depth + 1.0),
        {name: row / row[end] for (name, row), end in zip(rows.items(), (0, -1), strict=True)} | laws,
    )
