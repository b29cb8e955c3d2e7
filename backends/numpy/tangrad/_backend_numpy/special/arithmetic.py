"""NumPy's arithmetic for `tangrad._lax.special.incomplete`, which says what it consists of."""

from __future__ import annotations

import numpy as np

from tangrad._backend_numpy.special.error_functions import erfc as erfc
from tangrad._backend_numpy.special.gamma_functions import digamma as digamma
from tangrad._backend_numpy.special.gamma_functions import lgamma as lgamma
from tangrad._backend_numpy.special.gamma_functions import lgamma_1p as lgamma_1p
from tangrad._backend_numpy.special.gamma_functions import stirling_remainder as stirling_remainder
from tangrad._backend_numpy.special.pieces import converge as converge
from tangrad._backend_numpy.special.pieces import piecewise as piecewise
from tangrad._backend_numpy.special.pieces import polynomial as polynomial

exp, log, log1p, expm1, sqrt, abs = np.exp, np.log, np.log1p, np.expm1, np.sqrt, np.abs
minimum, maximum, copysign, where, is_finite = np.minimum, np.maximum, np.copysign, np.where, np.isfinite


def like(x: np.ndarray, number: float) -> np.ndarray:
    """An array full of a number."""
    return np.full_like(x, number)
