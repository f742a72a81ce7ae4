"""A pytest plugin beside nbval: how long each notebook takes and how much memory its kernel needs, printed and bounded.

    python -m pytest -p tools.notebook_budget --nbval-lax notebooks/01_backprop.ipynb

A notebook promises 60 s on two idle cores and 2 GB. The cell that takes it past three times the seconds (a loaded or
slow machine) or past the memory fails. Kernels run in a profile of their own in which the network is refused.
"""

import re
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import cast

import psutil
import pytest
from nbval.plugin import IPyNbCell

from tools import loopback

SECONDS, SLACK, MEGABYTES = 60.0, 3.0, 2048.0


def peak_megabytes(pid: int) -> float:
    """The most memory the process has held: Linux's own count of it; elsewhere what it holds now."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return float(psutil.Process(pid).memory_info().rss / 2**20)
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def overrun(seconds: float, megabytes: float) -> str | None:
    if seconds > SLACK * SECONDS:
        return f"the notebook has taken {seconds:.0f} s up to here; it promises {SECONDS:.0f} s, and {SLACK:g}x fails"
    if megabytes > MEGABYTES:
        return f"the notebook's kernel has held {megabytes:.0f} MB up to here; the limit is {MEGABYTES:.0f} MB"
    return None


class NotebookBudget:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.megabytes: dict[str, float] = {}
        self.over: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Where the cell runs: measure its kernel, fail the cell that oversteps."""
        report = yield
        if not isinstance(item, IPyNbCell) or call.when == "teardown":
            return report
        kernel = item.parent.kernel
        megabytes = peak_megabytes(kernel.km.provisioner.pid) if kernel and kernel.is_alive() else 0.0
        notebook = str(item.path.relative_to(item.config.rootpath))
        report.user_properties.append(("notebook", [notebook, call.duration, megabytes]))
        problem = overrun(self.seconds.get(notebook, 0.0) + call.duration, megabytes)
        if problem and call.when == "call" and report.passed and notebook not in self.over:
            self.over.add(notebook)
            report.outcome, report.longrepr = "failed", f"{item.nodeid}: {problem}"
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In the process that prints, and with xdist in each worker too."""
        for name, value in report.user_properties:
            if name == "notebook":
                notebook, seconds, megabytes = cast(tuple[str, float, float], value)
                self.seconds[notebook] = self.seconds.get(notebook, 0.0) + seconds
                self.megabytes[notebook] = max(self.megabytes.get(notebook, 0.0), megabytes)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.seconds:
            terminalreporter.section("notebooks")
        for notebook in sorted(self.seconds):
            terminalreporter.write_line(
                f"{notebook:<40} {self.seconds[notebook]:6.1f} s of {SECONDS:.0f}   "
                f"{self.megabytes[notebook]:6.0f} MB of {MEGABYTES:.0f}"
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
