"""x[index] and x.at[index] against NumPy, for indices that Hypothesis makes."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPE = (4, 3, 5)


def positions(size, least=1):
    """Index arrays with negative positions too."""
    return st.lists(st.integers(-size, size - 1), min_size=least, max_size=4).map(lambda x: numpy.array(x, numpy.int32))


def entry(size):
    """What can stand for one dimension."""
    bound = st.none() | st.integers(-size - 2, size + 2)
    step = st.none() | st.integers(-3, 3).filter(bool)
    return st.integers(-size, size - 1) | st.builds(slice, bound, bound, step) | st.just(slice(None))


@st.composite
def basic_indices(draw):
    """Integers, slices, new dimensions, an ellipsis."""
    rank = draw(st.integers(0, len(SHAPE)))
    items = [draw(entry(size)) for size in SHAPE[:rank]]
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.booleans()):
        items.append(Ellipsis)
    return tuple(items)


@st.composite
def mixed_indices(draw):
    """Index arrays of one length or broadcast, beside slices and integers; sometimes a mask."""
    length = draw(st.integers(1, 3))
    items = []
    for size in SHAPE[: draw(st.integers(1, len(SHAPE)))]:
        kind = draw(st.sampled_from(["array", "column", "entry", "array"]))
        if kind == "entry":
            items.append(draw(entry(size)))
            continue
        values = draw(st.lists(st.integers(-size, size - 1), min_size=length, max_size=length))
        found = numpy.array(values, draw(st.sampled_from(["int32", "int8", "int64"])))
        items.append(found[:, None] if kind == "column" else found)
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@st.composite
def masks(draw):
    """A boolean array over the first dimensions, then a slice."""
    rank = draw(st.integers(1, 3))
    bits = draw(st.lists(st.booleans(), min_size=int(numpy.prod(SHAPE[:rank])), max_size=int(numpy.prod(SHAPE[:rank]))))
    mask = numpy.array(bits).reshape(SHAPE[:rank])
    return (mask, draw(entry(SHAPE[rank]))) if rank < 3 and draw(st.booleans()) else (mask,)


def contents():
    """Every element different."""
    return numpy.arange(numpy.prod(SHAPE), dtype="float32").reshape(SHAPE)


@settings(max_examples=150)
@given(basic_indices() | mixed_indices() | masks())
def test_reading(index):
    check_reading("numpy", index)


@settings(max_examples=12)
@given(basic_indices() | mixed_indices())
def test_reading_on_xla(index):
    pytest.importorskip("jaxlib")
    check_reading("xla", index)


def check_reading(backend, index):
    import tangrad
    from tangrad import use_backend as use_backend

    x = contents()
    expected = x[index]
    with use_backend(backend):
        array = tangrad.numpy.asarray(x)
        numpy.testing.assert_array_equal(numpy.asarray(array[index]), expected)
        staged = tangrad.jit(lambda a: a[index])(array)
        numpy.testing.assert_array_equal(numpy.asarray(staged), expected)


@settings(max_examples=100)
@given(basic_indices() | mixed_indices() | masks(), st.booleans())
def test_setting_one_value_and_adding(index, jitted):
    import tangrad
    from tangrad import use_backend as use_backend

    x = contents()
    replaced, added = x.copy(), x.copy()
    replaced[index] = -1.0
    numpy.add.at(added, index, 2.0)
    with use_backend("numpy"):
        array = tangrad.numpy.asarray(x)
        run = tangrad.jit if jitted else lambda function: function
        numpy.testing.assert_array_equal(numpy.asarray(run(lambda a: a.at[index].set(-1.0))(array)), replaced)
        numpy.testing.assert_array_equal(numpy.asarray(run(lambda a: a.at[index].add(2.0))(array)), added)


@settings(max_examples=60)
@given(basic_indices())
def test_setting_several_values(index):
    import tangrad
    from tangrad import use_backend as use_backend

    x = contents()
    values = -1.0 - numpy.arange(x[index].size, dtype="float32").reshape(x[index].shape)
    expected = x.copy()
    expected[index] = values
    with use_backend("numpy"):
        got = tangrad.numpy.asarray(x).at[index].set(values)
    numpy.testing.assert_array_equal(numpy.asarray(got), expected)


@settings(max_examples=40)
@given(basic_indices() | mixed_indices())
def test_the_gradient_of_reading_counts(index):
    """Each element's derivative is how often it was read."""
    import tangrad
    from tangrad import use_backend as use_backend

    x = contents()
    expected = numpy.zeros_like(x)
    numpy.add.at(expected, index, 1.0)
    with use_backend("numpy"):
        got = tangrad.grad(lambda a: a[index].sum())(tangrad.numpy.asarray(x))
    numpy.testing.assert_array_equal(numpy.asarray(got), expected)


EMPTY = numpy.zeros((0, 3), numpy.float32)
NONE = numpy.zeros((0,), numpy.int32)


@pytest.mark.parametrize(
    "index",
    [NONE, (NONE, NONE), (NONE, None, slice(1)), (slice(None), NONE), (NONE[:, None], numpy.array([1, 2])), EMPTY > 0],
    ids=str,
)
def test_nothing_of_nothing(index):
    """Index arrays without elements, along a dimension without elements."""
    import tangrad

    np = tangrad.numpy
    expected = EMPTY[index]
    assert np.asarray(EMPTY)[index].shape == expected.shape
    assert tangrad.jit(lambda x: x[index])(EMPTY).shape == expected.shape
    assert tangrad.vmap(lambda x: x[index])(np.zeros((2, 0, 3))).shape == (2, *expected.shape)
    assert tangrad.grad(lambda x: x[index].sum())(np.asarray(EMPTY)).shape == EMPTY.shape
    for update in (lambda x: x.at[index].set(1.0), lambda x: x.at[index].add(expected)):
        assert update(np.asarray(EMPTY)).shape == tangrad.jit(update)(EMPTY).shape == EMPTY.shape
