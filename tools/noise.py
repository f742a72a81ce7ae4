"""What another processor does to every random draw of torch: its last bit. Imported in a kernel or as a pytest plugin.

Where the environment variable COURSE_NOISE holds a number, each value that `torch.randn` or `Tensor.normal_` draws is
multiplied by 1 plus or minus the spacing of its type. Which sign it gets follows from that number and the shape alone:
two draws that were equal stay equal.
"""

import functools
import os
from collections.abc import Callable

import torch


def last_bit(values: torch.Tensor, seed: int) -> torch.Tensor:
    """values: a float tensor, changed in place. Each element grows or shrinks by one part in 1 / eps of its type."""
    generator = torch.Generator().manual_seed(seed)
    signs = 2.0 * torch.randint(2, values.shape, generator=generator) - 1
    with torch.no_grad():
        return values.mul_((1 + torch.finfo(values.dtype).eps * signs.double()).to(values.dtype))


def noisy(draw: Callable[..., torch.Tensor], seed: int) -> Callable[..., torch.Tensor]:
    @functools.wraps(draw)
    def drawn(*args: object, **options: object) -> torch.Tensor:
        return last_bit(draw(*args, **options), seed)

    return drawn


if seed := os.environ.get("COURSE_NOISE"):
    torch.randn = noisy(torch.randn, int(seed))
    torch.Tensor.normal_ = noisy(torch.Tensor.normal_, int(seed))  # type: ignore[method-assign]
