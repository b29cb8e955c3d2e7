"""`test_util`: derivatives checked against finite differences, for the tests of rules of your own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad import tree
from tangrad.autodiff import jvp, vjp
from tangrad.core import api_boundary, dtypes, get_aval

if TYPE_CHECKING:
    from tangrad.typing import PyTree, Value, Values

# The step of differences, and what is tolerated, by the precision of the results.
STEPS = {np.dtype("float32"): 1e-2, np.dtype("complex64"): 1e-2}
TOLERANCES = {np.dtype("float16"): 1e-2, np.dtype("float32"): 2e-2, np.dtype("complex64"): 2e-2}


@api_boundary
def check_jvp(
    f: Callable[..., object],
    f_jvp: Callable[[PyTree, PyTree], tuple[PyTree, PyTree]],
    args: Sequence[object],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Hold `f_jvp(primals, tangents) -> (value, derivative)` against central differences of `f`, in a random direction.

    Args:
        f: a function of trees of arrays, with a derivative at `args`.
        f_jvp: its value and its derivative in a direction, as `jvp` returns them.
        args: where.
        atol, rtol: how far the two may be apart, absolutely and relatively; default: by the precision of the results.
        eps: the step of the differences; default: by the precision of the arguments.
        err_msg: what the error begins with.

    Raises:
        AssertionError: they differ by more than is tolerated.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.test_util.check_jvp(np.sin, lambda x, t: (np.sin(*x), np.cos(*x) * t[0]), (0.5,))
    """
    draw = np.random.default_rng(0)
    directions = tree.map(lambda x: _direction(draw, x), tuple(args))
    value, derivative = f_jvp(tuple(args), directions)
    _close(value, f(*args), atol or 1e-6, rtol or 1e-6, err_msg)
    _close(derivative, _difference(f, args, directions, eps), atol, rtol, err_msg)


@api_boundary
def check_vjp(
    f: Callable[..., object],
    f_vjp: Callable[..., tuple[PyTree, Callable[[PyTree], PyTree]]],
    args: Sequence[object],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Hold `f_vjp(*args) -> (value, pullback)` against central differences of `f`, by the product with a cotangent.

    Arguments and errors are those of `check_jvp`, but that `f_vjp` returns what `vjp` does.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.test_util.check_vjp(np.sin, lambda x: (np.sin(x), lambda c: (np.cos(x) * c,)), (0.5,))
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


@api_boundary
def check_grads(
    f: Callable[..., object],
    args: Sequence[object],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Hold derivatives of `f` up to an order, forward ("fwd") and reverse ("rev"), against differences.

    Args:
        f: a function of trees of arrays, with derivatives at `args`.
        args: where.
        order: how often `f` is differentiated: 1 or more.
        modes: "fwd", "rev", or both; orders above the first are taken in all combinations.
        atol, rtol, eps: as in `check_jvp`.

    Raises:
        AssertionError: they differ by more than is tolerated. ValueError: another mode, or an order below 1.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.test_util.check_grads(lambda x: np.sin(x) * x, (np.arange(3.0),), order=2)
    """
    if order < 1:
        raise ValueError(f"check_grads: order must be 1 or more, got {order}")
    unknown = {modes} - {"fwd", "rev"} if isinstance(modes, str) else set(modes) - {"fwd", "rev"}
    if unknown:
        raise ValueError(f"check_grads: modes are 'fwd' and 'rev', got {sorted(unknown)}")
    for mode in (modes,) if isinstance(modes, str) else modes:
        if mode == "fwd":
            check_jvp(f, lambda primals, tangents: jvp(f, primals, tangents), args, atol, rtol, eps)
        else:
            check_vjp(f, lambda *primals: vjp(f, *primals), args, atol, rtol, eps)
        if order > 1:
            check_grads(_derivative(f, mode), args, order - 1, modes, atol, rtol, eps)


def _derivative(f: Callable[..., object], mode: str) -> Callable[..., PyTree]:
    if mode == "fwd":
        return lambda *args: jvp(f, args, tree.map(lambda x: _direction(np.random.default_rng(2), x), args))[1]

    def pulled(*args: Value) -> Values:
        value, pullback = vjp(f, *args)
        return pullback(tree.map(lambda x: _direction(np.random.default_rng(2), x), value))

    return pulled


def _direction(draw: np.random.Generator, like: object) -> np.ndarray:
    aval = get_aval(like)
    if not dtypes.issubdtype(aval.dtype, np.inexact):
        return np.zeros(aval.shape, dtypes.float0)
    parts = draw.choice([-1.0, 1.0], size=(2, *aval.shape))  # none small: what is wrong must stand out
    return np.asarray(parts[0] + 1j * parts[1] if aval.dtype.kind == "c" else parts[0]).astype(aval.dtype)


def _difference(
    f: Callable[..., object], args: Sequence[object], directions: tuple[np.ndarray, ...], eps: float | None
) -> object:
    step = eps or max([STEPS.get(get_aval(leaf).dtype, 1e-4) for leaf in tree.leaves(tuple(args))], default=1e-4)

    def moved(by: float) -> PyTree:
        return f(*tree.map(lambda x, d: x if d.dtype == dtypes.float0 else x + by * d, tuple(args), directions))

    def central(by: float) -> object:
        return tree.map(lambda a, b: (np.asarray(a) - np.asarray(b)) / (2 * by), moved(by), moved(-by))

    # Richardson's extrapolation: the third derivative, which would stand out at a step that float32 needs, cancels.
    return tree.map(lambda half, whole: (4 * half - whole) / 3, central(step / 2), central(step))


def _inner(one: object, other: object) -> np.ndarray | np.generic:
    pairs = zip(tree.leaves(one), tree.leaves(other), strict=True)
    return sum(np.sum(np.asarray(a) * np.asarray(b)).real for a, b in pairs if np.asarray(b).dtype.kind in "fc")


def _close(found: object, expected: object, atol: float | None, rtol: float | None, message: str) -> None:
    for one, other in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype.kind in "fc":
            tolerance = TOLERANCES.get(one.dtype, 2e-2 if one.dtype.itemsize < 8 else 1e-3)
            np.testing.assert_allclose(one, other, atol=atol or tolerance, rtol=rtol or tolerance, err_msg=message)
