"""Programs compiled for NumPy: what their text says, donation, effects, devices, checks, threads."""

import gc
import linecache
import threading
import traceback
import weakref
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad._backend_numpy import source, totals
from tangrad._backend_numpy.array import PlacedArray
from tangrad._backend_numpy.backend import NumpyDevice
from tangrad._backend_numpy.kernels import FRESH, composed, kernel
from tangrad._backend_numpy.quiet import outside
from tangrad.core import Effect, PrimitiveSet, RuleSet, ShapedArray, literal, register, trace_to_closed_jaxpr
from tangrad.core.backends import CompileOptions

from .numpy_support import F32, NUMPY, compiled, put, same

# --- Programs compiled for NumPy: what their text says, donation, effects, devices, checks, threads -----------------


p = pytest.importorskip("tangrad._lax.elementwise.primitives")
s = pytest.importorskip("tangrad._lax.structure.primitives")


def run(function: Any, *arrays: Any, **options: Any) -> list[Any]:
    return compiled(function, *arrays, **options).execute(arrays)


def text(function: Any, *arrays: Any, **options: Any) -> str:
    return compiled(function, *arrays, **options).as_text()


# --- what is generated ---------------------------------------------------------------------------------------------


def test_dead_code_is_left_out_and_equal_steps_are_merged() -> None:
    x = put([1, 2])

    def function(x: Any) -> tuple[Any]:
        p.exp_p.bind(x)
        return (p.add_p.bind(p.sin_p.bind(x), p.sin_p.bind(x)),)

    program = text(function, x)
    assert "exp" not in program
    assert program.count("sin(") == 1
    same(run(function, x)[0], 2 * np.sin(np.array([1, 2], F32)))


def test_constants_are_folded() -> None:
    x = put([[1, 2], [3, 4]])

    def function(x: Any) -> tuple[Any]:
        counted = s.iota_p.bind(dtype=F32, shape=(2, 2), dimension=1)
        return (p.mul_p.bind(x, p.sin_p.bind(p.add_p.bind(counted, literal(1.0, F32)))),)

    program = text(function, x)
    assert "sin" not in program and "iota" not in program
    same(run(function, x)[0], np.asarray(x) * np.sin(np.array([1, 2], F32)))


def test_large_constants_are_not_folded() -> None:
    program = text(
        lambda x: (
            s.copy_p.bind(s.broadcast_in_dim_p.bind(literal(1.0, F32), shape=(1 << 20,), broadcast_dimensions=())),
        ),
        put(1),
    )
    assert "copy" in program


def test_scalars_and_rows_stay_small() -> None:
    x, row = put(np.ones((3, 4), F32)), put([1, 2, 3, 4])

    def function(x: Any, row: Any) -> tuple[Any]:
        wide = s.broadcast_in_dim_p.bind(row, shape=(3, 4), broadcast_dimensions=(1,))
        half = s.broadcast_in_dim_p.bind(literal(0.5, F32), shape=(3, 4), broadcast_dimensions=())
        return (p.add_p.bind(x, p.mul_p.bind(p.exp_p.bind(wide), half)),)

    program = text(function, x, row)
    assert "broadcast" not in program
    assert "exp float32[4]" in program
    same(run(function, x, row)[0], 1 + np.exp(np.array([1, 2, 3, 4], F32)) * np.float32(0.5) + np.zeros((3, 1), F32))


def test_products_that_are_used_transposed_are_made_so() -> None:
    family, lower = PrimitiveSet("numpy_products", api=1), RuleSet("lower.numpy", api=1)
    product = family.primitive(lambda x, y: ShapedArray((x.shape[0], y.shape[1]), x.dtype), name="product")
    composed(lower, product)(lambda ctx, x, y: ctx.matmul(x, y))
    x, y = put(np.arange(6, dtype=F32).reshape(2, 3)), put(np.arange(12, dtype=F32).reshape(3, 4))

    def turned(z: Any) -> Any:
        return s.transpose_p.bind(z, permutation=(1, 0))

    expected = (np.asarray(x) @ np.asarray(y)).T
    with register(family), register(lower):
        (result,) = run(lambda x, y: (turned(product.bind(x, y)),), x, y)
        same(result, expected)
        assert result.ndarray.flags.c_contiguous
        program = text(lambda x, y: (turned(product.bind(turned(x), y)),), turned(x), y)
        assert program.count("transpose(") == 1
        both = run(lambda x, y: (product.bind(x, y), turned(product.bind(x, y))), x, y)
        same(both[0], expected.T)
        same(both[1], expected)


def test_dead_arrays_are_written_over() -> None:
    x = put([1, 2])
    program = text(lambda x: (p.sin_p.bind(p.exp_p.bind(p.neg_p.bind(x))),), x)
    assert program.count("v1") >= 5 and "v2" not in program


def test_large_arrays_are_let_go() -> None:
    x = put(np.ones((300, 300), F32))

    def function(x: Any) -> tuple[Any]:
        part = s.slice_p.bind(p.neg_p.bind(x), start_indices=(0, 0), limit_indices=(1, 300), strides=None)
        return (part,)

    program = text(function, x)
    assert "del" in program and ".copy()" in program
    result = run(function, x)[0]
    assert result.ndarray.base is None or result.ndarray.base.nbytes <= result.nbytes


def test_results_are_exactly_what_they_should_be() -> None:
    x = put([[1, 2], [3, 4]])
    outs = run(
        lambda x: (
            x,
            literal(2.0, F32),
            p.neg_p.bind(literal(2.0, F32)),
            s.reshape_p.bind(
                s.slice_p.bind(x, start_indices=(0, 0), limit_indices=(1, 1), strides=None),
                new_sizes=(),
                dimensions=None,
            ),
            s.broadcast_in_dim_p.bind(literal(1.0, F32), shape=(2, 0), broadcast_dimensions=()),
        ),
        x,
    )
    assert [(out.ndarray.shape, out.ndarray.dtype) for out in outs] == [
        ((2, 2), F32),
        ((), F32),
        ((), F32),
        ((), F32),
        ((2, 0), F32),
    ]
    assert all(type(out.ndarray) is np.ndarray for out in outs)


def test_errors_show_the_generated_line() -> None:
    family, lower = PrimitiveSet("numpy_failing", api=1), RuleSet("lower.numpy", api=1)
    failing = family.primitive(lambda x: x, name="failing")

    @kernel(lower, failing, nature=FRESH)
    def _(ctx: Any) -> Any:
        def fail(x: Any) -> Any:
            raise ZeroDivisionError("inside")

        return fail

    with register(family), register(lower):
        with pytest.raises(ZeroDivisionError, match="inside") as caught:
            run(lambda x: (p.neg_p.bind(failing.bind(p.neg_p.bind(x))),), put([1]))
        shown = "".join(traceback.format_tb(caught.tb))
    assert "= fail(v1)" in shown
    NUMPY.clear_caches()
    source.clear_code_cache()
    assert not [name for name in linecache.cache if name.startswith("<tangrad numpy")]


def test_names_cannot_clash() -> None:
    family, lower = PrimitiveSet("numpy_names", api=1), RuleSet("lower.numpy", api=1)
    odd = family.primitive(lambda x: x, name="odd")

    def build(name: str) -> Any:
        def function(x: Any) -> Any:
            return x + 1

        function.__name__ = name
        return function

    names = iter(["v1", "a0", "class", "add", "import os; x", "k_float32_"])

    @kernel(lower, odd, nature=FRESH)
    def _(ctx: Any) -> Any:
        return build(next(names))

    def function(x: Any) -> tuple[Any]:
        for _ in range(6):
            x = odd.bind(p.add_p.bind(x, literal(0.5, F32)))
        return (x,)

    with register(family), register(lower):
        assert run(
            function,
            put([0]),
        )[0].tolist() == [9]


@pytest.mark.parametrize("name", ["<lambda>", "f g", "class", "1"])
def test_any_program_name_will_do(name: str) -> None:
    closed = trace_to_closed_jaxpr(lambda x: (p.neg_p.bind(x),), [ShapedArray((1,), F32)])
    assert NUMPY.compile(closed, CompileOptions(name)).execute([put([1])])[0].tolist() == [-1]


def test_wrong_results_of_rules_are_found_while_compiling() -> None:
    family, lower = PrimitiveSet("numpy_mistyped", api=1), RuleSet("lower.numpy", api=1)
    mistyped = family.primitive(lambda x: x, name="mistyped")
    composed(lower, mistyped)(lambda ctx, x: ctx.cast(x, "float64"))
    with register(family), register(lower), pytest.raises(TypeError, match=r"numpy_mistyped\.mistyped.*float64"):
        compiled(lambda x: (mistyped.bind(x),), put([1]))


# --- effects and callbacks -----------------------------------------------------------------------------------------


class _Noise(Effect):
    ordered = True


NOISE = frozenset([_Noise()])


def test_errors_do_not_run_a_program_again() -> None:
    family, lower, calls = PrimitiveSet("numpy_once", api=1), RuleSet("lower.numpy", api=1), []
    once = family.primitive(lambda x: x, name="once")

    @lower.rule(once)
    def _(ctx: Any, x: Any) -> Any:
        calls.append(x)
        raise RuntimeError("after an effect")

    with register(family), register(lower), pytest.raises(RuntimeError, match="after an effect"):
        run(lambda x: (once.bind(x),), put([1]))
    assert len(calls) == 1


def test_programs_run_inside_kernels() -> None:
    family, lower = PrimitiveSet("numpy_inside", api=1), RuleSet("lower.numpy", api=1)
    nested = family.primitive(lambda x: x, name="nested")
    inner = compiled(lambda x: (p.neg_p.bind(x),), put([1]))

    @lower.rule(nested)
    def _(ctx: Any, x: Any) -> Any:
        return inner.execute([put(x)])[0].ndarray

    with register(family), register(lower):
        assert run(lambda x: (p.neg_p.bind(nested.bind(x)),), put([1]))[0].tolist() == [1]


def test_effects_happen_in_order_and_are_never_dropped() -> None:
    family, lower, heard = PrimitiveSet("numpy_effects", api=1), RuleSet("lower.numpy", api=1), []
    shout = family.primitive(lambda x, *, word: x, name="shout", effects=lambda avals, params: NOISE)

    @lower.rule(shout)
    def _(ctx: Any, x: Any, *, word: str) -> Any:
        outside(lambda: heard.append((word, p.add_p.bind(put(x), put(x)).tolist())))
        return x

    def function(x: Any) -> tuple[Any]:
        shout.bind(x, word="first")
        y = shout.bind(p.neg_p.bind(x), word="second")
        shout.bind(x, word="first")
        return (p.neg_p.bind(y),)

    with register(family), register(lower):
        program = compiled(function, put([1]))
        for _ in range(2):
            heard.clear()
            assert program.execute([put([1])])[0].tolist() == [1]
            assert heard == [("first", [2]), ("second", [-2]), ("first", [2])]


# --- arguments -----------------------------------------------------------------------------------------------------


def test_donated_memory_is_reused_if_it_is_visible_nowhere_else() -> None:
    values = np.arange(10_000, dtype=F32)
    x, g = put(values), put(values)
    pointer = x.unsafe_buffer_pointer()
    program = compiled(lambda x, g: (p.sub_p.bind(x, g),), x, g, donated=(True, False))
    (result,) = program.execute([x, g])
    assert result.unsafe_buffer_pointer() == pointer
    assert x.is_deleted() and not g.is_deleted()
    assert result.tolist() == [0.0] * 10_000
    with pytest.raises(RuntimeError, match="deleted"):
        program.execute([x, g])


@pytest.mark.parametrize("witness", ["view", "shown", "alias", "twice"])
def test_donated_memory_that_is_visible_elsewhere_is_left_alone(witness: str) -> None:
    values = np.arange(10_000, dtype=F32)
    x, g = put(values), put(np.ones(10_000, F32))
    seen: Any = None
    if witness == "view":
        seen = s.reshape_p.bind(x, new_sizes=(100, 100), dimensions=None)
    elif witness == "shown":
        seen = np.asarray(x)
    elif witness == "alias":
        seen = s.stop_gradient_p.bind(x)
    else:
        g = x
    program = compiled(lambda x, g: (p.add_p.bind(x, g),), x, g, donated=(True, False))
    (result,) = program.execute([x, g])
    if seen is not None:
        np.testing.assert_array_equal(np.asarray(seen).ravel(), values)
    same(result, values + (values if witness == "twice" else 1))


def test_arguments_are_checked_off_the_fast_path() -> None:
    program = compiled(lambda x: (p.neg_p.bind(x),), put([1, 2]))
    with pytest.raises(TypeError, match="takes 1 arrays, got 2"):
        program.execute([put([1, 2]), put([1, 2])])
    x = put([1, 2])
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        program.execute([x])
    of_a_number = compiled(lambda x: (p.neg_p.bind(x),), put(1))
    same(of_a_number.execute([literal(1.5, F32)])[0], F32.type(-1.5))  # literals are arguments, too


def test_programs_run_where_their_arguments_are(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = tuple([NumpyDevice(NUMPY, number, "cpu") for number in range(3)])
    monkeypatch.setattr(NUMPY, "_devices", devices)
    x, y = put([1, 2], device=devices[1]), put([3, 4])
    program = compiled(lambda x, y: (p.add_p.bind(x, y),), x, y)
    for arguments in ([x, y], [y, x]):
        (result,) = program.execute(arguments)
        assert isinstance(result, PlacedArray) and result.device is devices[1]
    assert program.execute([y, y])[0].device is devices[0]
    with pytest.raises(ValueError, match="different devices"):
        program.execute([x, put([1, 2], device=devices[2])])
    elsewhere = compiled(lambda x: (p.neg_p.bind(x),), y, device=devices[2])
    assert elsewhere.execute([y])[0].device is devices[2]


# --- analyses, checks ----------------------------------------------------------------------------------------------


def test_analyses() -> None:
    program = compiled(lambda x: (p.mul_p.bind(p.sin_p.bind(x), x),), put(np.ones((8, 8), F32)))
    costs = program.cost_analysis()
    assert costs["flops"] == 128
    assert costs["bytes accessed"] == 5 * 256
    memory = program.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (256, 256)
    assert memory.generated_code_size_in_bytes == len(program.as_text())


def test_lowered_programs() -> None:
    closed = trace_to_closed_jaxpr(lambda x: (p.sin_p.bind(x),), [ShapedArray((2,), F32)])
    lowered = NUMPY.lower(closed, CompileOptions("wave"))
    assert lowered.as_text().startswith("def wave(a0):")
    assert "sin" in lowered.as_text("jaxpr")
    with pytest.raises(ValueError, match="'stablehlo'"):
        lowered.as_text("stablehlo")
    same(lowered.compile().execute([put([0, 1])])[0], np.sin(np.array([0, 1], F32)))


# --- memory and threads --------------------------------------------------------------------------------------------


def test_programs_are_freed() -> None:
    constants = [put(np.ones(100, F32))]
    program = compiled(lambda x: (p.add_p.bind(x, constants[0]),), put(np.ones(100, F32)))
    held = weakref.ref(constants[0].ndarray)
    same(program.execute([put(np.ones(100, F32))])[0], np.full(100, 2, F32))
    del program
    constants.clear()
    gc.collect()
    assert held() is None


def test_code_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    source.clear_code_cache()
    monkeypatch.setattr(source, "CODE_CACHE_LIMIT", 3)
    programs = [
        compiled(lambda x, n=n: (s.reshape_p.bind(x, new_sizes=(n, 1), dimensions=None),), put(np.ones(n, F32)))
        for n in range(1, 9)
    ]
    assert len(source._codes) <= 3
    assert [program.execute([put(np.ones(n + 1, F32))])[0].shape for n, program in enumerate(programs)] == [
        (n, 1) for n in range(1, 9)
    ]


def test_many_threads_at_once() -> None:
    x = put(np.linspace(0, 1, 1000, dtype=F32))

    def function(x: Any) -> tuple[Any]:
        return (p.log_p.bind(p.sub_p.bind(p.sin_p.bind(p.exp_p.bind(x)), literal(0.5, F32))),)

    program = compiled(function, x)
    expected = np.array(program.execute([x])[0])
    failures: list[BaseException] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        try:
            barrier.wait()
            for _ in range(30):
                NUMPY.clear_caches()
                same(program.execute([x])[0], expected)
                same(p.log_p.bind(p.sub_p.bind(p.sin_p.bind(p.exp_p.bind(x)), literal(0.5, F32))), expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# --- Generated source: what comes from elsewhere cannot change it ---------------------------------------------------


@pytest.mark.parametrize("name", ["x²", "ﬁ", "größe", "lambda", "a b\n'c", "1", "", "数"])
def test_functions_of_any_name_become_source(name: str) -> None:
    def f(x):
        return tangrad.pure_callback(g, x, x * 2.0)

    def g(x):
        return x + 1

    f.__name__ = g.__name__ = name
    with tangrad.use_backend("numpy"):
        compiled = tangrad.jit(f).lower(1.0).compile()
        assert float(compiled(1.0)) == 3.0
        assert compiled.as_text().isascii()


def test_a_name_with_a_line_break_runs_no_code() -> None:
    family = PrimitiveSet("injected_family", api=1)
    renamed = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="innocent", decompose=lambda x: x * 2.0)
    renamed.name = "x\n    raise SystemExit('injected')\n#"  # past the check of the constructor
    lower = RuleSet("lower.numpy", api=1)
    composed(lower, renamed)(lambda ctx, x: ctx.multiply(x, x))
    with tangrad.use_backend("numpy"), register(lower):
        assert float(tangrad.jit(lambda x: renamed(x) + 1.0)(3.0)) == 10.0


@pytest.mark.parametrize("shape", [(2, 0), (0, 2)])
def test_views_of_nothing_are_not_written_to(shape: tuple[int, int]) -> None:
    with tangrad.use_backend("numpy"):
        result = tangrad.jit(lambda x: tnp.broadcast_to(tnp.sin(x), shape)[:1] * 2)(tnp.zeros(shape[1:]))
    assert result.shape == (min(1, shape[0]), shape[1])


def test_sums_are_made_without_products_negatives_and_ones() -> None:
    x = np.linspace(-1, 2, 64 * 128, dtype="float32").reshape(64, 128)

    def function(x: Any) -> Any:
        return tnp.sum(-(x * x * 1.0), 1), tnp.sum(-x, 0), 1.0 * tnp.sum(x[:4], 1)

    def text_of(function: Any, x: Any) -> str:
        return str(tangrad.jit(function, backend="numpy").lower(x).compile().as_text())

    found = text_of(function, x)
    assert ("multiply" in found) is not totals.HAS_ROW_PRODUCTS
    assert "negative" not in found and found.count("subtract(") == 2
    for cancelling in (x - x, x - x[:, ::-1], x - x[::-1]):
        for axis in (0, 1, None):
            of_negatives = tangrad.jit(lambda x, axis=axis: tnp.sum(-x, axis), backend="numpy")(cancelling)
            assert not np.signbit(of_negatives)[of_negatives == 0].any(), "what cancels is 0, not -0"
    for result, expected in zip(
        tangrad.jit(function, backend="numpy")(x), (-np.sum(x * x, 1), -x.sum(0), x[:4].sum(1)), strict=True
    ):
        np.testing.assert_allclose(result, expected, 1e-5)
    assert "square" in text_of(lambda x: tnp.sum(tnp.square(x)), x)  # of all elements: no rows
    assert "negative(a0)" in text_of(lambda x: tnp.sum(-x), x.astype("int32"))
    infinite = np.where(x > 1.9, np.inf, x).astype("float32")
    assert np.asarray(tangrad.jit(function, backend="numpy")(infinite)[0])[-1] == -np.inf
