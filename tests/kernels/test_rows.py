"""Rows on NumPy by kernels: programs over those of large arrays as one call, rows at places, counts of places."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad._kernels import passes
from tangrad._kernels.jobs import LIMITS
from tangrad._kernels.matrix_programs import with_calls
from tangrad.core import register
from tangrad.core.tools import check_jaxpr
from tests.kernels.exercise import draw

np32 = numpy.float32


def norm(x, scale, shift):
    centred = x - np.mean(x, -1, keepdims=True)
    return centred * lax.rsqrt(np.mean(np.square(centred), -1, keepdims=True) + 1e-5) * scale + shift


def norm_gradient(x, scale, shift):
    return tangrad.grad(lambda *given: np.sum(norm(*given) ** 2), (0, 1, 2))(x, scale, shift)


def batch_norm(x, scale, shift):
    axes = tuple(range(x.ndim - 1))
    return (x - x.mean(axes)) / np.sqrt(x.var(axes) + 1e-5) * scale + shift


def log_softmax_gradient(x, scale, shift):
    return tangrad.grad(lambda x: np.sum(tangrad.nn.log_softmax(x * scale + shift) ** 2))(x)


def picked_gradient(x, scale, shift):
    """Of one element of each row, of which some rows have none: their places are beyond its ends."""
    count, columns = x.size // x.shape[-1], x.shape[-1]
    places = (numpy.arange(count, dtype="int32") * 7 % (columns + 5) - 2 - columns // 2).reshape(*x.shape[:-1], 1)
    pick = lambda *given: np.take_along_axis(tangrad.nn.log_softmax(norm(*given)), places, -1)
    return tangrad.grad(lambda *given: np.nansum(pick(*given) ** 2), (0, 1, 2))(x, scale, shift)


def functions(x, scale, shift):
    """All operations, several results, numbers of rows that are used in two shapes, steps on the way of other kinds."""
    y = np.tanh(np.exp(-np.maximum(x, scale)) / (1 + np.minimum(x, shift) ** 2))
    sums = y.sum(-1)
    chosen = np.where(sums > 0, sums, -sums)
    return (
        y,
        sums,
        np.sqrt(np.abs(y)),
        (y - sums[..., None]).max(-1),
        y * chosen[..., None],
        y.sum(tuple(range(y.ndim - 1))),
    )


def residual(x, scale, shift):
    """A norm between other operations, its numbers of rows among the results, in several shapes."""
    y = x + np.sin(x)
    mean = y.mean(-1, keepdims=True)
    wide = np.broadcast_to(mean, y.shape)
    centred = 1.0 * (y - wide)
    return y, norm(centred, scale, shift) + x, mean, wide, (centred**3).sum(-1)[..., None], x.sum(-1).max(0)


FUNCTIONS = [norm, norm_gradient, batch_norm, log_softmax_gradient, picked_gradient, functions, residual]
SHAPES = [(4096, 16), (513, 67), (40, 31, 33), (2, 20_001), (200, 200), (1, 40_000), (3000, 300)]


@pytest.fixture
def on_numpy(kernels):
    """With and without the kernels, on NumPy, with 64 bits."""

    def run(function, *arguments):
        with tangrad.use_backend("numpy"), tangrad.enable_x64(True):
            results = []
            for context in (kernels(), tangrad.use_backend("numpy")):
                with context:
                    compiled = tangrad.jit(lambda *given: function(*given))
                    results.append(tangrad.tree.map(numpy.asarray, compiled(*map(np.asarray, arguments))))
                    texts = compiled.lower(*arguments).compile().as_text()
                    assert ("rows(" in texts) == (len(results) == 1), texts
        return [tangrad.tree.leaves(result) for result in results]

    return run


def arguments(shape, dtype):
    generator = numpy.random.default_rng(0)
    return [generator.normal(size=size).astype(dtype) for size in (shape, shape[-1:], shape[-1:])]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_without(on_numpy, function, shape, dtype):
    tolerance = 2e-4 if dtype == "float32" else 1e-11
    for ours, before in zip(*on_numpy(function, *arguments(shape, dtype)), strict=True):
        assert (ours.shape, ours.dtype) == (before.shape, before.dtype)
        numpy.testing.assert_allclose(ours, before, rtol=tolerance, atol=tolerance * max(1, abs(before).max()))


def mixed_program(seed):
    """A long program of rows and of what is between them, in random order: groups of many sizes, some cut short."""

    def function(x, scale, shift):
        draws = numpy.random.default_rng(seed)
        pick = lambda values: values[-1 - draws.integers(min(len(values), 8))]
        wide, rows = [x, x * scale], [x.sum(-1, keepdims=True)]
        for _ in range(draws.integers(20, 160)):
            match draws.integers(9):
                case 0 | 1:
                    wide.append(pick([np.add, np.subtract, np.multiply])(pick(wide), pick([*wide, scale, shift])) * 0.3)
                case 2:
                    wide.append(np.tanh(pick(wide)) + np.exp(-np.square(pick(wide))))
                case 3:
                    rows.append(pick([np.mean, np.max])(pick(wide), -1, keepdims=True))
                case 4:
                    wide.append(pick(wide) - pick(rows))
                case 5:
                    rows.append(lax.rsqrt(1.0 + np.square(pick(rows)) + np.abs(pick(rows))))
                case 6:
                    wide.append(pick(wide) * pick(rows) * 0.5)
                case 7:
                    wide.append(pick([np.sin, lambda y: y[::-1], lambda y: np.cumsum(y, 0) / 50.0])(pick(wide)))
                case 8:
                    small = np.float32(pick([1, 2])) + np.zeros((3, 4), x.dtype)
                    for _ in range(draws.integers(1, 40)):  # of other shapes, beside the rows
                        small = np.sin(small)
                    wide.append(pick(wide) + small.sum())
        return [pick(wide), pick(wide).sum(0), pick(rows), np.sum(pick(wide) * pick(wide))]

    last = lambda *given: function(*given)[-1]
    return [function, tangrad.grad(last), tangrad.grad(tangrad.checkpoint(last))][seed % 3]


def calls_of(closed):
    return [eqn.params["attributes"] for eqn in closed.eqns if eqn.primitive.name == "composite"]


@pytest.mark.parametrize("seed", range(12))
def test_mixed_programs(kernels, seed):
    """Whatever is between the rows, equations keep what they read before them."""
    program, given = mixed_program(seed), arguments((128, 64), "float32")
    with tangrad.use_backend("numpy"), kernels():
        closed, again = [tangrad.make_jaxpr(lambda *given: program(*given))(*given) for _ in range(2)]
        expected = tangrad.core.eval_jaxpr(closed.jaxpr, closed.consts, *given)
        for backend in ("numpy", "xla"):
            found = with_calls(closed, backend) or closed
            check_jaxpr(found.jaxpr)
            assert calls_of(found) == calls_of(with_calls(again, backend) or again)  # in other processes, too
            results = tangrad.core.eval_jaxpr(found.jaxpr, found.consts, *given)
            for ours, before in zip(results, expected, strict=True):
                before = numpy.asarray(before)
                numpy.testing.assert_allclose(ours, before, rtol=2e-4, atol=2e-4 * max(1, abs(before).max()))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(2000, 1000), (100_000, 20), (30, 3000)])
def test_errors_of_a_variance(on_numpy, shape, axis):
    x = numpy.random.default_rng(1).normal(size=shape).astype("float32") + np32(3)
    exact = numpy.var(x.astype("float64"), axis)
    (ours,), (before,) = on_numpy(lambda x: np.var(x, axis), x)
    spacing = numpy.spacing(exact.astype("float32"))
    assert (abs(ours - exact) / spacing).max() <= (abs(before - exact) / spacing).max() + 2


def test_special_values_and_signs(on_numpy):
    x = draw((600, 70), "float32")
    for ours, before in zip(*on_numpy(functions, x, x[0], x[1]), strict=True):
        numpy.testing.assert_allclose(ours, before, rtol=1e-5, atol=1e-6)


def test_steps_of_other_kinds_keep_their_order(on_numpy):
    def function(x, scale, shift):
        first = (x * scale + shift).sum(-1)
        placed = np.sort(first)[:, None] + x  # after the first group, before the second one
        return (placed * placed - scale).sum(-1), np.cumsum(placed, 1), placed.sum(0)

    for ours, before in zip(*on_numpy(function, *arguments((400, 250), "float64")), strict=True):
        numpy.testing.assert_allclose(ours, before, rtol=1e-10)


def test_operands_stay_and_results_are_apart(kernels):
    with kernels(), tangrad.use_backend("numpy"):
        x, scale, shift = arguments((512, 128), "float32")
        given = [np.asarray(array) for array in (x.copy(), scale, shift)]
        compiled = tangrad.jit(functions)
        first = [numpy.array(array) for array in compiled(*given)]
        for again in (compiled(*given), tangrad.jit(functions, donate_argnums=0)(np.asarray(x.copy()), *given[1:])):
            for left, right in zip(first, again, strict=True):
                assert numpy.array_equal(left, right)
        assert numpy.array_equal(given[0], x)


@pytest.mark.parametrize("backend_name", ["numpy", "xla"])
def test_gradients_of_what_is_picked_are_of_the_call(kernels, backend_name):
    """Where each row has one place, of `int32`, and what has none is dropped."""
    x = draw((600, 128), "float32")

    def scatters(pick, places):
        loss = lambda x: np.sum(pick(tangrad.nn.log_softmax(x), places))
        with tangrad.enable_x64(True), kernels():
            closed = tangrad.make_jaxpr(tangrad.grad(loss))(x)
            found = with_calls(closed, backend_name)
        assert "tangrad.rows" in str(found)
        return [eqn.primitive.name for eqn in found.eqns].count("scatter_add")

    pick = lambda x, places: np.take_along_axis(x, places, 1)
    one = numpy.arange(600, dtype="int32")[:, None] % 128
    assert scatters(pick, one) == 0
    assert scatters(lambda x, places: pick(x, places) ** 2, one) == 0, "a group begins with it"
    assert scatters(pick, one.astype("int64")) == 1
    assert scatters(pick, numpy.repeat(one, 2, 1)) == 1
    assert scatters(lambda x, places: np.take_along_axis(x, places, 1, mode="clip"), one) == 1
    assert scatters(lambda x, places: np.take_along_axis(x, places.reshape(1, 600)[:, :128], 0), one) == 1


def test_few_elements_are_numpys(kernels):
    with kernels(), tangrad.use_backend("numpy"):
        assert "rows(" not in tangrad.jit(norm).lower(*arguments((10, 20), "float32")).compile().as_text()


# --- On XLA ---

CALL = "tangrad_kernels.rows"


@pytest.fixture
def on_xla(kernels):
    """With and without the kernels, on XLA, with 64 bits; `calls`: how many there are."""
    if "xla" not in tangrad.core.backend_names():
        pytest.skip("the backend xla is not installed")

    def run(function, *arguments, calls=None, **options):
        with tangrad.use_backend("xla"), tangrad.enable_x64(True):
            results = []
            for context in (kernels(), tangrad.use_backend("xla")):
                with context:
                    compiled = tangrad.jit(lambda *given: function(*given), **options).lower(*arguments).compile()
                    results.append(tangrad.tree.map(numpy.asarray, compiled(*map(np.asarray, arguments))))
                    found = compiled.as_text().count(f'"{CALL}"')
                    assert found == 0 if len(results) == 2 else calls in (None, found), (found, compiled.as_text())
        return [tangrad.tree.leaves(result) for result in results]

    return run


def assert_near(both, tolerance):
    for ours, before in zip(*both, strict=True):
        assert (ours.shape, ours.dtype) == (before.shape, before.dtype)
        numpy.testing.assert_allclose(ours, before, rtol=tolerance, atol=tolerance * max(1, abs(before).max()))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(513, 67), (40, 31, 65), (4100, 64)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_on_xla_as_without(on_xla, function, shape, dtype):
    calls = 1 if function is norm_gradient else 0 if function is batch_norm else None
    assert_near(on_xla(function, *arguments(shape, dtype), calls=calls), 5e-6 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("shape", [(512, 128), (3, 30, 100)])
def test_softmax_within(on_xla, shape):
    loss = lambda x, scale, shift: np.sum(tangrad.nn.softmax(x * scale) ** 2)
    assert_near(on_xla(tangrad.grad(loss, (0, 1)), *arguments(shape, "float32"), calls=1), 1e-6)


def test_what_xla_does_well_is_left_alone(on_xla):
    def functions(x, scale, shift):
        return x.sum(-1), np.exp(x) * scale, (x * shift).sum(0), x.max(-1), x - x.mean(-1, keepdims=True)

    assert_near(on_xla(functions, *arguments((600, 128), "float32"), calls=0), 1e-6)
    assert_near(on_xla(norm, *arguments((4096, 128), "float32"), calls=0), 1e-6)
    assert_near(on_xla(norm_gradient, *arguments((20, 64), "float32"), calls=0), 1e-6)
    assert_near(on_xla(norm_gradient, *arguments((4000, 32), "float32"), calls=0), 1e-6)


def test_what_is_not_connected_stays_with_xla(on_xla):
    def function(x, scale, shift):
        other = np.tanh(x[::-1] * 3.0) * scale
        return norm_gradient(x, scale, shift), other, other + 1.0

    assert_near(on_xla(function, *arguments((600, 128), "float32"), calls=1), 1e-6)


def test_programs_within_programs(on_xla):
    x, scale, shift = arguments((5, 100, 96), "float32")

    def function(x, scale, shift):
        step = lambda total, row: (total + norm(row, scale, shift), tangrad.jit(norm)(row, scale, shift).sum(0))
        return tangrad.lax.scan(step, x[0], x), tangrad.checkpoint(norm)(x, scale, shift)

    assert_near(on_xla(function, x, scale, shift), 1e-5)
    assert_near(on_xla(tangrad.grad(lambda *given: np.sum(function(*given)[0][1] ** 2)), x, scale, shift), 1e-5)
    mapped = tangrad.vmap(norm_gradient, (0, None, None))
    assert_near(on_xla(mapped, x, scale, shift), 1e-5)


def test_layers_in_regions(on_xla):
    def loss(weights, x, scale, shift):
        for weight in weights:
            x = x + np.tanh(norm(x, scale, shift) @ weight)
        return np.sum(x**2)

    x, scale, shift = arguments((100, 64), "float32")
    weights = draw((12, 64, 64), "float64").astype("float32")
    weights = numpy.nan_to_num(weights, posinf=0, neginf=0) / 8
    gradient = tangrad.grad(lambda weights, x, *given: loss(list(weights), x, *given), (0, 1))
    for compile_regions in ("auto", "always", False):
        assert_near(on_xla(gradient, weights, x, scale, shift, compile_regions=compile_regions), 1e-4)


def test_special_values_on_xla(on_xla, on_numpy):
    """As on NumPy: XLA's own maximum of rows gives -inf where all are NaN."""
    x = draw((600, 70), "float32")
    both = lambda *given: (functions(*given), norm(*given))
    (ours, _), (_, expected) = on_xla(both, x, x[0], x[1]), on_numpy(both, x, x[0], x[1])
    for left, right in zip(ours, expected, strict=True):
        numpy.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


def test_donated_arguments_and_results_that_are_the_same_each_time(kernels, on_xla):
    with kernels(), tangrad.use_backend("xla"):
        x, scale, shift = arguments((512, 128), "float32")
        given = [np.asarray(array) for array in (x, scale, shift)]
        first = [numpy.array(array) for array in tangrad.jit(norm_gradient)(*given)]
        for donated in ((), (0,), (0, 1)):
            again = tangrad.jit(norm_gradient, donate_argnums=donated)(*[np.array(array) for array in given])
            for left, right in zip(first, again, strict=True):
                assert numpy.array_equal(left, right)


def test_exported_and_checked_programs_have_no_calls(kernels, on_xla):
    given = arguments((512, 128), "float32")
    with kernels(), tangrad.use_backend("xla"):
        exported = tangrad.export.export(tangrad.jit(norm_gradient))(*given)
        assert CALL not in str(exported.mlir_module())
        assert CALL in tangrad.jit(norm_gradient).lower(*given).as_text()
        with tangrad.debug_nans(True):
            assert CALL not in tangrad.jit(norm_gradient).lower(*given).as_text()


def test_composites_of_users_stay(kernels, backend):
    waves = lax.composite(lambda x: lax.sin(x) + 1.0, "my.waves")
    with kernels():
        lowered = tangrad.jit(waves).lower(numpy.ones(3))
        assert backend == "numpy" or "stablehlo.composite" in lowered.as_text()
        numpy.testing.assert_allclose(waves(numpy.ones(3)), numpy.sin(1.0) + 1)


# --- On XLA without the kernels: loops over blocks of rows ---

WITHOUT = "xla without kernels"


@pytest.fixture
def in_blocks(monkeypatch):
    """With and without loops over blocks, on XLA, with 64 bits; of all groups there are, unless `strict`.

    `loops`: how many there are.
    """
    if "xla" not in tangrad.core.backend_names():
        pytest.skip("the backend xla is not installed")
    rows_pass = passes.RowsPass(has_kernels=False)
    monkeypatch.setattr(passes, "processors", lambda: 1)
    all_groups = LIMITS[WITHOUT]._replace(elements=1 << 10, passes=1, reductions=1, more=1, column_sums=0)

    def run(function, *arguments, loops=None, strict=False):
        with tangrad.use_backend("xla"), tangrad.enable_x64(True):
            results = []
            for limits in (LIMITS[WITHOUT] if strict else all_groups, all_groups._replace(elements=1 << 60)):
                with register(rows_pass, group="tangrad.hooks", name="rows"), monkeypatch.context() as patch:
                    patch.setitem(LIMITS, WITHOUT, limits)
                    lowered = tangrad.jit(lambda *given: function(*given)).lower(*arguments)
                    results.append(tangrad.tree.map(numpy.asarray, lowered.compile()(*map(np.asarray, arguments))))
                    found = lowered.as_text().count("stablehlo.while")
                    assert len(results) == 2 or loops in (None, found), lowered.as_text()
        return [tangrad.tree.leaves(result) for result in results]

    return run


def root_norm_gradient(x, scale, shift):
    norm = lambda x, scale: x * lax.rsqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * scale + shift
    return tangrad.grad(lambda *given: np.sum(norm(*given) ** 2), (0, 1))(x, scale)


BLOCK_FUNCTIONS = [norm_gradient, root_norm_gradient, log_softmax_gradient, picked_gradient, functions, residual]
BLOCK_SHAPES = [(513, 67), (40, 31, 65), (362, 181), (523, 300), (3, 40_000), (2, 5000)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", BLOCK_SHAPES)
@pytest.mark.parametrize("function", BLOCK_FUNCTIONS)
def test_in_blocks_as_without(in_blocks, function, shape, dtype):
    loops = 1 if function in (norm_gradient, root_norm_gradient) else None
    both = in_blocks(function, *arguments(shape, dtype), loops=loops)
    assert_near(both, 2e-5 if dtype == "float32" else 1e-12)  # sums of cubes of a row of 40,000 are cancelled


@pytest.mark.parametrize("seed", range(6))
def test_mixed_programs_in_blocks(in_blocks, seed):
    """As on NumPy: where XLA computes an array again, its greatest elements may not be found equal to its maximum."""
    program, given = mixed_program(seed), arguments((700, 64), "float64")
    ours, _ = in_blocks(program, *given)
    with tangrad.use_backend("numpy"), tangrad.enable_x64(True):
        expected = tangrad.tree.leaves(program(*map(np.asarray, given)))
    assert_near((ours, [numpy.asarray(array) for array in expected]), 1e-9)


def test_softmax_and_special_values_in_blocks(in_blocks):
    """Rows with NaN, infinities and zeros of both signs change no other."""
    x = draw((600, 70), "float32")
    for ours, before in zip(*in_blocks(functions, x, x[0], x[1]), strict=True):
        numpy.testing.assert_allclose(ours, before, rtol=1e-5, atol=1e-6)
    x = arguments((600, 70), "float32")[0]
    x[::50, 3], x[7], x[8] = numpy.nan, numpy.inf, -numpy.inf
    loss = lambda x: np.sum(tangrad.nn.softmax(x)[:, :9] ** 2)
    for ours, before in zip(*in_blocks(tangrad.value_and_grad(loss), x), strict=True):
        numpy.testing.assert_allclose(ours, before, rtol=1e-5, atol=1e-6)


def test_errors_in_blocks(in_blocks):
    """Sums of columns are those of blocks, which are added by few: as exact as XLA's own."""
    given = arguments((5000, 64), "float32")
    for name in (norm_gradient, root_norm_gradient):
        ours, before = in_blocks(name, *given)
        exact, _ = in_blocks(name, *[array.astype("float64") for array in given])
        for left, right, true in zip(ours, before, exact, strict=True):
            assert abs(left - true).max() <= 1.5 * abs(right - true).max() + 1e-6 * abs(true).max()


def test_transformations_of_programs_in_blocks(in_blocks):
    x, scale, shift = arguments((4, 70, 64), "float32")
    total = lambda x, *given: sum([np.sum(part**2) for part in norm_gradient(x, *given)])
    assert_near(in_blocks(tangrad.grad(total), x, scale, shift), 1e-4)
    assert_near(in_blocks(tangrad.vmap(norm_gradient, (0, None, None)), x, scale, shift), 5e-6)
    assert_near(in_blocks(lambda *given: tangrad.jvp(norm_gradient, given, given), x, scale, shift), 1e-5)

    def steps(x, scale, shift):
        step = lambda total, row: (total + norm_gradient(row, scale, shift)[0], tangrad.jit(norm)(row, scale, shift))
        return tangrad.lax.scan(step, x[0], x)

    assert_near(in_blocks(steps, x, scale, shift), 1e-5)
    assert_near(in_blocks(tangrad.grad(lambda *given: np.sum(steps(*given)[1] ** 2), (0, 1)), x, scale, shift), 1e-5)


def test_what_becomes_blocks(in_blocks, monkeypatch):
    large, small = arguments((2048, 256), "float32"), arguments((2047, 256), "float32")
    assert_near(in_blocks(norm_gradient, *large, loops=1, strict=True), 5e-6)
    in_blocks(norm_gradient, *small, loops=0, strict=True)
    for function in (norm, tangrad.nn.log_softmax, lambda x: np.var(x, 1), tangrad.grad(lambda x: np.var(x, 1).sum())):
        in_blocks(function, *(large if function is norm else large[:1]), loops=0, strict=True)
    monkeypatch.setattr(passes, "processors", lambda: 2)  # XLA divides its own work among them
    in_blocks(norm_gradient, *large, loops=0, strict=True)
    in_blocks(norm_gradient, *arguments((4096, 256), "float32"), loops=1, strict=True)
    monkeypatch.setattr(passes, "processors", lambda: 8)
    in_blocks(norm_gradient, *arguments((1 << 15, 256), "float32"), loops=0, strict=True)


def test_exported_programs_have_no_blocks(in_blocks, monkeypatch):
    given = arguments((2048, 256), "float32")
    with register(passes.RowsPass(has_kernels=False), group="tangrad.hooks", name="rows"), tangrad.use_backend("xla"):
        assert "while" in tangrad.jit(norm_gradient).lower(*given).as_text()
        assert "while" not in str(tangrad.export.export(tangrad.jit(norm_gradient))(*given).mlir_module())


# --- Rows at places, and counts of places ---


@pytest.fixture
def compared(backend, with_and_without):
    """With and without the kernels, on each backend, with 64 bits."""

    def run(function, *arguments):
        flat, tree = tangrad.tree.flatten(arguments)
        ours, before = with_and_without(lambda *flat: function(*tangrad.tree.unflatten(tree, flat)), *flat)
        for found, expected in zip(tangrad.tree.leaves(ours), tangrad.tree.leaves(before), strict=True):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            wide = "float64" if found.dtype == "bfloat16" else found.dtype
            numpy.testing.assert_array_equal(found.astype(wide), expected.astype(wide))

    return run


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(200, 200), (3, 129, 129), (2, 190, 190), (4, 4, 60, 60)])
def test_operations_on_transposed_arrays(compared, kernels, dtype, shape):
    """NumPy computes the very same, of numbers that are not finite, too; and itself what is all in that order."""
    x, z = [draw(shape, dtype, seed) for seed in range(2)]
    turn = lambda x: np.swapaxes(x, -1, -2)

    def function(x, z):
        other = np.transpose(x)
        pairs = [(x, turn(x)), (turn(z), x), (turn(turn(x)), turn(z)), (turn(x), turn(z)), (x[..., ::-1], turn(z))]
        made = [f(*pair) for f in (np.add, np.subtract, np.multiply, np.maximum, np.minimum) for pair in pairs]
        return [*made, turn(x) + 1, turn(z) + x[..., :1], turn(z), other, turn(z) / (1 + abs(x)), turn(x) + turn(x) * z]

    compared(function, x, z)
    with kernels(), tangrad.use_backend("numpy"):
        few = tangrad.jit(lambda x: x + turn(x)).lower(x[..., :4, :4]).compile().as_text()
        many = tangrad.jit(lambda x: x + turn(x)).lower(x).compile().as_text()
        both = tangrad.jit(lambda x: np.sin(turn(x)) + turn(x)).lower(x).compile().as_text()
    assert ("add_in_tiles(a0, a0)" in many) == (dtype != "int32")
    assert "add_in_tiles" not in few + both and "transpose" in both


RESIZED = [((3, 40, 50, 3), (2, 2)), ((4, 60, 70), (3, 1)), ((4, 90, 64, 5), (1.5, 0.5)), ((2, 30, 40, 30), (2, 1.5))]
METHODS = [("float32", "bilinear", 1e-5), ("float64", "cubic", 1e-13), ("bfloat16", "lanczos3", 0.05)]


@pytest.mark.parametrize(("dtype", "method", "tolerance"), METHODS)
@pytest.mark.parametrize(("shape", "factors"), RESIZED)
def test_images_are_resized(with_and_without, kernels, shape, factors, dtype, method, tolerance):
    image = pytest.importorskip("tangrad.image", exc_type=ImportError)
    size = (shape[0], *[int(size * factor) for size, factor in zip(shape[1:], factors)], *shape[3:])
    resize = lambda x: image.resize(x.astype(dtype), size, method).astype("float64")
    x = numpy.random.default_rng(0).normal(size=shape)
    x[0, 3, 4], x[-1, 20, 30] = numpy.inf, numpy.nan
    loss = lambda x: np.sum(np.sin(resize(np.nan_to_num(x, posinf=1))))
    with tangrad.enable_x64(True), tangrad.use_backend("numpy"):
        for ours, before in zip(*with_and_without(lambda x: (resize(x), tangrad.grad(loss)(x)), x), strict=True):
            numpy.testing.assert_allclose(ours, before, rtol=tolerance, atol=tolerance)
        with kernels():
            assert "resampled(" in tangrad.jit(resize).lower(x).compile().as_text()


def at(first, step=1):
    """A term: 40 of the places along axis 1 of an array (12, 90, 40), each times its weight."""
    return lambda x, w: x[:, first : first + 40 * step : step][:, :40] * w[:, None]


def joined(*phases, axis=2):
    return lambda x, w: np.stack([phase(x, w) for phase in phases], axis)


TOGETHER = {
    "two phases": (joined(lambda x, w: at(1)(x, w) + at(9)(x, w), at(0)), True),
    "steps": (joined(at(0, 2), at(1), lambda x, w: at(7)(x, w) + at(3, 2)(x, w) + at(3)(x, w)), True),
    "weights for each element": (joined(at(0), lambda x, w: x[:, 3:43] * np.outer(w, w)), True),
    "weights first": (joined(at(0), lambda x, w: w[:, None] * x[:, 3:43]), True),
    "few behind the axis": (lambda x, w: joined(*[at(i) for i in range(30)])(x[..., :3], w), True),
    "few, of which one has steps": (lambda x, w: joined(at(0, 2), *[at(i) for i in range(30)])(x[..., :3], w), True),
    "what something else needs": (lambda x, w: (joined(at(0), at(1))(x, w), at(1)(x, w)), False),
    "backward": (joined(lambda x, w: x[:, 60:20:-1] * w[:, None], at(1)), False),
    "shifted along another axis": (lambda x, w: np.stack([at(0)(x[1:], w), at(0)(x[:-1], w)], 2), False),
    "weights of the last axis": (joined(lambda x, w: x[:, :40] * w, lambda x, w: x[:, 1:41] * w), False),
    "one weight": (joined(at(0), lambda x, w: x[:, 1:41] * w[3]), False),
    "arrays that differ": (joined(at(0), lambda x, w: np.sin(x[:, :40]) * w[:, None]), False),
    "no products": (joined(at(0), lambda x, w: x[:, 1:41] + w[:, None]), False),
    "another new axis": (joined(at(0), at(1), axis=1), False),
    "the first axis": (joined(at(0), at(1), axis=0), False),
    "the same axis": (lambda x, w: np.concatenate([at(0)(x, w), at(1)(x, w)], 1), False),
    "too many": (joined(*[at(i % 50, 1 + i // 50) for i in range(61)]), False),
    "integers": (lambda x, w: joined(at(0), at(1))(np.nan_to_num(x).astype(int), (w * 9).astype(int)), False),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_what_is_put_together(with_and_without, kernels, name):
    """Shifted arrays times weights, as images are resized, and what is nearly so."""
    function, is_taken = TOGETHER[name]
    x, w = draw((12, 90, 40), "float64"), numpy.linspace(1, 2, 40)
    with tangrad.enable_x64(True), tangrad.use_backend("numpy"):
        for ours, before in zip(*map(tangrad.tree.leaves, with_and_without(function, x, w)), strict=True):
            numpy.testing.assert_allclose(ours, before, rtol=1e-14, atol=1e-14)
        with kernels():
            assert ("resampled(" in tangrad.jit(function).lower(x, w).compile().as_text()) == is_taken


def test_results_are_written_where_operands_were(on_numpy, kernels):
    """Where nothing needs these any more: neither later steps, nor later instructions of the same call."""

    def function(x, scale, shift, last):
        y = tangrad.nn.softmax(np.cbrt(x) * scale)
        z = np.cbrt(y)
        z = last((z - z.mean(-1, keepdims=True)) * z + shift, z)
        return np.cbrt(z) if last is alone else (np.cbrt(z), y.sum())

    def alone(new, old):
        return new

    def read_again(new, old):
        return new / (1 + np.square(old - new.max(-1, keepdims=True)))

    for dtype, last in [("float32", alone), ("float64", alone), ("float32", read_again)]:
        given = arguments((300, 500), dtype)
        program = lambda *xs, last=last: function(*xs, last)
        for ours, before in zip(*on_numpy(program, *given), strict=True):
            numpy.testing.assert_allclose(ours, before, rtol=1e-4, atol=1e-5)
        with kernels(), tangrad.use_backend("numpy"), tangrad.enable_x64(True):
            text = tangrad.jit(program).lower(*given).compile().as_text()
        assert "out=" in text, text


def places(size, dtype, outside=0, count=5000):
    low = 0 if dtype == "uint32" else -size - outside
    return numpy.random.default_rng(0).integers(low, size + outside, count).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool", "complex64", "bfloat16"])
def test_rows(compared, dtype):
    tables = [np.asarray(draw(shape, "float32")) for shape in ((900,), (70, 5), (31, 2, 3))]
    tables = [np.nan_to_num(table, posinf=9, neginf=-9).astype(dtype) for table in tables]

    def rows(table, at):
        taken = [np.take(table, at, 0, mode=mode) for mode in (None, "clip", "fill", "wrap")]
        return *taken, table[at.reshape(50, 100)], table.at[at].get(mode="fill", fill_value=3)

    lists = [[places(len(table), index, outside=7) for index in ("int32", "int64", "uint32")] for table in tables]
    compared(
        lambda tables, lists: [[rows(table, at) for at in ats] for table, ats in zip(tables, lists)], tables, lists
    )


def test_programs_read_places_as_they_are(kernels):
    with kernels(), tangrad.use_backend("numpy"):
        text = tangrad.jit(lambda x, at: x[at]).lower(numpy.ones(9000), places(9000, "int32")).compile().as_text()
        assert "less" not in text
        few = tangrad.jit(lambda x, at: x[at]).lower(numpy.ones(9000), places(9000, "int32", count=9)).compile()
        assert "less" in few.as_text()


def test_places_that_something_else_needs(compared):
    def function(x, at):
        wrapped = np.where(at < 0, at + 900, at)
        almost = np.where(at < 1, at + 900, at)
        return x[at], x[wrapped], wrapped, x.at[almost].get(mode="clip"), x[np.where(at < 0, at + 899, at)]

    compared(function, numpy.arange(900.0), places(900, "int32"))


@pytest.mark.parametrize("size", [1, 3, 1000, 4500])
def test_counts(compared, size):
    xs = [numpy.arange(size).astype(dtype) for dtype in ("int32", "int8", "float32", "float64")]
    add = lambda x, at: (x.at[at].add(1), x.at[at].add(3, mode="drop"), x.at[at].add(2, mode="clip"))
    ats = [places(size, index, outside=5) for index in ("int32", "int64", "uint32")]
    counts = lambda xs, ats: [(np.bincount(at, length=size), [add(x, at) for x in xs]) for at in ats]
    compared(counts, xs, ats)


def test_many_places(compared):
    at = places(1000, "int32", outside=100, count=1_500_001)
    compared(lambda x, at: (np.bincount(at, length=1000), x[at], x.at[at].add(1)), numpy.arange(1000), at)


def test_one_number_is_added_where_places_say(compared):
    """To elements that are infinite, negative zeros, none at all, which stay where no place is."""
    x = numpy.array([numpy.inf, -0.0, numpy.nan, 2, -numpy.inf, -0.0])
    at, numbers = places(4, "int32") % 4, numpy.array([1, -0.0, numpy.inf, numpy.nan, 0.5])
    compared(lambda x, at, numbers: [x.at[at].add(number) for number in numbers], x, at, numbers)


def test_many_are_counted_exactly(compared):
    at = numpy.zeros(17_000_000, "int32")
    compared(lambda at: np.zeros(2, "int32").at[at].add(1), at)


def test_programs_count_by_the_kernel(kernels):
    pytest.importorskip("jaxlib")
    with kernels(), tangrad.use_backend("xla"):
        text = tangrad.jit(lambda at: np.bincount(at, length=70)).lower(places(70, "int32")).as_text()
        assert "tangrad_kernels.count" in text and "scatter" not in text
        many = tangrad.jit(lambda x, at, y: x.at[at].add(y)).lower(
            numpy.ones(90), places(90, "int32"), numpy.ones(5000)
        )
        assert "tangrad_kernels" not in many.as_text(), "of numbers that differ"


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64", "int8"])
def test_rows_that_are_added(compared, dtype):
    tables = [draw(shape, "int8").astype(dtype) for shape in ((70, 5), (31, 2, 3), (1, 40), (900,), (9, 1))]
    rows = [draw((5000, *table.shape[1:]), "int8", 1).astype(dtype) for table in tables]
    lists = [[places(len(table), index, outside=7) for index in ("int32", "int64", "uint32")] for table in tables]

    def added(table, row, at):
        modes = [table.at[at].add(row, mode=mode) for mode in (None, "drop", "clip")]
        many = row.reshape(50, 100, *row.shape[1:])
        return *modes, np.zeros_like(table).at[at].add(row), table.at[at.reshape(50, 100)].add(many)

    compared(
        lambda tables, rows, lists: [[added(*pair, at) for at in ats] for *pair, ats in zip(tables, rows, lists)],
        tables,
        rows,
        lists,
    )


@pytest.mark.parametrize("size", [50, 200_000])
@pytest.mark.parametrize("row", [(33,), (1,), ()], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_are_added_in_order(kernels, dtype, row, size):
    """One after another in each row, whatever the number of threads; of float32 in float64 where many meet."""
    x, at = numpy.random.default_rng(1).normal(size=(70_000, *row)).astype(dtype), places(size, "int32", count=70_000)
    at = at % size
    at[::2] = numpy.minimum(at[::2], 1)
    meet = numpy.bincount(at, minlength=size) > (64 if row == (33,) or size > 50 else 0)
    start = numpy.linspace(-1, 1, size, dtype=dtype).reshape(size, *[1] * len(row)) * numpy.ones(row, dtype)
    expected, wide = start.copy(), start.astype("float64")
    numpy.add.at(expected, at, x)
    numpy.add.at(wide, at, x.astype("float64"))
    expected[meet] = wide[meet]
    with kernels(), tangrad.use_backend("numpy"), tangrad.enable_x64(True):
        compiled = tangrad.jit(lambda start, x, at: start.at[at].add(x))
        assert "add_rows(" in compiled.lower(start, x, at).compile().as_text()
        numpy.testing.assert_array_equal(compiled(start, x, at), expected)
        ones = numpy.ones_like(x)
        numpy.testing.assert_array_equal(compiled(start[:1] * 0 + 1e9, ones, at * 0), 1e9 + 70_000 * ones[:1])


def test_gradients_and_batches(compared):
    at = places(60, "int32")
    loss = lambda x, at: np.sum(x[at] ** 2)
    compared(
        lambda x, at: (tangrad.grad(loss)(x, at), tangrad.vmap(lambda x: x[at])(x.T)),
        numpy.arange(180.0).reshape(60, 3),
        at,
    )
    compared(lambda x, at: tangrad.vmap(lambda at: x[at])(at.reshape(10, 500)), numpy.arange(180.0).reshape(60, 3), at)
