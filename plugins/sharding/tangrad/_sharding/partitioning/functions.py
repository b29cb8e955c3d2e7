"""The primitive: a call of a function that defines itself how it is divided."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

import tangrad
from tangrad import tree
from tangrad._sharding.partitioning.factors import SdyShardingRule, rule_of_text
from tangrad._sharding.shard_map.scope import axes_in_scope
from tangrad.core import (
    Array,
    ClosedJaxpr,
    PrimitiveSet,
    ShapedArray,
    Sharding,
    Tracer,
    api_boundary,
    array_leaves,
    as_array,
    as_operand,
    class_boundary,
    copy_identity,
    eval_jaxpr,
    returned_leaves,
    trace_to_closed_jaxpr,
    trace_to_jaxpr,
)
from tangrad.core.programs import check_results
from tangrad.errors import UnexpectedTracerError
from tangrad.tree_util import flatten_axes
from tangrad.typing import PyTree

if TYPE_CHECKING:
    from tangrad._sharding.mesh import Mesh
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import Params, Value, Values


partitioned_calls = PrimitiveSet("custom_partitioning", api=1)


def _evaluate(args: Values, params: Params) -> tuple[Array, ...]:
    """Outside of programs the function runs, operation by operation."""
    jaxpr, name = params["jaxpr"], params["how"].name
    outs = check_results(lambda: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args), f"the function {name!r}")
    return tuple([as_array(out) for out in outs])


def _inline(*args: object, jaxpr: ClosedJaxpr, how: object) -> Values:
    """On one device, mapped or differentiated: the function itself."""
    return tuple(eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args))


@partitioned_calls.primitive(
    name="custom_partitioning",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=_evaluate,
    decompose=_inline,
)
def custom_partitioning_p(*avals: ShapedArray, jaxpr: ClosedJaxpr, how: object) -> tuple[ShapedArray, ...]:
    """What the program computes; over several devices the parts of it are computed by `how`."""
    return tuple(jaxpr.out_avals)


# --- `custom_partitioning`: functions that say themselves how they are divided over devices ---

P = ParamSpec("P")
R = TypeVar("R")


@class_boundary
# --- The primitive: a call of a function that defines itself how it is divided ---

class custom_partitioning(Generic[P, R]):  # noqa: N801 - a decorator
    """Decorator: a function that defines itself how it is divided over the devices of a program.

    What it returns is the function's; `def_partition` defines how parts of it are computed. On one device, on the NumPy
    backend, outside of compiled functions and within `shard_map` the function itself runs. So it does where it is
    differentiated or mapped: give it a `custom_vjp` or `custom_vmap` of functions with partitions of their own.

    Args:
        fun: a function of arrays, in trees. It must not close over traced values.
        static_argnums: the positions of arguments that are no arrays, which the functions below get first.

    Raises TypeError for what is no function; at a call: for arguments that have no position, and for leaves that are no
    arrays. UnexpectedTracerError for a traced value that the function closes over, or that is a static argument.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.custom_partitioning import custom_partitioning
    >>> @custom_partitioning
    ... def row_sums(x):
    ...     return x.sum(1)
    >>> def partition(mesh, args, result):
    ...     rows = args[0].sharding.with_axes((args[0].sharding.spec[:1], ()))
    ...     return mesh, lambda x: x.sum(1), result.sharding, (rows,)
    >>> row_sums.def_partition(partition, sharding_rule="i j -> i", need_replication_factors=("j",))
    >>> tangrad.jit(row_sums)(np.ones((2, 3)))
    Array([3., 3.], dtype=float32)
    """

    def __init__(self, fun: Callable[P, R], static_argnums: Sequence[int] = ()) -> None:
        if not callable(fun):
            raise TypeError(f"custom_partitioning expects a function, got {fun!r} of type {type(fun).__name__}")
        self.fun = fun
        self.static_argnums = tuple(static_argnums)
        self.partition: Callable[..., object] | None = None
        self.sharding_rule: object = None
        copy_identity(self, fun)

    def __repr__(self) -> str:
        return f"<custom_partitioning of {self.fun!r}>"

    def def_partition(
        self,
        partition: Callable[..., object],
        infer_sharding_from_operands: Callable[..., object] | None = None,
        propagate_user_sharding: Callable[..., object] | None = None,
        decode_shardings: bool = True,
        sharding_rule: str | SdyShardingRule | Callable[..., object] | None = None,
        *,
        reduction_factors: Sequence[str] = (),
        need_replication_factors: Sequence[str] = (),
        permutation_factors: Sequence[str] = (),
        **factor_sizes: int,
    ) -> None:
        """Say how the function is divided.

        Args:
            partition: `partition(mesh, args, result)` gets the mesh and, for each array of the arguments and the
                result, what the compiler proposes: objects with `shape`, `dtype` and `sharding`, in their trees. It
                returns `(mesh, function, result_shardings, arg_shardings)`: the function computes a part of the result
                from the parts of the arguments, and may use collectives over all axes of the mesh.
            sharding_rule: which dimensions belong together, as text such as `"... i k, k j -> ... i j"` or an
                `SdyShardingRule`; or a function `rule(mesh, arrays of the arguments, arrays of the result)` that
                returns one, or text and a dictionary of the arguments below. XLA's partitioner goes by it.
            reduction_factors, need_replication_factors, permutation_factors, factor_sizes: as of `SdyShardingRule`, for
                a rule that is text.
            infer_sharding_from_operands, propagate_user_sharding, decode_shardings: belong to the partitioner that XLA
                had before; they are taken for programs that serve both, and have no effect.

        Static arguments stand before the others of each function.

        Raises TypeError for what is no function and for a rule of another type; ValueError for a rule that is none.
        """
        if not callable(partition):
            raise TypeError(f"def_partition: partition must be a function, got {partition!r}")
        kinds = (reduction_factors, need_replication_factors, permutation_factors)
        options = {name: tuple(given) for name, given in zip(SdyShardingRule.KINDS, kinds, strict=True) if given}
        options |= factor_sizes  # type: ignore[arg-type]
        if isinstance(sharding_rule, str):
            sharding_rule = rule_of_text(sharding_rule, **options)
        elif options:
            raise ValueError(
                f"def_partition: {sorted(options)} go with a sharding_rule that is text, got {sharding_rule!r}"
            )
        elif (
            sharding_rule is not None and not isinstance(sharding_rule, SdyShardingRule) and not callable(sharding_rule)
        ):
            raise TypeError(
                f"def_partition: sharding_rule must be text such as 'i j -> i', an SdyShardingRule, or a function that "
                f"returns one, got {sharding_rule!r} of type {type(sharding_rule).__name__}"
            )
        self.partition, self.sharding_rule = partition, sharding_rule

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        name = getattr(self.fun, "__name__", type(self.fun).__name__)
        static, given, function = self._divided(name, self._by_position(name, args, kwargs))
        leaves, treedef = array_leaves(tuple(given), f"custom_partitioning {name!r}: of the arguments, the leaf at ")
        operands = [as_operand(leaf) for leaf in leaves]
        structure: list[PyTreeDef] = []

        def flat(*values: Value) -> list[Value]:
            outs, out_tree = returned_leaves(function(*treedef.unflatten(values)), f"custom_partitioning {name!r}")
            structure.append(out_tree)
            return outs

        jaxpr, consts = trace_to_jaxpr(flat, [operand.aval for operand in operands], name)
        if any([isinstance(const, Tracer) for const in consts]):
            raise UnexpectedTracerError(
                f"custom_partitioning: {name!r} closes over a value that is traced, of which no device has a part; "
                "make it an argument"
            )
        how = Partitioning(name, self.partition, self.sharding_rule, static, treedef, structure[0])
        outs = custom_partitioning_p.bind(*operands, jaxpr=ClosedJaxpr(jaxpr, consts), how=how)
        return structure[0].unflatten([as_array(out) for out in outs])

    def _by_position(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> list[PyTree]:
        if not kwargs:
            return list(args)
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"custom_partitioning {name!r}: the arguments {sorted(bound.kwargs)} have no position, so "
                "the functions of def_partition could not be given them; make them positional"
            )
        return list(bound.args)

    def _divided(self, name: str, args: list[PyTree]) -> tuple[tuple[PyTree, ...], list[PyTree], Callable[..., PyTree]]:
        """The static arguments, the others, and the function of the others."""
        static = tuple([args[position] for position in self.static_argnums])
        if any([isinstance(leaf, Tracer) for leaf in tree.leaves(static)]):
            raise UnexpectedTracerError(f"custom_partitioning {name!r}: a static argument is a traced value: {static}")
        fixed = {position % len(args): args[position] for position in self.static_argnums}
        given = [arg for position, arg in enumerate(args) if position not in fixed]

        def function(*values: PyTree) -> PyTree:
            rest = iter(values)
            return self.fun(*[fixed[i] if i in fixed else next(rest) for i in range(len(args))])  # type: ignore[call-arg]

        return static, given, function


class Partitioning:
    """How the function of one call is divided. Programs are remembered by it: each call has its own.

    Attributes:
        name: of the function.
    """

    __slots__ = ("__weakref__", "_in_tree", "_out_tree", "_partition", "_rule", "_static", "name")

    def __init__(
        self,
        name: str,
        partition: Callable[..., object] | None,
        rule: object,
        static: tuple[object, ...],
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
    ) -> None:
        self.name = name
        self._partition = partition
        self._rule = rule
        self._static = static
        self._in_tree = in_tree
        self._out_tree = out_tree

    def __repr__(self) -> str:
        return f"<partitioning of {self.name}>"

    def rule(self, mesh: Mesh, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> str:
        """Its sharding rule for operands and results of these types, as text in MLIR's syntax.

        Raises TypeError or ValueError, naming the function, where nothing or nothing fitting was stated.
        """
        rule = self._rule
        if self._partition is None:
            raise ValueError(
                f"custom_partitioning {self.name!r} has no partition; state one: {self.name}.def_partition"
            )
        if callable(rule):
            rule = rule(*self._static, mesh, [_struct(aval) for aval in operands], [_struct(aval) for aval in results])
            text, options = rule if isinstance(rule, (tuple, list)) and len(rule) == 2 else (rule, {})
            rule = rule_of_text(text, **options) if isinstance(text, str) else rule
        if not isinstance(rule, SdyShardingRule):
            raise TypeError(
                f"custom_partitioning {self.name!r} must state a sharding_rule, by which XLA's partitioner goes, such "
                f"as def_partition(..., sharding_rule='i j -> i'); got {rule!r}"
            )
        try:
            return rule.text([aval.shape for aval in operands], [aval.shape for aval in results])
        except ValueError as error:
            raise ValueError(f"custom_partitioning {self.name!r}: {error}") from None

    def parts(
        self,
        mesh: Mesh,
        operands: Sequence[tuple[ShapedArray, Sharding]],
        results: Sequence[tuple[ShapedArray, Sharding]],
    ) -> tuple[Mesh, ClosedJaxpr, list[Sharding], list[Sharding]]:
        """What the user's function makes of what the compiler proposes.

        Returns:
            the mesh, the program of a part, the shardings of the operands, and those of the results.
        """
        args = self._in_tree.unflatten([_struct(*pair) for pair in operands])
        result = self._out_tree.unflatten([_struct(*pair) for pair in results])
        made = self._partition(*self._static, mesh, args, result)  # type: ignore[misc]
        if not isinstance(made, (tuple, list)) or len(made) != 4:
            raise TypeError(
                f"custom_partitioning {self.name!r}: partition must return (mesh, function, result_shardings, "
                f"arg_shardings), got {made!r}"
            )
        mesh, function, out_shardings, in_shardings = made
        inputs = self._shardings("arg_shardings", self._in_tree, in_shardings)
        outputs = self._shardings("result_shardings", self._out_tree, out_shardings)
        given = [_part(aval, sharding) for (aval, _), sharding in zip(operands, inputs, strict=True)]
        expected = [_part(aval, sharding) for (aval, _), sharding in zip(results, outputs, strict=True)]

        def flat(*values: Value) -> list[Value]:
            return returned_leaves(function(*self._in_tree.unflatten(values)), f"the partition of {self.name!r}")[0]

        with axes_in_scope(mesh, mesh.axis_names):
            program = trace_to_closed_jaxpr(flat, given, self.name)
        found = [(aval.shape, aval.dtype) for aval in program.out_avals]
        if found != [(aval.shape, aval.dtype) for aval in expected]:
            raise ValueError(
                f"custom_partitioning {self.name!r}: the function of a part returned "
                f"{[aval.str_short() for aval in program.out_avals]}, and by result_shardings a part is "
                f"{[aval.str_short() for aval in expected]}"
            )
        return mesh, program, inputs, outputs

    def _shardings(self, what: str, treedef: PyTreeDef, given: PyTree) -> list[Sharding]:
        found = flatten_axes(f"custom_partitioning {self.name!r}: {what}", treedef, given)
        for one in found:
            if not isinstance(one, Sharding):
                raise TypeError(f"custom_partitioning {self.name!r}: {what} must be shardings, got {one!r}")
        return found


def _struct(aval: ShapedArray, sharding: Sharding | None = None) -> tangrad.ShapeDtypeStruct:
    return tangrad.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding)


def _part(aval: ShapedArray, sharding: Sharding) -> ShapedArray:
    return ShapedArray(sharding.shard_shape(aval.shape), aval.dtype)
