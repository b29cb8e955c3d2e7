"""`composite`: functions that compilers see as one operation with a name, what they are made of beside it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from tangrad._custom_rules.calls import function_name
from tangrad._custom_rules.primitives import evaluate, inline
from tangrad.core import (
    ClosedJaxpr,
    PrimitiveSet,
    ShapedArray,
    Tracer,
    array_leaves,
    as_array,
    as_operand,
    copy_identity,
    dtypes,
    returned_leaves,
    trace_to_jaxpr,
)
from tangrad.core.caches import exact_equality
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import PyTree, Value

R = TypeVar("R")
P = ParamSpec("P")

composites = PrimitiveSet("composites", api=1)


@exact_equality
class Attributes:
    """The attributes of a composite, by name. Equal where all values are, their types included.

    Attributes:
        values: name -> truth value, number, string, dtype, NumPy array, or a tuple or dictionary of these.
    """

    __slots__ = ("_key", "values")

    def __init__(self, what: str, values: dict[str, object]) -> None:
        given = {name: value for name, value in values.items() if value is not None}
        self.values = {name: _checked(what, name, value) for name, value in given.items()}
        self._key = _key(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attributes) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.values)


def _checked(what: str, name: str, value: object) -> object:
    """The value of an attribute, made of what cannot change. Raises TypeError for what compilers have no form of."""
    if isinstance(value, (bool, int, float, str, np.bool_, np.integer, np.floating, np.dtype)):
        return value
    if isinstance(value, np.ndarray):
        contents = value.copy()
        contents.setflags(write=False)
        return contents
    if isinstance(value, (list, tuple)):
        return tuple([_checked(what, name, item) for item in value])
    if isinstance(value, dict) and all([isinstance(key, str) for key in value]):
        return {key: _checked(what, name, item) for key, item in value.items()}
    raise TypeError(
        f"{what}: the attribute {name} must be a truth value, a number, a string, a dtype, a NumPy array, or a "
        f"sequence or dictionary of these, got {value!r} of type {type(value).__name__}"
    )


def _key(value: object) -> Hashable:
    if isinstance(value, np.ndarray):
        return dtypes.dtype_name(value.dtype), value.shape, value.tobytes()
    if isinstance(value, tuple):
        return tuple([_key(item) for item in value])
    if isinstance(value, dict):
        return dict, tuple([(name, _key(item)) for name, item in value.items()])
    return type(value), repr(value)


@composites.primitive(
    name="composite",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=evaluate,
    decompose=inline,
)
def composite_p(
    *avals: object, jaxpr: ClosedJaxpr, name: str, version: int, attributes: Attributes
) -> tuple[ShapedArray, ...]:
    """The operation `name`, which does what the program does."""
    return tuple(jaxpr.out_avals)


def composite(decomposition: Callable[P, R], name: str, version: int = 0) -> Callable[P, R]:
    """A function as one operation with a name, which a compiler may know a better way to do.

    In compiled programs on XLA it is one operation of StableHLO (`stablehlo.composite`) with the function as its
    definition, which replaces it where the compiler does not know the name; elsewhere it is the function. Derivatives
    are those of the function; mapped, it stays one operation.

    Args:
        decomposition: a function of positional arguments, trees of arrays, and of keyword arguments, which become
            attributes of the operation: truth values, numbers, strings, dtypes, NumPy arrays, and sequences and
            dictionaries of these; those that are None are left out. It must not close over values that are traced.
        name: of the operation, such as "my.tangent".
        version: of its meaning.

    Returns:
        A function of the same arguments.

    Raises:
        TypeError: for what is not callable, a name that is no string, or a version that is no integer; at a call: for
            attributes of other types.
        UnexpectedTracerError: at a call, where the function closes over a traced value.

    >>> import tangrad
    >>> from functools import partial
    >>> @partial(tangrad.lax.composite, name="my.tangent")
    ... def tangent(x):
    ...     return tangrad.lax.div(tangrad.lax.sin(x), tangrad.lax.cos(x))
    >>> tangent(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if not callable(decomposition):
        raise TypeError(f"composite expects a function, got {decomposition!r} of type {type(decomposition).__name__}")
    if not isinstance(name, str):
        raise TypeError(f"composite: name must be a string, got {name!r} of type {type(name).__name__}")
    number = operator.index(version)
    what = f"composite {name!r}"

    def call(*args: object, **attributes: Any) -> PyTree:
        leaves, treedef = array_leaves(
            args, f"{what}: of the arguments of {function_name(decomposition)}, the leaf at "
        )
        operands = [as_operand(leaf) for leaf in leaves]
        checked = Attributes(what, attributes)
        structure: list[PyTreeDef] = []

        def flat(*values: Value) -> list[Value]:
            out = decomposition(*treedef.unflatten(values), **attributes)
            outs, out_tree = returned_leaves(out, f"{what}: {function_name(decomposition)}")
            structure.append(out_tree)
            return outs

        jaxpr, consts = trace_to_jaxpr(flat, [operand.aval for operand in operands], name)
        if any([isinstance(const, Tracer) for const in consts]):
            raise UnexpectedTracerError(
                f"{what}: {function_name(decomposition)} closes over a value that is traced; an operation has only its "
                "operands, so make the value an argument"
            )
        program = ClosedJaxpr(jaxpr, consts)
        outs = composite_p.bind(*operands, jaxpr=program, name=name, version=number, attributes=checked)
        return structure[0].unflatten([as_array(out) for out in outs])

    return copy_identity(call, decomposition)
