"""Attributes of operations for the compiler alone: `xla_metadata_call`, `set_xla_metadata`, `compute_on`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from tangrad import tree
from tangrad._jit.primitives import Attributes, hinted_p, tagged_p, with_operands
from tangrad.core import (
    EVAL_TRACE,
    Trace,
    array_leaves,
    as_array,
    as_operand,
    copy_identity,
    get_aval,
    holding,
    returned_leaves,
    thread,
    trace_to_jaxpr,
)
from tangrad.core.transformations import one_equation
from tangrad.typing import PyTree

if TYPE_CHECKING:
    from tangrad.core import Array, Primitive
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import Params

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Value = str | bool | int | float


def attributes_of(what: str, given: Mapping[str, Value]) -> Attributes:
    """Attributes as compilers take them: pairs of a name and a text. Raises TypeError for what is no text or number."""
    found = []
    for name, value in given.items():
        if not isinstance(value, (str, bool, int, float)):
            raise TypeError(
                f"{what}: {name} must be a string, a truth value or a number, got {value!r} of type "
                f"{type(value).__name__}"
            )
        found.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    return tuple(sorted(found))


def hinted_call(what: str, fun: Callable[P, R], attributes: Attributes, derived: Attributes) -> Callable[P, R]:
    """A function whose calls are one equation, with attributes for the compiler. Raises TypeError for no function."""
    if not callable(fun):
        raise TypeError(f"{what} expects a function, got {fun!r} of type {type(fun).__name__}")
    name = getattr(fun, "__name__", type(fun).__name__)

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, treedef = array_leaves((args, kwargs), f"{what} {name!r}: of the arguments, the leaf at ")
        operands = [as_operand(leaf) for leaf in leaves]
        structure: list[PyTreeDef] = []

        def flat(*values: Value) -> list[Value]:
            positional, named = treedef.unflatten(values)
            outs, out_tree = returned_leaves(fun(*positional, **named), f"{what} {name!r}")
            structure.append(out_tree)
            return outs

        jaxpr, consts = trace_to_jaxpr(flat, [operand.aval for operand in operands], name)
        program, outer = with_operands(jaxpr, consts)
        outs = hinted_p.bind(*outer, *operands, jaxpr=program, name=name, attributes=attributes, derived=derived)
        return structure[0].unflatten([as_array(out) for out in outs])

    return copy_identity(call, fun)


# --- attributes by name ---


@overload
def xla_metadata_call(f: Callable[P, R], /, **meta: Value) -> Callable[P, R]: ...
@overload
def xla_metadata_call(f: None = None, /, **meta: Value) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def xla_metadata_call(f: object = None, /, **meta: Value) -> Callable[..., PyTree]:
    """A function whose calls have attributes for XLA; so have the calls of its derivatives.

    In a program it is a call of a function, whose attributes XLA hands on to what the function does
    (`frontend_attributes` in HLO). They change no numbers, and mean nothing to the NumPy backend.

    Args:
        f: a function of trees of arrays; without it a decorator is returned.
        meta: attributes: strings, truth values (written as `true` and `false`) and numbers.

    Raises TypeError for what is no function, and for attributes of other types.

    >>> import tangrad
    >>> from tangrad.experimental.xla_metadata import xla_metadata_call
    >>> block = xla_metadata_call(tangrad.lax.sin, scheduling_group="first")
    >>> tangrad.jit(block)(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    attributes = attributes_of("xla_metadata_call", meta)
    decorate = lambda fun: hinted_call("xla_metadata_call", fun, attributes, attributes)
    return decorate if f is None else decorate(f)


@overload
def xla_metadata_call2(
    f: Callable[P, R], /, metadata: Mapping[str, Value] | None = None, *, ad_metadata: str | Mapping[str, Value] = ...
) -> Callable[P, R]: ...
@overload
def xla_metadata_call2(
    f: Mapping[str, Value] | None = None,
    /,
    metadata: Mapping[str, Value] | None = None,
    *,
    ad_metadata: str | Mapping[str, Value] = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def xla_metadata_call2(
    f: object = None, /, metadata: Mapping[str, Value] | None = None, *, ad_metadata: str | Mapping[str, Value] = "same"
) -> Callable[..., PyTree]:
    """The same with attributes in a dictionary, and others for derivatives.

    Args:
        f: a function of trees of arrays, or the dictionary: then a decorator is returned.
        metadata: the attributes.
        ad_metadata: those of what is linearized and transposed: "same", "drop" for none, or a dictionary of others.

    Raises TypeError as `xla_metadata_call`, and for what is no dictionary.

    >>> import tangrad
    >>> from tangrad.experimental.xla_metadata import xla_metadata_call2
    >>> block = xla_metadata_call2(tangrad.lax.sin, {"group": "forward"}, ad_metadata={"group": "backward"})
    >>> tangrad.grad(block)(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    if isinstance(f, Mapping) and metadata is None:
        f, metadata = None, f
    if metadata is not None and not isinstance(metadata, Mapping):
        raise TypeError(f"xla_metadata_call2: metadata must be a dictionary, got {metadata!r}")
    attributes = attributes_of("xla_metadata_call2", metadata or {})
    if ad_metadata in ("same", "drop"):
        derived = attributes if ad_metadata == "same" else ()
    elif isinstance(ad_metadata, Mapping):
        derived = attributes_of("xla_metadata_call2", ad_metadata)
    else:
        raise TypeError(f"xla_metadata_call2: ad_metadata must be 'same', 'drop' or a dictionary, got {ad_metadata!r}")
    decorate = lambda fun: hinted_call("xla_metadata_call2", fun, attributes, derived)
    return decorate if f is None else decorate(f)


def must_fuse_call(identifier: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: XLA is to fuse all that a function does; `identifier` sets it apart from others, such as "1".

    >>> import tangrad
    >>> from tangrad.experimental.xla_metadata import must_fuse_call
    >>> must_fuse_call("1")(tangrad.lax.sin)(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return xla_metadata_call(MUST_FUSE=identifier)


def fuse_limit() -> Hints:
    """A context manager: XLA is not to fuse what is done within the block with what is around it.

    >>> import tangrad
    >>> from tangrad.experimental.xla_metadata import fuse_limit
    >>> with fuse_limit():
    ...     tangrad.lax.sin(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return Hints("fuse_limit", {"FUSE_LIMIT": True})


@overload
def set_xla_metadata(x: None = None, **kwargs: Value) -> Hints: ...
@overload
def set_xla_metadata(x: T, **kwargs: Value) -> T: ...
def set_xla_metadata(x: object = None, **kwargs: Value) -> Hints | PyTree:
    """Give operations attributes for XLA.

    Args:
        x: a tree of arrays: the operations that make them get the attributes, those of their derivatives do not. Left
            out: a context manager and decorator, for all operations within it.
        kwargs: the attributes: strings, truth values and numbers.

    Returns: the same tree, or the context manager. It means what functions do that are traced within it, or the
        decorated function; outside of compiled functions operations have no attributes.

    Raises TypeError for attributes of other types, and leaves that are no arrays.

    >>> import tangrad
    >>> from tangrad.experimental.xla_metadata import set_xla_metadata
    >>> @tangrad.jit
    ... def f(x):
    ...     with set_xla_metadata(group="first"):
    ...         return tangrad.lax.sin(x)
    >>> f(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if x is None:
        return Hints("set_xla_metadata", kwargs)
    attributes = attributes_of("set_xla_metadata", kwargs)
    leaves, treedef = array_leaves(x, "set_xla_metadata: of x, the leaf at ")
    return treedef.unflatten([tagged_p.bind(as_operand(leaf), attributes=attributes) for leaf in leaves])


class Hints:
    """What `set_xla_metadata` returns: a context manager for operations, and a decorator of functions."""

    __slots__ = ("_attributes", "_entered", "_what")

    def __init__(self, what: str, given: Mapping[str, Value]) -> None:
        self._what = what
        self._attributes = attributes_of(what, given)
        self._entered: list[Any] = []

    def __enter__(self) -> None:
        parent: Any = thread.trace
        attributes = dict(self._attributes)
        if isinstance(parent, HintingTrace):
            parent, attributes = parent.parent, {**dict(parent.attributes), **attributes}
        # Nothing is compiled of what is computed at once, and the bottom trace is recognised by identity.
        trace = parent if parent is EVAL_TRACE else HintingTrace(parent, tuple(sorted(attributes.items())))
        entered = holding(trace=trace)
        entered.__enter__()
        self._entered.append(entered)

    def __exit__(self, *error: object) -> None:
        self._entered.pop().__exit__(*error)

    def __call__(self, fun: Callable[P, R]) -> Callable[P, R]:
        """A function whose calls have the attributes."""
        return hinted_call(self._what, fun, self._attributes, self._attributes)


class HintingTrace(Trace):
    """Hands each operation on to the trace below, as a call with attributes.

    Attributes:
        parent: the trace below, whose the tracers are.
        attributes: pairs of a name and a text.
    """

    __slots__ = ("attributes", "parent")

    def __init__(self, parent: Trace, attributes: Attributes) -> None:
        super().__init__(parent)
        self.parent = parent
        self.attributes = attributes

    def process_primitive(
        self, primitive: Primitive, args: tuple[object, ...], params: Params
    ) -> tuple[Array, ...] | Array:
        """The results of the operation, by the trace below."""
        with holding(trace=self.parent):
            program = one_equation(primitive, [get_aval(arg) for arg in args], params)
            given = {"attributes": self.attributes, "derived": self.attributes}
            outs = hinted_p.bind(*args, jaxpr=program, name=primitive.name, **given)
        return outs if primitive.multiple_results else outs[0]


# --- where parts are computed ---

_KINDS = {"device_host": "host", "device": "dense", "tpu_sparsecore": "sparseoffload"}
_STREAM = "gpu_stream:"


def _compute_attributes(compute_type: str | None, options: Mapping[str, object] | None) -> dict[str, Value]:
    if not isinstance(compute_type, str):
        raise TypeError(f"compute_on: compute_type must be a string, got {compute_type!r}")
    more = {} if options is None else {"backend_config": json.dumps(options)}
    if compute_type.startswith(_STREAM):
        return {"_xla_stream_annotation": compute_type.removeprefix(_STREAM), "inlineable": "false", **more}
    if compute_type not in _KINDS:
        raise ValueError(f"compute_on: compute_type must be one of {[*_KINDS, _STREAM + '#']}, got {compute_type!r}")
    if compute_type != "device_host" and options is None:
        more = {"backend_config": "{}"}
    return {"_xla_compute_type": _KINDS[compute_type], **more}


@overload
def compute_on(f: str, *, compiler_options: Mapping[str, object] | None = None) -> Hints: ...
@overload
def compute_on(
    f: None = None,
    *,
    compute_type: str,
    out_memory_spaces: PyTree = None,
    compiler_options: Mapping[str, object] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@overload
def compute_on(
    f: Callable[P, R],
    *,
    compute_type: str,
    out_memory_spaces: PyTree = None,
    compiler_options: Mapping[str, object] | None = None,
) -> Callable[P, R]: ...
def compute_on(
    f: object = None,
    *,
    compute_type: str | None = None,
    out_memory_spaces: PyTree = None,
    compiler_options: Mapping[str, object] | None = None,
) -> Hints | Callable[..., PyTree]:
    """Have XLA compute a function on another part of the device's machine, where the platform knows it.

    Args:
        f: a function of trees of arrays; without it a decorator is returned. A text is the `compute_type` of a context
            manager and decorator, for all operations within it.
        compute_type: "device_host" (the host beside a GPU or TPU), "device", "tpu_sparsecore", or "gpu_stream:1" for a
            stream of a GPU by its number.
        out_memory_spaces: None, "device", or a tree of these: results are in the memory of the device. `device_put`
            moves them to a sharding with another `memory_kind`.
        compiler_options: a dictionary for the compiler of that part.

    On processors, and on the NumPy backend, it changes nothing.

    Raises TypeError for what is no function; ValueError for an unknown `compute_type`; NotImplementedError for other
    memory spaces.

    >>> import tangrad
    >>> from tangrad.experimental.compute_on import compute_on
    >>> on_host = compute_on(tangrad.lax.sin, compute_type="device_host")
    >>> tangrad.jit(on_host)(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    if isinstance(f, str):
        return Hints("compute_on", _compute_attributes(f, compiler_options))
    for space in tree.leaves(out_memory_spaces):
        if str(getattr(space, "name", space)).lower() != "device":
            raise NotImplementedError(
                f"compute_on: out_memory_spaces must be 'device', got {space!r}; move results with "
                "tangrad.device_put(x, sharding.with_memory_kind(...))"
            )
    attributes = attributes_of("compute_on", _compute_attributes(compute_type, compiler_options))
    decorate = lambda fun: hinted_call("compute_on", fun, attributes, attributes)
    return decorate if f is None else decorate(f)
