"""What has failed so far in a run: the first failure, as arrays, and the operations that it is computed with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._checkify.failures import Failure, NaNError
from tangrad.autodiff import zeros_p
from tangrad.core import Array, Primitive, ShapedArray, as_operand, current_source, dtypes, literal
from tangrad.core.arguments import product
from tangrad.extend.lax import (
    add_p,
    argmax_p,
    broadcast_in_dim_p,
    dynamic_slice_p,
    eq_p,
    ne_p,
    or_p,
    reduce_or_p,
    reshape_p,
    select_n_p,
)

if TYPE_CHECKING:
    from tangrad.typing import DType, Value, Values


INT32 = np.dtype("int32")


def number(value: int) -> Value:
    """An integer as an operand."""
    return literal(value, INT32)


def is_clear(code: Value) -> Value:
    """Whether a code means that nothing has failed."""
    return eq_p.bind(code, number(0))


def chosen(condition: Value, yes: Value, no: Value) -> Value:
    """One of two values, by a boolean scalar."""
    return select_n_p.bind(condition, no, yes)


def any_true(flags: Value) -> Value:
    """Whether any of an array of booleans is true: a scalar."""
    shape = flags.aval.shape
    return reduce_or_p.bind(flags, axes=tuple(range(len(shape)))) if shape else flags


def has_nan(value: Value) -> Value:
    """Whether an array of floats or complex numbers has a NaN."""
    return any_true(ne_p.bind(value, value))


def zeros(shape: Sequence[object], dtype: DType) -> Value:
    """An array of zeros; of an extended dtype, of elements that are made of zeros."""
    if isinstance(dtype, dtypes.ExtendedDType):
        return zeros_p.bind(shape=tuple(shape), dtype=dtype, weak_type=False)
    zero = literal(0, dtype)
    return broadcast_in_dim_p.bind(zero, shape=tuple(shape), broadcast_dimensions=()) if shape else zero


def filled(like: Value, value: int) -> Value:
    """An integer in the shape of a code."""
    shape = like.aval.shape
    return broadcast_in_dim_p.bind(number(value), shape=shape, broadcast_dimensions=()) if shape else number(value)


def flattened(value: Value, rank: int) -> Value:
    """An array whose first `rank` dimensions are one."""
    shape = value.aval.shape
    return reshape_p.bind(value, new_sizes=(product(shape[:rank]), *shape[rank:]), dimensions=None)


def at(value: Value, position: object) -> Value:
    """A slice of an array at a position along its first axis."""
    shape = value.aval.shape
    starts = [position, *[number(0)] * (len(shape) - 1)]
    part = dynamic_slice_p.bind(value, *starts, slice_sizes=(1, *shape[1:]))
    return reshape_p.bind(part, new_sizes=shape[1:], dimensions=None)


def first_true(flags: object) -> Value:
    """The position of the first true one of a list of booleans that is not empty; 0 where none is."""
    return argmax_p.bind(flags, axes=(0,), index_dtype=INT32)


class Layout:
    """What errors of a program look like: the failures that it knows, and the types of their payloads.

    Attributes:
        failures: code 1 is the first one.
        slots: the types of payloads, each once, in the order of first use.
    """

    __slots__ = ("failures", "slots")

    def __init__(self, failures: Sequence[Failure] = (), more: Sequence[Any] = ()) -> None:
        self.failures = tuple(failures)
        self.slots = tuple(dict.fromkeys([*more, *[one.payload for one in failures if one.payload]]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and (self.failures, self.slots) == (other.failures, other.slots)

    def __hash__(self) -> int:
        return hash((self.failures, self.slots))

    @property
    def count(self) -> int:
        """How many leaves such an error has; none where nothing can fail."""
        return 1 + sum([len(slot) for slot in self.slots]) if self.failures else 0

    def clear(self) -> list[Value]:
        """The leaves of an error before anything has failed."""
        return [number(0), *[zeros(*kind) for slot in self.slots for kind in slot]] if self.failures else []

    @property
    def avals(self) -> list[ShapedArray]:
        """The types of the leaves."""
        if not self.failures:
            return []
        return [ShapedArray((), INT32), *[ShapedArray(*kind) for slot in self.slots for kind in slot]]

    def payloads(self, leaves: Sequence[Any]) -> dict[object, tuple[Value, ...]]:
        """The payload of each type, of the leaves without the code."""
        found, start = {}, 0
        for slot in self.slots:
            found[slot] = tuple(leaves[start : start + len(slot)])
            start += len(slot)
        return found


class Checks:
    """The error of a run so far, as rules see it and add to it.

    Attributes:
        enabled: the classes of failures that are looked for.
        failures: those that the run knows.
    """

    __slots__ = ("_code", "_payloads", "enabled", "failures")

    def __init__(self, enabled: frozenset[type[Failure]]) -> None:
        self.enabled = enabled
        self.failures: list[Failure] = []
        self._code: Value | None = None
        self._payloads: dict[object, tuple[Value, ...]] = {}

    def check(self, failed: Value, failure: Failure, payload: Sequence[Array] = ()) -> None:
        """Note a failure where the boolean scalar `failed` is true and nothing failed before.

        Args:
            payload: arrays of the types in `failure.payload`.
        """
        code = chosen(failed, number(1), number(0))
        self.add(Layout([failure]), [code, *payload])

    def check_nan(self, primitive: Primitive, results: Sequence[Value]) -> None:
        """Note the results of an operation that have a NaN."""
        if NaNError not in self.enabled:
            return
        failed = None
        for result in results:
            dtype = as_operand(result).aval.dtype
            if isinstance(dtype, dtypes.ExtendedDType) or not dtypes.issubdtype(dtype, np.inexact):
                continue
            found = has_nan(result)
            failed = found if failed is None else or_p.bind(failed, found)
        if failed is not None:
            self.check(failed, NaNError(primitive.name, current_source()))

    def add(self, layout: Layout, leaves: Sequence[Value]) -> None:
        """Put the error of a part of the run behind what failed before.

        Args:
            layout: what the error looks like.
            leaves: its code and payloads; arrays of errors (of the rows of a batch) count as the first that failed.
        """
        if not layout.failures:
            return
        code, *rest = _first(leaves)
        offset = len(self.failures)
        self.failures.extend(layout.failures)
        if offset:
            code = chosen(is_clear(code), code, add_p.bind(code, number(offset)))
        payloads = layout.payloads(rest)
        if self._code is None:
            self._code, self._payloads = code, payloads
            return
        before = is_clear(self._code)
        for slot, payload in payloads.items():
            mine = self._payloads.get(slot)
            self._payloads[slot] = (
                payload if mine is None else tuple([chosen(before, b, a) for a, b in zip(mine, payload, strict=True)])
            )
        self._code = chosen(before, code, self._code)

    @property
    def layout(self) -> Layout:
        """What the error looks like."""
        return Layout(self.failures, tuple(self._payloads))

    def take(self, layout: Layout, outs: Sequence[Value]) -> Values:
        """Add the error that stands behind the results of a checked program, and return the results."""
        count = len(outs) - layout.count
        self.add(layout, outs[count:])
        return tuple(outs[:count])

    def leaves(self) -> list[Value]:
        """Its code and payloads; none where nothing can fail."""
        if self._code is None:
            return []
        return [self._code, *[leaf for payload in self._payloads.values() for leaf in payload]]


def _first(leaves: Sequence[Value]) -> Sequence[Value]:
    """Of arrays of errors the first one that failed."""
    rank = len(leaves[0].aval.shape)
    if not rank:
        return leaves
    rows = [flattened(leaf, rank) for leaf in leaves]
    if rows[0].aval.shape == (0,):
        return [zeros(row.aval.shape[1:], row.aval.dtype) for row in rows]
    position = first_true(ne_p.bind(rows[0], filled(rows[0], 0)))
    return [at(row, position) for row in rows]


def earlier(first: Sequence[Value], second: Sequence[Value]) -> list[Value]:
    """Of two errors of one layout the first one that failed."""
    if not first:
        return []
    clear = is_clear(first[0])
    return [chosen(clear, b, a) for a, b in zip(first, second, strict=True)]


def placed(layout: Layout, leaves: Sequence[Value], wider: Layout, offset: int) -> list[Value]:
    """An error in a wider layout, in which its failures begin after `offset` others."""
    if not layout.failures:
        return wider.clear()
    code, *rest = leaves
    if offset:
        code = chosen(is_clear(code), code, add_p.bind(code, number(offset)))
    own = layout.payloads(rest)
    found = [own.get(slot) or tuple([zeros(*kind) for kind in slot]) for slot in wider.slots]
    return [code, *[leaf for payload in found for leaf in payload]]


def only(wanted: Sequence[bool], code: Value) -> Value:
    """A code without the failures that are not wanted: 0 in their place."""
    for position, is_wanted in enumerate(wanted):
        if not is_wanted:
            code = chosen(eq_p.bind(code, filled(code, position + 1)), filled(code, 0), code)
    return code
