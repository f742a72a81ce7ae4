"""What importing the package costs, in fresh processes that take turns."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from statistics import median

from benchmarks import Line

REPEATS = 9
TIMED = "import time; {before}; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"


def milliseconds(before: str, statement: str) -> float:
    """The time that `statement` takes in a new process, after `before`."""
    program = TIMED.format(before=before, statement=statement)
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return 1000 * float(answer.stdout)


def added(before: str, statement: str) -> float:
    """Median of what `statement` takes beyond a bare `pass`."""
    pairs: Iterator[tuple[float, float]] = (
        (milliseconds(before, statement), milliseconds(before, "pass")) for _ in range(REPEATS)
    )
    return median(with_it - without for with_it, without in pairs)


def lines() -> Iterable[Line]:
    yield Line("import course_lib, added to bare python", added("pass", "import course_lib"), 50, "ms")
    yield Line(
        "from course_lib import optim, torch imported", added("import torch", "from course_lib import optim"), 50, "ms"
    )
