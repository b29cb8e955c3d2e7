"""Settings: global, from the environment, and local to a thread.

A setting's value is an attribute of one `threading.local`: the class attribute is the global value, an instance
attribute
is one thread's override. Reading is therefore a single attribute lookup (`thread.enable_x64`), with no dictionary and
no
environment variable on a hot path. The same object holds the thread's current trace and name stack.

Settings that change results are part of the key of every compilation cache: `cache_context()` is that part.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tangrad.core.trace import Trace


class ThreadState(threading.local):
    """What one thread is doing: its trace, its name stack, its overrides of settings."""

    trace: Trace
    name_stack: tuple[str, ...] = ()
    axis_environment: tuple[tuple[Any, int], ...] = ()
    # Part of the keys of caches, beside `shared.context`.
    overrides: tuple[tuple[str, Any], ...] = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class Context:
    """The global values of the settings that change results: one object per combination, so that it hashes fast."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"Context{self.values}"


_contexts: dict[Any, Context] = {}


def _interned_context(values: tuple[Any, ...]) -> Context:
    key = tuple([(type(value), value) for value in values])
    if len(_contexts) > 256:
        _contexts.clear()
    return _contexts.setdefault(key, Context(values))


class _Shared:
    """What all threads see. An object of its own: reading it costs a tenth of what reading `thread` does.

    Attributes:
      context: the global values of the settings that change results. It and `thread.overrides` are two parts of a key,
        because a global change must reach threads that are inside an override of another setting.
    """

    __slots__ = ("context",)

    def __init__(self) -> None:
        self.context = Context(())


shared = _Shared()
thread = ThreadState()


def cache_context() -> tuple[Any, Any]:
    """The settings that change results, as a hashable part of a cache key."""
    return shared.context, thread.overrides


class _Override(ContextDecorator):
    """A context manager that sets one setting for the current thread, and restores it whatever happens. A decorator
    too: the setting then holds during each call."""

    __slots__ = ("_previous", "_setting", "_value")

    def __init__(self, setting: Setting, value: Any) -> None:
        self._setting = setting
        self._value = value
        self._previous: list[tuple[bool, Any, tuple[tuple[str, Any], ...]]] = []

    def _recreate_cm(self) -> _Override:  # each call of a decorated function has its own, in its own thread
        return _Override(self._setting, self._value)

    def __enter__(self) -> None:
        name = self._setting.name
        local = thread.__dict__
        self._previous.append((name in local, local.get(name), thread.overrides))
        setattr(thread, name, self._value)
        if self._setting.on_change is not None:
            self._setting.on_change(self._value)
        if self._setting.changes_results:
            others = tuple(item for item in thread.overrides if item[0] != name)
            thread.overrides = (*others, (name, self._value))

    def __exit__(self, *_: object) -> None:
        name = self._setting.name
        present, value, overrides = self._previous.pop()
        if present:
            setattr(thread, name, value)
        else:
            delattr(thread, name)
        thread.overrides = overrides


class Setting:
    """One named setting. Calling it with a value gives a context manager local to the thread.

    >>> from tangrad.core.config import enable_x64
    >>> with enable_x64(True):
    ...     enable_x64.value
    True
    """

    __slots__ = ("changes_results", "check", "default", "doc", "name", "on_change", "parse")

    def __init__(
        self,
        name: str,
        default: Any,
        doc: str,
        *,
        parse: Callable[[str], Any],
        check: Callable[[Any], Any],
        changes_results: bool,
        on_change: Callable[[Any], None] | None = None,
    ) -> None:
        self.name = name
        self.default = default
        self.doc = doc
        self.parse = parse
        self.check = check
        self.changes_results = changes_results
        self.on_change = on_change  # called with each value that is set, globally or by a thread

    def __repr__(self) -> str:
        return f"<setting {self.name} = {self.value!r}>"

    @property
    def value(self) -> Any:
        return getattr(thread, self.name)

    @property
    def environment_variable(self) -> str:
        return "TANGRAD_" + self.name.upper()

    def __call__(self, value: Any = True) -> _Override:
        return _Override(self, self._checked(value))

    def set(self, value: Any) -> None:
        """Set the global value, seen by every thread that does not override it."""
        value = self._checked(value)
        setattr(ThreadState, self.name, value)
        if self.changes_results:
            values = [getattr(ThreadState, setting.name) for setting in SETTINGS.values() if setting.changes_results]
            shared.context = _interned_context(tuple(values))
        if self.on_change is not None:
            self.on_change(value)

    def _checked(self, value: Any) -> Any:
        try:
            return self.check(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"setting {self.name!r} does not take {value!r}: {error}") from None

    def from_environment(self) -> Any:
        text = os.environ.get(self.environment_variable)
        if text is None:
            return self.default
        try:
            return self.parse(text)
        except (TypeError, ValueError) as error:
            raise ValueError(f"environment variable {self.environment_variable}={text!r}: {error}") from None


SETTINGS: dict[str, Setting] = {}


def define(
    name: str,
    default: Any,
    doc: str,
    *,
    parse: Callable[[str], Any],
    check: Callable[[Any], Any] | None = None,
    changes_results: bool = False,
) -> Setting:
    """Define a setting. `parse` reads its environment variable `TANGRAD_<NAME>`; `check` validates what code passes."""
    if name in SETTINGS:
        raise ValueError(f"setting {name!r} is already defined")
    setting = Setting(name, default, doc, parse=parse, check=check or (lambda v: v), changes_results=changes_results)
    SETTINGS[name] = setting
    setting.set(setting.from_environment())
    return setting


class Config:
    """All settings as attributes, for reading and for `config.update(name, value)`.

    >>> import tangrad
    >>> tangrad.config.enable_x64
    False
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("tangrad_"):
            name = name.removeprefix("tangrad_")
        if name in SETTINGS:
            return getattr(thread, name)
        raise AttributeError(_unknown(name))

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    def __dir__(self) -> list[str]:
        return [*SETTINGS, "read", "update", "values"]

    @property
    def values(self) -> dict[str, Any]:
        """The name and the value, in this thread, of every setting."""
        return {name: getattr(thread, name) for name in SETTINGS}

    def read(self, name: str) -> Any:
        """The value of `name`, as `config.<name>`. Raises AttributeError for an unknown name."""
        return getattr(self, name)

    def update(self, name: str, value: Any) -> None:
        """Set `name` for the whole process. Raises AttributeError for an unknown name, ValueError for a bad value."""
        name = name.removeprefix("tangrad_")
        if name not in SETTINGS:
            raise AttributeError(_unknown(name))
        SETTINGS[name].set(value)


def _unknown(name: str) -> str:
    return f"there is no setting {name!r}; the settings are: {', '.join(SETTINGS)}"


config = Config()


# --- how values are read and checked -------------------------------------------------------------------------------


def parse_bool(text: str) -> bool:
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("expected one of 1, 0, true, false, yes, no, on, off")


def check_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected True or False")
    return value


def one_of(*choices: Any) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in choices:
            raise ValueError(f"expected one of {', '.join(map(repr, choices))}")
        return value

    return check


def optional_text(text: str) -> str | None:
    return text.strip() or None


def parse_optional_integer(text: str) -> int | None:
    return int(text) if text.strip() else None


def check_optional_text(value: Any) -> Any:
    if value is not None and not isinstance(value, str):
        raise TypeError("expected a string or None")
    return value


def check_optional_positive(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("expected a positive integer or None")
    if value < 1:
        raise ValueError("expected a positive integer or None")
    return value


def _flag(name: str, doc: str, *, default: bool = False, changes_results: bool = False) -> Setting:
    return define(name, default, doc, parse=parse_bool, check=check_bool, changes_results=changes_results)


def _choice(name: str, default: str, choices: tuple[str, ...], doc: str) -> Setting:
    check = one_of(*choices)
    return define(name, default, doc, parse=lambda text: check(text.strip().lower()), check=check, changes_results=True)


# --- the settings of the kernel ------------------------------------------------------------------------------------

MATMUL_PRECISIONS = (None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32")

enable_x64 = _flag("enable_x64", "Allow 64-bit dtypes; without it they become 32-bit.", changes_results=True)
disable_jit = _flag("disable_jit", "Run jitted functions as plain Python with concrete values.", changes_results=True)
debug_nans = _flag("debug_nans", "Raise FloatingPointError at the operation that makes a NaN.", changes_results=True)
debug_infs = _flag(
    "debug_infs", "Raise FloatingPointError at the operation that makes an infinity.", changes_results=True
)
check_tracer_leaks = _flag(
    "check_tracer_leaks", "Raise an error where a tracer outlives its trace.", changes_results=True
)
check_jaxprs = _flag("check_jaxprs", "Type-check every jaxpr that is staged or transformed.")
log_compiles = _flag("log_compiles", "Log each tracing and compilation, with its time.")
numpy_rank_promotion = _choice(
    "numpy_rank_promotion", "allow", ("allow", "warn", "raise"), "What broadcasting between different ranks does."
)
numpy_dtype_promotion = _choice(
    "numpy_dtype_promotion", "standard", ("standard", "strict"), "Whether operands of different dtypes are promoted."
)
default_matmul_precision = define(
    "default_matmul_precision",
    None,
    "Precision of matrix products and convolutions that do not state one.",
    parse=lambda text: one_of(*MATMUL_PRECISIONS)(optional_text(text)),
    check=one_of(*MATMUL_PRECISIONS),
    changes_results=True,
)
backend = define(
    "backend",
    None,
    "The name of the backend for new arrays; None: the best that is installed.",
    parse=optional_text,
    check=check_optional_text,
    changes_results=True,
)
default_device = define(
    "default_device", None, "The device on which new arrays are made.", parse=optional_text, changes_results=True
)
num_cpu_devices = define(
    "num_cpu_devices",
    None,
    "How many CPU devices a backend makes; read when the backend is first used.",
    parse=parse_optional_integer,
    check=check_optional_positive,
)
threefry_partitionable = _flag(
    "threefry_partitionable",
    "Random bits as JAX draws them today; False: the older stream.",
    default=True,
    changes_results=True,
)
traceback_filtering = define(
    "traceback_filtering",
    "auto",
    "Whether tracebacks leave out the framework's own frames: 'auto' does, 'off' does not.",
    parse=lambda text: one_of("auto", "off")(text.strip().lower()),
    check=one_of("auto", "off"),
)
compilation_cache_dir = define(
    "compilation_cache_dir",
    None,
    "The folder of the persistent compilation cache; None: no persistent cache.",
    parse=optional_text,
    check=check_optional_text,
)
compilation_cache_max_size = define(
    "compilation_cache_max_size",
    1 << 30,
    "The most bytes the persistent compilation cache may hold.",
    parse=int,
    check=check_optional_positive,
)
