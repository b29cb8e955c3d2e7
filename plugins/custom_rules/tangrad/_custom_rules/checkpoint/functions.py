"""`checkpoint`, also named `remat`: a function whose gradient computes its intermediate values again."""

from __future__ import annotations

import contextlib
import inspect
import operator
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

import numpy as np

from tangrad import tree
from tangrad._custom_rules.checkpoint.primitives import name_p, remat_p
from tangrad.autodiff import linearize_jaxpr
from tangrad.core import (
    EVAL_TRACE,
    Array,
    ClosedJaxpr,
    Jaxpr,
    Literal,
    Primitive,
    RuleTrace,
    RuleTracer,
    ShapedArray,
    Tracer,
    Var,
    array_leaves,
    as_array,
    as_operand,
    closed_over_as_arguments,
    copy_identity,
    dtypes,
    returned_leaves,
    run_traced,
    thread,
    trace_to_jaxpr,
)
from tangrad.core.caches import free_after_fork, register_cache, typed_key
from tangrad.core.settings import cache_context
from tangrad.core.transformations import call_under
from tangrad.tree_util import PyTreeDef, broadcast_prefix, keystr

if TYPE_CHECKING:
    from tangrad._custom_rules.checkpoint.policies import Policy
    from tangrad.typing import Params, PyTree, Value


class ConcreteTracer(RuleTracer):
    """A value of the program under construction, and what it is this time; None where that is not known."""

    __slots__ = ()

    def concrete(self) -> Value:
        return self.extra

    def origin(self) -> str:
        return "a value of a checkpointed function"


class ConcreteTrace(RuleTrace, own=ConcreteTracer):
    """Records each primitive under the parent, and computes it where all operands are known."""

    __slots__ = ()

    def applies(self, primitive: Primitive, args: tuple[object, ...], params: Params) -> bool:
        return True

    def apply(
        self, primitive: Primitive, values: list[Value], extras: list[object], params: Params
    ) -> ConcreteTracer | tuple[ConcreteTracer, ...]:
        found: Any = None
        known = [known_value(value) if extra is None else extra for value, extra in zip(values, extras)]
        outs = primitive.bind(*values, **params)
        if primitive.effects is None and not any([value is None for value in known]):
            found = call_under(EVAL_TRACE, primitive.bind, *known, **params)
        if not primitive.multiple_results:
            return self.tracer(outs, found)
        return tuple([self.tracer(*one) for one in zip(outs, found or [None] * len(outs), strict=True)])


def known_value(value: Value) -> Value | None:
    """What a value is, or None for a tracer that stands for any."""
    return value.concrete() if isinstance(value, Tracer) else value


def with_values(
    function: Callable[..., Sequence[Array | Literal]], values: Sequence[Value | None]
) -> Callable[..., list[Value]]:
    """A function of flat arguments to be traced, whose arguments are these values this time."""

    def run(*leaves: object) -> list[Value]:
        def traced(trace: ConcreteTrace) -> list[Value]:
            outs = function(*[trace.tracer(leaf, value) for leaf, value in zip(leaves, values, strict=True)])
            return [trace.split(out)[0] for out in outs]

        return run_traced(traced, ConcreteTrace)

    return run


P = ParamSpec("P")
R = TypeVar("R")
SIGNATURE_LIMIT = 64  # programs kept for one function


class Traced:
    """A function as a program `(*consts, *leaves) -> results`, what it closed over, and its structure."""

    __slots__ = ("consts", "jaxpr", "out_tree")

    def __init__(self, jaxpr: ClosedJaxpr, consts: Sequence[object], out_tree: PyTreeDef) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_tree = out_tree


_traced: weakref.WeakKeyDictionary[Any, dict[Any, Traced]] = weakref.WeakKeyDictionary()
_lock = free_after_fork(threading.RLock())
register_cache(_traced.clear)


def trace(
    fun: Callable[..., object],
    static: Sequence[tuple[object, object]],
    treedef: PyTreeDef,
    avals: tuple[ShapedArray, ...],
) -> Traced:
    """The program of a function; remembered as long as the function lives, unless it closed over tracers.

    Args:
        static: pairs of a position or name and the argument there; the others are made of leaves by `treedef`, as
            `(positional arguments, keyword arguments)`.
    """
    try:
        statics = tuple([(where, typed_key(value)) for where, value in static])
        key = (treedef, avals, statics, cache_context(), thread.axis_environment)
        found = _traced.get(fun, {}).get(key)
    except TypeError:  # static arguments that are not hashable, or a function that is not, or not weakly referable
        return _trace(fun, static, treedef, avals)
    if found is None:
        found = _trace(fun, static, treedef, avals)
        if not any([isinstance(const, Tracer) for const in found.consts]):
            with _lock:
                entries = _traced.setdefault(fun, {})
                if len(entries) >= SIGNATURE_LIMIT:
                    entries.pop(next(iter(entries)))
                entries[key] = found
    return found


def _trace(
    fun: Callable[..., object],
    static: Sequence[tuple[object, object]],
    treedef: PyTreeDef,
    avals: tuple[ShapedArray, ...],
    values: Sequence[Value | None] | None = None,
) -> Traced:
    """The program, traced now; `values`: what its arguments are this time, for a function that may look at them."""
    name = getattr(fun, "__name__", type(fun).__name__)
    out_tree: list[PyTreeDef] = []

    def flat(*leaves: Value) -> list[Value]:
        args, kwargs = treedef.unflatten(leaves)
        args = list(args)
        for where, value in static:
            if isinstance(where, int):
                args.insert(where, value)
            else:
                kwargs[where] = value
        outs, structure = returned_leaves(fun(*args, **kwargs), f"checkpoint: {name}")
        out_tree.append(structure)
        return outs

    jaxpr, consts = trace_to_jaxpr(flat if values is None else with_values(flat, values), avals, name)
    return Traced(ClosedJaxpr(closed_over_as_arguments(jaxpr)), consts, out_tree[0])


def leaves_of(name: str, args: Sequence[object], kwargs: dict[str, object]) -> tuple[list[Array], PyTreeDef]:
    """The operands of a call and their structure. Raises TypeError for what is no array."""
    cure = "expected arrays and numbers; name the positions of others in static_argnums"
    what = f"checkpoint: of (args, kwargs) of {name}, the leaf at "
    leaves, treedef = array_leaves((tuple(args), kwargs), what, cure)
    return [as_operand(leaf) for leaf in leaves], treedef


class CheckpointOptions(TypedDict, total=False):
    prevent_cse: bool | Sequence[object]
    policy: Policy | None
    static_argnums: int | Sequence[int]
    static_argnames: str | Iterable[str]
    concrete: bool


class _Checkpoint(Protocol):
    def __call__(self, fun: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def checkpoint(fun: Callable[P, R], **options: Unpack[CheckpointOptions]) -> Callable[P, R]: ...
@overload
def checkpoint(**options: Unpack[CheckpointOptions]) -> _Checkpoint: ...
def checkpoint(
    fun: Callable[..., PyTree] | None = None,
    *,
    prevent_cse: bool | Sequence[object] = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: bool = False,
) -> Callable[..., PyTree]:
    """A function that computes the same, but whose gradient keeps its arguments and computes the rest again.

    Args:
        fun: a function of trees of arrays; without it a decorator is returned. It may close over tracers.
        prevent_cse: whether compilers are kept from merging the second computation with the first. Inside `scan` they
            could not, and False is cheaper. A tuple sets it for each argument, or for the parts of its tree.
        policy: which values to keep; see `checkpoint_policies`. None: none but the arguments.
        static_argnums: positions of arguments that are no arrays, or that decide on branches.
        static_argnames: names of such arguments; they may be given by position, too.
        concrete: whether Python may branch on values, where these are known: not inside `jit` and `vmap`. The function
            is then traced at every call, and computed while it is; better make static what decides.

    Raises TypeError for what is not callable, and for results that are no arrays.

    >>> import tangrad
    >>> f = tangrad.checkpoint(lambda x: tangrad.numpy.sin(tangrad.numpy.sin(x)))
    >>> float(tangrad.grad(f)(0.0))
    1.0
    """
    options: Params = {"prevent_cse": prevent_cse, "policy": policy, "concrete": concrete}
    options |= {"static_argnums": static_argnums, "static_argnames": static_argnames}
    if fun is None:
        return lambda function: checkpoint(function, **options)
    if not callable(fun):
        raise TypeError(f"checkpoint expects a function, got {fun!r} of type {type(fun).__name__}")
    if policy is not None and not callable(policy):
        raise TypeError(f"checkpoint: policy must be a function or None, got {policy!r}")
    if not isinstance(prevent_cse, (bool, tuple, list)):
        raise TypeError(
            f"checkpoint: prevent_cse must be a boolean or a tuple of booleans, one for each argument, got "
            f"{prevent_cse!r} of type {type(prevent_cse).__name__}"
        )
    name = getattr(fun, "__name__", type(fun).__name__)
    statics, names = _positions(static_argnums), _names(static_argnames)
    parameters = _positional_names(fun) if names else []

    def checkpointed(*args: object, **kwargs: object) -> Array:
        by_name = [position for position, one in enumerate(parameters[: len(args)]) if one in names]
        static = [*_static(name, (*statics, *by_name), args), *[(one, kwargs[one]) for one in names if one in kwargs]]
        places = [where for where, _ in static]
        dynamic = tuple([arg for position, arg in enumerate(args) if position not in places])
        kwargs = {key: value for key, value in kwargs.items() if key not in places}
        leaves, treedef = leaves_of(name, dynamic, kwargs)
        avals = tuple([leaf.aval for leaf in leaves])
        if concrete:
            traced = _trace(fun, static, treedef, avals, [known_value(leaf) for leaf in leaves])
        else:
            traced = trace(fun, static, treedef, avals)
        barrier = prevent_cse
        if not isinstance(prevent_cse, bool):
            arguments = (dynamic, kwargs) if kwargs else dynamic
            barrier = (*[False] * len(traced.consts), *_flags(name, tuple(prevent_cse), arguments))
        outs = remat_p.bind(
            *traced.consts,
            *leaves,
            jaxpr=traced.jaxpr,
            prevent_cse=barrier,
            differentiated=False,
            policy=policy,
        )
        return traced.out_tree.unflatten([as_array(out) for out in outs])

    return copy_identity(checkpointed, fun)


def _positions(static_argnums: object) -> tuple[int, ...]:
    given = static_argnums if isinstance(static_argnums, (tuple, list)) else (static_argnums,)
    try:
        return tuple([operator.index(position) for position in given])
    except TypeError:
        raise TypeError(f"checkpoint: static_argnums must be integers, got {static_argnums!r}") from None


def _names(static_argnames: str | Iterable[str]) -> tuple[str, ...]:
    given = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"checkpoint: static_argnames must be strings, got {static_argnames!r}")
    return tuple(sorted(set(given)))


def _positional_names(fun: Callable[..., object]) -> list[str]:
    """The names of the positional parameters of a function; none where they are unknown."""
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError, AttributeError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in parameters if one.kind in kinds]


def _static(name: str, statics: Sequence[int], args: Sequence[object]) -> list[tuple[int, object]]:
    count, found = len(args), {}
    for position in statics:
        if not -count <= position < count:
            raise ValueError(f"checkpoint: static_argnums has {position}, but {name} was called with {count} arguments")
        found[position % count] = args[position % count]
    return sorted(found.items(), key=lambda pair: pair[0])


def _flags(name: str, prevent_cse: tuple[object, ...], arguments: object) -> list[bool]:
    """The flag of each leaf of the arguments. Raises ValueError unless `prevent_cse` is a prefix of their tree."""
    try:
        flags = broadcast_prefix(prevent_cse, arguments)
    except ValueError as error:
        raise ValueError(f"checkpoint: prevent_cse must be as the arguments of {name}: {error}") from None
    for flag in flags:
        if not isinstance(flag, bool):
            raise TypeError(f"checkpoint: prevent_cse must hold booleans, got {flag!r} of type {type(flag).__name__}")
    return flags


remat = checkpoint


# --- `print_saved_residuals`: what a gradient of a function keeps ---


def saved_residuals(fun: Callable[..., object], *args: object, **kwargs: object) -> list[tuple[ShapedArray, str]]:
    """What a gradient of `fun` at these arguments keeps: pairs of a type and a description of where it comes from.

    Constants come first, then arguments, then results of operations, in the order of the program.

    >>> import tangrad
    >>> from tangrad.ad_checkpoint import saved_residuals
    >>> [(aval.str_short(), source) for aval, source in saved_residuals(lambda x: x * x, 1.0)]
    [('f32[]', 'from the argument x')]
    """
    leaves, treedef = leaves_of(getattr(fun, "__name__", type(fun).__name__), args, kwargs)
    traced = trace(fun, (), treedef, tuple([leaf.aval for leaf in leaves]))
    active = [False] * len(traced.consts)
    active += [bool(dtypes.issubdtype(leaf.aval.dtype, np.inexact)) for leaf in leaves]
    program = linearize_jaxpr(traced.jaxpr, active)
    jaxpr = program.primal.jaxpr
    own = iter(jaxpr.outvars[len(program.nonzero) :])
    atoms = [next(own) if source is None else jaxpr.invars[source] for source in program.residual_sources]
    names = ["a constant"] * len(traced.consts)
    names += [f"the argument {name}" for name in argument_names(fun, treedef, args, kwargs)]
    inputs = {var: position for position, var in enumerate([*jaxpr.constvars, *jaxpr.invars])}
    names = ["a constant"] * len(jaxpr.constvars) + names
    producers = {var: position for position, eqn in enumerate(jaxpr.eqns) for var in eqn.outvars}
    found: dict[Var, tuple[tuple[int, int], tuple[ShapedArray, str]]] = {}
    for atom in atoms:
        if type(atom) is Literal:
            continue
        if atom in inputs:
            found[atom] = (0, inputs[atom]), (atom.aval, f"from {names[inputs[atom]]}")
        else:
            found[atom] = (1, producers[atom]), (atom.aval, _origin(jaxpr, atom))
    return [pair for _, pair in sorted(found.values(), key=lambda entry: entry[0])]


def argument_names(
    fun: Callable[..., object], treedef: PyTreeDef, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[str]:
    """What a user would write for each leaf of the arguments: `x`, `weights['b'][0]`."""
    paths = [path for path, _ in tree.leaves_with_path(treedef.unflatten(range(treedef.num_leaves)))]
    bound: Params = {}
    parameters: Mapping[str, inspect.Parameter] = {}
    with contextlib.suppress(ValueError, TypeError, AttributeError):  # some builtins have no signature
        signature = inspect.signature(fun)
        bound, parameters = signature.bind(*args, **kwargs).arguments, signature.parameters
    roots: list[str] = []
    for name, value in bound.items():
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            roots.extend([f"{name}[{position}]" for position in range(len(value))])
        else:
            roots.append(name)
    found = []
    for path in paths:
        (is_keyword, key), rest = (path[0].idx, path[1]), keystr(path[2:])
        if is_keyword:
            name = key.key if key.key in parameters else f"kwargs{keystr(path[1:2])}"
        else:
            name = roots[key.idx] if key.idx < len(roots) else f"args[{key.idx}]"
        found.append(name + rest)
    return found


def _origin(jaxpr: Jaxpr, var: Var) -> str:
    """The operation that computes a variable; inside calls, the operation there."""
    eqn = next(eqn for eqn in jaxpr.eqns if var in eqn.outvars)
    inner = eqn.params.get("jaxpr")
    if eqn.primitive is name_p:
        text = f"named {eqn.params['name']!r}"
    elif inner is not None and hasattr(inner, "jaxpr") and len(inner.out_avals) == len(eqn.outvars):
        atom = inner.jaxpr.outvars[list(eqn.outvars).index(var)]
        if type(atom) is not Literal and any([atom in step.outvars for step in inner.eqns]):
            return _origin(inner.jaxpr, atom)
        text = f"output of {eqn.primitive.name}"
    else:
        text = f"output of {eqn.primitive.name}"
    return f"{text} from {eqn.source_info.summarize()}" if eqn.source_info is not None else text


def print_saved_residuals(f: Callable[..., object], *args: object, **kwargs: object) -> None:
    """Print what a gradient of `f` at these arguments keeps: a line for each value, its type and its source.

    >>> import tangrad
    >>> from tangrad.ad_checkpoint import print_saved_residuals
    >>> print_saved_residuals(lambda x: x * x, 1.0)
    f32[] from the argument x
    """
    for aval, source in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {source}")
