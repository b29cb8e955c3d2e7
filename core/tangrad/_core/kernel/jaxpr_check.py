"""The checker: is a jaxpr well-scoped, well-typed, and honest about its effects? Runs on every jaxpr in the tests."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._core.composition.hook_names import Program
from tangrad._core.composition.plugin import own_fault
from tangrad._core.diagnostics.errors import JaxprTypeError
from tangrad._core.kernel.array import Literal
from tangrad._core.kernel.aval import ShapedArray
from tangrad._core.kernel.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, equation_effects, join_effects, sub_jaxprs


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Raise JaxprTypeError, showing the equation, unless `jaxpr` is well-formed.

    Checked: every variable is defined once and before it is read; the types of results are what the primitives infer
    from the operands; literals have their aval's dtype; the effects stated are those of the equations; nested jaxprs
    likewise.
    """
    _check(jaxpr, set())


def _check(jaxpr: Jaxpr | ClosedJaxpr, checked: set[int]) -> None:
    """Check a jaxpr. `checked`: the identities of programs and equations whose types were."""
    checked.add(id(jaxpr))
    if isinstance(jaxpr, ClosedJaxpr):
        for var, const in zip(jaxpr.jaxpr.constvars, jaxpr.consts, strict=True):
            if const.aval.strip_weak_type() is not var.aval.strip_weak_type():
                raise _wrong(f"constant of type {const.aval} bound to a variable of type {var.aval}", jaxpr.jaxpr, None)
        jaxpr = jaxpr.jaxpr
    defined: set[object] = set()
    for var in (*jaxpr.constvars, *jaxpr.invars):
        _define(var, defined, jaxpr, None)
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            _check_atom(atom, defined, jaxpr, eqn)
        if id(eqn) not in checked:
            _check_equation(eqn, jaxpr, checked)
        for var in eqn.outvars:
            _define(var, defined, jaxpr, eqn)
    for atom in jaxpr.outvars:
        _check_atom(atom, defined, jaxpr, None)
    if not join_effects(jaxpr.eqns) <= jaxpr.effects:
        found = set(join_effects(jaxpr.eqns))
        raise _wrong(f"the jaxpr states effects {set(jaxpr.effects)}, its equations have {found}", jaxpr, None)


def _wrong(problem: str, jaxpr: Jaxpr, eqn: JaxprEqn | None) -> JaxprTypeError:
    """The error: its text shows the equation, or the jaxpr where no equation is to blame, and it holds neither."""
    place = f"the jaxpr\n{jaxpr}" if eqn is None else f"the equation\n    {eqn}"
    return JaxprTypeError(f"{problem}, in {place}")


def _define(var: object, defined: set[object], jaxpr: Jaxpr, eqn: JaxprEqn | None) -> None:
    if var in defined:
        raise _wrong("a variable is defined twice", jaxpr, eqn)
    if type(var) is not DropVar:
        defined.add(var)


def _check_atom(atom: object, defined: set[object], jaxpr: Jaxpr, eqn: JaxprEqn | None) -> None:
    if type(atom) is Literal:
        if atom.ndarray.dtype != atom.aval.dtype:
            raise _wrong(f"literal {atom!r} holds a {atom.ndarray.dtype}", jaxpr, eqn)
    elif atom not in defined:
        raise _wrong("a variable is read before it is defined", jaxpr, eqn)


def _check_equation(eqn: JaxprEqn, jaxpr: Jaxpr, checked: set[int]) -> None:
    avals = tuple([atom.aval for atom in eqn.invars])
    try:
        out = eqn.primitive.infer(avals, eqn.params)
    except own_fault(Exception) as error:
        raise _wrong(f"the operands do not fit: {error}", jaxpr, eqn) from error
    expected = tuple(out) if eqn.primitive.multiple_results else (out,)
    actual = tuple([var.aval for var in eqn.outvars])
    if len(expected) != len(actual) or any(not _same(a, b) for a, b in zip(expected, actual, strict=True)):
        raise _wrong(f"results have types {actual}, the primitive infers {expected}", jaxpr, eqn)
    if not equation_effects(eqn.primitive, avals, eqn.params) <= eqn.effects:
        raise _wrong("the equation does not state all of its effects", jaxpr, eqn)
    for sub in [sub for sub in sub_jaxprs(eqn.params) if id(sub) not in checked]:
        _check(sub, checked)


def _same(one: ShapedArray, other: ShapedArray) -> bool:
    strip = getattr(one, "strip_weak_type", None)
    return one is other or (strip is not None and strip() is other.strip_weak_type())


def check_pass_result(before: ClosedJaxpr, after: object) -> None:
    """Raise TypeError where what a jaxpr pass returned is no program of the same type."""
    if not isinstance(after, ClosedJaxpr):
        raise TypeError(f"a jaxpr pass returns a ClosedJaxpr or None, not {type(after).__name__}")
    if list(after.in_avals) != list(before.in_avals) or list(after.out_avals) != list(before.out_avals):
        raise TypeError(
            "a jaxpr pass keeps the types of inputs and outputs: "
            f"they were {listed(before.in_avals)} -> {listed(before.out_avals)}, and are {listed(after.in_avals)} -> "
            f"{listed(after.out_avals)} after it"
        )
    _check(after, {id(eqn) for eqn in before.eqns})  # those that the pass kept were checked


def listed(avals: Sequence[ShapedArray]) -> str:
    """Types as text."""
    return f"({', '.join([aval.str_short() for aval in avals])})"


Program.check_pass = staticmethod(check_pass_result)
