"""Compiled loops: their text, compiled by numba or taken from its cache on disk, as functions of arrays."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite
import numba
import numpy as np
from numba import njit, types

from tangrad._numba import equations, functions
from tangrad._numba.blocks import Block, Memory, indented
from tangrad._numba.equations import evaluate
from tangrad._numba.loops import View, code_of, dense
from tangrad.core.caches import free_after_fork, register_cache
from tangrad.core.tools import cache_folder

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tangrad.core import ShapedArray
    from tangrad.typing import Params

# --- The folder in which numba keeps what it compiled -----------------------------------------------------------------
# Numba files machine code under the source file that it comes from. The text of each program is such a file, named
# after its contents; it has a fixed time, so that each process finds what others have compiled.


_HERE = Path(__file__).parent
_TIME = 1_000_000_000


def file_of(text: str) -> str | None:
    """The file of a program's text; None where nothing can be kept."""
    folder = _folder()
    if folder is None:
        return None
    name = hashlib.sha256(f"{_state()}\n{text}".encode()).hexdigest()[:40]
    path = os.path.join(folder, f"{name}.py")
    try:
        if not os.path.exists(path):
            _write(folder, path, text)
    except OSError:
        return None
    return path


def _write(folder: str, path: str, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.utime(temporary, (_TIME, _TIME))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@lru_cache(1)
def _state() -> str:
    """What a program's machine code depends on beside its text; the processor is numba's concern."""
    sources = [path.read_bytes() for path in sorted(_HERE.glob("*.py"))]
    versions = f"{numba.__version__} {llvmlite.__version__} {np.__version__}"
    return hashlib.sha256(b"\n".join([*sources, versions.encode()])).hexdigest()


def _folder() -> str | None:
    """The user's folder, made if need be; None where it is not theirs alone to write: numba's files are pickles."""
    records = cache_folder(os.environ)
    if records is None:
        return None
    folder = os.path.join(os.path.dirname(records), "numba")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        status = os.stat(folder)
    except OSError:
        return None
    is_own = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
    return folder if is_own and os.access(folder, os.W_OK) else None


# --- The text of one compiled loop: a function of arrays that numba compiles ------------------------------------------


@dataclass(frozen=True)
class Stacked:
    """A result that the function writes into an array of the caller."""

    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class Kept:
    """A result that is in the working memory of `code` at `start` when the function returns."""

    code: str
    start: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """The text of a loop.

    Its function `run(first, begin, end, *working memory, *operands, *constants, *stacked)` does the iterations from
    begin to end, with the carry in working memory before and after. It returns whether a while loop has ended.

    Attributes:
        working: element types and sizes of the working memory.
        codes: the element types of the operands.
        constants: arrays that the loop closed over.
        results: where they are.
        length: the number of iterations, or None.
    """

    text: str
    working: tuple[tuple[str, int], ...]
    codes: tuple[str, ...]
    constants: tuple[np.ndarray, ...]
    results: tuple[Stacked | Kept, ...]
    length: int | None


def loop_program(
    identity: str, params: Params, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
) -> Program:
    """The program of a scan or while loop. Raises UnsupportedError."""
    memory = Memory()
    block = Block(memory)
    codes = tuple([code_of(aval.dtype) for aval in in_avals])
    operands = [
        dense(f"a{position}", "", 0, aval.shape, code, memory.home())
        for position, (aval, code) in enumerate(zip(in_avals, codes))
    ]
    stacked: list[View] = []
    if identity == "control_flow.scan":
        for position, aval in enumerate(out_avals[params["num_carry"] :]):
            stacked.append(dense(f"y{position}", "", 0, aval.shape, code_of(aval.dtype), memory.home()))
        run = equations.scan(block, evaluate, operands, params, ("begin", "end"), stacked)
    else:
        run = equations.while_loop(block, evaluate, operands, params, "end - begin")
    lines = [*block.text(), "if first:", *indented(run.start or ["pass"]), *run.state.load()]
    lines += ["done = False", *run.lines, *run.state.save(), "return done"]
    working = tuple(sorted(memory.sizes.items()))
    names = ["first", "begin", "end", *[f"w_{code}" for code, _ in working]]
    names += [f"a{k}" for k in range(len(operands))] + [f"k{k}" for k in range(len(memory.constants))]
    names += [f"y{k}" for k in range(len(stacked))]
    text = f"def run({', '.join(names)}):\n" + "".join([f"    {line}\n" for line in lines])
    kept = tuple([Kept(cell.code, cell.offset, cell.shape) for cell in run.state.cells if cell is not None])
    written = tuple([Stacked(view.shape, np.dtype(_name(view.code))) for view in stacked])
    return Program(text, working, codes, tuple(memory.constants), (*kept, *written), params.get("length"))


def _name(code: str) -> str:
    return "bool" if code == "b1" else code


# ----------------------------------------------------------------------------------------------------------------------
# Programs as functions: compiled by numba, from its cache on disk where there is one, and called in stretches.
# Compiled code cannot be interrupted. So a function does a stretch of the iterations, a few milliseconds of work, and
# returns; between two of them Python handles signals.


_NAMES = functions.namespace()
_TYPES = {"b1": types.boolean, "f4": types.float32, "f8": types.float64}
_TYPES |= {
    f"{kind}{size}": getattr(types, f"{'u' * (kind == 'u')}int{size * 8}") for kind in "iu" for size in (1, 2, 4, 8)
}
_LIMIT = 256
_lock = free_after_fork(threading.Lock())  # two threads need not compile the same text
_functions: dict[str, object] = {}


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


def _compile(program: Program) -> object:
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


def _of(dtype: np.dtype) -> Hashable:
    return _TYPES["b1" if dtype.kind == "b" else f"{dtype.kind}{dtype.itemsize}"]


def array_function(program: Program, stretch: int) -> Callable[..., tuple[np.ndarray, ...]]:
    """A program as function of arrays. `stretch`: how many iterations it does at a time."""
    run = compiled(program)
    working = [(np.dtype("bool" if code == "b1" else code), size) for code, size in program.working]
    places = {code: position for position, (code, _) in enumerate(program.working)}
    length = program.length

    def call(*operands: object) -> tuple[np.ndarray, ...]:
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


# --- A loop as function of arrays: what the entry loads where that pays -----------------------------------------------


def loop_function(
    identity: str, params: Params, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], stretch: int
) -> Callable[..., tuple[np.ndarray, ...]]:
    """The function. Raises UnsupportedError, and what numba raises."""
    return array_function(loop_program(identity, params, in_avals, out_avals), stretch)
