"""`jax.monitoring`: events of jax, none of which happen here. Who listens hears nothing, what is reported is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _ignored(doc: str) -> Callable[..., None]:
    def function(*args: Any, **kwargs: Any) -> None:
        return None

    function.__doc__ = doc
    return function


record_event = _ignored("Report an event.")
record_event_duration_secs = _ignored("Report how long something took.")
record_event_time_span = _ignored("Report when something happened.")
record_scalar = _ignored("Report a number.")
register_event_listener = _ignored("Ask to be told of events.")
register_event_duration_secs_listener = _ignored("Ask to be told of durations.")
register_event_time_span_listener = _ignored("Ask to be told of times.")
register_scalar_listener = _ignored("Ask to be told of numbers.")
unregister_event_listener = _ignored("Ask no longer to be told of events.")
unregister_event_duration_listener = _ignored("Ask no longer to be told of durations.")
clear_event_listeners = _ignored("Forget who asked.")
