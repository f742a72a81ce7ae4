"""Functions to descend: five in the plane that can be drawn, and quadratics of any dimension with a chosen spectrum."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor

Points = TypeVar("Points", Tensor, np.ndarray)
Name = Literal["ravine", "turned ravine", "rosenbrock", "saddle", "beale"]


@dataclass(frozen=True, eq=False)
class Surface:
    """A polynomial f(x, y), said by coordinate: `at` and `slope` take floats, arrays or tensors, all of one shape.

    at(x, y) -> f.  slope(x, y) -> (df/dx, df/dy), in closed form: with floats about a microsecond.
    start: where a run begins. minimum: a point where f is lowest (the saddle has a second one).
    window: (left, right, bottom, top), the part worth drawing.
    """

    name: str
    at: Callable[[Any, Any], Any]
    slope: Callable[[Any, Any], tuple[Any, Any]]
    start: tuple[float, float]
    minimum: tuple[float, float]
    window: tuple[float, float, float, float]

    def value(self, points: Points) -> Points:
        """points: (..., 2), a tensor or an array. Returns f: (...)."""
        return self.at(points[..., 0], points[..., 1])

    def gradient(self, points: Points) -> Points:
        """points: (..., 2), a tensor or an array. Returns the gradient: (..., 2)."""
        slope = self.slope(points[..., 0], points[..., 1])
        return torch.stack(slope, -1) if isinstance(points, Tensor) else np.stack(slope, -1)

    def gradient_at(self, point: Tensor) -> Tensor:
        """The gradient at one point: (2,) to (2,). By way of floats, so much faster, but not under vmap or autograd."""
        return torch.tensor(self.slope(*point.tolist()), dtype=point.dtype)


def ravine(kappa: float = 20.0, angle: float = 0.0) -> Surface:
    """The quadratic with curvature 1 along one axis and kappa across it; the axes are turned by `angle` radians.

    Raises ValueError unless kappa >= 1, the condition number.
    """
    if not 1 <= kappa < math.inf:
        raise ValueError(f"ravine: kappa must be at least 1 and finite, got {kappa}")
    c, s = math.cos(angle), math.sin(angle)
    a, b, d = c * c + kappa * s * s, (1 - kappa) * c * s, s * s + kappa * c * c
    return Surface(
        "turned ravine" if angle else "ravine",
        at=lambda x, y: (a * x * x + 2 * b * x * y + d * y * y) / 2,
        slope=lambda x, y: (a * x + b * y, b * x + d * y),
        start=(-1.8 * c - 0.6 * s, -1.8 * s + 0.6 * c),
        minimum=(0.0, 0.0),
        window=(-2.0, 2.0, -1.0, 1.0) if angle == 0 else (-2.0, 2.0, -2.0, 2.0),
    )


def _rosenbrock_slope(x: Any, y: Any) -> tuple[Any, Any]:
    r = 200 * (y - x * x)
    return 2 * (x - 1) - 2 * x * r, r


def _beale_terms(x: Any, y: Any) -> tuple[Any, Any, Any]:
    return 1.5 - x + x * y, 2.25 - x + x * y * y, 2.625 - x + x * y * y * y


def _beale(x: Any, y: Any) -> Any:
    p, q, r = _beale_terms(x, y)
    return p * p + q * q + r * r


def _beale_slope(x: Any, y: Any) -> tuple[Any, Any]:
    p, q, r = _beale_terms(x, y)
    return 2 * (p * (y - 1) + q * (y * y - 1) + r * (y * y * y - 1)), 2 * x * (p + 2 * y * q + 3 * y * y * r)


SURFACES: dict[str, Surface] = {
    s.name: s
    for s in (
        ravine(),
        ravine(angle=math.pi / 4),
        Surface(  # Rosenbrock 1960: a curved valley whose floor slopes gently
            "rosenbrock",
            at=lambda x, y: (1 - x) * (1 - x) + 100 * (y - x * x) * (y - x * x),
            slope=_rosenbrock_slope,
            start=(-1.2, 1.0),
            minimum=(1.0, 1.0),
            window=(-2.0, 2.0, -1.0, 3.0),
        ),
        Surface(  # a saddle at the origin between two minima; the start is almost on the ridge that leads into it
            "saddle",
            at=lambda x, y: (x * x - y * y) / 2 + y * y * y * y / 4,
            slope=lambda x, y: (x, y * y * y - y),
            start=(-1.5, 1e-3),
            minimum=(0.0, 1.0),
            window=(-2.0, 2.0, -1.6, 1.6),
        ),
        Surface(  # Beale 1958: a flat floor with steep corners
            "beale",
            at=_beale,
            slope=_beale_slope,
            start=(1.0, 1.5),
            minimum=(3.0, 0.5),
            window=(-0.5, 4.0, -1.0, 2.0),
        ),
    )
}


def surface(name: str) -> Surface:
    """The surface of that name. Raises ValueError where there is none."""
    if name not in SURFACES:
        raise ValueError(f"surfaces: there is no surface {name!r}; there are {', '.join(SURFACES)}")
    return SURFACES[name]


@dataclass(frozen=True, eq=False)
class Quadratic:
    """f(theta) = theta^T H theta / 2, lowest at 0; all in float64.

    eigenvalues: (n,). directions: (n, n), column i the eigenvector of eigenvalue i. hessian: (n, n).
    start: (n,), at distance 1 along every eigenvector.
    """

    eigenvalues: Tensor
    directions: Tensor
    hessian: Tensor
    start: Tensor

    def value(self, points: Tensor) -> Tensor:
        """points: (..., n). Returns f: (...)."""
        return (points @ self.hessian * points).sum(-1) / 2

    def gradient(self, points: Tensor) -> Tensor:
        """points: (..., n). Returns H theta: (..., n)."""
        return points @ self.hessian


def quadratic(eigenvalues: Sequence[float] | Tensor, *, seed: int | None = None) -> Quadratic:
    """A quadratic with this spectrum along the coordinate axes or, with a seed, along randomly rotated axes (Haar)."""
    spectrum = torch.as_tensor(eigenvalues, dtype=torch.float64)
    if spectrum.ndim != 1 or not len(spectrum) or not bool(spectrum.isfinite().all()):
        raise ValueError(f"quadratic: eigenvalues must be finite numbers, at least one, got {eigenvalues}")
    directions = torch.eye(len(spectrum), dtype=torch.float64)
    if seed is not None:
        generator = torch.Generator().manual_seed(seed)
        q, r = torch.linalg.qr(torch.randn(directions.shape, dtype=torch.float64, generator=generator))
        directions = q * r.diagonal().sign()
    return Quadratic(spectrum, directions, (directions * spectrum) @ directions.T, directions.sum(1))


def noisy_gradient(surface: Surface | Quadratic, points: Tensor, sigma: float, *, generator: torch.Generator) -> Tensor:
    """The gradient at points (..., n) plus independent normal noise of standard deviation sigma in every coordinate."""
    return surface.gradient(points) + sigma * torch.randn(points.shape, dtype=points.dtype, generator=generator)
