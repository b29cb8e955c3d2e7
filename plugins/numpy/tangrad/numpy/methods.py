"""The operators, methods and properties of arrays: what core asks for under the name "numpy.array_methods".

Most methods are the public function of the same name, with the array as its first argument. They are found when they
are first called, through the names of `tangrad.numpy`: importing this module, as the first operator does, costs little.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

import numpy as np

import tangrad.numpy as public
from tangrad.core import dtypes
from tangrad.lax.elementwise.primitives import bitcast_convert_type_p, complex_p, neg_p, not_p
from tangrad.numpy import arithmetic, logic
from tangrad.numpy.at import at
from tangrad.numpy.indexing import getitem
from tangrad.numpy.operands import user_dtype
from tangrad.numpy.products import matmul_operator

METHODS: dict[str, Any] = {}


class _Deferred:
    """A method that is found at its first use, and then takes its place in the table."""

    __slots__ = ("name", "path")

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        function = getattr(public, self.path)
        METHODS[self.name] = function
        return MethodType(function, instance)


# Methods that are public functions.
# fmt: off
_SAME = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "conj",
    "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod",
    "ptp", "ravel", "repeat", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take",
    "trace", "var",
)
# fmt: on
METHODS.update({name: _Deferred(name, name) for name in _SAME})


# --- methods of their own ------------------------------------------------------------------------------------------


def _sizes(given: tuple[Any, ...]) -> Any:
    """A shape given as one sequence, or as its items."""
    if len(given) == 1 and not isinstance(given[0], int):
        return given[0]
    return given


def reshape(self: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    """Give the elements another shape: `x.reshape(2, -1)` or `x.reshape((2, -1))`."""
    if not shape:
        raise TypeError("reshape() takes a shape")
    return public.reshape(self, _sizes(shape), order, copy=copy)


def transpose(self: Any, *axes: Any) -> Any:
    """Reorder the dimensions: `x.transpose()`, `x.transpose(1, 0)` or `x.transpose((1, 0))`."""
    order = None if not axes or axes == (None,) else _sizes(axes)
    return public.transpose(self, order)


def flatten(self: Any, order: str = "C", *, out_sharding: None = None) -> Any:
    """Give the elements one dimension."""
    return public.ravel(self, order)


def clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """Move elements that are beyond bounds to the bounds."""
    return public.clip(self, min, max)


def compress(self: Any, condition: Any, axis: int | None = None, **options: Any) -> Any:
    """Take the elements, or the slices along an axis, where a condition holds."""
    return public.compress(condition, self, axis, **options)


def view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """Read the same bits as another dtype; the last dimension changes with its width."""
    if type is not None:
        raise NotImplementedError("view: the argument type is not supported: there is one class of arrays")
    if dtype is None:
        return self
    wanted = user_dtype("view", dtype)
    own = self.dtype
    same_width = dtypes.bit_width(own) == dtypes.bit_width(wanted)
    if not same_width and not self.ndim:
        raise ValueError(f"view: an array without dimensions cannot be read as a dtype of another width, {wanted}")
    if own != wanted and "c" in (own.kind, wanted.kind):
        read = _read_complex(public.atleast_1d(self), wanted)
        return read if self.ndim else public.reshape(read, ())
    if same_width:
        return _read_bits(self, wanted)
    *rest, last = self.shape
    narrower = dtypes.bit_width(own) > dtypes.bit_width(wanted)
    if narrower:
        parts = _read_bits(self, wanted)
        return public.reshape(parts, (*rest, last * (dtypes.bit_width(own) // dtypes.bit_width(wanted))))
    count = dtypes.bit_width(wanted) // dtypes.bit_width(own)
    if last % count:
        raise ValueError(f"view: the last dimension of shape {self.shape} is not a multiple of {count}, for {wanted}")
    return _read_bits(public.reshape(self, (*rest, last // count, count)), wanted)


def _read_complex(x: Any, dtype: Any) -> Any:
    """From or to a complex dtype, by way of the real and imaginary parts beside each other."""
    if x.dtype.kind == "c":
        parts = public.stack([public.real(x), public.imag(x)], axis=-1)
        return view(public.reshape(parts, (*x.shape[:-1], 2 * x.shape[-1])), dtype)
    parts = view(x, dtypes.to_floating_dtype(dtype))
    if parts.shape[-1] % 2:
        raise ValueError(f"view: the last dimension of shape {x.shape} does not make up whole elements of {dtype}")
    return complex_p.bind(parts[..., ::2], parts[..., 1::2])


def _read_bits(x: Any, dtype: Any) -> Any:
    """Booleans are read as bytes: compilers do not say how they store them."""
    if x.dtype == dtype:
        return x
    if x.dtype == np.bool_:
        x = public.astype(x, "uint8")
    if dtype == np.bool_:
        return public.not_equal(_read_bits(x, dtypes.as_dtype("uint8")), 0)
    return bitcast_convert_type_p.bind(x, new_dtype=dtype)


def to_device(self: Any, device: Any, /, *, stream: None = None) -> Any:
    """Put the array on a device."""
    if stream is not None:
        raise NotImplementedError("to_device: the argument stream is not supported")
    return public.asarray(self, device=device)


def array_namespace(self: Any, /, *, api_version: str | None = None) -> Any:
    """The namespace of the Array API standard: `tangrad.numpy`."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"the Array API is provided in versions up to 2024.12, not {api_version!r}")
    return public


def tobytes(self: Any, order: str = "C") -> bytes:
    """The contents as bytes."""
    return bytes(self.to_numpy().tobytes(order))


METHODS.update(
    tobytes=tobytes,
    reshape=reshape,
    transpose=transpose,
    flatten=flatten,
    clip=clip,
    compress=compress,
    view=view,
    to_device=to_device,
)

# --- properties ----------------------------------------------------------------------------------------------------


def _transposed(self: Any) -> Any:
    return public.transpose(self)


def _matrix_transposed(self: Any) -> Any:
    return public.matrix_transpose(self)


def _real(self: Any) -> Any:
    return public.real(self)


def _imag(self: Any) -> Any:
    return public.imag(self)


PROPERTIES = {"T": _transposed, "mT": _matrix_transposed, "real": _real, "imag": _imag, "at": at}

# --- operators -----------------------------------------------------------------------------------------------------


def _negative(x: Any) -> Any:
    return neg_p.bind(x)


def _invert(x: Any) -> Any:
    return not_p.bind(x)


def _unstack(x: Any) -> Any:
    return public.unstack(x)


def _round(x: Any, digits: int | None = None) -> Any:
    """round(x) is an integer, as in Python; round(x, digits) keeps the dtype."""
    rounded = public.round(x, 0 if digits is None else digits)
    return public.astype(rounded, int) if digits is None else rounded


OPERATORS = {
    "add": arithmetic.add_operator,
    "sub": arithmetic.subtract_operator,
    "mul": arithmetic.multiply_operator,
    "truediv": arithmetic.divide_operator,
    "floordiv": arithmetic.floor_divide_operator,
    "mod": arithmetic.remainder_operator,
    "divmod": arithmetic.divmod_operator,
    "pow": arithmetic.power_operator,
    "and": logic.and_operator,
    "or": logic.or_operator,
    "xor": logic.xor_operator,
    "lshift": logic.left_shift_operator,
    "rshift": logic.right_shift_operator,
    "eq": logic.equal_operator,
    "ne": logic.not_equal_operator,
    "lt": logic.less_operator,
    "le": logic.less_equal_operator,
    "gt": logic.greater_operator,
    "ge": logic.greater_equal_operator,
    "neg": _negative,
    "pos": arithmetic.positive,
    "abs": arithmetic.absolute,
    "invert": _invert,
    "unstack": _unstack,
    "getitem": getitem,
    "matmul": matmul_operator,
    "round": _round,
    "array_namespace": array_namespace,
}


array_methods = {
    **OPERATORS,
    "methods": METHODS,
    "properties": PROPERTIES,
}
