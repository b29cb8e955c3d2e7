"""linear_call and custom_transpose, which JAX cannot map; custom_vmap and sequential_vmap."""

from ..corpus import integers, normal, program


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
