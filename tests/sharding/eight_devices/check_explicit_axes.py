"""Axes of type `Explicit`: types have shardings, and operations infer those of their results, or raise.

The expected types are those of JAX 0.10 for the same programs, and so is what is refused.
"""

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import export, lax, nn
from tangrad.core import PrimitiveSet, RuleSet, register
from tangrad.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    ShardingTypeError,
    UnreducedKind,
    auto_axes,
    explicit_axes,
    reshard,
    use_mesh,
)
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, matrix, mesh

EXPLICIT = mesh().update_axis_types({"x": AxisType.Explicit, "y": AxisType.Explicit})
BOTH = ((8, 8), P("x", "y"))
ROWS = ((8, 8), P("x", None))
COLUMNS = ((8, 8), P(None, "y"))
WHOLE = ((8, 8), P(None, None))


@pytest.fixture(autouse=True)
def _mesh() -> Iterator[None]:
    with use_mesh(EXPLICIT):
        yield


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


turning = PrimitiveSet("turning", api=1)


@turning.primitive(name="turned")
def turned_p(x: Any) -> Any:
    """The transposed matrix."""
    return x.update(shape=x.shape[::-1])


def sharded(shape: tuple[int, ...], spec: P) -> Any:
    return tangrad.device_put(numbers(shape), NamedSharding(EXPLICIT, spec))


def spec_of(array: Any) -> P:
    return tangrad.typeof(array).sharding.spec


# Name, function, operands as (shape, spec), spec of the result.
KEPT: list[tuple[str, Callable[..., Any], tuple[Any, ...], P]] = [
    ("one operand", tnp.sin, (BOTH,), P("x", "y")),
    ("number beside", lambda a: 2 * a + 1, (BOTH,), P("x", "y")),
    ("equal", tnp.add, (BOTH, BOTH), P("x", "y")),
    ("one of two", tnp.add, (ROWS, WHOLE), P("x", None)),
    ("each of two", tnp.add, (ROWS, COLUMNS), P("x", "y")),
    ("vector", tnp.add, (BOTH, ((8,), P("y"))), P("x", "y")),
    ("column", tnp.add, (BOTH, ((8, 1), P("x", None))), P("x", "y")),
    ("untyped", lambda a: a + tnp.arange(8.0), (BOTH,), P("x", "y")),
    ("where", lambda a, b: tnp.where(a > 0, a, b), (BOTH, BOTH), P("x", "y")),
    ("special", lax.lgamma, (BOTH,), P("x", "y")),
    ("sum", lambda a: a.sum(0), (BOTH,), P("y")),
    ("total", lambda a: a.sum(), (BOTH,), P()),
    ("maximum", lambda a: a.max(1, keepdims=True), (BOTH,), P("x", None)),
    ("argmax", lambda a: a.argmax(1), (BOTH,), P("x")),
    ("variance", lambda a: a.var(0), (BOTH,), P("y")),
    ("softmax", tangrad.nn.softmax, (ROWS,), P("x", None)),
    ("relu", tangrad.nn.relu, (BOTH,), P("x", "y")),
    ("running", lambda a: tnp.cumsum(a, 1), (ROWS,), P("x", None)),
    ("sorted", lambda a: tnp.sort(a, 1), (ROWS,), P("x", None)),
    ("greatest", lambda a: lax.top_k(a, 2)[0], (ROWS,), P("x", None)),
    ("transposed", lambda a: a.T, (BOTH,), P("y", "x")),
    ("divided", lambda a: a.reshape(2, 4, 8), (BOTH,), P("x", None, "y")),
    ("joined", lambda a: a.reshape(64), (ROWS,), P("x")),
    ("both joined", lambda a: a.reshape(64), (BOTH,), P(("x", "y"))),
    ("a dimension more", lambda a: a.reshape(8, 1, 8), (BOTH,), P("x", None, "y")),
    ("a dimension less", lambda a: tnp.squeeze(a, 1), (((8, 1, 8), P("x", None, "y")),), P("x", "y")),
    ("indexed", lambda a: a[:, None], (BOTH,), P("x", None, "y")),
    ("row", lambda a: a[0], (COLUMNS,), P("y")),
    ("gathered", lambda a: a[tnp.array([1, 3])], (COLUMNS,), P(None, "y")),
    ("reversed", lambda a: a[::-1], (BOTH,), P("x", "y")),
    ("sliced beside", lambda a: a[:, 2:6], (ROWS,), P("x", None)),
    ("sliced", lambda a: lax.slice(a, (0, 0), (4, 8)), (ROWS,), P("x", None)),
    ("sliced at a place", lambda a: lax.dynamic_slice(a, (0, 0), (8, 4)), (ROWS,), P("x", None)),
    ("one element", lambda a: a[1, -1], (BOTH,), P()),
    ("one element at a place", lambda a: lax.dynamic_slice(a, (2, 3), (1, 1)), (BOTH,), P(None, None)),
    ("gradient of elements", tangrad.grad(lambda a: a[0, 1] * a[2, 3]), (BOTH,), P("x", "y")),
    ("written", lambda a, b: lax.dynamic_update_slice(a, b, (0, 2)), (ROWS, ((8, 4), P("x", None))), P("x", None)),
    ("scattered", lambda a: a.at[2].set(1.0), (COLUMNS,), P(None, "y")),
    ("padded", lambda a: tnp.pad(a, ((0, 0), (1, 1))), (ROWS,), P("x", None)),
    ("repeated", lambda a: tnp.broadcast_to(a, (4, 8)), (((8,), P("y")),), P(None, "y")),
    ("one after the other", lambda a, b: tnp.concatenate([a, b]), (COLUMNS, COLUMNS), P(None, "y")),
    ("stacked", lambda a, b: tnp.stack([a, b]), (BOTH, BOTH), P(None, "x", "y")),
    ("parts", lambda a: tnp.split(a, 2, 1)[0], (ROWS,), P("x", None)),
    ("product", tnp.matmul, (ROWS, COLUMNS), P("x", "y")),
    ("product of which one is cut", tnp.matmul, (COLUMNS, ((8, 8), P(None, "x"))), P(None, "x")),
    ("products", tnp.matmul, (((4, 8, 8), P("x", None, None)), ((4, 8, 8), P("x", None, "y"))), P("x", None, "y")),
    ("outer", tnp.outer, (((8,), P("x")), ((8,), P("y"))), P("x", "y")),
    ("convolution", lambda a, k: lax.conv(a, k, (1, 1), "SAME"),
     (((4, 2, 6, 6), P("x", None, None, None)), ((4, 2, 3, 3), P("y", None, None, None))), P("x", "y", None, None)),
    ("tangent", lambda a: tangrad.jvp(tnp.sin, (a,), (a,))[1], (BOTH,), P("x", "y")),
    ("gradient", lambda a, b: tangrad.grad(lambda a: tnp.sin(a @ b).sum())(a), (ROWS, COLUMNS), P("x", None)),
    ("gradient by weights", lambda a, b: tangrad.grad(lambda b: tnp.sin(a @ b).sum())(b), (ROWS, COLUMNS),
     P(None, "y")),
    ("gradient of sums", lambda a: tangrad.grad(lambda a: (a.sum(0) ** 2).sum())(a), (BOTH,), P("x", "y")),
    ("second derivative", lambda a: tangrad.grad(lambda a: tangrad.grad(lambda a: (a**3).sum())(a).sum())(a), (BOTH,),
     P("x", "y")),
    ("mapped", lambda a: tangrad.vmap(lambda row: tnp.sin(row) + row.sum())(a), (BOTH,), P("x", "y")),
    ("mapped columns", lambda a: tangrad.vmap(tnp.sin, in_axes=1)(a), (BOTH,), P("y", "x")),
    ("scanned", lambda a: lax.scan(lambda c, row: (c + row.sum(), row * 2), 0.0, a)[1], (COLUMNS,), P(None, "y")),
    ("gradient of a scan", tangrad.grad(lambda a: lax.scan(lambda c, r: (c * tnp.sin(r), c), a[0], a)[0].sum()),
     (COLUMNS,), P(None, "y")),
    ("looped", lambda a: lax.fori_loop(0, 3, lambda i, c: c * 2, a), (BOTH,), P("x", "y")),
    ("chosen", lambda a: lax.cond(a.sum() > 0, lambda a: a * 2, lambda a: a + 1, a), (BOTH,), P("x", "y")),
    ("computed again", tangrad.checkpoint(tnp.sin), (BOTH,), P("x", "y")),
    ("compiled", tangrad.jit(tnp.sin), (BOTH,), P("x", "y")),
    ("by the compiler", auto_axes(lambda a: a.T @ a, out_sharding=P("x", "y")), (BOTH,), P("x", "y")),
    ("imaginary part of real numbers", tnp.imag, (BOTH,), P("x", "y")),
    ("resharded", lambda a: reshard(a, P(None, "x")), (BOTH,), P(None, "x")),
    ("constrained to its own", lambda a: lax.with_sharding_constraint(a, P("x", "y")), (BOTH,), P("x", "y")),
    ("map over devices", lambda a: tangrad.shard_map(lambda p: 2 * p, in_specs=P("x", "y"), out_specs=P("x", "y"))(a),
     (BOTH,), P("x", "y")),
]  # fmt: skip

# Functions that name axes of the mesh in use.
OF_A_MESH = [
    case[1]
    for case in KEPT
    if case[0] in ("by the compiler", "resharded", "constrained to its own", "map over devices")
]


def on_one(function: Callable[..., Any], operands: Any) -> Any:
    """The result on one simulated device."""
    with tangrad.set_mesh(None), tangrad.use_backend("numpy"):
        return np.asarray(function(*[tnp.asarray(numbers(shape)) for shape, _ in operands]))


def check(found: Any, function: Callable[..., Any], operands: Any, expected: P) -> None:
    assert spec_of(found) == expected
    assert found.sharding.is_equivalent_to(NamedSharding(EXPLICIT, expected), found.ndim)
    if function not in OF_A_MESH:
        assert_equal(found, on_one(function, operands))


@pytest.mark.skipif(ON_XLA, reason="compiled all together below")
@pytest.mark.parametrize(("function", "operands", "expected"), [case[1:] for case in KEPT], ids=[c[0] for c in KEPT])
def test_shardings_of_results(function: Callable[..., Any], operands: Any, expected: P) -> None:
    arrays = [sharded(*operand) for operand in operands]
    for run in (function, tangrad.jit(function)):
        check(run(*arrays), function, operands, expected)


def test_shardings_of_results_in_one_program() -> None:
    arrays = [[sharded(*operand) for operand in operands] for _, _, operands, _ in KEPT]
    together = tangrad.jit(lambda all_: [case[1](*operands) for case, operands in zip(KEPT, all_, strict=True)])
    for found, (name, function, operands, expected) in zip(together(arrays), KEPT, strict=True):
        try:
            check(found, function, operands, expected)
        except AssertionError as error:
            error.add_note(name)
            raise


KEY = tangrad.random.key(0)
TO = P("y", "x")
# Functions with an argument for the sharding of a result of shape (8, 8).
SAID: dict[str, Callable[..., Any]] = {
    "zeros": lambda to: tnp.zeros((8, 8), out_sharding=to),
    "ones": lambda to: tnp.ones((8, 8), device=to),
    "empty": lambda to: tnp.empty((8, 8), out_sharding=to),
    "full": lambda to: tnp.full((8, 8), 2.0, out_sharding=to),
    "zeros_like": lambda to: tnp.zeros_like(sharded(*BOTH), out_sharding=to),
    "ones_like": lambda to: tnp.ones_like(sharded(*BOTH), out_sharding=to),
    "full_like": lambda to: tnp.full_like(sharded(*BOTH), 3.0, out_sharding=to),
    "array": lambda to: tnp.array(numbers((8, 8)), out_sharding=to),
    "asarray": lambda to: tnp.asarray(sharded(*BOTH) if to else numbers((8, 8)), device=to),
    "eye": lambda to: tnp.eye(8, device=to),
    "reshape": lambda to: tnp.reshape(sharded((64,), P("y")), (8, 8), out_sharding=to),
    "x.reshape": lambda to: sharded((64,), P("y")).reshape(8, 8, out_sharding=to),
    "broadcast_to": lambda to: tnp.broadcast_to(sharded((8,), P("x")), (8, 8), out_sharding=to),
    "repeat": lambda to: tnp.repeat(sharded((4, 8), P("y")), 2, axis=0, out_sharding=to),
    "matmul": lambda to: tnp.matmul(sharded(*BOTH), sharded((8, 8), P("y")), out_sharding=to),
    "dot": lambda to: tnp.dot(sharded(*BOTH), sharded((8, 8), P("y")), out_sharding=to),
    "tensordot": lambda to: tnp.tensordot(sharded(*BOTH), sharded((8, 8), P("y")), 1, out_sharding=to),
    "einsum": lambda to: tnp.einsum("ij,jk->ik", sharded(*BOTH), sharded((8, 8), P("y")), out_sharding=to),
    "x.at[].get": lambda to: sharded(*ROWS).at[tnp.arange(8)].get(out_sharding=to),
    "x.at[].set": lambda to: sharded(*ROWS).at[tnp.arange(2)].set(1.0, out_sharding=to),
    "lax.full": lambda to: lax.full((8, 8), 2.0, sharding=to),
    "lax.full_like": lambda to: lax.full_like(sharded(*BOTH), 2.0, sharding=to),
    "lax.empty": lambda to: lax.empty((8, 8), "float32", out_sharding=to),
    "lax.broadcast": lambda to: lax.broadcast(sharded((8,), P("x")), (8,), out_sharding=to),
    "lax.broadcast_in_dim": lambda to: lax.broadcast_in_dim(sharded((8,), P("x")), (8, 8), (0,), out_sharding=to),
    "lax.broadcasted_iota": lambda to: lax.broadcasted_iota("float32", (8, 8), 0, out_sharding=to),
    "lax.reshape": lambda to: lax.reshape(sharded((64,), P("y")), (8, 8), out_sharding=to),
    "lax.reduce_sum": lambda to: lax.reduce_sum(sharded((8, 2, 8), P("x")), (1,), out_sharding=to),
    "lax.reduce": lambda to: lax.reduce(sharded((8, 2, 8), P("x")), np.float32(0), lax.add, (1,), to),
    "lax.dot": lambda to: lax.dot(sharded(*BOTH), sharded((8, 8), P("y")), out_sharding=to),
    "lax.dot_general": lambda to: lax.dot_general(sharded(*BOTH), sharded((8, 8), P("y")), (((1,), (0,)), ((), ())),
                                                  out_sharding=to),
    "normal": lambda to: tangrad.random.normal(KEY, (8, 8), out_sharding=to),
    "uniform": lambda to: tangrad.random.uniform(KEY, (8, 8), out_sharding=to),
    "gamma": lambda to: tangrad.random.gamma(KEY, 2.0, (8, 8), out_sharding=to),
    "bits": lambda to: tangrad.random.bits(KEY, (8, 8), "uint8", out_sharding=to),
    "permutation": lambda to: tangrad.random.permutation(KEY, numbers((8, 8)), out_sharding=to),
    "initializers.glorot_uniform": lambda to: tangrad.nn.initializers.glorot_uniform()(KEY, (8, 8), out_sharding=to),
    "initializers.zeros": lambda to: tangrad.nn.initializers.zeros(KEY, (8, 8), out_sharding=to),
    "segment_sum": lambda to: tangrad.ops.segment_sum(sharded(*ROWS), tnp.arange(8), 8, out_sharding=to),
}  # fmt: skip
AMBIGUOUS = ("matmul", "dot", "tensordot", "einsum", "x.at[].get", "x.at[].set", "lax.dot", "lax.dot_general",
             "segment_sum")  # fmt: skip


@pytest.mark.skipif(ON_XLA, reason="compiled all together below")
@pytest.mark.parametrize("name", SAID)
def test_stated_sharding_of_a_result(name: str) -> None:
    whole = NamedSharding(EXPLICIT, P())
    for to in (TO, NamedSharding(EXPLICIT, TO)):
        found = SAID[name](to)
        assert spec_of(found) == TO and found.sharding.is_equivalent_to(NamedSharding(EXPLICIT, TO), 2)
    assert_equal(found, np.asarray(SAID[name](whole if name in AMBIGUOUS else None)))
    with pytest.raises(TypeError, match="takes shardings and partition specs, got 5"):
        SAID[name](5)


def test_stated_shardings_of_results_in_one_program() -> None:
    found = tangrad.jit(lambda: [make(TO) for make in SAID.values()])()
    for array, name in zip(found, SAID, strict=True):
        assert spec_of(array) == TO and array.sharding.is_equivalent_to(NamedSharding(EXPLICIT, TO), 2), name


def test_a_stated_sharding_leaves_arguments_that_are_of_a_class() -> None:
    numbered = lax.ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (0, 2, 1))
    images, kernel = numbers((8, 16, 3)), numbers((3, 3, 4))
    found = lax.conv_general_dilated(
        sharded((8, 16, 3), P("x", None, None)),
        kernel,
        (1,),
        "SAME",
        dimension_numbers=numbered,
        out_sharding=P("x", "y"),
    )
    assert spec_of(found) == P("x", "y", None)
    with use_mesh(mesh(1, 1)):
        assert_equal(found, lax.conv_general_dilated(images, kernel, (1,), "SAME", dimension_numbers=numbered))


def test_one_place_is_enough() -> None:
    with pytest.raises(ValueError, match="zeros takes device or out_sharding, not both"):
        tnp.zeros(8, device=tangrad.devices()[0], out_sharding=P("x"))
    with pytest.raises(ValueError, match="is not divisible into 2 equal parts"):
        tnp.zeros(7, out_sharding=P("x"))
    assert spec_of(tnp.zeros_like(sharded(*BOTH))) == P("x", "y") == spec_of(lax.full_like(sharded(*BOTH), 0))
    assert spec_of(tnp.zeros_like(sharded(*BOTH), shape=(8,))) == P(None)
    assert spec_of(tnp.imag(sharded(*BOTH))) == P("x", "y") == spec_of(tangrad.jit(tnp.imag)(sharded(*BOTH)))


@pytest.mark.parametrize(("kind", "whole"), [(AxisType.Explicit, P(None, None)), (AxisType.Auto, P())])
def test_results_have_an_entry_for_each_dimension_as_their_types(kind: AxisType, whole: P) -> None:
    """So specs of results compare equal to those of types, also where nothing is cut."""
    rows = NamedSharding(tangrad.make_mesh((2, 4), ("x", "y"), kind), P("x"))
    x = tangrad.device_put(matrix(), rows)
    for f in (lambda x: x.sum(0)[None, :] * 2.0, lambda x: (x.sum() > 0) * tnp.ones((3, 1))):
        for g in (f, tangrad.jit(f)):
            assert g(x).sharding == NamedSharding(rows.mesh, whole)
    if kind is AxisType.Explicit:
        for result in (x * 2, tangrad.jit(lambda x: x * 2)(x), tangrad.grad(lambda x: (x**2).sum())(x)):
            assert result.sharding.spec == tangrad.typeof(result).sharding.spec == P("x", None)


def test_constraints_along_auto_axes_beside_explicit_ones() -> None:
    """The type keeps what it records; the compiler is bound along the others."""
    mixed = tangrad.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    with tangrad.set_mesh(mixed):
        x = tangrad.device_put(matrix(8, 4), P("x"))
        for spec, expected in (
            (P("y"), P(("x", "y"))),
            (P(None, "y"), P("x", "y")),
            (P("y", P.UNCONSTRAINED), P(("x", "y"))),
        ):
            for constrain in (
                lax.with_sharding_constraint,
                tangrad.jit(lax.with_sharding_constraint, static_argnums=1),
            ):
                found = constrain(x, spec)
                assert found.sharding.is_equivalent_to(NamedSharding(mixed, expected), 2)
                assert tangrad.typeof(found) is tangrad.typeof(x)
                assert_equal(found, x)
        slope = tangrad.grad(lambda x: (lax.with_sharding_constraint(x, P(None, "y")) ** 2).sum())(x)
        assert tangrad.typeof(slope) is tangrad.typeof(x)
        assert_equal(slope, 2 * matrix(8, 4))
        with pytest.raises(ShardingTypeError, match="to move it"):
            lax.with_sharding_constraint(x, P())


REFUSED: list[tuple[str, Callable[..., Any], tuple[Any, ...], str]] = [
    (
        "in two ways",
        tnp.add,
        (ROWS, ((8, 8), P("y", None))),
        "add got incompatible shardings .*dimension 0 is cut along .*'x'.* and along .*'y'",
    ),
    ("twice", tnp.add, (ROWS, ((8, 8), P(None, "x"))), "two dimensions of the result would be cut along .*'x'"),
    (
        "contracted",
        tnp.matmul,
        (BOTH, ((8, 8), P("y", None))),
        "dot_general of f32.8@x,8@y., f32.8@y,8.: Contracting dimensions are sharded: 1 of lhs",
    ),
    ("contracted in two ways", tnp.matmul, (COLUMNS, ROWS), "are cut along .*'y'.* and along .*'x'"),
    ("product twice", tnp.matmul, (ROWS, ((8, 8), P(None, "x"))), "two dimensions"),
    ("joined behind", lambda a: a.reshape(64), (COLUMNS,), "dimension 1, which is cut along .*, is joined with others"),
    ("divided behind", lambda a: a.reshape(8, 2, 4), (BOTH,), "does not divide into 4 parts"),
    ("sliced unevenly", lambda a: lax.slice(a, (0, 0), (3, 8)), (ROWS,), "of size 3, does not divide into 2 parts"),
    ("row of cut rows", lambda a: a[0], (BOTH,), "does not divide"),
    ("gathered from cut rows", lambda a: a[tnp.array([1, 3])], (ROWS,), "gather .* needs dimension 0 whole"),
    ("running along", lambda a: tnp.cumsum(a, 0), (ROWS,), "cumsum .* needs dimension 0 whole"),
    ("sorted along", lambda a: tnp.sort(a, 0), (ROWS,), "sort .* needs dimension 0 whole"),
    ("no rule", lambda a: turned_p(a), (BOTH,), "no rule of kind 'sharding' for 'turning.turned'"),
    ("constrained otherwise", lambda a: lax.with_sharding_constraint(a, P("y")), (BOTH,), "to move it: .*reshard"),
]


@pytest.mark.skipif(ON_XLA, reason="types are the same on all backends")
@pytest.mark.parametrize(("function", "operands", "words"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED])
def test_what_is_ambiguous(function: Callable[..., Any], operands: Any, words: str) -> None:
    arrays = [sharded(*operand) for operand in operands]
    for run in (function, tangrad.jit(function)):
        with pytest.raises(ShardingTypeError, match=words) as error:
            run(*arrays)
        assert "reshard" in str(error.value)


def test_types_have_shardings() -> None:
    array = sharded(*BOTH)
    found = tangrad.typeof(array)
    assert str(found) == "float32[8@x,8@y]" and found.str_short() == "f32[8@x,8@y]"
    assert found.sharding == NamedSharding(AbstractMesh.of(EXPLICIT), P("x", "y")) == array.aval.sharding
    assert array.sharding == NamedSharding(EXPLICIT, P("x", "y"))
    assert found is tangrad.typeof(2 * array) and found is not tangrad.typeof(sharded(*ROWS))
    assert found.update(dtype="int32").sharding.spec == P("x", "y") and found.update(shape=(64,)).sharding.spec == P(
        None
    )
    seen = []
    tangrad.jit(lambda a: seen.append((a.sharding.spec, tangrad.typeof(a.sum(1)).sharding.spec)) or a)(array)
    assert seen == [(P("x", "y"), P("x"))]
    assert "f32[8@x,8@y]" in str(tangrad.make_jaxpr(tnp.sin)(array))
    assert tangrad.typeof(numbers((8, 8))).sharding == NamedSharding(AbstractMesh.of(EXPLICIT), P(None, None))
    assert tangrad.typeof(2.0).sharding.spec == P()


def test_types_have_shardings_wherever_an_array_comes_from() -> None:
    sharding = NamedSharding(EXPLICIT, P("x"))
    contents = numbers((8, 2))
    parts = [tangrad.device_put(contents[index], device) for device, index in
             sharding.devices_indices_map((8, 2)).items()]  # fmt: skip
    made = [
        tangrad.device_put(contents, sharding),
        tangrad.device_put(tnp.asarray(contents), sharding),
        tangrad.make_array_from_callback((8, 2), sharding, lambda index: contents[index]),
        tangrad.make_array_from_single_device_arrays((8, 2), sharding, parts),
        tangrad.jit(lambda: tnp.asarray(contents), out_shardings=sharding)(),
        tangrad.jit(lambda a: tnp.cos(a) - tnp.cos(a) + a, in_shardings=sharding)(contents),
        reshard(contents, P("x")),
    ]
    for array in made:
        assert spec_of(array) == P("x", None) and array.sharding.is_equivalent_to(sharding, 2)
        assert_equal(array, contents)
    for gone in (tangrad.device_put(made[0], tangrad.devices()[1]), reshard(made[0], P()),
                 tangrad.device_put(made[0], NamedSharding(mesh(), P("x")))):  # fmt: skip
        assert spec_of(gone) == P(None, None) and spec_of(gone + 1) == P(None, None)


def test_programs_are_partitioned_as_types_say() -> None:
    array, weights = sharded(*ROWS), sharded(*COLUMNS)
    lowered = tangrad.jit(lambda a, b: tnp.tanh(a @ b) * 2).lower(array, weights)
    compiled = lowered.compile()
    assert_equal(compiled(array, weights), np.tanh(numbers((8, 8)) @ numbers((8, 8))) * 2)
    if ON_XLA:
        assert lowered.as_text().count("sdy.sharding_constraint") >= 3  # one for each result
        assert "all-" not in compiled.as_text()


def test_axes_of_two_types() -> None:
    half = mesh().update_axis_types({"y": AxisType.Explicit})
    assert half.auto_axes == ("x",) and half.explicit_axes == ("y",) and half != EXPLICIT
    with use_mesh(half):
        array = tangrad.device_put(numbers((8, 8)), NamedSharding(half, P("x", "y")))
        assert spec_of(array) == P(None, "y") and array.sharding.spec == P("x", "y")
        for found in (2 * array, tangrad.jit(tnp.sin)(array).T.T):
            assert spec_of(found) == P(None, "y")
        assert spec_of(tangrad.jit(lambda a: a.T)(array)) == P("y", None)
        product = tangrad.jit(lambda a: a.T @ tnp.ones((8, 4)))(array)
        assert spec_of(product) == P("y", None)
        assert_equal(product, numbers((8, 8)).T @ np.ones((8, 4)))


def test_functions_within_which_other_types_hold() -> None:
    seen = []

    def within(a: Any) -> Any:
        seen.append((tangrad.sharding.get_abstract_mesh().axis_types, spec_of(a)))
        return a @ a

    array = sharded(*BOTH)
    for wrapped in (auto_axes(within, out_sharding=P("x")), auto_axes(out_sharding=P("x"))(within)):
        assert spec_of(wrapped(array)) == P("x", None)
    assert spec_of(tangrad.jit(lambda a: auto_axes(within)(a, out_sharding=P("y")))(array)) == P("y", None)
    assert seen == [((AxisType.Auto,) * 2, P(None, None))] * 3
    assert_equal(auto_axes(within, out_sharding=P())(array), numbers((8, 8)) @ numbers((8, 8)))
    seen.clear()
    some = auto_axes(within, axes="y", out_sharding=P("x"))(array)
    assert seen == [((AxisType.Explicit, AxisType.Auto), P("x", None))] and spec_of(some) == P("x", None)
    with use_mesh(mesh()):
        seen.clear()
        found = explicit_axes(lambda a: seen.append(spec_of(2 * a)) or 2 * a, in_sharding=P("x", "y"))(numbers((8, 8)))
        assert seen == [P("x", "y")] and spec_of(found) == P(None, None)
        assert_equal(found, 2 * numbers((8, 8)))
    with pytest.raises(TypeError, match="auto_axes needs out_sharding"):
        auto_axes(within)(array)
    with pytest.raises(TypeError, match="explicit_axes needs in_sharding"):
        explicit_axes(within)(array)
    with pytest.raises(ValueError, match="there is no axis 'z'"):
        auto_axes(within, axes="z", out_sharding=P())(array)
    with use_mesh(mesh()), pytest.raises(ValueError, match="reshard needs a sharding for each array"):
        reshard([array, array], [P(), None])
    with tangrad.set_mesh(None), pytest.raises(ValueError, match="and there is none"):
        explicit_axes(within, in_sharding=P())(array)


def test_two_meshes_do_not_meet() -> None:
    other = tangrad.make_mesh((4, 2), ("x", "y"), AxisType.Explicit)
    with pytest.raises(ShardingTypeError, match="they are sharded over two meshes"):
        sharded(*BOTH) + tangrad.device_put(numbers((8, 8)), NamedSharding(other, P("x")))


def test_a_mesh_without_devices_means_the_one_in_use() -> None:
    shape = AbstractMesh.of(EXPLICIT)
    array = tangrad.device_put(numbers((8, 8)), NamedSharding(shape, P("x", "y")))
    assert array.sharding == NamedSharding(EXPLICIT, P("x", "y")) and spec_of(array) == P("x", "y")
    found = tangrad.jit(lambda a: a + 1, out_shardings=NamedSharding(shape, P("x", "y")))(array)
    assert spec_of(found) == P("x", "y")
    struct = tangrad.ShapeDtypeStruct((8, 8), "float32", sharding=NamedSharding(shape, P("x", "y")))
    assert "f32[8@x,8@y]" in str(tangrad.make_jaxpr(tnp.sin)(struct))
    assert tangrad.eval_shape(lambda a: a.T, struct).sharding.spec == P("y", "x")
    other = AbstractMesh((3,), ("x",))
    with pytest.raises(ValueError, match="and the mesh in use is"):
        tangrad.device_put(numbers((9, 8)), NamedSharding(other, P("x")))
    with tangrad.set_mesh(None):
        assert spec_of(tangrad.device_put(numbers((8, 8)), NamedSharding(shape, P("x")))) == P("x", None)
        with pytest.raises(ValueError, match="needs 99 devices"):
            tangrad.device_put(numbers((99,)), NamedSharding(AbstractMesh((99,), ("x",)), P("x")))
    assert NamedSharding(shape, P("x")).shard_shape((8, 8)) == (4, 8)


@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
def test_functions_for_the_shape_of_a_mesh_take_arrays_on_any(wrap: Callable[..., Any]) -> None:
    shape = AbstractMesh((2,), ("x",))
    first, last = [Mesh(np.array(devices), ("x",)) for devices in (tangrad.devices()[:2], tangrad.devices()[-2:])]
    mapped = tangrad.shard_map(lambda a: lax.psum(a, "x"), mesh=shape, in_specs=P("x"), out_specs=P())
    constrained = lambda a: lax.with_sharding_constraint(a + 0, NamedSharding(shape, P("x"))) * 2
    with tangrad.set_mesh(None):
        array = tangrad.device_put(numbers((8, 8)), NamedSharding(first, P("x")))
        for function, expected in ((mapped, numbers((8, 8))[:4] + numbers((8, 8))[4:]), (constrained, None)):
            found = wrap(function)(array)
            assert_equal(found, numbers((8, 8)) * 2 if expected is None else expected)
            assert found.sharding.mesh.devices.tolist() == first.devices.tolist()
        moved = tangrad.device_put(array, NamedSharding(last, P("x")))
        if wrap is tangrad.jit:  # traced for the first devices
            with pytest.raises(ValueError, match="incompatible devices"):
                tangrad.jit(lambda a: mapped(a))(moved)
        else:
            assert mapped(moved).sharding.mesh.devices.tolist() == last.devices.tolist()
            assert constrained(moved).sharding.mesh.devices.tolist() == last.devices.tolist()
            with pytest.raises(ValueError, match="and that of the array is"):
                lax.with_sharding_constraint(moved, NamedSharding(AbstractMesh((4,), ("x",)), P("x")))


@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
def test_what_is_mapped_stays_cut_along_its_axis(wrap: Callable[..., Any]) -> None:
    a, b = sharded((8, 8, 8), P("x", None, "y")), sharded((8, 8, 8), P(None, "x", "y"))
    product = lambda a, b: tnp.einsum("ij,jk->ik", a, b, out_sharding=P(None, "y"))
    found = wrap(tangrad.vmap(product, in_axes=(0, 1), out_axes=2))(a, b)
    assert spec_of(found) == found.sharding.spec == P(None, "y", "x")
    assert_equal(found, np.einsum("bij,jbk->ikb", numbers((8, 8, 8)), numbers((8, 8, 8))))

    table, places = sharded((8, 8), P("x", None)), np.arange(32).reshape(8, 4) % 8
    taken = lambda row, at: (row.at[at].get(out_sharding=P("y")) ** 2).sum()
    value, slope = wrap(tangrad.vmap(tangrad.value_and_grad(taken)))(
        table, tangrad.device_put(places, NamedSharding(EXPLICIT, P("x", None)))
    )
    assert spec_of(value) == P("x") and spec_of(slope) == P("x", None)
    expected = np.zeros((8, 8), np.float32)
    np.add.at(expected, (np.arange(8)[:, None], places), 2 * np.take_along_axis(numbers((8, 8)), places, 1))
    assert_equal(slope, expected)
    # Of rows of shares types keep what is to be combined.
    rows = shares(P("y", None, unreduced={"x"}))
    check_shares(wrap(tangrad.vmap(lambda row: row + row))(rows), numbers((8, 8)) * 2, P("y", None, unreduced={"x"}))


def test_types_of_axes() -> None:
    devices = tangrad.devices()
    grid = Mesh(np.array(devices).reshape(2, 4), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    assert grid.axis_types == (AxisType.Explicit, AxisType.Auto) and grid.explicit_axes == ("x",)
    assert not grid.are_all_axes_auto and not grid.are_all_axes_explicit and not grid.are_all_axes_manual
    assert EXPLICIT.are_all_axes_explicit and mesh().are_all_axes_auto and mesh() != EXPLICIT
    assert str(grid) == "Mesh('x': 2, 'y': 4, axis_types=(Explicit, Auto))"
    assert tangrad.make_mesh((8,), ("x",), AxisType.Explicit).axis_types == (AxisType.Explicit,)
    assert AbstractMesh.of(mesh()).update_axis_types({"x": AxisType.Manual}).manual_axes == ("x",)
    with pytest.raises(ValueError, match="one axis type for each axis, got 1"):
        Mesh(grid.devices, ("x", "y"), (AxisType.Auto,))
    with pytest.raises(TypeError, match=r"the types of axes are .* got 'auto' for 'x'"):
        Mesh(grid.devices, ("x", "y"), ("auto", "auto"))
    with pytest.raises(ValueError, match="there is no axis 'z'"):
        grid.update_axis_types({"z": AxisType.Auto})


def test_a_rule_of_ones_own() -> None:
    """What was refused for the lack of a rule is computed where one is registered."""
    rules = RuleSet("sharding", api=1)

    @rules.rule(turned_p)
    def _(operands: Any, results: Any, params: Any) -> Any:
        return (operands[0].axes[::-1],)

    array = sharded((8, 4), P("x", None))
    with register(rules):
        assert tangrad.make_jaxpr(turned_p)(array).out_avals[0].sharding.spec == P(None, "x")
    tangrad.clear_caches()
    with pytest.raises(ShardingTypeError):
        tangrad.make_jaxpr(turned_p)(array)


def test_a_training_step() -> None:
    """Of two layers, data over one axis and weights over the other: the numbers of one device."""

    def loss(params: Any, x: Any) -> Any:
        hidden = tnp.tanh(x @ params["in"])
        out = tnp.matmul(hidden, params["out"], out_sharding=P("x", None) if spec_of(x) == P("x", None) else None)
        return (out**2).mean()

    @tangrad.jit
    def step(params: Any, x: Any) -> Any:
        value, gradients = tangrad.value_and_grad(loss)(params, x)
        return value, tangrad.tree.map(lambda p, g: p - 0.1 * g, params, gradients)

    plain = {"in": numbers((8, 16)), "out": numbers((16, 8))}
    params = {"in": sharded((8, 16), P(None, "y")), "out": sharded((16, 8), P("y", None))}
    x, losses = sharded(*ROWS), []
    for _ in range(3):
        value, params = step(params, x)
        expected, plain = step(plain, numbers((8, 8)))
        losses.append((float(value), float(expected)))
    assert_equal([a for a, _ in losses], [b for _, b in losses])
    assert spec_of(params["in"]) == P(None, "y") and spec_of(params["out"]) == P("y", None)


def test_maps_cut_arguments_as_types_say() -> None:
    x = sharded((8, 8), P("x", "y"))
    doubled = tangrad.shard_map(lambda part: part * (part.shape == (4, 2)) * 2, out_specs=P("x", "y"))
    for function in (doubled, tangrad.jit(doubled)):
        assert_equal(function(x), numbers((8, 8)) * 2)
    assert_equal(tangrad.grad(lambda v: (doubled(v) ** 2).sum())(x), numbers((8, 8)) * 8)
    rows = tangrad.smap(lambda part: part[:1], out_axes=0, axis_name="x")
    assert_equal(rows(x), numbers((8, 8))[::4])
    assert_equal(tangrad.shard_map(lambda part: part, out_specs=P())(np.ones(3)), np.ones(3))
    with pytest.raises(TypeError, match=r"in_specs was not specified.* types record Explicit axes only, not 'x'"):
        tangrad.shard_map(lambda part: part, mesh=mesh(), out_specs=P("x"))(np.ones(8))
    inner = tangrad.shard_map(lambda part: part * (part.shape == (4, 2)), out_specs=P(None, "y"))
    assert_equal(tangrad.shard_map(inner, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})(x), numbers((8, 8)))


def test_copies_files_and_maps_of_named_axes() -> None:
    """Types are copied with arrays and written to files as the shardings of programs; pickles and xmap have none."""
    x = sharded(*ROWS)
    found = spec_of(copy.deepcopy(x)), tangrad.typeof(pickle.loads(pickle.dumps(x))).str_short()
    assert found == (P("x", None), "f32[8,8]")
    read = export.deserialize(export.export(tangrad.jit(tnp.sin))(x).serialize(vjp_order=1))
    assert spec_of(read.call(x)) == spec_of(tangrad.grad(lambda x: tnp.sum(read.call(x)))(x)) == P("x", None)
    assert_equal(read.call(x), np.sin(numbers((8, 8))))
    doubled = tangrad.xmap(lambda row: row * 2, in_axes={0: "i"}, out_axes={0: "i"}, axis_resources={"i": "x"})
    assert_equal(doubled(x), 2 * numbers((8, 8)))
    assert spec_of(tangrad.grad(lambda x: tnp.sum(doubled(x)))(x)) == P("x", None)


@pytest.mark.parametrize("spec", [P("y"), P(None, "y")])
def test_a_map_of_examples_that_types_say_are_cut(spec: P) -> None:
    """Along the axis that cuts them each device maps its own; along one that the map itself uses they are gathered."""
    x = tangrad.device_put(numbers((8, 8, 8)), NamedSharding(EXPLICIT, P("x")))
    with tangrad.set_mesh(EXPLICIT):
        f = tangrad.shard_map(lambda a: lax.psum(tnp.sin(a), "y"), in_specs=spec, out_specs=P())
        crossing = tangrad.shard_map(lambda a: a * lax.axis_index("x"), in_specs=P("x"), out_specs=P("x"))
        for transform in (lambda g: g, tangrad.jit):
            found = transform(tangrad.vmap(f))(x)
            parts = np.split(np.sin(numbers((8, 8, 8))), EXPLICIT.shape["y"], 1 + spec.index("y"))
            assert_equal(found, sum(parts))
            assert spec_of(found) == P("x", None, None)
            index = np.repeat(np.arange(EXPLICIT.shape["x"]), 8 // EXPLICIT.shape["x"])[:, None]
            assert_equal(transform(tangrad.vmap(crossing))(x), numbers((8, 8, 8)) * index)


def test_the_sharding_of_a_result_has_an_entry_for_each_dimension() -> None:
    """What types state, whether the program was traced or not; what a user puts somewhere stays as it was written."""
    with tangrad.set_mesh(EXPLICIT):
        x = tangrad.device_put(numbers((8, 8)), P("x"))
        assert x.sharding.spec == P("x")
        for f in (lambda a: a, tangrad.jit):
            assert f(lambda a: a * 2)(x).sharding.spec == P("x", None)
            total = f(lambda a: a.sum(0))(x).sharding.spec  # whose type states nothing: NumPy has it everywhere
            assert total in ([P(None)] if ON_XLA else [P(), P(None)])
            assert f(lambda a: tangrad.sharding.reshard(a, P()))(x).sharding.spec == P(None, None)
            assert f(lambda a: tnp.ones((8, 4, 2), out_sharding=P("x")) + 1)(x).sharding.spec == P("x", None, None)
        rows = NamedSharding(EXPLICIT, P("x"))
        for made in (
            tangrad.jit(lambda a: a, out_shardings=P("x"))(x),
            tnp.ones((8, 4), device=rows),
            tnp.zeros_like(numbers((8, 8)), device=rows),
            tnp.ones((8, 4)).to_device(rows),
        ):
            assert made.sharding.spec == P("x")
        for make in (
            lambda: tnp.ones((8, 4), out_sharding=P("x")),
            lambda: tnp.full((8, 4), np.ones(4), out_sharding=P("x")),
            lambda: tnp.zeros_like(numbers((8, 8)), out_sharding=P("x")),
            lambda: tnp.array(numbers((8, 8)), out_sharding=P("x")),
            lambda: tnp.asarray(numbers((8, 8)), out_sharding=rows),
            lambda: tnp.triu(tnp.ones((8, 8), out_sharding=P("x"))),
        ):
            for called in (make, tangrad.jit(make)):
                assert called().sharding.spec == spec_of(called()) == P("x", None)
        assert tnp.arange(8, out_sharding=P("x")).sharding.spec == P("x")


def test_results_are_on_meshes_whose_axes_have_the_types_outside() -> None:
    """What `explicit_axes` returns where axes are Auto keeps its place, and a mesh with axes of that type."""
    x = tangrad.device_put(numbers((8, 8)), NamedSharding(mesh(), P("x", "y")))
    inner = explicit_axes(lambda a: reshard(tnp.sin(a), P("y")), in_sharding=P("x", "y"))
    with tangrad.set_mesh(mesh()):
        for transform in (lambda g: g, tangrad.jit):
            found = transform(inner)(x)
            assert found.sharding.mesh == mesh() and tangrad.typeof(found).sharding.spec == P(None, None)
            assert_equal(found, np.sin(numbers((8, 8))))
        assert inner(x).sharding == NamedSharding(mesh(), P("y", None))
        assert_equal(tangrad.grad(lambda a: inner(a).sum())(x), np.cos(numbers((8, 8))))


CUBE = Mesh(np.array(tangrad.devices()).reshape(2, 2, 2), ("x", "y", "z"), (AxisType.Explicit,) * 3)
RESHAPES = [
    ((4,), P(("x", "y")), (2, 2), P("x", "y")),
    ((8,), P(("x", "y")), (2, 4), P("x", "y")),
    ((8,), P(("x", "y")), (4, 2), P(("x", "y"), None)),
    ((8, 4), P("x", None), (2, 4, 4), P("x", None, None)),
    ((8,), P(("x", "y", "z")), (2, 2, 2), P("x", "y", "z")),
    ((8,), P(("x", "y", "z")), (2, 4), P("x", ("y", "z"))),
    ((8,), P(("x", "y", "z")), (4, 2), P(("x", "y"), "z")),
    ((4, 2), P(("x", "y"), "z"), (2, 2, 2), P("x", "y", "z")),
    ((16,), P(("x", "y", "z")), (2, 2, 2, 2), P("x", "y", "z", None)),
    ((16,), P(("x", "y", "z")), (1, 2, 1, 8), P(None, "x", None, ("y", "z"))),
]


@pytest.mark.parametrize(("shape", "spec", "new", "expected"), RESHAPES)
def test_axes_of_a_dimension_that_is_divided(
    shape: tuple[int, ...], spec: P, new: tuple[int, ...], expected: P
) -> None:
    x = tangrad.device_put(numbers(shape), NamedSharding(CUBE, spec))
    with tangrad.set_mesh(CUBE):
        found = tangrad.jit(lambda a: a.reshape(new))(x)
        assert found.sharding.spec == expected
        assert_equal(found, numbers(shape).reshape(new))
        back = tangrad.jit(tangrad.grad(lambda a: (a.reshape(new) ** 2).sum()))(x)
        assert back.sharding == x.sharding
        assert_equal(back, 2 * numbers(shape))


def test_one_hot_vectors_along_a_mesh_axis() -> None:
    x = tangrad.device_put(np.arange(8).reshape(4, 2), NamedSharding(EXPLICIT, P("x")))
    with tangrad.set_mesh(EXPLICIT):
        for axis, spec in ((-1, P("x", None, "y")), (0, P("y", "x", None))):
            hot = lambda a, axis=axis, spec=spec: nn.one_hot(a, 8, axis=axis, out_sharding=spec)
            for f in (hot, tangrad.jit(hot)):
                assert f(x).sharding == NamedSharding(EXPLICIT, spec)
                assert_equal(f(x), np.moveaxis(np.eye(8, dtype=np.float32)[np.arange(8).reshape(4, 2)], -1, axis))
        with pytest.raises(ValueError, match="named axis 'i'"):
            tangrad.vmap(lambda a: nn.one_hot(a, 8, axis="i", out_sharding=P()), axis_name="i")(np.arange(8))


# --- values of which devices have shares (`unreduced`), and what is combined of such (`reduced`) ----------------------

SHARES = P(None, None, unreduced={"x"})


def shares(spec: P = SHARES, scale: float = 1.0) -> Any:
    return tangrad.device_put(numbers((8, 8)) * scale, NamedSharding(EXPLICIT, spec))


def check_shares(value: Any, expected: np.ndarray, spec: P = SHARES) -> None:
    """The parts that devices have are shares: of the first device along each axis they count once."""
    assert spec_of(value) == spec and value.sharding.spec == spec
    assert_equal(reshard(value, P(*[None] * value.ndim)), expected)
    assert_equal(value, expected)
    parts = [np.asarray(shard.data) for shard in value.addressable_shards]
    if not any(spec.partitions) and spec.unreduced == {"x"}:
        assert_equal(parts[0] + parts[4], expected)


@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
def test_devices_have_shares_of_products_and_sums(wrap: Callable[..., Any]) -> None:
    a, b = sharded((8, 8), P(None, "x")), sharded((8, 8), P("x", None))
    x = numbers((8, 8))
    product = wrap(lambda a, b: tnp.einsum("ij,jk->ik", a, b, out_sharding=SHARES))(a, b)
    check_shares(product, x @ x)
    if ON_XLA and wrap is tangrad.jit:  # each has the sum over its own rows
        assert_equal(product.addressable_shards[0].data, x[:, :4] @ x[:4])
    check_shares(wrap(lambda a, b: tnp.matmul(a, b, out_sharding=SHARES))(a, b), x @ x)
    check_shares(
        wrap(lambda b: lax.reduce_sum(b, (0,), out_sharding=P(unreduced={"x"})))(b), x.sum(0), P(None, unreduced={"x"})
    )
    # What is not cut alike becomes shares, too.
    check_shares(wrap(lambda b: tnp.matmul(b, b, out_sharding=SHARES))(b), x @ x)


LINEAR: dict[str, tuple[Callable[..., Any], P]] = {
    "sum": (lambda x, y: x + y, SHARES),
    "difference": (lambda x, y: x - y, SHARES),
    "opposite": (lambda x, y: -x, SHARES),
    "turned": (lambda x, y: x.T, SHARES),
    "reshaped": (lambda x, y: x.reshape(4, 16), SHARES),
    "sliced": (lambda x, y: x[1:3, ::2], SHARES),
    "joined": (lambda x, y: tnp.concatenate([x, y]), SHARES),
    "split": (lambda x, y: lax.split(x, (2, 6))[1], SHARES),
    "repeated": (lambda x, y: lax.broadcast(x, (2,)), P(None, None, None, unreduced={"x"})),
    "total": (lambda x, y: x.sum(), P(unreduced={"x"})),
    "chosen": (lambda x, y: lax.select(np.eye(8, dtype=bool), x, y), SHARES),
    "gathered": (lambda x, y: x[np.array([1, 5, 5])], SHARES),
    "added at": (lambda x, y: x.at[np.array([1, 5])].add(y[:2]), SHARES),
    "mapped": (lambda x, y: tangrad.vmap(lambda row: row + row)(x), SHARES),
    "in a loop": (lambda x, y: lax.fori_loop(0, 3, lambda i, c: c + y, x), SHARES),
    "in a scan": (lambda x, y: lax.scan(lambda c, row: (c + row, c), x[0], y)[1], SHARES),
    "in a branch": (lambda x, y: lax.cond(True, lambda: x + y, lambda: y), SHARES),
    "by a reduced factor": (lambda x, y: x * shares(P(None, None, reduced={"x"}), 2.0), SHARES),
    "over a reduced divisor": (lambda x, y: x / shares(P(None, None, reduced={"x"}), 2.0), SHARES),
}


@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("case", list(LINEAR))
def test_linear_functions_of_shares(case: str, wrap: Callable[..., Any]) -> None:
    function, spec = LINEAR[case]
    x, y = numbers((8, 8)), numbers((8, 8)) * 3
    with use_mesh(mesh(1, 1)):
        expected = np.asarray(function(tnp.array(x), tnp.array(y)) if "reduced" not in case else x)
    if "factor" in case:
        expected = x * x * 2
    elif "divisor" in case:
        expected = np.full_like(x, 0.5)
    check_shares(wrap(function)(shares(), shares(scale=3.0)), expected, spec)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x, y: tnp.sin(x), "parts of an operand are still to be combined"),
        (lambda x, y: x * 2, "the others are not reduced along them"),
        (lambda x, y: x * x, "the others are not reduced along them"),
        (lambda x, y: x + y, "in different ways"),
        (lambda x, y: x @ y, "parts of an operand are still to be combined"),
        (lambda x, y: y / x, "parts of an operand are still to be combined"),
        (lambda x, y: x.astype("int32"), "parts of an operand are still to be combined"),
        (lambda x, y: y + shares(P(None, None, reduced={"x"})), "reduced along different axes"),
    ],
)
def test_others_are_refused(function: Callable[..., Any], words: str) -> None:
    for run in (function, tangrad.jit(function)):
        with pytest.raises(ShardingTypeError, match=words):
            run(shares(), tnp.ones((8, 8), device=P(None, None)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (P("x", "y"), P("x", None, unreduced={"y"})),
        (P("x", "y"), P(None, None, unreduced={"x", "y"})),
        (P(("x", "y"), None), P(None, None, unreduced={"x"})),
        (P(None, "y"), P("y", None, unreduced={"x"})),
        (P(None, None), P("x", None, unreduced={"y"})),
        (P("x", None, unreduced={"y"}), P(None, "y", unreduced={"x"})),
        (P(None, None, reduced={"x"}), P(None, None, unreduced={"y"})),
    ],
)
def test_shares_are_made_and_combined(before: P, after: P) -> None:
    x = numbers((8, 8))
    value = shares(before)
    for move in (lambda value: reshard(value, after), tangrad.jit(lambda value: reshard(value, after))):
        check_shares(move(value), x, after)
        assert_equal(reshard(move(value), before), x)
    assert_equal(tangrad.jit(lambda value: value, out_shardings=NamedSharding(EXPLICIT, after))(value), x)
    assert not shares(after).is_fully_replicated
    for kind in (UnreducedKind.max, UnreducedKind.min):
        with pytest.raises(ValueError, match="shares are made of sums only"):
            reshard(value, P(None, None, unreduced={"x"}, unreduced_kind=kind))
    assert not NamedSharding(EXPLICIT, after).is_equivalent_to(NamedSharding(EXPLICIT, P(*after)), 2)


@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
def test_cotangents_of_what_is_reduced_are_shares(wrap: Callable[..., Any]) -> None:
    reduced = shares(P(None, None, reduced={"x"}))
    rows, x = sharded((8, 8), P("x", None)), numbers((8, 8))

    def loss(w: Any, rows: Any) -> Any:
        return (tnp.sin(rows @ tnp.sin(w)) ** 2).sum()

    found = wrap(tangrad.grad(loss, (0, 1)))(reduced, rows)
    with use_mesh(mesh(1, 1)):
        expected = tangrad.grad(loss, (0, 1))(x, x)
    check_shares(found[0], np.asarray(expected[0]))
    assert_equal(found[1], np.asarray(expected[1]))
    check_shares(wrap(tangrad.grad(lambda w: reshard(w, P("x", None)).sum()))(reduced), np.ones((8, 8)))
    check_shares(wrap(tangrad.grad(lambda w: 0.0 * rows.sum()))(reduced), np.zeros((8, 8)))
    back = wrap(tangrad.grad(lambda s: reshard(s, P(None, None)).sum()))(shares())
    assert spec_of(back) == P(None, None, reduced={"x"})
    assert_equal(back, np.ones((8, 8)))
    out, tangent = tangrad.jvp(lambda w: tnp.sin(w), (reduced,), (reduced,))
    assert spec_of(out) == spec_of(tangent) == P(None, None, reduced={"x"})


def test_no_communication_for_shares() -> None:
    if not ON_XLA:
        return
    a, b = sharded((8, 8), P(None, "x")), sharded((8, 8), P("x", None))
    text = tangrad.jit(lambda a, b: tnp.matmul(a, b, out_sharding=SHARES)).lower(a, b).compile().as_text()
    assert "all-reduce" not in text
    text = (
        tangrad.jit(tangrad.grad(lambda w, rows: (rows @ w).sum()))
        .lower(shares(P(None, None, reduced={"x"})), b)
        .compile()
        .as_text()
    )
    assert "all-reduce" not in text


# --- types within maps over some of the axes --------------------------------------------------------------------------


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
def test_parts_are_cut_along_axes_that_are_not_mapped(wrap: Callable[..., Any], checks: bool) -> None:
    seen: list[P] = []

    def part(x: Any) -> Any:
        seen.append(spec_of(x))
        assert x.shape == (4, 8) and tangrad.typeof(x).sharding.mesh.axis_types == (AxisType.Manual, AxisType.Explicit)
        y = tnp.sin(x) * 2
        assert spec_of(y.sum(1)) == P(spec_of(x)[0])
        assert spec_of(y) == spec_of(reshard(y, spec_of(x)))
        return y + lax.psum(y, "x")

    x = numbers((8, 8))
    expected = 2 * np.sin(x) + np.tile(2 * np.sin(x[:4]) + 2 * np.sin(x[4:]), (2, 1))
    mapped = tangrad.shard_map(
        part, mesh=EXPLICIT, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=checks
    )
    for spec, inner in ((P("x", "y"), P(None, "y")), (P(("x", "y"), None), P("y", None)), (P(None, "y"), P(None, "y"))):
        out = wrap(mapped)(sharded((8, 8), spec))
        assert inner in seen and spec_of(out) == P(*[(*a, *b) for a, b in zip((("x",), ()), _cuts(inner))])
        assert_equal(out, expected)
        found = wrap(tangrad.grad(lambda x: (mapped(x) ** 2).sum()))(sharded((8, 8), spec))
        weight = np.tile(expected[:4] + expected[4:], (2, 1)) + expected
        assert_equal(found, 4 * np.cos(x) * weight)
        assert spec_of(found) == spec


REDUCED = P(None, None, reduced={"x"})
VARYING, UNREDUCED_, REDUCED_, SAME = (("x",), (), ()), ((), ("x",), ()), ((), (), ("x",)), ((), (), ())

# Function of parts, specs of two matrices of 8 x 8, and of the result; the function of whole matrices; and how parts of
# the result are related.
WITHIN: dict[str, tuple[Callable[..., Any], tuple[P, P], P, Callable[..., Any], Any]] = {
    "partial products": (
        lambda a, b: lax.pcast(a @ b, "x", to="unreduced"),
        (P(None, "x"), P("x")),
        SHARES,
        lambda a, b: a @ b,
        UNREDUCED_,
    ),
    "summed": (lambda a, b: lax.psum(a + b, "x"), (SHARES, SHARES), P(), lambda a, b: a + b, SAME),
    "scattered": (
        lambda a, b: lax.psum_scatter(a - b - b, "x", tiled=True),
        (SHARES, SHARES),
        P("x"),
        lambda a, b: a - 2 * b,
        VARYING,
    ),
    "as they are": (lambda a, b: (a + b).T, (SHARES, SHARES), SHARES, lambda a, b: (a + b).T, UNREDUCED_),
    "gathered": (
        lambda a, b: lax.all_gather(a * b, "x", tiled=True, to="reduced"),
        (P("x"), P("x")),
        REDUCED,
        lambda a, b: a * b,
        REDUCED_,
    ),
    "marked as reduced": (
        lambda a, b: tnp.sin(lax.pcast(a * b, "x", to="reduced")),
        (P(), P()),
        REDUCED,
        lambda a, b: tnp.sin(a * b),
        REDUCED_,
    ),
    "reduced by cut": (lambda a, b: a @ b, (P("x"), REDUCED), P("x"), lambda a, b: a @ b, VARYING),
    "reduced and cut, summed": (
        lambda a, b: lax.psum(tnp.cos(a) * b[:4], "x"),
        (P("x"), REDUCED),
        P(),
        lambda a, b: (tnp.cos(a[:4]) + tnp.cos(a[4:])) * b[:4],
        SAME,
    ),
    "reduced by shares": (lambda a, b: a * b, (SHARES, REDUCED), SHARES, lambda a, b: a * b, UNREDUCED_),
    "reduced by themselves": (lambda a, b: a * b + 1, (REDUCED, REDUCED), REDUCED, lambda a, b: a * b + 1, REDUCED_),
    "products of what is reduced": (
        lambda a, b: (a @ b).T + a.sum(0),
        (REDUCED, REDUCED),
        REDUCED,
        lambda a, b: (a @ b).T + a.sum(0),
        REDUCED_,
    ),
    "to values of each": (
        lambda a, b: lax.pcast(a, "x", to="varying")[:4] * b,
        (REDUCED, P("x")),
        P("x"),
        lambda a, b: tnp.concatenate([a[:4], a[:4]]) * b,
        VARYING,
    ),
    "in a scan": (
        lambda a, b: lax.scan(lambda c, row: (c + row, c), a, tnp.stack([b, b]))[0],
        (SHARES, SHARES),
        SHARES,
        lambda a, b: a + 2 * b,
        UNREDUCED_,
    ),
    "in a program of its own": (
        lambda a, b: tangrad.jit(lambda a, b: lax.pcast(a * b, "x", to="unreduced"))(a, b),
        (P("x"), P("x")),
        SHARES,
        lambda a, b: a[:4] * b[:4] + a[4:] * b[4:],
        UNREDUCED_,
    ),
    "of rows": (
        lambda a, b: tangrad.vmap(lambda a, b: lax.psum(a * b, "x"))(a, b),
        (SHARES, REDUCED),
        P(),
        lambda a, b: a * b,
        SAME,
    ),
    "a derivative inside": (
        lambda a, b: tangrad.grad(lambda b: lax.psum((a @ b).sum(), "x"))(b),
        (P("x"), REDUCED),
        SHARES,
        lambda a, b: tangrad.grad(lambda b: (a @ b).sum())(b),
        UNREDUCED_,
    ),
    "and along the other axis": (
        lambda a, b: lax.pcast(lax.psum(a, "x") @ b, "y", to="unreduced"),
        (P(None, "y", unreduced={"x"}), P("y")),
        P(None, None, unreduced={"y"}),
        lambda a, b: a @ b,
        ((), ("y",), ()),
    ),
}


def _dual(spec: P) -> P:
    whole = [*spec, *[None] * (2 - len(spec))]
    return P(*whole, unreduced=spec.reduced, reduced=spec.unreduced)


@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("case", list(WITHIN))
def test_parts_that_are_to_be_combined(case: str, wrap: Callable[..., Any]) -> None:
    of_parts, in_specs, out_spec, of_wholes, related = WITHIN[case]
    relations: list[Any] = []

    def logging(a: Any, b: Any) -> Any:
        out = of_parts(a, b)
        relations.append(tuple([tuple(axes) for axes in (out.mat.varying, out.mat.unreduced, out.mat.reduced)]))
        return out

    mapped = tangrad.shard_map(logging, mesh=EXPLICIT, in_specs=in_specs, out_specs=out_spec)
    a, b = [
        tangrad.device_put(value, NamedSharding(EXPLICIT, spec))
        for value, spec in zip((numbers((8, 8)), numbers((8, 8)).T * 2), in_specs, strict=True)
    ]
    combined = lambda a, b: reshard(mapped(a, b), P())
    weighed = lambda a, b: (numbers((8, 8))[: combined(a, b).shape[0]] * combined(a, b)).sum()
    wholes = (np.asarray(a), np.asarray(b))
    with use_mesh(mesh(1, 1)):
        expected = np.asarray(of_wholes(*map(tnp.array, wholes)))
        weights = numbers((8, 8))[: len(expected)]
        slopes = tangrad.grad(lambda a, b: (weights * of_wholes(a, b)).sum(), (0, 1))(*map(tnp.array, wholes))
        tangents = tangrad.jvp(of_wholes, tuple(map(tnp.array, wholes)), tuple(map(tnp.array, wholes[::-1])))[1]
    found = wrap(mapped)(a, b)
    assert relations == [related]
    check_shares(
        found,
        expected,
        P(*out_spec, *[None] * (2 - len(out_spec))).update(unreduced=out_spec.unreduced, reduced=out_spec.reduced),
    )
    for slope, whole, spec in zip(wrap(tangrad.grad(weighed, (0, 1)))(a, b), slopes, in_specs, strict=True):
        assert spec_of(slope) == _dual(spec)
        assert_equal(slope, whole)
    directions = [
        tangrad.device_put(value, NamedSharding(EXPLICIT, spec))
        for value, spec in zip(wholes[::-1], in_specs, strict=True)
    ]
    assert_equal(wrap(lambda a, b, *more: tangrad.jvp(combined, (a, b), more)[1])(a, b, *directions), tangents)
    stacks = [tnp.stack([a, a + a, -a]), tnp.stack([b, b, b])]
    several = wrap(tangrad.vmap(combined))(*stacks)
    with use_mesh(mesh(1, 1)):
        each = [of_wholes(tnp.array(wholes[0]) * scale, tnp.array(wholes[1])) for scale in (1, 2, -1)]
        assert_equal(several, np.stack([np.asarray(one) for one in each]))


@pytest.mark.parametrize(
    ("of_part", "in_spec", "out_spec", "words"),
    [
        (tnp.sin, SHARES, SHARES, "parts of an operand are still to be combined"),
        (lambda a: a * a, SHARES, SHARES, "the others are not reduced"),
        (lambda a: a * lax.axis_index("x"), SHARES, SHARES, "the others are not reduced"),
        (lambda a: a + lax.axis_index("x"), SHARES, SHARES, "in different ways"),
        (lambda a: lax.psum(a, "x"), REDUCED, P(), "is the same along"),
        (lambda a: a + np.ones((8, 8), np.float32), REDUCED, REDUCED, "reduced along different axes"),
        (lambda a: lax.pmax(a, "x"), SHARES, P(), "still to be combined"),
        (lambda a: lax.all_gather(a, "x"), SHARES, SHARES, "still to be combined"),
        (lambda a: lax.ppermute(a, "x", [(0, 1), (1, 0)]), SHARES, SHARES, "still to be combined"),
        (lambda a: lax.pcast(a, "x", to="reduced"), SHARES, SHARES, "is unreduced along axes of"),
        (lambda a: lax.pcast(a, "x", to="varying"), SHARES, P("x"), "is unreduced along axes of"),
        (lambda a: lax.pcast(a, "x", to="unreduced"), P(), SHARES, "is invarying along axes of"),
        (lambda a: lax.pcast(a, "x", to="reduced"), P("x"), SHARES, "is varying along axes of"),
        (lambda a: lax.pcast(a, "x", to="summed"), P("x"), SHARES, "to must be one of varying, unreduced, reduced"),
        (lambda a: a, SHARES, P("x"), r"unreduced along \['x'\], and the out_specs passed"),
        (lambda a: a, SHARES, REDUCED, r"unreduced along \['x'\], and the out_specs passed"),
        (lambda a: a, SHARES, P(), r"unreduced along \['x'\], and the out_specs passed"),
        (lambda a: a, REDUCED, P(), r"reduced along \['x'\], and the out_specs passed"),
        (lambda a: a, P("x"), SHARES, "is not unreduced, and the out_specs passed"),
        (lambda a: a, P(), REDUCED, "is not unreduced, and the out_specs passed"),
    ],
)
def test_parts_that_are_not_combined_as_they_must_be(
    of_part: Callable[..., Any], in_spec: P, out_spec: P, words: str
) -> None:
    mapped = tangrad.shard_map(of_part, mesh=EXPLICIT, in_specs=in_spec, out_specs=out_spec)
    with pytest.raises((TypeError, ValueError), match=words):
        mapped(numbers((8, 8)))


def test_maps_over_some_axes_refuse_what_is_to_be_combined() -> None:
    for specs in ({"in_specs": SHARES, "out_specs": P()}, {"in_specs": P(), "out_specs": SHARES}):
        for checks in (True, False):
            mapped = tangrad.shard_map(lambda a: a, mesh=EXPLICIT, axis_names={"x"}, check_vma=checks, **specs)
            with pytest.raises(NotImplementedError, match="where all axes of the mesh are mapped"):
                mapped(shares())
    some = tangrad.shard_map(
        lambda a: lax.pcast(a, "x", to="unreduced"), mesh=EXPLICIT, axis_names={"x"}, in_specs=P("x"), out_specs=P("x")
    )
    with pytest.raises(NotImplementedError, match="over all axes of the mesh"):
        some(numbers((8, 8)))
    greatest = P(unreduced={"x"}, unreduced_kind=UnreducedKind.max)
    with pytest.raises(NotImplementedError, match="by their sum"):
        tangrad.shard_map(lambda a: a, mesh=EXPLICIT, in_specs=P("x"), out_specs=greatest)(numbers((8, 8)))


@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit], ids=["eager", "jit"])
def test_maps_without_checks_take_parts_as_shares(wrap: Callable[..., Any]) -> None:
    x = numbers((8, 8))
    same = lambda in_specs, out_specs: tangrad.shard_map(
        lambda a: a, mesh=EXPLICIT, in_specs=in_specs, out_specs=out_specs, check_vma=False
    )
    halves = wrap(same(P("x"), SHARES))(x)
    check_shares(halves, x[:4] + x[4:])
    check_shares(wrap(same(P(), SHARES))(x), x + x)
    twice = lambda x: (reshard(same(P("x"), SHARES)(x), P()) * numbers((4, 8))).sum()
    assert_equal(wrap(tangrad.grad(twice))(x), np.concatenate([numbers((4, 8))] * 2))
    put = wrap(same(SHARES, P("x")))(halves)
    assert_equal(reshard(put, P())[:4] + reshard(put, P())[4:], x[:4] + x[4:])
    if ON_XLA:  # each has its own, as before
        assert_equal(put, x)
    slope = wrap(tangrad.grad(lambda x: same(SHARES, P("x"))(x)[:4].sum()))(halves)
    assert spec_of(slope) == REDUCED


def test_maps_take_what_is_summed_of_shares() -> None:
    x = shares()
    doubled = tangrad.shard_map(lambda part: part * 2, mesh=EXPLICIT, in_specs=P(), out_specs=P())
    for run in (doubled, tangrad.jit(doubled)):
        assert_equal(run(x), numbers((8, 8)) * 2)
    totals = tangrad.shard_map(lambda part: lax.psum(part, "x"), mesh=EXPLICIT, out_specs=P())  # as its type is
    for run in (totals, tangrad.jit(totals)):
        assert_equal(run(x), numbers((8, 8)))
        assert_equal(run(tangrad.device_put(x, P("x"))), numbers((8, 8))[:4] + numbers((8, 8))[4:])


def _cuts(spec: P) -> list[tuple[Any, ...]]:
    return [() if axis is None else (axis,) for axis in spec]


def test_a_map_within_a_map_cuts_as_types_have_it() -> None:
    inner = tangrad.shard_map(lambda x: x * lax.axis_index("y"), out_specs=P(None, "y"), axis_names={"y"})
    outer = tangrad.shard_map(inner, mesh=EXPLICIT, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    for run in (outer, tangrad.jit(outer)):
        out = run(sharded((8, 8), P("x", "y")))
        assert spec_of(out) == P("x", "y")
        assert_equal(out, numbers((8, 8)) * (np.arange(8) // 2))
