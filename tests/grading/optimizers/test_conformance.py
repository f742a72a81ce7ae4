"""The mistakes as edits: each is named, and no two of them at once get a wrong name."""

from functools import partial

import numpy as np
import pytest
import torch

from course_lib import optim
from course_lib.grading.optimizers.conformance import Conformance, path_of, streams_for, versions
from course_lib.grading.optimizers.runs import alike
from tests.grading.optimizers.written import CHECKS

EVERYWHERE = [(kind, version) for kind, check in CHECKS.items() for version in versions(check, 1)]


def all_streams(check: Conformance):
    return streams_for(check, (), True, True, True)


def course_optimizer(kind, lr, decay, **hyper):
    """As the course writes it: L2 before the optimizer, AdamW's decay inside it."""
    if kind == "adamw":
        return optim.adamw(lr, decay=decay, **hyper)
    make = {"nesterov": partial(optim.sgd, nesterov=True)}.get(kind) or getattr(optim, kind)
    return optim.chain(optim.add_decay(decay), make(lr, **hyper))


@pytest.mark.parametrize("kind", CHECKS)
def test_the_driver_without_a_mistake_is_the_course_s_optimizer(kind):
    for stream in all_streams(CHECKS[kind]):
        params, state, path = [torch.tensor(p) for p in stream.start], None, []
        for grads, lr in zip(stream.grads, stream.lrs, strict=True):
            transform = course_optimizer(kind, **{**stream.hyper, "lr": float(lr)})
            state = transform.init(params) if state is None else state
            steps, state = transform.update([torch.tensor(g) for g in grads], state, params)
            params = optim.apply_steps(params, steps)
            path.append(np.concatenate([p.numpy().ravel() for p in params]))
        np.testing.assert_allclose(path_of(CHECKS[kind], (), stream).path, np.stack(path), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("kind", "version"), EVERYWHERE, ids=lambda x: x if isinstance(x, str) else x[0][0].name)
def test_each_mistake_is_named(kind, version):
    check, (mistake,) = CHECKS[kind], version.mistakes
    verdict = check.diagnose(all_streams(check), [path_of(check, version.edits, s) for s in all_streams(check)])
    assert verdict.mistake == mistake.name, verdict
    assert mistake.explanation in verdict.message
    assert verdict.evidence


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHECKS)
def test_two_mistakes_at_once_get_no_wrong_name(kind):
    """Every pair, of the Adams every tenth, on few streams: where names are hardest to tell apart."""
    check = CHECKS[kind]
    few = tuple(s for s in all_streams(check) if s.title in FEW)
    assert len(few) == len(FEW)

    def same(edits, runs):
        return all(alike(r, path_of(check, edits, s).path, s) for r, s in zip(runs, few, strict=True))

    pairs = versions(check, 2)[:: 10 if kind in ("adam", "adamw", "amsgrad") else 1]
    both = 0
    for pair in pairs:
        runs = [path_of(check, pair.edits, s) for s in few]
        verdict = check.diagnose(few, runs)
        if verdict is None:
            assert same((), runs), pair
        elif verdict.mistake == joined(pair):
            both += 1
        elif verdict.mistake:
            named = [v for size in (1, 2) for v in versions(check, size) if verdict.mistake == joined(v)]
            assert any(same(version.edits, runs) for version in named), (pair, verdict)
        else:
            assert verdict.message.startswith("These numbers have more than one explanation"), (pair, verdict)
    assert both > 0.8 * len(pairs)


FEW = ("sparse gradients", "random gradients with weight decay", "an lr that changes between steps")


def joined(version):
    return "; ".join(mistake.name for mistake in version.mistakes)
