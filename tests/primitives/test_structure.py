"""The structural primitives against JAX: values, derivatives, mapping, both backends; and bad input."""

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad._lax.structure import primitives as p
from tangrad._lax.structure.primitives import structure
from tests.primitives.reference import (
    BACKENDS,
    as_dtype,
    check_derivatives,
    check_dot_product,
    check_mapped,
    close,
    normal,
    using,
)

jax = pytest.importorskip("jax")

X, ROW, SCALAR = normal((3, 4)), normal((4,), seed=1), np.float32(0.7)

# name -> (function of an API, arguments): every structural function, in its variants
CASES = {
    "broadcast": (lambda api: lambda x: api.lax.broadcast(x, (2, 5)), [X]),
    "broadcast of a scalar": (lambda api: lambda x: api.lax.broadcast(x, (2,)), [SCALAR]),
    "broadcast_in_dim": (lambda api: lambda x: api.lax.broadcast_in_dim(x, (4, 3, 5), (1,)), [X[:, 0]]),
    "broadcast_in_dim of ones": (lambda api: lambda x: api.lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)), [X[:, :1]]),
    "broadcast_like": (lambda api: lambda x: api.lax.broadcast_like(x, X), [ROW]),
    "broadcast_to_rank": (lambda api: lambda x: api.lax.broadcast_to_rank(x, 4), [X]),
    "reshape": (lambda api: lambda x: api.lax.reshape(x, (2, 6)), [X]),
    "reshape in another order": (lambda api: lambda x: api.lax.reshape(x, (2, 6), (1, 0)), [X]),
    "reshape to nothing": (lambda api: lambda x: api.lax.reshape(x, ()), [X[:1, :1]]),
    "collapse": (lambda api: lambda x: api.lax.collapse(x, 0, 2), [normal((2, 3, 4))]),
    "transpose": (lambda api: lambda x: api.lax.transpose(x, (2, 0, 1)), [normal((2, 3, 4))]),
    "squeeze": (lambda api: lambda x: api.lax.squeeze(x, (0, -1)), [normal((1, 3, 1))]),
    "expand_dims": (lambda api: lambda x: api.lax.expand_dims(x, (0, -1)), [X]),
    "rev": (lambda api: lambda x: api.lax.rev(x, (1,)), [X]),
    "rev both": (lambda api: lambda x: api.lax.rev(x, (0, 1)), [X]),
    "rev nothing": (lambda api: lambda x: api.lax.rev(x, ()), [X]),
    "slice": (lambda api: lambda x: api.lax.slice(x, (1, 0), (3, 3)), [X]),
    "slice with strides": (lambda api: lambda x: api.lax.slice(x, (0, 1), (3, 4), (2, 2)), [X]),
    "slice of nothing": (lambda api: lambda x: api.lax.slice(x, (1, 2), (1, 4)), [X]),
    "slice_in_dim": (lambda api: lambda x: api.lax.slice_in_dim(x, -3, None, 2, axis=-1), [X]),
    "index_in_dim": (lambda api: lambda x: api.lax.index_in_dim(x, -1, 1, keepdims=False), [X]),
    "split": (lambda api: lambda x: api.lax.mul(*api.lax.split(x, (2, 2), axis=1)), [X]),
    "split with a part unused": (lambda api: lambda x: api.lax.split(x, (1, 3), axis=1)[1], [X]),
    "unstack": (lambda api: lambda x: api.lax.mul(*api.lax.unstack(x, axis=1)[1:3]), [X]),
    "concatenate": (lambda api: lambda x, y: api.lax.concatenate([x, y, x], 0), [X, 2 * X[:2]]),
    "concatenate last": (lambda api: lambda x, y: api.lax.concatenate([x, y], 1), [X, X[:, :1]]),
    "concatenate with a constant": (lambda api: lambda x: api.lax.concatenate([x, X], 1), [X]),
    "stack": (lambda api: lambda x, y: api.lax.stack([x, y, x], -1), [X, 2 * X]),
    "tile": (lambda api: lambda x: api.lax.tile(x, (2, 3)), [X]),
    "pad": (lambda api: lambda x, v: api.lax.pad(x, v, ((1, 2, 0), (0, 1, 0))), [X, SCALAR]),
    "pad inside": (lambda api: lambda x, v: api.lax.pad(x, v, ((0, 0, 2), (1, 0, 1))), [X, SCALAR]),
    "pad and cut": (lambda api: lambda x, v: api.lax.pad(x, v, ((-1, 2, 1), (2, -3, 2))), [X, SCALAR]),
    "pad and cut all": (lambda api: lambda x, v: api.lax.pad(x, v, ((-3, 2, 0), (5, -9, 1))), [X, SCALAR]),
    "pad nothing": (lambda api: lambda x, v: api.lax.pad(x, v, ((2, 1, 3), (0, 0, 0))), [X[:0], SCALAR]),
    "pad by a constant": (lambda api: lambda x: api.lax.pad(x, np.float32(3), ((1, 0, 0), (0, 1, 2))), [X]),
    "dynamic_slice": (lambda api: lambda x, i: api.lax.dynamic_slice(x, (i, i), (2, 3)), [X, np.int32(1)]),
    "dynamic_slice beyond": (lambda api: lambda x, i: api.lax.dynamic_slice(x, (i, 9), (2, 3)), [X, np.int32(7)]),
    "dynamic_slice below": (lambda api: lambda x, i: api.lax.dynamic_slice(x, (i, -9), (2, 3)), [X, np.int32(-1)]),
    "dynamic_slice by an array": (lambda api: lambda x, i: api.lax.dynamic_slice(x, i, (2, 3)), [X, np.array([0, 1])]),
    "dynamic_slice of all": (lambda api: lambda x, i: api.lax.dynamic_slice(x, (i, i), (3, 4)), [X, np.int32(1)]),
    "dynamic_slice_in_dim": (lambda api: lambda x, i: api.lax.dynamic_slice_in_dim(x, i, 2, axis=-1), [X, np.int32(1)]),
    "dynamic_index_in_dim": (
        lambda api: lambda x, i: api.lax.dynamic_index_in_dim(x, i, 1, keepdims=False), [X, np.int32(-1)],
    ),
    "dynamic_update_slice": (
        lambda api: lambda x, u, i: api.lax.dynamic_update_slice(x, u, (i, 1)), [X, 3 * X[:2, :2], np.int32(1)],
    ),
    "dynamic_update_slice beyond": (
        lambda api: lambda x, u, i: api.lax.dynamic_update_slice(x, u, (i, 5)), [X, 3 * X[:2, :2], np.int32(-9)],
    ),
    "dynamic_update_slice of all": (
        lambda api: lambda x, u, i: api.lax.dynamic_update_slice(x, u, (i, i)), [X, 3 * X, np.int32(0)],
    ),
    "dynamic_update_slice_in_dim": (
        lambda api: lambda x, u, i: api.lax.dynamic_update_slice_in_dim(x, u, i, 1), [X, 2 * X[:, :2], np.int32(1)],
    ),
    "dynamic_update_index_in_dim": (
        lambda api: lambda x, u, i: api.lax.dynamic_update_index_in_dim(x, u, i, axis=1), [X, 2 * X[:, 0], np.int32(3)],
    ),
    "optimization_barrier": (lambda api: lambda x, y: api.lax.optimization_barrier((x, y))[1], [X, 2 * X]),
    "stop_gradient": (lambda api: lambda x: api.lax.mul(x, api.lax.stop_gradient(x)), [X]),
    "full_like": (lambda api: lambda x: api.lax.add(x, api.lax.full_like(x, 2)), [X]),
    "full": (lambda api: lambda x: api.lax.full((2, 2), x), [SCALAR]),
}  # fmt: skip


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    function, args = CASES[name]
    check_derivatives(function, args)


@pytest.mark.parametrize("dtype", ["int32", "bool", "uint8", "complex64", "bfloat16"])
def test_dtypes(dtype):
    def program(api):
        def run(arguments):
            return {name: CASES[name][0](api)(*args) for name, args in arguments.items()}

        return run

    def converted(x):
        x = np.asarray(x)
        return x if x.dtype.kind == "i" else np.asarray(x * 3).astype(as_dtype(dtype))

    left_out = {"pad by a constant", "full_like", "concatenate with a constant", "broadcast_like"}
    left_out |= {"split", "unstack", "stop_gradient"} if dtype == "bool" else set()
    arguments = {name: [converted(x) for x in args] for name, (_, args) in CASES.items() if name not in left_out}
    with using("numpy"):
        expected = jax.jit(program(jax))(arguments)
    for backend in BACKENDS:
        with using(backend):
            close(tangrad.jit(program(tangrad))(arguments), expected, where=backend)
            if backend == "numpy":
                close(program(tangrad)(arguments), expected, where="eager")


@pytest.mark.parametrize("name", CASES)
def test_mapping(name):
    function, args = CASES[name]
    size = len(args)
    ranks = [np.ndim(arg) for arg in args]
    choices = {tuple([0] * size), tuple(ranks), (0, *[None] * (size - 1)), (*[None] * (size - 1), 0)}
    choices |= {(*[None] * (size - 1), ranks[-1]), (ranks[0], *[0] * (size - 1))}
    with using("numpy"):
        for axes in choices:
            if any(axis is not None for axis in axes):
                check_mapped(function(tangrad), args, axes, jit=False)


@pytest.mark.parametrize(
    "name", ["pad inside", "dynamic_slice", "dynamic_update_slice", "split", "concatenate", "reshape"]
)
def test_mapping_twice(backend, name):
    function, args = CASES[name]
    with using(backend):
        inner = tangrad.vmap(function(tangrad), tuple([0] * len(args)))
        doubled = [np.stack([arg, arg + np.asarray(1, arg.dtype)]) for arg in args]
        check_mapped(inner, doubled, tuple([0] * len(args)), size=2)


def test_derivatives_of_mapped_slices():
    # Gather and scatter take the place of the dynamic slices.
    starts, updates = np.array([2, 0, 1], np.int32), normal((3, 2, 2))

    def slices(api):
        return lambda x: api.vmap(lambda i: api.lax.dynamic_slice(x, (i, 1), (2, 2)))(starts)

    def written(api):
        return lambda x, u: api.vmap(lambda u, i: api.lax.dynamic_update_slice(x, u, (i, i)))(u, starts)

    check_derivatives(slices, [normal((5, 4))])
    check_derivatives(written, [normal((5, 4)), updates])


def test_transposes_by_dot_product(backend):
    with using(backend):
        for name in ("broadcast_in_dim", "reshape in another order", "slice with strides", "pad and cut", "pad inside"):
            function, args = CASES[name]
            check_dot_product(function(tangrad), args)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int8", "float32", "bfloat16", "complex64"])
def test_iota(backend, dtype):
    with using(backend):
        close(lax.iota(dtype, 5), jax.lax.iota(dtype, 5))
        close(lax.broadcasted_iota(dtype, (3, 4), 0), jax.lax.broadcasted_iota(dtype, (3, 4), 0))
        close(tangrad.jit(lambda: lax.broadcasted_iota(dtype, (3, 4), 1))(), jax.lax.broadcasted_iota(dtype, (3, 4), 1))
        close(lax.iota("uint8", 300), jax.lax.iota("uint8", 300))
        assert lax.iota(dtype, 0).shape == (0,)


def test_full(backend):
    with using(backend):
        for args in [((2, 3), 1.5), ((2,), 7, "int8"), ((), True), ((2,), 2.7, "int32"), ((1,), 1j)]:
            close(lax.full(*args), jax.lax.full(*args))
        close(lax.full((2,), 300, "int8"), np.full(2, 44, np.int8))
        close(lax.full((2,), -1e10, "int32"), np.full(2, -(2**31), np.int32))
        close(lax.full_like(X, 2, shape=(2,)), np.full(2, 2, np.float32))
        close(lax.full_like(jax.ShapeDtypeStruct((2,), np.int32), 3), np.full(2, 3, np.int32))
        close(lax.zeros_like_array(X), np.zeros_like(X))
        close(lax.empty((2,), "float32"), np.zeros(2, np.float32))
        assert lax.full((2,), 1.0).weak_type and not lax.full((2,), 1.0, float).weak_type
        assert lax.full_like(1.0, 2).weak_type


def test_copy_is_in_memory_of_its_own(backend):
    with using(backend):
        x = tangrad.core.as_array(X)
        y = p.copy_p.bind(x)
        close(y, X)
        assert not np.shares_memory(np.asarray(x), np.asarray(y))
        check_derivatives(lambda api: lambda x: api.lax.sin((p if api is tangrad else api.lax).copy_p.bind(x)), [X])


def test_stop_gradient():
    with using("numpy"):
        out = lax.stop_gradient({"a": 1.0, "b": np.arange(3), "c": [X]})
        close(out["c"][0], X)
        close(out["b"], np.arange(3, dtype=np.int32))
        _, tangent = tangrad.jvp(lax.stop_gradient, (X,), (X,))
        close(tangent, np.zeros_like(X))
        # It is in the jaxpr, so that a program which is differentiated later knows.
        assert "stop_gradient" in str(tangrad.make_jaxpr(lambda x: lax.stop_gradient(x))(X))
        assert float(tangrad.grad(tangrad.jit(lambda x: lax.mul(x, lax.stop_gradient(x))))(3.0)) == 3.0


def test_barrier_keeps_computations_apart(backend):
    """What comes after it is not merged with what came before; all operands are computed before any result."""

    def apart(x):
        return lax.add(lax.sin(x), lax.sin(lax.optimization_barrier(x)))

    def all_needed(x):
        return lax.optimization_barrier((x, lax.sin(x)))[0]

    # XLA's compiler sees it as an operation; NumPy's programs have been through ours when they are shown.
    sine, barrier = ("stablehlo.sine ", "stablehlo.optimization_barrier ") if backend == "xla" else ("= sin(", "")
    with using(backend):
        for function, sines in ((apart, 2), (all_needed, 1)):
            text = tangrad.jit(function).lower(X).as_text()
            assert text.count(sine) == sines and barrier in text
        close(tangrad.jit(apart)(X), 2 * np.sin(X))
        close(tangrad.jit(all_needed)(X), X)


def test_barrier_of_a_tree(backend):
    with using(backend):
        out = lax.optimization_barrier((X, np.int32(3), {"a": 1.0}))
        close(out, (X, np.int32(3), {"a": np.float32(1.0)}))
        close(lax.optimization_barrier(()), ())
        tangent = tangrad.jvp(lambda x: lax.optimization_barrier((x, np.int32(2)))[0], (X,), (2 * X,))[1]
        close(tangent, 2 * X)


def test_identities_return_the_array_itself():
    with using("numpy"):
        x = tangrad.core.as_array(X)
        assert lax.reshape(x, (3, 4)) is x
        assert lax.transpose(x, (0, 1)) is x
        assert lax.broadcast_in_dim(x, (3, 4), (0, 1)) is x
        assert lax.squeeze(x, ()) is x and lax.expand_dims(x, ()) is x
        assert lax.concatenate([x], 1) is x
        assert isinstance(lax.reshape(1.0, ()), tangrad.Array)


def test_jaxprs_are_those_of_jax():
    def f(api):
        def run(x, i):
            y = api.lax.expand_dims(x, (0,))
            y = api.lax.pad(api.lax.rev(y, (1,)), 0.0, ((0, 0, 0), (1, 0, 1)))
            return api.lax.dynamic_slice(y, (i, 0), (1, 2)), api.lax.full_like(x, 2), api.lax.split(x, (2, 2), 0)

        return run

    with using("numpy"):
        ours = str(tangrad.make_jaxpr(f(tangrad))(ROW, 1))
    names = ["broadcast_in_dim", "rev", "pad", "lt", "add", "select_n", "dynamic_slice", "broadcast_in_dim"]
    place = 0
    for name in [*names, "split[axis=0 sizes=(2, 2)]"]:
        assert f" = {name}" in ours[place:]
        place = ours.index(f" = {name}", place) + 1


@pytest.mark.parametrize("index", ["uint8", "int8", "int32", "uint32"])
def test_dtypes_of_indices(backend, index):
    x = np.arange(300, dtype=np.int32)
    with using(backend):
        for start in (0, 100, 120):
            close(lax.dynamic_slice(x, (np.dtype(index).type(start),), (250,)), x[min(start, 50) :][:250])
        close(
            lax.dynamic_update_slice(x, -x[:3], (np.dtype(index).type(99),)), np.concatenate([x[:99], -x[:3], x[102:]])
        )
        if index.startswith("int"):
            close(lax.dynamic_slice(x, (np.dtype(index).type(-3),), (2,)), x[297:299])
            close(lax.dynamic_slice(x, (np.dtype(index).type(-3),), (2,), allow_negative_indices=False), x[:2])


# --- bad input -----------------------------------------------------------------------------------------------------

BAD = {
    "size": (lambda: lax.broadcast(X, (2.5,)), TypeError, "2.5"),
    "negative size": (lambda: lax.broadcast(X, (-1,)), ValueError, "-1"),
    "broadcast dimensions": (lambda: lax.broadcast_in_dim(X, (3, 4), (1, 0)), ValueError, "increase strictly"),
    "too few dimensions": (lambda: lax.broadcast_in_dim(X, (3, 4), (1,)), ValueError, "one entry for each dimension"),
    "size of broadcast": (lambda: lax.broadcast_in_dim(X, (3, 5), (0, 1)), ValueError, "each size must be 1 or equal"),
    "shapes": (lambda: lax.broadcast_shapes((2,), (3,)), ValueError, r"Incompatible shapes for broadcasting: \(2,"),
    "rank": (lambda: lax.broadcast_to_rank(X, 1), ValueError, "rank 1 is less than that of x"),
    "elements": (lambda: lax.reshape(X, (7,)), ValueError, "has 12 elements, new_sizes"),
    "unknown size": (lambda: lax.reshape(X, (-1,)), ValueError, "-1"),
    "order": (lambda: lax.reshape(X, (12,), (0, 0)), ValueError, "permutation of range"),
    "permutation": (lambda: lax.transpose(X, (0, 2)), ValueError, r"permutation of range\(2\), got \(0, 2\)"),
    "permutation of floats": (lambda: lax.transpose(X, (0.0, 1)), TypeError, "sequence of integers"),
    "squeeze": (lambda: lax.squeeze(X, (0,)), ValueError, "must have size 1"),
    "squeeze twice": (lambda: lax.squeeze(X[None], (0, 0)), ValueError, "must not repeat"),
    "squeeze out of bounds": (lambda: lax.squeeze(X, (5,)), ValueError, "dimensions 5 is out of bounds"),
    "expand twice": (lambda: lax.expand_dims(X, (0, 0)), ValueError, "must not repeat"),
    "rev": (lambda: lax.rev(X, (2,)), ValueError, r"must be in \[0, 2\)"),
    "slice": (lambda: lax.slice(X, (0, 0), (4, 4)), ValueError, "0 <= start <= limit <= size"),
    "slice backwards": (lambda: lax.slice(X, (2, 0), (1, 4)), ValueError, "0 <= start <= limit <= size"),
    "stride": (lambda: lax.slice(X, (0, 0), (1, 4), (0, 1)), ValueError, "strides must be positive"),
    "slice rank": (lambda: lax.slice(X, (0,), (1,)), ValueError, "one entry for each dimension"),
    "index": (lambda: lax.index_in_dim(X, 3), IndexError, "index 3 is out of bounds for axis 0 of size 3"),
    "axis": (lambda: lax.index_in_dim(X, 0, 2), ValueError, "axis 2 is out of bounds"),
    "split": (lambda: lax.split(X, (1, 1), 1), ValueError, "add up to 2, dimension 1 has 4"),
    "concatenate nothing": (lambda: lax.concatenate([], 0), ValueError, "at least one operand"),
    "concatenate shapes": (lambda: lax.concatenate([X, ROW], 0), ValueError, "agree in all dimensions but 0"),
    "concatenate dtypes": (lambda: lax.concatenate([X, X > 0], 0), TypeError, "one dtype, got float32 and bool"),
    "concatenate an array": (lambda: lax.concatenate(tangrad.core.as_array(X), 0), TypeError, "must be a sequence"),
    "concatenate lists": (lambda: lax.concatenate([[1.0], [2.0]], 0), TypeError, "got .* of type list for operand 0"),
    "stack": (lambda: lax.stack([X, ROW]), ValueError, "operands of one shape"),
    "pad interior": (lambda: lax.pad(X, 0.0, ((0, 0, -1), (0, 0, 0))), ValueError, "interior >= 0"),
    "pad too short": (lambda: lax.pad(X, 0.0, ((0, 0), (0, 0))), ValueError, r"\(low, high, interior\)"),
    "pad rank": (lambda: lax.pad(X, 0.0, ((0, 0, 0),)), ValueError, "one entry for each dimension"),
    "pad away": (lambda: lax.pad(X, 0.0, ((-2, -2, 0), (0, 0, 0))), ValueError, "negative size"),
    "pad with dimensions": (lambda: lax.pad(X, ROW, ((0, 0, 0), (0, 0, 0))), ValueError, "must be a scalar"),
    "pad dtype": (lambda: lax.pad(X, np.int32(0), ((0, 0, 0), (0, 0, 0))), TypeError, "one dtype"),
    "pad numbers": (lambda: lax.pad(X, 0.0, 3), TypeError, "three integers for each dimension"),
    "tile": (lambda: lax.tile(X, (2,)), ValueError, "for each dimension"),
    "starts": (lambda: lax.dynamic_slice(X, (0,), (1, 1)), ValueError, "one index for each of 2 dimensions, got 1"),
    "slice sizes": (lambda: lax.dynamic_slice(X, (0, 0), (1, 9)), ValueError, "must be between 0 and the shape"),
    "starts of floats": (lambda: lax.dynamic_slice(X, (0, 1.5), (1, 1)), TypeError, "dtype float32 for start_indices"),
    "starts of two dtypes": (
        lambda: p.dynamic_slice_p(X, np.int32(0), np.int8(1), slice_sizes=(1, 1)), TypeError, "got int32 and int8",
    ),
    "update": (lambda: lax.dynamic_update_slice(X, ROW, (0, 0)), ValueError, "rank of the operand"),
    "update too large": (lambda: lax.dynamic_update_slice(X, np.ones((4, 1), np.float32), (0, 0)), ValueError, "fit"),
    "update dtype": (lambda: lax.dynamic_update_slice(X, X > 0, (0, 0)), TypeError, "one dtype"),
    "iota dtype": (lambda: lax.iota(bool, 3), TypeError, "iota does not accept dtype bool"),
    "iota size": (lambda: lax.iota("int32", -1), ValueError, "negative"),
    "iota dimension": (lambda: lax.broadcasted_iota("int32", (2, 3), 2), ValueError, r"must be in \[0, 2\)"),
    "fill value": (lambda: lax.full((2,), ROW), ValueError, r"fill_value must be a scalar, got shape \(4,\)"),
    "collapse": (lambda: lax.collapse(X, 1, 0), ValueError, "comes before start_dimension"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, kind, message = BAD[name]
    with using("numpy"), pytest.raises(kind, match=message):
        call()


def test_every_primitive_is_tested():
    names = {name.split()[0] for name in CASES} | {"iota", "copy"}
    assert set(structure.primitives) <= names
