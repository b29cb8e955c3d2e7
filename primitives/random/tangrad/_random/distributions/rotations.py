"""Random orthogonal matrices: `tangrad.random.orthogonal`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._random.distributions.arguments import float_dtype
from tangrad._random.distributions.normal import normal
from tangrad.core import Array
from tangrad.core.arguments import canonicalize_shape
from tangrad.extend.lax import takes_out_sharding
from tangrad.extend.numpy import diagonal, index_argument, matrix_transpose, qr, sign
from tangrad.typing import DTypeLike, Key


@takes_out_sharding
def orthogonal(
    key: Key,
    n: int,
    shape: Sequence[int] = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Orthogonal matrices, all alike (by the measure of Haar); unitary ones of a complex dtype.

    Args:
        key: a key.
        n: the number of rows.
        shape: how many matrices.
        dtype: a float or complex dtype; None: float32, or float64 with `enable_x64`.
        m: the number of columns; None: `n`. With fewer columns than rows the columns are orthogonal, else the rows.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array (*shape, n, m).

    Raises:
        TypeError: `n` or `m` is no integer.
        ValueError: for another dtype.

    Source: Mezzadri, How to generate random matrices from the classical compact groups, Notices AMS 54 (2007).

    >>> import tangrad
    >>> q = tangrad.random.orthogonal(tangrad.random.key(0), 2)
    >>> abs(tangrad.numpy.round(q @ q.T, 3))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    rows = index_argument("random.orthogonal", n, "n")
    columns = rows if m is None else index_argument("random.orthogonal", m, "m")
    kind = float_dtype("random.orthogonal", dtype, np.inexact)
    size = (*canonicalize_shape(shape), max(rows, columns), min(rows, columns))
    factor, triangle = qr(normal(key, size, kind))
    # The factors are unique once the diagonal is positive: without that the measure would not be uniform.
    factor = factor * sign(diagonal(triangle, axis1=-2, axis2=-1))[..., None, :]
    return matrix_transpose(factor) if rows < columns else factor
