"""The primitives that choose and repeat programs, and the types of their results.

- `cond`: `index, *operands`; runs one of `branches` on the operands.
- `platform_dependent`: `operands`; runs the one of `branches` that is for the platform.
- `while`: `*cond_consts, *body_consts, *carry`; runs `body_jaxpr` as long as `cond_jaxpr` gives True.
- `scan`: `*consts, *carry, *xs`; runs `jaxpr` for each slice of `xs` along the first axis, and stacks what it gives.

What a program closed over stands among the operands: the jaxprs here have no constants of outer traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.control_flow.evaluation import evaluate_cond, evaluate_platform, evaluate_scan, evaluate_while
from tangrad.core import ClosedJaxpr, PrimitiveSet, ShapedArray
from tangrad.core.transformations import join_named_shapes

control_flow = PrimitiveSet("control_flow", api=1)


@control_flow.primitive(
    name="cond",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=evaluate_cond,
    programs="loop",
)
def cond_p(index: ShapedArray, *operands: ShapedArray, branches: tuple[ClosedJaxpr, ...]) -> tuple[ShapedArray, ...]:
    """The results of `branches[index]`; an index beyond the last one means the last."""
    if index.shape or index.dtype.name != "int32":
        raise TypeError(f"cond: the index must be a scalar of dtype int32, got {index.str_short()}")
    return _results("cond", (index,), operands, branches)


@control_flow.primitive(
    name="platform_dependent", multiple_results=True, weak_type="own", own_named_shape=True, evaluate=evaluate_platform
)
def platform_dependent_p(
    *operands: ShapedArray, branches: tuple[ClosedJaxpr, ...], platforms: tuple[str | None, ...]
) -> tuple[ShapedArray, ...]:
    """The results of the first of `branches` whose name in `platforms` is one of the platform's; None stands for any.

    Which one is decided when the program is lowered, so that the others need no lowering there.
    """
    if len(branches) != len(platforms) or not branches:
        raise ValueError(
            f"platform_dependent: there must be a platform for each branch, got {platforms} for {len(branches)}"
        )
    return _results("platform_dependent", (), operands, branches)


# Primitives that run one of several programs on their operands -> how many operands, before these, say which.
CHOICES = {cond_p: 1, platform_dependent_p: 0}


def _results(
    name: str, index: tuple[ShapedArray, ...], operands: tuple[ShapedArray, ...], branches: tuple[ClosedJaxpr, ...]
) -> tuple[ShapedArray, ...]:
    """The types of the results of whichever branch; the results may differ along the axes of the index, too."""
    for position, branch in enumerate(branches):
        check_operands(f"{name}: branch {position}", branch.in_avals, operands)
    outs = branches[0].out_avals
    for position, branch in enumerate(branches):
        check_operands(f"{name}: results of branch {position}", outs, branch.out_avals)
    chosen = [
        join_named_shapes([*index, *each]) for each in zip(*[branch.out_avals for branch in branches], strict=True)
    ]
    # Weakly typed as those of the first branch: for `cond` that of `false_fun`, as in JAX.
    return tuple([_varying(aval, axes) for aval, axes in zip(outs, chosen, strict=True)])


@control_flow.primitive(
    name="while",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=evaluate_while,
    programs="loop",
)
def while_p(
    *avals: ShapedArray, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int
) -> tuple[ShapedArray, ...]:
    """The carry after the last run of the body."""
    cond_consts, body_consts, carry = split_list(avals, cond_nconsts, body_nconsts)
    check_operands("while: the condition", cond_jaxpr.in_avals, [*cond_consts, *carry])
    check_operands("while: the body", body_jaxpr.in_avals, [*body_consts, *carry])
    check_operands("while: results of the body", carry, body_jaxpr.out_avals)
    (predicate,) = cond_jaxpr.out_avals
    if predicate.shape or predicate.dtype.name != "bool":
        raise TypeError(f"while: the condition must give a boolean scalar, got {predicate.str_short()}")
    # The carry may come back weakly typed or not: it is what the body makes, or, if that never runs, what came in.
    ends = [join_named_shapes([predicate, *pair]) for pair in zip(carry, body_jaxpr.out_avals, strict=True)]
    return tuple([_varying(aval, axes) for aval, axes in zip(body_jaxpr.out_avals, ends, strict=True)])


@control_flow.primitive(
    name="scan",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=evaluate_scan,
    programs="loop",
)
def scan_p(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: int, reverse: bool, unroll: int
) -> tuple[ShapedArray, ...]:
    """The carry after the last run of `jaxpr`, and its other results stacked."""
    consts, carry, xs = split_list(avals, num_consts, num_carry)
    for position, x in enumerate(xs):
        if not x.shape or x.shape[0] != length:
            raise ValueError(f"scan: operand {position} to scan over is {x.str_short()}, expected length {length}")
    check_operands("scan: the body", jaxpr.in_avals, [*consts, *carry, *[row_type(x) for x in xs]])
    carry_out, ys = jaxpr.out_avals[:num_carry], jaxpr.out_avals[num_carry:]
    check_operands("scan: the carry that the body gives", carry, carry_out)
    ends = [join_named_shapes(pair) for pair in zip(carry, carry_out, strict=True)]  # it may not run at all
    carried = [_varying(aval, axes) for aval, axes in zip(carry_out, ends, strict=True)]
    return (*carried, *[rows_type(y, length) for y in ys])


def row_type(aval: Any) -> ShapedArray:
    """The type of what a scan over an array has in one iteration."""
    return aval.update(shape=aval.shape[1:]) if aval.infer_types is None else aval.without_dimension(0)


def rows_type(aval: Any, length: object) -> ShapedArray:
    """The type of what the iterations of a scan have, stacked."""
    return aval.update(shape=(length, *aval.shape)) if aval.infer_types is None else aval.with_dimension(0, length)


def _varying(aval: ShapedArray, axes: object) -> ShapedArray:
    """A type with these named axes."""
    return aval if aval.named_shape == axes else aval.update(named_shape=axes)


# --- small things that the rules share ---


def split_list(values: Sequence[object], *counts: int) -> list[list[Any]]:
    """`values` in parts of the given lengths, and the rest."""
    parts, start = [], 0
    for count in counts:
        parts.append(list(values[start : start + count]))
        start += count
    parts.append(list(values[start:]))
    return parts


def same_type(one: ShapedArray, other: ShapedArray) -> bool:
    """Whether two avals are equal but for weak types."""
    return one is other or one.strip_weak_type() is other.strip_weak_type()


def check_operands(what: str, expected: Sequence[ShapedArray], given: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless types agree, weak types apart."""
    if len(expected) != len(given):
        raise TypeError(f"{what}: expected {len(expected)} values, got {len(given)}")
    for position, (one, other) in enumerate(zip(expected, given)):
        if one is not other and (one.shape != other.shape or one.dtype != other.dtype):
            raise TypeError(f"{what}: value {position} is {other.str_short()}, expected {one.str_short()}")
