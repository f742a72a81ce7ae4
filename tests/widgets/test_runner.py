"""What runs, what is dropped, what is remembered and what is shown on the way; without a widget."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from course_lib.ranges import Preview, Progress, no_preview, no_progress
from course_lib.widgets.runner import REMEMBERED, Runner, every


class View:
    """Notes what the runner hands on."""

    def __init__(self, experiment: Callable[..., Any]) -> None:
        self.shown: list[Any] = []
        self.parts: list[Any] = []
        self.shares: list[float] = []
        self.errors: list[str] = []
        self.busy: list[bool] = []
        self.runner = Runner(
            experiment,
            show=self.show,
            advance=self.shares.append,
            complain=lambda error: self.errors.append(str(error)),
            busy=self.busy.append,
        )

    def show(self, values: Any, result: Any, *, unfinished: bool = False) -> None:
        (self.parts if unfinished else self.shown).append((dict(values), result))

    def during(self, act: Callable[[], Awaitable[None]]) -> None:
        """Act while a loop runs, then wait for the worker."""

        async def whole() -> None:
            await act()
            await self.runner.settled()

        asyncio.run(asyncio.wait_for(whole(), 20))


class Steps:
    """A slow experiment of many steps, each of which waits until the test lets it go on."""

    def __init__(self) -> None:
        self.go, self.calls = threading.Event(), []

    def __call__(self, n: int = 3, *, progress: Progress = no_progress, preview: Preview = no_preview) -> int:
        self.calls.append(n)
        if n < 0:
            raise ArithmeticError(f"{n} steps cannot be made")
        for step in progress(range(n)):
            preview(step)
            self.go.wait(10)
        return 10 * n

    async def begun(self, times: int) -> None:
        while len(self.calls) < times:
            await asyncio.sleep(0.005)


def double(n: int = 1) -> int:
    calls.append(n)
    if n < 0:
        raise ValueError("n must be at least 0")
    return 2 * n


calls: list[int] = []


def test_a_live_experiment_runs_at_once_and_recent_results_are_remembered():
    calls.clear()
    view = View(double)
    for n in [*range(REMEMBERED + 1), 0, REMEMBERED, 0]:
        view.runner.request({"n": n})
    assert [result for _, result in view.shown][-3:] == [0, 2 * REMEMBERED, 0]
    assert calls == [*range(REMEMBERED + 1), 0]  # the oldest was forgotten
    assert len(view.runner.results) == REMEMBERED
    assert view.busy == []


def test_a_request_that_fails_complains_and_a_run_raises():
    view = View(double)
    view.runner.request({"n": -1})
    assert view.errors == ["n must be at least 0"]
    with pytest.raises(ValueError, match="at least 0"):
        view.runner.run({"n": -1})
    assert view.shown == []


def test_of_the_requests_made_while_one_runs_the_latest_wins():
    steps = Steps()
    view = View(steps)

    async def hurry() -> None:
        view.runner.request({"n": 4})
        await steps.begun(1)
        for n in (5, 6, 7):
            view.runner.request({"n": n})
        steps.go.set()

    view.during(hurry)
    assert steps.calls == [4, 7]
    assert view.shown == [({"n": 7}, 70)]
    assert list(view.runner.results.values()) == [70]
    assert view.busy == [True, False]


def test_a_remembered_setting_is_shown_at_once_and_drops_what_runs():
    steps = Steps()
    steps.go.set()
    view = View(steps)
    view.runner.run({"n": 3})

    async def back_and_forth() -> None:
        steps.go.clear()
        view.runner.request({"n": 4})
        await steps.begun(2)
        view.runner.request({"n": 3})
        assert len(view.shown) == 2
        steps.go.set()

    view.during(back_and_forth)
    assert view.shown == [({"n": 3}, 30)] * 2


@pytest.mark.parametrize("n", [4, 1])
def test_a_dropped_run_ends_and_shows_nothing_but_a_whole_result_is_remembered(n):
    steps = Steps()
    view = View(steps)

    async def drop() -> None:
        view.runner.request({"n": n})
        await steps.begun(1)
        while not view.parts:
            await asyncio.sleep(0.005)
        view.runner.drop()
        steps.go.set()

    view.during(drop)
    assert view.shown == view.errors == []
    assert list(view.runner.results.values()) == ([10] if n == 1 else [])


def test_the_worker_goes_on_after_an_error():
    steps = Steps()
    steps.go.set()
    view = View(steps)

    async def fail_then_run() -> None:
        view.runner.request({"n": -2})
        await view.runner.settled()
        view.runner.request({"n": 2})

    view.during(fail_then_run)
    assert view.errors == ["-2 steps cannot be made"]
    assert view.shown == [({"n": 2}, 20)]
    assert view.busy == [True, False] * 2


def test_a_preview_is_shown_as_unfinished_and_none_waits_behind_another():
    steps = Steps()
    steps.go.set()
    view = View(steps)

    async def run() -> None:
        view.runner.request({"n": 1000})

    view.during(run)
    assert view.parts[0] == ({"n": 1000}, 0)
    assert len(view.parts) < 20
    assert view.shares[0] == 0.0
    assert all(0 <= share < 1 for share in view.shares)
    assert len(view.shares) < 20
    assert view.shown == [({"n": 1000}, 10_000)]


def test_steps_that_cannot_be_counted_are_run_without_a_share():
    def endless(n: int = 3, *, progress: Progress = no_progress) -> int:
        return sum(progress(k for k in range(n)))

    view = View(endless)

    async def run() -> None:
        view.runner.request({"n": 4})

    view.during(run)
    assert view.shown == [({"n": 4}, 6)]
    assert view.shares == []


def test_every_is_true_at_first_and_then_once_in_its_time(monkeypatch):
    times = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    monkeypatch.setattr("course_lib.widgets.runner.time", SimpleNamespace(monotonic=iter(times).__next__))
    due = every(0.25)
    assert [due() for _ in times] == [True, False, False, True, False, False, True]
