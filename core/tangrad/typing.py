"""Types for annotations: what functions take as an array, and as a dtype. `isinstance` takes `ArrayLike` as well.

>>> import tangrad
>>> from tangrad.typing import ArrayLike
>>> def squared(x: ArrayLike) -> tangrad.Array:
...     return tangrad.numpy.square(x)
>>> isinstance(3.0, ArrayLike), isinstance([3.0], ArrayLike)
(True, False)
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

from tangrad._core.kernel.array import Array


class _HasDType(Protocol):
    @property
    def dtype(self) -> np.dtype[Any]: ...


# NumPy's generic classes stand without their parameters: isinstance refuses those.
ArrayLike: TypeAlias = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex  # type: ignore[type-arg]
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | _HasDType
