"""Kernels against JAX's interpreter, on both backends: values, shapes and dtypes, mapped and compiled."""

import importlib

import numpy as np
import pytest

import tangrad
from tests.pallas import kernels

jax = pytest.importorskip("jax")

BACKENDS = ("numpy", "xla")
MAPPED = {"overhanging": (0,), "product": (0, None), "in_place": (0, 0), "windows": (1,), "rows": (None, 0)}
DTYPES = ("bfloat16", "float16", "int8", "uint8", "int32", "bool")


def check_same(found, expected):
    ours, theirs = tangrad.tree.leaves(found), jax.tree.leaves(expected)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one.astype("float64"), other.astype("float64"), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", kernels.CASES)
def test_values(name, backend):
    make, operands = kernels.CASES[name]
    expected = make(kernels.of_jax())(*operands)
    with tangrad.use_backend(backend):
        function = make(kernels.of_tangrad())
        check_same(function(*operands), expected)
        check_same(tangrad.jit(lambda *args: function(*args))(*operands), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MAPPED)
def test_mapped(name, backend):
    make, operands = kernels.CASES[name]
    axes = MAPPED[name]
    rows = [arg if axis is None else np.stack([arg, arg * 2, arg - 1], axis) for arg, axis in zip(operands, axes)]
    expected = jax.vmap(make(kernels.of_jax()), axes)(*rows)
    with tangrad.use_backend(backend):
        check_same(tangrad.jit(tangrad.vmap(make(kernels.of_tangrad()), axes))(*rows), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype, backend):
    x = np.asarray(jax.numpy.asarray(kernels.draw(10, 7)).astype(dtype))
    flat = np.asarray(jax.numpy.asarray(kernels.draw(16)).astype(dtype))
    theirs, ours = kernels.of_jax(), kernels.of_tangrad()
    expected = kernels.copied(theirs, dtype)(flat), kernels.overhanging(theirs, dtype)(x)
    with tangrad.use_backend(backend):
        check_same((kernels.copied(ours, dtype)(flat), kernels.overhanging(ours, dtype)(x)), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["overhanging", "product", "windows"])
def test_forward_derivatives(name, backend):
    make, operands = kernels.CASES[name]
    directions = tuple([kernels.draw(*arg.shape, seed=7) for arg in operands])
    function, expected = make(kernels.of_jax()), None
    if name == "overhanging":  # JAX has none with scratch memory, nor of padded windows
        expected = jax.jvp(function, operands, directions)
    with tangrad.use_backend(backend):
        ours = make(kernels.of_tangrad())
        found = tangrad.jvp(ours, operands, directions)
        if expected is not None:
            check_same(found, expected)
        step = 1e-2
        shifted = [[x + sign * step * t for x, t in zip(operands, directions)] for sign in (1, -1)]
        slope = (np.asarray(ours(*shifted[0])) - np.asarray(ours(*shifted[1]))) / (2 * step)
        np.testing.assert_allclose(np.asarray(found[1]), slope, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_grid_that_the_program_computes(backend):
    def make(m):
        def kernel(o_ref):
            o_ref[m.pl.program_id(0)] = m.pl.program_id(0) + 10 * m.pl.num_programs(0)

        return lambda count: m.call(kernel, m.struct((5,), "int32"), grid=(count,))()

    expected = jax.jit(make(kernels.of_jax()))(3)
    with tangrad.use_backend(backend):
        check_same(tangrad.jit(make(kernels.of_tangrad()))(3), expected)
        counts = np.array([1, 5], "int32")
        mapped = tangrad.vmap(make(kernels.of_tangrad()))(counts)
        check_same(mapped, np.stack([jax.jit(make(kernels.of_jax()))(count) for count in counts]))


@pytest.mark.skipif(not jax.__version__.startswith("0.10."), reason="the table of names is of JAX 0.10")
@pytest.mark.parametrize("module", ["", ".tpu", ".triton"])
def test_names_are_here_or_say_what_they_are(module):
    path = f"experimental.pallas{module}"
    theirs, ours = importlib.import_module(f"jax.{path}"), importlib.import_module(f"tangrad.{path}")
    names = [name for name in dir(theirs) if not name.startswith("_")]
    assert [name for name in names if not hasattr(ours, name)] == []
    unsupported = [name for name in names if name not in dir(ours)]
    for name in unsupported:
        with pytest.raises(NotImplementedError, match=f"pallas.*{name}: the interpreted form of Pallas has no"):
            getattr(ours, name)()
