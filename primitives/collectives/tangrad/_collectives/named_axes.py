"""Named axes of programs: the rule kind `axis_subst`, and other names for the axes that a program is mapped over."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tangrad.core import (
    ClosedJaxpr,
    Effect,
    Jaxpr,
    JaxprEqn,
    Literal,
    NamedAxisEffect,
    Primitive,
    RuleKind,
    ShapedArray,
    Transformation,
    Var,
    as_operand,
    axes_of_effects,
    calls_rules,
    equation_effects,
    eval_jaxpr,
    holding,
    rule_table,
    thread,
    trace_to_jaxpr,
)
from tangrad.core.tools import check_jaxpr, with_sub_jaxprs
from tangrad.errors import MissingRuleError
from tangrad.typing import Params

Names = tuple[Hashable, ...]


class Substitution:
    """What stands for each axis name: a tuple of names, the slowest varying first.

    One name renames the axis; several split it, into axes whose sizes multiply to its own; none means that the axis
    is gone.

    Args:
        names: a mapping from names to a name or a tuple of names, where others stay as they are; or a function
            `name -> tuple of names`.
        sizes: the sizes of new axes, where types must record them and no axis of that name is in scope.
    """

    __slots__ = ("_done", "_names", "sizes")

    def __init__(self, names: object, sizes: Mapping[Hashable, int] | None = None) -> None:
        if not callable(names) and not isinstance(names, Mapping):
            raise TypeError(f"subst must be a mapping or a function of axis names, got {names!r}")
        self._names = names
        self.sizes = dict(sizes or {})
        # Nested programs that were done: one that stands in two equations stays one program, compiled once.
        self._done: weakref.WeakKeyDictionary[ClosedJaxpr, ClosedJaxpr] = weakref.WeakKeyDictionary()

    def __call__(self, name: object) -> Names:
        found = self._names(name) if callable(self._names) else self._names.get(name, name)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)

    def once(self, closed: ClosedJaxpr, make: Callable[[ClosedJaxpr], ClosedJaxpr]) -> ClosedJaxpr:
        """`make(closed)`, made the first time."""
        found = self._done.get(closed)
        if found is None:
            found = self._done[closed] = make(closed)
        return found

    def changes(self, names: Iterable[object]) -> bool:
        """Whether one of these names does not stay as it is."""
        return any([self(name) != (name,) for name in names])

    def known_size(self, name: object) -> int | None:
        """The size of a new axis, or None where it is unknown."""
        if name in self.sizes:
            return self.sizes[name]
        return next((size for other, size in reversed(thread.axis_environment) if other == name), None)

    def size(self, name: object) -> int:
        """The size of a new axis. Raises NameError where it is unknown."""
        size = self.known_size(name)
        if size is not None:
            return size
        raise NameError(
            f"the size of the new axis {name!r} is needed, and no axis of that name is in scope; state it: "
            f"subst_axis_names(jaxpr, subst, sizes={{{name!r}: ...}})"
        )


def as_substitution(subst: object) -> Substitution:
    """The substitution that a rule is given, with its memory of what is done."""
    return subst if isinstance(subst, Substitution) else Substitution(subst)


def renamed_axes(axes: Hashable, subst: Callable[[Hashable], Names], what: str = "an equation") -> Hashable:
    """A list of axes with their new names; integers are dimensions of an operand, and stay. A bare name stays bare.

    Raises ValueError where two axes get one name.

    >>> from tangrad._collectives.named_axes import renamed_axes
    >>> renamed_axes(("i", 0, "j"), lambda name: {"i": ("rows", "columns")}.get(name, (name,)))
    ('rows', 'columns', 0, 'j')
    """
    many = isinstance(axes, (tuple, list))
    found: list[Hashable] = []
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        found.extend((axis,) if isinstance(axis, int) else subst(axis))
    _check_distinct([axis for axis in found if not isinstance(axis, int)], what)
    return found[0] if not many and len(found) == 1 else tuple(found)


def renamed_aval(aval: ShapedArray, subst: Substitution) -> ShapedArray:
    """A type with its named axes renamed."""
    if not aval.named_shape:
        return aval
    found: list[tuple[Hashable, int]] = []
    for name, size in aval.named_shape:
        names = subst(name)
        if len(names) == 1:
            found.append((names[0], size))
            continue
        sizes = [subst.size(new) for new in names]
        total = 1
        for one in sizes:
            total *= one
        if names and total != size:
            raise ValueError(f"axis {name!r} of size {size} cannot become axes {names} of sizes {tuple(sizes)}")
        found.extend(zip(names, sizes))
    _check_distinct([name for name, _ in found], f"a value of type {aval.str_short()}")
    return aval.update(named_shape=dict(found))


def _check_distinct(names: list[object], what: str) -> None:
    repeated = [name for position, name in enumerate(names) if name in names[:position]]
    if repeated:
        raise ValueError(f"two axes of {what} would be named {repeated[0]!r}: {tuple(names)}")


def used_axis_names(jaxpr: Jaxpr | ClosedJaxpr) -> frozenset[Hashable]:
    """The names of the mapped axes that a program uses and does not bind itself: in its equations, and in its types.

    >>> import tangrad
    >>> from tangrad._collectives.named_axes import used_axis_names
    >>> jaxpr = tangrad.make_jaxpr(lambda x: tangrad.lax.psum(x, "i"), axis_env=[("i", 4)])(1.0 * tangrad.numpy.ones(2))
    >>> used_axis_names(jaxpr)
    frozenset({'i'})
    """
    jaxpr = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    typed = [atom for eqn in jaxpr.eqns for atom in (*eqn.invars, *eqn.outvars)]
    typed += [*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars]
    return axes_of_effects(jaxpr.effects) | {name for atom in typed for name, _ in atom.aval.named_shape}


AXIS_SUBST = rule_table("axis_subst")
Program = TypeVar("Program", Jaxpr, ClosedJaxpr)


def subst_axis_names(jaxpr: Program, subst: object, sizes: Mapping[Hashable, int] | None = None) -> Program:
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


def _same_params(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    if one.keys() != other.keys():
        return False
    return all([value is other[name] or (_is_plain(value) and value == other[name]) for name, value in one.items()])


def _is_plain(value: object) -> bool:
    """Whether equality of a parameter means something: names and tuples of them, not arrays."""
    return isinstance(value, (str, int, tuple)) or value is None


def _check_renamed(eqn: JaxprEqn, effects: frozenset[Effect], subst: Substitution) -> None:
    """An equation must not go on using an axis by its old name."""
    expected = {new for name in axes_of_effects(eqn.effects) for new in subst(name)}
    left = axes_of_effects(effects) - expected
    if left:
        raise MissingRuleError(
            f"primitive {eqn.primitive.identity!r} uses the mapped axis {next(iter(left))!r}, and its rule of kind "
            f"'axis_subst' (or the default one, which only looks into programs among the parameters) does not rename "
            f"it; a rule is `(params, subst) -> params`, see tangrad._collectives.named_axes.renamed_axes"
        )


def subst_in_programs(params: Params, subst: Substitution) -> Params:
    """The default rule: the names are substituted in all programs among the parameters."""
    substitution = as_substitution(subst)
    return with_sub_jaxprs(params, lambda program: subst_axis_names(program, substitution))


def subst_under_binder(jaxpr: Program, subst: object, bound: Sequence[Hashable]) -> tuple[Program, Names]:
    """Substitute axis names in a program for which the equation that carries it binds names, for `axis_subst` rules.

    Inside, a bound name is another axis than the one outside of the same name: it stays. Where a name that comes in
    would be taken for a bound one, the bound one gets an unused name.

    Args:
        jaxpr: the program.
        subst: what the rule was given.
        bound: the names that the equation binds.

    Returns:
        the program, and the names that the equation must bind now.
    """
    outer = as_substitution(subst)
    used: frozenset[Hashable] = used_axis_names(jaxpr)
    incoming: set[Hashable] = {new for name in used if name not in bound for new in outer(name)}
    renamed: dict[Hashable, Hashable] = {}
    for name in bound:
        taken = {*used, *incoming, *bound, *renamed.values()}
        renamed[name] = _fresh(name, taken) if name in incoming else name
    inner = Substitution(lambda name: (renamed[name],) if name in renamed else outer(name), outer.sizes)
    return subst_axis_names(jaxpr, inner), tuple([renamed[name] for name in bound])


def _fresh(name: object, taken: set[object]) -> str:
    """A name like this one that is not taken."""
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


class RenamedFunction:
    """Runs functions written with the old names of axes where the new ones are in scope.

    Args:
        subst: what the rule was given.
        axes: pairs of a name and a size: the axes that were in scope where the functions were written.
    """

    __slots__ = ("_axes", "_subst")

    def __init__(self, subst: object, axes: Sequence[tuple[Hashable, int]]) -> None:
        self._subst = as_substitution(subst)
        self._axes = tuple(axes)

    @property
    def axes(self) -> tuple[tuple[Hashable, int | None], ...]:
        """The axes that are in scope with the new names; None for an unknown size."""
        found: list[tuple[Hashable, int | None]] = []
        for name, size in self._axes:
            names = self._subst(name)
            found.extend([(new, size if len(names) == 1 else self._subst.known_size(new)) for new in names])
        return tuple(found)

    def run(self, function: Callable[..., Sequence[object]], values: Sequence[object]) -> list[Any]:
        """`function(*values)`, of flat values: as a program with the old names, which then get the new ones."""
        operands = [as_operand(value) for value in values]
        with holding(axis_environment=self._axes):
            jaxpr, consts = trace_to_jaxpr(function, [_without_names(operand.aval) for operand in operands])
        return eval_jaxpr(subst_axis_names(jaxpr, self._subst), consts, *operands)


def _without_names(aval: ShapedArray) -> object:
    return aval.update(named_shape=()) if aval.named_shape else aval


def _default(primitive: Primitive) -> Callable[[Params, Substitution], Params]:
    """Primitives whose parameters name no axis: only the programs that they carry are looked into."""
    return subst_in_programs


axis_subst = RuleKind(
    "axis_subst",
    api=1,
    signature="(params, subst) -> params",
    doc="the parameters with other names for mapped axes: subst(name) is a tuple of names",
    default=_default,
)
named_axes = Transformation(
    "named_axes", api=1, kinds=(axis_subst,), doc="other names for the mapped axes that a program uses"
)
