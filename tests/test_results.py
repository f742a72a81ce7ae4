"""Results show themselves: a drawing that can be drawn again, a sentence, a picture that no user's settings change."""

import base64
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from course_lib.results import Curves, Field


@dataclass(frozen=True)
class Waves(Curves):
    ylabel = "height"
    limits = ((0, 6), (-2, 2))
    theory = ("sine",)

    def summary(self):
        return "two waves"


@dataclass(frozen=True)
class Hill(Field):
    xlabel, ylabel, bar = "east", "north", "height"

    def summary(self):
        return "a hill"


X = np.linspace(0, 6, 20)
WAVES = Waves(X, {"measured": np.sin(X) + 0.1, "sine": np.sin(X)})
HILL = Hill(X, X[:5], np.outer(np.linspace(0, 1, 5), np.cos(X) ** 2))
OTHERS = {
    "waves": (WAVES, Waves(X, {"measured": np.cos(X), "sine": np.sin(X)})),
    "hill": (HILL, Hill(X, X[:5], 0 * HILL.values)),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_it_is_drawn_once_and_redrawn(kind):
    first, second = OTHERS[kind]
    figure = Figure()
    redraw = first.draw(figure)
    axes = list(figure.axes)
    moving = redraw(second)
    assert moving == redraw(first)
    assert figure.axes == axes
    assert axes[0].get_xlabel()
    assert axes[0].get_ylabel()
    assert np.isfinite([*axes[0].get_xlim(), *axes[0].get_ylim()]).all()


def test_curves_keep_their_names_and_limits():
    figure = Figure()
    WAVES.draw(figure)
    (ax,) = figure.axes
    assert [line.get_label() for line in ax.lines] == ["measured", "sine"]
    assert ax.get_ylim() == (-2, 2)
    assert ax.lines[1].get_linestyle() == ":"


@pytest.mark.parametrize("result", [WAVES, HILL])
def test_it_shows_itself_and_its_sentence(result):
    bundle, shown = result._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"] == shown["image/png"]["alt"] == result.summary()
    assert (shown["image/png"]["width"], shown["image/png"]["height"]) == (700, 340)


def test_a_user_s_settings_have_no_part_in_a_picture_and_stay():
    plain = WAVES._repr_mimebundle_()[0]["image/png"]
    with mpl.rc_context({"lines.linewidth": 9, "axes.facecolor": "black", "font.size": 20}):
        before = dict(mpl.rcParams)
        assert WAVES._repr_mimebundle_()[0]["image/png"] == plain
        assert dict(mpl.rcParams) == before
