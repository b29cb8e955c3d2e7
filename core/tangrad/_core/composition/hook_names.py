"""The hooks: their names and arguments, the group that each asks for, and what a call of one needs while it runs.

What they mean, and their types, is the kernel's business: `tangrad.core.protocols` has a protocol for each, which
specifies it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import ClassVar, Generic, TypeVar

from tangrad._core.settings.threads import thread

P = TypeVar("P")  # a program, of the type that the kernel has for them

HOOKS_GROUP, COMMANDS, RULES = "tangrad.hooks", "tangrad.commands", "tangrad.rules."
HOOKS: dict[str, Callable[..., None]] = {
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
ARGUMENTS: dict[str, tuple[str, ...]] = {name: hook.__code__.co_varnames for name, hook in HOOKS.items()}
# The hooks that watch and change programs while they are made; all others contribute.
PASS, NAMES, BEFORE_APPLY = "tangrad_jaxpr_pass", "tangrad_names", "tangrad_before_apply"
OBSERVERS = ("tangrad_traced", "tangrad_lowered", "tangrad_compiled", "tangrad_cache_hit", "tangrad_cache_miss")
PROGRAM_HOOKS = (PASS, BEFORE_APPLY, *OBSERVERS)
# Rules and commands have hooks of another form, all other groups share `tangrad_entry`.
GROUP_OF_HOOK = {
    "tangrad_api": "tangrad.api",
    "tangrad_primitives": "tangrad.primitives",
    "tangrad_rule_kind": "tangrad.rule_kinds",
    "tangrad_backend": "tangrad.backends",
    "tangrad_setting": "tangrad.settings",
    "tangrad_array_attribute": "tangrad.array",
    "tangrad_commands": COMMANDS,
}
# Every group that the kernel knows, but for those of rules; who reads other groups is their owner's business.
GROUPS = (
    *GROUP_OF_HOOK.values(),
    HOOKS_GROUP,
    "tangrad.explanations",
    "tangrad.groups",
    "tangrad.old_names",
    "tangrad.setting_names",
    "tangrad.transformations",
)


def specifications() -> ModuleType:
    """Return the hooks in the form in which pluggy takes them."""
    from pluggy import HookspecMarker  # 3 ms that importing the kernel does not pay

    found = ModuleType("specifications")
    vars(found).update({name: HookspecMarker("tangrad")(hook) for name, hook in HOOKS.items()})
    return found


# --- calls ---


class Program(Generic[P]):
    """A program on its way through the passes: each is handed what the one before it made.

    Attributes:
        check_pass: raises where a pass may not return the second program for the first; the kernel, which knows
            programs, sets it.
    """

    __slots__ = ("closed_jaxpr",)
    check_pass: ClassVar[Callable[..., None]]

    def __init__(self, closed_jaxpr: P) -> None:
        self.closed_jaxpr = closed_jaxpr


def call_inside(function: Callable[..., object], *args: object) -> object:
    """Call a hook. Not a context manager: an interrupt may come before its `__exit__` has done anything."""
    before = thread.in_hook
    try:
        thread.in_hook = True
        return function(*args)
    finally:
        thread.in_hook = before
