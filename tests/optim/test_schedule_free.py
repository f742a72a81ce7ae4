"""Schedule-free learning against the paper written out by hand, and its laws."""

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.optim import (
    Stepper,
    adam,
    add_decay,
    apply_steps,
    chain,
    decoupled_decay,
    landing,
    schedule_free,
    sgd,
)
from tests.optim.streams import KINDS, STEPS, gradients, run, starts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("beta", "warmup", "decay"), [(0.9, 0, 0.0), (0.5, 7, 0.0), (0.0, 0, 0.1), (0.98, 3, 0.1)])
def test_schedule_free_sgd_is_the_papers_algorithm(kind, beta, warmup, decay):
    shape, lr = (2, 3), 0.2
    (start,), stream = starts([shape]), gradients(kind, [shape])
    x = z = start.numpy()
    total = 0.0
    for t, (g,) in enumerate(stream, start=1):
        y = (1 - beta) * z + beta * x
        rate = lr * min(1, t / warmup) if warmup else lr
        z = z - rate * (g.numpy() + decay * y)
        total += rate**2
        x = (1 - rate**2 / total) * x + rate**2 / total * z
    base = chain(add_decay(decay), sgd(lr))
    (ours,), state = run(schedule_free(base, beta, warmup=warmup), [start], stream)
    np.testing.assert_allclose(ours, (1 - beta) * z + beta * x, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(state.average[0], x, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(state.fast[0], z, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_schedule_free_adamw_is_the_papers_algorithm_with_adams_eps_and_even_weights(kind):
    shape, lr, beta, b2, eps, decay, warmup = (2, 3), 0.02, 0.9, 0.95, 1e-8, 0.1, 4
    (start,), stream = starts([shape]), gradients(kind, [shape])
    x = z = start.numpy()
    v, total = np.zeros(shape), 0.0
    for t, (g,) in enumerate(stream, start=1):
        y = (1 - beta) * z + beta * x
        v = b2 * v + (1 - b2) * g.numpy() ** 2
        rate = lr * min(1, t / warmup)
        z = z - rate * g.numpy() / (np.sqrt(v / (1 - b2**t)) + eps) - rate * decay * y
        total += rate**2
        x = x + rate**2 / total * (z - x)
    transform = schedule_free(chain(adam(lr, 0.0, b2, eps), decoupled_decay(lr * decay)), beta, warmup=warmup)
    (ours,), state = run(transform, [start], stream)
    np.testing.assert_allclose(ours, (1 - beta) * z + beta * x, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(state.average[0], x, rtol=1e-10, atol=1e-10)


def test_schedule_free_at_beta_0_is_gradient_descent_and_the_mean_of_its_path():
    (start,), stream = starts([(4,)]), gradients("ordinary", [(4,)])
    path = [run(sgd(0.3), [start], stream[: t + 1])[0][0] for t in range(STEPS)]
    (ours,), state = run(schedule_free(sgd(0.3), 0.0), [start], stream)
    torch.testing.assert_close(ours, path[-1])
    torch.testing.assert_close(state.average[0], torch.stack(path).mean(0))


def test_the_average_is_quieter_than_descent_at_the_same_rate_on_a_noisy_bowl():
    """f(y) = |y|^2 / 2 with unit noise in the gradient, 200 steps; 10 seeds, each coordinate a run of its own."""
    for seed in range(10):
        generator, ends = torch.Generator().manual_seed(seed), {}
        noise = torch.randn(200, 50, dtype=torch.float64, generator=generator)
        for name, transform in {"plain": sgd(0.3), "free": schedule_free(sgd(0.3))}.items():
            params = [torch.full((50,), 3.0, dtype=torch.float64)]
            state = transform.init(params)
            for n in noise:
                steps, state = transform.update([params[0] + n], state, params)
                params = apply_steps(params, steps)
            ends[name] = float((params if name == "plain" else state.average)[0].square().mean())
        assert ends["free"] < 0.3 * ends["plain"]


def test_schedule_free_drives_a_module_whose_parameters_are_moved_in_place():
    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 1), torch.randn(20, 3), torch.randn(20, 1)
    start = [p.detach().clone() for p in model.parameters()]
    optimizer = Stepper(model.parameters(), schedule_free(sgd(0.1), 0.5))
    first, stream = optimizer.state, []
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        stream.append([p.grad.clone() for p in model.parameters()])
        optimizer.step()
    params, state = run(schedule_free(sgd(0.1), 0.5), start, stream)
    for a, b in zip(model.parameters(), params, strict=True):
        torch.testing.assert_close(a.detach(), b)
    for a, b in zip(optimizer.state.average, state.average, strict=True):
        torch.testing.assert_close(a, b)
    assert all(torch.equal(a, b) for a, b in zip(first.average, start, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(first.fast, start, strict=True))


def test_the_last_step_of_a_landing_goes_to_the_average():
    params = [torch.tensor([2.0, -1.0], dtype=torch.float64)]
    base, down = schedule_free(sgd(0.1)), landing(schedule_free(sgd(0.1)), 5)
    state, landed, theta, other = base.init(params), down.init(params), params, params
    for t in range(1, 6):
        steps, state = base.update(theta, state, theta)
        moves, landed = down.update(other, landed, other)
        theta, other = apply_steps(theta, steps), apply_steps(other, moves)
        torch.testing.assert_close(other[0], state.average[0] if t == 5 else theta[0])
    assert (theta[0] - state.average[0]).abs().max() > 1e-3
