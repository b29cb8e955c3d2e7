"""`shard_map`: collectives against what they mean, transformations against the same program without devices."""

from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tangrad.core import NamedAxisEffect, PrimitiveSet, register
from tangrad.sharding import AxisType, NamedSharding
from tangrad.sharding import PartitionSpec as P
from tests.references.programs import by_references, by_values, draw_program, has_while
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, by, matrix, mesh

shard_map = partial(tangrad.shard_map, mesh=mesh())
X = matrix()
BLOCKS = X.reshape(2, 4, 4, 2).transpose(0, 2, 1, 3)  # by ("x", "y"): [x, y] is the part of a device


def put_together(parts: np.ndarray) -> np.ndarray:
    """Parts of matrices, [x, y, rows, columns], as one matrix."""
    x, y, rows, columns = parts.shape
    return parts.transpose(0, 2, 1, 3).reshape(x * rows, y * columns)


def shifted(parts: np.ndarray, perm: list) -> np.ndarray:
    found = np.zeros_like(parts)
    for source, to in perm:
        found[:, to] = parts[:, source]
    return found


ROUND = [(0, 1), (1, 2), (3, 0)]
PROGRAMS = {
    "psum": (lambda a: lax.psum(a, "x"), P("x", "y"), P(None, "y"), X[:4] + X[4:]),
    "psum over both": (lambda a: lax.psum(a.sum(), ("x", "y")), P("x", "y"), P(), X.sum()),
    "psum over dimensions": (lambda a: lax.psum(a, ("y", 1)), P("x", "y"), P("x"), X.sum(1)),
    "pmean": (lambda a: lax.pmean(a, "y"), P("x", "y"), P("x"), X.reshape(8, 4, 2).mean(1)),
    "pmax": (lambda a: lax.pmax(a, ("y", "x")), P("x", "y"), P(), BLOCKS.max((0, 1))),
    "pmin": (lambda a: lax.pmin(a, "x"), P("x"), P(), X[:4]),
    "groups": (
        lambda a: lax.psum(a, "y", axis_index_groups=[[0, 1], [3, 2]]), P("x", "y"), P("x", "y"),
        put_together(np.repeat(BLOCKS.reshape(2, 2, 2, 4, 2).sum(2), 2, axis=1)),
    ),
    "all_gather": (lambda a: lax.all_gather(a, "y", tiled=True), P("y", "x"), P(None, "x"), X),
    "all_gather, stacked": (lambda a: lax.all_gather(a, ("x", "y")), P(("x", "y")), P(), X[:, None]),
    "all_gather, alike": (
        lambda a: lax.all_gather(a, "y", axis=1, tiled=True, to="invarying"), P("x", "y"), P("x"), X,
    ),
    "all_gather, stacked and alike": (
        lambda a: lax.all_gather(a, ("x", "y"), to="invarying"), P(("x", "y")), P(), X[:, None],
    ),
    "all_gather in groups": (
        lambda a: lax.all_gather(a, "y", axis_index_groups=[[0, 1], [2, 3]], tiled=True), P("y"), P("y"),
        np.concatenate([X[:4], X[:4], X[4:], X[4:]]),
    ),
    "psum_scatter": (
        lambda a: lax.psum_scatter(a, "y", scatter_dimension=1, tiled=True), P("x"), P("x", "y"), 4 * X,
    ),
    "psum_scatter, one each": (lambda a: lax.psum_scatter(a, "y"), P("x"), P(("x", "y")), 4 * X.reshape(-1)),
    "all_to_all": (lambda a: lax.all_to_all(a, "y", 1, 0, tiled=True), P("y"), P(None, "y"), X),
    "ppermute": (lambda a: lax.ppermute(a, "y", ROUND), P("x", "y"), P("x", "y"), put_together(shifted(BLOCKS, ROUND))),
    "ppermute over both": (
        lambda a: lax.ppermute(a, ("x", "y"), [(n, (n + 3) % 8) for n in range(8)]), P(("x", "y")), P(("x", "y")),
        np.roll(X, 3, 0),
    ),
    "pshuffle": (
        lambda a: lax.pshuffle(a, "y", [1, 0, 3, 2]), P("x", "y"), P("x", "y"), put_together(BLOCKS[:, [1, 0, 3, 2]]),
    ),
    "pbroadcast": (lambda a: lax.pbroadcast(a, "y", 2), P("x", "y"), P("x"), BLOCKS[:, 2].reshape(8, 2)),
    "axis_index": (
        lambda a: a * 0 + lax.axis_index("y") + 10.0 * lax.axis_index(("x", "y")), P("x", "y"), P("x", "y"),
        put_together(np.arange(8.0).reshape(2, 4, 1, 1) * 10 + np.arange(4.0)[:, None, None] + np.zeros((1, 1, 4, 2))),
    ),
    "matmul": (lambda a: lax.psum(a @ a.T, "y"), P(None, "y"), P(), X @ X.T),
    "scan": (
        lambda a: lax.scan(lambda c, row: (c + lax.psum(row, "x"), None), jnp.zeros(2), a)[0], P("x", "y"), P("y"),
        X.sum(0),
    ),
    "cond": (
        lambda a: lax.cond(a.shape[0] > 1, lambda b: lax.psum(b, "x"), lambda b: lax.psum(0 * b, "x"), a), P("x"), P(),
        X[:4] + X[4:],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_collectives(name: str) -> None:
    function, in_spec, out_spec, expected = PROGRAMS[name]
    mapped = shard_map(function, in_specs=in_spec, out_specs=out_spec)
    assert_equal(mapped(X), expected, 1e-4)
    several = tangrad.jit(
        lambda a: (mapped(a), tangrad.jvp(mapped, (a,), (a,))[1], tangrad.vmap(mapped)(jnp.stack([a, a])))
    )
    found, tangent, mapped_twice = several(tangrad.device_put(X, by("y", "x")))
    assert_equal(found, expected, 1e-4)
    assert_equal(tangent, {"axis_index": 0, "matmul": 2}.get(name, 1) * expected, 1e-4)
    assert_equal(mapped_twice[1], expected, 1e-4)
    assert tangrad.jit(mapped)(X).sharding.is_equivalent_to(by(*out_spec), np.ndim(expected))


LINEAR = [name for name in PROGRAMS if name not in ("axis_index", "pmax", "pmin", "matmul")]


# Derivatives are of rules that both backends share: XLA, which takes its time to compile, gets every third.
@pytest.mark.parametrize("name", LINEAR[::3] if ON_XLA else LINEAR)
def test_linear_ones_transpose(name: str) -> None:
    function, in_spec, out_spec, expected = PROGRAMS[name]
    mapped = shard_map(function, in_specs=in_spec, out_specs=out_spec)
    weights = np.cos(np.arange(expected.size, dtype=np.float32)).reshape(np.shape(expected))
    gradient = np.asarray(tangrad.jit(tangrad.grad(lambda a: (mapped(a) * weights).sum()))(X))
    for direction in (np.sin(7 * X), np.cos(X * X)):
        assert_equal((gradient * direction).sum(), (np.asarray(mapped(direction)) * weights).sum(), 1e-3)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "complex64", "bool"])
def test_what_is_gathered_alike_is_alike_by_its_type(dtype: str) -> None:
    x = np.asarray(jnp.where(X % 3 == 0, -0.0, X - 9).astype(dtype))
    found = []

    def gathered(a: tangrad.Array) -> tangrad.Array:
        alike = lax.all_gather(a, "y", axis=1, tiled=True, to="invarying")
        found.append([set(dict(tangrad.typeof(one).named_shape)) for one in (lax.all_gather(a, "y"), alike)])
        return alike

    whole = np.asarray(shard_map(gathered, in_specs=P("x", "y"), out_specs=P("x"))(x))
    assert found == [[{"x", "y"}, {"x"}]] and whole.dtype == x.dtype
    assert whole.tobytes() == x.tobytes()  # signs of zeros included


def test_layers_of_a_network() -> None:
    def network(first, second, batch):
        return jnp.tanh(batch @ first) @ second

    sharded = shard_map(
        lambda first, second, batch: lax.psum(jnp.tanh(batch @ first) @ second, "y"),
        in_specs=(P(None, "y"), P("y"), P("x")),
        out_specs=P("x"),
    )
    first, second, batch = X / 8, X.T / 8, np.sin(X)
    assert_equal(sharded(first, second, batch), network(first, second, batch), 1e-4)

    def gradients(function):
        return tangrad.grad(lambda *arguments: (function(*arguments) ** 2).sum(), (0, 1, 2))

    for transform in (lambda f: f, tangrad.jit):
        found = transform(gradients(sharded))(first, second, batch)
        for one, other in zip(found, gradients(network)(first, second, batch), strict=True):
            assert_equal(one, other, 1e-3)
    hessian = tangrad.hessian(lambda v: (sharded(first, second, v[:, None] * batch) ** 2).sum())(jnp.ones(8))
    expected = tangrad.hessian(lambda v: (network(first, second, v[:, None] * batch) ** 2).sum())(jnp.ones(8))
    assert_equal(hessian, expected, 1e-3)


def test_it_composes() -> None:
    half = shard_map(lambda a: a / 2 + lax.ppermute(a, "x", [(0, 1), (1, 0)]), in_specs=P("x"), out_specs=P("x"))
    expected = X
    for _ in range(3):
        expected = expected / 2 + np.concatenate([expected[4:], expected[:4]])
    assert_equal(lax.scan(lambda c, _: (half(c), None), jnp.asarray(X), None, length=3)[0], expected)
    remembered = shard_map(
        tangrad.checkpoint(lambda a: jnp.sin(lax.psum(jnp.sin(a), "x"))), in_specs=P("x"), out_specs=P()
    )
    whole = lambda a: jnp.sin(jnp.sin(a[:4]) + jnp.sin(a[4:])).sum()
    assert_equal(tangrad.grad(lambda a: remembered(a).sum())(X), tangrad.grad(whole)(X), 1e-4)
    inner = shard_map(tangrad.jit(lambda a: lax.psum(a, "x")), in_specs=P("x"), out_specs=P())
    assert_equal(inner(X), X[:4] + X[4:])
    weights = jnp.arange(8.0)  # closed over
    product = tangrad.grad(lambda w: shard_map(lambda a: jnp.sin(a @ w), in_specs=P("x"), out_specs=P("x"))(X).sum())
    assert_equal(product(weights), X.T @ np.cos(X @ np.arange(8.0)), 1e-4)
    assert shard_map(lambda: lax.axis_index("y")[None], in_specs=(), out_specs=P("y"))().tolist() == [0, 1, 2, 3]
    tree = shard_map(
        lambda t: {"s": lax.psum(t["a"], "x"), "b": t["b"]}, in_specs=({"a": P("x"), "b": P()},), out_specs=P()
    )
    assert_equal(tree({"a": X, "b": 3.0})["s"], X[:4] + X[4:])


def test_gradients_inside() -> None:
    def gradient(w, a):
        return lax.pmean(tangrad.grad(lambda v: (jnp.sin(a @ v) ** 2).sum())(w), "x")

    w = np.arange(8, dtype=np.float32) / 8
    inside = partial(shard_map, gradient, in_specs=(P(), P("x")), out_specs=P())
    expected = tangrad.grad(lambda v: (jnp.sin(X @ v) ** 2).sum())(w) / 2
    assert_equal(inside(check_vma=False)(w, X), expected, 1e-4)
    assert_equal(inside()(w, X), 2 * expected, 1e-4)  # the sum over devices, which each has: its mean is itself
    forward = shard_map(lambda a: tangrad.jvp(jnp.sin, (a,), (a,))[1], in_specs=P("x"), out_specs=P("x"))
    assert_equal(forward(X), X * np.cos(X), 1e-4)


def test_custom_rules_inside() -> None:
    @tangrad.custom_vjp
    def thrice(a):
        return lax.psum(a, "x")

    thrice.defvjp(lambda a: (lax.psum(a, "x"), None), lambda _, ct: (3 * lax.psum(ct, "x"),))
    mapped = shard_map(thrice, in_specs=P("x"), out_specs=P(), check_vma=False)  # each device has a share
    assert_equal(tangrad.grad(lambda a: mapped(a).sum())(X), np.full((8, 8), 3.0))
    thrice.defvjp(lambda a: (lax.psum(a, "x"), None), lambda _, ct: (3 * ct,))
    mapped = shard_map(thrice, in_specs=P("x"), out_specs=P())  # it is one value, with one cotangent
    assert_equal(tangrad.grad(lambda a: mapped(a).sum())(X), np.full((8, 8), 3.0))


def test_rules_inside_that_are_not_linear_see_whole_cotangents() -> None:
    """As in jax: what is the same on all devices has one cotangent, the sum of those from there; then it is clipped."""

    @tangrad.custom_vjp
    def clipped(a):
        return a

    clipped.defvjp(lambda a: (a, None), lambda _, ct: (jnp.clip(ct, -0.1, 0.1),))
    w, both = np.linspace(-1, 1, 8, dtype=np.float32), P(("x", "y"))

    def gradient(function, out, **options):
        mapped = shard_map(function, in_specs=(P(), both), out_specs=out, **options)
        return tangrad.grad(lambda w, a: jnp.sin(mapped(w, a)).sum(), (0, 1))(w, X)

    slope = np.cos(w * X)
    of_argument = gradient(lambda w, a: clipped(w) * a, both)
    assert_equal(of_argument[0], np.clip((slope * X).sum(0), -0.1, 0.1))
    assert_equal(of_argument[1], slope * w)
    total = np.cos((w * X).sum())
    of_sum = gradient(lambda w, a: clipped(lax.psum((w * a).sum(), ("x", "y"))), P())
    assert_equal(of_sum[0], np.clip(total, -0.1, 0.1) * X.sum(0), 1e-4)
    assert_equal(of_sum[1], np.clip(total, -0.1, 0.1) * np.broadcast_to(w, X.shape))
    again = gradient(lambda w, a: tangrad.checkpoint(lambda w, a: clipped(w) * a)(w, a), both)
    assert_equal(again[0], of_argument[0])
    by_itself = gradient(lambda w, a: clipped(w) * a, both, check_vma=False)
    assert_equal(by_itself[0], np.clip(slope * X, -0.1, 0.1).sum(0))


def test_mapped_over_named_and_spmd_axes() -> None:
    stack = np.stack([X, 2 * X])
    over = tangrad.vmap(shard_map(lambda a: lax.psum(a, "y"), in_specs=P("y"), out_specs=P()), spmd_axis_name="x")
    assert_equal(over(stack), stack.reshape(2, 4, 2, 8).sum(1))
    if ON_XLA:
        assert tangrad.jit(over)(stack).sharding.spec == P("x")
    both = tangrad.vmap(
        lambda a: shard_map(lambda b: lax.psum(b, ("y", "b")), in_specs=P("y"), out_specs=P())(a), axis_name="b"
    )
    assert_equal(both(stack)[0], 3 * X.reshape(4, 2, 8).sum(0))
    with pytest.raises(ValueError, match="cannot be cut along the mesh axes"):
        tangrad.vmap(lambda a: shard_map(lambda b: b, in_specs=P("y"), out_specs=P("y"))(a), axis_name="b",
                     spmd_axis_name="x")(stack)  # fmt: skip


def test_some_axes_for_the_compiler() -> None:
    some = shard_map(lambda a: jnp.sin(a) * lax.axis_index("x"), in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    expected = np.concatenate([0 * X[:4], np.sin(X[4:])])
    for argument in (X, tangrad.device_put(X, by("x", "y"))):
        assert_equal(some(argument), expected, 1e-4)
        assert_equal(tangrad.jit(some)(argument), expected, 1e-4)
    if ON_XLA:  # how arguments are cut along the other axes is seen within, and around
        cut = lambda a: tangrad.jit(some).lower(tangrad.device_put(a, by("x", "y"))).compile()
        assert cut(X).output_shardings.spec == P("x", "y")
        assert not [word for word in ("all-gather", "all-reduce", "all-to-all") if word in cut(X).as_text()]
    columns = tangrad.jit(lambda a: some(lax.with_sharding_constraint(a, by("x", "y")))[:, :7])  # 4 do not divide 7
    assert_equal(columns(X), expected[:, :7], 1e-4)
    inner = shard_map(lambda b: lax.psum(b, "y"), in_specs=P(None, "y"), out_specs=P(), auto={"x"})
    nested = shard_map(inner, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    assert_equal(tangrad.jit(nested)(X), X.reshape(8, 4, 2).sum(1))


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize("is_set", [False, True])
def test_specs_within_mean_axes_of_the_mesh_of_the_map(kind: AxisType, is_set: bool) -> None:
    """Of that mesh the axes that are mapped are `Manual`, whether it is in use outside or was given to the map."""
    own = tangrad.make_mesh((2, 4), ("x", "y"), kind)

    def rows(part: Any) -> Any:
        within = tangrad.sharding.get_abstract_mesh()
        assert within.axis_types == (AxisType.Manual, kind) == tangrad.typeof(part).sharding.mesh.axis_types
        named = {"in_specs": P(None, "y"), "out_specs": P(None, "y"), "axis_names": {"y"}}
        nested = [tangrad.shard_map(columns, mesh=found, **named) for found in (None, within, own)]
        moved = tangrad.reshard(part, P(None, "y"))
        hinted = moved if kind is AxisType.Explicit else lax.with_sharding_constraint(part, P(None, "y"))
        return sum([f(part) for f in nested]) + moved + hinted

    def columns(part: Any) -> Any:
        assert tangrad.sharding.get_abstract_mesh().are_all_axes_manual
        return part * lax.axis_index("y")

    x = matrix(8, 8)
    expected = 2 * x + 3 * x * np.repeat(np.arange(4), 2)
    with tangrad.set_mesh(own if is_set else None):
        mapped = tangrad.shard_map(
            rows, mesh=None if is_set else own, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
        )
        for f in (mapped, tangrad.jit(mapped)):
            assert_equal(f(x), expected)
            assert_equal(
                tangrad.grad(lambda x, f=f: f(x).sum())(x), 2 + 3 * np.tile(np.repeat(np.arange(4.0), 2), (8, 1))
            )


def test_shapes_within_have_types_that_record_what_differs() -> None:
    def loss(part: Any) -> Any:
        shape = tangrad.eval_shape(lambda part: part.sum(), part)
        assert tangrad.typeof(shape) is tangrad.typeof(part.sum())
        assert tangrad.typeof(shape).mat.varying == {"x"}
        return tangrad.vjp(lambda part: part.sum(), part)[1](jnp.full_like(shape, 3))[0]

    assert_equal(shard_map(loss, in_specs=P("x"), out_specs=P("x"))(X), np.full((8, 8), 3.0))
    cut = NamedSharding(tangrad.make_mesh((2, 4), ("x", "y"), AxisType.Explicit), P("y"))
    assert tangrad.typeof(tangrad.ShapeDtypeStruct((8,), "float32", sharding=cut)).sharding.spec == P("y")


def test_the_check_of_replication() -> None:
    def check(function, spec, accepted):
        mapped = shard_map(function, in_specs=P("x", "y"), out_specs=spec)
        if accepted:
            mapped(X)
            return
        with pytest.raises(ValueError, match="result may differ along the mesh axes"):
            mapped(X)

    check(lambda a: a, P("x"), accepted=False)
    check(lambda a: lax.psum(a, "y"), P("x"), accepted=True)
    check(lambda a: lax.psum(a, "y", axis_index_groups=[[0, 1], [2, 3]]), P("x"), accepted=False)
    check(lambda a: lax.pmax(lax.pmin(a, "x"), "y"), P(), accepted=True)
    check(lambda a: lax.all_gather(a, ("x", "y")), P(), accepted=True)
    check(lambda a: lax.psum(a, ("x", "y")) + lax.axis_index("x"), P(), accepted=False)
    check(lambda a: tangrad.jit(lambda b: lax.psum(b, "y"))(a), P("x"), accepted=True)
    loop = lambda a, start: lax.fori_loop(0, 3, lambda _, c: lax.psum(c, "y"), start + 0 * a[0, 0])
    check(lambda a: lax.pmax(loop(a, 1.0), "x"), P(), accepted=False)
    check(lambda a: lax.scan(lambda c, row: (c + lax.psum(row.sum(), ("x", "y")), None), 0.0, a)[0], P(), accepted=True)
    check(lambda a: lax.cond(a[0, 0] > 0, lambda: 1.0, lambda: 2.0), P(), accepted=False)
    unchecked = tangrad.shard_map(lambda a: a, mesh(), P("x"), P(), check_rep=False)
    assert unchecked(X).shape == (4, 8)


def test_replica_groups_in_the_program() -> None:
    if not ON_XLA:
        return

    def text(function):
        mapped = shard_map(function, in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=False)
        return tangrad.jit(mapped).lower(X).as_text()

    assert "dense<[[0, 4], [1, 5], [2, 6], [3, 7]]>" in text(lambda a: lax.psum(a, "x"))
    assert "dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>" in text(lambda a: lax.psum(a, "y"))
    assert "dense<[[0, 2], [1, 3], [4, 6], [5, 7]]>" in text(
        lambda a: lax.psum(a, "y", axis_index_groups=[[0, 2], [1, 3]])
    )
    several = text(lambda a: lax.psum(lax.psum(a, "y"), "x"))
    assert "handle = 1" in several and "handle = 2" in several


def test_bad_calls() -> None:
    identity = lambda a: a
    small = tangrad.make_mesh((4,), ("x",))
    for error, call, words in [
        (ValueError, lambda: shard_map(identity, in_specs=P("x"), out_specs=P("x"))(np.ones((3, 8))),
         r"argument args\[0\] of shape \(3, 8\).*dimension 0, of size 3.*'x' of size 2"),
        (ValueError, lambda: shard_map(lambda a: a.sum(), in_specs=P("x"), out_specs=P("x"))(X), "has rank 0, less"),
        (ValueError, lambda: shard_map(identity, in_specs=P("z"), out_specs=P("x"))(X), "Resource axis: z of"),
        (ValueError, lambda: shard_map(identity, in_specs=(P("x"), P()), out_specs=P("x"))(X), "tuple of length 2"),
        (ValueError, lambda: shard_map(lambda a: (a, a), in_specs=P("x"), out_specs=(P("x"),))(X), "tuple of length 1"),
        (ValueError, lambda: shard_map(identity, in_specs=P("x", None, "y"), out_specs=P())(X), "of rank 3 or more"),
        (ValueError, lambda: shard_map(identity, in_specs=P("y"), out_specs=P(), axis_names={"x"})(X), "axis_names"),
        (ValueError, lambda: shard_map(identity, in_specs=P(), out_specs=P(), axis_names={"q"}), "has 'q'"),
        (ValueError, lambda: tangrad.shard_map(identity, in_specs=P("x"), out_specs=P("x"))(X), "context mesh cannot"),
        (ValueError, lambda: shard_map(lambda a: shard_map(identity, in_specs=P(), out_specs=P())(a),
                                       in_specs=P("x"), out_specs=P("x"))(X), "'x' is mapped already"),
        (ValueError, lambda: shard_map(lambda a: tangrad.shard_map(identity, small, P(), P())(a),
                                       in_specs=P("x"), out_specs=P("x"))(X), "nested maps need one mesh"),
        (ValueError, lambda: shard_map(identity, in_specs=P("x"), out_specs=P("x"))(
            tangrad.device_put(X, tangrad.devices()[3])), "incompatible devices"),
        (TypeError, lambda: shard_map(identity, in_specs="x", out_specs=P())(X), "must be partition specs"),
        (TypeError, lambda: shard_map(identity, in_specs=P(), out_specs=P())(a=X), r"keyword arguments \['a'\]"),
        (TypeError, lambda: shard_map(identity, in_specs=P(), out_specs=P())("x"), "is 'x' of type str"),
        (TypeError, lambda: shard_map(3, in_specs=P(), out_specs=P()), "expects a function"),
        (TypeError, lambda: shard_map(identity, in_specs=P()), "needs out_specs"),
        (NameError, lambda: shard_map(lambda a: lax.psum(a, "q"), in_specs=P("x"), out_specs=P("x"))(X), "'q'.*'x'"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            call()
    with mesh():
        assert_equal(tangrad.shard_map(identity, in_specs=P("x"), out_specs=P("x"))(X), X)


def test_parts_are_not_constrained_along_the_axes_of_the_map() -> None:
    def rows(a: Any) -> Any:
        return lax.with_sharding_constraint(2 * a, NamedSharding(mesh(), P("x")))

    for inside in (rows, tangrad.jit(rows), lambda a: lax.cond(a.sum() > 0, rows, rows, a)):
        with pytest.raises(ValueError, match=r"P\('x',\) names the axis 'x', over which shard_map maps the function"):
            shard_map(inside, in_specs=P("x"), out_specs=P("x"))(X)
    assert_equal(shard_map(rows, in_specs=P("y"), out_specs=P("y"), axis_names={"y"})(X), 2 * X)


def test_what_names_axes_by_itself_is_not_believed() -> None:
    """A third party's primitive that distinguishes devices: no type says so, its effects do."""
    mine = PrimitiveSet("mine_named", api=1)

    @mine.primitive(
        effects=lambda avals, params: frozenset([NamedAxisEffect(params["axis"])]), decompose=lambda x, axis: x
    )
    def apart(x, *, axis):
        """Differs along an axis."""
        return x

    with register(mine):
        for inside in (lambda a: apart(a, axis="x"), tangrad.jit(lambda a: apart(a, axis="x"))):
            with pytest.raises(ValueError, match=r"may differ along the mesh axes \('x',\)"):
                shard_map(inside, in_specs=P(), out_specs=P())(X)


def test_arguments_that_are_passed_as_they_are() -> None:
    seen = []

    def f(kept: Any, x: Any, *others: Any) -> Any:
        seen.append((kept, others))
        return x * 2

    thing = object()
    specs = (None, P("x"), {"a": None, "b": (None, None)})
    tree = {"a": thing, "b": ("text", [1, 2])}
    mapped = shard_map(f, in_specs=specs, out_specs=P("x"))
    for kept in (thing, None, 3, True):
        assert_equal(mapped(kept, X, tree), X * 2)
        assert seen[-1][0] is kept and seen[-1][1] == (tree,) and seen[-1][1][0]["a"] is thing
    counted = shard_map(f, in_specs=(None, P("x")), out_specs=P("x"))
    before = len(seen)
    for kept in (1, 1, 1.0, True, 1):  # equal, and not of one type
        counted(kept, X)
    assert [kept for kept, _ in seen[before:]] == [1, 1.0, True]
    assert [type(kept) for kept, _ in seen[before:]] == [int, float, bool]
    with pytest.raises(TypeError, match=r"argument args\[0\] is <object"):
        shard_map(f, in_specs=P("x"), out_specs=P("x"))(thing, X)
    with pytest.raises(ValueError, match=r"argument args\[1\].*is not divisible"):
        counted(thing, np.ones(3))
    gradient = tangrad.grad(
        lambda x: shard_map(lambda k, v: v * k["by"], in_specs=(None, P("x")), out_specs=P("x"))({"by": 3.0}, x).sum()
    )
    assert_equal(gradient(X), np.full_like(X, 3))


@pytest.mark.parametrize("checked", [False, True])
def test_derivatives_of_examples_that_a_mesh_axis_cuts(checked: bool) -> None:
    """`vmap(grad(shard_map))` with `spmd_axis_name`: along it each device has other examples, and sums nothing."""
    f = shard_map(lambda a: jnp.sin(lax.psum(jnp.sum(a), "y")), in_specs=P("y"), out_specs=P(), check_vma=checked)
    for derivative in (tangrad.grad(f), tangrad.jacfwd(f), tangrad.hessian(f), lambda a: tangrad.vjp(f, a)[1](2.0)[0]):
        expected = tangrad.vmap(derivative)(X)
        for transform in (lambda g: g, tangrad.jit):
            assert_equal(transform(tangrad.vmap(derivative, spmd_axis_name="x"))(X), expected, 1e-5)


USING: list[tuple[Any, Any, Any]] = [  # what uses the axis `x`, by collectives or specs
    (lambda a: jnp.sin(lax.psum(a * lax.axis_index("x"), "x")), P(), P()),
    (lambda a: lax.psum(jnp.sin(a).sum(), ("x", "y")), P("y"), P()),
    (lambda a: lax.all_gather(jnp.sin(a) * lax.axis_index("x"), "x", tiled=True, to="invarying"), P("y"), P("y")),
    (lambda a: jnp.sin(a) * (1 + lax.axis_index("x")), P(), P("x")),
    (lambda a: jnp.cos(a) * lax.ppermute(a, ("x", "y"), ROUND), P(("x", "y")), P(("x", "y"))),
]


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("case", range(len(USING)))
def test_axes_that_a_map_uses_cut_no_examples(case: int, checked: bool) -> None:
    """Collectives would combine different examples: each device along them has all."""
    body, given, made = USING[case]
    typed = tangrad.make_mesh((2, 4), ("x", "y"), (AxisType.Explicit, AxisType.Explicit))
    second = lambda g: tangrad.jacfwd(tangrad.jacrev(g))
    for over, spmd in ((mesh(), ("x", "y")), (typed, None)):
        f = tangrad.shard_map(body, mesh=over, in_specs=given, out_specs=made, check_vma=checked)
        rows = X / 8 if spmd else tangrad.device_put(X / 8, NamedSharding(typed, P("x")))
        for derivative in (tangrad.jacrev,) if ON_XLA else (lambda g: g, tangrad.jacrev, second):
            alone = tangrad.jit(derivative(f))
            mapped = tangrad.jit(tangrad.vmap(derivative(f), spmd_axis_name=spmd))
            assert_equal(mapped(rows), np.stack([alone(row) for row in X / 8]), 1e-4)


def test_maps_within_take_the_other_axes() -> None:
    inner = shard_map(lambda part: part * lax.psum(1, "y"), in_specs=P(None, "y"), out_specs=P(None, "y"))
    outer = shard_map(lambda part: inner(part) * lax.psum(1, "x"), in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    with mesh():
        assert_equal(tangrad.jit(outer)(X), X * 8)


# --- References -----------------------------------------------------------------------------------------------------

ROW = np.linspace(0.1, 0.9, 8, dtype=np.float32)
along_x = partial(shard_map, in_specs=P("x"))


def scaled(part: Any) -> None:
    part[...] = part[...] * (1 + lax.axis_index("x")) + part.shape[0]


@pytest.mark.parametrize("transform", [lambda f: f, tangrad.jit])
def test_references_are_cut_as_arguments_and_put_together_again(transform: Any) -> None:
    ref = tangrad.new_ref(ROW)
    before = ref[...]
    transform(along_x(scaled, out_specs=None))(ref)
    assert_equal(ref[...], ROW * [1, 1, 1, 1, 2, 2, 2, 2] + 4)
    assert_equal(before, ROW)

    total = tangrad.new_ref(0.0)

    def add(part: Any, x: Any) -> Any:
        part.at[1:][...] += x[1:]
        total[...] += lax.psum(x.sum(), "x")
        return part[:1]

    mapped = transform(along_x(add, out_specs=P("x")))
    assert_equal(mapped(ref, ROW), ref[...][::4])
    mapped(ref, ROW)
    assert_equal(total[...], 2 * ROW.sum())
    assert_equal(ref[...], ROW * [1, 3, 3, 3, 2, 4, 4, 4] + 4)


def test_references_within_maps_in_loops_maps_and_derivatives() -> None:
    change = along_x(scaled, out_specs=None)

    def by_reference(x: Any) -> Any:
        ref = tangrad.new_ref(x)
        lax.fori_loop(0, 3, lambda _, carry: (change(ref), carry)[1], 0)
        lax.cond(ref[0] > 1e9, lambda: None, lambda: change(ref))
        return ref[...]

    def by_value(x: Any) -> Any:
        one = along_x(lambda part: part * (1 + lax.axis_index("x")) + part.shape[0], out_specs=P("x"))
        return one(one(one(one(x))))

    loss: Any = lambda f: lambda x: jnp.sum(jnp.sin(f(x)))
    for transform in (lambda f: f, tangrad.jit, loss, lambda f: tangrad.grad(loss(f)), lambda f: tangrad.jacfwd(f)):
        assert_equal(transform(by_reference)(ROW), transform(by_value)(ROW))
    rows = jnp.stack([ROW, 2 * ROW], 1)
    assert_equal(tangrad.vmap(by_reference, 1, 1)(rows), tangrad.vmap(by_value, 1, 1)(rows))
    mapped = tangrad.new_ref(rows)
    tangrad.vmap(change, 1)(mapped)
    assert_equal(mapped[...], rows * np.array([1, 1, 1, 1, 2, 2, 2, 2])[:, None] + 4)


def test_what_is_written_along_more_axes_than_a_reference_is_cut() -> None:
    ref = tangrad.new_ref(ROW)
    write = lambda part, x: part.__setitem__(..., x)
    for transform in (lambda f: f, tangrad.jit):
        with pytest.raises(ValueError, match=r"Ref\{f32\[8\]\} may differ along the mesh axes \('y',\).*in_specs name"):
            transform(shard_map(write, in_specs=(P("x"), P(("x", "y"))), out_specs=None))(ref, jnp.ones(32))
        with pytest.raises(ValueError, match=r"along the mesh axes \('x',\).*closes over is not cut"):
            transform(along_x(lambda x: ref.at[:4].__setitem__(..., x), out_specs=None))(ROW)
        with pytest.raises(ValueError, match=r"operand 0 and operand 1"):
            transform(along_x(lambda a, b: None, out_specs=None))(ref, ref)
        with pytest.raises(TypeError, match=r"references cannot be returned; return its value"):
            transform(along_x(lambda a: a, out_specs=P("x")))(ref)
    assert_equal(ref[...], ROW)
    shard_map(write, in_specs=(P(), P("x")), out_specs=None, check_vma=False)(ref, jnp.ones(16))  # as was asked for
    assert_equal(ref[...], jnp.ones(8))


def test_pmap_refuses_references_which_no_device_could_write() -> None:
    ref = tangrad.new_ref(ROW)
    with pytest.raises(TypeError, match=r"Ref\{f32\[8\]\} among its arguments: pass its value"):
        tangrad.pmap(lambda x: x[...])(ref)
    with pytest.raises(TypeError, match=r"Ref\{f32\[8\]\} that the function closes over.*shard_map takes"):
        tangrad.pmap(lambda x: ref.at[0].__setitem__(..., x))(ROW)
    assert_equal(ref[...], ROW)


def test_types_of_references_along_explicit_axes_stay() -> None:
    explicit = tangrad.make_mesh((2, 4), ("x", "y"), (tangrad.sharding.AxisType.Explicit,) * 2)
    increase = lambda part: part.__setitem__(..., part[...] + 1)
    add = tangrad.shard_map(increase, mesh=explicit, out_specs=None)
    with tangrad.set_mesh(explicit):
        cut, whole = (tangrad.new_ref(tangrad.device_put(ROW, NamedSharding(explicit, s))) for s in (P("x"), P()))
        for transform in (lambda f: f, tangrad.jit):
            transform(add)(cut)
            transform(tangrad.shard_map(increase, in_specs=P("y"), out_specs=None, mesh=explicit))(whole)
        assert tangrad.typeof(cut[...]).sharding.spec == P("x") and tangrad.typeof(whole[...]).sharding.spec == P(None)
        assert_equal(cut[...], ROW + 2)
        assert_equal(whole[...], ROW + 2)


def turns(x: Any) -> Any:
    """A reference to what is the same everywhere, that gets in a loop what differs: alone, and beside a carry."""
    ref = tangrad.new_ref(jnp.ones(4))
    other = tangrad.new_ref(jnp.zeros(4))
    other[...] = x

    @tangrad.jit
    def inner(start: Any) -> Any:
        def body(carry: Any, i: Any) -> Any:
            ref[i] = ref[i] + jnp.sin(other[i]) * carry
            lax.cond(i > 2, lambda: ref.__setitem__(..., ref[...] * other[...]), lambda: None)
            return carry + ref[i], ref[i]

        return lax.scan(body, start, jnp.arange(4))

    carry, outs = inner(1.0)

    def again(i: Any, n: Any) -> Any:
        ref[i] = x[i] * n
        return n

    lax.fori_loop(0, 2, again, 2.0)
    return ref[...] * carry + outs


def turns_of_values(x: Any) -> Any:
    def body(state: Any, i: Any) -> Any:
        carry, row = state
        row = row.at[i].add(jnp.sin(x[i]) * carry)
        row = jnp.where(i > 2, row * x, row)
        return (carry + row[i], row), row[i]

    (carry, row), outs = lax.scan(body, (1.0, jnp.ones(4)), jnp.arange(4))
    row = lax.fori_loop(0, 2, lambda i, row: row.at[i].set(x[i] * 2.0), row)
    return row * carry + outs


@pytest.mark.parametrize("checked", [False, True])
def test_gradients_of_loops_that_write_what_differs_to_references(checked: bool) -> None:
    """Their cotangents are those of each device, and are not summed in each turn."""
    found = []
    for function in (turns, turns_of_values):
        f = along_x(function, out_specs=P("x"), check_vma=checked)
        inside = lambda g: along_x(g, out_specs=P("x"), check_vma=checked)
        gradient = tangrad.grad(lambda part, g=function: jnp.sum(g(part) ** 2))
        found.append([f(ROW), tangrad.grad(lambda x, f=f: jnp.sum(f(x) ** 2))(ROW), inside(gradient)(ROW)])
    for one, other in zip(*found, strict=True):
        assert_equal(one, other)
    assert_equal(found[0][1], found[0][2])


def test_objects_that_cannot_be_hashed_are_handed_on() -> None:
    class Unhashable:
        def __hash__(self) -> int:
            raise RuntimeError("no hash")

    kept = Unhashable()
    mapped = tangrad.shard_map(
        lambda a, other: a * 2 if other is kept else a, mesh=mesh(), in_specs=(P("x"), None), out_specs=P("x")
    )
    assert_equal(mapped(matrix(), kept), matrix() * 2)


def through_references(program: Any, x: Any) -> Any:
    """A drawn program on two references that are cut; what it returns, and what they hold then."""
    first, second = tangrad.new_ref(x), tangrad.new_ref(x * x)

    def part(*operands: Any) -> Any:
        *cut, x = operands
        given = iter(cut)
        names = {name: getattr(tangrad, name) for name in ("numpy", "lax", "jit", "ref")}
        return by_references(SimpleNamespace(**names, new_ref=lambda _: next(given)), program)(x)[None]

    out = along_x(part, out_specs=P("x"))(first, second, x)
    return jnp.stack([out, (first[...].reshape(2, 4) * second[...].reshape(2, 4)[:, ::-1]).sum(1)])


def through_values(program: Any, x: Any) -> Any:
    out = along_x(lambda part: by_values(tangrad, program)(part)[None], out_specs=P("x"))(x)
    return jnp.stack([out, out])


@pytest.mark.parametrize("seed", range(1, 3) if ON_XLA else range(24))
def test_drawn_programs_of_references_that_are_cut(seed: int) -> None:
    program, rows = draw_program(seed), np.stack([ROW, ROW / 2], 1)
    loss = lambda f: lambda x: (jnp.sin(f(x)) * np.array([[1, 2], [3, -1]], np.float32)).sum()
    found = []
    for run in (through_references, through_values):
        f = partial(run, program)
        values = [f(ROW), tangrad.jit(f)(ROW), tangrad.vmap(f, 1)(rows), tangrad.jvp(loss(f), (ROW,), (ROW,))[1]]
        if not has_while(program):
            gradient = tangrad.grad(loss(f))
            values += [gradient(ROW), tangrad.jit(gradient)(ROW), tangrad.vmap(gradient, 1)(rows)]
            values.append(tangrad.grad(tangrad.checkpoint(loss(f)))(ROW))
        found.append(values)
    for one, other in zip(*found, strict=True):
        assert_equal(one, other, 1e-3)


def decided(part: Any) -> Any:
    """By values that are the same on all devices: what was summed, also by a derivative within."""
    total = lax.psum(part.sum(), ("x", "y"))
    weight = tangrad.grad(lambda w: (w * part).sum())(jnp.ones(()))
    if total > 0 and weight == total:
        return part * weight + lax.axis_index("y")
    return lax.scan(lambda c, _: (c + lax.axis_index("x"), None), -part, None, length=3)[0]


@pytest.mark.parametrize("checked", [True, False])
def test_functions_that_ask_for_values(checked: bool) -> None:
    """Run operation by operation, they give what they give where both branches are computed, and its derivatives."""
    f = partial(shard_map, in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=checked)
    where = np.repeat(np.arange(4), 2), np.repeat(np.arange(2), 4)[:, None]

    def chosen(part: Any) -> Any:
        return part * 3 if lax.psum(part.sum(), ("x", "y")) > 0 else -part

    for x in (X, -X):
        assert_equal(f(chosen)(x), 3 * x if x.sum() > 0 else -x)
        for with_jit in (nullcontext, tangrad.disable_jit):
            with with_jit():
                assert_equal(tangrad.grad(lambda x: (f(chosen)(x) ** 2).sum())(x), (18 if x.sum() > 0 else 2) * x)
        if checked:
            assert_equal(f(decided)(x), x * x.sum() + where[0] if x.sum() > 0 else 3 * where[1] - x)
    assert_equal(f(lambda part: part * float(lax.psum(part.sum(), ("x", "y"))))(X), X * X.sum())
    assert_equal(f(lambda part: part * complex(lax.pmax(part.max(), ("x", "y"))).real)(X), X * X.max())
    for fill in (0.0, -0.0, 0.0):  # equal numbers, which are different parameters
        filled = lambda part: (chosen(part), part.at[np.array([9, 9])].get(mode="fill", fill_value=fill))[1]  # noqa: B023
        assert np.signbit(f(filled)(X)).all() == np.signbit(fill)
    with pytest.raises(tangrad.errors.TracerBoolConversionError, match=r"differ along \('x', 'y'\); lax.psum"):
        f(lambda part: part if part.sum() > 0 else -part)(X)
    with pytest.raises(tangrad.errors.TracerBoolConversionError):
        tangrad.jit(f(chosen))(X)
    with tangrad.disable_jit():  # a value that is the same is shown, and the parts of others
        seen: list[str] = []
        f(lambda part: seen.append(f"{lax.pmax(part.max(), ('x', 'y'))} {part}") or part)(X)
    assert f"value={X.max()}" in seen[0] and "parts along ('x', 'y')" in seen[0]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("place", [None, (0, 0), (-1, -1), (17, 33)])
def test_extrema_keep_nan(dtype: str, place: tuple[int, int] | None) -> None:
    """Between devices, and within their parts: XLA's own operations on CPUs do not."""
    x = np.random.default_rng(0).normal(size=(64, 2048)).astype(dtype)
    if place is not None:
        x[place] = np.nan
    placed = tangrad.device_put(x, by("x", "y"))
    for collective, of_axis, find in ((lax.pmax, jnp.max, np.max), (lax.pmin, jnp.min, np.min)):
        parts = shard_map(lambda x, f=collective: f(x, "x"), in_specs=P("x", "y"), out_specs=P(None, "y"))
        whole = shard_map(lambda x, f=collective, g=of_axis: f(g(x), ("x", "y")), in_specs=P("x", "y"), out_specs=P())
        for function in (parts, tangrad.jit(parts)):
            np.testing.assert_array_equal(function(placed), find(x.reshape(2, 32, -1), 0))
        np.testing.assert_array_equal(whole(placed), find(x))
        mapped = tangrad.pmap(lambda x, f=collective: f(x, "i"), axis_name="i")
        np.testing.assert_array_equal(mapped(x.reshape(8, 8, -1))[3], find(x.reshape(8, 8, -1), 0))
        for axes in (None, 0, 1):
            function = tangrad.jit(lambda x, f=of_axis, axes=axes: f(x, axes))
            np.testing.assert_array_equal(function(placed), find(x, axes))
    with np.errstate(invalid="ignore"):
        expected = np.maximum(x, 0).astype("float64").sum(0)
    np.testing.assert_allclose(tangrad.jit(lambda x: jnp.maximum(x, 0).sum(0))(placed), expected, 1e-2)
    tiles = tangrad.jit(lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 4), (2, 4), "VALID"))(placed)
    np.testing.assert_array_equal(tiles, x.reshape(32, 2, -1, 4).max((1, 3)))


@pytest.mark.parametrize(("shape", "cut"), [((8, 2100), P(("x", "y"))), ((64, 1032), P("x", "y")), ((64, 1030), P())])
@pytest.mark.parametrize("extremum", ["max", "min"])
def test_other_ways_to_extrema_keep_nan(shape: tuple[int, int], cut: P, extremum: str) -> None:
    """By a function of two numbers, running, and at places."""
    x = np.random.default_rng(1).normal(size=shape).astype("float32")
    x[shape[0] // 2 + 1, 12] = np.nan
    placed = tangrad.device_put(x, by(*cut))
    find, running, two = getattr(np, extremum), getattr(lax, f"cum{extremum}"), getattr(jnp, f"{extremum}imum")
    start = np.float32(-np.inf if extremum == "max" else np.inf)
    places = np.arange(shape[0]) % 5
    by_place = np.stack([find(x[places == place], 0) for place in range(5)])
    cases: list[tuple[Any, np.ndarray]] = [
        (lambda x: lax.reduce(x, start, lambda a, b: two(a, b), (1,)), find(x, 1)),
        (lambda x: lax.reduce(x, start, lambda a, b: two(b, a), (0,)), find(x, 0)),
        (
            lambda x: lax.reduce_window(x, start, lambda a, b: two(a, b), (2, 2), (2, 2), "VALID"),
            find(x.reshape(shape[0] // 2, 2, shape[1] // 2, 2), (1, 3)),
        ),
        (lambda x: running(x, 0), getattr(np, f"{extremum}imum").accumulate(x, 0)),
        (lambda x: running(x, 1), getattr(np, f"{extremum}imum").accumulate(x, 1)),
        (lambda x: getattr(tangrad.ops, f"segment_{extremum}")(x, places, 5), by_place),
        (lambda x: getattr(jnp.full((5, shape[1]), start).at[places], extremum)(x), by_place),
        (lambda x: getattr(x.at[:3], extremum)(0), np.concatenate([two(x[:3], 0), x[3:]])),
    ]
    results = tangrad.jit(lambda x: [function(x) for function, _ in cases])(placed)
    for number, (found, (_, expected)) in enumerate(zip(results, cases, strict=True)):
        np.testing.assert_array_equal(found, expected, f"case {number}")
