"""Which settings of an experiment run, when, and what is remembered of them; no widget in here."""

import asyncio
import inspect
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any, TypeVar

T = TypeVar("T")
Values = Mapping[str, Any]

REMEMBERED = 64  # results
TELL_EVERY = 0.1  # seconds between two movements of the progress bar
SHOW_EVERY = 0.25  # seconds between two pictures of a run that is under way


class Stopped(Exception):
    """Raised out of an experiment's loop when its result is no longer wanted."""


class Runner:
    """Runs one experiment at one setting after another, and hands on what comes of it through four callbacks.

    An experiment that takes `progress` is slow: a requested setting runs in a worker thread, and a newer request drops
    it. One that takes `preview` is shown while it runs. The callbacks are called in the caller's thread:
    show(values, result, unfinished=False), advance(share of the run that is done), complain(error), busy(running).
    """

    def __init__(
        self,
        experiment: Callable[..., Any],
        *,
        show: Callable[..., object],
        advance: Callable[[float], object],
        complain: Callable[[Exception], object],
        busy: Callable[[bool], object],
    ) -> None:
        parameters = inspect.signature(experiment).parameters
        self.slow, self.gradual = "progress" in parameters, "preview" in parameters
        self.experiment = experiment
        self.results: OrderedDict[tuple[Any, ...], Any] = OrderedDict()  # the latest last
        self._show, self._advance, self._complain, self._busy = show, advance, complain, busy
        self._next: Values | None = None
        self._dropped = threading.Event()  # whether the run under way is no longer wanted
        self._worker: asyncio.Task[None] | None = None

    def run(self, values: Values) -> None:
        """Show the result of `values` before returning. Raises what the experiment raises."""
        self.drop()
        result = self.results.get(key(values))
        if result is None:
            result = self.experiment(**values)
        self._remember(values, result)
        self._show(values, result)

    def request(self, values: Values) -> None:
        """Show the result of `values`: at once if it comes quickly or is remembered, else when the worker has it."""
        try:
            if self.slow and key(values) not in self.results:
                self._run_later(values)
            else:
                self.run(values)
        except Exception as error:
            self._complain(error)

    def drop(self) -> None:
        """Want nothing of what runs or waits."""
        self._next = None
        self._dropped.set()

    async def settled(self) -> None:
        """Wait until the worker has nothing left to do."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])

    def _run_later(self, values: Values) -> None:
        self.drop()
        self._next = values
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        self._busy(True)
        while self._next is not None:
            values, self._next = self._next, None
            dropped = self._dropped = threading.Event()
            try:
                result = await asyncio.to_thread(self.experiment, **values, **self._hooks(values, dropped))
            except Stopped:
                continue
            except Exception as error:
                if not dropped.is_set():
                    self._complain(error)
            else:
                self._remember(values, result)
                if not dropped.is_set():
                    self._show(values, result)
        self._busy(False)

    def _hooks(self, values: Values, dropped: threading.Event) -> dict[str, Callable[..., Any]]:
        """`progress`, and `preview` where it is taken, for the worker's thread; both end a dropped run."""
        loop, tell, look = asyncio.get_running_loop(), every(TELL_EVERY), every(SHOW_EVERY)
        idle = threading.Event()  # whether the last preview has been drawn
        idle.set()

        def progress(steps: Iterable[T]) -> Iterator[T]:
            total = len(steps) if isinstance(steps, Sized) else 0
            for done, step in enumerate(steps):
                stop_if_dropped()
                if total and tell():
                    loop.call_soon_threadsafe(self._advance, done / total)
                yield step

        def preview(partial: Any) -> None:
            stop_if_dropped()
            if idle.is_set() and look():
                idle.clear()
                loop.call_soon_threadsafe(draw, partial)

        def draw(partial: Any) -> None:
            if not dropped.is_set():
                self._show(values, partial, unfinished=True)
            idle.set()

        def stop_if_dropped() -> None:
            if dropped.is_set():
                raise Stopped

        return {"progress": progress} | ({"preview": preview} if self.gradual else {})

    def _remember(self, values: Values, result: Any) -> None:
        self.results[key(values)] = result
        self.results.move_to_end(key(values))
        if len(self.results) > REMEMBERED:
            self.results.popitem(last=False)


def key(values: Values) -> tuple[Any, ...]:
    return tuple(values.items())


def every(seconds: float) -> Callable[[], bool]:
    """A function that is true at its first call, and from then on at most once in `seconds`."""
    last = -math.inf

    def due() -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last < seconds:
            return False
        last = now
        return True

    return due
