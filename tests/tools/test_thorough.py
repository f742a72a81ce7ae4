import nbformat
import pytest
import torch

from tools import noise, thorough


def notebook(path, *cells):
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    return thorough.Run("noise", "99", ("--nbval-lax", "--nbval-current-env", str(path)))


@pytest.mark.slow
def test_a_notebook_runs_under_a_setting_and_its_claims_come_back_with_their_margins(tmp_path, capsys):
    run = notebook(
        tmp_path / "99_tiny.ipynb",
        "import os, torch\nfrom course_lib.widgets import claim",
        "claim('the setting is on', os.environ['COURSE_NOISE'] == '1')",
        "torch.manual_seed(0)\na = torch.randn(5)\nclaim('half', 0.5, above=0.4)",
        "torch.manual_seed(0)\nclaim('equal draws stay equal', bool((a == torch.randn(5)).all()))",
    )
    outcome = thorough.carry_out(run)
    assert outcome.held, outcome.output
    assert [each["sentence"] for each in outcome.claims] == ["the setting is on", "half", "equal draws stay equal"]
    assert thorough.report([outcome]) == 0
    assert " 0.250  99 half: 0.5 above 0.4 (noise)" in capsys.readouterr().out


@pytest.mark.slow
def test_a_claim_that_does_not_hold_is_reported_and_fails(tmp_path, capsys):
    run = notebook(
        tmp_path / "99_tiny.ipynb",
        "from course_lib.widgets import claim\nclaim('the sky is low', 3.0, below=2)",
    )
    assert thorough.report([thorough.carry_out(run)]) == 1
    assert "the sky is low: 3 is not below 2" in capsys.readouterr().out


def test_of_a_claim_the_smallest_margin_counts_and_exact_facts_have_none():
    def made(sentence, margin, setting):
        return {"lecture": "04", "sentence": sentence, "margin": margin, "setting": setting}

    found = thorough.smallest_margins(
        [made("a", 0.5, "plain"), made("a", 0.3, "noise"), made("b", 0.4, "plain"), made("exact", "inf", "plain")]
    )
    assert [(each["sentence"], each["margin"], each["setting"]) for each in found] == [
        ("a", 0.3, "noise"),
        ("b", 0.4, "plain"),
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_moves_each_value_by_its_last_bit_and_equal_draws_alike(dtype):
    def draw():
        return torch.randn(1000, dtype=dtype, generator=torch.Generator().manual_seed(3))

    changed = noise.noisy(draw, seed=1)()
    apart = ((changed - draw()) / draw()).abs() / torch.finfo(dtype).eps
    assert apart.min() >= 0.49
    assert apart.max() <= 2
    assert torch.equal(changed, noise.noisy(draw, seed=1)())
    assert not torch.equal(changed, noise.noisy(draw, seed=2)())


def test_an_unknown_lecture_is_refused(capsys):
    with pytest.raises(SystemExit):
        thorough.main(["--lecture", "77"])
    assert "must be one of 01," in capsys.readouterr().err
