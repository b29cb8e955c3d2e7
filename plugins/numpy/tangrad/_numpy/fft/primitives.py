"""The discrete Fourier transform as a primitive, its four types, and the type of its result."""

from __future__ import annotations

import enum

from tangrad.core import PrimitiveSet, ShapedArray, class_boundary, dtypes
from tangrad.core.arguments import product
from tangrad.core.caches import exact_equality
from tangrad.typing import Dimensions, DType

fft = PrimitiveSet("fft", api=1)

_REAL = tuple([dtypes.as_dtype(name) for name in ("float32", "float64")])
_COMPLEX = tuple([dtypes.as_dtype(name) for name in ("complex64", "complex128")])


@class_boundary
@exact_equality
class FftType(enum.Enum):
    """Which transform.

    FFT: y[k] = Σ x[j] exp(-2πi jk/n). IFFT: its inverse. RFFT: of real x, the first n // 2 + 1 of y along the last
    dimension, of which the others are the conjugates. IRFFT: its inverse.

    >>> import tangrad
    >>> tangrad.lax.FftType.RFFT
    FftType.RFFT
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3

    @staticmethod
    def from_any(value: object) -> FftType:
        """The type for a type or its name, in letters of either case.

        Raises TypeError for what is neither, ValueError for an unknown name.
        """
        if isinstance(value, FftType):
            return value
        names = ", ".join([repr(each.name) for each in FftType])
        if not isinstance(value, str):
            kind = type(value).__name__
            raise TypeError(f"fft: fft_type must be a FftType or one of {names}, got {value!r} of type {kind}")
        found = FftType.__members__.get(value.upper())
        if found is None:
            raise ValueError(f"fft: fft_type must be one of {names}, got {value!r}")
        return found

    @property
    def takes_real(self) -> bool:
        """Whether the operand is real."""
        return self is FftType.RFFT

    @property
    def gives_real(self) -> bool:
        """Whether the result is real."""
        return self is FftType.IRFFT

    @property
    def is_inverse(self) -> bool:
        """Whether it divides by the number of points."""
        return self is FftType.IFFT or self is FftType.IRFFT

    def sizes(self, lengths: Dimensions) -> tuple[Dimensions, Dimensions]:
        """The sizes of the operand and of the result along the dimensions of a transform with these lengths."""
        if self is FftType.FFT or self is FftType.IFFT:
            return lengths, lengths
        half = (*lengths[:-1], lengths[-1] // 2 + 1)
        return (lengths, half) if self is FftType.RFFT else (half, lengths)

    def __repr__(self) -> str:
        return f"FftType.{self.name}"


@fft.primitive(name="fft")
def fft_p(x: ShapedArray, *, fft_type: FftType, fft_lengths: Dimensions) -> ShapedArray:
    """The transform along the last dimensions of x, as many as there are lengths.

    Lengths are those of the result of IRFFT, and of the operand otherwise.
    """
    _check_dtype(x, fft_type)
    _check_lengths(x, fft_type, fft_lengths)
    before, after = fft_type.sizes(fft_lengths)
    batch = x.shape[: x.ndim - len(fft_lengths)]
    if x.shape != (*batch, *before):
        name = fft_type.name
        raise ValueError(f"fft: {name} of lengths {fft_lengths} takes an x that ends in {before}, got shape {x.shape}")
    return ShapedArray((*batch, *after), result_dtype(x.dtype, fft_type))


def result_dtype(dtype: DType, fft_type: FftType) -> DType:
    """The dtype that a transform makes of the one that it takes."""
    if fft_type.takes_real:
        return dtypes.to_complex_dtype(dtype)
    return dtypes.to_floating_dtype(dtype) if fft_type.gives_real else dtype


def _check_dtype(x: ShapedArray, fft_type: FftType) -> None:
    accepted = _REAL if fft_type.takes_real else _COMPLEX
    if x.dtype not in accepted:
        names = " or ".join([dtype.name for dtype in accepted])
        raise TypeError(f"fft: {fft_type.name} takes an x of {names}, got {dtypes.dtype_name(x.dtype)}")


def _check_lengths(x: ShapedArray, fft_type: FftType, lengths: Dimensions) -> None:
    if len(lengths) > x.ndim:
        raise ValueError(f"fft: x must have a dimension for each length, got shape {x.shape} and lengths {lengths}")
    if any([length < 0 for length in lengths]):
        raise ValueError(f"fft: fft_lengths must not be negative, got {lengths}")
    halves = fft_type.takes_real or fft_type.gives_real
    if halves and (not lengths or lengths[-1] < 1):
        raise ValueError(f"fft: the last of fft_lengths must be positive for {fft_type.name}, got {lengths}")


def is_empty(lengths: Dimensions, shape: Dimensions) -> bool:
    """Whether a transform has no points or no results: then all there are, are zeros."""
    return 0 in lengths or 0 in shape


def point_count(lengths: Dimensions) -> int:
    """How many points a transform has."""
    return product(lengths)
