"""`sparsify`: functions of arrays, of sparse ones; and the rule kind `sparse`, by which its trace works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import tangrad.numpy as tnp
from tangrad import tree
from tangrad._sparse.base import JAXSparse
from tangrad.core import (
    Array,
    DerivedRule,
    Primitive,
    RuleKind,
    RuleTrace,
    RuleTracer,
    ShapedArray,
    Tracer,
    api_boundary,
    as_operand,
    copy_identity,
    decomposed,
    dtypes,
    rule_table,
    run_traced,
)
from tangrad.core.transformations import is_operand
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from tangrad._sparse.bcoo import BCOO
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import Params


# --- The trace of functions of sparse arrays: it keeps sparse what operations leave sparse ----------------------------


SPARSE = rule_table("sparse")


class SparseTracer(RuleTracer):
    """A sparse array of the parent trace, as the function sees it: an array of its shape."""

    __slots__ = ()

    def __init__(self, trace: SparseTrace, value: JAXSparse) -> None:
        self._trace = trace
        self.value, self.extra = value, None
        self.aval = ShapedArray(value.shape, value.dtype)

    def known(self) -> dict[str, object]:
        return {"value": self.value}

    def origin(self) -> str:
        return f"the sparse array {self.value!r}, of sparsify"


class SparseTrace(RuleTrace, kind="sparse", own=SparseTracer):
    """Applies rules of the kind `sparse` where an operand is sparse."""

    __slots__ = ()

    def tracer(self, value: object, extra: object = None) -> Any:
        """A value of the parent as the function sees it."""
        return SparseTracer(self, value) if isinstance(value, JAXSparse) else value

    def leave(self, value: object) -> Any:
        """The sparse array that the function sees as this value, or the value itself."""
        if type(value) is SparseTracer and value._trace is self:
            return value.value
        if isinstance(value, Tracer) and not value._trace.alive:
            raise UnexpectedTracerError(value)
        return value

    def apply(self, primitive: Primitive, values: list[object], extras: list[object], params: Params) -> Any:
        operands = [one if isinstance(one, JAXSparse) else as_operand(self.leave(one)) for one in values]
        found = SPARSE[primitive](*operands, **params)
        for one in found if primitive.multiple_results else (found,):
            if not isinstance(one, JAXSparse) and not is_operand(one):
                what = f"{one!r} of type {type(one).__name__}; expected an array, dense or sparse"
                raise TypeError(f"the sparse rule of {primitive.identity!r} returned {what}")
        if primitive.multiple_results:
            return tuple([self.tracer(one) for one in found])
        return self.tracer(found)


def sparsified_flat(function: Callable[..., Sequence[object]], values: Sequence[object]) -> list[BCOO]:
    """Run a function of flat values, some of which are sparse arrays. Its results are likewise."""

    def run(trace: SparseTrace) -> list[BCOO]:
        return [trace.leave(out) for out in function(*[trace.tracer(value) for value in values])]

    return run_traced(run, SparseTrace)


def by_decomposition(primitive: Primitive) -> Callable[..., tuple[BCOO, ...] | BCOO]:
    """A rule made of a primitive's decomposition."""

    def rule(*operands: object, **params: object) -> tuple[BCOO, ...] | BCOO:
        def run(*values: object) -> tuple[object, ...]:
            out = decomposed(primitive, values, params)
            return tuple(out) if primitive.multiple_results else (out,)

        with DerivedRule(primitive, "sparse"):
            outs = sparsified_flat(run, operands)
        return tuple(outs) if primitive.multiple_results else outs[0]

    return rule


def dense_within(value: Any) -> Array:
    """The value of a tracer with its zeros, where it may stand for a sparse array: a sum with a dense one is dense."""
    trace = getattr(value, "_trace", None)
    while trace is not None and type(trace) is not SparseTrace:
        trace = getattr(trace, "parent", None)
    if trace is None:
        return value
    if dtypes.issubdtype(value.dtype, bool):
        return dense_within(value.astype("int8")).astype(bool)
    return value + tnp.zeros(value.shape, value.dtype)


# --- The rule kind that sparsify owns ---------------------------------------------------------------------------------


sparse = RuleKind(
    "sparse",
    api=1,
    signature="(*args, **params) -> results",
    doc="a primitive applied to operands of which some are sparse arrays",
    derive=by_decomposition,
    optional=True,
)


# --- `sparsify`: functions of arrays, of sparse ones ------------------------------------------------------------------


def sparsify(f: Callable[..., object], use_tracer: bool = False) -> Callable[..., Any]:
    """Make a function of arrays one that takes sparse arrays, too, and keeps sparse what stays sparse.

    Args:
        f: a function of trees of arrays. It sees sparse arrays as arrays of their shapes; `sparse.todense` makes dense
            ones of them where an operation needs those.
        use_tracer: accepted as JAX does; the function is always run as it is.

    Returns:
        the function; results that are sparse are sparse arrays. Operations apply by rules of the kind `sparse`.

    Raises:
        MissingRuleError: for an operation that has no such rule, as its result would be dense.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.bcoo_fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> sparse.sparsify(lambda mat: np.sin(2 * mat).T)(mat)
    BCOO(float32[2, 2], nse=2)
    """
    if not callable(f):
        raise TypeError(f"sparsify expects a function, got {f!r} of type {type(f).__name__}")

    def sparsified(*args: object, **kwargs: object) -> BCOO:
        is_leaf = lambda leaf: isinstance(leaf, JAXSparse)
        leaves, structure = tree.flatten((args, kwargs), is_leaf=is_leaf)
        returned: list[PyTreeDef] = []

        def flat(*values: object) -> list[Array]:
            given, options = structure.unflatten(values)
            outs, out_structure = tree.flatten(f(*given, **options), is_leaf=is_leaf)
            returned.append(out_structure)
            return outs

        outs = sparsified_flat(flat, leaves)
        return returned[0].unflatten(outs)

    return copy_identity(api_boundary(sparsified), f)
