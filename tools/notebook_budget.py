"""A pytest plugin beside nbval: how long each notebook takes and how much memory its kernel needs, printed and bounded.

    python -m pytest -p tools.notebook_budget --nbval-lax notebooks/01_backprop.ipynb

A notebook promises 60 s on two idle cores and 2 GB. What is bounded are the kernel's processor seconds, which do not
grow when other programs want the machine too: the cell that takes them past twice the promise (a slow machine), or the
memory past its limit, fails. Kernels run in a profile of their own in which the network is refused.
"""

import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import cast

import psutil
import pytest
from nbval.plugin import IPyNbCell

from tools import loopback

SECONDS, SLACK, MEGABYTES = 60.0, 2.0, 2048.0


def peak_megabytes(pid: int) -> float:
    """The most memory the process has held: Linux's own count of it; elsewhere what it holds now."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return float(psutil.Process(pid).memory_info().rss / 2**20)
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def processor_seconds(pid: int) -> float:
    """What the process has used so far, of all cores together, its own and the system's on its behalf."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def overrun(busy: float, megabytes: float) -> str | None:
    if busy > SLACK * SECONDS:
        return f"the notebook's kernel has computed for {busy:.0f} s up to here; {SLACK * SECONDS:.0f} s is the limit"
    if megabytes > MEGABYTES:
        return f"the notebook's kernel has held {megabytes:.0f} MB up to here; the limit is {MEGABYTES:.0f} MB"
    return None


class NotebookBudget:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.busy: dict[str, float] = defaultdict(float)
        self.megabytes: dict[str, float] = defaultdict(float)
        self.over: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Where the cell runs: measure its kernel, fail the cell that oversteps."""
        report = yield
        if not isinstance(item, IPyNbCell) or call.when == "teardown":
            return report
        kernel, busy, megabytes = item.parent.kernel, 0.0, 0.0
        if kernel and kernel.is_alive():
            pid = kernel.km.provisioner.pid
            busy, megabytes = processor_seconds(pid), peak_megabytes(pid)
        notebook = str(item.path.relative_to(item.config.rootpath))
        report.user_properties.append(("notebook", [notebook, call.duration, busy, megabytes]))
        problem = overrun(busy, megabytes)
        if problem and call.when == "call" and report.passed and notebook not in self.over:
            self.over.add(notebook)
            report.outcome, report.longrepr = "failed", f"{item.nodeid}: {problem}"
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In the process that prints: gather what the cells of a notebook took."""
        for name, value in report.user_properties:
            if name == "notebook":
                notebook, seconds, busy, megabytes = cast(tuple[str, float, float, float], value)
                self.seconds[notebook] += seconds
                self.busy[notebook] = max(self.busy[notebook], busy)
                self.megabytes[notebook] = max(self.megabytes[notebook], megabytes)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.seconds:
            terminalreporter.section("notebooks")
        for notebook in sorted(self.seconds):
            terminalreporter.write_line(
                f"{notebook:<40} {self.seconds[notebook]:6.1f} s, of which computing {self.busy[notebook]:6.1f} of "
                f"{SECONDS:.0f}   {self.megabytes[notebook]:6.0f} MB of {MEGABYTES:.0f}"
            )


def closed_profile(folder: Path) -> None:
    """An IPython profile whose kernels refuse the network from their first line on."""
    startup = folder / "profile_default/startup"
    startup.mkdir(parents=True)
    source = Path(loopback.__file__).read_text(encoding="utf-8")
    run = f"(lambda space: (exec({source!r}, space), space['refuse_network']()))({{'__name__': 'loopback'}})\n"
    (startup / "00-loopback.py").write_text(run, encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(NotebookBudget(), "notebook-budget-measure")
    profile, environment = tempfile.mkdtemp(prefix="ipython-"), pytest.MonkeyPatch()
    closed_profile(Path(profile))
    environment.setenv("IPYTHONDIR", profile)
    config.add_cleanup(environment.undo)
    config.add_cleanup(lambda: shutil.rmtree(profile, ignore_errors=True))
