"""Arrays of several backends in one operation or call: refused, unless the user says where to run."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax

pytest.importorskip("jaxlib")


def array_on(backend: str):
    with tangrad.use_backend(backend):
        return np.arange(1.0, 4.0)


def product(a, b):
    return np.sin(a) * b


WAYS = {
    "operator": lambda a, b: a * b,
    "lax": lax.mul,
    "concatenate": lambda a, b: np.concatenate([a, b]),
    "jit": tangrad.jit(product),
    "jit that computes nothing": tangrad.jit(lambda a, b: (a, b)),
    "jit with keywords": lambda a, b: tangrad.jit(product)(a, b=b),
    "jit of a gradient": tangrad.jit(tangrad.grad(lambda a, b: product(a, b).sum())),
    "grad": tangrad.grad(lambda a, b: product(a, b).sum()),
    "vmap": tangrad.vmap(product),
    "cond": lambda a, b: lax.cond(True, product, lambda a, b: a, a, b),
    "scan": lambda a, b: lax.scan(lambda carry, x: (carry + x, carry), a[0], b),
    "compiled": lambda a, b: tangrad.jit(product).lower(a, a).compile()(a, b),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("first", "second"), [("numpy", "xla"), ("xla", "numpy")])
def test_they_are_refused_jitted_or_not(way: str, first: str, second: str) -> None:
    a, b = array_on(first), array_on(second)
    with pytest.raises(ValueError, match=f"arguments are on different backends, '{first}' and '{second}'; move one"):
        WAYS[way](a, b)
    moved = tangrad.device_put(b, tangrad.devices(first)[0])
    for result in tangrad.tree.leaves(WAYS[way](a, moved)):
        assert type(result) is type(a)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_an_explicit_backend_moves_them(backend: str) -> None:
    a, b = array_on("numpy"), array_on("xla")
    jitted = tangrad.jit(product, backend=backend)
    expected = numpy.sin([1.0, 2.0, 3.0]) * [1.0, 2.0, 3.0]
    for result in (jitted(a, b), jitted(a, b), jitted(b, a), jitted.lower(a, b).compile()(b, a)):
        assert type(result) is type(array_on(backend))
        numpy.testing.assert_allclose(numpy.asarray(result), expected, rtol=1e-6)
    on_device = tangrad.jit(product, device=tangrad.devices(backend)[0])(a, b)
    assert type(on_device) is type(array_on(backend))


@pytest.mark.parametrize("default", ["numpy", "xla"])
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_numbers_go_where_the_arrays_are(default: str, backend: str) -> None:
    x = array_on(backend)
    with tangrad.use_backend(default):
        multiply = tangrad.jit(lambda a, b: a * b)
        results = [
            2.0 * x,
            multiply(2.0, x),
            multiply(2.0, x),
            multiply(numpy.ones(3, "float32"), x),
            multiply(b=x, a=2),
            tangrad.jit(lambda a, b: a * b, static_argnums=0)(2.0, x),
            tangrad.grad(tangrad.jit(lambda a, b: (a * b).sum()))(x, 2.0),
        ]
    assert {type(result) for result in results} == {type(x)}


def test_what_a_program_closes_over_is_part_of_it() -> None:
    a, b = array_on("numpy"), array_on("xla")
    assert type(tangrad.jit(lambda x: x + b)(a)) is type(a)


# Constants that are made for an array are where it is, whatever the backend in use.
LIKES = {
    "full_like": lambda x: np.full_like(x, 2),
    "full_like of another shape": lambda x: np.full_like(x, x[0], shape=(2, 3)),
    "full_like of another dtype": lambda x: np.full_like(x, 2, "int8"),
    "ones_like": np.ones_like,
    "zeros_like": lambda x: np.zeros_like(x, "int8"),
    "empty_like": np.empty_like,
    "lax.full_like": lambda x: lax.full_like(x, 2),
    "lax.full_like of another shape": lambda x: lax.full_like(x, 2, shape=(3, 2)),
    "lax.zeros_like_array": lax.zeros_like_array,
    "beside it": lambda x: x + np.full_like(x, 2),
    "concatenated": lambda x: np.concatenate([x, np.zeros_like(x)]),
    "mapped": tangrad.vmap(lambda x: x + lax.full_like(x, 2)),
    "mapped twice": lambda x: tangrad.vmap(tangrad.vmap(lambda x: x + np.ones_like(x)))(x[None]),
    "mapped, not used": tangrad.vmap(np.ones_like),
    "differentiated": tangrad.grad(lambda x: (x * np.ones_like(x)).sum()),
    "forward": lambda x: tangrad.jvp(lambda x: x * np.ones_like(x), (x,), (np.ones_like(x),)),
    "mapped and differentiated": tangrad.vmap(tangrad.grad(lambda x: x * np.ones_like(x))),
    "scan": lambda x: lax.scan(lambda c, a: (c + a, c), np.zeros_like(x[0]), x),
    "jit": tangrad.jit(np.ones_like),
    "squareplus": tangrad.nn.squareplus,
    "jacfwd": tangrad.jacfwd(np.sin),
    "jacrev": tangrad.jacrev(np.sin),
    "hessian": tangrad.hessian(lambda x: (x**3).sum()),
}


@pytest.mark.parametrize("name", LIKES)
@pytest.mark.parametrize(("backend", "other"), [("numpy", "xla"), ("xla", "numpy")])
def test_constants_are_where_the_array_is_that_they_are_made_for(name: str, backend: str, other: str) -> None:
    x = array_on(backend)
    with tangrad.use_backend(other):
        found = tangrad.tree.leaves(LIKES[name](x))
    assert [type(part) for part in found] == [type(x)] * len(found)
