"""Callbacks: what they are given, what becomes of their results, and what programs are made of them."""

import gc
import logging
import weakref
from typing import Any

import numpy as np
import pytest

import tangrad
from tangrad import debug, enable_x64, experimental, lax
from tangrad import numpy as tnp
from tangrad import use_backend as backend_setting
from tangrad.core import EVAL_TRACE, dtypes, thread
from tangrad.errors import CallbackError
from tangrad.experimental.buffer_callback import Buffer, ExecutionContext, ExecutionStage, buffer_callback

BACKENDS = ("numpy", "xla")
THREE = np.arange(3, dtype=np.float32)


@pytest.fixture(params=BACKENDS)
def backend(request):
    with backend_setting(request.param):
        yield request.param
        tangrad.effects_barrier()


@pytest.fixture
def on_xla():
    with backend_setting("xla"):
        yield
        tangrad.effects_barrier()


def like(x):
    return tangrad.ShapeDtypeStruct(np.shape(x), x.dtype)


FLOAT = tangrad.ShapeDtypeStruct((), "float32")


def slow_product():
    """Something that takes the processor so long that a program which needs it cannot start at once."""
    x = tnp.ones((900, 900))
    return tangrad.jit(lambda x: x @ x @ x @ x @ x @ x)(x)


# --- what callbacks are given, and what becomes of their results ----------------------------------------------------


def test_callbacks_run_outside_of_every_transformation(backend):
    seen = []

    def host(x):
        seen.append((thread.trace is EVAL_TRACE, thread.axis_environment, thread.source))
        return tangrad.jit(tangrad.vmap(tangrad.grad(lambda x: tnp.sin(x) ** 2)))(x)

    def f(x):
        x = tangrad.pure_callback(host, like(x), x, vmap_method="sequential")
        tangrad.debug.callback(host, lax.stop_gradient(x))
        return x

    expected = np.sin(2 * THREE)
    for call in (f, tangrad.jit(f)):
        np.testing.assert_allclose(call(THREE), expected, rtol=1e-5)
    both = np.stack([THREE, THREE])
    for call in (tangrad.vmap(f, axis_name="i"), tangrad.jit(tangrad.vmap(f, axis_name="i"))):
        np.testing.assert_allclose(call(both), np.stack([expected, expected]), rtol=1e-5)
    tangrad.grad(lambda x: tnp.sum(x * f(lax.stop_gradient(x))))(tnp.asarray(THREE))
    tangrad.effects_barrier()
    assert set(seen) == {(True, (), None)}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("maps", [1, 2])
def test_ordered_callbacks_of_mapped_conditions_happen_once(backend, maps, compiled):
    seen = []

    def f(x, end):
        def condition(x):
            debug.callback(lambda x: seen.append(int(x)), x, ordered=True)
            return x % 4 != end

        return lax.while_loop(condition, lambda x: x + 1, x)

    for _ in range(maps):
        f = tangrad.vmap(f)
    x, end = np.array([0, 1]), np.array([3, 2])
    shape = (1,) * (maps - 1) + (2,)
    found = (tangrad.jit(f) if compiled else f)(x.reshape(shape), end.reshape(shape))
    tangrad.effects_barrier()
    np.testing.assert_array_equal(found, end.reshape(shape))
    assert seen == [0, 1, 1, 2, 2, 3, 3, 3]  # the row that has ended is computed once more each time


def test_mapped_loops_that_are_refused_call_nothing(backend):
    seen = []

    def condition(x):
        limit = experimental.io_callback(
            lambda: seen.append(0) or np.int32(3), tangrad.ShapeDtypeStruct((), "int32"), ordered=True
        )
        return x < limit

    with pytest.raises(NotImplementedError, match="rows that end at different times"):
        tangrad.vmap(lambda x: lax.while_loop(condition, lambda x: x + 1, x))(np.arange(3))
    tangrad.effects_barrier()
    assert seen == []


def test_settings_of_the_author_hold_inside(backend):
    seen = []

    def host(x):
        seen.append((x.dtype, tnp.ones(()).dtype, thread.enable_x64))
        return np.asarray(x) / 3

    with enable_x64(True):
        declared = tangrad.ShapeDtypeStruct((), "float64")
        f = tangrad.jit(lambda x: tangrad.pure_callback(host, declared, x[0, 0]))
        x = slow_product().astype("float64")
        assert float(f(x)) == float(x[0, 0]) / 3
        assert float(tangrad.pure_callback(host, declared, tnp.float64(1))) == 1 / 3
    assert seen == [(np.float64, np.float64, True)] * 2


NAMES = ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64", "float8_e4m3fn", "int4"]


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_go_in_and_out(backend, name):
    dtype = dtypes.as_dtype(name)
    x = tnp.asarray(np.array([0, 1, 1, 0, 1]).astype(dtype))
    seen = []

    def host(x):
        seen.append(x)
        return np.asarray(x)[::-1]

    call = lambda x: tangrad.pure_callback(host, like(x), x)
    for found in (call(x), tangrad.jit(call)(x)):
        assert found.dtype == dtype
        np.testing.assert_array_equal(np.asarray(found).view(np.uint8), np.asarray(x)[::-1].copy().view(np.uint8))
    assert [(one.dtype, one.weak_type) for one in seen] == [(dtype, False)] * 2
    assert all([isinstance(one, tangrad.Array) and type(one).backend.name == backend for one in seen])


def test_keys_stay_keys(backend):
    key = tangrad.random.key(3)
    seen = []
    note = lambda key: seen.append((str(key.dtype), key.shape, float(tangrad.random.uniform(key))))
    debug.callback(note, key)
    tangrad.jit(lambda key: debug.callback(note, key))(key)
    tangrad.jit(tangrad.vmap(lambda key: debug.callback(note, key)))(key[None])
    tangrad.effects_barrier()
    assert seen == [("key<fry>", (), float(tangrad.random.uniform(key)))] * 3


def test_results_are_copied_and_arguments_stay(backend):
    own, kept = np.zeros(3, np.float32), []

    def host(x):
        kept.append(x)
        own[:] = x
        return own

    f = lambda x: tangrad.pure_callback(host, like(x), x * 2) + 1
    results = [f(THREE), tangrad.jit(f)(THREE), tangrad.jit(f, donate_argnums=0)(tnp.asarray(THREE))]
    for result in results:
        result.block_until_ready()
        own[:] = -1
    for result in results:
        np.testing.assert_array_equal(result, [1, 3, 5])
    for array in kept:
        np.testing.assert_array_equal(array, [0, 2, 4])
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(array)[0] = 1


def test_an_argument_that_is_donated_is_not_overwritten_while_a_callback_knows_it(backend):
    kept = []
    program = tangrad.jit(lambda x: (debug.callback(kept.append, x, ordered=True), x * 2 + 1)[1], donate_argnums=0)
    result = program(tnp.arange(100_000.0))
    tangrad.effects_barrier()
    np.testing.assert_array_equal(kept[0][:3], [0, 1, 2])
    np.testing.assert_array_equal(result[:3], [1, 3, 5])


def test_numpy_reports_as_usual_inside(backend):
    seen = []
    note = lambda x: seen.append((np.geterr()["divide"], float(tnp.log(x))))
    tangrad.jit(lambda x: debug.callback(note, x))(0.0)
    tangrad.effects_barrier()
    assert seen == [("warn", -np.inf)]


def test_functions_without_hash_are_taken(backend):
    class Callable(list):
        def __call__(self, x):
            return np.asarray(x) + len(self)

    f = tangrad.jit(lambda x: tangrad.pure_callback(Callable([1, 2]), like(x), x))
    np.testing.assert_array_equal(f(THREE), THREE + 2)


def test_nothing_of_a_program_that_is_gone_is_kept(backend):
    class Host:
        def __call__(self, x):
            return np.asarray(x)

    def use():
        host = Host()
        f = lambda x: tangrad.pure_callback(host, FLOAT, lax.stop_gradient(x), vmap_method="sequential") * x
        tangrad.jit(f)(1.0)
        f(1.0)
        tangrad.grad(f)(1.0)
        tangrad.vmap(f)(THREE)
        lax.scan(lambda c, _: (f(c), None), 1.0, None, length=3)
        return weakref.ref(host)

    reference = use()
    gc.collect()
    assert reference() is None


# --- programs --------------------------------------------------------------------------------------------------------


def names_of(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_dead_code_loses_pure_callbacks_and_keeps_effects():
    def f(x):
        tangrad.pure_callback(np.sin, like(x), x)
        experimental.io_callback(np.sin, like(x), x)
        debug.print("{}", x + 1)
        return x

    jaxpr = tangrad.make_jaxpr(f)(THREE)
    assert names_of(jaxpr) == ["pure_callback", "io_callback", "add", "debug_print"]
    assert {str(effect) for effect in jaxpr.effects} == {"IO", "Debug"}
    from tangrad.core import dce_jaxpr

    thinned, used = dce_jaxpr(jaxpr.jaxpr, [False])
    assert names_of(thinned) == ["io_callback", "add", "debug_print"] and used == [True]
    loop = tangrad.make_jaxpr(lambda x: lax.fori_loop(0, 3, lambda i, c: (f(c), c)[1], x))(THREE)
    thinned, _ = dce_jaxpr(loop.jaxpr, [False])
    (eqn,) = thinned.eqns
    assert {str(effect) for effect in eqn.effects} == {"IO", "Debug"}
    pure = tangrad.make_jaxpr(lambda x: tangrad.jit(lambda x: tangrad.pure_callback(np.sin, like(x), x))(x))(THREE)
    assert dce_jaxpr(pure.jaxpr, [False])[0].eqns == []


def test_a_program_prints_what_it_calls():
    text = str(tangrad.make_jaxpr(lambda x: debug.print("x = {}", x, ordered=True))(THREE))
    assert "debug_print[callback=<debug.print of x = {}> fmt=x = {} ordered=True partitioned=False] a" in text
    assert " = debug_print" not in text


def test_mapping_does_not_unroll():
    rows = np.zeros((1000, 2), np.float32)
    jaxpr = tangrad.make_jaxpr(tangrad.vmap(tangrad.vmap(lambda x: debug.print("{}", x))))(rows)
    assert names_of(jaxpr) == ["debug_print"]


def test_an_empty_batch_calls_nothing(backend):
    called = []

    def host(x):
        called.append(x)
        return x

    f = tangrad.vmap(lambda x: tangrad.pure_callback(host, FLOAT, x, vmap_method="sequential"))
    assert f(tnp.zeros(0)).shape == (0,) and tangrad.jit(f)(tnp.zeros(0)).shape == (0,)
    assert called == []


def test_a_tangent_is_shown_when_it_is_pushed_forward(backend):
    seen = []
    f = tangrad.custom_jvp(lambda x: x * 2)

    def rule(primals, tangents):
        debug.callback(lambda t: seen.append(float(t)), tangents[0])
        return f(*primals), tangents[0] * 2

    f.defjvp(rule)
    _, forward = tangrad.linearize(tangrad.jit(f), 1.0)
    assert seen == []
    assert float(forward(3.0)) == 6
    tangrad.effects_barrier()
    assert seen == [3.0]


def test_two_backends_have_one_order():
    seen = []
    report = lambda tag: lambda x: (experimental.io_callback(lambda x: seen.append(tag), None, x, ordered=True), x)[1]
    with backend_setting("xla"):
        x = slow_product()
        on_xla = tangrad.jit(lambda x: report("xla")(x[0, 0]))
        on_xla(slow_product())
    with backend_setting("numpy"):
        tangrad.jit(report("numpy"))(tnp.ones(()))
    on_xla(x)
    tangrad.effects_barrier()
    assert seen == ["xla", "numpy", "xla"]


# --- printing --------------------------------------------------------------------------------------------------------


def test_braces_are_those_of_formats(capsys):
    debug.print("{{x}} {}", 1)
    debug.print("{{x}}")
    tangrad.jit(lambda x: debug.print("{}{{}}", x))(2)
    tangrad.effects_barrier()
    assert capsys.readouterr().out.splitlines() == ["{x} 1", "{x}", "2{}"]


def test_a_message_of_the_log_bears_the_line_of_its_call(backend, caplog):
    def f(x):
        debug.log("x = {}", x)
        return x

    with caplog.at_level(logging.INFO, logger="tangrad"):
        f(1)
        tangrad.jit(f)(2)
        debug.log(ordered=True)("{ordered}", ordered=3)
        tangrad.effects_barrier()
    records = [record for record in caplog.records if record.name == "tangrad"]
    assert [record.getMessage() for record in records] == ["x = 1", "x = 2", "3"]
    line = f.__code__.co_firstlineno + 1
    assert [(record.pathname, record.lineno, record.funcName) for record in records[:2]] == [(__file__, line, "f")] * 2


def test_messages_about_formats_name_the_arguments():
    with pytest.raises(ValueError, match=r"no place for the positional arguments \[1\]"):
        debug.print("{}", 1, 2)
    with pytest.raises(ValueError, match=r"no place for the keyword arguments \['x'\]\. An f-string"):
        tangrad.jit(lambda x: debug.print(f"{x}", x=x))(1)
    with pytest.raises(TypeError, match=r"without a format only options can be given.*debug.print\(ordered=True\)"):
        debug.print(ordered=True, x=1)
    with pytest.raises(TypeError, match=r"debug.callback: without a function only"):
        debug.callback(x=1)


def test_errors_and_effects_are_public():
    assert tangrad.errors.CallbackError is debug.CallbackError is CallbackError
    assert issubclass(CallbackError, RuntimeError)
    jaxpr = tangrad.make_jaxpr(lambda x: (debug.print("{}", x), debug.print("{}", x, ordered=True)))(1)
    assert jaxpr.effects == {debug.DebugEffect(), debug.OrderedDebugEffect()}


# --- `buffer_callback` and `smap`: compiled, mapped, with aliases; and what they refuse ---


X = np.arange(3, dtype=np.float32)
RESULT = tangrad.ShapeDtypeStruct((3,), "float32")


def added(context: ExecutionContext, out: Any, x: Any, y: Any = 0) -> None:
    assert context.stage is ExecutionStage.EXECUTE
    assert isinstance(out, Buffer)
    out[...] += x + y


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_compiled_and_mapped(backend: str) -> None:
    for method, other in (("expand_dims", X), ("sequential", X), ("broadcast_all", X)):
        call = buffer_callback(added, RESULT, vmap_method=method)
        assert tangrad.jit(call, backend=backend)(X, y=other).tolist() == [0, 2, 4]
        mapped = tangrad.vmap(lambda x, y, call=call: call(x, y), in_axes=(0, None))
        assert tangrad.jit(mapped, backend=backend)(np.stack([X, 2 * X]), X).tolist() == [[0, 2, 4], [0, 3, 6]]
    assert call(X).tolist() == [0, 1, 2]


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_aliases_and_trees(backend: str) -> None:
    def both(context: ExecutionContext, out: Any, pair: Any) -> None:
        out["a"][...] += pair[1]
        out["b"][...] = pair[0].sum()

    results = {"a": RESULT, "b": tangrad.ShapeDtypeStruct((), "float32")}
    call = tangrad.jit(buffer_callback(both, results, input_output_aliases={0: 0}), backend=backend)
    found = call((X, 10 * X))
    assert found["a"].tolist() == [0, 11, 22]
    assert found["b"] == 3
    assert X.tolist() == [0, 1, 2]


def test_side_effects_happen_once_for_each_run() -> None:
    calls = []

    def counted(context: ExecutionContext, out: Any, x: Any) -> None:
        calls.append(float(x[0]))

    unused = tangrad.jit(lambda x: (buffer_callback(counted, RESULT, has_side_effect=True)(x), x)[1])
    unused(X).block_until_ready()
    unused(X + 1).block_until_ready()
    tangrad.effects_barrier()
    assert calls == [0, 1]


def test_refused() -> None:
    with pytest.raises(TypeError, match="callback must be a function"):
        buffer_callback(3, RESULT)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="vmap_method must be one of"):
        buffer_callback(added, RESULT, vmap_method="x")
    with pytest.raises(ValueError, match="called one by one"):
        buffer_callback(added, RESULT, vmap_method="expand_dims", has_side_effect=True)
    for aliases, message in (({1: 0}, "argument 1"), ({0: 1}, "result 1"), ({0: 0}, "of another type")):
        with pytest.raises(ValueError, match=message):
            buffer_callback(added, RESULT, input_output_aliases=aliases)(np.float32([1, 2]))


MESH = tangrad.make_mesh((1, 1), ("x", "y"))


def test_maps_over_one_axis() -> None:
    @tangrad.smap(in_axes=(0, None), out_axes=(0, None), axis_name="x")
    def outer(a: Any, b: Any) -> Any:
        inner = tangrad.smap(lambda v: v + tangrad.lax.axis_index("y"), in_axes=1, out_axes=1, axis_name="y")
        return inner(a) * b, tangrad.lax.psum(a.sum(), "x")

    with MESH:
        rows, total = tangrad.jit(outer)(tnp.ones((2, 3)), 2.0)
    assert rows.tolist() == [[2, 2, 2]] * 2
    assert total == 6
    with MESH:
        slope = tangrad.grad(lambda x: outer(x, 3.0)[0].sum())(tnp.ones((2, 3)))
    assert slope.tolist() == [[3, 3, 3]] * 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"in_axes": 0, "out_axes": 0, "axis_name": ("x", "y")}, TypeError, "the name of one axis"),
        ({"in_axes": [0], "out_axes": 0, "axis_name": "x"}, TypeError, "in_axes must be an integer, None"),
        ({"in_axes": 0, "out_axes": "x", "axis_name": "x"}, TypeError, "out_axes must be integers"),
        ({"in_axes": -1, "out_axes": 0, "axis_name": "x"}, ValueError, "in_axes must count dimensions from the front"),
    ],
)
def test_maps_that_are_refused(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tangrad.smap(lambda v: v, **options)
