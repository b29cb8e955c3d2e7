"""The functions that users hand to control flow, as programs; and the errors for results that differ."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial

from tangrad import tree
from tangrad.core import (
    Array,
    ClosedJaxpr,
    ShapedArray,
    Tracer,
    Var,
    array_leaves,
    as_operand,
    closed_over_as_arguments,
    returned_leaves,
    thread,
    trace_to_jaxpr,
)
from tangrad.core.caches import JaxprCache, free_after_fork, register_cache
from tangrad.core.settings import cache_context
from tangrad.tree_util import PyTreeDef, equality_errors, keystr
from tangrad.typing import PyTree, Value


def check_trees(what: str, first_name: str, first: PyTreeDef, second_name: str, second: PyTreeDef) -> None:
    """Raise TypeError unless two structures are equal, naming where they differ."""
    if first == second:
        return
    one = first.unflatten([_Value()] * first.num_leaves)
    other = second.unflatten([_Value()] * second.num_leaves)
    differences = [
        f"  at {second_name}{keystr(path)}: {first_name} has {_shown(a)}, {second_name} has {_shown(b)}; {why}"
        for path, a, b, why in equality_errors(one, other)
    ]
    raise TypeError(
        f"{what}: {first_name} and {second_name} must have the same tree structure.\n"
        f"  {first_name}: {first}\n  {second_name}: {second}\n" + "\n".join(differences)
    )


class _Value:
    """Stands for an array where only the structure of a tree counts."""


def _shown(kind: str) -> str:
    return kind.replace("a _Value", "an array")


def check_types(
    what: str,
    treedef: PyTreeDef,
    first_name: str,
    first: Sequence[ShapedArray],
    second_name: str,
    second: Sequence[ShapedArray],
    hint: str,
) -> None:
    """Raise TypeError unless the types of two trees of one structure agree, naming the leaves that differ."""
    paths = None
    differences = []
    for position, (one, other) in enumerate(zip(first, second)):
        if one.shape == other.shape and one.dtype == other.dtype:
            continue
        if paths is None:
            paths = [keystr(path) for path, _ in tree.leaves_with_path(treedef.unflatten(range(treedef.num_leaves)))]
        differences.append(
            f"  at {second_name}{paths[position]}: {first_name} has {one.str_short()}, {second_name} has "
            f"{other.str_short()}; {_why(one, other)}"
        )
    if differences:
        raise TypeError(
            f"{what}: {first_name} and {second_name} must have equal types.\n"
            f"  {first_name}: {_types(treedef, first)}\n  {second_name}: {_types(treedef, second)}\n"
            + "\n".join(differences)
            + f"\n{hint}"
        )


def _why(one: ShapedArray, other: ShapedArray) -> str:
    reasons = []
    if one.shape != other.shape:
        reasons.append("the shapes differ")
    if one.dtype != other.dtype:
        reasons.append("the dtypes differ")
    return " and ".join(reasons)


class _Type:
    """The type of an array, printed as such."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return str(self.aval.str_short())


def _types(treedef: PyTreeDef, avals: Sequence[ShapedArray]) -> PyTree:
    return treedef.unflatten([_Type(aval) for aval in avals])


SIGNATURE_LIMIT = 64  # programs kept for one function


class Body:
    """A function as a program.

    Attributes:
        jaxpr: closed jaxpr `(*consts, *arguments) -> results`, without constants of its own.
        consts: the values that the function closed over.
        out_tree: the structure of its result.
    """

    __slots__ = ("__weakref__", "consts", "jaxpr", "out_tree")

    def __init__(self, jaxpr: ClosedJaxpr, consts: Sequence[Value], out_tree: PyTreeDef) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_tree = out_tree

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.jaxpr.out_avals


_bodies: weakref.WeakKeyDictionary[object, dict[object, Body]] = weakref.WeakKeyDictionary()
_lock = free_after_fork(threading.RLock())
register_cache(_bodies.clear)


def trace_body(
    function: Callable[..., object],
    in_tree: PyTreeDef,
    in_avals: Sequence[ShapedArray],
    what: str,
    original: object = None,
    tag: object = None,
) -> Body:
    """The program of `function`, called with the arguments that `in_tree` makes of values of types `in_avals`.

    Args:
        what: the name of the public function, for messages.
        original: the user's function, where `function` is a wrapper made for this call; `tag` is which wrapper.
    """
    remembered = function if original is None else original
    key = (tag, in_tree, tuple(in_avals), cache_context(), thread.axis_environment)
    try:
        found = _bodies.get(remembered, {}).get(key)
    except TypeError:  # not hashable, or not weakly referable
        return _trace(function, in_tree, in_avals, what, remembered)
    if found is not None:
        return found
    body = _trace(function, in_tree, in_avals, what, remembered)
    if not any([isinstance(const, Tracer) and not const._trace.outlasts for const in body.consts]):
        with _lock:
            entries = _bodies.setdefault(remembered, {})
            if len(entries) >= SIGNATURE_LIMIT:
                entries.pop(next(iter(entries)))
            entries[key] = body
    return body


def _trace(
    function: Callable[..., object], in_tree: PyTreeDef, in_avals: Sequence[ShapedArray], what: str, named: object
) -> Body:
    out_tree: list[PyTreeDef] = []

    def flat(*values: Value) -> list[Array]:
        out = function(*in_tree.unflatten(values))
        leaves, treedef = returned_leaves(out, f"{what}: function {function_name(named)}")
        out_tree.append(treedef)
        return leaves

    jaxpr, consts = trace_to_jaxpr(flat, in_avals, getattr(named, "__name__", type(named).__name__))
    return Body(ClosedJaxpr(closed_over_as_arguments(jaxpr)), consts, out_tree[0])


def function_name(function: object) -> str:
    """A function for messages: its name and where it was written."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)
    return f"{name!r}" if code is None else f"{name!r} (line {code.co_firstlineno} of {code.co_filename})"


def flat_operands(values: object, what: str, argument: str) -> tuple[list[Value], PyTreeDef]:
    """The leaves of a tree as operands, and its structure. Raises TypeError for a leaf that is no array."""
    leaves, treedef = array_leaves(values, f"{what}: {argument}")
    return [as_operand(leaf) for leaf in leaves], treedef


# --- several functions on the same operands ---

_extended = JaxprCache()
register_cache(_extended.clear)


def with_common_consts(bodies: Sequence[Body]) -> tuple[list[ClosedJaxpr], list[Value]]:
    """Programs that all take what any of them closed over, and these values, each once."""
    consts: list[Value] = []
    positions: dict[int, int] = {}
    for body in bodies:
        for const in body.consts:
            if id(const) not in positions:
                positions[id(const)] = len(consts)
                consts.append(const)
    avals = tuple([const.aval for const in consts])
    programs = []
    for body in bodies:
        places = tuple([positions[id(const)] for const in body.consts])
        if places == tuple(range(len(consts))):
            programs.append(body.jaxpr)
        else:
            programs.append(_extended.get(body.jaxpr, (places, avals), partial(_extend, body, places, avals)))
    return programs, consts


def _extend(body: Body, places: tuple[int, ...], avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    jaxpr = body.jaxpr.jaxpr
    own = dict(zip(places, jaxpr.invars))
    invars = [own.get(position) or Var(aval) for position, aval in enumerate(avals)]
    return ClosedJaxpr(jaxpr.replace(invars=[*invars, *jaxpr.invars[len(places) :]]))


__all__ = ["Body", "flat_operands", "function_name", "trace_body", "with_common_consts"]
