"""What a primitive does with random keys, and which keys of which arrays were used."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from tangrad._random.keys import is_key
from tangrad.core import ShapedArray
from tangrad.errors import KeyReuseError

Places = Any  # an array of integers: of each key of a result the place among the keys of an operand


class KeyUse(NamedTuple):
    """What a primitive does with keys. Results that are keys, and are not named here, count as used.

    Attributes:
        consumes: operand -> which of its keys are used: True, or a boolean array of the operand's shape.
        fresh: the results that are new, unused keys.
        moved: result -> (operand, places): the result's keys are keys of that operand. `places` is an array of the
            result's shape with the place of each among the operand's keys, counted row by row; None: those at the same
            places.
        some: result -> operand: the result's keys are keys of that operand, and values say which.

    >>> from tangrad._random.key_reuse import KeyUse
    >>> KeyUse(consumes={0: True}, fresh=(0,))  # as splitting does
    KeyUse(consumes={0: True}, fresh=(0,), moved={}, some={})
    """

    consumes: Mapping[int, Any] = {}
    fresh: Collection[int] = ()
    moved: Mapping[int, tuple[int, Places]] = {}
    some: Mapping[int, int] = {}


def places_of(aval: ShapedArray) -> Any:
    """The place of each key of an array, in its shape; None where its size is not known."""
    if all([type(size) is int for size in aval.shape]):
        return np.arange(math.prod(aval.shape)).reshape(aval.shape)
    return None


class Origin:
    """Keys that were made together.

    Attributes:
        used: for each of them whether it was used. by: what used some first, for messages.
        among: the keys that these were chosen from, if it is not known which they are.
    """

    __slots__ = ("among", "by", "used")

    def __init__(self, size: int, used: bool = False, by: str = "") -> None:
        self.used, self.by = np.full(size, used), by
        self.among: Keys | None = None


class Keys:
    """The keys of one array: their origin, and the place of each among the keys of that; None: all in one."""

    __slots__ = ("origin", "places")

    def __init__(self, origin: Origin, places: Places) -> None:
        self.origin, self.places = origin, places

    @classmethod
    def of(cls, aval: ShapedArray, used: bool = False, by: str = "") -> Keys:
        """Keys of an origin of their own."""
        places = places_of(aval)
        return cls(Origin(1 if places is None else places.size, used, by), places)

    def _at(self, which: Any) -> Any:
        """The places of some of the keys: of all, unless a mask of this shape says which."""
        if self.places is None:
            return slice(None) if which is True or np.any(which) else slice(0)
        fits = which is not True and np.shape(which) == self.places.shape
        return self.places[which] if fits else self.places

    def were_used(self, which: Any = True) -> bool:
        """Whether one of these keys was used."""
        return bool(self.origin.used[self._at(which)].any())

    def use(self, which: Any, by: str) -> None:
        """Note that these keys were used."""
        self.origin.by = self.origin.by or by
        self.origin.used[self._at(which)] = True

    def moved(self, aval: ShapedArray, places: Places) -> Keys:
        """Those of these keys that a result of type `aval` has."""
        if self.places is None or places_of(aval) is None:
            return Keys(self.origin, None)
        if places is None:
            same = self.places.shape == aval.shape
            return Keys(self.origin, self.places) if same else self.some(aval)
        return Keys(self.origin, self.places.reshape(-1)[places])

    def some(self, aval: ShapedArray) -> Keys:
        """A result that has some of these keys, but it is not known which: used if all are."""
        found = Keys.of(aval, bool(self.origin.used[self._at(True)].all()), self.origin.by)
        found.origin.among = self
        return found


def check(keys: Keys, which: Any, aval: ShapedArray, by: str) -> None:
    """Raise KeyReuseError if one of these keys was used before."""
    if keys.were_used(which):
        earlier = f" by {keys.origin.by}" if keys.origin.by else ""
        raise KeyReuseError(
            f"a random key of type {aval.str_short()} is used a second time, by {by}; it was used before{earlier}. "
            "Make a key for each use, key, subkey = random.split(key), or say that it is meant to be the same: "
            "random.clone(key)"
        )


def results(use: KeyUse, given: Any, avals: Any, by: str) -> list[Keys | None]:
    """The keys of each result of a primitive; None where it has none."""
    found: list[Keys | None] = []
    for position, aval in enumerate(avals):
        if not isinstance(aval, ShapedArray) or not is_key(aval):
            found.append(None)
        elif position in use.moved and given[use.moved[position][0]] is not None:
            operand, places = use.moved[position]
            found.append(given[operand].moved(aval, places))
        elif position in use.some and given[use.some[position]] is not None:
            found.append(given[use.some[position]].some(aval))
        elif position in use.fresh:
            found.append(Keys.of(aval))
        else:
            found.append(Keys.of(aval, True, by))
    return found
