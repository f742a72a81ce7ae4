"""A claim says its sentence with its number, or raises with both."""

import json

import numpy as np
import pytest
import torch

from course_lib.widgets import claim
from course_lib.widgets.claim import Claim, _margin


@pytest.mark.parametrize(
    ("bounds", "told", "margin"),
    [
        ({"above": 2}, "above 2", 0.5),
        ({"below": 4}, "below 4", 0.25),
        ({"above": 0}, "above 0", 3.0),
        ({"above": 1, "below": 5}, "between 1 and 5", 0.5),
        ({"near": 3.1, "within": 0.4}, "near 3.1, within 0.4", 0.75),
    ],
)
@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), torch.tensor(3.0), np.array(3.0)])
def test_a_claim_that_holds_is_printed_with_its_number_and_knows_its_margin(bounds, told, margin, value, capsys):
    claim("three is enough", value, **bounds)
    assert capsys.readouterr().out == f"✓ three is enough (3 {told})\n"
    assert _margin(3.0, {k: v for k, v in bounds.items() if k != "within"}, bounds.get("within")) == (
        told,
        pytest.approx(margin),
    )


@pytest.mark.parametrize(
    ("value", "bounds", "says"),
    [
        (1, {"above": 2}, "it holds: 1 is not above 2"),
        (2, {"above": 2}, "2 is not above 2"),
        (float("nan"), {"below": 2}, "nan is not below 2"),
        (5, {"above": 1, "below": 4}, "5 is not between 1 and 4"),
        (1, {"near": 3, "within": 1}, "1 is not near 3, within 1"),
        (False, {}, "it holds: this is false"),
    ],
)
def test_a_claim_that_does_not_hold_raises_with_value_and_bound(value, bounds, says):
    with pytest.raises(AssertionError, match=says):
        claim("it holds", value, **bounds)


@pytest.mark.parametrize(
    ("value", "bounds", "error"),
    [
        (3, {}, TypeError),
        (True, {"above": 0}, TypeError),
        (np.array(1) > 0, {"within": 0.1}, TypeError),
        ("3", {}, TypeError),
        ([1, 2], {"above": 0}, TypeError),
        (3, {"near": 3}, ValueError),
        (3, {"within": 3}, ValueError),
        (3, {"near": 3, "within": 1, "above": 2}, ValueError),
        (3, {"near": 3, "within": 0}, ValueError),
        (3, {"above": 4, "below": 2}, ValueError),
    ],
)
def test_a_call_that_claims_nothing_is_refused(value, bounds, error):
    with pytest.raises(error, match="claim: "):
        claim("it holds", value, **bounds)


def test_claims_are_recorded_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CLAIMS", str(tmp_path / "claims.jsonl"))
    monkeypatch.setenv("COURSE_LECTURE", "04_adaptive")
    claim("three", 3, above=2)
    claim("exact", np.bool_(True))
    first, second = map(json.loads, (tmp_path / "claims.jsonl").read_text().splitlines())
    assert first == {
        "lecture": "04_adaptive", "cell": None, "sentence": "three", "value": 3.0, "bound": "above 2", "margin": 0.5,
    }  # fmt: skip
    assert (second["value"], second["margin"]) == (True, "inf")


def test_a_claim_is_shown_in_a_page_as_text():
    assert "1 &lt; 2" in Claim("1 < 2", 3.0, "above 2", 0.5)._repr_html_()
