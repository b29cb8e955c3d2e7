"""custom_vjp, custom_gradient, closure_convert: residuals, nondiff arguments, symbolic zeros, trees, closures."""

import functools

from tests.differential.corpus import complex_normal, integers, normal, program, uniform


def tripled(api, function, slope):
    """`function` of one argument, with three times its slope in reverse."""
    custom = api.custom_vjp(function)
    custom.defvjp(lambda x: (custom(x), slope(x)), lambda slope, ct: (3.0 * slope * ct,))
    return custom


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def custom_vjp_of_one_argument(api, x):
    """The rule in reverse, and under maps."""
    return tripled(api, api.numpy.sin, api.numpy.cos)(x)


@program(lambda r: (normal(r, 3), normal(r)), grad=(0, 1), usual=True)
def custom_vjp_clips_gradients(api, x, bound):
    """The identity whose cotangent is clipped, by a bound that is an argument too."""
    np = api.numpy
    clip = api.custom_vjp(lambda bound, v: v)
    clip.defvjp(lambda bound, v: (v, bound), lambda bound, g: (None, np.clip(g, -np.abs(bound), np.abs(bound))))
    return np.sin(clip(bound, x) * 3.0)


@program(lambda r: (normal(r, 2), normal(r, 2)), grad=(0, 1), usual=True)
def custom_vjp_with_nondiff_argnums(api, x, y):
    """Functions and numbers that fwd gets in place, and bwd in front."""
    np = api.numpy

    @functools.partial(api.custom_vjp, nondiff_argnums=(0, 2))
    def apply(function, x, times, y):
        return function(x) * times + y

    def fwd(function, x, times, y):
        return apply(function, x, times, y), (x, y)

    def bwd(function, times, residuals, ct):
        x, y = residuals
        return function(x) * times * ct, y * ct

    apply.defvjp(fwd, bwd)
    return apply(np.sin, x, 3, y), api.jit(lambda a: apply(np.cos, a, 2.0, a))(x)


@program(lambda r: (normal(r),), grad=(0,), usual=True)
def custom_vjp_with_nondiff_argnames(api, x):
    """Named, with a default, passed by name."""

    @functools.partial(api.custom_vjp, nondiff_argnames=("mode",))
    def apply(x, mode="sin"):
        return getattr(api.numpy, mode)(x)

    apply.defvjp(lambda x, mode: (apply(x, mode), x), lambda mode, x, ct: (len(mode) * ct * x,))
    return apply(x), apply(x, mode="tanh"), apply(x=x, mode="cos")


@program(lambda r: (normal(r, 2),), vmap=False, usual=True)
def custom_vjp_with_unhashable_nondiff_arguments(api, x):
    """Lists and dicts may be nondiff arguments."""
    np = api.numpy
    weighted = api.custom_vjp(lambda options, x: x * sum(options["w"]), nondiff_argnums=(0,))
    weighted.defvjp(lambda options, x: (weighted(options, x), x), lambda options, x, ct: (options["w"][0] * ct * x,))
    run = lambda v: np.sum(weighted({"w": [2.0, 3.0]}, v) ** 2)
    return run(x), api.grad(run)(x), api.jit(api.grad(run))(x), api.vmap(lambda v: weighted({"w": [1.0]}, v))(x)


@program(lambda r: (normal(r), normal(r)), grad=(0, 1), usual=True)
def custom_vjp_with_symbolic_zeros(api, x, y):
    """fwd sees what is differentiated; bwd sees which cotangents are zero."""
    np, zero = api.numpy, api.custom_derivatives.SymbolicZero

    @api.custom_vjp
    def f(x, y):
        return x * y, np.sin(x)

    def fwd(x, y):
        flags = (x.perturbed, y.perturbed)
        scale = 1.0 + 2.0 * flags[0] + 4.0 * flags[1]
        return f(x.value, y.value), (x.value, y.value, scale)

    def bwd(residuals, cts):
        x, y, scale = residuals
        total = sum([0.0 if type(ct) is zero else ct for ct in cts])
        return total * y * scale, total * x

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return f(x, y), f(x, 2.0)[0], f(1.0, y)[0] * f(x, y)[1]


@program(lambda r: ({"a": normal(r, 2), "b": (normal(r), normal(r, 3))},), grad=(0,), usual=True)
def custom_vjp_of_trees(api, tree):
    """Trees of arguments, residuals and results; a cotangent left out by None."""
    np = api.numpy

    @api.custom_vjp
    def f(tree, none):
        return {"sum": np.sum(tree["a"]) * tree["b"][0], "rest": [none, tree["b"][1] ** 2]}

    def fwd(tree, none):
        return f(tree, none), {"tree": tree, "none": None}

    def bwd(residuals, ct):
        a, (b, _) = residuals["tree"]["a"], residuals["tree"]["b"]
        return {"a": a * ct["sum"], "b": (None, ct["rest"][1] * b)}, None

    f.defvjp(fwd, bwd)
    return f(tree, None)


@program(lambda r: (normal(r), integers(r, 1, 4)), grad=(0,), usual=True)
def custom_vjp_of_integers(api, x, n):
    """Integer arguments take None as cotangent, integer results give none; residuals may be integers."""
    np = api.numpy
    repeat = api.custom_vjp(lambda x, n: (np.multiply(x, n), np.add(n, 1)))
    repeat.defvjp(lambda x, n: (repeat(x, n), n), lambda n, ct: (ct[0] * n * 2.0, None))
    return repeat(x, n), repeat(2.0 * x, 3)


@program(lambda r: (normal(r),), vmap=False, usual=True)
def derivatives_of_custom_vjp(api, x):
    """Reverse over reverse: through fwd and bwd; forward over reverse where fwd has forward derivatives."""
    f, grad, np = tripled(api, api.numpy.sin, api.numpy.cos), api.grad, api.numpy
    g = api.custom_vjp(np.sin)
    g.defvjp(lambda v: (np.sin(v), v), lambda v, ct: (3.0 * np.cos(v) * ct,))
    return [
        grad(f)(x),
        grad(grad(f))(x),
        api.jvp(grad(g), (x,), (1.0,)),
        api.hessian(g)(x),
        api.jit(grad(api.jit(grad(f))))(x),
        api.vjp(f, x)[1](2.0),
        api.jacrev(lambda v: f(v * 2.0))(x),
        api.value_and_grad(lambda v: f(f(v)))(x),
    ]


@program(lambda r: (normal(r, 3), normal(r, 3)), vmap=False, usual=True)
def maps_of_custom_vjp(api, x, y):
    """Mapped over each argument and both: what all rows share gets the sum of cotangents."""
    np, vmap, grad = api.numpy, api.vmap, api.grad
    f = api.custom_vjp(lambda x, y: np.sin(x) * y)
    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda r, ct: (2.0 * ct * r[1], 3.0 * ct * np.sin(r[0])))
    return (
        vmap(f)(x, y),
        vmap(f, (0, None))(x, 2.0),
        vmap(grad(f, (0, 1)), (None, 0))(x[0], y),
        grad(lambda u, v: np.sum(vmap(vmap(f, (None, 0)), (0, None))(u, v)), (0, 1))(x, y),
        grad(lambda u: np.sum(vmap(f, (0, None))(x, u)))(y[0]),
        api.jit(vmap(grad(grad(f)), (0, None)))(x, 1.5),
        api.jacrev(lambda u: vmap(f)(u, y))(x),
    )


@program(lambda r: (normal(r), normal(r, 3)), grad=(0, 1), usual=True)
def custom_vjp_in_control_flow(api, x, xs):
    """Inside scan, cond, a loop of known length and checkpoint."""
    lax = api.lax
    f = tripled(api, api.numpy.sin, api.numpy.cos)
    scanned = lax.scan(lambda c, v: (f(c * v), f(v)), x, xs)
    chosen = lax.cond(x > 0, f, lambda v: f(2.0 * v), x)
    looped = lax.fori_loop(0, 2, lambda i, v: f(v) + xs[i], x)
    return scanned, chosen, looped, api.checkpoint(lambda v: f(f(v)))(x)


@program(lambda r: (uniform(r, 1.0, 4.0),), grad=(0,), usual=True)
def custom_vjp_around_a_loop(api, x):
    """A fixed point found by a while loop, which has no reverse derivative of its own."""
    lax = api.lax

    @api.custom_vjp
    def root(a):
        return lax.while_loop(lambda s: s[0] < 8, lambda s: (s[0] + 1, 0.5 * (s[1] + a / s[1])), (0, a))[1]

    root.defvjp(lambda a: (root(a), root(a)), lambda y, ct: (0.5 * ct / y,))
    return root(x) * x


@program(lambda r: (normal(r), normal(r)), grad=(0, 1), usual=True)
def custom_vjp_beside_custom_jvp(api, x, y):
    """Each calls the other one."""
    np = api.numpy
    forward = api.custom_jvp(np.exp)
    forward.defjvp(lambda p, t: (forward(*p), 2.0 * t[0]))
    backward = tripled(api, lambda v: forward(v) * v, forward)
    around = api.custom_jvp(lambda a, b: forward(a) * b)
    around.defjvp(lambda p, t: (around(*p), forward(p[0]) * t[1] + forward(p[1]) * t[0]))
    return backward(x) * around(x, y), api.jit(backward)(around(y, x))


@program(lambda r: (complex_normal(r, 2),), usual=True)
def custom_vjp_of_complex_numbers(api, z):
    """Complex cotangents."""
    np = api.numpy
    f = api.custom_vjp(lambda v: v * v)
    f.defvjp(lambda v: (f(v), v), lambda v, ct: (ct * v * (1.0 + 2.0j),))
    return f(z), api.vjp(f, z)[1](z), api.grad(lambda v: np.sum(np.abs(f(v))))(z)


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def custom_vjp_of_several_results(api, x):
    """Results that are not used have zeros as cotangents; a rule may ask another derivative for help."""
    np = api.numpy

    @api.custom_vjp
    def f(v):
        return np.sin(v), np.sum(v), np.cos(v)

    def fwd(v):
        value, pull = api.vjp(lambda u: (np.sin(u), np.sum(u), np.cos(u)), v)
        return value, pull

    f.defvjp(fwd, lambda pull, cts: pull(cts))
    return f(x)[0] * f(x)[1], api.vmap(lambda v: f(v)[2])(x)


@program(lambda r: (normal(r, 3), normal(r)), grad=(0, 1), usual=True)
def custom_gradient_of_functions(api, x, y):
    """The vjp function closes over values of the primal; one and several arguments; trees."""
    np = api.numpy

    @api.custom_gradient
    def square(v):
        return v**2, lambda g: 10.0 * g * v

    @api.custom_gradient
    def both(v, w):
        kept = np.sin(v)
        return {"out": v * w}, lambda g: (g["out"] * kept, np.sum(g["out"]) * 2.0)

    return square(x), both(x, y)["out"], api.jit(square)(y)


@program(lambda r: (normal(r, 3),), vmap=False, usual=True)
def custom_gradient_under_transformations(api, x):
    """Second derivatives, maps, scan, checkpoint."""
    np = api.numpy
    f = api.custom_gradient(lambda v: (np.sin(v), lambda g: 2.0 * g * np.cos(v)))
    return (
        api.vmap(api.grad(f))(x),
        api.vmap(api.grad(api.grad(f)))(x),
        api.jit(api.grad(lambda v: np.sum(api.vmap(f)(v))))(x),
        api.grad(lambda v: api.lax.scan(lambda c, u: (f(c * u), c), 1.0, v)[0])(x),
        api.grad(api.checkpoint(lambda v: np.sum(f(f(v)))))(x),
    )


@program(lambda r: (normal(r), normal(r)), grad=(0, 1), usual=True)
def closure_convert_for_a_rule(api, x, y):
    """A function that closes over what is differentiated, handed to a custom_vjp that does not know of it."""

    @functools.partial(api.custom_vjp, nondiff_argnums=(0,))
    def call(function, x, *values):
        return function(x, *values)

    def fwd(function, x, *values):
        return call(function, x, *values), (x, values)

    def bwd(function, residuals, ct):
        x, values = residuals
        return api.vjp(lambda u, *vs: 2.0 * function(u, *vs), x, *values)[1](ct)

    call.defvjp(fwd, bwd)

    def public(function, x):
        converted, values = api.closure_convert(function, x)
        return call(converted, x, *values)

    return public(lambda u: api.numpy.sin(u * y) + y, x), public(lambda u: u * 3.0, x)


@program(lambda r: (normal(r, 2), integers(r, 0, 3)), grad=(0,), usual=True)
def closure_convert_and_what_it_finds(api, x, n):
    """Several values, one of them of integers, constants, trees of arguments; under jit."""
    np = api.numpy
    table = np.arange(2.0)

    def run(v):
        function = lambda tree: {"r": tree["a"] * v + table * n, "s": np.sum(v) * tree["b"]}
        converted, values = api.closure_convert(function, {"a": v, "b": 1.0})
        return converted({"a": v * 2.0, "b": 3.0}, *values)

    return run(x), api.jit(run)(x)


# --- linear_call and custom_transpose, which JAX cannot map; custom_vmap and sequential_vmap ---


def transposable(api, function, transpose):
    """`function(residuals, x)`, of x's type, with a transpose of its own: `custom_transpose`, or what stands for it."""
    if api.__name__ == "jax":  # it has no custom_transpose any more
        return lambda residuals, x: api.custom_derivatives.linear_call(function, transpose, residuals, x)
    custom = api.custom_transpose(function)
    custom.def_transpose(transpose)
    return lambda residuals, x: custom(api.ShapeDtypeStruct(x.shape, x.dtype), residuals, x)


@program(lambda r: (normal(r, 3), normal(r, 3)), grad=(1,), vmap=False, usual=True)
def linear_call_of_arrays(api, d, x):
    """A transpose that is not the right one, so that it shows."""
    call = api.custom_derivatives.linear_call
    return call(lambda d, v: v / d, lambda d, ct: 10.0 * ct / d, d, x)


@program(lambda r: (normal(r), {"a": normal(r, 2), "b": normal(r)}), grad=(1,), vmap=False, usual=True)
def linear_call_of_trees(api, d, tree):
    """Trees of residuals, of linear arguments, and of results of another structure."""
    np = api.numpy
    forward = lambda res, t: (t["a"] * res["d"], [t["b"] + np.sum(t["a"])])
    backward = lambda res, ct: {"a": ct[0] * res["d"] + ct[1][0], "b": 3.0 * ct[1][0]}
    return api.custom_derivatives.linear_call(forward, backward, {"d": d, "none": None}, tree)


@program(lambda r: (normal(r, 3), normal(r, 3)), vmap=False, usual=True)
def linear_call_under_transformations(api, d, x):
    """Transposed once and twice, jitted, in scan and checkpoint, forward."""
    np, call = api.numpy, api.custom_derivatives.linear_call
    f = lambda d, v: call(lambda d, v: v * d, lambda d, ct: 5.0 * ct * d, d, v)
    transpose = lambda d, ct: api.linear_transpose(lambda v: f(d, v), ct)(ct)[0]
    return (
        transpose(d, x),
        api.linear_transpose(lambda ct: transpose(d, ct), x)(x),
        api.jit(transpose)(d, x),
        api.jvp(lambda v: f(d, v), (x,), (x,)),
        api.grad(lambda v: np.sum(api.lax.scan(lambda c, u: (f(u, c), c), v, d)[1]))(1.0 * x[0]),
        api.grad(api.checkpoint(lambda v: np.sum(np.sin(f(d, v)))))(x),
    )


@program(lambda r: (normal(r, 3), normal(r, 3)), grad=(1,), vmap=False, usual=True)
def custom_transpose_of_arrays(api, d, x):
    """A linear function with a transpose of its own, called twice."""
    f = transposable(api, lambda d, v: v * d, lambda d, ct: ct * d * 7.0)
    return api.numpy.sin(f(d, x)), f(d, f(2.0 * d, x))


@program(lambda r: (normal(r, 3), normal(r, 3)), vmap=False, usual=True)
def custom_transpose_under_transformations(api, d, x):
    """Gradient of a gradient, scan, jit, checkpoint."""
    np = api.numpy
    f = transposable(api, lambda d, v: v * d, lambda d, ct: ct * d * 7.0)
    loss = lambda v: np.sum(np.sin(f(d, v)))
    return (
        api.grad(loss)(x),
        api.jit(api.grad(lambda v: np.sum(api.grad(loss)(v) * v)))(x),
        api.grad(api.checkpoint(loss))(x),
        api.grad(lambda v: api.lax.scan(lambda c, u: (f(u, c), None), v, d)[0])(x[0]),
    )


@program(lambda r: (normal(r, 3), normal(r)), usual=True)
def custom_vmap_of_functions(api, x, y):
    """The rule sees the size and what is mapped; results may stay unmapped."""
    np = api.numpy
    f = api.custom_batching.custom_vmap(lambda a, b: (a * b, b + 1.0))

    @f.def_vmap
    def rule(size, batched, a, b):
        return (a * b + size * 100.0, b + 10.0 * batched[0] + 20.0 * batched[1]), (True, batched[1])

    return (
        f(y, y),
        api.vmap(f)(x, x),
        api.vmap(f, (0, None))(x, y),
        api.vmap(f, (None, 0))(y, x),
        api.jit(api.vmap(f, 0, (0, 0)))(x, 2.0 * x),
        np.sum(api.vmap(lambda a: f(a, 2.0)[0] * a)(x)),
    )


@program(lambda r: ({"a": normal(r, 3, 2), "b": (normal(r), normal(r, 3))},), vmap=False, usual=True)
def custom_vmap_of_trees(api, tree):
    """Trees, partly mapped, in other axes than the first, None among them."""
    np = api.numpy
    f = api.custom_batching.custom_vmap(lambda t: {"s": np.sum(t["a"]) * t["b"][0], "none": None, "r": t["b"][1]})

    @f.def_vmap
    def rule(size, batched, t):
        (flags,) = batched
        result = {"s": np.sum(t["a"], -1) + t["b"][0], "none": None, "r": t["b"][1] * size}
        return result, {"s": flags["a"], "none": None, "r": flags["b"][1]}

    one = ({"a": 0, "b": (None, 0)},)
    return api.vmap(f, one)(tree), api.vmap(f, ({"a": 0, "b": (None, None)},))(tree), f(tree)


@program(lambda r: (normal(r, 3), normal(r, 3)), vmap=False, usual=True)
def custom_vmap_under_transformations(api, x, y):
    """Forward derivatives go through the rule; nested maps, jit, scan, checkpoint."""
    np, vmap = api.numpy, api.vmap
    f = api.custom_batching.custom_vmap(lambda a: np.sin(a))
    f.def_vmap(lambda size, batched, a: (np.sin(a) * 2.0, True))
    return (
        api.jvp(f, (x,), (y,)),
        api.jvp(vmap(f), (x,), (y,)),
        vmap(lambda a, b: api.jvp(f, (a,), (b,)))(x, y),
        api.jit(vmap(lambda a: f(a) * a))(x),
        api.lax.scan(lambda c, a: (c + f(a), vmap(f)(x * a)), 0.0, y),
        vmap(lambda a: api.lax.scan(lambda c, b: (f(c * b), c), a, y))(x),
        vmap(api.checkpoint(f))(x),
        api.jacfwd(vmap(f))(x),
    )


@program(lambda r: (normal(r, 3), integers(r, 0, 5, 3)), vmap=False, usual=True)
def custom_vmap_that_calls_itself(api, x, n):
    """A rule that maps another way for each argument that is mapped."""
    np = api.numpy
    f = api.custom_batching.custom_vmap(lambda a, k: a * k)

    @f.def_vmap
    def rule(size, batched, a, k):
        if not batched[1]:
            return f(a, k) * 2.0, True
        a = a if batched[0] else np.broadcast_to(a, (size, *a.shape))
        return api.lax.map(lambda pair: f(*pair), (a, k)), True

    table = x[:, None] * x
    return api.vmap(f)(x, n), api.vmap(f, (0, None))(x, 2), api.vmap(f, (None, 0))(x, n), api.vmap(f)(table, n)


@program(lambda r: (normal(r, 3), normal(r, 3)), vmap=False, usual=True)
def sequential_vmap_of_functions(api, x, y):
    """Mapped by a loop: one argument, several, trees, jitted, differentiated forward."""
    np = api.numpy
    f = api.custom_batching.sequential_vmap(lambda a, t: {"p": a * t["b"], "q": np.sin(a)})
    g = api.custom_batching.sequential_vmap(np.cos)
    return (
        api.vmap(f)(x, {"b": y}),
        api.vmap(f, (0, {"b": None}))(x, {"b": 2.0}),
        api.jit(api.vmap(g))(x),
        api.vmap(api.vmap(g))(x[:, None] * y),
        api.jvp(api.vmap(g), (x,), (y,)),
    )
