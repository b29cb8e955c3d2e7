"""Products and decompositions of matrices, transforms of Fourier, complex numbers."""

from ..corpus import complex_normal, integers, normal, positive_definite, program, uniform

# --- Products of vectors, matrices and tensors ----------------------------------------------------------------------


@program(lambda r: (normal(r, 4), normal(r, 4), normal(r, 3, 4), normal(r, 2, 4, 5)), grad=(0, 1, 2, 3))
def dots(api, u, v, m, t):
    """dot by rank."""
    np = api.numpy
    return np.dot(u, v), np.dot(m, v), np.dot(m, t), u @ v, m @ u, np.vdot(u, v), np.inner(m, v), np.outer(u, m[0])


@program(lambda r: (normal(r, 2, 1, 3, 4), normal(r, 5, 4, 2), normal(r, 4)), grad=(0, 1, 2))
def batched_matmul(api, x, y, v):
    """matmul broadcasts leading axes."""
    return x @ y, api.numpy.matmul(x, v), api.numpy.matmul(v, y)


@program(lambda r: (normal(r, 3, 4), normal(r, 4, 5), normal(r, 2, 3, 4), normal(r, 3, 3)), grad=(0, 1, 2, 3))
def einsums(api, a, b, t, s):
    """Contractions, transposes, diagonals, traces, several operands."""
    einsum = api.numpy.einsum
    pairs = einsum("ij,jk->ik", a, b), einsum("bij,jk->bki", t, b), einsum("ij,jk", a, b), einsum("bij,bij->b", t, t)
    return pairs, einsum("ii->", s), einsum("ii->i", s), einsum("ij->ji", a), einsum("bij,jk,ki->b", t, b, b.T @ a.T)


@program(lambda r: (normal(r, 2, 3, 4), normal(r, 3, 4, 5)), grad=(0, 1))
def tensor_products(api, x, y):
    """tensordot with a count and with axes."""
    np = api.numpy
    return np.tensordot(x, y, 2), np.tensordot(x, y, axes=((1, 2), (0, 1))), np.tensordot(x[0], y[:, 0], ([0], [0]))


@program(lambda r: (normal(r, 2, 3, 4), normal(r, 2, 5, 4)), grad=(0, 1))
def general_dot(api, x, y):
    """dot_general with batch dimensions."""
    dot_general = api.lax.dot_general
    return dot_general(x, y, (((2,), (2,)), ((0,), (0,)))), dot_general(x[0], y, (((1,), (2,)), ((), ())))


@program(lambda r: (integers(r, -99, 99, 3, 4, dtype="int8"), integers(r, -99, 99, 4, 2, dtype="int8")))
def integer_products(api, x, y):
    """Integers wrap unless a wider result is asked for."""
    wide = api.lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=api.numpy.int32)
    return wide, x @ y, x.astype(api.numpy.int32) @ y.astype(api.numpy.int32)


@program(lambda r: (normal(r, 3, 4), normal(r, 3), normal(r, 4)), grad=(0, 1, 2))
def bilinear_form(api, m, x, y):
    """A quadratic form and its normalisation."""
    value = x @ m @ y
    return value / api.numpy.sqrt(1.0 + api.numpy.sum(m**2)), api.numpy.einsum("i,ij,j->", x, m, y)


@program(lambda r: (normal(r, 3, 4).astype("float16"), normal(r, 4, 2)), grad=(0, 1))
def mixed_precision_product(api, x, y):
    """Operands of different widths are promoted."""
    return x @ y, api.numpy.dot(x, x.T)


@program(lambda r: (normal(r, 4, 4),), grad=(0,), slack=4.0)
def matrix_powers(api, m):
    """A truncated exponential series."""
    term = total = api.numpy.eye(4)
    for order in range(1, 6):
        term = term @ m / order
        total = total + term
    return total


# --- Factorisations and triangular solves ---------------------------------------------------------------------------


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


# --- Fourier transforms, and what is built on them ------------------------------------------------------------------


@program(lambda r: (normal(r, 4, 6),), grad=(0,))
def spectra(api, x):
    """Power spectra of even and odd lengths, cut and filled up."""
    np = api.numpy
    lengths = 6, 5, 9, 1
    return tuple([np.abs(np.fft.rfft(x, n)) ** 2 for n in lengths] + [np.abs(np.fft.fft(x, axis=0, norm="ortho")) ** 2])


@program(lambda r: (complex_normal(r, 3, 5),), grad=(0,))
def back_from_halves(api, z):
    """Real results of transforms of arbitrary complex halves."""
    np = api.numpy
    whole = np.fft.irfft(z), np.fft.irfft(z, 9), np.fft.irfft2(z), np.fft.hfft(z, 7, axis=0, norm="forward")
    return tuple([np.sin(x) for x in whole])


@program(lambda r: (normal(r, 8), normal(r, 3)), grad=(0, 1))
def convolution_by_transforms(api, x, kernel):
    """The product of spectra, shifted in time."""
    np = api.numpy
    product = np.fft.rfft(x, 10) * np.fft.rfft(kernel, 10)
    return np.fft.irfft(product, 10), np.fft.irfft(product * np.exp(-2j * np.pi * np.fft.rfftfreq(10) * 0.5), 10)


@program(lambda r: (normal(r, 4, 6),), grad=(0,))
def diffusion(api, x):
    """The heat equation on a torus, by its Fourier coefficients."""
    np = api.numpy
    rows, columns = np.fft.fftfreq(4)[:, None], np.fft.rfftfreq(6)
    return np.fft.irfft2(np.fft.rfft2(x) * np.exp(-(rows**2 + columns**2)), x.shape), np.fft.fftshift(x)


@program(lambda r: (complex_normal(r, 2, 3, 4),), grad=(0,))
def several_dimensions(api, z):
    """There, elsewhere and back."""
    np = api.numpy
    there = np.fft.fftn(z, axes=(0, 2), norm="ortho")
    return np.sin(there), api.lax.fft(there, "IFFT", (2, 3, 4)), np.fft.ihfft(np.real(z), axis=1)


# --- Complex numbers ------------------------------------------------------------------------------------------------


@program(lambda r: (complex_normal(r, 5),), grad=(0,))
def parts(api, z):
    """Real and imaginary parts, modulus, angle, conjugate."""
    np = api.numpy
    return np.real(z), np.imag(z), np.abs(z), np.angle(z), np.conj(z), z.real * z.imag


@program(lambda r: (complex_normal(r, 4), complex_normal(r, 4)), grad=(0, 1))
def complex_arithmetic(api, z, w):
    """Arithmetic with complex, real and Python operands."""
    return z * w + 2, z / w, z**2, (1 + 2j) * z, z - w.real, -z


@program(lambda r: (complex_normal(r, 4),), grad=(0,), slack=2.0)
def complex_functions(api, z):
    """exp, log, sin, tanh, sqrt."""
    np = api.numpy
    return np.exp(z), np.log(z), np.sin(z), np.cos(z), np.tanh(z), np.sqrt(z)


@program(lambda r: (complex_normal(r, 3, 4), complex_normal(r, 4, 2)), grad=(0, 1))
def complex_products(api, x, y):
    """Matrix products, a Hermitian one included."""
    np = api.numpy
    return x @ y, np.conj(x).T @ x, np.vdot(x[0], y[:, 0]), np.einsum("ij,jk->", x, y)


@program(lambda r: (normal(r, 4), normal(r, 4)), grad=(0, 1))
def build_complex(api, x, y):
    """From parts and from polar coordinates."""
    np = api.numpy
    return api.lax.complex(x, y), np.exp(x) * np.exp(1j * y), np.abs(api.lax.complex(x, y)) ** 2, x + 1j * y


@program(lambda r: (uniform(r, -1.5, 0.5, 4, 4), uniform(r, -1, 1, 4, 4)))
def mandelbrot(api, x, y):
    """Counts of iterations before escape."""
    np = api.numpy
    c = api.lax.complex(x, y)
    z, counts = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(8):
        z = np.where(np.abs(z) < 2.0, z * z + c, z)
        counts = counts + (np.abs(z) < 2.0)
    return counts


@program(lambda r: (complex_normal(r, 3, 4),), grad=(0,))
def complex_reductions(api, z):
    """Sums, means, products, comparison for equality."""
    np = api.numpy
    return np.sum(z, 0), np.mean(z), np.prod(z, 1), z == z, np.cumsum(z, axis=1), np.var(z)
