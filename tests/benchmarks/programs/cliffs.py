"""Cliffs: everyday eager code that is short where nothing is compiled for a value, and hours where something is.

Each idiom is timed twice: "cliff" on a vector whose length the process has not seen before, so that all which depends
on the shape is compiled in the measured time, and "again" on one whose length it knows.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as onp

from ..measure import Case
from ..sides import Side
from .eager import waiter
from .idioms import IDIOMS, Idiom

LENGTH, LENGTHS = 100, 16


def vectors(api: Any, idiom: Idiom) -> Callable[[], Any]:
    """A function that makes vectors, each of another length than the one before, and than those of other idioms."""
    numbers, place = count(), list(IDIOMS.values()).index(idiom)

    def fresh() -> Any:
        length = LENGTH + place + len(IDIOMS) * (next(numbers) % LENGTHS)
        return api.numpy.asarray(onp.linspace(0.0, 9.0, length, dtype=onp.float32))

    return fresh


def first_case(idiom: Idiom, side: Side) -> Case:
    """The idiom on lengths that are new to the process."""
    api = side.api()
    work = idiom.work
    return Case(
        lambda x: work(api, x, len(x)), fresh=vectors(api, idiom), finish=waiter(api), compilations=side.compilations
    )


def again_case(idiom: Idiom, side: Side) -> Case:
    """The idiom on a length that is known."""
    api = side.api()
    work, x = idiom.work, vectors(api, idiom)()
    return Case(lambda: work(api, x, len(x)), finish=waiter(api), compilations=side.compilations)


PROGRAMS = {
    **{f"cliff: {name}": lambda side, idiom=idiom: first_case(idiom, side) for name, idiom in IDIOMS.items()},
    **{f"again: {name}": lambda side, idiom=idiom: again_case(idiom, side) for name, idiom in IDIOMS.items()},
}
