"""All caches of the process, so that `clear_caches` and changes of the composition reach every one."""

from __future__ import annotations

from collections.abc import Callable

_clearers: list[Callable[[], None]] = []


def register_cache(clear: Callable[[], None]) -> Callable[[], None]:
    """Have `clear()` called by `clear_caches`; returns it, so that it serves as a decorator."""
    _clearers.append(clear)
    return clear


def clear_caches() -> None:
    """Forget all traced and compiled programs. The next call of each function traces and compiles it again.

    >>> import tangrad
    >>> tangrad.clear_caches()
    """
    for clear in tuple(_clearers):
        clear()
