"""The composition: which plugins there are, and how each is loaded, set aside, denied, preferred or registered by hand.

A plugin is what an entry point of a group `tangrad.*` names, or what a hook object answers in the place of one. The
composition knows entry points from metadata alone; a plugin's module is imported when something first needs it. Who
contributes to a cell (a public name, a family of primitives, the rules of a kind for a family) is asked of pluggy's
manager once, and kept. What traces read are tables made from that (`rules.py`): nothing here is on a hot path once
those stand.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from importlib import invalidate_caches
from typing import TYPE_CHECKING, Any

from tangrad._core.composition.discovery import cache_folder, discover
from tangrad._core.composition.hook_names import GROUPS, HOOKS_GROUP, NAMES, RULES
from tangrad._core.composition.plugin import Plugin, names_object
from tangrad._core.composition.policy import BY_HAND, Policy
from tangrad._core.composition.record import Index
from tangrad._core.diagnostics.errors import PluginConflictError
from tangrad._core.settings.threads import free_after_fork

if TYPE_CHECKING:
    from tangrad._core.composition.manager import Manager

__all__ = ["Composition", "Plugin", "Registration", "composition", "configure_plugins", "plugin_manager", "register"]

# A group beside the kernel's own is read by whose entry of this group is called so; without it nothing asks for what
# is in that group, and it may not load.
READERS_GROUP = "tangrad.groups"


class Registration:
    """The undo handle of `register`; as a context manager it undoes the registration at the end of the block."""

    __slots__ = ("_owner", "plugins")

    def __init__(self, owner: Composition, plugins: tuple[Plugin, ...]) -> None:
        self._owner = owner
        self.plugins = plugins

    def undo(self) -> None:
        """Take the registration back; a second call does nothing."""
        plugins, self.plugins = self.plugins, ()
        if plugins:
            self._owner.unregister(plugins)

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()


Listener = Callable[[tuple[Plugin, ...] | None], None]


class Composition:
    """All plugins of a process. `composition()` returns the one that everything uses.

    Args:
        paths: where to look for distributions; the default is `sys.path`.
        environment: the variables to read; the default is `os.environ`.
    """

    def __init__(self, paths: Iterable[str] | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._paths = None if paths is None else list(paths)
        self._environment = os.environ if environment is None else environment
        self.lock = free_after_fork(threading.RLock())
        self.policy = Policy(self._environment)
        self._from_environment = self.policy
        self._index: Index | None = None
        self._manager: Manager | None = None
        self._plugins: dict[tuple[str, str, str], Plugin] = {}
        self._entries: dict[tuple[str, str | None], tuple[Plugin, ...]] = {}
        self._found: dict[tuple[str, str], Plugin] = {}
        self._by_hand: list[Plugin] = []
        self._provenance: dict[int, tuple[object, Plugin]] = {}
        self._listeners: list[Listener] = []
        self.hook_listeners: list[Callable[[Manager], None]] = []
        self._checks: dict[str, Callable[[Plugin, object], None]] = {}

    # --- what is declared ---

    @property
    def index(self) -> Index:
        """What discovery found; read from metadata the first time."""
        index = self._index
        if index is None:
            with self.lock:
                index = self._index = self._index or discover(self._paths, cache_folder(self._environment))
        return index

    @property
    def looks_everywhere(self) -> bool:
        """Whether it looks where Python does, and not in folders of its own."""
        return self._paths is None

    def groups(self) -> tuple[str, ...]:
        """Return the names of the groups that have entries, sorted."""
        return tuple(sorted({*self.index.groups(), *self.groups_by_hand()}))

    def entries(self, group: str, name: str | None = None) -> tuple[Plugin, ...]:
        """Return the plugins of `group`, sorted by name and distribution; denied and broken ones are among them.

        With a `name`, those called so; of rule sets, those for that family, called `name` or `name.suffix`.
        """
        found = self._entries.get((group, name))
        if found is None:
            with self.lock:
                found = self._made(group, self.index.rows(group, name, group.startswith(RULES)), name)
                if found or name is None:  # what is not there is not kept: any name may be asked for
                    self._entries[group, name] = found
        return found

    def names(self, group: str) -> set[str]:
        """Return the names in `group`: of entries, and those that hook objects say they compute."""
        found = {plugin.name for plugin in self.entries(group)}
        if NAMES in self.manager.computes:
            found.update(*self.manager.hook.tangrad_names(group=group))
        return found

    def groups_by_hand(self) -> set[str]:
        """Return the groups of what was registered by hand."""
        return {plugin.group for plugin in self._by_hand}

    def by_hand(self, group: str) -> tuple[Plugin, ...]:
        """Return the plugins of `group` that were registered by hand, in that order."""
        return tuple(plugin for plugin in self._by_hand if plugin.group == group)

    def _made(self, group: str, rows: Iterable[tuple[str, str, str, str]], name: str | None) -> tuple[Plugin, ...]:
        """The plugins of these rows, each made once, and those by hand."""
        made: dict[tuple[str, str], Plugin] = {}
        for entry, value, distribution, version in rows:
            if (first := made.get((entry, distribution))) is not None:
                problem = f"the distribution declares the name twice: {first.value} and {value}"
                first.set_aside(PluginConflictError(problem))
                continue
            key = (group, entry, distribution)
            known = self._plugins.get(key) or Plugin(self, group, entry, value, distribution, version)
            made[entry, distribution] = self._plugins.setdefault(key, known)  # a signal handler may have been quicker
        ours = [one for one in self.by_hand(group) if name is None or name in (one.name, _family(one))]
        return (*[made[key] for key in sorted(made)], *ours)

    def is_served(self, plugin: Plugin) -> bool:
        """Return whether what a plugin serves is installed: the family and the kind of a rule set, a group's reader."""
        if not plugin.group.startswith(RULES):
            known = plugin.group in GROUPS
            return known or bool(self.entries(READERS_GROUP, plugin.group.removeprefix("tangrad.")))
        family = plugin.name.partition(".")[0]
        if ("tangrad.primitives", family) not in self._found and not self.entries("tangrad.primitives", family):
            return False
        kind = plugin.group.removeprefix(RULES)
        while kind:  # a platform's kind (`lower.xla.cuda`) is served where the general one (`lower.xla`) is
            if ("tangrad.rule_kinds", kind) in self._found or self.entries("tangrad.rule_kinds", kind):
                return True
            kind = kind.rpartition(".")[0]
        return False

    # --- what is contributed ---

    @property
    def manager(self) -> Manager:
        """pluggy's manager; the first use loads the hook objects that are installed."""
        manager = self._manager
        if manager is None:
            from tangrad._core.composition.manager import Manager  # 3 ms, at the first look-up

            with self.lock:
                manager = self._manager = self._manager or Manager(self)
        if not manager.is_loaded and not manager.is_loading():
            manager.load_hooks()
        return manager

    def find(self, group: str, name: str) -> Plugin | None:
        """Return the one plugin of `group` called `name`, or None. The manager is asked once, and the answer kept.

        Raises PluginConflictError where two provide it and neither an override nor the user's preference decides.
        """
        answers = self._found  # a change puts another dictionary in its place: what was asked before it is not kept
        found = answers.get((group, name))
        if found is None:
            candidates = [plugin for plugin in self.manager.contributions(group, name) if plugin.name == name]
            admitted = [plugin for plugin in candidates if plugin.denial is None]
            if not candidates:
                return None  # and not kept: any name may be asked for
            found = self.choice(group, name, admitted) if len(admitted) > 1 else (admitted or candidates)[0]
            if found is None:
                raise conflict(group, name, [claim(plugin) for plugin in admitted])
            answers[group, name] = found
        return found

    def provenance(self, obj: object) -> Plugin | None:
        """Return the plugin that `obj` came from, or None where it came from none.

        An object whose module was imported by other means than its plugin is recognised by its place; nothing is
        imported to look.
        """
        known = self._provenance.get(id(obj))
        if known is not None and known[0] is obj:
            return known[1]
        family = getattr(obj, "family", None)
        if isinstance(family, str):  # a primitive came with its set
            return self.find("tangrad.primitives", family)
        for group in self.groups():
            for plugin in self.entries(group):
                if names_object(plugin.value, obj):
                    return plugin
        return None

    def choice(self, group: str, name: str, rivals: list[Plugin]) -> Plugin | None:
        """Return which of several plugins has a cell, by an override or the user's preference; None without either."""
        overriding = [plugin for plugin in rivals if plugin.override]
        if len(overriding) == 1:
            return overriding[0]
        preferred = self.policy.preferred(group, name)
        return next((plugin for plugin in rivals if plugin.distribution == preferred), None)

    # --- loading ---

    def set_check(self, group: str, check: Callable[[Plugin, Any], None]) -> None:
        """Have `check(plugin, object)` look at each object loaded from `group`; what it raises sets the plugin aside.

        `tangrad.rules` stands for all groups `tangrad.rules.<kind>`.
        """
        self._checks[group] = check

    def check(self, plugin: Plugin, loaded: object) -> None:
        """Run the check of the plugin's group, if there is one."""
        group = "tangrad.rules" if plugin.group.startswith("tangrad.rules.") else plugin.group
        check = self._checks.get(group)
        if check is not None:
            check(plugin, loaded)

    def computed(self, provider: Plugin, group: str, name: str, obj: object) -> Plugin:
        """Return the plugin for an object that the hook object `provider` answers with; it is checked as any other."""
        plugin = Plugin(self, group, name, f"{provider.value}, computed", provider.distribution, provider.version)
        plugin.override = provider.override
        self.check(plugin, obj)
        plugin.provide(obj)
        self._provenance.setdefault(id(obj), (obj, plugin))
        return plugin

    def publish(self, plugin: Plugin, loaded: object) -> Any:
        """Make `loaded` the object of `plugin`; the first of several threads decides."""
        with self.lock:
            if plugin.provide(loaded):
                self._provenance.setdefault(id(loaded), (loaded, plugin))
        return plugin.load()

    # --- changing ---

    def register(
        self, obj: object, *, group: str | None = None, name: str | None = None, override: bool = False
    ) -> Registration:
        """Add a plugin object by hand, for notebooks and tests.

        Args:
            obj: a primitive set, rule set, transformation, backend or hook object.
            group: its entry-point group; by default what the object's method `plugin_entries()` gives.
            name: its entry name; as `group`.
            override: take precedence over an installed plugin of the same name.

        Returns:
            A handle: `handle.undo()` takes the registration back, and so does the end of a `with` block.

        Raises:
            TypeError: neither the arguments nor the object say what it is.
            ValueError: the object is registered already.
        """
        places = _places(obj, group, name)
        with self.lock:
            for place in places:
                if any((plugin.group, plugin.name) == place and plugin.is_object(obj) for plugin in self._by_hand):
                    raise ValueError(f"{obj!r} is already registered as {place[1]!r} of group {place[0]!r}")
            added = tuple(self._registered(obj, place, override) for place in places)
            for plugin in added:
                self.check(plugin, obj)
        try:
            with self.lock:
                self._by_hand.extend(added)
                self._provenance.setdefault(id(obj), (obj, added[0]))
            self.changed(added)
            return Registration(self, added)
        except BaseException:  # an interrupt: who gets no handle has registered nothing
            self.unregister(added)
            raise

    def _registered(self, obj: object, place: tuple[str, str], override: bool) -> Plugin:
        described = obj if hasattr(obj, "__qualname__") else type(obj)
        value = f"{described.__module__}:{described.__qualname__}"
        plugin = Plugin(self, place[0], place[1], value, BY_HAND, "")
        plugin.provide(obj)
        plugin.override = override
        return plugin

    def unregister(self, plugins: tuple[Plugin, ...]) -> None:
        """Remove plugins that were registered by hand (`Registration.undo`)."""
        with self.lock:
            self._by_hand = [plugin for plugin in self._by_hand if plugin not in plugins]
        self.changed(plugins)

    def configure(self, **decisions: Any) -> None:
        """See `configure_plugins`."""
        self.policy = self._from_environment.extended(**decisions, blocked=self.policy.blocked)
        self.changed(None)

    def block(self, distribution: str, blocked: bool) -> bool:
        """Deny a distribution, or take that back (`set_blocked`, `unblock`); returns whether that was a change."""
        names = self.policy.blocked
        if (distribution in names) is blocked:
            return False
        self.policy = self.policy.extended(blocked=names | {distribution} if blocked else names - {distribution})
        self.changed(None)
        return True

    def look_again_for(self, distribution: str) -> bool:
        """Return whether a distribution that was not installed is so now; if it is, everything is read anew."""
        if not discover(self._paths, cache_folder(self._environment)).has_distribution(distribution):
            return False
        self.refresh()
        return True

    def refresh(self) -> None:
        """Read the metadata anew: a distribution was installed or removed, or `sys.path` changed, in this process."""
        invalidate_caches()
        with self.lock:
            self._index = None
            self._plugins = {}
            if self._manager is not None:
                self._manager.retire()
        self.changed(None)

    def on_change(self, listener: Listener) -> None:
        """Have `listener(plugins)` called after a change: with the plugins added or removed, or None for all."""
        self._listeners.append(listener)

    def changed(self, plugins: tuple[Plugin, ...] | None) -> None:
        """Forget what was asked, and notify all that keep answers; `plugins`: those added or removed, None: all."""
        with self.lock:
            self._entries, self._found = {}, {}
            known = {*self._plugins.values(), *self._by_hand}  # without what hooks have computed
            self._provenance = {key: pair for key, pair in self._provenance.items() if pair[1] in known}
            for plugin in known:
                plugin.denial = self.policy.denial(plugin)
            if self._manager is not None:
                self._manager.follow(plugins)
        for listener in tuple(self._listeners):
            listener(plugins)


def claim(plugin: Plugin) -> tuple[str, str]:
    """Return who claims a cell, as `conflict` takes it."""
    return plugin.distribution, f"{plugin.shipper} ({plugin.value})"


def conflict(group: str, name: str, claims: list[tuple[str, str]]) -> PluginConflictError:
    """Return the error for a cell that several claim; `claims`: each distribution, and what it has, in words."""
    what = f"{name!r} of group {group!r} is provided by {' and '.join([words for _, words in claims])}"
    cell = f"{group.removeprefix('tangrad.')}:{name}"
    return PluginConflictError.between(what, cell, [distribution for distribution, _ in claims])


def _family(plugin: Plugin) -> str | None:
    return plugin.name.partition(".")[0] if plugin.group.startswith(RULES) else None


def _places(obj: object, group: str | None, name: str | None) -> list[tuple[str, str]]:
    if group is not None and name is not None:
        return [(group if group.startswith("tangrad.") else f"tangrad.{group}", name)]
    describe = getattr(obj, "plugin_entries", None)
    if isinstance(obj, type) or not callable(describe):
        if any(attribute.startswith("tangrad_") for attribute in dir(obj)):
            described = obj if hasattr(obj, "__name__") else type(obj)
            return [(group or HOOKS_GROUP, name or described.__name__)]
        raise TypeError(
            f"cannot find out what {obj!r} of type {type(obj).__name__} is: expected a primitive set, rule set, "
            "transformation, backend or hook object, or the arguments group= and name="
        )
    places = [(group or own_group, name or own_name) for own_group, own_name in describe()]
    if not places:
        raise ValueError(f"{obj!r} is empty: it serves no family yet, so there is nothing to register")
    return places


_composition = Composition()


def composition() -> Composition:
    """Return the process-wide composition."""
    return _composition


def plugin_manager() -> Manager:
    """Return pluggy's manager of the composition: the distributions that have been asked for something, and its hooks.

    >>> import tangrad
    >>> from tangrad.core.tools import plugin_manager
    >>> tangrad.grad.__name__
    'grad'
    >>> [name for name, _ in plugin_manager().list_name_plugin() if name == "tangrad-autodiff"]
    ['tangrad-autodiff']
    """
    return composition().manager


def register(obj: object, *, group: str | None = None, name: str | None = None, override: bool = False) -> Registration:
    """Register a plugin object by hand, in a notebook or a test; tables that it touches are made anew.

    See `Composition.register` for arguments and errors.

    >>> from tangrad.core import hookimpl, register
    >>> class Watch:
    ...     @hookimpl
    ...     def tangrad_compiled(self, context, seconds):
    ...         print(context.function_name, seconds)
    >>> with register(Watch(), group="tangrad.hooks", name="watch"):
    ...     pass  # what is compiled here is reported
    """
    return composition().register(obj, group=group, name=name, override=override)


def configure_plugins(
    *, allow: Iterable[str] | None = None, deny: Iterable[str] | None = None, prefer: Mapping[str, str] | None = None
) -> None:
    """Say which plugins may be used, and which of two rivals. It replaces what an earlier call set.

    Args:
        allow: patterns; only what they name is used. None: no such list.
        deny: patterns; what they name is not used, and nothing of it is imported.
        prefer: for a cell that two distributions claim (`'kind:primitive'`, `'api:name'`), the distribution to use.

    A pattern is `'distribution'`, `'distribution:group:name'` or `'kind:primitive'`, with wildcards. After first use
    the tables that plugins filled are made anew; modules that are imported already stay so.

    >>> from tangrad.core.tools import configure_plugins
    >>> configure_plugins(deny=["some-plugin", "jvp:some_primitive"])
    >>> configure_plugins()
    """
    composition().configure(allow=allow, deny=deny, prefer=prefer)
