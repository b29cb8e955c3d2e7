"""Arrays as text and in files: `tangrad.numpy.array_repr`, `set_printoptions`, `save`, `load`, …"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad.core import Array, dtypes
from tangrad.typing import ArrayLike


def array_repr(arr: ArrayLike, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    """Write an array as NumPy's `array_repr` does.

    Args:
        arr: an array.
        max_line_width, precision, suppress_small: as of NumPy.

    Returns:
        A string.

    >>> import tangrad
    >>> tangrad.numpy.array_repr(tangrad.numpy.arange(2))
    'array([0, 1], dtype=int32)'
    """
    return str(np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small))


def array_str(a: ArrayLike, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    """Write the contents of an array as NumPy's `array_str` does.

    Args:
        a: an array.
        max_line_width, precision, suppress_small: as of NumPy.

    Returns:
        A string.

    >>> import tangrad
    >>> tangrad.numpy.array_str(tangrad.numpy.arange(2))
    '[0 1]'
    """
    return str(np.array_str(np.asarray(a), max_line_width, precision, suppress_small))


def get_printoptions() -> dict[str, Any]:
    """Return how arrays are printed: NumPy's options, which these arrays follow.

    Returns:
        A dict.

    >>> import tangrad
    >>> tangrad.numpy.get_printoptions()["precision"]
    8
    """
    return dict(np.get_printoptions())


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Set how arrays are printed: NumPy's options, which these arrays follow.

    Args:
        args, kwargs: as of NumPy.

    >>> import tangrad
    >>> tangrad.numpy.set_printoptions(precision=8)
    """
    np.set_printoptions(*args, **kwargs)


def printoptions(*args: Any, **kwargs: Any) -> AbstractContextManager[Any]:
    """Set how arrays are printed within a `with` block.

    Args:
        args, kwargs: as of NumPy.

    Returns:
        A context manager.

    >>> import tangrad
    >>> with tangrad.numpy.printoptions(precision=2):
    ...     print(tangrad.numpy.array([1.23456]))
    [1.23]
    """
    return np.printoptions(*args, **kwargs)


def save(file: Any, arr: ArrayLike, allow_pickle: bool = False) -> None:
    """Write an array to a file in NumPy's format.

    Args:
        file: a path or a binary file.
        arr: an array.
        allow_pickle: passed on; arrays of numbers need none.

    >>> import io, tangrad
    >>> file = io.BytesIO()
    >>> tangrad.numpy.save(file, tangrad.numpy.arange(2))
    """
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: ArrayLike, allow_pickle: bool = False, **kwds: Any) -> None:
    """Write several arrays to one file in NumPy's format.

    Args:
        file: a path or a binary file.
        args, kwds: arrays, the latter under their names.
        allow_pickle: passed on; arrays of numbers need none.

    >>> import io, tangrad
    >>> file = io.BytesIO()
    >>> tangrad.numpy.savez(file, x=tangrad.numpy.arange(2))
    """
    named = {name: np.asarray(value) for name, value in kwds.items()}
    np.savez(file, *[np.asarray(value) for value in args], allow_pickle=allow_pickle, **named)


def load(file: Any, *args: Any, **kwargs: Any) -> Array | Mapping[str, np.ndarray]:
    """Read what `save` and `savez` wrote. Nothing in a file is ever executed.

    Args:
        file: a path or a binary file.
        args, kwargs: as of NumPy; `allow_pickle` must be False.

    Returns:
        An array; of what `savez` wrote NumPy's mapping from names to NumPy arrays.

    Raises:
        ValueError: the file holds pickled objects, or `allow_pickle` is set.

    >>> import io, tangrad
    >>> file = io.BytesIO()
    >>> tangrad.numpy.save(file, tangrad.numpy.arange(2))
    >>> _ = file.seek(0)
    >>> tangrad.numpy.load(file)
    Array([0, 1], dtype=int32)
    """
    if kwargs.get("allow_pickle"):
        raise ValueError("load: pickled objects are not read, since reading them can run any code; allow_pickle=False")
    contents = np.load(file, *args, **kwargs)
    if not isinstance(contents, np.ndarray):
        return contents
    if contents.dtype.kind == "V" and contents.dtype.itemsize == 2:
        contents = contents.view(dtypes.as_dtype("bfloat16"))  # NumPy writes its bytes, and forgets its name
    return asarray(contents)
