"""What torch.optim does not have, against its paper's algorithm written out by hand; and laws with known answers."""

import numpy as np
import pytest
import torch

from course_lib.optim import adadelta, adam, amsgrad, apply_steps, chain, decoupled_decay, lion, nadam, radam, sgd

STEPS = 60
KINDS = {
    "ordinary": lambda t, g: g,
    "zero": lambda t, g: 0 * g,
    "rare": lambda t, g: g * (np.random.default_rng(t).random(g.shape) < 0.1),
    "tiny": lambda t, g: 1e-12 * g,
    "huge": lambda t, g: 1e12 * g,
}


def gradients(kind, shape, seed=0):
    """STEPS gradients, the same for the same arguments."""
    generator = np.random.default_rng(seed)
    return [KINDS[kind](t, generator.normal(size=shape)) for t in range(STEPS)]


def run(transform, start, grads):
    """The parameter after every step, (steps + 1, ...)."""
    params = [torch.tensor(start, dtype=torch.float64)]
    state, path = transform.init(params), [params[0]]
    for g in grads:
        steps, state = transform.update([torch.tensor(g)], state, params)
        params = apply_steps(params, steps)
        path.append(params[0])
    return torch.stack(path).numpy()


def assert_paths_match(ours, theirs):
    np.testing.assert_allclose(ours, np.stack(theirs), rtol=1e-10, atol=1e-10)


# Lion


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 1, 2, 2)])
@pytest.mark.parametrize(("lr", "b1", "b2", "decay"), [(0.01, 0.9, 0.99, 0.0), (0.3, 0.5, 0.7, 0.1)])
def test_lion_is_the_papers_algorithm(kind, shape, lr, b1, b2, decay):
    theta, m = np.random.default_rng(1).normal(size=shape), np.zeros(shape)
    start, path, grads = theta, [theta], gradients(kind, shape)
    for g in grads:
        direction = np.sign(b1 * m + (1 - b1) * g)
        theta = theta - lr * (direction + decay * theta)
        m = b2 * m + (1 - b2) * g
        path.append(theta)
    assert_paths_match(run(chain(lion(lr, b1, b2), decoupled_decay(lr * decay)), start, grads), path)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_lion_moves_every_coordinate_by_exactly_lr(scale):
    path = run(lion(0.25), np.zeros(5), [scale * g for g in gradients("ordinary", 5)])
    assert set(np.abs(np.diff(path, axis=0)).flatten()) == {0.25}


# Laws


def test_amsgrads_rate_never_rises_where_adams_does():
    """After a spike Adam forgets; AMSGrad divides by the spike forever."""
    grads = [100.0] + [1.0] * 400
    after = {m.__name__: np.diff(run(m(0.1, 0.0, 0.9, 0.0), 0.0, grads))[-1] for m in (adam, amsgrad)}
    assert after["adam"] == pytest.approx(-0.1)
    assert after["amsgrad"] == pytest.approx(-0.1 / np.sqrt(0.1 * 100.0**2))


def test_radam_is_bias_corrected_momentum_for_five_steps_and_not_at_the_sixth():
    grads = [3.0] * 6
    steps = np.diff(run(radam(0.1), 0.0, grads))
    np.testing.assert_allclose(steps[:5], -0.1 * 3)
    assert abs(steps[5]) < 0.1 * 0.1 * 3


def test_radam_approaches_adam():
    grads = gradients("ordinary", 3) * 10
    ours, theirs = (np.diff(run(m(0.1, b2=0.98), np.zeros(3), grads), axis=0)[-1] for m in (radam, adam))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)


def test_nadam_without_momentum_is_adam_without_momentum():
    grads = gradients("ordinary", 3)
    assert_paths_match(run(nadam(0.1, 0.0), np.zeros(3), grads), list(run(adam(0.1, 0.0), np.zeros(3), grads)))


@pytest.mark.parametrize("scale", [1e-1, 1e6])
def test_adadeltas_first_step_is_set_by_eps_not_by_the_gradient(scale):
    first = np.diff(run(adadelta(1.0, 0.9, 1e-6), 0.0, [scale]))[0]
    assert first == pytest.approx(-np.sqrt(1e-6 / 0.1), rel=1e-3)


def test_decoupled_decay_multiplies_what_it_stands_beside():
    still = run(chain(sgd(0.0), decoupled_decay(0.25)), 1.0, [5.0, 5.0])
    assert list(still) == [1, 0.75, 0.75**2]
