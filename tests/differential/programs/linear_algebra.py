"""Products and decompositions of matrices, transforms of Fourier, complex numbers."""

from tests.differential.corpus import complex_normal, integers, normal, positive_definite, program, uniform

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


# --- custom_root and custom_linear_solve ---


def richardson(api, steps=60, rate=0.15):
    """A linear solver in a loop that cannot be differentiated in reverse."""

    def solve(matvec, b):
        tree = api.tree

        def step(state):
            i, x = state
            return i + 1, tree.map(lambda v, r, y: v + rate * (r - y), x, b, matvec(x))

        return api.lax.while_loop(lambda state: state[0] < steps, step, (0, tree.map(lambda v: v * 0.1, b)))[1]

    return solve


def newton(api, steps=12):
    """Newton's method for functions of each element by itself."""

    def solve(f, x):
        def step(state):
            i, x = state
            value, slope = api.jvp(f, (x,), (api.numpy.ones_like(x),))
            return i + 1, x - value / slope

        return api.lax.while_loop(lambda state: state[0] < steps, step, (0, x))[1]

    return solve


def divide(api):
    """The solution of linear equations for each element by itself."""
    return lambda g, y: y / g(api.numpy.ones_like(y))


def cube_root(api, a):
    return api.lax.custom_root(lambda x: x**3 - a, 1.0 + 0.0 * a, newton(api), divide(api))


@program(lambda r: (uniform(r, 0.5, 4.0),), grad=(0,), usual=True)
def root_of_a_scalar(api, a):
    """The derivative is that of the equation; the guess does not matter."""
    return cube_root(api, a), cube_root(api, a**2) * a


@program(lambda r: (uniform(r, 0.5, 4.0),), vmap=False, usual=True)
def derivatives_of_a_root(api, a):
    """Up to the third order, forward and reverse, jitted and not."""
    f, grad = (lambda v: cube_root(api, v)), api.grad
    return [
        grad(f)(a),
        grad(grad(f))(a),
        api.jit(grad(grad(grad(f))))(a),
        api.jvp(f, (a,), (a,)),
        api.jvp(grad(f), (a,), (a,)),
        api.hessian(f)(a),
        api.linearize(f, a)[1](2.0 * a),
        api.vjp(f, a)[1](2.0 * a),
    ]


@program(lambda r: (uniform(r, 0.5, 4.0, 3), uniform(r, 0.5, 2.0, 3)), vmap=False, usual=True)
def maps_of_a_root(api, a, guess):
    """Mapped over the equation, over the guess, over both; gradients of maps and maps of gradients."""
    np, vmap, grad = api.numpy, api.vmap, api.grad
    f = lambda v, g: api.lax.custom_root(lambda x: x**2 - v, g, newton(api), divide(api))
    return (
        vmap(f)(a, guess),
        vmap(f, (0, None))(a, guess[0]),
        vmap(f, (None, 0))(a[0], guess),
        vmap(grad(f), (None, 0))(a[0], guess),
        api.jit(vmap(grad(f), (0, None)))(a, guess[0]),
        grad(lambda v: np.sum(vmap(f, (0, None))(v, guess[0]) ** 2))(a),
        vmap(vmap(f, (None, 0)), (0, None))(a, guess),
        vmap(lambda v: api.jvp(lambda u: f(u, guess[0]), (v,), (v,)))(a),
    )


@program(lambda r: (uniform(r, 0.5, 2.0, 2), uniform(r, 0.5, 2.0)), grad=(0, 1), usual=True)
def root_of_a_tree(api, p, q):
    """A dict of unknowns; the linear equations of derivatives are solved by custom_linear_solve."""
    np, lax = api.numpy, api.lax

    def f(x):
        return {"u": 2.0 * x["u"] + 0.3 * np.sin(x["w"]) - p, "w": 3.0 * x["w"] + 0.1 * np.sum(x["u"]) ** 2 - q}

    def solve(f, x):
        step = lambda _, v: api.tree.map(lambda a, b: a - 0.3 * b, v, f(v))
        return lax.fori_loop(0, 60, step, x)

    def tangent_solve(g, y):
        linear = richardson(api, rate=0.3)
        return lax.custom_linear_solve(g, y, linear, transpose_solve=linear)

    return lax.custom_root(f, {"u": np.zeros(2), "w": np.float32(0.0)}, solve, tangent_solve)


@program(lambda r: (uniform(r, 0.5, 4.0),), grad=(0,), usual=True)
def root_with_auxiliary_values(api, a):
    """has_aux: a tree of values that have no derivatives."""

    def solve(f, x):
        x = newton(api)(f, x)
        return x, {"residual": f(x) * 0.0, "none": None, "twice": [2.0 * x]}

    root, aux = api.lax.custom_root(lambda x: x**2 - a, 1.0 + 0.0 * a, solve, divide(api), has_aux=True)
    return root, api.lax.stop_gradient(aux), root * aux["twice"][0]


@program(lambda r: (uniform(r, 0.5, 4.0), uniform(r, 0.5, 2.0, 3)), grad=(0, 1), usual=True)
def root_in_control_flow(api, a, xs):
    """In scan, cond, checkpoint, a loop of known length, and in itself."""
    lax = api.lax
    f = lambda v: cube_root(api, v)
    scanned = lax.scan(lambda c, x: (f(c + x), f(x)), a, xs)
    chosen = lax.cond(a > 2.0, f, lambda v: f(2.0 * v), a)
    looped = lax.fori_loop(0, 2, lambda i, v: f(v + xs[i]), a)
    return scanned, chosen, looped, api.checkpoint(lambda v: f(f(v)))(a)


@program(lambda r: (uniform(r, 0.5, 2.0),), grad=(0,), usual=True)
def root_of_a_root(api, a):
    """The function of the outer equation solves an equation itself."""
    inner = lambda v: api.lax.custom_root(lambda y: y**2 - v, 1.0 + 0.0 * v, newton(api), divide(api))
    return api.lax.custom_root(lambda x: inner(x) + x - a, 0.3 + 0.0 * a, newton(api), divide(api))


@program(lambda r: (uniform(r, 0.5, 2.0, 3),), grad=(0,), usual=True)
def root_found_by_bisection(api, a):
    """A solver that only compares, with a carry of its own."""
    np = api.numpy

    def bisect(f, x):
        def step(_, ends):
            low, high = ends
            middle = 0.5 * (low + high)
            above = f(middle) > 0
            return np.where(above, low, middle), np.where(above, middle, high)

        low, high = api.lax.fori_loop(0, 30, step, (np.zeros_like(x), np.full_like(x, 4.0)))
        return 0.5 * (low + high)

    return api.lax.custom_root(lambda x: x * np.exp(x) - a, a, bisect, divide(api))


@program(lambda r: (positive_definite(r, 3), normal(r, 3)), grad=(0, 1), usual=True, slack=20.0)
def symmetric_linear_solve(api, matrix, b):
    """`symmetric` makes the solver serve for the transposed equation too."""
    even = (matrix + matrix.T) / 2
    return api.lax.custom_linear_solve(lambda x: even @ x, b, richardson(api), symmetric=True)


@program(lambda r: (positive_definite(r, 3), normal(r, 3)), grad=(0, 1), usual=True, slack=20.0)
def linear_solve_with_transpose(api, matrix, b):
    """A matrix that is not symmetric; transpose_solve gets the transposed function."""
    np = api.numpy
    skewed = matrix + np.triu(matrix, 1) * 0.3
    solve = richardson(api)
    return api.lax.custom_linear_solve(lambda x: skewed @ x, b, solve, transpose_solve=solve)


@program(lambda r: (uniform(r, 1.0, 2.0, 3), normal(r, 3)), vmap=False, usual=True)
def linear_solve_forward_alone(api, d, b):
    """Without transpose_solve there are forward derivatives; solve need not use matvec."""
    solve = lambda d, b: api.lax.custom_linear_solve(lambda x: d * x, b, lambda _, y: y / d)
    second = lambda v: api.jvp(lambda u: solve(u, b), (v,), (b,))[1]
    return solve(d, b), api.jvp(solve, (d, b), (b, d)), api.jacfwd(solve)(d, b), api.jacfwd(second)(d)


@program(lambda r: (positive_definite(r, 2), normal(r, 2)), vmap=False, usual=True, slack=50.0)
def derivatives_of_a_linear_solve(api, matrix, b):
    """Gradient, gradient of it, Hessian; linear in b: transposed by hand."""
    np = api.numpy
    run = richardson(api)
    solve = lambda m, v: api.lax.custom_linear_solve(lambda x: m @ x, v, run, transpose_solve=run)
    loss = lambda m, v: np.sum(np.sin(solve(m, v)))
    return (
        api.grad(loss, (0, 1))(matrix, b),
        api.jit(api.grad(lambda m: np.sum(api.grad(loss)(m, b))))(matrix),
        api.hessian(loss, 1)(matrix, b),
        api.linear_transpose(lambda v: solve(matrix, v), b)(b),
        api.jvp(api.grad(loss), (matrix, b), (matrix, b)),
    )


@program(lambda r: (uniform(r, 1.0, 2.0, 3, 2), normal(r, 3, 2)), vmap=False, usual=True, slack=4.0)
def maps_of_a_linear_solve(api, ds, bs):
    """The matrix mapped, the right-hand side, both, in several axes, twice; solvers in loops."""
    np, vmap, grad = api.numpy, api.vmap, api.grad
    run = richardson(api, 40, 0.4)
    solve = lambda d, b: api.lax.custom_linear_solve(lambda x: d * x, b, run, symmetric=True)
    loss = lambda d, b: np.sum(solve(d, b) ** 2)
    return (
        vmap(solve)(ds, bs),
        vmap(solve, (0, None))(ds, bs[0]),
        vmap(solve, (None, 1))(ds[:, 0], bs),
        vmap(solve, (1, None), 1)(ds, bs[:, 0]),
        vmap(vmap(solve, (None, 0)), (0, None))(ds, bs),
        api.jit(vmap(grad(loss, (0, 1)), (None, 0)))(ds[0], bs),
        grad(lambda d: np.sum(vmap(loss, (None, 0))(d, bs)))(ds[0]),
        grad(lambda b: np.sum(vmap(loss, (0, None))(ds, b)))(bs[0]),
    )


@program(
    lambda r: ({"a": uniform(r, 1.0, 2.0, 2), "c": uniform(r, 1.0, 2.0)}, [normal(r, 2), normal(r)]),
    grad=(0, 1),
    usual=True,
    slack=4.0,
)
def linear_solve_of_a_tree(api, d, b):
    """A list of arrays, coupled."""
    np = api.numpy
    matvec = lambda x: [d["a"] * x[0] + 0.2 * x[1], d["c"] * x[1] + 0.2 * np.sum(x[0])]
    return api.lax.custom_linear_solve(matvec, b, richardson(api, 60, 0.4), symmetric=True)


@program(lambda r: (uniform(r, 1.0, 2.0, 3), normal(r, 3)), grad=(0, 1), usual=True)
def linear_solve_with_auxiliary_values(api, d, b):
    """has_aux, in solve and transpose_solve alike."""

    def solve(matvec, y):
        return y / d, {"twice": 2.0 * y, "steps": 3}

    x, aux = api.lax.custom_linear_solve(lambda v: d * v, b, solve, transpose_solve=solve, has_aux=True)
    return x, aux["twice"], aux["steps"]


@program(lambda r: (uniform(r, 1.0, 2.0, 3), normal(r, 2, 3)), grad=(0, 1), usual=True, slack=4.0)
def linear_solve_in_control_flow(api, d, bs):
    """In scan, cond, checkpoint, jit; the matrix closed over from outside."""
    lax, np = api.lax, api.numpy
    run = richardson(api, 40, 0.4)
    solve = api.jit(lambda b: lax.custom_linear_solve(lambda x: d * x, b, run, symmetric=True))
    scanned = lax.scan(lambda c, b: (solve(c + b), np.sum(solve(b))), d, bs)
    chosen = lax.cond(np.sum(bs) > 0, solve, lambda v: solve(2.0 * v), bs[0])
    return scanned, chosen, api.checkpoint(lambda v: solve(np.sin(solve(v))))(bs[1])


@program(lambda r: (uniform(r, 1.0, 2.0), normal(r, 3)), usual=True)
def linear_solve_and_weak_types(api, d, b):
    """Right-hand sides that are Python numbers; the solution has the type of the right-hand side."""
    solve = lambda y: api.lax.custom_linear_solve(lambda x: d * x, y, lambda _, v: v / d, symmetric=True)
    return api.jit(solve)(b), api.jit(lambda: solve(2.0))(), api.vmap(solve)(b)


@program(lambda r: (normal(r, 2, 2), normal(r, 2)), usual=True, vmap=False)
def linear_solve_of_complex_numbers(api, m, b):
    """A complex system: transposed, not conjugated."""
    np = api.numpy
    matrix = np.eye(2) * (3.0 + 1.0j) + 0.3j * m
    solve = lambda f, y: api.lax.fori_loop(0, 40, lambda _, x: x + 0.3 * (y - f(x)), y)
    run = lambda v: api.lax.custom_linear_solve(lambda x: matrix @ x, v, solve, transpose_solve=solve)
    loss = lambda v: np.sum(np.abs(run(v)) ** 2)
    return run(b + 1.0j), api.grad(loss)(b + 1.0j), api.vjp(run, b + 0.0j)[1](b + 1.0j)
