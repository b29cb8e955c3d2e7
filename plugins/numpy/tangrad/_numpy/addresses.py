"""`x.ctypes`: the address of an array's contents, for C functions and for libraries that ask for it (safetensors)."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tangrad.typing import Value

# Contents in order, of arrays whose own memory is not; by the array's id, and for as long as it lives.
_in_order: dict[int, np.ndarray] = {}


@property  # type: ignore[misc]  # a property of arrays: the kernel binds it
def ctypes(self: Any) -> Any:
    """The address of the contents, row after row, as NumPy's arrays have it: `x.ctypes.data`.

    It must not be written to, and holds as long as the array. Where the memory is on another device, on several, or in
    another order, it is that of a copy. Raises TypeError for typed keys and traced arrays.
    """
    contents = np.asarray(self.__array__(), order="C")
    return (_held(self, contents) if contents.flags.owndata else contents).ctypes


def _held(owner: Value, contents: np.ndarray) -> np.ndarray:
    """The copy that was made first: its address was handed out."""
    key = id(owner)
    found = _in_order.setdefault(key, contents)
    if found is contents:
        weakref.finalize(owner, _in_order.pop, key, None).atexit = False
    return found
