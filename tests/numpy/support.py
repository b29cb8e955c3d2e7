"""Expressions evaluated with tangrad.numpy and with jax.numpy, and what must be equal about the two values."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from typing import Any

import numpy

TOLERANCE = {"float16": 4e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 2e-5}


def host_values() -> dict[str, Any]:
    """The arrays that expressions name, as NumPy arrays."""
    r = numpy.random.default_rng(0)
    return {
        "f": r.normal(size=(2, 3)).astype("float32"),
        "g": numpy.array([0.5, -1.5, 2.0], "float32"),
        "p": r.uniform(0.1, 0.9, size=(2, 3)).astype("float32"),
        "m": r.normal(size=(3, 4)).astype("float32"),
        "q": r.normal(size=(3, 3)).astype("float32"),
        "t": r.normal(size=(2, 3, 4)).astype("float32"),
        "v": numpy.array([3.0, 1.0, 2.0, 5.0, 4.0, 1.0, 0.0, -2.0], "float32"),
        "i": numpy.array([[3, -2, 0], [5, 7, -7]], "int32"),
        "j": numpy.array([2, -3, 1], "int32"),
        "k": numpy.array([0, 2, 1], "int32"),
        "n": numpy.array([1, 4, 2, 4, 0, 1, 1, 3], "int32"),
        "s": numpy.array([-100, 0, 100], "int8"),
        "u": numpy.array([0, 7, 255], "uint8"),
        "U": numpy.array([1, 5, 4000000000], "uint32"),
        "b": numpy.array([[True, False, True], [False, False, True]]),
        "B": numpy.array([True, False, True]),
        "c": numpy.array([1 + 2j, -0.5j, 3 - 1j], "complex64"),
        "h": numpy.array([0.5, -1.5, 2.0], "float16"),
        "z": numpy.array([numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.0, 1.5, -2.5, 1e30], "float32"),
        "y": numpy.array([numpy.nan, 1.0, numpy.nan, 3.0, -2.0, 0.5, numpy.nan, 7.0], "float32"),
        "o": numpy.zeros((0, 3), "float32"),
    }


# Several arrays come in a tuple, as in NumPy 2 and JAX 0.12. In JAX before that, in a list.
TUPLES = ("np.atleast_", "np.broadcast_arrays(", "np.meshgrid(")


class Side:
    """One of the two libraries, with the arrays as its own."""

    def __init__(self, np: Any, api: Any, backend: str | None = None, remember: bool = False) -> None:
        self.api = api
        self.np = np
        self.backend = backend
        self.names = {name: np.asarray(value) for name, value in host_values().items()}
        self.names |= {"np": np, "numpy": numpy, "api": api, "w": np.asarray(2.0), "W": np.asarray(3)}
        self.known: dict[str, Any] | None = {} if remember else None

    def evaluate(self, expression: str) -> Any:
        """The value of the expression, warnings left aside: the two word them differently."""
        if self.known is not None and expression in self.known:
            return self.known[expression]
        with self.chosen(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = eval(expression, dict(self.names))
        if self.known is not None:
            self.known[expression] = value
        return value

    def chosen(self) -> Any:
        """A context in which new arrays are made on the side's backend."""
        if self.backend is None:
            return contextlib.nullcontext()
        return importlib.import_module("tangrad._core.settings.config").backend(self.backend)


def describe(value: Any) -> Any:
    """The structure of a value: arrays as (shape, dtype, weak), sequences and numbers as they are."""
    if hasattr(value, "aval"):
        # A boolean is never narrowed by what it meets: whether it may be is no matter.
        return tuple(value.shape), str(value.dtype), bool(value.aval.weak_type) and value.dtype != bool
    if isinstance(value, (list, tuple)):
        kind = type(value).__name__ if type(value) in (list, tuple) else "named"
        return kind, [describe(item) for item in value]
    return type(value).__name__, repr(value)


def assert_equal(expression: str, got: Any, expected: Any) -> None:
    """Equal structure, shapes, dtypes, weak types; values within the tolerance of the dtype."""
    if expression.startswith(TUPLES) and isinstance(expected, list):
        expected = tuple(expected)
    assert describe(got) == describe(expected), f"{expression}: got {got!r}, expected {expected!r}"
    for one, other in zip(_arrays(got), _arrays(expected), strict=True):
        _assert_values(expression, numpy.asarray(one), numpy.asarray(other))


def _arrays(value: Any) -> list[Any]:
    if hasattr(value, "aval"):
        return [value]
    if isinstance(value, (list, tuple)):
        return [array for item in value for array in _arrays(item)]
    return []


def _assert_values(expression: str, one: Any, other: Any) -> None:
    tolerance = TOLERANCE.get(str(other.dtype), 0.0)
    if not tolerance:
        numpy.testing.assert_array_equal(one, other, err_msg=expression)
        return
    wide = "complex128" if other.dtype.kind == "c" else "float64"
    one, other = one.astype(wide), other.astype(wide)
    finite = numpy.abs(other[numpy.isfinite(other)])
    scale = float(finite.max()) if finite.size else 1.0
    if scale > 1e20:
        scale = 0.0
    numpy.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale, err_msg=expression)
