"""The course's look. What a user has set for matplotlib has no part in it, and is as before afterwards."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

INCH = 100  # CSS pixels
SCALE = 2  # device pixels in a CSS pixel: sharp on the screens of today's laptops

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
    """Draw inside this context to get the course's look, over matplotlib's defaults."""
    from matplotlib import style as sheets

    with sheets.context(["default", SETTINGS]):
        yield


def still(draw: "Callable[[Figure], object]", size: tuple[float, float]) -> bytes:
    """The PNG of what `draw` puts on an empty figure of this size, in inches."""
    from matplotlib.figure import Figure

    page = BytesIO()
    with style():
        figure = Figure(size, dpi=INCH * SCALE, layout="constrained")
        draw(figure)
        figure.savefig(page, format="png")
    return page.getvalue()


def lines(ax: "Axes", names: Iterable[str], *, theory: Collection[str] = (), **looks: Any) -> "dict[str, Line2D]":
    """An empty line for each name, told apart by color and dashes; those in `theory` are thin, dotted and on top."""
    measured, made = iter(LINES), {}
    for name in names:
        thin = {"color": INK, "ls": ":", "lw": 1.2, "zorder": 3}
        look = thin if name in theory else dict(zip(("color", "ls"), next(measured), strict=True))
        made[name] = ax.plot([], [], label=name, **(look | looks))[0]
    return made


def legend_above(figure: "Figure", handles: "Iterable[Artist]") -> None:
    """One legend for the whole figure, above it, where it covers no curve."""
    handles = list(handles)
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 5), handlelength=3)
