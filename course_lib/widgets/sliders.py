"""From a declared control to the widget that offers its values."""

import math
from typing import Any

import ipywidgets as w

from course_lib.ranges import Choice, Control, Integer, Log

NOTCHES = 200  # positions of a slider


def control_widget(control: Control, value: Any, *, description: str = "") -> w.ValueWidget:
    """The slider, menu or checkbox for one parameter, standing at `value`."""
    look: dict[str, Any] = {
        "value": value,
        "description": description,
        "style": {"description_width": "7em" if description else "0"},
        "layout": {"width": "25em"},
    }
    if isinstance(control, Choice):
        if control.values == (False, True):
            return w.Checkbox(**look)
        return w.Dropdown(options=control.values, **look)
    if isinstance(control, Integer):
        first, last = int(control.scale.low), int(control.scale.high)
        if isinstance(control.scale, Log):
            return w.SelectionSlider(options=sorted({*geometric(first, last), value}), **look)
        return w.IntSlider(min=first, max=last, **look)
    look["readout_format"] = ".3g"
    if isinstance(control, Log):
        low, high = math.log10(control.low), math.log10(control.high)
        return w.FloatLogSlider(min=low, max=high, step=notch(low, math.log10(value), high), **look)
    return w.FloatSlider(min=control.low, max=control.high, step=notch(control.low, value, control.high), **look)


def notch(low: float, start: float, high: float) -> float:
    """The distance between two positions, such that `start` is one of them: the front end rounds to positions."""
    usual = (high - low) / NOTCHES
    return (start - low) / max(round((start - low) / usual), 1) if start > low else usual


def same_notch(control: w.ValueWidget, a: Any, b: Any) -> bool:
    """Whether two values of a float slider are shown at one position."""
    if isinstance(control, w.FloatLogSlider):
        a, b = math.log10(a), math.log10(b)
    return isinstance(control, w.FloatLogSlider | w.FloatSlider) and abs(a - b) < 0.5 * control.step


def rounded(control: Control, value: Any) -> Any:
    """A slider's value to the three digits that it shows, so that the call printed below is the call that ran."""
    if isinstance(control, Choice | Integer):
        return value
    return min(max(float(f"{value:.3g}"), control.low), control.high)


def geometric(low: int, high: int) -> list[int]:
    """Whole numbers from low to high, about a quarter apart.

    >>> geometric(1, 10)
    [1, 2, 3, 4, 5, 7, 8, 10]
    """
    count = 1 + math.ceil(math.log(high / low) / math.log(1.25))
    return sorted({round(low * (high / low) ** (k / (count - 1))) for k in range(count)})
