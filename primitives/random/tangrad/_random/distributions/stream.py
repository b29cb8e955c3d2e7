"""How the programs of distributions draw, how primitives are made of them, and what their arguments become.

A distribution is one primitive, whose decomposition is its program: so an eager call is one step on every backend,
compiled as a whole, and jaxprs say `random_normal`. The parameter `partitionable` of each selects the one of the two
streams of `ciphers.py` that it draws from: the setting `threefry_partitionable` at the time of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tangrad._random.ciphers import BIT_WIDTHS, check_keys, convert, random
from tangrad._random.functions import one_key, stated_shape
from tangrad._random.primitives import random_bits_p, random_split_p
from tangrad._random.settings import threefry_partitionable
from tangrad.core import Array, Primitive, ShapedArray, as_operand, dtypes, literal
from tangrad.errors import ArgumentError
from tangrad.extend.lax import (
    bitcast_convert_type_p,
    broadcast_in_dim_p,
    broadcast_shapes,
    check_dtype,
    convert_element_type_p,
    or_p,
    shift_right_logical_p,
    sub_p,
    unstack,
)
from tangrad.typing import Dimensions, DType, DTypeLike, Value


def float_dtype(name: str, dtype: DTypeLike | None, accepted: object = np.floating) -> np.dtype:
    """The dtype of a sample: float32 (float64 with `enable_x64`) for None. Raises ValueError for one not accepted."""
    if dtype is None:
        return dtypes.canonicalize_dtype(float)
    made = dtypes.check_user_dtype_supported(getattr(dtype, "dtype", dtype) if not isinstance(dtype, type) else dtype)
    if not dtypes.issubdtype(made, accepted):
        kinds = "float" if accepted is np.floating else "float or complex"
        raise ValueError(f"{name}: dtype must be a {kinds} dtype, got {dtypes.dtype_name(made)}")
    return made


def int_dtype(name: str, dtype: object, error: type[Exception] = ValueError) -> DType:
    """The dtype of a sample: int32 (int64 with `enable_x64`) for None. Raises `error` for one that is no integer's."""
    made = dtypes.check_user_dtype_supported(int if dtype is None else dtype)
    if not dtypes.issubdtype(made, np.integer):
        raise error(f"{name}: dtype must be an integer dtype, got {dtypes.dtype_name(made)}")
    return made


def sample_shape(name: str, shape: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape of a sample; for None that of the parameters. Raises ValueError where parameters do not fit it."""
    shapes = [np.shape(value) if not hasattr(type(value), "aval") else value.aval.shape for value in parameters]
    if shape is None:
        return broadcast_shapes(*shapes)
    made = stated_shape(name, shape)
    check_fits(name, made, *shapes)
    return made


def check_fits(name: str, shape: Dimensions, *shapes: tuple[object, ...]) -> None:
    """Raise ValueError unless arrays of some shapes broadcast to `shape`."""
    if any(shapes):
        try:
            fits = broadcast_shapes(shape, *shapes) == shape
        except ValueError:
            fits = False
        if not fits:
            found = ", ".join([str(tuple(s)) for s in shapes])
            raise ArgumentError(f"{name}: parameters of shape {found} do not broadcast to the sample's shape {shape}")


def parameter(name: str, value: Any, dtype: DType, shape: Dimensions, argument: str = "a parameter") -> Value:
    """A parameter as an operand of `dtype`: of rank 0, or broadcast to `shape`."""
    if type(value) in (int, float) and dtype.kind == "f":
        return literal(float(value), dtype)
    try:
        operand = as_operand(value)
    except TypeError as error:
        raise TypeError(f"{name} requires an array or number as {argument}, got {value!r}") from error
    return fitted(name, converted(operand, dtype), shape)


def converted(operand: Value, dtype: DType) -> Value:
    """An operand in `dtype`, not weakly typed."""
    if operand.aval.dtype == dtype and not operand.aval.weak_type:
        return operand
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=False)


def fitted(name: str, operand: Value, shape: Dimensions) -> Value:
    """An operand of rank 0 or of `shape`. Raises ValueError for one that does not broadcast to it."""
    own = operand.aval.shape
    if not own or own == shape:
        return operand
    check_fits(name, shape, own)
    dimensions = tuple(range(len(shape) - len(own), len(shape)))
    return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dimensions)


def check_safe_cast(name: str, dtype: DType, **parameters: object) -> None:
    """Raise TypePromotionError for parameters that would lose digits, or their imaginary part, in `dtype`."""
    for argument, value in parameters.items():
        aval = as_operand(value).aval
        if aval.weak_type and aval.dtype.kind != "c":
            continue
        if dtypes.promote_types(aval.dtype, dtype) != dtype:
            found = dtypes.dtype_name(aval.dtype)
            raise dtypes.TypePromotionError(
                f"{name}: {argument} of dtype {found} cannot be converted to {dtypes.dtype_name(dtype)} without loss"
            )


Program = Callable[..., Any]


MANY = 1 << 12  # numbers, of which there are two streams


class Stream:
    """Keys, of rank 0 but in the programs of samplers without operands, and which stream they draw from."""

    __slots__ = ("keys", "partitionable")

    def __init__(self, keys: Value, partitionable: bool) -> None:
        self.keys = keys
        self.partitionable = partitionable

    def split(self, count: int = 2) -> list[Stream]:
        """Streams independent of each other; this one must not be used again."""
        new = random_split_p.bind(self.keys, shape=(count,), partitionable=self.partitionable)
        return [Stream(keys, self.partitionable) for keys in unstack(new, self.keys.aval.ndim)]

    def bits(self, shape: tuple[int, ...], bit_width: int = 32) -> Array:
        """Unsigned integers, all equally likely."""
        return random_bits_p.bind(self.keys, bit_width=bit_width, shape=shape, partitionable=self.partitionable)

    def split_bits(self, shape: tuple[int, ...], bit_width: int = 32) -> list[Array]:
        """The bits of the two streams of `split()`: of few by one call of the generator, which is most to compile.

        Two calls for many, as loops over halves of one result are no loops of vectors on CPUs (a tenth of the time).
        """
        if all([type(size) is int for size in shape]) and prod(shape) >= MANY:
            return [stream.bits(shape, bit_width) for stream in self.split()]
        new = random_split_p.bind(self.keys, shape=(2,), partitionable=self.partitionable)
        bits = random_bits_p.bind(new, bit_width=bit_width, shape=shape, partitionable=self.partitionable)
        return list(unstack(bits, self.keys.aval.ndim))

    def draw(self, primitive: Primitive, *operands: Value, **params: object) -> Array:
        """A sample of another distribution."""
        return primitive.bind(self.keys, *operands, partitionable=self.partitionable, **params)


def sampler(name: str, program: Program, documentation: str, accepts: str | None = None) -> Primitive:
    """A primitive that draws: an array of `shape` and `dtype` for each key, or for one key and operands.

    `program(stream, *operands, shape=, dtype=, **params)` is its decomposition. Operands have rank 0 or that shape, and
    the dtype of the result; or, with `accepts`, one of any dtype of that kind.
    """

    def abstract_eval(
        keys: ShapedArray,
        *operands: ShapedArray,
        shape: Dimensions,
        dtype: DType,
        partitionable: bool,
        **params: object,
    ) -> ShapedArray:
        check_keys(name, keys)
        for operand in operands:
            if keys.shape or operand.shape not in ((), shape):
                raise ValueError(
                    f"{name} takes one key, and operands without dimensions or of shape {shape}; got keys of shape "
                    f"{keys.shape} and operands of shapes {[operand.shape for operand in operands]}"
                )
            if accepts is not None:
                check_dtype(name, operand, (accepts,), "operands")
            elif operand.dtype != dtype:
                found = f"{dtypes.dtype_name(operand.dtype)} and {dtypes.dtype_name(dtype)}"
                raise TypeError(f"{name} takes operands of the dtype that it draws, got {found}")
        return ShapedArray((*keys.shape, *shape), dtype)

    def decompose(keys: Value, *operands: Value, partitionable: bool, **params: object) -> Array:
        return program(Stream(keys, partitionable), *operands, **params)

    abstract_eval.__doc__ = documentation
    primitive: Primitive = random.primitive(abstract_eval, name=name, weak_type="never", decompose=decompose)
    return primitive


def draw(name: str, primitive: Primitive, key: Value, *operands: Value, **params: object) -> Array:
    """A sample for the public function `name`."""
    keys = one_key(name, key)
    return primitive.bind(keys, *operands, partitionable=threefry_partitionable.value, **params)


# --- [0, 1) ---


def draw_broadcast(
    name: str, primitive: Primitive, key: Value, shape: object, dtype: DTypeLike | None, **parameters: object
) -> Array:
    """Floats of a distribution whose parameters broadcast to the shape of the result."""
    kind = float_dtype(name, dtype)
    sizes = sample_shape(name, shape, *parameters.values())
    check_safe_cast(name, kind, **parameters)
    operands = [parameter(name, value, kind, sizes, argument) for argument, value in parameters.items()]
    return draw(name, primitive, key, *operands, shape=sizes, dtype=kind)


def unit_bits(dtype: DType) -> int:
    """How many random bits a float of that dtype is made of: its own, but 8 where it keeps fewer. Raises TypeError."""
    information = dtypes.finfo(dtype)
    if information.bits not in BIT_WIDTHS:
        raise TypeError(f"uniform numbers have 8, 16, 32 or 64 bits, not the {information.bits} of {dtype}")
    return 8 if information.nmant < 8 else int(information.bits)


def unit_floats(bits: Value, dtype: Any) -> Array:
    """Floats in [0, 1): random bits fill the mantissa of a float in [1, 2), from which 1 is taken."""
    information = dtypes.finfo(dtype)
    words = BIT_WIDTHS[information.bits]
    surplus = bits.aval.dtype.itemsize * 8 - information.nmant
    if bits.aval.dtype != words:
        bits = convert(bits, words)
    one = np.ones((), dtype)
    mantissa = shift_right_logical_p.bind(bits, literal(surplus, words))
    filled = or_p.bind(mantissa, literal(int(one.view(words)), words))
    floats = bitcast_convert_type_p.bind(filled, new_dtype=dtype)
    return sub_p.bind(floats, literal(one[()], dtype))


def _unit(stream: Stream, *, shape: Dimensions, dtype: DType) -> Array:
    return unit_floats(stream.bits(shape, unit_bits(dtype)), dtype)


random_uniform_p = sampler("random_uniform", _unit, "Floats in [0, 1), equally spaced and all equally likely.")
