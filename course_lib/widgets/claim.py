"""A claim of the text, with its number: printed with a tick if it holds, an error if it does not."""

import html
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from IPython import get_ipython
from IPython.display import display


@dataclass(frozen=True)
class Claim:
    """What was claimed and measured. margin: how far the value is from its bound, in units of the bound's own scale."""

    sentence: str
    value: float | bool
    bound: str
    margin: float

    def __str__(self) -> str:
        return f"✓ {self.sentence}" + (f" ({self.value:.4g} {self.bound})" if self.bound else "")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        number = (
            f" <span style='color:#7F7F7F'>({self.value:.4g} {html.escape(self.bound)})</span>" if self.bound else ""
        )
        return f"<div><span style='color:#009E73'>✓</span> {html.escape(self.sentence)}{number}</div>"


def claim(
    sentence: str,
    value: Any,
    *,
    above: float | None = None,
    below: float | None = None,
    near: float | None = None,
    within: float | None = None,
) -> None:
    """State that a number is above or below a bound, between two, or within a distance of another; raise if it is not.

    claim("RMSProp is back after about 93 steps", burst.recovery("RMSProp"), near=93, within=4). A bool takes no bound,
    and is for exact facts: counts by construction, names, shapes.

    The margin is the distance to the bound over the bound's scale: over |above| or |below| (1 where that is 0), over
    `within`, and for a range over its width. Where the environment variable COURSE_CLAIMS names a file, a line of JSON
    is added to it: lecture (from COURSE_LECTURE), cell, sentence, value, bound, margin.

    Raises AssertionError with the sentence, the value and the bound if it does not hold; TypeError for a number without
    a bound or a bool with one; ValueError for bounds that do not go together.
    """
    given = {name: bound for name, bound in (("above", above), ("below", below), ("near", near)) if bound is not None}
    if isinstance(value, bool | np.bool_) or getattr(value, "dtype", None) is torch.bool:
        if given or within is not None:
            raise TypeError(f"claim: a bool takes no bound, got {', '.join(given)}")
        if not value:
            raise AssertionError(f"{sentence}: this is false")
        return _show(Claim(sentence, True, "", math.inf))
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"claim: value must be a number or a bool, got {value!r}") from None
    bound, margin = _margin(number, given, within)
    if not margin > 0:
        raise AssertionError(f"{sentence}: {number:.6g} is not {bound}")
    _show(Claim(sentence, number, bound, margin))


def _margin(number: float, given: Mapping[str, float], within: float | None) -> tuple[str, float]:
    """The bound in words, and how far inside it the number is; not above 0, or NaN, where it is outside."""
    if (within is not None) != ("near" in given) or ("near" in given and len(given) > 1):
        raise ValueError(
            f"claim: near and within go together, and with nothing else, got {', '.join(given) or 'within'}"
        )
    if not given:
        raise TypeError("claim: a number needs a bound: above=, below=, or near= with within=")
    if within is not None:
        if not within > 0:
            raise ValueError(f"claim: within must be above 0, got {within}")
        return f"near {given['near']:g}, within {within:g}", (within - abs(number - given["near"])) / within
    low, high = given.get("above", -math.inf), given.get("below", math.inf)
    if not low < high:
        raise ValueError(f"claim: above must be less than below, got {low} and {high}")
    if len(given) == 2:
        return f"between {low:g} and {high:g}", min(number - low, high - number) / (high - low)
    ((name, bound),) = given.items()
    return f"{name} {bound:g}", (number - bound if name == "above" else bound - number) / (abs(bound) or 1.0)


def _show(made: Claim) -> None:
    if place := os.environ.get("COURSE_CLAIMS"):
        line = {"lecture": os.environ.get("COURSE_LECTURE", ""), "cell": _cell(), **vars(made)}
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(json.dumps({k: str(v) if v == math.inf else v for k, v in line.items()}) + "\n")
    display(made)


def _cell() -> int | None:
    """The number of the notebook's cell that runs; None outside a notebook."""
    shell = get_ipython()
    return shell.execution_count if shell else None
