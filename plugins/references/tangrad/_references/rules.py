"""The rules of references, and of what hands them on to a program: the program takes and returns values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tangrad._references.cells import Moved, Reference, ReferenceResultError, discharged
from tangrad._references.indexing import Template, added, from_template, written
from tangrad._references.primitives import addupdate_p, get_p, swap_p
from tangrad.batching import move_axis_p
from tangrad.core import (
    EVAL_TRACE,
    Array,
    ClosedJaxpr,
    Literal,
    Primitive,
    RuleSet,
    Var,
    as_array,
    eval_jaxpr,
    find_primitive,
    get_aval,
    thread,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.programs import backend_of, program_for, to_arrays
from tangrad.core.settings import is_checking_values
from tangrad.extend.custom_rules import remat_p
from tangrad.extend.jit import jit_p
from tangrad.extend.lax import cond_p, optimization_barrier_p, platform_dependent_p, scan_p, split_list, while_p

if TYPE_CHECKING:
    from tangrad.core import ShapedArray
    from tangrad.typing import Params, Value, Values


# ----------------------------------------------------------------------------------------------------------------------
# The rules of references themselves: what is done to the value in the cell, and why there are no others.


ALL = (get_p, swap_p, addupdate_p)

discharge = RuleSet("discharge", api=1)


@discharge.rule(get_p)
def _(args: Sequence[Any], own: object, *, indexers: Template) -> Array:
    ref, *indices = args
    return ref.part(from_template(indexers, indices))


@discharge.rule(swap_p)
def _swap(args: Sequence[Any], own: object, *, indexers: Template) -> Array:
    ref, *indices, value = args
    chain = from_template(indexers, indices)
    before = ref.part(chain)
    ref.value = written(ref.value, chain, value)
    return before


@discharge.rule(addupdate_p)
def _add(args: Sequence[Any], own: object, *, indexers: Template) -> tuple[()]:
    ref, *indices, value = args
    ref.value = added(ref.value, from_template(indexers, indices), value)
    return ()


@discharge.rule(move_axis_p)
def _move(args: Sequence[Any], own: object, *, source: int, destination: int) -> Moved:
    return Moved(args[0], source, destination)


_VALUES = (
    "references are turned into values when a function is called; for arrays alone it can be lowered ahead of that"
)

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("a reference holds values, of which no derivative is known", *ALL)

mask = RuleSet("mask", api=1)
mask.not_applicable("what is written beyond the used part of an array would stay", *ALL)

checkify = RuleSet("checkify", api=1)
checkify.form("handed on", *ALL)

lower_numpy = RuleSet("lower.numpy", api=1)
lower_numpy.not_applicable(_VALUES, *ALL)

lower_xla = RuleSet("lower.xla", api=1)
lower_xla.not_applicable(_VALUES, *ALL)


# --- Operands of programs that are references, and the results that are the values behind them ------------------------


def values_of(args: Sequence[Any], own: Sequence[bool]) -> list[object]:
    """The operands with values in place of references."""
    return [arg.value if is_own else arg for arg, is_own in zip(args, own, strict=True)]


def check_distinct(name: str, args: Sequence[Any], own: Sequence[bool]) -> None:
    """Raise ValueError where one reference is two operands of a program, which would see two values of it."""
    places: dict[object, int] = {}
    for place, (arg, is_own) in enumerate(zip(args, own, strict=True)):
        first = places.setdefault(arg.identity[0], place) if is_own else place
        if first != place:
            raise ValueError(
                f"{name}: one reference, of type {arg.aval.str_short()}, is operand {first} and operand "
                f"{place} (what a function closes over counts first): pass it once, and use that argument alone"
            )


def written_places(program: ClosedJaxpr, own: Sequence[bool]) -> dict[int, int]:
    """Where the references stand that a discharged program writes, each with the position of its last value."""
    jaxpr, places = program.jaxpr, [place for place, is_own in enumerate(own) if is_own]
    first = len(jaxpr.outvars) - len(places)
    return {
        place: position
        for position, place in enumerate(places, first)
        if jaxpr.outvars[position] is not jaxpr.invars[place]  # what is not written comes out as it came in
    }


def keep_values(
    args: Sequence[Any], own: Sequence[bool], program: ClosedJaxpr, outs: Sequence[Array], is_new: bool = False
) -> Values:
    """The results proper, where `outs` are those of a discharged program; what it wrote is in the references now.

    `is_new`: whether a result that is no argument, and no other result, is in memory of its own.
    """
    jaxpr = program.jaxpr
    for place, position in written_places(program, own).items():
        var, reference = jaxpr.outvars[position], args[place]
        reference.value = outs[position]
        reference.alone = (
            is_new and type(var) is not Literal and var not in jaxpr.invars and jaxpr.outvars.count(var) == 1
        )
    return tuple(outs[: len(outs) - sum(own)])


def _bind(
    primitive: Primitive,
    recorded: Sequence[ShapedArray],
    values: Sequence[Any],
    params: Params,
    after: Mapping[int, ShapedArray] = MappingProxyType({}),
) -> tuple[Any, ...]:
    """Apply what carries programs of values, which were made for operands of the types `recorded`.

    Where types record along which axes values differ, a reference may hold what differs along more than when a program
    was traced. `after`: the types that operands have at the end of a loop's turn, which they have to have from the
    first one on, as of every carry; or their cotangents would be summed over those axes in each turn.
    """
    typed = thread.typed_axes
    if typed is not None:
        wide = list(values)
        for place, aval in after.items():
            wide[place] = _as_wide_as(wide[place], aval, typed)
        values, params = typed.fitted(primitive, recorded, wide, params)
    return primitive.bind(*values, **params)


def _as_wide_as(value: Any, aval: ShapedArray, typed: Any) -> Any:
    known = dict(get_aval(value).named_shape)
    missing = tuple([name for name, _ in aval.named_shape if name in typed.names and name not in known])
    return typed.marked(value, missing) if missing else value


# ----------------------------------------------------------------------------------------------------------------------
# Calls of a program with references among their operands: the program takes values, and returns the last ones.


def _overwriting(program: ClosedJaxpr, args: Sequence[Any], own: Sequence[bool], *, name: str) -> list[Array] | None:
    """Outside of all traces: the results of a program that overwrites the arrays that references alone have.

    None where there is no such array.
    """
    written = written_places(program, own)
    given = tuple([place in written and arg.alone for place, arg in enumerate(args)])
    if True not in given or is_checking_values():
        return None
    values = values_of(args, own)
    backend = backend_of(values)
    arrays = to_arrays(backend, values)
    options: dict[str, Any] = {"places": backend.places(arrays), "donated": given}
    return program_for(program, backend, name, backend.placement(arrays), given, **options).execute(arrays)


def _call(primitive: Primitive) -> None:
    @discharge.rule(primitive)
    def _(args: Values, own: Flags, *, jaxpr: ClosedJaxpr, **others: Any) -> tuple[Value, ...]:
        check_distinct(f"{primitive.name} of {others.get('name') or jaxpr.jaxpr.debug_name}", args, own)
        program = discharged(jaxpr, args, own)
        compiles = primitive is jit_p and thread.trace is EVAL_TRACE
        outs: Sequence[Array] | None = _overwriting(program, args, own, **others) if compiles else None
        if outs is None:
            outs = _bind(primitive, program.in_avals, values_of(args, own), {"jaxpr": program, **others})
        return keep_values(args, own, program, outs, compiles)


_call(jit_p)
_call(remat_p)


@discharge.rule(optimization_barrier_p)
def _barrier(args: Sequence[Any], own: Sequence[bool]) -> Values:
    """The references themselves: what they hold from now on has passed the barrier."""
    outs = optimization_barrier_p.bind(*values_of(args, own))
    for arg, is_own, out in zip(args, own, outs, strict=True):
        if is_own:
            arg.value = out
    return tuple([arg if is_own else out for arg, is_own, out in zip(args, own, outs, strict=True)])


# ----------------------------------------------------------------------------------------------------------------------
# Functions with rules of their own. Where nothing is differentiated any more they are what they compute.


def _custom_call(primitive: Primitive) -> None:
    @discharge.rule(primitive)
    def _(args: tuple[Any, ...], own: Flags, *, jaxpr: Any, name: str, **others: object) -> Values:
        if not all([arg._trace.last for arg, is_own in zip(args, own, strict=True) if is_own]):
            raise NotImplementedError(
                f"{name}: a function with derivatives of its own uses a reference from outside, within a program whose "
                "derivative may be asked for. Read it before, ref[...], pass the value, and write what is returned"
            )
        check_distinct(name, args, own)
        if type(jaxpr) is not ClosedJaxpr:  # the function itself
            return tuple([as_array(out) for out in jaxpr(*args)])
        program = discharged(jaxpr, args, own)
        outs = eval_jaxpr(program.jaxpr, program.consts, *values_of(args, own))
        return keep_values(args, own, program, [as_array(out) for out in outs])


_custom_call(find_primitive("custom_rules.custom_jvp_call"))
_custom_call(find_primitive("custom_rules.custom_vjp_call"))


# ----------------------------------------------------------------------------------------------------------------------
# Conditionals and loops that use references from outside: what they write is carried along, the rest is a constant.


_rearranged = JaxprCache()
register_cache(_rearranged.clear)

Flags = tuple[bool, ...]


def rearranged(closed: ClosedJaxpr, inputs: Sequence[int], outputs: Sequence[int]) -> ClosedJaxpr:
    """The program that takes and returns what stands at these positions."""
    jaxpr, key = closed.jaxpr, (tuple(inputs), tuple(outputs))
    make = lambda: ClosedJaxpr(
        jaxpr.replace(invars=[jaxpr.invars[i] for i in inputs], outvars=[jaxpr.outvars[i] for i in outputs]),
        closed.consts,
    )
    return _rearranged.get(closed, key, make)


def _true(flags: Sequence[bool]) -> list[int]:
    return [place for place, flag in enumerate(flags) if flag]


# --- one of several programs ----------------------------------------------------------------------------------------


def _choice(primitive: Primitive, lead: int) -> None:
    @discharge.rule(primitive)
    def _(args: tuple[Any, ...], own: Flags, *, branches: tuple[ClosedJaxpr, ...], **others: Any) -> Values:
        check_distinct(primitive.name, args, own)
        operands, mine = args[lead:], own[lead:]
        programs = tuple([discharged(branch, operands, mine) for branch in branches])
        count, places = len(branches[0].out_avals), _true(mine)
        written = sorted({place for program in programs for place in written_places(program, mine)})
        kept = [*range(count), *[count + places.index(place) for place in written]]
        chosen = tuple([rearranged(p, range(len(mine)), kept) for p in programs])
        recorded = [*map(get_aval, args[:lead]), *chosen[0].in_avals]
        values = [*args[:lead], *values_of(operands, mine)]
        outs = _bind(primitive, recorded, values, {"branches": chosen, **others})
        for place, out in zip(written, outs[count:], strict=True):
            operands[place].value = out
        return tuple(outs[:count])


_choice(cond_p, 1)
_choice(platform_dependent_p, 0)


# --- loops ----------------------------------------------------------------------------------------------------------


@discharge.rule(scan_p)
def _scan(
    args: tuple[Any, ...], own: Flags, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **others: object
) -> object:
    """What is written is carried, where the loop goes through a reference it is a result of each turn."""
    check_distinct("scan", args, own)
    _check_not_carried("scan", args, own, range(num_consts, num_consts + num_carry))
    program = discharged(jaxpr, args, own)
    count, values, written = len(jaxpr.out_avals), values_of(args, own), written_places(program, own)
    carried = [place for place in written if place < num_consts]
    rows = [place for place in written if place >= num_consts]
    fixed = [place for place in range(num_consts) if place not in written]
    inputs = [*fixed, *carried, *range(num_consts, len(own))]
    outputs = [*[written[place] for place in carried], *range(count), *[written[place] for place in rows]]
    loop = rearranged(program, inputs, outputs)
    sizes = {"num_consts": len(fixed), "num_carry": len(carried) + num_carry}
    after = dict(enumerate(loop.out_avals[: len(carried)], len(fixed)))
    outs = _bind(scan_p, loop.in_avals, [values[place] for place in inputs], {"jaxpr": loop, **sizes, **others}, after)
    first = len(carried) + count
    for place, out in zip([*carried, *rows], [*outs[: len(carried)], *outs[first:]], strict=True):
        args[place].value = out
    return tuple(outs[len(carried) : first])


@discharge.rule(while_p)
def _while(
    args: tuple[Any, ...],
    own: Flags,
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> object:
    """The condition may read what the body writes: what is written is carried, and both get it from there."""
    _check_not_carried("while_loop", args, own, range(cond_nconsts + body_nconsts, len(own)))
    cond_consts, body_consts, carry = split_list(args, cond_nconsts, body_nconsts)
    cond_own, body_own, carry_own = [tuple(flags) for flags in split_list(own, cond_nconsts, body_nconsts)]
    check_distinct("while_loop: the body", body_consts, body_own)
    condition = discharged(cond_jaxpr, [*cond_consts, *carry], (*cond_own, *carry_own))
    body = discharged(body_jaxpr, [*body_consts, *carry], (*body_own, *carry_own))
    if written_places(condition, (*cond_own, *carry_own)):
        raise ValueError("while_loop: the condition writes to a reference; write to it in the body, and read it here")
    count = len(carry)
    written = written_places(body, (*body_own, *carry_own))
    carried = {_which(body_consts[place]): position for position, place in enumerate(written)}
    fixed = [place for place in range(body_nconsts) if place not in written]
    inputs = [*fixed, *written, *range(body_nconsts, body_nconsts + count)]
    body = rearranged(body, inputs, [*written.values(), *range(count)])
    condition, condition_fixed = _condition(condition, cond_consts, count, carried, body_consts, written)
    values = [
        *values_of([cond_consts[p] for p in condition_fixed], [cond_own[p] for p in condition_fixed]),
        *values_of([body_consts[p] for p in fixed], [body_own[p] for p in fixed]),
        *[body_consts[place].value for place in written],
        *carry,
    ]
    params = {
        "cond_jaxpr": condition,
        "body_jaxpr": body,
        "cond_nconsts": len(condition_fixed),
        "body_nconsts": len(fixed),
    }
    recorded = [*condition.in_avals[: len(condition_fixed)], *body.in_avals]
    after = dict(enumerate(body.out_avals[: len(written)], len(condition_fixed) + len(fixed)))
    outs = _bind(while_p, recorded, values, params, after)
    for place, out in zip(written, outs):
        body_consts[place].value = out
    return tuple(outs[len(written) :])


def _condition(
    condition: ClosedJaxpr,
    consts: Sequence[object],
    count: int,
    carried: dict[object, int],
    others: Sequence[Any],
    written: Mapping[int, int],
) -> tuple[ClosedJaxpr, list[int]]:
    """The condition that takes its other constants, and then what is carried; which constants those are."""
    jaxpr = condition.jaxpr
    fixed = [place for place, const in enumerate(consts) if _which(const) not in carried]
    shared = [(place, _which(const)) for place, const in enumerate(consts)]
    own = {carried[which]: jaxpr.invars[place] for place, which in shared if which in carried}
    extra = [own.get(k) or Var(others[place].aval.inner_aval) for k, place in enumerate(written)]
    invars = [*[jaxpr.invars[place] for place in fixed], *extra, *jaxpr.invars[len(consts) : len(consts) + count]]
    key = ("condition", tuple(fixed), tuple(carried.get(_which(const)) for const in consts), len(written))
    make = lambda: ClosedJaxpr(jaxpr.replace(invars=invars, outvars=jaxpr.outvars[:1]), condition.consts)
    return _rearranged.get(condition, key, make), fixed


def _which(value: object) -> object:
    """What is the same of two operands that are the same reference."""
    return value.identity if isinstance(value, Reference) else id(value)


def _check_not_carried(name: str, args: Sequence[Any], own: Flags, carried: range) -> None:
    """Raise ReferenceResultError where a reference is carried by a loop."""
    for place in carried:
        if own[place]:
            raise ReferenceResultError(
                f"{name}: among what the loop carries is a reference, of type {args[place].aval.str_short()}, and "
                "which one it is cannot change from turn to turn; close over it in the body"
            )
