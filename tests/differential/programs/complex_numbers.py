"""Complex numbers."""

from ..corpus import complex_normal, normal, program, uniform


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
