"""Wrong optimizers to compare with: a simulator for each family, and switches that put a mistake in.

A mistake is a slot and what stands in it: {"bias": "none"} is Adam without bias correction. Mistakes in different slots
compose, so that two at once can be recognized as two. With no switch thrown the simulators are the course's optimizers,
and a test holds them to it. They are written in numpy, apart from `course_lib.optim`, which has no switches.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_lib.grading.optimizers.cases import Hyper, Kind, Sequence, joined

Array = np.ndarray
Wrong = Mapping[str, str]
State = dict[str, Any]
PER_PARAMETER = {"sharing", "zeros", "clock", "square"}


def pick(wrong: Wrong, slot: str, right: Callable[[], Any], **others: Callable[[], Any]) -> Any:
    """What the switch says, spaces written as underscores; the right thing where it says nothing."""
    return others.get(wrong.get(slot, "").replace(" ", "_"), right)()


def simulate(kind: Kind, case: Sequence, wrong: Wrong) -> Array:
    """The parameters after each step, (T, total size), with the mistakes of `wrong` made.

    NaN where a state shared between parameters of different shapes would end in an error.
    """
    step = momentum if kind in ("sgd", "nesterov") else adaptive
    if not PER_PARAMETER & wrong.keys():
        case = joined(case)
    theta, path = list(case.start), []
    if "sharing" in wrong and len({p.shape for p in theta}) > 1:
        return np.full((len(case.lrs), sum(p.size for p in theta)), np.nan)
    states: list[State] = [{} for _ in theta]
    with np.errstate(all="ignore"):
        for t, (grads, lr) in enumerate(zip(case.grads, case.lrs, strict=True), start=1):
            lr = pick(wrong, "lr", lambda: lr, missing=lambda: 1.0, twice=lambda: lr * lr, frozen=lambda: case.lrs[0])  # noqa: B023
            for i, g in enumerate(grads):
                if wrong.get("zeros", "").startswith("parameter") and not g.any():
                    continue
                states[i]["t"] = states[i].get("t", 0) + 1
                s = states[0] if "sharing" in wrong else states[i]
                if "memory" in wrong:
                    s = {"t": states[i]["t"]}
                before = dict(s)
                new = step(kind, theta[i], g, s, clock(t, i, len(theta), states[i]["t"], wrong), lr, case.hyper, wrong)
                if wrong.get("zeros") == "entries":
                    new = np.where(g == 0, theta[i], new)
                    s |= {k: np.where(g == 0, before.get(k, 0.0), s[k]) for k in ("m", "v", "c") if k in s}
                theta[i] = {
                    "never": theta[i],
                    "parameters returned": theta[i] + new,
                    "step returned": new - theta[i],
                }.get(wrong.get("moves", ""), new)
            path.append(np.concatenate([p.ravel() for p in theta]))
    return np.stack(path)


def clock(t: int, i: int, parameters: int, own: int, wrong: Wrong) -> int:
    """Adam's t at step t for parameter i, which has been updated `own` times."""
    every = (t - 1) * parameters + i + 1
    if wrong.get("sharing") == "t too":
        return every
    if wrong.get("memory") == "t too":
        return 1
    if wrong.get("zeros") == "parameter and t":
        return own
    return {"behind": t - 1, "ahead": t + 1, "counts parameters": every, "stuck": 1}.get(wrong.get("clock", ""), t)


def momentum(kind: Kind, theta: Array, g: Array, s: State, t: int, lr: float, h: Hyper, wrong: Wrong) -> Array:
    """sgd: v = beta v + g, theta - lr v; nesterov: theta - lr (g + beta v). The new theta; s keeps v."""
    beta, old, raw = h["beta"], s.get("v", np.zeros_like(g)), g
    if wrong.get("start") == "gradient's own array" and s.get("steps") == 1 and h["decay"] == 0:
        old = raw
    into, beside = decays(theta, lr, h, wrong, coupled=True)
    first, s["steps"] = "v" not in s, s.get("steps", 0) + 1
    inside, outside = (lr, 1.0) if wrong.get("lr") == "inside" else (1.0, lr)
    g = inside * (g + into)
    v = pick(
        wrong,
        "velocity",
        lambda: beta * old + g,
        dampened=lambda: beta * old + (1 - beta) * g,
        dampened_after_the_first=lambda: beta * old + (g if first else (1 - beta) * g),
        complement=lambda: (1 - beta) * old + beta * g,
        beta_on_both=lambda: beta * (old + g),
        beta_missing=lambda: old + g,
    )
    s["v"] = v
    used = old if wrong.get("order") == "old" else v
    look = wrong.get("look", "none" if kind == "sgd" else "")
    direction = pick(
        {"look": look},
        "look",
        lambda: g + beta * used,
        none=lambda: used,
        plain=lambda: g,
        beta_missing=lambda: g + used,
        velocity_twice=lambda: used + beta * used,
        gradient_left_out=lambda: beta * used,
        old_velocity=lambda: used + beta * old,
    )
    return moved(theta, outside * direction, beside, lr, h, wrong)


def adaptive(kind: Kind, theta: Array, g: Array, s: State, t: int, lr: float, h: Hyper, wrong: Wrong) -> Array:
    """Adam's m and v, their corrections and its step; rmsprop has g for m and corrects nothing. s keeps m and v."""
    adam, eps = kind != "rmsprop", h["eps"]
    b1, b2 = h.get("b1", 0.0), h["b2"]
    b1, b2 = pick(
        wrong,
        "betas",
        lambda: (b1, b2),
        swapped=lambda: (b2, b1),
        complement=lambda: (1 - b1 if adam else 0.0, 1 - b2),
        b1_twice=lambda: (b1, b1),
        b2_twice=lambda: (b2, b2),
    )
    a1, a2 = {"b1 in v": (b1, b1), "b2 in m": (b2, b2)}.get(wrong.get("betas", ""), (b1, b2))
    into, beside = decays(theta, lr, h, wrong, coupled=kind != "adamw")
    raw, g = g, g + into
    square = (raw if wrong.get("decay") == "in the mean only" else g) ** 2

    zero = np.zeros_like(g)
    m0, v0 = pick(
        wrong, "start", lambda: (zero, zero), first_gradient=lambda: (g, square), ones=lambda: (zero, zero + 1)
    )
    m_old, v_old = s.get("m", m0), s.get("v", v0)
    m = pick(
        wrong,
        "mean",
        lambda: a1 * m_old + (1 - a1) * g,
        unweighted=lambda: a1 * m_old + g,
        total=lambda: m_old + (1 - a1) * g,
        not_kept=lambda: (1 - a1) * g,
        unused=lambda: g,
    )
    c = b2 * s.get("c", zero) + (1 - b2) * g if wrong.get("square") in ("mean squared", "centered") else zero
    v = pick(
        wrong,
        "square",
        lambda: a2 * v_old + (1 - a2) * square,
        unweighted=lambda: a2 * v_old + square,
        total=lambda: v_old + square,
        not_kept=lambda: (1 - a2) * square,
        latest=lambda: square,
        mean_squared=lambda: c * c,
        of_the_mean=lambda: a2 * v_old + (1 - a2) * m * m,
        of_the_whole=lambda: a2 * v_old + (1 - a2) * np.mean(square),
        summed_over_the_whole=lambda: a2 * v_old + (1 - a2) * np.sum(square),
        norm=lambda: a2 * v_old + (1 - a2) * np.sqrt(np.sum(square)),
        absolute=lambda: a2 * v_old + (1 - a2) * np.abs(g),
        not_squared=lambda: a2 * v_old + (1 - a2) * g,
    )
    s |= {"m": m, "v": v, "c": c}
    if wrong.get("square") == "centered":
        v = np.maximum(v - c * c, 0)
    if wrong.get("order") == "old":
        m, v = (m_old if adam else g), v_old

    fix1, fix2 = 1 - np.float64(b1) ** t, 1 - np.float64(b2) ** t
    if wrong.get("mean") == "unused":
        fix1 = np.float64(1)
    k1, k2 = pick(
        wrong,
        "bias",
        lambda: (1 / fix1, 1 / fix2) if adam else (1.0, 1.0),
        none=lambda: (1.0, 1.0),
        only_mean=lambda: (1 / fix1, 1.0),
        only_square=lambda: (1.0, 1 / fix2),
        extra=lambda: (1.0, 1 / fix2),
        multiplied=lambda: (fix1, fix2),
        exchanged=lambda: (1 / fix2, 1 / fix1),
        b1_twice=lambda: (1 / fix1, 1 / fix1),
        b2_twice=lambda: (1 / fix2, 1 / fix2),
        root_left_out=lambda: (1 / fix1, 1 / fix2**2),
        kept=lambda: (1 / fix1, 1 / fix2),
        linear=lambda: (1 / np.float64(1 - b1 * t), 1 / np.float64(1 - b2 * t)),
        without_power=lambda: (1 / np.float64(1 - b1), 1 / np.float64(1 - b2)),
    )
    m, v = m * k1, v * k2
    if wrong.get("bias") == "kept":
        s |= {"m": m, "v": v}
    below = pick(
        wrong,
        "root",
        lambda: np.sqrt(v) + eps,
        inside=lambda: np.sqrt(v + eps),
        before_correction=lambda: np.sqrt(v) + eps * np.sqrt(k2),
        inside_before_correction=lambda: np.sqrt(v + eps * k2),
        left_out=lambda: np.sqrt(v),
        after_the_fraction=lambda: np.sqrt(v),
        after_the_step=lambda: np.sqrt(v),
        beside_the_rate=lambda: lr / (lr / np.sqrt(v) + eps),
        floor=lambda: np.maximum(np.sqrt(v), eps),
        no_root=lambda: v + eps,
        multiplied=lambda: 1 / (np.sqrt(v) + eps),
    )
    top = m + h["decay"] * theta if wrong.get("decay") == "divided" else m
    loose = {"after the fraction": eps, "after the step": -eps}.get(wrong.get("root", ""), 0.0)
    return moved(theta, lr * top / below + loose, beside, lr, h, wrong)


def decays(theta: Array, lr: float, h: Hyper, wrong: Wrong, *, coupled: bool) -> tuple[Array, Array]:
    """What the decay adds to the gradient, and what it takes off theta beside the step."""
    right = (1.0, 0.0) if coupled else (0.0, lr)
    into, beside = {
        "ignored": (0.0, 0.0),
        "sign": (-right[0], -right[1]),
        "doubled": (2 * right[0], 2 * right[1]),
        "beside": (0.0, lr),
        "in the gradient": (1.0, 0.0),
        "both": (1.0, lr),
        "without lr": (0.0, 1.0),
        "lr twice": (0.0, lr * lr),
        "after": (0.0, 0.0),
        "after without lr": (0.0, 0.0),
        "divided": (0.0, 0.0),
    }.get(wrong.get("decay", ""), right)
    return into * h["decay"] * theta, beside * h["decay"] * theta


def moved(theta: Array, step: Array, beside: Array, lr: float, h: Hyper, wrong: Wrong) -> Array:
    """theta after its step; where the decay comes after it, that works on the new theta."""
    sign, turned = {"step": (1, -1), "everything": (1, 1)}.get(wrong.get("sign", ""), (-1, -1))
    new = theta + sign * step + turned * beside
    late = {"after": lr, "after without lr": 1.0}.get(wrong.get("decay", ""), 0.0)
    return new - late * h["decay"] * new
