"""Where in the user's program an operation is: the line behind an equation, the named scopes, the call they make.

An equation keeps a code object and an offset into it, which cost half a microsecond to take; file, line, column and
function are worked out when they are needed. No frame is kept: it would keep every value of the user's function alive.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from operator import itemgetter
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from tangrad._core.settings.config import ThreadState, thread

P = ParamSpec("P")
R = TypeVar("R")
Function = TypeVar("Function", bound=Callable[..., object])


# --- whose frame is it? ---

_BETWEEN = [contextlib.__file__, functools.__file__]  # what calls functions of ours, or theirs through ours


class _Internal(dict[str, bool]):
    """For each file name in a code object, whether the file belongs to the framework; answers are kept."""

    def __missing__(self, filename: str) -> bool:
        packages = [sys.modules[name] for name in ("tangrad", "pluggy") if name in sys.modules]  # that calls hooks
        paths = [path for package in packages for path in package.__path__] + _BETWEEN
        answer = filename.startswith(("<tangrad", "<frozen")) or any(
            filename == path or filename.startswith(path + os.sep) for path in paths
        )
        if len(self) >= 4096:  # notebooks and exec'd code make new file names without end
            self.clear()
        self[filename] = answer
        return answer


_internal = _Internal()


def is_internal(filename: str) -> bool:
    """Whether the frames of a file belong to the framework rather than to the user's program."""
    return _internal[filename]


def callers_of(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that led to it, the newest first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def entries_of(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """The entries of a traceback, the innermost last."""
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


# --- name stacks ---


class NameStack(tuple[str, ...]):
    """The named scopes and transformations around an operation, outermost first; immutable.

    A transformation's element ends in '('. Printed, it encloses the scope inside it: `outer/jvp(layer)`.

    >>> from tangrad._core.diagnostics.source_info import NameStack
    >>> str(NameStack().extend("outer").transform("jvp").extend("layer"))
    'outer/jvp(layer)'
    """

    __slots__ = ()

    def extend(self, name: str) -> NameStack:
        """This stack with a scope inside it."""
        return NameStack((*self, name))

    def transform(self, name: str) -> NameStack:
        """This stack with a transformation inside it."""
        return NameStack((*self, name + "("))

    def __add__(self, other: tuple[str, ...]) -> NameStack:  # type: ignore[override]
        return NameStack((*self, *other)) if other else self

    def __str__(self) -> str:
        parts: list[str] = []  # innermost last; a transformation takes the part that was outermost so far
        for name in reversed(self):
            if name.endswith("("):
                inner = parts.pop() if parts else ""
                name = f"{name}{inner})"
            parts.append(name)
        return "/".join(reversed(parts))


NO_NAMES = NameStack()
ThreadState.name_stack = NO_NAMES


class named_scope(contextlib.ContextDecorator):  # noqa: N801 - named as users of the field know it
    """Give a name to the operations inside, for jaxprs, compiled programs and profiles; also a decorator.

    Arguments:
        name: a string, such as the name of a layer.

    Raises TypeError if `name` is not a string.

    >>> from tangrad._core.diagnostics.source_info import current_name_stack, named_scope
    >>> with named_scope("layer_1"):
    ...     str(current_name_stack())
    'layer_1'
    """

    __slots__ = ("_name", "_previous")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope takes a string, got {name!r} of type {type(name).__name__}")
        self._name = name.rstrip("(")  # a scope must not read as a transformation
        self._previous: list[tuple[str, ...]] = []  # a list: one object may be entered within itself

    def __enter__(self) -> None:
        previous = thread.name_stack
        thread.name_stack = current_name_stack().extend(self._name)
        self._previous.append(previous)

    def __exit__(self, *_: object) -> None:
        thread.name_stack = self._previous.pop()

    def _recreate_cm(self) -> named_scope:  # each call of a decorated function has its own
        return named_scope(self._name)


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """`fun`, with its operations under a name, as in a `named_scope`.

    Args:
        fun: any function.
        name: the name; None: that of `fun`.

    Raises TypeError if `name` is not a string.

    >>> import tangrad
    >>> double = tangrad.named_call(lambda x: x + x, name="double")
    >>> print(tangrad.make_jaxpr(double)(1.0).eqns[0].source_info.name_stack)
    double
    """
    if not callable(fun):
        raise TypeError(f"named_call expects a function, got {fun!r} of type {type(fun).__name__}")
    return named_scope(getattr(fun, "__name__", type(fun).__name__) if name is None else name)(fun)


def current_name_stack() -> NameStack:
    """The names around the code that runs now, in this thread."""
    return cast(NameStack, thread.name_stack)


# --- places ---


class SourceInfo(tuple[Any, ...]):
    """A place in the user's program: `(code, offset, name_stack)`; `code` is None where no user's frame was found.

    A tuple, because it is made for every equation and a tuple is the cheapest object to make.
    """

    __slots__ = ()
    code = property(itemgetter(0))
    name_stack = property(itemgetter(2))

    @property
    def file(self) -> str:
        """The path of the file, as Python knows it; '' if unknown."""
        return self.code.co_filename if self.code is not None else ""

    @property
    def function(self) -> str:
        """The name of the function, or '<module>'; '' if unknown."""
        return self.code.co_name if self.code is not None else ""

    @property
    def line(self) -> int:
        """The line, from 1; 0 if unknown."""
        return self._position()[0]

    @property
    def column(self) -> int:
        """The column, from 1; 0 if unknown."""
        return self._position()[1]

    def _position(self) -> tuple[int, int]:
        if self.code is None:
            return 0, 0
        # One entry per two-byte instruction. Columns are absent under `python -X no_debug_ranges`.
        line, _, column, _ = next(islice(self.code.co_positions(), self[1] // 2, None), (None, None, None, None))
        return line or self.code.co_firstlineno, 0 if column is None else column + 1

    def summarize(self) -> str:
        """The place as text: `file.py:12:3 (function)`."""
        if self.code is None:
            return "an unknown place"
        line, column = self._position()
        return f"{self.file}:{line}:{column} ({self.function})" if column else f"{self.file}:{line} ({self.function})"

    def __repr__(self) -> str:
        return f"<SourceInfo {self.summarize()}>"


_getframe = sys._getframe
_new = tuple.__new__


def current_source(skip: int = 1) -> SourceInfo:
    """The place of the innermost frame that is the user's, and the names around it.

    `skip`: how many frames to leave out unseen; 1 is this function's caller.
    """
    source: SourceInfo | None = thread.source
    if source is not None:
        if thread.name_stack != source[2]:
            return _new(SourceInfo, (source[0], source[1], thread.name_stack))
        return source
    frame: Any = _getframe(skip)
    internal = _internal
    while internal[frame.f_code.co_filename]:
        frame = frame.f_back
        if frame is None:
            return _new(SourceInfo, (None, 0, thread.name_stack))
    return _new(SourceInfo, (frame.f_code, frame.f_lasti, thread.name_stack))


# --- functions that stand for others ---


def copy_identity(wrapper: Function, function: Callable[..., object]) -> Function:
    """Give `wrapper` the name, documentation, annotations, signature and public attributes of `function`; return it.

    What `functools.wraps` does at a fifth of its cost: a transformation wraps a function at every call of `grad(f)`.
    Objects that can be called may have anything under these names, which is then no name.
    """
    name, qualified = getattr(function, "__name__", None), getattr(function, "__qualname__", None)
    if isinstance(name, str):
        wrapper.__name__ = name
        wrapper.__qualname__ = qualified if isinstance(qualified, str) else name
    wrapper.__module__ = getattr(function, "__module__", None) or wrapper.__module__
    wrapper.__doc__ = getattr(function, "__doc__", None)
    annotations = getattr(function, "__annotations__", None)
    if isinstance(annotations, dict):
        wrapper.__annotations__ = annotations
    vars(wrapper)["__wrapped__"] = function  # inspect.signature follows it
    for name, value in getattr(function, "__dict__", {}).copy().items():  # others may add to it: its boundary
        if name[0] != "_" and name not in wrapper.__dict__:
            vars(wrapper)[name] = value  # not setattr: the wrapper's class may have a property of that name
    return wrapper


class WrappedSignature:
    """`__signature__` of a class whose objects stand for functions and are bound as methods: that of the function.

    inspect takes such objects for built-in functions, if it is asked not to follow `__wrapped__`.
    """

    def __get__(self, instance: Any, owner: object = None) -> inspect.Signature | None:
        return None if instance is None else inspect.signature(instance.__wrapped__)


# --- who wrote an operation ---
# Settings that refuse what users may not have meant (operands of different ranks or dtypes) are about the calls that
# they write. Our own functions, and the rules that run under transformations, broadcast and promote inside as they need
# to. So a function that is about to raise asks here first; that costs nothing where nothing is refused.

# Public names of one operation beside the one that its messages have.
_ALIASES = {
    "divide": ("true_divide",),
    "remainder": ("mod",),
    "power": ("pow",),
    "absolute": ("abs",),
    "concatenate": ("concat",),
}


def written_by_user(function_name: str) -> bool:
    """Whether the user's program calls the public function `function_name` itself.

    It also does where a transformation calls what the user handed to it, as in `vmap(numpy.add)(x, y)`. It does not
    where one of our functions names `function_name`, or uses an operator.
    """
    name = function_name.rpartition(".")[2]
    names = {name, *_ALIASES.get(name, ())}
    by_operator, file = False, ""
    for frame in callers_of(sys._getframe(1)):
        code = frame.f_code
        if not is_internal(code.co_filename):
            return True
        own = code.co_name.strip("_")
        if code.co_name.endswith("operator") or (code.co_name.startswith("__") and own not in ("call", "getattr")):
            by_operator = True
        elif frame.f_globals.get("PREPARES_OPERANDS", False) is True:  # of a module that does so for all functions
            pass
        elif own.startswith(name) and file in ("", code.co_filename):
            file = code.co_filename  # the function itself; those of its name in other modules may call it
        elif by_operator or not names.isdisjoint(code.co_names):
            return False
    return True


# --- what it hands over from the host ---
# Our own functions write numbers into what they compute, too, which is no copy of the user's. So it is the user's call
# that counts for transfer guards, and what is an operand in it.

# Parameters that say how something is computed, by the names that they have in all functions: no operands.
_HOW = """
N UPLO axes axis axis1 axis2 axis_size axisa axisb axisc base_dilation batch_axis batch_group_count batch_size
broadcast_dimensions bucket_size column_axis concat_axis count decimals deg destination diff_n dim dimension
dimensions dims edge_order exponent_bits feature_group_count fft_lengths filter_shape in_axis ind in_shape index_dtype
indices_or_sections k kth length lhs_dilation lhs_shape limit_index limit_indices mantissa_bits max_iterations
max_squarings maxiter minlength n n_iter n_max ndim ndmin new_shape new_sizes nfft noverlap nperseg num num_classes
num_keys num_segments offset operand_shape order ord out_axis pad_width padding padding_config permutation
permutation_size precision rank reps reverse rhs_dilation rhs_shape s scatter_dimension series_order shape shapes size
sizes slice_size slice_sizes source spatial_dims split_axis start_dimension stop_dimension stride strides
subset_by_index total_repeat_length unroll window_dilation window_dimensions window_shape window_strides
"""
_NO_OPERANDS = frozenset(_HOW.split())
_FROM_HOST = (int, float, complex, np.generic, np.ndarray)


def _users_call() -> FrameType | None:
    """The frame of the function of ours that the user's program calls, on the way here; None where it calls none."""
    called = None
    for frame in callers_of(sys._getframe(1)):
        if not is_internal(frame.f_code.co_filename):
            break
        if frame.f_code.co_name not in ("forwarding_operator", "reflected_operator"):  # of arrays, to the operation
            called = frame
    return called


def what_is_copied(put: bool) -> str:
    """What of the user's call is on the host: "operands", "numbers" (positions, or its own), or nothing: "".

    `put`: asked for what is being put on a device, which may be what a function of the user's is handed.

    Modules say by a global name, COPIES_FROM_HOST, which of their functions have numbers: the name of one -> True, as
    for `ones`, or a function of the arguments, which then decides alone, as for x[0].
    """
    frame = _users_call()
    if frame is None:
        return ""
    function = _function(frame)
    names, code = (frame.f_globals, frame.f_code) if function is None else (function.__globals__, function.__code__)
    given, usual = _arguments(frame, function)
    if put and "*" in given and frame.f_code.co_flags & inspect.CO_VARARGS:
        return "operands"
    rule = names.get("COPIES_FROM_HOST", {}).get(code.co_name)
    if rule is not None:
        return "numbers" if rule is True or rule(given) else ""
    for name, value in given.items():
        default = usual.get(name, usual)
        states_how = name == "*" or name in _NO_OPERANDS or value is default or type(default) is bool
        if not states_how and is_from_host(value):
            return "operands"
    return ""


def is_from_host(value: object) -> bool:
    """Whether a value is a number or array on the host, or a list, tuple or dictionary with one in it."""
    if isinstance(value, (list, tuple, dict)):
        return value == [] or any(map(is_from_host, value.values() if isinstance(value, dict) else value))
    return isinstance(value, _FROM_HOST) or getattr(type(value), "backend", 0) is None


def _function(frame: FrameType) -> Any:
    """The function that a boundary stands for, as it is written; None where the frame is of the function itself."""
    found: Any = frame.f_globals.get("_tangrad_function")
    if found is None and "function" in frame.f_code.co_freevars:
        found = frame.f_locals.get("function")
    while _is_ours(inner := getattr(found, "__wrapped__", None)):
        found = inner
    return found if _is_ours(found) else None


def _is_ours(function: object) -> bool:
    return inspect.isfunction(function) and is_internal(function.__code__.co_filename)


def _arguments(frame: FrameType, function: Any) -> tuple[dict[str, object], dict[str, object]]:
    """The arguments of a call by the names of the parameters, and what these are where nothing is given."""
    names, starred, others, values = inspect.getargvalues(frame)
    given, rest = {name: values.get(name) for name in names}, values.get(starred or "", ())
    if function is None or hasattr(function, "__wrapped__"):  # of a function of the user's: unknown
        return given | {"*": rest}, {}
    parameters = inspect.signature(function).parameters
    free = [name for name, one in parameters.items() if one.kind <= one.POSITIONAL_OR_KEYWORD][len(names) :]
    given |= dict(zip(free, rest)) | {starred or "*": rest[len(free) :]} | values.get(others or "", {})
    return given, {name: one.default for name, one in parameters.items()}
