"""What reductions are given besides their operand: which axes, which elements, and in which dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.operands import (
    BOOL,
    INT32,
    array_operand,
    broadcast_all,
    canonical_axes,
    canonical_axis,
    convert,
    is_sequence,
    literal,
    operand,
    refuse_out,
    select,
)
from tangrad._numpy.shapes import reshaped
from tangrad.core import Array, Primitive, dtypes, find_primitive, thread
from tangrad.core.arguments import is_symbolic
from tangrad.core.caches import FixedParams
from tangrad.extend.lax import broadcast_in_dim_p, reduce_prod_p

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Axis, Dimensions, DType, Value


# --- In which dtypes sums and products are taken ---


def counting_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which integers and booleans are added up: at least the default integer."""
    if dtype is BOOL:
        return dtypes.default_int_dtype()
    default = (
        dtypes.default_uint_dtype() if dtypes.issubdtype(dtype, np.unsignedinteger) else dtypes.default_int_dtype()
    )
    return dtype if dtype.itemsize >= default.itemsize else default


def computation_dtype(dtype: Any) -> np.dtype:
    """The dtype in which sums of floats are taken: float32 for the 16-bit ones."""
    if dtypes.issubdtype(dtype, np.floating) and dtype.itemsize < 4:
        return dtypes.as_dtype("float32")
    return dtype


def as_added(x: Array, dtype: DType) -> Array:
    """An operand as it is added up to a result of `dtype`: truths, of which arithmetic knows nothing, as 0 and 1."""
    return convert(convert(x, BOOL), INT32) if dtype is BOOL else convert(x, computation_dtype(dtype))


# --- The argument `where` of reductions: which elements count ---


def where_mask(name: str, where: ArrayLike) -> Value:
    """The argument `where` of reductions. Raises ValueError if it is not boolean."""
    mask = operand(name, where)
    if mask.aval.dtype is not BOOL:
        raise ValueError(f"{name}: where must be boolean, got dtype {dtypes.dtype_name(mask.aval.dtype)}")
    return mask


def masked(name: str, x: Value, where: ArrayLike, start: object) -> Array:
    """The elements that `where` leaves out replaced by what the reduction starts from."""
    mask = where_mask(name, where)
    mask, x = broadcast_all(name, [mask, x])
    return select(mask, x, literal(start, x.aval.dtype))


# --- The axes of reductions: which are meant, the parameters that name them, and keeping them with size 1 ---
# Mapped axes that have names (`vmap(..., axis_name=)`, `xmap`) may be among them: a reduction then goes over these,
# too.


_ALL_AXES = tuple([tuple(range(rank)) for rank in range(17)])


class _AxesParams(dict[tuple[int, ...], FixedParams]):
    """Axes -> the parameters of a reduction over them, made once. Bounded: there are only so many axes."""

    def __missing__(self, axes: tuple[int, ...]) -> FixedParams:
        if len(self) >= 1024:
            self.clear()
        made = self[axes] = FixedParams(axes=axes)
        return made


axes_params = _AxesParams()


def all_axes(rank: int) -> tuple[int, ...]:
    """Every axis of an array of that rank."""
    return _ALL_AXES[rank] if rank < 17 else tuple(range(rank))


def reduction_axes(name: str, axis: object, rank: int) -> tuple[int, ...]:
    """The axes that are named, sorted; all of them for None."""
    if axis is None:
        return all_axes(rank)
    if type(axis) is int and -rank <= axis < rank:
        return (axis + rank if axis < 0 else axis,)
    return tuple(sorted(canonical_axes(name, axis, rank)))


def with_kept_axes(x: Value, shape: Dimensions, axes: tuple[int, ...]) -> Array:
    """A reduced array with the axes that it lost, of size 1."""
    kept = tuple([position for position in range(len(shape)) if position not in axes])
    sizes = tuple([1 if position in axes else size for position, size in enumerate(shape)])
    return broadcast_in_dim_p.bind(x, shape=sizes, broadcast_dimensions=kept)


# --- mapped axes ---


def split_names(axis: Axis) -> tuple[tuple[Any, ...], Any]:
    """The names of mapped axes in scope among the axes of a reduction, and the others, which are dimensions."""
    if not thread.axis_environment or axis is None or type(axis) is int:
        return (), axis
    scope = [name for name, _ in thread.axis_environment]
    given = axis if is_sequence(axis) else (axis,)
    names = tuple([entry for entry in given if not isinstance(entry, int) and entry in scope])
    if not names:
        return (), axis
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ValueError(f"the mapped axis {name!r} is named twice in axis {axis!r}")
    return names, tuple([entry for entry in given if isinstance(entry, int) or entry not in scope])


def size_of_names(names: tuple[str, ...]) -> int:
    """The number of examples along mapped axes."""
    sizes = dict(thread.axis_environment)  # an inner axis hides an outer one of the same name
    total: Any = 1
    for name in names:
        total = total * sizes[name]
    return total


_ALONG = {"sum": "psum", "max": "pmax", "min": "pmin", "any": "pmax", "all": "pmin"}


def reduced_along_names(reduction: str, x: Value, names: tuple[str, ...]) -> Array:
    """A reduction over mapped axes."""
    collective = _ALONG.get(reduction)
    if collective is not None:
        return find_primitive(f"collectives.{collective}").bind(x, axes=names, axis_index_groups=None)
    return reduce_prod_p.bind(gathered_along_names(x, names), axes=tuple(range(len(names))))


def gathered_along_names(x: Any, names: tuple[str, ...]) -> Array:
    """An array with a dimension in front for each of some mapped axes, the same for all examples along these."""
    gather = find_primitive("collectives.all_gather")
    for name in reversed(names):
        x = gather.bind(
            x,
            axis_name=(name,),
            all_gather_dimension=0,
            axis_index_groups=None,
            axis_size=size_of_names((name,)),
            tiled=False,
        )
    return x


def check_not_empty(name: str, shape: Dimensions, axes: tuple[int, ...]) -> None:
    """Raise ValueError for an axis of size 0, of which there is no greatest element, and so on."""
    for axis in axes:
        if not is_symbolic(shape[axis]) and shape[axis] == 0:
            raise ValueError(
                f"{name}: axis {axis} of shape {shape} is empty, and {name} of nothing is nothing; pass initial"
            )


def position_of(
    name: str, primitive: Primitive, a: object, axis: int | None, out: np.ndarray | None, keepdims: object
) -> Array:
    """Where a reduction along one axis, or over all elements, finds what it looks for."""
    refuse_out(name, out)
    x = array_operand(name, a)
    shape = x.aval.shape
    flat = axis is None
    if flat:
        x, dimension = reshaped(x, (x.aval.size,)), 0
    else:
        dimension = canonical_axis(name, axis, len(shape))
    if not is_symbolic(x.aval.shape[dimension]) and x.aval.shape[dimension] == 0:
        raise ValueError(f"{name}: the axis is empty: nothing has a position in shape {shape}")
    result = primitive.bind(x, axes=(dimension,), index_dtype=dtypes.default_int_dtype())
    if not keepdims:
        return result
    return with_kept_axes(result, shape, all_axes(len(shape)) if flat else (dimension,))
