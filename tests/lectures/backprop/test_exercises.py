"""No correct variant is accused, and two mistakes at once get no wrong name."""

import numpy as np
import pytest
import torch

from course_lib.autograd import Array
from course_lib.lectures.backprop import check_batchnorm, check_layernorm, check_matmul, check_softmax_cross_entropy


def unsum(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    for axis, n in enumerate(shape):
        if n == 1:
            g = g.sum(axis, keepdims=True)
    return g


def matmul(A, B, dC):
    return unsum(dC @ np.swapaxes(B, -1, -2), A.shape), unsum(np.swapaxes(A, -1, -2) @ dC, B.shape)


def matmul_by_einsum(A, B, dC):
    return (
        unsum(np.einsum("...nm,...km->...nk", dC, B), A.shape),
        unsum(np.einsum("...nk,...nm->...km", A, dC), B.shape),
    )


def matmul_by_the_engine(A, B, dC):
    a, b = Array(A), Array(B)
    (a @ b).backward(dC)
    return [a.grad, b.grad]


def softmax_ce(logits, labels):
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(p)), labels] -= 1
    return p / len(p)


def softmax_ce_by_logs(logits, labels):
    top = logits.max(1)
    lse = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top
    return (np.exp(logits - lse[:, None]) - (labels[:, None] == np.arange(logits.shape[1]))) / logits.shape[0]


def softmax_ce_row_by_row(logits, labels):
    rows = []
    for z, y in zip(logits, labels, strict=True):
        e = np.exp(z - max(z))
        rows.append((e / e.sum() - np.eye(len(z))[y]) / len(labels))
    return rows


def softmax_ce_in_torch(logits, labels):
    z = torch.tensor(logits, requires_grad=True)
    torch.nn.functional.cross_entropy(z, torch.tensor(labels)).backward()
    return z.grad


def layernorm(x, gamma, eps, dy):
    n = x.shape[1]
    mean = x.sum(1, keepdims=True) / n
    inv = 1 / np.sqrt(((x - mean) ** 2).sum(1, keepdims=True) / n + eps)
    xhat = (x - mean) * inv
    d = dy * gamma
    dx = (inv / n) * (n * d - d.sum(1, keepdims=True) - xhat * (d * xhat).sum(1, keepdims=True))
    return dx, np.einsum("nd,nd->d", dy, xhat), dy.sum(0)


def layernorm_by_paths(x, gamma, eps, dy):
    n = x.shape[1]
    c = x - x.mean(1, keepdims=True)
    var = (c * c).mean(1, keepdims=True) + eps
    dxhat = dy * gamma
    dvar = (dxhat * c).sum(1, keepdims=True) * -0.5 * var**-1.5
    dmean = -(dxhat / np.sqrt(var)).sum(1, keepdims=True)
    return dxhat / np.sqrt(var) + dvar * 2 * c / n + dmean / n, (dy * c / np.sqrt(var)).sum(0), dy.sum(axis=0)


def layernorm_in_torch(x, gamma, eps, dy):
    leaves = [torch.tensor(v, requires_grad=True) for v in (x, gamma, np.zeros_like(gamma))]
    torch.nn.functional.layer_norm(leaves[0], gamma.shape, leaves[1], leaves[2], eps=eps).backward(torch.tensor(dy))
    return tuple(v.grad for v in leaves)


def batchnorm(x, gamma, eps, dy):
    dx, _, _ = layernorm(x.T, np.ones(len(x)), eps, (dy * gamma).T)
    xhat = (x - x.mean(0)) / np.sqrt(x.var(0) + eps)
    return dx.T, (dy * xhat).sum(0), dy.sum(0)


def batchnorm_gamma_last(x, gamma, eps, dy):
    std = np.sqrt(x.var(axis=0) + eps)
    xhat = (x - x.mean(axis=0)) / std
    dgamma, dbeta = (dy * xhat).sum(axis=0), dy.sum(axis=0)
    return gamma / std * (dy - dbeta / len(x) - xhat * dgamma / len(x)), dgamma, dbeta


def batchnorm_in_torch(x, gamma, eps, dy):
    leaves = [torch.tensor(v, requires_grad=True) for v in (x, gamma, np.zeros_like(gamma))]
    out = torch.nn.functional.batch_norm(leaves[0], None, None, leaves[1], leaves[2], training=True, eps=eps)
    out.backward(torch.tensor(dy))
    return tuple(v.grad for v in leaves)


RIGHT = [
    (check_matmul, matmul),
    (check_matmul, matmul_by_einsum),
    (check_matmul, matmul_by_the_engine),
    (check_softmax_cross_entropy, softmax_ce),
    (check_softmax_cross_entropy, softmax_ce_by_logs),
    (check_softmax_cross_entropy, softmax_ce_row_by_row),
    (check_softmax_cross_entropy, softmax_ce_in_torch),
    (check_layernorm, layernorm),
    (check_layernorm, layernorm_by_paths),
    (check_layernorm, layernorm_in_torch),
    (check_batchnorm, batchnorm),
    (check_batchnorm, batchnorm_gamma_last),
    (check_batchnorm, batchnorm_in_torch),
]


@pytest.mark.parametrize(("check", "fn"), RIGHT, ids=lambda f: getattr(f, "__name__", ""))
def test_correct_variants_pass(check, fn):
    assert check(fn).passed, check(fn)


def test_float32_answers_pass_where_float32_can():
    assert check_matmul(lambda *case: matmul(*(v.astype(np.float32) for v in case))).passed
    assert check_layernorm(lambda x, g, eps, dy: [v.astype(np.float32) for v in layernorm(x, g, eps, dy)]).passed


TWO = {
    "softmax: sign and batch": (check_softmax_cross_entropy, lambda z, y: -softmax_ce(z, y) * len(z)),
    "softmax: one-hot and batch": (
        check_softmax_cross_entropy,
        lambda z, y: softmax_ce(z, y) * len(z) + (y[:, None] == np.arange(z.shape[1])),
    ),
    "layernorm: eps and mean path": (
        check_layernorm,
        check_layernorm.versions.edited((" - by_mean", ""), (" + eps", "")),
    ),
    "layernorm: gamma and 1/std": (
        check_layernorm,
        lambda x, g, eps, dy: (
            layernorm(x, np.ones_like(g), eps, dy)[0] * np.sqrt(x.var(1, keepdims=True) + eps),
            *layernorm(x, g, eps, dy)[1:],
        ),
    ),
    "batchnorm: unbiased and variance path": (
        check_batchnorm,
        lambda x, g, eps, dy: (
            (dy * g - (dy * g).mean(0)) / np.sqrt(x.var(0, ddof=1) + eps),
            *batchnorm(x, g, eps, dy)[1:],
        ),
    ),
    "matmul: sign and unsummed": (
        check_matmul,
        lambda A, B, dC: (-2 * dC @ np.swapaxes(B, -1, -2), -2 * np.swapaxes(A, -1, -2) @ dC),
    ),
    "softmax: one maximum and the sign": (check_softmax_cross_entropy, lambda z, y: -one_maximum(z, y)),
    "softmax: columns and the batch": (check_softmax_cross_entropy, lambda z, y: whole_columns(z, y) * len(z)),
    "layernorm: lengths and one sign": (
        check_layernorm,
        lambda x, g, eps, dy: (-by_rows(x, g, eps, dy)[0], *layernorm(x, g, eps, dy)[1:]),
    ),
    "matmul: a factor and a sign": (check_matmul, lambda A, B, dC: (-2 * matmul(A, B, dC)[0], -matmul(A, B, dC)[1])),
}


NAMED = {
    "softmax: sign and batch": "wrong sign; not divided by the batch",
    "softmax: one-hot and batch": "one-hot not subtracted; not divided by the batch",
    "layernorm: eps and mean path": "mean treated as a constant; eps left out",
    "layernorm: gamma and 1/std": "gamma left out of dx; not divided by the standard deviation",
    "batchnorm: unbiased and variance path": "",
    "softmax: one maximum and the sign": "wrong sign; one maximum for all rows",
    "softmax: columns and the batch": "1 subtracted from whole columns; not divided by the batch",
}


@pytest.mark.parametrize("name", TWO)
def test_two_mistakes_in_one_output_are_both_named_or_neither(name):
    check, fn = TWO[name]
    verdict = check(fn)
    assert (verdict.status, verdict.mistake) == ("wrong", NAMED.get(name, "")), verdict
    assert verdict.evidence


def by_dp(logits, labels):
    p = softmax_ce(logits, labels) * len(labels) + np.eye(logits.shape[1])[labels]
    dp = np.zeros_like(p)
    rows = np.arange(len(labels))
    dp[rows, labels] = -1 / p[rows, labels] / len(labels)
    return np.stack([(np.diag(q) - np.outer(q, q)) @ g for q, g in zip(p, dp, strict=True)])


def one_maximum(z, y):
    e = np.exp(z - z.max())
    p = e / e.sum(1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    return p / len(y)


def whole_columns(z, y):
    p = softmax_ce(z, y) * len(y) + np.eye(z.shape[1])[y]
    p[:, y] -= 1
    return p / len(y)


def by_rows(x, gamma, eps, dy):
    std = np.sqrt(x.var(axis=1, keepdims=True) + eps)
    xhat, d = (x - x.mean(axis=1, keepdims=True)) / std, dy * gamma
    dx = (d - d.sum(1, keepdims=True) / len(x) - xhat * (d * xhat).sum(1, keepdims=True) / len(x)) / std
    return dx, (dy * xhat).sum(0), dy.sum(0)


WRITTEN = {  # as a learner writes them, not as the mutants are written
    ".T and nothing summed": (
        check_matmul,
        lambda A, B, dC: (dC @ B.T, A.T @ dC),
        "every axis transposed; broadcast axes not summed",
    ),
    "exchanged and unsummed": (
        check_matmul,
        lambda A, B, dC: (A.swapaxes(-1, -2) @ dC, dC @ B.swapaxes(-1, -2)),
        "gradients exchanged; broadcast axes not summed",
    ),
    "sum(0) where the number of axes differs": (
        check_matmul,
        lambda A, B, dC: tuple(
            g.sum(0) if g.ndim > x.ndim else g for g, x in ((dC @ B.swapaxes(-1, -2), A), (A.swapaxes(-1, -2) @ dC, B))
        ),
        "only the first axis summed",
    ),
    "a turned sign": (check_matmul, lambda A, B, dC: tuple(-g for g in matmul(A, B, dC)), "wrong sign"),
    "one maximum": (check_softmax_cross_entropy, one_maximum, "one maximum for all rows"),
    "the Jacobian": (check_softmax_cross_entropy, by_dp, "divided by a probability of 0"),
    "p[:, labels]": (check_softmax_cross_entropy, whole_columns, "1 subtracted from whole columns"),
    "rows for features": (check_layernorm, by_rows, "divided by the wrong length"),
    "swapped": (check_layernorm, lambda *case: [layernorm(*case)[i] for i in (0, 2, 1)], "dgamma and dbeta exchanged"),
    "swapped, and the mean forgotten": (
        check_batchnorm,
        lambda x, g, eps, dy: (
            batchnorm(x, g, eps, dy)[0] + (dy * g).mean(0) / np.sqrt(x.var(0) + eps),
            dy.sum(0),
            batchnorm(x, g, eps, dy)[1],
        ),
        "mean treated as a constant; dgamma and dbeta exchanged",
    ),
    "only dgamma summed over the features": (
        check_layernorm,
        lambda x, g, eps, dy: (
            *layernorm(x, g, eps, dy)[:1],
            (dy * (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps)).sum(1),
            dy.sum(0),
        ),
        "parameters' gradients summed over the features",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_learners_own_spelling_of_a_mistake_is_named(name):
    check, fn, mistake = WRITTEN[name]
    assert check(fn).mistake == mistake, check(fn)


def test_layernorm_speaks_of_d_and_batchnorm_of_n():
    for length, check in {"d": check_layernorm, "n": check_batchnorm}.items():
        words = {m.name: m.explanation for m in check.mistakes}
        assert f"divides by {length}, not {length} - 1" in words["unbiased variance"]
        assert f"1/{length} in" in words["sums instead of means"]
        assert f"divided by {length}," in words["divided by the wrong length"]


def test_two_mistakes_in_two_outputs_are_both_named():
    def both(A, B, dC):
        return dC @ np.swapaxes(B, -1, -2), unsum(dC @ np.swapaxes(A, -1, -2), B.shape)

    def norms(x, gamma, eps, dy):
        dx, _, dbeta = layernorm(x, gamma, eps, dy)
        return dx, (dy * x).sum(0), dbeta / len(x)

    assert (
        "broadcast axes not summed"
        in check_matmul(lambda A, B, dC: (dC @ np.swapaxes(B, -1, -2), np.swapaxes(A, -1, -2) @ dC)).mistake
    )
    assert check_matmul(both).status == "wrong"
    assert check_layernorm(norms).mistake in ("", "dgamma from x; parameters' gradients averaged")


@pytest.mark.parametrize(
    "check",
    [check_matmul, check_softmax_cross_entropy, check_layernorm, check_batchnorm],
    ids=lambda check: check.title,
)
def test_blank_broken_and_greedy_attempts(check):
    def blank(*args): ...

    def broken(*args):
        return args[0].no_such_thing

    def greedy(*args):
        args[0][...] = 0.0
        return args[0]

    assert check(blank).status == "not attempted"
    assert check("matmul").message.startswith("The check needs your function itself")
    assert "in broken: return args[0].no_such_thing" in check(broken).evidence
    assert check(greedy).mistake == "changes its input"
    assert check(lambda *args: args[0].sum()).status == "wrong"


def test_the_transpose_of_a_batch_is_named_although_it_crashes_on_other_shapes():
    verdict = check_matmul(lambda A, B, dC: (unsum(dC @ np.swapaxes(B, -1, -2), A.shape), unsum(A.T @ dC, B.shape)))
    assert verdict.mistake == "every axis transposed"
