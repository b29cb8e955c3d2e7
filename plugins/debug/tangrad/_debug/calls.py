"""A Python function as programs call it: what it is given, and the thread while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from tangrad import tree
from tangrad.core import EVAL_TRACE, Array, ShapedArray, dtypes, holding, thread
from tangrad.core.settings import SETTINGS
from tangrad.core.tools import NO_NAMES, SourceInfo, without_internal_frames
from tangrad.errors import CallbackError
from tangrad.tree_util import PyTreeDef, keystr

Overrides = tuple[tuple[str, object], ...]

# Where arrays are made is a matter of the thread that makes them: a backend chooses it for its callbacks.
_NOT_TAKEN = "default_device"


def current_overrides() -> Overrides:
    """The settings that this thread overrides, for functions that will run in another one.

    Beside settings the overrides of a thread have what else programs are remembered by, such as the axes that types
    record within `shard_map`: a user's function knows of no axes.
    """
    return tuple([item for item in thread.overrides if item[0] in SETTINGS and item[0] != _NOT_TAKEN])


class HostState:
    """A context manager: the bottom trace, no named axes, no place in a program, and the overrides of settings."""

    __slots__ = ("_alone", "_overrides", "_settings")

    def __init__(self, overrides: Overrides) -> None:
        self._overrides = overrides
        self._settings: ExitStack | None = None

    def __enter__(self) -> None:
        if self._overrides != thread.overrides:
            settings = ExitStack()
            for name, value in self._overrides:
                if getattr(thread, name) is not value:
                    settings.enter_context(SETTINGS[name](value))
            self._settings = settings
        self._alone = holding(trace=EVAL_TRACE, axis_environment=(), name_stack=NO_NAMES, source=None)
        self._alone.__enter__()

    def __exit__(self, *_: object) -> None:
        self._alone.__exit__()
        if self._settings is not None:
            self._settings.close()


ToArray = Callable[[np.ndarray, ShapedArray], Array]

# One mapped axis: for each operand its axis or None, and the size.
Mapping = tuple[tuple[int | None, ...], int]


class HostCall:
    """A function and how it is called.

    Two are equal if they would do the same: programs call equal pure functions with equal operands once. Those with
    static arguments, and those for their effects, are equal to themselves alone.

    Attributes:
        kind: the name of the public function that made it, for messages.
        function: the user's.
        in_tree: the structure of `(args, kwargs)`, static arguments included.
        static: position among the leaves -> an argument that is no array.
        out_tree: the structure of the declared results; None: whatever the function returns is ignored.
        overrides: the settings that it runs under.
        place: where it was written.
        maps: the mapped axes, the innermost first.
    """

    __slots__ = (
        "__weakref__",
        "_key",
        "function",
        "in_tree",
        "kind",
        "maps",
        "out_tree",
        "overrides",
        "place",
        "static",
    )
    holds_program = True

    def __init__(
        self,
        kind: str,
        function: Callable[..., object],
        in_tree: PyTreeDef,
        out_tree: Any,
        overrides: Overrides,
        place: SourceInfo,
        static: dict[int, object] | None = None,
        maps: tuple[Mapping, ...] = (),
    ) -> None:
        self.kind = kind
        self.function = function
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.overrides = overrides
        self.place = place
        self.static = static or {}
        self.maps = maps
        same = (_identity(function), in_tree, out_tree) if out_tree is not None and not static else id(self)
        self._key = (kind, same, overrides, maps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostCall) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"<{self.kind} of {function_name(self.function)}>"

    def mapped(self, dims: Sequence[int | None], size: int) -> HostCall:
        """The call for each row of operands that are mapped along `dims`."""
        maps = (*self.maps, (tuple(dims), size))
        return HostCall(
            self.kind, self.function, self.in_tree, self.out_tree, self.overrides, self.place, self.static, maps
        )

    # --- calling ---------------------------------------------------------------------------------------------------

    def __call__(self, *arrays: object) -> object:
        """What the user's function returns."""
        leaves = arrays
        if self.static:
            given = iter(arrays)
            count = len(arrays) + len(self.static)
            leaves = tuple([self.static[i] if i in self.static else next(given) for i in range(count)])
        args, kwargs = self.in_tree.unflatten(leaves)
        return self.function(*args, **kwargs)

    def run(self, arrays: Sequence[Array], results: Sequence[ShapedArray], wrapped: bool = True) -> list[np.ndarray]:
        """Call it on arrays; the contents of its results, which must be of the types `results`.

        Raises CallbackError for a function that raises (unless `wrapped` is false: then what it raises), and for one
        that returns something else than was declared.
        """
        with HostState(self.overrides):
            if not wrapped:
                out = self(*arrays)
            else:
                try:
                    out = self(*arrays)
                except Exception as error:
                    if thread.traceback_filtering != "off":
                        error.__traceback__ = without_internal_frames(error.__traceback__)
                    raise CallbackError(self._raised(error)) from error
            return [] if self.out_tree is None else self._contents(out, results)

    # --- results ---------------------------------------------------------------------------------------------------

    def _contents(self, out: object, results: Sequence[ShapedArray]) -> list[np.ndarray]:
        leaves, treedef = tree.flatten(out)
        if treedef != self.out_tree and _structure(out) != _structure(self.out_tree.unflatten([0] * len(results))):
            raise CallbackError(
                f"{self._subject()} returned a result of structure {treedef}, but {self.out_tree} was declared"
            )
        return [self._leaf(out, leaf, aval, position) for position, (leaf, aval) in enumerate(zip(leaves, results))]

    def _leaf(self, out: object, leaf: object, aval: ShapedArray, position: int) -> np.ndarray:
        try:
            array = np.asarray(leaf)
            dtype = dtypes.canonicalize_dtype(array.dtype)
        except Exception as error:
            found = f"{leaf!r} of type {type(leaf).__name__}, which is no array"
            raise CallbackError(self._returned(out, position, found, aval)) from error
        if array.shape != aval.shape or dtype != aval.dtype:
            found = f"an array of type {dtypes.dtype_name(dtype)}{list(array.shape)}"
            raise CallbackError(self._returned(out, position, found, aval))
        return array if array.dtype == dtype else array.astype(dtype)

    # --- messages --------------------------------------------------------------------------------------------------

    def described(self) -> str:
        """The call, for messages."""
        return f"{self.kind} of {function_name(self.function)!r} ({self.place.summarize()})"

    def _subject(self) -> str:
        return f"the function {function_name(self.function)!r}, called by {self.kind} at {self.place.summarize()},"

    def _raised(self, error: Exception) -> str:
        return f"{self._subject()} raised {type(error).__name__}: {error}"

    def _returned(self, out: object, position: int, found: str, aval: ShapedArray) -> str:
        path = keystr(tree.leaves_with_path(out)[position][0])
        where = f", at result{path}," if path else ""
        declared = f"{dtypes.dtype_name(aval.dtype)}{list(aval.shape)}"
        return f"{self._subject()} returned{where} {found}, but {declared} was declared"


def function_name(function: object) -> str:
    """The name of a function, for messages."""
    for one in (function, getattr(function, "func", None)):  # of a functools.partial
        name = getattr(one, "__name__", None)
        if isinstance(name, str):
            return name
    return type(function).__name__


def _identity(function: object) -> object:
    """A key of a function: itself (methods of one object are equal), or its identity where it has no hash."""
    try:
        hash(function)
    except TypeError:
        return id(function)
    return function


def _structure(value: object) -> PyTreeDef:
    """The structure of a result; lists and named tuples count as tuples."""
    return tree.structure(_with_tuples(value))


def _with_tuples(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return tuple([_with_tuples(item) for item in value])
    if type(value) is dict:
        return {key: _with_tuples(item) for key, item in value.items()}
    return value


class HostProgram:
    """A call inside of a program: from the contents of the operands to those of the results.

    Attributes:
        call: the call.
    """

    __slots__ = ("_avals", "_places", "_results", "_sizes", "_to_array", "_wrapped", "call")

    def __init__(
        self,
        call: HostCall,
        avals: Sequence[ShapedArray],
        results: Sequence[ShapedArray],
        to_array: ToArray,
        wrapped: bool = True,
    ) -> None:
        """`avals` and `results` are the types of operands and results. `to_array(contents, aval)` makes an array of the
        backend, which must stay good after the call: the user's function may keep it. `wrapped`: see `HostCall.run`.
        """
        self.call = call
        self._to_array = to_array
        self._wrapped = wrapped
        self._sizes = tuple([size for _, size in call.maps])
        self._places = [_places(aval, [dims[i] for dims, _ in call.maps]) for i, aval in enumerate(avals)]
        self._avals = [_row_aval(aval, places) for aval, places in zip(avals, self._places)]
        self._results = [aval.update(shape=aval.shape[len(self._sizes) :]) for aval in results]

    def __call__(self, *contents: np.ndarray) -> tuple[np.ndarray, ...]:
        """Call the function, once for each row of a batch."""
        if not self._sizes:
            return tuple(self._run(contents))
        outs = [np.empty((*self._sizes[::-1], *aval.shape), aval.dtype) for aval in self._results]
        for row in np.ndindex(*self._sizes):  # the innermost axis changes slowest, as when each map is unrolled
            found = self._run([x[_index(places, row)] for x, places in zip(contents, self._places)])
            for out, result in zip(outs, found):
                out[row[::-1]] = result
        return tuple(outs)

    def _run(self, contents: Sequence[np.ndarray]) -> list[np.ndarray]:
        arrays = [self._to_array(array, aval) for array, aval in zip(contents, self._avals)]
        return self.call.run(arrays, self._results, self._wrapped)


# For each axis of an operand, which of the mapped axes it is, or None for one of a row's own.
Places = list[int | None]


def _places(aval: ShapedArray, dims: Sequence[int | None]) -> Places:
    """Where the mapped axes are. `dims`: of each map, the innermost first, among the axes that are there by then."""
    places: Places = [None] * (len(aval.shape) - sum([dim is not None for dim in dims]))
    for number, dim in enumerate(dims):
        if dim is not None:
            places.insert(dim, number)
    return places


def _row_aval(aval: ShapedArray, places: Places) -> ShapedArray:
    return aval.update(shape=tuple([size for size, place in zip(aval.shape, places) if place is None]))


def _index(places: Places, row: Sequence[int]) -> Any:
    return (*[slice(None) if place is None else row[place] for place in places], ...)
