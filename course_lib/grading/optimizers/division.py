"""The mistakes known by name in the correction of averages and the division by a root: edits of a rule's own lines."""

from course_lib.grading.mistake import Mistake


def corrections(v: str = "v", what: str = "v") -> tuple[Mistake, ...]:
    """The mistakes in m_hat and v_hat. v: what the divisor is called in the rule; what: in words."""
    v_hat, below = f"{v}_hat", f"(root({v}_hat) + eps)"
    return (
        Mistake(
            "no bias correction",
            f"m and {what} start at 0, and are too small at first: divide them by 1 - b1^t and 1 - b2^t.",
            [(" / (1 - b1**t)", ""), (" / (1 - b2**t)", "")],
        ),
        Mistake(
            "bias correction of m alone",
            f"m is corrected and {what} is not: divide {what} by 1 - b2^t as well.",
            (" / (1 - b2**t)", ""),
        ),
        Mistake(
            "bias correction of v alone",
            f"{what} is corrected and m is not: divide m by 1 - b1^t as well.",
            (" / (1 - b1**t)", ""),
        ),
        Mistake(
            "bias correction multiplied",
            f"m and {what} are multiplied by 1 - b^t: divide by it, for they are too small.",
            [("/ (1 - b1**t)", "* (1 - b1**t)"), ("/ (1 - b2**t)", "* (1 - b2**t)")],
        ),
        Mistake(
            "bias corrections exchanged",
            f"m was divided by 1 - b2^t and {what} by 1 - b1^t: each average has its own b.",
            [("b1**t", "b2**t"), ("b2**t", "b1**t")],
        ),
        Mistake("b1 in both corrections", f"{what} is corrected with b1: divide it by 1 - b2^t.", ("b2**t", "b1**t")),
        Mistake("b2 in both corrections", "m is corrected with b2: divide it by 1 - b1^t.", ("b1**t", "b2**t")),
        Mistake(
            "bias correction outside the root",
            f"lr (1 - b2^t) / (1 - b1^t) needs the root of 1 - b2^t: it belongs under the root, with {what}.",
            ("(1 - b2**t)", "(1 - b2**t) ** 2"),
            [(f"{v_hat} = {v} / (1 - b2**t)", f"{v_hat} = {v}"), (below, f"({below} / (1 - b2**t))")],
        ),
        Mistake(
            "b t in place of b^t",
            "The correction is 1 - b^t, a power: not 1 - b t.",
            [("b1**t", "b1 * t"), ("b2**t", "b2 * t")],
        ),
        Mistake(
            "bias correction without the power",
            f"m and {what} are divided by 1 - b at every step: the correction is 1 - b^t, and fades (has t stayed at"
            " 1?).",
            [("b1**t", "b1"), ("b2**t", "b2")],
        ),
        Mistake(
            "t starts at 0",
            "t is one behind: it is 1 in the first step, where 1 - b^0 = 0 divides by zero. Count before use.",
            ("step(t, ", "step(t - 1, "),
        ),
        Mistake("t starts at 2", "t is one ahead: it is 1 in the first step.", ("step(t, ", "step(t + 1, ")),
        Mistake(
            "eps added before the bias correction",
            f"eps was added to the root of the uncorrected {v}, and is scaled by the correction: correct {what} first.",
            [(f"{v_hat} = {v} / (1 - b2**t)", f"{v_hat} = {v}"), (below, f"({below} / (1 - b2**t) ** 0.5)")],
        ),
        Mistake(
            "eps inside the root, before the bias correction",
            f"eps was added to {what} inside the root and before its correction: sqrt({v} / (1 - b2^t)) + eps.",
            [(f"{v_hat} = {v} / (", f"{v_hat} = ({v} + eps) / ("), (below, f"root({v_hat})")],
        ),
    )


def division(v: str, top: str) -> tuple[Mistake, ...]:
    """The mistakes in the division of `top` by the root of v, plus eps."""
    x, below = v.removesuffix("_hat"), f"(root({v}) + eps)"
    return (
        Mistake(
            "eps inside the root",
            f"eps is inside the root, sqrt({x} + eps): it belongs outside, sqrt({x}) + eps.",
            (f"root({v}) + eps", f"root({v} + eps)"),
        ),
        Mistake("eps left out", "eps is missing: an entry whose gradients are 0 gets 0 / 0.", (below, f"root({v})")),
        Mistake("eps as a floor", "The root is kept above eps: eps is added to it.", (below, f"root({v}).clip(eps)")),
        Mistake(
            "missing parentheses",
            "eps is added to the whole fraction, not to the root below it: put parentheses around (root + eps).",
            (below, f"root({v}) - eps"),
            (below, f"root({v}) + eps"),
            (below, f"(lr / (lr / root({v}) + eps))"),
        ),
        Mistake(
            "missing root",
            f"The step is divided by {x}, and should be divided by its square root.",
            (f"root({v})", v),
        ),
        Mistake(
            "multiplied by the root",
            "The step is multiplied by the root: divide by it.",
            (f"{top} / {below}", f"{top} * {below}"),
        ),
    )
