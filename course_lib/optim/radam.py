r"""RAdam: Adam that does not divide by its root before enough gradients have gone into it."""

from course_lib.optim.adam import AdamState
from course_lib.optim.elementwise import elementwise, root, where
from course_lib.optim.transform import Hyper, Numbers, Row, Transform, legal


def radam(lr: Hyper = 1e-3, b1: Hyper = 0.9, b2: Hyper = 0.999, eps: Hyper = 1e-8) -> Transform:
    r"""Liu et al. 2020, algorithm 2, with the threshold and the eps of torch.optim.RAdam.

    .. math::
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t                                   \qquad (1) \\
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2                                 \qquad (2) \\
        \rho_t &= \rho_\infty - 2 t\, \beta_2^t / (1 - \beta_2^t), \quad
            \rho_\infty = 2 / (1 - \beta_2) - 1                                        \qquad (3) \\
        r_t &= \sqrt{\frac{(\rho_t - 4)(\rho_t - 2)\,\rho_\infty}
            {(\rho_\infty - 4)(\rho_\infty - 2)\,\rho_t}}                              \qquad (4) \\
        \Delta_t &= -\eta\, \hat m_t\, r_t \sqrt{1 - \beta_2^t} / (\sqrt{v_t} + \varepsilon)
            \quad\text{if } \rho_t > 5, \quad \text{else } -\eta\, \hat m_t            \qquad (5)

    with m-hat = m / (1 - b1^t). rho counts the gradients that v effectively averages. The paper turns at rho > 4 and
    has no eps; torch adds it before the correction, where `adam` adds it after. At b2 <= 2/3 rho stays below 5, and
    this is momentum.
    """
    legal("radam", lr=lr, b1=b1, b2=b2, eps=eps)

    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        m, v = row
        m = b1 * m + (1 - b1) * g  # (1)
        v = b2 * v + (1 - b2) * g * g  # (2)
        rho, r = rectification(t, b2)
        divided = r * root(1 - b2**t) / (root(v) + eps)
        return -lr * (m / (1 - b1**t)) * where(rho > 5, divided, 1.0), (m, v)  # (5)

    return elementwise(AdamState, step)


def rectification(t: Numbers, b2: Hyper) -> tuple[Numbers, Numbers]:
    """rho_t and r_t, (3) and (4) of `radam`; r_t is meant where rho_t > 5."""
    limit = 2 / (1 - b2) - 1
    rho = limit - 2 * t * b2**t / (1 - b2**t)  # (3)
    return rho, root((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho))  # (4)
