"""`jax.experimental.hijax`: types and primitives that are lowered to others. Tangrad has none: classes may inherit from
these, and are refused where they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad._compat.names._src.state.types import AbstractRef as AbstractRef
from tangrad.autodiff import Zero as Zero
from tangrad.autodiff import instantiate as instantiate_zeros
from tangrad.autodiff import is_linear as is_undefined_primal
from tangrad.core import AbstractValue as AbstractValue
from tangrad.core import ShapedArray as ShapedArray


def _refused(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"{what} is one of jax's experimental hijax: 'jax' is an alias of Tangrad here (tangrad.compat.jax), which has "
        "none of them"
    )


class HiPrimitive:
    """A primitive that is lowered to others."""

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *args: Any, **params: Any) -> Any:
        raise _refused(f"the primitive {self.name!r}")


class VJPHiPrimitive(HiPrimitive):
    """One with a derivative of its own."""


class HiType(AbstractValue):
    """A type that is lowered to others."""


class MutableHiType(HiType):
    """One of values that change."""


class AvalQDD:
    """A type with what depends on its value."""

    def __init__(self, aval: AbstractValue, qdd: Any) -> None:
        raise _refused("AvalQDD")


class AvalMutableQDD(AvalQDD):
    """One of values that change."""


class aval_property:  # noqa: N801 - as `property`
    """A property of values that is computed of their types."""

    def __init__(self, fget: Callable[[Any], Any] | None) -> None:
        self.fget = fget


class aval_method:  # noqa: N801
    """A method of values that is computed of their types."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun


class _EffectTypes:
    """Which effects loops may have. Here all may."""

    def add_type(self, effect: type[Any]) -> None:
        return None


control_flow_allowed_effects = _EffectTypes()


def register_hitype(value_type: type[Any], aval_of: Callable[[Any], Any]) -> None:
    """Say of which type values of a class are. No trace asks: such values are no operands here."""
