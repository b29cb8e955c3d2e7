"""`pmap` against `vmap`, which computes the same on one device."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tangrad.experimental.maps import xmap
from tangrad.sharding import PartitionSpec as P
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


def test_a_result_without_an_axis_is_that_of_the_first_example() -> None:
    """Whatever devices compute: on each of them, mapped again, differentiated, and beside results with an axis."""
    mapped = tangrad.pmap(lambda a: (a * a, lax.psum(a, "i"), a), axis_name="i", out_axes=(None, None, 0))
    for square, total, same in (mapped(X), tangrad.jit(mapped)(X)):
        assert_equal(square, X[0] ** 2)
        assert_equal(total, X.sum(0))
        assert_equal(same, X)
        assert square.sharding.is_fully_replicated
        assert [shard.data.tolist() for shard in square.addressable_shards] == [square.tolist()] * 8
    stack = np.stack([X, 2 * X], 1)
    assert_equal(tangrad.vmap(mapped, in_axes=1)(stack)[0], np.stack([X[0] ** 2, 4 * X[0] ** 2]))
    found = tangrad.grad(lambda a: mapped(a)[0].sum())(X)
    assert_equal(found, np.concatenate([2 * X[:1], np.zeros_like(X[1:])]))
    outer = tangrad.pmap(lambda b: tangrad.pmap(lambda a: 3 * a, "j", out_axes=None)(b), "i")
    assert_equal(outer(X.reshape(4, 2, -1)), 3 * X[::2])


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


# --- `soft_pmap` against `vmap`, which computes the same on one device ---


MANY = matrix(16, 4)
LONG = np.arange(96, dtype=np.float32).reshape(24, 4) / 7
GROUPS = [[n, n + 8] for n in range(8)]


def soft_centred(x: Any) -> Any:
    return x - lax.pmean(x, "i")


def ring(x: Any) -> Any:
    return lax.ppermute(x, "i", [(n, (n + 3) % 16) for n in range(16)])


@pytest.mark.parametrize(
    ("function", "arguments", "options"),
    [
        (soft_centred, (MANY,), {}),
        (soft_centred, (LONG,), {}),
        (soft_centred, (MANY[:8],), {}),
        (soft_centred, (MANY[:3],), {}),
        (lambda a, b: a * b, (MANY, MANY[0]), {"in_axes": (0, None)}),
        (lambda a, b: a @ b, (MANY, MANY), {"in_axes": (0, -2), "out_axes": 0}),
        (lambda a: lax.psum(a, "i") + a, (MANY.T,), {"in_axes": 1, "out_axes": -1}),
        (
            lambda t: {"s": t["a"].max(), "t": (t["b"], 3.0)},
            ({"a": MANY, "b": MANY.T},),
            {"in_axes": ({"a": 0, "b": 1},)},
        ),
        (lambda a: lax.psum(a, "i"), (MANY,), {"out_axes": None}),
        (lambda a: lax.axis_index("i") + a[0], (MANY,), {}),
        (lambda a: lax.all_gather(a, "i"), (MANY,), {"out_axes": 1}),
        (lambda a: lax.pmax(a, "i") - lax.pmin(a, "i"), (MANY,), {}),
        (ring, (MANY,), {}),
        (lambda a: lax.all_to_all(a, "i", 0, 0), (np.arange(256.0, dtype=np.float32).reshape(16, 16),), {}),
        (lambda a: lax.psum_scatter(a, "i"), (np.arange(256.0, dtype=np.float32).reshape(16, 16),), {}),
        (lambda a: lax.psum(a, "i", axis_index_groups=GROUPS), (MANY,), {}),
        (lambda a: lax.scan(lambda c, r: (c + lax.psum(r, "i"), c), 0.0, a), (MANY,), {}),
        (lambda a: lax.cond(a[0] > 3, lambda b: b, lambda b: -b, a), (MANY,), {}),
        (tangrad.jit(lambda a: lax.psum(a * lax.axis_index("i"), "i")), (MANY,), {}),
        (lambda a: tangrad.grad(lambda b: (lax.psum(b, "i") ** 2).sum())(a), (MANY,), {}),
        (lambda a: tangrad.vmap(lambda b: b - lax.psum(b, ("i", "j")), axis_name="j")(a), (MANY,), {}),
    ],
)
def test_soft_like_vmap(function: Any, arguments: Any, options: Any) -> None:
    found = tangrad.soft_pmap(function, axis_name="i", **options)(*arguments)
    expected = tangrad.vmap(function, axis_name="i", **options)(*arguments)
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
        assert_equal(one, other, 1e-4)


def test_each_device_has_a_chunk() -> None:
    double = tangrad.soft_pmap(lambda a: 2 * a)
    found = double(double(MANY))
    assert_equal(found, 4 * MANY)
    assert sorted([shard.device.id for shard in found.addressable_shards]) == [device.id for device in DEVICES]
    assert [shard.data.shape for shard in found.addressable_shards] == [(2, 4)] * 8
    chosen = tangrad.soft_pmap(lambda a: 2 * a, devices=[DEVICES[5], DEVICES[2]])(MANY)
    assert [(shard.device, shard.data.shape) for shard in chosen.addressable_shards] == [
        (DEVICES[5], (8, 4)),
        (DEVICES[2], (8, 4)),
    ]


def test_transformed() -> None:
    total = tangrad.soft_pmap(soft_centred, axis_name="i")
    plain = tangrad.vmap(soft_centred, axis_name="i")
    weights = jnp.asarray(np.cos(MANY))
    assert_equal(tangrad.jit(total)(MANY), plain(MANY))
    assert_equal(
        tangrad.grad(lambda a: (total(a * a) * weights).sum())(MANY),
        tangrad.grad(lambda a: (plain(a * a) * weights).sum())(MANY),
    )
    stack = np.stack([MANY, MANY + 1, MANY * MANY])
    assert_equal(tangrad.vmap(total)(stack), tangrad.vmap(plain)(stack), 1e-4)
    assert_equal(tangrad.jit(lambda a, b: tangrad.soft_pmap(lambda c: c * b)(a))(MANY, 3.0), 3 * MANY)
    assert_equal(total.lower(MANY).compile()(MANY), plain(MANY))


def test_soft_nested() -> None:
    square = np.arange(16 * 16 * 2, dtype=np.float32).reshape(16, 16, 2)

    def both(x: Any) -> Any:
        return x - lax.pmean(x, "i") + lax.psum(x, ("i", "j"))

    expected = tangrad.vmap(tangrad.vmap(both, axis_name="j"), axis_name="i")(square)
    for inner in (tangrad.soft_pmap, tangrad.pmap):
        assert_equal(tangrad.soft_pmap(inner(both, axis_name="j"), axis_name="i")(square), expected, 1e-4)
    found = tangrad.pmap(tangrad.soft_pmap(both, axis_name="j"), axis_name="i")(square[:8])
    assert_equal(found, tangrad.vmap(tangrad.vmap(both, axis_name="j"), axis_name="i")(square[:8]), 1e-4)


def test_keywords_sizes_and_decorators() -> None:
    assert_equal(tangrad.soft_pmap(lambda x, *, k: x * k)(MANY, k=MANY[:, 0]), MANY * MANY[:, :1])
    index = tangrad.soft_pmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=32)
    assert index().tolist() == list(range(32))

    @tangrad.soft_pmap(axis_name="i")
    def mean(x: Any) -> Any:
        """A mean."""
        return lax.pmean(x, "i")

    assert mean.__doc__ == "A mean."
    assert_equal(mean(MANY)[0], MANY.mean(0))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: tangrad.soft_pmap(soft_centred, "i")(MANY[:12]), ValueError, "size 12, .* 8 devices"),
        (lambda: tangrad.soft_pmap(lambda a: a, out_axes=None)(MANY), ValueError, "out_axes is None"),
        (lambda: tangrad.soft_pmap(lambda a: a, out_axes=None)(MANY[:8]), ValueError, "out_axes is None"),
        (lambda: tangrad.soft_pmap(lambda a: a, out_axes=3)(MANY), ValueError, "out_axes is 3 for result 0"),
        (
            lambda: tangrad.soft_pmap(lambda a, b: a)(MANY, MANY[:8]),
            ValueError,
            "sizes of the mapped axes disagree",
        ),
        (lambda: tangrad.soft_pmap(lambda a: a, in_axes=2)(MANY), ValueError, "cannot be mapped over axis 2"),
        (lambda: tangrad.soft_pmap(lambda a: lax.psum(a, "k"), "i")(MANY), NameError, "'k'"),
        (lambda: tangrad.soft_pmap(lambda a: a)("text"), TypeError, "soft_pmap: the arguments"),
        (lambda: tangrad.soft_pmap(3), TypeError, "expects a function, got 3"),
        (lambda: tangrad.soft_pmap(soft_centred, devices=DEVICES, backend="numpy"), ValueError, "not both"),
        (lambda: tangrad.soft_pmap(soft_centred, in_axes=1.5), TypeError, "in_axes"),
    ],
)
def test_bad_input(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


# --- Maps over devices within one another ---


NESTED_X = np.arange(8, dtype=np.float32).reshape(4, 2)
MESH = tangrad.make_mesh((2,), ("d",))
OTHER = tangrad.make_mesh((2,), ("r",))


def by_total(x):
    return x * x.sum(0)


INNER = tangrad.pmap(lambda v: v * lax.psum(v, "p"), axis_name="p")
JAXPR = tangrad.make_jaxpr(INNER)(NESTED_X[:2])  # of a map that was traced outside


def by_xmap(resources=None):
    return xmap(lambda v: v * lax.psum(v, "q"), in_axes=["q", ...], out_axes=["q", ...], axis_resources=resources)


def in_a_mesh(function):
    def run(v):
        with OTHER:
            return function(v)

    return run


NESTED = {
    "pmap": INNER,
    "jit of pmap": tangrad.jit(INNER),
    "vmap": tangrad.vmap(lambda v: v * lax.psum(v, "p"), axis_name="p"),
    "xmap": by_xmap(),
    "xmap with resources": in_a_mesh(by_xmap({"q": "r"})),
    "traced before": lambda v: tangrad.core.eval_jaxpr(JAXPR.jaxpr, JAXPR.consts, v)[0],
}
AROUND = {
    "checked shard_map": partial(tangrad.shard_map, mesh=MESH, in_specs=P("d"), out_specs=P("d")),
    "shard_map": partial(tangrad.shard_map, mesh=MESH, in_specs=P("d"), out_specs=P("d"), check_vma=False),
    "shard_map along one axis of two": partial(
        tangrad.shard_map,
        mesh=tangrad.make_mesh((2, 2), ("d", "e")),
        in_specs=P("d"),
        out_specs=P("d"),
        axis_names={"d"},
    ),
    "pmap": lambda f: lambda x: tangrad.pmap(f, axis_name="o")(x.reshape(2, 2, 2)).reshape(4, 2),
    "xmap": lambda f: lambda x: xmap(f, in_axes=["o", ...], out_axes=["o", ...])(x.reshape(2, 2, 2)).reshape(4, 2),
}


@pytest.mark.parametrize("inner", NESTED)
@pytest.mark.parametrize("around", AROUND)
def test_one_map_within_another(around: str, inner: str) -> None:
    if around == "shard_map along one axis of two" and inner in ("traced before", "xmap with resources"):
        with pytest.raises(ValueError, match="one program cannot run on two sets of devices"):
            AROUND[around](NESTED[inner])(NESTED_X)
        return
    mapped = AROUND[around](NESTED[inner])
    expected = np.concatenate([by_total(NESTED_X[:2]), by_total(NESTED_X[2:])])
    assert_equal(mapped(NESTED_X), expected)
    assert_equal(tangrad.jit(mapped)(NESTED_X), expected)
    if inner == "traced before":
        return  # its types have nothing of the axes of the map around it
    slope = np.concatenate([2 * np.ones((2, 2)) * NESTED_X[:2].sum(0), 2 * np.ones((2, 2)) * NESTED_X[2:].sum(0)])
    assert_equal(tangrad.grad(lambda x: mapped(x).sum())(NESTED_X), slope)


@pytest.mark.parametrize("around", ["checked shard_map", "shard_map"])
def test_collectives_over_the_axes_of_both(around: str) -> None:
    inner = tangrad.pmap(lambda v: v * lax.psum(v, ("p", "d")), axis_name="p")
    assert_equal(AROUND[around](inner)(NESTED_X), by_total(NESTED_X))


def test_loops_of_maps_within_maps() -> None:
    twice = lambda v: lax.scan(lambda c, _: (INNER(c), None), v, None, length=2)[0]
    expected = np.concatenate([by_total(by_total(NESTED_X[:2])), by_total(by_total(NESTED_X[2:]))])
    assert_equal(AROUND["checked shard_map"](twice)(NESTED_X), expected)


def test_a_sharded_map_within_a_pmap_needs_the_mesh_of_the_pmap() -> None:
    inner = tangrad.shard_map(by_total, mesh=MESH, in_specs=P("d"), out_specs=P("d"))
    with pytest.raises(ValueError, match="nested maps need one mesh"):
        AROUND["pmap"](inner)(NESTED_X)
