"""The compile-time hooks, for those who trace, lower and compile; kept away from what runs often.

pluggy orders and calls the implementations. `hooks.active` is None, or the names of the hooks that some plugin
implements; a dispatch loop that wants to report cache hits reads `hooks.cache_hit_observers`, None or a tuple, and
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from tangrad._core.composition.hook_names import BEFORE_APPLY, PASS, PROGRAM_HOOKS, P, Program
from tangrad._core.composition.registry import Composition, composition
from tangrad._core.settings.threads import thread

if TYPE_CHECKING:
    from tangrad._core.composition.manager import Manager

F = TypeVar("F", bound=Callable[..., object])


@overload
def hookimpl(function: F) -> F: ...


@overload
def hookimpl(function: None = None, **options: object) -> Callable[[F], F]: ...


def hookimpl(function: Callable[..., object] | None = None, **options: object) -> object:
    """Mark a function as the implementation of the hook that has its name.

    Args:
        function: the function; without it, a decorator is returned.
        options: those of `pluggy.HookimplMarker`: `wrapper`, `tryfirst`, `trylast`, `specname`, `optionalhook`.

    >>> from tangrad.core import hookimpl
    >>> @hookimpl
    ... def tangrad_compiled(context, seconds):
    ...     print(context.function_name, seconds)
    """
    from pluggy import HookimplMarker  # 3 ms that importing the kernel does not pay

    marker: Any = HookimplMarker("tangrad")
    return marker(**options) if function is None else marker(function, **options)


class HookContext(NamedTuple):
    """What a hook gets to know about the program at hand.

    Attributes:
        function_name: the name of the user's function.
        backend: the name of the backend it is for, or None where none is chosen yet.
        platform: the backend's platform (`cpu`, `cuda`, ...), or None.
        options: further facts (`donated`, `devices`, ...): what there is depends on the transformation.
    """

    function_name: str
    backend: str | None = None
    platform: str | None = None
    options: Mapping[str, Any] = MappingProxyType({})


class Hooks:
    """The compile-time hooks of a composition, ready to call. `shortest`: shorter programs no pass wants to see."""

    __slots__ = ("_composition", "_loaded", "active", "cache_hit_observers", "shortest")

    def __init__(self) -> None:
        self._composition: Composition | None = None
        self._loaded, self.shortest = False, 0
        self.active: tuple[str, ...] | None = None
        self.cache_hit_observers: tuple[object, ...] | None = None

    # --- what transformations and backends call ---

    def observes(self, hook: str) -> bool:
        """Whether some plugin implements `hook`, so that it is worth collecting its arguments."""
        if not self._loaded and not thread.in_hook:
            self.load()
        return self.active is not None and hook in self.active and not thread.in_hook

    def run_passes(self, closed_jaxpr: P, context: HookContext) -> P:
        """Return `closed_jaxpr` after every installed pass.

        Raises BrokenPluginError where one raised, or returned what is no program of the same type.
        """
        if not self.observes(PASS):
            return closed_jaxpr
        program = Program(closed_jaxpr)
        self._call(PASS, closed_jaxpr=program, context=context)
        return program.closed_jaxpr

    def before_apply(self, primitive: object, avals: object, params: object, context: HookContext) -> None:
        """Ask the policies whether a primitive may be applied. Raises what they raise."""
        self._call(BEFORE_APPLY, primitive=primitive, avals=avals, params=params, context=context)

    def traced(self, context: HookContext, closed_jaxpr: object, seconds: float) -> None:
        """Report a trace."""
        self._call("tangrad_traced", context=context, closed_jaxpr=closed_jaxpr, seconds=seconds)

    def lowered(self, context: HookContext, lowered: object, seconds: float) -> None:
        """Report a lowering."""
        self._call("tangrad_lowered", context=context, lowered=lowered, seconds=seconds)

    def compiled(self, context: HookContext, executable: object, seconds: float) -> None:
        """Report a compilation."""
        self._call("tangrad_compiled", context=context, executable=executable, seconds=seconds)

    def cache_hit(self, context: HookContext, cache: str) -> None:
        """Report a program found in `cache`. In a dispatch loop: only if `cache_hit_observers` is not None."""
        self._call("tangrad_cache_hit", context=context, cache=cache)

    def cache_miss(self, context: HookContext, cache: str, reason: str) -> None:
        """Report that a program has to be made."""
        self._call("tangrad_cache_miss", context=context, cache=cache, reason=reason)

    # --- calling ---

    def _call(self, hook: str, **values: object) -> None:
        if self.observes(hook) and self._composition is not None:
            getattr(self._composition.manager.hook, hook)(**values)

    def load(self) -> None:
        """Load the hook plugins, if that has not been done. Those that cannot be loaded are set aside."""
        owner = composition()
        if self._composition is not owner:
            owner.hook_listeners.append(self._publish)
            owner.on_change(self._forget)
            self._composition = owner
        manager = owner.manager
        self._publish(manager)
        self._loaded = not manager.is_loading()  # a plugin's module may trace or compile while it is imported

    def _forget(self, plugins: tuple[object, ...] | None) -> None:
        self._loaded = self._loaded and plugins is not None  # None: other distributions may be installed

    def _publish(self, manager: Manager) -> None:
        callers = {hook: getattr(manager.hook, hook).get_hookimpls() for hook in PROGRAM_HOOKS}
        self.cache_hit_observers = tuple(callers["tangrad_cache_hit"]) or None
        self.shortest = min([getattr(one.function, "least_equations", 0) for one in callers[PASS]], default=0)
        self.active = tuple(sorted(hook for hook, implementations in callers.items() if implementations)) or None


hooks = Hooks()
