"""The primitives that stand for calls of exported programs, and for their derivatives forwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad.autodiff import tangent_aval, zeros
from tangrad.core import PrimitiveSet, ShapedArray, get_aval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangrad.typing import Value, Values

exporting = PrimitiveSet("exporting", api=1)


@exporting.primitive(name="call_exported", multiple_results=True, weak_type="own")
def call_exported_p(*avals: ShapedArray, exported: Any) -> tuple[ShapedArray, ...]:
    """The results of an exported program on flat arguments."""
    return exported.results_for(avals)


def _forward(*operands: Value, exported: Any) -> Values:
    """The product of a vector and the transposed Jacobian is linear in the vector: its own derivative by that,
    transposed, takes tangents forwards."""
    count = len(exported.in_avals)
    primals, tangents = operands[:count], operands[count:]
    cotangents = [zeros(aval) for aval in _tangents(exported, [get_aval(primal) for primal in primals])]
    return tuple(exported.second_vjp().call(*primals, *cotangents, *tangents)[count:])


def _tangents(exported: Any, avals: Sequence[ShapedArray]) -> tuple[ShapedArray, ...]:
    return tuple([tangent_aval(aval) for aval in exported.results_for(avals)])


@exporting.primitive(name="push_forward", multiple_results=True, weak_type="own", decompose=_forward)
def push_forward_p(*avals: ShapedArray, exported: Any) -> tuple[ShapedArray, ...]:
    """The tangents of an exported program's results, of its arguments and their tangents."""
    return _tangents(exported, avals[: len(exported.in_avals)])
