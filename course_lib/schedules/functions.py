r"""Schedules that are functions of the step alone."""

from typing import Literal

import torch
from torch import Tensor

from course_lib.optim.transform import require
from course_lib.schedules.compose import Number, Schedule, check_whole, join, schedule


def constant(factor: Number = 1.0) -> Schedule:
    r""":math:`s(t) = c`. Equal to torch's ConstantLR in its first phase."""
    require("constant: factor", factor)
    return schedule(lambda t: factor + 0 * t)


def step_decay(every: int | Tensor, factor: Number = 0.1) -> Schedule:
    r""":math:`s(t) = \gamma^{\lfloor t / T \rfloor}`, T = `every` >= 1. Equal to torch's StepLR."""
    check_whole("step_decay: every", every, 1)
    require("step_decay: factor", factor)
    return schedule(lambda t: torch.as_tensor(factor, dtype=t.dtype) ** (t / every).floor())


def exponential(rate: Number) -> Schedule:
    r""":math:`s(t) = \gamma^t`. Equal to torch's ExponentialLR; a rate above 1 makes a learning-rate range test."""
    require("exponential: rate", rate)
    return schedule(lambda t: torch.as_tensor(rate, dtype=t.dtype) ** t)


def polynomial(steps: int | Tensor, power: Number = 1.0, floor: Number = 0.0) -> Schedule:
    r""":math:`s(t) = f + (1 - f)\,(1 - \min(t, T) / T)^p`, T = `steps`. With f = 0 equal to torch's PolynomialLR.

    Power 1 is the straight line to the floor.
    """
    check_whole("polynomial: steps", steps, 0)
    require("polynomial: power", power)
    require("polynomial: floor", floor)
    return schedule(lambda t: floor + (1 - floor) * (1 - _share(t, steps)) ** power)


def inverse_sqrt(steps: int | Tensor) -> Schedule:
    r""":math:`s(t) = \sqrt{T / \max(t, T)}`, T = `steps` >= 1: 1 until T, then falling (Raffel et al. 2020).

    product(warmup(T), inverse_sqrt(T)) is the schedule of Vaswani et al. 2017 (eq. 3) divided by its peak, except
    that they count steps from 1, and t here starts at 0.
    """
    check_whole("inverse_sqrt: steps", steps, 1)
    return schedule(lambda t: (t / steps).clamp_min(1).rsqrt())


def warmup(steps: int | Tensor, start: Number = 0.0) -> Schedule:
    r""":math:`s(t) = a + (1 - a) \min(t / T, 1)`, T = `steps`, a = `start`: a line up to 1, then 1 (Goyal et al. 2017).

    Equal to torch's LinearLR, which refuses a = 0; with a = 0 the first update moves nothing.
    """
    check_whole("warmup: steps", steps, 0)
    require("warmup: start", start)
    return schedule(lambda t: start + (1 - start) * _share(t, steps))


def cosine(steps: int | Tensor, floor: Number = 0.0) -> Schedule:
    r""":math:`s(t) = f + (1 - f)\,(1 + \cos(\pi t / T)) / 2`, T = `steps` >= 1 (Loshchilov & Hutter 2017, eq. 5).

    As in torch's CosineAnnealingLR the factor climbs again after T, and is back at 1 after 2 T.
    """
    check_whole("cosine: steps", steps, 1)
    require("cosine: floor", floor)
    return schedule(lambda t: floor + (1 - floor) * _half_wave(t / steps))


def warm_restarts(period: int | Tensor, growth: Number = 1.0, floor: Number = 0.0) -> Schedule:
    r"""A cosine that falls again and again, each fall m times as long (Loshchilov & Hutter 2017, SGDR).

    .. math::
        n &= \lfloor \log_m (1 + (m - 1)\, t / T_0) \rfloor, \; \lfloor t / T_0 \rfloor \text{ for } m = 1 \qquad (1) \\
        t_n &= T_0\, (m^n - 1) / (m - 1), \; n\, T_0 \text{ for } m = 1                    \qquad (2) \\
        s(t) &= f + (1 - f)\,(1 + \cos(\pi\, (t - t_n) / (T_0\, m^n))) / 2                    \qquad (3)

    period is T_0 >= 1, growth is m >= 1, torch's T_mult; a () tensor m must be above 1. Equal to torch's
    CosineAnnealingWarmRestarts, which takes whole m only. Exact to 10^8 steps.
    """
    check_whole("warm_restarts: period", period, 1)
    require("warm_restarts: growth", growth, low=1)
    require("warm_restarts: floor", floor)
    equal = not isinstance(growth, Tensor) and growth == 1
    m = torch.as_tensor(growth, dtype=torch.float64)

    def formula(t: Tensor) -> Tensor:
        n = t / period if equal else (1 + (m - 1) * t / period).log() / m.log()
        n = (n + 1e-10).floor()  # (1), where rounding must not keep t = t_n in the period before
        begin = n * period if equal else period * (m**n - 1) / (m - 1)  # (2)
        return floor + (1 - floor) * _half_wave((t - begin) / (period * m**n))  # (3)

    return schedule(formula)


def one_cycle(
    steps: int | Tensor,
    rise: Number = 0.3,
    start: Number = 1 / 25,
    end: Number = 1 / 250_000,
    shape: Literal["cosine", "linear"] = "cosine",
) -> Schedule:
    r"""Up from a to 1 during the share `rise` of the steps, then down to z: fastai's form of Smith & Topin (2017).

    .. math::
        u &= \text{rise} \cdot T - 1                                                     \qquad (1) \\
        s(t) &= 1 + (a - 1)\, w(t / u) \quad (t \le u)                                  \qquad (2) \\
        s(t) &= z + (1 - z)\, w((t - u) / (T - 1 - u)) \quad (t > u)                    \qquad (3)

    with T = `steps` >= 2 and w falling from 1 to 0, half a cosine or a line. Equal to torch's OneCycleLR, where a is
    1 / div_factor and z is a / final_div_factor, in its default two phases; the paper has three, and straight ramps.
    torch also cycles the momentum, and raises an error after T, where this stays at z.

    0 < rise < 1 and rise * steps >= 1, so that u is not negative.
    """
    check_whole("one_cycle: steps", steps, 2)
    require("one_cycle: rise", rise, below=1)
    require("one_cycle: start", start)
    require("one_cycle: end", end)
    if shape not in ("cosine", "linear"):
        raise ValueError(f"one_cycle: shape must be 'cosine' or 'linear', got {shape!r}")
    up = rise * steps - 1  # (1)
    if not isinstance(up, Tensor) and up < 0:
        raise ValueError(f"one_cycle: rise * steps must be at least 1, got {rise=}, {steps=}")
    wave = _half_wave if shape == "cosine" else lambda share: 1 - share

    def formula(t: Tensor) -> Tensor:
        climb = 1 + (start - 1) * wave(_share(t, up))  # (2)
        fall = end + (1 - end) * wave(_share((t - up).clamp_min(0), steps - 1 - up))  # (3)
        return torch.where(t <= up, climb, fall)

    return schedule(formula)


def warmup_stable_decay(
    warm: int | Tensor, stable: int | Tensor, decay: int | Tensor, start: Number = 0.0, floor: Number = 0.0
) -> Schedule:
    r"""A line up from `start`, a plateau at 1, a line down to `floor`, each so many steps long (Hu et al. 2024).

    Their decay is exponential. Hägele et al. 2024 take the line as a known baseline, and find 1 - sqrt better. With any
    other decay s: join(warmup(warm), s, at=warm + stable).
    """
    check_whole("warmup_stable_decay: warm", warm, 0)
    check_whole("warmup_stable_decay: stable", stable, 0)
    check_whole("warmup_stable_decay: decay", decay, 0)
    return join(warmup(warm, start), polynomial(decay, floor=floor), at=warm + stable)


def _share(t: Tensor, steps: Number) -> Tensor:
    """t / steps, at most 1; 1 throughout where there are no steps."""
    return (t / steps).nan_to_num(1.0).clamp_max(1)


def _half_wave(share: Tensor) -> Tensor:
    """From 1 to 0 as share goes from 0 to 1."""
    return (1 + torch.cos(torch.pi * share)) / 2
