"""What `mlp` promises of its weights."""

import pytest
import torch
from torch import nn

from course_lib.models import ACTIVATIONS, mlp


def weights(model: nn.Module) -> list[torch.Tensor]:
    return [m.weight.detach() for m in model if isinstance(m, nn.Linear)]


def test_layers_stand_in_order_with_no_activation_at_the_end():
    model = mlp([64, 32, 16, 10], "tanh")
    assert [type(m) for m in model] == [nn.Linear, nn.Tanh, nn.Linear, nn.Tanh, nn.Linear]
    assert [tuple(w.shape) for w in weights(model)] == [(32, 64), (16, 32), (10, 16)]
    assert model(torch.zeros(5, 64)).shape == (5, 10)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_weights_have_the_stated_variance_and_biases_are_zero(activation, seed):
    model = mlp([300, 500, 400], activation, seed=seed)
    first, last = weights(model)
    expected = 2 / 300 if activation == "relu" else 2 / 800
    assert float(first.var()) == pytest.approx(expected, rel=0.03)
    assert float(last.var()) == pytest.approx(1 / 500, rel=0.03)
    assert all(not m.bias.any() for m in model if isinstance(m, nn.Linear))


@pytest.mark.parametrize("seed", range(3))
def test_a_deep_relu_stack_keeps_the_second_moment_of_its_signal(seed):
    x = torch.randn(200, 400, generator=torch.Generator().manual_seed(100 + seed))
    hidden = mlp([400] * 12, seed=seed)[:-1](x)
    assert 0.5 < float(hidden.detach().square().mean()) < 2  # the default of nn.Linear would leave 6^-11 of it


def test_the_seed_draws_the_weights_and_nothing_else_does():
    before = torch.get_rng_state()
    a, b, c = (weights(mlp([4, 3, 2], seed=seed)) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(p, q) for p, q in zip(a, b, strict=True))
    assert not any(torch.equal(p, q) for p, q in zip(a, c, strict=True))


@pytest.mark.parametrize("sizes", [[], [3], [3, 0], [3, -1, 2]])
def test_illegal_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="sizes must be two or more numbers of at least 1, got"):
        mlp(sizes)


def test_an_unknown_activation_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="activation must be one of relu, tanh, sigmoid, got 'gelu'"):
        mlp([2, 2], "gelu")
