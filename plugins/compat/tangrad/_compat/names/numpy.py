"""`jax.numpy`: the functions that take arguments there which Tangrad's do not."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from tangrad import lax
from tangrad import numpy as jnp
from tangrad.core import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangrad.typing import ArrayLike


__all__ = ["einsum", "expand_dims", "shape"]

# What is another name of a function in Tangrad and in NumPy, and in jax a function that knows its own name.
OWN_NAMES = frozenset(
    [
        "abs",
        "acos",
        "acosh",
        "amax",
        "amin",
        "around",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "bitwise_invert",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "conj",
        "degrees",
        "invert",
        "mod",
        "pow",
        "radians",
        "true_divide",
    ]
)


def __getattr__(name: str) -> FunctionType:
    if name not in OWN_NAMES:
        raise AttributeError(name)
    return renamed(getattr(jnp, name), name)


def renamed(function: Callable[..., object], name: str) -> FunctionType:
    """The same function with another `__name__`."""
    copy = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    copy.__annotations__, copy.__doc__, copy.__module__ = (
        function.__annotations__,
        function.__doc__,
        function.__module__,
    )
    copy.__qualname__ = name
    return copy


def einsum(*operands: object, _dot_general: object = None, **options: Any) -> Array:
    """As `tangrad.numpy.einsum`. `_dot_general`: what computes products, of which there is `lax.dot_general` alone.

    Raises NotImplementedError for another.
    """
    if _dot_general not in (None, lax.dot_general):
        raise NotImplementedError(f"einsum computes products by lax.dot_general, not by {_dot_general!r}")
    return jnp.einsum(*operands, **options)


def expand_dims(a: ArrayLike, axis: Any) -> Array:
    """As `tangrad.numpy.expand_dims`. `axis`: an integer, or a sequence of them of any kind, such as a range."""
    return jnp.expand_dims(a, axis if hasattr(axis, "__index__") else tuple(axis))


def shape(a: ArrayLike | None) -> tuple[int, ...]:
    """As `tangrad.numpy.shape`; of None, which stands for an argument that was left out, that of a number, ()."""
    return () if a is None else jnp.shape(a)
