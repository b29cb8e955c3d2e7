"""How linear conditionals and scans are transposed.

A scan runs the other way. What it takes are the cotangents of its results and its residuals; its carry are the
cotangents of the carry, and sums of those of what the body closed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.control_flow.primitives import CHOICES, scan_p, split_list, while_p
from tangrad._lax.control_flow.residuals import of_one_type, with_zeros
from tangrad.autodiff import (
    Linear,
    Zero,
    add_any_p,
    current_typed_axes,
    each_by_itself,
    instantiate,
    is_linear,
    log_structure,
    logged,
    logs_wanted,
    symbolic_zeros,
    transpose_jaxpr,
    zeros,
)
from tangrad.core import ClosedJaxpr, JaxprEqn, Primitive, RuleSet, Var
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.typing import Params, Value, Values

transpose = RuleSet("transpose", api=1)

_transposed = JaxprCache()
register_cache(_transposed.clear)

Flags = tuple[bool, ...]


def _either(one: Sequence[bool], other: Sequence[bool]) -> Flags:
    return tuple([a or b for a, b in zip(one, other, strict=True)])


def _given(cotangents: Sequence[Value | Zero], flags: Sequence[bool]) -> list[Value]:
    return [instantiate(ct) for ct, flag in zip(cotangents, flags, strict=True) if flag]


def _nonzero(cotangents: Sequence[Value | Zero]) -> Flags:
    return tuple([type(cotangent) is not Zero for cotangent in cotangents])


# --- one of several programs ---


def _choice(primitive: Primitive, lead: int) -> None:
    """Register the rule of a primitive that runs one of several programs; its first `lead` operands say which."""

    @transpose.rule(primitive)
    @symbolic_zeros
    def _(
        cotangents: Values, *args: Value | Linear, branches: tuple[ClosedJaxpr, ...], **others: object
    ) -> tuple[Value | None, ...]:
        index, operands = args[:lead], args[lead:]
        linear = tuple([is_linear(operand) for operand in operands])
        given = _nonzero(cotangents)
        branches = of_one_type(branches, index)
        with each_by_itself([name for value in index for name, _ in value.aval.named_shape]):
            key = ("branches", branches[1:], linear, given, current_typed_axes(), logs_wanted())
            programs, nonzero = _transposed.get(branches[0], key, lambda: _transpose_branches(branches, linear, given))
        known = [operand for operand in operands if not is_linear(operand)]
        results = iter(primitive.bind(*index, *known, *_given(cotangents, given), branches=programs, **others))
        per_linear = iter([next(results) if has else None for has in nonzero])
        return (*[None] * lead, *[next(per_linear) if flag else None for flag in linear])


for _primitive, _lead in CHOICES.items():
    _choice(_primitive, _lead)


def _transpose_branches(
    branches: Sequence[ClosedJaxpr], linear: Flags, given: Flags
) -> tuple[tuple[ClosedJaxpr, ...], Flags]:
    made = [transpose_jaxpr(branch, linear, given) for branch in branches]
    nonzero = tuple([any(flags) for flags in zip(*[flags for _, flags in made])])
    avals = [aval for aval, flag in zip(branches[0].in_avals, linear, strict=True) if flag]
    return tuple([with_zeros(program, flags, nonzero, avals) for program, flags in made]), nonzero


# --- while ---


@transpose.rule(while_p)
def _(cotangents: object, *args: Value | Linear, **params: object) -> tuple[Value | None, ...]:
    raise ValueError(
        "reverse-mode differentiation does not work for while_loop, nor for fori_loop with bounds that are not known "
        "when the program is traced: the number of iterations decides how much memory it needs. Use scan, or fori_loop "
        "with bounds that are Python numbers; forward-mode differentiation (jvp, jacfwd) works"
    )


# --- scan ---


@transpose.rule(scan_p)
@symbolic_zeros
def _(cotangents: tuple[Value | Zero, ...], *args: Value | Linear, **params: Any) -> tuple[Value | None, ...]:
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    consts, init, xs = split_list(args, num_consts, num_carry)
    linear = (tuple(map(is_linear, consts)), tuple(map(is_linear, xs)))
    of_carry, of_ys = split_list(cotangents, num_carry)
    given = (_nonzero(of_carry), _nonzero(of_ys))
    others = tuple([(name, value) for name, value in params.items() if name != "jaxpr"])
    back = _transposed.get(
        params["jaxpr"],
        ("scan", linear, given, others, current_typed_axes(), logs_wanted()),
        lambda: _BackwardScan(params, *linear, *given),
    )
    results = scan_p.bind(
        *[const for const in consts if not is_linear(const)],
        *[zeros(aval) for aval in back.sums],
        *_given(of_carry, back.carry),
        *[x for x in xs if not is_linear(x)],
        *_given(of_ys, given[1]),
        **back.params,
    )
    found = iter(logged(back.logs, results))
    of_consts = iter([next(found) if has else None for has in back.consts])
    of_init = [next(found) if has else None for has in back.carry]
    of_xs = iter([next(found) if has else None for has in back.xs])
    return (
        *[next(of_consts) if flag else None for flag in linear[0]],
        *[cotangent if is_linear(value) else None for cotangent, value in zip(of_init, init, strict=True)],
        *[next(of_xs) if flag else None for flag in linear[1]],
    )


class _BackwardScan:
    """The transpose of a scan.

    Attributes:
        consts, carry, xs: which linear constants, which carries and which linear slices get cotangents.
        sums: the types of the constants' cotangents, which are added up.
        logs: the structure of what the body logs, the last results of the scan; None: it does not log.
        params: of the scan over `(known constants, sums, cotangents of the carry, known xs, cotangents of results)`.
    """

    __slots__ = ("carry", "consts", "logs", "params", "sums", "xs")

    def __init__(self, params: Params, lin_consts: Flags, lin_xs: Flags, carry: Flags, ys: Flags) -> None:
        jaxpr, num_carry = params["jaxpr"], params["num_carry"]
        # All of the carry is linear: what is known of it was taken out before.
        linear = (*lin_consts, *(True,) * num_carry, *lin_xs)
        while True:
            program, nonzero = transpose_jaxpr(jaxpr, linear, (*carry, *ys), with_logs=True)
            self.consts, from_body, self.xs = map(tuple, split_list(nonzero, sum(lin_consts), num_carry))
            if _either(carry, from_body) == carry:
                break
            carry = _either(carry, from_body)
        self.carry, self.logs = carry, log_structure(program)
        linear_avals = [aval for aval, flag in zip(jaxpr.in_avals, linear, strict=True) if flag]
        wanted = (*self.consts, *carry, *self.xs)
        program = with_zeros(program, nonzero, wanted, linear_avals)
        self.sums = [aval for aval, has in zip(linear_avals, self.consts) if has]
        known_consts = len(lin_consts) - sum(lin_consts)
        known_xs = len(lin_xs) - sum(lin_xs)
        body = _with_sums(program, known_consts, known_xs, len(self.sums), sum(carry))
        self.params = {
            **params,
            "jaxpr": body,
            "num_consts": known_consts,
            "num_carry": len(self.sums) + sum(carry),
            "reverse": not params["reverse"],
        }


def _with_sums(program: ClosedJaxpr, known_consts: int, known_xs: int, sums: int, carry: int) -> ClosedJaxpr:
    """`(known consts, known xs, cotangents of carry, of results) -> (of consts, of carry, of xs)`, with sums in the
    carry: `(known consts, sums, of carry, known xs, of results) -> (sums, of carry, of xs)`.
    """
    jaxpr = program.jaxpr
    consts, xs, of_carry, of_ys = split_list(jaxpr.invars, known_consts, known_xs, carry)
    terms, rest = split_list(jaxpr.outvars, sums)
    before, after, eqns = [], [], list(jaxpr.eqns)
    for term in terms:
        before.append(Var(term.aval))
        after.append(Var(add_any_p.infer((term.aval, term.aval), {})))
        eqns.append(JaxprEqn(add_any_p, [before[-1], term], [after[-1]], {}))
    invars = [*consts, *before, *of_carry, *xs, *of_ys]
    return ClosedJaxpr(jaxpr.replace(invars=invars, outvars=[*after, *rest], eqns=eqns), program.consts)
