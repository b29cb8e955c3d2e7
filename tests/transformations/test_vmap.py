"""`vmap`: axes in and out, trees, nesting, and what it refuses."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


A = numpy.arange(24.0, dtype="float32").reshape(2, 3, 4)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_axes(axis, out):
    mapped = tangrad.vmap(lambda x: x * 2 + x.sum(), in_axes=axis, out_axes=out)(A)
    parts = [part * 2 + part.sum() for part in numpy.moveaxis(A, axis, 0)]
    assert numpy.allclose(mapped, numpy.stack(parts, axis=out))


def test_unmapped_arguments_and_trees():
    f = lambda p, x, *, bias: {"y": p["w"] @ x + bias, "w": p["w"]}
    p = {"w": np.ones((5, 4)), "unused": np.zeros(3)}
    out = tangrad.vmap(f, in_axes=({"w": None, "unused": 0}, 1))(p, A[0].T, bias=np.arange(3.0))
    assert out["y"].shape == (3, 5) and out["w"].shape == (3, 5, 4)
    out = tangrad.vmap(f, in_axes=(None, 1), out_axes={"y": 1, "w": None})(p, A[0].T, bias=np.arange(3.0))
    assert out["y"].shape == (5, 3) and out["w"].shape == (5, 4)


def test_what_is_not_mapped_is_handed_on_as_it_is():
    rows = numpy.ones((2, 3), "float32")
    seen = []
    tangrad.vmap(lambda x, *given: seen.extend(given) or x, (0, None, None, None, None))(A, 3, 2.5, True, rows)
    assert [type(one) for one in seen] == [int, float, bool, numpy.ndarray] and seen[-1] is rows

    first = tangrad.jit(lambda x, count: x[:count] * count, static_argnums=1)
    power = tangrad.jit(lambda x, mode: x**2 if mode == "square" else x, static_argnames="mode")
    assert tangrad.vmap(first, (0, None))(A[0], 2).tolist() == (2 * A[0, :, :2]).tolist()
    assert tangrad.jit(tangrad.vmap(first, (0, None)), static_argnums=1)(A[0], 2).shape == (3, 2)
    assert tangrad.vmap(tangrad.grad(power), (0, None))(np.arange(3.0), "square").tolist() == [0, 2, 4]
    assert tangrad.vmap(lambda x, size: np.zeros(size), (0, None))(A, 5).shape == (2, 5)
    for out_axes, shape in ((0, (2, 2, 3)), (-1, (2, 3, 2)), (None, (2, 3))):
        assert tangrad.vmap(lambda x, same: same, (0, None), out_axes)(A, rows).shape == shape


def test_nesting():
    outer = tangrad.vmap(lambda x: tangrad.vmap(lambda y: np.dot(x, y))(A[0]))(A[1])
    assert numpy.allclose(outer, A[1] @ A[0].T)
    mixed = tangrad.vmap(tangrad.vmap(lambda x, y: x * y, (None, 0)), (0, None))(np.arange(2.0), np.arange(3.0))
    assert mixed.tolist() == [[0, 0, 0], [0, 1, 2]]
    hessians = tangrad.vmap(tangrad.hessian(lambda x: np.sum(x**3)))(np.ones((2, 3)))
    assert numpy.allclose(hessians, 6 * numpy.eye(3)[None].repeat(2, 0))


def test_size_without_mapped_arguments():
    assert tangrad.vmap(lambda: np.ones(2), axis_size=3)().shape == (3, 2)
    assert tangrad.vmap(lambda x: x, in_axes=None, axis_size=3)(1.0).shape == (3,)
    assert tangrad.vmap(lambda x: 5.0)(np.ones(4)).tolist() == [5.0] * 4


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x, i: x[i], ()),
        (lambda x, i: x.at[i].set(1.0), (3,)),
        (lambda x, i: x.at[i].add(1.0, mode="clip"), (3,)),
        (lambda x, i: tangrad.lax.dynamic_slice(x, (i,), (2,)), (2,)),
        (lambda x, i: tangrad.lax.dynamic_update_slice(x, np.ones(2), (i,)), (3,)),
        (lambda x, i: np.searchsorted(x, 1.0), ()),
        (lambda x, i: np.nonzero(x, size=2)[0], (2,)),
        (lambda x, i: tangrad.lax.scan(lambda c, k: (c.at[k].mul(x[i]), c[k]), x, np.arange(4))[1], (4,)),
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, tangrad.jit, tangrad.vmap], ids=["once", "jit", "twice"])
def test_no_elements_at_all(function, shape, transform):
    x, i = np.zeros((0, 3)), np.zeros(0, int)
    if transform is tangrad.vmap:
        x, i, shape = np.zeros((2, 0, 3)), np.zeros((2, 0), int), (0, *shape)
    out = transform(tangrad.vmap(function))(x, i)
    assert out.shape == (len(x), *shape)
    gradient = transform(tangrad.vmap(tangrad.grad(lambda x, i: (x[i] * x.at[i].multiply(x[i])).sum())))(x, i)
    assert gradient.shape == x.shape


def test_what_vmap_refuses():
    f = lambda x, y: x
    with pytest.raises(ValueError, match=r"args\[0\] has shape \(3,\), mapped over axis 0: size 3"):
        tangrad.vmap(f)(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match=r"args\[0\]\['a'\] has shape \(2,\)"):
        tangrad.vmap(lambda t: t)({"a": np.ones(2), "b": np.ones(3)})
    with pytest.raises(ValueError, match="axis_size is 5"):
        tangrad.vmap(lambda x: x, axis_size=5)(np.ones(3))
    with pytest.raises(ValueError, match="rank 1, so it cannot be mapped over axis 1"):
        tangrad.vmap(lambda x: x, in_axes=1)(np.ones(3))
    with pytest.raises(ValueError, match="has no dimensions; its in_axes must be None"):
        tangrad.vmap(lambda x: x)(1.0)
    with pytest.raises(ValueError, match="in_axes has 1 entries, but the function was called with 2"):
        tangrad.vmap(f, in_axes=(0,))(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="no argument is mapped"):
        tangrad.vmap(lambda x: x, in_axes=None)(1.0)
    with pytest.raises(TypeError, match="in_axes must be an integer"):
        tangrad.vmap(f, in_axes="rows")
    with pytest.raises(TypeError, match="integers, None, or trees"):
        tangrad.vmap(f, in_axes=(0, 1.5))
    with pytest.raises(ValueError, match="depends on a mapped argument"):
        tangrad.vmap(lambda x: x, out_axes=None)(np.ones(3))
    with pytest.raises(ValueError, match="tree prefix"):
        tangrad.vmap(lambda x: x, in_axes=({"a": 0},))((np.ones(3),))
    with pytest.raises(TypeError, match="expects a function"):
        tangrad.vmap(3)
    with pytest.raises(TypeError, match="returned 'text'"):
        tangrad.vmap(lambda x: "text")(np.ones(3))


def test_control_flow_on_mapped_values_is_refused():
    with pytest.raises(tangrad.errors.TracerBoolConversionError):
        tangrad.vmap(lambda x: x if x > 0 else -x)(np.ones(3))
