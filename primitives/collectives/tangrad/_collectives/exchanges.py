"""What the examples along mapped axes send each other: gathering, scattering, permuting."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TypeVar, overload

from tangrad._collectives.axes import (
    AxisNames,
    apply_checked,
    checked_axes,
    checked_groups,
    group_size,
    on_leaves,
    size_of_axes,
)
from tangrad._collectives.positions import differing, recast
from tangrad._collectives.primitives import (
    all_gather_p,
    all_to_all_p,
    pbroadcast_p,
    pinvary_p,
    ppermute_p,
    reduce_scatter_p,
)
from tangrad.core import Array, as_array
from tangrad.extend.lax import canonical_axis, expand_dims, squeeze
from tangrad.typing import ArrayLike, PyTree, Value

T = TypeVar("T")


@overload
def all_gather(
    x: ArrayLike,
    axis_name: AxisNames,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Array: ...
@overload
def all_gather(
    x: T,
    axis_name: AxisNames,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> T: ...
def all_gather(
    x: PyTree,
    axis_name: AxisNames,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> PyTree:
    """The values of all examples along mapped axes, in one array that every example has.

    Args:
        x: a tree of arrays.
        axis_name: the name of a mapped axis; or several in a tuple or list, the first one varying slowest.
        axis_index_groups: lists of one length of indices along the axis, each index in exactly one: the members of the
            example's own group are gathered, in the order of the list. None: all examples are one group.
        axis: where the new dimension goes; tiled, the dimension along which the values are joined.
        tiled: whether the values are joined along a dimension that they have, in place of a new one.
        to: "varying": within a `shard_map` that checks types, results differ along the axes by their types, though
            their values are the same, and the derivative is the sum of those of all examples. "invarying": results are
            the same by their types, too, and the derivative is the example's own part. "reduced": their cotangents are
            shares that are still to be summed, which the derivative does. Elsewhere all are one.

    Returns:
        a tree of arrays with a dimension more, or, tiled, with a longer one.

    Raises:
        NameError: for a name that no mapped axis in scope has; the message lists those in scope.
        ValueError: for an axis named twice, a dimension that is not there, groups that do not fit, another `to`.
        NotImplementedError: for groups that go to another than "varying".

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([[1., 3.],
           [1., 3.]], dtype=float32)
    """
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(f"all_gather: to must be 'varying', 'invarying' or 'reduced', got {to!r}")
    names = checked_axes("all_gather", axis_name)
    if not names:
        return x
    size = size_of_axes("all_gather", names)
    groups = checked_groups("all_gather", axis_index_groups, size, equal=True)
    if groups is not None and to != "varying":
        raise NotImplementedError("all_gather: each group has a value of its own, which differs: to='varying'")

    def gathered(leaf: Value) -> Array:
        rank = len(leaf.aval.shape) + (0 if tiled else 1)
        dimension = canonical_axis("all_gather", axis, rank)
        found = apply_checked(
            all_gather_p,
            differing(leaf, names),
            axis_name=names,
            all_gather_dimension=dimension,
            axis_index_groups=groups,
            axis_size=group_size(groups, size),
            tiled=bool(tiled),
        )
        if to == "reduced":
            return as_array(recast(found, names, to))
        return pinvary_p.bind(found, axes=names) if to == "invarying" else found

    return on_leaves("all_gather", x, gathered)


@overload
def psum_scatter(
    x: ArrayLike,
    axis_name: AxisNames,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> Array: ...
@overload
def psum_scatter(
    x: T,
    axis_name: AxisNames,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> T: ...
def psum_scatter(
    x: PyTree,
    axis_name: AxisNames,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> PyTree:
    """The sum of `x` over all examples along mapped axes, of which each example keeps its own part.

    Args:
        x: a tree of arrays.
        axis_name: the name of a mapped axis; or several in a tuple or list, the first one varying slowest.
        scatter_dimension: the dimension whose elements, or slices, go to one example each.
        axis_index_groups: lists of one length of indices along the axis, each index in exactly one, which sum and
            scatter for themselves. None: all examples are one group.
        tiled: whether the dimension stays, as one slice of several, in place of one element.

    Returns:
        a tree of arrays without that dimension, or, tiled, with one that is shorter.

    Raises:
        NameError: for a name that no mapped axis in scope has; the message lists those in scope.
        ValueError: for an axis named twice, a dimension that is not there or does not fit the axes, groups that do not.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(np.array([[1.0, 3.0], [10.0, 30.0]]))
    Array([11., 33.], dtype=float32)
    """
    names = checked_axes("psum_scatter", axis_name)
    if not names:
        return x
    size = size_of_axes("psum_scatter", names)
    groups = checked_groups("psum_scatter", axis_index_groups, size, equal=True)

    def scattered(leaf: Value) -> Array:
        rank = len(leaf.aval.shape)
        return apply_checked(
            reduce_scatter_p,
            differing(leaf, names),
            axis_name=names,
            scatter_dimension=canonical_axis("psum_scatter", scatter_dimension, rank, "scatter_dimension"),
            axis_index_groups=groups,
            axis_size=group_size(groups, size),
            tiled=bool(tiled),
        )

    return on_leaves("psum_scatter", x, scattered)


@overload
def all_to_all(
    x: ArrayLike,
    axis_name: AxisNames,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> Array: ...
@overload
def all_to_all(
    x: T,
    axis_name: AxisNames,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> T: ...
def all_to_all(
    x: PyTree,
    axis_name: AxisNames,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> PyTree:
    """A dimension of `x` becomes the mapped axis, and the mapped axis becomes a dimension.

    Each example cuts `x` along `split_axis` and sends a slice to every example; each joins what it gets along
    `concat_axis`.

    Args:
        x: a tree of arrays.
        axis_name: the name of a mapped axis; or several in a tuple or list, the first one varying slowest.
        split_axis: the dimension that is cut; its size is that of the axes, or, tiled, a multiple.
        concat_axis: where the new dimension goes once the other one is gone; tiled, the dimension along which slices
            are joined.
        axis_index_groups: lists of one length of indices along the axis, each index in exactly one, which exchange
            among themselves. None: all examples are one group.
        tiled: whether dimensions stay: one is cut into slices, one is joined of slices.

    Returns:
        a tree of arrays.

    Raises:
        NameError: for a name that no mapped axis in scope has; the message lists those in scope.
        ValueError: for an axis named twice, a dimension that is not there or does not fit the axes, groups that do not.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(np.array([[1.0, 3.0], [10.0, 30.0]]))
    Array([[ 1., 10.],
           [ 3., 30.]], dtype=float32)
    """
    return _all_to_all("all_to_all", x, axis_name, split_axis, concat_axis, axis_index_groups, tiled)


@overload
def pswapaxes(
    x: ArrayLike,
    axis_name: AxisNames,
    axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> Array: ...
@overload
def pswapaxes(
    x: T,
    axis_name: AxisNames,
    axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> T: ...
def pswapaxes(
    x: PyTree,
    axis_name: AxisNames,
    axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> PyTree:
    """A dimension of `x` and a mapped axis of the same size, swapped: `all_to_all(x, axis_name, axis, axis)`.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(np.array([[1.0, 3.0], [10.0, 30.0]]))
    Array([[ 1., 10.],
           [ 3., 30.]], dtype=float32)
    """
    return _all_to_all("pswapaxes", x, axis_name, axis, axis, axis_index_groups, False)


def _all_to_all(
    function: str,
    x: Value,
    axis_name: AxisNames,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: Sequence[Sequence[int]] | None,
    tiled: bool,
) -> Value:
    names = checked_axes(function, axis_name)
    total = size_of_axes(function, names)
    groups = checked_groups(function, axis_index_groups, total, equal=True)
    size = group_size(groups, total)

    def exchanged(leaf: Value) -> Array:
        leaf = differing(leaf, names)
        shape = leaf.aval.shape
        split = canonical_axis(function, split_axis, len(shape), "split_axis")
        concat = canonical_axis(function, concat_axis, len(shape), "concat_axis")
        if not tiled:
            if shape[split] != size:
                raise ValueError(
                    f"{function}: dimension {split} of x, which becomes the mapped axis, must have the size of the "
                    f"axes {names}, {size}, got {leaf.aval.str_short()}; tiled=True allows a multiple of it"
                )
            # As if tiled, along a new dimension of size 1; the dimension that is cut is left with size 1.
            if split != concat:
                concat += split < concat
                leaf = expand_dims(leaf, (concat,))
                split += concat <= split
        params = {"axis_index_groups": groups, "axis_size": size}
        out = apply_checked(all_to_all_p, leaf, axis_name=names, split_axis=split, concat_axis=concat, **params)
        return out if tiled or split == concat else squeeze(out, (split,))

    return on_leaves(function, x, exchanged) if names else x


@overload
def ppermute(x: ArrayLike, axis_name: AxisNames, perm: Sequence[tuple[int, int]]) -> Array: ...
@overload
def ppermute(x: T, axis_name: AxisNames, perm: Sequence[tuple[int, int]]) -> T: ...
def ppermute(x: PyTree, axis_name: AxisNames, perm: Sequence[tuple[int, int]]) -> PyTree:
    """Values sent along a mapped axis, from one example to another.

    Args:
        x: a tree of arrays.
        axis_name: the name of a mapped axis; or several in a tuple or list, the first one varying slowest.
        perm: pairs of indices, a source and a destination; no two have the same source, or the same destination.

    Returns:
        a tree of arrays of the types of `x`: at each destination the value of its source, elsewhere zeros.

    Raises:
        NameError: for a name that no mapped axis in scope has; the message lists those in scope.
        ValueError: for sources or destinations that repeat, or that the axis does not have.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(np.array([1.0, 3.0, 5.0]))
    Array([0., 1., 3.], dtype=float32)
    """
    names = checked_axes("ppermute", axis_name)
    pairs = _checked_permutation(perm, size_of_axes("ppermute", names))
    return on_leaves("ppermute", x, lambda leaf: ppermute_p.bind(differing(leaf, names), axis_name=names, perm=pairs))


def _checked_permutation(perm: Sequence[tuple[int, ...]], size: int) -> tuple[tuple[int, int], ...]:
    try:
        pairs = tuple([(operator.index(source), operator.index(destination)) for source, destination in perm])
    except (TypeError, ValueError):
        raise TypeError(
            f"ppermute: perm must be a list of pairs of integers, a source and a destination, got {perm!r}"
        ) from None
    for what, indices in (("sources", [pair[0] for pair in pairs]), ("destinations", [pair[1] for pair in pairs])):
        repeated = sorted({index for index in indices if indices.count(index) > 1})
        if repeated:
            raise ValueError(f"ppermute: the {what} of perm must not repeat, but {repeated[0]} does: {list(pairs)}")
        outside = [index for index in indices if not 0 <= index < size]
        if outside:
            raise ValueError(
                f"ppermute: the {what} of perm must be indices along the axis, 0 to {size - 1}, got {outside[0]}: "
                f"{list(pairs)}"
            )
    return pairs


@overload
def pshuffle(x: ArrayLike, axis_name: AxisNames, perm: Sequence[int]) -> Array: ...
@overload
def pshuffle(x: T, axis_name: AxisNames, perm: Sequence[int]) -> T: ...
def pshuffle(x: PyTree, axis_name: AxisNames, perm: Sequence[int]) -> PyTree:
    """Values in another order along a mapped axis: the example with index i gets that of index `perm[i]`.

    Args:
        x, axis_name: as for `ppermute`.
        perm: each index along the axis, once.

    Raises NameError for a name that no mapped axis in scope has, ValueError if `perm` is no permutation of the axis.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(np.array([1.0, 3.0, 5.0]))
    Array([5., 1., 3.], dtype=float32)
    """
    size = size_of_axes("pshuffle", checked_axes("pshuffle", axis_name))
    try:
        sources = [operator.index(index) for index in perm]
    except TypeError:
        raise TypeError(f"pshuffle: perm must be a list of integers, got {perm!r}") from None
    if sorted(sources) != list(range(size)):
        raise ValueError(f"pshuffle: perm must hold each index along the axis, 0 to {size - 1}, once, got {perm!r}")
    return ppermute(x, axis_name, [(source, destination) for destination, source in enumerate(sources)])


@overload
def pbroadcast(x: ArrayLike, axis_name: AxisNames, source: int) -> Array: ...
@overload
def pbroadcast(x: T, axis_name: AxisNames, source: int) -> T: ...
def pbroadcast(x: PyTree, axis_name: AxisNames, source: int) -> PyTree:
    """The value of one example, for all examples along mapped axes.

    Args:
        x: a tree of arrays.
        axis_name: the name of a mapped axis; or several in a tuple or list, the first one varying slowest.
        source: the index of the example whose value all get.

    Raises NameError for a name that no mapped axis in scope has, ValueError for an index that the axis does not have.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> tangrad.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(np.array([1.0, 3.0, 5.0]))
    Array([3., 3., 3.], dtype=float32)
    """
    names = checked_axes("pbroadcast", axis_name)
    size = size_of_axes("pbroadcast", names)
    try:
        index = operator.index(source)
    except TypeError:
        raise TypeError(f"pbroadcast: source must be an integer, got {source!r}") from None
    if not 0 <= index < size:
        raise ValueError(f"pbroadcast: source must be an index along the axis, 0 to {size - 1}, got {index}")
    return on_leaves("pbroadcast", x, lambda leaf: pbroadcast_p.bind(leaf, axis_name=names, source=index))
