"""The widgets in JupyterLab, in Chromium, as a learner meets them."""

import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from tools.browser import Screencast, jupyterlab, run_all, write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]
LECTURES = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
SETUP = "from course_lib.widgets import *\nfrom course_lib.ranges import *\nfrom sample import *"


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict) -> dict:
    return browser_context_args | {"device_scale_factor": 2, "viewport": {"width": 1280, "height": 1000}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab")
    for file in [Path(__file__).with_name("sample.py"), *(ROOT / "notebooks" / name for name in LECTURES)]:
        shutil.copy(file, folder)
    return folder


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[str]:
    with jupyterlab(folder) as url:
        yield url


@pytest.fixture
def complaints(page: Page) -> Iterator[list[str]]:
    """Errors in the browser's console; a test that ends with some has failed."""
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield errors
    assert errors == []


def drag(page: Page, handle: Locator, pixels: int, steps: int = 12) -> None:
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, steps + 1):
        page.mouse.move(x + pixels * step / steps, y)
        page.wait_for_timeout(40)
    page.mouse.up()
    page.wait_for_timeout(400)


def ink(png: bytes, box: dict) -> float:
    """The share of pixels in `box` (CSS pixels of a 1280-pixel page) that are not paper."""
    image = Image.open(io.BytesIO(png)).convert("L")
    scale = image.width / 1280
    left, top = int(box["x"] * scale), int(box["y"] * scale)
    right, bottom = int((box["x"] + box["width"]) * scale), int((box["y"] + box["height"]) * scale)
    return float((np.asarray(image.crop((left, top, right, bottom))) < 200).mean())


def test_a_dragged_slider_changes_the_picture_and_nothing_flickers_or_jumps(page, lab, folder, complaints):
    write_notebook(folder / "drag.ipynb", SETUP, "explore(swing)", "'below'")
    run_all(page, lab, "drag.ipynb")
    picture, handle = page.locator("img.widget-image"), page.locator(".noUi-handle").first
    expect(picture).to_be_visible()
    page.get_by_text("'below'").last.wait_for()
    page.wait_for_timeout(500)
    expect(page.get_by_text("swing(damping=0.1, phase=0.0")).to_be_visible()  # shown as called, not as rounded
    before, place = picture.screenshot(), picture.bounding_box()
    below = page.get_by_text("'below'").last.bounding_box()
    with Screencast(page) as film:
        drag(page, handle, 60)
    assert picture.screenshot() != before
    assert picture.bounding_box() == place, "the picture moved or changed its size"
    assert page.get_by_text("'below'").last.bounding_box() == below, "the page jumped"
    assert len(film.frames) >= 5
    blank = [k for k, frame in enumerate(film.frames) if ink(frame, place) < 0.003]
    assert not blank, f"frames {blank} of {len(film.frames)} are blank"
    expect(page.locator("img.widget-image")).to_have_attribute("title", page.locator(".widget-html").first.inner_text())


def test_a_slow_experiment_leaves_the_page_alive_and_can_be_stopped(page, lab, folder, complaints):
    write_notebook(folder / "slow.ipynb", SETUP, "explorer = explore(slow_swing)", "explorer")
    run_all(page, lab, "slow.ipynb")
    damping, delay = page.locator(".noUi-handle").nth(0), page.locator(".noUi-handle").nth(1)
    stop = page.get_by_role("button", name="Stop")
    drag(page, delay, 120)
    expect(stop).to_be_visible()
    stop.click()
    expect(page.get_by_text("Stopped. The picture shows")).to_be_visible()
    expect(stop).to_be_hidden()
    before = page.locator("img.widget-image").get_attribute("src")
    drag(page, delay, -115)
    drag(page, damping, 20)
    expect(page.locator("img.widget-image")).not_to_have_attribute("src", before, timeout=15_000)
    expect(stop).to_be_hidden(timeout=15_000)


def test_an_experiment_that_shows_itself_is_seen_as_it_runs_and_stop_keeps_what_there_is(page, lab, folder, complaints):
    write_notebook(folder / "gradual.ipynb", SETUP, "explorer = explore(gradual_swing)", "explorer")
    run_all(page, lab, "gradual.ipynb")
    picture, stop = page.locator("img.widget-image"), page.get_by_role("button", name="Stop")
    drag(page, page.locator(".noUi-handle").nth(1), 120)
    expect(stop).to_be_visible()
    seen = set()
    for _ in range(10):
        seen.add(picture.get_attribute("src"))
        page.wait_for_timeout(150)
    expect(stop).to_be_visible()
    assert len(seen) >= 3
    stop.click()
    expect(page.get_by_text("The picture shows a run as far as it came")).to_be_visible()
    expect(stop).to_be_hidden()
    kept = picture.get_attribute("src")
    page.wait_for_timeout(500)
    assert picture.get_attribute("src") == kept


def test_a_prediction_is_drawn_committed_and_compared(page, lab, folder, complaints):
    ask = "guess = predict('How does it swing?', Curve('time', 'angle', x=(0, 20), y=(-1, 1)))\nguess"
    tell = "guess.reveal(list(zip(swing().xs, swing().ys)))"
    write_notebook(folder / "predict.ipynb", SETUP, ask, tell, "guess.reveal(guess.measured)")
    run_all(page, lab, "predict.ipynb")
    pad = page.locator("svg[role=img][aria-label^='Draw angle']")
    expect(pad).to_be_visible(timeout=30_000)
    expect(page.get_by_text("Commit your prediction above").first).to_be_visible()
    box = pad.bounding_box()
    page.mouse.move(box["x"] + 80, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 150, steps=10)
    page.mouse.up()
    page.get_by_role("button", name="Commit").click()
    expect(page.get_by_text("You said the curve; measured: the curve").first).to_be_visible()
    assert pad.locator("polyline").nth(1).get_attribute("points")
    assert (folder / ".course_lib" / "predictions.jsonl").exists()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("lecture", LECTURES)
def test_a_lecture_runs_from_top_to_bottom_and_its_first_slider_moves_the_picture(page, lab, lecture, complaints):
    run_all(page, lab, lecture)
    page.wait_for_function(
        "jupyterapp.shell.currentWidget.content.widgets.filter((cell) => cell.model.type === 'code')"
        ".every((cell) => cell.model.executionCount > 0 && cell.model.executionState !== 'running')",
        timeout=300_000,
    )
    errors = page.evaluate(
        "jupyterapp.shell.currentWidget.content.widgets.filter((cell) => cell.model.type === 'code')"
        ".flatMap((cell) => cell.model.outputs.toJSON()).filter((out) => out.output_type === 'error')"
        ".map((out) => out.evalue)"
    )
    assert errors == []
    picture = page.locator("img.widget-image").first
    picture.scroll_into_view_if_needed()
    before = picture.get_attribute("src")
    explorer = page.locator(".jp-OutputArea-output", has=picture)
    drag(page, explorer.locator(".noUi-handle").first, 40)
    expect(picture).not_to_have_attribute("src", before, timeout=15_000)


def test_without_a_front_end_lab_shows_the_still_picture(page, lab, folder, complaints):
    """A reopened notebook whose kernel is gone: the stored picture stands in for the widget."""
    path = write_notebook(folder / "still.ipynb", SETUP, "explore(swing)")
    subprocess.run([sys.executable, "-m", "jupyter", "execute", "--inplace", path], check=True, capture_output=True)
    notebook = nbformat.read(path, as_version=4)
    for output in notebook.cells[1].outputs:
        output.data.pop("application/vnd.jupyter.widget-view+json")
    notebook.metadata.pop("widgets", None)
    nbformat.write(notebook, path)
    page.goto(f"{lab}/doc/tree/still.ipynb?reset")
    still = page.locator(".jp-RenderedImage img")
    expect(still).to_be_visible(timeout=30_000)
    assert still.get_attribute("width") == "700"
