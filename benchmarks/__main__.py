"""Run the benchmarks and print a line for each budget: name, measured, budget, `ok` or `short`.

    python -m benchmarks                 all of them
    python -m benchmarks imports fit     those named

Exit status: 0 where every budget measured is met, 1 where one is short or a benchmark failed, 2 for an unknown name. A
benchmark that cannot run on this machine says why and counts as neither.
"""

import importlib
import sys
from pathlib import Path

from benchmarks import CannotRun


def names() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def run(name: str) -> bool:
    """Print the lines of one benchmark as they come; whether all were ok."""
    fine = True
    try:
        for line in importlib.import_module(f"benchmarks.bench_{name}").lines():
            print(line, flush=True)
            fine &= line.ok
    except CannotRun as reason:
        print(f"{name}: cannot run here: {reason}", flush=True)
    except Exception as error:
        print(f"{name}: failed: {type(error).__name__}: {error}", flush=True)
        fine = False
    return fine


def main(wanted: list[str]) -> int:
    unknown = sorted(set(wanted) - set(names()))
    if unknown:
        print(f"no benchmark called {', '.join(unknown)}; there are {', '.join(names())}", file=sys.stderr)
        return 2
    met = [run(name) for name in wanted or names()]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
