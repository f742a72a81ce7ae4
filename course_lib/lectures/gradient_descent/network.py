"""Many copies of one small network side by side: a learning rate and a seed each, one batched matrix product for all.

The network is 64 - width - 10, tanh between, softmax with cross-entropy at the end. Its backward pass is five lines, so
it is written out; a test holds it equal to autograd. Shapes: S copies, B rows of data, everything float32.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from course_lib.data import Split, digits


class Net(NamedTuple):
    """w1: (S, 64, width). b1: (S, 1, width). w2: (S, width, 10). b2: (S, 1, 10)."""

    w1: Tensor
    b1: Tensor
    w2: Tensor
    b2: Tensor


@functools.lru_cache(maxsize=1)
def handwriting() -> tuple[Split, Split, Split]:
    """The digits' train, validation and test parts, their labels as one-hot rows (n, 10)."""
    data = digits()
    return tuple(Split(part.x, torch.eye(10)[part.y]) for part in (data.train, data.validation, data.test))  # type: ignore[return-value]


def start(seeds: Sequence[int], width: int = 32) -> Net:
    """Gaussian weights of variance 1 / inputs, zero biases; equal seeds start equally."""
    w1, w2 = [], []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        w1.append(torch.randn(64, width, generator=generator) / 64**0.5)
        w2.append(torch.randn(width, 10, generator=generator) / width**0.5)
    copies = len(w1)
    return Net(torch.stack(w1), torch.zeros(copies, 1, width), torch.stack(w2), torch.zeros(copies, 1, 10))


def forward(net: Net, x: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden units (S, B, width) and logits (S, B, 10) of x (B, 64), shared, or (S, B, 64), one batch a copy."""
    hidden = torch.tanh(x @ net.w1 + net.b1)
    return hidden, hidden @ net.w2 + net.b2


def gradient(net: Net, x: Tensor, targets: Tensor) -> Net:
    """Of the mean cross-entropy over x (S, B, 64), with respect to every copy's parameters."""
    hidden, logits = forward(net, x)
    d_logits = (torch.softmax(logits, dim=-1) - targets) / x.shape[-2]
    d_inner = d_logits @ net.w2.mT * (1 - hidden**2)
    return Net(
        x.mT @ d_inner, d_inner.sum(dim=1, keepdim=True), hidden.mT @ d_logits, d_logits.sum(dim=1, keepdim=True)
    )


def step(net: Net, x: Tensor, targets: Tensor, lrs: Tensor) -> Net:
    """One step of gradient descent; lrs: (S, 1, 1), a learning rate for each copy."""
    return Net(*(p - lrs * g for p, g in zip(net, gradient(net, x, targets), strict=True)))


def losses(net: Net, part: Split) -> Tensor:
    """(S,) mean cross-entropy in nats over all rows of `part`."""
    return -(torch.log_softmax(forward(net, part.x)[1], dim=-1) * part.y).sum(dim=-1).mean(dim=-1)


def accuracies(net: Net, part: Split) -> Tensor:
    """(S,) share of the rows of `part` whose largest logit is the right one."""
    return (forward(net, part.x)[1].argmax(dim=-1) == part.y.argmax(dim=-1)).float().mean(dim=-1)


def noise_and_signal(net: Net, part: Split) -> tuple[Tensor, Tensor]:
    """(S,) tr(Sigma), the variance of an example's gradient summed over parameters, and (S,) |G|^2 of the full one.

    An example's squared gradient norm needs no gradient: for a layer it is |error|^2 times (|input|^2 + 1)
    (Goodfellow 2015, "Efficient per-example gradient computations").
    """
    hidden, logits = forward(net, part.x)
    d_logits = torch.softmax(logits, dim=-1) - part.y
    d_inner = d_logits @ net.w2.mT * (1 - hidden**2)
    squares = (d_inner**2).sum(-1) * ((part.x**2).sum(-1) + 1) + (d_logits**2).sum(-1) * ((hidden**2).sum(-1) + 1)
    full = gradient(net, part.x.expand(len(net.w1), *part.x.shape), part.y)
    signal = squared_norm(full)
    return squares.mean(dim=-1) - signal, signal


def squared_norm(net: Net) -> Tensor:
    """(S,) sum of squares of all of a copy's entries."""
    return torch.stack([(p**2).sum(dim=(1, 2)) for p in net]).sum(dim=0)
