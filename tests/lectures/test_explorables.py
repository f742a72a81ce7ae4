"""Every explorable of the course: an experiment and its plot, over the extremes of its controls and at random between.

No crash, labeled and finite axes, a summary to read aloud, and fast enough to be dragged.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import course_lib.lectures
from course_lib.ranges import Choice, Integer, Log, controls_of
from course_lib.widgets.canvas import Canvas

LIVE_SECONDS, SLOW_SECONDS = 0.1, 20.0  # generous: the sharp figures are in benchmarks/


def explorables() -> Iterator[tuple[str, Callable, Callable]]:
    """Each experiment of a lecture whose result draws itself, with that drawing."""
    for topic in pkgutil.iter_modules(course_lib.lectures.__path__):
        lecture = importlib.import_module(f"course_lib.lectures.{topic.name}")
        for section in pkgutil.iter_modules(lecture.__path__):
            module = importlib.import_module(f"course_lib.lectures.{topic.name}.{section.name}")
            for name, experiment in inspect.getmembers(module, is_experiment):
                drawn = get_type_hints(experiment)["return"]
                if experiment.__module__ == module.__name__ and hasattr(drawn, "draw"):
                    yield f"{topic.name}.{name}", experiment, drawn.draw


def is_experiment(thing: Any) -> bool:
    return inspect.isfunction(thing) and hasattr(thing, "__wrapped__") and "return" in get_type_hints(thing)


PAIRS = {name: (experiment, draw) for name, experiment, draw in explorables()}
LIVE = [name for name, (experiment, _) in PAIRS.items() if "progress" not in inspect.signature(experiment).parameters]
SLOW = sorted(PAIRS.keys() - set(LIVE))
GRADUAL = {name for name in SLOW if "preview" in inspect.signature(PAIRS[name][0]).parameters}


def extremes(control) -> tuple:
    if isinstance(control, Choice):
        return control.values
    scale = control.scale if isinstance(control, Integer) else control
    return (int(scale.low), int(scale.high)) if isinstance(control, Integer) else (scale.low, scale.high)


def anywhere(control, dice: random.Random) -> Any:
    if isinstance(control, Choice):
        return dice.choice(control.values)
    scale = control.scale if isinstance(control, Integer) else control
    share = dice.random()
    value = (
        scale.low * (scale.high / scale.low) ** share
        if isinstance(scale, Log)
        else scale.low + share * (scale.high - scale.low)
    )
    return round(value) if isinstance(control, Integer) else min(max(value, scale.low), scale.high)


def settings(experiment: Callable, random_ones: int) -> Iterator[dict[str, Any]]:
    """The defaults; everything low; everything high; each control alone at each end; some at random."""
    controls, dice = controls_of(experiment), random.Random(0)
    yield {}
    for end in (0, -1):
        yield {name: extremes(control)[end] for name, control in controls.items()}
    for name, control in controls.items():
        for value in extremes(control):
            yield {name: value}
    for _ in range(random_ones):
        yield {name: anywhere(control, dice) for name, control in controls.items()}


def look(canvas: Canvas, result: Any, setting: dict) -> None:
    assert dataclasses.is_dataclass(type(result))
    axes = list(canvas.figure.axes)
    canvas.render(result)
    assert canvas.figure.axes == axes or not axes, f"axes made anew at {setting}"
    assert all(artist.figure is canvas.figure for artist in canvas.moving)
    for ax in canvas.figure.axes:
        assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all(), f"axes of no size at {setting}"
        if ax.axison and ax.get_label() != "<colorbar>":
            assert ax.get_xlabel(), f"an x axis without a label: {ax.get_title()!r}"
            assert ax.get_ylabel(), f"a y axis without a label: {ax.get_title()!r}"
    summary = result.summary()
    assert summary.strip(), f"nothing to read aloud at {setting}"
    assert "\n" not in summary, f"more than a line to read aloud at {setting}"


def draw_bare(draw: Callable, result: Any) -> None:
    """Without the canvas, whose style context would put back what a drawing had set for all the world."""
    before, figure = dict(mpl.rcParams), Figure((7, 3.4), layout="constrained")
    draw(result, figure)(result)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", LIVE)
def test_live_experiments_hold_everywhere(name):
    experiment, draw = PAIRS[name]
    canvas, spent = Canvas(draw), []
    for setting in settings(experiment, random_ones=15):
        start = time.thread_time()
        result = experiment(**setting)
        spent.append(time.thread_time() - start)
        look(canvas, result, setting)
    draw_bare(draw, result)
    assert sorted(spent)[len(spent) // 2] < LIVE_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("end", ["low", pytest.param("high", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", SLOW)
def test_slow_experiments_hold_at_the_ends(name, end):
    experiment, draw = PAIRS[name]
    canvas = Canvas(draw)
    _, low, high, *_ = settings(experiment, random_ones=0)
    setting = {"low": low, "high": high}[end]
    parts: list[Any] = []
    hooks = {"preview": parts.append} if name in GRADUAL else {}
    start = time.thread_time()
    result = experiment(**setting, **hooks)
    assert time.thread_time() - start < SLOW_SECONDS, f"too slow to explore at {setting}"
    assert parts or name not in GRADUAL, f"nothing to see under way at {setting}"
    for part in [result, *parts[:1], *parts[len(parts) // 2 :][:1], result]:
        look(canvas, part, setting)
    draw_bare(draw, result)


def test_there_are_explorables():
    assert len(LIVE) >= 4
    assert len(SLOW) >= 1
