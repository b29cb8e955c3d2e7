"""Primitives: the operations that traces see, and the trace at the bottom, which computes them.

A primitive knows its name, how to infer the types of its results, and, optionally, its effects and a decomposition into
other primitives. Everything else about it (derivatives, batching, lowering) is a rule in some rule set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias

from tangrad._core.diagnostics.errors import unhashable_parameters
from tangrad._core.diagnostics.source_info import is_from_host
from tangrad._core.diagnostics.tracebacks import calls_rules, filter_traceback, own_boundary
from tangrad._core.kernel.aval import AbstractToken, AbstractValue, NamedShape, ShapedArray
from tangrad._core.kernel.backend import Backend, as_operand, preferred_backend
from tangrad._core.kernel.jaxpr import Effect
from tangrad._core.kernel.keys import FixedParams, Params, exact_equality, params_key
from tangrad._core.kernel.trace import Trace, Tracer, find_backend
from tangrad._core.settings.caches import register_cache
from tangrad._core.settings.config import ThreadState, thread

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the standard library's has no default before Python 3.13

    from tangrad._core.kernel.array import Array, Literal

    Result_co = TypeVar("Result_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    Result_co = TypeVar("Result_co", covariant=True)

# What is called by itself: its operands are converted.
COPIES_FROM_HOST = {"__call__": lambda given: is_from_host(given["*"])}
MEMO_LIMIT = 4096  # inferred types kept per primitive
CALL_LIMIT = 4096

WEAK_TYPE_POLICIES = ("all", "never", "own")
_NAME = re.compile(r"\w[\w.-]*")


def checked_name(what: str, name: str) -> str:
    """A name that can stand in jaxprs, policies and generated source: letters, digits, `_`, `.` and `-`."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a {what} must be a string, got {name!r} of type {type(name).__name__}")
    if not _NAME.fullmatch(name):
        raise ValueError(f"the name of a {what} must be made of letters, digits, '_', '.' and '-', got {name!r}")
    return name


@exact_equality
class Primitive(Generic[Result_co]):
    """An operation on arrays that transformations have rules for.

    Made by `PrimitiveSet.primitive`. `bind` applies it to values the current trace knows; calling it converts Python
    and NumPy values first. A primitive with `multiple_results` returns a tuple, any other the bare value.

    Attributes:
        name: the name that jaxprs print; with the family it is the identity, `family.name`.
        abstract_eval: `(*avals, **params) -> aval`, or a tuple of avals with `multiple_results`.
        weak_type: "all": results are weakly typed if every operand is; "never"; "own": as abstract_eval returns.
        effects: None or `(avals, params) -> frozenset of effects`.
        decompose: None or `(*args, **params) -> results` in terms of other primitives.
        evaluate: None or `(args, params) -> results`, in place of the backend's `apply`, for one that carries programs.
        programs: None, or where passes go into those of an equation: "call" if the one gives its results, else "loop".
        carries_programs: whether it was ever applied with a jaxpr or a function among its parameters.
        own_named_shape: whether the named axes of the results are those of abstract_eval; else they are all operands'.
        value_form: None or `(*avals, **params) -> function of the operands, or None`: the entry of `calls` on a backend
            that compiles each operation, where a parameter is a number that it need not be compiled for.
        calls: the functions that compute it, by signature.
    """

    __slots__ = (
        *("__weakref__", "abstract_eval", "calls", "carries_programs", "decompose", "documentation", "effects", "memo"),
        *("evaluate", "family", "multiple_results", "name", "own_named_shape", "programs", "value_form", "weak_type"),
    )

    def __init__(
        self,
        name: str,
        abstract_eval: Callable[..., Any],
        *,
        family: str,
        multiple_results: bool = False,
        weak_type: str = "all",
        effects: Callable[..., frozenset[Effect]] | None = None,
        decompose: Callable[..., Any] | None = None,
        evaluate: Callable[[Any, Params], object] | None = None,
        own_named_shape: bool = False,
        value_form: Callable[..., Callable[..., Any] | None] | None = None,
        programs: str | None = None,
    ) -> None:
        if weak_type not in WEAK_TYPE_POLICIES:
            raise ValueError(f"primitive {name!r}: weak_type must be one of {WEAK_TYPE_POLICIES}, got {weak_type!r}")
        self.name = checked_name("primitive", name)
        self.family = checked_name("family", family)
        self.abstract_eval = abstract_eval
        self.multiple_results, self.own_named_shape = multiple_results, own_named_shape
        self.weak_type, self.effects = weak_type, effects
        self.decompose, self.evaluate, self.value_form, self.programs = decompose, evaluate, value_form, programs
        self.documentation, self.carries_programs = abstract_eval.__doc__, False
        self.memo: dict[object, object] = {}  # inferred types, by those of the operands (and the key of the parameters)
        self.calls = DirectCalls()

    @property
    def identity(self) -> str:
        return f"{self.family}.{self.name}"

    def __repr__(self) -> str:
        return self.name

    @own_boundary
    def bind(self, *args: Any, **params: Any) -> Result_co:
        """Apply to arrays, tracers and literals, under the current trace."""
        try:
            out: Result_co = thread.trace.process_primitive(self, args, params)
            return out
        except Exception as error:
            filter_traceback(error)
            raise

    def bind_fixed(self, params: FixedParams, *args: object) -> Result_co:
        """As `bind`, with parameters that were made before, for hot paths."""
        out: Result_co = thread.trace.process_primitive(self, args, params)
        return out

    @own_boundary
    def __call__(self, *args: Any, **params: Any) -> Result_co:
        """Apply, converting Python and NumPy values to arrays first."""
        try:
            out: Result_co = thread.trace.process_primitive(self, tuple([as_operand(arg) for arg in args]), params)
            return out
        except Exception as error:
            filter_traceback(error)
            raise

    def infer(self, avals: tuple[ShapedArray, ...], params: Params) -> Any:
        """The aval of the result, or the tuple of avals: cached type inference, with all that the kernel adds to it."""
        key: object = avals
        if params:
            try:
                key = (avals, params_key(params))
            except TypeError:
                raise unhashable_parameters(self.identity, params) from None
        found = self.memo.get(key)
        if found is not None:
            return found
        infer_types = next((aval.infer_types for aval in avals if aval.infer_types is not None), None)
        out = self._infer(avals, params) if infer_types is None else infer_types(self, avals, params, self._infer)
        if _holds_program(params):
            self.carries_programs = True
        else:
            if len(self.memo) >= MEMO_LIMIT:
                self.memo.clear()
            self.memo[key] = out
        return out

    def clear_cache(self) -> None:
        """Forget the inferred types, and what computes each signature."""
        self.memo.clear()
        self.calls.clear()

    @calls_rules("abstract_eval", "self")
    def _infer(self, avals: tuple[ShapedArray, ...], params: Mapping[str, object]) -> object:
        out = self.abstract_eval(*avals, **params)
        outs = out if self.multiple_results else (out,)
        if not isinstance(outs, (tuple, list)) or not all(isinstance(aval, AbstractValue) for aval in outs):
            expected = "a tuple of avals" if self.multiple_results else "one aval"
            raise TypeError(f"abstract evaluation of primitive {self.identity!r} must return {expected}, got {out!r}")
        if self.weak_type != "own" and outs:
            weak = self.weak_type == "all" and bool(avals) and all([aval.weak_type for aval in avals])
            outs = [a if isinstance(a, AbstractToken) else a.update(weak_type=weak) for a in outs]
        named_shape = () if self.own_named_shape else join_named_shapes(avals)
        if named_shape:
            outs = [a if isinstance(a, AbstractToken) else a.update(named_shape=named_shape) for a in outs]
        return tuple(outs) if self.multiple_results else outs[0]


def join_named_shapes(avals: Iterable[ShapedArray]) -> NamedShape:
    """The named axes of several types together. Raises TypeError where an axis has two sizes.

    >>> from tangrad.core import ShapedArray
    >>> from tangrad.core.transformations import join_named_shapes
    >>> join_named_shapes([ShapedArray((), "int32", named_shape={"i": 2}), ShapedArray((3,), "int32")])
    (('i', 2),)
    """
    joined: dict[Hashable, int] = {}
    for aval in avals:
        for axis, size in aval.named_shape:
            if joined.setdefault(axis, size) != size:
                raise TypeError(f"axis {axis!r} has size {joined[axis]} in one operand and {size} in another")
    return ShapedArray((), bool, False, joined).named_shape if joined else ()


def _holds_program(params: Mapping[str, object]) -> bool:
    """Whether a parameter is a jaxpr or a callable, or a tuple of them: caches must not keep programs alive."""
    items = [item for value in params.values() for item in (value if isinstance(value, tuple) else (value,))]
    return any([callable(item) or getattr(type(item), "holds_program", False) for item in items])


Compute: TypeAlias = Callable[[Primitive, tuple[Any, ...], Params], Any]

# --- the bottom ---


@calls_rules("evaluate")
def evaluate(primitive: Primitive, args: tuple[object, ...], params: Params) -> Any:
    """Apply a primitive to concrete arrays: by its own method, or by the backend of the arguments."""
    for arg in args:  # a reference is in no backend; its trace outlasts every call, and knows what to do
        if isinstance(arg, Tracer) and arg._trace.outlasts:
            return arg._trace.process_primitive(primitive, args, params)
    if primitive.evaluate is not None:
        return primitive.evaluate(args, params)
    backend, args = find_backend(args)
    return backend.apply(primitive, args, params)


class DirectCalls(dict[object, Callable[..., Any]]):
    """The functions that compute one operation where nothing is traced, by its signature: one table an operation.

    Those of a primitive are under (backend, key of the parameters, types of the operands). A function made of
    primitives has a table of its own, with keys that it has at hand: a key must say all that the function depends on,
    and which operands are literals. It looks into the table where the current trace is `EVAL_TRACE`. What is there may
    be called with any operands that the key describes: what it cannot compute directly (tracers, deleted arrays, arrays
    of other backends and devices) it hands to `evaluate`.

    >>> import tangrad
    >>> from tangrad.core.caches import DirectCalls
    >>> from tangrad.extend.lax import sin_p
    >>> calls, x = DirectCalls(), tangrad.numpy.zeros(2)
    >>> calls.get(x.aval, lambda x: calls.apply(x.aval, sin_p, (x,)))(x)  # from the second time on, found under the key
    Array([0., 0.], dtype=float32)
    """

    __slots__ = ()

    def apply(self, key: object, primitive: Primitive, args: tuple[Any, ...], params: Params | None = None) -> Any:
        """Apply a primitive under the current trace; at the bottom, keep under `key` the function that does it."""
        trace, params = thread.trace, params or {}
        out = trace.process_primitive(primitive, args, params)
        if trace is EVAL_TRACE:
            of_params = params_key(params) if params else None
            call = primitive.calls.get((_backend_of(args), of_params, *[arg.aval for arg in args]))
            if call is not None:
                self.keep(key, call)
        return out

    def keep(self, key: object, call: Callable[..., object]) -> None:
        """Have `call` under `key`, as long as operations are not looked at one by one."""
        self.add(key, call)
        if EVAL_TRACE.watched:  # looked at last: it may have changed meanwhile
            self.clear()

    def add(self, key: object, call: Callable[..., object]) -> None:
        """Have `call` under `key`, until settings, plugins or caches change."""
        if len(self) >= CALL_LIMIT:
            self.clear()
        if len(_filled) >= CALL_LIMIT:
            forget_direct_calls()
        self[key] = call
        _filled[id(self)] = self


_filled: dict[int, DirectCalls] = {}


@register_cache
def forget_direct_calls() -> None:
    """Have the function of each signature made again, of all operations."""
    for table in tuple(_filled):  # another thread may fill one meanwhile: that stays among those to be cleared
        _filled.pop(table, DirectCalls()).clear()


def dispatch(primitive: Primitive, args: tuple[Array | Literal, ...], params: dict[str, object]) -> object:
    """As `evaluate`, by the function that was found for the signature before, where there is one.

    Written out for one to three operands: a comprehension takes as long as half of NumPy's addition of a few numbers.
    """
    try:
        of_params = None if not params else params.key if type(params) is FixedParams else params_key(params)
        if len(args) == 2:
            x, y = args
            key: tuple[Any, ...] = (x.backend or y.backend, of_params, x.aval, y.aval)
        elif len(args) == 1:
            (x,) = args
            key = (x.backend, of_params, x.aval)
        elif len(args) == 3:
            x, y, z = args
            key = (x.backend or y.backend, of_params, x.aval, y.aval, z.aval)
        else:
            key = (_backend_of(args), of_params, *[arg.aval for arg in args])
        call = primitive.calls.get(key)
    except (AttributeError, IndexError, TypeError):  # what is no operand yet, nothing at all, or cannot be a key
        return evaluate(primitive, args, params)
    if call is None:
        call = _find_call(key, primitive, args, params)
        if call is None:
            return evaluate(primitive, args, params)
    return call(*args)


def _backend_of(args: tuple[Array | Literal, ...]) -> Backend | None:
    return args[0].backend or args[:2][-1].backend


def _find_call(key: tuple[Any, ...], primitive: Primitive, args: tuple[Any, ...], params: Params) -> Any:
    """The first time of a signature, one that has no function, or literals alone, of which the settings say where."""
    if key[0] is None and thread.default_device is None:
        # Never the entry of arrays: a direct call that has arrays asks them for their backend, literals have none.
        key = (preferred_backend() if len(args) < 3 else find_backend(args)[0], "literals", *key[1:])
    call = primitive.calls.get(key)
    if call is None and key[0] is not None and primitive.evaluate is None and primitive.effects is None:
        call = key[0].direct(primitive, args, params)
        if call is not None:
            primitive.calls.add(key, call)
    return call


class EvalTrace(Trace):
    """The bottom, which computes.

    Attributes:
        process_primitive: the function that does it: `dispatch`, or one around it while operations are watched.
    """

    __slots__ = ("process_primitive",)
    evaluates: ClassVar[bool] = True
    process_primitive: Any

    def __init__(self) -> None:
        super().__init__()
        self.process_primitive = dispatch

    @property
    def watched(self) -> bool:
        """Whether operations are looked at one by one, so that none may go another way."""
        return self.process_primitive is not dispatch


EVAL_TRACE = EvalTrace()
ThreadState.trace = EVAL_TRACE
_watchers: list[Callable[[Compute], Compute]] = []


def watch_operations(around: Callable[[Compute], Compute], on: bool = True) -> None:
    """Have eager operations go through `around(compute)`, of the function that computed them before, or no longer."""
    if (around in _watchers) is on:
        return
    if on:
        _watchers.append(around)
    else:
        _watchers.remove(around)
    compute: Compute = dispatch
    for watcher in _watchers:
        compute = watcher(compute)
    EVAL_TRACE.process_primitive = compute
    forget_direct_calls()
