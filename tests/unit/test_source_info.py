"""Places in the user's program, name stacks, and tracebacks without the framework's frames."""

import contextlib
import functools
import gc
import inspect
import os
import subprocess
import sys
import threading
import traceback
import weakref

import pytest

import tangrad
from tangrad._core.diagnostics import source_info, tracebacks
from tangrad._core.diagnostics.source_info import (
    NameStack,
    SourceInfo,
    copy_identity,
    current_name_stack,
    current_source,
    named_scope,
)
from tangrad._core.diagnostics.tracebacks import api_boundary, without_internal_frames
from tangrad._core.settings.config import thread, traceback_filtering
from tangrad._core.settings.threads import holding

INTERNAL_FILE = os.path.join(next(iter(tangrad.__path__)), "lax", "made_up.py")
INTERNAL_CODE = """
def call(function, *args):
    return function(*args)

def fail(*args):
    raise ValueError("from within")

def call_in_scope(function):
    with context():
        return decorated(function)

def decorated(function):
    return function()
"""


@contextlib.contextmanager
def nothing():
    yield


def load_internal(filename=INTERNAL_FILE):
    """Functions whose frames look like the framework's own."""
    namespace = {"context": nothing}
    exec(compile(INTERNAL_CODE, filename, "exec"), namespace)
    return namespace


INTERNAL = load_internal()


def here():
    """The line of the caller."""
    return sys._getframe(1).f_lineno


# --- places --------------------------------------------------------------------------------------------------------


def test_the_place_is_the_users_line():
    def user_function():
        return INTERNAL["call"](INTERNAL["call"], current_source), here()

    source, line = user_function()
    assert (source.file, source.line, source.function) == (__file__, line, "user_function")
    text = inspect.getsource(user_function).splitlines()[1]
    assert source.column == text.index('INTERNAL["call"](INTERNAL') + 1
    assert source.summarize() == f"{__file__}:{line}:{source.column} (user_function)"
    assert source.summarize() in repr(source)


def test_contexts_and_lru_caches_of_the_standard_library_are_passed_over():
    source, line = INTERNAL["call_in_scope"](current_source), here()
    assert (source.file, source.line) == (__file__, line)
    dispatch = functools.singledispatch(lambda x: INTERNAL["call"](current_source))
    assert dispatch(1).line == here() - 1


def test_frames_that_the_caller_knows_can_be_skipped():
    outer = lambda: current_source(2)
    source, line = outer(), here()
    assert source.line == line


def test_a_place_keeps_no_frame_alive():
    class Value:
        pass

    def user_function():
        value = Value()
        return INTERNAL["call"](current_source), weakref.ref(value)

    gc.disable()
    try:
        source, reference = user_function()
        assert reference() is None
    finally:
        gc.enable()
    assert source.function == "user_function"


def test_without_a_users_frame_the_place_is_unknown():
    found = []
    target = load_internal(threading.__file__)["call"]
    source_info._BETWEEN.extend([threading.__file__, __file__])
    source_info._internal.clear()
    try:
        started = threading.Thread(target=target, args=(lambda: found.append(INTERNAL["call"](current_source)),))
        started.start()
        started.join()
    finally:
        source_info._BETWEEN[-2:] = []
        source_info._internal.clear()
    assert found[0].summarize() == "an unknown place"
    assert (found[0].file, found[0].line, found[0].column, found[0].function) == ("", 0, 0, "")


def test_without_columns_the_place_has_a_line():
    code = current_source.__code__.replace(co_linetable=b"")
    assert SourceInfo((code, 0, NameStack())).line == code.co_firstlineno
    assert SourceInfo((code, 0, NameStack())).summarize().endswith(f":{code.co_firstlineno} (current_source)")


def test_verdicts_are_bounded():
    for number in range(5000):
        assert not source_info.is_internal(f"<cell {number}>")
    assert len(source_info._internal) <= 4096


# --- name stacks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stack, text",
    [
        (NameStack(), ""),
        (NameStack().extend("a").extend("b"), "a/b"),
        (NameStack().transform("jvp").extend("f"), "jvp(f)"),
        (NameStack().transform("vmap").transform("jvp").extend("f").extend("g"), "vmap(jvp(f))/g"),
        (NameStack().extend("outer").transform("jvp").extend("layer"), "outer/jvp(layer)"),
        (NameStack().transform("jvp"), "jvp()"),
    ],
)
def test_name_stacks_as_text(stack, text):
    assert str(stack) == text


def test_scopes_nest_and_end_with_an_exception():
    assert not current_name_stack()
    with named_scope("outer"):
        with pytest.raises(KeyError), named_scope("inner"):
            assert str(current_name_stack()) == "outer/inner"
            raise KeyError
        assert str(INTERNAL["call"](current_source).name_stack) == "outer"
    assert not current_name_stack()


def test_one_scope_may_be_entered_within_itself():
    scope = named_scope("a")
    with scope, scope:
        assert str(current_name_stack()) == "a/a"
    assert not current_name_stack()


def test_a_scope_decorates():
    @named_scope("layer")
    def apply(x, *, scale=1):
        """Apply."""
        return str(current_name_stack()), x * scale

    assert apply(2, scale=3) == ("layer", 6)
    assert (apply.__name__, apply.__doc__, str(inspect.signature(apply))) == ("apply", "Apply.", "(x, *, scale=1)")


def test_a_scope_has_a_name():
    with pytest.raises(TypeError, match="string"):
        named_scope(3)


def test_scopes_are_of_one_thread():
    seen = []
    with named_scope("here"):
        worker = threading.Thread(target=lambda: seen.append(current_name_stack()))
        worker.start()
        worker.join()
    assert seen == [NameStack()]


def test_operations_can_be_ascribed_to_another_place():
    with named_scope("first"):
        origin = current_source()
    with named_scope("second"), holding(source=origin):
        source = current_source()
    assert (source.line, source.function) == (origin.line, origin.function)
    assert str(source.name_stack) == "second"
    assert current_source().line == here()


# --- tracebacks ----------------------------------------------------------------------------------------------------


def frames_of(error):
    return [(entry.name, os.path.basename(entry.filename)) for entry in traceback.extract_tb(error.__traceback__)]


def raised_by(function, *args):
    with pytest.raises(ValueError, match="from within") as caught:
        function(*args)
    return caught.value


def user_fails():
    raise ValueError("from within")


def user_calls_framework():
    INTERNAL["call"](INTERNAL["fail"])


def test_a_boundary_leaves_out_the_frames_inside_the_framework():
    error = raised_by(api_boundary(INTERNAL["call"]), INTERNAL["call"], user_fails)
    assert [name for name, _ in frames_of(error)][-2:] == ["raised_by", "user_fails"]


def test_an_error_of_the_framework_ends_at_the_users_line():
    error = raised_by(api_boundary(INTERNAL["call"]), user_calls_framework)
    assert [name for name, _ in frames_of(error)][-2:] == ["raised_by", "user_calls_framework"]
    error = raised_by(api_boundary(INTERNAL["fail"]))
    assert [name for name, _ in frames_of(error)][-1] == "raised_by"


def test_what_was_left_out_can_be_had():
    error = raised_by(api_boundary(INTERNAL["call"]), user_calls_framework)
    assert error.__notes__ == [tracebacks.NOTE]
    whole = [entry.name for entry in traceback.extract_tb(error.unfiltered_traceback)]
    assert whole == ["boundary", "call", "user_calls_framework", "call", "fail"]


def test_nested_boundaries_filter_once_at_the_outermost():
    inner = api_boundary(INTERNAL["fail"])
    user_between = lambda: INTERNAL["call"](inner)
    error = raised_by(api_boundary(INTERNAL["call"]), user_between)
    assert [name for name, _ in frames_of(error)][-2:] == ["raised_by", "<lambda>"]
    assert error.__notes__ == [tracebacks.NOTE]
    whole = [entry.name for entry in traceback.extract_tb(error.unfiltered_traceback)]
    assert whole == ["boundary", "call", "<lambda>", "call", "boundary", "fail"]


def test_an_error_that_is_raised_again_gets_one_note():
    error = raised_by(api_boundary(INTERNAL["fail"]))

    def again():
        raise error

    raised_by(api_boundary(INTERNAL["call"]), again)
    assert error.__notes__ == [tracebacks.NOTE]


def test_filtering_can_be_turned_off():
    with traceback_filtering("off"):
        error = raised_by(api_boundary(INTERNAL["call"]), user_calls_framework)
    assert [name for name, _ in frames_of(error)][-3:] == ["user_calls_framework", "call", "fail"]
    assert not hasattr(error, "__notes__")


def test_the_environment_turns_it_off():
    code = "from tangrad._core.settings.config import thread; print(thread.traceback_filtering)"
    environment = {**os.environ, "TANGRAD_TRACEBACK_FILTERING": "off"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "off"
    assert thread.traceback_filtering == "auto"


def test_interruptions_pass_untouched():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        api_boundary(INTERNAL["call"])(interrupt)
    assert "call" in [name for name, _ in frames_of(caught.value)]
    assert not hasattr(caught.value, "__notes__")


def test_a_boundary_hands_on_arguments_results_and_identity():
    def function(x: int, /, y=2, *, z) -> tuple:
        """What it is for."""
        return x, y, z

    wrapped = api_boundary(function)
    assert wrapped(1, z=3) == (1, 2, 3)
    assert wrapped.__wrapped__ is function
    assert wrapped.__doc__ == "What it is for."
    assert wrapped.__qualname__ == function.__qualname__
    assert wrapped.__module__ == __name__
    assert inspect.signature(wrapped) == inspect.signature(function)
    other = api_boundary(lambda *args: None, identity=function)
    assert other.__name__ == "function"
    assert str(inspect.signature(other)) == str(inspect.signature(function))


def test_identity_of_callables_without_a_name():
    part = functools.partial(max, 1)
    wrapped = api_boundary(part)
    assert wrapped(2) == 2
    assert wrapped.__wrapped__ is part
    assert copy_identity(lambda: None, part).__wrapped__ is part


def test_a_traceback_without_internal_frames_is_the_same_object():
    error = raised_by(user_fails)
    assert without_internal_frames(error.__traceback__) is error.__traceback__
    assert without_internal_frames(None) is None


def test_a_handled_error_keeps_no_frames_alive():
    class Value:
        pass

    references = []

    def user_function():
        value = Value()
        references.append(weakref.ref(value))
        INTERNAL["fail"]()

    gc.disable()
    try:
        with contextlib.suppress(ValueError):
            api_boundary(INTERNAL["call"])(user_function)
        assert references[0]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("transformation", [tangrad.jit, tangrad.grad, tangrad.vmap, tangrad.checkpoint])
def test_attributes_of_a_function_that_are_names_of_its_wrapper(transformation):
    """A counter of traces that a decorator leaves on a function is no obstacle to transforming it."""

    def double(x):
        return 2 * x

    double.trace_count, double.mark = {"count": 0}, "own"
    wrapped = transformation(double)
    assert wrapped.mark == "own" and wrapped.__wrapped__ is double
    assert float(tangrad.numpy.ravel(wrapped(tangrad.numpy.ones(1) if transformation is tangrad.vmap else 1.0))[0]) == 2
