"""`tangrad.lax.fft`, and what the transforms of `numpy.fft` are made of: axes anywhere, sizes, norms, frequencies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad._numpy.arithmetic import divide, multiply
from tangrad._numpy.conversion import placed
from tangrad._numpy.fft.primitives import FftType, fft_p, point_count
from tangrad._numpy.fusing import as_one
from tangrad._numpy.operands import (
    array_operand,
    canonical_axis,
    convert,
    index_argument,
    is_complex,
    promote_inexact,
    user_dtype,
)
from tangrad._numpy.ranges import arange
from tangrad._numpy.tiling import roll
from tangrad.core import Array, as_operand, dtypes, literal
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import (
    check_int,
    conj_p,
    convert_element_type_p,
    div_p,
    mul_p,
    operand,
    pad_p,
    size_operand,
    sqrt_p,
    transpose_p,
)
from tangrad.typing import ArrayLike, DeviceLike, DType, DTypeLike, Value


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The discrete Fourier transform along the last dimensions.

    Args:
        x: an array of shape (..., *lengths), where the last length n is n // 2 + 1 for IRFFT. RFFT takes float32 and
            float64, the others complex64 and complex128; real arrays become complex, integers float first.
        fft_type: a FftType or its name: "FFT", "IFFT", "RFFT", "IRFFT". The inverse ones divide by the number of
            points.
        fft_lengths: the length of the result along each transformed dimension of IRFFT, of `x` for the others.

    Returns:
        An array of shape (..., *lengths), where the last length n is n // 2 + 1 for RFFT; of a real dtype for IRFFT,
        and complex otherwise.

    Raises:
        TypeError: for dtypes, lengths or types of transforms that are none of these.
        ValueError: for an unknown name, and lengths that do not fit the shape.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.fft(np.array([1.0, 2.0, 3.0, 4.0]), "RFFT", (4,))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    kind = FftType.from_any(fft_type)
    try:
        lengths = tuple(fft_lengths)
    except TypeError:
        found = type(fft_lengths).__name__
        message = f"fft: fft_lengths must be a sequence of integers, got {fft_lengths!r} of type {found}"
        raise TypeError(message) from None
    lengths = tuple([check_int("fft", length, "fft_lengths") for length in lengths])
    return fft_p.bind(_converted(operand("fft", x), kind), fft_type=kind, fft_lengths=lengths)


def _converted(x: Value, fft_type: FftType) -> Value:
    """Whole numbers as floats, and those as complex numbers where it takes these."""
    dtype = dtypes.to_inexact_dtype(x.aval.dtype)
    if not fft_type.takes_real and dtype.name in ("float32", "float64"):
        dtype = dtypes.to_complex_dtype(dtype)
    return convert(x, dtype)


# norm -> how much of the number of points, as a power, a transform is multiplied by: forward, inverse (which divides).
_POWERS: dict[str | None, tuple[float, float]] = {
    None: (0, 0),
    "backward": (0, 0),
    "ortho": (-0.5, 0.5),
    "forward": (-1, 1),
}
# What is a forward transform by its name, but computed by the inverse one, or the other way round.
_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def check_norm(name: str, norm: object) -> None:
    """Raise ValueError for a norm that there is not."""
    if not (norm is None or isinstance(norm, str)) or norm not in _POWERS:
        raise ValueError(f"{name}: norm must be 'backward', 'ortho', 'forward' or None, got {norm!r}")


def opposite(name: str, norm: str | None) -> str:
    """The norm that the transform in the other direction has where this one has `norm`."""
    check_norm(name, norm)
    return _OPPOSITE[norm]


def transform_operand(name: str, value: ArrayLike, fft_type: FftType) -> Value:
    """An array or number as a transform takes it: float32, float64 or the complex dtypes with these parts."""
    (x,) = promote_inexact(name, value)
    if fft_type.takes_real:
        if is_complex(x):
            raise TypeError(f"{name} takes real arrays, got dtype {x.aval.dtype.name}; take the real part, or use fft")
        narrow = dtypes.bit_width(x.aval.dtype) < 32
        return convert(x, dtypes.as_dtype("float32") if narrow else x.aval.dtype)
    return convert(x, dtypes.to_complex_dtype(x.aval.dtype))


def size_argument(name: str, value: object, argument: str) -> int:
    """A number of points. Raises TypeError for what is no integer, ValueError for less than one."""
    size = index_argument(name, value, argument)
    if size < 1:
        raise ValueError(f"{name}: {argument} must be positive, got {value!r}")
    return size


def transformed(
    name: str, fft_type: FftType, x: Value, axes: Sequence[int], sizes: Sequence[int] | None, norm: Any
) -> Array:
    """The transform of an operand along axes that are known to be there, the last of which may be halved.

    `sizes`: numbers of points, to which the operand is cut or filled up with zeros; None: those that it has.
    """
    check_norm(name, norm)
    lengths = _own_lengths(name, fft_type, x, axes) if sizes is None else tuple(sizes)
    if not axes and (fft_type.takes_real or fft_type.gives_real):
        raise ValueError(f"{name}: there must be an axis to transform along, got axes ()")
    if not axes:
        return array_operand(name, x)
    rank = x.aval.ndim
    x = _resized(x, axes, fft_type.sizes(lengths)[0])
    order = (*[d for d in range(rank) if d not in axes], *axes)
    moves = order != tuple(range(rank))
    out = fft_p.bind(transpose_p.bind(x, permutation=order) if moves else x, fft_type=fft_type, fft_lengths=lengths)
    power = _POWERS[norm][fft_type.is_inverse]
    if power and 0 not in lengths:
        out = mul_p.bind(out, _power(point_count(lengths), power, out.aval.dtype))
    if not moves:
        return out
    return transpose_p.bind(out, permutation=tuple([order.index(d) for d in range(rank)]))


def conjugated(x: Value) -> Array:
    """The complex conjugates."""
    return conj_p.bind(x)


def _own_lengths(name: str, fft_type: FftType, x: Value, axes: Sequence[int]) -> tuple[int, ...]:
    lengths = [x.aval.shape[axis] for axis in axes]
    if fft_type.gives_real and axes:
        lengths[-1] = 2 * (lengths[-1] - 1)
    if (fft_type.gives_real or fft_type.takes_real) and axes and lengths[-1] < 1:
        size = x.aval.shape[axes[-1]]
        raise ValueError(f"{name}: axis {axes[-1]} of size {size} has no points to transform; say how many there are")
    return tuple(lengths)


def _power(count: int, power: float, dtype: DType) -> Value:
    """Roots by `sqrt`, which is exact where it can be."""
    if is_symbolic(count):
        return convert_element_type_p.bind(_symbolic_power(count, power), new_dtype=dtype, weak_type=False)
    value = math.sqrt(count) if abs(power) == 0.5 else float(count)
    return literal(1 / value if power < 0 else value, dtype)


def _symbolic_power(count: int, power: float) -> Value:
    value = size_operand(count, dtypes.default_float_dtype())
    value = sqrt_p.bind(value) if abs(power) == 0.5 else value
    return div_p.bind(literal(1.0, value.aval.dtype), value) if power < 0 else value


def _resized(x: Value, axes: Sequence[int], sizes: Sequence[int]) -> Value:
    config = [(0, 0, 0)] * x.aval.ndim
    for axis, size in zip(axes, sizes):
        config[axis] = (0, size - x.aval.shape[axis], 0)
    if all([high == 0 for _, high, _ in config]):
        return x
    return pad_p.bind(x, literal(0, x.aval.dtype), padding_config=tuple(config))


# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["fftfreq", "rfftfreq"], True)


def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Array:
    """The frequencies of the elements of `fft`: [0, 1, …, -2, -1] / (d n), the negative ones last.

    Args:
        n: the number of points.
        d: the distance between two of them, in the unit whose inverse the frequencies have; it may be traced.
        dtype: of the result; None: the default float.
        device: where it shall be; None: on the default device.

    Returns:
        An array of shape (n,).

    Raises:
        TypeError: `n` is no integer.
        ValueError: `n` is negative.

    >>> import tangrad.numpy as np
    >>> np.fft.fftfreq(5, 0.5)
    Array([ 0. ,  0.4,  0.8, -0.8, -0.4], dtype=float32)
    """
    return placed(_of_fft(n, d, dtype), device)


@as_one("n", "dtype", name="fftfreq")
def _of_fft(n: int, d: ArrayLike, dtype: DTypeLike | None) -> Value:
    size = _size("fftfreq", n)
    return _frequencies("fftfreq", ifftshift(arange(-(size // 2), (size + 1) // 2)), size, d, dtype)


def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Array:
    """The frequencies of the elements of `rfft`: [0, 1, …, n // 2] / (d n).

    Args:
        n: the number of points.
        d: the distance between two of them, in the unit whose inverse the frequencies have; it may be traced.
        dtype: of the result; None: the default float.
        device: where it shall be; None: on the default device.

    Returns:
        An array of shape (n // 2 + 1,).

    Raises:
        TypeError: `n` is no integer.
        ValueError: `n` is less than 1.

    >>> import tangrad.numpy as np
    >>> np.fft.rfftfreq(5, 0.5)
    Array([0. , 0.4, 0.8], dtype=float32)
    """
    return placed(_of_rfft(n, d, dtype), device)


@as_one("n", "dtype", name="rfftfreq")
def _of_rfft(n: int, d: ArrayLike, dtype: DTypeLike | None) -> Value:
    size = _size("rfftfreq", n, 1)
    return _frequencies("rfftfreq", arange(size // 2 + 1), size, d, dtype)


def _size(name: str, n: int, least: int = 0) -> int:
    size = index_argument(name, n, "n")
    if size < least:
        raise ValueError(f"{name}: n must be at least {least}, got {n!r}")
    return size


def _frequencies(name: str, multiples: Value, size: int, d: ArrayLike, dtype: DTypeLike | None) -> Value:
    asked = user_dtype(name, dtype)
    wanted = dtypes.default_float_dtype() if asked is None else asked
    # Divided as floats whatever is asked for: the length of the whole may be less than one.
    computed = wanted if dtypes.issubdtype(wanted, np.inexact) else dtypes.default_float_dtype()
    if not size:
        return convert(multiples, wanted)
    length = convert(as_operand(multiply(d, size)), computed)
    return convert(divide(convert(multiples, computed), length), wanted)


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Move the element of frequency 0 from the front to the middle, the negative frequencies before it.

    Args:
        x: an array or number.
        axes: along which dimensions; None: along all.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: `x` is no array, or an axis no integer.
        ValueError: an axis is out of bounds.

    >>> import tangrad.numpy as np
    >>> np.fft.fftshift(np.array([0, 1, 2, -2, -1]))
    Array([-2, -1,  0,  1,  2], dtype=int32)
    """
    return _shifted("fftshift", x, axes, lambda size: size // 2)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`: the element in the middle comes to the front.

    Args:
        x: an array or number.
        axes: along which dimensions; None: along all.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: `x` is no array, or an axis no integer.
        ValueError: an axis is out of bounds.

    >>> import tangrad.numpy as np
    >>> np.fft.ifftshift(np.array([-2, -1, 0, 1, 2]))
    Array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, lambda size: -(size // 2))


def _shifted(name: str, value: object, axes: object, shift: Callable[[int], int]) -> Array:
    x = array_operand(name, value)
    rank = x.aval.ndim
    given = range(rank) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    places = tuple([canonical_axis(name, axis, rank, "axes") for axis in given])
    return roll(x, [shift(x.aval.shape[place]) for place in places], places)
