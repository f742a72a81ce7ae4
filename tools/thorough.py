"""Every claim under other arithmetic: `python -m tools.thorough`, or `make thorough`; over half an hour.

    python -m tools.thorough --lecture 04 --setting noise    one lecture, one setting; both may be repeated

Each setting runs both editions of each notebook and the tests marked `thorough` in processes of their own, as another
machine would round them: without vector instructions, with half of them, with two threads, with the last bit of every
initial weight changed. Nothing is recalled from an earlier run. Printed at the end: each claim with a bound, at the
smallest margin that any setting left it, the smallest first. Exit status: 0 all held, 1 some did not, 2 bad arguments.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
ONE = {"OMP_NUM_THREADS": "1"}
SETTINGS = {
    "plain": ONE | {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "OPENBLAS_CORETYPE": "Nehalem"},
    "avx2": ONE | {"ATEN_CPU_CAPABILITY": "avx2"},
    "threads": {"OMP_NUM_THREADS": "2"},
    "noise": ONE | {"COURSE_NOISE": "1"},
}


@dataclass(frozen=True)
class Run:
    """One process of pytest. lecture: the number it is printed under, "" for the tests."""

    setting: str
    lecture: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.setting:<8} {' '.join(self.arguments)}"


@dataclass(frozen=True)
class Outcome:
    run: Run
    held: bool
    seconds: float
    output: str
    claims: list[dict]


def runs(settings: Iterable[str], notebooks: Sequence[Path], tests: Sequence[Path]) -> list[Run]:
    """One for each notebook, and one for the tests, in each setting."""
    nbval = ("--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=300")
    found = []
    for setting in settings:
        found += [Run(setting, path.name[:2], (*nbval, str(path))) for path in notebooks]
        found += [Run(setting, "", ("-m", "thorough", "--timeout=900", *map(str, tests)))] if tests else []
    return found


def carry_out(run: Run) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        startup = Path(folder, "profile_default/startup")
        startup.mkdir(parents=True)
        (startup / "00-noise.py").write_text("import tools.noise\n")
        claims = Path(folder, "claims")
        kept = {name: value for name, value in os.environ.items() if name != "COURSE_RESULTS"}
        environment = kept | {
            "PYTHONPATH": str(ROOT),
            "IPYTHONDIR": folder,
            "COURSE_CLAIMS": str(claims),
            "COURSE_LECTURE": run.lecture,
            **SETTINGS[run.setting],
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.noise", "-p", "no:cacheprovider", *run.arguments]
        start = time.monotonic()
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        lines = claims.read_text(encoding="utf-8").splitlines() if claims.exists() else []
    empty = run.lecture == "" and done.returncode == 5  # no test of these is marked thorough
    return Outcome(
        run,
        done.returncode == 0 or empty,
        time.monotonic() - start,
        done.stdout + done.stderr,
        [json.loads(line) | {"setting": run.setting} for line in lines],
    )


def smallest_margins(claims: Iterable[dict]) -> list[dict]:
    """Each sentence with a bound once, where its margin was smallest; the smallest margin first."""
    smallest: dict[tuple[str, str], dict] = {}
    for claim in claims:
        if claim["margin"] == "inf":
            continue
        key = claim["lecture"], claim["sentence"]
        if key not in smallest or claim["margin"] < smallest[key]["margin"]:
            smallest[key] = claim
    return sorted(smallest.values(), key=lambda each: each["margin"])


def report(outcomes: Iterable[Outcome]) -> int:
    """Print how each run ended as it ends, then the margins. 0 where all held, otherwise 1."""
    claims, held = [], True
    for outcome in outcomes:
        print(f"{'held' if outcome.held else 'FAILED':<7}{outcome.seconds:6.0f} s  {outcome.run}", flush=True)
        if not outcome.held:
            print(outcome.output)
        held &= outcome.held
        claims += outcome.claims
    print("\nmargin  the claim, where its margin was smallest")
    for each in smallest_margins(claims):
        print(
            f"{each['margin']:6.3f}  {each['lecture']} {each['sentence']}: "
            f"{each['value']:.4g} {each['bound']} ({each['setting']})"
        )
    return 0 if held else 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.thorough", description=__doc__.splitlines()[0])
    parser.add_argument("--lecture", action="append", metavar="NN", help="a lecture's number; all where none is named")
    parser.add_argument("--setting", action="append", choices=SETTINGS, help="all where none is named")
    options = parser.parse_args(arguments)
    learner = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    chosen = [path for path in learner if not options.lecture or path.name[:2] in options.lecture]
    if not chosen:
        parser.error(f"--lecture must be one of {', '.join(path.name[:2] for path in learner)}")
    if subprocess.run([sys.executable, "-m", "tools.notebooks", "--check"], cwd=ROOT, check=False).returncode:
        return 1
    notebooks = [edition for path in chosen for edition in (path, ROOT / "build/solved" / path.name)]
    topics = [ROOT / "tests/lectures" / path.stem[3:] for path in chosen] if options.lecture else [ROOT / "tests"]
    with ThreadPoolExecutor(2) as pool:
        return report(pool.map(carry_out, runs(options.setting or SETTINGS, notebooks, topics)))


if __name__ == "__main__":
    sys.exit(main())
