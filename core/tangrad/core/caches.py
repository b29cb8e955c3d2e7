"""All caches of the process, so that `clear_caches` and changes of the composition reach every one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_clearers: list[Callable[[], None]] = []


def register_cache(clear: Callable[[], None]) -> Callable[[], None]:
    """Have `clear()` called by `clear_caches`; returns it, so that it serves as a decorator."""
    _clearers.append(clear)
    return clear


class RecentlyUsed:
    """A table that holds a bounded number of items: those least recently used go.

    In two generations. What is used moves to the recent one; when that has half of the items that there may be, it
    becomes the older one, and what was left in that goes. So a look-up of what was used lately is that of a plain
    dictionary, and costs nothing for the order.

    Attributes:
        recent: the younger generation, always the same dictionary, for those who look into it themselves.
        limit: how many items there may be, at least 2.
        on_turn: called when the generations change, for tables that were filled from this one.

    >>> from tangrad.core import RecentlyUsed
    >>> table = RecentlyUsed(4)
    >>> for number in range(6):
    ...     table.add(number, str(number))
    ...     found = table.find(0)
    >>> table.find(0), table.find(1), len(table) <= 4
    ('0', None, True)
    """

    __slots__ = ("_older", "limit", "on_turn", "recent")

    def __init__(self, limit: int, on_turn: Callable[[], None] | None = None) -> None:
        self.limit = limit
        self.on_turn = on_turn
        self.recent: dict[Any, Any] = {}
        self._older: dict[Any, Any] = {}

    def find(self, key: Any) -> Any:
        """The item, which counts as used, or None."""
        found = self.recent.get(key)
        if found is None:
            found = self._older.get(key)
            if found is not None:
                self.add(key, found)
        return found

    def add(self, key: Any, item: Any) -> None:
        """Keep an item, as used now."""
        if len(self.recent) >= max(self.limit // 2, 1) and key not in self.recent:
            self._older = dict(self.recent)
            self.recent.clear()
            if self.on_turn is not None:
                self.on_turn()
        self._older.pop(key, None)
        self.recent[key] = item

    def clear(self) -> None:
        """Forget everything."""
        self.recent.clear()
        self._older = {}

    def __len__(self) -> int:
        return len(self.recent) + len(self._older)


def clear_caches() -> None:
    """Forget all traced and compiled programs. The next call of each function traces and compiles it again.

    >>> import tangrad
    >>> tangrad.clear_caches()
    """
    for clear in tuple(_clearers):
        clear()
