"""Derivatives inside of checked sharded maps: gradients by what is shared are summed over the devices that share it."""

from functools import partial

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import assert_equal, matrix, mesh

shard_map = partial(tangrad.shard_map, mesh=mesh())
X = matrix() / 8
w = np.arange(8, dtype=np.float32) / 8


def loss(v, a):
    return (jnp.sin(a @ v) ** 2).sum()


WHOLE = tangrad.grad(loss)(w, X)


@pytest.mark.parametrize(
    ("function", "times"),
    [
        (loss, 1),  # of each device: the gradient of all of them together
        (lambda v, a: lax.psum(loss(v, a), ("x", "y")), 1),
        (lambda v, a: lax.pmean(loss(v, a), ("x", "y")), 1 / 8),
        (lambda v, a: lax.psum(loss(v, a), "y"), 1),
        (lambda v, a: loss(lax.pcast(v, "x", to="varying"), a), 1),
        (tangrad.jit(loss), 1),
        (tangrad.checkpoint(loss), 1),
        (lambda v, a: sum(lax.scan(lambda c, row: (c + jnp.sin(row @ v) ** 2, None), 0.0, a)[:1]), 1),
        (lambda v, a: lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, s[1]), (0, 1.0))[1] * loss(v, a), 1),
    ],
)
def test_by_what_all_devices_share(function, times) -> None:
    inside = shard_map(lambda v, a: tangrad.grad(function)(v, a), in_specs=(P(), P(("x", "y"))), out_specs=P())
    assert_equal(inside(w, X), times * WHOLE, 1e-4)


def test_by_what_each_device_has() -> None:
    own = shard_map(tangrad.grad(loss, 1), in_specs=(P(), P(("x", "y"))), out_specs=P(("x", "y")))
    assert_equal(own(w, X), tangrad.grad(loss, 1)(w, X), 1e-4)
    marked = shard_map(
        lambda v, a: tangrad.grad(loss)(lax.pvary(v, ("x", "y")), a)[None],
        in_specs=(P(), P(("x", "y"))), out_specs=P(("x", "y")),
    )  # fmt: skip
    each = marked(w, X)
    assert each.shape == (8, 8)
    assert_equal(each.sum(0), WHOLE, 1e-4)
    one = shard_map(tangrad.grad(loss), in_specs=(P(), P("x")), out_specs=P())  # along "y" nothing differs
    assert_equal(one(w, X), WHOLE, 1e-4)


def test_branches_that_not_all_devices_take() -> None:
    """What is summed over devices is summed outside of them: in a branch a device would wait for those in the other."""

    def chosen(v, a):
        return lax.cond(lax.axis_index("x") > 0, lambda: loss(v, a), lambda: 2 * loss(v, a))

    inside = shard_map(tangrad.grad(chosen), in_specs=(P(), P(("x", "y"))), out_specs=P())
    expected = 2 * tangrad.grad(loss)(w, X[:4]) + tangrad.grad(loss)(w, X[4:])
    assert_equal(inside(w, X), expected, 1e-4)


def test_derivatives_of_derivatives() -> None:
    inside = shard_map(tangrad.grad(loss), in_specs=(P(), P(("x", "y"))), out_specs=P())
    squares = lambda v: (inside(v, X) ** 2).sum()
    expected = lambda v: (tangrad.grad(loss)(v, X) ** 2).sum()
    assert_equal(tangrad.grad(squares)(w), tangrad.grad(expected)(w), 1e-3)
    assert_equal(tangrad.vmap(inside, (0, None))(np.stack([w, 2 * w]), X)[1], tangrad.grad(loss)(2 * w, X), 1e-4)
    hessian = shard_map(tangrad.hessian(loss), in_specs=(P(), P(("x", "y"))), out_specs=P())
    assert_equal(hessian(w, X), tangrad.hessian(loss)(w, X), 1e-3)


def test_one_function_in_maps_that_check_and_maps_that_do_not() -> None:
    """Nothing that is remembered of a function in one of them is used in the other."""

    def indexed(v):
        return (v * lax.axis_index("x")).sum() + lax.scan(lambda c, _: (c * 2.0, None), v.sum(), None, length=2)[0]

    gradient = tangrad.grad(tangrad.jit(indexed))
    for _ in range(2):
        checked = shard_map(gradient, in_specs=P(), out_specs=P())(w)
        assert_equal(checked, np.full(8, 9.0))  # 0 + 4 and 1 + 4, of the devices along "x"
        each = shard_map(lambda v: gradient(v)[None], in_specs=P(), out_specs=P("x"), check_vma=False)(w)
        assert_equal(each, np.stack([np.full(8, 4.0), np.full(8, 5.0)]))


def test_cotangents_and_casts_that_do_not_fit() -> None:
    def pulled(v, a):
        return tangrad.vjp(lambda v: v * 2, v)[1](a[0])[0]

    with pytest.raises(ValueError, match=r"vjp: the cotangent differs along the mapped axes \('x', 'y'\)"):
        shard_map(pulled, in_specs=(P(), P(("x", "y"))), out_specs=P())(w, X)
    with pytest.raises(ValueError, match=r"pcast: a value of type f32\[1,8;.*\] differs along \('x',\) already"):
        shard_map(lambda a: lax.pcast(a, "x", to="varying"), in_specs=P(("x", "y")), out_specs=P(("x", "y")))(X)
    with pytest.raises(ValueError, match="pcast: to must be 'varying', got 'invariant'"):
        shard_map(lambda a: lax.pcast(a, "x", to="invariant"), in_specs=P("x"), out_specs=P("x"))(X)
    with pytest.raises(ValueError, match=r"may differ along the mesh axes \('x',\)"):
        shard_map(lambda v: tangrad.grad(loss)(lax.pvary(v, "x"), X), in_specs=P(), out_specs=P())(w)
    assert tangrad.grad(lambda v: v * v)(3.0) == 6.0
