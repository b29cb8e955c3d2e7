"""`tangrad.lax.conv_general_dilated` and its forms, transposed and local convolutions, windows as features."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tangrad._lax.checks import check_int
from tangrad._lax.contractions.functions import dot_general
from tangrad._lax.contractions.precision import Precision, PrecisionLike, canonicalize_precision
from tangrad._lax.elementwise.primitives import convert_element_type_p, eq_p
from tangrad._lax.operands import operand
from tangrad._lax.placement.primitives import sharded_call
from tangrad._lax.structure.primitives import broadcast_in_dim_p, iota_p, reshape_p, rev_p, transpose_p
from tangrad._lax.windows.dimensions import (
    conv_dimension_numbers,
    dilated,
    dilated_shape,
    padtype_to_pads,
    permuted,
    transposed_pads,
)
from tangrad._lax.windows.primitives import conv_general_dilated_p
from tangrad.core import Array, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.typing import ArrayLike, DType, DTypeLike, ShardingLike

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
    dimension_numbers: object = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
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
    precision: PrecisionLike = None,
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
    precision: PrecisionLike = None,
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
    dimension_numbers: object = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
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


# --- parameters ---


def integers(name: str, values: Sequence[int], argument: str) -> tuple[int, ...]:
    """A parameter as a tuple of integers, or of symbolic sizes. Raises TypeError for anything else."""
    if type(values) is tuple and all([type(value) is int for value in values]):
        return values
    if not hasattr(values, "__iter__") or isinstance(values, str):
        raise TypeError(f"{name}: {argument} must be a sequence of integers, got {values!r}")
    return tuple([value if is_symbolic(value) else check_int(name, value, argument) for value in values])


def pairs(name: str, padding: Any) -> tuple[tuple[int, int], ...]:
    """Explicit padding as a tuple of pairs of integers. Raises TypeError for anything else."""
    try:
        found: Any = tuple([integers(name, pair, "padding") for pair in padding])
        if all([len(pair) == 2 for pair in found]):
            return found
    except TypeError:
        pass
    raise TypeError(
        f"{name}: padding must be 'VALID', 'SAME', 'SAME_LOWER', or a pair (low, high) of integers for each "
        f"dimension, got {padding!r}"
    )


INDEX = dtypes.as_dtype("int32")


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: object = None,
    precision: str | Precision | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """What a convolution sees of its input at each place: the elements of the window become features.

    Args:
        lhs: the input, with n + 2 dimensions.
        filter_shape: n integers, the sizes of the window, in the order of the kernel's spatial dimensions.
        window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, preferred_element_type: as for
            `lax.conv_general_dilated`.
        precision: None, or a `lax.Precision` or its name.

    Returns:
        An array with n + 2 dimensions. Its features are those of the input and the places in the window, in that
        order: there are `lhs features * prod(filter_shape)` of them.

    Raises:
        TypeError, ValueError: as `lax.conv_general_dilated`.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.conv_general_dilated_patches(np.arange(5.0).reshape(1, 1, 5), (3,), (1,), "VALID")[0]
    Array([[0., 1., 2.],
           [1., 2., 3.],
           [2., 3., 4.]], dtype=float32)
    """
    name = "conv_general_dilated_patches"
    lhs = operand(name, lhs, "lhs")
    sizes = integers(name, filter_shape, "filter_shape")
    numbers = conv_dimension_numbers(lhs.aval.shape, (1, 1, *sizes), dimension_numbers)
    features = lhs.aval.shape[numbers.lhs_spec[1]]
    kernel = _one_hot_kernel(lhs.aval.dtype, features, sizes, numbers.rhs_spec)
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=None if precision is None else (precision, Precision.DEFAULT),
        preferred_element_type=preferred_element_type,
    )


def _one_hot_kernel(dtype: DType, features: int, sizes: Sequence[int], spec: Sequence[int]) -> Array:
    """The kernel with an output feature for each input feature and place, which is 1 there and 0 elsewhere."""
    places = prod(sizes)
    square = (places, places)
    rows, columns = [iota_p.bind(dtype=INDEX, shape=square, dimension=d) for d in (0, 1)]
    identity = convert_element_type_p.bind(eq_p.bind(rows, columns), new_dtype=dtype, weak_type=False)
    each = broadcast_in_dim_p.bind(identity, shape=(features, *square), broadcast_dimensions=(1, 2))
    kernel = reshape_p.bind(each, new_sizes=(features * places, 1, *sizes), dimensions=None)
    # Output feature and input feature go where the spec has them, the spatial dimensions keep their order.
    others = iter(range(2, len(spec)))
    order = tuple([spec[:2].index(d) if d in spec[:2] else next(others) for d in range(len(spec))])
    return transpose_p.bind(kernel, permutation=order)


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: object,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: object = None,
    precision: PrecisionLike = None,
) -> Array:
    """A convolution with another kernel at each place: a locally connected layer.

    Args:
        lhs: the input, with n + 2 dimensions.
        rhs: the kernels, with n + 2 dimensions: the spatial ones say for which place of the result a kernel is; the
            input features are those of `lax.conv_general_dilated_patches`.
        window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers: as for `lax.conv_general_dilated`.
        filter_shape: n integers, the sizes of the window.
        precision: None, a `lax.Precision` or its name, or a pair of these.

    Returns:
        An array with n + 2 dimensions.

    Raises:
        TypeError, ValueError: as `lax.conv_general_dilated` and `lax.dot_general`.

    >>> import numpy as np
    >>> import tangrad
    >>> image, kernels = np.ones((2, 3, 8), np.float32), np.ones((4, 15, 4), np.float32)
    >>> tangrad.lax.conv_general_dilated_local(image, kernels, (1,), "VALID", (5,)).shape
    (2, 4, 4)
    """
    name = "conv_general_dilated_local"
    lhs, rhs = operand(name, lhs, "lhs"), operand(name, rhs, "rhs")
    canonical = canonicalize_precision(precision)
    if canonical is not None and not isinstance(canonical, tuple):
        raise ValueError(f"{name}: precision must be None, a lax.Precision or a pair of them, got {precision!r}")
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
        precision=None if canonical is None else canonical[0],
    )
    kernel_shape = (1, 1, *filter_shape)
    _, rhs_spec, out_spec = conv_dimension_numbers(lhs.aval.shape, kernel_shape, dimension_numbers)
    # Places are paired, in the order that they have in the result; features are summed over.
    places = sorted(range(len(out_spec) - 2), key=lambda i: out_spec[2 + i])
    batch = [out_spec[2 + i] for i in places], [rhs_spec[2 + i] for i in places]
    out = dot_general(patches, rhs, (((out_spec[1],), (rhs_spec[1],)), batch), precision=canonical)
    # What there is now: places, batch, output features.
    last = len(out_spec) - 2
    found = iter(range(last))
    order = tuple([last + out_spec[:2].index(d) if d in out_spec[:2] else next(found) for d in range(len(out_spec))])
    return transpose_p.bind(out, permutation=order)
