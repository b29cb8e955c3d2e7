"""Solves whose derivatives are those of what they solve: their primitives, and `custom_linear_solve`.

- `custom_root`: `*consts of f, *consts of solve, *consts of tangent_solve, *guess`; runs `solve`.
- `custom_linear_solve`: `*consts of matvec, of vecmat, of solve, of transpose_solve, *b`; runs `solve`.

What a program closed over stands among the operands, so derivatives with respect to it are those of any operand. The
programs that are not run say how the solve is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar, overload

from tangrad import tree
from tangrad._custom_rules.solve_programs import (
    Program,
    Role,
    Vectors,
    check_callable,
    of_one_type_along_axes,
    trace,
    vectors_of,
)
from tangrad.autodiff import linear_transpose
from tangrad.core import ClosedJaxpr, NamedAxisEffect, PrimitiveSet, ShapedArray, api_boundary, as_array, eval_jaxpr
from tangrad.typing import PyTree

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import Params, Value, Values

    S = TypeVar("S")
    Tree = Callable[[PyTree], PyTree]
    Solve = Callable[[Tree, PyTree], PyTree]


solves = PrimitiveSet("solves", api=1)

SOLVE_OF_ROOT = 1  # positions of the programs that run, among those whose constants are operands
SOLVE_OF_LINEAR = 2


def split(values: Sequence[S], counts: Sequence[int]) -> list[list[S]]:
    """`values` in parts of the given lengths, and the rest."""
    parts, start = [], 0
    for count in counts:
        parts.append(list(values[start : start + count]))
        start += count
    parts.append(list(values[start:]))
    return parts


def call(program: ClosedJaxpr, *parts: Sequence[Value]) -> list[Value]:
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


def _arrays(values: Sequence[object]) -> tuple[Array, ...]:
    return tuple([as_array(value) for value in values])


def _effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[NamedAxisEffect]:
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


T = TypeVar("T")
Aux = TypeVar("Aux")

WHAT = "custom_linear_solve"
PROGRAMS = ("matvec", "vecmat", "solve", "transpose_solve")


@overload
def custom_linear_solve(
    matvec: Callable[[T], T],
    b: T,
    solve: Callable[[Callable[[T], T], T], T],
    transpose_solve: Callable[[Callable[[T], T], T], T] | None = None,
    symmetric: bool = False,
    has_aux: Literal[False] = False,
) -> T: ...
@overload
def custom_linear_solve(
    matvec: Callable[[T], T],
    b: T,
    solve: Callable[[Callable[[T], T], T], tuple[T, Aux]],
    transpose_solve: Callable[[Callable[[T], T], T], tuple[T, Aux]] | None = None,
    symmetric: bool = False,
    *,
    has_aux: Literal[True],
) -> tuple[T, Aux]: ...
@overload
def custom_linear_solve(
    matvec: Callable[[PyTree], PyTree],
    b: PyTree,
    solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree],
    transpose_solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> PyTree: ...
@api_boundary
def custom_linear_solve(
    matvec: Callable[[PyTree], PyTree],
    b: PyTree,
    solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree],
    transpose_solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> PyTree:
    """The solution `x` of `matvec(x) = b`, with the derivatives of a solution, however it is found.

    Derivatives are solutions of linear equations with the same `matvec`: `solve` itself is never differentiated. They
    are right as far as the solution is.

    Args:
        matvec: a linear function of trees of arrays like `b`; what it closes over may be differentiated.
        b: a tree of arrays.
        solve: `(matvec, b) -> x`, of the structure, shapes and dtypes of `b`.
        transpose_solve: `(vecmat, b) -> x`, the same for the transposed equation; `vecmat` is the transpose of
            `matvec`. Reverse-mode derivatives need it.
        symmetric: whether `matvec` is its own transpose; then `solve` serves as `transpose_solve` where there is none.
        has_aux: whether `solve` and `transpose_solve` return `(x, auxiliary)`; auxiliary values have no derivatives.

    Returns:
        `x`, or `(x, auxiliary)`.

    Raises:
        TypeError: for what is no function, and for results that differ from `b` in structure or dtypes; and, when a
            reverse-mode derivative is taken, where `transpose_solve` is missing.
        ValueError: for results that differ in shapes, and for a missing auxiliary value.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> def solve_diagonal(d, b):
    ...     return tangrad.lax.custom_linear_solve(lambda x: d * x, b, lambda _, b: b / d, symmetric=True)
    >>> d, b = np.array([2.0, 4.0]), np.array([1.0, 2.0])
    >>> solve_diagonal(d, b), tangrad.grad(lambda d: solve_diagonal(d, b).sum())(d)
    (Array([0.5, 0.5], dtype=float32), Array([-0.25 , -0.125], dtype=float32))
    """
    check_callable(WHAT, matvec=matvec, solve=solve)
    if transpose_solve is not None:
        check_callable(WHAT, transpose_solve=transpose_solve)
    elif symmetric:
        transpose_solve = solve
    operands, vectors = vectors_of(b, WHAT, "b")
    functions = (matvec, solve, transpose_solve)
    operands, vectors, found = of_one_type_along_axes(
        operands, vectors, lambda vectors: _programs(*functions, vectors, symmetric, has_aux)
    )
    programs = dict(zip(PROGRAMS, found, strict=True))
    solver = found[2]
    consts = [[] if program is None else program.consts for program in programs.values()]
    outs = custom_linear_solve_p.bind(
        *[const for part in consts for const in part],
        *operands,
        num_consts=tuple([len(part) for part in consts]),
        **{name: None if program is None else program.closed for name, program in programs.items()},
    )
    count = len(vectors.avals)
    x = vectors.unflatten(outs[:count])
    return (x, Vectors("aux", solver.aux_tree, ()).unflatten(outs[count:])) if has_aux else x


def _programs(
    matvec: Tree, solve: Solve, transpose_solve: Solve | None, vectors: Vectors, symmetric: bool, has_aux: bool
) -> tuple[Program, Program | None, Program, Program | None]:
    """The programs of the primitive, in the order of `PROGRAMS`."""
    role = Role(WHAT, "matvec", matvec, ValueError)
    forward = trace(role, matvec, [vectors], vectors)
    solver = _solver("solve", solve, matvec, vectors, has_aux)
    if transpose_solve is None:
        return forward, None, solver, None
    if symmetric and transpose_solve is solve:
        return forward, forward, solver, solver
    vecmat = matvec if symmetric else _transposed(forward, vectors)
    backward = forward if symmetric else trace(role, vecmat, [vectors], vectors)
    return forward, backward, solver, _solver("transpose_solve", transpose_solve, vecmat, vectors, has_aux)


def _solver(name: str, function: Solve, operator: Tree, vectors: Vectors, has_aux: bool) -> Program:
    return trace(Role(WHAT, name, function, ValueError), lambda b: function(operator, b), [vectors], vectors, has_aux)


def _transposed(forward: Program, vectors: Vectors) -> Callable[[PyTree], PyTree]:
    """The transpose of a linear function of trees."""

    def run(x: object) -> PyTree:
        return vectors.unflatten(call(forward.closed, forward.consts, tree.leaves(x)))

    def vecmat(y: object) -> Array:
        (found,) = linear_transpose(run, vectors.example())(y)
        return found

    return vecmat
