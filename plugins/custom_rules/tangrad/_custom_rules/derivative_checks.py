"""`test_util`: derivatives checked against finite differences, for the tests of rules of your own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tangrad import tree
from tangrad.autodiff import jvp, linearize, vjp
from tangrad.core import api_boundary, dtypes, get_aval

if TYPE_CHECKING:
    from typing import TypeAlias

    from tangrad.typing import DType, DTypeLike, PyTree, Value, Values

    Tolerance: TypeAlias = float | Mapping[DTypeLike, float] | None

# The step of differences, by the precision of the arguments, and what is tolerated, by that of all that is compared;
# the last ones are of float8 and the like.
STEPS = {"float64": 1e-4, "complex128": 1e-4, "float32": 1e-2, "complex64": 1e-2, "float16": 0.125, "bfloat16": 0.25}
TOLERANCES = {"float64": 1e-3, "complex128": 1e-3, "float32": 2e-2, "complex64": 2e-2, "float16": 5e-2, "bfloat16": 0.1}
LARGEST_STEP = LARGEST_TOLERANCE = 0.5


@api_boundary
def check_jvp(
    f: Callable[..., object],
    f_jvp: Callable[[PyTree, PyTree], tuple[PyTree, PyTree]],
    args: Sequence[object],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Hold `f_jvp(primals, tangents) -> (value, derivative)` against central differences of `f`, in a random direction.

    Args:
        f: a function of trees of arrays, with a derivative at `args`.
        f_jvp: its value and its derivative in a direction, as `jvp` returns them.
        args: where.
        atol, rtol: how far the two may be apart, absolutely and relatively: a number, or a mapping of dtypes to
            numbers; default, and for the dtypes that it lacks: by the precision of what is compared.
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
    _same(value, f(*args), atol, rtol, err_msg)
    _close(derivative, _difference(f, args, directions, eps), atol, rtol, err_msg)


@api_boundary
def check_vjp(
    f: Callable[..., object],
    f_vjp: Callable[..., tuple[PyTree, Callable[[PyTree], PyTree]]],
    args: Sequence[object],
    atol: Tolerance = None,
    rtol: Tolerance = None,
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
    _same(value, f(*args), atol, rtol, err_msg)
    cotangent = tree.map(lambda x: _direction(draw, x), value)
    _close(
        _inner(cotangent, _difference(f, args, directions, eps)),
        _inner(pullback(cotangent), directions),
        atol,
        rtol,
        err_msg,
        _dtypes((value, tuple(args))),
    )


@api_boundary
def check_grads(
    f: Callable[..., object],
    args: Sequence[object],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Hold derivatives of `f` up to an order, forward ("fwd"), reverse ("rev"), linear ("lin"), against differences.

    Args:
        f: a function of trees of arrays, with derivatives at `args`.
        args: where.
        order: how often `f` is differentiated: 1 or more.
        modes: "fwd", "rev" and "lin" (forward, by `linearize`), or some of them; orders above the first are taken in
            all combinations.
        atol, rtol, eps: as in `check_jvp`.

    Raises:
        AssertionError: they differ by more than is tolerated. ValueError: another mode, or an order below 1.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.test_util.check_grads(lambda x: np.sin(x) * x, (np.arange(3.0),), order=2)
    """
    if order < 1:
        raise ValueError(f"check_grads: order must be 1 or more, got {order}")
    modes = (modes,) if isinstance(modes, str) else modes
    if unknown := set(modes) - {"fwd", "rev", "lin"}:
        raise ValueError(f"check_grads: modes are 'fwd', 'rev' and 'lin', got {sorted(unknown)}")
    for mode in modes:
        if mode == "rev":
            check_vjp(f, lambda *primals: vjp(f, *primals), args, atol, rtol, eps)
        else:
            check_jvp(f, partial(jvp if mode == "fwd" else _linearized, f), args, atol, rtol, eps)
        if order > 1:
            check_grads(_derivative(f, mode), args, order - 1, modes, atol, rtol, eps)


def _linearized(f: Callable[..., object], primals: PyTree, tangents: PyTree) -> tuple[PyTree, PyTree]:
    value, linear = linearize(f, *primals)
    return value, linear(*tangents)


def _derivative(f: Callable[..., object], mode: str) -> Callable[..., PyTree]:
    if mode != "rev":
        forward = jvp if mode == "fwd" else _linearized
        return lambda *args: forward(f, args, tree.map(lambda x: _direction(np.random.default_rng(2), x), args))[1]

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
    found = _dtypes(tuple(args))
    step = eps or max([STEPS.get(dtype.name, LARGEST_STEP) for dtype in found], default=1e-4)

    def moved(by: float) -> PyTree:
        def move(x: Value, d: np.ndarray) -> Value:
            return x if d.dtype == dtypes.float0 else x + np.asarray(by * d, d.dtype)

        return f(*tree.map(move, tuple(args), directions))

    def central(by: float) -> object:
        return tree.map(lambda a, b: (_comparable(a) - _comparable(b)) / (2 * by), moved(by), moved(-by))

    # Richardson's extrapolation: the third derivative, which would stand out at a step that float32 needs, cancels.
    return tree.map(lambda half, whole: (4 * half - whole) / 3, central(step / 2), central(step))


def _inner(one: object, other: object) -> np.ndarray | np.generic:
    pairs = [(_comparable(a), _comparable(b)) for a, b in zip(tree.leaves(one), tree.leaves(other), strict=True)]
    return sum(np.sum(a * b).real for a, b in pairs if b.dtype.kind in "fc")


def _comparable(x: object) -> np.ndarray:
    """Its values, in a dtype in which NumPy computes with enough digits."""
    array = np.asarray(x)
    narrow = dtypes.issubdtype(array.dtype, np.floating) and array.dtype.itemsize < 4
    return array.astype(np.float32) if narrow else array


def _dtypes(found: object) -> list[DType]:
    """Those of the leaves that have derivatives."""
    return [aval.dtype for aval in map(get_aval, tree.leaves(found)) if dtypes.issubdtype(aval.dtype, np.inexact)]


def _tolerated(tolerance: Tolerance, found: Sequence[DType]) -> float:
    if tolerance is not None and not isinstance(tolerance, Mapping):
        return tolerance
    own = {dtypes.as_dtype(dtype).name: value for dtype, value in (tolerance or {}).items()}
    return max((TOLERANCES | own).get(dtype.name, LARGEST_TOLERANCE) for dtype in found)


def _same(found: object, expected: object, atol: Tolerance, rtol: Tolerance, message: str) -> None:
    """Values between which only the order of operations may differ."""
    few = 1e-6 if all(dtype.itemsize >= 4 for dtype in _dtypes(found)) else None
    _close(found, expected, few if atol is None else atol, few if rtol is None else rtol, message)


def _close(
    found: object,
    expected: object,
    atol: Tolerance,
    rtol: Tolerance,
    message: str,
    of: Sequence[DType] = (),
) -> None:
    """Raise AssertionError where arrays are farther apart than is tolerated for the dtypes `of`, or those found."""
    for one, other in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        if precision := of or _dtypes(one):
            near = [_tolerated(tolerance, precision) for tolerance in (atol, rtol)]
            one, other = _comparable(one), _comparable(other)
            np.testing.assert_equal(one.shape, other.shape, message)
            np.testing.assert_allclose(one, other, atol=near[0], rtol=near[1], err_msg=message)
