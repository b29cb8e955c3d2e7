"""Solutions of linear systems by products with the matrix alone: `tangrad.scipy.sparse.linalg.cg`, `gmres`, `bicgstab`.

Vectors are trees of arrays; within the iterations they are one vector.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad import tree
from tangrad.core import Array, dtypes, is_array_value
from tangrad.extend.custom_rules import custom_linear_solve
from tangrad.extend.lax import fori_loop, stop_gradient, while_loop
from tangrad.extend.numpy import asarray, index_argument
from tangrad.typing import ArrayLike, PyTree, Value, Values

Operator = Callable[[Any], Any]


def _operator(name: str, given: object, argument: str) -> Operator:
    """A matrix, a function, or an object that multiplies vectors (`given @ x`), as a function."""
    if callable(given):
        return given
    if given is None:
        return lambda x: x
    if not is_array_value(given) and hasattr(type(given), "__matmul__"):
        operator = given
        return lambda x: operator @ x
    matrix = asarray(given)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name}: {argument} must be a function or a square matrix, got shape {matrix.shape}")
    return lambda x: matrix @ x


class _Vectors:
    """Trees of arrays of one structure, each as one vector."""

    def __init__(self, name: str, like: object) -> None:
        leaves, self.structure = tree.flatten(like)
        self.name = name
        self.shapes = [leaf.shape for leaf in leaves]
        self.dtypes = [leaf.dtype for leaf in leaves]
        self.dtype = dtypes.result_type(*leaves)
        self.ends = np.cumsum([leaf.size for leaf in leaves]).tolist()

    def flat(self, value: Value) -> Value:
        """The vector of a tree."""
        return tnp.concatenate([asarray(leaf).astype(self.dtype).ravel() for leaf in tree.leaves(value)])

    def whole(self, vector: Value) -> Value:
        """The tree of a vector."""
        parts = zip(self.shapes, self.dtypes, [0, *self.ends], self.ends)
        leaves = [_cast(vector[start:end].reshape(shape), dtype) for shape, dtype, start, end in parts]
        return tree.unflatten(self.structure, leaves)

    def within(self, function: Operator) -> Operator:
        """A function of trees as one of vectors."""
        return lambda vector: self.flat(function(self.whole(vector)))


def _cast(x: Array, dtype: np.dtype) -> Array:
    real = dtypes.issubdtype(x.dtype, np.complexfloating) and not dtypes.issubdtype(dtype, np.complexfloating)
    return (x.real if real else x).astype(dtype)


def _inexact(x: ArrayLike) -> Value:
    made = asarray(x)
    return made if dtypes.issubdtype(made.dtype, np.inexact) else made.astype(dtypes.default_float_dtype())


def _solved(
    name: str,
    iterate: Callable[..., PyTree],
    A: object,
    b: PyTree,
    x0: PyTree,
    M: object | None,
    tol: ArrayLike,
    atol: ArrayLike,
    maxiter: int | None,
    symmetric: bool,
) -> tuple[PyTree, None]:
    b = tree.map(_inexact, b)
    start = tree.map(tnp.zeros_like, b) if x0 is None else tree.map(_inexact, x0)
    if tree.structure(start) != tree.structure(b) or [x.shape for x in tree.leaves(start)] != [
        x.shape for x in tree.leaves(b)
    ]:
        raise ValueError(f"{name}: x0 must have the structure and the shapes of b")
    vectors = _Vectors(name, b)
    size = vectors.ends[-1] if vectors.ends else 0
    limit = 10 * size if maxiter is None else index_argument(name, maxiter, "maxiter")
    product, preconditioner = _operator(name, A, "A"), _operator(name, M, "M")
    start = stop_gradient(vectors.flat(start))

    def solve(matvec: Operator, right: PyTree) -> PyTree:
        vector = vectors.flat(right)
        bound = tnp.maximum(tol * tnp.linalg.norm(vector), atol)
        found = iterate(vectors.within(matvec), vectors.within(preconditioner), vector, start, bound, limit)
        return vectors.whole(found)

    if not size:
        return b, None
    # The transpose of a Hermitian operator is itself only where it is real.
    symmetric = symmetric and not any([x.dtype.kind == "c" for x in tree.leaves(b)])
    return custom_linear_solve(product, b, solve, transpose_solve=solve, symmetric=symmetric), None


def _dot(x: Value, y: Value) -> Value:
    return tnp.vdot(x, y)


# --- the iterations ------------------------------------------------------------------------------------------------


def _conjugate_gradients(
    product: Operator, precondition: Operator, b: Value, x: Value, bound: Value, limit: int
) -> Value:
    def going_on(state: Values) -> Value:
        _, residual, _, _, count = state
        return (tnp.linalg.norm(residual) > bound) & (count < limit)

    def step(state: Values) -> Values:
        x, residual, direction, gamma, count = state
        image = product(direction)
        alpha = gamma / _dot(direction, image).real
        x, residual = x + alpha * direction, residual - alpha * image
        solved = precondition(residual)
        following = _dot(residual, solved).real
        return x, residual, solved + following / gamma * direction, following, count + 1

    residual = b - product(x)
    solved = precondition(residual)
    return while_loop(going_on, step, (x, residual, solved, _dot(residual, solved).real, 0))[0]


def _stabilised(product: Operator, precondition: Operator, b: Value, x: Value, bound: Value, limit: int) -> Value:
    """van der Vorst, Bi-CGSTAB, SIAM J. Sci. Stat. Comput. 13 (1992), with the preconditioner on the right."""

    def going_on(state: Values) -> Value:
        residual, broken, count = state[1], state[-2], state[-1]
        return (tnp.linalg.norm(residual) > bound) & (count < limit) & ~broken

    def step(state: Values) -> Values:
        x, residual, direction, image, rho, alpha, omega, _, count = state
        following = _dot(shadow, residual)
        beta = following / rho * (alpha / omega)
        direction = residual + beta * (direction - omega * image)
        ahead = precondition(direction)
        image = product(ahead)
        alpha = following / _dot(shadow, image)
        middle = residual - alpha * image
        across = precondition(middle)
        turned = product(across)
        squares = _dot(turned, turned)
        omega = tnp.where(squares == 0, 0, _dot(turned, middle) / tnp.where(squares == 0, 1, squares))
        x, residual = x + alpha * ahead + omega * across, middle - omega * turned
        broken = (following == 0) | (omega == 0)
        return x, residual, direction, image, following, alpha, omega, broken, count + 1

    shadow = residual = b - product(x)
    one, zeros = tnp.ones((), b.dtype), tnp.zeros_like(b)
    return while_loop(going_on, step, (x, residual, zeros, zeros, one, one, one, np.bool_(False), 0))[0]


def _minimal_residuals(
    product: Operator, precondition: Operator, b: Array, x: Value, bound: Value, limit: int, *, restart: int
) -> Value:
    """Saad and Schultz, GMRES, SIAM J. Sci. Stat. Comput. 7 (1986), with the preconditioner on the right."""
    count = min(restart, b.shape[0])
    tiny = float(dtypes.finfo(b.dtype).eps)

    def extend(k: Value, carry: Values) -> tuple[Array, ...]:
        basis, hessenberg = carry
        vector = product(precondition(basis[k]))
        size = tnp.linalg.norm(vector)
        column = tnp.zeros(count + 1, b.dtype)
        for _ in range(2):  # once more against rounding
            shares = basis.conj() @ vector
            vector, column = vector - shares @ basis, column + shares
        rest = tnp.linalg.norm(vector)
        rest = tnp.where(rest > 10 * tiny * size, rest, 0)  # nothing new: the space is complete
        vector = vector / tnp.where(rest == 0, 1, rest) * (rest != 0)
        column = column.at[k + 1].set(rest.astype(b.dtype))
        return basis.at[k + 1].set(vector), hessenberg.at[:, k].set(column)

    def going_on(state: Values) -> Value:
        _, _, size, before, steps = state
        return (size > bound) & (steps < limit) & (size < before)

    def cycle(state: Values) -> Values:
        x, residual, size, _, steps = state
        basis = tnp.zeros((count + 1, b.shape[0]), b.dtype).at[0].set(residual / size)
        basis, hessenberg = fori_loop(0, count, extend, (basis, tnp.zeros((count + 1, count), b.dtype)))
        right = tnp.zeros(count + 1, b.dtype).at[0].set(size.astype(b.dtype))
        shares = tnp.linalg.lstsq(hessenberg, right)[0]
        x = x + precondition(shares @ basis[:count])
        residual = b - product(x)
        return x, residual, tnp.linalg.norm(residual), size, steps + 1

    residual = b - product(x)
    size = tnp.linalg.norm(residual)
    return while_loop(going_on, cycle, (x, residual, size, tnp.full_like(size, np.inf), 0))[0]


# --- public --------------------------------------------------------------------------------------------------------


def cg(
    A: object,
    b: PyTree,
    x0: PyTree = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    maxiter: int | None = None,
    M: object | None = None,
) -> tuple[PyTree, None]:
    """Solve A x = b by conjugate gradients, for a Hermitian positive definite A.

    Derivatives are those of the solution: they are found by another solution, not through the iterations.

    Args:
        A: a matrix (n, n), or a linear function of trees of arrays like `b`.
        b: a tree of arrays.
        x0: where to begin; None: at 0.
        tol, atol: the iterations end where the norm of the residual is at most max(tol · norm(b), atol).
        maxiter: how many iterations there are at most; None: ten for each element.
        M: an approximate inverse of `A`, a matrix or function; None: none.

    Returns:
        The solution, and None.

    Raises:
        ValueError: for a matrix that is not square, and an `x0` that is not like `b`.

    Source: Hestenes and Stiefel, Methods of conjugate gradients for solving linear systems, J. Res. NBS 49 (1952).

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.sparse.linalg as linalg
    >>> linalg.cg(2 * np.eye(2), np.array([2.0, 4.0]))
    (Array([1., 2.], dtype=float32), None)
    """
    return _solved("cg", _conjugate_gradients, A, b, x0, M, tol, atol, maxiter, symmetric=True)


def bicgstab(
    A: object,
    b: PyTree,
    x0: PyTree = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    maxiter: int | None = None,
    M: object | None = None,
) -> tuple[PyTree, None]:
    """Solve A x = b by stabilised biconjugate gradients, for any regular A.

    Derivatives are those of the solution: they are found by another solution, not through the iterations.

    Args:
        A: a matrix (n, n), or a linear function of trees of arrays like `b`.
        b: a tree of arrays.
        x0: where to begin; None: at 0.
        tol, atol: the iterations end where the norm of the residual is at most max(tol · norm(b), atol).
        maxiter: how many iterations there are at most; None: ten for each element.
        M: an approximate inverse of `A`, a matrix or function; None: none.

    Returns:
        The solution, and None.

    Raises:
        ValueError: for a matrix that is not square, and an `x0` that is not like `b`.

    Source: van der Vorst, Bi-CGSTAB, SIAM J. Sci. Stat. Comput. 13 (1992).

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.sparse.linalg as linalg
    >>> linalg.bicgstab(2 * np.eye(2), np.array([2.0, 4.0]))
    (Array([1., 2.], dtype=float32), None)
    """
    return _solved("bicgstab", _stabilised, A, b, x0, M, tol, atol, maxiter, symmetric=False)


def gmres(
    A: object,
    b: PyTree,
    x0: PyTree = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: object | None = None,
    solve_method: str = "batched",
) -> tuple[Array, None]:
    """Solve A x = b by generalised minimal residuals, for any regular A.

    Derivatives are those of the solution: they are found by another solution, not through the iterations.

    Args:
        A: a matrix (n, n), or a linear function of trees of arrays like `b`.
        b: a tree of arrays.
        x0: where to begin; None: at 0.
        tol, atol: the iterations end where the norm of the residual is at most max(tol · norm(b), atol).
        restart: after how many products the iteration begins anew from where it is.
        maxiter: how many restarts there are at most; None: ten for each element.
        M: an approximate inverse of `A`, a matrix or function; None: none.
        solve_method: "batched" or "incremental", which are the same here.

    Returns:
        The solution, and None.

    Raises:
        ValueError: for a matrix that is not square, an `x0` that is not like `b`, another method.

    Source: Saad and Schultz, GMRES, SIAM J. Sci. Stat. Comput. 7 (1986).

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.sparse.linalg as linalg
    >>> np.round(linalg.gmres(2 * np.eye(2), np.array([2.0, 4.0]))[0], 4)
    Array([1., 2.], dtype=float32)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"gmres: solve_method must be 'batched' or 'incremental', got {solve_method!r}")
    count = index_argument("gmres", restart, "restart")
    if count < 1:
        raise ValueError(f"gmres: restart must be positive, got {restart}")
    iterate = partial(_minimal_residuals, restart=count)
    return _solved("gmres", iterate, A, b, x0, M, tol, atol, maxiter, symmetric=False)
