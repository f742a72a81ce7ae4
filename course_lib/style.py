"""The course's look. What a user has set for matplotlib has no part in it, and is as before afterwards."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, PathPatch
    from matplotlib.path import Path

    from course_lib.surfaces import Surface

INCH = 100  # CSS pixels
POINTS = 72  # in an inch
MIDDLE = 0.36  # of a digit's height above the line, in units of the font's size
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


def level_curves(ax: "Axes", surface: "Surface", colors: str = "Greys_r") -> "QuadContourSet":
    """The surface by levels of height above its minimum, over the window that is worth drawing; darker is lower."""
    x0, x1, y0, y1 = surface.window
    x, y = np.meshgrid(np.linspace(x0, x1, 160), np.linspace(y0, y1, 160))
    height = surface.at(x, y) - surface.at(*surface.minimum)
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    return ax.contourf(x, y, np.log10(height + 1e-2), levels=18, cmap=colors, zorder=0)


def rate_colors() -> "Colormap":
    """Colors of a rate of convergence from 0 to 1, with one of its own above 1, where runs diverge."""
    from matplotlib import colormaps

    return colormaps["cividis"].with_extremes(over="#F2B8A0")


def log_colors(low: float, high: float) -> "Normalize":
    """Colors by the logarithm of values from low to high."""
    from matplotlib.colors import LogNorm

    return LogNorm(low, high)


def box(corner: tuple[float, float], width: float, height: float, **looks: Any) -> "Patch":
    """A rounded box, corner at the lower left, in data units."""
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch(corner, width, height, boxstyle="round,pad=0,rounding_size=0.06", **looks)


def writing(color: str) -> "PathPatch":
    """What `numerals` are set on: writing(INK).set_path(numerals(...))."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    return PathPatch(Path(np.zeros((1, 2))), fc=color, lw=0)


def numerals(texts: Sequence[str], places: np.ndarray, size: float, inch: np.ndarray) -> "Path":
    """The outline of each text centered on its place (n, 2), as one path: far faster than a Text each.

    size: points; inch: (2,) in data units.
    """
    from matplotlib.path import Path

    vertices, codes = [np.empty((0, 2))], [np.empty(0, dtype=np.uint8)]
    for text, place in zip(texts, places, strict=True):
        glyphs = [_glyph(character) for character in text]
        x = -sum(width for *_, width in glyphs) / 2
        for outline, code, width in glyphs:
            vertices.append((outline + np.array([x, -MIDDLE])) * (size / POINTS) * inch + place)
            codes.append(code)
            x += width
    return Path(np.concatenate(vertices), np.concatenate(codes))


@lru_cache
def _glyph(character: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Vertices (n, 2), path codes (n,) and width of a character of size 1, on a line at 0."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath, text_to_path

    font = FontProperties(family="DejaVu Sans", size=1)
    path = TextPath((0, 0), character, prop=font)
    width, *_ = text_to_path.get_text_width_height_descent(character, font, ismath=False)
    return np.asarray(path.vertices), np.asarray(path.codes), width
