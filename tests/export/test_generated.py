"""Programs put together by Hypothesis, exported, written, read, and run at two sizes against the function itself."""

import numpy
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import tangrad
import tangrad.numpy as np
from tangrad import export, lax, nn, use_backend

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
