"""Samples of the special functions, for the conformance kit."""

from __future__ import annotations

import numpy as np

from tangrad._lax.special.primitives import special
from tangrad.conformance import Sample, draw

P = special.primitives
NEAR = 3e-4  # between the backends' approximations in single precision
LIMITS = {"special": "at infinity XLA gives NaN, where there are limits"}


def samples() -> list[Sample]:
    """All of them."""
    positive = draw(2, 3, low=0.6, high=3.0)
    other = draw(2, 3, low=0.6, high=3.0, seed=1)
    unit = draw(2, 3, low=0.2, high=0.8)
    found = [
        Sample(P["erf"], (draw(2, 3),), tolerance=NEAR),
        Sample(P["erfc"], (draw(2, 3),), tolerance=NEAR),
        Sample(P["erf_inv"], (draw(2, 3, low=-0.8, high=0.8),), tolerance=NEAR),
        Sample(P["lgamma"], (positive,), tolerance=NEAR),
        Sample(P["digamma"], (positive,), tolerance=NEAR),
        Sample(P["bessel_i0e"], (positive,), tolerance=NEAR),
        Sample(P["bessel_i1e"], (positive,), tolerance=NEAR),
        Sample(
            P["polygamma"], (np.full((2, 3), 2.0, np.float32), positive), derivatives=0, tolerance=NEAR, without=LIMITS
        ),
        Sample(P["zeta"], (positive + np.float32(1.2), other), derivatives=0, tolerance=NEAR, without=LIMITS),
        Sample(P["igamma"], (positive, other), derivatives=1, tolerance=NEAR),
        Sample(P["igammac"], (positive, other), derivatives=1, tolerance=NEAR),
        Sample(P["igamma_grad_a"], (positive, other), derivatives=0, tolerance=NEAR),
        Sample(P["random_gamma_grad"], (positive, other), derivatives=0, tolerance=NEAR),
        Sample(P["regularized_incomplete_beta"], (positive, other, unit), derivatives=0, tolerance=NEAR),
    ]
    for name in ("erf", "erfc", "lgamma", "digamma", "bessel_i0e"):
        found.append(Sample(P[name], (draw(3, dtype="float64", low=0.6, high=3.0),), tolerance=1e-8))
        found.append(Sample(P[name], (draw(3, dtype="bfloat16", low=0.6, high=3.0),)))
    return found
