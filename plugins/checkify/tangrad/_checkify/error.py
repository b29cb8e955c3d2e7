"""`Error`: what a checked function returns beside its result; and the primitive of a check, which may raise it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import tree_util
from tangrad._checkify.failures import CheckError
from tangrad._checkify.state import Layout
from tangrad.core import Array, Effect, Literal, PrimitiveSet, ShapedArray, as_array, class_boundary, dtypes

if TYPE_CHECKING:
    from tangrad.typing import Params, Value


@class_boundary
class Error:
    """Whether a check failed, and which was the first.

    A pytree of arrays: it can be returned from jitted functions, and mapped; of a batch it holds the error of each row.

    >>> import tangrad
    >>> from tangrad.experimental import checkify
    >>> def root(x):
    ...     checkify.check(x >= 0, "{x} has no root", x=x)
    ...     return x**0.5
    >>> error, _ = checkify.checkify(root)(-2.0)
    >>> error.get()
    '-2.0 has no root (`check` failed)'
    >>> print(checkify.checkify(root)(2.0)[0])
    Error(None)
    """

    __slots__ = ("_layout", "_leaves")

    def __init__(self, layout: Layout, leaves: Sequence[Any]) -> None:
        self._layout = layout
        self._leaves = tuple(leaves)

    def get(self) -> str | None:
        """The message of the first check that failed, or None.

        Of a batch: a line for each row with a failure, `at mapped index 0: ...`. Raises TracerArrayConversionError in a
        function that is traced: return the error, and look at it outside.
        """
        found = [(index, failure.message(payload)) for index, failure, payload in self._failures()]
        if not found:
            return None
        if found[0][0] == ():
            return found[0][1]
        return "\n".join([f"at mapped index {', '.join(map(str, index))}: {text}" for index, text in found])

    def throw(self) -> None:
        """Raise a `JaxRuntimeError` if a check failed; its notes say where in the program."""
        message = self.get()
        if message is None:
            return
        error = CheckError(message)
        places = [failure.place.summarize() for _, failure, _ in self._failures() if failure.place is not None]
        for place in dict.fromkeys(places):
            error.add_note(f"The check is at {place}.")
        raise error

    def _failures(self) -> list[Any]:
        """For each row with a failure its index, the failure, and the payload."""
        codes = _contents(self._leaves[0])
        payloads = self._layout.payloads(self._leaves[1:])
        found = []
        for index in np.ndindex(codes.shape):
            code = int(codes[index])
            if code:
                failure = self._layout.failures[code - 1]
                payload = payloads.get(failure.payload, ())
                found.append((index, failure, [_element(leaf, index) for leaf in payload]))
        return found

    def __str__(self) -> str:
        return f"Error({self.get()})"

    def __repr__(self) -> str:
        return f"<Error of {len(self._layout.failures)} checks>"


def _contents(leaf: object) -> np.ndarray:
    if isinstance(leaf, Literal):
        return leaf.ndarray
    return leaf.to_numpy() if isinstance(leaf, Array) else np.asarray(leaf)


def _element(leaf: Value, index: tuple[int, ...]) -> Value:
    """One row of a payload as an array, for messages. NumPy, which takes rows out of others sooner, has no keys."""
    is_extended = isinstance(leaf.dtype, dtypes.ExtendedDType)
    return leaf[index] if is_extended else as_array(_contents(leaf)[index])


def parts(error: Error) -> tuple[Layout, tuple[Any, ...]]:
    """What an error looks like, and its leaves."""
    return error._layout, error._leaves


tree_util.register_pytree_node(
    Error, lambda error: (error._leaves, error._layout), lambda layout, leaves: Error(layout, leaves)
)

init_error = Error(Layout(), [np.zeros((), np.int32)])


class CheckEffect(Effect):
    """A check: what it stands for happens where the program is checked. Any two are the same effect."""

    __slots__ = ()
    incidental = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckEffect)

    def __hash__(self) -> int:
        return hash(CheckEffect)


_EFFECTS = frozenset([CheckEffect()])


def _raise(args: Any, params: Params) -> tuple[Any, ...]:
    if not params["debug"]:
        Error(params["layout"], args).throw()
    return ()


def _refuse(*args: Value, layout: Layout, debug: bool) -> tuple[Any, ...]:
    """In a compiled program the error would be lost; checks for debugging are left out."""
    if debug:
        return ()
    places = [one.place.summarize() for one in layout.failures if one.place is not None]
    where = f" (at {places[0]})" if places else ""
    raise ValueError(
        f"a check{where} is in a program that is compiled, but its error is not returned; make it part of the result: "
        "error, out = checkify.checkify(function)(...), around the jitted function or within it"
    )


runtime_checks = PrimitiveSet("runtime_checks", api=1)


@runtime_checks.primitive(
    name="check",
    multiple_results=True,
    effects=lambda avals, params: _EFFECTS,
    evaluate=_raise,
    decompose=_refuse,
)
def check_p(code: ShapedArray, *payloads: ShapedArray, layout: Layout, debug: bool) -> tuple[ShapedArray, ...]:
    """Nothing; what fails where `code` is not 0 is `layout.failures[code - 1]`. All may have dimensions in front."""
    if code.dtype.name != "int32":
        raise TypeError(f"check: the code must be of dtype int32, got {code.str_short()}")
    if len(payloads) != layout.count - 1:
        raise TypeError(f"check: expected {layout.count - 1} payloads, got {len(payloads)}")
    return ()
