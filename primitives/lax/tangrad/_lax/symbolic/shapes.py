"""What users write shapes with: `symbolic_shape`, `symbolic_args_specs`, and what they ask of them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

from tangrad import tree
from tangrad._lax.symbolic.scopes import ELLIPSIS, PLACEHOLDER, SymbolicScope, parse_shape
from tangrad.core import get_aval
from tangrad.core.arguments import is_symbolic
from tangrad.tree_util import broadcast_prefix
from tangrad.typing import HasShapeAndDType, PyTree

if TYPE_CHECKING:
    from tangrad._lax.symbolic.dimensions import Dimension


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Iterable[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[object] | None = None,
) -> tuple[int, ...]:
    """Make a shape whose dimensions may be variables, or polynomials in them.

    Args:
        shape_spec: the dimensions, separated by commas: integers, names, `+ - * // %`, `^`, `max`, `min`, `mod`,
            `floordiv`; `_` for the size that `like` has there, `...` for all sizes of `like` that nothing else stands
            for. None: `like` itself.
        constraints: what holds of the variables, such as `"a >= b"`; see `SymbolicScope`. Not together with `scope`.
        scope: the scope of the variables; None: a new one.
        like: a shape, or its first dimensions.

    Returns:
        A tuple of integers and `Dimension`s.

    Raises:
        ValueError: for a text that cannot be read, `_` and `...` without a fitting `like`, a number that is not the
            size of `like`.

    >>> from tangrad.export import symbolic_shape
    >>> symbolic_shape("b, 2*n + 1, 3")
    (b, 2*n + 1, 3)
    >>> symbolic_shape("b, ...", like=(8, 32, 3))
    (b, 32, 3)
    """
    scope = _scope(scope, constraints)
    spec = ELLIPSIS if shape_spec is None else shape_spec
    sizes = list(like) if like is not None else None
    return tuple(_filled(parse_shape(spec, scope), spec, sizes))


def _scope(scope: SymbolicScope | None, constraints: Iterable[str]) -> SymbolicScope:
    constraints = (constraints,) if isinstance(constraints, str) else tuple(constraints)
    if scope is None:
        return SymbolicScope(constraints)
    if constraints:
        raise ValueError("symbolic_shape: constraints belong to a scope; give scope=SymbolicScope(constraints)")
    return scope


def _filled(entries: list[Any], spec: str, like: Sequence[object] | None) -> list[int]:
    """The entries of a shape, with those of `like` in the place of `_` and `...`."""
    written = [entry for entry in entries if entry != ELLIPSIS]
    if len(entries) - len(written) > 1:
        raise ValueError(f"the shape {spec!r} has several '...'; one can be filled in")
    if ELLIPSIS in entries:
        if like is None or len(like) < len(written):
            raise ValueError(f"the shape {spec!r} needs a shape like=... of at least {len(written)} dimensions")
        position = entries.index(ELLIPSIS)
        entries[position : position + 1] = [PLACEHOLDER] * (len(like) - len(written))
    elif like is not None and len(like) != len(entries):
        raise ValueError(f"the shape {spec!r} has {len(entries)} dimensions, like={tuple(like)} has {len(like)}")
    return [_entry(entry, axis, spec, like) for axis, entry in enumerate(entries)]


def _entry(entry: Dimension, axis: int, spec: str, like: Sequence[object] | None) -> Any:
    if isinstance(entry, str):
        if like is None:
            raise ValueError(f"the shape {spec!r} has a '_', which needs a shape like=... to be filled from")
        return like[axis]
    if is_symbolic(entry) or like is None or is_symbolic(like[axis]) or like[axis] == entry:
        if not is_symbolic(entry) and entry < 0:
            raise ValueError(f"the shape {spec!r} has a negative dimension {entry}")
        return entry
    raise ValueError(f"the shape {spec!r} has {entry} for dimension {axis}, like={tuple(like)} has {like[axis]}")


def symbolic_dim_bounds(dim: Any) -> tuple[float, float]:
    """The least and the largest value of a dimension, as far as its scope bounds it: infinities where it does not.

    Args:
        dim: a dimension of a shape: symbolic, or an integer.

    Raises TypeError for what is neither.

    >>> from tangrad.export import symbolic_dim_bounds, symbolic_shape
    >>> (b,) = symbolic_shape("b", constraints=["b <= 8"])
    >>> symbolic_dim_bounds(2 * b + 1)
    (3, 17)
    """
    if is_symbolic(dim):
        low, high = dim.bounds()
        return low, high
    if isinstance(dim, bool) or not hasattr(type(dim), "__index__"):
        raise TypeError(f"symbolic_dim_bounds takes a dimension, got {dim!r} of type {type(dim).__name__}")
    return operator.index(dim), operator.index(dim)


@overload
def symbolic_args_specs(
    args: HasShapeAndDType,
    shapes_specs: object,
    constraints: Iterable[str] = (),
    scope: SymbolicScope | None = None,
) -> HasShapeAndDType: ...
@overload
def symbolic_args_specs(
    args: PyTree,
    shapes_specs: object,
    constraints: Iterable[str] = (),
    scope: SymbolicScope | None = None,
) -> PyTree: ...
def symbolic_args_specs(
    args: PyTree,
    shapes_specs: object,
    constraints: Iterable[str] = (),
    scope: SymbolicScope | None = None,
) -> PyTree:
    """Make the types of arguments, with symbolic dimensions, from examples of them.

    Args:
        args: a tree of arrays, or of anything with a shape and a dtype.
        shapes_specs: strings as `symbolic_shape` takes them, or None for a shape as it is; a prefix of `args`, so that
            one string may stand for all.
        constraints: what holds of the variables; not together with `scope`.
        scope: the scope of the variables; None: a new one.

    Returns:
        The tree of `args`, of types: avals (`ShapeDtypeStruct`s where `args` has such), which `export`, `make_jaxpr`
        and `eval_shape` take.

    Raises:
        ValueError: for shapes that do not fit the arguments.
        TypeError: for arguments without a shape.

    >>> import tangrad.numpy as np
    >>> from tangrad.export import symbolic_args_specs
    >>> symbolic_args_specs((np.ones((4, 3)), np.ones(3)), ("b, ...", None))
    (ShapedArray(float32[b,3]), ShapedArray(float32[3]))
    """
    scope = _scope(scope, constraints)
    specs = broadcast_prefix(shapes_specs, args, is_leaf=lambda part: part is None)
    leaves, structure = tree.flatten(args)
    return structure.unflatten([_typed(leaf, spec, scope) for leaf, spec in zip(leaves, specs, strict=True)])


def _typed(leaf: object, spec: str | None, scope: SymbolicScope) -> Any:
    typed = leaf if hasattr(leaf, "update") and hasattr(leaf, "shape") else get_aval(leaf)
    return typed.update(shape=symbolic_shape(spec, scope=scope, like=typed.shape))


def is_symbolic_dim(p: object) -> bool:
    """Whether a dimension is symbolic, rather than an integer.

    >>> from tangrad.export import is_symbolic_dim, symbolic_shape
    >>> [is_symbolic_dim(size) for size in symbolic_shape("n, 3")]
    [True, False]
    """
    return is_symbolic(p)
