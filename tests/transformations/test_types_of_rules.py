"""What plugins' decompositions and lowerings give is held against the primitive's own inference of types."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.core import PrimitiveSet, RuleSet, register

wrong = PrimitiveSet("wrong", api=1)
X = numpy.ones((2, 3), "float32")


@wrong.primitive(decompose=lambda x: np.sum(x, axis=-1))
def shrinks(x):
    """Says that it keeps the shape."""
    return x


@wrong.primitive(multiple_results=True, decompose=lambda x: (x, x > 0))
def two(x):
    """Says that both results are of x's dtype."""
    return x, x


@wrong.primitive
def lowered(x):
    """Keeps shape and dtype."""
    return x


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param), register(wrong):
        yield request.param


TRANSFORMED = {
    "eager": lambda f: f(X),
    "jit": lambda f: tangrad.jit(f)(X),
    "vmap": lambda f: tangrad.vmap(f)(X),
    "jvp": lambda f: tangrad.jvp(f, (X,), (X,)),
    "grad": lambda f: tangrad.grad(lambda x: np.sum(tangrad.tree.leaves(f(x))[0]))(X),
    "linear_transpose": lambda f: tangrad.linear_transpose(lambda x: tangrad.tree.leaves(f(x))[0], X)(X),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_decomposition_of_another_shape(name):
    with pytest.raises(
        TypeError, match=r"decomposition of primitive 'wrong.shrinks' gives .* abstract evaluation says"
    ):
        TRANSFORMED[name](shrinks.bind)


@pytest.mark.parametrize("name", ["eager", "jit", "vmap", "jvp"])
def test_a_decomposition_of_another_dtype(name):
    with pytest.raises(TypeError, match=r"gives \(f32\[.*\], bool\[.*\]\) .* says \(f32\[.*\], f32"):
        TRANSFORMED[name](two.bind)


@pytest.mark.parametrize("run", [lambda f: f(X), lambda f: tangrad.jit(f)(X)])
def test_a_lowering_of_another_shape(run, backend):
    for_numpy, for_xla = RuleSet("lower.numpy", api=1), RuleSet("lower.xla", api=1)
    for_numpy.add(lowered, lambda ctx, x: x.sum())
    for_xla.add(lowered, lambda ctx, x: ctx.constant(numpy.zeros((), "float32")))
    words = "returned an array of shape" if backend == "numpy" else "the lowering rule gave a value of type"
    with register(for_numpy), register(for_xla), pytest.raises(TypeError, match=words) as caught:
        run(lowered.bind)
    assert "wrong.lowered" in str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
