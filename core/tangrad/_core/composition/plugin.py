"""A plugin: one entry point, and how its object is loaded, published, or set aside; whose fault an exception is.

What is interrupted, or unfinished, is not broken. A time-out raises wherever the program happens to be, in the middle
of a plugin that does nothing wrong. It must reach the caller, the plugin stays as it was, and nothing is done again
meanwhile: what took too long would again. A signal handler, a `__del__`, a callback of an import runs in the middle of
anything. What it needs of a module whose body is not through is missing, and will be there a moment later.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar, overload

from tangrad._core.composition.hook_names import RULES
from tangrad._core.diagnostics.errors import BrokenPluginError, DeniedPluginError, PluginError, PluginWarning
from tangrad._core.diagnostics.source_info import callers_of, entries_of

E = TypeVar("E", bound=BaseException)
K = TypeVar("K")
V = TypeVar("V")

FORM: Any = overload(lambda: None)  # what a function with several forms is until the module comes to its body


class UnfinishedImportError(ImportError):
    """A plugin was asked for while a module that it needs is being imported: the plugin is not broken."""


# Not faults of a plugin: the next attempt may succeed.
CIRCUMSTANCES = (MemoryError, RecursionError, UnfinishedImportError)
# What a plugin's code may raise of itself. Any other is from outside: Ctrl-C, or an exception that another thread sent.
FAULTS = (Exception, SystemExit, GeneratorExit)


def own_fault(*kinds: type[E], again: Callable[[], object] | None = None) -> tuple[type[E], ...]:
    """Return `kinds`, for an `except` clause; none of them where what is being handled came from outside of the code.

    From outside comes what a signal's handler raises. So does what another thread sends, where the code can be called
    `again` to find that out: Python makes it without arguments, and a call that was interrupted works when it is
    repeated.

    >>> from tangrad.core.tools import own_fault
    >>> try:
    ...     1 / 0
    ... except own_fault(Exception) as error:
    ...     print(error)
    division by zero
    """
    error = sys.exc_info()[1]
    if not isinstance(error, kinds) or from_signal_handler(error):
        return ()
    return () if again is not None and not error.args and _works(again) else kinds


def _works(call: Callable[[], object]) -> bool:
    try:
        call()
    except Exception as error:
        return from_signal_handler(error)
    return True


def from_signal_handler(error: BaseException) -> bool:
    """Return whether a signal's handler has raised `error`: Python hands it the frame that it came upon.

    That frame called it, as far as tracebacks say, and no other function gets the frame of its caller as an argument.
    """
    for entry in entries_of(error.__traceback__):
        frame = entry.tb_frame
        names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        # The locals of others are not asked for: until Python 3.13 the frame keeps that copy, with an error in it that
        # keeps the frame.
        if frame.f_back and len(names) > 1 and any([frame.f_locals.get(name) is frame.f_back for name in names]):
            return True
    return False


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """`error` and all that it was raised from, or beside."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            pending += [one.__cause__, one.__context__]
            yield one


# --- modules that are being imported ---


def unfinished_module(error: BaseException) -> str | None:
    """Return the name of the module that `error` is about and that is being imported now; None where there is none.

    Modules whose own import has failed are no longer being imported when their error is looked at.
    """
    for one in chain_of(error):
        for module in _concerned(one):
            if module is not None and is_unfinished(module):
                return module.__name__
    return None


def is_unfinished(module: ModuleType | None) -> bool:
    """Return whether a module is being imported now."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _concerned(error: BaseException) -> Iterator[ModuleType | None]:
    """The modules that an error names, and those whose functions raised it."""
    if isinstance(error, ImportError):
        yield sys.modules.get(error.name or "")
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        yield error.obj
    for entry in entries_of(error.__traceback__):
        yield _module_of(entry.tb_frame.f_globals)


class Declared(dict[K, V]):
    """What modules have declared, each thing once; what a failed import has left, the module's next declares again."""

    def __init__(self) -> None:
        super().__init__()
        self._bodies: dict[K, dict[str, object] | None] = {}  # the names of modules that were being imported meanwhile

    def declare(self, key: K, value: V) -> bool:
        """Add a value; False where the key has another one."""
        body = self._bodies.get(key)
        if key in self and (body is None or _module_of(body) is not None):
            return False
        callers = callers_of(sys._getframe(1))
        names = next((frame.f_globals for frame in callers if frame.f_code.co_name == "<module>"), {})
        self._bodies[key] = names if getattr(names.get("__spec__"), "_initializing", False) else None
        self[key] = value
        return True


def _module_of(names: dict[str, Any]) -> ModuleType | None:
    module = sys.modules.get(names.get("__name__") or "")
    return module if module is not None and vars(module) is names else None


_CURE = "What denies it can be changed: TANGRAD_DENY, TANGRAD_ALLOW, tangrad.core.tools.configure_plugins"
_NOTHING = object()  # what a plugin has for an object before it is loaded


class Plugin:
    """One entry point, or what a hook object answers in the place of one: a name in a group, and its object.

    Attributes:
        group: the entry-point group, such as `tangrad.rules.jvp`.
        name: the entry's name, such as `elementwise` or `elementwise.fast`.
        value: where the object is: `module:attribute`.
        distribution: the normalised name of the distribution that ships it; `(by hand)` for `register`.
        version: that distribution's version.
        override: whether it was registered by hand to take precedence.
        denial: who denied it, and by which pattern; None where it is not denied.
        cause: why it was set aside, if it was.
    """

    __slots__ = (
        "__weakref__",
        "_object",
        "_owner",
        "_why_broken",
        "cause",
        "denial",
        "distribution",
        "group",
        "name",
        "override",
        "value",
        "version",
    )

    def __init__(self, owner: Any, group: str, name: str, value: str, distribution: str, version: str) -> None:
        self._owner, self.group, self.name, self.value = owner, group, name, value
        self.distribution, self.version = distribution, version
        self.override = False
        self._object: object = _NOTHING
        self.cause: BaseException | None = None
        self._why_broken = ""
        self.denial: str | None = owner.policy.denial(self)

    def __repr__(self) -> str:
        return f"<plugin {self.identity} ({self.status})>"

    @property
    def identity(self) -> str:
        """`distribution:group:name`, as allow and deny lists write it."""
        return f"{self.distribution}:{self.group}:{self.name}"

    @property
    def shipper(self) -> str:
        """The distribution and its version, for messages."""
        return f"{self.distribution} {self.version}".rstrip()

    @property
    def status(self) -> str:
        """`available`, `loaded`, `broken`, `denied`, or `dormant` (it serves what is not installed)."""
        if self.denial is not None:
            return "denied"
        if self.cause is not None:
            return "broken"
        if self._object is not _NOTHING:
            return "loaded"
        return "available" if self._owner.is_served(self) else "dormant"

    def provide(self, loaded: object) -> bool:
        """Make `loaded` the plugin's object; False if it has one or is set aside: the first of several threads wins."""
        if self._object is not _NOTHING or self.cause is not None:
            return False
        self._object = loaded
        return True

    def is_object(self, obj: object) -> bool:
        """Return whether `obj` is what this plugin has provided."""
        return self._object is obj

    def load(self) -> Any:
        """Return the object, importing its module the first time; it is kept once that module is through.

        Raises DeniedPluginError where a list excludes it, BrokenPluginError where it could not be loaded.
        """
        found = self._object
        if self.denial is None and found is not _NOTHING:
            return found
        refusal = self.refusal()
        if refusal is not None:
            raise refusal
        try:
            loaded = self._attempt()
        except CIRCUMSTANCES:
            raise
        except own_fault(*FAULTS) as error:
            self._try_again(error)
            raise  # the plugin is whole: the error came from outside, as that of a time-out does
        return loaded if is_unfinished(self._module()) else self._owner.publish(self, loaded)

    def _module(self) -> ModuleType | None:
        return sys.modules.get(split_value(self.value)[0])

    def _attempt(self) -> Any:
        """Import the module and look at the object.

        No lock of ours while a module runs: another thread may hold its import lock and wait for us.
        """
        try:
            loaded = self._resolve()
            self._owner.check(self, loaded)
        except CIRCUMSTANCES:
            raise
        except FAULTS as error:
            unfinished = unfinished_module(error)
            if unfinished is None:
                raise
            raise self._unfinished(unfinished) from error
        if loaded is FORM or (self.group.startswith(RULES) and is_unfinished(self._module())):  # it is still to come
            raise self._unfinished(split_value(self.value)[0])
        return loaded

    def _unfinished(self, module: str) -> UnfinishedImportError:
        whose = "its own module" if module == split_value(self.value)[0] else "module"
        return UnfinishedImportError(f"plugin {self.identity} was needed while {whose} {module!r} is being imported")

    def _try_again(self, first: BaseException) -> None:
        """Load what has raised `first` again: a handler's exception does not come back, a fault does.

        Raises BrokenPluginError, and sets the plugin aside, where it fails in the same place, or three times.
        """
        for _ in range(2):
            try:
                self._owner.publish(self, self._attempt())
                return
            except CIRCUMSTANCES:
                raise first from None
            except own_fault(*FAULTS) as error:
                if _place_of(error) == _place_of(first):
                    break
        self.set_aside(first)
        raise BrokenPluginError(self._why_broken) from self.cause

    def refusal(self) -> PluginError | None:
        """The error that loading it raises without trying: it is denied, or was set aside. None where it is neither."""
        if self.denial is not None:
            return DeniedPluginError(f"plugin {self.identity} is needed but {self.denial}. {_CURE}")
        if self.cause is None:
            return None
        error = BrokenPluginError(self._why_broken)
        error.__cause__ = self.cause
        return error

    def _resolve(self) -> object:
        module_name, attribute = split_value(self.value)
        found: object = import_module(module_name)
        for part in attribute.split(".") if attribute else ():
            found = getattr(found, part)
        return found

    def set_aside(self, cause: BaseException, reason: str = "it could not be loaded") -> None:
        """Quarantine the plugin: one warning now, a BrokenPluginError with `cause` whenever it is needed."""
        with self._owner.lock:
            if self.cause is not None:
                return
            where = _line_of(cause, self.value)
            what = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
            self._why_broken = (
                f"plugin {self.name!r} of group {self.group!r} ({self.value}), shipped by {self.shipper}, is set aside "
                f"because {reason}: {what}{where}"
            )
            self._object = _NOTHING
            self.cause = _without_frames(cause)
        warnings.warn(self._why_broken, PluginWarning, stacklevel=2)


def check_type(plugin: Plugin, loaded: object, expected: type) -> None:
    """Raise TypeError where the object of a plugin is of another type than its group has."""
    if not isinstance(loaded, expected):
        raise TypeError(f"expected {expected.__name__}, got {loaded!r} of type {type(loaded).__name__}")


def flat(answers: Any) -> list[Plugin]:
    """Return the plugins in nested lists of answers."""
    found: list[Plugin] = []
    for answer in answers or ():
        found += [answer] if isinstance(answer, Plugin) else flat(answer)
    return found


def split_value(value: str) -> tuple[str, str]:
    """Return module and attribute of an entry point's value, without extras (`module:attribute [extra]`).

    Raises ValueError for what is neither `module` nor `module:attribute`.
    """
    module, _, attribute = (part.strip() for part in value.partition("[")[0].partition(":"))
    parts = module.split(".") + (attribute.split(".") if attribute else [])
    if not all(part.isidentifier() for part in parts):
        raise ValueError(f"{value!r} is not 'module:attribute'")
    return module, attribute


def names_object(value: str, obj: object) -> bool:
    """Return whether an entry point's value leads to `obj`, as far as that is known without importing anything."""
    try:
        module, attribute = split_value(value)
    except ValueError:
        return False
    found = sys.modules.get(module)
    for part in attribute.split(".") if attribute else ():
        found = getattr(found, "__dict__", {}).get(part)
    return found is obj and obj is not None


def _place_of(error: BaseException) -> tuple[type, str, int]:
    """What an error is and where it was raised, as far as two of them can be compared."""
    file, line = "", 0
    for entry in entries_of(error.__traceback__):
        file, line = entry.tb_frame.f_code.co_filename, entry.tb_lineno
    return type(error), file, line


def _line_of(error: BaseException, value: str) -> str:
    """Return, in words, the innermost line of the plugin's own package that an error has passed; "" if it has none."""
    package, found = value.partition(":")[0].partition(".")[0], ""
    for entry in entries_of(error.__traceback__):
        code = entry.tb_frame.f_code
        module = str(entry.tb_frame.f_globals.get("__name__") or "")
        if code.co_filename != __file__ and module.partition(".")[0] == package:
            found = f" ({code.co_filename}:{entry.tb_lineno}, in {code.co_name})"
    return found


def _without_frames(error: BaseException) -> BaseException:
    """Return `error` with its traceback as a note: the real one would keep the frames of running functions alive."""
    from traceback import format_tb  # only for broken plugins

    lines = [line for line in format_tb(error.__traceback__) if "importlib" not in line and __file__ not in line]
    if lines:
        error.add_note("Where it was raised, when the plugin was first needed:\n" + "".join(lines).rstrip())
    for one in chain_of(error):
        one.__traceback__ = None
    return error
