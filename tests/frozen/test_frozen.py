"""What the first edition's checks and experiments said is still said; the tables go when the second is released."""

import pytest

from tests.frozen import replay

pytestmark = pytest.mark.thorough
UNNAMED_NOW = {  # pairs of mistakes whose edits overlap
    "b1 used for both averages; no bias correction",
    "sign of the update; decoupled decay",
}
MOVED = {  # measured again: more seeds, other starts, another grid
    "adaptive_decay.shrinkage",
    "adaptive_frontier.matrix_race",
    "batch_size.linear_scaling",
    "momentum_noise.smoothness",
}


def test_every_mistake_is_still_listed():
    assert list(replay.names()) == []


def test_no_verdict_is_lost():
    differ = [(kind, e["mistake"], now) for kind, e, now in replay.verdicts([]) if kind != "gained"]
    assert {mistake for _, mistake, _ in differ} <= UNNAMED_NOW, differ


def test_every_sentence_says_what_it_said():
    differ = list(replay.sentences([]))
    assert {name for name, _, _ in differ} <= MOVED, differ
