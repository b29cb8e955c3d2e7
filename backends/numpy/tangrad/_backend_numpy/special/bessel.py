"""The modified Bessel functions I₀ and I₁, scaled by exp(-|x|)."""

from __future__ import annotations

import numpy as np

from tangrad._backend_numpy.special.pieces import chebyshev, piecewise
from tangrad.extend.lax import BESSEL_I0_FAR, BESSEL_I0_NEAR, BESSEL_I1_FAR, BESSEL_I1_NEAR


def bessel_i0e(x: np.ndarray) -> np.ndarray:
    """exp(-|x|) I₀(x)."""
    size = np.abs(x)
    return piecewise(
        (size,),
        (size <= 8, lambda x: chebyshev(x / 4 - 1, BESSEL_I0_NEAR)),
        (~(size <= 8), lambda x: chebyshev(16 / x - 1, BESSEL_I0_FAR) / np.sqrt(x)),
    )


def bessel_i1e(x: np.ndarray) -> np.ndarray:
    """exp(-|x|) I₁(x)."""
    size = np.abs(x)
    value = piecewise(
        (size,),
        (size <= 8, lambda x: x * chebyshev(x / 4 - 1, BESSEL_I1_NEAR)),
        (~(size <= 8), lambda x: chebyshev(16 / x - 1, BESSEL_I1_FAR) / np.sqrt(x)),
    )
    return np.copysign(value, x)
