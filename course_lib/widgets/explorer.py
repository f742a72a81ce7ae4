"""Sliders over an experiment: everything they offer comes from its signature."""

import asyncio
import base64
import html
import inspect
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints

import ipywidgets as w

from course_lib.ranges import controls_of
from course_lib.widgets.canvas import LivePicture
from course_lib.widgets.sliders import control_widget, rounded, same_notch

T = TypeVar("T")

REMEMBERED = 64  # results
TELL_EVERY = 0.1  # seconds between two movements of the progress bar
SHOW_EVERY = 0.25  # seconds between two pictures of a run that is under way


class Stopped(Exception):
    """Raised out of an experiment's loop when its result is no longer wanted."""


class Explorer(w.VBox):
    """One experiment, one live picture, one control for each declared parameter.

    An experiment that takes `progress` is slow: it runs in a thread while the page stays alive, the latest setting
    wins, and Stop ends it. One that takes `preview` is drawn while it runs, and Stop leaves what is known. `set(...)`
    runs at once and returns when the picture is there; `result` is what the picture shows.
    """

    def __init__(self, experiment: Callable, **fixed: Any):
        kind: Any = get_type_hints(experiment).get("return")
        if not hasattr(kind, "draw"):
            raise TypeError(f"explore: {experiment.__name__} must be annotated with the Result that it returns")
        parameters = inspect.signature(experiment).parameters
        if unknown := [name for name in fixed if name not in parameters]:
            raise TypeError(f"explore: {experiment.__name__} takes no {unknown[0]!r}; it takes {', '.join(parameters)}")
        self.experiment, self.fixed = experiment, fixed
        self.slow, self.gradual = "progress" in parameters, "preview" in parameters
        self.legal = {name: c for name, c in controls_of(experiment).items() if name not in fixed}
        self.values = {name: parameters[name].default for name in self.legal}
        self.controls = {name: control_widget(c, self.values[name], description=name) for name, c in self.legal.items()}
        self.result: Any = None
        self._results: OrderedDict[tuple, Any] = OrderedDict()
        self._wanted: dict[str, Any] | None = None
        self._worker: asyncio.Task | None = None
        self._stopping = False
        self._unfinished = False  # whether the picture is of a part of a run
        self._by_hand = True

        self.picture, self.call = LivePicture(kind.draw, kind.size), w.HTML()
        self.reading = w.HTML(layout={"min_height": "4.5em", "max_width": "26em", "overflow": "auto"})
        self.bar = w.FloatProgress(value=0.0, min=0.0, max=1.0, layout={"width": "12em", "visibility": "hidden"})
        self.stop = w.Button(description="Stop", icon="stop", layout={"width": "6em", "visibility": "hidden"})
        self.stop.on_click(lambda _: self._halt())
        for name, control in self.controls.items():
            control.observe(lambda _, name=name: self._moved(name), names="value")
        side = [self.reading, *([w.HBox([self.bar, self.stop])] if self.slow else [])]
        panel = w.HBox([w.VBox(list(self.controls.values())), w.VBox(side)], layout={"flex_flow": "row wrap"})
        super().__init__([panel, self.picture, self.call])
        self._run_now(self.values)

    def set(self, **values: Any) -> None:
        """Move the controls to `values` and show the result.

        Raises TypeError for a parameter that has no control, and what the experiment raises for an illegal value.
        """
        if unknown := [name for name in values if name not in self.controls]:
            raise TypeError(f"set: no control for {unknown[0]!r}; there are {', '.join(self.controls)}")
        wanted = self.values | values
        self._run_now(wanted)
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

    async def settled(self) -> None:
        """Wait until the run that a hand started has ended."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])

    def _moved(self, name: str) -> None:
        control = self.controls[name]
        if not self._by_hand or same_notch(control, control.value, self.values[name]):
            return  # no hand did that: the front end rounded the value to a position of its slider
        self.values = self.values | {name: rounded(self.legal[name], control.value)}
        try:
            if not self.slow or self._key(self.values) in self._results:
                self._run_now(self.values)
            else:
                self._run_later(self.values)
        except Exception as error:
            self._complain(error)

    def _run_now(self, values: dict[str, Any]) -> None:
        self._wanted, self._stopping = None, True  # whatever still runs is no longer wanted
        self._show(values, self._compute(values))

    def _run_later(self, values: dict[str, Any]) -> None:
        self._wanted = values
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        """Run the wanted setting in a thread until no newer one is wanted."""
        loop = asyncio.get_running_loop()
        self._busy(True)
        while self._wanted is not None:
            values, self._wanted, self._stopping = self._wanted, None, False
            try:
                result = await asyncio.to_thread(self._compute, values, self._hooks(values, loop))
            except Stopped:
                continue
            except Exception as error:
                self._complain(error)
            else:
                if not self._dropped:
                    self._show(values, result)
        self._busy(False)

    def _hooks(self, values: dict[str, Any], loop: asyncio.AbstractEventLoop) -> dict[str, Callable]:
        """`progress`, and `preview` where it is taken, for the worker's thread: both stop an unwanted run."""
        last, drawing = {"told": 0.0, "shown": 0.0}, False

        def due(what: str, every: float) -> bool:
            if self._dropped:
                raise Stopped
            now = time.monotonic()
            if now - last[what] < every:
                return False
            last[what] = now
            return True

        def progress(steps: Iterable[T]) -> Iterator[T]:
            total = len(steps) if isinstance(steps, Sized) else None
            for done, step in enumerate(steps):
                if due("told", TELL_EVERY) and total:
                    loop.call_soon_threadsafe(setattr, self.bar, "value", done / total)
                yield step

        def show(partial: Any) -> None:
            nonlocal drawing
            if not drawing and due("shown", SHOW_EVERY):
                drawing = True
                loop.call_soon_threadsafe(draw, partial)

        def draw(partial: Any) -> None:
            nonlocal drawing
            if not self._dropped:
                self._show(values, partial, unfinished=True)
            drawing = False

        return {"progress": progress} | ({"preview": show} if self.gradual else {})

    @property
    def _dropped(self) -> bool:
        """Whether the run under way is no longer wanted."""
        return self._wanted is not None or self._stopping

    def _compute(self, values: dict[str, Any], hooks: Mapping[str, Callable] = MappingProxyType({})) -> Any:
        key = self._key(values)
        if key not in self._results:
            self._results[key] = self.experiment(**self.fixed, **values, **hooks)
            while len(self._results) > REMEMBERED:
                self._results.popitem(last=False)
        self._results.move_to_end(key)
        return self._results[key]

    def _show(self, values: dict[str, Any], result: Any, *, unfinished: bool = False) -> None:
        self.picture.show(result)
        self.result, self._unfinished = result, unfinished
        self._say(html.escape(result.summary()))
        arguments = ", ".join(f"{name}={value!r}" for name, value in (self.fixed | values).items())
        code = html.escape(f"{self.experiment.__name__}({arguments})")
        self.call.value = f'<code style="user-select: all" title="click to select">{code}</code>'

    def _say(self, text: str) -> None:
        self.reading.value = f'<div role="status" style="line-height: 1.5">{text}</div>'

    def _complain(self, error: Exception) -> None:
        self._say(f"<b>{html.escape(str(error) or type(error).__name__)}</b>")

    def _halt(self) -> None:
        self._wanted, self._stopping = None, True
        shown = "a run as far as it came" if self._unfinished else "the last finished run"
        self.bar.value = 0.0
        self._say(f"Stopped. The picture shows {shown}; move a control to run again.")

    def _busy(self, running: bool) -> None:
        self.bar.value = 0.0
        for part in (self.bar, self.stop):
            part.layout.visibility = "visible" if running else "hidden"

    @staticmethod
    def _key(values: dict[str, Any]) -> tuple:
        return tuple(values.items())

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        """The live widget; for where no front end runs, the picture and a line of text."""
        bundle = super()._repr_mimebundle_(**kwargs) or {}
        summary = self.result.summary()
        width, height = self.picture.width, self.picture.height
        still = {"image/png": base64.b64encode(self.picture.value).decode(), "text/plain": summary}
        shown = {"image/png": {"width": int(width), "height": int(height), "alt": summary}}
        return bundle | still, shown


def explore(experiment: Callable, **fixed: Any) -> Explorer:
    """Show `experiment` with a control for each of its declared parameters but those in `fixed`.

    The experiment is annotated with the `Result` that it returns, which says how it is drawn.

    Raises TypeError if it is not, and if `fixed` names a parameter that the experiment does not have.
    """
    return Explorer(experiment, **fixed)
