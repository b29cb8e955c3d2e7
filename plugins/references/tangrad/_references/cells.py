"""References as values: cells over arrays, and the trace that keeps them.

A reference belongs to the trace under which it was made. Outside of all transformations that is the trace at the
bottom; within one, a `References` trace is put on top of it until the function returns. What is applied to a reference
there is done to the value in its cell, by rules of the kind `discharge`; so transformations, and programs that are
recorded, see values alone. A program that uses references from outside has them among its operands, and its equations
on them are turned into values where it is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from tangrad._references.indexing import Chain, Template, as_template, chained, fitted, from_template, read, written
from tangrad._references.primitives import addupdate_p, get_p, swap_p
from tangrad._references.types import AbstractRef, accesses, is_reference
from tangrad.batching import move_axis
from tangrad.core import (
    EVAL_TRACE,
    ClosedJaxpr,
    Jaxpr,
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    class_boundary,
    eval_jaxpr,
    rule_table,
    thread,
    trace_to_closed_jaxpr,
    trace_to_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.transformations import call_under, install_trace
from tangrad.errors import ArgumentError, UnexpectedTracerError
from tangrad.lax import stop_gradient
from tangrad.tree_util import register_pytree_node

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import ArrayLike, DType, Params, PyTree, Value, Values


class References(Trace):
    """Applies primitives to references that were made on the trace below it, and hands on all others.

    Attributes:
        parent: the trace below.
        last: whether it makes the program that runs, of which no derivative is taken any more.
    """

    __slots__ = ("last", "parent")
    is_interposed = (
        True  # it comes with the first reference, in the midst of a function: the level is that of its parent
    )
    parent: Trace
    last: bool

    def __init__(self, parent: Trace, last: bool = False) -> None:
        self.parent, self.stages, self.last = parent, parent.stages, last

    @property
    def alive(self) -> bool:  # type: ignore[override]
        return bool(self.parent.alive)

    @property
    def outlasts(self) -> bool:  # type: ignore[override]
        return self.parent is EVAL_TRACE

    def process_primitive(self, primitive: Primitive, args: Values, params: Params) -> PyTree:
        own = tuple([isinstance(arg, Reference) and arg._trace is self for arg in args])
        if True not in own:
            return call_under(self.parent, self.parent.process_primitive, primitive, args, params)
        rule = rule_table("discharge")[primitive]
        return call_under(self.parent, lambda: rule(args, own, **params))


BOTTOM = References(EVAL_TRACE, last=True)


def trace_for_references() -> References:
    """The trace to which a reference that is made now belongs: it becomes the current one, unless it is the bottom."""
    current = thread.trace
    if current is EVAL_TRACE:
        return BOTTOM
    return current if type(current) is References else install_trace(References(current))


class ReferenceResultError(ArgumentError):
    """A reference is among the results of a program, or among what a loop carries."""


class ReferenceLeftError(UnexpectedTracerError, ValueError):
    """A reference that was made within a function has left it."""


class Reference(Tracer):
    """A cell. Its value is an array, or a tracer of the trace to which it belongs.

    Attributes:
        state: the value, or None: there is none any more.
        alone: whether the array is in no other hands, so that a program may overwrite it.
    """

    __slots__ = ("alone", "state")
    alone: bool
    state: Array | None
    leak_error = ReferenceLeftError

    def __init__(self, trace: References, value: Array, kind: str | None = None) -> None:
        self._trace = trace
        self.aval: Any = AbstractRef(value.aval, kind)
        self.value = value

    @property
    def value(self) -> Array:
        """The array behind the reference. Raises ValueError after `freeze`."""
        if self.state is None:
            raise ValueError(
                f"a reference of type {self.aval.str_short()} was frozen, so it is neither read nor written any more: "
                "use the array that freeze returned, or make another one, new_ref(array)"
            )
        return self.state

    @value.setter
    def value(self, value: Array) -> None:
        self.state, self.alone = value if self.aval.kind is None else stop_gradient(value), False

    @property
    def identity(self) -> tuple[object, ...]:
        """Which cell it is, and how its axes are moved."""
        return (id(self),)

    def part(self, chain: Chain) -> Array:
        """A part of the array, to be handed out."""
        if not chain:
            self.alone = False
        return read(self.value, chain)

    @property
    def is_here(self) -> bool:
        """Whether it belongs to the current trace, so that its value can be used at once."""
        return self._trace is thread.trace or (self._trace is BOTTOM and thread.trace is EVAL_TRACE)

    def origin(self) -> str:
        return (
            f"a reference of type {self.aval.str_short()} that was made within a function, and has left it: return its "
            "value, ref[...] or freeze(ref), or make the reference outside"
        )

    def known(self) -> dict[str, object]:
        return {} if self.state is None else {"value": self.state}

    @property
    def sharding(self) -> Any:
        """How the array behind it is sharded."""
        return self.value.sharding

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name == "backend":  # asked for at each call; plugins that could add it are not looked for
                raise AttributeError("a reference is in no backend")
            return self._member(name)

    def __getitem__(self, index: object) -> Array:
        return get(self, index)

    def __setitem__(self, index: object, value: object) -> None:
        set_(self, index, value)

    @property
    def at(self) -> Parts:  # type: ignore[override]
        return Parts(self)

    def __len__(self) -> int:
        return len(self.aval)

    def __bool__(self) -> NoReturn:
        raise TypeError("a reference has no truth value; ref[...] is the array behind it")

    def to_numpy(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError("a reference is not an array; ref[...] is the array behind it")

    __array__ = __int__ = __float__ = __complex__ = __index__ = item = tolist = to_numpy

    def __eq__(self, other: object) -> Any:
        return self is other

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __copy__(self) -> Reference:
        """Another cell with the same value: what is written to one is not in the other."""
        return _made_of(get(self), self.aval.kind)

    def __deepcopy__(self, memo: object) -> Reference:
        return _made_of(get(self), self.aval.kind)

    def __reduce__(self) -> tuple[Callable[..., Reference], tuple[Array, str | None]]:
        return _made_of, (get(self), self.aval.kind)

    def __repr__(self) -> str:
        return "Ref(frozen)" if self.state is None else f"Ref({self.state!r})"

    __str__ = __repr__


def _made_of(value: Array, kind: str | None = None) -> Reference:
    """A reference that begins with a value, which belongs to the current trace."""
    return Reference(trace_for_references(), value, kind)


class Moved(Reference):
    """A reference with an axis elsewhere, as `vmap` hands on one that is mapped: what is written is in the original."""

    __slots__ = ("_axes", "_original")

    def __init__(self, original: Reference, source: int, destination: int) -> None:
        self._original, self._axes = original, (source, destination)
        self._trace, self.alone, self.state = original._trace, False, self.value
        self.aval: Any = AbstractRef(self.state.aval, original.aval.kind)

    @property
    def value(self) -> Array:
        return cast("Array", move_axis(self._original.value, *self._axes))

    @value.setter
    def value(self, value: Array) -> None:
        source, destination = self._axes
        self._original.value = cast("Array", move_axis(value, destination, source))

    @property
    def identity(self) -> tuple[object, ...]:
        return (*self._original.identity, *self._axes)


class _IsReference(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return is_reference(instance)


@class_boundary
class Ref(metaclass=_IsReference):
    """The type of references, for `isinstance`; they are made by `new_ref`.

    >>> import tangrad
    >>> isinstance(tangrad.new_ref(1.0), tangrad.Ref), isinstance(tangrad.numpy.ones(2), tangrad.Ref)
    (True, False)
    """

    if TYPE_CHECKING:  # what is known of references: each is one of traces, a `Reference`
        shape: tuple[int, ...]
        dtype: DType
        ndim: int
        size: int

        def __getitem__(self, index: object) -> Array: ...
        def __setitem__(self, index: object, value: ArrayLike) -> None: ...
        @property
        def at(self) -> Parts: ...
        def addupdate(self, x: ArrayLike, idx: object = ()) -> None: ...

    def __init__(self) -> NoReturn:
        raise TypeError("references are made by new_ref(array)")


@class_boundary
class Part:
    """A part of a reference, `ref.at[index]`: read and written as the reference is, `part[index]`, `part[...] = x`.

    A pytree of the reference and the arrays among the indices, so that functions that are jitted, loops and
    conditionals take it as an argument.
    """

    __slots__ = ("_chain", "reference")

    def __init__(self, reference: Array, chain: Chain) -> None:
        self.reference, self._chain = reference, chain

    @property
    def at(self) -> Parts:
        """Parts of this part: `ref.at[0].at[1:]`."""
        return Parts(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return get(self).shape

    @property
    def dtype(self) -> DType:
        return self.reference.dtype

    def __getitem__(self, index: object) -> Array:
        return get(self, index)

    def __setitem__(self, index: object, value: object) -> None:
        set_(self, index, value)

    def __repr__(self) -> str:
        return f"{self.reference!r}.at{[*self._chain]}"


def _flatten_part(part: Part) -> tuple[tuple[object, ...], tuple[Template, object]]:
    template, arrays = as_template(part._chain)
    return (part.reference, *arrays), (template, getattr(part.reference, "shape", None))


def _unflatten_part(data: tuple[Template, object], leaves: Sequence[Any]) -> Part:
    template, shape = data
    reference, *arrays = leaves
    if is_reference(reference) and reference.shape != shape:
        raise ValueError(
            f"a part of a reference of shape {shape} becomes one of a reference of shape {reference.shape}, where its "
            "indices mean something else: map the reference itself, and take the part within the function"
        )
    return Part(reference, from_template(template, arrays))


register_pytree_node(Part, _flatten_part, _unflatten_part)


class Parts:
    """What `ref.at` returns: `ref.at[index]` is a part."""

    __slots__ = ("_of",)

    def __init__(self, of: Array | Part) -> None:
        self._of = of

    def __getitem__(self, index: object) -> Part:
        reference, chain = located(self._of, index)
        return Part(reference, chain)


# --- reading and writing --------------------------------------------------------------------------------------------


def located(of: object, index: object) -> tuple[Any, Chain]:
    """The reference, and the chain of indices of what is meant. Raises TypeError for what is no reference."""
    if type(of) is Part:
        return of.reference, chained(of._chain, index)
    if not is_reference(of):
        raise TypeError(
            f"expected a reference, got {of!r} of type {type(of).__name__}; tangrad.new_ref(array) makes one"
        )
    return of, chained((), index)


def get(ref: Any, idx: object = None) -> Array:
    reference, chain = located(ref, idx)
    if isinstance(reference, Reference) and reference.is_here:
        return reference.part(chain)
    template, arrays = as_template(chain)
    return get_p.bind(reference, *arrays, indexers=template)


def set_(ref: object, idx: object, value: object) -> None:
    reference, chain = located(ref, idx)
    value = _operand(reference, value)
    if isinstance(reference, Reference) and reference.is_here:
        reference.value = written(reference.value, chain, value)
    else:
        template, arrays = as_template(chain)
        swap_p.bind(reference, *arrays, value, indexers=template)


def swap(ref: object, idx: object, value: object) -> Array:
    reference, chain = located(ref, idx)
    template, arrays = as_template(chain)
    return swap_p.bind(reference, *arrays, _operand(reference, value), indexers=template)


def addupdate(ref: object, idx: object, x: object) -> None:
    reference, chain = located(ref, idx)
    template, arrays = as_template(chain)
    addupdate_p.bind(reference, *arrays, _operand(reference, x), indexers=template)


def _operand(reference: Array, value: object) -> Array:
    """What is written, as an array. Raises TypeError for another kind of dtype, or for a reference."""
    if is_reference(value):
        raise TypeError("a reference is written to a reference; write the array behind it: ref[...] = other[...]")
    value = fitted(value, reference.dtype)
    if isinstance(value, Tracer) and (thread.trace is EVAL_TRACE or not value._trace.alive):
        raise UnexpectedTracerError(value)
    return value


accesses.get, accesses.set, accesses.at, accesses.add = get, set_, Parts, addupdate


# --- programs -------------------------------------------------------------------------------------------------------

_discharged = JaxprCache()
register_cache(_discharged.clear)


def discharged(closed: ClosedJaxpr, args: Sequence[Any], own: tuple[bool, ...]) -> ClosedJaxpr:
    """The program of values that a program of references is: where `own` is true it takes the value behind one.

    Its results are those of the program, and then the last value behind each reference. `args`: the operands.
    Raises ReferenceResultError for a program that returns one of these references.
    """
    return _of_values(closed, own, any([arg._trace.last for arg, is_own in zip(args, own, strict=True) if is_own]))


def _of_values(closed: ClosedJaxpr, own: tuple[bool, ...], last: bool) -> ClosedJaxpr:
    def run(*values: Any) -> list[Value]:
        trace = install_trace(References(thread.trace, last))
        kinds = [getattr(aval, "kind", None) for aval in closed.in_avals]
        cells = [
            Reference(trace, value, kind) if is_own else value
            for value, is_own, kind in zip(values, own, kinds, strict=True)
        ]
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *cells)
        for position, out in enumerate(outs):
            if is_reference(out):
                raise ReferenceResultError(
                    f"{closed.jaxpr.debug_name or 'a function'} returns, as result {position}, a reference of type "
                    f"{out.aval.str_short()}: references cannot be returned; return its value, ref[...]"
                )
        return [*outs, *[cell.value for cell, is_own in zip(cells, own, strict=True) if is_own]]

    def make() -> ClosedJaxpr:
        avals = [aval.inner_aval if is_own else aval for aval, is_own in zip(closed.in_avals, own, strict=True)]
        return trace_to_closed_jaxpr(run, avals, closed.jaxpr.debug_name or "a function")

    return _discharged.get(closed, (own, last), make)


def _lowered(closed: ClosedJaxpr) -> ClosedJaxpr:
    return _of_values(closed, tuple([type(aval) is AbstractRef for aval in closed.in_avals]), True)


accesses.lowered = _lowered


# --- Functions of references as programs of values: what kernels are traced to ----------------------------------------


def value_program(
    function: Callable[..., Sequence[Value]], avals: Sequence[ShapedArray], own: Sequence[bool], name: str
) -> tuple[Jaxpr, list[Any]]:
    """The program of a function that takes references where `own` is true; there the program takes their values.

    `avals`: the types of values. The program returns the results, and then the last value behind each reference; what
    is not written comes out as the variable that it came in as. Beside it the values that the function closed over.
    """

    def run(*values: Any) -> list[Value]:
        trace = install_trace(References(thread.trace))
        cells = [Reference(trace, value) if is_own else value for value, is_own in zip(values, own, strict=True)]
        outs = function(*cells)
        return [*outs, *[cell.value for cell, is_own in zip(cells, own, strict=True) if is_own]]

    return trace_to_jaxpr(run, avals, name)
