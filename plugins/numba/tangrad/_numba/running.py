"""Programs as functions: compiled by numba, from its cache on disk where there is one, and called in stretches.

Compiled code cannot be interrupted. So a function does a stretch of the iterations, a few milliseconds of work, and
returns; between two of them Python handles signals.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types

from tangrad._numba import functions
from tangrad._numba.disk import file_of
from tangrad._numba.program import Program, Stacked
from tangrad.core.caches import free_after_fork, register_cache

_NAMES = functions.namespace()
_TYPES = {"b1": types.boolean, "f4": types.float32, "f8": types.float64}
_TYPES |= {
    f"{kind}{size}": getattr(types, f"{'u' * (kind == 'u')}int{size * 8}") for kind in "iu" for size in (1, 2, 4, 8)
}
_LIMIT = 256
_lock = free_after_fork(threading.Lock())  # two threads need not compile the same text
_functions: dict[str, Any] = {}


@register_cache
def clear_caches() -> None:
    """Forget the functions."""
    _functions.clear()


def compiled(program: Program) -> Any:
    """The function of a program's text. Raises what numba raises."""
    with _lock:
        found = _functions.get(program.text)
        if found is None:
            if len(_functions) >= _LIMIT:
                _functions.clear()
            found = _functions[program.text] = _compile(program)
        return found


def _compile(program: Program) -> Any:
    file = file_of(program.text)
    scope = {**_NAMES, "__name__": functions.__name__}  # what numba imports where it reads the code from disk
    exec(compile(program.text, file or "<numba>", "exec"), scope)
    function = scope["run"]
    arguments: list[Any] = [types.int64] * 3
    arguments += [_array(code, False) for code, _ in program.working]
    arguments += [_array(code, True) for code in program.codes]
    arguments += [types.Array(_of(array.dtype), 1, "C", readonly=True) for array in program.constants]
    arguments += [types.Array(_of(r.dtype), 1, "C") for r in program.results if isinstance(r, Stacked)]
    signature = types.boolean(*arguments)
    return njit(signature, nogil=True, error_model="numpy", cache=file is not None)(function)


def _array(code: str, readonly: bool) -> Any:
    return types.Array(_TYPES[code], 1, "C", readonly=readonly)


def _of(dtype: Any) -> Any:
    return _TYPES["b1" if dtype.kind == "b" else f"{dtype.kind}{dtype.itemsize}"]


def array_function(program: Program, stretch: int) -> Callable[..., tuple[np.ndarray, ...]]:
    """A program as function of arrays. `stretch`: how many iterations it does at a time."""
    run = compiled(program)
    working = [(np.dtype("bool" if code == "b1" else code), size) for code, size in program.working]
    places = {code: position for position, (code, _) in enumerate(program.working)}
    length = program.length

    def call(*operands: Any) -> tuple[np.ndarray, ...]:
        memory = [np.empty(size, dtype) for dtype, size in working]
        stacked = [np.empty(result.shape, result.dtype) for result in program.results if isinstance(result, Stacked)]
        given = [np.ascontiguousarray(operand).reshape(-1) for operand in operands]
        arrays = [*memory, *given, *program.constants, *[array.reshape(-1) for array in stacked]]
        begin = 0
        while True:
            end = begin + stretch if length is None else min(begin + stretch, length)
            if run(begin == 0, begin, end, *arrays) or end == length:
                break
            begin = end
        rows = iter(stacked)
        results = []
        for result in program.results:
            if isinstance(result, Stacked):
                results.append(next(rows))
            else:
                size = int(np.prod(result.shape))
                part = memory[places[result.code]][result.start : result.start + size]
                results.append(part.reshape(result.shape).copy())
        return tuple(results)

    return call
