"""Sliders over an experiment: everything they offer comes from its signature."""

import base64
import functools
import html
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, get_type_hints

import ipywidgets as w
from IPython import get_ipython

from course_lib.ranges import controls_of
from course_lib.widgets.canvas import LivePicture
from course_lib.widgets.runner import Runner, Values
from course_lib.widgets.sliders import control_widget, rounded, same_notch


class Explorer(w.VBox):
    """One experiment, one live picture, one control for each declared parameter.

    An experiment that takes `progress` is slow: it runs in a thread while the page stays alive, the latest setting
    wins, and Stop ends it. One that takes `preview` is drawn while it runs, and Stop leaves what is known. `set(...)`
    runs at once and returns when the picture is there; `result` is what the picture shows. `close()` frees the memory.
    """

    def __init__(self, experiment: Callable[..., Any], **fixed: Any) -> None:
        kind: Any = get_type_hints(experiment).get("return")
        if not hasattr(kind, "draw"):
            raise TypeError(f"explore: {experiment.__name__} must be annotated with the Result that it returns")
        parameters = inspect.signature(experiment).parameters
        if unknown := [name for name in fixed if name not in parameters]:
            raise TypeError(f"explore: {experiment.__name__} takes no {unknown[0]!r}; it takes {', '.join(parameters)}")
        self.experiment, self.fixed = experiment, fixed
        self.legal = {name: c for name, c in controls_of(experiment).items() if name not in fixed}
        self.values: Values = {name: parameters[name].default for name in self.legal}
        self.controls = {name: control_widget(c, self.values[name], description=name) for name, c in self.legal.items()}
        self.result: Any = None
        self._unfinished = False  # whether the picture is of a part of a run
        self._by_hand = True

        self.picture, self.call = LivePicture(kind.draw, kind.size), w.HTML()
        self.reading = w.HTML(layout={"min_height": "4.5em", "max_width": "26em", "overflow": "auto"})
        self.bar = w.FloatProgress(value=0.0, min=0.0, max=1.0, layout={"width": "12em", "visibility": "hidden"})
        self.stop = w.Button(description="Stop", icon="stop", layout={"width": "6em", "visibility": "hidden"})
        self.stop.on_click(lambda _: self._halt())
        for name, control in self.controls.items():
            control.observe(lambda _, name=name: self._moved(name), names="value")
        self.runner = Runner(
            functools.partial(experiment, **fixed),
            show=self._show,
            advance=lambda share: setattr(self.bar, "value", share),
            complain=self._complain,
            busy=self._busy,
        )
        side = [self.reading, *([w.HBox([self.bar, self.stop])] if self.runner.slow else [])]
        panel = w.HBox([w.VBox(list(self.controls.values())), w.VBox(side)], layout={"flex_flow": "row wrap"})
        super().__init__([panel, self.picture, self.call])
        self.runner.run(self.values)

    def set(self, **values: Any) -> None:
        """Move the controls to `values` and show the result.

        Raises TypeError for a parameter that has no control, and what the experiment raises for an illegal value.
        """
        if unknown := [name for name in values if name not in self.controls]:
            raise TypeError(f"set: no control for {unknown[0]!r}; there are {', '.join(self.controls)}")
        wanted = {**self.values, **values}
        self.runner.run(wanted)
        self.values = wanted
        for name, value in values.items():
            control = self.controls[name]
            if isinstance(control, w.SelectionSlider):
                value = min(control.options, key=lambda option: abs(option - value))
            with self._hands_off():
                control.value = value

    @contextmanager
    def _hands_off(self) -> Iterator[None]:
        """Controls that move in this context start no run."""
        self._by_hand = False
        try:
            yield
        finally:
            self._by_hand = True

    def close(self) -> None:
        """End what runs, and free the picture, the results and every control."""
        if self.comm is not None:  # else it is closed already, or was never whole
            self.runner.drop()
            self.runner.results.clear()
            for part in (*parts(self), self.bar, self.stop):
                part.close()
        super().close()

    def _moved(self, name: str) -> None:
        control = self.controls[name]
        if not self._by_hand or same_notch(control, control.value, self.values[name]):
            return  # no hand did that: the front end rounded the value to a position of its slider
        self.values = {**self.values, name: rounded(self.legal[name], control.value)}
        self.runner.request(self.values)

    def _show(self, values: Values, result: Any, *, unfinished: bool = False) -> None:
        self.picture.show(result)
        self.result, self._unfinished = result, unfinished
        self._say(html.escape(result.summary()))
        arguments = ", ".join(f"{name}={value!r}" for name, value in {**self.fixed, **values}.items())
        code = html.escape(f"{self.experiment.__name__}({arguments})")
        self.call.value = f'<code style="user-select: all" title="click to select">{code}</code>'

    def _say(self, text: str) -> None:
        self.reading.value = f'<div role="status" style="line-height: 1.5">{text}</div>'

    def _complain(self, error: Exception) -> None:
        self._say(f"<b>{html.escape(str(error) or type(error).__name__)}</b>")

    def _halt(self) -> None:
        self.runner.drop()
        shown = "a run as far as it came" if self._unfinished else "the last finished run"
        self.bar.value = 0.0
        self._say(f"Stopped. The picture shows {shown}; move a control to run again.")

    def _busy(self, running: bool) -> None:
        self.bar.value = 0.0
        for part in (self.bar, self.stop):
            part.layout.visibility = "visible" if running else "hidden"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        """The live widget; for where no front end runs, the picture and a line of text."""
        bundle = super()._repr_mimebundle_(**kwargs) or {}
        summary = self.result.summary()
        width, height = self.picture.width, self.picture.height
        still = {"image/png": base64.b64encode(self.picture.value).decode(), "text/plain": summary}
        shown = {"image/png": {"width": int(width), "height": int(height), "alt": summary}}
        return bundle | still, shown


def parts(box: w.Box) -> Iterator[w.Widget]:
    """Every widget inside `box`."""
    for child in box.children:
        yield child
        if isinstance(child, w.Box):
            yield from parts(child)


def explore(experiment: Callable[..., Any], **fixed: Any) -> Explorer:
    """Show `experiment` with a control for each of its declared parameters but those in `fixed`.

    The experiment is annotated with the `Result` that it returns, which says how it is drawn. Explorers that an earlier
    run of the same cell made are closed.

    Raises TypeError if it is not, and if `fixed` names a parameter that the experiment does not have.
    """
    explorer = Explorer(experiment, **fixed)
    cell, run = running_cell()
    if cell is not None:
        for place in [place for place in _made if place[0] == cell and place[1] != run]:
            for earlier in _made.pop(place):
                earlier.close()
        _made[cell, run].append(explorer)
    return explorer


_made: defaultdict[tuple[str, int], list[Explorer]] = defaultdict(list)  # by cell and number of its run


def running_cell() -> tuple[str | None, int]:
    """The id of the notebook cell under way, None if the front end gives none, and the number of its run."""
    shell: Any = get_ipython()
    if not hasattr(shell, "get_parent"):
        return None, 0
    return shell.get_parent().get("metadata", {}).get("cellId"), shell.execution_count
