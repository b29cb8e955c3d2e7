"""Exponential, logarithmic, trigonometric and hyperbolic functions, and roots: `tangrad.lax.exp`, `sin`, …

They are made of the definitions in `primitives.py` when they are first asked for. `make dev-refresh` writes their
entry points, and the stub beside this file.
"""

from __future__ import annotations

from collections.abc import Callable

from tangrad._lax.definitions import Definition, definitions
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.elementwise.accuracy import check_accuracy
from tangrad._lax.operands import operand
from tangrad.core import Array
from tangrad.typing import ArrayLike

_DECLARED = definitions[p.elementwise.name]
MADE_FOR = "lax"
MADE_AS = "(x: ArrayLike, *, accuracy: AccuracyMode | Tolerance | None = None) -> Array"
MADE_NAMES = tuple(_DECLARED)
_ACCURACY = "    accuracy: how exact the result must be: a `lax.AccuracyMode`, a `lax.Tolerance`, or None.\n"


def __getattr__(name: str) -> Callable[..., Array]:
    if name not in _DECLARED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, _function(_DECLARED[name]))


def _function(definition: Definition) -> Callable[..., Array]:
    name, primitive = definition.name, definition.primitive
    assert primitive is not None  # it was declared with one
    bind = primitive.bind

    def function(x: ArrayLike, *, accuracy: object = None) -> Array:
        if accuracy is not None:
            check_accuracy(name, accuracy)
        return bind(x if isinstance(x, Array) else operand(name, x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = definition.documentation("tangrad.lax", promotes=False, further=_ACCURACY)
    return function
