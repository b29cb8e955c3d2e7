"""The settings `debug_nans` and `debug_infs`: an error at the operation that makes a NaN or an infinity.

The bottom trace gets a checking function when one of the settings is first turned on; until then it costs nothing.

What counts is what reaches a result: where all branches run and a selection follows, as in a mapped `cond`, what
is selected away is no error. So programs within programs are run without a look at each operation, and then
their results are looked at, as those of compiled programs are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad._core.dtypes import kinds
from tangrad._core.kernel.applications import ask_and_evaluate
from tangrad._core.kernel.array import Array
from tangrad._core.kernel.primitive import EVAL_TRACE, forget_direct_calls
from tangrad._core.kernel.trace import Tracer
from tangrad._core.settings.config import debug_infs, debug_nans, is_checking_values, thread
from tangrad._core.settings.threads import holding


def bad_value(outs: Sequence[Any]) -> str | None:
    """What the settings forbid and the arrays contain: "nan", "inf", or None."""
    for out in outs:
        if not isinstance(out, Array) or isinstance(out, Tracer) or not kinds.issubdtype(out.aval.dtype, np.inexact):
            continue
        contents = out.to_numpy()
        if contents.dtype.kind not in "fc":  # bfloat16 and the like
            contents = contents.astype(np.float32)
        if thread.debug_nans and np.isnan(contents).any():
            return "nan"
        if thread.debug_infs and np.isinf(contents).any():
            return "inf"
    return None


def error_for(what: str, where: str) -> FloatingPointError:
    """The error for a value `what` made by `where`."""
    at = f", at {thread.source.summarize()}" if thread.source is not None else ""
    return FloatingPointError(f"invalid value ({what}) made by {where}{at}")


def without_value_checks() -> holding:
    """Within it no result of an operation is checked: the caller selects among them."""
    return holding(values_unchecked=True)


def _looked_at(outs: Any, again: Callable[[], Any], what: str) -> Any:
    """`outs`; where one is bad, the error of the operation that made it, which `again` runs one by one."""
    if (found := bad_value(outs)) is not None:
        again()
        raise error_for(found, f"{what}, but not by its operations one by one")
    return outs


def check_results(run: Callable[[], Any], what: str) -> Any:
    """Return `run()`, a sequence of arrays, having looked at these instead of at each operation.

    Where one is bad it runs again, operation by operation, to find the one that made it. `what`: what runs, for the
    message where none did. Raises FloatingPointError.
    """
    if not is_checking_values() or thread.values_unchecked:
        return run()
    with without_value_checks():
        outs = run()
    return _looked_at(outs, run, what)


def evaluate_and_check(primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """As `ask_and_evaluate`. Raises FloatingPointError for a result that the settings of this thread forbid."""
    out = ask_and_evaluate(primitive, args, params)
    check_values(out if primitive.multiple_results else (out,), f"primitive {primitive.name!r}")
    return out


def check_values(outs: Sequence[Any], where: str) -> None:
    """Raise FloatingPointError for results, made by `where`, that the settings of this thread forbid."""
    found = bad_value(outs) if is_checking_values() and not thread.values_unchecked else None
    if found is not None:
        raise error_for(found, where)


def checked_execute(
    execute: Callable[[Sequence[Any]], list[Any]], evaluate: Callable[..., list[Any]], name: str
) -> Callable[[Sequence[Any]], list[Any]]:
    """`execute`, of the compiled program called `name`, that looks at its results.

    Where one is bad the program is run again by `evaluate`, operation by operation, to find the one that made it.
    """

    def run(arrays: Sequence[Any]) -> list[Any]:
        outs = execute(arrays)
        again = lambda: evaluate(*arrays)
        return outs if thread.values_unchecked else _looked_at(outs, again, f"the compiled function {name!r}")

    return run


def _start_checking(value: Any) -> None:
    if value:
        EVAL_TRACE.process_primitive = evaluate_and_check
        forget_direct_calls()


for _setting in (debug_nans, debug_infs):
    _setting.on_change(_start_checking)
