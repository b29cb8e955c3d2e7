"""Which arrays are alive, for those who look for what holds memory."""

from __future__ import annotations

import gc

import tangrad
from tangrad.core import Array


def live_arrays(platform: str | None = None) -> list[Array]:
    """The arrays that are alive in this process, to find out what holds memory. Those that were deleted are left out.

    Args:
        platform: the name of a backend or platform; default: the backend in use.

    Returns:
        a list, in no particular order; constants that a backend keeps for its programs are in it.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> x = np.ones(3)
    >>> any(array is x for array in tangrad.live_arrays())
    True
    """
    kind = tangrad.devices(platform)[0].backend.array_type
    found: list[Array] = [value for value in gc.get_objects() if type(value) is kind and hasattr(value, "aval")]
    return [array for array in found if not getattr(array, "is_deleted", bool)()]  # which a backend need not have
