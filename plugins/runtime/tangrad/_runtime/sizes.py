"""Sizes that are found at the call: as texts in a file, `"2*n + 1"`, and the constraints of their variables.

What reads them is of another distribution, which is asked for only by programs that have such sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._runtime.container import ArtifactError, of_type
from tangrad.core import ClosedJaxpr, ShapedArray, composition
from tangrad.core.arguments import first_symbolic, is_symbolic
from tangrad.core.caches import RecentlyUsed
from tangrad.core.tools import how_to_install

if TYPE_CHECKING:
    import numpy as np

    from tangrad.core import Array

MOST_LETTERS = 1000  # of one size or constraint
MOST_CONSTRAINTS = 64
MOST_LETTERS_OF_CONSTRAINTS = 4000  # together: each is compared with all before it
MOST_SIZES = 256  # for which a program remembers that it may run


class WrittenSizes:
    """The sizes of a program that is written: all of one scope.

    Attributes:
        constraints: those of the scope; None where all sizes are numbers.
    """

    def __init__(self) -> None:
        self._scope: Any = None

    @property
    def constraints(self) -> list[str] | None:
        return None if self._scope is None else list(self._scope.constraints)

    def text(self, size: Any) -> str:
        """A symbolic size as text."""
        if self._scope is None:
            self._scope = size.scope
        if size.scope is not self._scope:
            raise ArtifactError(f"the size {size} is of another scope than those before it; one program has one scope")
        return str(size)


class ReadSizes:
    """The sizes of a program that is read."""

    def __init__(self, constraints: object) -> None:
        self._scope: Any = None
        self._texts: dict[str, Any] = {}
        if constraints is not None:
            self._scope = _read(_public("SymbolicScope"), checked_constraints(constraints))

    @property
    def variables(self) -> set[str]:
        """Those of all sizes that were read."""
        return set().union(*[size.variables() for size in self._texts.values() if is_symbolic(size)])

    def size(self, text: str) -> Any:
        """The size that was written as a text. Raises ArtifactError for what is none."""
        text = _checked(text)
        if self._scope is None:
            raise ArtifactError(f"the program has a size {text!r}, and states no constraints")
        if text not in self._texts:
            shape = _read(_public("symbolic_shape"), text, scope=self._scope)
            if len(shape) != 1:
                raise ArtifactError(f"expected one size, got {text!r}")
            (self._texts[text],) = shape
        return self._texts[text]


def checked_constraints(constraints: object) -> list[str]:
    """Constraints from a file. Raises ArtifactError for what is no list of texts, and for more than can be compared."""
    if type(constraints) is not list or len(constraints) > MOST_CONSTRAINTS:
        raise ArtifactError(
            f"the constraints of the sizes are {of_type(constraints)}; at most {MOST_CONSTRAINTS} are read"
        )
    texts = [_checked(text) for text in constraints]
    if sum(map(len, texts)) > MOST_LETTERS_OF_CONSTRAINTS:
        raise ArtifactError(f"the constraints of the sizes have more than {MOST_LETTERS_OF_CONSTRAINTS} letters")
    return texts


def _checked(text: str) -> str:
    if not isinstance(text, str) or len(text) > MOST_LETTERS:
        raise ArtifactError(f"expected a size or a constraint as text, got {of_type(text)}")
    return text


def _read(function: Any, *args: object, **options: object) -> Any:
    try:
        return function(*args, **options)
    except (ValueError, ArithmeticError) as error:  # a stack that is used up is the reader's business
        raise ArtifactError(f"the sizes of the program cannot be read: {error}") from error


def _public(name: str) -> object:
    plugin = composition().find("tangrad.api", f"export.{name}")
    if plugin is None:
        needed = how_to_install(f"export.{name}")
        raise ArtifactError(f"the program has sizes that are found at the call: {needed}")
    return plugin.load()


class SizesAtCall:
    """How a program with such sizes is called: which they are, and whether its values then are within the limits.

    Raises ArtifactError where the arguments' shapes do not determine `variables`, those of all sizes.
    """

    def __init__(
        self,
        closed: ClosedJaxpr,
        names: Sequence[str],
        avals: Iterable[ShapedArray],
        variables: set[str],
        most_bytes: int,
    ) -> None:
        self._inputs, self._most_bytes = tuple(closed.in_avals), most_bytes
        self._dimension = first_symbolic(self._inputs)
        self._avals = [aval for aval in avals if first_symbolic([aval]) is not None]
        shapes = [aval.shape for aval in self._inputs]
        self._plan = None if self._dimension is None else _read(self._dimension.plan, shapes, names)
        known = set() if self._plan is None else set(self._plan.names)
        missing = variables - known
        if missing:
            raise ArtifactError(f"the shapes of the arguments do not determine {', '.join(sorted(missing))}")
        self._checked = RecentlyUsed(MOST_SIZES)

    @property
    def are_known(self) -> bool:
        """Whether all are numbers."""
        return self._plan is None

    def input_avals(self, arrays: Sequence[Array | np.ndarray]) -> tuple[ShapedArray, ...]:
        """The types that the arguments must have, given arrays of these shapes.

        Raises ValueError for shapes that do not fit, and for sizes at which a value would be beyond the limit.
        """
        if self._plan is None:
            return self._inputs
        sizes = self._plan.sizes([array.shape for array in arrays])
        key = tuple(sizes.values())
        found = self._checked.find(key)
        if found is None:
            for aval in self._avals:
                self._check(aval, self._dimension.filled_in(aval, sizes), sizes)
            found = self._dimension.filled_in(self._inputs, sizes)
            self._checked.add(key, found)
        return found

    def _check(self, aval: ShapedArray, filled: ShapedArray, sizes: dict[str, int]) -> None:
        size = filled.size * filled.dtype.itemsize
        described = f"values of type {aval.str_short()}, where {', '.join([f'{n} = {s}' for n, s in sizes.items()])},"
        if any([one < 0 for one in filled.shape]):
            raise ValueError(f"{described} have a negative size: {filled.shape}")
        if size > self._most_bytes:
            raise ValueError(f"{described} take {size} bytes; the limit value_bytes is {self._most_bytes}")
