"""Uniform bits, as unsigned integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._random.functions import draw_bits
from tangrad._random.named_shapes import takes_named_shapes
from tangrad.core import Array, dtypes
from tangrad.extend.lax import takes_out_sharding
from tangrad.typing import DTypeLike, Key


@takes_named_shapes
@takes_out_sharding
def bits(key: Key, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Uniformly distributed unsigned integers.

    Args:
        key: a key.
        shape: of the result.
        dtype: uint8, uint16, uint32 or uint64; None: uint32, or uint64 with `enable_x64`.

    >>> import tangrad
    >>> tangrad.random.bits(tangrad.random.key(0), (2,)).dtype
    dtype('uint32')
    """
    kind = dtypes.default_uint_dtype() if dtype is None else dtypes.check_user_dtype_supported(dtype)
    if not dtypes.issubdtype(kind, np.unsignedinteger):
        raise ValueError(f"random.bits draws unsigned integers, got dtype {dtypes.dtype_name(kind)}")
    return draw_bits("random.bits", key, shape, kind.itemsize * 8)
