"""A pytest plugin: what each lecture costs, its notebook and its tests, printed and bounded.

    python -m pytest -p tools.budget --nbval-lax notebooks/04_adaptive.ipynb tests/lectures/adaptive

A lecture promises 30 seconds of notebook, in 2 GB, and 20 seconds of tests. Seconds are processor seconds at one
thread, divided by what a fixed piece of work beside them took and multiplied by what it takes on the reference machine:
neither a slow machine nor a busy one counts against a lecture. What still varies is left room: a run fails at 1.5 times
the promise. Kernels run in a profile of their own, in which the network is refused and the results of slow experiments
are kept in `build/results` for the browser tests.
"""

import re
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest
import torch
from nbval.plugin import IPyNbCell

from tools import loopback

NOTEBOOK, TESTS, MEGABYTES = 30.0, 20.0, 2048.0
SLACK = 1.5
REFERENCE = 0.19  # seconds that `calibrate` takes on the reference machine
FRESH = 30.0  # seconds for which a calibration counts


def calibrate() -> float:
    """Processor seconds of a fixed piece of work like a lecture's: small tensors in a Python loop, at one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    x, w = torch.ones(32, 64), torch.eye(64)
    start = time.process_time()
    for step in range(12_000):
        x = torch.tanh(x @ w)
        w = 0.999 * w + 1e-5 * sum(k % 3 for k in range(step % 40))
    took = time.process_time() - start
    torch.set_num_threads(threads)
    return took


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


def lecture_of(path: Path) -> str | None:
    """`tests/lectures/adaptive` for a test file of a lecture."""
    return str(Path(*path.parts[:3])) if path.parts[:2] == ("tests", "lectures") and len(path.parts) > 3 else None


def promised(name: str) -> float:
    return NOTEBOOK if name.endswith(".ipynb") else TESTS


def problems(name: str, seconds: float, megabytes: float) -> list[str]:
    """What oversteps, a sentence each."""
    found = []
    if seconds > SLACK * promised(name):
        found.append(
            f"{name} took {seconds:.0f} s; {promised(name):.0f} s is its promise, {SLACK:g} times that the limit"
        )
    if megabytes > MEGABYTES:
        found.append(f"{name} held {megabytes:.0f} MB; the limit is {MEGABYTES:.0f} MB")
    return found


class Budget:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.megabytes: dict[str, float] = defaultdict(float)
        self.kernel_seconds: dict[int, float] = defaultdict(float)
        self.calibrated = -FRESH
        self.scale = 1.0
        self.started = 0.0

    def standard(self, seconds: float) -> float:
        """Processor seconds of this machine, now, in seconds of the reference machine."""
        if time.monotonic() - self.calibrated > FRESH:
            self.scale = REFERENCE / calibrate()
            self.calibrated = time.monotonic()
        return seconds * self.scale

    def pytest_runtest_logstart(self) -> None:
        self.started = time.process_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """In the process that runs: what this step of a cell or a test took goes with its report."""
        report = yield
        name = str(item.path.relative_to(item.config.rootpath))
        seconds = megabytes = 0.0
        if isinstance(item, IPyNbCell):
            kernel = item.parent.kernel
            if kernel and kernel.is_alive():
                pid = kernel.km.provisioner.pid
                total = processor_seconds(pid)
                seconds, megabytes = total - self.kernel_seconds[pid], peak_megabytes(pid)
                self.kernel_seconds[pid] = total
        else:
            name = lecture_of(Path(name)) or ""
            now = time.process_time()
            seconds, self.started = now - self.started, now
        if name:
            report.user_properties.append(("budget", [name, self.standard(seconds), megabytes]))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In the process that prints: gather."""
        for key, value in report.user_properties:
            if key == "budget" and isinstance(value, list | tuple):
                name, seconds, megabytes = value
                self.seconds[name] += seconds
                self.megabytes[name] = max(self.megabytes[name], megabytes)

    def problems(self) -> list[str]:
        return [
            each for name in sorted(self.seconds) for each in problems(name, self.seconds[name], self.megabytes[name])
        ]

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.OK and not hasattr(session.config, "workerinput") and self.problems():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.seconds:
            terminalreporter.section("budget, in seconds of the reference machine")
        for name, seconds in sorted(self.seconds.items()):
            memory = f"   {self.megabytes[name]:6.0f} MB of {MEGABYTES:.0f}" if self.megabytes[name] else ""
            terminalreporter.write_line(f"{name:<44} {seconds:6.1f} s of {promised(name):.0f}{memory}")
        for problem in self.problems():
            terminalreporter.write_line(f"over budget: {problem}", red=True)


def closed_profile(folder: Path, results: Path) -> None:
    """An IPython profile whose kernels refuse the network from their first line on, and keep slow results."""
    startup = folder / "profile_default/startup"
    startup.mkdir(parents=True)
    source = Path(loopback.__file__).read_text(encoding="utf-8")
    refuse = f"(lambda space: (exec({source!r}, space), space['refuse_network']()))({{'__name__': 'loopback'}})\n"
    keep = f"__import__('os').environ['COURSE_RESULTS'] = {str(results)!r}\n"
    (startup / "00-notebooks.py").write_text(refuse + keep, encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Budget(), "budget-measure")
    results = config.rootpath / "build/results"
    if not hasattr(config, "workerinput"):
        shutil.rmtree(results, ignore_errors=True)  # what is measured must be computed
    profile, environment = tempfile.mkdtemp(prefix="ipython-"), pytest.MonkeyPatch()
    closed_profile(Path(profile), results)
    environment.setenv("IPYTHONDIR", profile)
    environment.setenv("OMP_NUM_THREADS", "1")
    config.add_cleanup(environment.undo)
    config.add_cleanup(lambda: shutil.rmtree(profile, ignore_errors=True))
