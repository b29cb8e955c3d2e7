"""What a plugin may contribute, and what it may observe: every hook, specified as a type. No logic.

A hook object is any object (an instance, a class, or a module) with functions of these names, marked with `hookimpl`,
that an entry point of group `tangrad.hooks` names or `register` is given:

    from tangrad.core import hookimpl

    @hookimpl
    def tangrad_compiled(context, seconds):
        print(f"{context.function_name}: {seconds:.3f} s")

Each protocol has one hook; an object that implements several satisfies several. Authors find them in
`tangrad.core.protocols`. The names of the hooks and of their arguments, all that the composition knows of them, are in
`tangrad._core.composition.hook_names`.

An implementation takes the arguments it wants, by name; one that takes them all satisfies its protocol. One that
raises, takes arguments that do not exist, or returns something else than its hook should is set aside with one warning
that names it; everything else goes on.

*Contributions.* The first hooks say what there is. Entry points are the declarative way to implement them: pluggy knows
each distribution that has some as a plugin of its name, which answers from metadata. A hook object may compute answers
instead; they count as those of its distribution, and what two distributions claim is a conflict, whichever came first:
order decides nothing. They are asked once for each cell, when it is first needed, and the answer is frozen until
something is registered, denied or installed.

A *wrapper* of one of them, `hookimpl(wrapper=True)`, is a generator: `contributions = yield` gives it the list of what
all others contribute (objects with `distribution`, `version`, `group`, `name`, `value` and `load()`), and it returns
that list. What it leaves out is withheld: using it raises a DeniedPluginError that names the wrapper. A wrapper
that raises DeniedPluginError withholds everything, in its own words. It cannot add anything, and one that returns no
list, and so swallows what the others returned, is set aside.

*Policies.* Every hook may refuse: `raise RefusedError("no callbacks in production")`, or a class of one's own below it,
reaches the caller as it is, with the plugin's name. A hook that contributes refuses a composition, a pass or observer a
program, `tangrad_before_apply` a primitive. Nothing is set aside, and the next call asks again.

*Programs.* The other hooks are called where a program is traced, lowered or compiled, never while a compiled program is
called, with two exceptions, which cost nothing unless a plugin implements them: `tangrad_cache_hit` and
`tangrad_before_apply`. What such a hook does inside (trace, compile, call) calls no hooks again, and they have no
wrappers.

Implementations are called in the order of their distributions' names, then of their entries'; those with
`hookimpl(tryfirst=True)` first, those with `hookimpl(trylast=True)` last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from typing_extensions import Protocol

from tangrad._core.composition.hooks import HookContext
from tangrad._core.kernel.aval import AbstractValue
from tangrad._core.kernel.backend import Backend
from tangrad._core.kernel.declarations import PrimitiveSet, RuleKind, RuleSet
from tangrad._core.kernel.jaxpr import ClosedJaxpr
from tangrad._core.kernel.primitive import Primitive
from tangrad._core.settings.config import Setting

# --- contributions ---


class ApiProvider(Protocol):
    """Provides public names."""

    def tangrad_api(self, name: str) -> object:
        """Return the public object `tangrad.<name>`, such as `grad` or `lax.scan`. Entry points: `tangrad.api`."""


class PrimitiveProvider(Protocol):
    """Provides families of primitives."""

    def tangrad_primitives(self, family: str) -> PrimitiveSet | None:
        """Return the primitives of a family. Entry points: `tangrad.primitives`."""


class RuleKindProvider(Protocol):
    """Provides rule kinds."""

    def tangrad_rule_kind(self, name: str) -> RuleKind | None:
        """Return the rule kind called `name`, such as `jvp`. Entry points: `tangrad.rule_kinds`."""


class RuleProvider(Protocol):
    """Provides rules of a kind for a family, of any distribution."""

    def tangrad_rules(
        self, kind: str, family: str, primitives: Sequence[Primitive]
    ) -> RuleSet | Sequence[RuleSet] | None:
        """Return rules of `kind` for primitives of `family`. Entry points: `tangrad.rules.<kind>`.

        `primitives` are all of the family, of any distribution; none where it was never registered. Rules for
        primitives that other distributions have rules for are conflicts, unless the set is `RuleSet(...,
        override=True)`.
        """


class BackendProvider(Protocol):
    """Provides backends."""

    def tangrad_backend(self, name: str) -> Backend | None:
        """Return the backend called `name`. Entry points: `tangrad.backends`."""


class SettingProvider(Protocol):
    """Provides settings."""

    def tangrad_setting(self, name: str) -> Setting | None:
        """Return the setting called `name`. Entry points: `tangrad.settings`."""


class ArrayAttributeProvider(Protocol):
    """Provides operators, methods and properties of arrays."""

    def tangrad_array_attribute(self, name: str) -> object:
        """Return the operator, method or property `name` of arrays. Entry points: `tangrad.array`."""


class CommandProvider(Protocol):
    """Provides sub-commands of `tangrad`."""

    def tangrad_commands(self) -> Mapping[str, Callable[[list[str]], int | None]] | None:
        """Return sub-commands of `tangrad`, as functions of the remaining arguments.

        Entry points: `tangrad.commands`.
        """


class EntryProvider(Protocol):
    """Provides entries of groups that have no hook of their own."""

    def tangrad_entry(self, group: str, name: str) -> object:
        """Return the entry `name` of a group that has no hook of its own, such as one that a library reads."""


class NameProvider(Protocol):
    """Lists the names that a provider computes in a group."""

    def tangrad_names(self, group: str) -> Iterable[str] | None:
        """Return the names in `group` (`tangrad.api`, ...) that the hooks above compute, for lists of what there is.

        Asked by `dir(tangrad)`, `backend_names()`, the table of settings and the like; never by an import.
        """


# --- programs ---


class JaxprPass(Protocol):
    """Rewrites programs before they are lowered."""

    def tangrad_jaxpr_pass(self, closed_jaxpr: ClosedJaxpr, context: HookContext) -> ClosedJaxpr | None:
        """Rewrite a program after tracing, before it is lowered.

        Each pass gets what the one before it made; None means unchanged. Inputs and outputs must keep their types: the
        result is checked as the IR checker does. A pass that raises, or returns something else, stops the compilation
        with an error that names its plugin: a pass left out could mean another result, so it is never skipped in
        silence. Its attribute `least_equations`, if it has one: programs that are shorter need not be shown to it.
        """


class ApplicationPolicy(Protocol):
    """Is asked before a primitive is applied."""

    def tangrad_before_apply(
        self, primitive: Primitive, avals: Sequence[AbstractValue], params: Mapping[str, object], context: HookContext
    ) -> None:
        """Look at a primitive before it is applied; for policies, which raise RefusedError.

        Called for each operation on concrete arrays (`context.options["eager"]` is True), and for each equation of a
        program before that is compiled, those of programs inside it included: after the passes, not again for each
        call. `avals` are the types of the operands. What an implementation returns is not looked at; if it raises
        anything but RefusedError, the operation or compilation stops with an error that names its plugin.
        """


class TraceObserver(Protocol):
    """Observes what was traced."""

    def tangrad_traced(self, context: HookContext, closed_jaxpr: ClosedJaxpr, seconds: float) -> None:
        """Observe that a Python function was traced to `closed_jaxpr`, which took `seconds`.

        An observer that raises is set aside with one warning; the program goes on. That holds for all the observers
        below.
        """


class LoweringObserver(Protocol):
    """Observes what was lowered."""

    def tangrad_lowered(self, context: HookContext, lowered: object, seconds: float) -> None:
        """Observe that a program was lowered to the backend's form (StableHLO, generated Python source) `lowered`."""


class CompilationObserver(Protocol):
    """Observes what was compiled."""

    def tangrad_compiled(self, context: HookContext, executable: object, seconds: float) -> None:
        """Observe that a program was compiled to `executable`, the backend's own object."""


class CacheHitObserver(Protocol):
    """Observes which compiled programs were found."""

    def tangrad_cache_hit(self, context: HookContext, cache: str) -> None:
        """Observe that a compiled program was found: `cache` is 'memory' or 'disk'."""


class CacheMissObserver(Protocol):
    """Observes why a program is compiled."""

    def tangrad_cache_miss(self, context: HookContext, cache: str, reason: str) -> None:
        """Observe that no compiled program was found, and why one is made (new function, new argument types, ...)."""
