"""How results of the primitives of `tangrad.lax` are sharded: dimension by dimension as what they are made of.

Those that act element by element, and those that sort, say it in the rules of their families.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tangrad._lax.contractions.primitives import dot_general_p, free_axes
from tangrad._lax.decompositions import primitives as decompositions
from tangrad._lax.decompositions.systems import (
    adjugate_p,
    determinant_p,
    log_determinant_p,
    pseudoinverse_p,
    solve_p,
    tridiagonal_solve_p,
)
from tangrad._lax.indexing import primitives as indexing
from tangrad._lax.linalg.primitives import cholesky_p, cholesky_update_p, triangular_solve_p
from tangrad._lax.reductions import primitives as reductions
from tangrad._lax.structure import primitives as structure
from tangrad._lax.windows import primitives as windows
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.sharding import (
    Axes,
    Operand,
    Unclear,
    along,
    check_divides,
    dropping,
    joined,
    linear_in,
    stacked,
    summed,
    sums_over,
    uncut_along,
    with_shares,
    without,
)
from tangrad.typing import Params

# --- structure ---

of_structure = RuleSet("sharding", api=1)
of_structure.form("linear", structure.copy_p, structure.stop_gradient_p, structure.rev_p)


@of_structure.rule(structure.squeeze_p)
@linear_in()
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (without(operands[0].axes, params["dimensions"]),)


@of_structure.rule(structure.optimization_barrier_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Any, ...]:
    """Each as its operand."""
    pairs = zip(operands, results, strict=True)
    return tuple([result if operand.aval.infer_types is None else operand.aval for operand, result in pairs])


@of_structure.rule(structure.slice_p, structure.dynamic_slice_p)
@linear_in(0)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """A part is sharded as the whole, if its sizes divide: that is checked for every result. One element is whole."""
    alone = all([size == 1 for size in results[0].shape])
    return (((),) * len(results[0].shape) if alone else _divided(operands[0], results[0], "slicing on sharded dims"),)


def _divided(operand: Operand, result: ShapedArray, what: str) -> Axes:
    """The axes of an operand, for a result of other sizes. Raises Unclear, saying `what`, where they do not divide."""
    for dimension, cut in enumerate(operand.axes):
        check_divides(dimension, result.shape[dimension], cut, operand.aval.placed.mesh.shape, what)
    return operand.axes


@of_structure.rule(structure.pad_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (_divided(operands[0], results[0], "padding on sharded dims"),)


@of_structure.rule(structure.split_p)
@linear_in()
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return tuple([_divided(operands[0], result, "split on sharded dims") for result in results])


@of_structure.rule(structure.concatenate_p)
@linear_in()
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (joined([operand.axes for operand in operands]),)


@of_structure.rule(structure.dynamic_update_slice_p)
@linear_in(0, 1)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """The part that is written is sharded as what it is written over."""
    return (joined([operand.axes for operand in operands[:2]]),)


@of_structure.rule(structure.transpose_p)
@linear_in()
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (tuple([operands[0].axes[dimension] for dimension in params["permutation"]]),)


@of_structure.rule(structure.broadcast_in_dim_p)
@linear_in()
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """A dimension of size 1 that is repeated is whole."""
    axes: list[tuple[Hashable, ...]] = [()] * results[0].ndim
    for dimension, place in enumerate(params["broadcast_dimensions"]):
        if operands[0].aval.shape[dimension] == results[0].shape[place]:
            axes[place] = operands[0].axes[dimension]
    return (tuple(axes),)


@of_structure.rule(structure.reshape_p)
@linear_in()
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    operand, shape = operands[0], results[0].shape
    order = params["dimensions"] or range(operand.aval.ndim)
    if list(order) != list(range(operand.aval.ndim)):
        raise Unclear("the dimensions are taken in another order; transpose first")
    sizes = operand.aval.placed.mesh.shape if operand.aval.infer_types is not None else {}
    return (reshaped(operand.aval.shape, operand.axes, shape, sizes),)


def reshaped(old: Sequence[int], axes: Axes, new: Sequence[int], sizes: Mapping[Hashable, int]) -> Axes:
    """How an array of shape `old`, cut by `axes`, is sharded when it has shape `new`.

    Shapes fall into the shortest runs of dimensions with equal products. A dimension that stays keeps its axes. Where
    one is divided into several, the foremost of these gets them, as many as cut it into single elements, and the next
    the rest; where several join in one, that gets the axes of all, of which the foremost must be cut before others are.
    Raises Unclear for any other that is cut.
    """
    found: list[tuple[Hashable, ...]] = []
    for before, after in _runs(old, new):
        wide = [at for at in before if old[at] != 1 or axes[at]]
        cut = [at for at in wide if axes[at]]
        whole: list[tuple[Hashable, ...]] = [()] * len(after)
        if cut:
            places = [number for number, at in enumerate(after) if new[at] != 1] or list(range(len(after)))
            if not places or cut != wide[: len(cut)] or len(cut) > 1 < len(places):
                raise Unclear(
                    f"This reshape is not supported: dimension {cut[-1]}, which is cut along {axes[cut[-1]]}, "
                    "is joined with others before it"
                )
            names = [axis for at in cut for axis in axes[at]]
            for place in places:
                size, count = new[after[place]], 1
                while names and (count * sizes[names[0]] <= size or place == places[-1]):
                    count *= sizes[names[0]]
                    whole[place] = (*whole[place], names.pop(0))
                if count != size:  # others, if any are left, would cut a dimension that is not the next
                    whole[place] = (*whole[place], *names)
                    break
            for at, cut_by in enumerate(whole):
                check_divides(after[at], new[after[at]], cut_by, sizes, "This reshape is not supported")
        found.extend(whole)
    return tuple(found)


def _runs(old: Sequence[int], new: Sequence[int]) -> list[tuple[range, range]]:
    """Dimensions of two shapes of one size, in runs of equal products."""
    if 0 in old:
        return [(range(len(old)), range(len(new)))]
    runs, start, other_start = [], 0, 0
    while start < len(old) or other_start < len(new):
        end, other_end = min(start + 1, len(old)), min(other_start + 1, len(new))
        left, right = _product(old[start:end]), _product(new[other_start:other_end])
        while left != right:
            if left < right:
                left *= old[end]
                end += 1
            else:
                right *= new[other_end]
                other_end += 1
        runs.append((range(start, end), range(other_start, other_end)))
        start, other_start = end, other_end
    return runs


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


# --- contractions ---

of_contractions = RuleSet("sharding", api=1)


@of_contractions.rule(dot_general_p)
@sums_over
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Any, ...]:
    lhs, rhs = operands[0].axes, operands[1].axes
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = params["dimension_numbers"]
    shares = summed(operands, [lhs[left] for left in lhs_contract])
    for left, right in zip(lhs_contract, rhs_contract, strict=True):
        if lhs[left] and rhs[right] and not (lhs[left] == rhs[right] and shares.issuperset(lhs[left])):
            how = f"along {lhs[left]}" if lhs[left] == rhs[right] else f"along {lhs[left]} and along {rhs[right]}"
            raise Unclear(f"Contracting dimensions are sharded: {left} of lhs and {right} of rhs are cut {how}")
    batch = tuple([lhs[axis] for axis in lhs_batch])
    joined([batch, tuple([rhs[axis] for axis in rhs_batch])])  # the result's are those of lhs, as in JAX
    left_free = [lhs[axis] for axis in free_axes(len(lhs), lhs_contract, lhs_batch)]
    right_free = [rhs[axis] for axis in free_axes(len(rhs), rhs_contract, rhs_batch)]
    axes = (*batch, *left_free, *right_free)
    both = shares & {axis for right in rhs_contract for axis in rhs[right]}
    return (with_shares(operands[0], results[0], axes, both),) if both else (axes,)


# --- indexing ---

of_indexing = RuleSet("sharding", api=1)


@of_indexing.rule(indexing.gather_p)
@linear_in(0)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Dimensions of the operand of which a slice is taken must be whole."""
    operand, indices = operands
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    batching = numbers.operand_batching_dims
    sliced = [
        dim for dim, (size, whole) in enumerate(zip(sizes, operand.aval.shape, strict=True))
        if size != whole and dim not in batching
    ]  # fmt: skip
    uncut_along(operand, sliced, "a gather from it")
    uncut_along(indices, (len(indices.axes) - 1,), "an index")
    dropped = (*numbers.collapsed_slice_dims, *batching)
    window = iter([cut for dim, cut in enumerate(operand.axes) if dim not in dropped])
    batch = list(indices.axes[:-1])
    for dim, place in zip(batching, numbers.start_indices_batching_dims, strict=True):
        batch[place] = batch[place] or operand.axes[dim]
    rest = iter(batch)
    return (tuple([next(window if dim in numbers.offset_dims else rest) for dim in range(results[0].ndim)]),)


@of_indexing.rule(indexing.scatter_add_p, indexing.scatter_sub_p)
@linear_in(0, 2)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """The operand stays where it is; updates are brought to it."""
    return (operands[0].axes,)


@of_indexing.rule(
    indexing.scatter_p,
    indexing.scatter_mul_p,
    indexing.scatter_min_p,
    indexing.scatter_max_p,
)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (operands[0].axes,)


# --- windows ---

of_windows = RuleSet("sharding", api=1)


@of_windows.rule(windows.conv_general_dilated_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Examples and places are sharded as those of lhs, features as those of the kernel, whose windows must be whole."""
    lhs, rhs = operands
    numbers = params["dimension_numbers"]
    if params["feature_group_count"] != 1 or params["batch_group_count"] != 1:
        raise Unclear("it has groups")
    (batch, feature, *places), (out, inner, *window) = numbers.lhs_spec, numbers.rhs_spec
    uncut_along(rhs, window, "a convolution")
    if lhs.axes[feature] and rhs.axes[inner]:
        raise Unclear(f"the features that it sums over are cut along {lhs.axes[feature]} and {rhs.axes[inner]}")
    axes: list[tuple[Hashable, ...]] = [()] * len(lhs.axes)
    cuts = [lhs.axes[batch], rhs.axes[out], *[lhs.axes[place] for place in places]]
    for dimension, cut in zip(numbers.out_spec, cuts, strict=True):
        axes[dimension] = cut
    return (tuple(axes),)


@of_windows.rule(windows.reduce_window_sum_p, windows.reduce_window_max_p, windows.reduce_window_min_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Windows are sharded as the operand is; that their number divides is checked for every result."""
    return (operands[0].axes,)


@of_windows.rule(windows.reduce_window_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (joined([operand.axes for operand in operands[: len(results)]]),) * len(results)


@of_windows.rule(windows.select_and_gather_add_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    return (joined([operand.axes for operand in operands]),)


@of_windows.rule(windows.select_and_scatter_add_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """What is scattered over the operand is sharded as it is."""
    return (joined([operands[1].axes, operands[0].axes]),)


# --- reductions ---

of_reductions = RuleSet("sharding", api=1)
_OTHERS = [primitive for primitive in reductions.identities if primitive is not reductions.reduce_sum_p]
dropping("axes", of_reductions, *_OTHERS, reductions.argmax_p, reductions.argmin_p)


@of_reductions.rule(reductions.reduce_sum_p)
@linear_in()
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Any, ...]:
    axes, gone = without(operands[0].axes, params["axes"]), [operands[0].axes[axis] for axis in params["axes"]]
    shares = summed(operands, gone)
    return (with_shares(operands[0], results[0], axes, shares),) if shares else (axes,)


along(
    "axis",
    of_reductions,
    reductions.cumsum_p,
    reductions.cumprod_p,
    reductions.cummax_p,
    reductions.cummin_p,
    reductions.cumlogsumexp_p,
)


@of_reductions.rule(reductions.reduce_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """The second half of the operands are the initial values."""
    whole = joined([operand.axes for operand in operands[: len(results)]])
    return (without(whole, params["dimensions"]),) * len(results)


# --- linalg ---

of_linalg = RuleSet("sharding", api=1)
stacked(of_linalg, {cholesky_p: 2, cholesky_update_p: (2, 1)})


@of_linalg.rule(triangular_solve_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Right-hand sides are solved one by one: the dimension that numbers them may be cut."""
    a, b = operands
    rank = len(a.axes)
    side, number = (rank - 2, rank - 1) if params["left_side"] else (rank - 1, rank - 2)
    uncut_along(a, (rank - 2, rank - 1), "a triangular system")
    uncut_along(b, (side,), "a triangular system")
    axes = [*joined([a.axes[:-2], b.axes[:-2]]), (), ()]
    axes[number] = b.axes[number]
    return (tuple(axes),)


# --- decompositions ---

of_decompositions = RuleSet("sharding", api=1)
of_systems = RuleSet("sharding", api=1)

_OF_ONE_MATRIX = (
    decompositions.lu_p,
    decompositions.geqrf_p,
    decompositions.geqp3_p,
    decompositions.qr_p,
    decompositions.svd_p,
    decompositions.eigh_p,
    decompositions.eig_p,
    decompositions.schur_p,
    decompositions.hessenberg_p,
    decompositions.tridiagonal_p,
)
stacked(
    of_decompositions,
    {
        **dict.fromkeys(_OF_ONE_MATRIX, 2),
        decompositions.lu_pivots_to_permutation_p: 1,
        decompositions.householder_product_p: (2, 1),
    },
)
stacked(
    of_systems,
    {determinant_p: 2, log_determinant_p: 2, adjugate_p: 2, pseudoinverse_p: (2, 0), tridiagonal_solve_p: (1, 1, 1, 2)},
)


@of_systems.rule(solve_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Columns of the right-hand sides are solved one by one: they may be sharded."""
    a, b = operands
    rank = len(a.axes)
    uncut_along(a, (rank - 2, rank - 1), "a linear system")
    uncut_along(b, (rank - 2,), "a linear system")
    return ((*joined([a.axes[:-2], b.axes[:-2]]), (), b.axes[-1]),)
