"""A transform that drives a module: as torch does, and resumed from a saved state."""

import pytest
import torch
from torch import Tensor, nn

from course_lib.optim import Stepper, adam, adamw, add_decay, amsgrad, chain, muon, nadam, sgd, shampoo
from tests.optim.tables import TRANSFORMS


def small(seed: int = 0) -> tuple[nn.Module, Tensor, Tensor]:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)), torch.randn(8, 4), torch.randn(8, 2)


def drive(model, optimizer, x, y, steps) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def test_a_stepper_trains_a_module_as_torch_does():
    (ours, x, y), (theirs, _, _) = small(), small()
    drive(ours, Stepper(ours.parameters(), adamw(0.01)), x, y, 50)
    drive(theirs, torch.optim.AdamW(theirs.parameters(), lr=0.01), x, y, 50)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_run_resumed_from_a_saved_state_is_the_same_run_bit_for_bit(name, tmp_path):
    transform = TRANSFORMS[name]
    model, x, y = small()
    optimizer = Stepper(model.parameters(), transform)
    drive(model, optimizer, x, y, 5)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "run.pt")
    drive(model, optimizer, x, y, 5)

    resumed, _, _ = small(seed=1)
    again = Stepper(resumed.parameters(), transform)
    saved = torch.load(tmp_path / "run.pt", weights_only=True)
    resumed.load_state_dict(saved["model"])
    again.load_state_dict(saved["optimizer"])
    drive(resumed, again, x, y, 5)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), resumed.parameters(), strict=True))


def test_a_state_handed_out_does_not_change_later():
    model, x, y = small()
    optimizer = Stepper(model.parameters(), adam(0.1))
    drive(model, optimizer, x, y, 2)
    handed = list(optimizer.state_dict().values())
    before = [t.clone() for t in handed]
    drive(model, optimizer, x, y, 2)
    assert all(torch.equal(a, b) for a, b in zip(handed, before, strict=True))


def test_a_stepper_leaves_frozen_parameters_alone():
    model, x, y = small()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    drive(model, Stepper(model.parameters(), chain(add_decay(0.1), sgd(0.1, 0.9))), x, y, 3)
    assert torch.equal(model[0].weight, before)


def test_a_stepper_refuses_what_it_cannot_drive():
    model, _, _ = small()
    with pytest.raises(ValueError, match="params must hold a tensor that requires a gradient, got none"):
        Stepper([torch.zeros(3)], sgd(0.1))
    with pytest.raises(ValueError, match=r"call backward before step; parameters \[0, 1, 2, 3\] have no gradient"):
        Stepper(model.parameters(), sgd(0.1)).step()


def test_the_leaves_of_a_state_have_names():
    model, _, _ = small()
    params = list(model.parameters())[:2]
    names = {
        "adam": (adam(), "t mean.0 mean.1 square.0 square.1"),
        "nadam": (nadam(), "t product mean.0 mean.1 square.0 square.1"),
        "adamw": (adamw(), "0.t 0.mean.0 0.mean.1 0.square.0 0.square.1"),
        "plain descent": (sgd(0.1), ""),
        "muon": (muon(), "chosen.velocity.0 others.t others.mean.0 others.square.0"),
        "shampoo": (shampoo(), "factors.0.0 factors.0.1 factors.1.0"),
    }
    for transform, wanted in names.values():
        assert list(Stepper(params, transform).state_dict()) == wanted.split()


def test_a_state_of_another_optimizer_is_refused_by_the_name_of_its_leaf():
    model, _, _ = small()
    optimizer = Stepper(model.parameters(), adam())
    with pytest.raises(ValueError, match=r"the saved state has no 'mean.0'; it has t, velocity.0, velocity.1"):
        optimizer.load_state_dict(Stepper(model.parameters(), sgd(0.1, 0.9)).state_dict())
    with pytest.raises(ValueError, match=r"the saved state has no 'mean.2'; it has t, mean.0, mean.1, square.0"):
        optimizer.load_state_dict(Stepper(model[0].parameters(), adam()).state_dict())
    with pytest.raises(ValueError, match=r"the saved state has 'peak.0', and this optimizer only t, mean.0"):
        optimizer.load_state_dict(Stepper(model.parameters(), amsgrad()).state_dict())
    with pytest.raises(ValueError, match=r"'mean.0' must be \(5, 4\) of torch.float32, got \(5, 4\) of torch.float64"):
        optimizer.load_state_dict(Stepper(model.double().parameters(), adam()).state_dict())
    other = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    with pytest.raises(ValueError, match=r"'mean.0' must be \(5, 4\) of torch.float32, got \(5, 3\) of torch.float32"):
        optimizer.load_state_dict(Stepper(other.parameters(), adam()).state_dict())
