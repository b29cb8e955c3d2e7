"""The special functions: `tangrad.lax.erf`, `lgamma`, `igamma`, …"""

from __future__ import annotations

from tangrad._lax.operands import align, operand, pair
from tangrad._lax.special import primitives as p
from tangrad.core import Array
from tangrad.typing import ArrayLike


def erf(x: ArrayLike) -> Array:
    """The error function of each element.

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> f"{float(tangrad.lax.erf(0.0)):.4f}"
    '0.0000'
    """
    return p.erf_p.bind(x if isinstance(x, Array) else operand("erf", x))


def erfc(x: ArrayLike) -> Array:
    """The complementary error function 1 - erf(x) of each element, accurate where it is small.

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> f"{float(tangrad.lax.erfc(0.0)):.4f}"
    '1.0000'
    """
    return p.erfc_p.bind(x if isinstance(x, Array) else operand("erfc", x))


def erf_inv(x: ArrayLike) -> Array:
    """The inverse of the error function at each element; infinite at -1 and 1, NaN beyond.

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> f"{float(tangrad.lax.erf_inv(0.0)):.4f}"
    '0.0000'
    """
    return p.erf_inv_p.bind(x if isinstance(x, Array) else operand("erf_inv", x))


def lgamma(x: ArrayLike) -> Array:
    """log |Γ(x)| of each element; infinite at 0, -1, -2, …

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> f"{float(tangrad.lax.lgamma(1.0)):.4f}"
    '0.0000'
    """
    return p.lgamma_p.bind(x if isinstance(x, Array) else operand("lgamma", x))


def digamma(x: ArrayLike) -> Array:
    """The derivative of log Γ at each element; NaN at -1, -2, …

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> f"{float(tangrad.lax.digamma(1.0)):.4f}"
    '-0.5772'
    """
    return p.digamma_p.bind(x if isinstance(x, Array) else operand("digamma", x))


def bessel_i0e(x: ArrayLike) -> Array:
    """exp(-|x|) I₀(x) of each element: the modified Bessel function of order 0, scaled.

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> f"{float(tangrad.lax.bessel_i0e(0.0)):.4f}"
    '1.0000'
    """
    return p.bessel_i0e_p.bind(x if isinstance(x, Array) else operand("bessel_i0e", x))


def bessel_i1e(x: ArrayLike) -> Array:
    """exp(-|x|) I₁(x) of each element: the modified Bessel function of order 1, scaled.

    Args:
        x: an array or number, floating.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for other dtypes.

    >>> import tangrad
    >>> f"{float(tangrad.lax.bessel_i1e(0.0)):.4f}"
    '0.0000'
    """
    return p.bessel_i1e_p.bind(x if isinstance(x, Array) else operand("bessel_i1e", x))


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of order m of the digamma function at x, element by element.

    Args:
        m, x: arrays or numbers of one dtype, floating; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> f"{float(tangrad.lax.polygamma(1.0, 1.0)):.4f}"
    '1.6449'
    """
    if getattr(m, "aval", 0) is not getattr(x, "aval", 1):
        m, x = pair("polygamma", m, x)
    return p.polygamma_p.bind(m, x)


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """The Hurwitz zeta function, the sum over k = 0, 1, … of (k + q)⁻ˣ, element by element.

    Args:
        x, q: arrays or numbers of one dtype, floating; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> f"{float(tangrad.lax.zeta(2.0, 1.0)):.4f}"
    '1.6449'
    """
    if getattr(x, "aval", 0) is not getattr(q, "aval", 1):
        x, q = pair("zeta", x, q)
    return p.zeta_p.bind(x, q)


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised lower incomplete gamma function P(a, x), element by element.

    Args:
        a, x: arrays or numbers of one dtype, floating; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> f"{float(tangrad.lax.igamma(1.0, 1.0)):.4f}"
    '0.6321'
    """
    if getattr(a, "aval", 0) is not getattr(x, "aval", 1):
        a, x = pair("igamma", a, x)
    return p.igamma_p.bind(a, x)


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), element by element.

    Args:
        a, x: arrays or numbers of one dtype, floating; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> f"{float(tangrad.lax.igammac(1.0, 1.0)):.4f}"
    '0.3679'
    """
    if getattr(a, "aval", 0) is not getattr(x, "aval", 1):
        a, x = pair("igammac", a, x)
    return p.igammac_p.bind(a, x)


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of igamma(a, x) with respect to a, element by element.

    Args:
        a, x: arrays or numbers of one dtype, floating; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> f"{float(tangrad.lax.igamma_grad_a(1.0, 1.0)):.4f}"
    '-0.4317'
    """
    if getattr(a, "aval", 0) is not getattr(x, "aval", 1):
        a, x = pair("igamma_grad_a", a, x)
    return p.igamma_grad_a_p.bind(a, x)


def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Array:
    """How a gamma-distributed sample x moves with the shape parameter a, its rank held fixed.

    Args:
        a, x: arrays or numbers of one dtype, floating; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> f"{float(tangrad.lax.random_gamma_grad(1.0, 1.0)):.4f}"
    '1.1736'
    """
    if getattr(a, "aval", 0) is not getattr(x, "aval", 1):
        a, x = pair("random_gamma_grad", a, x)
    return p.random_gamma_grad_p.bind(a, x)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularised incomplete beta function Iₓ(a, b), element by element.

    Args:
        a, b, x: arrays or numbers of one dtype, floating; of one shape, or scalars beside it, or with sizes of 1.

    Returns:
        An array of their common shape and dtype.

    Raises:
        TypeError: for other dtypes, or dtypes that differ.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> f"{float(tangrad.lax.betainc(1.0, 2.0, 0.5)):.4f}"
    '0.7500'
    """
    return p.regularized_incomplete_beta_p.bind(*align("betainc", a, b, x))
