"""Substitutions of axis names, and what they do to the types and the name lists of programs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tangrad.core import ClosedJaxpr, Jaxpr, ShapedArray, axes_of_effects, thread

Names = tuple[Any, ...]


class Substitution:
    """What stands for each axis name: a tuple of names, the slowest varying first.

    One name renames the axis; several split it, into axes whose sizes multiply to its own; none says that the axis is
    gone.

    Args:
        names: a mapping from names to a name or a tuple of names, where others stay as they are; or a function
            `name -> tuple of names`.
        sizes: the sizes of new axes, where types must record them and no axis of that name is in scope.
    """

    __slots__ = ("_done", "_names", "sizes")

    def __init__(self, names: Any, sizes: Mapping[Any, int] | None = None) -> None:
        if not callable(names) and not isinstance(names, Mapping):
            raise TypeError(f"subst must be a mapping or a function of axis names, got {names!r}")
        self._names = names
        self.sizes = dict(sizes or {})
        # Nested programs that were done: one that stands in two equations stays one program, compiled once.
        self._done: weakref.WeakKeyDictionary[ClosedJaxpr, ClosedJaxpr] = weakref.WeakKeyDictionary()

    def __call__(self, name: Any) -> Names:
        found = self._names(name) if callable(self._names) else self._names.get(name, name)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)

    def once(self, closed: ClosedJaxpr, make: Callable[[ClosedJaxpr], ClosedJaxpr]) -> ClosedJaxpr:
        """`make(closed)`, made the first time."""
        found = self._done.get(closed)
        if found is None:
            found = self._done[closed] = make(closed)
        return found

    def changes(self, names: Iterable[Any]) -> bool:
        """Whether one of these names does not stay as it is."""
        return any([self(name) != (name,) for name in names])

    def known_size(self, name: Any) -> int | None:
        """The size of a new axis, or None where it is unknown."""
        if name in self.sizes:
            return self.sizes[name]
        return next((size for other, size in reversed(thread.axis_environment) if other == name), None)

    def size(self, name: Any) -> int:
        """The size of a new axis. Raises NameError where it is unknown."""
        size = self.known_size(name)
        if size is not None:
            return size
        raise NameError(
            f"the size of the new axis {name!r} is needed, and no axis of that name is in scope; state it: "
            f"subst_axis_names(jaxpr, subst, sizes={{{name!r}: ...}})"
        )


def as_substitution(subst: Any) -> Substitution:
    """The substitution that a rule is given, with its memory of what is done."""
    return subst if isinstance(subst, Substitution) else Substitution(subst)


def renamed_axes(axes: Any, subst: Substitution, what: str = "an equation") -> Any:
    """A list of axes with their new names; integers are dimensions of an operand, and stay. A bare name stays bare.

    Raises ValueError where two axes get one name.

    >>> from tangrad._collectives.named_axes import renamed_axes
    >>> renamed_axes(("i", 0, "j"), lambda name: {"i": ("rows", "columns")}.get(name, (name,)))
    ('rows', 'columns', 0, 'j')
    """
    many = isinstance(axes, (tuple, list))
    found: list[Any] = []
    for axis in axes if many else (axes,):
        found.extend((axis,) if isinstance(axis, int) else subst(axis))
    _check_distinct([axis for axis in found if not isinstance(axis, int)], what)
    return found[0] if not many and len(found) == 1 else tuple(found)


def renamed_aval(aval: ShapedArray, subst: Substitution) -> ShapedArray:
    """A type with its named axes renamed."""
    if not aval.named_shape:
        return aval
    found: list[tuple[Any, int]] = []
    for name, size in aval.named_shape:
        names = subst(name)
        if len(names) == 1:
            found.append((names[0], size))
            continue
        sizes = [subst.size(new) for new in names]
        total = 1
        for one in sizes:
            total *= one
        if names and total != size:
            raise ValueError(f"axis {name!r} of size {size} cannot become axes {names} of sizes {tuple(sizes)}")
        found.extend(zip(names, sizes))
    _check_distinct([name for name, _ in found], f"a value of type {aval.str_short()}")
    return aval.update(named_shape=dict(found))


def _check_distinct(names: list[Any], what: str) -> None:
    repeated = [name for position, name in enumerate(names) if name in names[:position]]
    if repeated:
        raise ValueError(f"two axes of {what} would be named {repeated[0]!r}: {tuple(names)}")


def used_axis_names(jaxpr: Jaxpr | ClosedJaxpr) -> frozenset[Any]:
    """The names of the mapped axes that a program uses and does not bind itself: in its equations, and in its types.

    >>> import tangrad
    >>> from tangrad._collectives.named_axes import used_axis_names
    >>> jaxpr = tangrad.make_jaxpr(lambda x: tangrad.lax.psum(x, "i"), axis_env=[("i", 4)])(1.0 * tangrad.numpy.ones(2))
    >>> used_axis_names(jaxpr)
    frozenset({'i'})
    """
    jaxpr = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    typed = [atom for eqn in jaxpr.eqns for atom in (*eqn.invars, *eqn.outvars)]
    typed += [*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars]
    return axes_of_effects(jaxpr.effects) | {name for atom in typed for name, _ in atom.aval.named_shape}
