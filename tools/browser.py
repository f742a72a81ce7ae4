"""JupyterLab in a real browser: what the browser tests and the latency benchmark drive."""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},  # keep the cells that are off the screen in the page
    "apputils-extension/notification": {"fetchNews": "false"},  # no dialog about news over the page
}
KERNEL_READY = """async () => {
    const context = jupyterapp.shell.currentWidget.sessionContext;
    await context.ready;
    await context.session.kernel.info;
}"""


def chromium() -> str | None:
    """The path of the browser: `CHROMIUM` where it is set, else what the system has."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def write_notebook(path: Path, *cells: str) -> Path:
    """A notebook of code cells, for a test. Without a kernel's name JupyterLab would open a dialog and wait."""
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in cells], metadata=metadata), path)
    return path


@contextmanager
def jupyterlab(folder: Path, python_path: Path | None = None) -> Iterator[str]:
    """A JupyterLab server on `folder`, with settings of its own; yields its address. Kernels see `python_path`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for plugin, setting in SETTINGS.items():
        path = folder / ".LAB_SETTINGS" / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(setting))
    homes = {f"JUPYTER{name}_DIR": str(folder / f".{name}") for name in ("_CONFIG", "LAB_SETTINGS", "LAB_WORKSPACES")}
    options = [f"--port={port}", "--ip=127.0.0.1", "--no-browser", "--allow-root", "--expose-app-in-browser"]
    options += ["--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        env=os.environ | homes | {"COURSE_LIB_HOME": str(folder / ".course_lib"), "PYTHONPATH": str(python_path or "")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{url}/api", server)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:  # its kernels end with it
            server.kill()
            server.wait()


def wait_for(address: str, server: subprocess.Popen, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab ended at once, with exit status {server.returncode}")
        try:
            urllib.request.urlopen(address).close()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(f"JupyterLab did not answer within {seconds:.0f} s")


def run_all(page: Any, url: str, notebook: str) -> None:
    """Open `notebook` alone, wait for its kernel, and run every cell."""
    page.goto(f"{url}/doc/tree/{notebook}?reset")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    page.wait_for_function("window.jupyterapp && jupyterapp.shell.currentWidget?.sessionContext")
    page.evaluate(KERNEL_READY)
    page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")


class Screencast:
    """The frames that Chromium really painted while the context was open, as PNG bytes."""

    def __init__(self, page: Any):
        self.frames: list[bytes] = []
        self.page = page

    def __enter__(self) -> "Screencast":
        self.session = self.page.context.new_cdp_session(self.page)
        self.session.on("Page.screencastFrame", self._keep)
        self.session.send("Page.startScreencast", {"format": "png", "everyNthFrame": 1})
        return self

    def _keep(self, event: dict) -> None:
        self.frames.append(base64.b64decode(event["data"]))
        self.session.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]})

    def __exit__(self, *_: object) -> None:
        self.session.send("Page.stopScreencast")
        self.session.detach()
