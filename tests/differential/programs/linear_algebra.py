"""Factorisations and triangular solves."""

from ..corpus import normal, positive_definite, program


@program(lambda r: (positive_definite(r, 4),), grad=(0,), slack=10.0)
def cholesky_log_determinant(api, matrix):
    """The factor, and the logarithm of the determinant."""
    factor = api.lax.linalg.cholesky(matrix)
    return factor, 2 * api.numpy.sum(api.numpy.log(api.numpy.diag(factor)))


@program(lambda r: (positive_definite(r, 4), normal(r, 4, 2)), grad=(0, 1), slack=10.0)
def triangular_solves(api, matrix, right):
    """Lower, upper, transposed, from the right, with unit diagonal."""
    solve = api.lax.linalg.triangular_solve
    lower = api.numpy.tril(matrix)
    left = solve(lower, right, left_side=True, lower=True), solve(lower.T, right, left_side=True, lower=False)
    transposed = solve(lower, right, left_side=True, lower=True, transpose_a=True)
    unit = solve(lower, right, left_side=True, lower=True, unit_diagonal=True)
    return left, transposed, unit, solve(lower, right.T, left_side=False, lower=True)


@program(lambda r: (normal(r, 6, 2), normal(r, 6)), grad=(0, 1), slack=20.0)
def gaussian_process_likelihood(api, inputs, targets):
    """The marginal likelihood of a Gaussian process."""
    np, linalg = api.numpy, api.lax.linalg
    distances = np.sum((inputs[:, None] - inputs[None]) ** 2, axis=-1)
    factor = linalg.cholesky(np.exp(-0.5 * distances) + 0.5 * np.eye(6))
    whitened = linalg.triangular_solve(factor, targets[:, None], left_side=True, lower=True)
    return -0.5 * np.sum(whitened**2) - np.sum(np.log(np.diag(factor)))


@program(lambda r: (positive_definite(r, 3), normal(r, 3)), grad=(0, 1), slack=10.0)
def positive_definite_solve(api, matrix, right):
    """Two triangular solves after a Cholesky factorisation."""
    linalg = api.lax.linalg
    factor = linalg.cholesky(matrix)
    half = linalg.triangular_solve(factor, right[:, None], left_side=True, lower=True)
    return linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True)[:, 0]


@program(lambda r: (positive_definite(r, 2), normal(r, 2), normal(r, 1)), grad=(0, 1), slack=10.0)
def kalman_update(api, covariance, mean, observation):
    """One measurement of the first component."""
    np = api.numpy
    gain = covariance[:, :1] / (covariance[0, 0] + 0.5)
    return mean + gain @ (observation - mean[:1]), (np.eye(2) - gain @ np.eye(1, 2)) @ covariance
