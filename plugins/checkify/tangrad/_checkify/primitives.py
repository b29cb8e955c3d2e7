"""The primitive of a check: an error that may have happened. Checked functions note it; elsewhere it is raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._checkify.error import Error
from tangrad._checkify.state import Layout
from tangrad.core import Effect, PrimitiveSet, ShapedArray

if TYPE_CHECKING:
    from tangrad.typing import Params, Value


class CheckEffect(Effect):
    """A check: what it stands for happens where the program is checked. Any two are the same effect."""

    __slots__ = ()
    incidental = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckEffect)

    def __hash__(self) -> int:
        return hash(CheckEffect)


_EFFECTS = frozenset([CheckEffect()])


def _raise(args: Any, params: Params) -> tuple[Any, ...]:
    if not params["debug"]:
        Error(params["layout"], args).throw()
    return ()


def _refuse(*args: Value, layout: Layout, debug: bool) -> tuple[Any, ...]:
    """In a compiled program the error would be lost; checks for debugging are left out."""
    if debug:
        return ()
    places = [one.place.summarize() for one in layout.failures if one.place is not None]
    where = f" (at {places[0]})" if places else ""
    raise ValueError(
        f"a check{where} is in a program that is compiled, but its error is not returned; make it part of the result: "
        "error, out = checkify.checkify(function)(...), around the jitted function or within it"
    )


runtime_checks = PrimitiveSet("runtime_checks", api=1)


@runtime_checks.primitive(
    name="check",
    multiple_results=True,
    effects=lambda avals, params: _EFFECTS,
    evaluate=_raise,
    decompose=_refuse,
)
def check_p(code: ShapedArray, *payloads: ShapedArray, layout: Layout, debug: bool) -> tuple[ShapedArray, ...]:
    """Nothing; what fails where `code` is not 0 is `layout.failures[code - 1]`. All may have dimensions in front."""
    if code.dtype.name != "int32":
        raise TypeError(f"check: the code must be of dtype int32, got {code.str_short()}")
    if len(payloads) != layout.count - 1:
        raise TypeError(f"check: expected {layout.count - 1} payloads, got {len(payloads)}")
    return ()
