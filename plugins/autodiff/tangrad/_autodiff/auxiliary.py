"""What comes beside a derivative: auxiliary results of functions, and what backward rules log.

A backward rule runs while cotangents are mapped backward, at times within a program that is traced for that: the body
of a loop, the function of a nested `jit`. Such a program has what is logged in it among its results, after the
cotangents, and who runs it logs these results in turn, so that they come out as values of the outermost call.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import tree
from tangrad.core import ClosedJaxpr, as_array, is_array_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import PyTree, Value

# What can hold no tracer goes around the trace: a Python integer stays one, and NumPy's arrays keep their dtypes.
_HOST_KINDS = (bool, int, float, complex, np.ndarray, np.generic)


class Auxiliary:
    """An auxiliary result in two parts: values that belong to a trace, and all else as it was returned."""

    __slots__ = ("leaves", "traced", "treedef")

    def __init__(self, result: PyTree) -> None:
        self.leaves, self.treedef = tree.flatten(result)
        self.traced = [is_array_value(leaf) and not isinstance(leaf, _HOST_KINDS) for leaf in self.leaves]

    def values(self) -> list[PyTree]:
        """What the trace has to give back as values of outside."""
        return [leaf for leaf, traced in zip(self.leaves, self.traced, strict=True) if traced]

    def restore(self, values: Sequence[Value]) -> PyTree:
        """The result, with these in place of `values()`."""
        given = iter(values)
        leaves = zip(self.leaves, self.traced, strict=True)
        return self.treedef.unflatten([as_array(next(given)) if traced else leaf for leaf, traced in leaves])


# --- logs of backward rules ---


class _Current(threading.local):
    entries: dict[str, PyTree] | None = None  # None: what is logged is dropped


_current = _Current()
# The structure of what a program logs, whose leaves are its last results.
_structures: weakref.WeakKeyDictionary[ClosedJaxpr, PyTreeDef] = weakref.WeakKeyDictionary()


def logs_wanted() -> bool:
    """Whether what backward rules log is collected."""
    return _current.entries is not None


@contextmanager
def _collecting(entries: dict[str, PyTree] | None) -> Iterator[None]:
    before, _current.entries = _current.entries, entries
    try:
        yield
    finally:
        _current.entries = before


def without_logs() -> AbstractContextManager[None]:
    """Within it nothing is collected: for derivatives that rules take for themselves."""
    return _collecting(None)


def log(entries: dict[str, PyTree]) -> None:
    """Add entries, trees of arrays by names, to those that are collected. Later ones replace earlier ones."""
    if _current.entries is not None:
        _current.entries.update(entries)


def collected(function: Callable[..., Any], *args: object) -> tuple[Any, dict[str, PyTree]]:
    """The result of a function, and what was logged while it ran."""
    entries: dict[str, PyTree] = {}
    with _collecting(entries):
        return function(*args), entries


class Logged:
    """A function that returns flat values as one that returns what is logged beside them, after the others.

    Attributes:
        structure: that of what was logged, once it ran; None: nothing was.
    """

    __slots__ = ("_function", "structure")
    structure: PyTreeDef | None

    def __init__(self, function: Callable[..., Sequence[Value]]) -> None:
        self._function, self.structure = function, None

    def __call__(self, *values: Any) -> list[Value]:
        if not logs_wanted():
            return list(self._function(*values))
        results, entries = collected(self._function, *values)
        if entries:
            leaves, self.structure = tree.flatten(entries)
            results = [*results, *[as_array(leaf) for leaf in leaves]]
        return list(results)

    def logs_of(self, program: ClosedJaxpr) -> ClosedJaxpr:
        """Remember what a program, which was traced of this function, logs. Returns it."""
        return logs_of(program, self.structure)


def logs_of(program: ClosedJaxpr, structure: PyTreeDef | None) -> ClosedJaxpr:
    """Remember that the last results of a program are the leaves of what it logs. Returns it."""
    if structure is not None:
        _structures[program] = structure
    return program


def log_structure(program: ClosedJaxpr) -> PyTreeDef | None:
    """The structure of what a program logs; None: it does not log."""
    return _structures.get(program)


def logged(structure: PyTreeDef | None, results: Sequence[Any]) -> Sequence[Any]:
    """The results without the last ones, which are the leaves of what was logged: these are logged here."""
    if structure is None:
        return results
    count = len(results) - structure.num_leaves
    log(structure.unflatten(results[count:]))
    return results[:count]
