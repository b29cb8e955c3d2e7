"""The table of idioms: everyday eager code, each with a name, written once for all sides."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TIMES = range(30)
Work = Callable[[Any, Any, int], Any]


@dataclass(frozen=True, slots=True)
class Idiom:
    """A piece of work `work(api, x, n)` on a vector x of n floats; `in_numpy`: whether NumPy has all that it uses."""

    work: Work
    in_numpy: bool


class Idioms(dict[str, Idiom]):
    """Idioms by name, added by `add` or by decorating with `named`."""

    def add(self, name: str, work: Work, in_numpy: bool = True) -> None:
        """Add one. Raises ValueError for a name that is taken."""
        if name in self:
            raise ValueError(f"there is an idiom {name!r} already")
        self[name] = Idiom(work, in_numpy)

    def named(self, name: str, in_numpy: bool = True) -> Callable[[Work], Work]:
        """Decorator: add the function."""

        def decorate(work: Work) -> Work:
            self.add(name, work, in_numpy)
            return work

        return decorate


def square(x: Any, side: int = 8) -> Any:
    """The first elements as a square matrix."""
    return x[: side * side].reshape(side, side)
