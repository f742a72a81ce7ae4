"""Many short numbers drawn as one filled shape: several times faster than one Text each, for pictures that live."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath, text_to_path

POINTS = 72  # in an inch
MIDDLE = 0.36  # of a digit's height above the line, in units of the font's size


@lru_cache
def glyph(character: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Vertices (n, 2), path codes (n,) and width of a character of size 1, on a line at 0."""
    font = FontProperties(family="DejaVu Sans", size=1)
    path = TextPath((0, 0), character, prop=font)
    return path.vertices, path.codes, text_to_path.get_text_width_height_descent(character, font, ismath=False)[0]


def numerals(texts: Sequence[str], places: np.ndarray, size: float, inch: np.ndarray) -> Path:
    """The outline of each text centered on its place (n, 2), as one path. size: points; inch: (2,) in data units."""
    vertices, codes = [np.empty((0, 2))], [np.empty(0, dtype=np.uint8)]
    for text, place in zip(texts, places, strict=True):
        glyphs = [glyph(character) for character in text]
        x = -sum(width for *_, width in glyphs) / 2
        for outline, code, width in glyphs:
            vertices.append((outline + np.array([x, -MIDDLE])) * (size / POINTS) * inch + place)
            codes.append(code)
            x += width
    return Path(np.concatenate(vertices), np.concatenate(codes))
