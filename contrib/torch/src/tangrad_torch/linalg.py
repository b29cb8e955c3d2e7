"""How decompositions of matrices, Fourier transforms and special functions become torch's.

What fails for one matrix of a batch (NaN in it, say) is NaN for that one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tangrad_torch.programs import rules, same

if TYPE_CHECKING:
    from torch import Tensor

    from tangrad.lax import FftType
    from tangrad_torch.programs import Call
    from tangrad_torch.tensors import Operation, Operations, Shape


def guarded(function: Operations) -> Operations:
    """A function of matrices that never sees what is not finite; its results are NaN there."""

    def guarded_function(x: Tensor) -> tuple[Tensor, ...]:
        bad = ~torch.isfinite(x).all(-1).all(-1)
        outs = function(torch.where(bad[..., None, None], 0, x))
        return tuple(
            [torch.where(bad.reshape(*bad.shape, *[1] * (out.ndim - bad.ndim)), nan(out), out) for out in outs]
        )

    return guarded_function


def nan(like: Tensor) -> complex:
    return complex(math.nan, math.nan) if like.is_complex() else math.nan


def cholesky(x: Tensor) -> Tensor:
    factor, failed = torch.linalg.cholesky_ex(x)
    finite = torch.isfinite(x).all(-1).all(-1)
    if x.device.type != "meta" and not finite.all():
        factor = torch.where(finite[..., None, None], factor, factor_by_columns(x))
        failed = torch.where(finite, failed, 0)
    return _nan_where(failed != 0, factor)


def factor_by_columns(x: Tensor) -> Tensor:
    """Cholesky's factor, column by column (Golub and Van Loan, Matrix Computations, algorithm 4.2.1).

    NaN and infinities spread to what is computed from them, as in LAPACK; torch's library raises that it has failed.
    """
    factor, size = x.tril(), x.shape[-1]
    failed = torch.zeros(x.shape[:-2], dtype=torch.bool, device=x.device)
    for k in range(size):
        before = factor[..., k:, :k] @ factor[..., k, :k, None].conj()
        column = factor[..., k:, k] - before[..., 0]
        pivot = column[..., 0].real
        failed = failed | (pivot <= 0)
        column[..., 1:] /= pivot.sqrt()[..., None]
        column[..., 0] = pivot.sqrt()
        factor[..., k:, k] = column
    return _nan_where(failed, factor)


def _nan_where(failed: Tensor, factor: Tensor) -> Tensor:
    """NaN on and below the diagonals of some matrices."""
    return torch.where(failed[..., None, None] & torch.ones_like(factor, dtype=torch.bool).tril(), math.nan, factor)


def cholesky_update(matrix: Tensor, vector: Tensor) -> Tensor:
    """The factor of RᵀR + wwᵀ from that of RᵀR: each row is rotated so that an element of the vector vanishes."""
    out, rest = matrix.clone(), vector
    for k in range(matrix.shape[-1]):
        row, x, y = out[..., k, :].clone(), out[..., k, k, None], rest[..., k, None]
        length = torch.hypot(x, y)
        cosine = torch.where(y == 0, 1, x / length)
        sine = torch.where(y == 0, 0, -y / length)
        out[..., k, :] = cosine * row - sine * rest
        rest = cosine * rest + sine * row
    return out


def triangular_solve(
    call: Call, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Operation:
    def function(a: Tensor, b: Tensor) -> Tensor:
        a = a.conj() if conjugate_a else a
        a, upper = (a.mT, lower) if transpose_a else (a, not lower)
        found: Tensor = torch.linalg.solve_triangular(a, b, upper=upper, left=left_side, unitriangular=unit_diagonal)
        return found

    return function


def lu(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    factors, pivots, _ = torch.linalg.lu_factor_ex(x)
    return factors, pivots - 1, permutation(pivots - 1, x.shape[-2])


def permutation(pivots: Tensor, size: int) -> Tensor:
    """The order of rows that exchanging row i with row pivots[i] makes, one exchange after the other."""
    order = torch.arange(size, dtype=pivots.dtype, device=pivots.device).expand(*pivots.shape[:-1], -1).clone()
    for at in range(pivots.shape[-1]):
        other = pivots[..., at : at + 1].to(torch.int64)
        here, there = order[..., at : at + 1].clone(), order.gather(-1, other)
        order[..., at : at + 1] = there
        order.scatter_(-1, other, here)
    return order


def permutation_of(call: Call, *, permutation_size: int) -> Operation:
    return lambda pivots: permutation(pivots, permutation_size)


def geqrf(x: Tensor) -> tuple[Tensor, Tensor]:
    """As LAPACK has it: the diagonal of R is real. Torch's library leaves the last complex element as it is."""
    packed, taus = torch.geqrf(x)
    rows, columns = x.shape[-2:]
    if not (x.is_complex() and 0 < rows <= columns):
        return packed, taus
    last = rows - 1
    alpha = packed[..., last, last]
    beta = -torch.copysign(alpha.abs(), alpha.real)
    turned = (alpha.imag != 0) & (taus[..., last] == 0)
    tau = torch.where(turned, (beta - alpha) / torch.where(turned, beta, 1), taus[..., last])
    packed, taus = packed.clone(), taus.clone()
    packed[..., last, last:] *= torch.where(turned, 1 - tau.conj(), 1)[..., None]
    packed[..., last, last] = torch.where(turned, beta.to(x.dtype), alpha)
    taus[..., last] = tau
    return packed, taus


def tridiagonal_solve(dl: Tensor, d: Tensor, du: Tensor, b: Tensor) -> Tensor:
    """Gaussian elimination with exchanges of neighbouring rows, which fill a second diagonal above the main one."""
    size = d.shape[-1]
    rows = [list(one.unbind(-1)) for one in (d, du)]
    (diagonal, above), second, right = rows, [torch.zeros_like(x) for x in rows[0]], list(b.unbind(-2))
    for k in range(size - 1):
        nothing = torch.zeros_like(diagonal[k])
        below, further = dl[..., k + 1], above[k + 1] if k + 2 < size else nothing
        swap = below.abs() > diagonal[k].abs()
        first, other = (diagonal[k], above[k], nothing), (below, diagonal[k + 1], further)
        upper = [torch.where(swap, y, x) for x, y in zip(first, other, strict=True)]
        lower = [torch.where(swap, x, y) for x, y in zip(first, other, strict=True)]
        factor = torch.where((lower[0] == 0) & (upper[0] == 0), 0, lower[0] / upper[0])
        diagonal[k], above[k], second[k] = upper
        diagonal[k + 1], above[k + 1] = lower[1] - factor * upper[1], lower[2] - factor * upper[2]
        chosen, x, y = swap[..., None], right[k], right[k + 1]
        right[k] = torch.where(chosen, y, x)
        right[k + 1] = torch.where(chosen, x, y) - factor[..., None] * right[k]
    for k in reversed(range(size)):
        for diagonals, distance in ((above, 1), (second, 2)):
            if k + distance < size:
                right[k] = right[k] - diagonals[k][..., None] * right[k + distance]
        right[k] = right[k] / diagonal[k][..., None]
    return torch.stack(right, -2) if right else b.clone()


def of_tridiagonals(call: Call, *, perturb_singular: bool) -> Operation:
    if perturb_singular:
        raise call.lacks("torch moves no pivots away from 0")
    return tridiagonal_solve


def qr(call: Call, *, pivoting: bool, full_matrices: bool) -> Operations:
    if pivoting:
        raise call.lacks("torch has no QR decomposition with pivoting")
    return guarded(lambda x: torch.linalg.qr(x, "complete" if full_matrices else "reduced"))


def svd(call: Call, *, full_matrices: bool, compute_uv: bool) -> Operations:
    if not compute_uv:
        return guarded(lambda x: (torch.linalg.svdvals(x),))
    return guarded(lambda x: torch.linalg.svd(x, full_matrices))


def eigh(call: Call, *, lower: bool) -> Operations:
    triangle = "L" if lower else "U"

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        values, vectors = torch.linalg.eigh(x, triangle)
        return vectors, values

    solve = guarded(function)
    return lambda x: solve(x.tril() if lower else x.triu())


def eig(
    call: Call, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, enable_eigvec_derivs: bool
) -> Operations:
    if compute_left_eigenvectors:
        raise call.lacks("torch has no left eigenvectors")
    if not compute_right_eigenvectors:
        return guarded(lambda x: (torch.linalg.eigvals(x),))
    return guarded(torch.linalg.eig)


TRANSFORMS = {"FFT": torch.fft.fftn, "IFFT": torch.fft.ifftn, "RFFT": torch.fft.rfftn, "IRFFT": torch.fft.irfftn}


def fft(call: Call, *, fft_type: FftType, fft_lengths: Shape) -> Operation:
    transform, axes = TRANSFORMS[fft_type.name], tuple(range(-len(fft_lengths), 0))
    shape, held, device = call.shape, call.dtype, call.device
    if 0 in shape or 0 in fft_lengths:
        return lambda x: torch.zeros(shape, dtype=held, device=device)
    return (lambda x: transform(x, fft_lengths, axes)) if fft_lengths else lambda x: x


def polygamma(order: Tensor, x: Tensor) -> Tensor:
    """By Hurwitz's zeta function: (-1)^(n + 1) n! zeta(n + 1, x); of order 0 the digamma function."""
    order, x = torch.broadcast_tensors(order, x)
    sign = torch.where(order % 2 == 0, -1.0, 1.0).to(x.dtype)
    higher = sign * torch.exp(torch.lgamma(order + 1)) * torch.special.zeta(order + 1, x)
    found = torch.where(order == 0, torch.digamma(x), higher)
    return torch.where((order < 0) | (order != order.floor()), math.nan, found)


def incomplete_gamma(function: Operation) -> Operation:
    """Torch overlooks NaN beside infinities."""
    return lambda a, x: torch.where(a.isnan() | x.isnan(), math.nan, function(a, x))


lower = rules(
    "linalg",
    {"cholesky": same(cholesky), "cholesky_update": same(cholesky_update), "triangular_solve": triangular_solve},
)
systems = rules("systems", {"tridiagonal_solve": of_tridiagonals})
decompositions = rules(
    "decompositions",
    {
        "lu": same(lu),
        "lu_pivots_to_permutation": permutation_of,
        "geqrf": same(geqrf),
        "householder_product": same(torch.linalg.householder_product),
        "qr": qr,
        "svd": svd,
        "eigh": eigh,
        "eig": eig,
    },
    {"torch has no such decomposition": ("geqp3", "hessenberg", "schur", "tridiagonal")},
)
transforms = rules("fft", {"fft": fft})
special = rules(
    "special",
    {
        "erf": same(torch.special.erf),
        "erfc": same(torch.special.erfc),
        "erf_inv": same(torch.special.erfinv),
        "lgamma": same(torch.special.gammaln),
        "digamma": same(torch.special.digamma),
        "polygamma": same(polygamma),
        "zeta": same(torch.special.zeta),
        "bessel_i0e": same(torch.special.i0e),
        "bessel_i1e": same(torch.special.i1e),
        "igamma": same(incomplete_gamma(torch.special.gammainc)),
        "igammac": same(incomplete_gamma(torch.special.gammaincc)),
    },
    {"torch has no such function": ("igamma_grad_a", "random_gamma_grad", "regularized_incomplete_beta")},
)
