"""Functions of one variable that `tangrad.lax` declares: `tangrad.numpy.exp`, `sin`, `arctan`, …

They are made of the definitions when they are first asked for. `make dev-refresh` writes their entry points, and the
stub beside this file.
"""

from __future__ import annotations

from collections.abc import Callable

from tangrad._numpy.makers import unary_inexact
from tangrad.core import Array
from tangrad.extend.lax import definitions, elementwise

_DECLARED = {declared.numpy: declared for declared in definitions[elementwise.name].values() if declared.numpy}
_OTHER_NAMES = {name.replace("arc", "a", 1): name for name in _DECLARED if name.startswith("arc")}  # since NumPy 2
MADE_FOR = "numpy"
MADE_AS = "(x: ArrayLike, /) -> Array"
MADE_NAMES = (*_DECLARED, *_OTHER_NAMES)


def __getattr__(name: str) -> Callable[..., Array]:
    if name not in MADE_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    original = _OTHER_NAMES.get(name)
    if original is not None:
        return globals().setdefault(name, globals().get(original) or __getattr__(original))
    return globals().setdefault(name, _function(name))


def _function(name: str) -> Callable[..., Array]:
    definition = _DECLARED[name]
    assert definition.primitive is not None  # it was declared with one
    return unary_inexact(name, definition.primitive, definition.documentation("tangrad.numpy", name))
