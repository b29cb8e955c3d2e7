"""Initial values of weights: `tangrad.nn.initializers`.

An initializer is a function `init(key, shape, dtype=None) -> array`; most functions here make one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np

import tangrad.numpy as tnp
from tangrad import random
from tangrad.core import Array, dtypes
from tangrad.core.arguments import canonicalize_shape
from tangrad.extend.lax import takes_out_sharding
from tangrad.extend.numpy import canonical_axes, canonical_axis
from tangrad.typing import DTypeLike, Key, ShardingLike

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["init", "ones", "zeros"], True)

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip

Axes = int | Sequence[int]
Kind: TypeAlias = DTypeLike | None  # by default that of floating numbers


@runtime_checkable
class Initializer(Protocol):
    """A function that makes initial values.

    >>> import tangrad
    >>> isinstance(tangrad.nn.initializers.zeros, tangrad.nn.initializers.Initializer)
    True
    """

    def __call__(self, key: Key, shape: Sequence[int], dtype: Kind = None, out_sharding: ShardingLike = None) -> Array:
        """An array of `shape` and `dtype`, drawn with `key`."""
        raise NotImplementedError


def _kind(dtype: DTypeLike | None) -> np.dtype:
    return dtypes.default_float_dtype() if dtype is None else dtypes.check_user_dtype_supported(dtype)


# --- constants ---


@takes_out_sharding
def zeros(key: Key, shape: Sequence[int], dtype: Kind = None, out_sharding: ShardingLike = None) -> Array:
    """Zeros: an initializer itself.

    Args:
        key: not used.
        shape: of the result.
        dtype: of the result; None: the default float.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array.

    >>> import tangrad
    >>> tangrad.nn.initializers.zeros(None, (2,))
    Array([0., 0.], dtype=float32)
    """
    return tnp.zeros(shape, _kind(dtype))


@takes_out_sharding
def ones(key: Key, shape: Sequence[int], dtype: Kind = None, out_sharding: ShardingLike = None) -> Array:
    """Ones: an initializer itself.

    Args:
        key: not used.
        shape: of the result.
        dtype: of the result; None: the default float.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array.

    >>> import tangrad
    >>> tangrad.nn.initializers.ones(None, (2,))
    Array([1., 1.], dtype=float32)
    """
    return tnp.ones(shape, _kind(dtype))


def constant(value: ArrayLike, dtype: Kind = None) -> Initializer:
    """An initializer of arrays that are full of a value.

    Args:
        value: a number, or an array that broadcasts to their shape.
        dtype: theirs; None: the default float.

    Returns:
        An initializer.

    >>> import tangrad
    >>> tangrad.nn.initializers.constant(0.5)(None, (2,))
    Array([0.5, 0.5], dtype=float32)
    """

    @takes_out_sharding
    def init(key: Key, shape: Sequence[int], dtype: Kind = dtype, out_sharding: ShardingLike = None) -> Array:
        return tnp.full(shape, value, _kind(dtype))

    return init


# --- of a fixed scale ---


def uniform(scale: object = 1e-2, dtype: Kind = None) -> Initializer:
    """An initializer of numbers uniform in [0, scale).

    Args:
        scale: the upper bound.
        dtype: of the arrays; None: the default float.

    Returns:
        An initializer.

    >>> import tangrad
    >>> tangrad.nn.initializers.uniform(0.1)(tangrad.random.key(0), (2,))
    Array([0.0947667 , 0.09785799], dtype=float32)
    """

    @takes_out_sharding
    def init(key: Key, shape: Sequence[int], dtype: Kind = dtype, out_sharding: ShardingLike = None) -> Array:
        kind = _kind(dtype)
        return random.uniform(key, shape, kind) * tnp.array(scale, kind)

    return init


def normal(stddev: object = 1e-2, dtype: Kind = None) -> Initializer:
    """An initializer of normal numbers.

    Args:
        stddev: their standard deviation.
        dtype: of the arrays; None: the default float.

    Returns:
        An initializer.

    >>> import tangrad
    >>> tangrad.nn.initializers.normal(0.1)(tangrad.random.key(0), (2,))
    Array([0.16226421, 0.20252648], dtype=float32)
    """

    @takes_out_sharding
    def init(key: Key, shape: Sequence[int], dtype: Kind = dtype, out_sharding: ShardingLike = None) -> Array:
        kind = _kind(dtype)
        return random.normal(key, shape, kind) * tnp.array(stddev, kind)

    return init


def truncated_normal(
    stddev: object = 1e-2, dtype: Kind = None, lower: ArrayLike = -2.0, upper: ArrayLike = 2.0
) -> Initializer:
    """An initializer of normal numbers, cut off at `lower` and `upper` standard deviations.

    Args:
        stddev: the standard deviation before the cut.
        dtype: of the arrays; None: the default float.
        lower, upper: the bounds.

    Returns:
        An initializer.

    >>> import tangrad
    >>> tangrad.nn.initializers.truncated_normal(0.1)(tangrad.random.key(0), (2,))
    Array([0.14559592, 0.17147487], dtype=float32)
    """

    @takes_out_sharding
    def init(key: Key, shape: Sequence[int], dtype: Kind = dtype, out_sharding: ShardingLike = None) -> Array:
        kind = _kind(dtype)
        drawn = random.truncated_normal(key, lower, upper, shape, kind)
        return drawn * tnp.array(stddev, kind)

    return init


# --- of a scale that fits the shape ---

_DENOMINATORS = {
    "fan_in": lambda fan_in, fan_out: fan_in,
    "fan_out": lambda fan_in, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
    "fan_geo_avg": lambda fan_in, fan_out: (fan_in * fan_out) ** 0.5,
}
_DISTRIBUTIONS = ("truncated_normal", "normal", "uniform")
# Standard deviations of normal numbers cut off at 2. Of real ones √(1 - 4 φ(2) / (2 Φ(2) - 1)), where φ is the density
# and Φ the distribution. Of complex ones it would be √(1 - 4 / (e⁴ - 1)) = 0.96196; the number is JAX's, 1 % less, so
# that initial weights are the same.
_CUT_DEVIATION = 0.87962566103423978
_COMPLEX_CUT_DEVIATION = 0.95311164380491208


def _size(name: str, shape: Sequence[int], axes: Axes) -> int:
    return math.prod([shape[axis] for axis in canonical_axes("variance_scaling", axes, len(shape), name)])


def _fans(shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """How many inputs each output has, and how many outputs each input."""
    if len(shape) <= 1 and isinstance(in_axis, int) and in_axis == -2:
        raise ValueError(
            f"weights of shape {tuple(shape)} have no axis of inputs: give them two dimensions, or in_axis"
        )
    named = (("in_axis", in_axis), ("out_axis", out_axis), ("batch_axis", batch_axis))
    inputs, outputs, batch = [_size(name, shape, axes) for name, axes in named]
    if 0 in shape:  # nothing is drawn, whatever the variance
        return 1.0, 1.0
    receptive_field = math.prod(shape) / inputs / outputs / batch
    return inputs * receptive_field, outputs * receptive_field


def variance_scaling(
    scale: object,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Kind = None,
) -> Initializer:
    """An initializer of numbers of variance `scale` / fan.

    Args:
        scale: a number.
        mode: which fan: "fan_in", "fan_out", "fan_avg" or "fan_geo_avg", their arithmetic or geometric mean.
        distribution: "truncated_normal" (cut off at two standard deviations), "normal" or "uniform".
        in_axis, out_axis, batch_axis: which axes of the weights are inputs, outputs, and neither.
        dtype: of the arrays, floating or complex; None: the default float.

    Returns:
        An initializer.

    Raises:
        ValueError: for another mode or distribution.

    >>> import tangrad
    >>> init = tangrad.nn.initializers.variance_scaling(1.0, "fan_in", "normal")
    >>> init(tangrad.random.key(0), (4, 1)).shape
    (4, 1)
    """
    if mode not in _DENOMINATORS:
        raise ValueError(f"variance_scaling: mode must be one of {tuple(_DENOMINATORS)}, got {mode!r}")
    if distribution not in _DISTRIBUTIONS:
        raise ValueError(f"variance_scaling: distribution must be one of {_DISTRIBUTIONS}, got {distribution!r}")

    @takes_out_sharding
    def init(key: Key, shape: Sequence[int], dtype: Kind = dtype, out_sharding: ShardingLike = None) -> Array:
        sizes, kind = canonicalize_shape(shape), _kind(dtype)
        if not dtypes.issubdtype(kind, np.inexact):
            raise ValueError(f"variance_scaling draws floating or complex numbers, got dtype {dtypes.dtype_name(kind)}")
        fans = _fans(sizes, in_axis, out_axis, batch_axis)
        variance = tnp.array(scale / _DENOMINATORS[mode](*fans), kind)
        if distribution == "normal":
            return random.normal(key, sizes, kind) * tnp.sqrt(variance)
        is_real = dtypes.issubdtype(kind, np.floating)
        if distribution == "uniform":
            if is_real:
                return random.uniform(key, sizes, kind, -1) * tnp.sqrt(3 * variance)
            return _complex_uniform(key, sizes, kind) * tnp.sqrt(variance)
        if is_real:
            deviation = tnp.sqrt(variance) / tnp.array(_CUT_DEVIATION, kind)
            return random.truncated_normal(key, -2, 2, sizes, kind) * deviation
        deviation = tnp.sqrt(variance) / tnp.array(_COMPLEX_CUT_DEVIATION, kind)
        return _complex_truncated_normal(key, 2, sizes, kind) * deviation

    return init


def _in_disc(key: Key, shape: tuple[int, ...], dtype: np.dtype, distance: Callable[[Array], Array]) -> Array:
    """Complex numbers of any direction, whose distances from 0 are `distance` of numbers uniform in [0, 1)."""
    real = dtypes.to_floating_dtype(dtype)
    uniform, turn = [random.uniform(own, shape, real) for own in random.split(key)]
    return distance(uniform) * tnp.exp(1j * (2 * np.pi * turn.astype(dtype)))


def _complex_uniform(key: Key, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Uniform in a disc, of variance 1."""
    return _in_disc(key, shape, dtype, lambda uniform: tnp.sqrt(2 * uniform).astype(dtype))


def _complex_truncated_normal(key: Key, upper: float, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Complex normal numbers of variance 1 within a disc: the distribution of their distances, inverted."""
    inside = 1 - tnp.exp(tnp.array(-(upper**2), dtype))
    return _in_disc(key, shape, dtype, lambda uniform: tnp.sqrt(-tnp.log(1 - inside * uniform.astype(dtype))))


# --- orthogonal ---


def orthogonal(scale: object = 1.0, column_axis: int = -1, dtype: Kind = None) -> Initializer:
    """An initializer of matrices whose rows or columns are orthogonal, whichever there are fewer of.

    Args:
        scale: the length of each row or column.
        column_axis: which axis of the weights is that of the columns; the others together are the rows.
        dtype: of the arrays, floating or complex; None: the default float.

    Returns:
        An initializer, of shapes of two dimensions or more.

    Source: Saxe, McClelland and Ganguli, Exact solutions to the nonlinear dynamics of learning in deep linear neural
        networks, ICLR 2014.

    >>> import tangrad
    >>> w = tangrad.nn.initializers.orthogonal()(tangrad.random.key(0), (3, 2))
    >>> abs(tangrad.numpy.round(w.T @ w, 3))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    @takes_out_sharding
    def init(key: Key, shape: Sequence[int], dtype: Kind = dtype, out_sharding: ShardingLike = None) -> Array:
        sizes, kind = canonicalize_shape(shape), _kind(dtype)
        if len(sizes) < 2:
            raise ValueError(f"orthogonal: weights need two dimensions or more, got shape {sizes}")
        axis = canonical_axis("orthogonal", column_axis, len(sizes), "column_axis")
        columns, others = sizes[axis], [*sizes[:axis], *sizes[axis + 1 :]]
        drawn = random.orthogonal(key, columns, (), kind, math.prod(others))
        return tnp.array(scale, kind) * tnp.moveaxis(drawn.reshape(columns, *others), 0, axis)

    return init


def delta_orthogonal(scale: object = 1.0, column_axis: int = -1, dtype: Kind = None) -> Initializer:
    """An initializer of kernels of convolutions that keep lengths: orthogonal at the centre, 0 elsewhere.

    Args:
        scale: the length of each row at the centre.
        column_axis: which axis of the matrix at the centre is that of the columns.
        dtype: of the arrays, floating or complex; None: the default float.

    Returns:
        An initializer, of shapes of three to five dimensions: those of space, inputs, and at least as many outputs.

    Source: Xiao et al., Dynamical isometry and a mean field theory of CNNs, ICML 2018.

    >>> import tangrad
    >>> tangrad.nn.initializers.delta_orthogonal()(tangrad.random.key(0), (3, 3, 2, 4)).shape
    (3, 3, 2, 4)
    """
    centre = orthogonal(scale, column_axis, dtype)

    @takes_out_sharding
    def init(key: Key, shape: Sequence[int], dtype: Kind = dtype, out_sharding: ShardingLike = None) -> Array:
        sizes, kind = canonicalize_shape(shape), _kind(dtype)
        if len(sizes) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal: weights need three to five dimensions, got shape {sizes}")
        inputs, outputs = sizes[-2:]
        if outputs < inputs:
            raise ValueError(f"delta_orthogonal: there must be as many outputs as inputs, or more, got shape {sizes}")
        middle = tuple([(size - 1) // 2 for size in sizes[:-2]])
        return tnp.zeros(sizes, kind).at[middle].set(centre(key, (inputs, outputs), kind))

    return init


# --- by name ---


def glorot_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Kind = None) -> Initializer:
    """Glorot's initializer with uniform numbers: variance 1 / (mean of fan in and fan out).

    Args:
        in_axis, out_axis, batch_axis: which axes of the weights are inputs, outputs, and neither.
        dtype: of the arrays, floating or complex; None: the default float.

    Returns:
        An initializer.

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.

    >>> import tangrad
    >>> tangrad.nn.initializers.glorot_uniform()(tangrad.random.key(0), (4, 3)).shape
    (4, 3)
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Kind = None) -> Initializer:
    """Glorot's initializer with truncated normal numbers: variance 1 / (mean of fan in and fan out).

    Args:
        in_axis, out_axis, batch_axis: which axes of the weights are inputs, outputs, and neither.
        dtype: of the arrays, floating or complex; None: the default float.

    Returns:
        An initializer.

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.

    >>> import tangrad
    >>> tangrad.nn.initializers.glorot_normal()(tangrad.random.key(0), (4, 3)).shape
    (4, 3)
    """
    return variance_scaling(1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def lecun_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Kind = None) -> Initializer:
    """LeCun's initializer with uniform numbers: variance 1 / fan in.

    Args:
        in_axis, out_axis, batch_axis: which axes of the weights are inputs, outputs, and neither.
        dtype: of the arrays, floating or complex; None: the default float.

    Returns:
        An initializer.

    Source: LeCun et al., Efficient backprop, 1998.

    >>> import tangrad
    >>> tangrad.nn.initializers.lecun_uniform()(tangrad.random.key(0), (4, 3)).shape
    (4, 3)
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Kind = None) -> Initializer:
    """LeCun's initializer with truncated normal numbers: variance 1 / fan in.

    Args:
        in_axis, out_axis, batch_axis: which axes of the weights are inputs, outputs, and neither.
        dtype: of the arrays, floating or complex; None: the default float.

    Returns:
        An initializer.

    Source: LeCun et al., Efficient backprop, 1998.

    >>> import tangrad
    >>> tangrad.nn.initializers.lecun_normal()(tangrad.random.key(0), (4, 3)).shape
    (4, 3)
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Kind = None) -> Initializer:
    """He's initializer with uniform numbers: variance 2 / fan in.

    Args:
        in_axis, out_axis, batch_axis: which axes of the weights are inputs, outputs, and neither.
        dtype: of the arrays, floating or complex; None: the default float.

    Returns:
        An initializer.

    Source: He et al., Delving deep into rectifiers, 2015.

    >>> import tangrad
    >>> tangrad.nn.initializers.he_uniform()(tangrad.random.key(0), (4, 3)).shape
    (4, 3)
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Kind = None) -> Initializer:
    """He's initializer with truncated normal numbers: variance 2 / fan in.

    Args:
        in_axis, out_axis, batch_axis: which axes of the weights are inputs, outputs, and neither.
        dtype: of the arrays, floating or complex; None: the default float.

    Returns:
        An initializer.

    Source: He et al., Delving deep into rectifiers, 2015.

    >>> import tangrad
    >>> tangrad.nn.initializers.he_normal()(tangrad.random.key(0), (4, 3)).shape
    (4, 3)
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform = glorot_uniform
xavier_normal = glorot_normal
kaiming_uniform = he_uniform
kaiming_normal = he_normal
