"""The settings `debug_nans` and `debug_infs`: an error at the operation that makes a NaN or an infinity.

Operations and programs are watched when one of the settings is first turned on; until then it costs nothing.

What counts is what reaches a result: where all branches run and a selection follows, as in a mapped `cond`, what
is selected away is no error. So programs within programs are run without a look at each operation, and then
their results are looked at, as those of compiled programs are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from tangrad._core.dtypes import objects
from tangrad._core.kernel.array import Array
from tangrad._core.kernel.compilation import Execute, program_watchers
from tangrad._core.kernel.jaxpr import ClosedJaxpr, eval_jaxpr
from tangrad._core.kernel.primitive import Compute, Primitive, watch_operations
from tangrad._core.kernel.trace import Tracer
from tangrad._core.settings.config import debug_infs, debug_nans, is_checking_values, thread
from tangrad._core.settings.threads import holding

S = TypeVar("S", bound=Sequence[object])


def _bad_value(outs: Sequence[object]) -> str | None:
    """What the settings forbid and the arrays contain: "nan", "inf", or None."""
    for out in outs:
        if not isinstance(out, Array) or isinstance(out, Tracer) or not objects.issubdtype(out.aval.dtype, np.inexact):
            continue
        contents = out.to_numpy()
        if contents.dtype.kind not in "fc":  # bfloat16 and the like
            contents = contents.astype(np.float32)
        if thread.debug_nans and np.isnan(contents).any():
            return "nan"
        if thread.debug_infs and np.isinf(contents).any():
            return "inf"
    return None


def without_value_checks() -> holding:
    """Within it no result of an operation is checked: the caller selects among them."""
    return holding(values_unchecked=True)


def check_values(outs: Sequence[object], where: str, again: Callable[[], object] | None = None) -> None:
    """Raise FloatingPointError for results, made by `where`, that the settings of this thread forbid.

    `again` runs the same operation by operation, so that the one is found that made the value.
    """
    found = None if thread.values_unchecked else _bad_value(outs)
    if found is None:
        return
    if again is not None:
        again()
        where += ", but not by its operations one by one"
    at = f", at {thread.source.summarize()}" if thread.source is not None else ""
    raise FloatingPointError(f"invalid value ({found}) made by {where}{at}")


def check_results(run: Callable[[], S], what: str) -> S:
    """Return `run()`, a sequence of arrays, having looked at these instead of at each operation.

    Where one is bad it runs again, operation by operation, to find the one that made it. `what`: what runs, for the
    message where none did. Raises FloatingPointError.
    """
    if not is_checking_values() or thread.values_unchecked:
        return run()
    with without_value_checks():
        outs = run()
    check_values(outs, what, run)
    return outs


def _around_operations(compute: Compute) -> Compute:
    def checked(primitive: Primitive, args: tuple[object, ...], params: dict[str, object]) -> object:
        out = compute(primitive, args, params)
        check_values(out if primitive.multiple_results else (out,), f"primitive {primitive.name!r}")
        return out

    return checked


def _around_program(execute: Execute, closed: ClosedJaxpr, name: str) -> Execute:
    def checked(arrays: Sequence[Array]) -> list[Array]:
        outs = execute(arrays)
        check_values(outs, f"the compiled function {name!r}", lambda: eval_jaxpr(closed.jaxpr, closed.consts, *arrays))
        return outs

    return checked if is_checking_values() else execute


def _start_checking(value: bool) -> None:
    if value and _around_program not in program_watchers:
        program_watchers.append(_around_program)
        watch_operations(_around_operations)


for _setting in (debug_nans, debug_infs):
    _setting.on_change(_start_checking)
