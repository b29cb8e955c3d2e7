"""Functions made of a formula: a definition is written once, all else that users and tools see follows from it.

`defined` makes a public function of a formula on arrays: promotion and broadcasting, errors that name function and
argument, documentation and an example, one operation outside of transformations. What was stated is its attribute
`definition`, from which entry points, samples and tests are made. Of a `family` it is a primitive, with the formula for
its decomposition.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Literal, ParamSpec, TypeAlias, cast

from tangrad.core import Array, PrimitiveSet, as_array, dtypes
from tangrad.extend.lax import FLOATING, INEXACT, Definition, nary
from tangrad.extend.numpy import as_one, broadcast_all, check_rank_promotion, is_complex, promote_inexact, strong
from tangrad.typing import ArrayLike, Value

P = ParamSpec("P")
# Whether what a function makes of Python numbers is weakly typed: of none, as in JAX; also of an array of booleans
# beside them; as what it is promoted from.
Weakness: TypeAlias = Literal["never", "as promoted", "usual"]


def defined(
    *at: object,
    gives: str,
    weak: Weakness = "usual",
    complex_too: bool = False,
    returns: str = "",
    source: str = "",
    family: PrimitiveSet | None = None,
    smooth: tuple[float, float] | None = None,
    reference: Callable[..., object] | None = None,
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
        family: of which it is a primitive, which others may have rules for; None: it is none.
        smooth: the interval in which it has derivatives, from which samples are; None: everywhere.
        reference: `(library, *arguments) -> result` by names that NumPy and mpmath have in common.
        meanings: of arguments of which there is more to say than what kind of numbers they are.
    """

    def make(formula: Callable[P, Array]) -> Callable[P, Array]:
        function, signature = cast(FunctionType, formula), inspect.signature(formula)
        name, summary, arguments = function.__name__, function.__doc__ or "", tuple(signature.parameters)
        accepted = INEXACT if complex_too else (FLOATING,)
        primitive = None if family is None else nary(family, name, accepted, summary, arguments, decompose=function)
        definition = Definition(
            *(name, function.__module__, summary, arguments, accepted, at, gives, returns, meanings, source),
            smooth=smooth,
            formula=reference,
            primitive=primitive,
        )
        take, run = (numbers if complex_too else reals), (function if primitive is None else primitive.bind)

        def called(given: Mapping[str, object]) -> Array:
            return run(*take(name, *given.values(), weak=weak))

        made = written_out(name, arguments, str(signature).replace("'", ""), called, function)
        ours = function.__module__.startswith("tangrad._")
        made.__doc__ = definition.documentation("tangrad.scipy.special" if ours else function.__module__)
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
    found: dict[str, Any] = {
        "__name__": formula.__module__,
        "Array": Array,
        "ArrayLike": ArrayLike,
        "called": called,
    }
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
