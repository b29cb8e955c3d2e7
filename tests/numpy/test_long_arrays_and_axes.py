"""Positions that no int32 holds, and axes, shapes and states in other sequences than tuples."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad.experimental.ode import odeint

LONG = 2**31 + 30
FAR = 2**31 + 20
INDEXED = {
    "set": lambda x: x.at[FAR].set(5),
    "set from the end": lambda x: x.at[-3].set(5),
    "get": lambda x: x[FAR],
    "slice": lambda x: x[FAR : FAR + 4],
    "set slice": lambda x: x.at[FAR : FAR + 4].set(1),
    "get several": lambda x: x[np.array([FAR, -1])],
    "add to several": lambda x: x.at[np.array([FAR, -1])].add(1),
    "apply": lambda x: x.at[np.array([FAR, FAR])].apply(lambda v: v + 1),
    "new dimension": lambda x: x.at[None, FAR].set(5),
    "take": lambda x: tnp.take(x, np.array([FAR])),
    "take along": lambda x: tnp.take_along_axis(x, np.array([FAR]), 0),
}


@pytest.mark.parametrize("name", INDEXED)
def test_positions_beyond_int32_are_in_the_program(name):
    """Such an array has two gigabytes: the program is made, and says the position in 64 bits."""
    with tangrad.enable_x64(True):
        program = tangrad.make_jaxpr(INDEXED[name])(tangrad.ShapeDtypeStruct((LONG,), "int8"))
    assert "i64" in str(program) or str(FAR) in str(program)


def test_a_position_beyond_int32_is_written():
    with tangrad.enable_x64(True), tangrad.use_backend("numpy"):
        x = tnp.zeros((2**31 + 2,), bool).at[2**31].set(True)
        assert [bool(x[place]) for place in (0, 2**31 - 1, 2**31, -1)] == [False, False, True, False]


AXES = [range(2), np.array([0, 1]), [0, 1], (np.int32(0), np.int64(1))]
OVER_AXES = {
    **{name: (lambda x, axes, name=name: getattr(tnp, name)(x, axis=axes)) for name in ("sum", "max", "flip", "std")},
    "moveaxis": lambda x, axes: tnp.moveaxis(x, axes, axes),
    "expand_dims": lambda x, axes: tnp.expand_dims(x, axes),
    "roll": lambda x, axes: tnp.roll(x, (1, 2), axes),
    "vector_norm": lambda x, axes: tnp.linalg.vector_norm(x, axis=axes),
    "fftn": lambda x, axes: tnp.fft.fftn(x, axes=axes),
    "logsumexp": lambda x, axes: tangrad.nn.logsumexp(x, axis=axes),
    "softmax": lambda x, axes: tangrad.nn.softmax(x, axis=axes),
}


@pytest.mark.parametrize("axes", AXES, ids=lambda axes: type(axes).__name__)
@pytest.mark.parametrize("name", OVER_AXES)
def test_axes_in_any_sequence(name, axes):
    x = tnp.arange(24.0).reshape(2, 3, 4)
    found, expected = [np.asarray(OVER_AXES[name](x, given)) for given in (axes, (0, 1))]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("axes", AXES, ids=lambda axes: type(axes).__name__)
def test_dimensions_of_images_in_any_sequence(axes):
    image = tnp.arange(9.0).reshape(3, 3)
    scaled, expected = [
        tangrad.image.scale_and_translate(image, (2, 4), given, np.ones(2), np.zeros(2), "linear")
        for given in (axes, (0, 1))
    ]
    np.testing.assert_array_equal(np.asarray(scaled), np.asarray(expected))


def test_a_permutation_in_an_array_of_numpy():
    assert tnp.ones((2, 3, 4)).transpose(np.array([2, 0, 1])).shape == (4, 2, 3)


@pytest.mark.parametrize(("state", "returned"), [(tuple, list), (list, tuple), (list, list)])
def test_a_list_does_for_a_tuple_in_an_equation(state, returned):
    found = odeint(lambda y, t: returned([-y[0], y[0]]), state([1.0, 0.0]), np.array([0.0, 1.0]))
    assert type(found) is state
    np.testing.assert_allclose([part[-1] for part in found], [np.exp(-1), 1 - np.exp(-1)], rtol=1e-5)
    with pytest.raises(TypeError, match="a tree like y0"):
        odeint(lambda y, t: returned([-y[0]]), state([1.0, 0.0]), np.array([0.0, 1.0]))
