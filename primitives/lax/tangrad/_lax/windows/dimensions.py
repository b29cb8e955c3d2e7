"""The dimensions of windows: which means what, the sizes of results, and the padding that rules make.

Sizes may be symbolic: they are added and multiplied, and compared only where they are integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad._lax.checks import check_int
from tangrad._lax.structure.primitives import reshape_p
from tangrad.core.arguments import is_symbolic
from tangrad.core.caches import exact_equality
from tangrad.typing import Value

if TYPE_CHECKING:
    from tangrad.core import Array


@exact_equality
class ConvDimensionNumbers(NamedTuple):
    """The dimensions of a convolution: for each array a tuple of integers that names all of them once.

    Attributes:
        lhs_spec: of the input: (batch, feature, *spatial).
        rhs_spec: of the kernel: (output feature, input feature, *spatial).
        out_spec: of the result: (batch, feature, *spatial).

    >>> import tangrad
    >>> tangrad.lax.ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (0, 2, 1)).lhs_spec
    (0, 2, 1)
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


# What users may write for dimension numbers.
ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None

_SIDES = ("lhs", "rhs", "out")
_LETTERS = (("N", "C"), ("O", "I"), ("N", "C"))


def conv_dimension_numbers(
    lhs_shape: Sequence[object], rhs_shape: Sequence[object], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """The dimension numbers of a convolution as integers.

    Args:
        lhs_shape, rhs_shape: the shapes of its operands, of equal length.
        dimension_numbers: None for (batch, feature, *spatial) and (output feature, input feature, *spatial); three
            strings such as `("NHWC", "HWIO", "NHWC")`, with N, C, O and I for these and any other letters for spatial
            dimensions; or `ConvDimensionNumbers`.

    Returns:
        `ConvDimensionNumbers`; spatial dimensions are in the order of the second string.

    Raises:
        TypeError: for something else.
        ValueError: for ranks, letters or dimensions that do not fit.

    >>> import tangrad
    >>> tangrad.lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    rank = len(lhs_shape)
    if rank != len(rhs_shape) or rank < 2:
        raise ValueError(
            "a convolution requires lhs and rhs of equal rank, at least 2, "
            f"got shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}"
        )
    if dimension_numbers is None:
        every = tuple(range(rank))
        return ConvDimensionNumbers(every, every, every)
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return _checked(dimension_numbers, rank)
    _check_strings(dimension_numbers)
    return _parsed(tuple(dimension_numbers), rank)


@lru_cache(256)
def _parsed(dimension_numbers: tuple[str, str, str], rank: int) -> ConvDimensionNumbers:
    for side, text in zip(_SIDES, dimension_numbers):
        if len(text) != rank:
            raise ValueError(
                f"dimension_numbers: {text!r}, for {side}, must have a letter for each of the {rank} dimensions "
                "of lhs and rhs"
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The permutations that bring a convolution's arrays into the order (batch, feature, *spatial).

    Args:
        dimension_numbers: three strings; see `conv_dimension_numbers`.

    Returns:
        Three tuples of integers, for the input, the kernel and the result.

    Raises:
        TypeError: for something else than three strings.
        ValueError: for letters that repeat, are missing, or differ.

    >>> import tangrad
    >>> tangrad.lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    _check_strings(dimension_numbers)
    for side, text, letters in zip(_SIDES, dimension_numbers, _LETTERS):
        if len(set(text)) != len(text) or not set(letters) <= set(text):
            raise ValueError(
                f"dimension_numbers: {text!r}, for {side}, must have the letters {letters[0]} and {letters[1]} "
                "and one for each spatial dimension, all different"
            )
    spatial = [letter for letter in dimension_numbers[1] if letter not in "OI"]
    permutations = []
    for text, letters in zip(dimension_numbers, _LETTERS):
        if set(text) - set(letters) != set(spatial):
            raise ValueError(
                f"dimension_numbers: the three strings must have the same spatial letters, got {dimension_numbers!r}"
            )
        permutations.append(tuple([text.index(letter) for letter in (*letters, *spatial)]))
    return tuple(permutations)


def _check_strings(dimension_numbers: Sequence[str]) -> None:
    if (
        not isinstance(dimension_numbers, (tuple, list))
        or len(dimension_numbers) != 3
        or not all([isinstance(text, str) for text in dimension_numbers])
    ):
        raise TypeError(
            "dimension_numbers of a convolution must be None, three strings such as ('NCHW', 'OIHW', 'NCHW'), or "
            f"ConvDimensionNumbers, got {dimension_numbers!r}"
        )


def _checked(numbers: ConvDimensionNumbers, rank: int) -> ConvDimensionNumbers:
    """The same with tuples of integers. Raises ValueError where one is no permutation of all dimensions."""
    found = []
    for side, spec in zip(_SIDES, numbers):
        dimensions = tuple([check_int("dimension_numbers", d, f"a dimension in {side}_spec") for d in spec])
        if sorted(dimensions) != list(range(rank)):
            raise ValueError(
                f"dimension_numbers: {side}_spec must name each of the {rank} dimensions once, got {tuple(spec)}"
            )
        found.append(dimensions)
    return ConvDimensionNumbers(*found)


# --- padding ---

Pads = list[tuple[int, int]]
_PADDINGS = ("VALID", "SAME", "SAME_LOWER")


def at_least_zero(size: int) -> int:
    """A size, or 0 where it would be negative."""
    return size if is_symbolic(size) or size > 0 else 0


def dilated(size: int, dilation: int) -> int:
    """The size of a dimension with `dilation - 1` holes between each two elements."""
    return size if dilation == 1 else at_least_zero(1 + dilation * (size - 1))


def dilated_shape(shape: Sequence[int], dilations: Sequence[int]) -> tuple[int, ...]:
    """`dilated` for each dimension."""
    return tuple([dilated(size, dilation) for size, dilation in zip(shape, dilations)])


def strided(size: int, window: int, stride: int) -> int:
    """How many windows begin within a dimension so that they are within it, in steps of `stride`."""
    return at_least_zero((size - window) // stride + 1)


def padtype_to_pads(
    in_shape: Sequence[Any], window_shape: Sequence[Any], window_strides: Sequence[int], padding: str
) -> Pads:
    """What a named padding means for windows of some size and stride.

    Args:
        in_shape: the sizes of the dimensions that are padded.
        window_shape: the sizes of the windows.
        window_strides: the steps of the windows.
        padding: "VALID": none; "SAME": as much as gives `ceil(size / stride)` windows, what is odd at the end;
            "SAME_LOWER": likewise, what is odd at the start. Small letters are fine.

    Returns:
        A list of `(low, high)`, one pair for each dimension.

    Raises:
        TypeError: if `padding` is no string.
        ValueError: for another string.

    >>> import tangrad
    >>> tangrad.lax.padtype_to_pads((28, 28), (3, 2), (1, 1), "SAME")
    [(1, 1), (0, 1)]
    """
    if not isinstance(padding, str):
        raise TypeError(f"padding must be one of {', '.join(_PADDINGS)}, got {padding!r} of type {type(padding)}")
    name = padding.upper()
    if name not in _PADDINGS:
        raise ValueError(f"padding must be one of {', '.join(_PADDINGS)}, got {padding!r}")
    if name == "VALID":
        return [(0, 0) for _ in in_shape]
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides):
        count = -(-size // stride)
        total = at_least_zero((count - 1) * stride + window - size)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if name == "SAME" else (more, less))
    return pads


# --- sizes of results ---


def reduce_window_shape_tuple(
    operand_shape: Sequence[Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of a reduction over windows.

    Args:
        operand_shape: the shape of the operand.
        window_dimensions, window_strides: sizes and steps of the windows, for each dimension.
        padding: `(low, high)` for each dimension.
        base_dilation, window_dilation: how far apart elements of the operand, and of a window, are; None: 1.

    Returns:
        A tuple of sizes.

    >>> import tangrad
    >>> tangrad.lax.reduce_window_shape_tuple((28, 28), (2, 2), (2, 2), [(0, 0), (1, 1)])
    (14, 15)
    """
    if base_dilation is not None:
        operand_shape = dilated_shape(operand_shape, base_dilation)
    if window_dilation is not None:
        window_dimensions = dilated_shape(window_dimensions, window_dilation)
    parts = zip(operand_shape, padding, window_dimensions, window_strides)
    return tuple([strided(size + low + high, window, stride) for size, (low, high), window, stride in parts])


def conv_shape_tuple(
    lhs_shape: Sequence[Any],
    rhs_shape: Sequence[Any],
    strides: Sequence[int],
    pads: tuple[tuple[int, ...], ...],
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape of a convolution whose dimensions are in the order (batch, feature, *spatial).

    Args:
        lhs_shape: the shape of the input, dilated.
        rhs_shape: the shape (output feature, input feature, *spatial) of the kernel, dilated.
        strides: the steps of the windows.
        pads: `(low, high)` for each spatial dimension, or a name for `padtype_to_pads`.
        batch_group_count: as for `lax.conv_general_dilated`.

    Returns:
        A tuple of sizes.

    Raises:
        ValueError: for a number of pads that does not fit, or padding that takes more away than there is.

    >>> import tangrad
    >>> tangrad.lax.conv_shape_tuple((8, 3, 28, 28), (16, 3, 5, 5), (2, 2), "VALID")
    (8, 16, 12, 12)
    """
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise ValueError(
            f"a convolution requires padding for each of {len(lhs_shape) - 2} spatial dimensions, got {tuple(pads)}"
        )
    padded = [size + low + high for size, (low, high) in zip(lhs_shape[2:], pads)]
    if any([not is_symbolic(size) and size < 0 for size in padded]):
        raise ValueError(
            f"negative padding {tuple(pads)} takes more away than there is: the spatial dimensions of lhs, dilated, "
            f"are {tuple(lhs_shape[2:])}"
        )
    batch = lhs_shape[0] // batch_group_count if batch_group_count > 1 else lhs_shape[0]
    return (batch, rhs_shape[0], *[strided(*sizes) for sizes in zip(padded, rhs_shape[2:], strides)])


def conv_general_shape_tuple(
    lhs_shape: Sequence[Any],
    rhs_shape: Sequence[Any],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """The shape of a convolution.

    Args:
        lhs_shape, rhs_shape: the shapes of input and kernel.
        window_strides, padding: as for `conv_shape_tuple`.
        dimension_numbers: three strings; see `conv_dimension_numbers`.

    Returns:
        A tuple of sizes.

    Raises:
        ValueError: for sizes that do not fit.

    >>> import tangrad
    >>> numbers = ("NHWC", "HWIO", "NHWC")
    >>> tangrad.lax.conv_general_shape_tuple((8, 28, 28, 3), (5, 5, 3, 16), (1, 1), "SAME", numbers)
    (8, 28, 28, 16)
    """
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(dimension_numbers)
    out = conv_shape_tuple(permuted(lhs_shape, lhs_spec), permuted(rhs_shape, rhs_spec), window_strides, padding)
    return unpermuted(out, out_spec)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[Any],
    rhs_shape: Sequence[Any],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """The shape of a transposed convolution.

    Args:
        lhs_shape, rhs_shape: the shapes of input and kernel.
        window_strides: by how much the input is dilated.
        padding: "SAME", "VALID", or `(low, high)` for each spatial dimension of the dilated input.
        dimension_numbers: three strings; see `conv_dimension_numbers`.

    Returns:
        A tuple of sizes.

    Raises:
        ValueError: for sizes that do not fit.

    >>> import tangrad
    >>> numbers = ("NHWC", "HWIO", "NHWC")
    >>> tangrad.lax.conv_transpose_shape_tuple((8, 14, 14, 3), (3, 3, 3, 16), (2, 2), "SAME", numbers)
    (8, 28, 28, 16)
    """
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(dimension_numbers)
    lhs, rhs = permuted(lhs_shape, lhs_spec), permuted(rhs_shape, rhs_spec)
    if isinstance(padding, str):
        padding = [transposed_pads(window, stride, padding) for window, stride in zip(rhs[2:], window_strides)]
    spatial = [
        (size - 1) * stride - window + 2 + low + high
        for size, window, stride, (low, high) in zip(lhs[2:], rhs[2:], window_strides, padding)
    ]
    return unpermuted((lhs[0], rhs[0], *spatial), out_spec)


def permuted(sizes: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    """Sizes in the order (batch, feature, *spatial) that a spec describes."""
    return tuple([sizes[dimension] for dimension in spec])


def unpermuted(sizes: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    """Sizes in the order (batch, feature, *spatial) put where a spec has them."""
    return tuple([sizes[spec.index(dimension)] for dimension in range(len(spec))])


# --- padding ---


def transposed_pads(window: int, stride: int, padding: object) -> tuple[int, int]:
    """How to pad the dilated input of a transposed convolution, given the padding of the one that it transposes."""
    if padding == "VALID":
        total, low = window + stride - 2 + at_least_zero(window - stride), window - 1
    elif padding == "SAME":
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else -(-total // 2)
    elif isinstance(padding, tuple) and len(padding) == 2:
        low, high = [window - pad - 1 for pad in padding]
        return low, high
    else:
        raise ValueError(f"conv_transpose: padding must be 'SAME', 'VALID', or pairs of integers, got {padding!r}")
    return low, total - low


def lhs_gradient_pads(
    in_shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    out_shape: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
) -> Pads:
    """How to pad the cotangent where it is convolved with the reversed kernel: what the input had is undone."""
    sizes = zip(dilated_shape(in_shape, lhs_dilation), dilated_shape(window, rhs_dilation))
    pads = []
    for (size, width), out, (low, _) in zip(sizes, dilated_shape(out_shape, strides), padding):
        before = width - low - 1
        pads.append((before, size + width - 1 - out - before))
    return pads


def rhs_gradient_pads(
    in_shape: tuple[int, ...],
    window: Sequence[int],
    strides: Sequence[int],
    out_shape: tuple[int, ...],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
) -> Pads:
    """How to pad the input where it is convolved with the cotangent, so that the kernel's size comes out."""
    sizes = zip(dilated_shape(in_shape, lhs_dilation), dilated_shape(window, rhs_dilation))
    return [
        (low, out - size + width - low - 1)
        for (size, width), out, (low, _) in zip(sizes, dilated_shape(out_shape, strides), padding)
    ]


# --- dimensions split and joined: how groups and mapped axes get into those that a convolution has ---


def split_axis(value: Value, axis: int, count: int) -> Array:
    """An axis as two, the first of which has `count` elements."""
    shape = value.aval.shape
    sizes = (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :])
    return reshape_p.bind(value, new_sizes=sizes, dimensions=None)


def join_axis(value: Value, source: int, target: int) -> Array:
    """One axis taken out and joined to another, before its elements; `target` is counted without the first."""
    shape = value.aval.shape
    order = [axis for axis in range(len(shape)) if axis != source]
    sizes = [shape[axis] for axis in order]
    sizes[target] = shape[source] * sizes[target]
    order.insert(target, source)
    in_order = order == list(range(len(shape)))
    return reshape_p.bind(value, new_sizes=tuple(sizes), dimensions=None if in_order else tuple(order))
