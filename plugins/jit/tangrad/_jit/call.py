"""One call of a jitted function: its arguments as static values and leaves, and the function traced for them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, TypeAlias, TypeVar

import numpy as np

from tangrad import local_devices, tree
from tangrad._jit.layout import ShardingTree
from tangrad._jit.primitives import jit_p, with_operands
from tangrad._jit.settings import DEFAULT_EFFORT
from tangrad._jit.signature import check_hashable
from tangrad.core import (
    Array,
    Backend,
    ClosedJaxpr,
    Device,
    ShapedArray,
    Sharding,
    Tracer,
    backend_names,
    composition,
    dtypes,
    get_aval,
    get_backend,
    is_array_value,
    put,
    returned_leaves,
    thread,
    trace_to_jaxpr,
    transfers,
)
from tangrad.core.caches import after_fork, free_after_fork, register_cache, typed_key
from tangrad.core.programs import backend_of
from tangrad.core.tools import mixed_backends
from tangrad.errors import MissingDistributionError
from tangrad.tree_util import PyTreeDef, keystr

if TYPE_CHECKING:
    from tangrad.typing import Params, PyTree, Value

    Execute: TypeAlias = Callable[[Sequence[Any]], Sequence[PyTree]]  # runs a program of arrays
    Entry: TypeAlias = tuple[Execute, PyTreeDef | None]  # and the structure of its result, None for one array


class Options(NamedTuple):
    """The options of one `jit`."""

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    keep_unused: bool = False
    device: Device | None = None
    backend: str | None = None
    inline: bool = False
    in_shardings: ShardingTree | None = None
    out_shardings: ShardingTree | None = None
    axes: Any = None  # an `AbstractedAxes`
    compiler_options: tuple[tuple[str, object], ...] = ()
    compile_regions: str | bool | None = None
    compile_effort: str | None = None
    platform: str | None = None  # what a program is lowered for, where it is not compiled

    def place(self) -> Device | None:
        """The device to run on: the one given, or the first of this process of a platform given as the backend."""
        if self.backend is None or self.backend in backend_names():
            return self.device
        return local_devices(backend=self.backend)[0]

    def extra(self) -> Params | None:
        """What only the backend and the passes know what to do with."""
        found: Params = {"compiler_options": dict(self.compiler_options)} if self.compiler_options else {}
        if self.compile_regions is not None:
            found["compile_regions"] = self.compile_regions
        effort = self.compile_effort or thread.compile_effort
        if effort != DEFAULT_EFFORT:
            found["compile_effort"] = effort
        if self.platform is not None:
            found["platform"] = self.platform
        return found or None


class Traced:
    """A function traced for one signature.

    Attributes:
        jaxpr: closed jaxpr; values of outer traces that the function closed over are its first arguments.
        outer: those values.
        out_tree: the structure of the result.
        seconds: how long tracing took.
    """

    __slots__ = ("jaxpr", "out_tree", "outer", "seconds")

    def __init__(self, jaxpr: ClosedJaxpr, outer: list[Array], out_tree: PyTreeDef) -> None:
        self.jaxpr = jaxpr
        self.outer = outer
        self.out_tree = out_tree
        self.seconds = 0.0

    def beside_references(self, name: str, options: Options) -> Execute:
        """What runs the program outside of all traces, where `outer` are references: with the values that they have.

        Raises NotImplementedError for options of a whole program.
        """
        for option in ("device", "in_shardings", "out_shardings", "compiler_options"):
            if getattr(options, option):
                raise NotImplementedError(
                    f"jit: {name} closes over a reference, and is jitted with {option}: pass the array behind it, "
                    "ref[...], as an argument, and write what the function returns"
                )
        return lambda arrays: jit_p.bind(*self.outer, *arrays, jaxpr=self.jaxpr, name=name)


class OfReferences:
    """A program that takes references as the one of values that is compiled, which returns the last ones, too.

    Attributes:
        program: it takes the values behind references; after the results it returns those of references that it writes.
        written: which operands these are.
    """

    __slots__ = ("_count", "_places", "program", "written")

    def __init__(self, closed: ClosedJaxpr, places: Sequence[int]) -> None:
        types: Sequence[Any] = closed.in_avals
        whole = types[places[0]].program_of_values(closed)
        jaxpr, self._count, self._places = whole.jaxpr, len(closed.out_avals), places
        last = list(zip(places, jaxpr.outvars[self._count :], strict=True))
        self.written = [place for place, var in last if var is not jaxpr.invars[place]]
        outvars = [*jaxpr.outvars[: self._count], *[var for place, var in last if place in self.written]]
        self.program = ClosedJaxpr(jaxpr.replace(outvars=outvars), whole.consts)

    @classmethod
    def of(cls, closed: ClosedJaxpr) -> OfReferences | None:
        """That of a program; None if it takes arrays alone."""
        places = [place for place, aval in enumerate(closed.in_avals) if is_type_of_reference(aval)]
        return cls(closed, places) if places else None

    def values(self, operands: Sequence[Any], name: str) -> list[Any]:
        """The operands with values in place of references. Raises ValueError for one that is two of them."""
        if len({id(operands[place]) for place in self._places}) < len(self._places):
            raise ValueError(f"{name}: one reference is two operands of a program, which would see two values of it")
        return [value_behind(operand) for operand in operands]

    def write(self, operands: Sequence[Any], outs: Sequence[Value]) -> Sequence[Value]:
        """Have references hold what the program returned for them; its other results."""
        for place, out in zip(self.written, outs[self._count :], strict=True):
            operands[place].aval.set_item(operands[place], ..., out)
        return outs[: self._count]


def is_type_of_reference(aval: object) -> bool:
    """Whether values of a type are references: their programs are lowered as programs of values."""
    return hasattr(aval, "program_of_values")


def refuse_references(closed: ClosedJaxpr, name: str) -> None:
    """Raise TypeError for a program that takes references, where it is to be used in other processes."""
    for aval in closed.in_avals:
        if is_type_of_reference(aval):
            raise TypeError(
                f"{name} takes a reference, of type {aval.str_short()}, which other processes do not have: pass its "
                "value, ref[...], and return what is written"
            )


def value_behind(operand: Any) -> Any:
    """The array behind a reference; anything else itself."""
    is_one = isinstance(operand, Array) and is_type_of_reference(operand.aval)
    return operand.aval.get_item(operand, ...) if is_one else operand


class Static:
    """A static argument: compared by its type and value; a leafless stand-in for it in the tree of arguments."""

    __slots__ = ("key", "value")

    def __init__(self, value: object, where: str) -> None:
        self.value = check_hashable(value, where)
        self.key = typed_key(value)


def split_static(
    options: Options, args: tuple[PyTree, ...], kwargs: dict[str, object]
) -> tuple[tuple[tuple[object, object], ...], tuple[PyTree, ...], dict[str, object]]:
    """The key of a call's static arguments, and its other arguments. Raises TypeError for what cannot be hashed."""
    count, names = len(args), options.static_argnames
    positions = [p % count if p < 0 else p for p in options.static_argnums if -count <= p < count]
    static: list[tuple[object, object]] = [(p, typed_key(args[p])) for p in sorted(positions)]
    if positions:
        args = tuple([arg for position, arg in enumerate(args) if position not in positions])
    if kwargs and names:
        static += [(name, typed_key(kwargs[name])) for name in sorted(kwargs) if name in names]
        kwargs = {name: value for name, value in kwargs.items() if name not in names}
    return tuple(static), args, kwargs


def arrays_for(backend: Backend, leaves: Sequence[object], options: Options) -> list[Array]:
    """The leaves as arrays of one backend. Arrays of another are moved only if the options say where to run.

    Raises TypeError for tracers, and for what is no array; ValueError for arrays of another backend.
    """
    moves = options.backend is not None or options.device is not None
    kind = backend.array_type
    arrays = []
    for leaf in leaves:
        if not isinstance(leaf, kind):
            if isinstance(leaf, Tracer):
                raise TypeError("a tracer has no contents")
            if type(leaf) is int:
                dtypes.check_integer_fits(leaf, get_aval(leaf).dtype)
            if isinstance(leaf, Array):
                if not moves:
                    raise mixed_backends(backend, leaf)
                leaf = backend.put(leaf.to_numpy(), leaf.aval)
            else:
                aval = get_aval(leaf)
                transfers.brought(aval)
                leaf = backend.put(leaf, aval)
        arrays.append(leaf)
    return arrays


class Call:
    """The arguments of one call.

    Attributes:
        leaves: the traced leaves, as arrays and tracers (or, for `lower`, whatever has shape and dtype).
        treedef: the structure of `(dynamic positional arguments, dynamic keyword arguments)`.
        static: the static arguments, by position or name.
        has_keywords: whether there are keyword arguments.
    """

    __slots__ = (
        "_args",
        "_donated_names",
        "_donated_positions",
        "_kwargs",
        "has_keywords",
        "leaves",
        "static",
        "treedef",
    )

    def __init__(self, options: Options, args: tuple[PyTree, ...], kwargs: Params, abstract: bool = False) -> None:
        count = len(args)
        static_positions = {p % count if p < 0 else p for p in options.static_argnums if -count <= p < count}
        self.static: dict[int | str, Static] = {
            p: Static(args[p], f"at position {p}") for p in sorted(static_positions)
        }
        self.static.update({n: Static(kwargs[n], repr(n)) for n in sorted(kwargs) if n in options.static_argnames})
        self._args = [arg for position, arg in enumerate(args) if position not in static_positions]
        self._kwargs = {name: value for name, value in kwargs.items() if name not in self.static}
        # Dynamic keyword arguments in one dictionary; without any the tree is that of the positional ones alone.
        self.has_keywords = bool(self._kwargs)
        dynamic = (tuple(self._args), self._kwargs) if self._kwargs else tuple(self._args)
        leaves, self.treedef = tree.flatten(dynamic)
        convert = _abstract_leaf if abstract else _leaf
        self.leaves = [
            leaf if isinstance(leaf, Array) else convert(leaf, position, self, options, leaves)
            for position, leaf in enumerate(leaves)
        ]
        donated = {p % count if p < 0 else p for p in options.donate_argnums if p < count}
        for position in options.donate_argnums:
            if not -count <= position < count and not _given_by_name(options, kwargs):
                raise ValueError(f"donate_argnums has {position}, but the call has {count} positional arguments")
        self._donated_positions = [p in donated for p in range(count) if p not in static_positions]
        self._donated_names = set(options.donate_argnames)

    def key(self) -> tuple[object, ...]:
        """What of the call decides about the program, settings apart."""
        avals = tuple([leaf.aval for leaf in self.leaves])
        static = tuple([(where, static.key) for where, static in self.static.items()])
        return self.treedef, avals, self.has_keywords, static

    def donated(self) -> tuple[bool, ...]:
        """For each leaf, whether its buffer may be overwritten."""
        flags: list[bool] = []
        for arg, is_donated in zip(self._args, self._donated_positions, strict=True):
            flags.extend([is_donated] * tree.structure(arg).num_leaves)
        for name in sorted(self._kwargs):
            flags.extend([name in self._donated_names] * tree.structure(self._kwargs[name]).num_leaves)
        return tuple(flags)

    def arguments(self, leaves: Sequence[Value]) -> tuple[list[PyTree], Params]:
        """The arguments of the user's function, with `leaves` in place of the traced ones."""
        dynamic = self.treedef.unflatten(leaves)
        args, kwargs = dynamic if self.has_keywords else (dynamic, {})
        args, kwargs = list(args), dict(kwargs)
        for where, static in self.static.items():
            if isinstance(where, int):
                args.insert(where, static.value)
            else:
                kwargs[where] = static.value
        return args, kwargs

    @property
    def keywords(self) -> str:
        """The names of the keyword arguments, for messages."""
        return ", ".join(self._kwargs)

    def path(self, position: int) -> str:
        """Where a leaf is among the arguments, for messages."""
        path = tree.leaves_with_path((tuple(self._args), self._kwargs))[position][0]
        return ("args" if path[0].idx == 0 else "kwargs") + keystr(path[1:])


def _given_by_name(options: Options, kwargs: dict[str, object]) -> bool:
    return any(name in kwargs for name in options.donate_argnames)


def run_backend(options: Options, leaves: Sequence[object]) -> Backend:
    """The backend that a call runs on: as the options say, or that of the first array."""
    if (device := options.place()) is not None:
        return device.backend
    for layout in (options.in_shardings, options.out_shardings):
        if layout is not None and (backend := layout.backend()) is not None:
            return backend
    return backend_of(leaves) if options.backend is None else get_backend(options.backend)


def _leaf(leaf: object, position: int, call: Call, options: Options, leaves: Sequence[object]) -> Value:
    """A number or NumPy array as an array beside the others."""
    if not is_array_value(leaf):
        raise TypeError(
            f"argument {call.path(position)} of a jitted function is {leaf!r} of type {type(leaf).__name__}, which "
            f"is not an array; "
            "make it static (static_argnums, static_argnames), or register its type as a pytree"
        )
    beside = [other.concrete() if isinstance(other, Tracer) else other for other in leaves]
    return put(getattr(leaf, "ndarray", leaf), get_aval(leaf), run_backend(options, beside).name)


class AbstractLeaf:
    """A leaf of which only the type is known, and maybe its sharding."""

    __slots__ = ("aval", "user_sharding")

    def __init__(self, aval: ShapedArray, user_sharding: Sharding | None = None) -> None:
        self.aval = aval
        self.user_sharding = user_sharding


def _abstract_leaf(leaf: object, position: int, call: Call, options: Options, leaves: Sequence[object]) -> Any:
    placed: Sharding | None = getattr(leaf, "placed", None)
    if isinstance(leaf, ShapedArray) and placed is not None:
        return AbstractLeaf(leaf, placed)  # on the devices themselves: its `sharding` is of the mesh's shape alone
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return described_leaf(leaf)
    if not is_array_value(leaf):
        return _leaf(leaf, position, call, options, leaves)
    return AbstractLeaf(get_aval(leaf))


def described_leaf(leaf: Any) -> AbstractLeaf:
    """What a shape and a dtype, and maybe a sharding, describe."""
    aval, sharding = abstract_aval(leaf), getattr(leaf, "sharding", None)
    if isinstance(sharding, Sharding):
        if sharding.is_unspecified:
            return AbstractLeaf(aval)
        sharding = sharding.to_sharding("the sharding of an argument")
        aval = sharding.type_of(aval)
    return AbstractLeaf(_type_of_reference(aval) if getattr(leaf, "is_ref", False) else aval, sharding)


def _type_of_reference(aval: ShapedArray) -> Any:
    plugin = composition().find("tangrad.api", "ref.AbstractRef")
    if plugin is None:
        raise MissingDistributionError("tangrad.ref.AbstractRef", "tangrad-references")
    return plugin.load()(aval)


def abstract_aval(leaf: Any) -> ShapedArray:
    """The aval of anything that has a shape and a dtype."""
    named = getattr(leaf, "named_shape", None) or ()
    return ShapedArray(
        tuple(leaf.shape), dtypes.canonicalize_dtype(leaf.dtype), bool(getattr(leaf, "weak_type", False)), named
    )


def trace_call(fun: Callable[..., object], call: Call, name: str, avals: Sequence[object] | None = None) -> Traced:
    """Trace the user's function for the types of a call; `avals`: for these of its leaves."""
    out_tree: list[PyTreeDef] = []

    def flat(*tracers: Value) -> list[Value]:
        args, kwargs = call.arguments(tracers)
        out = fun(*args, **kwargs)
        leaves, treedef = tree.flatten(out)
        if not all([hasattr(type(leaf), "aval") for leaf in leaves]):
            returned_leaves(out, f"jitted function {name!r}")
        out_tree.append(treedef)
        return leaves

    types = [leaf.aval for leaf in call.leaves] if avals is None else avals
    jaxpr, consts = trace_to_jaxpr(flat, types, name)
    return Traced(*with_operands(jaxpr, consts), out_tree[0])


def why_new(key: tuple[object, ...], known: Sequence[tuple[Any, ...]]) -> str:
    """Why a function has no program for a call with this key, given the keys that it was traced for."""
    calls = [other[0] for other in known]
    for part, reason in ((0, "structure of the arguments"), (1, "types of the arguments"), (3, "static values")):
        calls = [call for call in calls if call[part] == key[part]]
        if not calls:
            return f"new {reason}" if known else "new function"
    return "other settings, or another backend or device"


class Tables:
    """The caches of one function under one set of options, shared by every `jit` of it."""

    __slots__ = ("__weakref__", "lock", "programs", "traced", "traces")

    def __init__(self) -> None:
        self.programs: dict[Hashable, Entry] = {}
        self.traced: dict[tuple[object, ...], Traced] = {}
        self.traces = 0
        self.free()

    def free(self) -> None:
        """Release the lock, whichever thread held it: where a process was forked, that thread is not in the child."""
        self.lock = threading.Lock()

    def clear(self) -> None:
        """Forget what was traced and compiled."""
        self.programs.clear()
        self.traced.clear()


# Function -> options -> tables. Weak in the function: after `del` its programs go.
_tables: weakref.WeakKeyDictionary[Callable[..., object], dict[Hashable, Tables]] = weakref.WeakKeyDictionary()
_tables_lock = free_after_fork(threading.RLock())


def _every_table() -> list[Tables]:
    with _tables_lock:
        return [tables for by_options in _tables.values() for tables in by_options.values()]


@register_cache
def _clear_all() -> None:
    for tables in _every_table():
        tables.clear()


@after_fork
def _free_all() -> None:
    for tables in _every_table():
        tables.free()


def tables_of(function: Callable[..., object], key: Options) -> Tables:
    """The caches of a function under one set of options."""
    try:
        with _tables_lock:
            return _tables.setdefault(function, {}).setdefault(key, Tables())
    except TypeError:  # not weakly referable or not hashable: caches of its own
        return Tables()


P = ParamSpec("P")
R = TypeVar("R", covariant=True)


def with_float0_of_numpy(execute: Execute, out_avals: Sequence[ShapedArray]) -> Execute:
    """A program whose results of float0, tangents of integers, are NumPy arrays, as all transformations return them."""
    constants = {
        place: np.zeros(aval.shape, dtypes.float0)
        for place, aval in enumerate(out_avals)
        if aval.dtype == dtypes.float0
    }
    if not constants:
        return execute
    return lambda arrays: [constants.get(place, out) for place, out in enumerate(execute(arrays))]


class BoundMethod(Generic[P, R]):
    """A jitted method of one instance. The instance is an argument like any other: a pytree, or static."""

    __slots__ = ("_instance", "_jitted")

    def __init__(self, jitted: Any, instance: object) -> None:
        self._jitted = jitted
        self._instance = instance

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._jitted(self._instance, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._jitted, name)
        if name in ("lower", "trace", "eval_shape"):
            return lambda *args, **kwargs: attribute(self._instance, *args, **kwargs)
        return attribute
