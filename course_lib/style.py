"""The course's look: applied while a figure is drawn, never left behind in the global settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl

# Okabe & Ito (2008), "Color Universal Design": distinguishable with every common color vision deficiency.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
)
INK, GREY, PALE = "#222222", "#7F7F7F", "#DDDDDD"

LINES = ((BLUE, "-"), (RED, "--"), (GREEN, "-."), (PURPLE, ":"), (ORANGE, (0, (5, 1))), (SKY, (0, (3, 1, 1, 1))))
"""(color, line style) pairs: a curve is told from its neighbor without color too."""

SETTINGS: dict[Any, Any] = {
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "font.size": 9,
    "grid.alpha": 0.6,
    "grid.color": PALE,
    "legend.fontsize": 8,
    "legend.framealpha": 0.85,
    "legend.edgecolor": PALE,
    "lines.linewidth": 1.8,
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 8,
    "ytick.color": INK,
    "ytick.labelsize": 8,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this context to get the course's look; every setting is as before when it ends."""
    with mpl.rc_context(SETTINGS):
        yield
