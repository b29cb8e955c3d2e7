"""`debug.breakpoint`: a prompt in the middle of a running program, compiled or not.

A debugger of Python stops while a function is traced, where variables have no values yet. Here the variables of the
user's frames become operands of a callback: when the program gets there, they have the values of that run, and a prompt
with the commands of `pdb` shows them.
"""

from __future__ import annotations

import bdb
import cmd
import linecache
import pprint
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import numpy as np

from tangrad import tree
from tangrad._debug.functions import debug_callback
from tangrad.core import Array, Tracer, api_boundary
from tangrad.core.tools import is_internal

if TYPE_CHECKING:
    pass

T = TypeVar("T")

AROUND = 5  # lines of the program that `list` shows before and after


class Frame:
    """One of the user's frames, as it was when the program was traced.

    Attributes:
        filename, line, function: where it is.
        names: what expressions see besides its variables: the globals of its module.
    """

    __slots__ = ("filename", "function", "line", "names")

    def __init__(self, frame: FrameType) -> None:
        self.filename = frame.f_code.co_filename
        self.line = frame.f_lineno
        self.function = frame.f_code.co_name
        self.names: Mapping[str, object] = frame.f_globals

    def __str__(self) -> str:
        return f"{self.filename}({self.line}) {self.function}"

    def source(self) -> str:
        """The lines around, the current one marked."""
        lines = linecache.getlines(self.filename)
        first = max(self.line - AROUND, 1)
        return "\n".join(
            [
                f"{'->' if number == self.line else '  '} {number:4} {text.rstrip()}"
                for number, text in enumerate(lines[first - 1 : self.line + AROUND], first)
            ]
        )


class Prompt(cmd.Cmd):
    """What the user talks to. Frame 0 is the one that called `debug.breakpoint`; `up` goes to its caller."""

    prompt = "(tangrad) "

    def __init__(self, frames: list[Frame], variables: list[dict[str, object]], **streams: Any) -> None:
        super().__init__(completekey="tab", **streams)
        self.use_rawinput = "stdin" not in streams
        self._frames = frames
        self._variables = variables
        self._position = 0

    # --- commands --------------------------------------------------------------------------------------------------

    def do_p(self, expression: str) -> None:
        """p EXPRESSION: its value, in the variables of this frame."""
        self._show(expression, repr)

    def do_pp(self, expression: str) -> None:
        """pp EXPRESSION: its value, one line for each part."""
        self._show(expression, pprint.pformat)

    def do_locals(self, _: str) -> None:
        """locals: the variables of this frame."""
        for name, value in self._variables[self._position].items():
            self._say(f"{name} = {value!r}")

    do_a = do_locals

    def do_up(self, _: str) -> None:
        """up: to the frame that called this one."""
        self._move(1, "this is the outermost frame")

    do_u = do_up

    def do_down(self, _: str) -> None:
        """down: to the frame that this one called."""
        self._move(-1, "this is the innermost frame")

    do_d = do_down

    def do_list(self, _: str) -> None:
        """list: the lines around."""
        self._say(self._frames[self._position].source() or "(the text of this file is not there)")

    do_l = do_list

    def do_where(self, _: str) -> None:
        """where: the frames, the outermost first."""
        for position in reversed(range(len(self._frames))):
            self._say(f"{'>' if position == self._position else ' '} {self._frames[position]}")

    do_w = do_bt = do_where

    def do_continue(self, _: str) -> bool:
        """continue: go on with the program."""
        return True

    do_c = do_cont = do_continue

    def do_EOF(self, _: str) -> bool:
        """The end of the input: go on with the program."""
        self._say("")
        return True

    def do_quit(self, _: str) -> None:
        """quit: end the program, by an error."""
        raise bdb.BdbQuit(f"ended at a breakpoint in {self._frames[0]}")

    do_q = do_exit = do_quit

    def emptyline(self) -> bool:
        """Repeats nothing."""
        return False

    def default(self, line: str) -> None:
        """Anything else is an expression."""
        self.do_p(line)

    # --- what they share -------------------------------------------------------------------------------------------

    def _show(self, expression: str, text: Callable[..., str]) -> None:
        try:
            value = eval(expression, dict(self._frames[self._position].names), self._variables[self._position])
        except Exception as error:
            self._say(f"{type(error).__name__}: {error}")
        else:
            self._say(text(value))

    def _move(self, by: int, otherwise: str) -> None:
        if 0 <= self._position + by < len(self._frames):
            self._position += by
            self._say(str(self._frames[self._position]))
        else:
            self._say(otherwise)

    def _say(self, text: str) -> None:
        print(text, file=self.stdout)


@api_boundary
def debug_breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: T | None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
) -> T | None:
    """Stop here whenever the program comes by, and prompt for commands: under `jit`, `grad`, `vmap` and in loops, too.

    The commands are those of `pdb`: `p EXPRESSION` (or the expression alone), `pp`, `locals`, `up`, `down`, `list`,
    `where`, `continue` and `quit`, which ends the program by an error. Variables have their values in this run; under
    `vmap` it stops for each row. A variable that a compiler would have dropped is kept for it.

    Args:
        backend: the kind of prompt; there is "cli" alone, which is the default.
        filter_frames: whether frames of the framework are left out.
        num_frames: how many frames are kept, from here outwards; default: all.
        ordered: whether it is reached after the ordered callbacks before it in the program.
        token: returned as it is.
        stdin, stdout: the streams to talk over; default: those of the process.

    Raises:
        ValueError: a kind of prompt that does not exist, or fewer frames than one.

    >>> import io, tangrad
    >>> shown = io.StringIO()
    >>> def double(x):
    ...     y = 2 * x
    ...     tangrad.debug.breakpoint(stdin=io.StringIO("p float(y) + 1"), stdout=shown)
    ...     return y
    >>> double(3.0)
    6.0
    >>> tangrad.effects_barrier()
    >>> shown.getvalue().splitlines()[0]
    '(tangrad) 7.0'
    """
    if backend not in (None, "cli"):
        raise ValueError(f"debug.breakpoint: the one kind of prompt is 'cli', got {backend!r}")
    if num_frames is not None and num_frames < 1:
        raise ValueError(f"debug.breakpoint: num_frames must be 1 or more, got {num_frames}")
    found = _frames(sys._getframe(1), filter_frames, num_frames)
    places = [Frame(frame) for frame in found]
    streams = {name: stream for name, stream in (("stdin", stdin), ("stdout", stdout)) if stream is not None}

    def stop(variables: list[Mapping[str, object]]) -> None:
        prompt = Prompt(places, tree.map(_value, variables), **streams)
        if not streams:
            prompt.do_list("")
        prompt.cmdloop()

    debug_callback(stop, [_variables(frame) for frame in found], ordered=ordered)
    return token


def _frames(frame: FrameType | None, filtered: bool, limit: int | None) -> list[FrameType]:
    """The frames from this one outwards; the framework's own left out, unless they are asked for."""
    found: list[FrameType] = []
    while frame is not None and (limit is None or len(found) < limit):
        if not (filtered and is_internal(frame.f_code.co_filename)):
            found.append(frame)
        frame = frame.f_back
    return found


class _Whole:
    """A value that is handed over as it is: it is no array, and not looked into."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


def _variables(frame: FrameType) -> dict[str, object]:
    """The variables of a frame. Tracers of transformations that have ended have no value: their text is shown."""
    return {name: _handed_over(value) for name, value in frame.f_locals.items()}


def _handed_over(value: object) -> object:
    try:
        return tree.map(_alive, value)
    except Exception:  # a tree that cannot be taken apart, such as a dictionary whose keys have no order
        return _Whole(value)


def _alive(leaf: object) -> object:
    if isinstance(leaf, Tracer) and not leaf._trace.alive:
        return repr(leaf)
    return leaf if isinstance(leaf, (Array, np.ndarray, np.generic, int, float, complex)) else _Whole(leaf)


def _value(leaf: object) -> object:
    return leaf.value if type(leaf) is _Whole else leaf
