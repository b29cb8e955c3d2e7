"""What primitives make of sparse operands: rules of the kind `sparse`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import tangrad
from tangrad._sparse import parts
from tangrad._sparse.base import JAXSparse, as_coordinates
from tangrad._sparse.conversions import all_sparse
from tangrad._sparse.products import product_of
from tangrad._sparse.sparsify import sparsified_flat
from tangrad.autodiff import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p
from tangrad.core import ClosedJaxpr, Primitive, RuleSet, eval_jaxpr
from tangrad.core.arguments import product
from tangrad.extend import lax as p
from tangrad.extend.lax import (
    GatherScatterMode,
    bessel_i0e_p,
    bessel_i1e_p,
    cond_p,
    digamma_p,
    dot_general_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    gather_p,
    lgamma_p,
    reduce_sum_p,
    scan,
    scan_p,
    split_list,
    switch,
    while_loop,
    while_p,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from tangrad._sparse.bcoo import BCOO
    from tangrad.core import Array
    from tangrad.core.protocols import PortableRule
    from tangrad.lax import GatherDimensionNumbers
    from tangrad.typing import ArrayLike, Value

T = TypeVar("T")


# --- How `sparse` rules are written: `(*args, **params) -> results` ---------------------------------------------------
# Of `args` some are sparse arrays, the others dense ones; `params` are as the function saw them. What is returned is
# sparse or dense, as the rule sees fit.


def of_values(rules: RuleSet[PortableRule], *primitives: Primitive) -> None:
    """Register the rule of linear primitives of one operand, which apply to each value that is kept."""
    for primitive in primitives:
        rules.add(primitive, _of_values(primitive))


def of_each_element(rules: RuleSet[PortableRule], *primitives: Primitive) -> None:
    """Register the rule of primitives of one operand that are 0 at 0.

    What adds up to one element is added up first.
    """
    for primitive in primitives:
        rules.add(primitive, _of_each_element(primitive))


def _of_values(primitive: Primitive) -> Callable[..., JAXSparse]:
    return lambda x, **params: x.like(primitive.bind(x.data, **params))


def _of_each_element(primitive: Primitive) -> Callable[..., JAXSparse]:
    def rule(x: JAXSparse, **params: object) -> JAXSparse:
        x = x.with_unique_indices()
        return x.like(primitive.bind(x.data, **params))

    return rule


def total(x: JAXSparse, axes: Iterable[int]) -> BCOO:
    """The sums over dimensions; over all of them a number."""
    return x.to_bcoo().sum(tuple(axes))


# --- Sparse arrays element by element: what is 0 at 0 applies to the values that are kept -----------------------------


sparse: RuleSet[PortableRule] = RuleSet("sparse", api=1)

of_values(sparse, p.neg_p, p.real_p, p.imag_p, p.conj_p)
of_each_element(
    sparse,
    *(p.sign_p, p.abs_p, p.floor_p, p.ceil_p, p.round_p, p.reduce_precision_p, p.convert_element_type_p),
    *(p.sqrt_p, p.cbrt_p, p.square_p, p.expm1_p, p.log1p_p),
    *(p.sin_p, p.tan_p, p.asin_p, p.atan_p, p.sinh_p, p.tanh_p, p.asinh_p, p.atanh_p),
)


@sparse.rule(p.integer_pow_p)
def _(x: JAXSparse, *, y: int) -> JAXSparse:
    if y <= 0:
        raise NotImplementedError(f"sparsify: a sparse array to the power {y}, in which 0 would be 1 or infinite")
    values = x if y == 1 else x.with_unique_indices()
    return values.like(p.integer_pow_p.bind(values.data, y=y))


@sparse.rule(p.add_p)
def _(x: Any, y: Any) -> Any:
    return x + y


@sparse.rule(p.sub_p)
def _(x: Any, y: Any) -> Any:
    return x - y


@sparse.rule(p.mul_p)
def _(x: Any, y: Any) -> Any:
    return x * y


@sparse.rule(p.div_p)
def _(x: Any, y: Any) -> Any:
    if isinstance(y, JAXSparse):
        raise NotImplementedError("sparsify: division by a sparse array, whose zeros would give NaN or infinity")
    return x / y


def _dense_result(*primitives: Primitive) -> None:
    sparse.not_applicable("it is not 0 where its operand is: apply it to `sparse.todense(x)`", *primitives)


_dense_result(
    *(p.exp_p, p.exp2_p, p.log_p, p.logistic_p, p.rsqrt_p, p.cos_p, p.acos_p, p.cosh_p, p.acosh_p, p.not_p),
    *(p.eq_p, p.ne_p, p.lt_p, p.le_p, p.gt_p, p.ge_p, p.is_finite_p),
)


# --- Special functions of sparse arrays: those that are 0 at 0 --------------------------------------------------------


of_each_element(sparse, erf_p, erf_inv_p, bessel_i1e_p)
sparse.not_applicable(
    "it is not 0 where its operand is: apply it to `sparse.todense(x)`", erfc_p, lgamma_p, digamma_p, bessel_i0e_p
)


# --- Sums of sparse arrays --------------------------------------------------------------------------------------------


@sparse.rule(reduce_sum_p)
def _(x: JAXSparse, *, axes: Iterable[int]) -> BCOO:
    return total(x, axes)


# --- Sparse arrays in other shapes and orders, parts of them, and several joined --------------------------------------


of_values(sparse, p.copy_p, p.stop_gradient_p)


@sparse.rule(p.broadcast_in_dim_p)
def _(x: JAXSparse, *, shape: object, broadcast_dimensions: object) -> JAXSparse:
    return x.to_bcoo().broadcast_in_dim(shape, broadcast_dimensions)


@sparse.rule(p.reshape_p)
def _(x: JAXSparse, *, new_sizes: Sequence[int], dimensions: Sequence[int]) -> JAXSparse:
    x = x.to_bcoo()
    return parts.reshaped(x if dimensions is None else x.transpose(dimensions), new_sizes)


@sparse.rule(p.transpose_p)
def _(x: JAXSparse, *, permutation: Sequence[int]) -> JAXSparse:
    return x.transpose(permutation)


@sparse.rule(p.squeeze_p)
def _(x: JAXSparse, *, dimensions: Sequence[int]) -> JAXSparse:
    return parts.squeezed(x.to_bcoo(), dimensions)


@sparse.rule(p.rev_p)
def _(x: JAXSparse, *, dimensions: Sequence[int]) -> JAXSparse:
    return parts.reversed_along(x.to_bcoo(), dimensions)


@sparse.rule(p.slice_p)
def _(
    x: JAXSparse, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None
) -> JAXSparse:
    return parts.sliced(x.to_bcoo(), start_indices, limit_indices, strides or (1,) * x.ndim)


@sparse.rule(p.dynamic_slice_p)
def _(x: JAXSparse, *starts: ArrayLike, slice_sizes: Sequence[int]) -> JAXSparse:
    return parts.dynamically_sliced(x.to_bcoo(), starts, slice_sizes)


@sparse.rule(p.concatenate_p)
def _(*operands: object, dimension: int) -> BCOO:
    return parts.joined(all_sparse("concatenate", [as_coordinates(one) for one in operands]), dimension)


# --- Parts of sparse arrays at several places: as batches -------------------------------------------------------------


@sparse.rule(gather_p)
def _(
    operand: Any,
    indices: Array,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    mode: object,
    **options: object,
) -> BCOO:
    numbers, lead = dimension_numbers, indices.aval.shape[:-1]
    _check(operand, indices, numbers, lead, mode)
    mat = operand.to_bcoo()

    def part(starts: Any) -> BCOO:
        places = [0] * mat.ndim
        for position, axis in enumerate(numbers.start_index_map):
            places[axis] = starts[position]
        found = parts.dynamically_sliced(mat, places, slice_sizes)
        return parts.squeezed(found, numbers.collapsed_slice_dims)

    if not lead:
        return part(indices)
    rows = tangrad.vmap(part)(tangrad.numpy.reshape(indices, (product(lead), indices.aval.shape[-1])))
    return parts.reshape_batches(rows, lead)


def _check(
    operand: object, indices: object, numbers: GatherDimensionNumbers, lead: tuple[int, ...], mode: object
) -> None:
    """Raise NotImplementedError for what would not be batches of parts."""
    if not isinstance(operand, JAXSparse) or isinstance(indices, JAXSparse):
        raise NotImplementedError("sparsify: indices that are sparse; give them as `sparse.todense(x)`")
    if numbers.operand_batching_dims or tuple(numbers.offset_dims) != tuple(
        range(len(lead), len(lead) + len(numbers.offset_dims))
    ):
        raise NotImplementedError("sparsify: arrays as indices must stand in front of slices, and not be mapped")
    if mode in (GatherScatterMode.FILL_OR_DROP,):
        raise NotImplementedError("sparsify: values of its own for places that are not within a sparse array")


# --- Products of sparse arrays ----------------------------------------------------------------------------------------


@sparse.rule(dot_general_p)
def _(
    lhs: object, rhs: object, *, dimension_numbers: object, precision: object, preferred_element_type: np.dtype | None
) -> Array:
    return product_of(lhs, rhs, dimension_numbers, preferred_element_type)


# --- Control flow with sparse operands: what is carried and returned is sparse where it is within ---------------------


def _of_sparse(closed: ClosedJaxpr) -> Callable[..., list[BCOO]]:
    return lambda *values: sparsified_flat(lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *args), values)


@sparse.rule(cond_p)
def _(index: Array, *operands: Value, branches: Sequence[ClosedJaxpr]) -> list[BCOO]:
    return switch(index, [_of_sparse(branch) for branch in branches], *operands)


@sparse.rule(while_p)
def _(
    *args: object, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int
) -> list[BCOO]:
    cond_consts, body_consts, carry = split_list(args, cond_nconsts, body_nconsts)
    condition, body = _of_sparse(cond_jaxpr), _of_sparse(body_jaxpr)
    return while_loop(
        lambda values: condition(*cond_consts, *values)[0],
        lambda values: body(*body_consts, *values),
        list(carry),
    )


@sparse.rule(scan_p)
def _(
    *args: object, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: int, reverse: bool, unroll: int
) -> list[object]:
    consts, carry, xs = split_list(args, num_consts, num_carry)
    if any([isinstance(x, JAXSparse) for x in xs]):
        raise NotImplementedError("sparsify: a scan over the slices of a sparse array; scan over `sparse.todense(x)`")
    body = _of_sparse(jaxpr)

    def iteration(values: list[object], rows: list[object]) -> tuple[list[BCOO], list[BCOO]]:
        outs = body(*consts, *values, *rows)
        if any([isinstance(out, JAXSparse) for out in outs[num_carry:]]):
            raise NotImplementedError("sparsify: a scan that stacks sparse arrays; return `sparse.todense(x)` from it")
        return outs[:num_carry], outs[num_carry:]

    carried, stacked = scan(iteration, list(carry), list(xs), length, reverse=reverse, unroll=unroll)
    return [*carried, *stacked]


# --- What derivatives are made of, with sparse operands: sums of tangents, sums over dimensions, repeats --------------


@sparse.rule(add_any_p)
def _(x: Any, y: Any) -> Any:
    return x + y


@sparse.rule(sum_trailing_p)
def _(x: JAXSparse, *, count: int) -> BCOO:
    return total(x, range(x.ndim - count, x.ndim))


@sparse.rule(append_dims_p)
def _(x: JAXSparse, *, sizes: Sequence[int]) -> JAXSparse:
    return x.to_bcoo().broadcast_in_dim((*x.shape, *sizes), tuple(range(x.ndim)))


@sparse.rule(set_weak_type_p)
def _(x: T, *, weak_type: bool) -> T:
    return x
