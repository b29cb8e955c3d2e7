"""`custom_vjp`: functions whose reverse-mode derivative their author writes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import numpy as np

from tangrad import tree
from tangrad._custom_rules.calls import (
    Arguments,
    FlatCall,
    Stackable,
    UserRule,
    call,
    function_name,
    leaves_or_none,
    rule_closed_over,
)
from tangrad._custom_rules.dead_code import custom_dce
from tangrad._custom_rules.forward import check_outputs
from tangrad._custom_rules.primitives import custom_vjp_call_p
from tangrad._custom_rules.zeros import shown, taken
from tangrad.autodiff import Zero, log, logs_wanted, tangent_aval, without_logs
from tangrad.core import (
    ShapedArray,
    Tracer,
    WrappedSignature,
    as_array,
    as_operand,
    class_boundary,
    copy_identity,
    dtypes,
    returned_leaves,
)
from tangrad.core.programs import computes_at_once
from tangrad.errors import UnexpectedTracerError
from tangrad.tree_util import PyTreeDef, keystr, tree_map

if TYPE_CHECKING:
    from tangrad._custom_rules.primitives import Tangents
    from tangrad.core import Array
    from tangrad.typing import ArrayLike, PyTree, Value


class CustomVJPPrimal:
    """An argument of a forward rule with `symbolic_zeros`.

    Attributes:
        value: the argument; perturbed: whether it is differentiated.
    """

    __slots__ = ("perturbed", "value")

    def __init__(self, value: ArrayLike, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed


def custom_vjp_primal_tree_values(tree: object) -> PyTree:
    """What a forward rule with `symbolic_zeros` was called with, each `CustomVJPPrimal` replaced by its value.

    Raises TypeError for another leaf.
    """

    def value(leaf: object) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(
                f"custom_vjp_primal_tree_values expects CustomVJPPrimal leaves, got {leaf!r} of type "
                f"{type(leaf).__name__}"
            )
        return leaf.value

    return tree_map(value, tree)


P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)
S = TypeVar("S")


@class_boundary
class custom_vjp(Stackable, Generic[P, R]):  # noqa: N801 - a decorator, named as the field knows it
    """A function with a vjp rule of its own, for reverse mode.

    Args:
        fun: a function of positional arguments that are trees of arrays.
        nondiff_argnums: positions of arguments that are not differentiated and are no tracers, such as functions: `bwd`
            gets them in front.
        nondiff_argnames: names of such arguments.

    The rule is given by `defvjp(fwd, bwd)`: `fwd` takes the arguments and returns `(output, residuals)`;
    `bwd(*nondiff, residuals, cotangent)` returns a tuple with a cotangent for each differentiated argument, None for
    zero.

    Raises (at a call): AttributeError without a rule; TypeError and ValueError for rules whose results do not fit.

    >>> import tangrad
    >>> @tangrad.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (tangrad.numpy.clip(g, -1.0, 1.0),))
    >>> float(tangrad.grad(lambda x: 5.0 * clip_gradient(x))(2.0))
    1.0
    """

    __signature__ = WrappedSignature()

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        self._arguments = Arguments(fun, "custom_vjp", nondiff_argnums, nondiff_argnames)
        self.fun = fun
        self.nondiff_argnums = self._arguments.nondiff
        self.fwd: Callable[..., object] | None = None
        self.bwd: Callable[..., object] | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False
        self.with_logs = False
        copy_identity(self, fun)

    # A lambda's parameters have types where their number is known.
    @overload
    def defvjp(
        self,
        fwd: Callable[[PyTree], object],
        bwd: Callable[[PyTree, PyTree], object],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None: ...
    @overload
    def defvjp(
        self,
        fwd: Callable[[PyTree, PyTree], object],
        bwd: Callable[[PyTree, PyTree], object],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None: ...
    @overload
    def defvjp(
        self,
        fwd: Callable[[PyTree, PyTree, PyTree], object],
        bwd: Callable[[PyTree, PyTree], object],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None: ...
    @overload
    def defvjp(  # type: ignore[overload-cannot-match]  # of more parameters
        self,
        fwd: Callable[..., object],
        bwd: Callable[..., object],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None: ...
    def defvjp(
        self,
        fwd: Callable[..., object],
        bwd: Callable[..., object],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Give the rule: `fwd(*args) -> (output, residuals)` and `bwd(*nondiff, residuals, cotangent) -> cotangents`.

        With `symbolic_zeros`, `fwd` gets `CustomVJPPrimal` objects in place of arrays (their `value` is a Python number
        where that was passed), and `bwd` gets `SymbolicZero` objects for cotangents that are known to be zero. With
        `optimize_remat`, `fun` runs in place of `fwd` where only the output is used, as in the first pass of a
        checkpointed function: for a `fwd` that cannot be looked into. Raises NotImplementedError for both at once.
        """
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError("defvjp: optimize_remat does not go with symbolic_zeros")
        for name, rule in (("fwd", fwd), ("bwd", bwd)):
            if not callable(rule):
                raise TypeError(f"defvjp expects functions, got {rule!r} of type {type(rule).__name__} as {name}")
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = bool(symbolic_zeros)
        self.optimize_remat = bool(optimize_remat)
        self.with_logs = False

    def defvjp_with_logs(
        self,
        fwd: Callable[..., object],
        bwd: Callable[..., tuple[Any, dict[str, PyTree] | None]],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Give the rule as `defvjp` does, but `bwd` returns a pair `(cotangents, logs)`.

        The logs are a dict of trees of arrays, or None. They are what the function that `vjp` returns gives beside the
        gradients where it is called as `vjp_function.with_logs(cotangent)`; elsewhere they are dropped.

        >>> import tangrad
        >>> f = tangrad.custom_vjp(lambda x: 2.0 * x)
        >>> f.defvjp_with_logs(lambda x: (f(x), None), lambda _, g: ((2.0 * g,), {"seen": g}))
        >>> float(tangrad.vjp(f, 1.0)[1].with_logs(5.0)[1]["seen"])
        5.0
        """
        self.defvjp(fwd, bwd, symbolic_zeros, optimize_remat)
        self.with_logs = True

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        arguments = self._arguments
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"custom_vjp function {arguments.name} has no rule; give it one: {arguments.name}.defvjp(fwd, bwd)"
            )
        positional: Any = arguments.resolve(args, kwargs)
        flat = FlatCall(arguments, positional)
        for position, value in flat.nondiff:
            if any([isinstance(leaf, Tracer) for leaf in tree.leaves(value)]):
                raise UnexpectedTracerError(
                    f"custom_vjp function {arguments.name}: argument {position} is in nondiff_argnums, but it holds a "
                    "tracer; nondiff_argnums is for what cannot be an array, such as functions: leave the argument out "
                    "of it, and let bwd return None for it"
                )
        if computes_at_once(positional):
            return self.fun(*positional)
        operands = flat.operands()
        rules = self.fwd, self.bwd, self.symbolic_zeros, self.optimize_remat, self.with_logs
        outs = call(custom_vjp_call_p, flat, operands, lambda avals: {"fwd": FwdRule(flat, *rules, avals)})
        return flat.out_tree.unflatten([as_array(out) for out in outs])

    @overload
    def __get__(self, instance: None, owner: object = None) -> custom_vjp[P, R]: ...
    @overload
    def __get__(self: custom_vjp[Concatenate[Any, Q], S], instance: object, owner: object = None) -> Callable[Q, S]: ...
    def __get__(self, instance: Any, owner: object = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


_NUMBERS = (bool, int, float, complex)


class FwdRule(UserRule):
    """The forward rule of one call: `(primals, active) -> (outs, residuals, bwd)` of flat values."""

    __slots__ = ("_avals", "_bwd", "_logs", "_optimize_remat", "_symbolic_zeros")

    def __init__(
        self,
        flat: FlatCall,
        fwd: Callable[..., object],
        bwd: Callable[..., object],
        symbolic_zeros: bool,
        optimize_remat: bool,
        logs: bool,
        avals: tuple[ShapedArray, ...] | None,
    ) -> None:
        super().__init__(flat, fwd)
        self._bwd = bwd
        self._logs = logs
        self._optimize_remat = optimize_remat
        self._symbolic_zeros = symbolic_zeros
        self._avals = avals

    def __call__(self, primals: Sequence[Value], active: Sequence[bool]) -> tuple[list[Value], list[Value], BwdRule]:
        flat, fwd = self._flat, self._rule
        values: Any = flat.shown(primals, self._symbolic_zeros)
        if self._symbolic_zeros:
            values = [CustomVJPPrimal(value, bool(a)) for value, a in zip(values, active)]
        try:
            pair = self._or_function(values) if self._optimize_remat else fwd(*flat.full(values))
        except UnexpectedTracerError as error:
            if flat.out_tree is None:
                raise
            raise rule_closed_over("custom_vjp", flat.arguments.name, fwd, error) from error
        what = f"the forward rule {function_name(fwd)!r} of {flat.arguments.name}"
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{what} must return a pair (output, residuals), got {pair!r}")
        outs = flat.flat_result(pair[0], what)
        check_outputs(what, flat.out_tree, outs, self._avals)
        residuals, res_tree = returned_leaves(pair[1], what, "residuals")
        # Python's numbers stay what they are: the backward rule may branch on a flag, whatever traces there are.
        fixed = {place: leaf for place, leaf in enumerate(tree.leaves(pair[1])) if type(leaf) in _NUMBERS}
        in_avals = [primal.aval for primal in primals]
        bwd = BwdRule(flat, self._bwd, self._symbolic_zeros, self._logs, res_tree, fixed, in_avals)
        return outs, [as_operand(leaf) for place, leaf in enumerate(residuals) if place not in fixed], bwd

    def _or_function(self, values: Sequence[Value]) -> tuple[Array, Array]:
        """The forward rule, as a call that becomes one of the function where the residuals are unused."""
        flat, fwd = self._flat, self._rule
        both = custom_dce(lambda *leaves: fwd(*flat.full(leaves)))

        @both.def_dce
        def rule(used: object, *leaves: Value) -> PyTree:
            if isinstance(used, (tuple, list)) and not any(tree.leaves(used[1])):
                return type(used)((flat.arguments.fun(*flat.full(leaves)), tree.map(lambda _: None, used[1])))
            return fwd(*flat.full(leaves))

        return both(*values)


class BwdRule(UserRule):
    """The backward rule of one call: `(residuals, cotangents) -> cotangents of the arguments` of flat values."""

    __slots__ = ("_fixed", "_in_avals", "_logs", "_out_tree", "_res_tree", "_symbolic_zeros")

    def __init__(
        self,
        flat: FlatCall,
        bwd: Callable[..., object],
        symbolic_zeros: bool,
        logs: bool,
        res_tree: PyTreeDef,
        fixed: dict[int, object],
        in_avals: list[ShapedArray],
    ) -> None:
        super().__init__(flat, bwd)
        self._symbolic_zeros = symbolic_zeros
        self._logs = logs
        self._res_tree = res_tree
        self._fixed = fixed
        self._out_tree = flat.out_tree
        self._in_avals = in_avals

    def __call__(self, residuals: Sequence[Value], cotangents: Tangents) -> list[Value | Zero]:
        flat, bwd = self._flat, self._rule
        arrays, fixed = iter(residuals), self._fixed
        given = self._res_tree.unflatten(
            [fixed[place] if place in fixed else as_array(next(arrays)) for place in range(self._res_tree.num_leaves)]
        )
        cotangent = self._out_tree.unflatten([shown(ct, self._symbolic_zeros) for ct in cotangents])
        try:
            with without_logs() if logs_wanted() else nullcontext():
                found = bwd(*flat.nondiff_values(), given, cotangent)
        except UnexpectedTracerError as error:
            raise rule_closed_over("custom_vjp", flat.arguments.name, bwd, error) from error
        what = f"the backward rule {function_name(bwd)!r} of {flat.arguments.name}"
        leaves = self._leaves(what, _without_logs(what, found) if self._logs else found)
        paths = tree.leaves_with_path(flat.treedef.unflatten(range(len(self._in_avals))))
        return [
            _check_cotangent(f"{what} returned, at {keystr(path)},", aval, leaf)
            for (path, _), aval, leaf in zip(paths, self._in_avals, leaves, strict=True)
        ]

    def _leaves(self, what: str, found: object) -> list[Value | None]:
        """One cotangent for each leaf of the arguments; None stands for zeros of a whole part of the tree."""
        treedef, count = self._flat.treedef, len(self._flat.treedef.children())
        if isinstance(found, list) and len(found) == count:
            found = tuple(found)
        if not isinstance(found, tuple) or len(found) != count:
            raise TypeError(
                f"{what} must return a tuple with a cotangent for each differentiated argument, of which there are "
                f"{count}, got " + (f"a tuple of {len(found)}" if isinstance(found, tuple) else f"{found!r}")
            )
        try:
            return leaves_or_none(treedef, found, prefix=True)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{what} must return cotangents of the structure of the arguments, {treedef}, got "
                f"{tree.structure(found)}: {error}"
            ) from None


def check_logs(what: str, found: object) -> tuple[Any, dict[str, PyTree] | None]:
    """The pair of cotangents and logs that a backward rule returned. Raises TypeError where it is none."""
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(f"{what} has logs: it must produce a pair (cotangents, logs), got {found!r}")
    cotangents, entries = found
    if entries is not None and type(entries) is not dict:
        raise TypeError(
            f"{what} has logs: they must be None or a dict, got {entries!r} of type {type(entries).__name__}"
        )
    return cotangents, entries


def _without_logs(what: str, found: object) -> Any:
    """The cotangents of what a backward rule returned; the logs are logged."""
    cotangents, entries = check_logs(what, found)
    if entries and logs_wanted():
        leaves, treedef = returned_leaves(entries, what, "logs")
        log(treedef.unflatten([as_array(leaf) for leaf in leaves]))
    return cotangents


def _check_cotangent(where: str, aval: ShapedArray, leaf: Value | None) -> Value | Zero:
    expected = tangent_aval(aval)
    if leaf is None or expected.dtype == dtypes.float0:
        return Zero(expected)
    try:
        cotangent = taken(leaf)
    except TypeError as error:
        raise TypeError(f"{where} {error}") from None
    found = cotangent.aval
    if found.shape == expected.shape:
        if found.dtype == expected.dtype:
            return cotangent
        if all([dtypes.issubdtype(dtype, np.floating) for dtype in (found.dtype, expected.dtype)]):
            return as_operand(as_array(cotangent).astype(expected.dtype))  # computed in another precision
    raise ValueError(
        f"{where} {found.str_short()}; the argument is {aval.str_short()}, so expected a cotangent of shape "
        f"{expected.shape} and dtype {dtypes.dtype_name(expected.dtype)}"
    )
