"""The hooks and their arguments, as pluggy must know them; what they mean, and their types, is the kernel's business.

`tangrad.core.protocols` has a protocol for each, which specifies it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pluggy

_HOOKS: dict[str, Callable[..., None]] = {
    "tangrad_api": lambda name: None,
    "tangrad_primitives": lambda family: None,
    "tangrad_rule_kind": lambda name: None,
    "tangrad_rules": lambda kind, family, primitives: None,
    "tangrad_backend": lambda name: None,
    "tangrad_setting": lambda name: None,
    "tangrad_array_attribute": lambda name: None,
    "tangrad_commands": lambda: None,
    "tangrad_entry": lambda group, name: None,
    "tangrad_names": lambda group: None,
    "tangrad_jaxpr_pass": lambda closed_jaxpr, context: None,
    "tangrad_before_apply": lambda primitive, avals, params, context: None,
    "tangrad_traced": lambda context, closed_jaxpr, seconds: None,
    "tangrad_lowered": lambda context, lowered, seconds: None,
    "tangrad_compiled": lambda context, executable, seconds: None,
    "tangrad_cache_hit": lambda context, cache: None,
    "tangrad_cache_miss": lambda context, cache, reason: None,
}
ARGUMENTS: dict[str, tuple[str, ...]] = {name: hook.__code__.co_varnames for name, hook in _HOOKS.items()}
SPECIFICATIONS = ModuleType("specifications")  # the form in which pluggy takes them
vars(SPECIFICATIONS).update({name: pluggy.HookspecMarker("tangrad")(hook) for name, hook in _HOOKS.items()})
