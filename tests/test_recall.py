"""Slow results are kept by call and code, and only where a call says all there is to know."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import pytest

from course_lib import recall
from course_lib.ranges import Progress, experiment, no_progress

calls: list[float] = []


@dataclass(frozen=True)
class Doubled:
    value: float


def doubled(x: float = 1.0, f: Callable | None = None, *, progress: Progress = no_progress) -> Doubled:
    calls.append(x)
    return Doubled(2 * x)


@pytest.fixture
def slow(monkeypatch):
    """`doubled` as a slow experiment of the package, nothing kept yet."""
    module = ModuleType("course_lib.trial")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(doubled, "__module__", module.__name__)
    monkeypatch.setattr(recall, "_held", type(recall._held)())
    monkeypatch.delenv("COURSE_RESULTS", raising=False)
    calls.clear()
    return experiment(doubled)


def test_a_second_call_returns_the_first_result(slow):
    assert slow() is slow(1.0) is slow(x=1.0)
    assert slow(2.0).value == 4.0
    assert calls == [1.0, 2.0]


def test_a_hook_is_always_asked(slow):
    slow()
    slow(progress=no_progress)
    assert calls == [1.0, 1.0]


def test_a_function_without_a_lasting_name_is_not_recalled(slow, monkeypatch):
    typed = eval("lambda: 0", {"__name__": "__main__"})
    typed.__qualname__ = "typed"
    monkeypatch.setattr(sys.modules["__main__"], "typed", typed, raising=False)
    for f in (typed, lambda: 0):
        slow(f=f)
        slow(f=f)
    assert len(calls) == 4


def test_only_functions_of_the_package_are_recalled(slow, monkeypatch):
    monkeypatch.setattr(doubled, "__module__", "sample")
    assert slow() is not slow()


def test_the_oldest_results_go_first(slow, monkeypatch):
    monkeypatch.setattr(recall, "HELD", 2)
    for x in (1.0, 2.0, 1.0, 3.0, 1.0, 2.0):
        slow(x)
    assert calls == [1.0, 2.0, 3.0, 2.0]


def test_results_outlive_the_process_where_a_folder_is_named(slow, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results"))
    first = slow()
    recall._held.clear()
    assert slow() == first
    assert calls == [1.0]
    recall._held.clear()
    monkeypatch.setattr(recall, "code_hash", lambda: b"another version")
    slow()
    assert calls == [1.0, 1.0]
