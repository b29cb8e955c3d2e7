"""`custom_jvp`, `custom_vjp`, `custom_gradient`, `closure_convert`: small programs, each run by JAX too."""

import functools

import jax
import numpy
import pytest

import tangrad


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


def scaled_sine(t, **options):
    """sin(x) * y; the rule is wrong by a factor of 10 in x, to show that it is used."""
    np = t.numpy

    @t.custom_jvp
    def f(x, y):
        return np.sin(x) * y

    def rule(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        return f(x, y), 10.0 * np.cos(x) * y * tx + np.sin(x) * ty

    f.defjvp(rule, **options)
    return f


def scaled_sine_vjp(t):
    np = t.numpy

    @t.custom_vjp
    def f(x, y):
        return np.sin(x) * y

    def fwd(x, y):
        return f(x, y), (x, y)

    def bwd(residuals, g):
        x, y = residuals
        return 7.0 * np.cos(x) * y * g, None

    f.defvjp(fwd, bwd)
    return f


PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


X = numpy.arange(3.0, dtype="float32")


def both(build):
    """The same transformations of a function with a jvp rule and of one with a vjp rule."""
    for name, make in (("jvp", scaled_sine), ("vjp", scaled_sine_vjp)):
        PROGRAMS[f"{build.__name__}_{name}"] = lambda t, make=make: build(t, make(t))


@both
def value(t, f):
    return f(X, 2.0), t.jit(f)(X, 2.0), f(x=X, y=2.0)


@both
def gradient(t, f):
    return t.grad(lambda x: f(x, 2.0).sum())(X), t.value_and_grad(f)(1.0, 2.0)


@both
def gradient_jitted(t, f):
    total = lambda x: f(x, 2.0).sum()
    return t.jit(t.grad(total))(X), t.grad(t.jit(total))(X), t.jit(t.grad(t.jit(total)))(X)


@both
def mapped(t, f):
    return t.vmap(f)(X, X + 1), t.vmap(f, (0, None))(X, 2.0), t.jit(t.vmap(f, (None, 0)))(2.0, X)


@both
def mapped_gradient(t, f):
    return t.vmap(t.grad(f))(X, X + 1), t.jit(t.vmap(t.grad(f), (None, 0)))(2.0, X)


@both
def gradient_of_mapped(t, f):
    one = t.grad(lambda x: t.vmap(f, (0, None))(x, 2.0).sum())(X)
    two = t.grad(lambda x: t.vmap(f, (None, 0))(x, X).sum())(2.0)
    three = t.grad(t.jit(lambda x: t.vmap(t.jit(f), (None, 0))(x, X).sum()))(2.0)
    return one, two, three


@both
def mapped_twice(t, f):
    table = lambda x: t.vmap(t.vmap(f, (None, 0)), (0, None))(x, X)
    return table(X), t.grad(lambda x: table(x).sum())(X)


@both
def second_gradient(t, f):
    return t.grad(t.grad(f))(1.0, 2.0), t.jit(t.grad(t.grad(f)))(1.0, 2.0)


@both
def jacobian(t, f):
    return t.jacrev(f)(X, 2.0), t.vmap(t.jacrev(lambda x: f(x, x)))(numpy.stack([X, X + 1]))


@both
def pullback(t, f):
    out, pull = t.vjp(f, X, X + 1.0)
    return out, t.vmap(pull)(numpy.eye(3, dtype="float32"))


@both
def composed(t, f):
    np = t.numpy
    return t.grad(lambda x: np.sum(f(np.exp(x), f(x, x)) ** 2))(X)


@program
def forward_mode(t):
    f = scaled_sine(t)
    one = t.jvp(f, (X, X + 1), (X, X))
    return one, t.jit(lambda x: t.jvp(f, (x, x), (x, x)))(X), t.jacfwd(f)(X, 2.0)


@program
def forward_over_reverse(t):
    np = t.numpy
    f, g = scaled_sine(t), t.custom_vjp(lambda x, y: np.sin(x) * y)
    g.defvjp(lambda x, y: (np.sin(x) * y, (x, y)), lambda r, ct: (7.0 * np.cos(r[0]) * r[1] * ct, None))
    return [t.jvp(t.grad(h), (1.0, 2.0), (1.0, 0.5)) for h in (f, g)]


@program
def linearized(t):
    out, linear = t.linearize(scaled_sine(t), X, X)
    return out, linear(X, X), t.vmap(linear)(numpy.eye(3, dtype="float32"), numpy.eye(3, dtype="float32"))


@program
def rules_for_each_argument(t):
    @t.custom_jvp
    def f(x, y):
        return x**2 * y

    f.defjvps(lambda g, ans, x, y: 3.0 * g * ans, None)
    return t.grad(f)(2.0, 3.0), t.grad(f, 1)(2.0, 3.0), t.jvp(f, (2.0, 3.0), (1.0, 1.0)), t.vmap(t.grad(f))(X, X)


@program
def trees(t):
    np = t.numpy

    @t.custom_jvp
    def f(x):
        return {"b": np.sin(x["a"][0]), "c": x["a"][1] * 2}

    @f.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), {"b": 2.0 * np.cos(x["a"][0]) * dx["a"][0], "c": 5.0 * dx["a"][1]}

    tree = {"a": (X, X + 1)}
    return t.jvp(f, (tree,), (tree,)), t.grad(lambda x: f(x)["b"].sum() + f(x)["c"].sum())(tree), t.vmap(f)(tree)


@program
def trees_reverse(t):
    np = t.numpy

    @t.custom_vjp
    def f(x, scale):
        return {"b": np.sin(x["a"]) * scale}, x["n"]

    f.defvjp(lambda x, s: (f(x, s), (x, s)), lambda r, g: ({"a": g[0]["b"] * r[1], "n": None}, None))
    args = {"a": X, "n": numpy.arange(2)}
    loss = lambda a: f({"a": a, "n": numpy.arange(2)}, 3.0)[0]["b"].sum()
    return f(args, 2.0), t.grad(loss)(X), t.jit(t.grad(loss))(X), t.vmap(t.grad(loss))(numpy.ones((2, 3), "float32"))


@program
def nondifferentiated(t):
    @t.custom_jvp
    def plain(x):
        return x

    def build(argnums):
        f = t.custom_jvp(lambda g, x: g(x), nondiff_argnums=argnums)

        @f.defjvp
        def rule(g, primals, tangents):
            (x,), (dx,) = primals, tangents
            return f(g, x), 2.0 * dx

        return f

    f = build((0,))
    double = lambda x: x * x
    return f(double, 3.0), t.grad(lambda x: f(double, x))(3.0), t.jit(t.grad(lambda x: f(double, x)))(3.0)


@program
def nondifferentiated_reverse(t):
    f = t.custom_vjp(lambda x, g, y: g(x) * y, nondiff_argnums=(1,))
    f.defvjp(lambda x, g, y: (f(x, g, y), x), lambda g, r, ct: (ct * g(r), ct * 5.0))
    total = lambda x, y: f(x, t.numpy.cos, y).sum()
    return t.grad(total, (0, 1))(X, X), t.jit(t.vmap(t.grad(lambda x, y: f(x, t.numpy.cos, y))))(X, X)


@program
def branches_on_values(t):
    np = t.numpy

    @t.custom_jvp
    def f(x):
        return np.sin(x) if x > 0 else np.cos(x)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), 2.0 * dx if x > 0 else 3.0 * dx

    return f(2.0), f(-2.0), t.jvp(f, (-2.0,), (1.0,)), t.grad(f)(2.0), t.grad(f)(-2.0)


@program
def branches_on_values_reverse(t):
    np = t.numpy

    @t.custom_vjp
    def f(x):
        return np.sin(x) if x > 0 else np.cos(x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g if x > 0 else 3.0 * g,))
    return f(2.0), f(-2.0), t.grad(f)(2.0), t.grad(f)(-2.0)


@program
def integers(t):
    f = t.custom_jvp(lambda n, x: x * n)
    f.defjvp(lambda p, g: (f(*p), 4.0 * g[1]))
    h = t.custom_vjp(lambda n, x: x * n)
    h.defvjp(lambda n, x: (h(n, x), None), lambda _, g: (None, 9.0 * g))
    return t.grad(f, 1)(2, 3.0), t.jit(t.grad(f, 1))(2, 3.0), t.grad(h, 1)(2, 3.0), t.jit(t.grad(h, 1))(2, 3.0)


@program
def closing_over_arrays(t):
    table = t.numpy.arange(3.0)
    f = t.custom_jvp(lambda x: x * table)
    f.defjvp(lambda p, g: (f(*p), 2.0 * g[0] * table))
    return t.grad(lambda x: f(x).sum())(2.0), t.jit(t.grad(lambda x: f(x).sum()))(2.0), t.vmap(f)(X)


@program
def closing_over_tracers(t):
    def outer(x, y):
        f = t.custom_jvp(lambda x: x * y)
        f.defjvp(lambda p, g: (f(*p), 2.0 * g[0] * y))
        return f(x)

    return t.jit(outer)(2.0, 3.0), t.jit(t.grad(outer))(2.0, 3.0), t.grad(outer)(2.0, 3.0)


@program
def gradient_functions(t):
    np = t.numpy

    @t.custom_gradient
    def f(x):
        return x**2, lambda g: (10.0 * g * x,)

    @t.custom_gradient
    def two(x, y):
        return x * y, lambda g: (g * np.sin(y), g * x * 3)

    return t.grad(f)(3.0), t.jit(t.grad(f))(3.0), t.vmap(t.grad(f))(X), t.grad(two, (0, 1))(2.0, 3.0)


@program
def converted_closures(t):
    def solve(objective, x):
        converted, values = t.closure_convert(objective, x)
        return call(converted, x, *values)

    call = t.custom_vjp(lambda g, x, *values: g(x, *values), nondiff_argnums=(0,))
    call.defvjp(lambda g, x, *v: (g(x, *v), (x, v)), lambda g, r, ct: t.vjp(g, r[0], *r[1])[1](2.0 * ct))
    total = lambda x, y: solve(lambda z: z * t.numpy.sin(y), x)
    return t.grad(total, (0, 1))(2.0, 3.0), t.jit(t.grad(total, (0, 1)))(2.0, 3.0)


@program
def straight_through(t):
    np = t.numpy
    f = t.custom_vjp(lambda x: np.round(x))
    f.defvjp(lambda x: (np.round(x), None), lambda _, g: (g,))
    return t.grad(lambda x: np.sum(f(x) * x))(X + 0.3), t.vmap(t.grad(f))(X)


@program
def no_arguments_differentiated(t):
    f = scaled_sine(t)
    return t.grad(lambda z: z * f(1.0, 2.0))(3.0), t.grad(lambda z: z * scaled_sine_vjp(t)(1.0, 2.0))(3.0)


@program
def rules_that_close_over_mapped_values(t):
    """A rule may run after its function was mapped, and finds what it closed over mapped too."""

    def outer(z):
        def one(x):
            f = t.custom_jvp(lambda y: x * y)
            f.defjvp(lambda p, tangents: (x * p[0], 10.0 * x * tangents[0]))
            g = t.custom_vjp(lambda y: x * y)
            g.defvjp(lambda y: (x * y, x), lambda residual, ct: (5.0 * residual * ct,))
            return f(z) + t.vmap(lambda y: f(y) * g(y))(z * X).sum()

        return t.vmap(one)(X).sum()

    total = lambda z: t.vmap(outer)(z).sum()
    return t.grad(outer)(3.0), t.jit(t.grad(outer))(3.0), t.vmap(t.grad(outer))(X), t.grad(total)(X)


@program
def undifferentiated_arguments_that_are_mapped(t):
    f = t.custom_jvp(lambda scale, x: scale * x, nondiff_argnums=(0,))
    f.defjvp(lambda scale, p, tangents: (f(scale, p[0]), 5.0 * scale * tangents[0]))
    total = lambda x: t.vmap(f, (0, None))(X, x).sum()
    return t.grad(total)(2.0), t.jit(t.grad(total))(2.0), t.jvp(total, (2.0,), (1.0,))


@program
def results_that_all_examples_share(t):
    """Along a named axis: where no argument is mapped, no result is, and `out_axes` may say so."""
    np, lax = t.numpy, t.lax
    over = functools.partial(t.vmap, in_axes=(0, None), axis_name="i")
    total, wave = t.custom_jvp(lambda y: lax.psum(y, "i")), t.custom_vjp(lambda y: np.sin(y))
    total.defjvp(lambda p, tangents: (total(*p), 3.0 * tangents[0]))
    wave.defvjp(lambda y: (wave(y), y), lambda y, ct: (5.0 * y * ct,))

    def results(f):
        shared = over(lambda x, y: f(y), out_axes=None)
        twice = over(lambda x, y: lax.scan(lambda c, _: (f(c), None), y, None, length=2)[0], out_axes=None)
        own = lambda y: over(lambda x, y: f(y) * x)(X, y).sum()
        slope = t.grad(own)
        alone = shared(X, 2.0), t.jit(shared)(X, 2.0), shared(X, X), twice(X, 0.5), t.grad(shared, 1)(X, 2.0)
        return alone, own(2.0), slope(2.0), t.jit(slope)(2.0), t.vmap(slope)(X)

    looks = t.custom_jvp(lambda y: np.sin(y) if y > 0 else y)
    looks.defjvp(lambda p, tangents: (looks(*p), 7.0 * tangents[0]))
    seen = lambda y: over(lambda x, y: looks(y) * x)(X, y).sum()
    return results(total), results(wave), seen(2.0), t.grad(seen)(2.0)


@program
def keyword_arguments_with_defaults(t):
    """The function may have some; rules do not get them."""
    f = t.custom_jvp(functools.partial(lambda x, y, a: x + y * a, a=0.1))
    f.defjvp(lambda p, tangents: (f(*p), 2.0 * tangents[0]))
    g = t.custom_vjp(lambda x, *, scale=3.0: x * scale)
    g.defvjp(lambda x: (g(x), None), lambda _, ct: (2.0 * ct,))
    return f(1.0, 2.0), t.grad(f)(1.0, 2.0), g(1.0), t.grad(g)(1.0)


@program
def cotangents_of_nodes_that_take_no_none(t):
    class Strict(list):
        pass

    def made(_, children):
        assert children[0] is not None
        return Strict(children)

    t.tree_util.register_pytree_node(Strict, lambda node: (tuple(node), None), made)
    f = t.custom_vjp(lambda node: node[0])
    f.defvjp(lambda node: (node[0], None), lambda _, ct: (Strict([2.0 * ct]),))
    return t.grad(f)(Strict([1.0]))[0]


@functools.cache
def reference(name):
    return [numpy.asarray(leaf) for leaf in jax.tree.leaves(PROGRAMS[name](jax))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_jax(name):
    mine, treedef = tangrad.tree.flatten(PROGRAMS[name](tangrad))
    expected = reference(name)
    assert len(mine) == len(expected)
    for found, wanted in zip(mine, expected):
        assert numpy.shape(found) == numpy.shape(wanted)
        assert numpy.allclose(found, wanted, rtol=1e-5, atol=1e-6), (treedef, found, wanted)


# --- symbolic zeros ---------------------------------------------------------------------------------------------------


def test_symbolic_zeros_in_jvp_rules():
    seen = []
    f = tangrad.custom_jvp(lambda x, y: x * y)

    def rule(primals, tangents):
        seen.append([type(t).__name__ == "SymbolicZero" for t in tangents])
        assert all(t.shape == () and t.size == 1 for t in tangents)
        return f(*primals), tangents[0] * 2.0

    f.defjvp(rule, symbolic_zeros=True)
    assert float(tangrad.grad(f)(2.0, 3.0)) == 2.0
    assert float(tangrad.jit(tangrad.grad(f))(2.0, 3.0)) == 2.0
    assert seen == [[False, True]] * len(seen) and seen


def test_symbolic_zeros_in_vjp_rules():
    seen = []
    f = tangrad.custom_vjp(lambda x, y: (x * y, y))

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return f(x.value, y.value), None

    def bwd(_, g):
        seen.append([type(ct).__name__ for ct in g])
        return g[0] * 4.0, None

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    assert float(tangrad.grad(lambda x: f(x, 3.0)[0])(2.0)) == 4.0
    assert seen[0] == (True, False) and seen[1][1] == "SymbolicZero"


# --- what is refused --------------------------------------------------------------------------------------------------


def test_missing_rules():
    with pytest.raises(AttributeError, match=r"custom_jvp function f has no rule; give it one: @f.defjvp"):

        @tangrad.custom_jvp
        def f(x):
            return x

        f(1.0)
    with pytest.raises(AttributeError, match=r"give it one: g.defvjp\(fwd, bwd\)"):

        @tangrad.custom_vjp
        def g(x):
            return x

        g(1.0)


def refused_jvp(rule, match, error=TypeError):
    f = tangrad.custom_jvp(lambda x, y: (x * y, x))
    f.defjvp(rule)
    for run in (tangrad.grad(lambda x: f(x, 2.0)[0]), tangrad.grad(tangrad.jit(lambda x: f(x, 2.0)[0]))):
        with pytest.raises(error, match=match):
            run(1.0)


def test_bad_jvp_rules():
    refused_jvp(lambda p, t: p[0], r"must return a pair \(output, output tangent\)")
    refused_jvp(lambda p, t: ((p[0], p[1]), t[0]), "of one structure")
    refused_jvp(lambda p, t: ((p[0], p[1]), (t[0], "x")), r"output tangent 1 \(result\[1\]\), 'x' of type str")
    refused_jvp(
        lambda p, t: (p, (t[0], tangrad.numpy.ones(3))),
        r"output tangent 1 \(result\[1\]\), f32\[3\]; output 1 is f32\[\]",
    )
    refused_jvp(lambda p, t: (p, (t[0], 1)), r"output tangent 1 \(result\[1\]\), i32")


def test_outputs_that_differ_from_the_function():
    f = tangrad.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: ((p[0],), (t[0],)))
    with pytest.raises(TypeError, match="must return a result of the structure"):
        tangrad.grad(tangrad.jit(f))(1.0)
    f = tangrad.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (tangrad.numpy.ones(2), tangrad.numpy.ones(2)))
    with pytest.raises(TypeError, match=r"output 0, f32\[2\], but the function returns f32\[\]"):
        tangrad.grad(tangrad.jit(f))(1.0)


def refused_vjp(fwd, bwd, match, error=TypeError):
    f = tangrad.custom_vjp(lambda x, y: x * y)
    f.defvjp(fwd, bwd)
    for run in (tangrad.grad(f), tangrad.grad(tangrad.jit(f))):
        with pytest.raises(error, match=match):
            run(1.0, 2.0)


def test_bad_vjp_rules():
    fwd = lambda x, y: (x * y, None)
    refused_vjp(lambda x, y: x * y, lambda r, g: (g, g), r"must return a pair \(output, residuals\)")
    refused_vjp(lambda x, y: (x, "text"), lambda r, g: (g, g), "at residuals, 'text' of type str; expected arrays")
    refused_vjp(fwd, lambda r, g: (g,), "of which there are 2, got a tuple of 1")
    refused_vjp(fwd, lambda r, g: g, "must return a tuple with a cotangent for each")
    refused_vjp(fwd, lambda r, g: ((g, g), g), "of the structure of the arguments")
    refused_vjp(fwd, lambda r, g: (g, tangrad.numpy.ones(2)), r"at \[1\], f32\[2\]", ValueError)
    refused_vjp(fwd, lambda r, g: (1, g), r"at \[0\], i32\[\]", ValueError)


def test_forward_mode_of_vjp_rules():
    f = scaled_sine_vjp(tangrad)
    for run in (lambda: tangrad.jvp(f, (1.0, 2.0), (1.0, 0.0)), lambda: tangrad.jacfwd(f)(X, 2.0)):
        with pytest.raises(TypeError, match="f has a custom_vjp rule, so you can't apply forward-mode autodiff"):
            run()
        with pytest.raises(TypeError, match="can't apply forward-mode autodiff"):
            tangrad.jit(run)()


def test_differentiated_closures():
    def outer(decorate, rules):
        def run(y):
            f = decorate(lambda x: x * y)
            rules(f)
            return f(2.0)

        return run

    forward = outer(tangrad.custom_jvp, lambda f: f.defjvp(lambda p, t: (f(*p), t[0])))
    reverse = outer(tangrad.custom_vjp, lambda f: f.defvjp(lambda x: (f(x), None), lambda r, g: (g,)))
    for run in (forward, reverse):
        for transformed in (tangrad.grad(run), tangrad.jit(tangrad.grad(run)), tangrad.grad(tangrad.jit(run))):
            with pytest.raises(TypeError, match="closes over a value that is differentiated"):
                transformed(3.0)
        assert tangrad.vmap(run)(X).tolist() == [0.0, 2.0, 4.0]


def over_axis(function):
    return tangrad.vmap(lambda x, y: function(y), in_axes=(0, None), axis_name="i")


def test_tangents_that_differ_where_the_results_do_not():
    f = tangrad.custom_jvp(lambda y: y)
    f.defjvp(lambda p, tangents: (p[0], tangents[0] * tangrad.lax.axis_index("i")))
    total = lambda y: over_axis(f)(X, y).sum()
    assert tangrad.grad(total)(2.0) == 3.0  # the rule runs in place of the function, so its word counts
    with pytest.raises(TypeError, match="for output 0, a value that differs along the axis 'i'"):
        tangrad.grad(tangrad.jit(total))(2.0)


def test_the_cotangent_of_a_shared_result_is_the_sum_of_those_of_all_examples():
    g = tangrad.custom_vjp(lambda y: y)
    g.defvjp(lambda y: (y, tangrad.lax.axis_index("i")), lambda index, ct: (index * ct,))
    total = lambda y: over_axis(g)(X, y).sum()
    for derivative in (tangrad.grad(total), tangrad.jit(tangrad.grad(total)), tangrad.grad(tangrad.jit(total))):
        assert derivative(2.0) == 3.0 * (0 + 1 + 2)
    assert tangrad.jacrev(lambda y: over_axis(g)(X, y))(2.0).tolist() == [3.0, 3.0, 3.0]
    assert over_axis(tangrad.grad(g))(X, 2.0).tolist() == [0.0, 1.0, 2.0]


def test_sums_along_an_axis_with_a_rule():
    """The result of a sum over the axis is one for all, so that it can leave the map unmapped."""
    f = tangrad.custom_vjp(lambda x: tangrad.lax.psum(x * x, "i"))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (2 * x * ct,))
    shared = tangrad.vmap(f, axis_name="i", out_axes=None)
    for run in (shared, tangrad.jit(shared)):
        assert run(X) == 5.0
        assert tangrad.grad(run)(X).tolist() == [0.0, 2.0, 4.0]
    mapped = lambda x: tangrad.vmap(f, axis_name="i")(x).sum()
    assert tangrad.grad(mapped)(X).tolist() == [0.0, 6.0, 12.0]


def test_stacked_decorators():
    for inner in (tangrad.custom_jvp, tangrad.custom_vjp):
        f = tangrad.custom_vmap(inner(lambda x: x))
        assert (f.defjvp if inner is tangrad.custom_jvp else f.defvjp).__self__ is f.fun
        g = inner(tangrad.custom_vmap(lambda x: x))
        assert g.def_vmap.__self__ is g.fun
    with pytest.raises(AttributeError, match="'custom_jvp' object has no attribute 'def_vmap'"):
        tangrad.custom_jvp(lambda x: x).def_vmap


def test_zeros_of_integers_leave_jit():
    f = tangrad.custom_vjp(lambda x, n: x)
    f.defvjp(lambda x, n: (x, None), lambda _, ct: (ct, 1))
    found = tangrad.jit(lambda n: tangrad.vjp(f, 0.0, n)[1](1.0))(1)
    assert float(found[0]) == 1.0 and found[1].dtype == tangrad.dtypes.float0 and found[1].shape == ()


@pytest.mark.parametrize("given, returned", [("bfloat16", "float32"), ("float32", "bfloat16"), ("float16", "bfloat16")])
def test_cotangents_computed_in_another_precision_are_converted(given, returned):
    np = tangrad.numpy
    f = tangrad.custom_vjp(lambda x: x.astype("float32").sum())
    f.defvjp(lambda x: (f(x), x), lambda x, ct: ((3 * ct * x.astype("float32")).astype(returned),))
    x = np.arange(1, 4).astype(given)
    gradient = tangrad.grad(f)
    for transformed in (gradient, tangrad.jit(gradient), tangrad.vmap(gradient), tangrad.grad(tangrad.checkpoint(f))):
        found = transformed(x)
        assert found.dtype == given and found.tolist() == [3, 6, 9]
    for wrong in ("int32", "complex64"):
        f.defvjp(lambda x: (f(x), x), lambda x, ct, wrong=wrong: (x.astype(wrong),))
        with pytest.raises(ValueError, match="expected a cotangent"):
            tangrad.grad(f)(x)


def test_arguments():
    f = tangrad.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (f(*p), t[0]))
    with pytest.raises(TypeError, match=r"argument \[0\] is 'text' of type str"):
        f("text")
    with pytest.raises(TypeError, match="expects a function"):
        tangrad.custom_jvp(3)
    with pytest.raises(TypeError, match="nondiff_argnums must be"):
        tangrad.custom_vjp(lambda x: x, nondiff_argnums="x")
    with pytest.raises(ValueError, match="nondiff_argnames has 'z'"):
        tangrad.custom_vjp(lambda x: x, nondiff_argnames="z")
    g = tangrad.custom_jvp(lambda x, *, k: x)
    g.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(TypeError, match=r"the arguments \['k'\] have no position"):
        g(1.0, k=2)
    h = tangrad.custom_vjp(lambda n, x: x, nondiff_argnames="n")
    h.defvjp(lambda n, x: (x, None), lambda n, r, g: (g * n,))
    assert float(tangrad.grad(h, 1)(3, 1.0)) == 3.0
    with pytest.raises(TypeError, match="argument 0 is in nondiff_argnums, but it holds a tracer"):
        tangrad.jit(h)(3, 1.0)
    with pytest.raises(TypeError, match="defjvps does not go with nondiff_argnums"):
        tangrad.custom_jvp(lambda n, x: x, nondiff_argnums=0).defjvps(None)
    unhashable = tangrad.custom_jvp(lambda n, x: x * n[0], nondiff_argnums=0)
    unhashable.defjvp(lambda n, p, t: (p[0] * n[0], t[0] * n[0]))
    assert float(tangrad.jit(tangrad.grad(lambda x: unhashable([4], x)))(1.0)) == 4.0
