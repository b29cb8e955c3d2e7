"""Settings: global, from the environment, and local to a thread.

A setting's value is an attribute of one `threading.local`: the class attribute is the global value, an instance
attribute is one thread's override. Reading is therefore a single attribute lookup (`thread.enable_x64`), with no
dictionary and no environment variable on a hot path. The same object has what a thread does: see `threads`.

Settings that change results are part of the key of every compilation cache: `cache_context()` is that part.

Here are the machinery and the settings that the kernel reads itself. Every other setting is defined where it is read,
in a module that the reader imports; an entry of the group `tangrad.settings` names it, so that `table` finds it before
that.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import ContextDecorator
from types import SimpleNamespace
from typing import Any, TypeVar

from tangrad._core.settings.threads import ThreadState as ThreadState
from tangrad._core.settings.threads import thread as thread

# What all threads see. An object of its own: reading it costs a tenth of what reading `thread` does.
# `context` has name, type and global value of those settings that change results and no longer have the value that the
# process began with: one that is defined late changes no key, for what was compiled before has not read it. It and
# `thread.overrides` are two parts of a key: a global change must reach threads inside an override of another setting.
shared = SimpleNamespace(context=())


def cache_context() -> tuple[object, object]:
    """The settings that change results, as a hashable part of a cache key."""
    return shared.context, thread.overrides


T = TypeVar("T")


class _Override(ContextDecorator):
    """A context manager that sets one setting for the current thread, and restores it whatever happens. A decorator
    too: the setting then holds during each call."""

    __slots__ = ("_previous", "_setting", "_value")

    def __init__(self, setting: Setting, value: object) -> None:
        self._setting = setting
        self._value = value
        self._previous: list[tuple[bool, object, tuple[tuple[str, object], ...]]] = []

    def _recreate_cm(self) -> _Override:  # each call of a decorated function has its own, in its own thread
        return _Override(self._setting, self._value)

    def __enter__(self) -> None:
        name = self._setting.name
        local = thread.__dict__
        self._previous.append((name in local, local.get(name), thread.overrides))
        try:
            setattr(thread, name, self._value)
            self._setting.notify(self._value)
            if self._setting.changes_results:
                others = tuple(item for item in thread.overrides if item[0] != name)
                thread.overrides = (*others, (name, self._value))
        except BaseException:  # an interrupt, or what a listener raises: `__exit__` will not be called
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        previous = self._previous[-1]
        try:
            self._restore(*previous)
        except BaseException:  # an interrupt halfway
            self._restore(*previous)
            raise
        finally:
            del self._previous[-1]

    def _restore(self, present: bool, value: object, overrides: tuple[tuple[str, object], ...]) -> None:
        local = thread.__dict__
        if present:
            local[self._setting.name] = value
        else:
            local.pop(self._setting.name, None)
        thread.overrides = overrides


class Setting:
    """One named setting. Calling it with a value gives a context manager local to the thread.

    >>> from tangrad._core.settings.config import enable_x64
    >>> with enable_x64(True):
    ...     enable_x64.value
    True
    """

    def __init__(
        self,
        name: str,
        default: object,
        doc: str,
        *,
        parse: Callable[[str], object],
        check: Callable[..., Any],
        changes_results: bool,
    ) -> None:
        self.name, self.default, self.doc = name, default, doc
        self.parse, self.check, self.changes_results = parse, check, changes_results
        self.initial: object = None  # the value that the process began with
        self.defined_in = ""  # the module
        self.rejected: str | None = None  # what is wrong with the environment variable, where that is not used
        self._listeners: list[Callable[[object], None]] = []

    def __repr__(self) -> str:
        return f"<setting {self.name} = {self.value!r}>"

    @property
    def value(self) -> Any:
        return getattr(thread, self.name)

    @property
    def environment_variable(self) -> str:
        return "TANGRAD_" + self.name.upper()

    def __call__(self, new_val: object = True) -> _Override:
        return _Override(self, self._checked(new_val))

    def set(self, value: object) -> None:
        """Set the global value, seen by every thread that does not override it."""
        value = self._checked(value)
        setattr(ThreadState, self.name, value)
        if self.changes_results:
            shared.context = _changed_values()
        self.notify(value)

    def on_change(self, listener: Callable[[Any], None]) -> None:
        """Have `listener(value)` called now, and with each value that is set from now on, globally or by a thread."""
        self._listeners.append(listener)
        listener(self.value)

    def notify(self, value: object) -> None:
        """Call the listeners."""
        for listener in self._listeners:
            listener(value)

    def _checked(self, value: object) -> object:
        try:
            return self.check(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"setting {self.name!r} does not take {value!r}: {error}") from None

    def plugin_entries(self) -> list[tuple[str, str]]:
        return [("tangrad.settings", self.name)]

    def from_environment(self) -> object:
        """The value in the environment, or the default; that, with a warning, also for a value that is none."""
        text = os.environ.get(self.environment_variable)
        if text is None:
            return self.default
        try:
            return self.check(self.parse(text))
        except (TypeError, ValueError) as error:
            self.rejected = f"{self.environment_variable}={text!r}: {error}"
            warnings.warn(
                f"the environment variable {self.rejected}; the default, {self.default!r}, is used",
                UserWarning,
                stacklevel=3,
            )
            return self.default


SETTINGS: dict[str, Setting] = {}


def _changed_values() -> tuple[tuple[str, type, object], ...]:
    changed = []
    for setting in SETTINGS.values():
        value = getattr(ThreadState, setting.name)
        if setting.changes_results and (type(value) is not type(setting.initial) or value != setting.initial):
            changed.append((setting.name, type(value), value))
    return tuple(changed)


def define_setting(
    name: str,
    default: object,
    doc: str,
    *,
    parse: Callable[..., object] | type,
    check: Callable[..., object] | None = None,
    changes_results: bool = False,
) -> Setting:
    """Define a setting, which its reader then reads as `thread.<name>`.

    Args:
        name: of the attribute, of the environment variable `TANGRAD_<NAME>`, and of the entry in `tangrad.settings`.
        default: the value where neither the environment nor code sets another.
        doc: one sentence for tables.
        parse: from the text of the environment variable to the value; check: validates what code passes, and returns
            it. Both raise ValueError or TypeError that names what is expected.
        changes_results: whether programs that were compiled under another value must not be used.

    Raises ValueError where another module has defined it.
    """
    setting = Setting(name, default, doc, parse=parse, check=check or (lambda v: v), changes_results=changes_results)
    setting.defined_in = _module_of_caller()
    earlier = SETTINGS.get(name)
    if earlier is not None and earlier.defined_in != setting.defined_in:
        raise ValueError(
            f"the setting {name!r} is declared twice: in {earlier.defined_in}, and in {setting.defined_in}. "
            "One of them must rename it; until then TANGRAD_DENY=<distribution> does without one"
        )
    setting.initial = setting.from_environment()
    SETTINGS[name] = setting
    setting.set(setting.initial)
    return setting


def _module_of_caller() -> str:
    """The module that defines a setting: the first one that is not this one, or this one where it runs itself."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__") == __name__ and frame.f_code.co_name != "<module>":
        frame = frame.f_back or frame
    return str(frame.f_globals.get("__name__"))


# --- how values are read and checked ---


def parse_bool(text: str) -> bool:
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("expected one of 1, 0, true, false, yes, no, on, off")


def check_bool(value: bool | str) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected True or False")
    return value


def one_of(*choices: object) -> Callable[[T], T]:
    """Return a check for settings: the value if it is one of `choices`, else ValueError.

    >>> from tangrad.core.settings import one_of
    >>> one_of("off", "on")("on")
    'on'
    """

    def check(value: T) -> T:
        if value not in choices:
            raise ValueError(f"expected one of {', '.join(map(repr, choices))}")
        return value

    return check


def optional_text(text: str) -> str | None:
    """Read a text from an environment variable: without spaces around it; None where nothing is left.

    >>> from tangrad.core.settings import optional_text
    >>> optional_text(" float32 "), optional_text("")
    ('float32', None)
    """
    return text.strip() or None


def parse_optional_integer(text: str) -> int | None:
    return int(text) if text.strip() else None


def check_optional_text(value: str | None) -> str | None:
    """Check a setting: a string or None. Raises TypeError for anything else.

    >>> from tangrad.core.settings import check_optional_text
    >>> check_optional_text("cpu")
    'cpu'
    """
    if value is not None and not isinstance(value, str):
        raise TypeError("expected a string or None")
    return value


def check_device(value: T) -> T:
    """Check a setting: None, a device, or the name of a backend or platform, with or without the number of a device.

    Which devices there are is not known before a backend is loaded. Raises TypeError or ValueError.

    >>> from tangrad._core.settings.config import check_device
    >>> check_device("cpu:1")
    'cpu:1'
    """
    if isinstance(value, str):
        if not re.fullmatch(r"[A-Za-z_][\w.-]*(:\d+)?", value):
            raise ValueError("expected the name of a backend or platform, such as 'cpu', or a device, such as 'cpu:1'")
    elif value is not None and not hasattr(value, "backend"):
        raise TypeError("expected a device, such as tangrad.devices()[0], a string, or None")
    return value


def check_optional_positive(value: Any) -> int | None:
    """Check a setting: a positive integer or None. Raises TypeError for other types, ValueError for 0 and below.

    >>> from tangrad.core.settings import check_optional_positive
    >>> check_optional_positive(8)
    8
    """
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (is_integer and value > 0):
        raise (ValueError if is_integer else TypeError)("expected a positive integer or None")
    return value  # type: ignore[no-any-return]


def define_flag(name: str, doc: str, *, default: bool = False, changes_results: bool = False) -> Setting:
    """Define a setting that is True or False; environment variables say 1, 0, true, false, on or off.

    Args:
        name: as in `tangrad.config`; `TANGRAD_<NAME>` in the environment.
        doc: one sentence for the table of settings.
        default: the value unless another is given.
        changes_results: whether compiled programs depend on it.
    """
    return define_setting(name, default, doc, parse=parse_bool, check=check_bool, changes_results=changes_results)


def define_choice(
    name: str, default: str | None, choices: tuple[str, ...], doc: str, *, changes_results: bool = True
) -> Setting:
    """Define a setting that is one of a few words.

    Args:
        name: as in `tangrad.config`; `TANGRAD_<NAME>` in the environment.
        default: the value unless another is given; where it is None, None is one of the choices.
        choices: all values, in lower case.
        doc: one sentence for the table of settings.
        changes_results: whether compiled programs depend on it.
    """
    check = one_of(*choices) if default else one_of(*choices, None)
    parse = lambda text: check(text.strip().lower() or default)
    return define_setting(name, default, doc, parse=parse, check=check, changes_results=changes_results)


# --- the settings of the kernel ---

enable_x64 = define_flag("enable_x64", "Allow 64-bit dtypes; without it they become 32-bit.", changes_results=True)
explicit_x64_dtypes = define_choice(
    "explicit_x64_dtypes", "warn", ("warn", "error", "allow"), "What names of 64-bit dtypes give while they are off."
)


def without_x64() -> _Override:
    """`disable_x64` under `tangrad.experimental`: a context manager within which 64-bit dtypes become 32-bit.

    >>> import tangrad
    >>> from tangrad.experimental import disable_x64
    >>> with disable_x64():
    ...     tangrad.config.enable_x64
    False
    """
    return enable_x64(False)


disable_jit = define_flag(
    "disable_jit", "Run jitted functions as plain Python with concrete values.", changes_results=True
)
debug_nans = define_flag(
    "debug_nans", "Raise FloatingPointError at the operation that makes a NaN.", changes_results=True
)
debug_infs = define_flag(
    "debug_infs", "Raise FloatingPointError at the operation that makes an infinity.", changes_results=True
)
check_tracer_leaks = define_flag(
    "check_tracer_leaks", "Raise an error where a tracer outlives its trace.", changes_results=True
)
check_jaxprs = define_flag("check_jaxprs", "Type-check every jaxpr that is staged or transformed.")
log_compiles = define_flag("log_compiles", "Log each tracing and compilation, with its time.")
backend = define_setting(
    "backend",
    None,
    "The name of the backend for new arrays; None: the best that is installed.",
    parse=optional_text,
    check=check_optional_text,
    changes_results=True,
)
default_device = define_setting(
    "default_device",
    None,
    "The device on which new arrays are made: a device, or a text such as 'cpu' or 'xla:1'.",
    parse=lambda text: check_device(optional_text(text)),
    check=check_device,
    changes_results=True,
)
traceback_filtering = define_choice(
    "traceback_filtering",
    "auto",
    ("auto", "off"),
    "Whether tracebacks leave out the framework's own frames: 'auto' does, 'off' does not.",
    changes_results=False,
)


def is_checking_values() -> bool:
    """Whether results are to be checked for NaNs or infinities, in this thread, now."""
    return bool(thread.debug_nans or thread.debug_infs)
