"""erf, erfc and the inverse of erf."""

from __future__ import annotations

import numpy as np

from tangrad._backend_numpy.special.pieces import constant, piecewise, polynomial

# The rational approximations of FDLIBM, the freely distributable C library of Sun Microsystems (s_erf.c, 1993; see
# NOTICE), whose errors are below one unit in the last place. Highest power first.
_ERF_P = (
    -2.37630166566501626084e-05, -5.77027029648944159157e-03, -2.84817495755985104766e-02, -3.25042107247001499370e-01,
    1.28379167095512558561e-01,
)  # fmt: skip
_ERF_Q = (
    -3.96022827877536812320e-06, 1.32494738004321644526e-04, 5.08130628187576562776e-03, 6.50222499887672944485e-02,
    3.97917223959155352819e-01, 1.0,
)  # fmt: skip
_ERF_NEAR_1 = 8.45062911510467529297e-01
_NEAR_1_P = (
    -2.16637559486879084300e-03, 3.54783043256182359371e-02, -1.10894694282396677476e-01, 3.18346619901161753674e-01,
    -3.72207876035701323847e-01, 4.14856118683748331666e-01, -2.36211856075265944077e-03,
)  # fmt: skip
_NEAR_1_Q = (
    1.19844998467991074170e-02, 1.36370839120290507362e-02, 1.26171219808761642112e-01, 7.18286544141962662868e-02,
    5.40397917702171048937e-01, 1.06420880400844228286e-01, 1.0,
)  # fmt: skip
_MIDDLE_P = (
    -9.81432934416914548592e+00, -8.12874355063065934246e+01, -1.84605092906711035994e+02, -1.62396669462573470355e+02,
    -6.23753324503260060396e+01, -1.05586262253232909814e+01, -6.93858572707181764372e-01, -9.86494403484714822705e-03,
)  # fmt: skip
_MIDDLE_Q = (
    -6.04244152148580987438e-02, 6.57024977031928170135e+00, 1.08635005541779435134e+02, 4.29008140027567833386e+02,
    6.45387271733267880336e+02, 4.34565877475229228821e+02, 1.37657754143519042600e+02, 1.96512716674392571292e+01, 1.0,
)  # fmt: skip
_TAIL_P = (
    -4.83519191608651397019e+02, -1.02509513161107724954e+03, -6.37566443368389627722e+02, -1.60636384855821916062e+02,
    -1.77579549177547519889e+01, -7.99283237680523006574e-01, -9.86494292470009928597e-03,
)  # fmt: skip
_TAIL_Q = (
    -2.24409524465858183362e+01, 4.74528541206955367215e+02, 2.55305040643316442583e+03, 3.19985821950859553908e+03,
    1.53672958608443695994e+03, 3.25792512996573918826e+02, 3.03380607434824582924e+01, 1.0,
)  # fmt: skip


def erf(x: np.ndarray) -> np.ndarray:
    """The error function."""
    size = np.abs(x)
    return piecewise(
        (x,),
        (size < 0.84375, lambda x: x + x * _central(x)),
        ((size >= 0.84375) & (size < 1.25), lambda x: np.copysign(_ERF_NEAR_1 + _near_1(x), x)),
        ((size >= 1.25) & (size < 6), lambda x: np.copysign(1 - _tail(np.abs(x)), x)),
        (size >= 6, lambda x: np.copysign(1.0, x)),
        (np.isnan(x), lambda x: x),
    )


def erfc(x: np.ndarray) -> np.ndarray:
    """1 - erf(x)."""
    size = np.abs(x)
    return piecewise(
        (x,),
        (size < 0.84375, _central_complement),
        ((size >= 0.84375) & (size < 1.25), _near_1_complement),
        ((x >= 1.25) & (x < 28), lambda x: _tail(x)),
        ((x <= -1.25) & (x > -6), lambda x: 2 - _tail(-x)),
        (x >= 28, constant(0.0)),
        (x <= -6, constant(2.0)),
        (np.isnan(x), lambda x: x),
    )


def _central(x: np.ndarray) -> np.ndarray:
    square = x * x
    return polynomial(square, _ERF_P) / polynomial(square, _ERF_Q)


def _central_complement(x: np.ndarray) -> np.ndarray:
    ratio = x * _central(x)
    return np.where(x < 0.25, 1 - (x + ratio), 0.5 - (x - 0.5 + ratio))


def _near_1(x: np.ndarray) -> np.ndarray:
    beyond = np.abs(x) - 1
    return polynomial(beyond, _NEAR_1_P) / polynomial(beyond, _NEAR_1_Q)


def _near_1_complement(x: np.ndarray) -> np.ndarray:
    ratio = _near_1(x)
    return np.where(x > 0, 1 - _ERF_NEAR_1 - ratio, 1 + (_ERF_NEAR_1 + ratio))


def _tail(x: np.ndarray) -> np.ndarray:
    """erfc(x) for x from 1.25."""
    near = x < 1 / 0.35
    square = 1 / (x * x)
    ratio = piecewise(
        (square,),
        (near, lambda s: polynomial(s, _MIDDLE_P) / polynomial(s, _MIDDLE_Q)),
        (~near, lambda s: polynomial(s, _TAIL_P) / polynomial(s, _TAIL_Q)),
    )
    # exp(-x²) from a shorter x, whose square is exact, and the rest.
    short = (x.view(np.int64) & -(1 << 32)).view(np.float64)
    return np.exp(-short * short - 0.5625) * np.exp((short - x) * (short + x) + ratio) / x


# --- the inverse ---------------------------------------------------------------------------------------------------

# M. Giles, "Approximating the erfinv function", GPU Computing Gems, Jade edition, 2011, chapter 10; single precision.
_GILES_CENTRAL = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
_GILES_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip


INVERSE_BLOCK = 1 << 15  # elements: the few arrays of a block stay in the cache, which is a third of the time


def erf_inv_single(x: np.ndarray) -> np.ndarray:
    """The inverse of erf in float32, by the same polynomials as XLA, so that normal samples agree.

    Of all numbers of 23 bits in (-1, 1) 94 % are bit for bit XLA's, and none is off by more than two units in the last
    place; polynomials in double precision agree less often, and take longer.
    """
    out = np.empty_like(x)
    for start in range(0, len(x), INVERSE_BLOCK):
        part = slice(start, start + INVERSE_BLOCK)
        erf_inv_block(x[part], out[part])
    return out


def erf_inv_block(x: np.ndarray, out: np.ndarray) -> None:
    """As `erf_inv_single`, into `out`, which must not be `x`. The polynomials are in log(1 - x²), or in its root."""
    np.multiply(x, x, out)
    np.negative(out, out)
    np.log1p(out, out)
    w = np.subtract(-2.5, out)
    factor = np.multiply(w, _GILES_CENTRAL[0])
    factor += _GILES_CENTRAL[1]
    for coefficient in _GILES_CENTRAL[2:]:
        factor *= w
        factor += coefficient
    rare = np.flatnonzero(out <= -5)
    if rare.size:
        log = out[rare]
        tail = polynomial(np.sqrt(-log) - np.float32(3), _GILES_TAIL)
        factor[rare] = np.where(log == -np.inf, np.float32(np.inf), tail)
    np.multiply(factor, x, out)


def erf_inv(x: np.ndarray) -> np.ndarray:
    """The inverse of erf: the single-precision approximation, improved by Halley's method."""
    size = np.abs(x)
    y = piecewise((size,), (size < 1, _inverse), (size == 1, constant(np.inf)), (~(size <= 1), constant(np.nan)))
    return np.copysign(y, x)


def _inverse(x: np.ndarray) -> np.ndarray:
    w = -np.log((1 - x) * (1 + x))
    root = np.where(w < 5, w - 2.5, np.sqrt(w) - 3)
    y = x * np.where(w < 5, polynomial(root, _GILES_CENTRAL), polynomial(root, _GILES_TAIL))
    # Beyond single precision: from erfc(y) ≈ exp(-y²) / (y √π).
    log = -np.log(1 - x)
    y = np.where(w < 16, y, np.sqrt(np.maximum(log - 0.5 * np.log(np.pi * np.maximum(log, 1)), 1)))
    for _ in range(3):
        # The residual is taken on the side where it keeps its digits: 1 - x is exact for x from 1/2.
        residual = piecewise((x, y), (x < 0.5, lambda x, y: erf(y) - x), (x >= 0.5, lambda x, y: (1 - x) - erfc(y)))
        step = residual * (np.sqrt(np.pi) / 2) * np.exp(y * y)
        y = y - step / (1 + y * step)
    return y
