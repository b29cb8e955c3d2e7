"""How lowerings for NumPy are written. The rule sets of kind `lower.numpy` are in `lower/<family>.py`.

**A plain rule** works on NumPy arrays, when the program runs. This is what a third party writes, and it is enough:

    lower = RuleSet("lower.numpy", api=1)

    @lower.rule(nufft1)
    def _(ctx, source, points, *, modes, eps):
        return finufft.nufft1d1(points, source, modes, eps=eps)

It returns an array, or a tuple of arrays for a primitive with multiple results, of exactly the shapes and dtypes of
`ctx.out_avals` (checked); `ctx.in_avals` are the types of the operands. Operands must not be written to.

**Rules that specialise** run once for each signature, when the types of the operands and the parameters are known, and
decide what is called when the program runs. Ours are all of this sort. The shortest is a ufunc in a table:

    lower.table({sin_p: ufunc(np.sin), add_p: ufunc(np.add)})

`kernel` makes the function that is called with the arrays; parameters are looked at once, not at every call:

    @kernel(lower, sort_p, nature=FRESH)
    def _(ctx, *, dimension):
        return lambda x: np.sort(x, dimension)  # or partial, operator.methodcaller, operator.itemgetter, a ufunc

Its `nature` is what the result shares with the operands (`functions.py`): VIEW where it may show their memory, FRESH
where it is in memory of its own, ELEMENTWISE where it is that and computed element by element with broadcasting;
without one nothing is assumed, and nothing is overwritten. A view that shows a small part of a large array keeps all of
it alive; that is taken care of outside. Results are arrays, for rank 0 NumPy's scalars too. `function.key` of a
`Function` lets equal steps merge.

`composed` writes a rule as a few steps on values that stand for the arrays. They become lines of the generated program,
which may merge them with others, overwrite dead arrays and run them in blocks; constants are folded:

    @composed(lower, logistic_p)
    def _(ctx, x):
        return ctx.divide(1, ctx.add(1, ctx.exp(ctx.negative(x))))

`ctx` has each ufunc of NumPy as a method and the methods of `lowering.Lowering` (`cast`, `where`, `reshape`,
`transpose`, `broadcast`, `index`, `reduce`, `matmul`, `call`, `inline`, `compile`, …). Python numbers take the dtype of
the first value beside them. A value has `shape`, `dtype`, `ndim` and, where it is known already, `constant`.

All semantics are XLA's: see `lower/elementwise.py`, the example to follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from tangrad._backend_numpy.functions import ELEMENTWISE, FRESH, NATURES, UNKNOWN, VIEW
from tangrad.core import DerivedRule, Primitive, RuleKind, RuleSet, decomposition_jaxpr

if TYPE_CHECKING:
    from tangrad._backend_numpy.program import Value

    Lowered: TypeAlias = Value | tuple[Value, ...]

E = TypeVar("E", bound=Callable[..., "Lowered"])
F = TypeVar("F", bound=Callable[..., object])

__all__ = ["ELEMENTWISE", "FRESH", "UNKNOWN", "VIEW", "Kernel", "composed", "inlined", "kernel", "ufunc"]


class Kernel:
    """A rule that specialises: called with values, it appends the steps that compute the results.

    `any_sizes`: whether it does so for symbolic sizes too; else it is asked at the call, when they are numbers.
    `ufunc`: the ufunc that is all it appends, or None.
    """

    __slots__ = ("any_sizes", "emit", "ufunc")

    def __init__(self, emit: Callable[..., Lowered], any_sizes: bool = False, ufunc: np.ufunc | None = None) -> None:
        self.emit = emit
        self.any_sizes = any_sizes
        self.ufunc = ufunc

    def __call__(self, ctx: Any, *values: Value, **params: object) -> Lowered:
        return self.emit(ctx, *values, **params)


def ufunc(function: np.ufunc) -> Kernel:
    """The rule of a primitive that is a ufunc. Dtypes that NumPy's ufunc does not take are computed in a wider one."""
    return Kernel(lambda ctx, *values: ctx.ufunc(function, *values), any_sizes=True, ufunc=function)


def kernel(lower: RuleSet, *primitives: Primitive, nature: str = UNKNOWN) -> Callable[[F], F]:
    """Decorator: register `build(ctx, **params)`, which returns the function of the arrays, as rule of `primitives`."""
    if nature not in NATURES:
        raise ValueError(f"nature must be one of {', '.join(NATURES)}, got {nature!r}")

    def register(build: F) -> F:
        lower.table(
            dict.fromkeys(
                primitives,
                Kernel(lambda ctx, *values, **params: ctx.call(build(ctx, **params), *values, nature=nature)),
            )
        )
        return build

    return register


def composed(lower: RuleSet, *primitives: Primitive, any_sizes: bool = False) -> Callable[[E], E]:
    """Decorator: register `emit(ctx, *values, **params)`, which returns values, as rule of `primitives`.

    `any_sizes`: whether it looks at no size, so that it serves symbolic ones.
    """

    def register(emit: E) -> E:
        lower.table(dict.fromkeys(primitives, Kernel(emit, any_sizes)))
        return emit

    return register


def inlined(lower: RuleSet, *primitives: Primitive) -> Callable[[F], F]:
    """Decorator: register `program(ctx, **params)`, which returns the closed jaxpr that the primitive stands for."""

    def register(program: F) -> F:
        lower.table(
            dict.fromkeys(
                primitives,
                Kernel(lambda ctx, *values, **params: ctx.inline(program(ctx, **params), *values), any_sizes=True),
            )
        )
        return program

    return register


# --- the rule kind ---


def from_decomposition(primitive: Primitive) -> Kernel:
    """The lowering of a primitive that has none: its decomposition, traced for the types at hand."""

    def emit(ctx: Any, *values: Value, **params: object) -> Any:
        with DerivedRule(primitive, "lower.numpy"):
            return ctx.inline(decomposition_jaxpr(primitive, ctx.in_avals, params), *values)

    return Kernel(emit)


kind = RuleKind(
    "lower.numpy",
    api=1,
    signature="(ctx, *arrays, **params) -> array, or a tuple of arrays with multiple results",
    doc="computes a primitive with NumPy",
    derive=from_decomposition,
)
