"""Kernels: results as in JAX; what is refused, and when; derivatives, shards, memory; names that only import."""

import importlib

import numpy as np
import pytest

import tangrad
from tangrad import numpy as tnp
from tangrad.experimental import pallas as pl
from tangrad.experimental.pallas import tpu, triton
from tangrad.sharding import PartitionSpec as P
from tests.pallas import kernels

FIVE = tangrad.ShapeDtypeStruct((5,), "float32")
X = np.arange(5.0, dtype="float32")


@pytest.fixture(autouse=True)
def _on_numpy():
    with tangrad.use_backend("numpy"):
        yield


def double(x_ref, o_ref):
    o_ref[...] = 2 * x_ref[...]


def blocks(*shape, index_map=lambda *ids: ids[:1]):
    return pl.BlockSpec(shape, index_map)


# Bad calls, each with a part of what the error says.
BAD = {
    "rank": (
        lambda: pl.pallas_call(double, FIVE, grid=2, in_specs=[blocks(2, 2)])(X),
        ValueError,
        r"in_specs of operand\[0\]: block_shape \(2, 2\) has 2 dimensions, the array has 1",
    ),
    "dimension": (
        lambda: pl.pallas_call(double, FIVE, in_specs=[blocks("2")])(X),
        TypeError,
        "must be an integer, None",
    ),
    "count": (
        lambda: pl.pallas_call(double, FIVE, in_specs=[blocks(5), blocks(5)])(X),
        ValueError,
        "in_specs has 2 specs, expected 1",
    ),
    "results": (
        lambda: pl.pallas_call(double, FIVE, grid=5, out_specs=blocks(1, index_map=lambda i: (i, 0)))(X),
        ValueError,
        "out_specs of result: index map <lambda> returned 2 values, expected 1",
    ),
    "no index": (
        lambda: pl.pallas_call(double, FIVE, grid=5, in_specs=[blocks(1, index_map=lambda i: 0.5)])(X),
        TypeError,
        "returned 0.5 for dimension 0, expected an integer scalar",
    ),
    "grid": (lambda: pl.pallas_call(double, FIVE, grid=(2.5,)), TypeError, "dimension 0 of grid must be an integer"),
    "negative": (lambda: pl.pallas_call(double, FIVE, grid=(-1,)), ValueError, "negative size, -1"),
    "out_shape": (lambda: pl.pallas_call(double, 5), TypeError, "out_shape must be a tree of objects with a shape"),
    "returns": (
        lambda: pl.pallas_call(lambda x_ref, o_ref: x_ref[...], FIVE)(X),
        TypeError,
        "returned .*; it must return None",
    ),
    "reference": (lambda: pl.pallas_call(lambda x_ref, o_ref: o_ref, FIVE)(X), TypeError, "must return None"),
    "axis": (
        lambda: pl.pallas_call(lambda x_ref, o_ref: pl.program_id(1), FIVE, grid=3)(X),
        ValueError,
        "axis must be an integer below 1",
    ),
    "outside": (lambda: pl.program_id(0), ValueError, "no grid outside of a kernel"),
    "alias": (
        lambda: pl.pallas_call(double, FIVE, input_output_aliases={0: 1})(X),
        ValueError,
        "1 operands and 1 results",
    ),
    "alias type": (
        lambda: pl.pallas_call(double, FIVE, input_output_aliases={0: 0})(X[:3]),
        ValueError,
        "their types differ",
    ),
    "twice": (lambda: pl.pallas_call(double, FIVE, grid=2, grid_spec=pl.GridSpec(2)), ValueError, "grid and grid_spec"),
    "bare spec": (
        lambda: pl.pallas_call(double, FIVE, in_specs=blocks(5))(X),
        TypeError,
        "in_specs must be a tuple or list",
    ),
    "scratch": (lambda: pl.pallas_call(double, FIVE, scratch_shapes=[FIVE]), TypeError, "requests for memory"),
    "dtype": (
        lambda: pl.pallas_call(double, tangrad.ShapeDtypeStruct((5,), "int32"))(X),
        TypeError,
        "a value of dtype float32 is written to a reference of dtype int32",
    ),
    "shape": (
        lambda: pl.pallas_call(double, tangrad.ShapeDtypeStruct((4,), "float32"))(X),
        ValueError,
        r"shape \(5,\)",
    ),
    "leaves": (
        lambda: pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[pl.ds(3, 5)]), FIVE)(X),
        IndexError,
        "leaves dimension 0, which has 5 elements",
    ),
    "semaphores": (
        lambda: pl.pallas_call(double, FIVE, scratch_shapes=[tpu.SemaphoreType.DMA]),
        NotImplementedError,
        r"pallas.tpu.SemaphoreType.DMA: the interpreted form of Pallas has no semaphores",
    ),
    "copies": (
        lambda: pl.pallas_call(lambda x_ref, o_ref: tpu.make_async_copy(x_ref, o_ref, None).start(), FIVE)(X),
        NotImplementedError,
        "pallas.tpu.make_async_copy",
    ),
    "reverse": (
        lambda: tangrad.grad(lambda x: pl.pallas_call(double, FIVE)(x).sum())(X),
        NotImplementedError,
        "kernel double has no derivative in reverse mode .*custom_vjp",
    ),
    "reverse over forward": (
        lambda: tangrad.grad(lambda x: tangrad.jvp(pl.pallas_call(double, FIVE), (x,), (x,))[1].sum())(X),
        NotImplementedError,
        "custom_vjp",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("traced", [False, True])
def test_what_is_refused_when_it_is_traced(name, traced):
    call, error, text = BAD[name]
    with pytest.raises(error, match=text):
        tangrad.make_jaxpr(call)() if traced else call()


def test_a_reference_that_leaves_its_kernel_is_named():
    kept = []

    def kernel(x_ref, o_ref):
        kept.append(x_ref)
        o_ref[...] = x_ref[...]

    pl.pallas_call(kernel, FIVE)(X)
    with pytest.raises(tangrad.errors.UnexpectedTracerError, match="made within a function, and has left it"):
        kept[0][...] + 1


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_derivatives_in_reverse_of_both_orders_by_custom_vjp(backend):
    def tripled(x_ref, g_ref, o_ref):
        o_ref[...] = g_ref[...] * 3 * x_ref[...] ** 2

    def cubed(x_ref, o_ref):
        o_ref[...] = x_ref[...] ** 3

    def sixfold(x_ref, g_ref, o_ref):
        o_ref[...] = g_ref[...] * 6 * x_ref[...]

    over = {"grid": (3,), "out_specs": blocks(2)}
    call = lambda kernel, *args: pl.pallas_call(kernel, FIVE, in_specs=[blocks(2)] * len(args), **over)(*args)
    slope = tangrad.custom_vjp(lambda x, g: call(tripled, x, g))
    slope.defvjp(lambda x, g: (slope(x, g), (x, g)), lambda kept, t: (t * call(sixfold, *kept), t * 3 * kept[0] ** 2))
    cube = tangrad.custom_vjp(lambda x: call(cubed, x))
    cube.defvjp(lambda x: (cube(x), x), lambda x, g: (slope(x, g),))
    with tangrad.use_backend(backend):
        first = tangrad.grad(lambda x: cube(x).sum())
        np.testing.assert_allclose(first(X), 3 * X**2, rtol=1e-6)
        second = tangrad.jit(tangrad.grad(lambda x: first(x).sum()))
        np.testing.assert_allclose(second(X), 6 * X, rtol=1e-6)
        np.testing.assert_allclose(tangrad.vmap(first)(np.stack([X, X + 1]))[1], 3 * (X + 1) ** 2, rtol=1e-6)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_each_shard_has_a_grid(backend):
    with tangrad.use_backend(backend):
        mesh = tangrad.make_mesh((1,), ("i",))
        attention = kernels.attention(kernels.of_tangrad())
        q, k, v = kernels.CASES["attention"][1]
        expected = attention(q, k, v)
        sharded = tangrad.shard_map(attention, mesh=mesh, in_specs=(P("i"),) * 3, out_specs=P("i"))
        np.testing.assert_allclose(tangrad.jit(sharded)(q, k, v), expected, rtol=1e-6)
        np.testing.assert_allclose(sharded(q, k, v), expected, rtol=1e-6)


def test_rows_are_a_dimension_of_the_grid():
    program = tangrad.make_jaxpr(tangrad.vmap(kernels.windows(kernels.of_tangrad())))(np.ones((4, 8), "float32"))
    (equation,) = program.eqns
    assert equation.primitive.name == "pallas_call" and equation.params["grid"] == (4, 8)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_jacobians(backend):
    """Derivatives in all directions at once: values have no row, and a result that starts as a row has one."""
    product = kernels.product(kernels.of_tangrad())
    x, y = kernels.CASES["product"][1]
    with tangrad.use_backend(backend):
        expected = tangrad.jacfwd(tnp.matmul, 1)(x, y)
        np.testing.assert_allclose(tangrad.jacfwd(product, 1)(x, y), expected, rtol=1e-5, atol=1e-5)
        squares = pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] ** 2), FIVE)
        hessian = tangrad.jacfwd(tangrad.jacfwd(lambda x: squares(x).sum()))(X)
        np.testing.assert_allclose(hessian, 2 * np.eye(5), rtol=1e-6)


def test_a_kernel_is_traced_once_and_its_loop_is_one():
    count = []

    def kernel(x_ref, o_ref):
        count.append(None)
        o_ref[...] = x_ref[...]

    call = pl.pallas_call(kernel, FIVE, grid=5, in_specs=[blocks(1)], out_specs=blocks(1))
    assert call(X).tolist() == X.tolist() and call(X + 1).tolist() == (X + 1).tolist()
    assert len(count) == 1
    text = str(tangrad.jit(call).lower(X).as_text())
    assert text.count("for ") <= 1 or "range(5)" in text


def test_what_is_closed_over_is_an_operand():
    table = tnp.arange(3.0)

    def scaled(factor):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...] * factor + table[pl.program_id(0)]

        return pl.pallas_call(
            kernel, tangrad.ShapeDtypeStruct((3,), "float32"), grid=3, out_specs=blocks(1), in_specs=[blocks(1)]
        )(X[:3])

    assert scaled(2.0).tolist() == [0, 3, 6]
    rows = tangrad.vmap(scaled)(tnp.array([1.0, 2.0]))
    assert rows.tolist() == [[0, 2, 4], [0, 3, 6]]
    assert tangrad.jvp(scaled, (2.0,), (1.0,))[1].tolist() == [0, 1, 2]


def test_memory_to_which_nothing_was_written():
    def kernel(o_ref, p_ref, q_ref, memory):
        p_ref[...] = memory[...]

    types = [tangrad.ShapeDtypeStruct((2,), dtype) for dtype in ("float32", "int8", "bool")]
    results = pl.pallas_call(kernel, types, scratch_shapes=[tpu.VMEM((2,), "int8")])()
    assert [np.asarray(result).tolist()[0] for result in results[1:]] == [-128, False] and np.isnan(results[0]).all()


def test_atomic_updates_with_masks():
    def kernel(x_ref, o_ref, before_ref):
        part = pl.ds(pl.program_id(0) * 4, 4)
        inside = pl.program_id(0) * 4 + tnp.arange(4) < 5
        value = triton.load(x_ref.at[part], mask=inside, other=0.0)
        before_ref[...] = triton.atomic_add(o_ref, 0, value.sum())
        triton.atomic_max(o_ref, pl.ds(1, 4), value, mask=value > 1)

    two = tangrad.ShapeDtypeStruct((), "float32")
    start = np.zeros(5, "float32")
    body = lambda x_ref, start_ref, o_ref, before_ref: kernel(x_ref, o_ref, before_ref)
    result, before = pl.pallas_call(body, (FIVE, two), grid=2, input_output_aliases={1: 0})(X, start)
    assert result.tolist() == [10, 4, 0, 2, 3] and before == 6


def test_memory_for_a_while_and_prints(capsys):
    def kernel(x_ref, o_ref):
        def inner(memory, *, other):
            memory[...] = x_ref[...]
            other[0] = 1
            return memory[...] + other[0]

        o_ref[...] = pl.run_scoped(inner, tpu.VMEM((5,), "float32"), other=tpu.SMEM((1,), "int32"))
        pl.debug_print("place {}", pl.program_id(0))

    assert pl.pallas_call(kernel, FIVE, grid=2)(X).tolist() == (X + 1).tolist()
    assert capsys.readouterr().out == "place 0\nplace 1\n"
    pl.pallas_call(double, FIVE, debug=True)(X)
    assert "The program of kernel double" in capsys.readouterr().out


def test_small_functions():
    assert (pl.cdiv(7, 2), pl.next_power_of_2(5), pl.align_to(5, 4), pl.strides_from_shape((2, 3))) == (4, 8, 8, (3, 1))
    assert pl.dot(np.ones((2, 3), "bfloat16"), np.ones((3, 2), "bfloat16")).dtype == "float32"
    with pytest.raises(TypeError, match="only start may be computed"):
        tangrad.jit(lambda n: pl.ds(0, n))(3)


jax = pytest.importorskip("jax")

BACKENDS = ("numpy", "xla")
MAPPED = {"overhanging": (0,), "product": (0, None), "in_place": (0, 0), "windows": (1,), "rows": (None, 0)}
DTYPES = ("bfloat16", "float16", "int8", "uint8", "int32", "bool")


def check_same(found, expected):
    ours, theirs = tangrad.tree.leaves(found), jax.tree.leaves(expected)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one.astype("float64"), other.astype("float64"), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", kernels.CASES)
def test_values(name, backend):
    make, operands = kernels.CASES[name]
    expected = make(kernels.of_jax())(*operands)
    with tangrad.use_backend(backend):
        function = make(kernels.of_tangrad())
        check_same(function(*operands), expected)
        check_same(tangrad.jit(lambda *args: function(*args))(*operands), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MAPPED)
def test_mapped(name, backend):
    make, operands = kernels.CASES[name]
    axes = MAPPED[name]
    rows = [arg if axis is None else np.stack([arg, arg * 2, arg - 1], axis) for arg, axis in zip(operands, axes)]
    expected = jax.vmap(make(kernels.of_jax()), axes)(*rows)
    with tangrad.use_backend(backend):
        check_same(tangrad.jit(tangrad.vmap(make(kernels.of_tangrad()), axes))(*rows), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype, backend):
    x = np.asarray(jax.numpy.asarray(kernels.draw(10, 7)).astype(dtype))
    flat = np.asarray(jax.numpy.asarray(kernels.draw(16)).astype(dtype))
    theirs, ours = kernels.of_jax(), kernels.of_tangrad()
    expected = kernels.copied(theirs, dtype)(flat), kernels.overhanging(theirs, dtype)(x)
    with tangrad.use_backend(backend):
        check_same((kernels.copied(ours, dtype)(flat), kernels.overhanging(ours, dtype)(x)), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["overhanging", "product", "windows"])
def test_forward_derivatives(name, backend):
    make, operands = kernels.CASES[name]
    directions = tuple([kernels.draw(*arg.shape, seed=7) for arg in operands])
    function, expected = make(kernels.of_jax()), None
    if name == "overhanging":  # JAX has none with scratch memory, nor of padded windows
        expected = jax.jvp(function, operands, directions)
    with tangrad.use_backend(backend):
        ours = make(kernels.of_tangrad())
        found = tangrad.jvp(ours, operands, directions)
        if expected is not None:
            check_same(found, expected)
        step = 1e-2
        shifted = [[x + sign * step * t for x, t in zip(operands, directions)] for sign in (1, -1)]
        slope = (np.asarray(ours(*shifted[0])) - np.asarray(ours(*shifted[1]))) / (2 * step)
        np.testing.assert_allclose(np.asarray(found[1]), slope, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_grid_that_the_program_computes(backend):
    def make(m):
        def kernel(o_ref):
            o_ref[m.pl.program_id(0)] = m.pl.program_id(0) + 10 * m.pl.num_programs(0)

        return lambda count: m.call(kernel, m.struct((5,), "int32"), grid=(count,))()

    expected = jax.jit(make(kernels.of_jax()))(3)
    with tangrad.use_backend(backend):
        check_same(tangrad.jit(make(kernels.of_tangrad()))(3), expected)
        counts = np.array([1, 5], "int32")
        mapped = tangrad.vmap(make(kernels.of_tangrad()))(counts)
        check_same(mapped, np.stack([jax.jit(make(kernels.of_jax()))(count) for count in counts]))


@pytest.mark.skipif(not jax.__version__.startswith("0.10."), reason="the table of names is of JAX 0.10")
@pytest.mark.parametrize("module", ["", ".tpu", ".triton"])
def test_names_are_here_or_say_what_they_are(module):
    path = f"experimental.pallas{module}"
    theirs, ours = importlib.import_module(f"jax.{path}"), importlib.import_module(f"tangrad.{path}")
    names = [name for name in dir(theirs) if not name.startswith("_")]
    assert [name for name in names if not hasattr(ours, name)] == []
    unsupported = [name for name in names if name not in dir(ours)]
    for name in unsupported:
        with pytest.raises(NotImplementedError, match=f"pallas.*{name}: the interpreted form of Pallas has no"):
            getattr(ours, name)()
