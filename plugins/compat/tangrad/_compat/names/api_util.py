"""`jax.api_util`: functions of trees as functions of leaves."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from tangrad import tree, typeof
from tangrad._compat.names.linear_util import DebugInfo, WrappedFun
from tangrad._compat.names.util import safe_map as safe_map
from tangrad.tree_util import flatten_axes as flatten_axes

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef

shaped_abstractify = typeof


def debug_info(
    traced_for: str, function: Callable[..., object], args: object = (), kwargs: object = None, **options: object
) -> DebugInfo:
    """What errors say of a function that is traced."""
    return DebugInfo(traced_for, getattr(function, "__name__", repr(function)))


def flatten_fun(function: WrappedFun, in_tree: PyTreeDef) -> tuple[WrappedFun, Callable[[], PyTreeDef]]:
    """The function of leaves, of positional and keyword arguments, and one that returns the structure of its result."""
    return _flattened(function, lambda leaves: in_tree.unflatten(leaves))


def flatten_fun_nokwargs(function: WrappedFun, in_tree: PyTreeDef) -> tuple[WrappedFun, Callable[[], PyTreeDef]]:
    """As `flatten_fun`, of positional arguments alone."""
    return _flattened(function, lambda leaves: (in_tree.unflatten(leaves), {}))


def _flattened(function: WrappedFun, arguments: Callable[[Any], Any]) -> tuple[WrappedFun, Callable[[], PyTreeDef]]:
    structures: list[PyTreeDef] = []

    def flat(*leaves: object) -> list[object]:
        args, kwargs = arguments(leaves)
        out, structure = tree.flatten(function.call_wrapped(*args, **kwargs))
        structures[:] = [structure]
        return out

    return WrappedFun(flat, function.debug_info, function.f), lambda: structures[0]


def argnums_partial(
    function: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[object],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[object, ...]]:
    """The function of the arguments at `dyn_argnums` alone, the others being fixed, and those arguments.

    Raises:
        ValueError: for a position that no argument has, and for a fixed argument that cannot be hashed, unless
            `require_static_args_hashable` is False.

    >>> from tangrad._compat.names.linear_util import wrap_init
    >>> f, given = argnums_partial(wrap_init(lambda x, y: x - y), 1, (5, 3))
    >>> f.call_wrapped(*given), f.call_wrapped(4)
    (2, 1)
    """
    wanted = [dyn_argnums] if hasattr(dyn_argnums, "__index__") else dyn_argnums
    places = [_place(position, len(args)) for position in wanted]
    fixed = {place: arg for place, arg in enumerate(args) if place not in places}
    for place, arg in fixed.items() if require_static_args_hashable else ():
        if getattr(type(arg), "__hash__", None) is None:
            raise ValueError(f"argument {place} of {function.__name__} is static and must be hashable, got {arg!r}")

    def of_dynamic(*dynamic: object, **kwargs: object) -> object:
        given = {**fixed, **dict(zip(places, dynamic, strict=True))}
        return function.call_wrapped(*[given[place] for place in range(len(args))], **kwargs)

    return WrappedFun(of_dynamic, function.debug_info, function.f), tuple([args[place] for place in places])


def _place(position: SupportsIndex, count: int) -> int:
    found = operator.index(position)
    if not -count <= found < count:
        raise ValueError(f"the position {found} is out of bounds for {count} arguments")
    return found % count


def donation_vector(
    donate_argnums: Iterable[int], donate_argnames: Iterable[str], in_tree: PyTreeDef, kws: bool = True
) -> tuple[bool, ...]:
    """For each leaf of the arguments whether it may be overwritten.

    Args:
        donate_argnums, donate_argnames: the arguments that may be, by position and by name.
        in_tree: the structure of `(args, kwargs)`; of `args` without `kws`.

    >>> from tangrad import tree
    >>> donation_vector((1,), ("z",), tree.structure(((0, (1, 2)), {"z": 3})))
    (False, True, True, True)
    """
    positional, named = in_tree.children() if kws else (in_tree, None)
    parts = [(place in donate_argnums, part) for place, part in enumerate(positional.children())]
    if named is not None:
        parts += [(key in donate_argnames, part) for key, part in zip(_keys(named), named.children(), strict=True)]
    return tuple([donated for donated, part in parts for _ in range(part.num_leaves)])


def _keys(structure: PyTreeDef) -> list[str]:
    return list(structure.unflatten(range(structure.num_leaves))) if structure.num_leaves else []


def rebase_donate_argnums(donate_argnums: Iterable[int], static_argnums: Iterable[int]) -> tuple[int, ...]:
    """Positions of donated arguments where those that are static are left out. Raises ValueError where one is both.

    >>> rebase_donate_argnums((3, 4), (0, 1))
    (1, 2)
    """
    donated, static = set(donate_argnums), set(static_argnums)
    if both := donated & static:
        raise ValueError(f"arguments {sorted(both)} are static, so they cannot be donated")
    return tuple([place - sum([other < place for other in static]) for place in sorted(donated)])
