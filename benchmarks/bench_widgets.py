"""From a moved slider to the changed picture, in JupyterLab, in Chromium, at double resolution: every live explorable.

The page itself takes the times: from the key pressed on a slider's handle to the new picture decoded, so experiment,
drawing, encoding and transport both ways are inside.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import CannotRun, Line
from tests.lectures.test_explorables import LIVE
from tools.browser import ARGUMENTS, chromium, jupyterlab, run_all, write_notebook

MOVES = 60
TIMES = """async ([row, count]) => {
    const image = document.querySelectorAll('img.widget-image')[row];
    const explorer = image.closest('.jp-OutputArea-output');
    const handle = [...explorer.querySelectorAll('.noUi-handle')].find((h) => h.offsetParent);
    if (!handle) return [];
    image.scrollIntoView({ block: 'center' });
    handle.focus();
    const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
    const times = [];
    for (let k = 0; k < count; k++) {
        const [low, high, now] = ['min', 'max', 'now'].map((name) => Number(handle.getAttribute('aria-value' + name)));
        const key = now > (low + high) / 2 + (k % 7) ? 'ArrowLeft' : 'ArrowRight';
        const start = performance.now();
        const seen = new Promise((done) => {
            const watch = new MutationObserver(() => {
                watch.disconnect();
                image.decode().catch(() => {}).then(() => done(performance.now() - start));
            });
            watch.observe(image, { attributes: true, attributeFilter: ['src'] });
        });
        handle.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        times.push(await Promise.race([seen, sleep(1000)]));
        await sleep(40 + 20 * Math.random());
    }
    return times.filter((time) => time !== undefined);
}"""


def latencies() -> Iterator[tuple[str, list[float]]]:
    """Each live explorable with its times in ms; a move that left the picture as it was has none."""
    from playwright.sync_api import sync_playwright

    cells = ["from course_lib.widgets import explore\nfrom tests.lectures.test_explorables import PAIRS"]
    cells += [f"explore(PAIRS[{name!r}][0])" for name in LIVE]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        write_notebook(Path(folder) / "bench.ipynb", *cells)
        with jupyterlab(Path(folder), python_path=Path(__file__).parents[1]) as url:
            browser = driver.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
            page = browser.new_page(device_scale_factor=2, viewport={"width": 1280, "height": 1000})
            run_all(page, url, "bench.ipynb")
            page.wait_for_function(
                f"document.querySelectorAll('img.widget-image').length == {len(LIVE)}", timeout=120_000
            )
            for row, name in enumerate(LIVE):
                page.evaluate(TIMES, [row, 10])
                yield name, page.evaluate(TIMES, [row, MOVES])
            browser.close()


def lines() -> Iterator[Line]:
    if not chromium():
        raise CannotRun("no Chromium here: install it, or set CHROMIUM to its path")
    for name, times in latencies():
        if not times:
            continue  # menus only: nothing to drag
        ordered = sorted(times)
        yield Line(f"slider to picture, {name}, median of {len(times)}", statistics.median(ordered), 40, "ms")
        yield Line(f"slider to picture, {name}, p95", ordered[int(0.95 * (len(ordered) - 1))], 60, "ms")
