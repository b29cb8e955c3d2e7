"""How variables vary together: `tangrad.numpy.cov`, `corrcoef`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad._numpy.fusing import as_one
from tangrad._numpy.joining import concatenate
from tangrad._numpy.operands import (
    array_operand,
    broadcast_to_shape,
    check_array_like,
    is_complex,
    promote_inexact,
    user_dtype,
)
from tangrad._numpy.products import dot
from tangrad._numpy.reductions import sum as total
from tangrad._numpy.refusals import check_promotion
from tangrad._numpy.rounding import conjugate, real
from tangrad._numpy.selection import clip, where
from tangrad._numpy.shapes import atleast_2d, expand_dims, squeeze
from tangrad._numpy.statistics import average
from tangrad.core import Array, dtypes
from tangrad.typing import ArrayLike, DTypeLike, Value


@as_one("rowvar", "bias", "ddof", "dtype")
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Estimate the covariances of variables.

    Args:
        m: observations, at most two dimensions: a row for each variable.
        y: further variables and observations.
        rowvar: whether rows are variables; otherwise columns.
        bias: whether to divide by the number of observations, instead of one less.
        ddof: what is subtracted from that number; None: as `bias` says.
        fweights: how often each observation occurred, integers.
        aweights: how much each observation counts.
        dtype: the dtype of the result.

    Returns:
        The matrix of covariances; a number for one variable.

    Raises:
        TypeError: for what is no array.
        ValueError: for more dimensions, and weights that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.cov(tangrad.numpy.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    check_array_like("cov", m, *([] if y is None else [y]))
    if y is not None:
        check_promotion("cov", m, y)
    given = promote_inexact("cov", *([m] if y is None else [m, y]))
    if dtype is not None:
        given = [asarray(value, dtype=dtype) for value in given]
    x = _as_rows("cov", given[0], rowvar)
    if y is not None:
        more = _as_rows("cov", given[1], rowvar)
        if x.shape[1] != more.shape[1]:
            raise ValueError(f"cov: m and y must have as many observations, got {x.shape[1]} and {more.shape[1]}")
        x = concatenate([x, more], axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    weights = _weights(x, fweights, aweights)
    if weights is None:
        means, normalizer = total(x, axis=1) / x.aval.shape[1], asarray(x.aval.shape[1] - ddof, dtype=x.aval.dtype)
    else:
        means, sums = average(x, axis=1, weights=weights, returned=True)
        normalizer = _normalizer(sums[0], weights, aweights, ddof)
    x = x - expand_dims(means, 1)
    other = conjugate(x if weights is None else x * weights)
    result = dot(x, other.T) / where(normalizer > 0, real(normalizer), 0)
    return squeeze(result)


def _as_rows(name: str, value: Value, rowvar: bool) -> Value:
    x = array_operand(name, value)
    if x.ndim > 2:
        raise ValueError(f"{name}: observations must have at most two dimensions, got shape {x.aval.shape}")
    x = atleast_2d(x)
    return x.T if not rowvar and x.aval.shape[0] != 1 else x


def _weights(x: Value, fweights: Any, aweights: Any) -> Value | None:
    count = x.aval.shape[1]
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        made = array_operand("cov", given)
        if made.ndim > 1 or made.aval.shape not in ((), (count,)):
            raise ValueError(f"cov: {name} must have shape ({count},), got {made.aval.shape}")
        if name == "fweights" and not dtypes.issubdtype(made.dtype, np.integer):
            raise TypeError(f"cov: fweights must be integers, got dtype {dtypes.dtype_name(made.dtype)}")
        made = abs(broadcast_to_shape(made, (count,)))
        weights = made if weights is None else weights * made
    return None if weights is None else weights.astype(x.aval.dtype)


def _normalizer(sums: Value, weights: Value, aweights: Any, ddof: int) -> Any:
    if ddof == 0:
        return sums
    if aweights is None:
        return sums - ddof
    scaled = weights * abs(asarray(aweights, dtype=weights.aval.dtype))
    return sums - ddof * total(scaled) / sums


@as_one("rowvar", "dtype")
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None) -> Array:
    """Estimate the correlation coefficients of variables.

    Args:
        x: observations, at most two dimensions: a row for each variable.
        y: further variables and observations.
        rowvar: whether rows are variables; otherwise columns.
        dtype: the dtype of the result, floating or complex.

    Returns:
        The matrix of coefficients, from -1 to 1; a number for one variable.

    Raises:
        TypeError: for what is no array.
        ValueError: for more dimensions, and a `dtype` of integers.

    >>> import tangrad
    >>> tangrad.numpy.corrcoef(tangrad.numpy.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    if y is not None:
        check_promotion("corrcoef", x, y)
    wanted = user_dtype("corrcoef", dtype)
    if wanted is not None and not dtypes.issubdtype(wanted, np.inexact):
        raise ValueError(f"corrcoef: dtype must be floating or complex, got {dtypes.dtype_name(wanted)}")
    covariance = cov(x, y, rowvar, dtype=wanted)
    if not covariance.ndim:
        return covariance / covariance
    deviations = real(covariance.diagonal()) ** 0.5
    result = covariance / expand_dims(deviations, 1) / expand_dims(deviations, 0)
    if is_complex(result):
        return clip(real(result), -1, 1) + 1j * clip(result.imag, -1, 1)
    return clip(result, -1, 1)
