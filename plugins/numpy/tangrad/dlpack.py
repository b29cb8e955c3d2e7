"""Arrays of other libraries in place, by the DLPack protocol; `x.__dlpack__()` goes the other way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._numpy.text_and_files import from_dlpack as _from_dlpack
from tangrad.core import Array, dtypes
from tangrad.typing import DeviceLike

if TYPE_CHECKING:
    from tangrad.typing import DType

# What the protocol has a word for: https://dmlc.github.io/dlpack/latest/c_api.html.
_KINDS = "biufc"
_OTHERS = frozenset({"bfloat16"})


def from_dlpack(external_array: object, device: DeviceLike = None, copy: bool | None = None) -> Array:
    """An array over the memory of another library's array, or a copy of it.

    Args:
        external_array: an object with `__dlpack__`.
        device: the device to put it on; None: where it is.
        copy: True: copy; None: only if needed; False: raise where a copy is needed.

    Returns:
        an array of its shape and dtype; 64-bit dtypes become 32-bit unless `enable_x64` is set.

    Raises:
        TypeError: it has no `__dlpack__`; BufferError: `copy` is False and the memory cannot be shared.

    >>> import numpy
    >>> from tangrad.dlpack import from_dlpack
    >>> from_dlpack(numpy.arange(3.0, dtype="float32"))
    Array([0., 1., 2.], dtype=float32)
    """
    return _from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: DType) -> bool:
    """Whether arrays of a dtype can be handed to other libraries.

    >>> from tangrad.dlpack import is_supported_dtype
    >>> is_supported_dtype("float32"), is_supported_dtype("int4")
    (True, False)
    """
    found = dtypes.as_dtype(dtype)
    return (isinstance(found, np.dtype) and found.kind in _KINDS) or dtypes.dtype_name(found) in _OTHERS
