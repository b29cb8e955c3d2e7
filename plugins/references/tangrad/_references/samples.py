"""Samples of reading and writing references, which are made where they are used, and of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad.numpy as tnp
from tangrad import ShapeDtypeStruct
from tangrad._references.cells import Ref
from tangrad._references.functions import new_ref
from tangrad._references.pallas.functions import pallas_call
from tangrad._references.pallas.grids import Element, num_programs, program_id
from tangrad._references.pallas.interpretation import pallas_call_p
from tangrad._references.pallas.kernel_functions import when
from tangrad._references.pallas.specs import VMEM, BlockSpec, PrefetchScalarGridSpec
from tangrad._references.primitives import addupdate_p, get_p, swap_p
from tangrad.conformance import Sample, draw, recorded
from tangrad.core import Primitive

if TYPE_CHECKING:
    from tangrad.typing import PyTree, Value


ROW = ((("int", 1),),)  # x[1]
PICKED = ((("array",), ("rest",)), (("slice", None, None, 2),))  # x[indices, ...][::2]
UNSEEN = "what is written is in the reference, which the results do not show"


def samples() -> list[Sample]:
    """Those of references, over an array of two dimensions."""
    indices = np.array([2, 0, 0], np.int32)
    found = []
    for indexers, arrays, part in (((), (), (3, 4)), (ROW, (), (4,)), (PICKED, (indices,), (2, 4))):
        value = draw(*part, dtype="float64", seed=1)
        found.append(_sample(get_p, indexers, *arrays))
        found.append(_sample(swap_p, indexers, *arrays, value))
        found.append(_sample(addupdate_p, indexers, *arrays, value))
    return found


def _sample(primitive: Primitive, indexers: object, *operands: object) -> Sample:
    args = (draw(3, 4, dtype="float64"), *operands)
    without = {} if primitive is get_p else {"effects": UNSEEN}
    enter = lambda x, *others: (new_ref(x), *others)
    return Sample(primitive, args, {"indexers": indexers}, enter=enter, without=without)


# --- Kernels ----------------------------------------------------------------------------------------------------------

_WHY = "kernels have no derivative in reverse mode: custom_vjp gives the function that calls them one"
FORWARD_ALONE = {"transpose": _WHY, "second": _WHY}


def kernel_samples() -> list[Sample]:
    """An overhanging product by blocks with scratch memory, a result that starts as an operand, prefetched scalars,
    windows that overlap.
    """
    return [_recorded(*case) for case in (_product(), _sums(), _ordered(), _windows())]


def _recorded(function: Callable[..., object], *operands: Value) -> Sample:
    args, params = recorded(pallas_call_p, lambda: function(*operands))
    return Sample(pallas_call_p, args, params, without=FORWARD_ALONE)


def _product() -> tuple[Callable[..., PyTree], np.ndarray, np.ndarray]:
    def kernel(x_ref: Ref, y_ref: Ref, o_ref: Ref, sum_ref: Any) -> None:
        @when(program_id(1) == 0)
        def _() -> None:
            sum_ref[...] = tnp.zeros_like(sum_ref)

        sum_ref[...] += x_ref[...] @ y_ref[...]

        @when(program_id(1) == num_programs(1) - 1)
        def _write() -> None:
            o_ref[...] = tnp.sin(sum_ref[...])

    function = pallas_call(
        kernel,
        ShapeDtypeStruct((3, 2), "float64"),
        grid=(2, 2),
        in_specs=[BlockSpec((2, 2), lambda i, k: (i, k)), BlockSpec((2, 2), lambda i, k: (k, 0))],
        out_specs=BlockSpec((2, 2), lambda i, k: (i, 0)),
        scratch_shapes=[VMEM((2, 2), "float64")],
    )
    return function, draw(3, 4, dtype="float64"), draw(4, 2, dtype="float64", seed=1)


def _sums() -> tuple[Callable[..., PyTree], np.ndarray, np.ndarray]:
    def kernel(start_ref: object, x_ref: Ref, o_ref: Ref) -> None:
        o_ref[...] = o_ref[...] + x_ref[...] * program_id(0).astype("float64")

    rows = BlockSpec((None, 3), lambda i: (i, 0))
    struct = ShapeDtypeStruct((2, 3), "float64")
    specs: dict[str, Any] = {"in_specs": [rows, rows], "out_specs": rows, "input_output_aliases": {0: 0}}
    return pallas_call(kernel, struct, grid=2, **specs), draw(2, 3, dtype="float64"), draw(2, 3, dtype="float64")


def _ordered() -> tuple[Callable[..., PyTree], np.ndarray, np.ndarray]:
    def kernel(order_ref: object, x_ref: Ref, o_ref: Ref) -> None:
        o_ref[...] = x_ref[...] * 2

    spec = PrefetchScalarGridSpec(
        1,
        grid=(3,),
        in_specs=[BlockSpec((1, 2), lambda i, order: (order[i], 0))],
        out_specs=BlockSpec((1, 2), lambda i, order: (i, 0)),
    )
    function = pallas_call(kernel, ShapeDtypeStruct((3, 2), "float64"), grid_spec=spec)
    return function, np.array([2, 0, 1], "int32"), draw(3, 2, dtype="float64")


def _windows() -> tuple[Callable[..., PyTree], np.ndarray]:
    def kernel(x_ref: Ref, o_ref: Ref) -> None:
        o_ref[...] = x_ref[1:2] * x_ref[:1]

    parts = BlockSpec((Element(2),), lambda i: (i,))
    function = pallas_call(
        kernel,
        ShapeDtypeStruct((3,), "float64"),
        grid=(3,),
        in_specs=[parts],
        out_specs=BlockSpec((1,), lambda i: (i,)),
    )
    return function, draw(4, dtype="float64")
