"""How decompositions of matrices, Fourier transforms and special functions become torch's.

What fails for one matrix of a batch (NaN in it, say) is NaN for that one.
"""

import math

import torch

from tangrad_torch.programs import rules, same


def guarded(function):
    """A function of matrices that never sees what is not finite; its results are NaN there."""

    def guarded_function(x):
        bad = ~torch.isfinite(x).all(-1).all(-1)
        outs = function(torch.where(bad[..., None, None], 0, x))
        return tuple(
            [torch.where(bad.reshape(*bad.shape, *[1] * (out.ndim - bad.ndim)), nan(out), out) for out in outs]
        )

    return guarded_function


def nan(like):
    return complex(math.nan, math.nan) if like.is_complex() else math.nan


def cholesky(x):
    factor, failed = torch.linalg.cholesky_ex(x)
    return torch.where(
        (failed != 0)[..., None, None] & torch.ones_like(factor, dtype=torch.bool).tril(), math.nan, factor
    )


def triangular_solve(call, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    def function(a, b):
        a = a.conj() if conjugate_a else a
        a, upper = (a.mT, lower) if transpose_a else (a, not lower)
        return torch.linalg.solve_triangular(a, b, upper=upper, left=left_side, unitriangular=unit_diagonal)

    return function


def lu(x):
    factors, pivots, _ = torch.linalg.lu_factor_ex(x)
    if not x.shape[-2]:
        return factors, pivots, pivots.new_empty(x.shape[:-1])
    permutation = torch.lu_unpack(factors, pivots, unpack_data=False).P.real.argmax(-2)
    return factors, pivots - 1, permutation.to(torch.int32)


def permutation_of(call, *, permutation_size):
    held, device = call.dtype, call.device

    def function(pivots):
        order = torch.arange(permutation_size, dtype=held, device=device).expand(*pivots.shape[:-1], -1).clone()
        for at in range(pivots.shape[-1]):
            other = pivots[..., at : at + 1].to(torch.int64)
            here, there = order[..., at : at + 1].clone(), order.gather(-1, other)
            order[..., at : at + 1] = there
            order.scatter_(-1, other, here)
        return order

    return function


def qr(call, *, pivoting, full_matrices):
    if pivoting:
        raise call.lacks("torch has no QR decomposition with pivoting")
    return guarded(lambda x: torch.linalg.qr(x, "complete" if full_matrices else "reduced"))


def svd(call, *, full_matrices, compute_uv):
    if not compute_uv:
        return guarded(lambda x: (torch.linalg.svdvals(x),))
    return guarded(lambda x: torch.linalg.svd(x, full_matrices))


def eigh(call, *, lower):
    triangle = "L" if lower else "U"

    def function(x):
        values, vectors = torch.linalg.eigh(x, triangle)
        return vectors, values

    solve = guarded(function)
    return lambda x: solve(x.tril() if lower else x.triu())


def eig(call, *, compute_left_eigenvectors, compute_right_eigenvectors, enable_eigvec_derivs):
    if compute_left_eigenvectors:
        raise call.lacks("torch has no left eigenvectors")
    if not compute_right_eigenvectors:
        return guarded(lambda x: (torch.linalg.eigvals(x),))
    return guarded(torch.linalg.eig)


TRANSFORMS = {"FFT": torch.fft.fftn, "IFFT": torch.fft.ifftn, "RFFT": torch.fft.rfftn, "IRFFT": torch.fft.irfftn}


def fft(call, *, fft_type, fft_lengths):
    transform, axes = TRANSFORMS[fft_type.name], tuple(range(-len(fft_lengths), 0))
    shape, held, device = call.shape, call.dtype, call.device
    if 0 in shape or 0 in fft_lengths:
        return lambda x: torch.zeros(shape, dtype=held, device=device)
    return (lambda x: transform(x, fft_lengths, axes)) if fft_lengths else lambda x: x


def polygamma(order, x):
    """By Hurwitz's zeta function: (-1)^(n + 1) n! zeta(n + 1, x); of order 0 the digamma function."""
    order, x = torch.broadcast_tensors(order, x)
    sign = torch.where(order % 2 == 0, -1.0, 1.0).to(x.dtype)
    higher = sign * torch.exp(torch.lgamma(order + 1)) * torch.special.zeta(order + 1, x)
    found = torch.where(order == 0, torch.digamma(x), higher)
    return torch.where((order < 0) | (order != order.floor()), math.nan, found)


def incomplete_gamma(function):
    """Torch overlooks NaN beside infinities."""
    return lambda a, x: torch.where(a.isnan() | x.isnan(), math.nan, function(a, x))


lower = rules("linalg", {"cholesky": same(cholesky), "triangular_solve": triangular_solve})
decompositions = rules(
    "decompositions",
    {
        "lu": same(lu),
        "lu_pivots_to_permutation": permutation_of,
        "geqrf": same(torch.geqrf),
        "householder_product": same(torch.linalg.householder_product),
        "qr": qr,
        "svd": svd,
        "eigh": eigh,
        "eig": eig,
    },
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
)
