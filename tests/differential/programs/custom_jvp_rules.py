"""custom_jvp: rules for one and many arguments, nondiff arguments, symbolic zeros, trees; under all transformations."""

import functools

import numpy

from ..corpus import complex_normal, integers, normal, program, uniform


def halved(api, function, slope):
    """`function` of one argument, with half its slope: so that it is evident that the rule is used."""
    custom = api.custom_jvp(function)
    custom.defjvp(lambda primals, tangents: (custom(*primals), 0.5 * slope(*primals) * tangents[0]))
    return custom


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def custom_jvp_of_one_argument(api, x):
    """The rule serves reverse mode and maps."""
    return halved(api, api.numpy.sin, api.numpy.cos)(x)


@program(lambda r: (normal(r), normal(r, 3)), grad=(0, 1), usual=True)
def custom_jvp_of_two_arguments(api, a, x):
    """A rule that uses both tangents, and jitted functions inside."""
    np = api.numpy

    @api.custom_jvp
    def scaled(a, x):
        return np.sin(a) * x

    @scaled.defjvp
    def scaled_jvp(primals, tangents):
        (a, x), (da, dx) = primals, tangents
        return scaled(a, x), api.jit(lambda u, v: 3.0 * u * np.cos(a) * x + v * np.sin(a))(da, dx)

    return scaled(a, x), scaled(x[0], x * a)


@program(lambda r: (uniform(r, 0.5, 2.0), uniform(r, 0.5, 2.0)), grad=(0, 1), usual=True)
def custom_jvp_by_argument(api, x, y):
    """defjvps: one rule for each argument, and None for an argument without influence."""
    power = api.custom_jvp(lambda x, y, z: x**y)
    power.defjvps(lambda t, ans, x, y, z: y * ans / x * t, lambda t, ans, x, y, z: 2.0 * ans * t, None)
    return power(x, y, 1.0), power(x, 2.0, y)


@program(lambda r: (normal(r, 3), normal(r, 3)), grad=(0, 1), usual=True)
def custom_jvp_with_nondiff_argnums(api, x, y):
    """Functions and numbers in front of the others, whatever their positions."""
    np = api.numpy

    @functools.partial(api.custom_jvp, nondiff_argnums=(0, 2))
    def apply(function, x, times, y):
        return function(x) * times + y

    @apply.defjvp
    def rule(function, times, primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return apply(function, x, times, y), dx * times * 0.5 + dy

    return apply(np.sin, x, 3, y), api.jit(lambda a: apply(np.cos, a, 2.0, a))(x)


@program(lambda r: (normal(r), normal(r)), vmap=False, usual=True)
def custom_jvp_with_traced_nondiff_arguments(api, x, times):
    """Under jit and vmap they may be traced; to derivatives they are constants."""
    f = api.custom_jvp(lambda times, x: x * times, nondiff_argnums=(0,))
    f.defjvp(lambda times, p, t: (f(times, *p), 3.0 * times * t[0]))
    return (
        api.jit(lambda n, v: api.grad(f, 1)(n, v))(times, x),
        api.vmap(api.grad(f, 1), (0, None))(api.numpy.arange(3.0), x),
        api.grad(f, (0, 1))(times, x),
    )


@program(lambda r: (normal(r),), grad=(0,), usual=True)
def custom_jvp_with_nondiff_argnames(api, x):
    """Named, passed by name, and defaults."""

    @functools.partial(api.custom_jvp, nondiff_argnames=("mode",))
    def apply(x, mode="sin"):
        return getattr(api.numpy, mode)(x)

    apply.defjvp(lambda mode, primals, tangents: (apply(*primals, mode), len(mode) * tangents[0]))
    return apply(x), apply(x, mode="tanh"), apply(x=x)


@program(lambda r: (normal(r, 2),), vmap=False, usual=True)
def custom_jvp_with_unhashable_nondiff_arguments(api, x):
    """Lists and dicts may be nondiff arguments."""
    np = api.numpy
    weighted = api.custom_jvp(lambda options, x: x * sum(options["w"]), nondiff_argnums=(0,))
    weighted.defjvp(lambda options, primals, tangents: (weighted(options, *primals), options["w"][0] * tangents[0]))
    run = lambda v: np.sum(weighted({"w": [2.0, 3.0]}, v) ** 2)
    return run(x), api.grad(run)(x), api.jit(api.grad(run))(x), api.vmap(lambda v: weighted({"w": [1.0]}, v))(x)


@program(lambda r: (normal(r), normal(r)), grad=(0, 1), usual=True)
def custom_jvp_with_symbolic_zeros(api, x, y):
    """Rules that leave out what is known to be zero, and return symbolic zeros themselves."""
    np, zero = api.numpy, api.custom_derivatives.SymbolicZero

    @api.custom_jvp
    def f(x, y, z):
        return np.multiply(x, y), np.add(z, z)

    def rule(primals, tangents):
        x, y, z = primals
        dx, dy, dz = tangents
        terms = [t * w for t, w in ((dx, y), (dy, 10.0 * x)) if type(t) is not zero]
        out, other = f(x, y, z)
        first = sum(terms) if terms else api.custom_derivatives.zero_from_primal(out, symbolic_zeros=True)
        return (out, other), (first, dz if type(dz) is zero else dz * 3.0)

    f.defjvp(rule, symbolic_zeros=True)
    return f(x, y, 1.0), f(x, 2.0, y), f(1.0, np.sin(x), x)


@program(lambda r: ({"a": normal(r, 2), "b": (normal(r), normal(r, 3))},), grad=(0,), usual=True)
def custom_jvp_of_trees(api, tree):
    """Trees in and out, None among them."""
    np = api.numpy

    @api.custom_jvp
    def f(tree, none):
        return {"sum": np.sum(tree["a"]) * tree["b"][0], "rest": [none, tree["b"][1] ** 2]}

    @f.defjvp
    def rule(primals, tangents):
        (tree, _), (t, none) = primals, tangents
        slope = {"sum": np.sum(t["a"]) + t["b"][0], "rest": [none, tree["b"][1] * t["b"][1]]}
        return f(*primals), slope

    return f(tree, None)


@program(lambda r: (normal(r), integers(r, 1, 4)), grad=(0,), usual=True)
def custom_jvp_of_integers(api, x, n):
    """An integer argument has tangents of dtype float0."""
    np = api.numpy
    repeat = api.custom_jvp(lambda x, n: (np.multiply(x, n), np.add(n, 1)))

    @repeat.defjvp
    def rule(primals, tangents):
        assert tangents[1].dtype == api.dtypes.float0
        return repeat(*primals), (tangents[0] * 7.0, tangents[1])

    return repeat(x, n), repeat(2.0 * x, 3)


@program(lambda r: (normal(r),), vmap=False, usual=True)
def derivatives_of_custom_jvp(api, x):
    """Up to the third order, in all directions, jitted and not: the rule is differentiated, and what it calls."""
    f = halved(api, api.numpy.sin, api.numpy.cos)
    grad, jvp = api.grad, api.jvp
    return [
        grad(f)(x),
        grad(grad(f))(x),
        grad(grad(grad(f)))(x),
        jvp(grad(f), (x,), (1.0,)),
        jvp(lambda v: jvp(f, (v,), (v,))[1], (x,), (1.0,)),
        api.jit(grad(api.jit(grad(f))))(x),
        api.hessian(f)(x),
        api.linearize(f, x)[1](2.0),
        api.vjp(f, x)[1](2.0),
    ]


@program(lambda r: (normal(r, 3), normal(r, 3)), vmap=False, usual=True)
def maps_of_custom_jvp(api, x, y):
    """Mapped over each argument and both, nested, before and after differentiation."""
    np, vmap, grad = api.numpy, api.vmap, api.grad
    f = api.custom_jvp(lambda x, y: np.sin(x) * y)
    f.defjvp(lambda p, t: (f(*p), 2.0 * np.cos(p[0]) * p[1] * t[0] + 3.0 * np.sin(p[0]) * t[1]))
    return (
        vmap(f)(x, y),
        vmap(f, (0, None))(x, 2.0),
        vmap(grad(f, (0, 1)), (None, 0))(x[0], y),
        grad(lambda u, v: np.sum(vmap(vmap(f, (None, 0)), (0, None))(u, v)), (0, 1))(x, y),
        api.jit(vmap(grad(grad(f)), (0, None)))(x, 1.5),
        vmap(lambda u: api.jvp(f, (u, u), (1.0, u)))(x),
    )


@program(lambda r: (normal(r), normal(r, 3)), grad=(0, 1), usual=True)
def custom_jvp_in_control_flow(api, x, xs):
    """Inside scan, cond, a loop of known length and checkpoint."""
    lax = api.lax
    f = halved(api, api.numpy.sin, api.numpy.cos)
    scanned = lax.scan(lambda c, v: (f(c * v), f(v)), x, xs)
    chosen = lax.cond(x > 0, f, lambda v: f(2.0 * v), x)
    looped = lax.fori_loop(0, 2, lambda i, v: f(v) + xs[i], x)
    return scanned, chosen, looped, api.checkpoint(lambda v: f(f(v)))(x)


@program(lambda r: (normal(r), normal(r)), grad=(0, 1), usual=True)
def custom_jvp_in_custom_jvp(api, x, y):
    """A function with a rule that calls another one, in its body and in its rule."""
    inner = halved(api, api.numpy.exp, api.numpy.exp)
    outer = api.custom_jvp(lambda x, y: inner(x) * y)
    outer.defjvp(lambda p, t: (outer(*p), inner(p[0]) * t[1] + inner(p[1]) * t[0]))
    return outer(x, y), outer(inner(x), x)


@program(lambda r: (normal(r), normal(r)), grad=(0,), usual=True)
def custom_jvp_closing_over_values(api, x, y):
    """Function and rule close over constants; what calls them closes over a traced value."""
    table = numpy.arange(3.0, dtype="float32")
    f = api.custom_jvp(lambda x: x * table)
    f.defjvp(lambda p, t: (f(*p), t[0] * table * 2.0))
    run = api.jit(lambda v: f(v) * y)
    return f(x), run(x), api.vmap(lambda v: f(v)[1])(table * x)


@program(lambda r: (complex_normal(r), normal(r)), usual=True)
def custom_jvp_of_complex_numbers(api, z, x):
    """Complex functions, real results of complex arguments, holomorphic derivatives."""
    np = api.numpy
    square = halved(api, lambda v: np.multiply(v, v), lambda v: 2.0 * v)
    size = api.custom_jvp(lambda v: np.abs(v) ** 2)
    size.defjvp(lambda p, t: (size(*p), 4.0 * np.real(np.conj(p[0]) * t[0])))
    return square(z), api.grad(square, holomorphic=True)(z), api.grad(size)(z), api.jvp(size, (z,), (z * x,))


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def custom_jvp_in_a_class(api, x):
    """A rule for a function in a class, and a function that is a partial."""
    np = api.numpy

    class Layer:
        scale = 3.0

        @functools.partial(api.custom_jvp, nondiff_argnums=(0,))
        def apply(self, x):
            return np.tanh(x) * self.scale

        @apply.defjvp
        def rule(self, primals, tangents):
            return Layer.apply(self, *primals), tangents[0] * self.scale

    shifted = api.custom_jvp(functools.partial(lambda shift, v: v + shift, 2.0))
    shifted.defjvp(lambda p, t: (shifted(*p), 5.0 * t[0]))
    return Layer.apply(Layer(), x), shifted(x)


@program(lambda r: (uniform(r, -3.0, 3.0),), grad=(0,), vmap=False, jit=False)
def custom_jvp_that_looks_at_values(api, x):
    """Outside jit function and rule may branch on their arguments."""
    np = api.numpy
    f = api.custom_jvp(lambda v: np.multiply(v, 2.0) if v > 0 else np.negative(v))
    f.defjvp(lambda p, t: (f(*p), t[0] * (10.0 if p[0] > 0 else 20.0)))
    return f(x), f(-x), api.vjp(f, x)[1](np.asarray(x))


@program(lambda r: (normal(r, 2),), grad=(0,), usual=True)
def nn_functions_with_rules(api, x):
    """Functions of the library that have rules of their own."""
    nn = api.nn
    return nn.relu(x), nn.softplus(x), nn.logsumexp(x), nn.silu(x)
