"""Functions of matrices, and Sylvester's equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from tangrad._scipy.matrix_factors import complex_of, schur
from tangrad.core import Array, dtypes
from tangrad.extend import numpy
from tangrad.extend.lax import dynamic_slice_in_dim as slice_of
from tangrad.extend.lax import dynamic_update_slice, eig, fori_loop, triangular_solve
from tangrad.extend.numpy import abs as absolute
from tangrad.extend.numpy import (
    arange,
    asarray,
    broadcast_shape,
    broadcast_to,
    ceil,
    concatenate,
    diagonal,
    eye,
    finfo,
    hypot,
    index_argument,
    inexact_matrix,
    log2,
    matmul,
    minimum,
    sqrt,
    square_matrix,
    swapaxes,
    triu,
    where,
    zeros,
    zeros_like,
)
from tangrad.extend.numpy import max as maximum_of
from tangrad.extend.numpy import sum as sum_of
from tangrad.typing import ArrayLike

if TYPE_CHECKING:
    from tangrad.typing import Value

# Of the (13, 13) approximant, and the 1-norm up to which it is good to double precision: Higham, The scaling and
# squaring method for the matrix exponential revisited, SIAM J. Matrix Anal. Appl. 26, 2005, (2.3) and table 2.3.
_DEGREE = 13
_LIMIT = 5.371920351148152


def _pade_coefficients() -> list[float]:
    """Of the numerator, the first one 1: c_k = c_{k-1} (q - k + 1) / (k (2 q - k + 1))."""
    found = [1.0]
    for k in range(1, _DEGREE + 1):
        found.append(found[-1] * (_DEGREE - k + 1) / (k * (2 * _DEGREE - k + 1)))
    return found


def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponential of square matrices, by scaling, Padé's approximant and squaring.

    Args:
        A: an array (..., n, n).
        upper_triangular: whether only the upper triangle is to be read, and the result is zero below it.
        max_squarings: how often the approximant is squared at most.

    Returns:
        An array of the shape of `A`; NaN for matrices whose norm would need more squarings.

    Raises:
        ValueError: for matrices that are not square.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    matrix, most = square_matrix("expm", A, "A"), index_argument("expm", max_squarings, "max_squarings")
    if upper_triangular:
        matrix = triu(matrix)
    if matrix.size == 0:
        return matrix
    norms = maximum_of(sum_of(absolute(matrix), axis=-2), axis=-1)[..., None, None]
    needed = ceil(log2(where(norms > _LIMIT, norms / _LIMIT, 1)))
    scaled = matrix / (2**needed).astype(matrix.dtype)
    even, odd = _pade_parts(scaled)
    power = numpy.solve(even - odd, even + odd)

    def square(count: Value, power: ArrayLike) -> Array:
        return where(count < needed, matmul(power, power, precision="highest"), power)

    power = fori_loop(0, most, square, power)
    power = where(needed <= most, power, float("nan"))
    return triu(power) if upper_triangular else power


def _pade_parts(x: Array) -> tuple[Array, Array]:
    """The even and the odd part of the numerator; the denominator is their difference."""
    b = _pade_coefficients()
    one = eye(x.shape[-1], dtype=x.dtype)
    second = matmul(x, x, precision="highest")
    fourth = matmul(second, second, precision="highest")
    sixth = matmul(fourth, second, precision="highest")

    def part(low: int) -> Array:
        high = b[low + 12] * sixth if low + 12 <= _DEGREE else 0
        high = high + b[low + 10] * fourth + b[low + 8] * second
        rest = b[low + 6] * sixth + b[low + 4] * fourth + b[low + 2] * second + b[low] * one
        return matmul(sixth, high, precision="highest") + rest

    return part(0), matmul(x, part(1), precision="highest")


@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: Literal[True] = True
) -> tuple[Array, Array]: ...
@overload
def expm_frechet(A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: Literal[False]) -> Array: ...
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Array | tuple[Array, Array]:
    """The exponential of a matrix, and its derivative in a direction.

    Args:
        A: an array (..., n, n).
        E: the direction, of the same shape.
        method: SciPy's "SPS" or "blockEnlarge"; here it is always the latter.
        compute_expm: whether to return the exponential too.

    Returns:
        The exponential and the derivative; or that alone.

    Raises:
        ValueError: for matrices that are not square, shapes that differ, and another method.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.expm_frechet(np.zeros((1, 1)), 2 * np.eye(1))[1]
    Array([[2.]], dtype=float32)
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"expm_frechet: method must be 'SPS', 'blockEnlarge' or None, got {method!r}")
    matrix, direction = square_matrix("expm_frechet", A, "A"), square_matrix("expm_frechet", E, "E")
    if matrix.shape != direction.shape:
        raise ValueError(f"expm_frechet: A and E must have one shape, got {matrix.shape} and {direction.shape}")
    # It is a part of the exponential of a greater matrix: Higham, Functions of Matrices, 2008, (3.16).
    size = matrix.shape[-1]
    upper = concatenate([matrix, direction], axis=-1)
    lower = concatenate([zeros_like(matrix), matrix], axis=-1)
    whole = expm(concatenate([upper, lower], axis=-2))
    derivative = whole[..., :size, size:]
    return (whole[..., :size, :size], derivative) if compute_expm else derivative


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """The principal square root of a matrix, by its Schur form (Björck and Hammarling, 1983).

    Args:
        A: an array (n, n).
        blocksize: SciPy's; 1 only.

    Returns:
        A complex array; NaN where there is no root.

    Raises:
        ValueError: for what is not one square matrix.
        NotImplementedError: for other block sizes.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.sqrtm(np.diag(np.array([4.0, 9.0]))).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if blocksize != 1:
        raise NotImplementedError(f"sqrtm: only a blocksize of 1 is supported, got {blocksize!r}")
    triangular, unitary = schur(_single("sqrtm", A), "complex")
    if not triangular.size:
        return triangular
    roots = sqrt(diagonal(triangular))

    def column(j: object, found: object) -> Array:
        """(R + r_jj) r_j = t_j, in the rows above the diagonal."""
        return _filled(found, found, roots[j], triangular[:, j], j)

    root = fori_loop(0, triangular.shape[0], column, zeros_like(triangular) + _diagonal(roots))
    return matmul(matmul(unitary, root), swapaxes(unitary, -1, -2).conj())


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The complex Schur form from a real one, by a rotation for each pair of eigenvalues.

    Args:
        T: quasi-triangular matrices (..., n, n).
        Z: the vectors that belong to them, (..., n, n); batches are broadcast.
        check_finite: SciPy's; it has no effect.

    Returns:
        Two complex arrays (..., n, n), the first one upper triangular.

    Raises:
        ValueError: for matrices that are not square, or not of one size.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg as linalg
    >>> t, z = linalg.rsf2csf(*linalg.schur(np.array([[0.0, 1.0], [-1.0, 0.0]])))
    >>> np.tril(t, -1)
    Array([[0.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    form, vectors = complex_of(square_matrix("rsf2csf", T, "T")), complex_of(square_matrix("rsf2csf", Z, "Z"))
    size, dtype = form.shape[-1], dtypes.result_type(form, vectors)
    if vectors.shape[-1] != size:
        raise ValueError(f"rsf2csf: T and Z must have the same size, got shapes {form.shape} and {vectors.shape}")
    shape = broadcast_shape("rsf2csf", (form.shape, vectors.shape))
    form, vectors = broadcast_to(form.astype(dtype), shape), broadcast_to(vectors.astype(dtype), shape)
    tiny, index = finfo(dtype).eps, arange(size)
    whole: list[ArrayLike] = [0] * (len(shape) - 2)

    def rotate(step: Value, found: tuple[Array, Array]) -> tuple[Array, Array]:
        """Remove the entry below the diagonal in column `first`, from the last one on."""
        (t, z), first = found, size - 2 - step
        block = slice_of(slice_of(t, first, 2, -2), first, 2, -1)
        turned = absolute(block[..., 1, 0]) > tiny * (absolute(block[..., 0, 0]) + absolute(block[..., 1, 1]))
        # What is not turned gets eigenvalues that differ: derivatives of the ones that are left out must be finite.
        block = where(turned[..., None, None], block, asarray([[0, 1], [-1, 0]], dtype))
        cosine, sine = (
            eig(block, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0][..., 0] - block[..., 1, 1],
            block[..., 1, 0],
        )
        length = hypot(absolute(cosine), absolute(sine))
        cosine, sine = where(turned, cosine / length, 1), where(turned, sine / length, 0)
        entries = concatenate([x[..., None] for x in (cosine.conj(), sine, -sine, cosine)], -1)
        rotation = entries.reshape((*shape[:-2], 2, 2))
        back = swapaxes(rotation, -1, -2).conj()
        rows = slice_of(t, first, 2, -2)
        t = dynamic_update_slice(t, where(index >= first, matmul(rotation, rows), rows), (*whole, first, 0))
        columns, rows_of = slice_of(t, first, 2, -1), index[:, None]
        columns = where(rows_of < first + 2, matmul(columns, back), columns)
        columns = where((rows_of == first + 1) & (arange(2) == 0), 0, columns)
        place = (*whole, 0, first)
        return dynamic_update_slice(t, columns, place), dynamic_update_slice(
            z, matmul(slice_of(z, first, 2, -1), back), place
        )

    return fori_loop(0, size - 1, rotate, (form, vectors)) if size > 1 else (form, vectors)


def _single(name: str, x: ArrayLike) -> Array:
    matrix = square_matrix(name, x, "A")
    if matrix.ndim != 2:
        raise ValueError(f"{name}: A must be one matrix, got shape {matrix.shape}")
    return matrix


def _diagonal(values: Array) -> Array:
    return eye(values.shape[0], dtype=values.dtype) * values


def _filled(found: Any, matrix: Any, shift: Array, right: Any, j: Any, free: ArrayLike = True) -> Array:
    """`found` with the solution of a shifted triangular system above the diagonal of column j.

    Where the diagonal of the system is 0 the solution is 0 if what it has to be is, too, and where it is `free` then;
    else it is NaN.
    """
    index = arange(found.shape[0])
    above = index < j
    shifted = matrix + _diagonal(shift + 0 * right)
    vanishes = diagonal(shifted) == 0
    shifted = shifted + _diagonal(vanishes.astype(found.dtype))
    system = where(above[:, None], where(above, shifted, 0), eye(found.shape[0], dtype=found.dtype))
    solution = triangular_solve(system, where(above, right, 0)[:, None], left_side=True)[:, 0]
    solution = where(vanishes, where((solution == 0) & free, 0, float("nan")), solution)
    return found.at[:, j].set(where(above, solution, found[:, j]))


@overload
def funm(A: ArrayLike, func: Callable[[Array], ArrayLike], disp: Literal[True] = True) -> Array: ...
@overload
def funm(A: ArrayLike, func: Callable[[Array], ArrayLike], *, disp: Literal[False]) -> tuple[Array, Array]: ...
@overload
def funm(A: ArrayLike, func: Callable[[Array], ArrayLike], disp: bool = True) -> Array | tuple[Array, Array]: ...
def funm(A: ArrayLike, func: Callable[[Array], ArrayLike], disp: bool = True) -> Array | tuple[Array, Array]:
    """A function of a matrix that is given by what it does to numbers: Parlett's recurrence on the Schur form.

    It is accurate where eigenvalues are well apart, and NaN where they coincide and the matrix has no basis of
    eigenvectors for them.

    Args:
        A: an array (n, n).
        func: a function of arrays, which works on each element.
        disp: whether to return the matrix alone; else also an estimate of the error, in the 1-norm.

    Raises:
        ValueError: for what is not one square matrix, and a function that does not keep the shape.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.funm(np.diag(np.array([1.0, 2.0])), lambda x: x**2).real
    Array([[1., 0.],
           [0., 4.]], dtype=float32)
    """
    triangular, unitary = schur(_single("funm", A), "complex")
    if not triangular.size:
        return triangular if disp else (triangular, zeros((), finfo(triangular.dtype).dtype))
    values = asarray(func(diagonal(triangular))).astype(triangular.dtype)
    if values.shape != triangular.shape[:1]:
        raise ValueError(f"funm: func must return an array of the shape {triangular.shape[:1]}, got {values.shape}")

    def column(j: Array, found: Array) -> Array:
        """(T - t_jj) f_j = F t_j - f_jj t_j, in the rows above the diagonal."""
        above = where(arange(found.shape[0]) < j, triangular[:, j], 0)
        right = matmul(found, above) - found[j, j] * above
        return _filled(found, triangular, -triangular[j, j], right, j, triangular[:, j] == 0)

    result = fori_loop(0, triangular.shape[0], column, zeros_like(triangular) + _diagonal(values))
    result = matmul(matmul(unitary, result), swapaxes(unitary, -1, -2).conj())
    return result if disp else (result, _funm_error(triangular))


def _funm_error(triangular: Array) -> Array:
    """How near eigenvalues come to each other, against the rest: 1 where nothing is known."""
    values = diagonal(triangular)
    gaps = where(eye(len(values), dtype=bool), float("inf"), absolute(values[:, None] - values))
    precision = float(finfo(triangular.dtype).eps)
    rest = maximum_of(sum_of(absolute(triu(triangular, 1)), axis=0))
    least = gaps.min()
    estimate = where(least == 0, 1.0, precision * maximum_of(absolute(triangular)) * where(rest > 0, rest / least, 1.0))
    return minimum(estimate, 1.0)


def solve_sylvester(A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8) -> Array:
    """The X with A X + X B = C: Bartels and Stewart's algorithm, 1972.

    Args:
        A: an array (..., m, m).
        B: an array (..., n, n).
        C: an array (..., m, n).
        method: "schur" or "eigen"; here it is always the Schur forms that are computed.
        tol: of jax; has no effect.

    Returns:
        An array (..., m, n), complex if one of the three is; infinite or NaN where A and -B have a common eigenvalue.

    Raises:
        ValueError: for matrices that are not square, shapes that do not fit, and another method.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.solve_sylvester(np.eye(2), np.eye(2), 4 * np.ones((2, 2))).round(4)
    Array([[2., 2.],
           [2., 2.]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method must be 'schur' or 'eigen', got {method!r}")
    first, second = square_matrix("solve_sylvester", A, "A"), square_matrix("solve_sylvester", B, "B")
    right = inexact_matrix("solve_sylvester", C)
    sizes = (first.shape[-1], second.shape[-1])
    if right.shape[-2:] != sizes:
        raise ValueError(f"solve_sylvester: C must have shape {sizes}, or be a batch of them, got {right.shape}")
    batch = broadcast_shape("solve_sylvester", [x.shape[:-2] for x in (first, second, right)])
    first, second, right = [broadcast_to(x, (*batch, *x.shape[-2:])) for x in (first, second, right)]
    dtype = dtypes.result_type(first, second, right)
    (left, u), (below, v) = schur(first.astype(dtype), "complex"), schur(second.astype(dtype), "complex")
    right = matmul(matmul(swapaxes(u, -1, -2).conj(), complex_of(right.astype(dtype))), v)

    def column(k: Array, found: Array) -> Array:
        """(R + s_kk) y_k = f_k - Y s_k."""
        known = where(arange(sizes[1]) < k, below[..., k], 0)[..., None]
        system = left + below[..., k, k, None, None] * eye(sizes[0], dtype=left.dtype)
        target = right[..., k, None] - matmul(found, known)
        return found.at[..., k].set(triangular_solve(system, target, left_side=True)[..., 0])

    found = fori_loop(0, sizes[1], column, zeros_like(right))
    result = matmul(matmul(u, found), swapaxes(v, -1, -2).conj())
    return result if dtypes.issubdtype(dtype, np.complexfloating) else result.real
