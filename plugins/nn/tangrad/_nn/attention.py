"""`dot_product_attention`.

Letters of shapes: B batch, T length of the queries, S length of keys and values, N heads of the queries, K heads of
keys and values, G = N / K queries' heads for each of these, H features of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np

import tangrad.numpy as tnp
from tangrad._nn.normalization import logsumexp, softmax
from tangrad.core import Array, dtypes
from tangrad.extend.lax import dot_general, stop_gradient
from tangrad.extend.numpy import asarray, repeat
from tangrad.typing import ArrayLike, DType, DTypeLike, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["dot_product_attention"], True)

HIDDEN = -0.7 * float(np.finfo(np.float32).max)  # where a mask hides: finite, and so far below that exp gives 0


@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: Literal[False] = False,
) -> Array: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: Literal[True],
) -> tuple[Array, Array]: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Array | tuple[Array, Array]: ...
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Array | tuple[Array, Array]:
    """softmax(scale · Q Kᵀ + bias) V for each head; the softmax is computed in float32.

    Args:
        query: an array of shape (B, T, N, H) or (T, N, H).
        key: an array of shape (B, S, K, H) or (S, K, H), where N is a multiple of K: each head serves N / K queries'.
        value: an array of the shape of `key`.
        bias: what is added to the products: an array that broadcasts to (B, N, T, S).
        mask: a boolean array that broadcasts likewise: which products take part.
        scale: None: 1 / √H.
        is_causal: whether position t sees positions up to t only.
        query_seq_lengths: how much of each query counts, int32 of shape (B,); results beyond are 0.
        key_value_seq_lengths: how much of each key and value counts, int32 of shape (B,).
        local_window_size: how far to the left and right of itself a position sees; one number for both.
        implementation: None or "xla": there is one.
        return_residual: whether to return the logarithm of the softmax's denominator too.

    Returns:
        An array of the shape of `query`; with `return_residual` another one, of shape (B, T, N) or (T, N).

    Raises:
        ValueError: for shapes or dtypes that do not fit each other, or another implementation.

    Source: Vaswani et al., Attention is all you need, 2017; Ainslie et al., GQA, 2023.

    >>> import tangrad
    >>> x = tangrad.numpy.ones((4, 2, 8))
    >>> tangrad.nn.dot_product_attention(x, x, x).shape
    (4, 2, 8)
    """
    if implementation not in (None, "xla"):
        raise ValueError(f"dot_product_attention: implementation must be None or 'xla', got {implementation!r}")
    shape = tnp.shape(query)
    query, key, value = [_with_batch(x) for x in (query, key, value)]
    bias, mask = [None if x is None else _with_batch(x) for x in (bias, mask)]
    lengths = [None if x is None else tnp.asarray(x) for x in (query_seq_lengths, key_value_seq_lengths)]
    _check(query, key, value, bias, mask, lengths)
    window = (local_window_size,) * 2 if isinstance(local_window_size, int) else local_window_size
    if window is not None and (not isinstance(window, (tuple, list)) or len(window) != 2):
        raise ValueError(f"dot_product_attention: local_window_size must be one number or two, got {window!r}")
    if scale is None:
        scale = 1.0 / np.sqrt(key.shape[-1])
    encoded, logits = _attend(query, key, value, bias, mask, scale, is_causal, lengths, window)
    encoded = tnp.reshape(encoded, shape)
    if not return_residual:
        return encoded
    # (B, K, G, T) -> (B, T, N)
    residual = tnp.moveaxis(logsumexp(logits, axis=-1).astype(key.dtype), -1, 1)
    return encoded, stop_gradient(tnp.reshape(residual, shape[:-1]))


def _with_batch(x: ArrayLike) -> Array:
    made = tnp.asarray(x)
    return made if made.ndim >= 4 else tnp.expand_dims(made, tuple(range(4 - made.ndim)))


# --- what fits ---


def _check(
    query: Value, key: Value, value: Value, bias: Value | None, mask: Array | None, lengths: Sequence[Array | None]
) -> None:
    for name, x in (("query", query), ("key", key), ("value", value), ("bias", bias), ("mask", mask)):
        if x is not None and x.ndim != 4:
            raise ValueError(f"dot_product_attention: {name} must have 4 dimensions, got shape {x.shape}")
    batch, _, heads, features = key.shape
    if value.shape != key.shape or value.dtype != key.dtype:
        _refuse("value", value, f"{key.dtype} of shape {key.shape}, as key")
    if query.shape[0] != batch or query.shape[3] != features or query.dtype != key.dtype:
        _refuse("query", query, f"{key.dtype} of shape ({batch}, T, N, {features}), to fit key")
    if query.shape[2] % heads:
        raise ValueError(
            f"dot_product_attention: the number of heads of query must be a multiple of that of key, got "
            f"{query.shape[2]} and {heads}"
        )
    for name, x in (("bias", bias), ("mask", mask)):
        if x is not None and x.shape[0] not in (1, batch):
            raise ValueError(f"dot_product_attention: {name} must have a batch of 1 or {batch}, got shape {x.shape}")
    if mask is not None and mask.dtype != np.bool_:
        _refuse("mask", mask, "booleans")
    for name, x in zip(("query_seq_lengths", "key_value_seq_lengths"), lengths):
        if x is not None and (x.shape != (batch,) or x.dtype != np.int32):
            _refuse(name, x, f"int32 of shape ({batch},)")


def _refuse(name: str, x: Value, expected: str) -> None:
    raise ValueError(f"dot_product_attention: {name} must be {expected}; got {x.dtype} of shape {x.shape}")


# --- the computation ---


def _attend(
    query: Value,
    key: Value,
    value: Value,
    bias: Value | None,
    mask: Array | None,
    scale: float,
    is_causal: bool,
    lengths: list[Array | None],
    window: tuple[int, int] | None,
) -> tuple[Array, Array]:
    """The results (B, T, K, G, H), and the logits (B, K, G, T, S) that the softmax was taken of; no G where it is 1."""
    batch, targets, heads, features = query.shape
    groups = heads // key.shape[2]
    g = "g" if groups > 1 else ""
    if groups > 1:
        query = tnp.reshape(query, (batch, targets, key.shape[2], groups, features))
    accumulated = dtypes.promote_types(query.dtype, np.float32)
    logits = tnp.einsum(f"btk{g}h,bskh->bk{g}ts", query, key, preferred_element_type=accumulated)
    logits = logits * tnp.asarray(scale, logits.dtype)
    if bias is not None:
        logits = (logits + _grouped(bias, heads, groups)).astype(logits.dtype)
    seen = _seen(logits.shape, is_causal, lengths, window)
    if mask is not None:
        seen.append(_grouped(mask, heads, groups))
    if seen:
        visible = seen[0]
        for other in seen[1:]:
            visible = tnp.logical_and(visible, other)
        logits = tnp.where(visible, logits, tnp.asarray(_hidden(logits.dtype), logits.dtype))
    logits = logits.astype(np.float32)
    weights = softmax(logits, axis=-1).astype(key.dtype)
    encoded = tnp.einsum(f"bk{g}ts,bskh->btk{g}h", weights, value)
    if lengths[0] is not None:
        inside = tnp.arange(targets)[None, :] < lengths[0][:, None]
        encoded = encoded * tnp.expand_dims(inside, tuple(range(2, encoded.ndim))).astype(encoded.dtype)
    return encoded, logits


def _hidden(dtype: DType) -> float:
    return max(HIDDEN, -0.7 * float(dtypes.finfo(dtype).max))


def _grouped(x: Value, heads: int, groups: int) -> Array:
    """A bias or mask (B, 1 or N, T, S) as (B, 1 or K, 1 or G, T, S), without G where it is 1."""
    batch, own, *rest = x.shape
    if own not in (1, heads):
        raise ValueError(f"dot_product_attention: bias and mask must have 1 or {heads} heads, got shape {x.shape}")
    if groups == 1:
        return asarray(x)
    if own == 1:
        return tnp.reshape(x, (batch, 1, 1, *rest))
    return tnp.reshape(x, (batch, heads // groups, groups, *rest))


def _seen(
    shape: tuple[int, ...], is_causal: bool, lengths: list[Array | None], window: tuple[int, int] | None
) -> list[Array]:
    """Boolean arrays that broadcast to the shape of the logits: which positions are visible by their place alone."""
    masks = []
    rows, columns = tnp.arange(shape[-2])[:, None], tnp.arange(shape[-1])[None, :]
    if is_causal:
        masks.append(columns <= rows)
    if window is not None:
        left, right = window
        masks.append(tnp.logical_and(rows <= columns + left, rows >= columns - right))
    for positions, length in zip((rows, columns), lengths):
        if length is not None:
            masks.append(positions < tnp.reshape(length, (-1,) + (1,) * (len(shape) - 1)))
    return masks


# --- Products of matrices that are stored as narrow floats in blocks with a scale each ---

FLOAT32 = np.dtype(np.float32)
_ROWS_WITH_ROWS = (((2,), (2,)), ((0,), (0,)))


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Array:
    """The products of rows of two batches of matrices, each times the scales of its blocks.

    Computed in float32, on every platform.

    Args:
        lhs: an array (b, m, k).
        rhs: an array (b, n, k).
        lhs_scales: an array (b, m, k / s), where s is the size of blocks of `lhs`.
        rhs_scales: an array (b, n, k / t), where t is the size of blocks of `rhs`.
        preferred_element_type: the dtype of the result.

    Returns:
        An array (b, m, n).

    Raises:
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> x, scales = np.ones((1, 1, 4)), np.array([[[1.0, 10.0]]])
    >>> tangrad.nn.scaled_matmul(x, x, scales, scales)
    Array([[[202.]]], dtype=float32)
    """
    kind = dtypes.check_user_dtype_supported(preferred_element_type, "preferred_element_type")
    left = _scaled("lhs", asarray(lhs), asarray(lhs_scales))
    right = _scaled("rhs", asarray(rhs), asarray(rhs_scales))
    if left.shape[0] != right.shape[0] or left.shape[2] != right.shape[2]:
        raise ValueError(
            "scaled_matmul takes lhs (b, m, k) and rhs (b, n, k), with the same b and k; got shapes "
            f"{left.shape} and {right.shape}"
        )
    return dot_general(left, right, _ROWS_WITH_ROWS, preferred_element_type=FLOAT32).astype(kind)


def _scaled(side: str, x: Array, scales: Array) -> Array:
    shape, sizes = x.shape, scales.shape
    if len(shape) != 3 or len(sizes) != 3 or sizes[:2] != shape[:2] or not sizes[2] or shape[2] % sizes[2]:
        raise ValueError(
            f"scaled_matmul: {side} must have three dimensions, and {side}_scales those, of which the last may be "
            f"divided; got shapes {shape} and {sizes}"
        )
    return x.astype(FLOAT32) * repeat(scales.astype(FLOAT32), shape[2] // sizes[2], axis=2)
