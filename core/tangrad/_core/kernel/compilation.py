"""The one way from a jaxpr to something that runs: passes, dead code, the backend, observers, checks, locks, memory.

All that compiles programs does it here: `jit`, the stages ahead of time, eager control flow, the halves of eager
gradients, a backend that makes programs of single equations. So a pass sees every program, and an observer every
compilation.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any
from weakref import WeakValueDictionary

from tangrad._core.composition.hook_names import BEFORE_APPLY
from tangrad._core.composition.hooks import HookContext, hooks
from tangrad._core.diagnostics.logs import Logger
from tangrad._core.diagnostics.tracebacks import calls_rules
from tangrad._core.dtypes import objects
from tangrad._core.kernel.applications import ask_about
from tangrad._core.kernel.array import Array, Literal
from tangrad._core.kernel.backend import Backend, CompileOptions, preferred_backend
from tangrad._core.kernel.declarations import RuleKind
from tangrad._core.kernel.device import Device
from tangrad._core.kernel.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, carried_program, keeps_alive, sub_jaxprs
from tangrad._core.kernel.jaxpr_check import check_jaxpr
from tangrad._core.kernel.rules import rule_table
from tangrad._core.kernel.trace import Tracer, checked_operands
from tangrad._core.settings.caches import JaxprCache, register_cache
from tangrad._core.settings.config import is_checking_values, thread
from tangrad._core.settings.threads import after_fork, free_after_fork

logger = Logger("tangrad")

Kept = tuple[int, ...] | None
Execute = Callable[[Sequence[Any]], list[Array]]
# Functions of plugins around what executes programs, from now on: `(execute, closed, name) -> execute`.
program_watchers: list[Callable[[Execute, ClosedJaxpr, str], Execute]] = []


# A lock for each program that is being compiled, as long as a thread has it or waits for it. A signal handler amid a
# compilation may compile the program as well.
_locks: WeakValueDictionary[Hashable, threading.RLock] = WeakValueDictionary()
_guard = free_after_fork(threading.RLock())
after_fork(_locks.clear)  # those who compile are not in the child


@contextmanager
def one_at_a_time(key: Hashable) -> Iterator[None]:
    """Within the block one thread at a time compiles what `key` stands for; the others wait, and then find it."""
    with _guard:
        lock = _locks.setdefault(key, threading.RLock())
    with lock:
        yield


class Program:
    """A closed jaxpr that is ready to run on one backend and device.

    Attributes:
        execute: from a list of all arguments of the jaxpr, as arrays of the backend, to the list of its results.
        executable: the backend's own.
        kept: the positions of the arguments that the executable takes; None: all.
    """

    __slots__ = ("executable", "execute", "kept")

    def __init__(self, executable: Any, closed: ClosedJaxpr, kept: Kept, name: str) -> None:
        self.executable, self.kept = executable, kept
        execute = executable.execute
        for watch in program_watchers:
            execute = watch(execute, closed, name)
        # Callers have all arguments, the executable takes those at `kept`.
        self.execute: Execute = execute if kept is None else lambda arrays: execute([arrays[at] for at in kept])


class LoweredProgram:
    """A program in the language of its backend, for who wants to look at it before it is compiled.

    Attributes:
        lowered: the backend's own object (`as_text()`, `compile()`), made of `closed` and `options` in `seconds`.
    """

    __slots__ = ("_context", "_kept", "closed", "lowered", "options", "seconds")

    def __init__(
        self, closed: ClosedJaxpr, backend: Backend, kept: Kept, options: CompileOptions, context: HookContext
    ) -> None:
        self.closed, self.options, self._kept, self._context = closed, options, kept, context
        started = perf_counter()
        self.lowered = backend.lower(closed, options)
        self.seconds = perf_counter() - started
        hooks.lowered(context, self.lowered, self.seconds)

    def compile(self, extra: Mapping[str, object] | None = None) -> Program:
        """Compile it. `extra`: options that only the backend knows, which its object then takes."""
        given = (extra,) if extra else ()
        return _compiled(lambda: self.lowered.compile(*given), self.closed, self._kept, self._context)


def compile_program(closed: ClosedJaxpr, backend: Backend, name: str, **options: Any) -> Program:
    """Compile a program: it goes through the passes of hook plugins, and observers are notified.

    Args:
        closed: the program. backend: where it is to run. name: for messages and profiles.
        options: `device`; `donated`, for each argument whether it may be overwritten; `keep_unused`, whether to hand on
            arguments that are not read; `thin=False`, where no dead code need be looked for; `in_shardings` and
            `out_shardings`, for each argument and result the sharding that it must have, or None; `places`, where the
            arguments are (`Backend.places`); `extra`, what only the backend knows; `reason`, why the program was not
            there already, for observers.
    """
    prepared = _prepare(closed, backend, name, **options)
    if thread.log_compiles or hooks.observes("tangrad_lowered"):
        return LoweredProgram(*prepared).compile()
    program, _, kept, compile_options, context = prepared
    return _compiled(lambda: backend.compile(program, compile_options), program, kept, context)


def lower_program(closed: ClosedJaxpr, backend: Backend, name: str, **options: Any) -> LoweredProgram:
    """As `compile_program`, stopping before the backend compiles."""
    return LoweredProgram(*_prepare(closed, backend, name, **options))


def _prepare(
    closed: ClosedJaxpr,
    backend: Backend,
    name: str,
    *,
    device: Device | None = None,
    donated: Sequence[bool] = (),
    keep_unused: bool = False,
    thin: bool = True,
    in_shardings: Sequence[Any] = (),
    out_shardings: Sequence[Any] = (),
    places: Sequence[Any] = (),
    extra: Mapping[str, object] | None = None,
    reason: str = "new program",
) -> tuple[ClosedJaxpr, Backend, Kept, CompileOptions, HookContext]:
    """The program as the backend gets it, which of the arguments it takes (None: all), and how it is compiled."""
    if is_checking_values():
        donated = ()  # a program that is run again, to find where a NaN comes from, must not overwrite its arguments
    facts = {"device": device, "donated": tuple(donated), **(extra or {})}
    context = HookContext(name, backend.name, backend.platform, facts)
    hooks.cache_miss(context, "memory", reason)
    if len(closed.eqns) >= hooks.shortest or any([carried_program(eqn.params) for eqn in closed.eqns]):
        closed = hooks.run_passes(closed, context)
    if hooks.observes(BEFORE_APPLY):
        ask_about(closed, context)
    if thread.check_jaxprs:
        check_jaxpr(closed)
    jaxpr, kept = closed.jaxpr, None
    if thin:
        jaxpr, used = dce_jaxpr(jaxpr, [True] * len(closed.out_avals), instantiate=keep_unused)
        if not all(used):
            kept = tuple([position for position, is_used in enumerate(used) if is_used])
            donated, in_shardings, places = [
                [values[position] for position in kept] if values else () for values in (donated, in_shardings, places)
            ]
    stated = map(tuple, (in_shardings, out_shardings, places))
    options = CompileOptions(name, device, usable_donations(jaxpr, donated), extra or {}, *stated)
    # A new object: what is remembered with the caller's jaxpr must not keep that alive.
    return ClosedJaxpr(jaxpr, closed.consts), backend, kept, options, context


def usable_donations(jaxpr: Jaxpr, donated: Sequence[bool]) -> tuple[bool, ...]:
    """Which arguments of a program a result can take the place of: one of their shape and dtype, or else of their size.

    The others stay with the caller: nothing is gained by deleting them.
    """
    usable = [False] * len(donated)
    outs = [out.aval for out in jaxpr.outvars] if any(donated) else []
    type_of = lambda aval: (aval.shape, aval.dtype)
    size_of = lambda aval: (aval.size, objects.bit_width(aval.dtype))
    free = {kind: Counter(map(kind, outs)) for kind in (type_of, size_of)}
    for kind, places in free.items():
        for position, (var, is_donated) in enumerate(zip(jaxpr.invars, donated)):
            if is_donated and not usable[position] and places[kind(var.aval)] > 0:
                usable[position] = True
                for each, others in free.items():
                    others[each(var.aval)] -= 1
    return tuple(usable)


def _compiled(make: Callable[[], object], closed: ClosedJaxpr, kept: Kept, context: HookContext) -> Program:
    started = perf_counter()
    executable = make()
    seconds = perf_counter() - started
    hooks.compiled(context, executable, seconds)
    if thread.log_compiles:
        logger.warning("Compiled %s for %s in %.3f s", context.function_name, context.backend, seconds)
    return Program(executable, closed, kept, context.function_name)


# --- dead code ---

# The one rule kind that belongs to the kernel. Equations that carry jaxprs have such a rule, which may thin those
# jaxprs out too; without one they stay whole.
dce = RuleKind(
    "dce",
    api=1,
    signature="(used_outputs, equation) -> (used_inputs, equation or None)",
    doc="removes from an equation that carries jaxprs what its unused outputs needed",
    default=lambda _: lambda used_outputs, equation: ([True] * len(equation.invars), equation),
)


@calls_rules("dce", "eqn")
def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Remove outputs that are not used and what only they needed.

    Args:
        used_outputs: for each output, whether to keep it.
        instantiate: inputs to keep in any case; True keeps all.

    Returns:
        the new jaxpr and, for each input, whether the jaxpr still takes it.
    """
    keep = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else list(instantiate)
    outvars = [var for var, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    live = {var for var in outvars if type(var) is not Literal}
    kept: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [var in live for var in eqn.outvars]
        new = eqn if any(used) or (eqn.effects and keeps_alive(eqn.effects)) else None
        if new is not None:
            if any(True for _ in sub_jaxprs(eqn.params)):
                _, new = rule_table("dce")[eqn.primitive](used, eqn)
            elif not all(used):
                outs = [v if u else DropVar(v.aval) for v, u in zip(eqn.outvars, used, strict=True)]
                new = eqn.replace(outvars=outs)
        if new is not None:
            kept.append(new)
            live.update([atom for atom in new.invars if type(atom) is not Literal])
    kept.reverse()
    used_inputs = [var in live or wanted for var, wanted in zip(jaxpr.invars, keep, strict=True)]
    invars = [var for var, used in zip(jaxpr.invars, used_inputs, strict=True) if used]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=kept), used_inputs


# --- programs that are kept ---

_programs = JaxprCache()
register_cache(_programs.clear)


def program_for(
    closed: ClosedJaxpr,
    backend: Backend,
    name: str,
    device: Device | None = None,
    key: Hashable = None,
    make: Callable[[], ClosedJaxpr] | None = None,
    **options: Any,
) -> Program:
    """The compiled program of a closed jaxpr; compiled once, remembered as long as the jaxpr lives.

    Args:
        key, make: for a program that is made of `closed` by `make()`: what sets it apart from others made of it.
        options: see `compile_program`.
    """
    place = (key, backend.name, device)
    if (found := _programs.find(closed, place)) is not None:
        report_hit(name, backend)
        return found  # type: ignore[no-any-return]
    compile_now = lambda: compile_program(closed if make is None else make(), backend, name, device=device, **options)
    with one_at_a_time((closed, place)):
        return _programs.get(closed, place, compile_now)


def report_hit(name: str, backend: Backend | None = None) -> None:
    """Notify observers that a program was found in memory."""
    if hooks.cache_hit_observers is not None:
        described = (None, None) if backend is None else (backend.name, backend.platform)
        hooks.cache_hit(HookContext(name, *described), "memory")


# --- what programs run on ---


def backend_of(arrays: Sequence[object]) -> Backend:
    """The backend of the first array among `arrays`, else that of the default device, else the default one."""
    for array in arrays:
        if isinstance(array, Array) and not isinstance(array, Tracer):
            return type(array).backend  # type: ignore[no-any-return]
    return preferred_backend()


def to_arrays(backend: Backend, args: Sequence[Any]) -> list[Array]:
    """The arguments as arrays of `backend`; literals become arrays."""
    kind = backend.array_type
    if all([type(arg) is kind for arg in args]):
        return list(args)
    operands = checked_operands(backend, tuple(args))
    return [backend.put(a.ndarray, a.aval) if type(a) is Literal else a for a in operands]
