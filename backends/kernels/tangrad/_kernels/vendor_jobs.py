"""Equations that oneMKL or oneDNN computes faster than the backends: products, factors, transforms, convolutions.

Each function is as those of `jobs`: the job, or None, always so where the library is not installed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad._kernels import jobs
from tangrad._kernels.jobs import Describe, Job, is_known, number_of
from tangrad._kernels.library import library
from tangrad._kernels.vendors import is_here
from tangrad.core import Primitive, ShapedArray
from tangrad.extend.lax import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atanh_p,
    cbrt_p,
    cholesky_p,
    conv_general_dilated_p,
    cosh_p,
    dot_general_p,
    eigh_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    free_axes,
    lgamma_p,
    log1p_p,
    log_p,
    pow_p,
    rem_p,
    sinh_p,
    svd_p,
    tan_p,
    triangular_solve_p,
)

if TYPE_CHECKING:
    from tangrad.lax import ConvDimensionNumbers, DotDimensionNumbers

FLOATS = ("float32", "float64")
MOST = (1 << 31) - 1  # of a size: the libraries count in 32 bits

# --- products ---------------------------------------------------------------------------------------------------------

MULTIPLICATIONS = 1 << 20  # from which on a product is faster
THINNEST = 16  # the least size of a side: XLA's own are for vectors


class Dimensions(NamedTuple):
    """Dimensions that are one: their sizes multiplied, and how far its elements are apart."""

    size: int
    stride: int


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    """How far elements are apart along each axis, row after row."""
    return tuple([prod(shape[axis + 1 :]) for axis in range(len(shape))])


def product(
    x: ShapedArray,
    y: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: object,
    preferred_element_type: object,
    x_strides: Sequence[int] | None = None,
    y_strides: Sequence[int] | None = None,
) -> Job | None:
    """Of matrices, several or one. Strides: of operands that are not row after row."""
    number = number_of(x, FLOATS)
    if number is None or y.dtype != x.dtype or preferred_element_type not in (None, x.dtype):
        return None
    if not (is_known(x) and is_known(y)) or not _is_plain(precision) or not is_here("mkl"):
        return None
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_strides, y_strides = x_strides or strides_of(x.shape), y_strides or strides_of(y.shape)
    order = sorted(range(len(x_contract)), key=x_contract.__getitem__)
    x_inner = joined(x.shape, x_strides, [x_contract[i] for i in order])
    y_inner = joined(y.shape, y_strides, [y_contract[i] for i in order])
    if x_inner is None or y_inner is None:
        return None
    x_free, y_free = free_axes(x.ndim, x_contract, x_batch), free_axes(y.ndim, y_contract, y_batch)
    rows, x_apart = _last_joined(x.shape, x_strides, x_free)
    columns, y_apart = _last_joined(y.shape, y_strides, y_free)
    if min(rows.size, columns.size, x_inner.size) < THINNEST:
        return None
    if 1 not in (x_inner.stride, rows.stride) or 1 not in (y_inner.stride, columns.stride):
        return None
    sizes = [*[x.shape[axis] for axis in (*x_batch, *x_free)], *[y.shape[axis] for axis in y_free]]
    if prod(sizes) * x_inner.size < MULTIPLICATIONS:
        return None
    out = strides_of(sizes)
    # Of each dimension of matrices the size, and how far they are apart: an operand may be the same for all.
    matrices = [
        *[(x.shape[i], x_strides[i], y_strides[j], apart) for i, j, apart in zip(x_batch, y_batch, out)],
        *[(x.shape[i], x_strides[i], 0, apart) for i, apart in zip(x_apart, out[len(x_batch) :])],
        *[(y.shape[j], 0, y_strides[j], apart) for j, apart in zip(y_apart, out[x.ndim - len(x_contract) :])],
    ]
    plan = (
        *(number, len(matrices), rows.size, columns.size, x_inner.size),
        *(rows.stride, x_inner.stride, y_inner.stride, columns.stride, prod([y.shape[axis] for axis in y_free]), 1),
        *[value for each in matrices for value in each],
    )
    return Job("product", plan, on_numpy=False) if max(plan) <= MOST else None


def _last_joined(shape: Sequence[int], strides: Sequence[int], axes: Sequence[int]) -> tuple[Dimensions, Sequence[int]]:
    """The last axes that are one, as many as can be, and those before them."""
    for first in range(len(axes)):
        found = joined(shape, strides, axes[first:])
        if found is not None:
            return found, axes[:first]
    return Dimensions(1, 1), ()


def transposed_product(plan: Sequence[int], shape: Sequence[int], permutation: Sequence[int]) -> Job | None:
    """The product whose result, of a shape, is permuted; None where the kernel cannot write it so."""
    count, rows, columns = plan[1:4]
    sizes = shape[:count]
    if tuple(plan[9:11]) != (columns, 1) or [plan[14 + 4 * i] for i in range(count)] != [
        rows * columns * stride for stride in strides_of(sizes)
    ]:
        return None  # it is one already
    strides = [0] * len(shape)
    for axis, stride in zip(permutation, strides_of([shape[axis] for axis in permutation])):
        strides[axis] = stride
    split = next(i for i in range(count, len(shape) + 1) if prod(shape[count:i]) == rows)
    down, across = [joined(shape, strides, range(*ends)) for ends in ((count, split), (split, len(shape)))]
    if down is None or across is None or 1 not in (down.stride, across.stride):
        return None
    made = [*plan[:9], down.stride, across.stride, *plan[11:]]
    made[14::4] = strides[:count]
    return Job("product", tuple(made))


def joined(shape: Sequence[int], strides: Sequence[int], axes: Iterable[int]) -> Dimensions | None:
    """Axes as one, if they are apart as those of one."""
    size = stride = 1
    for axis in reversed(list(axes)):
        if shape[axis] == 1:
            continue
        if size == 1:
            stride = strides[axis]
        elif strides[axis] != size * stride:
            return None
        size *= shape[axis]
    return Dimensions(size, stride)


def _is_plain(precision: object) -> bool:
    """Whether products may be computed as processors do: no algorithm is named."""
    each = precision if isinstance(precision, tuple) else (precision,)
    return all([one is None or str(one) in ("DEFAULT", "HIGH", "HIGHEST") for one in each])


# --- factors ----------------------------------------------------------------------------------------------------------

LEAST = 32  # rows and columns: below, calls take as long as what they save
OF_MATRICES = 1 << 14  # elements in all
LEAST_OF_SYSTEMS, OF_SYSTEMS = 16, 1 << 12  # rows, and multiplications in all


def _matrices(x: ShapedArray) -> tuple[int, int, int, int] | None:
    """The dtype's number, and how many matrices of how many rows and columns."""
    number = number_of(x, FLOATS)
    if number is None or not is_known(x) or prod(x.shape) < OF_MATRICES or not is_here("mkl"):
        return None
    rows, columns = x.shape[-2:]
    if min(rows, columns) < LEAST or 2 * rows * columns > MOST:
        return None
    return number, prod(x.shape[:-2]), rows, columns


def cholesky(x: ShapedArray, **_: object) -> Job | None:
    """Of positive definite matrices: the lower factor."""
    found = _matrices(x)
    return None if found is None else Job("cholesky", (*found[:3], 0))


def eigh(x: ShapedArray, *, lower: bool) -> Job | None:
    """Eigenvectors and eigenvalues of symmetric matrices."""
    found = _matrices(x)
    return None if found is None else Job("eigh", (*found[:3], int(lower), 0))


def of_means(job: Job) -> Job:
    """The job of `cholesky` or `eigh` for the mean of each matrix and its transpose, which the kernel finds itself."""
    return job._replace(plan=(*job.plan[:-1], 1))


def triangular_solve(
    a: ShapedArray,
    b: ShapedArray,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    unit_diagonal: bool,
    **_: object,
) -> Job | None:
    """Systems whose matrices are triangular."""
    number = number_of(a, FLOATS)
    if number is None or not (is_known(a) and is_known(b)) or not is_here("mkl"):
        return None
    size, sides = a.shape[-1], b.shape[-1 if left_side else -2]
    if size < LEAST_OF_SYSTEMS or size * prod(b.shape) < OF_SYSTEMS or size * max(size, sides) > MOST:
        return None
    flags = [left_side, lower, transpose_a, unit_diagonal]
    return Job("triangular_solve", (number, prod(a.shape[:-2]), size, sides, *map(int, flags)))


def svd(x: ShapedArray, *, full_matrices: bool, compute_uv: bool) -> Job | None:
    """Singular values, and the vectors."""
    found = _matrices(x)
    return None if found is None else Job("svd", (*found, int(full_matrices), int(compute_uv)))


# --- functions of elements --------------------------------------------------------------------------------------------

# As native/chain.cc numbers them.
OF_VECTORS = {
    each: number
    for number, each in enumerate(
        (log_p, log1p_p, tan_p, asin_p, acos_p, sinh_p, cosh_p, asinh_p, acosh_p, atanh_p, cbrt_p)
        + (erf_p, erfc_p, erf_inv_p, lgamma_p, pow_p, atan2_p, rem_p)
    )
}


def vectors(primitive: Primitive, among: Container[str], *operands: ShapedArray, **_: object) -> Job | None:
    """Of arrays of one shape and dtype, of which one may be a number."""
    whole = max(operands, key=lambda aval: aval.ndim)
    number = number_of(whole, among)
    if number is None or not is_known(whole) or prod(whole.shape) < jobs.MANY or not is_here("mkl"):
        return None
    if any([aval.dtype != whole.dtype or aval.shape not in ((), whole.shape) for aval in operands]):
        return None
    are_one = [int(not aval.shape) for aval in operands]
    return Job("vectors", (number, prod(whole.shape), OF_VECTORS[primitive], len(operands), *are_one))


def _by_vectors(dtypes: Mapping[Primitive, Container[str]]) -> dict[Primitive, Describe]:
    return {each: partial(vectors, each, among) for each, among in dtypes.items()}


# XLA calls C's functions of one number for these, alone and with what they are fused with; NumPy has its own vectors of
# most, and these it makes of many passes.
_DOUBLES = ("float64",)
XLA_VECTORS = {
    **dict.fromkeys((tan_p, asin_p, acos_p, sinh_p, cosh_p, asinh_p, acosh_p, atanh_p, cbrt_p), FLOATS),
    **dict.fromkeys((pow_p, atan2_p, rem_p), FLOATS),
    log_p: _DOUBLES,
    log1p_p: _DOUBLES,
}
XLA_SPECIAL = {**dict.fromkeys((erf_p, erf_inv_p), _DOUBLES), erfc_p: FLOATS}
NUMPY_VECTORS: dict[Primitive, Container[str]] = {cbrt_p: _DOUBLES, rem_p: FLOATS}
NUMPY_SPECIAL = {**dict.fromkeys((erf_p, erfc_p, lgamma_p), FLOATS), erf_inv_p: _DOUBLES}

# --- transforms -------------------------------------------------------------------------------------------------------

OF_TRANSFORMS = 1 << 12  # elements in all
KINDS = {"FFT": 0, "IFFT": 1, "RFFT": 2, "IRFFT": 3}  # as in native/mkl.cc
NUMBERS = {"float32": 0, "complex64": 0, "float64": 1, "complex128": 1}


def fft(x: ShapedArray, *, fft_type: Any, fft_lengths: tuple[int, ...]) -> Job | None:
    """Over up to three dimensions; back to real numbers over one: over more, others differ in what is no spectrum."""
    rank = len(fft_lengths)
    if not is_known(x) or not all([type(size) is int for size in fft_lengths]) or prod(x.shape) < OF_TRANSFORMS:
        return None
    if not 1 <= rank <= (1 if fft_type.name == "IRFFT" else 3) or min(fft_lengths) < 1 or not is_here("mkl"):
        return None
    lengths = prod(x.shape[:-rank]), rank, *fft_lengths
    return Job("fft", (NUMBERS[x.dtype.name], KINDS[fft_type.name], *lengths)) if max(lengths) <= MOST else None


# --- convolutions -----------------------------------------------------------------------------------------------------

PRODUCTS = 1 << 19  # from which on the library is faster


def convolution(
    x: ShapedArray,
    y: ShapedArray,
    *,
    dimension_numbers: ConvDimensionNumbers,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: object,
    **_: object,
) -> Job | None:
    """Over one to three dimensions; where the window is greater than the result, as the gradient of a kernel."""
    spatial = x.ndim - 2
    if x.dtype != np.float32 or y.dtype != x.dtype or preferred_element_type not in (None, x.dtype):
        return None
    if not 1 <= spatial <= 3 or not (is_known(x) and is_known(y)) or set(lhs_dilation) != {1}:
        return None
    x_sizes, y_sizes = [[shape[axis] for axis in spec] for shape, spec in zip((x.shape, y.shape), dimension_numbers)]
    if min(*x_sizes, *y_sizes) < 1 or not is_here("onednn"):
        return None
    around = zip(x_sizes[2:], padding, rhs_dilation, y_sizes[2:], window_strides)
    outs = [(size + sum(pad) - step * (taps - 1) - 1) // stride + 1 for size, pad, step, taps, stride in around]
    out_sizes = [x_sizes[0] // batch_group_count, y_sizes[0], *outs]
    if min(out_sizes) < 1 or prod(out_sizes) * prod(y_sizes[1:]) < PRODUCTS:
        return None
    image, kernel, result = [
        Strided.of(sizes, spec) for sizes, spec in zip((x_sizes, y_sizes, out_sizes), dimension_numbers)
    ]
    before, behind = [[pad[end] for pad in padding] for end in (0, 1)]
    if batch_group_count == 1 and prod(y_sizes[2:]) <= prod(outs):
        kernel = kernel.in_groups(feature_group_count)
        steps, dilations, kind = window_strides, rhs_dilation, (0, x.ndim, len(kernel.sizes), spatial)
    elif feature_group_count == 1:
        # The image has its features where the convolution has images, and the other way round.
        image, kernel, result = image.exchanged(), kernel.exchanged(), result.exchanged().in_groups(batch_group_count)
        steps, dilations, kind = rhs_dilation, window_strides, (1, x.ndim, len(result.sizes), spatial)
        reached = [
            (many - 1) * step + (taps - 1) * dilation + 1
            for many, step, taps, dilation in zip(y_sizes[2:], steps, outs, dilations)
        ]
        behind = [end - size - pad for end, size, pad in zip(reached, x_sizes[2:], before)]
        # What a longer step does not reach is no part of the image.
        image.sizes[2:] = [size + min(pad, 0) for size, pad in zip(x_sizes[2:], behind)]
        behind = [max(pad, 0) for pad in behind]
    else:
        return None
    if min(before) < 0 or min(behind) < 0:
        return None
    arrays = [value for each in (image, kernel, result) for value in (*each.sizes, *each.strides)]
    plan = (*kind, *arrays, *steps, *[dilation - 1 for dilation in dilations], *before, *behind)
    return Job("convolution", plan) if _is_taken(plan) else None


class Strided(NamedTuple):
    """An array in another order of its dimensions: images or results, features or operands, spatial ones."""

    sizes: list[int]
    strides: list[int]

    @classmethod
    def of(cls, sizes: Sequence[int], spec: Sequence[int]) -> Strided:
        """For sizes in this order, and where each stands in memory."""
        strides = strides_of([sizes[spec.index(axis)] for axis in range(len(spec))])
        return cls(list(sizes), [strides[axis] for axis in spec])

    def exchanged(self) -> Strided:
        """With the first two dimensions in each other's place."""
        return Strided(*[[values[1], values[0], *values[2:]] for values in self])

    def in_groups(self, groups: int) -> Strided:
        """With one of groups first, if there are several."""
        if groups == 1:
            return self
        each = self.sizes[0] // groups
        return Strided([groups, each, *self.sizes[1:]], [each * self.strides[0], *self.strides])


@cache
def _is_taken(plan: tuple[int, ...]) -> bool:
    """Whether the library has such a convolution."""
    compiled, numbers = library(), np.array(plan, np.int64)
    return compiled is not None and bool(compiled.tangrad_convolution_taken(ctypes.c_void_p(numbers.ctypes.data)))


def _either(first: Describe, second: Describe) -> Describe:
    return lambda *avals, **params: first(*avals, **params) or second(*avals, **params)


VECTORS = {"numpy": _by_vectors(NUMPY_VECTORS), "xla": _by_vectors(XLA_VECTORS)}
SPECIAL = {"numpy": _by_vectors(NUMPY_SPECIAL), "xla": _by_vectors(XLA_SPECIAL)}
SPECTRA: dict[Primitive, Describe] = {eigh_p: eigh, svd_p: svd}
LINALG: dict[Primitive, Describe] = {cholesky_p: cholesky, triangular_solve_p: triangular_solve}
CONTRACTIONS: dict[Primitive, Describe] = {dot_general_p: product}
WINDOWS: dict[Primitive, Describe] = {
    conv_general_dilated_p: _either(convolution, jobs.WINDOWS[conv_general_dilated_p])
}
