"""Loops that carry tangents beside their values: shared by the rules for jvp and linearisation.

Which carries have a tangent is a fixpoint: one that starts without may get one in the first iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._lax.control_flow.primitives import split_list
from tangrad._lax.control_flow.programs import ignoring, rearranged, spans
from tangrad.autodiff import jvp_jaxpr
from tangrad.typing import Params

Flags = tuple[bool, ...]


class WhileTangents:
    """A while loop with tangents.

    Attributes:
        consts, carry: which of the body's constants, and which carries, have one.
        params: of the loop over `(cond_consts, body_consts, their tangents, carry, its tangents)`.
    """

    __slots__ = ("carry", "consts", "params")

    def __init__(self, params: Params, nonzero: Sequence[bool]) -> None:
        cond_jaxpr, body_jaxpr, body_nconsts = params["cond_jaxpr"], params["body_jaxpr"], params["body_nconsts"]
        _, self.consts, carry = map(tuple, split_list(nonzero, params["cond_nconsts"], body_nconsts))
        while True:
            program, found = jvp_jaxpr(body_jaxpr, (*self.consts, *carry), carry)
            if tuple(found) == carry:
                break
            carry = tuple(found)
        self.carry = carry
        parts = spans(body_nconsts, len(carry), sum(self.consts), sum(carry))
        consts, values, const_tangents, tangents = parts
        order = [*consts, *const_tangents, *values, *tangents]
        self.params = {
            "cond_jaxpr": ignoring(cond_jaxpr, [program.in_avals[position] for position in tangents]),
            "body_jaxpr": rearranged(program, order, range(len(program.out_avals))),
            "cond_nconsts": params["cond_nconsts"],
            "body_nconsts": body_nconsts + sum(self.consts),
        }


class ScanTangents:
    """A scan with tangents.

    Attributes:
        consts, carry, xs, ys: which of them have one.
        params: of the scan over `(consts, their tangents, carry, its tangents, xs, their tangents)`, which gives
            `(carry, its tangents, results, their tangents)`.
    """

    __slots__ = ("carry", "consts", "params", "xs", "ys")

    def __init__(self, params: Params, nonzero: Sequence[bool]) -> None:
        jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
        self.consts, carry, self.xs = map(tuple, split_list(nonzero, num_consts, num_carry))
        num_ys = len(jaxpr.out_avals) - num_carry
        while True:
            flags = (*self.consts, *carry, *self.xs)
            program, found = jvp_jaxpr(jaxpr, flags, (*carry, *(False,) * num_ys))
            if tuple(found[:num_carry]) == carry:
                break
            carry = tuple(found[:num_carry])
        self.carry, self.ys = carry, tuple(found[num_carry:])
        active = sum(carry)
        consts, values, xs, consts_t, values_t, xs_t = spans(
            num_consts, num_carry, len(self.xs), sum(self.consts), active, sum(self.xs)
        )
        values_out, ys, values_out_t, ys_t = spans(num_carry, num_ys, active, sum(self.ys))
        self.params = {
            **params,
            "jaxpr": rearranged(
                program, [*consts, *consts_t, *values, *values_t, *xs, *xs_t], [*values_out, *values_out_t, *ys, *ys_t]
            ),
            "num_consts": num_consts + sum(self.consts),
            "num_carry": num_carry + active,
        }
