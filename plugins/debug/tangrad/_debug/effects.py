"""What callbacks do besides computing results: the effects of this distribution's primitives.

Those for debugging are incidental: a transformation may make them happen more often, or for values that the program
then throws away. Those of input and output happen exactly as often as the program says, or a transformation refuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import Effect, ShapedArray

if TYPE_CHECKING:
    from tangrad.typing import Params


class _HostEffect(Effect):
    """Any two of one class are the same effect."""

    __slots__ = ()
    name = ""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return self.name


class DebugEffect(_HostEffect):
    """A callback for debugging, in no particular order."""

    __slots__ = ()
    name = "Debug"
    incidental = True


class OrderedDebugEffect(_HostEffect):
    """A callback for debugging, after those before it in the program."""

    __slots__ = ()
    name = "OrderedDebug"
    ordered = True
    incidental = True


class IOEffect(_HostEffect):
    """A callback that reads or changes something outside, in no particular order."""

    __slots__ = ()
    name = "IO"


class OrderedIOEffect(_HostEffect):
    """A callback that reads or changes something outside, after those before it in the program."""

    __slots__ = ()
    name = "OrderedIO"
    ordered = True


_DEBUG = (frozenset([DebugEffect()]), frozenset([OrderedDebugEffect()]))
_IO = (frozenset([IOEffect()]), frozenset([OrderedIOEffect()]))


def debug_effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Effect]:
    """The effects of a callback for debugging, by its parameters."""
    return _DEBUG[bool(params["ordered"])]


def io_effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Effect]:
    """The effects of a callback for input and output, by its parameters."""
    return _IO[bool(params["ordered"])]
