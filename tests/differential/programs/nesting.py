"""Transformations inside programs, in many nestings."""

from ..corpus import normal, positive_definite, program, uniform


@program(lambda r: (normal(r, 3), normal(r, 5, 3)), grad=(0,), vmap=(0, None))
def gradient_of_vmap_of_jit(api, w, rows):
    """jit inside vmap inside grad, and jit around."""
    np = api.numpy
    score = api.jit(lambda v, row: np.tanh(np.dot(v, row)))
    loss = api.jit(lambda v: np.sum(api.vmap(score, in_axes=(None, 0))(v, rows) ** 2))
    return loss(w), api.grad(loss)(w), api.jit(api.grad(loss))(w)


@program(lambda r: (normal(r, 4),), grad=(0,))
def hessian_of_rosenbrock(api, x):
    """The full Hessian of a test function."""
    return api.hessian(lambda v: api.numpy.sum(100.0 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2))(x)


@program(lambda r: (normal(r, 3), normal(r, 3)), grad=(0, 1))
def jacobians(api, x, y):
    """Forward and reverse Jacobians of a vector function."""

    def function(u, v):
        return api.numpy.sin(u) * api.numpy.sum(v**2), u[:2] / (1 + v[1:] ** 2)

    return api.jacfwd(function)(x, y), api.jacrev(function, argnums=(0, 1))(x, y)


@program(lambda r: (normal(r, 3), normal(r, 3)), grad=(0, 1))
def directional_derivative(api, x, direction):
    """jvp of a composite."""
    return api.jvp(lambda v: api.numpy.exp(api.numpy.sin(v)) * v, (x,), (direction,))


@program(lambda r: (normal(r, 3), normal(r, 4), normal(r, 3, 4)), grad=(0, 2))
def pullback(api, x, cotangent, matrix):
    """vjp with respect to two arguments."""
    value, pull = api.vjp(lambda v, m: api.numpy.tanh(v @ m), x, matrix)
    return value, pull(cotangent)


@program(lambda r: (normal(r, 4), normal(r, 4)), grad=(0, 1))
def linearised(api, x, tangent):
    """linearize, then apply twice."""
    value, linear = api.linearize(lambda v: api.numpy.sin(v) * api.numpy.cumsum(v), x)
    return value, linear(tangent), linear(2.0 * tangent)


@program(lambda r: (normal(r, 3, 4), normal(r, 3)), grad=(0, 1))
def transposed_linear_map(api, matrix, cotangent):
    """linear_transpose of a matrix product."""
    transpose = api.linear_transpose(lambda v: 2.0 * (matrix @ v), api.numpy.zeros(4))
    return transpose(cotangent)


@program(lambda r: (normal(r, 5), normal(r, 5)), grad=(0,))
def hessian_vector_product(api, x, vector):
    """Forward over reverse, and reverse over reverse."""
    np = api.numpy

    def function(v):
        return np.sum(np.sin(v) * v**2) + np.prod(v[:3])

    forward = api.jvp(api.grad(function), (x,), (vector,))[1]
    return forward, api.grad(lambda v: np.vdot(api.grad(function)(v), vector))(x)


@program(lambda r: (uniform(r, 0.3, 1.0),), grad=(0,))
def higher_derivatives(api, x):
    """Up to the fourth derivative of a scalar function."""
    function, found = (lambda v: api.numpy.sin(v) * api.numpy.exp(v)), []
    for _ in range(4):
        function = api.grad(function)
        found.append(function(x))
    return found


@program(lambda r: (normal(r, 4, 3), normal(r, 6, 4), normal(r, 6, 3)), vmap=(0, None, None))
def per_example_gradient_norms(api, weights, inputs, targets):
    """vmap of grad, and a reduction of its result."""
    np = api.numpy

    def loss(w, x, y):
        return np.sum((np.tanh(x @ w) - y) ** 2)

    gradients = api.vmap(api.grad(loss), in_axes=(None, 0, 0))(weights, inputs, targets)
    return np.sqrt(np.sum(gradients**2, axis=(1, 2)))


@program(lambda r: (normal(r, 4, 3), normal(r, 3, 5)), grad=(0, 1))
def axes_of_vmap(api, x, y):
    """in_axes and out_axes other than the first; an unmapped argument; two levels."""
    np, vmap = api.numpy, api.vmap
    one = vmap(lambda a, b: a[:, None] * b, in_axes=(1, 0), out_axes=1)(x, y)
    return one, vmap(vmap(np.multiply, (None, 0)), (0, None))(x[:, 0], y[0]), vmap(np.dot, (None, 1), -1)(x, y)


@program(lambda r: (normal(r, 4),), grad=(0,))
def value_gradient_and_aux(api, x):
    """value_and_grad with auxiliary output."""
    np = api.numpy

    def function(v):
        squares = v**2
        return np.sum(squares * v), {"squares": squares, "largest": np.max(v)}

    (value, aux), gradient = api.value_and_grad(function, has_aux=True)(x)
    return value, aux, gradient


@program(lambda r: (normal(r, 4),), grad=(0,))
def static_arguments(api, x):
    """jit with static arguments by position and by name."""
    np = api.numpy
    power = api.jit(
        lambda v, exponent, *, shift: sum(v**n for n in range(exponent)) + shift,
        static_argnums=1,
        static_argnames="shift",
    )
    return power(x, 3, shift=1.0), power(x, 2, shift=2.0), api.jit(np.reshape, static_argnums=1)(x, (2, 2))


@program(lambda r: (positive_definite(r, 3), normal(r, 3)), grad=(0, 1), slack=4.0)
def natural_gradient_step(api, curvature, x):
    """Gradient descent whose step uses a Jacobian-vector product."""
    np = api.numpy

    def function(v):
        return 0.5 * v @ curvature @ v + np.sum(np.cos(v))

    gradient = api.grad(function)(x)
    _, curved = api.jvp(api.grad(function), (x,), (gradient,))
    return x - gradient * (gradient @ gradient) / (gradient @ curved + 1.0)


@program(lambda r: (normal(r, 2, 3), normal(r, 3)), grad=(0, 1))
def vmap_of_jacobian(api, points, x):
    """A batch of Jacobians, and the Jacobian of a batch."""
    np = api.numpy
    return api.vmap(api.jacrev(lambda p: np.outer(p, np.sin(p))))(points), api.jacfwd(api.vmap(lambda p: p @ x))(points)


@program(lambda r: (normal(r, 3),), grad=(0,))
def closures_over_tracers(api, x):
    """An inner gradient whose function uses an outer tracer."""
    np = api.numpy
    return api.grad(lambda y: np.sum(x * np.sin(y * x)))(x), api.jit(lambda y: y + x)(2.0 * x)


@program(lambda r: (normal(r, 6),), jit=False, vmap=False, grad=(0,))
def python_control_flow(api, x):
    """Outside jit, Python looks at values."""
    total = x[0]
    for value in x[1:]:
        total = total + value if value > 0 else total * 0.5
    while total > 1.0:
        total = total / 2
    return total


@program(lambda r: (normal(r, 2, 3), normal(r, 3)), grad=(0, 1))
def jit_of_jit(api, x, y):
    """Nested jits that share an inner function."""
    inner = api.jit(lambda a, b: api.numpy.tanh(a * b))
    outer = api.jit(lambda a, b: inner(a, b) + inner(b, a) * 2.0)
    return outer(x, y), inner(y, y)


@program(lambda r: (normal(r, 3), normal(r, 3)), grad=(0,))
def keyword_arguments(api, x, y):
    """Keyword arguments through jit, grad and vmap."""
    np = api.numpy

    def function(a, *, b, scale=2.0):
        return np.sum(np.sin(a) * b) * scale

    return api.jit(function)(x, b=y), api.grad(function)(x, b=y, scale=3.0), api.vmap(lambda a, b: a * b)(x, b=y)
