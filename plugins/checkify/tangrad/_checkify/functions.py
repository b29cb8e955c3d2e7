"""`checkify`, the checks that users write, their primitive, and `Error`, which a checked function also returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from tangrad import tree_util
from tangrad._checkify.failures import CheckError, FailedCheckError, Failure, user_checks
from tangrad._checkify.state import Layout, chosen, number
from tangrad._checkify.trace import checked_flat
from tangrad.core import (
    Array,
    Effect,
    Literal,
    PrimitiveSet,
    ShapedArray,
    api_boundary,
    array_leaves,
    as_array,
    as_operand,
    class_boundary,
    copy_identity,
    current_source,
    dtypes,
    is_array_value,
    returned_leaves,
)
from tangrad.typing import ArrayLike, Dimensions, DType, PyTree, Value

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import Params


# --- `Error`: what a checked function returns beside its result; and the primitive of a check, which may raise it ---


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

    def __init__(self, layout: Layout, leaves: Sequence[ArrayLike]) -> None:
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


def _raise(args: tuple[Array, Literal, Literal], params: Params) -> tuple[()]:
    if not params["debug"]:
        Error(params["layout"], args).throw()
    return ()


def _refuse(*args: Value, layout: Layout, debug: bool) -> tuple[()]:
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


# --- `checkify`, and the checks that users write ---

R = TypeVar("R")
P = ParamSpec("P")


@api_boundary
def checkify(f: Callable[P, R], errors: frozenset[type[Failure]] = user_checks) -> Callable[P, tuple[Error, R]]:
    """A function that also returns the first error of `f`: of its own checks, or of those that are found by themselves.

    Nothing stops where a check fails: the error is a value, and goes with the other results through `jit`, `vmap` and
    `grad`. What is looked for is looked for in loops, conditionals, jitted functions and functions with rules of their
    own as well. Where a conditional is mapped by a `vmap` inside of `f`, all branches are computed, and checked; map
    the checked function instead.

    Args:
        f: a function of trees of arrays.
        errors: what is looked for: `user_checks` (those of `check`), `nan_checks`, `div_checks` (divisions by 0),
            `index_checks` (indices out of bounds); `float_checks`, `automatic_checks`, `all_checks`; or unions of them.

    Returns:
        `checked(*args, **kwargs) -> (error, result)`; `error` is an `Error`.

    Raises:
        TypeError: for what is no function, and for `errors` that are no such set.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import checkify
    >>> checked = checkify.checkify(tangrad.jit(lambda x: np.log(x)), errors=checkify.float_checks)
    >>> error, out = checked(-1.0)
    >>> error.get()
    'nan generated by primitive: log.'
    >>> checked(1.0)[0].get()
    """
    if not callable(f):
        raise TypeError(f"checkify expects a function, got {f!r} of type {type(f).__name__}")
    enabled = _categories(errors)
    name = getattr(f, "__name__", type(f).__name__)

    def checked(*args: object, **kwargs: object) -> tuple[Error, PyTree]:
        leaves, in_tree = array_leaves((args, kwargs), f"checkify: of the arguments of {name},")
        out_tree: list[PyTreeDef] = []

        def flat(*values: Value) -> list[Value]:
            given, named = in_tree.unflatten(values)
            outs, treedef = returned_leaves(f(*given, **named), f"checkify: function {name}")
            out_tree.append(treedef)
            return [as_operand(out) for out in outs]

        outs, checks = checked_flat(flat, [as_array(leaf) for leaf in leaves], enabled)
        found = [as_array(leaf) for leaf in checks.leaves() or [number(0)]]
        return Error(checks.layout, found), out_tree[0].unflatten([as_array(out) for out in outs])

    return copy_identity(api_boundary(checked), f)


def _categories(errors: Any) -> frozenset[type[Failure]]:
    try:
        found = frozenset(errors)
    except TypeError:
        found = frozenset([None])
    if not all([isinstance(one, type) and issubclass(one, Failure) for one in found]):
        raise TypeError(
            "checkify: errors must be a set of kinds of checks, such as checkify.user_checks | checkify.nan_checks, "
            f"got {errors!r}"
        )
    return found


@api_boundary
def check(pred: ArrayLike, msg: str, *fmt_args: PyTree, debug: bool = False, **fmt_kwargs: object) -> None:
    """Say that a condition must hold.

    Within a function that `checkify` checks, a failure becomes part of the error that it returns. Where nothing is
    traced, it is raised at once; in a program that is compiled without `checkify`, the check is refused.

    Args:
        pred: a boolean scalar, maybe traced.
        msg: what is wrong where it is false, as a format of `str.format`.
        debug: whether the check is left out where no `checkify` takes its error, instead.
        fmt_args, fmt_kwargs: trees of arrays for the format.

    Raises:
        TypeError: for a condition that is no boolean scalar, a message that is no string, and values for it that are no
            arrays; ValueError: for a format that asks for others than are given; JaxRuntimeError: for a failure where
            nothing is traced.

    >>> from tangrad.experimental import checkify
    >>> def fraction(x, y):
    ...     checkify.check(y != 0, "{x} cannot be divided by {y}", x=x, y=y)
    ...     return x / y
    >>> error, _ = checkify.checkify(fraction)(1, 0)
    >>> error.get()
    '1 cannot be divided by 0 (`check` failed)'
    """
    if not is_array_value(pred) or as_operand(pred).aval.shape or as_operand(pred).aval.dtype != np.bool_:
        raise TypeError(f"check: pred must be a boolean scalar, got {pred!r} of type {type(pred).__name__}")
    if not isinstance(msg, str):
        raise TypeError(f"check: msg must be a string, got {msg!r} of type {type(msg).__name__}")
    leaves, structure = array_leaves((fmt_args, fmt_kwargs), "check: of the values for the message,")
    payload = [as_operand(leaf) for leaf in leaves]
    kinds = tuple([(one.aval.shape, one.aval.dtype) for one in payload])
    failure = FailedCheckError(msg, structure, kinds, current_source())
    try:
        failure.message([_example(*kind) for kind in kinds])
    except (IndexError, KeyError) as error:
        raise ValueError(
            f"check: the message {msg!r} asks for a value {error} that is not given; there are {len(fmt_args)} without "
            f"a name, and {sorted(fmt_kwargs)}"
        ) from None
    code = chosen(as_operand(pred), number(0), number(1))
    check_p.bind(code, *payload, layout=Layout([failure]), debug=bool(debug))


def _example(shape: Dimensions, dtype: DType) -> np.ndarray:
    """A value of a type, to try a message with."""
    aval: Any = ShapedArray(shape, dtype)
    if isinstance(dtype, dtypes.ExtendedDType):
        aval = dtype.physical_aval(aval)
    return np.ones(aval.shape, aval.dtype)


@api_boundary
def debug_check(pred: ArrayLike, msg: str, *fmt_args: PyTree, **fmt_kwargs: object) -> None:
    """As `check`, for debugging: it is left out where no `checkify` takes its error.

    Args:
        pred: a boolean scalar, maybe traced.
        msg: what is wrong where it is false, as a format of `str.format`.
        fmt_args, fmt_kwargs: trees of arrays for the format.

    Raises as `check`, but for failures.

    >>> from tangrad.experimental import checkify
    >>> checkify.debug_check(1 > 2, "not checked")
    >>> checkify.checkify(lambda x: checkify.debug_check(x > 2, "too small"))(1)[0].get()
    'too small (`check` failed)'
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


@api_boundary
def check_error(error: Error) -> None:
    """Say that an error must not have happened: where it has, that is a failure here too, with its message.

    Args:
        error: what a checked function returned.

    Raises:
        TypeError: for what is no error; JaxRuntimeError: where it has happened and nothing is traced.

    >>> from tangrad.experimental import checkify
    >>> error, _ = checkify.checkify(lambda x: checkify.check(x > 0, "not positive"))(-1)
    >>> try:
    ...     checkify.check_error(error)
    ... except checkify.JaxRuntimeError as failure:
    ...     print(failure)
    not positive (`check` failed)
    """
    if not isinstance(error, Error):
        raise TypeError(
            f"check_error expects an error that a checked function returned, got {error!r} of type "
            f"{type(error).__name__}"
        )
    layout, leaves = parts(error)
    if layout.failures:
        check_p.bind(*[as_operand(leaf) for leaf in leaves], layout=layout, debug=False)
