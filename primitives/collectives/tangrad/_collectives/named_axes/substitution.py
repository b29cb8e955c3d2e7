"""`subst_axis_names`: a program with other names for its mapped axes, the programs inside it included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from tangrad._collectives.named_axes.names import Substitution, as_substitution, renamed_aval
from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    NamedAxisEffect,
    Var,
    axes_of_effects,
    calls_rules,
    equation_effects,
    rule_table,
    thread,
)
from tangrad.core.tools import check_jaxpr
from tangrad.errors import MissingRuleError
from tangrad.typing import Params

AXIS_SUBST = rule_table("axis_subst")
Program = TypeVar("Program", Jaxpr, ClosedJaxpr)


def subst_axis_names(jaxpr: Program, subst: Any, sizes: Mapping[Any, int] | None = None) -> Program:
    """The program with other names for the mapped axes that it uses and does not bind itself.

    Args:
        jaxpr: a jaxpr, closed or not; one that nothing changes in is returned as it is.
        subst: a mapping from names to a name, or to a tuple of names, the slowest varying first, for an axis that is
            split (an empty one: the axis is gone); names that it does not have stay. Or a function, `name -> tuple`.
        sizes: the sizes of new axes, where types name the axes that are split and no such axis is in scope.

    Returns:
        a jaxpr of the same kind.

    Raises:
        ValueError: where two axes of one value or one equation would get the same name.
        NameError: where the size of a new axis is needed and not known.
        MissingRuleError: for a primitive that uses a named axis and has no rule for giving it another name.

    >>> import tangrad
    >>> from tangrad._collectives.named_axes import subst_axis_names
    >>> jaxpr = tangrad.make_jaxpr(lambda x: tangrad.lax.axis_index("i"), axis_env=[("i", 4)])(1.0)
    >>> subst_axis_names(jaxpr, {"i": "rows"})
    { lambda ; a:f32[]. let b:i32[] = axis_index[axis_name=rows] in (b,) }
    """
    if not isinstance(jaxpr, (Jaxpr, ClosedJaxpr)):
        raise TypeError(f"subst_axis_names expects a jaxpr, got {jaxpr!r} of type {type(jaxpr).__name__}")
    substitution = as_substitution(subst) if sizes is None else Substitution(subst, sizes)
    if isinstance(jaxpr, ClosedJaxpr):
        return substitution.once(jaxpr, lambda closed: _closed(closed, substitution))
    return _jaxpr(jaxpr, substitution)


def _closed(closed: ClosedJaxpr, subst: Substitution) -> ClosedJaxpr:
    jaxpr = _jaxpr(closed.jaxpr, subst)
    return closed if jaxpr is closed.jaxpr else ClosedJaxpr(jaxpr, closed.consts)


def _jaxpr(jaxpr: Jaxpr, subst: Substitution) -> Jaxpr:
    variables: dict[Var, Var] = {}
    constvars = [_variable(var, subst, variables) for var in jaxpr.constvars]
    invars = [_variable(var, subst, variables) for var in jaxpr.invars]
    eqns = [_equation(eqn, subst, variables) for eqn in jaxpr.eqns]
    unchanged = all([new is old for new, old in zip(eqns, jaxpr.eqns)]) and all(
        [new is old for old, new in variables.items()]
    )
    if unchanged:
        return jaxpr
    outvars = [atom if type(atom) is Literal else variables[atom] for atom in jaxpr.outvars]
    new = jaxpr.replace(constvars=constvars, invars=invars, outvars=outvars, eqns=eqns)
    if thread.check_jaxprs:
        check_jaxpr(new)
    return new


def _variable(var: Var, subst: Substitution, variables: dict[Var, Var]) -> Var:
    """The variable that stands for `var`: itself, if its type names no axis that is renamed."""
    aval = renamed_aval(var.aval, subst)
    new = variables[var] = var if aval is var.aval else type(var)(aval)
    return new


@calls_rules("axis_subst", "eqn")
def _equation(eqn: JaxprEqn, subst: Substitution, variables: dict[Var, Var]) -> JaxprEqn:
    invars = [atom if type(atom) is Literal else variables[atom] for atom in eqn.invars]
    outvars = [_variable(var, subst, variables) for var in eqn.outvars]
    params = AXIS_SUBST[eqn.primitive](eqn.params, subst)
    same = all([new is old for new, old in zip((*invars, *outvars), (*eqn.invars, *eqn.outvars))])
    same = same and (params is eqn.params or _same_params(params, eqn.params))
    if same and not subst.changes(axes_of_effects(eqn.effects)):
        return eqn
    kept = [effect for effect in eqn.effects if not isinstance(effect, NamedAxisEffect)]
    effects = equation_effects(eqn.primitive, tuple([atom.aval for atom in invars]), params) | frozenset(kept)
    _check_renamed(eqn, effects, subst)
    return eqn.replace(invars=invars, outvars=outvars, params=params, effects=effects)


def _same_params(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if one.keys() != other.keys():
        return False
    return all([value is other[name] or (_is_plain(value) and value == other[name]) for name, value in one.items()])


def _is_plain(value: Any) -> bool:
    """Whether equality of a parameter means something: names and tuples of them, not arrays."""
    return isinstance(value, (str, int, tuple)) or value is None


def _check_renamed(eqn: JaxprEqn, effects: frozenset[Any], subst: Substitution) -> None:
    """An equation must not go on using an axis by its old name."""
    expected = {new for name in axes_of_effects(eqn.effects) for new in subst(name)}
    left = axes_of_effects(effects) - expected
    if left:
        raise MissingRuleError(
            f"primitive {eqn.primitive.identity!r} uses the mapped axis {next(iter(left))!r}, and its rule of kind "
            f"'axis_subst' (or the default one, which only looks into programs among the parameters) does not rename "
            f"it; a rule is `(params, subst) -> params`, see tangrad._collectives.named_axes.renamed_axes"
        )


def subst_in_programs(params: Params, subst: Substitution) -> dict[str, Any]:
    """The default rule: the names are substituted in all programs among the parameters."""
    substitution = as_substitution(subst)
    return {name: _value(value, substitution) for name, value in params.items()}


def _value(value: Any, subst: Substitution) -> Any:
    if isinstance(value, ClosedJaxpr):
        return subst_axis_names(value, subst)
    if isinstance(value, Jaxpr):
        return subst_axis_names(value, subst)
    if type(value) is tuple and any([isinstance(item, (Jaxpr, ClosedJaxpr)) for item in value]):
        new = tuple([_value(item, subst) for item in value])
        return value if all([one is other for one, other in zip(new, value)]) else new
    return value
