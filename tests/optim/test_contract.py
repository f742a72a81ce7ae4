"""A transform that breaks its contract is told so in a sentence, wherever it runs; one that keeps it is left alone."""

import pytest
import torch

from course_lib.errors import ContractError
from course_lib.lectures.adaptive.digits_race import digits_race
from course_lib.lectures.momentum.race import race
from course_lib.optim import Transform, adam, adamw, chain, clip_norm, sgd, soap
from course_lib.optim.contract import checked

NAN = float("nan")


def made(update):
    return Transform(lambda params: (), update)


def in_place(grads, state, params):
    for g in grads:
        g.mul_(-0.1)
    return grads, state


def moves(grads, state, params):
    for p, g in zip(params, grads, strict=True):
        p.sub_(0.1 * g)
    return [0 * g for g in grads], state


def remembers(grads, state, params):
    state[0].add_(grads[0])
    return [-s for s in state], state


BROKEN = [
    (None, "mine must be a Transform, got NoneType None"),
    (made(lambda grads, state, params: None), r"update must return \(steps, state\), and returns nothing"),
    (made(lambda grads, state, params: grads), "and returns a list of 1"),
    (made(lambda grads, state, params: ([], state)), "update must return 1 steps in a list, and returns a list of 0"),
    (
        made(lambda grads, state, params: ([grads[0][:1]], state)),
        r"step 0 must be a tensor of shape \(2,\), and is an arr",
    ),
    (made(lambda grads, state, params: ([0.5], state)), r"step 0 must be a tensor of shape \(2,\), and is float 0.5"),
    (made(lambda grads, state, params: ([NAN * grads[0]], state)), "update 1 returns NaN for finite gradients"),
    (
        made(lambda grads, state, params: ([grads[0] @ torch.eye(3)], state)),
        r"raised RuntimeError: .* \(line .*torch.eye",
    ),
    (
        Transform(lambda params: params.nothing, adam().update),
        r"init raised AttributeError: .* \(line .*params.nothing",
    ),
    (made(in_place), "changes the gradients it was given"),
    (made(moves), "changes the parameters it was given"),
    (Transform(lambda params: [torch.zeros(2)], remembers), "changes the state it was given"),
]


@pytest.mark.parametrize(("transform", "sentence"), BROKEN, ids=[sentence[:24] for _, sentence in BROKEN])
def test_a_broken_contract_is_one_sentence(transform, sentence):
    def step():
        params, grads = [torch.ones(2)], [torch.tensor([1.0, -2.0])]
        watched = checked(transform, "mine")
        return watched.update(grads, watched.init(params), params)

    with pytest.raises(ContractError, match=sentence) as caught:
        step()
    assert str(caught.value).startswith("mine")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("transform", [sgd(0.1, 0.9), adam(), adamw(), soap(), chain(clip_norm(1.0), adam())])
def test_a_sound_transform_steps_as_it_would_alone(transform):
    params = [torch.ones(3, 2), torch.ones(2)]
    grads = [torch.full_like(p, 0.3) for p in params]
    watched = checked(transform, "mine")
    state, other = watched.init(params), transform.init(params)
    for _ in range(3):
        steps, state = watched.update(grads, state, params)
        alone, other = transform.update(grads, other, params)
        for a, b in zip(steps, alone, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_a_run_that_overflows_is_not_accused():
    watched = checked(sgd(1e38, 0.9), "mine")
    params = [torch.ones(1)]
    state = watched.init(params)
    for slope in (1e3, -1e30, 1e38, -1e38):
        _, state = watched.update([torch.tensor([slope])], state, params)


@pytest.mark.parametrize("experiment", [race, digits_race])
def test_the_races_say_it_too(experiment):
    with pytest.raises(ValueError, match=r"race: mine: update must return \(steps, state\), and returns nothing"):
        experiment(optimizers={"mine": lambda lr, beta: made(lambda grads, state, params: None)})
