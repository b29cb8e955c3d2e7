"""The functions of a solve as programs, and the errors for those whose results do not fit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tangrad import tree
from tangrad._custom_rules.calls import check_structure, function_name, type_differences
from tangrad.autodiff import marked, set_weak_type_p
from tangrad.core import (
    ClosedJaxpr,
    ShapedArray,
    array_leaves,
    as_array,
    as_operand,
    closed_over_as_arguments,
    returned_leaves,
    thread,
    trace_to_jaxpr,
)

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import PyTree, Value

    Found = TypeVar("Found", bound=tuple["Program | None", ...])


class Vectors:
    """Trees of arrays of one structure and one list of types: what a solve takes and gives.

    Attributes:
        name: of the argument that has them, for messages.
        treedef: the structure; avals: the types.
    """

    __slots__ = ("avals", "name", "treedef")

    def __init__(self, name: str, treedef: PyTreeDef, avals: Sequence[ShapedArray]) -> None:
        self.name = name
        self.treedef = treedef
        self.avals = tuple(avals)

    def example(self) -> ShapedArray:
        """The tree of types."""
        return self.treedef.unflatten(self.avals)

    def unflatten(self, values: Sequence[Value]) -> PyTree:
        return self.treedef.unflatten([as_array(value) for value in values])

    def as_weak(self, values: Sequence[Value]) -> list[Value]:
        """Values with the weak-type flags of these types."""
        return [
            value if value.aval.weak_type is aval.weak_type else set_weak_type_p.bind(value, weak_type=aval.weak_type)
            for value, aval in zip(values, self.avals, strict=True)
        ]

    def as_different(self, values: Sequence[Value]) -> list[Value]:
        """Values that count as differing along the mapped axes along which these types do, at least."""
        if thread.typed_axes is None:
            return list(values)
        return [marked(value, aval) for value, aval in zip(values, self.avals, strict=True)]

    def along(self, axes: dict[Hashable, int]) -> Vectors:
        """The same of arrays that all differ along mapped axes, given with their sizes."""
        return Vectors(self.name, self.treedef, [aval.update(named_shape=axes) for aval in self.avals])


def vectors_of(value: object, what: str, name: str) -> tuple[list[Value], Vectors]:
    """The operands of an argument, and their types. Raises TypeError for a leaf that is no array."""
    leaves, treedef = array_leaves(value, f"{what}: {name}")
    operands = [as_operand(leaf) for leaf in leaves]
    return operands, Vectors(name, treedef, [operand.aval for operand in operands])


def of_one_type_along_axes(
    operands: list[Value], vectors: Vectors, make: Callable[[Vectors], Found]
) -> tuple[list[Value], Vectors, Found]:
    """The vectors of an equation, and its programs, which all differ along the same mapped axes.

    Within a checked `shard_map` types record along which axes values differ. Where the matrix differs and the
    right-hand side does not, the solution differs all the same, and the derivatives' equations have such right-hand
    sides. So all that differs along an axis in one of the programs does so everywhere, as the carries of loops do.
    """
    if thread.typed_axes is None:
        return operands, vectors, make(vectors)
    axes = _axes_of(vectors.avals)
    while True:
        vectors = vectors.along(axes)
        programs = make(vectors)
        count = len(vectors.avals)
        results = [aval for program in programs if program is not None for aval in program.closed.out_avals[:count]]
        wider = {**axes, **_axes_of(results)}
        if len(wider) == len(axes):
            return vectors.as_different(operands), vectors, programs
        axes = wider


def _axes_of(avals: Sequence[ShapedArray]) -> dict[Hashable, int]:
    return {name: size for aval in avals for name, size in aval.named_shape}


def check_callable(what: str, **functions: object) -> None:
    """Raise TypeError for an argument that should be a function and is none."""
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{what}: {name} must be a function, got {function!r} of type {type(function).__name__}")


class Program:
    """A user's function as a program.

    Attributes:
        closed: closed jaxpr `(*consts, *arguments) -> (a vector, auxiliary values)`.
        consts: what the function closed over.
        aux_tree: the structure of the auxiliary values.
    """

    __slots__ = ("__weakref__", "aux_tree", "closed", "consts")

    def __init__(self, closed: ClosedJaxpr, consts: Sequence[Value], aux_tree: PyTreeDef) -> None:
        self.closed = closed
        self.consts = consts
        self.aux_tree = aux_tree


class Role:
    """Which of a solve's functions is meant, for messages: `custom_root: solve 'newton'`.

    Attributes:
        what: the name of the public function; name: of its argument; function: the user's.
        shape_error: what is raised for wrong shapes.
    """

    __slots__ = ("function", "name", "shape_error", "what")

    def __init__(
        self, what: str, name: str, function: Callable[..., PyTree], shape_error: type[Exception] = TypeError
    ) -> None:
        self.what = what
        self.name = name
        self.function = function
        self.shape_error = shape_error

    def __str__(self) -> str:
        return f"{self.what}: {self.name}, function {function_name(self.function)!r},"


def trace(
    role: Role,
    run: Callable[..., PyTree],
    arguments: Sequence[Vectors],
    result: Vectors,
    has_aux: bool = False,
    weakly_as_result: bool = True,
) -> Program:
    """The program of `run`, a function of trees of `arguments`, which must return a tree of `result`, or that and aux.

    Args:
        weakly_as_result: whether the program's results are weakly typed just where those of `result` are.
    """
    counts = [len(vectors.avals) for vectors in arguments]
    aux_trees: list[PyTreeDef] = []

    def flat(*values: Value) -> list[Value]:
        given, start = [], 0
        for vectors, count in zip(arguments, counts):
            given.append(vectors.unflatten(values[start : start + count]))
            start += count
        out, aux = _pair(role, run(*given)) if has_aux else (run(*given), ())
        leaves, aux_leaves = _check_result(role, out, result), _aux_operands(role, aux)
        aux_trees.append(tree.structure(aux))
        return [*result.as_different(result.as_weak(leaves) if weakly_as_result else leaves), *aux_leaves]

    avals = [aval for vectors in arguments for aval in vectors.avals]
    jaxpr, consts = trace_to_jaxpr(flat, avals, f"{role.name} of {role.what}")
    return Program(ClosedJaxpr(closed_over_as_arguments(jaxpr)), consts, aux_trees[0])


def _pair(role: Role, out: object) -> Sequence[PyTree]:
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise ValueError(f"{role} must return a pair (solution, auxiliary) with has_aux=True, got {out!r}")
    return out


def _aux_operands(role: Role, aux: object) -> list[Value]:
    leaves, _ = returned_leaves(aux, str(role), "aux")
    return [as_operand(leaf) for leaf in leaves]


def _check_result(role: Role, out: Value, expected: Vectors) -> list[Value]:
    leaves, treedef = returned_leaves(out, str(role))
    operands = [as_operand(leaf) for leaf in leaves]
    avals = [operand.aval for operand in operands]
    if len(avals) != len(expected.avals) and role.shape_error is ValueError:
        raise ValueError(
            f"{role} must return as many arrays as {expected.name} has: {len(expected.avals)}, of the structure "
            f"{expected.treedef}, got {len(avals)}, {treedef}"
        )
    check_structure(str(role), f"of {expected.name}", expected.treedef, treedef)
    lines = type_differences(treedef, expected.avals, avals)
    if lines:
        shapes = any([one.shape != other.shape for one, other in zip(expected.avals, avals, strict=True)])
        listed = "".join([f"\n  {line}" for line in lines])
        raise (role.shape_error if shapes else TypeError)(
            f"{role} must return the shapes and dtypes of {expected.name}:{listed}"
        )
    return operands
