"""The windows of an input as features, and the convolution whose kernel differs from place to place."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tangrad._lax.contractions.functions import dot_general
from tangrad._lax.contractions.precision import Precision, canonicalize_precision
from tangrad._lax.elementwise.primitives import convert_element_type_p, eq_p
from tangrad._lax.operands import operand
from tangrad._lax.structure.primitives import broadcast_in_dim_p, iota_p, reshape_p, transpose_p
from tangrad._lax.windows.dimensions import conv_dimension_numbers
from tangrad._lax.windows.functions.convolution import conv_general_dilated, integers
from tangrad.core import Array, dtypes
from tangrad.typing import ArrayLike, DType, DTypeLike

INDEX = dtypes.as_dtype("int32")


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
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
    # Output feature and input feature go where the spec says, the spatial dimensions keep their order.
    others = iter(range(2, len(spec)))
    order = tuple([spec[:2].index(d) if d in spec[:2] else next(others) for d in range(len(spec))])
    return transpose_p.bind(kernel, permutation=order)


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Any,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
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
