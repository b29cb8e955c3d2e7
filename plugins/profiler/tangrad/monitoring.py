"""Events of a program, such as how often a file was read or how long it took, handed to listeners that collect them.

Tangrad reports its own work by hooks (`tangrad_compiled` and the like); these events are those of users and libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

L = TypeVar("L", bound=Callable[..., object])

_events: list[Callable[..., object]] = []
_durations: list[Callable[..., object]] = []
_spans: list[Callable[..., object]] = []
_scalars: list[Callable[..., object]] = []
_KINDS = (_events, _durations, _spans, _scalars)


def _notify(listeners: Sequence[Callable[..., object]], *arguments: object, **details: object) -> None:
    for listener in tuple(listeners):  # one may take itself off
        listener(*arguments, **details)


def record_event(event: str, **kwargs: str | int) -> None:
    """Notify listeners of an event.

    Args:
        event: its name, by custom a path: "/app/cache/hit".
        kwargs: details, handed on by name.

    >>> from tangrad import monitoring
    >>> seen = []
    >>> monitoring.register_event_listener(lambda event, **details: seen.append((event, details)))
    >>> monitoring.record_event("/app/start", attempt=1)
    >>> seen
    [('/app/start', {'attempt': 1})]
    >>> monitoring.clear_event_listeners()
    """
    _notify(_events, event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Notify listeners that something took `duration` seconds."""
    _notify(_durations, event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float, **kwargs: str | int) -> None:
    """Notify listeners that something lasted from `start_time` to `end_time`, in seconds."""
    _notify(_spans, event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Notify listeners of a number."""
    _notify(_scalars, event, value, **kwargs)


def register_event_listener(callback: Callable[..., object]) -> None:
    """Have `callback(event, **details)` called for each `record_event`."""
    _events.append(callback)


def register_event_duration_secs_listener(callback: Callable[..., object]) -> None:
    """Have `callback(event, duration, **details)` called for each `record_event_duration_secs`."""
    _durations.append(callback)


def register_event_time_span_listener(callback: Callable[..., object]) -> None:
    """Have `callback(event, start_time, end_time, **details)` called for each `record_event_time_span`."""
    _spans.append(callback)


def register_scalar_listener(callback: Callable[..., object]) -> None:
    """Have `callback(event, value, **details)` called for each `record_scalar`."""
    _scalars.append(callback)


def _take_off(listeners: list[L], callback: L, what: str) -> None:
    if callback not in listeners:
        raise ValueError(f"{callback!r} is no listener of {what}: it was not registered, or was taken off")
    listeners.remove(callback)


def unregister_event_listener(callback: Callable[..., object]) -> None:
    """Take a listener of events off. Raises ValueError where it is none."""
    _take_off(_events, callback, "events")


def unregister_event_duration_listener(callback: Callable[..., object]) -> None:
    """Take a listener of durations off. Raises ValueError where it is none."""
    _take_off(_durations, callback, "durations")


def unregister_event_time_span_listener(callback: Callable[..., object]) -> None:
    """Take a listener of time spans off. Raises ValueError where it is none."""
    _take_off(_spans, callback, "time spans")


def unregister_scalar_listener(callback: Callable[..., object]) -> None:
    """Take a listener of numbers off. Raises ValueError where it is none."""
    _take_off(_scalars, callback, "scalars")


def clear_event_listeners() -> None:
    """Take all listeners off, of every kind."""
    for listeners in _KINDS:
        listeners.clear()
