"""Jaxprs: programs as data. Effects, variables, equations, closed jaxprs; traversal and evaluation."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter, is_not
from typing import Any, TypeAlias

from tangrad._core.diagnostics.source_info import SourceInfo
from tangrad._core.diagnostics.tracebacks import calls_rules
from tangrad._core.kernel.array import Array, Literal
from tangrad._core.kernel.aval import ShapedArray
from tangrad._core.kernel.jaxpr_print import equation_text, jaxpr_html, jaxpr_text
from tangrad._core.kernel.keys import Params, exact_equality, typed_key
from tangrad._core.settings.config import thread

# --- effects: what an equation does beside computing its results ---
#
# An effect is a hashable object. The effects of an equation are those of its primitive and of the jaxprs in its
# parameters; an equation with effects is never dropped as dead code, and never merged with an equal one.


class Effect:
    """Base of effects. `ordered` effects happen in program order: lowering threads a token through them."""

    __slots__ = ()
    ordered = False
    # Whether a transformation may make it happen more often than in the program, such as output for debugging.
    incidental = False
    # Whether an equation whose results are unused may still be dropped.
    droppable = False

    def __repr__(self) -> str:
        return type(self).__name__


class NamedAxisEffect(Effect):
    """The equation depends on the mapped axis `name`: its value differs along it even where no operand is mapped."""

    __slots__ = ("name",)
    droppable = True

    def __init__(self, name: Hashable) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedAxisEffect) and self.name == other.name

    def __hash__(self) -> int:
        return hash((NamedAxisEffect, self.name))

    def __repr__(self) -> str:
        return f"NamedAxis({self.name!r})"


NO_EFFECTS: frozenset[Effect] = frozenset()


def axes_of_effects(effects: Iterable[Effect]) -> frozenset[Hashable]:
    """The names of the mapped axes among `effects`.

    >>> from tangrad.core import NamedAxisEffect, axes_of_effects
    >>> axes_of_effects(frozenset([NamedAxisEffect("batch")]))
    frozenset({'batch'})
    """
    return frozenset([effect.name for effect in effects if isinstance(effect, NamedAxisEffect)])


def keeps_alive(effects: frozenset[Effect]) -> bool:
    """Whether an equation with these effects must run even if its results are unused.

    >>> from tangrad.core import NO_EFFECTS, Effect, NamedAxisEffect, keeps_alive
    >>> keeps_alive(NO_EFFECTS), keeps_alive({NamedAxisEffect("i")}), keeps_alive({Effect()})
    (False, False, True)
    """
    for effect in effects:  # noqa: SIM110 - called for every equation
        if not effect.droppable:
            return True
    return False


# --- programs ---


class Var:
    """A variable of a jaxpr, compared by identity. It has a type; its name is chosen when the jaxpr is printed."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """An unused output; printed as `_`."""

    __slots__ = ()


Atom: TypeAlias = Var | Literal


def _fields(of: object, names: Iterable[str], changes: Params, what: str) -> Params:
    """The fields of an object with some replaced."""
    if not changes.keys() <= set(names):
        raise TypeError(f"{what} have no fields {sorted(changes.keys() - set(names))}")
    return {name: getattr(of, name) for name in names} | changes


class JaxprEqn:
    """One equation: `outvars = primitive[params] invars`."""

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "source_info")

    def __init__(
        self,
        primitive: Any,
        invars: Sequence[Atom],
        outvars: Sequence[Var],
        params: Params,
        effects: frozenset[Effect] = NO_EFFECTS,
        source_info: SourceInfo | None = None,
    ) -> None:
        self.primitive = primitive
        self.invars = invars
        self.outvars = outvars
        self.params = params
        self.effects = effects
        self.source_info = source_info

    def replace(self, **changes: Any) -> JaxprEqn:
        """A copy with some fields replaced."""
        return JaxprEqn(**_fields(self, self.__slots__, changes, "equations"))

    def __repr__(self) -> str:
        return equation_text(self)


@exact_equality
class Jaxpr:
    """A program: `{ lambda constvars ; invars. let eqns in outvars }`."""

    __slots__ = ("__weakref__", "constvars", "debug_name", "effects", "eqns", "invars", "outvars")
    holds_program = True

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[JaxprEqn],
        effects: frozenset[Effect] | None = None,
        debug_name: str = "",
    ) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        self.effects = join_effects(eqns) if effects is None else effects
        self.debug_name = debug_name

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [var.aval for var in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [atom.aval for atom in self.outvars]

    def replace(self, **changes: Any) -> Jaxpr:
        """A copy with some fields replaced; effects are joined anew when the equations change."""
        if "eqns" in changes:
            changes.setdefault("effects", None)
        return Jaxpr(**_fields(self, self.__slots__[1:], changes, "jaxprs"))

    def pretty_print(self, **options: bool) -> str:
        """The printed form. Options: `source_info` (append where each equation was written)."""
        return jaxpr_text(self, **options)

    def __repr__(self) -> str:
        return self.pretty_print()

    def _repr_html_(self) -> str:
        return jaxpr_html(self)


@exact_equality
class ClosedJaxpr:
    """A jaxpr with the values of its constants. Equal to itself only: caches compare programs by identity."""

    __slots__ = ("__weakref__", "consts", "jaxpr")
    holds_program = True

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Array] = ()) -> None:
        if len(consts) != len(jaxpr.constvars):
            raise ValueError(f"the jaxpr has {len(jaxpr.constvars)} constants, got {len(consts)} values")
        self.jaxpr = jaxpr
        self.consts = list(consts)

    in_avals = property(attrgetter("jaxpr.in_avals"))
    out_avals = property(attrgetter("jaxpr.out_avals"))
    invars = property(attrgetter("jaxpr.invars"))
    outvars = property(attrgetter("jaxpr.outvars"))
    constvars = property(attrgetter("jaxpr.constvars"))
    eqns = property(attrgetter("jaxpr.eqns"))
    effects = property(attrgetter("jaxpr.effects"))
    literals = property(attrgetter("consts"))

    def replace(self, jaxpr: Jaxpr | None = None, consts: Sequence[Array] | None = None, **changes: Any) -> ClosedJaxpr:
        """A copy with another program, or with some fields of it replaced, and with other values of its constants."""
        return ClosedJaxpr((jaxpr or self.jaxpr).replace(**changes), self.consts if consts is None else consts)

    def __repr__(self) -> str:
        return self.jaxpr.pretty_print()

    pretty_print = property(attrgetter("jaxpr.pretty_print"), doc="The printed form; see `Jaxpr.pretty_print`.")
    _repr_html_ = property(attrgetter("jaxpr._repr_html_"))


def join_effects(parts: Iterable[JaxprEqn | Jaxpr | ClosedJaxpr]) -> frozenset[Effect]:
    """The effects of equations, or of jaxprs, together."""
    joined: frozenset[Effect] = NO_EFFECTS
    for part in [part for part in parts if part.effects]:
        joined |= part.effects
    return joined


def sub_jaxprs(params: dict[str, object]) -> Iterator[Jaxpr | ClosedJaxpr]:
    """The jaxprs among parameters, those inside tuples included.

    >>> import tangrad
    >>> from tangrad.core.tools import sub_jaxprs
    >>> equation = tangrad.make_jaxpr(tangrad.jit(lambda x: x * x))(2.0).eqns[0]
    >>> [len(jaxpr.eqns) for jaxpr in sub_jaxprs(equation.params)]
    [1]
    """
    for value in params.values():
        items = value if isinstance(value, (tuple, list)) else (value,)
        yield from [item for item in items if isinstance(item, (Jaxpr, ClosedJaxpr))]


def with_sub_jaxprs(params: Params, change: Callable[[Any], object]) -> Params:
    """Parameters with `change(jaxpr)` in place of each jaxpr, those inside tuples included; `params` where all stay."""

    def changed(value: object) -> object:
        if type(value) is tuple:
            items = tuple(map(changed, value))
            return items if any(map(is_not, items, value)) else value
        return change(value) if isinstance(value, (Jaxpr, ClosedJaxpr)) else value

    new = {name: changed(value) for name, value in params.items()}
    return new if any(map(is_not, new.values(), params.values())) else params


@calls_rules("effects")
def equation_effects(primitive: Any, avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Effect]:
    """The effects of applying `primitive`: as it declares, or those of the jaxprs among its parameters."""
    stated = primitive.effects
    return join_effects(sub_jaxprs(params)) if stated is None else frozenset(stated(avals, params))


def one_equation(primitive: Any, in_avals: Sequence[ShapedArray], params: Params) -> ClosedJaxpr:
    """The program that applies `primitive` to operands of the types `in_avals`.

    >>> from tangrad.core import PrimitiveSet, ShapedArray
    >>> from tangrad.core.transformations import one_equation
    >>> twice = PrimitiveSet("example_of_one_equation", api=1).primitive(lambda x: x, name="twice")
    >>> print(one_equation(twice, [ShapedArray((3,), "float32")], {}))
    { lambda ; a:f32[3]. let b:f32[3] = twice a in (b,) }
    """
    avals = tuple(in_avals)
    out = primitive.infer(avals, params)
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in (out if primitive.multiple_results else (out,))]
    effects = equation_effects(primitive, avals, params)
    return ClosedJaxpr(Jaxpr([], invars, outvars, [JaxprEqn(primitive, invars, outvars, params, effects)]))


def carried_program(params: dict[str, object]) -> Jaxpr | ClosedJaxpr | None:
    """The first jaxpr among parameters, or None: what is made of an equation that carries one lives as long as it."""
    return next(sub_jaxprs(params), None)


def weak_key(value: object) -> Hashable:
    """A parameter, or a dictionary of them, as part of a key that keeps no programs alive."""
    if isinstance(value, dict):
        return tuple([(name, weak_key(item)) for name, item in value.items()])
    if isinstance(value, tuple):
        return tuple([weak_key(item) for item in value])
    return weakref.ref(value) if isinstance(value, (Jaxpr, ClosedJaxpr)) else typed_key(value)


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[object], *args: object) -> list[Any]:
    """Run a jaxpr on values, primitive by primitive, under the current trace."""
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"the jaxpr takes {len(jaxpr.invars)} arguments, got {len(args)}")
    env: dict[Atom, object] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    typed = thread.typed_axes
    outer_source, outer_names = thread.source, thread.name_stack
    try:
        for eqn, read_last in zip(jaxpr.eqns, _last_uses(jaxpr), strict=True):
            place = eqn.source_info
            if place is not None:  # what is staged meanwhile is ascribed to where the equation was written
                thread.source = place
                thread.name_stack = outer_names + place.name_stack if place.name_stack else outer_names
            inputs = [atom if type(atom) is Literal else env[atom] for atom in eqn.invars]
            params = eqn.params
            if typed is not None and eqn.primitive.carries_programs:  # which were traced for operands of other types
                inputs, params = typed.fitted(eqn.primitive, [atom.aval for atom in eqn.invars], inputs, params)
            out = eqn.primitive.bind(*inputs, **params)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outvars, out, strict=True))
            else:
                env[eqn.outvars[0]] = out
            for var in read_last:
                del env[var]
    finally:
        thread.source, thread.name_stack = outer_source, outer_names
    return [atom if type(atom) is Literal else env[atom] for atom in jaxpr.outvars]


def _last_uses(jaxpr: Jaxpr) -> list[list[Var]]:
    """For each equation, the variables that are not read after it: evaluation releases their values."""
    read, uses = set(jaxpr.outvars), list[list[Var]]()
    for eqn in reversed(jaxpr.eqns):
        here = {atom for atom in (*eqn.invars, *eqn.outvars) if type(atom) is not Literal and atom not in read}
        read |= here
        uses.append(list(here))
    uses.reverse()
    return uses


def jaxpr_as_function(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    """A function of flat arguments that runs the jaxpr."""
    return partial(eval_jaxpr, closed.jaxpr, closed.consts)


def closed_over_as_arguments(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with its constants as first arguments.

    >>> import numpy
    >>> from tangrad.core import ShapedArray, closed_over_as_arguments, trace_to_jaxpr
    >>> table = numpy.arange(3.0)
    >>> jaxpr, values = trace_to_jaxpr(lambda x: (x + table,), [ShapedArray((3,), "float32")], "add_table")[:2]
    >>> [len(jaxpr.constvars), len(jaxpr.invars), len(closed_over_as_arguments(jaxpr).invars)]
    [1, 1, 2]
    """
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
