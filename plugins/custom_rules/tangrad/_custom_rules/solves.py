"""The primitives of solves whose derivatives are those of what they solve.

- `custom_root`: `*consts of f, *consts of solve, *consts of tangent_solve, *guess`; runs `solve`.
- `custom_linear_solve`: `*consts of matvec, of vecmat, of solve, of transpose_solve, *b`; runs `solve`.

What a program closed over stands among the operands, so derivatives with respect to it are those of any operand. The
programs that are not run say how the solve is differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad.core import ClosedJaxpr, NamedAxisEffect, PrimitiveSet, ShapedArray, as_array, eval_jaxpr

if TYPE_CHECKING:
    from tangrad.typing import Params, Value, Values

solves = PrimitiveSet("solves", api=1)

SOLVE_OF_ROOT = 1  # positions of the programs that run, among those whose constants are operands
SOLVE_OF_LINEAR = 2


def split(values: Sequence[Any], counts: Sequence[int]) -> list[list[Any]]:
    """`values` in parts of the given lengths, and the rest."""
    parts, start = [], 0
    for count in counts:
        parts.append(list(values[start : start + count]))
        start += count
    parts.append(list(values[start:]))
    return parts


def call(program: Any, *parts: Sequence[Any]) -> list[Any]:
    """Run a closed jaxpr on operands in parts."""
    return eval_jaxpr(program.jaxpr, program.consts, *[value for part in parts for value in part])


def _run(args: Sequence[Value], params: Params, position: int) -> Values:
    parts = split(args, params["num_consts"])
    return tuple(call(params["solve"], parts[position], parts[-1]))


def _solutions(
    avals: Sequence[ShapedArray], equation: ClosedJaxpr, solve: ClosedJaxpr, counts: Sequence[int], position: int
) -> tuple[ShapedArray, ...]:
    """The types of the results: those that `solve`, the program at a position, gives.

    Operands may differ along more mapped axes than the programs were traced for, as the cotangents of a branch do that
    not all devices take. Then solutions do, too.
    """
    parts = split(avals, counts)
    given = [*parts[0], *parts[position], *parts[-1]]
    traced = [*equation.in_avals[: counts[0]], *solve.in_avals]
    beyond = [
        pair for aval, known in zip(given, traced, strict=True) for pair in aval.named_shape
        if pair not in known.named_shape
    ]  # fmt: skip
    if not beyond:
        return tuple(solve.out_avals)
    return tuple([aval.update(named_shape={**dict(aval.named_shape), **dict(beyond)}) for aval in solve.out_avals])


def _arrays(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([as_array(value) for value in values])


def _effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Any]:
    """What `solve` does; and the axes that any of the programs uses, as derivatives of the solve use them too."""
    programs = [value for value in params.values() if hasattr(value, "in_avals")]
    axes = [effect for program in programs for effect in program.effects if isinstance(effect, NamedAxisEffect)]
    return frozenset(params["solve"].effects) | frozenset(axes)


@solves.primitive(
    name="custom_root",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    effects=_effects,
    evaluate=lambda args, params: _arrays(_run(args, params, SOLVE_OF_ROOT)),
    decompose=lambda *args, **params: _run(args, params, SOLVE_OF_ROOT),
)
def custom_root_p(
    *avals: ShapedArray, f: ClosedJaxpr, solve: ClosedJaxpr, tangent_solve: ClosedJaxpr, num_consts: tuple[int, ...]
) -> tuple[ShapedArray, ...]:
    """A zero of `f`, found by `solve`; `tangent_solve` solves the linear equations that derivatives lead to.

    `f` takes `(consts, x)` and gives a residual like `x`; `solve` takes `(consts, guess)` and gives `x` and auxiliary
    values; `tangent_solve` takes `(consts, x, b)`, `x` the zero, and gives the solution of "derivative of f at x times
    solution = b".
    """
    return _solutions(avals, f, solve, num_consts, SOLVE_OF_ROOT)


@solves.primitive(
    name="custom_linear_solve",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    effects=_effects,
    evaluate=lambda args, params: _arrays(_run(args, params, SOLVE_OF_LINEAR)),
    decompose=lambda *args, **params: _run(args, params, SOLVE_OF_LINEAR),
)
def custom_linear_solve_p(
    *avals: ShapedArray,
    matvec: ClosedJaxpr,
    vecmat: ClosedJaxpr,
    solve: ClosedJaxpr,
    transpose_solve: ClosedJaxpr,
    num_consts: tuple[int, ...],
) -> tuple[ShapedArray, ...]:
    """The `x` for which `matvec(x)` is `b`, found by `solve`, and its auxiliary values; linear in `b`.

    All programs take `(consts, b)` or `(consts, x)`. `vecmat` and `transpose_solve`, the same for the transposed
    equation, are None where no solver of that is given.
    """
    return _solutions(avals, matvec, solve, num_consts, SOLVE_OF_LINEAR)
