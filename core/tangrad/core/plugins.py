"""The composition: which plugins there are, and how each is loaded, set aside, denied, preferred or registered by hand.

A plugin is what an entry point of a group `tangrad.*` names. The composition knows all of them from metadata alone; a
plugin's module is imported when something first needs it. What traces read are tables made from plugins (`rules.py`):
nothing here is on a hot path once those stand.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from importlib import invalidate_caches
from typing import Any

from tangrad.core.discovery import Index, cache_folder, discover
from tangrad.core.errors import PluginConflictError
from tangrad.core.plugin import Plugin, stands_for
from tangrad.core.policy import BY_HAND, Policy

__all__ = ["Composition", "Plugin", "Registration", "composition", "configure_plugins", "register"]


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
        self.lock = threading.RLock()
        self.policy = Policy(self._environment)
        self._from_environment = self.policy
        self._index: Index | None = None
        self._entries: dict[str, tuple[Plugin, ...]] = {}
        self._families: dict[str, dict[str, list[Plugin]]] = {}
        self._names: dict[str, dict[str, list[Plugin]]] = {}
        self._by_hand: list[Plugin] = []
        self._provenance: dict[int, tuple[Any, Plugin]] = {}
        self._listeners: list[Listener] = []
        self._checks: dict[str, Callable[[Plugin, Any], None]] = {}

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def index(self) -> Index:
        """What discovery found; read from metadata the first time."""
        index = self._index
        if index is None:
            with self.lock:
                index = self._index
                if index is None:
                    index = self._index = discover(self._paths, cache_folder(self._environment))
        return index

    def groups(self) -> tuple[str, ...]:
        """Return the names of the groups that have entries, sorted."""
        return tuple(sorted({*self.index.groups(), *(plugin.group for plugin in self._by_hand)}))

    def entries(self, group: str) -> tuple[Plugin, ...]:
        """Return the plugins of `group`, sorted by name and distribution; denied and broken ones are among them."""
        found = self._entries.get(group)
        return self._collect(group) if found is None else found

    def entries_for(self, group: str, family: str) -> tuple[Plugin, ...]:
        """Return the plugins of `group` that serve `family`: those named `family` or `family.suffix`."""
        families = self._families.get(group)
        if families is None:
            with self.lock:
                families = self._families[group] = _by(
                    self.entries(group), lambda plugin: plugin.name.partition(".")[0]
                )
        return tuple(families.get(family, ()))

    def find(self, group: str, name: str) -> Plugin | None:
        """Return the one plugin of `group` called `name`, or None.

        Raises:
            PluginConflictError: two distributions provide it and neither an override nor the user's preference decides.
        """
        names = self._names.get(group)
        if names is None:
            with self.lock:
                names = self._names[group] = _by(self.entries(group), lambda plugin: plugin.name)
        candidates = names.get(name, ())
        admitted = [plugin for plugin in candidates if plugin.denial is None]
        if len(admitted) > 1:
            return self._decide(group, name, admitted)
        return admitted[0] if admitted else candidates[0] if candidates else None

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
                if stands_for(plugin.value, obj):
                    return plugin
        return None

    def is_served(self, plugin: Plugin) -> bool:
        """Return whether the family and the kind that a rule set serves are installed; other plugins always are."""
        if not plugin.group.startswith("tangrad.rules."):
            return True
        if not self.entries_for("tangrad.primitives", plugin.name.partition(".")[0]):
            return False
        kind = plugin.group.removeprefix("tangrad.rules.")
        declared = {owner.name for owner in self.entries("tangrad.rule_kinds")}
        while kind:  # a platform's kind (`lower.xla.cuda`) is served where the general one (`lower.xla`) is
            if kind in declared:
                return True
            kind = kind.rpartition(".")[0]
        return False

    def _collect(self, group: str) -> tuple[Plugin, ...]:
        with self.lock:
            found = self._entries.get(group)
            if found is not None:
                return found
            index = self.index
            plugins: dict[tuple[str, str], Plugin] = {}
            twice: list[tuple[Plugin, str]] = []
            for name, value, distribution, version in index.rows(group):
                earlier = plugins.get((name, distribution))
                if earlier is not None:
                    twice.append((earlier, value))
                    continue
                plugins[name, distribution] = Plugin(self, group, name, value, distribution, version)
            in_order = [plugins[key] for key in sorted(plugins)]
            in_order.extend(plugin for plugin in self._by_hand if plugin.group == group)
            found = self._entries[group] = tuple(in_order)
        for plugin, value in twice:
            plugin.set_aside(
                PluginConflictError(f"the distribution declares the name twice: {plugin.value} and {value}")
            )
        return found

    def _decide(self, group: str, name: str, admitted: list[Plugin]) -> Plugin:
        overriding = [plugin for plugin in admitted if plugin.override]
        if len(overriding) == 1:
            return overriding[0]
        preferred = self.policy.preferred(group, name)
        for plugin in admitted:
            if plugin.distribution == preferred:
                return plugin
        rivals = " and ".join(
            f"{plugin.distribution} {plugin.version} ({plugin.value})".replace("  ", " ") for plugin in admitted
        )
        cell = f"{group.removeprefix('tangrad.')}:{name}"
        raise PluginConflictError(
            f"{name!r} of group {group!r} is provided by {rivals}. Uninstall or deny one of them, or choose one: "
            f"TANGRAD_PREFER='{cell}={admitted[0].distribution}', or "
            f"tangrad.core.configure_plugins(prefer={{'{cell}': '{admitted[0].distribution}'}})"
        )

    # --- loading ----------------------------------------------------------------------------------------------------

    def set_check(self, group: str, check: Callable[[Plugin, Any], None]) -> None:
        """Have `check(plugin, object)` look at each object loaded from `group`; what it raises sets the plugin aside.

        `tangrad.rules` stands for all groups `tangrad.rules.<kind>`.
        """
        self._checks[group] = check

    def check(self, plugin: Plugin, loaded: Any) -> None:
        """Run the check of the plugin's group, if there is one."""
        group = "tangrad.rules" if plugin.group.startswith("tangrad.rules.") else plugin.group
        check = self._checks.get(group)
        if check is not None:
            check(plugin, loaded)

    def publish(self, plugin: Plugin, loaded: Any) -> Any:
        """Make `loaded` the object of `plugin`; the first of several threads decides."""
        with self.lock:
            if plugin.provide(loaded):
                self._provenance.setdefault(id(loaded), (loaded, plugin))
        return plugin.load()

    # --- changing ---------------------------------------------------------------------------------------------------

    def register(
        self, obj: Any, *, group: str | None = None, name: str | None = None, override: bool = False
    ) -> Registration:
        """Add a plugin object by hand, for notebooks and tests.

        Args:
            obj: a primitive set, rule set, transformation, backend or hook object.
            group: its entry-point group; by default the object says itself (its method `plugin_entries()`).
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
            self._by_hand.extend(added)
            self._provenance.setdefault(id(obj), (obj, added[0]))
            self._thaw(added)
        self._notify(added)
        return Registration(self, added)

    def _registered(self, obj: Any, place: tuple[str, str], override: bool) -> Plugin:
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
            self._provenance = {key: known for key, known in self._provenance.items() if known[1] not in plugins}
            self._thaw(plugins)
        self._notify(plugins)

    def configure(
        self,
        *,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] | None = None,
        prefer: Mapping[str, str] | None = None,
    ) -> None:
        """See `configure_plugins`."""
        policy = self._from_environment.extended(allow, deny, prefer)
        with self.lock:
            self.policy = policy
            for plugins in self._entries.values():
                for plugin in plugins:
                    plugin.judge(policy)
        self._notify(None)

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
            self._entries = {}
            self._families = {}
            self._names = {}
            self._provenance = {key: known for key, known in self._provenance.items() if known[1] in self._by_hand}
        self._notify(None)

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Have `listener(plugins)` called after a change: with the plugins added or removed, or None for all.

        Returns:
            A function that takes the listener away again.
        """
        self._listeners.append(listener)

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    def _thaw(self, plugins: tuple[Plugin, ...]) -> None:
        for plugin in plugins:
            self._entries.pop(plugin.group, None)
            self._families.pop(plugin.group, None)
            self._names.pop(plugin.group, None)

    def _notify(self, plugins: tuple[Plugin, ...] | None) -> None:
        for listener in tuple(self._listeners):
            listener(plugins)


def _by(plugins: tuple[Plugin, ...], key: Callable[[Plugin], str]) -> dict[str, list[Plugin]]:
    found: dict[str, list[Plugin]] = {}
    for plugin in plugins:
        found.setdefault(key(plugin), []).append(plugin)
    return found


def _places(obj: Any, group: str | None, name: str | None) -> list[tuple[str, str]]:
    if group is not None and name is not None:
        return [(group if group.startswith("tangrad.") else f"tangrad.{group}", name)]
    describe = getattr(obj, "plugin_entries", None)
    if isinstance(obj, type) or not callable(describe):
        raise TypeError(
            f"cannot tell what {obj!r} of type {type(obj).__name__} is: expected a primitive set, rule set, "
            "transformation or backend, or the arguments group= and name="
        )
    places = [(group or own_group, name or own_name) for own_group, own_name in describe()]
    if not places:
        raise ValueError(f"{obj!r} is empty: it serves no family yet, so there is nothing to register")
    return places


_composition: Composition | None = None
_composition_lock = threading.Lock()


def composition() -> Composition:
    """Return the process-wide composition; the first call makes it."""
    global _composition
    found = _composition
    if found is None:
        with _composition_lock:
            found = _composition
            if found is None:
                found = _composition = Composition()
    return found


def register(obj: Any, *, group: str | None = None, name: str | None = None, override: bool = False) -> Registration:
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
    *,
    allow: Iterable[str] | None = None,
    deny: Iterable[str] | None = None,
    prefer: Mapping[str, str] | None = None,
) -> None:
    """Say which plugins may be used, and which of two rivals. What an earlier call said is replaced.

    Args:
        allow: patterns; only what they name is used. None: no such list.
        deny: patterns; what they name is not used, and nothing of it is imported.
        prefer: for a cell that two distributions claim (`'kind:primitive'`, `'api:name'`), the distribution to use.

    A pattern is `'distribution'`, `'distribution:group:name'` or `'kind:primitive'`, with wildcards. After first use
    the tables that plugins filled are made anew; modules that are imported already stay so.

    >>> from tangrad.core import configure_plugins
    >>> configure_plugins(deny=["some-plugin", "jvp:some_primitive"])
    >>> configure_plugins()
    """
    composition().configure(allow=allow, deny=deny, prefer=prefer)
