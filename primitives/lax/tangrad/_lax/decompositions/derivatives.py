"""The derivatives of decompositions, of solutions, inverses and determinants.

As a rule, what a tangent does to the factors is read off the product that they make, in the bases that they are. Where
singular values or eigenvalues coincide, vectors have no derivative: it comes out infinite or NaN; the values' is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.decompositions import primitives as p
from tangrad._lax.decompositions.algebra import (
    column,
    cropped,
    diagonal_of,
    identity_like,
    is_complex,
    on_diagonal,
    padded,
    row,
    safe_reciprocal,
    shifted,
    take_columns,
    take_rows,
    trace_of,
    with_diagonal,
)
from tangrad._lax.decompositions.primitives import (
    eig_p,
    eigh_p,
    geqp3_p,
    geqrf_p,
    hessenberg_p,
    lu_p,
    lu_pivots_to_permutation_p,
    qr_p,
    schur_p,
    svd_p,
    tridiagonal_p,
)
from tangrad._lax.decompositions.systems import (
    adjugate_p,
    determinant_p,
    log_determinant_p,
    pseudoinverse_p,
    solve_by_factors,
    solve_p,
    tridiagonal_solve_p,
)
from tangrad._lax.elementwise import functions as e
from tangrad._lax.linalg.functions import triangular_solve
from tangrad._lax.linalg.primitives import adjoint, lower_triangle, product, transposed, upper_triangle
from tangrad._lax.reductions.functions import argmax, reduce_sum
from tangrad._lax.structure import functions as s
from tangrad.autodiff import Linear, Zero, add_tangents, instantiate, is_linear, symbolic_zeros
from tangrad.core import Array, RuleSet
from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)
jvp.not_applicable("its results are positions", lu_pivots_to_permutation_p)
jvp.not_applicable("what LAPACK keeps below the diagonal is no matrix: differentiate qr", geqrf_p, geqp3_p)
jvp.not_applicable("the field has no derivative of it", schur_p, hessenberg_p, tridiagonal_p)


def _reciprocal_gaps(values: Value) -> Value:
    """1 / (v_j - v_i) off the diagonal, 0 on it."""
    one = identity_like(on_diagonal(values))
    gaps = e.sub(row(values), column(values))
    return e.sub(e.div(s.full_like(gaps, 1), e.add(gaps, one)), one)


def _like(values: Value, matrix: Value) -> Value:
    """Real numbers in the dtype of a matrix."""
    return e.convert_element_type(values, matrix.aval.dtype)


def _real(x: Value) -> Value:
    return e.real(x) if is_complex(x) else x


# --- LU ---


@jvp.rule(lu_p)
def _lu(primals: Values, tangents: Values) -> tuple[Sequence[Value], Sequence[Value | Zero]]:
    """X = L⁻¹ P Ȧ U⁻¹ is L⁻¹ L̇ below the diagonal, and U̇ U⁻¹ from there up; factors that are not square are completed
    by parts of identities.
    """
    (x,), (tangent,) = primals, tangents
    rows, columns = x.aval.shape[-2:]
    lu, pivots, permutation = lu_p.bind(x)
    lower = cropped(padded(lu, rows, max(rows, columns)), rows, rows)
    lower = with_diagonal(lower_triangle(lower, -1), 1)
    upper = upper_triangle(cropped(padded(lu, max(rows, columns), columns), columns, columns))
    if rows < columns:
        filler = s.full_like(cropped(upper, rows, rows), 0)
        upper = e.add(upper, e.sub(identity_like(upper), padded(identity_like(filler), columns, columns)))
    moved = take_rows(tangent, permutation)
    middle = triangular_solve(lower, moved, left_side=True, lower=True, unit_diagonal=True)
    middle = triangular_solve(upper, middle)
    changed = e.add(product(lower, lower_triangle(middle, -1)), product(upper_triangle(middle), upper))
    return (lu, pivots, permutation), (changed, Zero.of(pivots), Zero.of(permutation))


# --- QR ---


@jvp.rule(qr_p)
def _qr(
    primals: Values, tangents: Values, *, pivoting: bool, full_matrices: bool
) -> tuple[Sequence[Value], Sequence[Value | Zero]]:
    """B = Qᴴ Ȧ R⁻¹ is the sum of Qᴴ Q̇, which is skew, and Ṙ R⁻¹, which is upper triangular with a real diagonal.

    Walter, Lehmann, Lamour, On evaluating higher-order derivatives of the QR decomposition of tall matrices with full
    column rank in forward and reverse mode algorithmic differentiation, Optim. Methods Softw. 27, 2012. Of a wide
    matrix the first columns determine Q.
    """
    (x,), (tangent,) = primals, tangents
    rows, columns = x.aval.shape[-2:]
    least = min(rows, columns)
    completed = full_matrices and rows > columns
    outs = qr_p.bind(x, pivoting=pivoting, full_matrices=completed)
    q, r = outs[:2]
    if completed:
        q, r = cropped(q, rows, columns), cropped(r, columns, columns)
    if pivoting:
        tangent = take_columns(tangent, outs[2])
    relative = triangular_solve(cropped(r, least, least), cropped(tangent, rows, least))
    inner = product(adjoint(q), relative)
    below = lower_triangle(inner, -1)
    turned = e.sub(below, adjoint(below))
    if is_complex(x):
        phases = e.imag(diagonal_of(inner))
        turned = e.add(turned, on_diagonal(e.complex(s.zeros_like_array(phases), phases)))
    q_tangent = product(q, turned)
    if rows > columns:
        q_tangent = e.add(q_tangent, e.sub(relative, product(q, inner)))
    r_tangent = upper_triangle(e.sub(product(adjoint(q), tangent), product(turned, r)))
    if completed:
        q_tangent = s.concatenate([q_tangent, _completion_tangent(q, q_tangent)], q.aval.ndim - 1)
        r_tangent = padded(r_tangent, rows, columns)
    return tuple(outs), (q_tangent, r_tangent, *[Zero.of(order) for order in outs[2:]])


def _completion_tangent(q: Value, tangent: Value) -> Array:
    """What becomes of the columns that complete the basis, which are a function of the first ones, Q = [T; B].

    A product of n reflections is I - V S Vᴴ with V of n columns: with M = I - T and G = M⁻ᴴ Bᴴ they are [M G; I - B G].
    """
    rows, columns = q.aval.shape[-2:]
    parts = [(0, columns), (columns, rows)]
    (top, bottom), (top_tangent, bottom_tangent) = [
        [s.slice_in_dim(x, start, stop, axis=x.aval.ndim - 2) for start, stop in parts] for x in (q, tangent)
    ]
    missing = e.sub(identity_like(top), top)
    factor = solve_p.bind(adjoint(missing), adjoint(bottom))
    change = e.add(product(adjoint(top_tangent), factor), adjoint(bottom_tangent))
    factor_tangent = solve_p.bind(adjoint(missing), change)
    upper = e.sub(product(missing, factor_tangent), product(top_tangent, factor))
    lower = e.neg(e.add(product(bottom_tangent, factor), product(bottom, factor_tangent)))
    return s.concatenate([upper, lower], q.aval.ndim - 2)


# --- singular values ---


@jvp.rule(svd_p)
def _svd(
    primals: Values, tangents: Values, *, full_matrices: bool, compute_uv: bool
) -> tuple[Sequence[Value], Sequence[Value | Zero]]:
    """Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation, 2008; of
    the phases that complex vectors are free in, U takes all.
    """
    (x,), (tangent,) = primals, tangents
    rows, columns = x.aval.shape[-2:]
    if compute_uv and full_matrices and rows != columns:
        raise NotImplementedError(
            f"svd with full_matrices=True has no derivative for matrices that are not square, got shape "
            f"{x.aval.shape}: the vectors that complete the bases are arbitrary. Use full_matrices=False"
        )
    u, values, vh = svd_p.bind(x, full_matrices=False, compute_uv=True)
    v = adjoint(vh)
    inner = product(product(adjoint(u), tangent), v)
    values_tangent = _real(diagonal_of(inner))
    if not compute_uv:
        return (values,), (values_tangent,)
    scale = _like(values, x)
    gaps = _like(e.mul(_reciprocal_gaps(values), _reciprocal_sums(values)), x)
    right, left = e.mul(inner, row(scale)), e.mul(column(scale), inner)
    u_inner = e.mul(gaps, e.add(right, adjoint(right)))
    v_inner = e.mul(gaps, e.add(left, adjoint(left)))
    inverse = _like(safe_reciprocal(values), x)
    if is_complex(x):
        phases = e.imag(diagonal_of(inner))
        u_inner = e.add(u_inner, on_diagonal(e.mul(e.complex(s.zeros_like_array(phases), phases), inverse)))
    u_tangent, v_tangent = product(u, u_inner), product(v, v_inner)
    if rows > columns:
        outside = e.sub(product(tangent, v), product(u, inner))
        u_tangent = e.add(u_tangent, e.mul(outside, row(inverse)))
    if columns > rows:
        outside = e.sub(product(adjoint(tangent), u), product(v, adjoint(inner)))
        v_tangent = e.add(v_tangent, e.mul(outside, row(inverse)))
    return (u, values, vh), (u_tangent, values_tangent, adjoint(v_tangent))


def _reciprocal_sums(values: Value) -> Value:
    """1 / (v_j + v_i) off the diagonal, 1 on it."""
    sums = with_diagonal(e.add(row(values), column(values)), 1)
    return e.div(s.full_like(sums, 1), sums)


# --- eigenvalues ---


@jvp.rule(eigh_p)
def _eigh(primals: Values, tangents: Values, *, lower: bool) -> tuple[Sequence[Value], Sequence[Value | Zero]]:
    """Giles 2008, 3.1: in the basis of the eigenvectors, the tangents of the values are on the diagonal."""
    (x,), (tangent,) = primals, tangents
    vectors, values = eigh_p.bind(x, lower=lower)
    inner = product(product(adjoint(vectors), tangent), vectors)
    turned = e.mul(_like(_reciprocal_gaps(values), x), inner)
    return (vectors, values), (product(vectors, turned), _real(diagonal_of(inner)))


@jvp.rule(eig_p)
def _eig(
    primals: Values,
    tangents: Values,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
) -> tuple[Sequence[Value], Sequence[Value | Zero]]:
    """Of the values: the diagonal of V⁻¹ Ȧ V. Of the vectors: those of the matrix, and those of its adjoint."""
    (x,), (tangent,) = primals, tangents
    if (compute_left_eigenvectors or compute_right_eigenvectors) and not enable_eigvec_derivs:
        raise NotImplementedError(
            "eig: eigenvectors are determined up to a phase, which derivatives may depend on: they are taken with "
            "enable_eigvec_derivs=True only. The eigenvalues alone (compute_left_eigenvectors=False, "
            "compute_right_eigenvectors=False) have derivatives"
        )
    options = {"compute_right_eigenvectors": True, "enable_eigvec_derivs": enable_eigvec_derivs}
    found = eig_p.bind(x, compute_left_eigenvectors=compute_left_eigenvectors, **options)
    values, vectors = found[0], found[-1]
    tangent = e.convert_element_type(tangent, vectors.aval.dtype)
    inner = solve_p.bind(vectors, product(tangent, vectors))
    outs, changes = [values], [diagonal_of(inner)]
    gaps = _reciprocal_gaps(values)
    if compute_left_eigenvectors:
        left = found[1]
        mirrored = solve_p.bind(left, product(adjoint(tangent), left))
        outs.append(left)
        changes.append(_normalised(left, product(left, e.mul(e.conj(gaps), mirrored))))
    if compute_right_eigenvectors:
        outs.append(vectors)
        changes.append(_normalised(vectors, product(vectors, e.mul(gaps, inner))))
    return tuple(outs), tuple(changes)


def _normalised(vectors: Value, tangent: Array) -> Array:
    """The tangent less multiples of the vectors, so that their lengths stay 1 and their greatest elements real.

    That is how LAPACK scales them.
    """
    rank = vectors.aval.ndim
    along = reduce_sum(_real(e.mul(e.conj(vectors), tangent)), (rank - 2,))
    places = argmax(e.abs(vectors), rank - 2, "int32")
    index = s.broadcasted_iota("int32", vectors.aval.shape, rank - 2)
    greatest = e.eq(index, s.broadcast_in_dim(places, vectors.aval.shape, (*range(rank - 2), rank - 1)))
    nothing = s.zeros_like_array(vectors)
    size = reduce_sum(e.real(e.select(greatest, vectors, nothing)), (rank - 2,))
    # The length is kept by the real part of the multiple, the phase by the imaginary one.
    drift = reduce_sum(e.imag(e.select(greatest, tangent, nothing)), (rank - 2,))
    return e.sub(tangent, e.mul(vectors, row(e.complex(along, e.div(drift, size)))))


# --- solutions, inverses and determinants ---

systems_jvp = RuleSet("jvp", api=1)


@systems_jvp.rule(solve_p)
@symbolic_zeros
def _solve(primals: Values, tangents: tuple[Value | Zero, ...]) -> tuple[Value, Value | Zero]:
    """A Ẋ = Ḃ - Ȧ X, with the factors that gave X."""
    (a, b), (a_tangent, b_tangent) = primals, tangents
    lu, _, permutation = lu_p.bind(a)
    out = solve_by_factors(lu, permutation, b)
    right: Any = b_tangent
    if type(a_tangent) is not Zero:
        right = add_tangents(right, e.neg(product(a_tangent, out)))
    return out, solve_by_factors(lu, permutation, instantiate(right))


@systems_jvp.rule(determinant_p)
def _determinant(primals: Values, tangents: Values) -> tuple[Value, Value]:
    """Jacobi's formula: the sum of the cofactors times the tangents."""
    (a,), (tangent,) = primals, tangents
    weighted = e.mul(transposed(adjugate_p.bind(a)), tangent)
    return determinant_p.bind(a), reduce_sum(weighted, (a.aval.ndim - 2, a.aval.ndim - 1))


@systems_jvp.rule(log_determinant_p)
def _log_determinant(primals: Values, tangents: Values) -> tuple[tuple[Value, Value], tuple[Value | Zero, Value]]:
    """tr(A⁻¹ Ȧ), of which the imaginary part turns the sign. Back, A⁻¹ is all there is to do."""
    (a,), (tangent,) = primals, tangents
    sign, size = log_determinant_p.bind(a)
    inverse = solve_p.bind(a, identity_like(a))
    trace = reduce_sum(e.mul(transposed(inverse), tangent), (a.aval.ndim - 2, a.aval.ndim - 1))
    if not is_complex(a):
        return (sign, size), (Zero.of(sign), trace)
    phase = e.imag(trace)
    return (sign, size), (e.mul(sign, e.complex(s.zeros_like_array(phase), phase)), e.real(trace))


@systems_jvp.rule(adjugate_p)
def _adjugate(primals: Values, tangents: Values) -> tuple[Value, Value]:
    """tr(X) A' - X A', where X = A⁻¹ Ȧ and A' is the adjugate: of matrices that have an inverse."""
    (a,), (tangent,) = primals, tangents
    out = adjugate_p.bind(a)
    relative = solve_p.bind(a, tangent)
    return out, e.sub(e.mul(out, trace_of(relative)), product(relative, out))


@systems_jvp.rule(pseudoinverse_p)
@symbolic_zeros
def _pseudoinverse(
    primals: Values, tangents: tuple[Value | Zero, ...], *, hermitian: bool
) -> tuple[Value, Value | Zero]:
    """Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems, SIAM J. Numer.
    Anal. 10, 1973, (4.12). The rank is constant nearby.
    """
    (a, rtol), (tangent, _) = primals, tangents
    out = pseudoinverse_p.bind(a, rtol, hermitian=hermitian)
    if type(tangent) is Zero:
        return out, Zero.of(out)
    turned, back = adjoint(out), adjoint(tangent)
    m, n = a.aval.shape[-2:]

    def chain(x: Value, y: Value, z: Value) -> Value:
        """x y z, through the smaller square: the other one is as long as the data of a least-squares problem."""
        return product(product(x, y), z) if m >= n else product(x, product(y, z))

    def less(x: Value) -> Value:
        return e.sub(identity_like(x), x)

    # The projections are made, which keeps a map and its adjoint nearest, unless they are far greater than the matrix.
    rows, columns = chain(out, turned, back), chain(back, turned, out)
    rows = e.sub(rows, chain(rows, a, out)) if m > 4 * n else product(rows, less(product(a, out)))
    columns = e.sub(columns, chain(out, a, columns)) if n > 4 * m else product(less(product(out, a)), columns)
    return out, e.add(e.neg(chain(out, tangent, out)), e.add(rows, columns))


@systems_jvp.rule(tridiagonal_solve_p)
@symbolic_zeros
def _tridiagonal_solve(
    primals: Values, tangents: tuple[Value | Zero, ...], **params: bool
) -> tuple[Value, Value | Zero]:
    """T Ẋ = Ḃ - Ṫ X."""
    dl, d, du, _ = primals
    out = tridiagonal_solve_p.bind(*primals, **params)
    right: Any = tangents[3]
    # Row i of T X is made of the rows i - 1, i and i + 1 of X.
    for tangent, offset in zip(tangents[:3], (1, 0, -1)):
        if type(tangent) is not Zero:
            moved = shifted(out, offset, out.aval.ndim - 2)
            weights = s.broadcast_in_dim(column(tangent), out.aval.shape, tuple(range(out.aval.ndim)))
            right = add_tangents(right, e.neg(e.mul(weights, moved)))
    return out, tridiagonal_solve_p.bind(dl, d, du, instantiate(right), **params)


# --- cotangents: by the transposed system ---

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("it is not linear", *p.decompositions.primitives.values())

systems_transpose = RuleSet("transpose", api=1)
systems_transpose.not_applicable("it is not linear", adjugate_p, determinant_p, log_determinant_p, pseudoinverse_p)


@systems_transpose.rule(solve_p)
def _solve_transposed(ct: Value, a: Value, b: Linear) -> tuple[Value | None, ...]:
    if is_linear(a):
        raise TypeError("solve is linear in b, not in a")
    return None, solve_p.bind(transposed(a), ct)


@systems_transpose.rule(tridiagonal_solve_p)
def _tridiagonal_solve_transposed(
    ct: Value, dl: Value, d: Value, du: Value, b: Linear, **params: bool
) -> tuple[Value | None, ...]:
    if any([is_linear(diagonal) for diagonal in (dl, d, du)]):
        raise TypeError("tridiagonal_solve is linear in b alone")
    last = d.aval.ndim - 1
    return None, None, None, tridiagonal_solve_p.bind(shifted(du, 1, last), d, shifted(dl, -1, last), ct, **params)
