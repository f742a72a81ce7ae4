# ruff: noqa: T201
"""What the first edition said, asked of today's code: `python -m tests.frozen.replay adaptive` prints what differs."""

import gzip
import importlib
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import course_lib.lectures
from course_lib.grading import optimizers

HERE = Path(__file__).parent
LABS = {
    t.name: importlib.import_module(f"course_lib.lectures.{t.name}")
    for t in pkgutil.iter_modules(course_lib.lectures.__path__)
}
WORDS = {"optim.shrink": "optim.decoupled_decay", "optim.descend": "optim.apply_steps"}  # in the submissions' sources
EXPERIMENTS = {
    "adaptive_cycle.rounds": "adaptive.adam_counterexample",
    "adaptive_cycle.verdicts": "adaptive.counterexample_map",
    "adaptive_rare.rare": "adaptive.rare_features",
    "gradient_descent.walk": "gradient_descent.trajectory",
}
MISTAKES = {  # (check, name then) -> name now
    ("check_adagrad_step", "no root"): "missing root",
    ("check_adagrad_step", "uphill"): "sign of the update",
}
SWEEPS = {
    "newcomers",
    "generalizes",
    "no_tuning",
    "generalization",
    "decay_worth",
    "worth",
    "unit_cost",
    "warmup_worth",
    "patience_sweep",
    "finder_trial",
    "horizons",
}  # calls of tune in the notebooks now


def table(name: str) -> Any:
    packed = HERE / f"{name}.json.gz"
    return json.loads(gzip.decompress(packed.read_bytes()) if packed.exists() else (HERE / f"{name}.json").read_bytes())


def home(name: str) -> tuple[str, Any]:
    """The lecture that has `name`, and what it is there; ("", None) where no lecture has it."""
    old_module = name.partition(".")[0]
    place, short = EXPERIMENTS.get(name, name).rsplit(".", 1) if "." in name else ("", name)
    first = [t for t in LABS if t == place or place.startswith(t) or old_module.startswith(t)]
    for topic in [*first, *LABS]:
        if hasattr(LABS[topic], short):
            return topic, getattr(LABS[topic], short)
    return "", getattr(optimizers, name, None)


def verdict_of(entry: dict) -> tuple[str, str]:
    source, names = entry["source"], {"__name__": "frozen"}
    for old, new in WORDS.items():
        source = source.replace(old, new)
    exec(source, names)
    verdict = home(entry["check"])[1](names["mine"])
    return verdict.status, verdict.mistake


def names() -> Iterator[tuple[str, str]]:
    """(check, name) of each mistake that is no longer listed; a pair counts where both of its parts are."""
    for check, mistakes in table("names").items():
        exercise = home({"check_sgd": "check_sgd_momentum"}.get(check, check))[1]
        known = {mistake.name for mistake in exercise.mistakes}
        for name in mistakes:
            parts = {MISTAKES.get((check, part), part) for part in name.split("; ")}
            if name not in known and not parts <= known:
                yield check, name


def verdicts(lectures: list[str]) -> Iterator[tuple[str, dict, tuple[str, str]]]:
    """(kind of difference, entry, what is said now) of every submission that is judged otherwise."""
    for entry in table("verdicts"):
        topic, check = home(entry["check"])
        if check is None:
            yield "no such check", entry, ("", "")
        elif not lectures or topic in lectures:
            try:
                status, mistake = verdict_of(entry)
            except Exception as error:
                yield "error", entry, (type(error).__name__, str(error))
                continue
            then = {MISTAKES.get((entry["check"], m), m) for m in entry["mistake"].split("; ")} - {""}
            now = set(mistake.split("; ")) - {""}
            if status != entry["status"]:
                yield f"{entry['status']} then, {status} now", entry, (status, mistake)
            elif then - now:
                yield "lost" if not now else "named otherwise", entry, (status, mistake)
            elif now - then:
                invented = entry.get("made") and not now <= set(entry["made"])
                yield "named wrongly" if invented else "gained", entry, (status, mistake)


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", text.replace(",", ""))]


def sentences(lectures: list[str], tolerance: float = 0.02) -> Iterator[tuple[str, str, str]]:
    """(name, sentence then, sentence now) where the experiment is gone or a number moved by more than `tolerance`."""
    for name, row in table("sentences").items():
        topic, experiment = home(name)
        if experiment is None:
            if not lectures and name.rpartition(".")[2] not in SWEEPS:
                yield name, row["summary"], "gone"
            continue
        if lectures and topic not in lectures:
            continue
        now = experiment().summary()
        a, b = numbers(row["summary"]), numbers(now)
        if len(a) != len(b) or any(abs(x - y) > tolerance * max(abs(x), abs(y)) for x, y in zip(a, b, strict=True)):
            yield name, row["summary"], now


def main(lectures: list[str]) -> None:
    for check, name in names():
        print(f"{check}: {name!r} is no longer listed")
    for kind, entry, now in verdicts(lectures):
        print(f"{entry['check']}: {kind}: {entry.get('made', '')} {entry['mistake']!r} -> {now}")
    for name, then, now in sentences(lectures):
        print(f"{name}:\n  then {then}\n  now  {now}")


if __name__ == "__main__":
    main(sys.argv[1:])
