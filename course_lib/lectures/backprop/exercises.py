"""The exercises of lecture 01: four backward passes, written by hand on numpy arrays. torch.autograd is the oracle."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from course_lib.grading import Case, Exercise, Mistake

Numbers = np.ndarray


def by_torch(forward: Callable[..., Any], inputs: Mapping[str, Numbers], upstream: Numbers) -> tuple[Numbers, ...]:
    """torch.autograd's gradients of forward(*inputs), pulled back from upstream."""
    leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in inputs.values()]
    grads = torch.autograd.grad(forward(*leaves), leaves, torch.tensor(upstream, dtype=torch.float64))
    return tuple(g.numpy() for g in grads)


def fold(g: Numbers, like: Numbers, reduce: Callable = np.sum) -> Numbers:
    """Reduce g over the axes along which `like` was broadcast."""
    extra = g.ndim - like.ndim
    stretched = (i + extra for i, n in enumerate(like.shape) if n != g.shape[i + extra])
    return reduce(g, axis=(*range(extra), *stretched)).reshape(like.shape)


def as_it_is(g: Numbers, like: Numbers) -> Numbers:
    return g


def leading(g: Numbers, like: Numbers) -> Numbers:
    return g.sum(axis=tuple(range(g.ndim - like.ndim)))


def first(g: Numbers, like: Numbers) -> Numbers:
    return g.sum(axis=0) if g.ndim > like.ndim else g


def first_if_unlike(g: Numbers, like: Numbers) -> Numbers:
    return g.sum(axis=0) if g.shape != like.shape else g


def first_then_stretched(g: Numbers, like: Numbers) -> Numbers:
    g = first(g, like)
    return g.sum(axis=tuple(i for i, n in enumerate(like.shape, -like.ndim) if n < g.shape[i]), keepdims=True)


def matmul(A, B, dC):
    """dC: the gradient of C = A @ B, whose batch axes may broadcast. Returns dA and dB, shaped like A and B."""
    dA = dC @ np.swapaxes(B, -1, -2)
    dB = np.swapaxes(A, -1, -2) @ dC
    dA, dB = fold(dA, A), fold(dB, B)
    return dA, dB


def matmul_case(title: str, a: tuple[int, ...], b: tuple[int, ...]) -> Case:
    random = np.random.default_rng(len(title))
    A, B = random.normal(size=a), random.normal(size=b)
    return Case(title, {"A": A, "B": B, "dC": random.normal(size=(A @ B).shape)})


def in_either(name: str, explanation: str, *pairs: tuple[tuple[str, str], tuple[str, str]]) -> Mistake:
    """A mistake in dA, in dB, or in both."""
    return Mistake(name, explanation, *(way for a, b in pairs for way in ([a, b], [a], [b])))


def sums(name: str, explanation: str, *folds: str) -> Mistake:
    """Something else in place of fold(dA, A) and fold(dB, B)."""
    return in_either(
        name, explanation, *((("fold(dA, A)", f.format("dA, A")), ("fold(dB, B)", f.format("dB, B"))) for f in folds)
    )


BT, AT = "np.swapaxes(B, -1, -2)", "np.swapaxes(A, -1, -2)"
check_matmul = Exercise(
    "matmul backward",
    matmul,
    (
        matmul_case("A and B of shape (3, 3)", (3, 3), (3, 3)),
        matmul_case("A (2, 3), B (3, 4)", (2, 3), (3, 4)),
        matmul_case("a batch: A and B of shape (3, 3, 3)", (3, 3, 3), (3, 3, 3)),
        matmul_case("one B for a batch: A (3, 3, 3), B (3, 3)", (3, 3, 3), (3, 3)),
        matmul_case("one A for a batch: A (3, 3), B (3, 3, 3)", (3, 3), (3, 3, 3)),
        matmul_case("one B for a batch: A (5, 2, 3), B (3, 4)", (5, 2, 3), (3, 4)),
        matmul_case("one A for a batch: A (2, 3), B (5, 3, 4)", (2, 3), (5, 3, 4)),
        matmul_case("both broadcast: A (2, 1, 3, 3), B (1, 5, 3, 3)", (2, 1, 3, 3), (1, 5, 3, 3)),
        matmul_case("one B along two axes: A (2, 5, 3, 3), B (3, 3)", (2, 5, 3, 3), (3, 3)),
        matmul_case("one A along two axes: A (3, 3), B (2, 5, 3, 3)", (3, 3), (2, 5, 3, 3)),
        matmul_case("one A along two axes, one of them missing: A (1, 2, 3), B (2, 5, 3, 4)", (1, 2, 3), (2, 5, 3, 4)),
    ),
    (
        in_either(
            "every axis transposed",
            "`.T` reverses all axes, the batch's too: transpose the last two alone, with swapaxes(-1, -2).",
            ((BT, "B.T"), (AT, "A.T")),
        ),
        in_either(
            "not transposed",
            "A factor is used as it is where its transpose belongs.",
            ((BT, "B"), (AT, "A")),
        ),
        in_either(
            "transposes swapped",
            "A and B have changed places: dA needs B's transpose, dB needs A's.",
            (("swapaxes(B", "swapaxes(A"), ("swapaxes(A", "swapaxes(B")),
        ),
        in_either(
            "factors in the wrong order",
            "The order of the factors is wrong: one gradient has dC on its left, the other on its right.",
            ((f"dC @ {BT}", f"{BT} @ dC"), (f"{AT} @ dC", f"dC @ {AT}")),
        ),
        in_either(
            "wrong sign",
            "The sign is wrong: C is a sum of products, and nothing in it is subtracted.",
            (("dA = dC", "dA = -dC"), ("dB = np", "dB = -np")),
        ),
        Mistake(
            "gradients exchanged",
            "The two gradients come back in the wrong order: dA first, then dB.",
            ("return dA, dB", "return dB, dA"),
        ),
        sums(
            "broadcast axes not summed",
            "Where a factor was broadcast, each of its entries was used many times: sum its gradient over those axes.",
            "as_it_is({0})",
        ),
        sums(
            "broadcast axes averaged",
            "Over broadcast axes the gradient is a sum, not a mean: every use adds its share.",
            "fold({0}, np.mean)",
        ),
        sums(
            "only leading axes summed",
            "A factor is also broadcast along an axis where its own length is 1: sum over it, and keep it.",
            "leading({0})",
        ),
        sums(
            "only the first axis summed",
            "A factor can be broadcast along several axes, and along others than the first: sum over each of them.",
            "first({0})",
            "first_if_unlike({0})",
            "first_then_stretched({0})",
        ),
    ),
    outputs=("dA", "dB"),
    verified="equal to torch.autograd on 11 pairs of shapes, some batched, some broadcast",
    oracle=lambda A, B, dC: by_torch(torch.matmul, {"A": A, "B": B}, dC),
)


def softmax_cross_entropy(logits, labels):
    """logits: (n, classes). labels: (n,). Returns dlogits, for the rows' mean of -log softmax(logits)[label]."""
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    one_hot = np.eye(logits.shape[1])[labels]
    return (p - one_hot) / len(logits)


def softmax_case(title: str, rows: int, classes: int, shift: Any = 0.0) -> Case:
    random = np.random.default_rng(rows)
    logits = random.normal(size=(rows, classes)) * 2 + shift
    return Case(title, {"logits": logits, "labels": random.integers(0, classes, rows)})


TOP, SUM, GRADIENT = "logits.max(axis=1, keepdims=True)", "e.sum(axis=1, keepdims=True)", "(p - one_hot)"
check_softmax_cross_entropy = Exercise(
    "softmax + cross-entropy backward",
    softmax_cross_entropy,
    (
        softmax_case("4 rows, 4 classes", 4, 4),
        softmax_case("6 rows, 3 classes", 6, 3),
        softmax_case("one row, 5 classes", 1, 5),
        softmax_case("logits near 1000", 3, 4, shift=1000.0),
        softmax_case("rows at different levels: logits near 0, 1000, -1000", 3, 4, shift=[[0.0], [1000.0], [-1000.0]]),
        Case("a label whose p is 0 to every digit", {"logits": np.array([[900.0, 0.0]]), "labels": np.array([1])}),
    ),
    (
        Mistake(
            "one-hot not subtracted",
            "That is the softmax alone: subtract 1 at each row's label.",
            (GRADIENT, "p"),
        ),
        Mistake(
            "wrong sign",
            "The sign is wrong: it is softmax minus one-hot.",
            (GRADIENT, "(one_hot - p)"),
        ),
        Mistake(
            "softmax over the batch",
            "The softmax runs along the wrong axis: each row is one distribution over the classes.",
            [(TOP, "logits.max(axis=0, keepdims=True)"), (SUM, "e.sum(axis=0, keepdims=True)")],
        ),
        Mistake(
            "normalized by another sum",
            "Each row is one distribution: divide its exponentials by that row's own sum.",
            (SUM, "e.sum()"),
            (SUM, "e.sum(axis=0)"),
        ),
        Mistake(
            "softmax applied twice",
            "The softmax is taken of numbers that are probabilities already.",
            ("one_hot =", "p = np.exp(p) / np.exp(p).sum(axis=1, keepdims=True); one_hot ="),
        ),
        Mistake(
            "logits instead of probabilities",
            "One-hot is subtracted from the logits themselves: take their softmax first.",
            (GRADIENT, "(logits - one_hot)"),
        ),
        Mistake(
            "gradient of the probabilities",
            "That is the gradient with respect to the probabilities, -1/p at the label: carry it on through the "
            "softmax.",
            (GRADIENT, "(-one_hot / p)"),
        ),
        Mistake(
            "only the diagonal of the softmax's Jacobian",
            "Every logit moves every probability of its row: off the label the gradient is p, not 0.",
            (GRADIENT, "(-one_hot * (1 - p))"),
        ),
        Mistake(
            "exponentials overflow",
            "Large logits overflow in exp: subtract each row's largest logit first, which changes nothing else.",
            (f" - {TOP}", ""),
        ),
        Mistake(
            "one maximum for all rows",
            "Subtract each row's own largest logit, not the whole array's: next to it, exp of every entry of a lower "
            "row is 0.",
            (TOP, "logits.max()"),
            [(TOP, "logits.max()"), (f"e / {SUM}", f"np.exp(logits - logits.max() - np.log({SUM}))")],
        ),
        Mistake(
            "each column's largest subtracted",
            "Subtract each row's own largest logit, not each column's: only a number shared by the whole row cancels "
            "in its softmax.",
            (TOP, "logits.max(axis=0)"),
        ),
        Mistake(
            "keepdims left out",
            "A maximum or a sum over a row needs keepdims=True, or it is matched with the columns.",
            (TOP, "logits.max(axis=1)"),
            (SUM, "e.sum(axis=1)"),
            [(TOP, "logits.max(axis=1)"), (SUM, "e.sum(axis=1)")],
        ),
        Mistake(
            "1 subtracted from whole columns",
            "`p[:, labels]` means those columns in every row: pair each row with its own label, "
            "p[np.arange(n), labels].",
            (GRADIENT, "(p - one_hot.any(axis=0))"),
        ),
        Mistake(
            "1 subtracted from whole rows",
            "`p[labels]` means whole rows: pair each row with its own label, p[np.arange(n), labels].",
            ("one_hot =", "p[labels] -= 1; one_hot = 0 *"),
        ),
        Mistake(
            "divided by a probability of 0",
            "At the label p can be too small for a float, and then 1/p is infinite: let the two cancel on paper first.",
            (GRADIENT, "(p * (-one_hot / p - (-one_hot / p * p).sum(axis=1, keepdims=True)))"),
        ),
        Mistake(
            "not divided by the batch",
            "The loss is the mean over the rows, so each row's share of the gradient is divided by their number.",
            (" / len(logits)", ""),
        ),
        Mistake(
            "divided by every entry",
            "The mean is over the rows, not over rows times classes.",
            ("len(logits)", "logits.size"),
        ),
        Mistake(
            "divided by the classes",
            "The loss is a mean over the rows: divide by their number, not by that of the classes.",
            ("len(logits)", "logits.shape[1]"),
        ),
    ),
    outputs=("dlogits",),
    verified="equal to torch.autograd on 6 batches, also with rows near 1000 and -1000 at once",
    oracle=lambda logits, labels: by_torch(
        partial(torch.nn.functional.cross_entropy, target=torch.as_tensor(labels)), {"logits": logits}, np.ones(())
    )[0],
)


def layernorm(x, gamma, eps, dy):
    """x, dy: (n, d). gamma: (d,). Returns dx, dgamma, dbeta of y = gamma xhat + beta, each row normalized."""
    s = np.sqrt(x.var(-1, keepdims=True) + eps)
    xhat = (x - x.mean(-1, keepdims=True)) / s
    d = dy * gamma
    by_mean = d.mean(-1, keepdims=True)
    by_variance = xhat * (d * xhat).mean(-1, keepdims=True)
    dx = (d - by_mean - by_variance) / s
    return dx, (dy * xhat).sum(0), dy.sum(0)


def batchnorm(x, gamma, eps, dy):
    """x, dy: (n, d). gamma: (d,). Returns dx, dgamma, dbeta of y = gamma xhat + beta, each feature normalized."""
    s = np.sqrt(x.var(0, keepdims=True) + eps)
    xhat = (x - x.mean(0, keepdims=True)) / s
    d = dy * gamma
    by_mean = d.mean(0, keepdims=True)
    by_variance = xhat * (d * xhat).mean(0, keepdims=True)
    dx = (d - by_mean - by_variance) / s
    return dx, (dy * xhat).sum(0), dy.sum(0)


def norm_mistakes(axis: int) -> tuple[Mistake, ...]:
    """What can go wrong in either; `axis` is the one that the statistics run over."""
    n, one, other = ("d", "a row's features", "the batch") if axis == -1 else ("n", "the batch", "a row's features")
    wrong_length = "len(d)" if axis == -1 else "d.shape[1]"
    mean, variance = f"d.mean({axis}, keepdims=True)", f"xhat).mean({axis}, keepdims=True)"

    def either(mean_instead: str, variance_instead: str) -> tuple[list[tuple[str, str]], ...]:
        edits = (mean, mean_instead), (variance, variance_instead)
        return [*edits], [edits[0]], [edits[1]]

    def parameters(name: str, explanation: str, dgamma: str, dbeta: str) -> Mistake:
        return Mistake(name, explanation, [("(dy * xhat).sum(0)", dgamma), (" dy.sum(0)", f" {dbeta}")])

    return (
        Mistake(
            "mean treated as a constant",
            "The mean depends on x as well: its path back to x is missing.",
            (" - by_mean", ""),
        ),
        Mistake(
            "variance treated as a constant",
            "The variance depends on x as well: its path back to x is missing.",
            (" - by_variance", ""),
        ),
        Mistake(
            "mean and variance treated as constants",
            "Both statistics depend on x: their two paths back to it are missing.",
            (" - by_mean - by_variance", ""),
        ),
        Mistake(
            "sign of the mean's path",
            "The path through the mean has the wrong sign: a larger mean makes xhat smaller.",
            (" - by_mean", " + by_mean"),
        ),
        Mistake(
            "sign of the variance's path",
            "The path through the variance has the wrong sign: a larger v brings xhat nearer to 0.",
            (" - by_variance", " + by_variance"),
        ),
        Mistake(
            "signs of both paths",
            "The paths through the mean and through the variance both have the wrong sign.",
            (" - by_mean - by_variance", " + by_mean + by_variance"),
        ),
        Mistake(
            "factor in the variance's path",
            "A factor is wrong in the path through the variance: a square brings a 2, a root a half, each once.",
            (" - by_variance", " - 2 * by_variance"),
            (" - by_variance", " - by_variance / 2"),
        ),
        Mistake(
            "gamma left out of dx",
            "dx starts from y, and gamma lies between y and xhat: it is missing on the way.",
            ("dy * gamma", "dy"),
        ),
        Mistake(
            "not divided by the standard deviation",
            "On its way back to x everything passes the division by the root: it is missing.",
            ("by_variance) / s", "by_variance)"),
        ),
        Mistake(
            "divided by the variance",
            "dx is divided by the root of v + eps once too often.",
            ("by_variance) / s", "by_variance) / s**2"),
        ),
        Mistake(
            "eps outside the root",
            "eps belongs under the root: sqrt(var + eps), not sqrt(var) + eps.",
            (" + eps)", ") + eps"),
        ),
        Mistake(
            "eps left out",
            "The forward pass divides by sqrt(var + eps): eps is missing.",
            (" + eps", ""),
        ),
        Mistake(
            "root left out",
            "The forward pass divides by the root of v + eps, not by v + eps.",
            ("np.sqrt(", "("),
        ),
        Mistake(
            "unbiased variance",
            f"The variance divides by {n}, not {n} - 1 (ddof=1).",
            (f"x.var({axis}", f"x.var({axis}, ddof=1"),
        ),
        Mistake(
            "statistics over the wrong axis",
            f"The statistics run over {one}, not over {other}: the axis is wrong.",
            [(f"{f}({axis}", f"{f}({-1 - axis}") for f in ("x.var", "x.mean", "d.mean", "xhat).mean")],
        ),
        Mistake(
            "dgamma from x",
            "In y = gamma * xhat + beta it is xhat that stands beside gamma: dgamma was made with x.",
            ("(dy * xhat)", "(dy * x)"),
        ),
        Mistake(
            "xhat left out of dgamma",
            "That is beta's gradient: what stands beside gamma in y is missing in dgamma.",
            ("(dy * xhat)", "dy"),
        ),
        Mistake(
            "sums instead of means",
            f"Each entry has a share of 1/{n} in a statistic: a sum stands where a mean belongs.",
            *either(mean.replace("mean", "sum"), variance.replace("mean", "sum")),
        ),
        Mistake(
            "divided by the wrong length",
            f"The statistics are over {one}: their sums are divided by {n}, and by nothing else.",
            *either(
                f"{mean.replace('mean', 'sum')} / {wrong_length}", f"{variance.replace('mean', 'sum')} / {wrong_length}"
            ),
        ),
        parameters(
            "parameters' gradients with the wrong sign",
            "The sign is wrong: gamma and beta enter y with a plus.",
            "-(dy * xhat).sum(0)",
            "-dy.sum(0)",
        ),
        parameters(
            "parameters' gradients averaged",
            "gamma and beta are used once in every row: their gradients are sums over the batch, not means.",
            "(dy * xhat).mean(0)",
            "dy.mean(0)",
        ),
        parameters(
            "parameters' gradients not summed",
            "gamma and beta are broadcast over the batch: sum their gradients over it, to their shape (d,).",
            "dy * xhat",
            "dy",
        ),
        parameters(
            "parameters' gradients summed over the features",
            "gamma and beta have an entry for each feature: sum over the batch, axis 0, not over the features.",
            "(dy * xhat).sum(1)",
            "dy.sum(1)",
        ),
        parameters(
            "parameters' gradients with an axis too many",
            "dgamma and dbeta have the shape of gamma, (d,): leave keepdims=True out.",
            "(dy * xhat).sum(0, keepdims=True)",
            "dy.sum(0, keepdims=True)",
        ),
        Mistake(
            "dgamma and dbeta exchanged",
            "dgamma and dbeta come back in the wrong order: dx, dgamma, dbeta.",
            ("(dy * xhat).sum(0), dy.sum(0)", "dy.sum(0), (dy * xhat).sum(0)"),
        ),
    )


GAMMA_LATE = Mistake(
    "gamma applied after the projection",
    "gamma differs along a row, so it must go in before the row's means are taken, not after.",
    [("dy * gamma", "dy"), ("dx = (d", "dx = gamma * (d")],
)


def norm_case(title: str, rows: int, features: int, eps: float, spread: float = 1.0) -> Case:
    random = np.random.default_rng(rows * 10 + features)
    x = random.normal(size=(rows, features)) * spread + random.normal(size=features)
    gamma, dy = random.uniform(0.5, 2, features), random.normal(size=(rows, features))
    return Case(title, {"x": x, "gamma": gamma, "eps": eps, "dy": dy})


def norm_exercise(title: str, reference: Callable[..., Any], axis: int, *more: Mistake) -> Exercise:
    def oracle(x, gamma, eps, dy):
        def forward(x, gamma, beta):
            centered = x - x.mean(axis, keepdim=True)
            return centered / (centered.square().mean(axis, keepdim=True) + eps).sqrt() * gamma + beta

        return by_torch(forward, {"x": x, "gamma": gamma, "beta": np.zeros_like(gamma)}, dy)

    return Exercise(
        title,
        reference,
        (
            norm_case("x (4, 4), eps 1e-5", 4, 4, 1e-5),
            norm_case("x (3, 6), eps 0.1", 3, 6, 0.1),
            norm_case("x (8, 5), eps 1e-5, offset and narrow", 8, 5, 1e-5, spread=0.05),
        ),
        (*norm_mistakes(axis), *more),
        outputs=("dx", "dgamma", "dbeta"),
        verified="equal to torch.autograd on 3 batches, with small and large eps",
        oracle=oracle,
    )


check_layernorm = norm_exercise("LayerNorm backward", layernorm, -1, GAMMA_LATE)
check_batchnorm = norm_exercise("BatchNorm backward", batchnorm, 0)
