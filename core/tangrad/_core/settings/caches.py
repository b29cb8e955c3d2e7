"""All caches of the process, so that `clear_caches` and changes of the composition reach every one.

`JaxprCache` is the one for what is made of programs; its keys have the settings that change results in them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tangrad._core.settings.config import cache_context

T = TypeVar("T")
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

    >>> from tangrad.core.caches import RecentlyUsed
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
        self.recent: dict[object, Any] = {}
        self._older: dict[object, object] = {}

    def find(self, key: object) -> Any:
        """The item, which counts as used, or None."""
        found = self.recent.get(key)
        if found is None:
            found = self._older.get(key)
            if found is not None:
                self.add(key, found)
        return found

    def add(self, key: object, item: object) -> None:
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

    def __iter__(self) -> Iterator[object]:
        """The keys."""
        yield from (*self.recent, *self._older)

    def __len__(self) -> int:
        return len(self.recent) + len(self._older)


def clear_caches() -> None:
    """Forget all traced and compiled programs. The next call of each function traces and compiles it again.

    >>> import tangrad
    >>> tangrad.clear_caches()
    """
    for clear in tuple(_clearers):
        clear()


# --- what is made of programs ---

PROGRAM_CACHE_LIMIT = 512


class JaxprCache:
    """Remembers what is made of a closed jaxpr, for as long as the jaxpr lives: linearised, batched, transposed
    programs.

    The keys are weak in the jaxpr; each jaxpr keeps at most `PROGRAM_CACHE_LIMIT` results. A result that is the jaxpr,
    or a tuple with it, as where nothing had to be changed, is kept without it: it would keep the jaxpr alive for ever.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: weakref.WeakKeyDictionary[object, dict[object, Any]] = weakref.WeakKeyDictionary()

    def get(self, jaxpr: object, key: object, make: Callable[[], T]) -> T:
        """The result for (jaxpr, key, settings that change results); made by `make()` the first time."""
        results = self._entries.setdefault(jaxpr, {})
        key = (key, cache_context())
        found = results.get(key)
        if found is None:
            found = make()
            if len(results) >= PROGRAM_CACHE_LIMIT:
                results.clear()
            results[key] = _without(jaxpr, found)
        elif type(found) is _Without:
            return found.put_back(jaxpr)  # type: ignore[no-any-return]
        return found

    def find(self, jaxpr: object, key: object) -> Any:
        """What `get` would return without making it, or None."""
        results = self._entries.get(jaxpr)
        found = None if results is None else results.get((key, cache_context()))
        return found.put_back(jaxpr) if type(found) is _Without else found

    def clear(self) -> None:
        self._entries.clear()


class _Without:
    """A result of `JaxprCache` without the jaxpr that it was made of, in whose place in a tuple this class stands."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[object, ...] | None) -> None:
        self.items = items  # None: the result is the jaxpr

    def put_back(self, jaxpr: object) -> Any:
        return jaxpr if self.items is None else tuple([jaxpr if item is _Without else item for item in self.items])


def _without(jaxpr: object, result: object) -> object:
    if result is jaxpr:
        return _Without(None)
    if type(result) is tuple and any([item is jaxpr for item in result]):
        return _Without(tuple([_Without if item is jaxpr else item for item in result]))
    return result
