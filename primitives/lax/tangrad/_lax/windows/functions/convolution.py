"""`tangrad.lax.conv_general_dilated` and its shorter forms, and the transposed convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.checks import check_int
from tangrad._lax.contractions.precision import canonicalize_precision
from tangrad._lax.operands import operand
from tangrad._lax.placement.out_sharding import sharded_call
from tangrad._lax.structure.primitives import rev_p, transpose_p
from tangrad._lax.windows.dimensions import conv_dimension_numbers
from tangrad._lax.windows.primitives import conv_general_dilated_p
from tangrad._lax.windows.shapes import dilated, dilated_shape, padtype_to_pads, permuted, transposed_pads
from tangrad.core import Array, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.typing import ArrayLike, DTypeLike

# For conv_transpose: the dimension numbers of arrays of a rank.
_CHANNELS_LAST = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """The convolution with n spatial dimensions (as neural networks have it: the kernel is not reversed).

    Args:
        lhs: the input, with n + 2 dimensions: batch, feature, and spatial ones.
        rhs: the kernel, with n + 2 dimensions: output feature, input feature, and spatial ones; of the same dtype.
        window_strides: n integers, the steps of the window.
        padding: "VALID", "SAME" or "SAME_LOWER" (see `lax.padtype_to_pads`), or n pairs `(low, high)`, which may be
            negative.
        lhs_dilation, rhs_dilation: n integers, how far apart the elements of input and kernel are; default: 1.
        dimension_numbers: which dimension means what: None for ("NCHW", "OIHW", "NCHW"), with any number of spatial
            dimensions; three such strings; or `lax.ConvDimensionNumbers`.
        feature_group_count: into how many groups the features are divided, each with kernels of its own.
        batch_group_count: into how many groups the batch is divided, each with kernels of its own.
        precision: None, a `lax.Precision` or its name, or a pair of these.
        preferred_element_type: the dtype of the result, in which products are added up; default: the operands' dtype.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array with n + 2 dimensions.

    Raises:
        TypeError: for dtypes that differ, or parameters of another kind.
        ValueError: for shapes and parameters that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> image, kernel = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
    >>> tangrad.lax.conv_general_dilated(image, kernel, (1, 1), "SAME")[0, 0, :2]
    Array([[4., 6., 6., 4.],
           [6., 9., 9., 6.]], dtype=float32)
    """
    if out_sharding is not None:
        how = (window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers)
        more = (feature_group_count, batch_group_count, precision, preferred_element_type)
        return sharded_call(out_sharding, conv_general_dilated, lhs, rhs, *how, *more)
    name = "conv_general_dilated"
    lhs = lhs if isinstance(lhs, Array) else operand(name, lhs, "lhs")
    rhs = rhs if isinstance(rhs, Array) else operand(name, rhs, "rhs")
    numbers = conv_dimension_numbers(lhs.aval.shape, rhs.aval.shape, dimension_numbers)
    ones = (1,) * (lhs.aval.ndim - 2)
    strides = integers(name, window_strides, "window_strides")
    spread = ones if lhs_dilation is None else integers(name, lhs_dilation, "lhs_dilation")
    window_spread = ones if rhs_dilation is None else integers(name, rhs_dilation, "rhs_dilation")
    if isinstance(padding, str):
        if spread != ones:
            raise ValueError(
                f"{name}: padding must be pairs of integers where the input is dilated, got {padding!r} with "
                f"lhs_dilation {spread}; conv_transpose takes names"
            )
        window = dilated_shape(permuted(rhs.aval.shape, numbers.rhs_spec)[2:], window_spread)
        pads = tuple(padtype_to_pads(permuted(lhs.aval.shape, numbers.lhs_spec)[2:], window, strides, padding))
    else:
        pads = pairs(name, padding)
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=pads,
        lhs_dilation=spread,
        rhs_dilation=window_spread,
        dimension_numbers=numbers,
        feature_group_count=check_int(name, feature_group_count, "feature_group_count"),
        batch_group_count=check_int(name, batch_group_count, "batch_group_count"),
        precision=canonicalize_precision(precision),
        preferred_element_type=None
        if preferred_element_type is None
        else dtypes.check_user_dtype_supported(preferred_element_type, "preferred_element_type"),
    )


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """`lax.conv_general_dilated` without dilation, groups or dimension numbers.

    Args:
        lhs: the input, with dimensions (batch, feature, *spatial).
        rhs: the kernel, with dimensions (output feature, input feature, *spatial).
        window_strides, padding, precision, preferred_element_type: as for `lax.conv_general_dilated`.

    Returns:
        An array with dimensions (batch, feature, *spatial).

    Raises:
        TypeError, ValueError: as `lax.conv_general_dilated`.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.conv(np.ones((2, 3, 8), np.float32), np.ones((4, 3, 5), np.float32), (1,), "VALID").shape
    (2, 4, 4)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """`lax.conv_general_dilated` without groups or dimension numbers.

    Args:
        lhs: the input, with dimensions (batch, feature, *spatial).
        rhs: the kernel, with dimensions (output feature, input feature, *spatial).
        window_strides, padding, lhs_dilation, rhs_dilation, precision, preferred_element_type: as for
            `lax.conv_general_dilated`.

    Returns:
        An array with dimensions (batch, feature, *spatial).

    Raises:
        TypeError, ValueError: as `lax.conv_general_dilated`.

    >>> import numpy as np
    >>> import tangrad
    >>> image, kernel = np.ones((2, 3, 8), np.float32), np.ones((4, 3, 2), np.float32)
    >>> tangrad.lax.conv_with_general_padding(image, kernel, (1,), [(0, 0)], None, (4,)).shape
    (2, 4, 4)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """A convolution with fractional strides: the input is dilated.

    Args:
        lhs: the input, with n + 2 dimensions.
        rhs: the kernel, with n + 2 dimensions.
        strides: n integers, by how much the input is dilated.
        padding: "SAME" or "VALID", the padding of the convolution whose transpose this is; or n pairs `(low, high)`,
            the padding of the dilated input.
        rhs_dilation: n integers, how far apart the elements of the kernel are; default: 1.
        dimension_numbers: as for `lax.conv_general_dilated`, but None means ("NHWC", "HWIO", "NHWC").
        transpose_kernel: whether to reverse the kernel along its spatial dimensions and to exchange its features, so
            that a kernel of the convolution gives its gradient.
        precision, preferred_element_type: as for `lax.conv_general_dilated`.
        use_consistent_padding: whether pairs, too, are the padding of the convolution whose transpose this is.

    Returns:
        An array with n + 2 dimensions.

    Raises:
        TypeError: for dtypes that differ, or parameters of another kind.
        ValueError: for shapes and parameters that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> image, kernel = np.ones((1, 7, 7, 3), np.float32), np.ones((3, 3, 3, 8), np.float32)
    >>> tangrad.lax.conv_transpose(image, kernel, (2, 2), "SAME").shape
    (1, 14, 14, 8)
    """
    name = "conv_transpose"
    lhs, rhs = operand(name, lhs, "lhs"), operand(name, rhs, "rhs")
    rank = lhs.aval.ndim
    if dimension_numbers is None:
        dimension_numbers = _CHANNELS_LAST.get(rank)
        if dimension_numbers is None:
            raise ValueError(f"{name} requires dimension_numbers for arrays of {rank} dimensions")
    numbers = conv_dimension_numbers(lhs.aval.shape, rhs.aval.shape, dimension_numbers)
    strides = integers(name, strides, "strides")
    ones = (1,) * (rank - 2)
    spread = ones if rhs_dilation is None else integers(name, rhs_dilation, "rhs_dilation")
    if use_consistent_padding or padding in ("SAME", "VALID"):
        named = [padding] * (rank - 2) if isinstance(padding, str) else pairs(name, padding)
        window = permuted(rhs.aval.shape, numbers.rhs_spec)[2:]
        padding = [
            transposed_pads(dilated(size, dilation), stride, pads)
            for size, dilation, stride, pads in zip(window, spread, strides, named)
        ]
    if transpose_kernel:
        out, into = numbers.rhs_spec[:2]
        order = list(range(rank))
        order[out], order[into] = into, out
        rhs = transpose_p.bind(rev_p.bind(rhs, dimensions=numbers.rhs_spec[2:]), permutation=tuple(order))
    return conv_general_dilated(
        lhs,
        rhs,
        ones,
        padding,
        strides,
        spread,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


# --- parameters ----------------------------------------------------------------------------------------------------


def integers(name: str, values: Sequence[int], argument: str) -> tuple[int, ...]:
    """A parameter as a tuple of integers, or of symbolic sizes. Raises TypeError for anything else."""
    if type(values) is tuple and all([type(value) is int for value in values]):
        return values
    if not hasattr(values, "__iter__") or isinstance(values, str):
        raise TypeError(f"{name}: {argument} must be a sequence of integers, got {values!r}")
    return tuple([value if is_symbolic(value) else check_int(name, value, argument) for value in values])


def pairs(name: str, padding: Any) -> tuple[tuple[Any, Any], ...]:
    """Explicit padding as a tuple of pairs of integers. Raises TypeError for anything else."""
    try:
        found = tuple([integers(name, pair, "padding") for pair in padding])
        if all([len(pair) == 2 for pair in found]):
            return found  # type: ignore[return-value]
    except TypeError:
        pass
    raise TypeError(
        f"{name}: padding must be 'VALID', 'SAME', 'SAME_LOWER', or a pair (low, high) of integers for each "
        f"dimension, got {padding!r}"
    )
