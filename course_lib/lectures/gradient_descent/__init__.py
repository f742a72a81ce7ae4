"""What lecture 02 calls."""

from course_lib.lectures.gradient_descent.batch_size import batch_sweep, linear_scaling, tanh_mlp
from course_lib.lectures.gradient_descent.edge_of_stability import edge_of_stability, landscape
from course_lib.lectures.gradient_descent.exercises import (
    check_best_step,
    check_gradient_step,
    check_minibatch_gradient,
    check_noise_scale,
    check_sharpness,
)
from course_lib.lectures.gradient_descent.gradient_noise import gradient_variance, noise_ball, noise_scale, replacement
from course_lib.lectures.gradient_descent.quadratics import bowl, contraction, iterations, step_sweep, trajectory

__all__ = [
    "batch_sweep",
    "bowl",
    "check_best_step",
    "check_gradient_step",
    "check_minibatch_gradient",
    "check_noise_scale",
    "check_sharpness",
    "contraction",
    "edge_of_stability",
    "gradient_variance",
    "iterations",
    "landscape",
    "linear_scaling",
    "noise_ball",
    "noise_scale",
    "replacement",
    "step_sweep",
    "tanh_mlp",
    "trajectory",
]
