"""Exponential, logarithmic, trigonometric and hyperbolic functions, and roots: `tangrad.lax.exp`, `sin`, …

They are made from the declarations in `primitives.py` when they are first asked for. `make dev-refresh` writes their
entry points, and the stub beside this file.
"""

from __future__ import annotations

from collections.abc import Callable

from tangrad._lax.checks import Declaration, declarations
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.elementwise.accuracy import check_accuracy
from tangrad._lax.operands import operand
from tangrad.core import Array
from tangrad.typing import ArrayLike

_DECLARED = declarations[p.elementwise.name]
MADE_FOR = "lax"
MADE_AS = "(x: ArrayLike, *, accuracy: AccuracyMode | Tolerance | None = None) -> Array"
MADE_NAMES = tuple(_DECLARED)


def __getattr__(name: str) -> Callable[..., Array]:
    if name not in _DECLARED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, _function(name, _DECLARED[name]))


def _function(name: str, declared: Declaration) -> Callable[..., Array]:
    bind = declared.primitive.bind

    def function(x: ArrayLike, *, accuracy: object = None) -> Array:
        if accuracy is not None:
            check_accuracy(name, accuracy)
        return bind(x if isinstance(x, Array) else operand(name, x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _documentation(name, declared)
    return function


def _documentation(name: str, declared: Declaration) -> str:
    return (
        f"{declared.summary}\n\nArgs:\n"
        f"    x: an array or number, {' or '.join(declared.accepted)}.\n"
        "    accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.\n\n"
        "Returns:\n    An array of the shape and dtype of `x`.\n\n"
        "Raises:\n    TypeError: for other dtypes.\n\n"
        f">>> import tangrad\n>>> {declared.documented_example(f'tangrad.lax.{name}')}\n"
    )
