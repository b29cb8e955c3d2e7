"""`jit`: functions that are traced and compiled once per signature, and the path of a call.

What profiling taught: a call is one flatten, one tuple of avals, one dictionary look-up and one call of the executable;
every further Python call shows. So arguments that need converting, static arguments, keyword arguments, tracing and
several devices are each taken care of off that path.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from inspect import CO_GENERATOR
from types import FunctionType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack, overload

from tangrad import tree
from tangrad._jit import checks
from tangrad._jit.abstract import ShapeDtypeStruct, abstracted, filled_in, result_structs
from tangrad._jit.call import (
    BoundMethod,
    Call,
    Options,
    Traced,
    arrays_for,
    run_backend,
    split_static,
    tables_of,
    trace_call,
    why_new,
    with_float0_of_numpy,
)
from tangrad._jit.compiling import Placed, watched
from tangrad._jit.layout import ShardingTree, constrained, shardings_of_arguments, shardings_of_results, stated
from tangrad._jit.primitives import jit_p
from tangrad._jit.settings import no_tracing
from tangrad._jit.signature import infer_other, signature_of
from tangrad._jit.stages import Lowered, TracedFunction
from tangrad.core import (
    EVAL_TRACE,
    Backend,
    Device,
    Tracer,
    WrappedSignature,
    as_array,
    class_boundary,
    copy_identity,
    eval_jaxpr,
    filter_traceback,
    own_boundary,
    thread,
)
from tangrad.core.backends import Logger, types_by_shardings
from tangrad.core.programs import compile_program, one_at_a_time, report_hit
from tangrad.core.settings import cache_context, is_checking_values, shared
from tangrad.core.tools import hooks

if TYPE_CHECKING:
    from typing import Protocol

    from tangrad._jit.call import Entry, Execute
    from tangrad._jit.checks import JitOptions
    from tangrad.core import Array
    from tangrad.typing import Params, PyTree, Value

    class Jit(Protocol):  # `jit` without a function
        def __call__(self, fun: Callable[P, R], /) -> JitFunction[P, R]: ...


P = ParamSpec("P")
R = TypeVar("R", covariant=True)
Q = ParamSpec("Q")
S = TypeVar("S")
logger = Logger("tangrad")
_LEAF = tree.structure(0)
SIGNATURE_LIMIT = 4096  # signatures kept per function, traced and compiled; the oldest go first
# The backends' array types: distinguished from trees by their type, at a tenth of what a missing attribute costs.
_array_types: set[type] = set()


@overload
def jit(fun: Callable[P, R], **options: Unpack[JitOptions]) -> JitFunction[P, R]: ...
@overload
def jit(**options: Unpack[JitOptions]) -> Jit: ...
def jit(
    fun: Callable[..., PyTree] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Device | None = None,
    backend: str | None = None,
    inline: bool = False,
    in_shardings: object = None,
    out_shardings: object = None,
    abstracted_axes: object = None,
    compiler_options: Mapping[str, object] | None = None,
    compile_regions: str | bool | None = None,
    compile_effort: str | None = None,
) -> Callable[..., PyTree]:
    """Compile `fun`: it is traced once per signature (types, structure, static values), and the program is run from
    then on.

    Args:
        fun: a function of arrays and trees of arrays; without it a decorator is returned.
        static_argnums: positions of arguments that are part of the program; their values must be hashable.
        static_argnames: names of such arguments. Given one of the two, the other is inferred from the signature.
        donate_argnums, donate_argnames: arguments whose buffers the program may overwrite; they are deleted by the
            call.
        keep_unused: whether to hand the program arguments that it does not read.
        device: where to run. At most one of `device` and `backend`.
        backend: the name of the backend to run on, or of a platform: "cpu", "gpu".
        inline: whether a call inside another traced function disappears into it.
        in_shardings: how the positional arguments, static ones left out, must be sharded: a sharding, a partition
            spec (it means axes of the mesh in use), None where it is left open, or a tuple of trees of these that is a
            prefix of the arguments. Uncommitted arrays are moved.
        out_shardings: the same for the result; where it is left open the compiler chooses.
        abstracted_axes: axes of the positional arguments whose sizes are variables of the program, which is traced once
            for all sizes: for each array a dictionary from axes to names, or a tuple with a name or None for each axis,
            in a tree that is a prefix of the arguments. Axes of one name have one size.
        compiler_options: options of XLA by name, such as `{"xla_cpu_enable_fast_math": True}`. They are those of a
            whole program: such a function cannot be called while another is traced. NumPy's backend has none.
        compile_regions: which equal parts of the program are compiled once: "auto", "marked" (calls of jitted functions
            alone), False (none); by default that of the setting of that name. Of jitted functions that call each other
            the outermost decides.
        compile_effort: "full", or "fast", which compiles sooner what then runs slower; by default the setting's.

    Returns:
        a function of the same arguments, with `lower(...)`, `eval_shape(...)` and `clear_cache()`.

    Raises:
        TypeError: for what is not callable (generators and static methods included); ValueError: for arguments that the
            signature does not have, for shardings beside a device or backend, and, at a call, for static values that
            are not hashable, for arrays that a sharding cannot cut, for arrays of another sharding or on other
            devices, and for compiler options that the backend does not have.

    >>> import tangrad
    >>> double = tangrad.jit(lambda x: x + x)
    >>> double(3)
    Array(6, dtype=int32, weak_type=True)
    """
    options: Params = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": keep_unused,
        "device": device,
        "backend": backend,
        "inline": inline,
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "abstracted_axes": abstracted_axes,
        "compiler_options": compiler_options,
        "compile_regions": compile_regions,
        "compile_effort": compile_effort,
    }
    if fun is None:
        return lambda function: jit(function, **options)
    return JitFunction(fun, **options)


@class_boundary
class JitFunction(Generic[P, R]):
    """A jitted function; see `jit`."""

    __signature__ = WrappedSignature()

    def __init__(
        self,
        fun: Callable[P, R],
        static_argnums: int | Sequence[int] | None = None,
        static_argnames: str | Sequence[str] | None = None,
        donate_argnums: int | Sequence[int] | None = None,
        donate_argnames: str | Sequence[str] | None = None,
        keep_unused: bool = False,
        device: Device | None = None,
        backend: str | None = None,
        inline: bool = False,
        in_shardings: object = None,
        out_shardings: object = None,
        abstracted_axes: object = None,
        compiler_options: Mapping[str, object] | None = None,
        compile_regions: str | bool | None = None,
        compile_effort: str | None = None,
    ) -> None:
        if type(fun) is not FunctionType or fun.__code__.co_flags & CO_GENERATOR:
            checks.check_function(fun)
        if device is not None and backend is not None:
            raise ValueError(f"can't specify both a device and a backend for jit, got {device!r} and {backend!r}")
        layout = (
            None if in_shardings is None else ShardingTree.of(in_shardings, "jit in_shardings"),
            None if out_shardings is None else ShardingTree.of(out_shardings, "jit out_shardings"),
        )
        if layout != (None, None) and (device is not None or backend is not None):
            raise ValueError(
                f"shardings say where a function runs, so jit takes no device or backend beside them; got "
                f"device={device!r} and backend={backend!r}"
            )
        self._fun = fun
        self._arguments = (
            static_argnums,
            static_argnames,
            donate_argnums,
            donate_argnames,
            keep_unused,
            device,
            backend,
            inline,
            in_shardings,
            out_shardings,
            abstracted_axes,
            compiler_options,
            compile_regions,
            compile_effort,
        )
        axes = self._axes = None if abstracted_axes is None else abstracted(abstracted_axes)
        keep_unused = bool(keep_unused) or axes is not None  # an argument may be there for its sizes
        static: tuple[tuple[int, ...], tuple[str, ...]] = ((), ())
        donated: tuple[tuple[int, ...], tuple[str, ...]] = ((), ())
        if any([value is not None for value in self._arguments[:4]]):
            signature = signature_of(fun)
            static = infer_other(signature, static_argnums, static_argnames, "static")
            donated = infer_other(signature, donate_argnums, donate_argnames, "donate")
            checks.check_disjoint(static, donated)
        asked: Any = ((), None, None)
        if any([value is not None for value in self._arguments[-3:]]):
            asked = checks.for_compiler(compiler_options, compile_regions, compile_effort)
        options = Options(*static, *donated, keep_unused, device, backend, bool(inline), *layout, axes, *asked)
        self._options = options
        self._name = getattr(fun, "__name__", type(fun).__name__)
        self._sharded = layout != (None, None)
        self._plain = not (
            options.static_argnums or options.static_argnames or device is not None or backend is not None
        )
        self._tables = tables_of(fun, options)
        self._programs = self._tables.programs
        copy_identity(self, fun)

    @own_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        # The common paths: positional arrays or trees of them, no static arguments, not inside another trace.
        if thread.trace is EVAL_TRACE and args and not kwargs:
            kind = type(args[0])
            if len(args) == 1 and kind in _array_types:
                array: Any = args[0]
                try:
                    execute, out_tree = self._programs[array.aval, kind, shared.context, thread.overrides]
                except KeyError:
                    pass
                else:
                    if hooks.cache_hit_observers is not None:
                        report_hit(self._name)
                    outs = execute(args)
                    return outs[0] if out_tree is None else out_tree.unflatten(outs)
            elif self._plain:
                leaves: Sequence[Any] = args
                treedef = None
                if not (kind in _array_types and _array_types.issuperset(map(type, args))):
                    leaves, treedef = tree.flatten(args)
                try:
                    avals = tuple([leaf.aval for leaf in leaves])
                    entry = self._programs[treedef, avals, type(leaves[0]), shared.context, thread.overrides]
                except (KeyError, AttributeError, IndexError):
                    pass
                else:
                    if hooks.cache_hit_observers is not None:
                        report_hit(self._name)
                    execute, out_tree = entry
                    outs = execute(leaves)
                    return outs[0] if out_tree is None else out_tree.unflatten(outs)
        try:
            return self._call(args, kwargs)
        except Exception as error:
            filter_traceback(error)
            raise

    @overload
    def __get__(self, instance: None, owner: object = None) -> JitFunction[P, R]: ...
    @overload
    def __get__(
        self: JitFunction[Concatenate[Any, Q], S], instance: object, owner: object = None
    ) -> BoundMethod[Q, S]: ...
    def __get__(self, instance: Any, owner: object = None) -> Any:
        """Jitted functions in a class body are methods."""
        return self if instance is None else BoundMethod(self, instance)

    def __repr__(self) -> str:
        return f"<jitted {self._name}>"

    def __copy__(self) -> JitFunction[P, R]:
        return self

    def __deepcopy__(self, memo: object) -> JitFunction[P, R]:  # as functions are
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return JitFunction, (self._fun, *self._arguments)

    # --- off the common path ---------------------------------------------------------------------------------------

    def _call(self, args: tuple[PyTree, ...], kwargs: Params) -> PyTree:
        if thread.disable_jit:
            return self._fun(*args, **kwargs)
        found = self._look_up(args, kwargs) if thread.trace is EVAL_TRACE else None
        if found is not None and found[2] is not None:
            _, arrays, (execute, out_tree) = found
            if hooks.cache_hit_observers is not None:
                report_hit(self._name)
            outs = execute(arrays)
            return outs[0] if out_tree is None else out_tree.unflatten(outs)
        call = Call(self._options, args, kwargs)
        if thread.trace is not EVAL_TRACE or any([isinstance(leaf, Tracer) for leaf in call.leaves]):
            return self._call_while_tracing(call)
        return self._run(call, found)

    def _look_up(self, args: tuple[PyTree, ...], kwargs: Params) -> tuple[tuple[object, ...], list[Array], Any] | None:
        """For calls with numbers, NumPy's arrays, names or static arguments, a third of the work of sorting them.

        Returns the key of the call, its leaves as arrays, and the program (None: there is none yet); None for a call
        that has to be sorted.
        """
        options = self._options
        if options.place() is not None or thread.default_device is not None:
            return None
        static: object = ()
        try:
            if options.static_argnums or options.static_argnames:
                static, args, kwargs = split_static(options, args, kwargs)
            leaves, treedef = tree.flatten((args, kwargs) if kwargs else args)
            backend = run_backend(options, leaves)
            arrays = arrays_for(backend, leaves, options)
            avals = tuple([array.aval for array in arrays])
            key = (treedef, avals, bool(kwargs), static, backend.array_type, *cache_context())
            return key, arrays, self._programs.get(key)
        except (TypeError, ValueError, OverflowError):  # the long way will say what is wrong
            return None

    def _call_while_tracing(self, call: Call) -> PyTree:
        checks.refuse_within(self._options, self._name)
        traced = self._trace(call)
        leaves = call.leaves
        if self._sharded:
            leaves = constrained(leaves, shardings_of_arguments(self._options, call, self._name))
        operands = [*traced.outer, *leaves]
        if self._options.inline:
            outs: Sequence[Value] = eval_jaxpr(traced.jaxpr.jaxpr, traced.jaxpr.consts, *operands)
        else:
            outs = jit_p.bind(*operands, jaxpr=traced.jaxpr, name=self._name)
        if self._sharded:
            outs = constrained(outs, shardings_of_results(self._options, traced, self._name))
        return traced.out_tree.unflatten([as_array(out) for out in outs])

    def _run(self, call: Call, looked_up: tuple[tuple[object, ...], list[Array], Any] | None) -> PyTree:
        options = self._options
        backend = run_backend(options, call.leaves)
        key, arrays, _ = looked_up or (
            (call.key(), backend.name, options.place(), *cache_context()),
            arrays_for(backend, call.leaves, options),
            None,
        )
        entry = self._programs.get(key)
        if entry is None:
            asked = (call, backend, key, arrays)
            make = self._compile_entry
            entry = watched(self._name, make, *asked) if thread.log_compiles else make(*asked)
        execute, out_tree = entry
        outs = execute(arrays)
        return outs[0] if out_tree is None else out_tree.unflatten(outs)

    def _compile_entry(self, call: Call, backend: Backend, key: tuple[object, ...], arrays: Sequence[Value]) -> Entry:
        if self._axes is not None and backend.sizes_at_call and not (self._sharded or is_checking_values()):
            abstract, _ = self._axes.abstract(call)
            if abstract is not call:
                place = (abstract.key(), backend.name, self._options.place(), *cache_context())
                entry: Any = self._programs.get(place) or self._compile_entry(abstract, backend, place, arrays)
                _remember(self._programs, key, entry)
                self._remember_fast(call, backend.array_type, entry)
                return entry
        explains = thread.explain_cache_misses or hooks.observes("tangrad_cache_miss")
        reason = why_new(call.key(), list(self._tables.traced)) if explains else ""
        if thread.explain_cache_misses:
            logger.warning("There is no program of %s for this call: %s", self._name, reason)
        traced = self._trace(call)
        if (device := self._options.place()) is not None:
            checks.check_device(device, self._name, traced)
        with one_at_a_time((id(self._tables), key)):
            entry = self._programs.get(key)
            if entry is not None:
                return entry
            donated = (*[False] * len(traced.outer), *call.donated())
            taken = checks.taken_over(call, traced, self._options.keep_unused) if any(donated) else ()
            options: Params = {"donated": donated, "keep_unused": self._options.keep_unused}
            options |= {"reason": reason, "extra": self._options.extra()}
            if self._sharded:
                inputs = shardings_of_arguments(self._options, call, self._name)
                options["in_shardings"] = stated([*[None] * len(traced.outer), *inputs])
                options["out_shardings"] = stated(shardings_of_results(self._options, traced, self._name))
            if device is None and not traced.outer:
                options["places"] = backend.places(arrays)
            if traced.outer:
                execute: Execute = traced.beside_references(self._name, self._options)
            elif device is None and backend.has_placements:
                execute = Placed(traced.jaxpr, backend, self._name, options)
            else:
                execute = compile_program(traced.jaxpr, backend, self._name, device=device, **options).execute
            if any(taken):
                execute = checks.refusing_shared(execute, call, taken, self._name)
            execute = with_float0_of_numpy(execute, traced.jaxpr.out_avals)
            entry = (execute, None if traced.out_tree == _LEAF else traced.out_tree)
            _remember(self._programs, key, entry)
            self._remember_fast(call, backend.array_type, entry)
            return entry

    def _remember_fast(self, call: Call, kind: type[Array], entry: Entry) -> None:
        """Keep the program where `__call__` finds it without sorting the arguments."""
        leaves = call.leaves
        if not (self._plain and leaves and not call.has_keywords and all([type(leaf) is kind for leaf in leaves])):
            return
        avals = tuple([leaf.aval for leaf in leaves])
        settings = cache_context()
        only_arrays = call.treedef is tree.structure(tuple(leaves))
        _array_types.add(kind)
        if only_arrays and len(leaves) == 1:
            key: tuple[object, ...] = (*avals, kind, *settings)
        else:
            key = (None if only_arrays else call.treedef, avals, kind, *settings)
        _remember(self._programs, key, entry)

    def _trace(self, call: Call) -> Traced:
        """The function traced for this signature. Kept, unless it closed over values of an outer trace."""
        if self._axes is not None:
            abstract, sizes = self._axes.abstract(call)
            if abstract is not call:
                return filled_in(self._trace(abstract), sizes)
        key = (call.key(), *cache_context(), _environment_key())
        found = self._tables.traced.get(key)
        if found is not None:
            return found
        if no_tracing.value:
            checks.refuse_tracing(self._name)
        start = time.perf_counter()
        avals = None
        if self._sharded:
            shardings = shardings_of_arguments(self._options, call, self._name)
            avals = types_by_shardings([leaf.aval for leaf in call.leaves], shardings)
        traced = trace_call(self._fun, call, self._name, avals)
        self._tables.traces += 1
        seconds = traced.seconds = time.perf_counter() - start
        if thread.log_compiles:
            logger.warning("Traced %s for %s in %.3f s", self._name, [leaf.aval for leaf in call.leaves], seconds)
        if all([isinstance(value, Tracer) and value._trace.outlasts for value in traced.outer]):
            with self._tables.lock:
                found = self._tables.traced.get(key)
                if found is not None:
                    return found
                _remember(self._tables.traced, key, traced)
        return traced

    # --- what users may ask ----------------------------------------------------------------------------------------

    def lower(self, *args: PyTree, **kwargs: PyTree) -> Lowered:
        """The program for these arguments (arrays or `ShapeDtypeStruct`s), not yet compiled."""
        return self.trace(*args, **kwargs).lower()

    def trace(self, *args: PyTree, **kwargs: PyTree) -> TracedFunction:
        """The traced function for these arguments: its `jaxpr`, the types of its result, and `lower()`."""
        call, traces = Call(self._options, args, kwargs, abstract=True), self._tables.traces
        traced = watched(self._name, self._trace, call)
        return TracedFunction.of(traced, call, self._name, self._options, traces == self._tables.traces)

    def eval_shape(self, *args: PyTree, **kwargs: PyTree) -> ShapeDtypeStruct:
        """Shapes and dtypes of the result, as a tree of `ShapeDtypeStruct`s."""
        traced = self._trace(Call(self._options, args, kwargs, abstract=True))
        return result_structs(self._options, traced, self._name)

    def clear_cache(self) -> None:
        """Forget the programs of this function."""
        self._tables.clear()

    def _cache_size(self) -> int:
        """How many signatures are compiled."""
        return len({id(entry) for entry in self._programs.values()})

    @property
    def trace_count(self) -> int:
        """How often the function was traced."""
        return self._tables.traces


def _remember(table: dict[Any, S], key: Hashable, value: S) -> None:
    if len(table) >= SIGNATURE_LIMIT:
        table.pop(next(iter(table)), None)
    table[key] = value


def _environment_key() -> object:
    """The named axes in scope: part of what a traced program depends on."""
    return thread.axis_environment
