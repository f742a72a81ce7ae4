"""What the lectures written before a rule may still break: counts that only shrink."""

import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tools.rules.lecture import Finding

FILE = Path(__file__).with_name("exceptions.toml")
HEAD = "# How often a lecture older than a rule may break it. `python -m tools.lint --shrink` lowers the numbers.\n"

Allowed = dict[str, dict[str, int]]


def read() -> Allowed:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def excuse(lecture: str, findings: Iterable[Finding], allowed: Allowed) -> list[Finding]:
    """The findings without those of rules that this lecture may break that often, and a finding for each exception that
    is no longer needed, or larger than needed.
    """
    findings = list(findings)
    count, may = counts(findings), allowed.get(lecture, {})
    kept = [each for each in findings if each.note or count[each.rule] > may.get(each.rule, 0)]
    for rule, most in may.items():
        if count[rule] < most:
            message = f"{most} exceptions for {rule}, {count[rule]} needed; run: python -m tools.lint --shrink"
            kept.append(Finding("exceptions", lecture, message, note=count[rule] > 0))
    return kept


def counts(findings: Iterable[Finding]) -> Counter[str]:
    return Counter(each.rule for each in findings if not each.note)


def shrink(found: dict[str, Counter[str]], allowed: Allowed) -> None:
    """Write the exceptions again, none larger than what was found."""
    parts = [HEAD]
    for lecture, may in allowed.items():
        left = {rule: min(most, found[lecture][rule]) if lecture in found else most for rule, most in may.items()}
        lines = [f"{rule} = {most}\n" for rule, most in sorted(left.items()) if most]
        parts += [f"\n[{lecture}]\n", *lines] if lines else []
    FILE.write_text("".join(parts), encoding="utf-8")
