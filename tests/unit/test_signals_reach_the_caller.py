"""What a signal's handler raises reaches the caller, from every call of a program: no fallback takes it for its own.

Python runs handlers between calls. Here a profile function raises in their place, deterministically: it gets the frame
that it came upon, as they do.
"""

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import tangrad
import tangrad.numpy as np

BACKENDS = ["numpy", "xla"]
RAISED = [TimeoutError, RuntimeError, ValueError]  # the last two are what the quick ways expect of arrays, too


def _scanned(x: Any) -> Any:
    return tangrad.lax.scan(lambda carry, _: (np.sin(carry), carry.sum()), x, None, length=3)


def _repeated(x: Any) -> Any:
    for _ in range(40):
        x = np.tanh(np.cos(x) @ x + np.sin(x))
    return x


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda x: np.sin(x) + x[0] * 2 - x.sum(),
    "eager gradient": tangrad.grad(lambda x: (np.sin(x) * x).sum()),
    "jitted": tangrad.jit(lambda x: np.sin(x) @ x),
    "jitted, a tree": tangrad.jit(lambda x: {"one": x, "two": np.cos(x).sum()}),
    "a loop": tangrad.jit(_scanned),
}


def _raising_at(call: int, kind: type[Exception]) -> tuple[Callable[..., None], Iterator[int]]:
    """A profile function that raises at the given call, once, and what has counted the calls until then."""
    calls = itertools.count()

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event in ("call", "c_call", "c_return") and arg is not sys.setprofile:
            if next(calls) == call:
                sys.setprofile(None)
                raise kind("from a handler")

    return profile, calls


def _is_interrupted(program: Callable[[], Any], call: int, kind: type[Exception]) -> bool:
    """Run a program that is interrupted at one of its calls; returns whether it has made as many."""
    profile, calls = _raising_at(call, kind)
    raised: Any = None
    finalised: list[Any] = []  # what finalisers raise does not reach callers: Python prints it
    hook, sys.unraisablehook = sys.unraisablehook, lambda found: finalised.append(found.exc_value)
    sys.setprofile(profile)
    try:
        program()
    except Exception as error:
        raised = error
    finally:
        sys.setprofile(None)
        sys.unraisablehook = hook
    if next(calls) <= call:
        assert raised is None
        return False
    raised = raised or next(iter(finalised), None)
    assert type(raised) is kind and raised.args == ("from a handler",), (call, raised)
    return True


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_call_of_a_program_that_has_run_before(name: str, kind: type[Exception], backend: str) -> None:
    if backend == "xla":
        pytest.importorskip("jaxlib")
    with tangrad.use_backend(backend):
        x = np.asarray(numpy.arange(4.0, dtype=numpy.float32))
        program = PROGRAMS[name]
        before = program(x), program(x)
        interrupts = [call for call in range(1, 400) if _is_interrupted(lambda: program(x), call, kind)]
        assert len(interrupts) > 1
        tangrad.tree.map(numpy.testing.assert_array_equal, program(x), before[0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_of_a_compilation_with_regions(backend: str) -> None:
    if backend == "xla":
        pytest.importorskip("jaxlib")
    with tangrad.use_backend(backend), warnings.catch_warnings():
        warnings.simplefilter("error")
        x = np.eye(3, dtype=np.float32)
        tangrad.jit(lambda x: _repeated(x) * 0, compile_regions="always")(x)

        def compiled() -> Any:
            return tangrad.jit(lambda x: _repeated(x), compile_regions="always")(x)

        expected = numpy.asarray(compiled())
        for call in range(1, 60_000, 1499):
            if not _is_interrupted(compiled, call, TimeoutError):
                break
        numpy.testing.assert_array_equal(compiled(), expected)
