"""From jaxprs to StableHLO: functions, regions, constants, decompositions, effects, locations, axes, running totals."""

import functools
import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("jaxlib")
p = pytest.importorskip("tangrad._lax.elementwise.primitives")

import tangrad
from tangrad import named_scope
from tangrad._backend_xla import helpers, mlir
from tangrad._backend_xla.lowering import lower_to_module
from tangrad._backend_xla.manual import AxisEnvironment
from tangrad.core import (
    ClosedJaxpr,
    Effect,
    Jaxpr,
    JaxprEqn,
    PrimitiveSet,
    RuleSet,
    ShapedArray,
    Var,
    get_backend,
    literal,
    register,
    trace_to_closed_jaxpr,
)
from tangrad.core.backends import CompileOptions

XLA = get_backend("xla")
F32 = np.dtype("float32")
AVAL = ShapedArray((3,), F32)


def put(value: object) -> object:
    array = np.asarray(value)
    return XLA.put(array, ShapedArray(array.shape, array.dtype))


def run(closed: ClosedJaxpr, *arrays: object) -> list:
    return XLA.compile(closed, CompileOptions("program")).execute([put(np.asarray(a, F32)) for a in arrays])


def text_of(closed: ClosedJaxpr, **options: object) -> str:
    module = lower_to_module(closed, "program", "cpu", **options)
    assert module.module.operation.verify()
    return str(module.module)


family = PrimitiveSet("xla_lowering_tests", api=1)


class Ordered(Effect):
    __slots__ = ()
    ordered = True


ORDERED = Ordered()


@family.primitive
def thrice(x):
    "3 x, by a decomposition."
    return x


thrice.decompose = lambda x: p.add_p.bind(p.add_p.bind(x, x), x)


@family.primitive(multiple_results=True)
def call_twice(x, *, program):
    "A program applied to its own result."
    return (x,)


@family.primitive
def sum_by(x, *, program):
    "A reduction by a jaxpr."
    return ShapedArray((), x.dtype)


@family.primitive(effects=lambda avals, params: frozenset({ORDERED}))
def note(x):
    "x, with an ordered effect."
    return x


@family.primitive
def first_of(flag, x):
    "cos x or sin x, by a region that uses values from outside."
    return x


@family.primitive
def unlowered(x):
    "Without a lowering."
    return x


rules = RuleSet("lower.xla", api=1)


@rules.rule(call_twice)
def _call_twice(ctx, x, *, program):
    (once,) = ctx.call(program, [x], "step")
    return tuple(ctx.call(program, [once], "step"))


@rules.rule(sum_by)
def _sum_by(ctx, x, *, program):
    zero = helpers.scalar(ctx, 0, F32)
    return helpers.reduce(ctx, helpers.accumulate(program), [x], [zero], (0,), [ctx.out_aval])[0]


@rules.rule(note)
def _note(ctx, x):
    operation = ctx.ops("stablehlo.after_all", [ctx.vocabulary.token], [ctx.tokens[ORDERED]])
    ctx.tokens[ORDERED] = operation.results[0]
    return x


@rules.rule(first_of)
def _first_of(ctx, flag, x):
    case = ctx.ops("stablehlo.if", [ctx.out_type], [flag], regions=2)
    for index, name in enumerate(("stablehlo.cosine", "stablehlo.sine")):
        inner, _ = ctx.region(case, index, [], captures=True)
        inner.give([inner.op(name, ctx.out_type, [x])])
    return case.results[0]


@pytest.fixture(autouse=True)
def registered():
    with register(family), register(rules):
        yield


def step_program() -> ClosedJaxpr:
    return trace_to_closed_jaxpr(lambda x: (p.mul_p.bind(x, literal(2.0, F32)),), [AVAL])


def test_a_decomposition_is_lowered_in_place() -> None:
    closed = trace_to_closed_jaxpr(lambda x: (thrice.bind(x),), [AVAL])
    assert text_of(closed).count("stablehlo.add") == 2
    assert run(closed, [1, 2, 3])[0].tolist() == [3, 6, 9]
    assert thrice.bind(put(np.ones(3, F32))).tolist() == [3, 3, 3]


def test_a_program_that_is_called_often_is_there_once() -> None:
    program = step_program()
    closed = trace_to_closed_jaxpr(
        lambda x: call_twice.bind(*call_twice.bind(x, program=program), program=program), [AVAL]
    )
    text = text_of(closed)
    assert text.count("func.func private @step") == 1 and text.count("call @step(") == 4
    assert run(closed, [1, 2, 3])[0].tolist() == [16, 32, 48]


def test_programs_of_one_name_get_functions_of_their_own() -> None:
    one, two = step_program(), step_program()
    closed = trace_to_closed_jaxpr(lambda x: call_twice.bind(*call_twice.bind(x, program=one), program=two), [AVAL])
    text = text_of(closed)
    assert "func.func private @step(" in text and "func.func private @step_0(" in text


def test_reductions_by_a_program() -> None:
    scalar = ShapedArray((), F32)
    add = trace_to_closed_jaxpr(lambda x, y: (p.add_p.bind(x, y),), [scalar, scalar])
    closed = trace_to_closed_jaxpr(lambda x: (sum_by.bind(x, program=add),), [AVAL])
    assert run(closed, [1, 2, 4])[0].item() == 7


def test_an_eager_primitive_does_not_keep_its_program_alive() -> None:
    x = put(np.ones(3, F32))
    program = step_program()
    for _ in range(2):
        assert call_twice.bind(x, program=program)[0].tolist() == [4, 4, 4]
    (compiled,) = XLA._dispatcher._program_entries._entries[program].values()
    runner, alive = weakref.ref(compiled.program.runner), weakref.ref(program)
    del program, compiled
    gc.collect()
    assert alive() is None and runner() is None


def test_regions_may_use_values_from_outside() -> None:
    closed = trace_to_closed_jaxpr(
        lambda x: (first_of.bind(p.gt_p.bind(literal(1.0, F32), literal(0.0, F32)), x),), [AVAL]
    )
    assert run(closed, [0, 0, 0])[0].tolist() == [1, 1, 1]


def test_ordered_effects_thread_a_token() -> None:
    closed = trace_to_closed_jaxpr(lambda x: (note.bind(note.bind(x)),), [AVAL])
    assert closed.effects == {ORDERED}
    text = text_of(closed)
    assert text.count("stablehlo.create_token") == 1 and text.count("stablehlo.after_all") == 2
    inner = trace_to_closed_jaxpr(lambda x: (note.bind(x),), [AVAL])
    outer = trace_to_closed_jaxpr(lambda x: call_twice.bind(x, program=inner), [AVAL])
    assert "(%arg0: !stablehlo.token, %arg1: tensor<3xf32>)" in text_of(outer)
    assert run(outer, [1, 2, 3])[0].tolist() == [1, 2, 3]
    assert note.bind(put(np.ones(3, F32))).tolist() == [1, 1, 1]
    XLA.synchronize()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_constants_of_every_dtype(dtype: str) -> None:
    value = put(np.array([[1, 0, 2], [0, 3, 1]]).astype(ShapedArray((), dtype).dtype))
    closed = trace_to_closed_jaxpr(lambda: (value, literal(value.to_numpy()[0, 0], value.dtype)), [])
    array, scalar = run(closed)
    assert array.dtype == value.dtype and array.tolist() == value.tolist()
    assert scalar.dtype == value.dtype and scalar.item() == value.to_numpy()[0, 0].item()


def test_large_constants_make_a_new_context() -> None:
    before = mlir.vocabulary()
    big = put(np.zeros(mlir.CONSTANT_LIMIT // 8 + 1))
    closed = trace_to_closed_jaxpr(lambda: (p.neg_p.bind(big),), [])
    lowered = XLA.lower(closed, CompileOptions("big"))
    assert mlir.vocabulary() is not before
    assert "func.func public @main" in lowered.as_text()  # its own context lives on


def test_locations_have_line_scope_and_program() -> None:
    def function(x: object) -> tuple:
        with named_scope("layer"):
            y = p.sin_p.bind(x)
        return (p.neg_p.bind(y),)

    closed = trace_to_closed_jaxpr(function, [AVAL])
    text = lower_to_module(closed, "program", "cpu").module.operation.get_asm(enable_debug_info=True)
    assert 'loc("jit(program)/layer/sin"(' in text and 'loc("jit(program)/neg"(' in text
    line = function.__code__.co_firstlineno + 2
    assert f'test_xla_lowering.py":{line}:' in text


def test_a_missing_lowering_says_how_to_add_one() -> None:
    from tangrad.errors import MissingRuleError

    with pytest.raises(MissingRuleError, match=r"xla_lowering_tests\.unlowered.*lower\.xla"):
        unlowered.bind(put(np.ones(3, F32)))


@pytest.mark.parametrize("result", [None, [], 3])
def test_a_rule_that_returns_something_else_is_named(result: object) -> None:
    wrong = RuleSet("lower.xla", api=1)
    wrong.rule(unlowered)(lambda ctx, x: result)
    closed = trace_to_closed_jaxpr(lambda x: (unlowered.bind(x),), [AVAL])
    with register(wrong), pytest.raises(TypeError, match="expected the value of the result") as caught:
        lower_to_module(closed, "program", "cpu")
    (note,) = caught.value.__notes__
    assert "'xla_lowering_tests.unlowered'" in note and "test_xla_lowering.py" in note


def test_programs_for_another_platform_use_its_rules() -> None:
    special = RuleSet("lower.xla.cuda", api=1)
    special.rule(unlowered)(lambda ctx, x: ctx.op("stablehlo.abs", ctx.out_type, (x,)))
    closed = trace_to_closed_jaxpr(lambda x: (unlowered.bind(x),), [AVAL])
    with register(special):
        assert "stablehlo.abs" in str(lower_to_module(closed, "program", "cuda").module)
        from tangrad.errors import MissingRuleError

        with pytest.raises(MissingRuleError):
            lower_to_module(closed, "program", "cpu")


def test_donation_finds_results_of_equal_type() -> None:
    x, y = Var(AVAL), Var(ShapedArray((2,), F32))
    out = Var(AVAL)
    jaxpr = Jaxpr([], [x, y], [out, y], [JaxprEqn(p.neg_p, [x], [out], {})])
    text = text_of(ClosedJaxpr(jaxpr), donated=(True, True))
    assert "%arg0: tensor<3xf32> {tf.aliasing_output = 0 : i32}" in text
    assert "%arg1: tensor<2xf32> {tf.aliasing_output = 1 : i32}" in text


# --- named axes ------------------------------------------------------------------------------------------------------


def test_replica_groups() -> None:
    axes = AxisEnvironment().extend("i", 4).extend("j", 2)
    assert axes.replica_count == 8
    assert axes.replica_groups("i").tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert axes.replica_groups("j").tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert axes.replica_groups(("i", "j")).tolist() == [list(range(8))]
    assert axes.extend("j", 3).replica_groups("j").tolist() == np.arange(24).reshape(8, 3).tolist()
    with pytest.raises(ValueError, match=r"'k'.*\['i', 'j'\]"):
        axes.replica_groups("k")


def test_modules_say_how_many_replicas_they_are_for() -> None:
    closed = trace_to_closed_jaxpr(lambda x: (p.neg_p.bind(x),), [AVAL])
    assert "mhlo.num_replicas = 8" in text_of(closed, axes=AxisEnvironment(("i",), (8,)))


# --- running totals of large arrays, as loops over blocks ------------------------------------------------------------


@pytest.fixture
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled kernels have running totals of their own."""
    kernels = pytest.importorskip("tangrad._kernels.on_xla_cpu")
    monkeypatch.setattr(kernels, "is_here", lambda ctx: False)


ACCUMULATE = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
    "cumlogsumexp": np.logaddexp,
}
# One row in parts, whole rows and columns, of sizes that blocks divide and leave something of.
SHAPES = [
    ((4096,), 0), ((2049,), 0), ((70_001,), 0), ((3, 4099), 1), ((2100, 2), 0), ((2, 1031, 3), 1), ((9, 257), 1),
    ((64, 64), 1), ((33, 130), 0), ((16, 129), 0), ((5, 40, 131), 1), ((1, 17, 150, 1), 1), ((40, 17, 4), 1),
]  # fmt: skip
RUNNING = ("float32", "float64", "bfloat16", "float16", "int32", "int8", "uint64", "complex64")


@functools.cache
def running_function(name: str, axis: int, reverse: bool) -> object:
    return tangrad.jit(lambda x: getattr(tangrad.lax, name)(x, axis, reverse), backend="xla")


def running(name: str, x: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    with tangrad.enable_x64(True):
        return np.asarray(running_function(name, axis, reverse)(x))


def exactly(name: str, x: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    kinds = {"c": np.clongdouble, "i": x.dtype, "u": x.dtype}
    x = x.astype(kinds.get(x.dtype.kind, np.longdouble))
    with np.errstate(all="ignore"):
        total = ACCUMULATE[name].accumulate(np.flip(x, axis) if reverse else x, axis, x.dtype)
    return np.flip(total, axis) if reverse else total


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in ACCUMULATE
        for dtype in RUNNING
        if ("complex" not in dtype or name == "cumsum") and ("int" not in dtype or name != "cumlogsumexp")
    ],
)
def test_running_totals_of_large_arrays_are_those_of_numpy(name: str, dtype: str, without_kernels: None) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rng = np.random.default_rng(0)
    first = RUNNING.index(dtype) + list(ACCUMULATE).index(name)  # of one type all shapes
    for shape, axis in SHAPES[first % 4 :: 4] if first else SHAPES:
        if kind.kind in "iu":
            x = rng.integers(0, 120, shape).astype(kind)
        else:
            x = (1 + rng.normal(size=shape) * (0.3 if name != "cumprod" else 1e-3)).astype(kind)
        for reverse in (False, True):
            found, exact = running(name, x, axis, reverse), exactly(name, x, axis, reverse)
            assert found.dtype == kind
            if kind.kind in "iu" or name in ("cummax", "cummin"):
                np.testing.assert_array_equal(found.astype(exact.dtype), exact)
                continue
            # A sum of positive numbers is off by a few units, a product by one for each factor at most.
            many = shape[axis] if name == "cumprod" else 4
            with np.errstate(all="ignore"):
                allowed = many * float(ml_dtypes.finfo(kind).eps) * np.abs(exact)
                fits = np.abs(exact) <= float(ml_dtypes.finfo(kind).max)
            assert (np.abs(found.astype(exact.dtype) - exact) <= allowed)[fits].all(), (shape, reverse)
            assert np.isinf(np.abs(found)[~fits].astype(np.float64)).all()


def test_running_sums_of_a_long_axis_keep_their_digits(without_kernels: None) -> None:
    for dtype in (np.float32, np.float64):
        x = np.random.default_rng(1).random(300_000).astype(dtype)
        exact = exactly("cumsum", x, 0, False)
        error = np.abs(running("cumsum", x, 0, False) - exact) / exact
        assert error.max() < 2.5 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("shape", [(5000,), (40, 100), (100, 40)])
def test_running_totals_go_on_from_what_is_not_finite(shape: tuple, dtype: str, without_kernels: None) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    for values in ([np.inf], [-np.inf], [np.nan], [np.inf, -np.inf]):
        x = np.ones(shape, kind)
        x.reshape(shape[0], -1)[[shape[0] // 3, shape[0] // 2][: len(values)], 0] = values
        for name in ACCUMULATE:
            exact = exactly(name, x, 0, False).astype(np.float64)
            found = running(name, x, 0, False).astype(np.float64)
            close = np.isclose(found, exact, rtol=4 * float(ml_dtypes.finfo(kind).eps), equal_nan=True)
            assert close.all(), (values, name)


def test_running_totals_in_loops_are_mapped_and_differentiated(without_kernels: None) -> None:
    x = np.random.default_rng(2).random((6, 3000)).astype(np.float32)
    wide = x.astype(np.float64)

    def mean_of_totals(x: tangrad.Array) -> tangrad.Array:
        return tangrad.lax.fori_loop(0, 3, lambda _, x: tangrad.lax.cumsum(x) / x.shape[0], x)

    expected = wide
    for _ in range(3):
        expected = np.cumsum(expected, -1) / 3000
    found = tangrad.jit(tangrad.vmap(mean_of_totals), backend="xla")(x)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=3e-6)
    grad = tangrad.jit(tangrad.grad(lambda x: (tangrad.lax.cumsum(x, 1) ** 2).sum()), backend="xla")
    later = np.flip(np.cumsum(np.flip(2 * np.cumsum(wide, 1), 1), 1), 1)
    np.testing.assert_allclose(np.asarray(grad(x)), later, rtol=1e-6)


def test_running_totals_take_no_memory_but_that_of_blocks(without_kernels: None) -> None:
    for shape, axis in (((300_000,), 0), ((600, 500), 0), ((600, 500), 1)):
        for dtype in ("float32", "float64", "int8"):
            function = tangrad.jit(lambda x, axis=axis: tangrad.lax.cumsum(x, axis), backend="xla")
            with tangrad.enable_x64(True):
                analysis = function.lower(np.ones(shape, dtype)).compile().memory_analysis()
            assert analysis.temp_size_in_bytes < 100_000


def test_programs_that_go_elsewhere_and_small_arrays_have_windows(without_kernels: None) -> None:
    function = tangrad.jit(tangrad.lax.cumsum, backend="xla")
    assert "small_call" in function.lower(np.ones(4096, F32)).as_text()
    assert "small_call" not in function.lower(np.ones(1024, F32)).as_text()
    assert "small_call" not in function.lower(np.ones((15, 4096), F32)).as_text()
    exported = tangrad.export.export(function)(np.ones(4096, F32)).mlir_module()
    assert "reduce_window" in exported and "small_call" not in exported
