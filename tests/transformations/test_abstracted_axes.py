"""`abstracted_axes`: one trace for many sizes, in the forms in which jax's users wrote it, on both backends."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, random, use_backend
from tangrad.core import backend_names, get_backend

SIZES = ((2, 3), (5, 1), (7, 3))


@pytest.fixture(params=backend_names(), autouse=True)
def backend(request):
    with use_backend(request.param):
        yield get_backend(request.param)


def program(x, y):
    scores = np.tanh(x @ y) / x.shape[0]
    total, steps = lax.scan(lambda c, row: (c + row, c * row), np.zeros(y.shape[1]), scores)
    return {"total": total, "steps": steps, "flat": np.reshape(scores, (-1,)).sum(), "mean": x.mean(0)}


def expected_of(x, y):
    scores = numpy.tanh(x @ y) / numpy.float32(x.shape[0])
    running = numpy.cumsum(scores, 0)
    return {"total": running[-1], "steps": (running - scores) * scores, "flat": scores.sum(), "mean": x.mean(0)}


AXES = ({0: "b", 1: "n"}, ("n",))


def arguments(b, n):
    draw = numpy.random.default_rng(b)
    return draw.normal(size=(b, n)).astype("float32"), draw.normal(size=(n, 4)).astype("float32")


def assert_same(found, expected):
    assert tangrad.tree.structure(found) == tangrad.tree.structure(expected)
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected)):
        assert one.dtype == other.dtype
        numpy.testing.assert_allclose(numpy.asarray(one), numpy.asarray(other), rtol=2e-5, atol=1e-5)


def test_one_trace_serves_all_sizes(backend):
    function = tangrad.jit(lambda x, y: program(x, y), abstracted_axes=AXES)  # caches are of the function
    for sizes in (*SIZES, *SIZES):
        x, y = arguments(*sizes)
        assert_same(function(x, y), expected_of(x, y))
    assert function.trace_count == 1
    assert function._cache_size() == (1 if backend.sizes_at_call else len(SIZES))


def test_sizes_are_variables_of_the_jaxpr():
    x, y = arguments(2, 3)
    jaxpr = tangrad.make_jaxpr(lambda x, y: np.sin(x) @ y, abstracted_axes=AXES)(x, y)
    assert [aval.str_short() for aval in (*jaxpr.in_avals, *jaxpr.out_avals)] == ["f32[b,n]", "f32[n,4]", "f32[b,4]"]
    jaxpr, shapes = tangrad.make_jaxpr(np.ravel, abstracted_axes=AXES[:1], return_shape=True)(x)
    assert str(shapes.shape) == "(b*n,)"


@pytest.mark.parametrize(
    ("axes", "types"),
    [
        ({0: "n"}, ["n,3", "n,3", "n,3"]),
        (("n",), ["n,3", "n,3", "n,3"]),
        (("n", "m"), ["n,m", "n,m", "n,m"]),
        ((None, "m", None), ["2,m", "2,m", "2,m"]),
        (({0: "n"}, {}), ["n,3", "2,3", "2,3"]),
        (({-1: "m"}, None), ["2,m", "2,3", "2,3"]),
        ((("n", "n2"), [{1: "k"}, ()]), ["n,n2", "2,k", "2,3"]),
        (({0: 0, 1: 1}, {}), ["d0,d1", "2,3", "2,3"]),
        (({0: "n", 1: "a word"}, [("max",), {}]), ["n,d0", "d1,3", "2,3"]),
        ((), None),
    ],
)
def test_forms(axes, types):
    x = np.ones((2, 3))

    def function(first, others):
        return first, *others

    if types is None:
        with pytest.raises(ValueError, match="prefix of the tuple of positional arguments"):
            tangrad.make_jaxpr(function, abstracted_axes=(axes, axes, {}))(x, [x, x])
        return
    jaxpr = tangrad.make_jaxpr(function, abstracted_axes=axes)(x, [x, x])
    assert [aval.str_short() for aval in jaxpr.in_avals] == [f"f32[{shape}]" for shape in types]


@pytest.mark.parametrize(
    ("axes", "shapes", "error", "message"),
    [
        (
            AXES,
            ((2, 3), (4, 4)),
            ValueError,
            r"'n' is 3 in dimension 1 of args\[0\], and 4 in dimension 0 of",
        ),
        (("n", "n"), ((2, 3),), ValueError, r"'n' is 2 in dimension 0 of args\[0\], and 3 in dimension 1 of"),
        (({0: "n"}, {0: "n"}), ((0,), (2,)), ValueError, "'n' is 0"),
        (({2: "n"},), ((2, 3),), ValueError, r"axis 2 of args\[0\] 'n', which is of shape \(2, 3\) and has 2 axes"),
        (({-2: "n"},), ((2,),), ValueError, r"axis -2 of args\[0\] 'n', which is of shape \(2,\)"),
        (("a", "b"), ((2,),), ValueError, "has 1 axes"),
        ("n", ((2,),), TypeError, "for each array, a dictionary from axes to names or a tuple.* got 'n'"),
        (({"x": "n"},), ((2,),), TypeError, "axes are integers, got 'x'"),
        (({0: {1}},), ((2,),), TypeError, "names are hashable"),
        ([{0: "n"}], ((2,),), ValueError, "must be a prefix of the tuple of positional arguments"),
    ],
)
def test_what_does_not_fit_is_named(axes, shapes, error, message):
    arrays = [np.ones(shape) for shape in shapes]
    for transformed in (tangrad.jit, tangrad.make_jaxpr):
        with pytest.raises(error, match=message):
            transformed(lambda *arrays: arrays, abstracted_axes=axes)(*arrays)


def test_keyword_arguments_have_no_axes():
    with pytest.raises(TypeError, match="pass x by position"):
        tangrad.jit(lambda x: x, abstracted_axes={0: "n"})(x=np.ones(3))


def test_comparisons_of_sizes_that_are_not_known_are_refused():
    with pytest.raises(ValueError, match="whether n >= 3 depends on the sizes"):
        tangrad.jit(lambda x: x if x.shape[0] >= 3 else -x, abstracted_axes={0: "n"})(np.ones(3))
    with pytest.raises(ValueError, match=r"shapes.* \(n,\), \(3,\)"):
        tangrad.jit(lambda x: x + np.ones(3), abstracted_axes={0: "n"})(np.ones(3))


def test_size_zero_is_traced_by_itself():
    function = tangrad.jit(lambda x: (x.sum(), x * 2), abstracted_axes={0: "n"})
    for size, traces in ((3, 1), (0, 2), (4, 2), (0, 2)):
        total, doubled = function(np.ones(size))
        assert total == size and doubled.shape == (size,) and function.trace_count == traces


def test_gradients_and_maps(backend):
    def mean(x, y):
        return np.tanh(x @ y).sum(0) / x.shape[0]

    function = tangrad.jit(mean, abstracted_axes=AXES)
    gradient = tangrad.jit(tangrad.grad(lambda x, y: mean(x, y).sum(), (0, 1)), abstracted_axes=AXES)
    mapped = tangrad.jit(tangrad.vmap(mean, (0, None)), abstracted_axes=((None, "b", "n"), ("n",)))
    for sizes in SIZES[: 3 if backend.sizes_at_call else 1]:
        x, y = arguments(*sizes)
        slope = (1 - numpy.tanh(x @ y) ** 2) / x.shape[0]
        expected = slope @ y.T, x.T @ slope
        assert_same(tangrad.grad(lambda x, y: function(x, y).sum(), (0, 1))(x, y), expected)
        assert_same(gradient(x, y), expected)
        stacked = numpy.stack([x, 2 * x, -x])
        expected = numpy.stack([numpy.tanh(one @ y).mean(0) for one in stacked])
        assert_same(tangrad.vmap(function, (0, None))(stacked, y), expected)
        assert_same(mapped(stacked, y), expected)
        assert_same(tangrad.jit(lambda x, y: function(x + 1, y))(x, y), numpy.tanh((x + 1) @ y).mean(0))
    assert function.trace_count == gradient.trace_count == mapped.trace_count == 1


def test_sizes_within_sizes():
    inner = tangrad.jit(lambda x: np.cumsum(x) * x.shape[0], abstracted_axes=({0: "k"},))
    outer = tangrad.jit(lambda x: inner(np.concatenate([x, x])) + inner(x).sum(), abstracted_axes=({0: "n"},))
    for size in (2, 5):
        x = np.arange(size, dtype="float32")
        twice = np.concatenate([x, x])
        assert_same(outer(x), np.cumsum(twice) * 2 * size + (np.cumsum(x) * size).sum())
    assert outer.trace_count == 1


def test_other_options():
    table = np.arange(3.0)
    scaled = tangrad.jit(lambda k, x: x * k + table.sum(), static_argnums=0, abstracted_axes=({0: "n"},))
    for size in (2, 5):
        assert_same(scaled(2, np.ones(size)), np.ones(size) * 2 + 3)
    assert scaled.trace_count == 1
    assert scaled(3, np.ones(2)).shape == (2,) and scaled.trace_count == 2
    donating = tangrad.jit(lambda x: x + 1, donate_argnums=0, abstracted_axes=({0: "n"},))
    for size in (3, 30_000):
        given = np.ones(size)
        assert donating(given).shape == (size,) and given.is_deleted()
    assert tangrad.jit(lambda x: x, abstracted_axes=({0: "n"},)).eval_shape(np.ones(4)).shape == (4,)
    unused = tangrad.jit(lambda x, y: np.ones(y.shape) * x, abstracted_axes=({}, {0: "n"}))
    assert [unused(2.0, np.ones(size)).sum() for size in (3, 5)] == [6, 10]
    with tangrad.disable_jit():
        assert_same(scaled(2, np.ones(4)), np.ones(4) * 2 + 3)


def test_aot_stages_are_of_the_sizes_at_hand():
    function = tangrad.jit(lambda x: x * x.shape[0], abstracted_axes={0: "n"})
    compiled = function.lower(np.ones(3)).compile()
    assert_same(compiled(np.ones(3)), np.ones(3) * 3)
    with pytest.raises(TypeError, match=r"was lowered for f32\[3\]"):
        compiled(np.ones(4))


def test_random_keys_and_nans():
    draw = tangrad.jit(lambda keys: tangrad.vmap(random.uniform)(keys), abstracted_axes={0: "n"})
    for size in (2, 5):
        keys = random.split(random.key(0), size)
        assert_same(draw(keys), tangrad.vmap(random.uniform)(keys))
    assert draw.trace_count == 1
    log = tangrad.jit(lambda x: np.log(x) * np.ones(x.shape), abstracted_axes={0: "n"})
    with tangrad.debug_nans(True):
        assert_same(log(np.ones(3)), np.zeros(3))
        with pytest.raises(FloatingPointError, match="log"):
            log(-np.ones(4))


def test_equal_axes_share_what_was_traced():
    def square(x):
        return x * x

    first = tangrad.jit(square, abstracted_axes=({0: "n"},))
    first(np.ones(3))
    second = tangrad.jit(square, abstracted_axes=({0: "n"},))
    second(np.ones(4))
    assert second.trace_count == 1
    other = tangrad.jit(square)
    other(np.ones(4))
    assert other.trace_count == 1 and other._tables is not second._tables
