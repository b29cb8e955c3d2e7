"""Which of several vectors is nearest: `tangrad.scipy.cluster.vq.vq`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tangrad.numpy as tnp
from tangrad.extend.numpy import Fused, asarray, check_array_like, promote_inexact
from tangrad.typing import ArrayLike

if TYPE_CHECKING:
    from tangrad.core import Array


def _nearest(obs: Array, code_book: Array) -> tuple[Array, Array]:
    difference = obs[:, None] - code_book[None]
    squares = (difference * difference.conj()).real
    squares = squares if difference.ndim == 2 else squares.sum(-1)
    code = tnp.argmin(squares, -1)
    least = tnp.take_along_axis(squares, code[:, None], -1)[:, 0]
    # The root has no derivative at 0; there it is taken for 0.
    return code, tnp.where(least == 0, 0.0, tnp.sqrt(tnp.where(least == 0, 1.0, least)))


_nearest_pair = Fused("vq", _nearest, multiple_results=True)


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The nearest vector of a code book for each observation.

    Args:
        obs: the observations, an array (n, d), or (n,) for d = 1.
        code_book: the vectors, an array (k, d), or (k,).
        check_finite: has no effect: NaN is computed with.

    Returns:
        The number of the nearest vector, integers (n,), and its distance, floats (n,).

    Raises:
        ValueError: for shapes that do not fit, and a code book of no vectors.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.cluster.vq import vq
    >>> vq(np.array([[0.0, 1.0], [5.0, 5.0]]), np.array([[0.0, 0.0], [5.0, 5.0]]))
    (Array([0, 1], dtype=int32), Array([1., 0.], dtype=float32))
    """
    check_array_like("vq", obs, code_book)
    first, second = [asarray(x) for x in promote_inexact("vq", obs, code_book)]
    if first.ndim != second.ndim or first.ndim not in (1, 2) or first.shape[1:] != second.shape[1:]:
        raise ValueError(
            f"vq: obs and code_book must have one or two dimensions and equal columns, got shapes {first.shape} and "
            f"{second.shape}"
        )
    if second.shape[0] == 0:
        raise ValueError(f"vq: code_book must have a vector at least, got shape {second.shape}")
    return tuple(_nearest_pair(first, second))
