"""`jit`: one trace and one compilation per signature; static and donated arguments; stages; what it refuses."""

import gc
import os
import subprocess
import sys
import weakref

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


def counted(function=lambda x: np.sin(x) * 2.0, **options):
    calls = []

    def traced(*args, **kwargs):
        calls.append(args)
        return function(*args, **kwargs)

    return tangrad.jit(traced, **options), calls


def test_traces_once_per_type():
    f, calls = counted()
    for value in (1.0, 2.0):
        assert float(f(np.float32(value))) == pytest.approx(2 * numpy.sin(value), rel=1e-6)
    assert len(calls) == 1 and f.trace_count == 1 and f._cache_size() == 1
    f(np.ones(3))
    f(np.ones(3, "int32"))
    assert len(calls) == 3
    f(1.0)  # weakly typed: another type than float32
    assert len(calls) == 4


def test_equal_functions_share_programs():
    def f(x):
        f.calls += 1
        return x + 1

    f.calls = 0
    tangrad.jit(f)(np.ones(2))
    tangrad.jit(f)(np.ones(2))
    assert f.calls == 1


def test_settings_that_change_results_are_part_of_the_key():
    f, calls = counted(lambda x: x + np.ones((), np.result_type(float)))
    assert f(numpy.ones(2, "float32")).dtype == numpy.float32
    with tangrad.enable_x64(True):
        assert f(numpy.ones(2, "float32")).dtype == numpy.float64
    assert f(numpy.ones(2, "float32")).dtype == numpy.float32
    assert len(calls) == 2


def test_trees_and_keywords():
    @tangrad.jit
    def f(a, *, b):
        return {"sum": a["x"] + b, "pair": (a["y"], None)}

    out = f({"x": 1.0, "y": np.arange(2)}, b=np.ones(2))
    assert out["sum"].tolist() == [2.0, 2.0] and out["pair"][0].tolist() == [0, 1] and out["pair"][1] is None


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnames": "n"}, {"static_argnums": (-1,)}])
def test_static_arguments(options):
    f, calls = counted(lambda x, n: x * n)
    f = tangrad.jit(lambda x, n: calls.append(n) or x**n, **options)
    assert float(f(2.0, 3)) == 8.0 and float(f(3.0, 3)) == 27.0
    assert calls == [3]
    assert float(f(2.0, n=2) if options.get("static_argnums") != (-1,) else f(2.0, 2)) == 4.0
    assert calls == [3, 2]


def test_static_values_of_equal_value_but_other_type():
    f = tangrad.jit(lambda x, s: x + (1 if isinstance(s, bool) else 2 if isinstance(s, int) else 3), static_argnums=1)
    assert [int(f(0, s)) for s in (True, 1, 1.0)] == [1, 2, 3]
    zero = tangrad.jit(lambda x, s: x + numpy.copysign(1.0, s), static_argnums=1)
    assert [float(zero(0.0, s)) for s in (0.0, -0.0)] == [1.0, -1.0]


def test_bad_declarations():
    with pytest.raises(ValueError, match="static_argnums has 3, but the function takes 1 positional"):
        tangrad.jit(lambda x: x, static_argnums=3)
    with pytest.raises(ValueError, match="static_argnames has 'z', but the function's arguments are x"):
        tangrad.jit(lambda x: x, static_argnames="z")
    with pytest.raises(TypeError, match="static_argnums must be an integer"):
        tangrad.jit(lambda x: x, static_argnums="x")
    with pytest.raises(ValueError, match="static and donated"):
        tangrad.jit(lambda x: x, static_argnums=0, donate_argnums=0)
    with pytest.raises(ValueError, match="both a device and a backend"):
        tangrad.jit(lambda x: x, device=tangrad.devices()[0], backend="numpy")
    with pytest.raises(TypeError, match="expects a function, got 3"):
        tangrad.jit(3)
    with pytest.raises(TypeError, match="staticmethod"):
        tangrad.jit(staticmethod(lambda x: x))

    def generator(x):
        yield x

    with pytest.raises(TypeError, match="generator"):
        tangrad.jit(generator)


def test_bad_arguments():
    f = tangrad.jit(lambda x, n: x, static_argnums=1)
    with pytest.raises(ValueError, match=r"static argument at position 1 must be hashable, got \[1\] of type list"):
        f(1.0, [1])
    with pytest.raises(TypeError, match=r"args\[0\]\['a'\] of a jitted function is 'text' of type str"):
        tangrad.jit(lambda x: x)({"a": "text"})
    with pytest.raises(TypeError, match=r"returned, at result\[1\], 'text' of type str"):
        tangrad.jit(lambda x: (x, "text"))(1.0)
    with pytest.raises(ValueError, match="donate_argnums has 1, but the call has 1"):
        tangrad.jit(lambda *xs: xs[0], donate_argnums=1)(np.ones(2))
    assert float(tangrad.jit(lambda x: x + 1)(1.0)) == 2.0  # the next call works


def test_donated_arguments_are_deleted():
    f = tangrad.jit(lambda x, y: x + y, donate_argnums=0)
    x, y = np.ones(4), np.ones(4)
    assert f(x, y).tolist() == [2.0] * 4
    assert x.is_deleted() and not y.is_deleted()
    with pytest.raises(RuntimeError, match="delet"):
        x + 1


def test_disable_jit_runs_plain_python():
    seen = []
    f = tangrad.jit(lambda x: seen.append(float(x)) or x + 1)
    with tangrad.disable_jit():
        assert float(f(1.0)) == 2.0
        f(2.0)
    assert seen == [1.0, 2.0]


def test_python_control_flow_on_tracers():
    @tangrad.jit
    def branch(x):
        return x if x > 0 else -x

    with pytest.raises(tangrad.errors.TracerBoolConversionError, match=r"numpy\.where"):
        branch(1.0)
    with pytest.raises(tangrad.errors.ConcretizationTypeError, match="static"):
        tangrad.jit(lambda x: float(x))(1.0)
    with pytest.raises(tangrad.errors.TracerArrayConversionError, match=r"tangrad.numpy.sin"):
        tangrad.jit(lambda x: numpy.sin(x))(1.0)
    with pytest.raises(tangrad.errors.TracerIntegerConversionError):
        tangrad.jit(lambda n: list(range(n)))(3)
    assert float(tangrad.grad(lambda x: x * x if x > 0 else -x)(3.0)) == 6.0  # concrete values: fine


def test_a_leaked_tracer_is_named():
    kept = []
    tangrad.jit(lambda x: kept.append(x * 2) or x)(1.0)
    with pytest.raises(tangrad.errors.UnexpectedTracerError, match="outside of the transformation"):
        kept[0] + 1
    with pytest.raises(tangrad.errors.UnexpectedTracerError):
        tangrad.jit(lambda x: x + kept[0])(1.0)
    kept.clear()


def test_leaks_are_found_where_they_happen():
    kept = []
    with tangrad.check_tracer_leaks(True):
        with pytest.raises(tangrad.errors.LeakedTracerError):
            tangrad.jit(lambda x: kept.append(x) or x)(1.0)
        assert float(tangrad.jit(lambda x: x + 1)(1.0)) == 2.0
    kept.clear()


def test_an_interrupted_trace_leaves_nothing_behind():
    def interrupted(x):
        raise KeyboardInterrupt

    for transform in (tangrad.jit, tangrad.grad, tangrad.vmap, lambda f: tangrad.jit(tangrad.grad(f))):
        with pytest.raises(KeyboardInterrupt):
            transform(interrupted)(np.ones(1) if transform is tangrad.vmap else 1.0)
    assert float(np.sin(0.0)) == 0.0
    assert float(tangrad.jit(tangrad.grad(lambda x: x**2))(2.0)) == 4.0


def test_closed_over_tracers_become_arguments():
    def outer(x):
        inner = tangrad.jit(lambda y: x * y)
        return inner(2.0) + inner(3.0)

    assert float(tangrad.grad(outer)(1.5)) == 5.0
    assert float(tangrad.jit(tangrad.grad(outer))(1.5)) == 5.0
    assert tangrad.vmap(outer)(np.arange(3.0)).tolist() == [0.0, 5.0, 10.0]


def test_programs_go_with_their_function():
    def f(x):
        return x + 1

    tangrad.jit(f)(np.ones(2))
    reference = weakref.ref(f)
    del f
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("count", [0, 1, 2])
def test_results_and_constants_go_with_their_last_name(count):
    def program():
        x = np.ones(3) * 2
        return tangrad.jit(lambda *args: (x + 1) if not args else (x + sum(args))), weakref.ref(x)

    args = [numpy.ones(3, "float32")] * count
    f, constant = program()
    gc.disable()
    try:
        f(*args)
        result = weakref.ref(f(*args))
        assert result() is None and constant() is not None
        del f
        assert constant() is None
    finally:
        gc.enable()


def test_clear_caches_traces_again():
    f, calls = counted()
    f(1.0)
    tangrad.clear_caches()
    f(1.0)
    assert len(calls) == 2


def test_methods():
    @tangrad.tree_util.register_pytree_node_class
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def tree_flatten(self):
            return (self.factor,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

        @tangrad.jit
        def __call__(self, x):
            return self.factor * x

    assert Scale(np.float32(3.0))(2.0) == 6.0


def test_stages():
    f = tangrad.jit(lambda x, *, scale: {"out": x * scale}, static_argnames="scale")
    lowered = f.lower(tangrad.ShapeDtypeStruct((3,), "float32"), scale=2.0)
    assert lowered.out_info == {"out": tangrad.ShapeDtypeStruct((3,), "float32")}
    assert "mul" in lowered.as_text()
    compiled = lowered.compile()
    assert compiled(np.ones(3))["out"].tolist() == [2.0] * 3
    assert isinstance(compiled.as_text(), str) and compiled.as_text()
    assert isinstance(compiled.cost_analysis(), dict)
    with pytest.raises(TypeError, match=r"lowered for f32\[3\] as args\[0\], got f32\[4\]"):
        compiled(np.ones(4))
    with pytest.raises(TypeError, match="structure"):
        compiled((np.ones(3),))


def test_make_jaxpr_prints_as_users_know_it():
    printed = str(tangrad.make_jaxpr(lambda x: np.sin(x))(np.ones(3)))
    assert printed == "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }"
    nested = str(tangrad.make_jaxpr(tangrad.jit(lambda x: x * 2.0))(np.ones(3)))
    assert "jit[" in nested and "name=<lambda>" in nested and "mul" in nested
    _jaxpr, shape = tangrad.make_jaxpr(lambda x: (x, x[0]), return_shape=True)(np.ones(3))
    assert shape == (tangrad.ShapeDtypeStruct((3,), "float32"), tangrad.ShapeDtypeStruct((), "float32"))
    constant = numpy.arange(3.0, dtype="float32")
    assert str(tangrad.make_jaxpr(lambda x: x + constant)(np.ones(3))).startswith("{ lambda a:f32[3] ; b:f32[3]. let")


@pytest.mark.parametrize("wrap", [lambda f: f, tangrad.jit, tangrad.grad, tangrad.vmap])
def test_constants_of_make_jaxpr_are_in_the_order_of_use_whichever_are_traced(wrap):
    whole = np.arange(7)  # too long to be written out as a literal
    shapes = []

    def f(x):
        traced = x * np.ones((2, 3))
        scanned = lambda y: tangrad.lax.scan(lambda c, i: (c * traced[0, 0], i), y, whole)
        for program in (
            lambda y: (whole + 1, traced * y),
            lambda y: (traced * y, whole + 1),
            lambda y: (scanned(y), traced),
            lambda y: (traced, whole),
        ):
            closed = tangrad.make_jaxpr(program)(1.0)
            assert [v.aval for v in closed.jaxpr.constvars] == [tangrad.typeof(c) for c in closed.consts]
            got = tangrad.core.jaxpr_as_function(closed)(np.array(2.0))
            assert [np.shape(v) for v in got] == [v.aval.shape for v in closed.jaxpr.outvars]
            shapes.append([np.shape(c) for c in closed.consts])
        return x * 2.0

    wrap(f)(np.ones(4) if wrap is tangrad.vmap else 1.0)
    assert shapes == [[(7,), (2, 3)], [(2, 3), (7,)], [(2, 3), (7,)], [(2, 3), (7,)]]


def test_eval_shape_computes_nothing():
    out = tangrad.eval_shape(
        lambda a, b: a @ b, tangrad.ShapeDtypeStruct((10**6, 10**6), "float32"), numpy.ones((10**6, 1), "f4")
    )
    assert out == tangrad.ShapeDtypeStruct((10**6, 1), "float32")


def test_inline_calls_disappear():
    inner = tangrad.jit(lambda x: np.sin(x), inline=True)
    assert "jit" not in str(tangrad.make_jaxpr(lambda x: inner(x))(1.0))


def test_unused_arguments_are_dropped_unless_kept():
    for keep in (False, True):
        f = tangrad.jit(lambda x, y: x + 1, keep_unused=keep)
        assert f(np.ones(2), np.ones(3)).tolist() == [2.0, 2.0]


def test_numpy_arguments_are_not_aliased():
    x = numpy.ones(3, "float32")
    f = tangrad.jit(lambda x: x)
    out = f(x)
    x[:] = 7
    assert out.tolist() == [1.0] * 3


def test_debug_nans_names_the_operation():
    f = tangrad.jit(lambda x: np.log(x) * 2.0)
    with tangrad.debug_nans(True), pytest.raises(FloatingPointError, match="'log'"):
        f(-1.0)
    assert numpy.isnan(f(-1.0))


def test_shape_errors_inside_leave_the_function_usable():
    f = tangrad.jit(lambda x, y: lax.add(x, y))
    with pytest.raises((TypeError, ValueError), match=r"\(3,\) and \(4,\)"):
        f(np.ones(3), np.ones(4))
    assert f(np.ones(3), np.ones(3)).tolist() == [2.0] * 3


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_calls_of_all_kinds_find_their_own_program(backend):
    traced = []

    def f(x, y=1.0, *, flag=False, **more):
        traced.append(flag)
        return [x, y, flag, more.get("z", 0.0)]

    x = numpy.arange(3, dtype="float32")
    calls = [
        ((x,), {}),
        ((x, 2.0), {}),
        ((x,), {"y": 2.0}),
        ((x, 2), {}),
        ((x, True), {}),
        ((x,), {"flag": True}),
        ((x,), {"flag": 1}),
        ((x, {"y": x}), {}),
        ((x,), {"y": x}),
        ((x, 2.0), {"z": x}),
        ((numpy.float64(2), numpy.array([1 + 2j])), {}),
        (((x, {"y": x}),), {}),
    ]
    with tangrad.use_backend(backend):
        jitted = tangrad.jit(f, static_argnames="flag")
        first = [jitted(*args, **named) for args, named in calls]
        count = len(traced)
        again = [jitted(*args, **named) for args, named in calls]
        assert len(traced) == count  # found, not traced anew
        for (args, named), one, other in zip(calls, first, again, strict=True):
            expected = tangrad.tree.map(np.asarray, f(*args, **named))
            assert tangrad.tree.map(_described, one) == tangrad.tree.map(_described, other)
            assert tangrad.tree.map(_described, one) == tangrad.tree.map(_described, expected)


def _described(x):
    return str((x.dtype, x.shape, x.weak_type, x.tolist()))


def test_arguments_that_are_no_arrays_are_named_by_their_place():
    jitted = tangrad.jit(lambda x, y: x)
    jitted(1.0, y=2.0)
    with pytest.raises(TypeError, match=r"kwargs\['y'\].*'text'"):
        jitted(1.0, y="text")
    with pytest.raises(OverflowError):
        jitted(1.0, y=2**80)


def test_committed_arrays_stay_on_their_device_beside_numbers():
    program = """
import numpy as np, tangrad
device = tangrad.devices()[1]
x = tangrad.device_put(np.ones(3, "float32"), device)
f = tangrad.jit(lambda x, y: x * y)
for result in (f(x, x), f(x, x), f(x, 2.0), f(x, 2.0), f(x, y=np.float32(2)), f(x, y=np.float32(2))):
    assert result.devices() == {device} and result.committed, result.devices()
"""
    for backend in ("numpy", "xla"):
        places = {"TANGRAD_BACKEND": backend, "TANGRAD_NUM_CPU_DEVICES": "2"}
        subprocess.run([sys.executable, "-c", program], env={**os.environ, **places}, check=True, timeout=120)


def test_arrays_find_the_program_first_whatever_the_function_was_compiled_for():
    """A call with numbers or NumPy's arrays is sorted out each time; one with arrays not even if it is the first."""
    calls = []

    class Watched(type(tangrad.jit(lambda x: x))):
        def _call(self, args, kwargs):
            calls.append(args)
            return super()._call(args, kwargs)

    function = Watched(lambda x: x + x)
    given = numpy.ones(3, "float32")
    array = np.asarray(given)
    for argument in (given, array, array, array):
        assert np.array_equal(function(argument), 2 * given)
    assert len(calls) == 1
    assert function.trace_count == 1
    tree_of = Watched(lambda xs: xs[0] + xs[1])
    for arguments in ((given, array), (array, array), (array, array)):
        tree_of(arguments)
    assert len(calls) == 2


def test_what_is_kept_of_static_values_is_bounded(monkeypatch):
    monkeypatch.setattr("tangrad._jit.function.SIGNATURE_LIMIT", 8)
    times = tangrad.jit(lambda x, factor: x * factor, static_argnums=1)
    for factor in range(40):
        assert float(times(2.0, factor)) == 2.0 * factor
        assert len(times._tables.traced) <= 8 and len(times._programs) <= 8
    assert times.trace_count == 40
    times(2.0, 39)
    assert times.trace_count == 40
