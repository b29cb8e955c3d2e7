"""The public functions of `tangrad.lax.linalg` that decompose matrices, or bring them to a reduced form."""

from __future__ import annotations

from typing import Any, Literal, overload

from tangrad._lax.checks import FLOATING, check_dtype, check_int, check_same_dtype
from tangrad._lax.decompositions import primitives as p
from tangrad._lax.decompositions.primitives import (
    EighImplementation,
    EigImplementation,
    SvdAlgorithm,
    check_algorithm,
    reflected,
)
from tangrad._lax.elementwise import functions as e
from tangrad._lax.linalg.primitives import (
    adjoint,
    check_ranks,
    check_square,
    lower_triangle,
    product,
    symmetrized,
    transposed,
)
from tangrad._lax.operands import operand
from tangrad._lax.structure import functions as s
from tangrad.core import Array, ShapedArray
from tangrad.typing import ArrayLike


def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """The factors of matrices with rows exchanged: x[permutation] = L U.

    Args:
        x: an array of shape (..., m, n), of float32, float64, complex64 or complex128.

    Returns:
        An array of the type of `x` with U from the diagonal up and L, whose diagonal is 1, below it; the pivots, an
        int32 array of shape (..., min(m, n)): row i was exchanged with row pivots[i]; and the permutation that these
        exchanges make, an int32 array of shape (..., m).

    Raises:
        TypeError: for other dtypes.
        ValueError: for fewer than two dimensions.

    >>> import numpy as np
    >>> import tangrad
    >>> factors, pivots, permutation = tangrad.lax.linalg.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> factors
    Array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float32)
    >>> permutation
    Array([1, 0], dtype=int32)
    """
    return p.lu_p.bind(operand("lu", x, "x"))


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation that the pivots of `lu` stand for.

    Args:
        pivots: an array of integers, of shape (..., k): row i is exchanged with row pivots[i], one after another, if
            there is such a row.
        permutation_size: how many rows there are.

    Returns:
        An array of shape (..., permutation_size) and the dtype of `pivots`.

    Raises:
        TypeError: for pivots that are not integers.
        ValueError: for fewer rows than pivots.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.linalg.lu_pivots_to_permutation(np.array([2, 2]), 3)
    Array([2, 0, 1], dtype=int32)
    """
    name = "lu_pivots_to_permutation"
    size = check_int(name, permutation_size, "permutation_size")
    return p.lu_pivots_to_permutation_p.bind(operand(name, pivots, "pivots"), permutation_size=size)


def qr(x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True) -> tuple[Array, ...]:
    """The factors x = Q R, where Q has orthonormal columns and R is upper triangular.

    Args:
        x: an array of shape (..., m, n), of float32, float64, complex64 or complex128.
        pivoting: whether to choose an order p of the columns, so that the diagonal of R falls: x[:, p] = Q R.
        full_matrices: whether Q has m columns; else min(m, n).

    Returns:
        Q and R, arrays of the dtype of `x`; with `pivoting` also p, an int32 array of shape (..., n).

    Raises:
        TypeError: for other dtypes.
        ValueError: for fewer than two dimensions.

    >>> import numpy as np
    >>> import tangrad
    >>> q, r = tangrad.lax.linalg.qr(np.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> abs(r)
    Array([[2., 3.],
           [0., 1.]], dtype=float32)
    """
    return tuple(p.qr_p.bind(operand("qr", x, "x"), pivoting=bool(pivoting), full_matrices=bool(full_matrices)))


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first n columns of the product of k reflections I - τ v vᴴ.

    Args:
        a: an array of shape (..., m, n) with m ≥ n; column i has a vector v below its diagonal, which stands for 1.
        taus: an array of shape (..., k) with k ≤ n.

    Returns:
        An array of the type of `a`.

    Raises:
        TypeError: for dtypes that are not floating or complex, or differ.
        ValueError: for shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.linalg.householder_product(np.array([[9.0], [1.0]]), np.array([1.0]))
    Array([[ 0.],
           [-1.]], dtype=float32)
    """
    name = "householder_product"
    return p.householder_product_p.bind(operand(name, a, "a"), operand(name, taus, "taus"))


def ormqr(a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False) -> Array:
    """Q C or C Q, without making Q, the product of the reflections that `householder_product` takes.

    Args:
        a: an array of shape (..., m, n) with m ≥ n; column i has a Householder vector below its diagonal.
        taus: an array of shape (..., k) with k ≤ n: the factors of the reflections.
        c: an array of shape (..., m, l), or without `left` of shape (..., l, m).
        left: whether Q is on the left.
        transpose: whether to take the adjoint of Q.

    Returns:
        An array of the type of `c`.

    Raises:
        TypeError: for dtypes that are not float32, float64, complex64 or complex128, or differ.
        ValueError: for shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.linalg.ormqr(np.array([[9.0], [1.0]]), np.array([1.0]), np.array([[1.0], [2.0]]))
    Array([[-2.],
           [-1.]], dtype=float32)
    """
    name = "ormqr"
    a, taus, c = operand(name, a, "a"), operand(name, taus, "taus"), operand(name, c, "c")
    p.householder_product_p.infer((a.aval, taus.aval), {})
    check_same_dtype(name, (a.aval, c.aval))
    check_ranks(name, (("a", a.aval, 2), ("c", c.aval, 2)))
    if c.aval.shape[-2 if left else -1] != a.aval.shape[-2]:
        side = "rows" if left else "columns"
        raise ValueError(
            f"{name}: c must have as many {side} as a has rows, got shapes {c.aval.shape} and {a.aval.shape}"
        )
    if left:
        return reflected(a, taus, c, bool(transpose))
    return adjoint(reflected(a, taus, adjoint(c), not transpose))


def _range_of(name: str, subset: object, count: int) -> tuple[int, int] | None:
    """A range of indices, checked; None for all."""
    if subset is None:
        return None
    if not isinstance(subset, (tuple, list)) or len(subset) != 2:
        raise TypeError(f"{name}: subset_by_index must be a pair (start, end) or None, got {subset!r}")
    start, stop = [check_int(name, index, "subset_by_index") for index in subset]
    if not 0 <= start < stop <= count:
        raise ValueError(
            f"{name}: subset_by_index must be a range within the {count} values, 0 <= start < end <= {count}, "
            f"got {tuple(subset)}"
        )
    return None if (start, stop) == (0, count) else (start, stop)


@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[False],
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array: ...
@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[Array, Array, Array] | Array: ...
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[Array, Array, Array] | Array:
    """The singular value decomposition x = U S Vᴴ.

    Args:
        x: an array of shape (..., m, n), of float32, float64, complex64 or complex128.
        full_matrices: whether U and V are square; else they have min(m, n) columns.
        compute_uv: whether to return U and Vᴴ too.
        subset_by_index: a range (start, end) of singular values to return, in their order; not with `full_matrices`
            and `compute_uv`.
        algorithm: a `lax.linalg.SvdAlgorithm`, or None for the default.

    Returns:
        U, the singular values in descending order, of shape (..., min(m, n)) and the real dtype of `x`, and Vᴴ; or the
        values alone. They are NaN for a matrix with NaN in it.

    Raises:
        TypeError: for other dtypes.
        ValueError: for fewer than two dimensions, and a range that is none.
        NotImplementedError: for derivatives with `full_matrices` of matrices that are not square, and algorithms that
            LAPACK does not have.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.linalg.svd(np.array([[3.0, 0.0], [0.0, -5.0]]), compute_uv=False)
    Array([5., 3.], dtype=float32)
    """
    check_algorithm("svd", "algorithm", SvdAlgorithm, algorithm)
    x = operand("svd", x, "x")
    kinds = {"full_matrices": bool(full_matrices), "compute_uv": bool(compute_uv)}
    p.svd_p.infer((x.aval,), kinds)
    kept = _range_of("svd", subset_by_index, min(x.aval.shape[-2:]))
    if kept is not None and full_matrices and compute_uv:
        raise ValueError("svd: subset_by_index and full_matrices=True exclude each other")
    outs = p.svd_p.bind(x, **kinds)
    if not compute_uv:
        (values,) = outs
        return values if kept is None else s.slice_in_dim(values, *kept, axis=values.aval.ndim - 1)
    if kept is None:
        u, values, vh = outs
        return u, values, vh
    axes = (x.aval.ndim - 1, x.aval.ndim - 2, x.aval.ndim - 2)
    u, values, vh = [s.slice_in_dim(out, *kept, axis=axis) for out, axis in zip(outs, axes)]
    return u, values, vh


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """The eigenvectors and eigenvalues of symmetric or Hermitian matrices.

    Args:
        x: an array of shape (..., n, n), of float32, float64, complex64 or complex128.
        lower: which triangle is read, where `symmetrize_input` is False.
        symmetrize_input: whether to take (x + xᴴ) / 2 for x.
        sort_eigenvalues: has no effect: the values are always in ascending order.
        subset_by_index: a range (start, end) of eigenvalues to return, in their order.
        implementation: a `lax.linalg.EighImplementation`, or None for the default.

    Returns:
        The eigenvectors as columns, an array of the type of `x`, and the eigenvalues, of shape (..., n) and its real
        dtype: in this order.

    Raises:
        TypeError: for other dtypes.
        ValueError: for matrices that are not square, and a range that is none.
        NotImplementedError: for an implementation that LAPACK does not have.

    >>> import numpy as np
    >>> import tangrad
    >>> vectors, values = tangrad.lax.linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(5)
    Array([1., 3.], dtype=float32)
    """
    check_algorithm("eigh", "implementation", EighImplementation, implementation)
    x = operand("eigh", x, "x")
    params = {"lower": bool(lower)}
    p.eigh_p.infer((x.aval,), params)
    kept = _range_of("eigh", subset_by_index, x.aval.shape[-1])
    if symmetrize_input:
        x = symmetrized(x)
    vectors, values = p.eigh_p.bind(x, **params)
    if kept is not None:
        vectors = s.slice_in_dim(vectors, *kept, axis=vectors.aval.ndim - 1)
        values = s.slice_in_dim(values, *kept, axis=values.aval.ndim - 1)
    return vectors, values


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """The eigenvalues and eigenvectors of square matrices.

    Args:
        x: an array of shape (..., n, n), of float32, float64, complex64 or complex128.
        compute_left_eigenvectors: whether to return the u with uᴴ x = w uᴴ.
        compute_right_eigenvectors: whether to return the v with x v = w v.
        enable_eigvec_derivs: whether eigenvectors have derivatives: those of vectors of length 1 whose greatest
            element is real.
        implementation: a `lax.linalg.EigImplementation`, or None for the default.
        use_magma: True stands for the implementation MAGMA.

    Returns:
        A list of complex arrays: the eigenvalues, of shape (..., n), in no particular order; the left eigenvectors,
        and the right ones, as columns.

    Raises:
        TypeError: for other dtypes.
        ValueError: for matrices that are not square.
        NotImplementedError: for derivatives of eigenvectors without `enable_eigvec_derivs`, and an implementation
            other than LAPACK.

    >>> import numpy as np
    >>> import tangrad
    >>> values, _, _ = tangrad.lax.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    >>> values
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    chosen = EigImplementation.MAGMA if use_magma else implementation
    check_algorithm("eig", "implementation", EigImplementation, chosen)
    return list(
        p.eig_p.bind(
            operand("eig", x, "x"),
            compute_left_eigenvectors=bool(compute_left_eigenvectors),
            compute_right_eigenvectors=bool(compute_right_eigenvectors),
            enable_eigvec_derivs=bool(enable_eigvec_derivs),
        )
    )


def symmetric_product(
    a_matrix: ArrayLike, c_matrix: ArrayLike, *, alpha: float = 1.0, beta: float = 0.0, symmetrize_output: bool = False
) -> Array:
    """alpha A Aᵀ + beta C, for a symmetric C.

    Args:
        a_matrix: an array of shape (..., n, k), of a real floating dtype.
        c_matrix: an array of shape (..., n, n) and the same dtype.
        alpha, beta: numbers.
        symmetrize_output: whether what is above the diagonal mirrors what is below it. Else only the lower triangle
            is to be relied on.

    Returns:
        An array of the type of `c_matrix`.

    Raises:
        TypeError: for dtypes that are not floating, or differ.
        ValueError: for shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.linalg.symmetric_product(np.array([[1.0], [2.0]]), np.zeros((2, 2)))
    Array([[1., 2.],
           [2., 4.]], dtype=float32)
    """
    name = "symmetric_product"
    a, c = operand(name, a_matrix, "a_matrix"), operand(name, c_matrix, "c_matrix")
    _check_symmetric_product(name, a.aval, c.aval)
    out = e.add(e.mul(product(a, transposed(a)), alpha), e.mul(c, beta))
    if symmetrize_output:
        out = e.add(lower_triangle(out), transposed(lower_triangle(out, -1)))
    return out


def _check_symmetric_product(name: str, a: ShapedArray, c: ShapedArray) -> None:
    """Raise unless the operands are of one real dtype and fit."""
    for aval, argument in ((a, "a_matrix"), (c, "c_matrix")):
        check_dtype(name, aval, (FLOATING,), argument)
    check_same_dtype(name, (a, c))
    check_ranks(name, (("a_matrix", a, 2), ("c_matrix", c, 2)))
    check_square(name, c, "c_matrix")
    if a.shape[-2] != c.shape[-1]:
        raise ValueError(f"{name}: a_matrix must have as many rows as c_matrix, got shapes {a.shape} and {c.shape}")


def schur(x: ArrayLike, *, compute_schur_vectors: bool = True) -> tuple[Any, ...]:
    """The Schur form x = Z T Zᴴ.

    Args:
        x: an array of shape (..., n, n), of float32, float64, complex64 or complex128.
        compute_schur_vectors: whether to return Z too.

    Returns:
        T, an upper triangular matrix; for real dtypes with blocks of two rows on its diagonal, where eigenvalues are
        not real; and the unitary Z. Both are of the type of `x`.

    Raises:
        TypeError: for other dtypes.
        ValueError: for matrices that are not square.

    >>> import numpy as np
    >>> import tangrad
    >>> t, z = tangrad.lax.linalg.schur(np.array([[2.0, 1.0], [0.0, 3.0]]))
    >>> t
    Array([[2., 1.],
           [0., 3.]], dtype=float32)
    """
    return tuple(p.schur_p.bind(operand("schur", x, "x"), compute_schur_vectors=bool(compute_schur_vectors)))


def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """The Hessenberg form a = Q H Qᴴ, as LAPACK keeps it.

    Args:
        a: an array of shape (..., n, n), of float32, float64, complex64 or complex128.

    Returns:
        An array of the type of `a` with H from the first diagonal below the main one up, and below it the Householder
        vectors of Q; and their factors, of shape (..., n - 1).

    Raises:
        TypeError: for other dtypes.
        ValueError: for matrices that are not square.

    >>> import numpy as np
    >>> import tangrad
    >>> h, taus = tangrad.lax.linalg.hessenberg(np.eye(3))
    >>> h.shape, taus.shape
    ((3, 3), (2,))
    """
    return p.hessenberg_p.bind(operand("hessenberg", a, "a"))


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """The tridiagonal form a = Q T Qᴴ of symmetric or Hermitian matrices, as LAPACK keeps it.

    Args:
        a: an array of shape (..., n, n), of float32, float64, complex64 or complex128.
        lower: which triangle is read, and holds the Householder vectors of Q.

    Returns:
        An array of the type of `a` with the vectors; the diagonal of T, of shape (..., n) and the real dtype of `a`;
        the diagonal beside it, of shape (..., n - 1); and the factors of the reflections, likewise.

    Raises:
        TypeError: for other dtypes.
        ValueError: for matrices that are not square.

    >>> import numpy as np
    >>> import tangrad
    >>> _, diagonal, beside, _ = tangrad.lax.linalg.tridiagonal(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> diagonal
    Array([2., 3.], dtype=float32)
    """
    vectors, diagonal, beside, taus = p.tridiagonal_p.bind(operand("tridiagonal", a, "a"), lower=bool(lower))
    return vectors, diagonal, beside, taus
