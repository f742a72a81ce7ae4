"""The runner that prints the budgets; the measurements themselves are no tests."""

import sys
import time
from types import ModuleType

import pytest

from benchmarks import CannotRun, Line, __main__, alternate


@pytest.fixture
def trial(monkeypatch):
    """Stand in for the only benchmark; returns a setter of its lines."""
    module = ModuleType("benchmarks.bench_trial")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(__main__, "names", lambda: ["trial"])
    return lambda lines: setattr(module, "lines", lines)


@pytest.mark.parametrize(
    ("line", "ok"),
    [
        (Line("x", 1, 2, "ms"), True),
        (Line("x", 3, 2, "ms"), False),
        (Line("x", 3, 2, "x", better="above"), True),
        (Line("x", 1, 2, "x", better="above"), False),
        (Line("x", 2, 2, "ms"), True),
        (Line("x", float("nan"), 2, "ms"), False),
    ],
)
def test_a_line_says_ok_or_short(line, ok):
    assert line.ok is ok
    assert str(line).split()[-1] == ("ok" if ok else "short")


def test_the_exit_status_says_whether_every_budget_was_met(trial, capsys):
    trial(lambda: [Line("quick", 1, 2, "ms")])
    assert __main__.main([]) == 0
    trial(lambda: [Line("slow", 3, 2, "ms"), Line("quick", 1, 2, "ms")])
    assert __main__.main(["trial"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in printed] == ["ok", "short", "ok"]
    assert len({len(line.removesuffix("ok").removesuffix("short")) for line in printed}) == 1


def test_what_cannot_run_says_why_and_what_fails_says_how(trial, capsys):
    def cannot():
        raise CannotRun("no Chromium")
        yield

    trial(cannot)
    assert __main__.main([]) == 0
    trial(lambda: [1 / 0])
    assert __main__.main([]) == 1
    assert capsys.readouterr().out == (
        "trial: cannot run here: no Chromium\ntrial: failed: ZeroDivisionError: division by zero\n"
    )


def test_an_unknown_name_is_refused(capsys):
    assert __main__.main(["nothing"]) == 2
    assert "no benchmark called nothing; there are " in capsys.readouterr().err


def test_candidates_take_turns():
    order = []
    seconds = alternate(lambda: order.append("a"), lambda: [order.append("b"), time.sleep(0.01)], repeats=3)
    assert order == ["a", "b"] * 3
    assert seconds[1] >= 0.01 > seconds[0]
