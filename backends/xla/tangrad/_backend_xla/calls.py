"""The function that runs a compiled program: the hot path of every jitted call, made when the program is compiled.

XLA's own call takes 3.8 µs for one argument and result, so each further attribute and each branch shows. The functions
here therefore check nothing: they take it that all arguments are buffers at placements that the program is loaded for.
Where that is not so, something raises (a table has no such placement, an object has no buffer, XLA refuses a buffer of
another device), and `recover` finds out what is the matter. Only commitment would go unnoticed; it is checked where
there is more than one device. Results are made by `object.__new__` and assignments: that is 0.05 µs less than a call of
the class, for each of 200.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tangrad._backend_xla import failures, jaxlib_api
from tangrad._backend_xla.array import Placement, XlaArray

if TYPE_CHECKING:
    from tangrad.core import Effect, ShapedArray
    from tangrad.core.backends import CompileOptions
    from tangrad.typing import Value

    # jaxlib's method that starts a program, a handler for each result, and where all results are, or each.
    Loaded: TypeAlias = tuple[Callable[..., Any], Sequence[object], Any]

    class Runs(Protocol):  # a runner, as `executable` has it
        effects: tuple[Effect, ...]
        in_avals: list[Any]
        out_avals: list[Any]
        loaded: dict[object, Loaded]
        options: CompileOptions

        def recover(self, error: Exception, arrays: Sequence[Value]) -> list[XlaArray]: ...
        def execute_with_effects(self, arrays: Sequence[Value]) -> list[XlaArray]: ...
        def gather(self, arrays: Sequence[Value]) -> tuple[Loaded, list[object]]: ...


Execute = Callable[[Sequence[XlaArray]], list[XlaArray]]

new = object.__new__


def make_execute(runner: Runs, several_devices: bool) -> Execute:
    """The function that runs `runner`: a list of arrays in, a list of arrays out.

    `runner.loaded` maps placements to `(run, handlers, placement of the results)`; `runner.recover(error, arrays)` is
    the slow path. Results on one device keep shardings over it that are stated.
    """
    execute = _made(runner, several_devices)
    stated = runner.options.extra.get("stated")
    return execute if stated is None else _stating(execute, stated)


def _made(runner: Runs, several_devices: bool) -> Execute:
    if runner.effects:
        return runner.execute_with_effects
    if not runner.in_avals:  # no placement to look up
        return lambda arrays: run_gathered(runner.out_avals, *runner.gather(arrays))
    if several_devices and len(runner.in_avals) > 1:
        return _many_checked(runner)
    if len(runner.out_avals) > 1 or not runner.out_avals:
        return _many_to_many(runner)
    return _one_to_one(runner) if len(runner.in_avals) == 1 else _many_to_one(runner)


def _stating(execute: Execute, shardings: Sequence[Any]) -> Execute:
    def run(arrays: Sequence[XlaArray]) -> list[XlaArray]:
        pairs = zip(execute(arrays), shardings, strict=True)
        return [array.stating(sharding) if sharding else array for array, sharding in pairs]

    return run


def _one_to_one(runner: Runs) -> Execute:
    """As `_many_to_one`, without the list comprehension, which is a call: 0.15 of 4.8 µs."""
    loaded, recover = runner.loaded, runner.recover
    (aval,) = runner.out_avals

    def execute(arrays: Sequence[XlaArray]) -> list[XlaArray]:
        try:
            (array,) = arrays
            run, handlers, placement = loaded[array.placement]
            (value,) = run([array.value]).consume_with_handlers(handlers)
        except Exception as error:
            return recover(error, arrays)
        result = new(XlaArray)
        result.aval = aval
        result.value = value
        result.placement = placement
        return [result]

    return execute


def _many_to_one(runner: Runs) -> Execute:
    loaded, recover = runner.loaded, runner.recover
    (aval,) = runner.out_avals

    def execute(arrays: Sequence[XlaArray]) -> list[XlaArray]:
        try:
            run, handlers, placement = loaded[arrays[0].placement]
            (value,) = run([array.value for array in arrays]).consume_with_handlers(handlers)
        except Exception as error:
            return recover(error, arrays)
        result = new(XlaArray)
        result.aval = aval
        result.value = value
        result.placement = placement
        return [result]

    return execute


def _many_to_many(runner: Runs) -> Execute:
    loaded, recover, avals = runner.loaded, runner.recover, runner.out_avals

    def execute(arrays: Sequence[XlaArray]) -> list[XlaArray]:
        try:
            run, handlers, placement = loaded[arrays[0].placement]
            values = run([array.value for array in arrays]).consume_with_handlers(handlers)
        except Exception as error:
            return recover(error, arrays)
        return wrapped(avals, values, placement)

    return execute


def _many_checked(runner: Runs) -> Execute:
    loaded, recover, avals = runner.loaded, runner.recover, runner.out_avals

    def execute(arrays: Sequence[XlaArray]) -> list[XlaArray]:
        try:
            first: Placement | tuple[Placement, ...] = arrays[0].placement
            for array in arrays:
                if array.placement is not first:
                    first = tuple([array.placement for array in arrays])
                    break
            run, handlers, placement = loaded[first]
            values = run([array.value for array in arrays]).consume_with_handlers(handlers)
        except Exception as error:
            return recover(error, arrays)
        return wrapped(avals, values, placement)

    return execute


def run_gathered(avals: Sequence[ShapedArray], loaded: Loaded, values: list[object]) -> list[XlaArray]:
    """Run what is loaded for where these buffers are. Raises what a function that it calls has raised."""
    run, handlers, placement = loaded
    try:
        outs = run(values).consume_with_handlers(handlers)
    except jaxlib_api.XlaRuntimeError as error:
        failures.raise_original(error)
        raise
    return wrapped(avals, outs, placement)


def wrapped(avals: Sequence[ShapedArray], values: Sequence[object], placement: Placement) -> list[XlaArray]:
    """Buffers as arrays at one placement, or, of several, each at its own."""
    if type(placement) is tuple:
        return list(map(XlaArray, avals, values, placement))
    results = list(map(new, repeat(XlaArray, len(avals))))
    for result, aval, value in zip(results, avals, values):
        result.aval = aval
        result.value = value
        result.placement = placement
    return results


# --- programs that call Python functions take turns on the host's processors -----------------------------------------
# XLA's client for them starts at most 32 programs at a time, and a caller beyond that waits. A program waits in turn
# for the function that it calls; if the function computes with arrays it starts a program. Once 32 threads are in such
# functions, each would wait for all others, for ever. With fewer at a time there is always room for what they start.

AT_A_TIME = 15  # each with the program that its function starts: 30 of the 32


class _Here(threading.local):
    """Whether this thread has a turn: what a function starts that a program called needs none of its own."""

    has_turn = False


_here = _Here()
_turns = threading.BoundedSemaphore(AT_A_TIME)


def in_turns(execute: Execute) -> Execute:
    """`execute` for a program that calls functions: it waits for its turn."""

    def execute_in_turn(arrays: Sequence[XlaArray]) -> list[XlaArray]:
        if _here.has_turn:
            return execute(arrays)
        with _turns:
            _here.has_turn = True
            try:
                return execute(arrays)
            finally:
                _here.has_turn = False

    return execute_in_turn
