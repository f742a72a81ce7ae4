"""What a lecture costs is measured in seconds of one reference machine, printed and bounded."""

from pathlib import Path

import nbformat
import pytest

from tools import budget

ROOT = Path(__file__).parents[2]

pytest_plugins = ["pytester"]

NETWORK = "import urllib.request\nurllib.request.urlopen('http://192.0.2.1', timeout=5)"
KEEP = "import os\nassert os.environ['COURSE_RESULTS'].endswith('build/results')"


def run(pytester, monkeypatch, cells, *, megabytes=2048, promise=30):
    code = [nbformat.v4.new_code_cell(cell) for cell in cells]
    pytester.makefile(".ipynb", small=nbformat.writes(nbformat.v4.new_notebook(cells=code)))
    pytester.makeini("[pytest]\nfilterwarnings = error")
    bounds = f"budget.MEGABYTES, budget.NOTEBOOK = {megabytes}, {promise}"
    pytester.makeconftest(f"from tools import budget\n{bounds}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    plugins = ["-p", "no:playwright", "-p", "tools.budget", "-n1", "--dist=loadscope"]
    return pytester.runpytest_subprocess(*plugins, "--nbval-lax", "--nbval-current-env", timeout=100)


@pytest.mark.slow
def test_a_notebook_is_measured_and_cut_off_from_the_network(pytester, monkeypatch):
    result = run(pytester, monkeypatch, ["a = 1", NETWORK, KEEP, "b = bytearray(300_000_000)"])
    result.assert_outcomes(passed=3, failed=1)
    assert "no network here: a connection to 192.0.2.1 was refused" in result.stdout.str()
    line = next(line for line in result.outlines if line.startswith("small.ipynb "))
    seconds, megabytes = (float(line.split()[n]) for n in (1, 5))
    assert 0 < seconds < 30
    assert 300 < megabytes < 700
    assert "over budget" not in result.stdout.str()


@pytest.mark.slow
def test_a_notebook_over_its_promise_fails_the_run(pytester, monkeypatch):
    result = run(pytester, monkeypatch, ["b = bytearray(300_000_000)"], megabytes=250, promise=0.01)
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "over budget: small.ipynb held" in result.stdout.str()
    assert "over budget: small.ipynb took" in result.stdout.str()


def test_the_bounds_of_a_lecture():
    assert budget.problems("notebooks/08_other.ipynb", 44, 800) == []
    assert "took 46 s; 30 s is its promise" in budget.problems("notebooks/08_other.ipynb", 46, 800)[0]
    assert "20 s is its promise" in budget.problems("tests/lectures/lecture", 31, 0)[0]
    assert "held 2049 MB" in budget.problems("notebooks/08_other.ipynb", 10, 2049)[0]


def test_seconds_are_scaled_by_a_run_beside_them(monkeypatch):
    monkeypatch.setattr(budget, "calibrate", lambda: 2 * budget.REFERENCE)
    assert budget.Budget().standard(10.0) == 5.0


@pytest.mark.parametrize(
    ("path", "lecture"),
    [
        ("tests/lectures/adaptive/test_adam_step.py", "tests/lectures/adaptive"),
        ("tests/lectures/test_explorables.py", None),
        ("tests/optim/test_adam.py", None),
    ],
)
def test_which_lecture_a_test_belongs_to(path, lecture):
    assert budget.lecture_of(Path(path)) == lecture
