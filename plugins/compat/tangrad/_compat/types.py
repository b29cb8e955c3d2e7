"""`jax.core.ShapedArray`: Tangrad's, made with the arguments that jax's takes."""

from __future__ import annotations

from typing import Any

from tangrad import core


class _AnyShapedArray(type):
    """Types are made by Tangrad's class; `isinstance` asks for that."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, core.ShapedArray)


class ShapedArray(metaclass=_AnyShapedArray):
    """The type of an array.

    Args:
        shape, dtype, weak_type: as of `tangrad.core.ShapedArray`, which is what is returned.
        sharding: None: types say nothing of where values are.

    Raises NotImplementedError for a sharding with axes of a mesh.
    """

    def __new__(cls, shape: Any, dtype: Any, weak_type: bool = False, *, sharding: Any = None, **options: Any) -> Any:
        if any(part is not None for part in getattr(sharding, "spec", ())):
            raise NotImplementedError(f"types have no shardings in Tangrad, of which 'jax' is an alias: {sharding}")
        return core.ShapedArray(shape, dtype, weak_type)
