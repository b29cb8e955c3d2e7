"""`lax.pdot` and `lax.xeinsum`: contractions along named axes, against the same sums of whole arrays."""

from typing import Any

import numpy as onp
import pytest

import tangrad
from tangrad import lax, xmap

RNG = onp.random.default_rng(0)
X = RNG.normal(size=(4, 3, 5)).astype(onp.float32)
Y = RNG.normal(size=(4, 3, 2)).astype(onp.float32)
Z = RNG.normal(size=(3, 5)).astype(onp.float32)
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "xla"])

# name -> a function of one example along "i", the same of whole arrays as an einsum
CASES = {
    "pdot": (lambda x, y, z: lax.pdot(x[0], y[0], "i"), "ia,ib->ab", lambda x, y, z: (x[:, 0], y[:, 0])),
    "pdot with dimensions": (
        lambda x, y, z: lax.pdot(x, y, ("i",), ((0,), (0,))),
        "ica,icb->ab",
        lambda x, y, z: (x, y),
    ),
    "pdot of pairs": (
        lambda x, y, z: lax.pdot(x, y, "i", pos_batch=((-2,), (0,))),
        "ica,icb->cab",
        lambda x, y, z: (x, y),
    ),
    "pdot with what does not vary": (
        lambda x, y, z: lax.pdot(x, z, "i", ((0, 1), (0, 1))),
        "ica,ca->",
        lambda x, y, z: (x, z),
    ),
    "xeinsum": (lambda x, y, z: lax.xeinsum("ca{i},cb{i}->ab", x, y), "ica,icb->ab", lambda x, y, z: (x, y)),
    "xeinsum of three": (
        lambda x, y, z: lax.xeinsum("{i}ca,{i}cb,ca->cb", x, y, z),
        "ica,icb,ca->cb",
        lambda x, y, z: (x, y, z),
    ),
    "xeinsum of one": (lambda x, y, z: lax.xeinsum("ca{i}->a", x), "ica->a", lambda x, y, z: (x,)),
}


@BACKENDS
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: str, backend: str) -> None:
    of_one, subscripts, operands = CASES[case]

    def along(x: Any, y: Any, z: Any) -> Any:
        return xmap(of_one, in_axes=({0: "i"}, {0: "i"}, {}), out_axes={}, backend=backend)(x, y, z)

    by_vmap = tangrad.vmap(of_one, in_axes=(0, 0, None), out_axes=None, axis_name="i")
    whole = lambda x, y, z: tangrad.numpy.einsum(subscripts, *operands(x, y, z))
    expected = onp.einsum(subscripts, *operands(X, Y, Z))
    onp.testing.assert_allclose(along(X, Y, Z), expected, rtol=1e-5, atol=1e-5)
    onp.testing.assert_allclose(tangrad.jit(by_vmap, backend=backend)(X, Y, Z), expected, rtol=1e-5, atol=1e-5)
    found = tangrad.grad(lambda *v: (along(*v) ** 2).sum(), (0, 1, 2))(X, Y, Z)
    wanted = tangrad.grad(lambda *v: (whole(*v) ** 2).sum(), (0, 1, 2))(X, Y, Z)
    for ours, theirs in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_pdot_is_one_product_of_whole_arrays() -> None:
    mapped = tangrad.vmap(lambda x, y: lax.pdot(x, y, "i"), out_axes=None, axis_name="i")
    names = [eqn.primitive.name for eqn in tangrad.make_jaxpr(mapped)(X[:, 0], Y[:, 0]).eqns]
    assert names.count("dot_general") == 1
    assert "reduce_sum" not in names


def test_pdot_of_devices_sums_the_products_of_parts() -> None:
    mesh = tangrad.make_mesh((1,), ("i",))
    split, whole = tangrad.P("i"), tangrad.P()
    mapped = tangrad.shard_map(
        lambda x, y: lax.pdot(x, y, "i", ((0,), (0,))), mesh=mesh, in_specs=(split, split), out_specs=whole
    )
    onp.testing.assert_allclose(mapped(X[:, 0], Y[:, 0]), X[:, 0].T @ Y[:, 0], rtol=1e-5, atol=1e-5)
    text = str(tangrad.make_jaxpr(mapped)(X[:, 0], Y[:, 0]))
    assert "psum" in text
    assert "all_gather" not in text


def test_several_names_and_none() -> None:
    two = xmap(lambda x, y: lax.pdot(x, y, ("i", "j")), in_axes=({0: "i", 1: "j"}, {0: "i", 1: "j"}), out_axes={})
    onp.testing.assert_allclose(two(X, Y), onp.einsum("ija,ijb->ab", X, Y), rtol=1e-5, atol=1e-5)
    assert lax.pdot(onp.ones(3, onp.float32), onp.ones(3, onp.float32), (), ((0,), (0,))) == 3.0


def over(of_one: Any) -> Any:
    return tangrad.vmap(of_one, axis_name="i")(X, Y)


REFUSED = {
    "no axis": (lambda x, y: lax.pdot(x, y, "j"), NameError, "named 'j'"),
    "an axis twice": (lambda x, y: lax.pdot(x, y, ("i", "i")), ValueError, "twice"),
    "no dimension": (
        lambda x, y: lax.pdot(x, y, "i", ((2,), (0,))),
        ValueError,
        r"pos_contract\[0\] 2 is out of bounds",
    ),
    "no pair": (lambda x, y: lax.pdot(x, y, "i", 3), TypeError, "pos_contract must be two sequences"),
    "no pair of pairs": (lambda x, y: lax.pdot(x, y, "i", pos_batch=(0, 0)), TypeError, "pos_batch must be two"),
    "sizes": (lambda x, y: lax.pdot(x, y, "i", ((1,), (1,))), ValueError, "5"),
    "no result": (lambda x, y: lax.xeinsum("ca{i},cb{i}", x, y), ValueError, "what the result is"),
    "no text": (lambda x, y: lax.xeinsum([0, 1], x), TypeError, "spec must be a text"),
    "a letter of no operand": (lambda x, y: lax.xeinsum("ca{i}->b", x), ValueError, "'b'"),
    "a name of no operand": (lambda x, y: lax.xeinsum("ca->ca{i}", x), ValueError, "names 'i', and no operand"),
    "no such name": (lambda x, y: lax.xeinsum("ca{k}->ca", x), NameError, "'k'"),
    "operands": (lambda x, y: lax.xeinsum("ca{i}->a", x, y), ValueError, "1 terms, but there are 2 operands"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    of_one, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        over(of_one)
