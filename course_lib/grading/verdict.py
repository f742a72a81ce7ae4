"""The answer to an attempt, in words and as it is shown in a notebook."""

import html
from dataclasses import dataclass
from typing import Literal

Status = Literal["passed", "passed under another convention", "not attempted", "wrong"]
COLORS: dict[Status, str] = {"not attempted": "#7F7F7F", "wrong": "#D55E00"}


@dataclass(frozen=True, repr=False)
class Verdict:
    """The answer to an attempt: `evidence` is what was seen, `mistake` the name of the mistake that does the same."""

    status: Status
    exercise: str
    message: str
    evidence: str = ""
    mistake: str = ""

    @property
    def passed(self) -> bool:
        return self.status.startswith("passed")

    def __str__(self) -> str:
        return "\n".join(line for line in (f"{self.exercise}: {self.status}. {self.message}", self.evidence) if line)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        color = COLORS.get(self.status, "#009E73")
        evidence = f"<pre style='margin:.4em 0 0'>{html.escape(self.evidence)}</pre>" if self.evidence else ""
        return (
            f"<div style='border-left:4px solid {color};padding:.3em .8em'><b>{html.escape(self.exercise)}: "
            f"{self.status}.</b> {html.escape(self.message)}{evidence}</div>"
        )
