"""Hook objects as types, a protocol for each hook of `hookspecs.py`; authors find them in `tangrad.core.protocols`.

An implementation takes the arguments it wants, by name; one that takes them all satisfies these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from typing_extensions import Protocol

from tangrad.composition.hooks import HookContext
from tangrad.core.jaxpr import ClosedJaxpr


class JaxprPass(Protocol):
    """Rewrites programs before they are lowered; None: unchanged."""

    def tangrad_jaxpr_pass(self, closed_jaxpr: ClosedJaxpr, context: HookContext) -> ClosedJaxpr | None: ...


class ApplicationPolicy(Protocol):
    """Is asked before a primitive is applied; raises RefusedError where it is not to be."""

    def tangrad_before_apply(
        self, primitive: Any, avals: Sequence[Any], params: Mapping[str, Any], context: HookContext
    ) -> None: ...


class TraceObserver(Protocol):
    """Is told what was traced."""

    def tangrad_traced(self, context: HookContext, closed_jaxpr: ClosedJaxpr, seconds: float) -> None: ...


class LoweringObserver(Protocol):
    """Is told what was lowered."""

    def tangrad_lowered(self, context: HookContext, lowered: Any, seconds: float) -> None: ...


class CompilationObserver(Protocol):
    """Is told what was compiled."""

    def tangrad_compiled(self, context: HookContext, executable: Any, seconds: float) -> None: ...


class CacheHitObserver(Protocol):
    """Is told which compiled programs were found."""

    def tangrad_cache_hit(self, context: HookContext, cache: str) -> None: ...


class CacheMissObserver(Protocol):
    """Is told why a program is compiled."""

    def tangrad_cache_miss(self, context: HookContext, cache: str, reason: str) -> None: ...


# Hooks that contribute: what an entry point would name, computed. None: nothing for that question.


class ApiProvider(Protocol):
    """Provides public names."""

    def tangrad_api(self, name: str) -> Any: ...


class PrimitiveProvider(Protocol):
    """Provides the `PrimitiveSet` of a family."""

    def tangrad_primitives(self, family: str) -> Any: ...


class RuleKindProvider(Protocol):
    """Provides rule kinds."""

    def tangrad_rule_kind(self, name: str) -> Any: ...


class RuleProvider(Protocol):
    """Provides rules of a kind for a family of anybody's: a `RuleSet`, or several."""

    def tangrad_rules(self, kind: str, family: str, primitives: Sequence[Any]) -> Any: ...


class BackendProvider(Protocol):
    """Provides backends."""

    def tangrad_backend(self, name: str) -> Any: ...


class SettingProvider(Protocol):
    """Provides settings."""

    def tangrad_setting(self, name: str) -> Any: ...


class ArrayAttributeProvider(Protocol):
    """Provides operators, methods and properties of arrays."""

    def tangrad_array_attribute(self, name: str) -> Any: ...


class CommandProvider(Protocol):
    """Provides sub-commands of `tangrad`: functions of the remaining arguments, by name."""

    def tangrad_commands(self) -> Mapping[str, Callable[[list[str]], int | None]] | None: ...


class EntryProvider(Protocol):
    """Provides entries of groups that have no hook of their own."""

    def tangrad_entry(self, group: str, name: str) -> Any: ...


class NameProvider(Protocol):
    """Lists the names that a provider computes in a group."""

    def tangrad_names(self, group: str) -> Iterable[str] | None: ...
