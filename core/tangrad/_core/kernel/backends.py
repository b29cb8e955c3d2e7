"""Which of the installed backends is in use: the one asked for, the one of the settings, or the best there is."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from tangrad._core.composition.missing_names import explanations
from tangrad._core.composition.registry import composition
from tangrad._core.diagnostics.errors import BackendError, PluginError
from tangrad._core.settings.config import (
    backend,
    check_optional_positive,
    check_optional_text,
    define_setting,
    parse_optional_integer,
    thread,
)
from tangrad._core.settings.threads import free_after_fork

BACKENDS_GROUP = "tangrad.backends"

# For every backend that has devices of this kind: of several readers none can be the one that declares it.
num_cpu_devices = define_setting(
    "num_cpu_devices",
    None,
    "How many CPU devices a backend makes; read when the backend is first used.",
    parse=parse_optional_integer,
    check=check_optional_positive,
)


B = TypeVar("B", bound=Any)


def devices_of(backend: Any, name: Any) -> Sequence[Any]:
    """The devices of a backend that was found by a name: its own, or that of a platform; none where it has no such.

    Backends with several platforms take the name of one.
    """
    if not isinstance(name, str) or name in (backend.name, backend.platform):
        return backend.devices()  # type: ignore[no-any-return]
    try:
        return backend.devices(name)  # type: ignore[no-any-return]
    except (RuntimeError, TypeError):
        return ()


class Backends(Generic[B]):
    """The backends of a process, each loaded when it is first asked for: what has a `priority`, a platform, devices."""

    def __init__(self) -> None:
        self._lock = free_after_fork(threading.RLock())
        self._loaded: dict[str, B] = {}
        self._default: list[B] = []  # the one that is used by default, once that is known
        composition().on_change(self._forget)
        backend.check = self.check_setting

    def names(self) -> tuple[str, ...]:
        """The names of the installed backends, sorted."""
        return tuple(sorted(composition().names(BACKENDS_GROUP)))

    def get(self, name: str | None = None) -> B:
        """The backend called `name`, or the default one. Raises BackendError naming those that are installed."""
        name = name or thread.backend
        if name is None:
            return self._default[0] if self._default else self._choose_default()
        backend = self._loaded.get(name)
        return backend if backend is not None else self._load(name)

    def named(self, name: str | B | None) -> B:
        """A backend by its own name, or the first that runs on the platform of that name ("cpu", "gpu")."""
        if name is not None and not isinstance(name, str):
            return name
        if name is None or name in self.names():
            return self.get(name)
        default = self.get()
        if devices_of(default, name):
            return default
        for other in self.names():
            try:
                backend = self.get(other)
            except BackendError:
                continue
            if devices_of(backend, name):
                return backend
        return self.get(name)  # raises, naming what is installed

    def chosen_device(self) -> Any:
        """The device that new arrays are made on, if the setting `default_device` says one; else None.

        Raises BackendError where it is a text that names no device.
        """
        chosen = thread.default_device
        return self._device_named(chosen) if isinstance(chosen, str) else chosen

    def preferred(self) -> B:
        """The backend that new arrays are made on: that of the default device, or the default one."""
        device = self.chosen_device()
        found: B = self.get() if device is None else device.backend
        return found

    def _device_named(self, text: str) -> Any:
        """The device of a text such as "cpu", "xla" or "cpu:1"."""
        name, _, number = text.partition(":")
        devices = devices_of(self.named(name), name)
        if int(number or 0) >= len(devices):
            raise BackendError(f"there is no device {text!r}; there are {', '.join(map(repr, devices))}")
        return devices[int(number or 0)]

    def loaded(self) -> tuple[B, ...]:
        """The backends that are in use: programs can have been started on these alone."""
        return tuple(self._loaded.values())

    def missing(self, name: str) -> BackendError:
        """The error for a backend that is not installed."""
        installed = ", ".join(self.names()) or "none"
        return BackendError(
            f"there is no backend {name!r}; installed: {installed}.{explanations().backends_to_install(name)}"
        )

    def check_setting(self, name: str | None) -> str | None:
        """What code sets as `backend`, by `use_backend` above all.

        Raises TypeError for what is no name, BackendError for one that no installed backend has. A variable
        of the environment is not checked so: it is read before anything is looked up.
        """
        if check_optional_text(name) and composition().find(BACKENDS_GROUP, str(name)) is None:
            raise self.missing(str(name))
        return name

    def _load(self, name: str) -> B:
        plugin = composition().find(BACKENDS_GROUP, name)
        if plugin is None:
            raise self.missing(name)
        backend = plugin.load()
        with self._lock:
            return self._loaded.setdefault(name, backend)

    def _choose_default(self) -> B:
        """The installed backend of the highest priority. One that is broken has warned already; the next serves."""
        usable, problems = [], []
        for name in self.names():
            try:
                usable.append(self._loaded.get(name) or self._load(name))
            except (PluginError, BackendError) as error:  # what is not finished, or refused, is no reason for another
                problems.append(f"{name}: {error}")
        if not usable:
            causes = "; ".join(problems) or "none is installed"
            raise BackendError(f"no backend is usable ({causes}).{explanations().backends_to_install()}")
        chosen = max(usable, key=lambda backend: backend.priority)  # of equals `max` takes the first
        with self._lock:
            self._default[:] = [chosen]
        return chosen

    def _forget(self, _: Any) -> None:
        """Drop what was loaded, after the composition changed."""
        with self._lock:
            self._loaded.clear()
            self._default.clear()
