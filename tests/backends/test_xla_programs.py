"""The XLA backend at work: eager application, compiled programs, placement, donation, threads, many devices."""

import gc
import importlib
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

pytest.importorskip("jaxlib")
p = pytest.importorskip("tangrad._lax.elementwise.primitives")

from tangrad.core import ShapedArray, get_backend, literal, trace_to_closed_jaxpr
from tangrad.core.backends import CompileOptions
from tangrad.errors import UnexpectedTracerError

XLA = get_backend("xla")
F32 = np.dtype("float32")


def put(value: object, device: object = None) -> object:
    array = np.asarray(value, F32)
    return XLA.put(array, ShapedArray(array.shape, F32), device)


def compiled(function: object, *arrays: object, **options: object) -> object:
    closed = trace_to_closed_jaxpr(function, [array.aval for array in arrays])
    return XLA.compile(closed, CompileOptions("program", **options))


# --- eager -----------------------------------------------------------------------------------------------------------


def test_literals_and_arrays_mix() -> None:
    x, two = put([1, 2, 3]), literal(2.0, F32, True)
    for _ in range(2):
        assert p.mul_p.bind(x, two).tolist() == [2, 4, 6]
        assert p.sub_p.bind(two, x).tolist() == [1, 0, -1]
    assert p.add_p.bind(two, two).weak_type and not p.add_p.bind(x, two).weak_type
    # The sign of zero and the type distinguish literals.
    zeros = [p.div_p.bind(literal(1.0, F32), literal(zero, F32)).item() for zero in (0.0, -0.0)]
    assert zeros == [np.inf, -np.inf]


def test_programs_are_kept_and_forgotten() -> None:
    x = put([1, 2])
    p.tanh_p.bind(x)
    entries = XLA._dispatcher._entries
    assert any(key[0] is p.tanh_p for key in entries)
    XLA.clear_caches()
    assert not entries
    assert p.tanh_p.bind(x).shape == (2,)


def test_parameters_are_distinguished_by_type() -> None:
    x = put([1.5, -2.5])
    for dtype, expected in (("int32", [1, -2]), ("bool", [True, True]), ("float64", [1.5, -2.5])):
        out = p.convert_element_type_p.bind(x, new_dtype=np.dtype(dtype), weak_type=False)
        assert out.dtype == dtype and out.tolist() == expected


def test_a_tracer_of_a_finished_trace_is_refused() -> None:
    leaked = []
    trace_to_closed_jaxpr(lambda x: (leaked.append(x), x)[1:], [ShapedArray((2,), F32)])
    with pytest.raises(UnexpectedTracerError):
        p.add_p.bind(put([1, 2]), leaked[0])


# --- compiled --------------------------------------------------------------------------------------------------------


def test_compiled_programs_of_every_arity() -> None:
    x, y = put([1, 2]), put([3, 4])
    none = compiled(lambda: (literal(7.0, F32),))
    assert [out.tolist() for out in none.execute([])] == [7]
    one = compiled(lambda x: (p.neg_p.bind(x), x), x)
    assert [out.tolist() for out in one.execute([x])] == [[-1, -2], [1, 2]]
    two = compiled(lambda x, y: (p.add_p.bind(x, y),), x, y)
    assert [out.tolist() for out in two.execute([x, y])] == [[4, 6]]
    more = compiled(lambda x, y: (y, p.mul_p.bind(x, y), x), x, y)
    assert [out.tolist() for out in more.execute([x, y])] == [[3, 4], [3, 8], [1, 2]]
    nothing = compiled(lambda x: (), x)
    assert nothing.execute([x]) == []


def test_results_may_be_wanted_before_they_are_there() -> None:
    def work(x: object) -> tuple:
        for _ in range(200):
            x = p.sin_p.bind(x)
        return (x,)

    x = put(np.linspace(0, 1, 200_000))
    program = compiled(work, x)
    expected = np.asarray(x)
    (out,) = program.execute([x])
    for _ in range(200):
        expected = np.sin(expected)
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-5)
    assert program.execute([x])[0].block_until_ready().is_ready()


def test_foreign_values_become_arrays_and_wrong_numbers_are_refused() -> None:
    program = compiled(lambda x, y: (p.add_p.bind(x, y),), put([1, 2]), put([1, 2]))
    assert program.execute([np.ones(2, F32), put([1, 2])])[0].tolist() == [2, 3]
    with pytest.raises(TypeError, match="takes 2 arguments, got 1"):
        program.execute([put([1, 2])])


def test_what_a_program_says_of_itself() -> None:
    x = put(np.ones(8))
    closed = trace_to_closed_jaxpr(lambda x: (p.add_p.bind(p.sin_p.bind(x), x),), [x.aval])
    lowered = XLA.lower(closed, CompileOptions("waves"))
    assert "module @jit_waves" in lowered.as_text() and "stablehlo.sine" in lowered.as_text()
    assert "HloModule jit_waves" in lowered.as_text("hlo")
    assert 'loc("jit(waves)/sin"' in lowered.as_text(debug_info=True) and "test_xla_programs.py" in lowered.as_text(
        debug_info=True
    )
    assert lowered.cost_analysis()["transcendentals"] == 8
    with pytest.raises(ValueError, match="'c'"):
        lowered.as_text("c")
    program = lowered.compile()
    assert "sine" in program.as_text() and "jit(waves)/sin" in program.as_text()
    assert program.cost_analysis()["flops"] == 8
    assert program.memory_analysis().argument_size_in_bytes == 32
    assert program.execute([x])[0].shape == (8,)


def test_optimised_programs_are_those_of_jax() -> None:
    """But for maxima of floats, which keep NaN here."""
    jax = pytest.importorskip("jax")
    from tests.benchmarks.hlo import normalised

    def ours(x: object, y: object) -> tuple:
        scaled = p.mul_p.bind(p.tanh_p.bind(p.add_p.bind(x, y)), literal(3.0, F32))
        chosen = p.select_n_p.bind(p.gt_p.bind(scaled, y), scaled, p.logistic_p.bind(x))
        return p.integer_pow_p.bind(chosen, y=3), p.sub_p.bind(x, literal(2.0, F32))

    def theirs(x: object, y: object) -> tuple:
        scaled = jax.lax.tanh(x + y) * 3.0
        chosen = jax.lax.select_n(scaled > y, scaled, jax.lax.logistic(x))
        return jax.lax.integer_pow(chosen, 3), x - 2.0

    x = np.ones((4, 8), F32)
    text = compiled(ours, put(x), put(x)).as_text()
    assert normalised(text) == normalised(jax.jit(theirs).lower(x, x).compile().as_text())


def test_a_program_goes_with_its_last_reference() -> None:
    program = compiled(lambda x: (p.cos_p.bind(x),), put([1]))
    runner = weakref.ref(program.runner)
    execute = program.execute
    assert execute([put([0])])[0].tolist() == [1]
    gc.disable()
    try:
        del program, execute
        assert runner() is None
    finally:
        gc.enable()


# --- donation --------------------------------------------------------------------------------------------------------


def test_donated_arguments_are_gone() -> None:
    x, y = put(np.ones(1000)), put(np.ones(1000))
    program = compiled(lambda x, y: (p.add_p.bind(x, y),), x, y, donated=(True, False))
    assert "input_output_alias" in program.as_text()
    assert program.execute([x, y])[0].to_numpy().sum() == 2000
    assert x.is_deleted() and not y.is_deleted()
    for use in (
        x.to_numpy,
        x.block_until_ready,
        lambda: p.sin_p.bind(x),
        lambda: program.execute([x, y]),
        lambda: p.add_p.bind(x, y),
    ):
        with pytest.raises(RuntimeError, match=r"has been deleted: f32\[1000\]"):
            use()


def test_a_donation_without_use_is_left() -> None:
    program = compiled(lambda x: (p.gt_p.bind(x, x),), put([1, 2]), donated=(True,))
    x = put([1, 2])
    assert program.execute([x])[0].tolist() == [False, False]


def test_deleting_an_array() -> None:
    x = put([1, 2])
    x.delete()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        p.neg_p.bind(x)


# --- threads ---------------------------------------------------------------------------------------------------------


def test_the_first_calls_of_many_threads_compile_once() -> None:
    XLA.clear_caches()
    x = put(np.arange(5))
    results, barrier = [], threading.Barrier(16)

    def work() -> None:
        barrier.wait()
        results.append(p.atan2_p.bind(x, x).to_numpy().sum())

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 16 and len(set(results)) == 1
    assert sum(key[0] is p.atan2_p for key in XLA._dispatcher._entries) == 1
    assert not importlib.import_module("tangrad._core.kernel.compilation")._locks


def test_threads_lower_and_compile_at_once(monkeypatch) -> None:
    from tangrad._backend_xla import mlir

    monkeypatch.setattr(mlir, "MODULE_LIMIT", 3)  # contexts come and go meanwhile
    failures = []

    def work(seed: int) -> None:
        try:
            for step in range(5):
                size = seed * 10 + step + 1
                x = put(np.ones(size))
                program = compiled(lambda x, size=size: (p.add_p.bind(p.exp_p.bind(x), literal(float(size), F32)),), x)
                np.testing.assert_allclose(program.execute([x])[0].to_numpy(), np.e + size, rtol=1e-5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# --- several devices -------------------------------------------------------------------------------------------------

SEVERAL_DEVICES = """
import numpy as np
import tangrad
from tangrad.core import ShapedArray, get_backend, literal, trace_to_closed_jaxpr
from tangrad.core.backends import CompileOptions
from tangrad._core.settings.config import default_device
from tangrad._lax.elementwise import primitives as p

xla = get_backend("xla")
F32 = np.dtype("float32")
d0, d1, d2, d3 = xla.devices()
def put(value, device=None):
    array = np.asarray(value, F32)
    return xla.put(array, ShapedArray(array.shape, F32), device)
def refused(function, words):
    try:
        function()
    except ValueError as error:
        assert words in str(error), error
    else:
        raise AssertionError("not refused")

free, on1, on2 = put([1, 2]), put([3, 4], d1), put([5, 6], d2)
assert (free.device, on1.device, on2.device) == (d0, d1, d2)
assert not free.committed and on1.committed and on1.devices() == {d1}

# eager: the committed operand decides, and committed ones do not meet
total = p.add_p.bind(free, on1)
assert total.device is d1 and total.committed and total.tolist() == [4, 6]
assert p.neg_p.bind(on2).device is d2
refused(lambda: p.add_p.bind(on1, on2), "committed to different devices")
refused(lambda: p.add_p.bind(on1, on2), "argument 1 (f32[2]) on xla:cpu:2")
assert p.mul_p.bind(on2, literal(2.0, F32)).device is d2
assert p.convert_element_type_p.bind(on2, new_dtype=np.dtype("int32"), weak_type=False).device is d2

# programs: compiled again where the arguments are
closed = trace_to_closed_jaxpr(lambda x, y: (p.add_p.bind(x, y), x), [free.aval, free.aval])
program = xla.compile(closed, CompileOptions("sum"))
cases = ((free, free, d0, False), (on1, free, d1, True), (free, on1, d1, True), (on2, on2, d2, True))
for x, y, device, committed in cases:
    for _ in range(2):
        out, first = program.execute([x, y])
        assert out.device is device and out.committed is committed, (out.placement, device)
        assert out.tolist() == (x.to_numpy() + y.to_numpy()).tolist() and first.tolist() == x.tolist()
refused(lambda: program.execute([on1, on2]), "incompatible devices for jitted computation sum")
pinned = xla.compile(closed, CompileOptions("sum", device=d3))
assert pinned.execute([on1, free])[0].device is d3 and pinned.execute([free, free])[0].committed

# moving
moved = xla.move(on1, d3)
assert moved.device is d3 and moved.tolist() == [3, 4] and xla.move(moved, d3).value is moved.value

# a default device
with default_device(d2):
    made = put([7])
    assert made.device is d2 and not made.committed
    assert p.neg_p.bind(free).device is d2 and p.add_p.bind(free, literal(1.0, F32)).device is d2
    assert p.neg_p.bind(on1).device is d1
assert p.neg_p.bind(made).device is d0

# 64 bits travel too
wide = xla.put(np.array([2**40]), ShapedArray((1,), "int64"), d1)
assert xla.move(wide, d2).tolist() == [2**40]

# an array over several devices
from tangrad._backend_xla import jaxlib_api, sharded
from tangrad.sharding import GSPMDSharding
raw = [d.raw for d in (d0, d1, d2, d3)]
contents = np.arange(8, dtype=np.float32)
aval = ShapedArray((8,), F32)
split = GSPMDSharding((d0, d1, d2, d3), "{devices=[4]<=[4]}")
array = xla.put(contents, aval, split)
assert array.to_numpy().tolist() == contents.tolist() and array.sharding == split
assert len(array.devices()) == 4 and array.is_fully_addressable and not array.is_fully_replicated
third = array.addressable_shards[2]
assert third.device is d2 and third.index == (slice(4, 6),)
assert third.data.tolist() == [4, 5] and third.data.device is d2
assert p.neg_p.bind(array).tolist() == (-contents).tolist() and p.neg_p.bind(array).sharding == split
assert p.neg_p.bind(array.addressable_data(3)).tolist() == [-6, -7] and free.addressable_data(0) is free
array.copy_to_host_async()
whole = GSPMDSharding.get_replicated((d0, d1, d2, d3))
copies = [xla.put(contents, aval, device) for device in (d0, d1, d2, d3)]
array = xla.assemble(aval, whole, copies)
assert array.to_numpy().tolist() == contents.tolist() and array.is_fully_replicated
assert xla.parts(array)[3].value.unsafe_buffer_pointer() == copies[3].value.unsafe_buffer_pointer()
assert array.device is array.sharding

# a program over replicas
from tangrad._backend_xla.mlir import bytecode, ir
from tangrad._backend_xla.mlir import vocabulary
text = '''module @sums attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %s = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2xf32>) -> tensor<2xf32>
    return %s : tensor<2xf32> } }'''
options = jaxlib_api.make_compile_options([[device] for device in raw], 1, 1)
module = bytecode(ir.Module.parse(text, vocabulary().context))
executable = jaxlib_api.compile_and_load(d0.client, module, raw, options)
place = sharded.placement_of(split)
handler = jaxlib_api.result_handler(aval, place.sharding, True)
(out,) = executable.execute_sharded([xla.put(contents, aval, split).value]).consume_with_handlers([handler])
result = type(array)(aval, out, place)
assert result.to_numpy().tolist() == [12, 16] * 4
print("done")
"""


def test_several_virtual_devices() -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("XLA_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(SEVERAL_DEVICES)],
        env={**clean, "TANGRAD_NUM_CPU_DEVICES": "4"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "done\n", done.stderr


# --- the greatest elements -------------------------------------------------------------------------------------------

sorting = importlib.import_module("tangrad._backend_xla.lower.sorting")


def positions_in_order(x: np.ndarray, k: int) -> np.ndarray:
    """Positions of the greatest elements along the last axis, the first of equal ones first; floats by their bits."""
    ranks = x.astype(np.int64) if x.dtype.kind in "bui" else x.view(f"i{x.dtype.itemsize}").astype(np.int64)
    if x.dtype.kind not in "bui":
        ranks = np.where(ranks < 0, np.iinfo(f"i{x.dtype.itemsize}").min - ranks - 1, ranks)
    return np.argsort(~ranks, axis=-1, kind="stable")[..., :k]


DTYPES = ["float32", "float64", "float16", "bfloat16", "int32", "uint32", "int8", "uint16", "int64", "bool"]


@pytest.mark.parametrize("shape, k", [((40_003,), 7), ((3, 17_000), 3), ((2, 2, 500), 4), ((16_384,), 16_384)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_greatest_elements(dtype: str, shape: tuple, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = pytest.importorskip("tangrad._kernels.on_xla_cpu")
    monkeypatch.setattr(kernels, "is_here", lambda ctx: False)
    dtypes, lax = importlib.import_module("tangrad.dtypes"), importlib.import_module("tangrad.extend.lax")
    kind = dtypes.as_dtype(dtype)
    rng = np.random.default_rng(len(shape))
    x = np.round(rng.normal(size=shape) * 20)  # many are equal
    if kind.kind not in "bui":
        x[rng.random(shape) < 0.01] = -0.0
        x[rng.random(shape) < 0.0001] = np.nan
        x[rng.random(shape) < 0.0001] = -np.inf
    with np.errstate(all="ignore"):
        x = x.astype(np.int64).astype(kind) if kind.kind in "bui" else x.astype(kind)
        ends = np.array([~0, 1 << 31, (1 << 31) - 1, -(1 << 31)]).astype(kind)
    if kind.kind in "ui":
        x[..., 100:104] = ends
    expected = positions_in_order(x, k)
    for axis in {0, len(shape) - 1}:
        moved = np.ascontiguousarray(np.moveaxis(x, -1, axis))
        array = XLA.put(moved, ShapedArray(moved.shape, kind))
        program = compiled(lambda x, axis=axis: lax.top_k_p.bind(x, k=k, axis=axis), array)
        values, positions = [
            np.moveaxis(np.asarray(result.to_numpy()), axis, -1) for result in program.execute([array])
        ]
        np.testing.assert_array_equal(positions, expected)
        assert values.dtype == kind
        taken = np.take_along_axis(x, expected, -1).astype(np.float64)
        np.testing.assert_array_equal(values.astype(np.float64), taken)
        np.testing.assert_array_equal(np.signbit(values.astype(np.float64)), np.signbit(taken))


def test_of_a_long_row_blocks_are_searched() -> None:
    aval = ShapedArray((1 << 20,), F32)
    assert sorting._top_k_form(aval, 10, 0) is sorting._top_k_of_blocks
    assert sorting._top_k_form(aval, 4000, 0) is None
    assert sorting._top_k_form(aval.update(dtype=np.dtype("int32")), 4000, 0) is sorting._top_k_of_singles
    assert sorting._top_k_form(aval.update(dtype=np.dtype("int64")), 4000, 0) is None
