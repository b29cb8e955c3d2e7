"""`custom_root` and `custom_implicit_solve`: zeros of functions, differentiated by the implicit function theorem."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, overload

import numpy as np

from tangrad._custom_rules.solve_programs import (
    Program,
    Role,
    Vectors,
    check_callable,
    of_one_type_along_axes,
    trace,
    vectors_of,
)
from tangrad._custom_rules.solves import custom_linear_solve, custom_root_p
from tangrad.autodiff import linearize
from tangrad.core import Tracer, api_boundary, dtypes, thread
from tangrad.core.caches import free_after_fork, register_cache
from tangrad.core.settings import cache_context
from tangrad.typing import PyTree, Value

T = TypeVar("T")
Aux = TypeVar("Aux")
Operands = TypeVar("Operands")

ROOT = "custom_root"
IMPLICIT = "custom_implicit_solve"
SIGNATURE_LIMIT = 64  # programs kept for one residual function

Programs = tuple[Program, Program, Program]


@overload
def custom_root(
    f: Callable[[T], T],
    initial_guess: T,
    solve: Callable[[Callable[[T], T], T], T],
    tangent_solve: Callable[[Callable[[T], T], T], T],
    has_aux: Literal[False] = False,
) -> T: ...
@overload
def custom_root(
    f: Callable[[T], T],
    initial_guess: T,
    solve: Callable[[Callable[[T], T], T], tuple[T, Aux]],
    tangent_solve: Callable[[Callable[[T], T], T], T],
    *,
    has_aux: Literal[True],
) -> tuple[T, Aux]: ...
@api_boundary
def custom_root(
    f: Callable[[PyTree], PyTree],
    initial_guess: PyTree,
    solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree],
    tangent_solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree],
    has_aux: bool = False,
) -> PyTree:
    """A zero of `f`, with the derivatives that the implicit function theorem gives it.

    They are derivatives with respect to what `f` closes over. `solve` is never differentiated; nothing depends on how
    the zero was found, and what `solve` or the guess depend on does not count. They are right as far as `f` is zero at
    the result.

    Args:
        f: a function of one argument, a tree of floating-point or complex arrays, that returns a tree like it.
        initial_guess: the tree that `solve` starts from.
        solve: `(f, initial_guess) -> x`, a zero of `f`, of the structure, shapes and dtypes of the guess.
        tangent_solve: `(g, y) -> x` with `g(x) = y`, where `g` is linear: the derivative of `f` at its zero. For
            scalars `lambda g, y: y / g(1.0)`. For reverse-mode derivatives it must be linear in `y` in the eyes of the
            framework: by `custom_linear_solve`, say.
        has_aux: whether `solve` returns `(x, auxiliary)`; auxiliary values have no derivatives.

    Returns:
        `x`, or `(x, auxiliary)`.

    Raises:
        TypeError: for what is no function, for results that differ from the guess in structure, shapes or dtypes, and
            for a guess of integers; ValueError for a missing auxiliary value.

    >>> import tangrad
    >>> def square_root(a):
    ...     newton = lambda f, x: tangrad.lax.fori_loop(0, 10, lambda i, x: x - f(x) / (2 * x), x)
    ...     return tangrad.lax.custom_root(lambda x: x**2 - a, a, newton, lambda g, y: y / g(1.0))
    >>> float(square_root(4.0)), float(tangrad.grad(square_root)(4.0))
    (2.0, 0.25)
    """
    check_callable(ROOT, f=f, solve=solve, tangent_solve=tangent_solve)
    guess, vectors = vectors_of(initial_guess, ROOT, "initial_guess")
    check_inexact(ROOT, vectors)
    guess, vectors, (residual, solver, tangent) = of_one_type_along_axes(
        guess, vectors, lambda vectors: _programs_of_root(f, solve, tangent_solve, vectors, has_aux)
    )
    return _bind(residual, solver, tangent, [], guess, vectors, has_aux)


def _programs_of_root(
    f: Callable[..., PyTree],
    solve: Callable[..., PyTree],
    tangent_solve: Callable[..., PyTree],
    vectors: Vectors,
    has_aux: bool,
) -> Programs:
    """The programs of residual, solve and tangent solve."""

    def linearized(x: Value, b: Value) -> Value:
        return tangent_solve(linearize(f, x)[1], b)

    role = Role(ROOT, "solve", solve)
    return (
        trace(Role(ROOT, "f", f), f, [vectors], vectors),
        trace(role, lambda x: solve(f, x), [vectors], vectors, has_aux, weakly_as_result=False),
        trace(Role(ROOT, "tangent_solve", tangent_solve), linearized, [vectors, vectors], vectors),
    )


def check_inexact(what: str, vectors: Vectors) -> None:
    """Raise TypeError for unknowns without derivatives."""
    for aval in vectors.avals:
        if not dtypes.issubdtype(aval.dtype, np.inexact):
            raise TypeError(
                f"{what}: {vectors.name} must be of floating-point or complex arrays, as the equation is "
                f"differentiated with respect to it; got {vectors.name} = "
                f"{vectors.treedef.unflatten([a.str_short() for a in vectors.avals])}"
            )


def _bind(
    residual: Program,
    solver: Program,
    tangent: Program,
    operands: Sequence[object],
    guess: Sequence[object],
    vectors: Vectors,
    has_aux: bool,
) -> PyTree:
    """Bind the primitive; all programs take the operands after what they closed over."""
    consts = [[*program.consts, *operands] for program in (residual, solver, tangent)]
    outs = custom_root_p.bind(
        *[const for part in consts for const in part],
        *guess,
        f=residual.closed,
        solve=solver.closed,
        tangent_solve=tangent.closed,
        num_consts=tuple([len(part) for part in consts]),
    )
    count = len(vectors.avals)
    x = vectors.unflatten(outs[:count])
    return (x, Vectors("aux", solver.aux_tree, ()).unflatten(outs[count:])) if has_aux else x


# --- for authors of libraries -----------------------------------------------------------------------------------------


@overload
def custom_implicit_solve(
    residual: Callable[[Operands, T], T],
    operands: Operands,
    initial_guess: T,
    solve: Callable[[Callable[[Operands, T], T], Operands, T], T],
    tangent_solve: Callable[[Callable[[T], T], T], T],
    transpose_solve: Callable[[Callable[[T], T], T], T] | None = None,
    symmetric: bool = False,
    has_aux: Literal[False] = False,
) -> T: ...
@overload
def custom_implicit_solve(
    residual: Callable[[Operands, T], T],
    operands: Operands,
    initial_guess: T,
    solve: Callable[[Callable[[Operands, T], T], Operands, T], tuple[T, Aux]],
    tangent_solve: Callable[[Callable[[T], T], T], T],
    transpose_solve: Callable[[Callable[[T], T], T], T] | None = None,
    symmetric: bool = False,
    *,
    has_aux: Literal[True],
) -> tuple[T, Aux]: ...
@api_boundary
def custom_implicit_solve(
    residual: Callable[[PyTree, PyTree], PyTree],
    operands: PyTree,
    initial_guess: PyTree,
    solve: Callable[[Callable[[PyTree, PyTree], PyTree], PyTree, PyTree], PyTree],
    tangent_solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree],
    transpose_solve: Callable[[Callable[[PyTree], PyTree], PyTree], PyTree] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> PyTree:
    """The solution `x` of `residual(operands, x) = 0`, with the derivatives that the residual gives it.

    For libraries of solvers: as `custom_root`, but

    - what the equation depends on stands among the arguments, so functions written once need close over nothing; then
      they are traced once for each list of types, and not at each call;
    - `tangent_solve` is never differentiated either, and may be any program, a loop included: the linear equations of
      derivatives are solved by `custom_linear_solve`, those of reverse mode with the transposed derivative.

    Args:
        residual: `(operands, x) -> a tree like x`, which is zero at the solution.
        operands: a tree of arrays, that derivatives are taken with respect to. Integers may be among them. What
            `residual` closes over counts as well.
        initial_guess: a tree of floating-point or complex arrays, that `solve` starts from.
        solve: `(residual, operands, initial_guess) -> x`, of the structure, shapes and dtypes of the guess.
        tangent_solve: `(linear, b) -> x` with `linear(x) = b`, for the derivative of the residual by `x`.
        transpose_solve: `(linear, b) -> x` with `linear(x) = b`, for the transpose of that derivative; by default
            `tangent_solve`, which then must be able to solve with any linear function that it is given.
        symmetric: whether the derivative of the residual by `x` is symmetric; then the transpose is not formed.
        has_aux: whether `solve` returns `(x, auxiliary)`; auxiliary values have no derivatives.

    Returns:
        `x`, or `(x, auxiliary)`.

    Raises:
        TypeError: for what is no function, for results that differ from the guess in structure, shapes or dtypes, and
            for a guess of integers; ValueError for results of `tangent_solve` that differ in shapes, and for a missing
            auxiliary value.

    >>> import tangrad
    >>> def newton(residual, a, x):
    ...     return tangrad.lax.fori_loop(0, 10, lambda i, x: x - residual(a, x) / (2 * x), x)
    >>> def square_root(a):
    ...     solve_linear = lambda linear, b: b / linear(1.0)
    ...     return tangrad.lax.custom_implicit_solve(lambda a, x: x**2 - a, a, a, newton, solve_linear)
    >>> float(square_root(4.0)), float(tangrad.grad(tangrad.grad(square_root))(4.0))
    (2.0, -0.03125)
    """
    check_callable(IMPLICIT, residual=residual, solve=solve, tangent_solve=tangent_solve)
    if transpose_solve is None:
        transpose_solve = tangent_solve
    check_callable(IMPLICIT, transpose_solve=transpose_solve)
    values, given = vectors_of(operands, IMPLICIT, "operands")
    guess, vectors = vectors_of(initial_guess, IMPLICIT, "initial_guess")
    check_inexact(IMPLICIT, vectors)
    functions = _Functions(residual, solve, tangent_solve, transpose_solve)
    guess, vectors, (equation, solver, tangent) = of_one_type_along_axes(
        guess, vectors, lambda vectors: functions.programs(given, vectors, bool(symmetric), bool(has_aux))
    )
    return _bind(equation, solver, tangent, values, guess, vectors, has_aux)


class _Functions:
    """The functions of an implicit solve, and the programs made of them."""

    __slots__ = ("functions",)

    def __init__(self, *functions: Callable[..., object]) -> None:
        self.functions = functions

    def programs(self, given: Vectors, x: Vectors, symmetric: bool, has_aux: bool) -> Programs:
        """Programs of residual, solve and tangent solve; remembered unless they closed over values of a trace."""
        residual = self.functions[0]
        context = (cache_context(), thread.axis_environment)
        try:
            others = tuple([weakref.ref(function) for function in self.functions[1:]])
            key = (others, given.treedef, given.avals, x.treedef, x.avals, symmetric, has_aux, context)
            found = _remembered.get(residual, {}).get(key)
        except TypeError:  # not hashable, or not weakly referable
            return self._trace(given, x, symmetric, has_aux)
        if found is None:
            found = self._trace(given, x, symmetric, has_aux)
            if not any([isinstance(const, Tracer) for program in found for const in program.consts]):
                with _lock:
                    entries = _remembered.setdefault(residual, {})
                    if len(entries) >= SIGNATURE_LIMIT:
                        entries.pop(next(iter(entries)))
                    entries[key] = found
        return found

    def _trace(self, given: Vectors, x: Vectors, symmetric: bool, has_aux: bool) -> Programs:
        residual, solve, tangent_solve, transpose_solve = self.functions

        def linearized(operands: object, at: Value, b: Value) -> Value:
            _, linear = linearize(lambda y: residual(operands, y), at)
            return custom_linear_solve(linear, b, tangent_solve, transpose_solve, symmetric)

        return (
            trace(Role(IMPLICIT, "residual", residual), residual, [given, x], x),
            trace(
                Role(IMPLICIT, "solve", solve),
                lambda operands, guess: solve(residual, operands, guess),
                [given, x],
                x,
                has_aux,
                weakly_as_result=False,
            ),
            trace(Role(IMPLICIT, "tangent_solve", tangent_solve), linearized, [given, x, x], x),
        )


_remembered: weakref.WeakKeyDictionary[object, dict[object, Programs]] = weakref.WeakKeyDictionary()
_lock = free_after_fork(threading.RLock())
register_cache(_remembered.clear)
