"""`pmap` against `vmap`, which computes the same on one device."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tests.sharding.eight_devices.support import assert_equal, matrix

X = matrix()
DEVICES = tangrad.devices()


def centred(x):
    return x - lax.pmean(x, "i")


def test_like_vmap() -> None:
    for function, arguments, options in [
        (centred, (X,), {}), (centred, (X[:3],), {}), (lambda a, b: a * b, (X, X[0]), {"in_axes": (0, None)}),
        (lambda a, b: a @ b, (X, X), {"in_axes": (1, 1), "out_axes": -1}),
        (lambda t: {"s": t["a"].sum(), "t": (t["b"], 3.0)}, ({"a": X, "b": X.T},), {"in_axes": ({"a": 0, "b": 1},)}),
        (lambda a: lax.scan(lambda c, r: (c + lax.psum(r, "i"), c), 0.0, a), (X,), {}),
        (lambda a: lax.ppermute(a, "i", [(n, (n + 1) % 8) for n in range(8)]) + lax.axis_index("i"), (X,), {}),
        (tangrad.jit(lambda a: lax.all_gather(a, "i")), (X,), {"out_axes": 1}),
    ]:  # fmt: skip
        found = tangrad.pmap(function, axis_name="i", **options)(*arguments)
        expected = tangrad.vmap(function, axis_name="i", **options)(*arguments)
        for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
            assert_equal(one, other, 1e-4)


def test_results_stay_on_their_devices() -> None:
    double = tangrad.pmap(lambda a: 2 * a)
    found = double(double(X))
    assert [shard.device for shard in found.addressable_shards] == DEVICES
    assert [shard.data.shape for shard in found.addressable_shards] == [(1, 8)] * 8
    assert_equal(found, 4 * X)
    chosen = tangrad.pmap(lambda a: a, devices=[DEVICES[5], DEVICES[2]])(X[:2])
    assert_equal(chosen.addressable_data(0), X[:1])
    assert [shard.device for shard in chosen.addressable_shards] == [DEVICES[5], DEVICES[2]]


def test_arguments_of_all_kinds() -> None:
    assert_equal(tangrad.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(X, 3), 3 * X)
    assert_equal(tangrad.pmap(lambda n, x: x * n, static_broadcasted_argnums=0, in_axes=(None, 0))(3, X), 3 * X)
    assert_equal(tangrad.pmap(lambda x, *, k: x * k)(X, k=np.arange(8.0, dtype=np.float32)), X * np.arange(8)[:, None])
    assert tangrad.pmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=4)().tolist() == [0, 1, 2, 3]
    assert_equal(tangrad.pmap(lambda a: lax.psum(a, "i"), axis_name="i", out_axes=None)(X), X.sum(0))

    @tangrad.pmap
    def decorated(a):
        return a + 1

    assert_equal(decorated(X), X + 1)
    donating = tangrad.pmap(lambda a: a + 1, donate_argnums=0)
    given = decorated(X)
    assert_equal(donating(given), X + 2)
    assert given.is_deleted()


def test_transformations() -> None:
    mapped, plain = tangrad.pmap(centred, axis_name="i"), tangrad.vmap(centred, axis_name="i")
    for transform in (tangrad.grad, lambda f: tangrad.jit(tangrad.grad(f))):
        found = transform(lambda a: (mapped(jnp.sin(a)) ** 2).sum())(X)
        assert_equal(found, tangrad.grad(lambda a: (plain(jnp.sin(a)) ** 2).sum())(X), 1e-4)
    assert_equal(tangrad.jit(lambda a: 2 * mapped(a))(X), 2 * plain(X))
    stack = np.stack([X, 2 * X], 1)
    assert_equal(tangrad.vmap(mapped, in_axes=1, out_axes=1)(stack)[:, 1], 2 * plain(X))
    assert_equal(lax.scan(lambda c, _: (mapped(c) + 1, None), jnp.asarray(X), None, length=2)[0], plain(X) + 1, 1e-4)
    inside = tangrad.value_and_grad(lambda a: lax.psum(jnp.sin(a).sum(), "i"))
    for one, other in zip(tangrad.pmap(inside, "i")(X), tangrad.vmap(inside, axis_name="i")(X), strict=True):
        assert_equal(one, other, 1e-4)
    assert_equal(tangrad.jvp(mapped, (X,), (X,))[1], plain(X))


def test_nested() -> None:
    def both(map_):
        return map_(
            lambda r: map_(lambda c: lax.psum(c, ("i", "j")) + lax.axis_index("j"), axis_name="j")(r), axis_name="i"
        )

    assert_equal(both(tangrad.pmap)(X.reshape(2, 4, 8)), both(tangrad.vmap)(X.reshape(2, 4, 8)))


def test_ahead_of_time() -> None:
    compiled = tangrad.pmap(lambda a: 2 * a).lower(X).compile()
    assert_equal(compiled(X), 2 * X)
    pmapped = tangrad.pmap(lambda a: a)
    assert repr(pmapped) == "<pmapped <lambda>>"


def test_bad_calls() -> None:
    pmap = tangrad.pmap
    for error, call, words in [
        (ValueError, lambda: pmap(lambda a: a)(np.ones((9, 2))), "size 9, and there are 8 devices"),
        (ValueError, lambda: pmap(lambda a, b: a)(np.ones((4, 2)), np.ones((3, 2))),
         r"disagree:\n.*args\[0\], axis 0: size 4\n.*args\[1\], axis 0: size 3"),
        (ValueError, lambda: pmap(lambda a: a, axis_size=3)(np.ones((4, 2))), "axis_size is 3"),
        (ValueError, lambda: pmap(lambda a: a, devices=DEVICES[:2])(np.ones((4, 2))), "size 4, and devices has 2"),
        (ValueError, lambda: pmap(lambda a: a, out_axes=None)(X), "out_axes is None for result 0"),
        (ValueError, lambda: pmap(lambda a: a, out_axes=4)(X), "out_axes is 4 for result 0"),
        (ValueError, lambda: pmap(lambda a: a)(1.0), r"args\[0\] has shape \(\)"),
        (ValueError, lambda: pmap(lambda: 1.0)(), "state axis_size"),
        (ValueError, lambda: pmap(lambda a: a, in_axes=(0, 0))(X), "in_axes has 2 entries"),
        (ValueError, lambda: pmap(lambda a: a, devices=DEVICES, backend="numpy"), "not both"),
        (ValueError, lambda: pmap(lambda a, n: a, static_broadcasted_argnums=1)(X, [1]), "must be hashable"),
        (TypeError, lambda: pmap(lambda a: a, in_axes="x"), "got 'x'"),
        (TypeError, lambda: pmap(3), "expects a function"),
        (TypeError, lambda: pmap(lambda a: a)("x"), "is 'x' of type str"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            call()


def test_nothing_to_run_takes_any_number_of_examples() -> None:
    """Results that depend neither on arguments nor on the device are there without the devices."""
    many = np.ones((11, 2), np.float32)
    assert tangrad.pmap(lambda x: 3.0)(many).tolist() == [3.0] * 11
    assert tangrad.jit(tangrad.pmap(lambda x: 3.0))(many).tolist() == [3.0] * 11
    closed = jnp.arange(2.0)
    found = tangrad.pmap(lambda x: {"a": closed + 1, "n": lax.psum(1, "i")}, "i", out_axes={"a": 1, "n": None})(many)
    assert found["a"].shape == (2, 11) and int(found["n"]) == 11
    assert tangrad.pmap(lambda: jnp.ones(2), axis_size=9)().shape == (9, 2)
    assert tangrad.pmap(lambda x: 3.0, devices=tangrad.devices()[:1])(many).shape == (11,)
    for function in (lambda x: x, lambda x: (3.0, x.sum()), lambda x: lax.axis_index("i"), lambda x: lax.psum(x, "i")):
        with pytest.raises(ValueError, match="the mapped axis has size 11, and there are 8 devices"):
            tangrad.pmap(function, "i")(many)
    with pytest.raises(ValueError, match="the mapped axis has size 11, and devices has 2"):
        tangrad.pmap(lambda x: x, devices=tangrad.devices()[:2])(many)


def test_arguments_that_say_where_and_what() -> None:
    some = tangrad.pmap(lambda x: x * 2, devices=tangrad.devices()[3:])(X[:2])
    assert [shard.device.id for shard in some.addressable_shards] == [3, 4]
    for wrong, error, match in (
        ({"devices": []}, ValueError, "devices must not be empty"),
        ({"axis_size": 2.0}, TypeError, "axis_size must be an integer or None, got 2.0"),
        ({"axis_size": -1}, ValueError, "axis_size must not be negative"),
    ):
        with pytest.raises(error, match=match):
            tangrad.pmap(lambda x: x, **wrong)
        with pytest.raises(error, match=match):
            tangrad.soft_pmap(lambda x: x, **wrong)
    with pytest.raises(ValueError, match="static_broadcasted_argnums has 1, and the call has 1 positional arguments"):
        tangrad.pmap(lambda x, k: x, static_broadcasted_argnums=1)(X, k=3)
