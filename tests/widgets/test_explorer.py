"""The explorer without a browser: what its controls, picture, memory and worker do."""

import asyncio
import base64
import gc
import io
import math
import time

import matplotlib as mpl
import numpy as np
import pytest
from ipywidgets import DOMWidget
from ipywidgets.widgets.widget import _instances
from matplotlib.figure import Figure
from PIL import Image

from course_lib.widgets import explore
from course_lib.widgets.canvas import Canvas, png
from course_lib.widgets.runner import SHOW_EVERY
from course_lib.widgets.sliders import geometric
from tests.widgets.sample import Swing, gradual_swing, slow_swing, swing


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def test_png_is_lossless():
    noise = np.random.default_rng(0).integers(0, 256, (17, 23, 4), dtype=np.uint8)
    assert (np.asarray(Image.open(io.BytesIO(png(noise)))) == noise).all()


def test_a_redrawn_picture_equals_a_fresh_one():
    canvas = Canvas(Swing.draw)
    for damping in (0.1, 0.7, 0.02):
        again, fresh = canvas.render(swing(damping)), Canvas(Swing.draw).render(swing(damping))
        assert (pixels(again) == pixels(fresh)).all()


def test_a_plot_that_returns_none_is_drawn_whole():
    def draw(result, figure):
        inner = result.draw(figure)
        ax = figure.axes[0]
        ax.tick_params(labelleft=False)  # the layout must not depend on which result came first

        def redraw(result):
            inner(result)
            ax.set_ylim(-2 * result.damping, 2 * result.damping)

        redraw(result)
        return redraw

    canvas = Canvas(draw)
    canvas.render(swing(0.1))
    assert (pixels(canvas.render(swing(0.8))) == pixels(Canvas(draw).render(swing(0.8)))).all()


def test_a_curve_never_runs_through_the_legend():
    canvas = Canvas(Swing.draw)
    box = None
    for phase in (0.0, 3.0):
        image = pixels(canvas.render(swing(0.01, phase)))
        extent = canvas.figure.axes[0].get_legend().get_window_extent()
        rows, columns = slice(-int(extent.y1), -int(extent.y0)), slice(int(extent.x0), int(extent.x1))
        assert box is None or (image[rows, columns] == box).all()
        box = image[rows, columns]


def test_drawing_leaves_the_global_settings_alone():
    before = dict(mpl.rcParams)
    Canvas(Swing.draw).render(swing())
    assert dict(mpl.rcParams) == before


def test_controls_follow_the_signature():
    explorer = explore(swing, phase=1.0)
    assert list(explorer.controls) == ["damping", "points", "shape", "flip"]
    assert (
        explorer.call.value.count("swing(phase=1.0, damping=0.1, points=200, shape=&#x27;cosine&#x27;, flip=False)")
        == 1
    )


def test_moving_a_control_shows_a_new_result():
    explorer = explore(swing)
    before = explorer.picture.value
    explorer.controls["damping"].value = 0.5
    assert explorer.result.damping == 0.5
    assert explorer.picture.value != before
    assert "damping 0.5" in explorer.reading.value


def test_the_call_shown_is_the_call_that_ran():
    explorer = explore(swing)
    explorer.controls["damping"].value = 0.123456
    assert explorer.result.damping == 0.123
    assert "damping=0.123," in explorer.call.value


def test_a_value_that_the_front_end_rounds_to_a_position_is_no_movement():
    explorer = explore(swing)
    for damping in (0.1, 0.1234):
        explorer.set(damping=damping)
        slider = explorer.controls["damping"]
        position = round(math.log10(damping / 0.01) / slider.step) * slider.step
        slider.value = 0.01 * 10**position
        assert explorer.result.damping == damping
        slider.value = 0.01 * 10 ** (position + slider.step)
        assert explorer.result.damping != damping
    assert math.log10(0.1 / 0.01) / slider.step == pytest.approx(100)


def test_set_keeps_values_exact_and_refuses_bad_ones():
    explorer = explore(swing)
    explorer.set(damping=0.123456, shape="sine")
    assert explorer.result.damping == 0.123456
    assert explorer.controls["shape"].value == "sine"
    with pytest.raises(ValueError, match=r"damping must be a number from 0.01 to 1, got 7"):
        explorer.set(damping=7)
    with pytest.raises(TypeError, match="no control for 'dampling'; there are damping"):
        explorer.set(dampling=0.5)
    assert explorer.result.damping == 0.123456


def test_fixed_must_name_a_parameter():
    with pytest.raises(TypeError, match="swing takes no 'speed'"):
        explore(swing, speed=3)


def test_an_experiment_that_does_not_say_what_it_returns_is_refused():
    def silent(damping=0.1):
        return swing(damping)

    with pytest.raises(TypeError, match="silent must be annotated with the Result that it returns"):
        explore(silent)


def test_an_error_is_one_sentence_in_place_and_the_picture_stays():
    explorer = explore(slow_swing, delay=0.0)
    before = explorer.picture.value

    async def move():
        explorer.controls["damping"].value = 1.0
        await explorer.runner.settled()

    asyncio.run(move())
    assert "<b>the swing broke</b>" in explorer.reading.value
    assert explorer.picture.value == before


def test_of_many_slow_settings_the_latest_wins():
    explorer = explore(slow_swing, delay=0.3)

    async def drag():
        for damping in (0.2, 0.3, 0.4):
            explorer.controls["damping"].value = damping
            await asyncio.sleep(0.02)
        assert explorer.stop.layout.visibility == "visible"
        await explorer.runner.settled()

    asyncio.run(drag())
    assert explorer.result.damping == 0.4
    assert [dict(key)["damping"] for key in explorer.runner.results] == [0.1, 0.4]
    assert explorer.stop.layout.visibility == "hidden"


def test_stop_ends_a_slow_run_and_says_so():
    explorer = explore(slow_swing, delay=0.5)

    async def stop():
        explorer.controls["damping"].value = 0.9
        await asyncio.sleep(0.25)
        assert 0 < explorer.bar.value < 1
        explorer.stop.click()
        await explorer.runner.settled()

    asyncio.run(stop())
    assert explorer.result.damping == 0.1
    assert "the last finished run" in explorer.reading.value


def test_a_run_that_shows_itself_is_drawn_as_it_comes_and_ends_whole():
    explorer = explore(gradual_swing, delay=1.0)
    lengths, pictures, began = [], set(), time.monotonic()

    async def watch():
        explorer.controls["damping"].value = 0.9
        while not explorer.runner._worker.done():
            await asyncio.sleep(0.02)
            if explorer.result.damping == 0.9:
                lengths.append(len(explorer.result.xs))
                pictures.add(explorer.picture.value)

    asyncio.run(watch())
    assert 0 < lengths[0] < 200 == lengths[-1]
    assert lengths == sorted(lengths)
    assert 3 <= len(pictures) <= (time.monotonic() - began) / SHOW_EVERY + 2
    assert [len(result.xs) for result in explorer.runner.results.values()] == [200, 200]


def test_stop_leaves_what_is_known():
    explorer = explore(gradual_swing, delay=2.0)

    async def stop():
        explorer.controls["damping"].value = 0.9
        await asyncio.sleep(0.8)
        explorer.stop.click()
        await explorer.runner.settled()

    asyncio.run(stop())
    assert explorer.result.damping == 0.9
    assert 0 < len(explorer.result.xs) < 200
    assert "a run as far as it came" in explorer.reading.value
    assert explorer.call.value.count("damping=0.9") == 1  # the picture's own call

    async def stop_again_at_once():
        explorer.controls["damping"].value = 0.5
        explorer.stop.click()
        await explorer.runner.settled()

    asyncio.run(stop_again_at_once())
    assert explorer.result.damping == 0.9
    assert "a run as far as it came" in explorer.reading.value
    assert len(explorer.runner.results) == 1  # a part is not remembered as the whole
    explorer.set(damping=0.9)
    assert len(explorer.result.xs) == 200


def test_without_a_front_end_there_is_a_picture_and_a_sentence():
    explorer = explore(swing)
    data, metadata = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"] == explorer.result.summary() == metadata["image/png"]["alt"]
    assert pixels(base64.b64decode(data["image/png"])).shape == (680, 1400, 3)


def figures() -> int:
    gc.collect()
    return sum(type(thing) is Figure for thing in gc.get_objects())


def test_a_closed_explorer_keeps_no_figure_no_result_and_no_control():
    before, registered = figures(), set(_instances)
    explorer = explore(slow_swing, delay=0.0)
    explorer.close()
    assert figures() == before
    assert not explorer.runner.results
    assert not [w for key, w in _instances.items() if key not in registered and isinstance(w, DOMWidget)]
    explorer.set(damping=0.5)
    assert explorer.result.damping == 0.5


def test_running_a_cell_again_closes_what_it_made_before(monkeypatch):
    place = ("cell", 1)
    monkeypatch.setattr("course_lib.widgets.explorer.running_cell", lambda: place)
    first = [explore(swing), explore(swing)]
    assert all(explorer.comm for explorer in first)
    place = ("another", 2)
    elsewhere = explore(swing)
    place = ("cell", 3)
    again = explore(swing)
    assert [explorer.comm for explorer in first] == [None, None]
    assert elsewhere.comm
    assert again.comm


def test_geometric_covers_the_range_without_repeats():
    assert geometric(1, 1024)[0] == 1
    assert geometric(1, 1024)[-1] == 1024
    assert geometric(1, 8) == [1, 2, 3, 4, 5, 6, 8]
