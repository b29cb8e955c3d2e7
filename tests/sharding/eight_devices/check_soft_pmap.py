"""`soft_pmap` against `vmap`, which computes the same on one device."""

from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tests.sharding.eight_devices.support import assert_equal, matrix

X = matrix(16, 4)
LONG = np.arange(96, dtype=np.float32).reshape(24, 4) / 7
DEVICES = tangrad.devices()
GROUPS = [[n, n + 8] for n in range(8)]


def centred(x: Any) -> Any:
    return x - lax.pmean(x, "i")


def ring(x: Any) -> Any:
    return lax.ppermute(x, "i", [(n, (n + 3) % 16) for n in range(16)])


@pytest.mark.parametrize(
    ("function", "arguments", "options"),
    [
        (centred, (X,), {}),
        (centred, (LONG,), {}),
        (centred, (X[:8],), {}),
        (centred, (X[:3],), {}),
        (lambda a, b: a * b, (X, X[0]), {"in_axes": (0, None)}),
        (lambda a, b: a @ b, (X, X), {"in_axes": (0, -2), "out_axes": 0}),
        (lambda a: lax.psum(a, "i") + a, (X.T,), {"in_axes": 1, "out_axes": -1}),
        (lambda t: {"s": t["a"].max(), "t": (t["b"], 3.0)}, ({"a": X, "b": X.T},), {"in_axes": ({"a": 0, "b": 1},)}),
        (lambda a: lax.psum(a, "i"), (X,), {"out_axes": None}),
        (lambda a: lax.axis_index("i") + a[0], (X,), {}),
        (lambda a: lax.all_gather(a, "i"), (X,), {"out_axes": 1}),
        (lambda a: lax.pmax(a, "i") - lax.pmin(a, "i"), (X,), {}),
        (ring, (X,), {}),
        (lambda a: lax.all_to_all(a, "i", 0, 0), (np.arange(256.0, dtype=np.float32).reshape(16, 16),), {}),
        (lambda a: lax.psum_scatter(a, "i"), (np.arange(256.0, dtype=np.float32).reshape(16, 16),), {}),
        (lambda a: lax.psum(a, "i", axis_index_groups=GROUPS), (X,), {}),
        (lambda a: lax.scan(lambda c, r: (c + lax.psum(r, "i"), c), 0.0, a), (X,), {}),
        (lambda a: lax.cond(a[0] > 3, lambda b: b, lambda b: -b, a), (X,), {}),
        (tangrad.jit(lambda a: lax.psum(a * lax.axis_index("i"), "i")), (X,), {}),
        (lambda a: tangrad.grad(lambda b: (lax.psum(b, "i") ** 2).sum())(a), (X,), {}),
        (lambda a: tangrad.vmap(lambda b: b - lax.psum(b, ("i", "j")), axis_name="j")(a), (X,), {}),
    ],
)
def test_like_vmap(function: Any, arguments: Any, options: Any) -> None:
    found = tangrad.soft_pmap(function, axis_name="i", **options)(*arguments)
    expected = tangrad.vmap(function, axis_name="i", **options)(*arguments)
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
        assert_equal(one, other, 1e-4)


def test_each_device_has_a_chunk() -> None:
    double = tangrad.soft_pmap(lambda a: 2 * a)
    found = double(double(X))
    assert_equal(found, 4 * X)
    assert sorted([shard.device.id for shard in found.addressable_shards]) == [device.id for device in DEVICES]
    assert [shard.data.shape for shard in found.addressable_shards] == [(2, 4)] * 8
    chosen = tangrad.soft_pmap(lambda a: 2 * a, devices=[DEVICES[5], DEVICES[2]])(X)
    assert [(shard.device, shard.data.shape) for shard in chosen.addressable_shards] == [
        (DEVICES[5], (8, 4)),
        (DEVICES[2], (8, 4)),
    ]


def test_transformed() -> None:
    total = tangrad.soft_pmap(centred, axis_name="i")
    plain = tangrad.vmap(centred, axis_name="i")
    weights = jnp.asarray(np.cos(X))
    assert_equal(tangrad.jit(total)(X), plain(X))
    assert_equal(
        tangrad.grad(lambda a: (total(a * a) * weights).sum())(X),
        tangrad.grad(lambda a: (plain(a * a) * weights).sum())(X),
    )
    stack = np.stack([X, X + 1, X * X])
    assert_equal(tangrad.vmap(total)(stack), tangrad.vmap(plain)(stack), 1e-4)
    assert_equal(tangrad.jit(lambda a, b: tangrad.soft_pmap(lambda c: c * b)(a))(X, 3.0), 3 * X)
    assert_equal(total.lower(X).compile()(X), plain(X))


def test_nested() -> None:
    square = np.arange(16 * 16 * 2, dtype=np.float32).reshape(16, 16, 2)

    def both(x: Any) -> Any:
        return x - lax.pmean(x, "i") + lax.psum(x, ("i", "j"))

    expected = tangrad.vmap(tangrad.vmap(both, axis_name="j"), axis_name="i")(square)
    for inner in (tangrad.soft_pmap, tangrad.pmap):
        assert_equal(tangrad.soft_pmap(inner(both, axis_name="j"), axis_name="i")(square), expected, 1e-4)
    found = tangrad.pmap(tangrad.soft_pmap(both, axis_name="j"), axis_name="i")(square[:8])
    assert_equal(found, tangrad.vmap(tangrad.vmap(both, axis_name="j"), axis_name="i")(square[:8]), 1e-4)


def test_keywords_sizes_and_decorators() -> None:
    assert_equal(tangrad.soft_pmap(lambda x, *, k: x * k)(X, k=X[:, 0]), X * X[:, :1])
    index = tangrad.soft_pmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=32)
    assert index().tolist() == list(range(32))

    @tangrad.soft_pmap(axis_name="i")
    def mean(x: Any) -> Any:
        """A mean."""
        return lax.pmean(x, "i")

    assert mean.__doc__ == "A mean."
    assert_equal(mean(X)[0], X.mean(0))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: tangrad.soft_pmap(centred, "i")(X[:12]), ValueError, "size 12, .* 8 devices"),
        (lambda: tangrad.soft_pmap(lambda a: a, out_axes=None)(X), ValueError, "out_axes is None"),
        (lambda: tangrad.soft_pmap(lambda a: a, out_axes=None)(X[:8]), ValueError, "out_axes is None"),
        (lambda: tangrad.soft_pmap(lambda a: a, out_axes=3)(X), ValueError, "out_axes is 3 for result 0"),
        (lambda: tangrad.soft_pmap(lambda a, b: a)(X, X[:8]), ValueError, "sizes of the mapped axes disagree"),
        (lambda: tangrad.soft_pmap(lambda a: a, in_axes=2)(X), ValueError, "cannot be mapped over axis 2"),
        (lambda: tangrad.soft_pmap(lambda a: lax.psum(a, "k"), "i")(X), NameError, "'k'"),
        (lambda: tangrad.soft_pmap(lambda a: a)("text"), TypeError, "soft_pmap: the arguments"),
        (lambda: tangrad.soft_pmap(3), TypeError, "expects a function, got 3"),
        (lambda: tangrad.soft_pmap(centred, devices=DEVICES, backend="numpy"), ValueError, "not both"),
        (lambda: tangrad.soft_pmap(centred, in_axes=1.5), TypeError, "in_axes"),
    ],
)
def test_bad_input(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
