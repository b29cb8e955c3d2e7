"""pluggy's manager, the heart of the composition: a distribution with entry points of ours is a plugin of its name.

A distribution is registered when a look-up first concerns it, and answers from its metadata; what its entries name is
imported later, where the answer is used. The functions of its hook objects are registered with it, guarded
(`guards.py`).
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import CodeType
from typing import Any

import pluggy

from tangrad._core.composition.hook_names import (
    ARGUMENTS,
    COMMANDS,
    GROUP_OF_HOOK,
    HOOKS,
    HOOKS_GROUP,
    PROGRAM_HOOKS,
    RULES,
    specifications,
)
from tangrad._core.composition.plugin import CIRCUMSTANCES, Plugin, flat, own_fault
from tangrad._core.composition.policy import BY_HAND
from tangrad._core.diagnostics.errors import BrokenPluginError
from tangrad._core.diagnostics.source_info import callers_of

_hookimpl = pluggy.HookimplMarker("tangrad")
_HOOK_OF_GROUP = {group: hook for hook, group in GROUP_OF_HOOK.items()}


def hook_of(group: str) -> str:
    """Return the hook that asks for entries of `group`."""
    return "tangrad_rules" if group.startswith(RULES) else _HOOK_OF_GROUP.get(group, "tangrad_entry")


def cell_of(hook: str, arguments: tuple[Any, ...]) -> tuple[str, str | None]:
    """Return group and name of what a hook asks for with `arguments`; the name is None where it asks for all."""
    if hook == "tangrad_rules":
        return RULES + arguments[0], arguments[1]
    if hook == "tangrad_entry":
        return arguments[0], arguments[1]
    return GROUP_OF_HOOK[hook], arguments[0] if arguments else None


class Contributor:
    """What pluggy knows as a plugin: a distribution, or what was registered by hand.

    Its hooks return the plugins that its entry points declare for a cell, without those that are denied.
    """

    def __init__(self, composition: Any, distribution: str, groups: set[str], hook_plugins: Sequence[Plugin]) -> None:
        self.distribution = distribution
        self.hook_plugins = hook_plugins
        self._entries = composition.entries
        for hook in {hook_of(group) for group in groups}:
            setattr(self, hook, self._answering(hook))

    def _answering(self, hook: str) -> object:
        def answer(*arguments: object) -> list[Plugin] | None:
            entries = self._entries(*cell_of(hook, arguments))
            return [one for one in entries if one.distribution == self.distribution and one.denial is None] or None

        vars(answer)["__wrapped__"] = HOOKS[hook]  # pluggy reads its signature
        return _hookimpl(answer)

    def __dir__(self) -> list[str]:
        """Only the hooks that this plugin implements: pluggy looks at nothing else, which makes registering cheap."""
        return list(vars(self))

    def __repr__(self) -> str:
        return f"<contributor {self.distribution}>"


class Manager(pluggy.PluginManager):
    """The plugins of a composition that were asked for something; `tangrad.core.tools.plugin_manager()` returns it.

    Everything that pluggy's managers do works. What changes the composition goes through it, so that its tables are
    made anew: `register` and `unregister` of a hook object, `set_blocked` and `unblock` of a distribution.

    Attributes:
        computes: the hooks that some hook object implements.
        is_loaded: whether the hook objects are loaded.
        listeners: called with the manager after the hook objects changed.
    """

    def __init__(self, composition: Any) -> None:
        super().__init__("tangrad")
        self.add_hookspecs(specifications())
        self.computes: frozenset[str] = frozenset()
        self.listeners: list[Callable[[Manager], None]] = composition.hook_listeners
        self.computed, self.cell_of = composition.computed, cell_of
        self._composition = composition
        self.is_loaded = False
        # The names of those that are registered to the end: an interrupt may leave others.
        self._whole: set[str] = set()
        # The thread that took out a contributor last, and which: another object each time.
        self._taken_out: tuple[int, str] = (0, "")
        self._bringers: list[str] = []  # the names of those with hook objects
        self._failed: set[str] = set()  # the hook objects whose last attempt to load ended without their fault
        self._block()

    # --- asking ---

    def contributions(self, group: str, name: str, **facts: object) -> list[Plugin]:
        """Ask all plugins what they contribute to a cell; those that are denied are among the answers.

        `name`: of rule sets the family; commands are asked for all at once. `facts`: further arguments of the hook.
        Raises RuntimeError where a hook that is being asked for this cell looks it up itself.
        """
        if hook_of(group) in self.computes:  # others' code, and asked without the lock
            entries, answers = self._asked_without_lock(group, name, facts)
        else:
            with self._composition.lock:  # another thread's change must not come between admitting and asking
                entries = self._admitted(group, name)
                answers = flat(self._ask(group, name, facts))
        answers += [plugin for plugin in entries if plugin.denial is not None and plugin not in answers]
        return sorted(answers, key=lambda one: (one.distribution == BY_HAND, one.name, one.distribution))

    def _admitted(self, group: str, name: str) -> tuple[Plugin, ...]:
        """The entries of a cell, whose distributions are registered then."""
        entries: tuple[Plugin, ...] = self._composition.entries(group, None if group == COMMANDS else name)
        for plugin in entries:
            if plugin.denial is None and plugin.distribution not in self._whole:
                with self._composition.lock:
                    if plugin.distribution not in self._whole and not self.is_blocked(plugin.distribution):
                        self._take_in(plugin.distribution, self._contributor(plugin.distribution, ()))
        return entries

    def _asked_without_lock(
        self, group: str, name: str, facts: dict[str, object]
    ) -> tuple[tuple[Plugin, ...], list[Plugin]]:
        """The entries of a cell and all answers; asked again where another thread took someone out meanwhile."""
        while True:
            with self._composition.lock:  # who is being arranged anew is there again
                before = self._taken_out
            entries = self._admitted(group, name)
            answers = self._ask_once(group, name, facts)
            after = self._taken_out
            if after is before or after[0] == threading.get_ident():
                return entries, answers

    def _ask_once(self, group: str, name: str, facts: dict[str, object]) -> list[Plugin]:
        """Ask hook objects, none of which may look up what it is asked for; a signal handler amid them may."""
        asking = self._further_up(Manager._ask_once.__code__)
        if sum((names["group"], names["name"]) == (group, name) for names in asking) > 2:
            raise RuntimeError(f"{name!r} of group {group!r} is looked up by a hook that is being asked for it")
        return flat(self._ask(group, name, facts))

    def _further_up(self, code: CodeType) -> Iterator[dict[str, Any]]:
        """The variables of those calls of a method of this object that go on in this thread, the newest first.

        A mark for them would stay where an exception comes before it is taken away.
        """
        for frame in callers_of(sys._getframe(1)):
            if frame.f_code is code and frame.f_locals.get("self") is self:
                yield frame.f_locals

    def _ask(self, group: str, name: str, facts: Mapping[str, object]) -> object:
        hook = hook_of(group)
        several = {
            "tangrad_rules": (group.removeprefix(RULES), name, ()),
            "tangrad_entry": (group, name),
            "tangrad_commands": (),
        }
        arguments = dict(zip(ARGUMENTS[hook], several.get(hook, (name,)), strict=True))
        return getattr(self.hook, hook)(**{**arguments, **facts})

    def _take_in(self, name: str, contributor: Contributor) -> None:
        """Register a contributor, in the place of what has its name; an interrupt leaves it as if it never was."""
        while not self._is_whole(name, contributor):
            self._take_out(name)
            with contextlib.suppress(ValueError):  # a signal handler's look-up registered one since: once more
                super().register(contributor, name)
                self._whole.add(name)

    def _is_whole(self, name: str, contributor: Contributor) -> bool:
        """Whether a contributor is registered, and nothing else under its name."""
        implementations = [one for caller in vars(self.hook).values() for one in caller.get_hookimpls()]
        alone = all(one.plugin is contributor for one in implementations if one.plugin_name == name)
        return alone and name in self._whole and self.get_plugin(name) is contributor

    def _take_out(self, name: str) -> None:
        """Remove a contributor, one step at a time: pluggy's own way puts back lists that it has read before.

        What a signal handler's look-up registers meanwhile is among others, and stays.
        """
        if name in self._whole:
            self._taken_out = (threading.get_ident(), name)
        self._whole.discard(name)
        for caller in vars(self.hook).values():  # those of one that another has overtaken, or that was interrupted, too
            for one in caller.get_hookimpls():
                if one.plugin_name == name:
                    with contextlib.suppress(ValueError):  # a signal handler was quicker
                        caller._hookimpls.remove(one)
        with contextlib.suppress(ValueError, KeyError):
            if self.has_plugin(name):
                super().unregister(name=name)

    def _contributor(self, distribution: str, hook_plugins: Sequence[Plugin]) -> Contributor:
        by_hand = distribution == BY_HAND
        groups = self._composition.groups_by_hand() if by_hand else self._composition.index.groups_of(distribution)
        return Contributor(self._composition, distribution, groups - {HOOKS_GROUP}, hook_plugins)

    # --- hook objects ---

    def is_loading(self) -> bool:
        """Whether the hook objects are being loaded further up, by this very thread."""
        return any(True for _ in self._further_up(Manager.load_hooks.__code__))

    def load_hooks(self) -> None:
        """Import the hook objects, and register them. What they look up meanwhile is answered without them."""
        for plugin in self._composition.entries(HOOKS_GROUP):
            self._try_to_load(plugin)  # without a lock: another thread may hold an import lock and wait for us
        with self._composition.lock:
            if self.is_loaded:
                return
            self._arrange()
        if self.computes - set(PROGRAM_HOOKS):
            self._composition.changed(None)

    def _try_to_load(self, plugin: Plugin) -> None:
        """Load a hook object. The user did not ask for it: what keeps it from being loaded must not end every call."""
        for is_last in (False, True):
            if plugin.status != "available":
                return
            try:
                plugin.load()
            except BrokenPluginError:
                return  # it has warned
            except (KeyboardInterrupt, ImportError):
                raise
            except (MemoryError, RecursionError) as error:
                deepest = islice(callers_of(sys._getframe()), sys.getrecursionlimit() // 2, None)
                if next(deepest, None) is not None:
                    raise  # half of the stack, or more, is the caller's
                if is_last:
                    plugin.set_aside(error)
            except own_fault(BaseException) as error:  # sent by another thread, or raised by the module: then once more
                if plugin.identity not in self._failed:
                    self._failed.add(plugin.identity)
                    raise
                plugin.set_aside(error)
        self._failed.discard(plugin.identity)

    def withdraw(self, plugin: Plugin, error: BaseException, reason: str, observed: bool = False) -> None:
        """Set a hook object aside that misbehaved; what it contributed is forgotten, unless it only `observed`."""
        plugin.set_aside(error, reason)
        if not observed:
            self._composition.changed(None)
            return
        with self._composition.lock:
            self._arrange()

    def _arrange(self) -> None:
        """Register anew those who have hook objects, so that they are called in the order of their names.

        A caller that needs them while that is not done, or was interrupted, arranges them again.
        """
        self.is_loaded = False
        for name in self._bringers:
            self._take_out(name)
        self._bringers, self.computes = [], frozenset()
        bringers: dict[str, list[Plugin]] = {}
        loaded = [one for one in self._composition.entries(HOOKS_GROUP) if one.status == "loaded"]
        for plugin in sorted(loaded, key=lambda one: (one.distribution == BY_HAND, one.distribution)):
            bringers.setdefault(self._name_for(plugin, bringers), []).append(plugin)
        for name, plugins in reversed(bringers.items()):  # pluggy calls what was registered last first
            found = _guarded(self, plugins)
            if not found:
                continue
            contributor = self._contributor(name, plugins)
            for number, (hook, function) in enumerate(reversed(found)):
                setattr(contributor, f"tangrad_hook_{number:04}", function)  # pluggy registers attributes by name
                self.computes |= {hook}
            self._take_in(name, contributor)  # where it was, it was for its entry points alone
            self._bringers.append(name)
        for all_of in [getattr(self.hook, hook)._hookimpls for hook in PROGRAM_HOOKS]:  # those that are last, too
            all_of[:] = [*[one for one in all_of if one.trylast][::-1], *[one for one in all_of if not one.trylast]]
        for listener in self.listeners:
            listener(self)
        self.is_loaded = True

    def _name_for(self, plugin: Plugin, taken: Mapping[str, Sequence[Plugin]]) -> str:
        """The name of a hook plugin's contributor: its distribution's; by hand, its own, as far as that is free."""
        if plugin.distribution != BY_HAND:
            return plugin.distribution
        name, number = plugin.name, 2
        while name in taken or self._is_taken(name):
            name, number = f"{plugin.name} {number}", number + 1
        return name

    def _is_taken(self, name: str) -> bool:
        return self._composition.index.has_distribution(name) or self.has_plugin(name) or self.is_blocked(name)

    def not_asked(self) -> str:
        """Say which hook objects are set aside or denied: what is missing may be theirs. Empty if there are none."""
        lines = [
            f"\nNot asked was {one.identity}, which might compute it: {one.denial or f'set aside: {one.cause}'}."
            for one in self._composition.entries(HOOKS_GROUP)
            if one.status in ("denied", "broken")
        ]
        return "".join(lines)

    # --- what has changed ---

    def follow(self, plugins: tuple[Plugin, ...] | None) -> None:
        """Take over what was registered, removed (`plugins`) or decided (None)."""
        self._take_out(BY_HAND)
        if plugins is None:
            self._block()
        if self.is_loaded and (plugins is None or any(plugin.group == HOOKS_GROUP for plugin in plugins)):
            for plugin in self._composition.entries(HOOKS_GROUP):
                self._try_to_load(plugin)
            self._arrange()

    def retire(self) -> None:
        """Take every distribution out: what is installed is read anew."""
        self.is_loaded = False
        for name, plugin in self.list_name_plugin():
            if plugin is not None:
                self._take_out(name)
        self._bringers, self.computes = [], frozenset()

    def _block(self) -> None:
        """Have those distributions blocked that the user denies as a whole."""
        policy, index = self._composition.policy, self._composition.index
        known = {*index.distributions(), *policy.blocked} if policy.blocking() else set()
        denied = {name for name in known if policy.blocks(name) is not None}
        blocked = {name for name, plugin in self.list_name_plugin() if plugin is None}
        for name in blocked - denied:
            super().unblock(name)
        for name in sorted(denied - blocked):
            self._take_out(name)
            super().set_blocked(name)
        self._bringers = [name for name in self._bringers if name not in denied]

    # --- what users call ---

    def register(self, plugin: object, name: str | None = None) -> str | None:
        """Register a hook object, as `tangrad.core.register(plugin, group="hooks", name=name)` does."""
        name = name or self.get_canonical_name(plugin)
        if self.is_blocked(name):
            return None
        if self._is_taken(name):
            raise ValueError(f"{name!r} is the name of a plugin already; give another one: register(plugin, name=...)")
        self._composition.register(plugin, group=HOOKS_GROUP, name=name)
        return name

    def unregister(self, plugin: object = None, name: str | None = None) -> object:
        """Take a hook object back that was registered by hand; returns it, or None.

        Raises ValueError for an installed distribution: that is blocked.
        """
        known = None if name is None else self.get_plugin(name)
        if known is None and plugin is None:
            return None
        for one in self._composition.by_hand(HOOKS_GROUP):
            if one.is_object(plugin) or (known is not None and one in known.hook_plugins):
                found = one.load()
                self._composition.unregister((one,))
                return found
        raise ValueError(f"{name or plugin!r} was not registered by hand; set_blocked takes a distribution out of use")

    def set_blocked(self, name: str) -> None:
        """Deny a distribution, as `TANGRAD_DENY` does; it need not be installed."""
        self._composition.block(name, True)

    def unblock(self, name: str) -> bool:
        """Take back what `set_blocked` did. Returns whether it was; what deny lists name stays blocked."""
        return bool(self._composition.block(name, False))


def _guarded(manager: Manager, plugins: Sequence[Plugin]) -> list[tuple[str, Callable[..., object]]]:
    """Hook and function of everything that the hook objects of one bringer implement; invalid ones are set aside."""
    from tangrad._core.composition.guards import examined, guarded  # only where there are hook objects

    found = []
    for plugin in plugins:
        try:
            found += [guarded(manager, plugin, one) for one in examined(plugin.load())]
        except CIRCUMSTANCES:
            raise
        except own_fault(Exception, again=lambda: examined(plugin.load())) as error:  # noqa: B023 - called at once
            plugin.set_aside(error, "its hooks are not valid")
    return found
