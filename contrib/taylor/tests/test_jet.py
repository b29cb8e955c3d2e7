"""Against nested `jvp` at orders 1 to 6, against `jax.experimental.jet`; under transformations; what is refused."""

import math
from functools import cache, partial

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, nn
from tangrad.core import PrimitiveSet, get_backend, register
from tangrad.experimental.jet import jet

WAYS = {"numpy": (tangrad.jit, lambda function: function), "xla": (tangrad.jit,)}


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def on(request):
    with tangrad.use_backend(request.param), tangrad.enable_x64(True):
        yield request.param


def draw(*shape, seed=0, low=-1.0, high=1.0):
    return onp.random.default_rng(seed).uniform(low, high, shape)


def nested(function, primals, series):
    """The derivatives along the curve, by `jvp` alone: lists of leaves, one for each order."""
    level = lambda t: tangrad.tree.leaves(
        function(*[x + sum(s * t**k / math.factorial(k) for k, s in enumerate(c, 1)) for x, c in zip(primals, series)])
    )
    found = []
    for _ in series[0]:
        level = partial(lambda below, t: tangrad.jvp(below, (t,), (1.0,))[1], level)
        found.append(level)
    with tangrad.use_backend("numpy"):
        return [[onp.asarray(x) for x in leaves] for leaves in tangrad.jit(lambda t: [f(t) for f in found])(0.0)]


def check(function, *primals, order=4, rtol=1e-9):
    """Values and derivatives against nested `jvp`: compiled, and on NumPy operation by operation too."""
    series = [[draw(*onp.shape(x), seed=10 * place + k) for k in range(order)] for place, x in enumerate(primals)]
    with tangrad.use_backend("numpy"):
        value, structure = tangrad.tree.flatten(function(*primals))
    expected = nested(function, primals, series)
    for way in WAYS[get_backend().name]:
        out, terms = way(lambda primals, series: jet(function, primals, series))(primals, series)
        leaves = tangrad.tree.leaves(out)
        assert tangrad.tree.structure(out) == structure
        flat = tangrad.tree.leaves(terms)
        for place, (one, two) in enumerate(zip(leaves, value, strict=True)):
            onp.testing.assert_allclose(one, two, rtol=rtol)
            for k in range(order):
                term, right = flat[place * order + k], expected[k][place]
                assert term.dtype == one.dtype and term.shape == one.shape
                if one.dtype.kind not in "fc":
                    assert not onp.asarray(term).any()
                    continue
                onp.testing.assert_allclose(term, right, rtol=rtol, atol=rtol * max(1, abs(right).max(initial=0)))


ELEMENTWISE = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": lambda x: np.log(x + 2),
    "log1p": np.log1p,
    "sqrt": lambda x: np.sqrt(x + 2),
    "rsqrt": lambda x: lax.rsqrt(x + 2),
    "cbrt": lambda x: np.cbrt(x + 2),
    "square": np.square,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": lambda x: np.arccosh(x + 3),
    "atanh": np.arctanh,
    "logistic": nn.sigmoid,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "erf_inv": lax.erf_inv,
    "lgamma": lambda x: lax.lgamma(x + 2),
    "digamma": lambda x: lax.digamma(x + 2),
    "bessel": lax.bessel_i1e,
    "cube": lambda x: x**3,
    "seventh power": lambda x: x**7,
    "inverse cube": lambda x: (x + 2) ** -3,
    "real power": lambda x: (x + 2) ** 2.5,
    "exponent": lambda x: 2.5**x,
    "power of itself": lambda x: (x + 2) ** x,
    "quotient": lambda x: (1 + x) / (2 + x * x),
    "inverse": lambda x: 1 / (x + 3),
    "angle": lambda x: np.arctan2(x, 1 + x * x),
    "remainder": lambda x: lax.rem(5 * x, 0.7 + x * x),
    "absolute": np.abs,
    "greater": lambda x: np.maximum(x, x * x - 0.1),
    "less": lambda x: np.minimum(x, 0.2),
    "clipped": lambda x: np.clip(x**3 * 4, -0.5, x),
    "chosen": lambda x: np.where(x > 0.1, np.sin(x), x * x),
    "piecewise constant": lambda x: np.floor(3 * x) + np.sign(x) + np.round(x),
    "relu": lambda x: nn.relu(x) * x + nn.relu6(7 * x),
    "softplus": nn.softplus,
    "gelu": nn.gelu,
    "complex": lambda x: np.abs(np.exp(1j * x) * (x + 2j) / (x - 1j) + np.sqrt(1j + x)),
    "stopped": lambda x: x * lax.stop_gradient(x),
    "constant": lambda x: np.ones(3),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name, on):
    order = 6 if on == "numpy" else 3  # the rules are the same; XLA compiles long programs slowly
    check(ELEMENTWISE[name], draw(7, low=-0.8, high=0.8), order=order, rtol=1e-7)


A, B, SQUARE = draw(4, 3), draw(3, 4, seed=1), draw(3, 3, seed=2) + 3 * onp.eye(3)
KERNEL = draw(1, 1, 2, 2, seed=3)
INDEX = onp.array([2, 0, 2])


def pair(x):
    return x @ B, B @ x


ARRAYS = {
    "products": lambda x: (x @ B @ x, np.einsum("ij,ik->jk", x, x)),
    "of a constant": lambda x: x @ B,
    "beside scalars": lambda x: x[0, 0] * np.sin(x) + np.ones((4, 3)) / (2 + x[1, 1]) + np.where(x > 0, x[0, 0], 0.0),
    "convolution": lambda x: lax.conv_general_dilated(x[None, None], x[None, None, :2, :2] * KERNEL, (1, 1), "SAME"),
    "windows": lambda x: (
        lax.reduce_window(x, -onp.inf, lax.max, (2, 2), (1, 1), "VALID"),
        lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "VALID"),
    ),
    "reductions": lambda x: (x.sum(0), x.max(1), x.min(), x.prod(0), np.mean(x), np.var(x), nn.logsumexp(x, 0)),
    "running": lambda x: (np.cumsum(x, 0), np.cumprod(x, 1), lax.cummax(x, 0), lax.cumlogsumexp(x, 1)),
    "order": lambda x: (np.sort(x, 0), np.median(x), lax.top_k(x, 2)[0], x[np.argmax(x, 0), np.arange(3)]),
    "indexing": lambda x: (x[INDEX], x.at[INDEX].add(x[:3]), x.at[1].set(x[0] * x[2]), x.at[INDEX].max(0.3 * x[:3])),
    "slices": lambda x: (lax.dynamic_slice(x, (1, 1), (2, 2)), lax.dynamic_update_slice(x, x[:2, :2] ** 2, (1, 0))),
    "structure": lambda x: (
        x.T.ravel(),
        np.pad(x, 1),
        x[::-1],
        np.concatenate([x, x * x]),
        np.split(x, 2),
        np.tile(x, 2),
    ),
    "softmax": lambda x: (nn.softmax(x), nn.log_softmax(x)),
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "spectrum": lambda x: np.abs(np.fft.fft(x, axis=0)) ** 2,
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name):
    check(lambda x: ARRAYS[name](np.asarray(x)), A, order=3, rtol=1e-8)


MATRICES = {
    "solve": lambda x: np.linalg.solve(x, x @ SQUARE[:, :2]),
    "triangular": lambda x: lax.linalg.triangular_solve(x, x[:, :2], left_side=True, lower=True),
    "transposed": lambda x: lax.linalg.triangular_solve(x, x[:2], transpose_a=True, unit_diagonal=True),
    "cholesky": lambda x: np.linalg.cholesky(x @ x.T),
    "determinant": np.linalg.det,
    "inverse": np.linalg.inv,
    "eigenvalues": lambda x: np.linalg.eigh(x + x.T)[0],
    "singular values": lambda x: np.linalg.svd(x, compute_uv=False),
    "of the user": lambda x: lax.custom_linear_solve(
        lambda v: x @ v, np.sin(x[0]), lambda matvec, b: np.linalg.solve(lax.stop_gradient(x), b)
    ),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name):
    check(MATRICES[name], SQUARE, order=3, rtol=1e-7)


# --- programs -------------------------------------------------------------------------------------------------------


@tangrad.custom_jvp
def softened(x):
    return np.log(1 + np.exp(x))


@softened.defjvp
def _(primals, tangents):
    return softened(primals[0]), tangents[0] * nn.sigmoid(primals[0])


@tangrad.custom_jvp
def straight(x):
    return np.round(x)


straight.defjvp(lambda primals, tangents: (straight(primals[0]), tangents[0] * primals[0]))


@tangrad.custom_vjp
def backwards(x):
    return np.sin(x) * x


backwards.defvjp(lambda x: (backwards(x), x), lambda x, g: (g * (np.sin(x) + x * np.cos(x)),))


def root(x):
    solve = lambda f, guess: lax.fori_loop(0, 30, lambda _, y: y - f(y) / (3 * y * y), guess)
    return lax.custom_root(lambda y: y**3 - x, x * 0 + 1.0, solve, lambda g, y: y / g(np.ones_like(y)))


PROGRAMS = {
    "jit": lambda x: tangrad.jit(lambda y: (np.sin(y) * 3, np.ones(2)))(x),
    "cond": lambda x: lax.cond(x[0] > 0, np.sin, lambda y: y * y, x),
    "cond of a constant": lambda x: lax.cond(x[0] > 0, lambda y: y, lambda y: np.ones_like(y), x),
    "switch": lambda x: lax.switch(2, [np.sin, np.cos, lambda y: y / (2 + y)], x),
    "scan": lambda x: lax.scan(lambda c, y: (c * y + np.sin(c), (c, y**2)), 1.0, x),
    "scan that starts as a constant": lambda x: lax.scan(
        lambda c, y: ((c[1], y * c[0], c[2] + 1), c[2]), (1.0, 2.0, 0), x
    ),
    "reversed": lambda x: lax.scan(lambda c, y: (np.tanh(c + y), c), 0.0, x, reverse=True, unroll=2),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, np.sin(c[1]) * x), (0, x * x)),
    "until": lambda x: lax.while_loop(
        lambda c: c[0] < 3.0, lambda c: (c[0] * 1.7, c[1] * c[0] * x[0]), (x[0] + 2, x[1])
    ),
    "fori": lambda x: lax.fori_loop(0, 3, lambda k, y: y * np.cos(y) + k, x),
    "custom jvp": softened,
    "checkpoint": tangrad.checkpoint(lambda x: np.sin(np.exp(x))),
    "mapped inside": tangrad.vmap(lambda x: np.sin(x) * lax.psum(x, "i") + lax.pmax(x * x, "i"), axis_name="i"),
    "gradient": tangrad.grad(lambda x: (np.sin(x) * x[::-1] ** 3).sum()),
    "gradient of a loop": tangrad.grad(lambda x: lax.scan(lambda c, y: (np.sin(c) + y * c, c), 1.0, x)[0]),
    "hessian": lambda x: tangrad.hessian(lambda y: (np.sin(y) * y[::-1]).sum())(x),
    "jacobian": tangrad.jacfwd(lambda x: np.exp(x) * x[::-1]),
    "root": lambda x: root(x[0] + 3),
    "associative": lambda x: lax.associative_scan(lambda a, b: a * b + 0.1, x),
    "map": lambda x: lax.map(np.sin, x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    check(PROGRAMS[name], draw(3, low=0.1, high=0.9), order=4, rtol=1e-8)


def test_a_rule_of_the_user_is_used_and_a_backward_one_is_not_needed():
    value, terms = jet(straight, (1.6,), ([1.0, 0.0, 0.0],))
    assert float(value) == 2 and [float(term) for term in terms] == [1.6, 1.0, 0.0]
    x, series = draw(3), [[draw(3, seed=k) for k in range(4)]]
    for way in (jet, tangrad.jit(jet, static_argnums=0)):
        for one, two in zip(
            way(backwards, (x,), series)[1], jet(lambda x: np.sin(x) * x, (x,), series)[1], strict=True
        ):
            onp.testing.assert_allclose(one, two, rtol=1e-12)


def test_collectives_of_the_mapped():
    function = lambda x: (lax.psum(np.sin(x), "i") * x, lax.pmax(x, "i"), lax.all_gather(x, "i") ** 2)
    outer = lambda f: tangrad.vmap(f, axis_name="i")
    x, v = draw(4, 2), draw(4, 2, seed=1)
    along = lambda order: outer(lambda x, v: jet(function, (x,), ([v] + [v * 0] * (order - 1),))[1])(x, v)
    once = outer(lambda x, v: tangrad.jvp(function, (x,), (v,))[1])
    twice = outer(lambda x, v: tangrad.jvp(lambda x: tangrad.jvp(function, (x,), (v,))[1], (x,), (v,))[1])
    for found, first, second in zip(along(2), once(x, v), twice(x, v), strict=True):
        onp.testing.assert_allclose(found[0], first, rtol=1e-12)
        onp.testing.assert_allclose(found[1], second, rtol=1e-12)


def test_maps_over_devices():
    x, series = draw(1, 3), [[draw(1, 3, seed=k) for k in range(3)]]
    mesh = tangrad.make_mesh((1,), ("i",))
    body = lambda x: lax.psum(np.sin(x), "i") * x
    specs = {"in_specs": tangrad.P("i"), "out_specs": tangrad.P("i")}
    expected = jet(lambda x: np.sin(x) * x, (x,), series)[1]
    for mapped in (tangrad.shard_map(body, mesh=mesh, **specs), tangrad.pmap(body, axis_name="i")):
        for one, two in zip(jet(mapped, (x,), series)[1], expected, strict=True):
            onp.testing.assert_allclose(one, two, rtol=1e-12)


def test_effects_take_place_once():
    seen = []

    def function(x):
        tangrad.debug.callback(lambda x: seen.append(float(x)), x)
        return softened(x) * x

    jet(function, (2.0,), ([1.0, None, None],))
    tangrad.effects_barrier()
    assert seen == [2.0]


def test_under_transformations():
    function = lambda x: np.exp(np.sin(x) * x)
    third = lambda x: jet(function, (x,), ([1.0, 0.0, 0.0],))[1][2]
    derivative = lambda f: lambda x: tangrad.jvp(f, (x,), (1.0,))[1]
    third_nested, fourth_nested = derivative(derivative(derivative(function))), derivative(derivative(third))
    xs = draw(5)
    for way in (lambda f: f, tangrad.jit):
        onp.testing.assert_allclose(way(tangrad.vmap(third))(xs), [third_nested(x) for x in xs], rtol=1e-9)
        onp.testing.assert_allclose(way(tangrad.grad(third))(0.3), derivative(third_nested)(0.3), rtol=1e-9)
        onp.testing.assert_allclose(way(tangrad.grad(tangrad.grad(third)))(0.3), fourth_nested(0.3), rtol=1e-9)
        of_jet = way(lambda x: jet(third, (x,), ([1.0, 0.0],))[1][1])
        onp.testing.assert_allclose(of_jet(0.3), fourth_nested(0.3), rtol=1e-9)


# --- the convention -------------------------------------------------------------------------------------------------


def test_where_a_recurrence_would_divide_by_zero():
    orders = lambda f: [float(term) for term in jet(f, (0.0,), ([1.0, None, None],))[1]]
    assert orders(lambda x: x**2.0) == [0, 2, 0]
    assert orders(lambda x: x**3.5) == [0, 0, 0]
    assert orders(lambda x: x**3) == [0, 0, 6]
    assert orders(np.abs) == [1, 0, 0] and orders(np.sqrt)[0] == math.inf
    assert orders(lambda x: np.sqrt(x * x + 4.0)) == [0, 0.5, 0]


def test_none_is_a_term_that_is_zero():
    tree, zeros = {"a": draw(3), "b": draw(2)}, {"a": onp.zeros(3), "b": onp.zeros(2)}
    function = lambda p: np.sin(p["a"]).sum() * np.exp(p["b"])
    ways = [jet(function, (tree,), ([tree, zero, zero],))[1] for zero in (None, zeros)]
    for one, two in zip(*ways, strict=True):
        onp.testing.assert_allclose(one, two, rtol=1e-12)
    assert jet(np.sin, (1.0,), ([None, None],))[1][1] == 0


def test_trees_and_scales():
    function = lambda p, x: {"y": p["w"] * np.sin(x), "x": [x, p["b"]]}
    primals = ({"w": 2.0, "b": np.ones(2)}, 0.5)
    terms = ([{"w": 1.0, "b": np.ones(2)}, {"w": 0.0, "b": np.zeros(2)}], [1.0, 0.0])
    value, derivatives = jet(function, primals, terms)
    assert set(value) == {"x", "y"} and len(derivatives["y"]) == 2 and len(derivatives["x"][1]) == 2
    onp.testing.assert_allclose(derivatives["y"][0], math.sin(0.5) + 2 * math.cos(0.5), rtol=1e-12)
    _, coefficients = jet(np.exp, (0.0,), ([1.0, 0.0, 0.0],), factorial_scaled=False)
    onp.testing.assert_allclose(coefficients, [1, 1 / 2, 1 / 6], rtol=1e-12)


def test_no_terms_and_no_arguments():
    assert jet(np.sin, (0.5,), ((),))[1] == []
    value, terms = jet(lambda: np.ones(2), (), ())
    assert value.shape == (2,) and terms == []


def test_a_branch_on_a_value_outside_of_jit():
    assert float(jet(lambda x: x * x if x > 0 else x, (3.0,), ([1.0, 0.0],))[1][1]) == 2


def test_integers_beside():
    value, terms = jet(lambda x: (np.argmax(x), x > 0, x * 2), (draw(3),), ([draw(3)],))
    assert [one[0].dtype for one in terms] == [one.dtype for one in value] and not terms[0][0].any()


@cache
def jax_programs():
    return {
        "elementary": lambda np, lax, x: np.exp(-x * x) * np.sin(3 * x) / (1 + np.log1p(x * x)),
        "powers": lambda np, lax, x: (x + 2) ** 3 + np.sqrt(x + 2) + (x + 2) ** 1.5 + (x + 2) ** -2,
        "waves": lambda np, lax, x: np.tanh(x) + np.cosh(x) * np.arctan2(x, x + 3) + lax.erf(x) + lax.erf_inv(x / 2),
        "network": lambda np, lax, x: np.tanh(np.tanh(x @ A.T) @ A).sum(0),
        "choices": lambda np, lax, x: np.maximum(x, x * x) + np.where(x > 0, x * x, -x) + abs(x),
        "reductions": lambda np, lax, x: x.max() + np.cumsum(x) + x.sum() + lax.cumprod(x),
        "structure": lambda np, lax, x: np.concatenate([x[::-1], np.pad(x, 1)]).reshape(-1, 1) * x[np.array([2, 0])],
        "tree": lambda np, lax, x: {"a": (x * x, 2 * x), "b": np.ones(2)},
    }


@pytest.mark.parametrize("name", jax_programs())
def test_against_jax(name):
    jax = pytest.importorskip("jax")
    from jax.experimental import jet as jax_jet

    program, x, series = jax_programs()[name], draw(3), [draw(3, seed=k) for k in range(5)]
    jax.config.update("jax_enable_x64", True)
    for scaled in (True, False):
        expected = jax_jet.jet(lambda x: program(jax.numpy, jax.lax, x), (x,), (series,), factorial_scaled=scaled)
        found = jet(lambda x: program(np, lax, x), (x,), (series,), factorial_scaled=scaled)
        left, right = tangrad.tree.leaves(found), jax.tree.leaves(expected)
        assert str(tangrad.tree.structure(found)) == str(tangrad.tree.structure(jax.tree.map(onp.asarray, expected)))
        for one, two in zip(left, right, strict=True):
            onp.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-7)


# --- refusals ---------------------------------------------------------------------------------


HOLES = PrimitiveSet("taylor_holes", api=1)
HOLE = HOLES.primitive(lambda x: x, name="hole", evaluate=lambda args, params: args[0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jet(3, (1.0,), ([1.0],)), TypeError, "expects a function as its first argument, got 3"),
        (lambda: jet(np.sin, 1.0, ([1.0],)), TypeError, "primals must be a tuple or list"),
        (lambda: jet(np.sin, (1.0,), [1.0]), TypeError, "the series of argument 0 must be a tuple or list of terms"),
        (lambda: jet(np.sin, (1.0,), ()), ValueError, "there are 1 primals, and series for 0"),
        (lambda: jet(np.add, (1.0, 2.0), ([1.0], [1.0, 2.0])), ValueError, r"same number of terms, got \[1, 2\]"),
        (lambda: jet(np.sin, (np.ones(2),), ([np.ones(3)],)), ValueError, r"term 1 of argument 0 is of shape \(3,\)"),
        (lambda: jet(np.sin, (np.ones(2),), ([1.0],)), ValueError, r"shape \(\), its primal of shape \(2,\)"),
        (
            lambda: jet(np.sin, (np.ones(2),), ([onp.ones(2, "int32")],)),
            TypeError,
            r"type i32\[2\], its primal of type",
        ),
        (lambda: jet(np.sin, (np.ones(2),), ([onp.ones(2, "complex64")],)), TypeError, "type c64"),
        (lambda: jet(np.sin, (1.0,), ([1j],)), TypeError, "type c"),
        (lambda: jet(np.sin, (3,), ([1.0],)), TypeError, "argument 0 has a leaf of type i.*, which has no derivatives"),
        (
            lambda: jet(lambda p: p["x"], ({"x": 1.0},), ([1.0],)),
            TypeError,
            "term 1 of argument 0 must have the struct",
        ),
        (lambda: jet(np.sin, ("x",), ([1.0],)), TypeError, "argument 0 is 'x' of type str"),
        (lambda: jet(lambda x: "x", (1.0,), ([1.0],)), TypeError, "the function returned 'x' of type str"),
        (lambda: jet(lambda x: x if x > 0 else "x", (-1.0,), ([1.0],)), TypeError, "the function returned 'x'"),
        (
            lambda: tangrad.jit(lambda x: jet(lambda x: x if x > 0 else 0, (x,), ([1.0],)))(1.0),
            tangrad.errors.TracerBoolConversionError,
            "truth of a traced array",
        ),
        (
            lambda: jet(HOLE, (1.0,), ([1.0],)),
            tangrad.errors.MissingRuleError,
            "'taylor_holes.hole' has no rule of kind 'tay",
        ),
        (
            lambda: jet(lambda x: tangrad.pure_callback(onp.sin, x, x), (np.ones(2),), ([np.ones(2)],)),
            ValueError,
            "cannot be differentiated",
        ),
    ],
)
def test_refusals(call, error, message):
    with register(HOLES), pytest.raises(error, match=message):
        call()
    assert float(jet(np.exp, (0.0,), ([1.0],))[1][0]) == 1.0


def test_values_that_leave_are_found():
    kept = []
    jet(lambda x: kept.append(x) or x, (1.0,), ([1.0],))
    with pytest.raises(tangrad.errors.UnexpectedTracerError):
        np.sin(kept[0])
    with tangrad.checking_leaks(), pytest.raises(tangrad.errors.LeakedTracerError, match="TaylorTrace"):
        jet(lambda x: kept.append(x) or x, (1.0,), ([1.0],))
