"""One call of a user's function: its arguments in order, and what it returns, held against what was expected."""

from __future__ import annotations

import inspect
import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tangrad import tree
from tangrad.core import (
    ClosedJaxpr,
    Primitive,
    Tracer,
    as_array,
    as_operand,
    closed_over_as_arguments,
    is_array_value,
    returned_leaves,
    thread,
    trace_to_jaxpr,
)
from tangrad.errors import UnexpectedTracerError
from tangrad.tree_util import PyTreeDef, equality_errors, keystr

if TYPE_CHECKING:
    from tangrad._custom_rules.primitives import Axes
    from tangrad.core import Array, ShapedArray, Trace
    from tangrad.typing import ArrayLike, Params, PyTree, Value, Values


class _Value:
    """Stands for an array where only the structure of a tree counts."""


def leaves_or_none(treedef: PyTreeDef, value: object, prefix: bool = False) -> list[Value | None]:
    """The leaves of a tree of that structure, in which None may stand for a whole part: None for each leaf of it.

    With `prefix` any leaf may stand for a part so. Raises TypeError or ValueError for another structure.
    """
    leaves: list[Value | None] = []

    def add(
        found: Value | None, part: _Value
    ) -> bool:  # users' nodes are made of the results: not all of them take None
        if found is not None and not prefix and type(part) is not _Value:
            raise ValueError("an array stands in place of a tree")
        leaves.extend([found] * tree.structure(part).num_leaves)
        return True

    stand_ins = treedef.unflatten([_Value() for _ in range(treedef.num_leaves)])
    tree.map(add, value, stand_ins, is_leaf=lambda found: found is None)
    return leaves


def paths_of(treedef: PyTreeDef) -> list[str]:
    """The path of each leaf, as it is written after the name of a variable."""
    return [keystr(path) for path, _ in tree.leaves_with_path(treedef.unflatten(range(treedef.num_leaves)))]


def differences(expected: PyTreeDef, found: PyTreeDef) -> Iterator[str]:
    """Where two structures differ: for each place its path, and what is there in both."""
    one, other = [treedef.unflatten([_Value()] * treedef.num_leaves) for treedef in (expected, found)]
    for path, first, second, why in equality_errors(one, other):
        shown = [kind.replace("a _Value", "an array") for kind in (first, second)]
        yield f"at result{keystr(path)}: expected {shown[0]}, got {shown[1]}; {why}"


def place(treedef: PyTreeDef, position: int) -> str:
    """Where a leaf is, to be put after its number: nothing where it is the only one."""
    path = paths_of(treedef)[position]
    return f" (result{path})" if path else ""


def lines_of(expected: PyTreeDef, found: PyTreeDef) -> str:
    """Where two structures differ, a line for each place."""
    return "".join([f"\n  {line}" for line in differences(expected, found)])


def check_structure(what: str, expected_name: str, expected: PyTreeDef, found: PyTreeDef) -> None:
    """Raise TypeError unless a result has the structure that was expected; `expected_name` is whose that is."""
    if expected != found:
        raise TypeError(
            f"{what} must return a result of the structure {expected_name}, {expected}, got {found}"
            + lines_of(expected, found)
        )


def type_differences(treedef: PyTreeDef, expected: Sequence[ShapedArray], found: Sequence[ShapedArray]) -> list[str]:
    """Where shapes or dtypes of two lists of avals differ: for each place its path, and both types."""
    pairs = list(zip(expected, found, strict=True))
    if all([one is other or (one.shape == other.shape and one.dtype == other.dtype) for one, other in pairs]):
        return []
    return [
        f"at result{path}: expected {one.str_short()}, got {other.str_short()}"
        for path, (one, other) in zip(paths_of(treedef), pairs, strict=True)
        if one.shape != other.shape or one.dtype != other.dtype
    ]


def function_name(function: object) -> str:
    """The name of a function, for messages."""
    return getattr(function, "__name__", None) or type(function).__name__


def index_tuple(value: object, what: str) -> tuple[int, ...]:
    """Positions of arguments as a tuple. Raises TypeError."""
    try:
        return tuple([operator.index(item) for item in (value if isinstance(value, (tuple, list, set)) else (value,))])
    except TypeError:
        raise TypeError(f"{what} must be an integer or a sequence of integers, got {value!r}") from None


class Stackable:
    """A function with a rule of its own, `fun`: where `fun` has a rule of another kind, it is given by this one too."""

    fun: Callable[..., PyTree]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("def") and isinstance(self.__dict__.get("fun"), Stackable):
            return getattr(self.fun, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Arguments:
    """How a function is called, known once for the function.

    Attributes:
        nondiff: positions of the arguments that rules get as they are.
        kind: the name of the decorator, for messages.
    """

    __slots__ = ("_signature", "fun", "kind", "name", "nondiff")

    def __init__(
        self, fun: Callable[..., PyTree], kind: str, argnums: object, argnames: str | Sequence[str] | tuple[()]
    ) -> None:
        if not callable(fun):
            raise TypeError(f"{kind} expects a function, got {fun!r} of type {type(fun).__name__}")
        self.fun = fun
        self.kind = kind
        self.name = function_name(fun)
        try:
            self._signature: inspect.Signature | None = inspect.signature(fun)
        except (ValueError, TypeError, AttributeError):  # some builtins have none
            self._signature = None
        nondiff = index_tuple(argnums, "nondiff_argnums")
        names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
        self.nondiff = tuple(sorted({*nondiff, *[self._position(name) for name in names]}))

    def _position(self, name: str) -> int:
        parameters = [] if self._signature is None else list(self._signature.parameters)
        if name not in parameters:
            raise ValueError(f"nondiff_argnames has {name!r}, but the arguments of {self.name} are {parameters}")
        return parameters.index(name)

    def resolve(self, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[PyTree, ...]:
        """All arguments by position, defaults included. Raises TypeError for those that only have a name.

        Of those that only have a name the function uses its defaults, which the rules need not know of.
        """
        if self._signature is None:
            bound_args, bound_kwargs = args, kwargs
        else:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            bound_args, bound_kwargs = bound.args, {name: bound.kwargs[name] for name in bound.kwargs if name in kwargs}
        if bound_kwargs:
            raise TypeError(
                f"{self.kind} function {self.name}: the arguments {sorted(bound_kwargs)} have no position, "
                "so rules could not be given them; make them positional"
            )
        return tuple(bound_args)


class FlatCall:
    """The function of one call as a function of flat values.

    Attributes:
        treedef: the structure of the tuple of differentiated arguments.
        nondiff: pairs of a position and the argument there, for those that are not differentiated.
        out_tree: the structure of the result, once the function or a rule has run.
        numbers: for each flat argument, the Python number that was passed, or None for anything else.
        axes: pairs of a name and a size: the mapped axes in scope, which the function and its rules may use.
        trace: the trace of the call, as a weak reference: of its values the function and its rules may close over some.
    """

    __slots__ = ("__weakref__", "arguments", "axes", "leaves", "nondiff", "numbers", "out_tree", "trace", "treedef")
    holds_program = True

    def __init__(self, arguments: Arguments, args: tuple[ArrayLike, ...]) -> None:
        self.arguments = arguments
        count = len(args)
        for position in arguments.nondiff:
            if not -count <= position < count:
                raise ValueError(
                    f"{arguments.kind} function {arguments.name}: nondiff_argnums has {position}, but the call has "
                    f"{count} arguments"
                )
        positions = sorted({position % count for position in arguments.nondiff})
        self.nondiff = [(position, args[position]) for position in positions]
        leaves, self.treedef = tree.flatten(tuple([arg for i, arg in enumerate(args) if i not in positions]))
        self.leaves = [leaf if isinstance(leaf, Tracer) else self._leaf(leaf, i) for i, leaf in enumerate(leaves)]
        self.numbers = [leaf if type(leaf) in (bool, int, float, complex) else None for leaf in leaves]
        self.out_tree: Any = None
        self.axes = thread.axis_environment
        self.trace = weakref.ref(thread.trace)

    def _leaf(self, leaf: object, position: int) -> object:
        if not is_array_value(leaf):
            path = keystr(tree.leaves_with_path(self.treedef.unflatten(range(self.treedef.num_leaves)))[position][0])
            raise TypeError(
                f"{self.arguments.kind} function {self.arguments.name}: the differentiated argument {path} is {leaf!r} "
                f"of type {type(leaf).__name__}, which is not an array; name its position in nondiff_argnums, or "
                "close over it"
            )
        return leaf

    def operands(self) -> list[Value]:
        """The values of the call."""
        leaves = [as_operand(leaf) for leaf in self.leaves]
        self.leaves = []  # rules outlive the call: they must not hold its values
        return leaves

    def shown(self, primals: Sequence[object], as_passed: bool) -> list[Array]:
        """The values of the differentiated arguments for a rule: arrays, or, as they were passed, Python's numbers."""
        if not as_passed:
            return [as_array(primal) for primal in primals]
        return [as_array(p) if n is None else n for p, n in zip(primals, self.numbers, strict=True)]

    def full(self, leaves: Sequence[Value]) -> list[PyTree]:
        """All arguments of the function, of flat values."""
        args = list(self.treedef.unflatten(leaves))
        for position, value in self.nondiff:
            args.insert(position, value)
        return args

    def nondiff_values(self) -> list[object]:
        return [value for _, value in self.nondiff]

    def flat_result(self, out: object, what: str, error: type[Exception] = TypeError) -> list[Value]:
        """Flatten a result; check it against the structure that is known, or take that as known.

        `error`: what is raised for another structure.
        """
        leaves, treedef = returned_leaves(out, what)
        if self.out_tree is not None and self.out_tree != treedef:
            raise error(
                f"{what} must return a result of the structure that {self.arguments.name} returns, {self.out_tree}, "
                f"got {treedef}{lines_of(self.out_tree, treedef)}"
            )
        self.out_tree = treedef
        return [as_operand(leaf) for leaf in leaves]

    def __call__(self, *leaves: Value) -> list[Value]:
        return self.flat_result(self.arguments.fun(*self.full(leaves)), f"function {self.arguments.name}")


class UserRule:
    """What the rules of one call of a function share: the call, and the user's rule."""

    __slots__ = ("_flat", "_rule")

    def __init__(self, flat: FlatCall, rule: Callable[..., PyTree]) -> None:
        self._flat = flat
        self._rule = rule

    @property
    def axes(self) -> Axes:
        return self._flat.axes

    @property
    def trace(self) -> weakref.ref[Trace]:
        return self._flat.trace

    def __repr__(self) -> str:  # in printed programs
        return function_name(self._rule)


def call(
    primitive: Primitive,
    flat: FlatCall,
    operands: Sequence[Value],
    make_params: Callable[[tuple[ShapedArray, ...] | None], Params],
) -> Values:
    """Bind the call of a function with rules: as a program where one is staged, else as the function.

    A function that closes over tracers becomes a program too: they are operands then.
    """
    name = flat.arguments.name
    if not thread.trace.stages:
        try:
            return primitive.bind(*operands, jaxpr=flat, num_consts=0, name=name, **make_params(None))
        except UnexpectedTracerError:
            flat.out_tree = None
    jaxpr, consts = trace_to_jaxpr(flat, [operand.aval for operand in operands], name)
    closed = ClosedJaxpr(closed_over_as_arguments(jaxpr))
    params = make_params(tuple(closed.out_avals))
    return primitive.bind(*consts, *operands, jaxpr=closed, num_consts=len(consts), name=name, **params)


def closed_over(kind: str, name: str) -> UnexpectedTracerError:
    """The error for a derivative with respect to a value that a function closed over."""
    return UnexpectedTracerError(
        f"the {kind} function {name} closes over a value that is differentiated, but its rule only "
        f"differentiates with respect to its arguments; make the value an argument of {name}, and adapt the rule"
    )


def rule_closed_over(kind: str, name: str, rule: object, error: Exception) -> UnexpectedTracerError:
    """The error for a rule that closes over a tracer which has ended by the time the rule runs."""
    return UnexpectedTracerError(
        f"the rule {function_name(rule)!r} of the {kind} function {name} uses a tracer that it closed over; make that "
        f"value an argument of {name} (or hand it on as a residual): {str(error).splitlines()[0]}"
    )
