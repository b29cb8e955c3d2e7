"""Calls the compile-time hooks of `hookspecs.py`, and keeps pluggy away from everything that runs often.

pluggy validates and orders the implementations once; what is called afterwards are tuples of plain functions. Without
hook plugins pluggy is not even imported. `hooks.active` is None, or the names of the hooks that some plugin implements;
a dispatch loop that wants to report cache hits reads `hooks.cache_hit_observers`, None or a tuple, and nothing else.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad.core.errors import BrokenPluginError
from tangrad.core.plugins import Composition, Plugin, composition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangrad.core.jaxpr import ClosedJaxpr

GROUP = "tangrad.hooks"


def hookimpl(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Mark a function as the implementation of the hook that has its name.

    Args:
        function: the function; without it, a decorator is returned.
        options: those of `pluggy.HookimplMarker`: `tryfirst`, `trylast`, `specname`, `optionalhook`.

    >>> from tangrad.core import hookimpl
    >>> @hookimpl
    ... def tangrad_compiled(context, seconds):
    ...     print(context.function_name, seconds)
    """
    from pluggy import HookimplMarker  # 3 ms that nobody pays who has no hooks

    marker: Any = HookimplMarker("tangrad")
    return marker(**options) if function is None else marker(function, **options)


class HookContext:
    """What a hook is told about the program at hand.

    Attributes:
        function_name: the name of the user's function. backend: the name of the backend it is for, or None where none
        is chosen yet. platform: the backend's platform (`cpu`, `cuda`, ...), or None. options: further facts as a
        read-only mapping (`donated`, `devices`, ...): what there is depends on the transformation.
    """

    __slots__ = ("backend", "function_name", "options", "platform")

    def __init__(
        self,
        function_name: str,
        backend: str | None = None,
        platform: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.function_name = function_name
        self.backend = backend
        self.platform = platform
        self.options = options or {}

    def __repr__(self) -> str:
        return f"HookContext({self.function_name!r}, backend={self.backend!r}, platform={self.platform!r})"


class _Implementation(NamedTuple):
    """One hook function: its plugin, and the arguments it wants."""

    plugin: Plugin
    function: Callable[..., Any]
    arguments: tuple[str, ...]

    def call(self, values: dict[str, Any]) -> Any:
        return self.function(*[values[name] for name in self.arguments])


class _Inside(threading.local):
    """Whether this thread is inside a hook: a hook that compiles would otherwise call itself without end."""

    busy = False


class Hooks:
    """The hook implementations of a composition, ready to call."""

    __slots__ = ("_composition", "_implementations", "_inside", "_loaded", "_lock", "active", "cache_hit_observers")

    def __init__(self) -> None:
        self._composition: Composition | None = None
        self._implementations: dict[str, tuple[_Implementation, ...]] = {}
        self._inside = _Inside()
        self._loaded = False
        self._lock = threading.Lock()
        self.active: tuple[str, ...] | None = None
        self.cache_hit_observers: tuple[_Implementation, ...] | None = None

    # --- what transformations and backends call ---------------------------------------------------------------------

    def run_passes(self, closed_jaxpr: ClosedJaxpr, context: HookContext) -> ClosedJaxpr:
        """Return `closed_jaxpr` after every installed pass.

        Raises:
            BrokenPluginError: a pass raised, or returned what is no program of the same type; it names the plugin.
        """
        for implementation in self._implementations_of("tangrad_jaxpr_pass"):
            closed_jaxpr = self._run_pass(implementation, closed_jaxpr, context)
        return closed_jaxpr

    def traced(self, context: HookContext, closed_jaxpr: ClosedJaxpr, seconds: float) -> None:
        """Report a trace."""
        self._notify("tangrad_traced", {"context": context, "closed_jaxpr": closed_jaxpr, "seconds": seconds})

    def lowered(self, context: HookContext, lowered: Any, seconds: float) -> None:
        """Report a lowering."""
        self._notify("tangrad_lowered", {"context": context, "lowered": lowered, "seconds": seconds})

    def compiled(self, context: HookContext, executable: Any, seconds: float) -> None:
        """Report a compilation."""
        self._notify("tangrad_compiled", {"context": context, "executable": executable, "seconds": seconds})

    def cache_hit(self, context: HookContext, cache: str) -> None:
        """Report a program found in `cache`. In a dispatch loop: only if `cache_hit_observers` is not None."""
        self._notify("tangrad_cache_hit", {"context": context, "cache": cache})

    def cache_miss(self, context: HookContext, cache: str, reason: str) -> None:
        """Report that a program has to be made."""
        self._notify("tangrad_cache_miss", {"context": context, "cache": cache, "reason": reason})

    # --- calling ----------------------------------------------------------------------------------------------------

    def _implementations_of(self, hook: str) -> tuple[_Implementation, ...]:
        if self._inside.busy:
            return ()
        if not self._loaded:
            self.load()
        return self._implementations.get(hook, ())

    def _run_pass(
        self, implementation: _Implementation, closed_jaxpr: ClosedJaxpr, context: HookContext
    ) -> ClosedJaxpr:
        plugin = implementation.plugin
        self._inside.busy = True
        try:
            result = implementation.call({"closed_jaxpr": closed_jaxpr, "context": context})
            if result is None:
                return closed_jaxpr
            _check_pass_result(closed_jaxpr, result)
        except Exception as error:
            raise BrokenPluginError(
                f"the jaxpr pass of plugin {plugin.identity} ({plugin.value}, {plugin.distribution} {plugin.version}) "
                f"failed on {context.function_name!r}: {type(error).__name__}: {error}. "
                f"To compile without it: TANGRAD_DENY='{plugin.identity}'"
            ) from error
        finally:
            self._inside.busy = False
        return result  # type: ignore[no-any-return]

    def _notify(self, hook: str, values: dict[str, Any]) -> None:
        for implementation in self._implementations_of(hook):
            self._inside.busy = True
            try:
                implementation.call(values)
            except Exception as error:
                self._drop(implementation.plugin)
                implementation.plugin.set_aside(error, f"its hook {hook} raised")
            finally:
                self._inside.busy = False

    # --- collecting -------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Load the hook plugins, if that has not been done. Those that cannot be loaded are set aside."""
        owner = composition()
        if self._composition is not owner:
            self._composition = owner
            owner.on_change(self._changed)
        plugins = [plugin for plugin in owner.entries(GROUP) if plugin.status in ("available", "loaded")]
        # Imports happen before the lock is taken: a plugin's module may trace or compile while it is imported.
        loaded = self._import(plugins)
        implementations = _collect(loaded) if loaded else {}
        with self._lock:
            self._publish(implementations)
            self._loaded = True

    def _import(self, plugins: list[Plugin]) -> list[tuple[Plugin, Any]]:
        loaded = []
        outside, self._inside.busy = self._inside.busy, True
        try:
            for plugin in plugins:
                try:
                    loaded.append((plugin, plugin.load()))
                except BrokenPluginError:
                    continue
        finally:
            self._inside.busy = outside
        return loaded

    def _publish(self, implementations: dict[str, tuple[_Implementation, ...]]) -> None:
        self._implementations = implementations
        self.cache_hit_observers = implementations.get("tangrad_cache_hit")
        self.active = tuple(sorted(implementations)) or None

    def _drop(self, plugin: Plugin) -> None:
        with self._lock:
            kept = {
                hook: tuple(one for one in implementations if one.plugin is not plugin)
                for hook, implementations in self._implementations.items()
            }
            self._publish({hook: implementations for hook, implementations in kept.items() if implementations})

    def _changed(self, plugins: tuple[Plugin, ...] | None) -> None:
        if self._loaded and (plugins is None or any(plugin.group == GROUP for plugin in plugins)):
            self._loaded = False
            self.load()


def _collect(loaded: list[tuple[Plugin, Any]]) -> dict[str, tuple[_Implementation, ...]]:
    """Return hook name -> implementations in calling order, as pluggy validates and orders them."""
    import pluggy

    from tangrad.core import hookspecs

    manager = pluggy.PluginManager("tangrad")
    manager.add_hookspecs(hookspecs)
    plugin_of: dict[int, Plugin] = {}
    for plugin, hook_object in reversed(loaded):  # pluggy calls what was registered last first
        try:
            manager.register(hook_object, plugin.identity)
            plugin_of[id(hook_object)] = plugin
            _refuse_unsuitable(manager, hook_object)
        except Exception as error:
            if manager.has_plugin(plugin.identity):
                manager.unregister(name=plugin.identity)
            plugin.set_aside(error, "its hooks are not valid")
    found: dict[str, tuple[_Implementation, ...]] = {}
    for hook in (name for name in vars(hookspecs) if name.startswith("tangrad_")):
        implementations = tuple(
            _Implementation(plugin_of[id(one.plugin)], one.function, tuple(one.argnames))
            for one in reversed(getattr(manager.hook, hook).get_hookimpls())
        )
        if implementations:
            found[hook] = implementations
    return found


def _refuse_unsuitable(manager: Any, hook_object: Any) -> None:
    manager.check_pending()
    callers = manager.get_hookcallers(hook_object)
    if not callers:
        raise TypeError(
            f"{hook_object!r} implements no hook; expected functions named tangrad_jaxpr_pass, tangrad_traced, ... "
            "that are marked with tangrad.core.hookimpl"
        )
    for caller in callers:
        for one in caller.get_hookimpls():
            if one.plugin is hook_object and (one.hookwrapper or one.wrapper):
                raise TypeError(f"{caller.name} is a wrapper; hooks of tangrad are called one after the other")


def _check_pass_result(before: ClosedJaxpr, after: Any) -> None:
    from tangrad.core.jaxpr import ClosedJaxpr
    from tangrad.core.jaxpr_check import check_jaxpr

    if not isinstance(after, ClosedJaxpr):
        raise TypeError(f"a jaxpr pass returns a ClosedJaxpr or None, not {type(after).__name__}")
    if list(after.in_avals) != list(before.in_avals) or list(after.out_avals) != list(before.out_avals):
        raise TypeError(
            "a jaxpr pass keeps the types of inputs and outputs: "
            f"they were {_types(before)}, and are {_types(after)} after it"
        )
    check_jaxpr(after)


def _types(closed_jaxpr: ClosedJaxpr) -> str:
    inputs = ", ".join(aval.str_short() for aval in closed_jaxpr.in_avals)
    outputs = ", ".join(aval.str_short() for aval in closed_jaxpr.out_avals)
    return f"({inputs}) -> ({outputs})"


hooks = Hooks()
