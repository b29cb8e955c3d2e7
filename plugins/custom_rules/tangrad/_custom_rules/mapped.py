"""`custom_vmap` and `sequential_vmap`: functions whose author defines how they are mapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tangrad import tree
from tangrad._custom_rules.calls import Arguments, FlatCall, Stackable, function_name, lines_of, paths_of, place
from tangrad._custom_rules.primitives import axes_of, evaluate, inline
from tangrad.core import (
    ClosedJaxpr,
    PrimitiveSet,
    ShapedArray,
    as_array,
    as_operand,
    class_boundary,
    closed_over_as_arguments,
    composition,
    copy_identity,
    trace_to_jaxpr,
)
from tangrad.errors import MissingDistributionError

if TYPE_CHECKING:
    from tangrad._custom_rules.primitives import Axes
    from tangrad.core import Array
    from tangrad.typing import PyTree

    F = TypeVar("F", bound=Callable[..., object])

mapped_calls = PrimitiveSet("mapped_calls", api=1)


@mapped_calls.primitive(
    name="custom_vmap_call",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=evaluate,
    decompose=inline,
)
def custom_vmap_call_p(
    *avals: object, jaxpr: ClosedJaxpr, rule: object, num_consts: int, name: str
) -> tuple[ShapedArray, ...]:
    """A call of a function with a batch rule of its own; without one (None) it is mapped as its program is."""
    return tuple(jaxpr.out_avals)


@class_boundary
class custom_vmap(Stackable):  # noqa: N801 - a decorator, named as the field knows it
    """A function with a batch rule of its own.

    Args:
        fun: a function of positional arguments that are trees of arrays.

    The rule is given by `def_vmap(rule)`, `rule(axis_size, in_batched, *args) -> (output, out_batched)`: `in_batched`
    is a list with a tree of booleans for each argument; mapped axes are in front; `out_batched` is a tree of booleans
    of the output's structure. Forward derivatives go through the rule, unless an argument is of integers; a
    reverse-mode derivative of the function is that of its program, which is mapped as any other.

    Raises (at a call): AttributeError without a rule; TypeError for a rule whose result does not fit.

    >>> import tangrad
    >>> f = tangrad.custom_vmap(lambda x: x + 1.0)
    >>> _ = f.def_vmap(lambda size, batched, x: (x + 10.0, True))
    >>> f(1.0), tangrad.vmap(f)(tangrad.numpy.ones(2))
    (Array(2., dtype=float32, weak_type=True), Array([11., 11.], dtype=float32))
    """

    def __init__(self, fun: Callable[..., PyTree]) -> None:
        self._arguments = Arguments(fun, "custom_vmap", (), ())
        self.fun = fun
        self.vmap_rule: Callable[..., object] | None = None
        copy_identity(self, fun)

    def def_vmap(self, vmap_rule: F) -> F:
        """Give the rule, `(axis_size, in_batched, *args) -> (output, out_batched)`; returns it."""
        if not callable(vmap_rule):
            raise TypeError(f"def_vmap expects a function, got {vmap_rule!r} of type {type(vmap_rule).__name__}")
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: PyTree, **kwargs: object) -> tuple[Array, Array]:
        arguments = self._arguments
        if self.vmap_rule is None:
            raise AttributeError(
                f"custom_vmap function {arguments.name} has no rule; give it one: @{arguments.name}.def_vmap"
            )
        flat = FlatCall(arguments, arguments.resolve(args, kwargs))
        operands = flat.operands()
        jaxpr, consts = trace_to_jaxpr(flat, [operand.aval for operand in operands], arguments.name)
        outs = custom_vmap_call_p.bind(
            *consts,
            *operands,
            jaxpr=ClosedJaxpr(closed_over_as_arguments(jaxpr)),
            rule=VmapRule(flat, self.vmap_rule),
            num_consts=len(consts),
            name=arguments.name,
        )
        return flat.out_tree.unflatten([as_array(out) for out in outs])


class VmapRule:
    """The rule of one call: `(size, mapped, values) -> (outs, out mapped)` of flat values, mapped axes in front."""

    __slots__ = ("_flat", "_rule")

    def __init__(self, flat: FlatCall, rule: Callable[..., object]) -> None:
        self._flat = flat
        self._rule = rule

    @property
    def axes(self) -> Axes:
        return self._flat.axes

    def __repr__(self) -> str:  # in printed programs
        return function_name(self._rule)

    def __call__(
        self, size: object, mapped: Sequence[bool], values: Sequence[object]
    ) -> tuple[list[Array], list[bool]]:
        flat = self._flat
        args = flat.treedef.unflatten([as_array(value) for value in values])
        pair = self._rule(size, list(flat.treedef.unflatten(mapped)), *args)
        what = f"the batch rule {function_name(self._rule)!r} of {flat.arguments.name}"
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{what} must return a pair (output, out_batched), got {pair!r}")
        outs = flat.flat_result(pair[0], what, ValueError)
        flags, flags_tree = tree.flatten(pair[1])
        if flags_tree != flat.out_tree:
            raise ValueError(
                f"{what} must return out_batched in the structure of the output, {flat.out_tree}, got {flags_tree}"
                + lines_of(flat.out_tree, flags_tree)
            )
        for path, flag in zip(paths_of(flags_tree), flags, strict=True):
            if flag not in (False, True):
                raise TypeError(f"{what} must return booleans in out_batched, got {flag!r} at out_batched{path}")
        for position, (out, flag) in enumerate(zip(outs, flags)):
            if flag and (not out.aval.shape or out.aval.shape[0] != size):
                raise ValueError(
                    f"{what} declares output {position}{place(flags_tree, position)} mapped, but it is "
                    f"{out.aval.str_short()}; expected an axis of size {size} in front"
                )
        return [as_operand(out) for out in outs], [bool(flag) for flag in flags]


class TangentRule:
    """The rule of a function's directional derivative: the derivative of the rule `of` the function.

    A record: the batch rule of the call runs it, so that differentiating does not need to know how to map.
    """

    __slots__ = ("of",)

    def __init__(self, of: object) -> None:
        self.of = of

    @property
    def axes(self) -> Axes:
        return axes_of(self.of)

    def __repr__(self) -> str:  # in printed programs
        return repr(self.of)


def sequential_vmap(f: Callable[..., object]) -> custom_vmap:
    """`f`, which `vmap` runs on one row after the other, by `lax.map`: in less memory, or where rows must not meet.

    Args:
        f: a function of positional arguments that are trees of arrays.

    Returns:
        a `custom_vmap` of `f`; when it is mapped, so are all of its results. Raises MissingDistributionError at that
        time where `tangrad-lax` is not installed.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> double = tangrad.custom_batching.sequential_vmap(lambda x: 2 * x)
    >>> tangrad.vmap(double)(np.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def rule(axis_size: object, in_batched: object, *args: object) -> tuple[PyTree, PyTree]:
        plugin = composition().find("tangrad.api", "lax.map")
        if plugin is None:
            raise MissingDistributionError("tangrad.lax.map, which sequential_vmap needs", "tangrad-lax")
        leaves, treedef = tree.flatten(args)
        flags = tree.leaves(in_batched)
        if not any(flags):  # only tangents are mapped, as under jacfwd: linear, they are taken at once
            out = f(*args)
            return out, tree.map(lambda _: False, out)

        def row(rows: Sequence[Array]) -> PyTree:
            given = iter(rows)
            chosen = [next(given) if is_mapped else leaf for leaf, is_mapped in zip(leaves, flags, strict=True)]
            return mapped(*treedef.unflatten(chosen))  # mapped once more, it is a loop in a loop

        out = plugin.load()(row, [leaf for leaf, is_mapped in zip(leaves, flags, strict=True) if is_mapped])
        return out, tree.map(lambda _: True, out)

    return mapped
