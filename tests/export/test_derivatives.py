"""Derivatives of programs that were written and read: every order that `vjp_order` promises, backwards and forwards."""

import subprocess
import sys

import numpy
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import tangrad
import tangrad.numpy as np
from tangrad import export, lax, nn, use_backend

X = numpy.linspace(0.2, 1.4, 6, dtype="float32").reshape(3, 2)
COUNT, WEIGHTS = numpy.int32(3), {"w": numpy.linspace(1, 2, 4, dtype="float32")}


def program(x, count, weights):
    """Floats and integers on both sides, and a result that depends on none of the floats."""
    return {"a": np.sin(x) * weights["w"].sum() * count, "next": count + 1}, np.exp(-x.sum(0))


def loss(call):
    def total(x):
        return sum(np.sum(leaf**2) for leaf in tangrad.tree.leaves(call(x, COUNT, WEIGHTS)) if leaf.dtype == "float32")

    return total


def along(f):
    """The derivative in a fixed direction, forwards."""
    return lambda x: tangrad.jvp(f, (x,), (np.ones_like(x),))[1]


def square(f):
    return lambda x: np.sum(f(x) ** 2)


# A derivative of a loss, and the order that a file must have for it.
DERIVATIVES = {
    "grad": (lambda f: tangrad.grad(f), 1),
    "vjp": (lambda f: lambda x: tangrad.vjp(f, x)[1](np.float32(2))[0], 1),
    "grad of grad": (lambda f: tangrad.grad(square(tangrad.grad(f))), 2),
    "jvp": (along, 2),
    "linearize": (lambda f: lambda x: tangrad.linearize(f, x)[1](np.ones_like(x)), 2),
    "grad of jvp": (lambda f: tangrad.grad(along(f)), 3),
    "jvp of grad": (lambda f: along(tangrad.grad(f)), 3),
    "third": (lambda f: tangrad.grad(square(tangrad.grad(square(tangrad.grad(f))))), 3),
    "jvp of jvp": (lambda f: along(along(f)), 4),
    "in a loop": (
        lambda f: tangrad.grad(lambda x: tangrad.lax.scan(lambda c, _: (c + f(c), f(c)), x, None, 2)[1].sum()),
        1,
    ),
    "recomputed": (lambda f: tangrad.grad(tangrad.checkpoint(f)), 1),
}


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib")
    with tangrad.use_backend(request.param):
        yield request.param


def read(order):
    return export.deserialize(export.export(tangrad.jit(program))(X, COUNT, WEIGHTS).serialize(vjp_order=order))


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
def test_orders_that_are_promised(name, wrap, backend):
    derivative, order = DERIVATIVES[name]
    found, expected = [wrap(derivative(loss(call)))(np.asarray(X)) for call in (read(order).call, program)]
    numpy.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4)


# In a process that has not exported it: here the program that was written is known with all its derivatives.
REFUSED = """
import sys, numpy, tangrad
from tests.export.test_derivatives import COUNT, DERIVATIVES, WEIGHTS, X, loss
from tangrad import export
for order in (0, 1, 2):
    with open(sys.argv[1] + str(order), "rb") as file:
        read = export.deserialize(file.read())
    for name, (derivative, needed) in DERIVATIVES.items():
        try:
            derivative(loss(read.call))(X)
        except ValueError as error:
            print(order, name, error, sep="\t")
        else:
            print(order, name, "done", sep="\t")
"""


def test_orders_beyond_are_refused_and_the_cure_named(tmp_path, backend):
    for order in (0, 1, 2):
        made = export.export(tangrad.jit(program))(X, COUNT, WEIGHTS)
        (tmp_path / f"program{order}").write_bytes(made.serialize(vjp_order=order))
    code = f"import tangrad\ntangrad.config.update('backend', {backend!r})\n{REFUSED}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "program")], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        order, name, outcome = line.split("\t")
        assert outcome == "done" if int(order) >= DERIVATIVES[name][1] else "vjp_order=" in outcome, line
    assert len(done.stdout.splitlines()) == 3 * len(DERIVATIVES)


def test_a_derivative_is_made_once(backend):
    made = export.export(tangrad.jit(program))(X, COUNT, WEIGHTS)
    assert made.vjp() is made.vjp() and made.vjp().vjp() is made.vjp().vjp()


# --- Programs put together by Hypothesis: exported, written, read, and run at two sizes ---


# Each from a matrix and a vector with an element for each row to others such. None may compare what rounding decides.
STEPS = {
    "elementwise": lambda x, v: (np.tanh(x) + v[:, None], np.exp(-abs(v))),
    "turned": lambda x, v: (x.T, x.sum(0)),
    "joined": lambda x, v: (np.concatenate([x, 2 * x], 0), np.concatenate([v, -v])),
    "product": lambda x, v: (x @ x.T / x.shape[1], v * x.shape[0]),
    "running": lambda x, v: (np.cumsum(x, 1), np.max(x, 1)),
    "sorted": lambda x, v: (np.sort(x, 0), np.flip(v)),
    "padded": lambda x, v: (np.pad(x, ((1, 0), (0, 0))), np.pad(v, (0, 1))),
    "every second": lambda x, v: (x[::2], v[::2]),
    "flat": lambda x, v: (np.reshape(x, (-1, 1)) * np.ones(2), np.ravel(x)),
    "chosen": lambda x, v: (np.where(np.arange(x.shape[0])[:, None] % 2 == 0, x, v[:, None]), v),
    "softmax": lambda x, v: (nn.softmax(x, 1), nn.logsumexp(x, 1)),
    "scan": lambda x, v: (lax.scan(lambda c, row: (c + row, c * row), np.zeros(x.shape[1]), x)[1], v),
    "loop": lambda x, v: (lax.fori_loop(0, 3, lambda i, y: y * 0.5 + i, x), v),
    "branch": lambda x, v: (lax.cond(np.asarray(x.shape[0]) > 2, lambda y: y, lambda y: -y, x), v),
    "repeated": lambda x, v: (np.broadcast_to(v[:, None], (x.shape[0], 3)) + x.mean(), v - x.shape[1]),
    "mapped": lambda x, v: (tangrad.vmap(lambda row, scale: row * scale - row.mean())(x, v), v),
    "gradient": lambda x, v: (tangrad.grad(lambda y: (np.sin(y) * v[:, None]).sum())(x), v),
    "taken": lambda x, v: (x[np.arange(x.shape[0])[::-1]], np.take(v, np.zeros(x.shape[0], int))),
}
SPECS = (("a, b", "a"), ("2*a + 1, b", "2*a + 1"), ("a, 3", "a"), ("a + b, b", "a + b"), ("4, b", "4"))


@st.composite
def cases(draw):
    """Shapes, two sizes, and steps that stay small."""
    spec = draw(st.sampled_from(SPECS))
    sizes = [(draw(st.integers(1, 4)), draw(st.integers(1, 4))) for _ in range(2)]
    steps = draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4))
    return spec, sizes, steps, draw(st.integers(0, 2**16))


def check(case, platform):
    spec, sizes, steps, seed = case

    def function(x, v):
        for step in steps:
            x, v = STEPS[step](x, v)
        return {"x": x, "v": v}

    rows = 4 if spec[1] == "4" else 9
    types = export.symbolic_args_specs((np.ones((rows, 3)), np.ones(rows)), spec)
    try:
        made = export.export(tangrad.jit(function), platforms=[platform])(*types)
    except export.InconclusiveDimensionOperation:  # a comparison of sizes that the search does not decide is refused
        reject()
    read = export.deserialize(made.serialize())
    for a, b in sizes:
        draw = numpy.random.default_rng(seed)
        shapes = [tuple(eval(f"({text},)", {"a": a, "b": b})) for text in spec]
        x, v = [draw.uniform(-1, 1, shape).astype("float32") for shape in shapes]
        found, expected = read.call(x, v), tangrad.jit(function)(x, v)
        for name, value in expected.items():
            assert found[name].dtype == value.dtype
            value = numpy.asarray(value)
            scale = numpy.abs(value).max(initial=1)
            numpy.testing.assert_allclose(numpy.asarray(found[name]), value, rtol=1e-4, atol=1e-5 * scale, err_msg=name)


@given(cases())
def test_programs_of_any_size_on_numpy(case):
    with use_backend("numpy"):
        check(case, "numpy")


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(cases())
def test_more_programs_of_any_size_on_numpy(case):
    with use_backend("numpy"):
        check(case, "numpy")


@pytest.mark.slow
@pytest.mark.sweep
@settings(max_examples=1000, deadline=None)
@given(cases())
def test_a_thousand_programs_of_any_size_on_numpy(case):
    with use_backend("numpy"):
        check(case, "numpy")


@pytest.mark.sweep
@settings(max_examples=4000, deadline=None)
@given(cases())
def test_programs_of_any_size_on_numpy_at_length(case):
    with use_backend("numpy"):
        check(case, "numpy")


@pytest.mark.sweep
@settings(max_examples=1000, deadline=None)
@given(cases())
def test_programs_of_any_size_on_xla_at_length(case):
    pytest.importorskip("tangrad._backend_xla")
    with use_backend("xla"):
        check(case, "cpu")


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_gradients_by_integers_of_symbolic_sizes(backend):
    """They are arrays of float0, of sizes that are found at the call."""
    integers, numbers = numpy.arange(6, dtype="int32").reshape(2, 3), numpy.arange(12, dtype="float32").reshape(3, 4)
    cotangents = (numpy.zeros((3, 2), tangrad.dtypes.float0), numpy.ones((4, 3), "float32"))
    with tangrad.use_backend(backend):
        specs = export.symbolic_args_specs([integers, numbers], ["2, a", "a, 4"])
        made = export.export(tangrad.jit(lambda n, x: (2 * n.T, x.T * x.T)))(*specs)
        for exported in (made, export.deserialize(made.serialize(vjp_order=2))):
            _, pullback = tangrad.vjp(exported.call, integers, numbers)
            by_integers, by_numbers = pullback(cotangents)
            assert by_integers.dtype == tangrad.dtypes.float0 and by_integers.shape == (2, 3)
            assert numpy.array_equal(by_numbers, 2 * numbers)
            second = tangrad.vjp(pullback, cotangents)[1]((by_integers, by_numbers))[0][1]
            assert numpy.array_equal(second, (4 * numbers**2).T)


@tangrad.custom_jvp
def scaled_forward(x, n):
    return x * n


@tangrad.custom_vjp
def scaled_back(x, n):
    return x * n


scaled_forward.defjvp(lambda primals, tangents: (primals[0] * primals[1], tangents[0] * primals[1]))
scaled_back.defvjp(lambda x, n: (x * n, n), lambda n, g: (g * n, tangrad.custom_derivatives.zero_from_primal(n)))


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("function", [lambda x, n: x * n, scaled_forward, scaled_back])
def test_derivatives_by_integers_within_programs_of_symbolic_sizes(backend, function):
    x = numpy.arange(3, dtype="float32")
    with tangrad.use_backend(backend):
        (size,) = export.symbolic_shape("size")
        specs = [tangrad.ShapeDtypeStruct((size,), dtype) for dtype in ("float32", "int32")]
        gradient = tangrad.grad(lambda x, n: function(x, n).sum(), argnums=(0, 1), allow_int=True)
        mapped = tangrad.vmap(tangrad.grad(function, argnums=(0, 1), allow_int=True))
        zeros = lambda x, n: (n, np.zeros(x.shape, tangrad.dtypes.float0))
        for program in (gradient, mapped, zeros):
            by_x, by_n = export.export(tangrad.jit(program))(*specs).call(x, x.astype("int32"))
            assert numpy.array_equal(by_x, x) and by_n.shape == (3,) and by_n.dtype == tangrad.dtypes.float0
