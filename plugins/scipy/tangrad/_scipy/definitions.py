"""Functions made from a record: a definition is written once, all else that users and tools see follows from it.

`defined` makes a public function of a formula on arrays: promotion and broadcasting, errors that name function and
argument, documentation and an example, one operation outside of transformations. The record is its attribute
`definition`, from which entry points and tests are made.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Literal, NamedTuple, ParamSpec, TypeAlias, cast

from tangrad.core import Array, as_array, dtypes
from tangrad.extend.numpy import as_one, broadcast_all, check_rank_promotion, is_complex, promote_inexact, strong
from tangrad.typing import ArrayLike, Value

P = ParamSpec("P")
# Whether what a function makes of Python numbers is weakly typed: of none, as in JAX; also of an array of booleans
# beside them; as what it is promoted from.
Weakness: TypeAlias = Literal["never", "as promoted", "usual"]


class Definition(NamedTuple):
    """What is stated of a function beside its formula; the arguments of `defined`."""

    name: str
    module: str
    arguments: tuple[str, ...]
    at: tuple[Any, ...]
    gives: str
    weak: Weakness
    complex_too: bool
    meanings: Mapping[str, str]
    returns: str
    source: str

    def documentation(self, summary: str) -> str:
        """The docstring of the function."""
        raises = "" if self.complex_too else "    TypeError: for complex numbers.\n"
        raises += "    ValueError: for shapes that do not fit.\n" if len(self.arguments) > 1 else ""
        raises += "    TypeError: for what is no array or number.\n" if self.complex_too else ""
        source = f"Source: {self.source}.\n\n" if self.source else ""
        return (
            f"{summary}\n\nArgs:\n{self._meanings()}\nReturns:\n    {self._returned()}\n\nRaises:\n{raises}\n{source}"
            f"{self.example()}\n"
        )

    def _meanings(self) -> str:
        kind = "real or complex" if self.complex_too else "real"
        alone = [name for name in self.arguments if name not in self.meanings]
        several = f"arrays or numbers, {kind}, broadcast against each other; integers become floats."
        one = f"an array or number, {kind}; integers become floats."
        lines = [f"    {', '.join(alone)}: {several if len(alone) > 1 else one}\n"] if alone else []
        return "".join(lines + [f"    {name}: {meaning}.\n" for name, meaning in self.meanings.items()])

    def _returned(self) -> str:
        shape = "of their common shape" if len(self.arguments) > 1 else f"of the shape of `{self.arguments[0]}`"
        return f"An array {shape}{'; ' + self.returns if self.returns else ''}."

    def example(self) -> str:
        """The example, as a docstring has it: printed as an array, or to as many digits as are stated."""
        ours = self.module.startswith("tangrad._")
        found = ">>> import tangrad.scipy.special as special" if ours else f">>> from {self.module} import {self.name}"
        call = f"{'special.' if ours else ''}{self.name}({', '.join(map(repr, self.at))})"
        if self.gives.startswith("Array"):
            return f"{found}\n>>> {call}\n{self.gives}"
        digits = len(self.gives.partition("e")[0].partition(".")[2])
        form = f".{digits}{'e' if 'e' in self.gives else 'f'}"
        return f'{found}\n>>> f"{{{call}:{form}}}"\n{self.gives!r}'


def defined(
    *at: object,
    gives: str,
    weak: Weakness = "usual",
    complex_too: bool = False,
    returns: str = "",
    source: str = "",
    **meanings: str,
) -> Callable[[Callable[P, Array]], Callable[P, Array]]:
    """Decorator of a formula on arrays of one shape and dtype; its docstring is the summary of the public function.

    Args:
        at: the example's arguments.
        gives: what they give: as arrays are printed, or the digits that are shown.
        weak: when the result is weakly typed.
        complex_too: whether it takes complex numbers.
        returns: what there is to say of the result beyond its shape.
        source: where the method is from.
        meanings: of arguments of which there is more to say than what kind of numbers they are.
    """

    def make(formula: Callable[P, Array]) -> Callable[P, Array]:
        function, signature = cast(FunctionType, formula), inspect.signature(formula)
        stated = (at, gives, weak, complex_too, meanings, returns, source)
        definition = Definition(function.__name__, function.__module__, tuple(signature.parameters), *stated)
        take = numbers if complex_too else reals

        def called(given: Mapping[str, object]) -> Array:
            return function(*take(definition.name, *given.values(), weak=weak))

        made = written_out(definition.name, definition.arguments, str(signature).replace("'", ""), called, function)
        made.__doc__ = definition.documentation(function.__doc__ or "")
        public = as_one()(made)
        vars(public)["definition"] = definition
        return cast(Callable[P, Array], public)

    return make


def written_out(
    name: str,
    arguments: Sequence[str],
    signature: str,
    called: Callable[..., object],
    formula: Callable[..., Array],
) -> FunctionType:
    """A function of that signature, as if it were written out, that hands its arguments on by name.

    To tools that look for its source, and in tracebacks, it is where the formula is.
    """
    place = inspect.unwrap(formula).__code__
    text = f"def {name}{signature}: return called({{{', '.join([f'{one!r}: {one}' for one in arguments])}}})"
    found: dict[str, Any] = {"__name__": formula.__module__, "Array": Array, "ArrayLike": ArrayLike, "called": called}
    exec(compile(f"from __future__ import annotations\n{text}", place.co_filename, "exec"), found)
    function: FunctionType = found[name]
    function.__code__ = function.__code__.replace(co_firstlineno=place.co_firstlineno)
    return function


# --- what they take --------------------------------------------------------------------------------------------------


def numbers(name: str, *values: Any, weak: Weakness = "usual") -> list[Array]:
    """The arguments as arrays of one shape and one dtype, real or complex; integers become floats.

    They are weakly typed only if all arguments are, or the first has no dimensions.
    Raises TypeError for what is no array, ValueError for shapes that do not fit.
    """
    promoted = promote_inexact(name, *values)
    known = [strong(value) for value in promoted] if _is_known(weak, values, promoted) else promoted
    check_rank_promotion(name, [value.aval.shape for value in known if value.aval.shape])
    return [as_array(value) for value in broadcast_all(name, known)]


def _is_known(weak: Weakness, values: tuple[ArrayLike, ...], promoted: Sequence[Value]) -> bool:
    """Whether what a function computes has a dtype of its own, not a weak one that takes that of its neighbour."""
    if weak == "never" or not all([value.aval.weak_type for value in promoted]):
        return True
    if weak == "as promoted" or not promoted[0].aval.shape:
        return False
    return not all([dtypes.is_weakly_typed(value) for value in values])


def reals(name: str, *values: object, weak: Weakness = "usual") -> list[Array]:
    """As `numbers`. Raises TypeError for complex numbers."""
    made = numbers(name, *values, weak=weak)
    if is_complex(made[0]):
        raise TypeError(f"{name} does not accept complex numbers, got {made[0].aval.str_short()}")
    return made
