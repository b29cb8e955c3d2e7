"""What `x.at` and `x.at[index]` are not: assigned to, called, used without an index. Each error names what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    pass

METHODS = ("get", "set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply")
_IN_PLACE = {
    "add": ("+=", "add"),
    "sub": ("-=", "subtract"),
    "mul": ("*=", "multiply"),
    "truediv": ("/=", "divide"),
    "pow": ("**=", "power"),
}


def _immutable(done: str, index: object, method: str) -> TypeError:
    return TypeError(
        f"arrays are immutable: {done} is not possible; x = x.at[{index!r}].{method}(values) is what changes a copy"
    )


class NeedsIndex:
    """The base of `x.at`: all of it but indexing is an error."""

    __slots__ = ()

    def __setitem__(self, index: object, value: object) -> NoReturn:
        raise _immutable(f"x.at[{index!r}] = values", index, "set")

    def __delitem__(self, index: object) -> NoReturn:
        raise TypeError(
            f"arrays are immutable: del x.at[{index!r}] is not possible; tangrad.numpy.delete(x, {index!r}) returns a "
            "copy without that part"
        )

    def __call__(self, *index: object, **_: object) -> NoReturn:
        inside = ", ".join(map(repr, index)) or "index"
        raise TypeError(f"x.at is indexed, not called: x.at[{inside}].set(values)")

    def __getattr__(self, name: str) -> NoReturn:
        if name in METHODS:
            raise AttributeError(
                f"x.at.{name} needs an index: x.at[index].{name}(...) is about a part, x.at[...].{name}(...) about all "
                "of x"
            )
        raise AttributeError(f"x.at has no attribute {name!r}: it is indexed, as in x.at[index].set(values)")


class NeedsMethod:
    """The base of `x.at[index]`: what is no method of it is an error."""

    __slots__ = ()
    _index: object

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("x.at[index] has methods and is not called: x.at[index].set(values)")

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"x.at[index] has no attribute {name!r}; it has {', '.join(METHODS)}")


def _in_place(sign: str, method: str) -> Callable[[NeedsMethod, object], NoReturn]:
    def refuse(self: NeedsMethod, values: object) -> NoReturn:
        raise _immutable(f"x.at[{self._index!r}] {sign} values", self._index, method)

    return refuse


for _name, (_sign, _method) in _IN_PLACE.items():
    setattr(NeedsMethod, f"__i{_name}__", _in_place(_sign, _method))
