"""Control flow with sparse operands: what is carried and returned is sparse where it is within."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad._sparse.base import JAXSparse
from tangrad._sparse.trace import sparsified_flat
from tangrad.core import ClosedJaxpr, RuleSet, eval_jaxpr
from tangrad.extend.lax import cond_p, scan, scan_p, split_list, switch, while_loop, while_p

sparse: RuleSet[Any] = RuleSet("sparse", api=1)


def _of_sparse(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    return lambda *values: sparsified_flat(lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *args), values)


@sparse.rule(cond_p)
def _(index: Any, *operands: Any, branches: Any) -> Any:
    return switch(index, [_of_sparse(branch) for branch in branches], *operands)


@sparse.rule(while_p)
def _(*args: Any, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int) -> Any:
    cond_consts, body_consts, carry = split_list(args, cond_nconsts, body_nconsts)
    condition, body = _of_sparse(cond_jaxpr), _of_sparse(body_jaxpr)
    return while_loop(
        lambda values: condition(*cond_consts, *values)[0],
        lambda values: body(*body_consts, *values),
        list(carry),
    )


@sparse.rule(scan_p)
def _(*args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: Any, reverse: bool, unroll: int) -> Any:
    consts, carry, xs = split_list(args, num_consts, num_carry)
    if any([isinstance(x, JAXSparse) for x in xs]):
        raise NotImplementedError("sparsify: a scan over the slices of a sparse array; scan over `sparse.todense(x)`")
    body = _of_sparse(jaxpr)

    def iteration(values: Any, rows: Any) -> Any:
        outs = body(*consts, *values, *rows)
        if any([isinstance(out, JAXSparse) for out in outs[num_carry:]]):
            raise NotImplementedError("sparsify: a scan that stacks sparse arrays; return `sparse.todense(x)` from it")
        return outs[:num_carry], outs[num_carry:]

    carried, stacked = scan(iteration, list(carry), list(xs), length, reverse=reverse, unroll=unroll)
    return [*carried, *stacked]
