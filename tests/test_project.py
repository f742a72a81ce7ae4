"""The project's own promises: no network in tests, a clear word about a missing browser, commands that stay in step."""

import re
import socket
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

from tools import loopback

ROOT = Path(__file__).parents[1]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


pytest_plugins = ["pytester"]


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.org", 443), ("8.8.8.8", 53)])
def test_a_connection_to_another_machine_is_refused(address):
    with socket.socket() as outward, pytest.raises(loopback.NetworkRefused, match=f"connection to {address[0]} was"):
        outward.connect(address)
    with socket.socket() as outward, pytest.raises(loopback.NetworkRefused):
        outward.connect_ex(address)


def test_a_connection_to_an_ipv6_address_outside_is_refused():
    with socket.socket(socket.AF_INET6) as outward, pytest.raises(loopback.NetworkRefused):
        outward.connect(("2001:db8::1", 80, 0, 0))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_may_be_reached(host):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect((host, server.getsockname()[1]))


def test_unix_sockets_are_left_alone(tmp_path):
    with socket.socket(socket.AF_UNIX) as client, pytest.raises(FileNotFoundError):
        client.connect(str(tmp_path / "nobody"))


BROWSER_TEST = "import pytest\n@pytest.mark.browser\ndef test_page(): pass\n"


@pytest.mark.parametrize(("ci", "outcome"), [("", "skipped"), ("true", "errors")])
def test_a_missing_browser_skips_here_and_fails_in_ci(pytester, monkeypatch, ci, outcome):
    pytester.makeconftest(read("tests/conftest.py"))
    pytester.makeini("[pytest]\nmarkers = browser: needs Chromium")
    pytester.makepyfile(BROWSER_TEST)
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr("tools.browser.chromium", lambda: None)
    result = pytester.runpytest_inprocess("-rs", "-p", "no:playwright")
    result.assert_outcomes(**{outcome: 1})
    assert "install it (apt-get install chromium) or set CHROMIUM" in result.stdout.str()


def test_every_dependency_is_pinned_within_its_range():
    pins = [Requirement(line) for line in read("constraints.txt").splitlines() if not line.startswith("#")]
    pinned = {pin.name.lower().replace("_", "-"): str(pin.specifier).removeprefix("==") for pin in pins}
    groups = tomllib.loads(read("pyproject.toml"))["dependency-groups"]
    development = [line for name in ("test", "build", "lint") for line in groups[name]]
    wanted = [Requirement(line) for line in [*(requires("course_lib") or []), *development]]
    for need in (need for need in wanted if need.marker is None):
        assert need.specifier.contains(pinned[need.name.lower()]), need
    assert pinned["torch"] == "2.13.0"


def test_the_section_in_contributing_runs(monkeypatch):
    """Its files in Python, in order; the test in the last of them, for each of its cases."""
    blocks = re.findall(r"^```python\n(.*?)^```", read("CONTRIBUTING.md"), flags=re.MULTILINE | re.DOTALL)
    section = ModuleType("forgetting")
    monkeypatch.setitem(sys.modules, section.__name__, section)
    for block in blocks:
        exec(block, section.__dict__)
    assert section.burst().summary() == "steps until half the learning rate is back: AdaGrad never, RMSProp 93"
    for b2 in (0.8, 0.9, 0.95):
        section.test_rmsprop_recovers_as_its_square_decays(b2)


def test_the_readme_names_the_commands_that_make_knows():
    targets = re.findall(r"^([a-z]+):", read("Makefile"), flags=re.MULTILINE)
    named = re.findall(r"(?:^|`)make ([a-z]+)", read("README.md") + read("CONTRIBUTING.md"), flags=re.MULTILINE)
    assert {"help", "lab", "test", "quick", "lecture", "thorough", "format", "notebooks", "bench", "clean"} <= set(
        targets
    )
    assert named
    assert set(named) <= set(targets)
    assert "\nmake test\n" in read(".ci/run")
