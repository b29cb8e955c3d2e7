"""Which dimensions of an array are which named axes, and what an axis may be sharded over."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

from tangrad import tree
from tangrad.core import thread
from tangrad.core.settings import define_setting
from tangrad.extend.sharding import current_mesh
from tangrad.tree_util import PyTreeDef, flatten_axes

if TYPE_CHECKING:
    from tangrad._sharding.mesh import Mesh
    from tangrad.typing import PyTree


# --- Which dimensions of an array are which named axes: the forms in which users say it ---
# `{0: "batch", -1: "features"}` gives positions their names. A list has an entry for each dimension, a name or None,
# and asserts how many dimensions there are; with an ellipsis at its end it leaves the dimensions after it open.

AxisName = Hashable
# Pairs of a name and a dimension of the array that has all of its named axes, by dimension.
Positions = tuple[tuple[Hashable, int], ...]


class AxesSpec:
    """The named axes of one array.

    Attributes:
        given: what the user wrote, for messages.
        entries: pairs of a name and a position, negative ones from the end.
        rank: how many dimensions the array must have; None where that is left open.
    """

    __slots__ = ("entries", "given", "rank")
    entries: Positions

    def __init__(self, given: Any, what: str) -> None:
        self.given = given
        self.rank: int | None = None
        if isinstance(given, dict):
            self.entries = tuple([(name, _position(position, given, what)) for position, name in given.items()])
        else:
            listed = list(given)
            if listed and listed[-1] is Ellipsis:
                listed.pop()
            else:
                self.rank = len(listed)
            if any([entry is Ellipsis for entry in listed]):
                raise ValueError(f"xmap: in {what} an ellipsis may only be the last entry of a list, got {given!r}")
            self.entries = tuple([(name, position) for position, name in enumerate(listed) if name is not None])
        names = [_checked_name(name, given, what) for name, _ in self.entries]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ValueError(
                    f"xmap: {what} can name an axis once in the spec of an array, got {name!r} twice: {given!r}"
                )

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The names alone."""
        return tuple([name for name, _ in self.entries])

    def positions(self, ndim: int, what: str) -> Positions:
        """The named dimensions of an array of `ndim` dimensions, in their order.

        Raises ValueError, beginning with `what`, for another rank than asserted, and for a position that is not there.
        """
        if self.rank is not None and self.rank != ndim:
            raise ValueError(
                f"{what} has {ndim} dimensions, but its spec {self.given!r} is for {self.rank}; end the list "
                f"with an ellipsis where more may follow"
            )
        found: dict[int, Hashable] = {}
        for name, position in self.entries:
            if not -ndim <= position < ndim:
                raise ValueError(
                    f"{what} has {ndim} dimensions, so its spec {self.given!r} cannot name dimension {position}"
                )
            if position % ndim in found:
                raise ValueError(
                    f"{what} has {ndim} dimensions, of which its spec {self.given!r} names dimension {position % ndim} "
                    f"twice: {found[position % ndim]!r} and {name!r}"
                )
            found[position % ndim] = name
        return tuple([(found[position], position) for position in sorted(found)])

    def __repr__(self) -> str:
        return repr(self.given)


def _position(position: SupportsIndex, given: object, what: str) -> int:
    if isinstance(position, bool) or not hasattr(type(position), "__index__"):
        raise TypeError(f"xmap: the keys of a dictionary in {what} are positions, got {position!r} in {given!r}")
    return operator.index(position)


def _checked_name(name: Hashable, given: object, what: str) -> Hashable:
    try:
        hash(name)
    except TypeError:
        raise TypeError(f"xmap: names of axes must be hashable, got {name!r} in {what}: {given!r}") from None
    if name is None or name is Ellipsis or isinstance(name, (int, tuple)):
        raise TypeError(
            f"xmap: an axis needs a name that is no integer, tuple, None or ellipsis, got {name!r} in {what}: {given!r}"
        )
    return name


def _is_spec(value: object) -> bool:
    """Whether a container is the spec of one array; else it is a tree of specs."""
    if isinstance(value, dict):
        return not any([isinstance(item, (dict, list, tuple)) for item in value.values()])
    if isinstance(value, list):
        return not any([isinstance(item, (dict, list, tuple)) for item in value])
    return False


class SpecTree:
    """A tree of specs: `in_axes` or `out_axes`.

    Raises TypeError where a leaf is no spec.
    """

    __slots__ = ("_tree", "_what", "key", "specs")

    def __init__(self, given: object, what: str) -> None:
        self._what = what
        self.specs: list[AxesSpec] = []
        self._tree = self._read(given)
        # Its contents, for caches.
        self.key = (tree.structure(self._tree), tuple([(spec.entries, spec.rank) for spec in self.specs]))

    def _read(self, value: object) -> PyTree:
        leaves, structure = tree.flatten(value, is_leaf=lambda item: item is None or _is_spec(item))
        return structure.unflatten([self._leaf(leaf) for leaf in leaves])

    def _leaf(self, value: object) -> AxesSpec:
        if not _is_spec(value):
            raise TypeError(
                f"xmap: {self._what} names the axes of an array in a dictionary from positions to names, {{0: 'i'}}, "
                f"or in a list of names and None, ['i', ...], got {value!r} of type {type(value).__name__}; "
                f"an array without named axes has the spec {{}}, or [...]"
            )
        self.specs.append(AxesSpec(value, self._what))
        return self.specs[-1]

    @property
    def names(self) -> tuple[Hashable, ...]:
        """All names, in order of appearance."""
        return tuple(dict.fromkeys([name for spec in self.specs for name in spec.names]))

    def of_leaves(self, structure: PyTreeDef) -> list[AxesSpec]:
        """The spec of each leaf of a tree. Raises ValueError where the tree of specs is no prefix of it.

        A list stands for a tuple, too: arguments come as one, and functions return them.
        """
        specs = self._tree
        if isinstance(specs, list) and isinstance(structure.unflatten([0] * structure.num_leaves), tuple):
            specs = tuple(specs)
        return flatten_axes(f"xmap {self._what}", structure, specs)


# --- What an axis may be sharded over, axes of a mesh and serial loops; and how mapped programs are put on meshes ---

ResourceSet = Any  # a resource, or a tuple of them


class SerialLoop:
    """A loop of so many iterations, each of which computes one chunk of an axis, with the memory that a chunk needs.

    Args:
        length: how many chunks: a positive integer, which divides the size of the axis.

    Raises TypeError and ValueError for anything else.

    >>> from tangrad.experimental.maps import SerialLoop
    >>> SerialLoop(4)
    SerialLoop(4)
    """

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        if isinstance(length, bool) or not isinstance(length, int):
            kind = type(length).__name__
            raise TypeError(f"SerialLoop takes the number of its iterations, got {length!r} of type {kind}")
        if length < 1:
            raise ValueError(f"SerialLoop needs at least one iteration, got {length}")
        self.length = length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SerialLoop) and self.length == other.length

    def __hash__(self) -> int:
        return hash((SerialLoop, self.length))

    def __repr__(self) -> str:
        return f"SerialLoop({self.length})"


def _refuse_text(text: str) -> object:
    raise ValueError(
        "serial loops are for blocks of code: with tangrad.experimental.maps.serial_loop(name, length): ..."
    )


def _checked_loops(value: object) -> object:
    if not isinstance(value, tuple):
        raise TypeError("expected a tuple of pairs of a name and a SerialLoop")
    return value


loops_in_scope = define_setting(
    "serial_loops",
    (),
    "The serial loops that axis_resources may name; `with serial_loop(name, length):` adds one for a block of code.",
    parse=_refuse_text,
    check=_checked_loops,
    changes_results=True,
)


@contextmanager
def serial_loop(name: str, length: int) -> Iterator[None]:
    """In this context `axis_resources` may name a serial loop of `length` iterations.

    Raises ValueError for a name that a mesh axis in use or another loop in scope has.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.maps import serial_loop
    >>> f = tangrad.xmap(lambda x: x + 1, in_axes={0: "i"}, out_axes={0: "i"}, axis_resources={"i": "iterations"})
    >>> with serial_loop("iterations", 2):
    ...     f(np.zeros(4))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    if name in current_mesh().axis_names or name in dict(thread.serial_loops):
        raise ValueError(f"serial_loop: a resource in scope has the name {name!r} already")
    with loops_in_scope((*thread.serial_loops, (name, SerialLoop(length)))):
        yield


class Assigned(NamedTuple):
    """What one axis is sharded over.

    Attributes:
        mesh_axes: names of mesh axes, the slowest varying first.
        loop: the number of iterations of its serial loop; 1: none.
        loop_name: the name of that loop, if it has one: axes that share it cannot meet in one value.
    """

    mesh_axes: tuple[object, ...] = ()
    loop: int = 1
    loop_name: object = None

    @property
    def exclusive(self) -> tuple[tuple[str, Hashable], ...]:
        """What this axis alone may have of all the axes of a value: the kind of each such resource, and its name."""
        named = [("serial loop", self.loop_name)] * (self.loop_name is not None)
        return (*[("mesh axis", axis) for axis in self.mesh_axes], *named)


def read_resources(axis_resources: object, known: Sequence[object]) -> dict[Hashable, tuple[Hashable, ...]]:
    """Axis -> its resources as a tuple, as far as they can be checked without knowing what is in scope.

    Raises ValueError for axes that are not `known`, and for a resource that is there twice; TypeError for what is no
    dictionary.
    """
    if not isinstance(axis_resources, Mapping):
        raise TypeError(f"xmap: axis_resources must be a dictionary from axes to resources, got {axis_resources!r}")
    unknown = [name for name in axis_resources if name not in known]
    if unknown:
        raise ValueError(
            f"xmap: axis_resources assigns resources to axes that are neither in in_axes nor in axis_sizes: "
            f"{_listed(unknown)}; the axes are {_listed(known)}"
        )
    found = {}
    for name, given in axis_resources.items():
        resources = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        for number, resource in enumerate(resources):
            if not isinstance(resource, SerialLoop) and resource in resources[:number]:
                raise ValueError(f"xmap: axis {name!r} can have each resource once, got {resource!r} twice: {given!r}")
        found[name] = resources
    return found


def resolve(resources: Mapping[Hashable, tuple[Hashable, ...]]) -> dict[Hashable, Assigned]:
    """Axis -> what it is sharded over, by the mesh in use and the loops in scope.

    Raises ValueError for a resource that is not in scope, a loop before a mesh axis, and a second one.
    """
    mesh_axes, loops = current_mesh().axis_names, dict(thread.serial_loops)
    found = {}
    for name, given in resources.items():
        axes: list[Hashable] = []
        loop: SerialLoop | None = None
        loop_name = None
        for resource in given:
            iterations = resource if isinstance(resource, SerialLoop) else loops.get(resource)
            if iterations is not None:
                if loop is not None:
                    raise ValueError(f"xmap: axis {name!r} can have one serial loop, got two: {given}")
                loop, loop_name = iterations, None if iterations is resource else resource
            elif resource not in mesh_axes:
                raise ValueError(
                    f"xmap: axis {name!r} is to be sharded over {resource!r}, and no such resource is in scope. "
                    f"Mesh axes: {_listed(mesh_axes)}; serial loops: {_listed(loops)}. "
                    f"A mesh is in scope within `with mesh:`"
                )
            elif loop is not None:
                raise ValueError(
                    f"xmap: the serial loop of axis {name!r} must come after its mesh axes, got {given}: each device "
                    f"loops over its own part"
                )
            else:
                axes.append(resource)
        found[name] = Assigned(tuple(axes), 1 if loop is None else loop.length, loop_name)
    return found


def check_divides(name: Hashable, size: int, assigned: Assigned, mesh_shape: Mapping[Hashable, int]) -> None:
    """Raise ValueError for an axis that its resources do not cut into equal parts."""
    parts = math.prod([mesh_shape[axis] for axis in assigned.mesh_axes]) * assigned.loop
    if size % parts:
        over = [f"mesh axis {axis!r} of size {mesh_shape[axis]}" for axis in assigned.mesh_axes]
        over += [f"a serial loop of {assigned.loop} iterations"] * (assigned.loop > 1)
        raise ValueError(
            f"xmap: axis {name!r} of size {size} does not divide into {parts} equal parts, over {' and '.join(over)}"
        )


def _listed(names: Iterable[object]) -> str:
    return ", ".join(sorted([repr(name) for name in names])) or "none"


SPMD, MANUAL, REPLICATED = "spmd", "manual", "replicated"
_WORDS = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}
_BY_PARTITIONING, _BY_HAND = "experimental_xmap_spmd_lowering", "experimental_xmap_spmd_lowering_manual"


class _Tracing(threading.local):
    """How many mapped functions a thread is tracing, and the mesh of the innermost."""

    depth: int = 0
    mesh: Mesh | None = None


_tracing = _Tracing()


@contextmanager
def tracing_for(mesh: Mesh | None) -> Iterator[None]:
    """A mapped function is traced meanwhile: neither the mesh nor the settings may change."""
    around = _tracing.mesh
    _tracing.depth, _tracing.mesh = _tracing.depth + 1, mesh
    try:
        yield
    finally:
        _tracing.depth, _tracing.mesh = _tracing.depth - 1, around


def check_same_mesh(mesh: object) -> None:
    """Raise RuntimeError where the mesh in use is another one than around the mapped function that is traced."""
    if _tracing.depth and _tracing.mesh != mesh:
        raise RuntimeError(
            f"xmap: the mesh in use must stay the same within a mapped function: it was {_tracing.mesh} around, and is "
            f"{mesh} now"
        )


def _parse(text: str) -> bool:
    try:
        return _WORDS[text.strip().lower()]
    except KeyError:
        raise ValueError(f"expected one of {', '.join(_WORDS)}") from None


def _checked(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected True or False")
    if _tracing.depth:
        raise RuntimeError("the lowering of xmap cannot change while a mapped function is traced")
    return value


def _checked_manual(value: object) -> bool:
    if _checked(value) and not getattr(thread, _BY_PARTITIONING, True):
        raise ValueError(f"it needs {_BY_PARTITIONING}; switch that on first")
    return bool(value)


spmd_lowering = define_setting(
    _BY_PARTITIONING,
    True,
    "Whether xmap hands each device its parts of arguments; else each gets them whole, and gathers the results.",
    parse=_parse,
    check=_checked,
    changes_results=True,
)
manual_lowering = define_setting(
    _BY_HAND,
    False,
    "Whether xmap writes the collectives between devices itself; else the compiler partitions the program.",
    parse=_parse,
    check=_checked_manual,
    changes_results=True,
)


def chosen_lowering() -> str:
    """What the settings choose."""
    if not getattr(thread, _BY_PARTITIONING):
        return REPLICATED
    return MANUAL if getattr(thread, _BY_HAND) else SPMD
