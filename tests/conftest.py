"""For every test: no network but this machine, and a browser where there is one."""

import os
from collections.abc import Iterator

import pytest

from tools import loopback
from tools.browser import ARGUMENTS, chromium

NO_BROWSER = (
    "no Chromium here, so this test cannot run: install it (apt-get install chromium) or set CHROMIUM to its path"
)


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    loopback.refuse_network()
    yield
    loopback.allow_network()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A browser test without a browser: a failure in CI, a skip with one sentence elsewhere."""
    if item.get_closest_marker("browser") and not chromium():
        report = pytest.fail if os.environ.get("CI") else pytest.skip
        report(NO_BROWSER)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict:
    """The system's Chromium instead of a downloaded one."""
    return {"executable_path": chromium(), "args": ARGUMENTS}
