"""`jax.test_util`: derivatives held against differences, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tangrad
from tangrad import tree

__all__ = ["check_grads", "check_jvp", "check_vjp"]

# The step of differences, and what is tolerated, by the precision of the results.
STEPS = {np.dtype("float32"): 1e-2, np.dtype("complex64"): 1e-2}
TOLERANCES = {np.dtype("float16"): 1e-2, np.dtype("float32"): 2e-2, np.dtype("complex64"): 2e-2}


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[[Any, Any], tuple[Any, Any]],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Hold `f_jvp(primals, tangents) -> (value, derivative)` against central differences of `f`, in a random direction.

    Raises AssertionError where they differ by more than is tolerated.
    """
    draw = np.random.default_rng(0)
    directions = tree.map(lambda x: _direction(draw, x), tuple(args))
    value, derivative = f_jvp(tuple(args), directions)
    _close(value, f(*args), atol or 1e-6, rtol or 1e-6, err_msg)
    _close(derivative, _difference(f, args, directions, eps), atol, rtol, err_msg)


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., tuple[Any, Callable[[Any], Any]]],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Hold `f_vjp(*args) -> (value, pullback)` against central differences of `f`, by the product with a cotangent.

    Raises AssertionError where they differ by more than is tolerated.
    """
    draw = np.random.default_rng(1)
    directions = tree.map(lambda x: _direction(draw, x), tuple(args))
    value, pullback = f_vjp(*args)
    cotangent = tree.map(lambda x: _direction(draw, x), value)
    _close(
        _inner(cotangent, _difference(f, args, directions, eps)),
        _inner(pullback(cotangent), directions),
        atol,
        rtol,
        err_msg,
    )


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Hold derivatives of `f` up to an order, forward ("fwd") and reverse ("rev"), against differences.

    Raises AssertionError where they differ by more than is tolerated.
    """
    for mode in (modes,) if isinstance(modes, str) else modes:
        if mode == "fwd":
            check_jvp(f, lambda primals, tangents: tangrad.jvp(f, primals, tangents), args, atol, rtol, eps)
        else:
            check_vjp(f, lambda *primals: tangrad.vjp(f, *primals), args, atol, rtol, eps)
        if order > 1:
            check_grads(_derivative(f, mode), args, order - 1, modes, atol, rtol, eps)


def _derivative(f: Callable[..., Any], mode: str) -> Callable[..., Any]:
    if mode == "fwd":
        return lambda *args: tangrad.jvp(f, args, tree.map(lambda x: _direction(np.random.default_rng(2), x), args))[1]

    def pulled(*args: Any) -> Any:
        value, pullback = tangrad.vjp(f, *args)
        return pullback(tree.map(lambda x: _direction(np.random.default_rng(2), x), value))

    return pulled


def _direction(draw: np.random.Generator, like: Any) -> Any:
    aval = tangrad.typeof(like)
    if aval.dtype.kind not in "fc":
        return np.zeros(aval.shape, tangrad.float0)
    parts = draw.normal(size=(2, *aval.shape))
    return np.asarray(parts[0] + 1j * parts[1] if aval.dtype.kind == "c" else parts[0]).astype(aval.dtype)


def _difference(f: Callable[..., Any], args: Sequence[Any], directions: Any, eps: float | None) -> Any:
    dtypes = {tangrad.typeof(leaf).dtype for leaf in tree.leaves(tuple(args))}
    step = eps or max(STEPS.get(dtype, 1e-4) for dtype in dtypes)

    def moved(sign: float) -> Any:
        return f(
            *tree.map(lambda x, d: x if d.dtype == tangrad.float0 else x + sign * step * d, tuple(args), directions)
        )

    return tree.map(lambda a, b: (np.asarray(a) - np.asarray(b)) / (2 * step), moved(1.0), moved(-1.0))


def _inner(one: Any, other: Any) -> Any:
    pairs = zip(tree.leaves(one), tree.leaves(other), strict=True)
    return sum(np.sum(np.asarray(a) * np.asarray(b)).real for a, b in pairs if np.asarray(b).dtype.kind in "fc")


def _close(found: Any, expected: Any, atol: float | None, rtol: float | None, message: str) -> None:
    for one, other in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype.kind in "fc":
            tolerance = TOLERANCES.get(one.dtype, 2e-2 if one.dtype.itemsize < 8 else 1e-3)
            np.testing.assert_allclose(one, other, atol=atol or tolerance, rtol=rtol or tolerance, err_msg=message)
