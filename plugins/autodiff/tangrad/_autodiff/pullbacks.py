"""What `vjp` and `linear_transpose` return: linear programs that are run from their outputs to their inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, TypeVarTuple

from tangrad import tree
from tangrad._autodiff.auxiliary import collected, logs_wanted, without_logs
from tangrad._autodiff.cotangents import array_of, check_cotangent, marked_for, materialised, user_tangent
from tangrad._autodiff.tangents import Zero, tangent_aval, with_weak_type_of
from tangrad._autodiff.tape import record_linear
from tangrad.core import Array, Jaxpr, api_boundary, as_array, class_boundary, eval_jaxpr, is_array_value, thread
from tangrad.errors import ArgumentError
from tangrad.tree_util import PyTreeDef, keystr, register_pytree_node, register_static

if TYPE_CHECKING:
    import numpy as np

    from tangrad.core import ClosedJaxpr, ShapedArray
    from tangrad.typing import PyTree, Value

R = TypeVar("R")
Primals = TypeVarTuple("Primals")


class Reverse:
    """A linear program, apart from the arrays that it needs, which is run from its outputs to its inputs."""

    __slots__ = ("in_avals", "in_tree", "jaxpr", "nonzero", "out_avals", "out_tree")
    name: str  # of the function that returns it

    def __init__(
        self,
        jaxpr: ClosedJaxpr,
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        nonzero: Sequence[bool],
    ) -> None:
        self.jaxpr = jaxpr
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.in_avals = in_avals
        self.out_avals = out_avals
        self.nonzero = nonzero

    def leaves(self, cotangent: object) -> list[Array]:
        """The leaves of a cotangent, which must have the structure of the output."""
        leaves, treedef = tree.flatten(cotangent)
        if treedef != self.out_tree:
            raise ArgumentError(
                f"{self.name}: the cotangent must have the output's structure {self.out_tree}, got {treedef}"
            )
        return leaves

    def backward(
        self, constants: Sequence[object], leaves: Sequence[Value], wanted: Sequence[ShapedArray]
    ) -> list[Value | Zero]:
        """The cotangents of the inputs, whose types are `wanted`, from those of the outputs."""
        values = [check_cotangent(self.name, aval, leaf) for aval, leaf in zip(self.out_avals, leaves, strict=True)]
        if thread.typed_axes is not None:
            values = [marked_for(self.name, aval, value) for aval, value in zip(self.out_avals, values, strict=True)]
        program = record_linear(lambda *xs: eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *constants, *xs), wanted)
        return program.backward([v for v, has in zip(values, self.nonzero, strict=True) if has], consume=True)


class Pullback(Reverse):
    """What `vjp` returns, apart from its residuals."""

    __slots__ = ("active",)
    name = "vjp"

    def __init__(
        self,
        jaxpr: ClosedJaxpr,
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        nonzero: Sequence[bool],
        active: Sequence[bool],
    ) -> None:
        super().__init__(jaxpr, in_tree, out_tree, in_avals, out_avals, nonzero)
        self.active = active

    def cotangents(self, residuals: Sequence[Value], cotangent: object) -> list[Value | np.ndarray]:
        """The cotangents of the leaves of the arguments."""
        wanted = [aval for aval, is_active in zip(self.in_avals, self.active, strict=True) if is_active]
        found = iter(self.backward(residuals, self.leaves(cotangent), wanted))
        results = [
            next(found) if a else Zero(tangent_aval(aval)) for aval, a in zip(self.in_avals, self.active, strict=True)
        ]
        arrays = [user_tangent(result) for result in results]
        return [
            with_weak_type_of(array, aval) if isinstance(array, Array) else array
            for array, aval in zip(arrays, self.in_avals, strict=True)
        ]


class Transposed(Reverse):
    """What `linear_transpose` returns, apart from the values that its function closed over."""

    __slots__ = ()
    name = "linear_transpose"

    @api_boundary
    def __call__(self, constants: Sequence[Value], cotangent: PyTree) -> PyTree:
        found = self.backward(constants, [as_array(leaf) for leaf in self.leaves(cotangent)], self.in_avals)
        return self.in_tree.unflatten([as_array(materialised(result)) for result in found])


# --- where gradients go ---


class _Marker:
    """A marker, whose class is its meaning."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@class_boundary
class GradValue(_Marker):
    """For `vjp_function.with_refs`: the gradient of this argument is returned, as without `with_refs`."""

    __slots__ = ()


@class_boundary
class DontWant(_Marker):
    """For `vjp_function.with_refs`: the gradient of this argument is not wanted; `DidntWant()` stands in its place."""

    __slots__ = ()


@class_boundary
class DidntWant(_Marker):
    """Stands among gradients for one that was not wanted. A pytree without leaves."""

    __slots__ = ()


@class_boundary
class GradRef(_Marker):
    """Stands among gradients for one that was added to a reference. A pytree without leaves."""

    __slots__ = ()


@class_boundary
class NotNeeded(_Marker):
    """Stands in `vjp_function.args_res` for an argument that gradients do not depend on. A pytree without leaves."""

    __slots__ = ()


@class_boundary
class NotSaveable(_Marker):
    """Stands in `vjp_function.args_res` for an argument that is put back before the call. A pytree without leaves."""

    __slots__ = ()


for _marker in (GradValue, DontWant, DidntWant, GradRef, NotNeeded, NotSaveable):
    register_static(_marker)


# --- what vjp returns ---


@class_boundary
class VJP(Generic[R, *Primals]):
    """What `vjp` returns beside the value: a function from a cotangent of the output to those of the arguments.

    A pytree of the arrays that it needs, its residuals, which can be taken out and put back:

    Attributes:
        args_res: a list with an entry for each argument, of its structure: the arrays of it that are residuals, and
            `NotNeeded()` for the others. None in place of an entry lets go of it; an argument is put back the same way.
        opaque_residuals: a list of the other residuals, made on the way.
        in_tree, out_tree: the structures of the arguments, and of the output.

    >>> import tangrad
    >>> value, pullback = tangrad.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> total = tangrad.new_ref(1.0)
    >>> pullback.with_refs(total, tangrad.ad.GradValue())(1.0)
    (GradRef(), Array(2., dtype=float32, weak_type=True))
    >>> total[...]
    Array(4., dtype=float32)
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_accumulators",
        "_lists",
        "_logs",
        "_places",
        "_pullback",
        "_residuals",
        "fun",
    )

    def __init__(
        self,
        fun: Callable[..., object],
        pullback: Pullback,
        places: tuple[int, ...],
        residuals: Sequence[Value],
        accumulators: Sequence[object] | None = None,
        logs: bool = False,
    ) -> None:
        self.fun, self._pullback, self._logs = fun, pullback, logs
        self._places = places  # for each residual the leaf of the arguments that it is, or -1
        self._residuals = residuals
        self._accumulators = accumulators
        self._lists: tuple[list[Any], list[Any]] | None = None  # args_res and opaque_residuals, once they are asked for

    @property
    def in_tree(self) -> PyTreeDef:
        return self._pullback.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        return self._pullback.out_tree

    @property
    def jaxpr(self) -> Jaxpr:
        """The linear program: residuals and tangents of the arguments to tangents of the output."""
        return self._pullback.jaxpr.jaxpr

    @property
    def args_res(self) -> list[PyTree]:
        return self._as_lists()[0]

    @args_res.setter
    def args_res(self, entries: Sequence[object]) -> None:
        if not isinstance(entries, (list, tuple)) or len(entries) != len(self.args_res):
            raise ValueError(
                f"vjp: args_res is a list with an entry for each of the {len(self.args_res)} arguments, got {entries!r}"
            )
        self.args_res[:] = entries

    @property
    def opaque_residuals(self) -> list[Any]:
        return self._as_lists()[1]

    @opaque_residuals.setter
    def opaque_residuals(self, residuals: Sequence[object]) -> None:
        if len(residuals) != len(self.opaque_residuals):
            raise ValueError(f"vjp: there are {len(self.opaque_residuals)} opaque residuals, got {len(residuals)}")
        self.opaque_residuals[:] = residuals

    def with_refs(self, *accumulators: object) -> VJP[R, *Primals]:
        """The same function, which adds gradients to references instead of returning them.

        Args:
            accumulators: in the structure of the arguments, one for each array: a reference of the type of its
                gradient, `ad.GradValue()`, `ad.DontWant()`.

        Returns:
            a function that returns `ad.GradRef()` in the place of gradients that it adds to references, and
            `ad.DidntWant()` for those that are not wanted.

        Raises:
            ValueError: for another structure, another kind of object, or a reference of another type.
        """
        try:
            found = self.in_tree.flatten_up_to(accumulators)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"vjp: with_refs takes one accumulator for each array among the arguments, and the tree structures "
                f"differ: {error}"
            ) from None
        for place, accumulator in enumerate(found):
            _check_accumulator(accumulator, self._pullback.in_avals[place], self._pullback.active[place])
        return VJP(self.fun, self._pullback, self._places, self._now(), found, self._logs)

    @property
    def with_logs(self) -> Callable[[R], tuple[tuple[*Primals], dict[str, PyTree]]]:
        """The same function, which returns a pair: the gradients, and a dict of what backward rules logged.

        Rules log by `custom_vjp.defvjp_with_logs` and `custom_gradient(with_logs=True)`. What a scan logs has its
        iterations, and what `vmap` maps its rows, in front. Of entries of one name the last one counts.

        >>> import tangrad
        >>> @tangrad.custom_gradient(with_logs=True)
        ... def f(x):
        ...     return x**2, lambda g: (2.0 * g * x, {"cotangent": g})
        >>> value, pullback = tangrad.vjp(f, 3.0)
        >>> (gradient,), logs = pullback.with_logs(1.0)
        >>> float(gradient), float(logs["cotangent"])
        (6.0, 1.0)
        """
        same: Any = VJP(self.fun, self._pullback, self._places, self._now(), self._accumulators, logs=True)
        return same

    @api_boundary
    def __call__(self, cotangent: R) -> tuple[*Primals]:
        """The cotangents of the arguments, from one of the output, of its structure, shapes and dtypes."""
        if self._logs:
            pair: Any = collected(self._gradients, cotangent)
            return pair
        if logs_wanted():
            with without_logs():
                return self._gradients(cotangent)
        return self._gradients(cotangent)

    def _gradients(self, cotangent: R) -> tuple[*Primals]:
        residuals = self._residuals if self._lists is None else self._checked()
        found = self._pullback.cotangents(residuals, cotangent)
        if self._accumulators is not None:
            found = [_kept(value, into) for value, into in zip(found, self._accumulators, strict=True)]
        gradients: tuple[*Primals] = self.in_tree.unflatten(found)
        return gradients

    def __repr__(self) -> str:
        return f"<vjp of {getattr(self.fun, '__name__', self.fun)!s}>"

    def without(self, leaves: frozenset[int]) -> VJP[R, *Primals]:
        """The same function, which does not hold these leaves of the arguments."""
        found = zip(self._places, self._now(), strict=True)
        kept = [NotSaveable() if place in leaves else residual for place, residual in found]
        return _unflatten((self.fun, self._pullback, self._places, self._logs), (kept, self._accumulators))

    # --- residuals as users see them

    def _as_lists(self) -> tuple[list[Any], list[Any]]:
        if self._lists is None:
            of_place = dict(zip(self._places, self._residuals, strict=True))
            count = self.in_tree.num_leaves
            arguments = self.in_tree.unflatten([of_place.get(place, NotNeeded()) for place in range(count)])
            others = [value for place, value in zip(self._places, self._residuals, strict=True) if place < 0]
            self._lists = [*arguments], others
        return self._lists

    def _now(self) -> Sequence[Any]:
        """The residuals as they are now; None for those that are gone."""
        if self._lists is None:
            return self._residuals
        arguments, others = self._lists
        leaves: list[object] = []
        for structure, entry in zip(self.in_tree.children(), arguments, strict=True):
            leaves += [None] * structure.num_leaves if entry is None else structure.flatten_up_to(entry)
        rest = iter(others)
        return [next(rest) if place < 0 else leaves[place] for place in self._places]

    def _checked(self) -> list[Value]:
        """The residuals as arrays of their types."""
        residuals: list[Value] = []
        numbered = tree.leaves_with_path(self.in_tree.unflatten(range(self.in_tree.num_leaves)))
        paths = [f"args{keystr(path)}" for path, _ in numbered]
        for place, value, var in zip(self._places, self._now(), self._pullback.jaxpr.jaxpr.invars):
            what = f"the residual {paths[place]}, in args_res," if place >= 0 else "an opaque residual"
            if not is_array_value(value):
                kind = ": a not-saveable argument" if type(value) is NotSaveable else ", and no array"
                raise ValueError(f"vjp: {what} is {value!r}{kind}; put it back before the function is called")
            array = array_of(value, "vjp", "residual")
            if array.aval.shape != var.aval.shape or array.aval.dtype != var.aval.dtype:
                raise ValueError(f"vjp: {what} must be of type {var.aval.str_short()}, got {array.aval.str_short()}")
            residuals.append(array)
        return residuals


def _check_accumulator(accumulator: object, aval: ShapedArray, active: bool) -> None:
    kind: Any = getattr(accumulator, "aval", None)
    if hasattr(kind, "add_to"):
        wanted = tangent_aval(aval)
        if (kind.shape, kind.dtype) != (wanted.shape, wanted.dtype):
            raise ValueError(
                f"vjp: with_refs requires a ref of type Ref{{{wanted.str_short()}}} for the gradient of an argument of "
                f"type {aval.str_short()}, got one of type {kind.str_short()}"
            )
    elif active and not isinstance(accumulator, (GradValue, DontWant)):
        raise ValueError(
            f"vjp: with_refs takes a reference, ad.GradValue() or ad.DontWant() for each array of the arguments, got "
            f"{accumulator!r} of type {type(accumulator).__name__}"
        )


def _kept(cotangent: object, accumulator: object) -> Any:
    """What is returned of a cotangent, after it went where it belongs."""
    if type(accumulator) is DontWant:
        return DidntWant()
    kind: Any = getattr(accumulator, "aval", None)
    if not hasattr(kind, "add_to"):
        return cotangent
    kind.add_to(accumulator, cotangent)
    return GradRef()


def _flatten(function: VJP[object, *tuple[object, ...]]) -> tuple[tuple[object, object], tuple[object, ...]]:
    accumulators = function._accumulators
    static = function.fun, function._pullback, function._places, function._logs
    return (tuple(function._now()), accumulators), static


def _unflatten(data: tuple[Any, ...], children: tuple[Any, Any]) -> VJP[Any, *tuple[Any, ...]]:
    fun, pullback, places, logs = data
    residuals, accumulators = children
    function: VJP[Any, *tuple[Any, ...]] = VJP(fun, pullback, places, residuals, accumulators, logs)
    if any([type(residual) in (type(None), NotSaveable) for residual in residuals]):
        function._as_lists()  # from now on residuals are checked where they are read
    return function


register_pytree_node(VJP, _flatten, _unflatten)
