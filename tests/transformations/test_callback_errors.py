"""Callbacks that go wrong: what is said, where and when it comes up, and that all goes on; order, and threads."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import tangrad
from tangrad import debug, experimental, lax
from tangrad import numpy as tnp
from tangrad import use_backend as backend_setting
from tangrad.core import EVAL_TRACE, thread
from tangrad.errors import CallbackError

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


def load_table(x):
    raise FileNotFoundError("table.bin")


def slow_product():
    """Something that takes the processor so long that a program which needs it cannot start at once."""
    x = tnp.ones((900, 900))
    return tangrad.jit(lambda x: x @ x @ x @ x @ x @ x)(x)


def started(program, *args):
    """The result of a program that will fail, started before its argument is there. Else it would fail at once."""
    for _ in range(20):
        try:
            return program(slow_product(), *args)
        except CallbackError:  # the product was there already: on a busy machine that happens
            continue
    raise AssertionError("programs do not run beside the one that starts them")


# --- errors ----------------------------------------------------------------------------------------------------------


def calls(function, declared):
    """Each way to call a function of the host by which it must keep what it declares."""
    pure = lambda x: tangrad.pure_callback(function, declared, x)
    io = lambda x: experimental.io_callback(function, declared, x)
    ordered = lambda x: experimental.io_callback(function, declared, x, ordered=True)
    mapped = tangrad.vmap(lambda x: tangrad.pure_callback(function, declared, x, vmap_method="sequential"), axis_size=2)
    return [pure, io, ordered, lambda x: mapped(tnp.stack([x, x]))]


@pytest.mark.parametrize("way", range(4), ids=["pure", "io", "ordered io", "mapped"])
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_what_a_callback_raises_is_the_cause_of_an_error_that_names_it(backend, way, jitted):
    call = calls(load_table, like(THREE))[way]
    with pytest.raises(CallbackError, match=r"'load_table', called by .*_callback at .*\.py") as caught:
        tangrad.block_until_ready((tangrad.jit(call) if jitted else call)(THREE))
    assert "raised FileNotFoundError: table.bin" in str(caught.value)
    assert type(caught.value.__cause__) is FileNotFoundError
    assert caught.value.__cause__.__traceback__.tb_frame.f_code is load_table.__code__


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("results", [0, 1, 2])
def test_programs_of_any_number_of_arguments_and_results_name_what_failed(backend, count, results):
    def load(*args):
        raise FileNotFoundError("table.bin")

    ways = (tangrad.pure_callback, experimental.io_callback) if results else (experimental.io_callback,)
    for way in ways:  # a pure call without results is dropped
        program = tangrad.jit(lambda *args, way=way: way(load, [FLOAT] * results, *args))
        with pytest.raises(CallbackError, match=r"'load', called by .* raised FileNotFoundError: table\.bin"):
            tangrad.block_until_ready(program(*[1.0] * count))
            tangrad.effects_barrier()


WRONG = {
    "shape": (lambda x: np.zeros(2, "float32"), like(THREE), r"float32\[2\], but float32\[3\] was declared"),
    "dtype": (lambda x: np.zeros(3, "int32"), like(THREE), r"int32\[3\], but float32\[3\] was declared"),
    "number": (lambda x: 1, FLOAT, r"int32\[\], but float32\[\] was declared"),
    "leaf": (
        lambda x: {"a": x, "b": 1.5 + x[:1]},
        {"a": like(THREE), "b": FLOAT},
        r"at result\['b'\], .* float32\[1\]",
    ),
    "too few": (lambda x: (x,), (like(THREE),) * 2, r"structure PyTreeDef\(\(\*,\)\), but PyTreeDef\(\(\*, \*\)\)"),
    "too many": (lambda x: (x, x), like(THREE), r"structure PyTreeDef\(\(\*, \*\)\), but PyTreeDef\(\*\) was"),
    "names": (lambda x: {"b": x}, {"a": like(THREE)}, "structure .*'b'.*'a'"),
    "nothing": (lambda x: None, like(THREE), r"structure PyTreeDef\(None\)"),
    "something": (lambda x: x, None, r"but PyTreeDef\(None\) was declared"),
    "text": (lambda x: "text", FLOAT, "'text' of type str, which is no array"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_what_is_returned_must_be_what_was_declared(backend, case, jitted):
    function, declared, message = WRONG[case]
    ways = calls(function, declared)[:3]
    for call in ways[1:] if declared is None and jitted else ways:  # a pure call without results is dropped
        with pytest.raises(CallbackError, match=message) as caught:
            tangrad.block_until_ready((tangrad.jit(call) if jitted else call)(THREE))
        assert "'<lambda>', called by" in str(caught.value) and __file__ in str(caught.value)


def test_the_next_call_works(backend):
    state = {"broken": True}

    def sometimes(x):
        if state["broken"]:
            raise ValueError("broken")
        return np.asarray(x) + 1

    for wrap in (lambda f: f, tangrad.jit):
        f = wrap(lambda x: tangrad.pure_callback(sometimes, like(x), x) * 2)
        g = wrap(
            lambda x: (experimental.io_callback(sometimes, like(x), x, ordered=True), debug.print("", ordered=True))
        )
        for call in (f, g):
            state["broken"] = True
            for _ in range(2):
                with pytest.raises(CallbackError, match="broken"):
                    tangrad.block_until_ready(call(THREE))
            state["broken"] = False
            np.testing.assert_array_equal(np.ravel(tangrad.tree.leaves(call(THREE))[0])[0], 2 if call is f else 1)
        tangrad.effects_barrier()


def test_errors_of_debugging_come_out_as_they_are_where_nothing_is_compiled(backend):
    with pytest.raises(FileNotFoundError, match="table"):
        debug.callback(load_table, THREE)
    with pytest.raises(FileNotFoundError, match="table"):
        tangrad.vmap(lambda x: debug.callback(load_table, x))(THREE)
    with pytest.raises(CallbackError, match=r"called by debug.callback at .* raised FileNotFoundError"):
        tangrad.block_until_ready(tangrad.jit(lambda x: (debug.callback(load_table, x), x)[1])(THREE))
    with pytest.raises(CallbackError, match=r"'{:.2f}', called by debug.print"):
        tangrad.block_until_ready(tangrad.jit(lambda x: (debug.print("{:.2f}", x), x)[1])(THREE))


def test_interrupts_are_not_wrapped(backend):
    def interrupt(x):
        raise KeyboardInterrupt

    f = tangrad.jit(lambda x: tangrad.pure_callback(interrupt, like(x), x))
    with pytest.raises(KeyboardInterrupt):
        tangrad.block_until_ready(f(THREE))
    assert thread.trace is EVAL_TRACE
    assert float(tangrad.jit(lambda x: x + 1)(1.0)) == 2


def test_an_error_within_a_callback_of_a_callback(backend):
    inner = tangrad.jit(lambda x: tangrad.pure_callback(load_table, like(x), x))
    outer = tangrad.jit(lambda x: tangrad.pure_callback(lambda x: np.asarray(inner(x)), like(x), x))
    with pytest.raises(CallbackError, match=r"'<lambda>', called by .* raised CallbackError: .*'load_table'") as caught:
        tangrad.block_until_ready(outer(THREE))
    assert type(caught.value.__cause__.__cause__) is FileNotFoundError


def test_arguments_and_declarations_are_checked_when_the_call_is_written():
    with pytest.raises(TypeError, match=r"pure_callback: args\[1\]\['a'\] for 'load_table' is 'text' of type str"):
        tangrad.pure_callback(load_table, FLOAT, 1.0, {"a": "text"})
    with pytest.raises(TypeError, match=r"io_callback: kwargs\['name'\] .* is not an array"):
        experimental.io_callback(load_table, None, name=object())
    with pytest.raises(TypeError, match=r"result_shape_dtypes\[1\] must have a shape and a dtype"):
        tangrad.pure_callback(load_table, (FLOAT, 3.0), 1.0)
    with pytest.raises(TypeError, match=r"result_shape_dtypes must have a shape and a dtype.*key"):
        tangrad.pure_callback(load_table, tangrad.random.key(0), 1.0)
    with pytest.raises(ValueError, match="declares float64, but 64-bit types are off"):
        tangrad.pure_callback(load_table, tangrad.ShapeDtypeStruct((), "float64"), 1.0)
    with pytest.raises(TypeError, match="pure_callback expects a function as its first argument, got 3"):
        tangrad.pure_callback(3, FLOAT, 1.0)
    with pytest.raises(ValueError, match="vmap_method must be one of"):
        tangrad.pure_callback(load_table, FLOAT, 1.0, vmap_method="rows")
    with pytest.raises(ValueError, match=r"sharding must be None or a sharding of one device"):
        tangrad.pure_callback(load_table, FLOAT, 1.0, sharding="all")
    with pytest.raises(TypeError, match=r"debug.print expects a format, a string, got 3"):
        debug.print(3)


def test_a_sharding_of_one_device_is_taken(on_xla):
    x = tnp.ones(3)
    found = tangrad.pure_callback(lambda x: np.asarray(x) + 1, like(x), x, sharding=x.sharding)
    np.testing.assert_array_equal(found, [2, 2, 2])


def test_transformations_that_are_refused_say_what_to_write():
    one = lambda x: tangrad.pure_callback(np.sin, FLOAT, x)
    with pytest.raises(ValueError, match=r"pure_callback of 'sin' .* cannot be differentiated: .*custom_jvp"):
        tangrad.jvp(one, (1.0,), (1.0,))
    with pytest.raises(ValueError, match=r"io_callback of 'sin' .* cannot be differentiated"):
        tangrad.grad(lambda x: experimental.io_callback(np.sin, FLOAT, x))(1.0)
    with pytest.raises(NotImplementedError, match="does not say how: pass vmap_method='sequential'"):
        tangrad.vmap(one)(THREE)
    with pytest.raises(ValueError, match=r"is ordered, and cannot be mapped by vmap.*lax.map"):
        tangrad.vmap(lambda x: experimental.io_callback(np.sin, FLOAT, x, ordered=True))(THREE)
    with pytest.raises(ValueError, match=r"cannot be transposed: .*custom_transpose"):
        tangrad.linear_transpose(one, 1.0)(1.0)


# --- what comes up later, where programs run beside the one that started them ----------------------------------------


def test_errors_come_up_where_results_are_waited_for(on_xla):
    f = tangrad.jit(lambda x: tangrad.pure_callback(load_table, FLOAT, x[0, 0]) * 2)
    waits = (tangrad.block_until_ready, np.asarray, float, str)
    for wait in waits:
        with pytest.raises(CallbackError, match=r"table.bin"):
            wait(f(slow_product()))
    with pytest.raises(CallbackError, match=r"table.bin"):
        float(f(slow_product()) + 1)  # a program that needs the result has none either


def test_errors_of_effects_come_up_at_the_barrier_once(on_xla):
    program = tangrad.jit(lambda x: (debug.callback(load_table, x[0, 0]), x[0, 0])[1])
    result = started(program)
    with pytest.raises(CallbackError, match=r"table.bin"):
        tangrad.effects_barrier()
    tangrad.effects_barrier()
    with pytest.raises(CallbackError, match=r"table.bin"):
        result.block_until_ready()


def test_a_failed_program_does_not_stop_those_after_it(on_xla):
    seen = []

    def note(x):
        if float(x) == 1:
            raise ValueError("the first")
        seen.append(float(x))

    program = tangrad.jit(lambda x, n: (experimental.io_callback(note, None, n, ordered=True), x[0, 0] * 0 + n)[1])
    x = slow_product()
    started(program, 1.0)
    assert [float(result) for result in (program(x, 2.0), program(x, 3.0))] == [2, 3]
    assert seen == [2, 3]
    with pytest.raises(CallbackError, match="the first"):
        tangrad.effects_barrier()
    tangrad.effects_barrier()


def test_failures_that_are_kept_are_few(on_xla):
    from tangrad._backend_xla import failures

    def fails(x):
        raise ValueError(f"number {int(x)}")

    program = tangrad.jit(lambda x: tangrad.pure_callback(fails, FLOAT, x))
    for number in range(failures.LIMIT + 8):
        with pytest.raises(CallbackError, match=f"number {number}"):
            tangrad.block_until_ready(program(float(number)))
    assert len(failures._kept) == failures.LIMIT
    failures.forget()


def test_effects_are_in_order_across_programs(backend):
    seen = []
    note = lambda tag: lambda x: seen.append((tag, float(x)))
    report = lambda tag, x: experimental.io_callback(note(tag), None, x, ordered=True)
    first = tangrad.jit(lambda x: (report("first", x[0, 0] * 0 + 1), x)[1])
    second = tangrad.jit(lambda x: (report("second", x[0, 0] * 0 + 2), x)[1])
    x = slow_product()
    for _ in range(3):
        first(slow_product())
        second(x)
        report("directly", np.float32(3))
        first(x)
    tangrad.effects_barrier()
    assert seen == [("first", 1), ("second", 2), ("directly", 3), ("first", 1)] * 3


def test_ordered_effects_in_loops_are_those_of_a_python_loop(backend):
    def program(loop, n):
        seen = []

        def turn(i, c):
            experimental.io_callback(lambda i: seen.append(int(i)), None, i, ordered=True)
            inner = lambda k, c: (
                experimental.io_callback(lambda k: seen.append(-int(k)), None, k, ordered=True),
                c + k,
            )[1]
            return loop(0, i, inner, c)

        result = (
            int(tangrad.jit(lambda n: loop(0, n, turn, 0))(n)) if loop is lax.fori_loop else int(loop(0, n, turn, 0))
        )
        tangrad.effects_barrier()
        return seen, result

    def python_loop(start, stop, body, init):
        for i in range(int(start), int(stop)):
            init = body(i, init)
        return init

    assert program(lax.fori_loop, 4) == program(python_loop, 4)


# --- threads ---------------------------------------------------------------------------------------------------------


def test_each_thread_has_its_order_and_its_errors(backend):
    outcomes = {}

    def work(number):
        seen = []

        def note(x):
            if number == 0 and len(seen) == 5:
                seen.append("failed")
                raise ValueError("thread 0")
            seen.append(int(x))

        with backend_setting(backend):
            program = tangrad.jit(
                lambda x: (
                    experimental.io_callback(note, None, x, ordered=True),
                    tangrad.pure_callback(lambda x: tnp.sin(x) * tangrad.grad(tnp.cos)(x), FLOAT, x * 1.0),
                )[1]
            )
            errors = 0
            for i in range(12):
                try:
                    tangrad.block_until_ready(program(i))
                except CallbackError as error:
                    errors += "thread 0" in str(error)
            try:
                tangrad.effects_barrier()
            except CallbackError:
                errors += 1
        outcomes[number] = seen, errors

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    tangrad.effects_barrier()
    assert outcomes[0] == ([*range(5), "failed", *range(6, 12)], 1)
    assert all([outcomes[number] == (list(range(12)), 0) for number in (1, 2, 3)])


def test_the_barrier_waits_for_threads_that_have_ended(on_xla):
    seen = []
    program = tangrad.jit(lambda x: debug.callback(lambda x: seen.append(float(x)), x[0, 0]))
    x = slow_product()

    def work():
        with backend_setting("xla"):
            program(x)

    one = threading.Thread(target=work)
    one.start()
    one.join()
    tangrad.effects_barrier()
    assert len(seen) == 1


def test_what_is_printed_last_comes_out_when_the_interpreter_ends():
    text = """
import time, tangrad
from tangrad import numpy as tnp
x = tangrad.jit(lambda x: x @ x @ x @ x)(tnp.ones((900, 900)))
show = tangrad.jit(lambda x: tangrad.debug.callback(lambda x: (time.sleep(0.1), print("last")), x[0, 0]))
show(x)
"""
    command = [sys.executable, "-c", f"import tangrad\ntangrad.config.update('backend', 'xla'){text}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("last\n", 0), done.stderr
