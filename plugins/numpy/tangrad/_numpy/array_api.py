"""What the Array API standard asks of a namespace about itself: `tangrad.numpy.__array_namespace_info__()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import Device, Sharding, dtypes, get_backend
from tangrad.core.backends import chosen_device
from tangrad.typing import DeviceLike

if TYPE_CHECKING:
    import numpy as np

_NAMES: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_GROUPS: dict[str, tuple[str, ...]] = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


class NamespaceInfo:
    """Devices, dtypes and capabilities, in the words of the standard."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """What the standard leaves open: shapes never depend on data where a function is traced."""
        return {"boolean indexing": True, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device of new arrays; where they are on all devices of a mesh, the first."""
        device = chosen_device()
        if isinstance(device, Sharding):
            return device.device_order[0]
        return get_backend().devices()[0] if device is None else device

    def devices(self) -> list[Device]:
        """The devices of the backend in use."""
        return list(get_backend().devices())

    def default_dtypes(self, *, device: DeviceLike = None) -> dict[str, np.dtype]:
        """The dtypes of Python numbers, and of indices."""
        return {
            "real floating": dtypes.default_float_dtype(),
            "complex floating": dtypes.default_complex_dtype(),
            "integral": dtypes.default_int_dtype(),
            "indexing": dtypes.default_int_dtype(),
        }

    def dtypes(self, *, device: DeviceLike = None, kind: object = None) -> dict[str, np.dtype]:
        """The dtypes that arrays can have now, of all kinds, one, or several. Raises ValueError for an unknown kind."""
        kinds = kind if isinstance(kind, tuple) else (kind,)
        chosen = [name for item in kinds for group in self._kinds(item) for name in _NAMES[group]]
        found = {name: dtypes.as_dtype(name) for name in chosen}
        return {name: dtype for name, dtype in found.items() if dtypes.canonicalize_dtype(dtype) is dtype}

    def _kinds(self, kind: str | None) -> tuple[str, ...]:
        if kind is None:
            return tuple(_NAMES)
        if kind in _NAMES:
            return (kind,)
        if kind in _GROUPS:
            return _GROUPS[kind]
        raise ValueError(f"unknown kind of dtypes {kind!r}; expected one of {(*_NAMES, *_GROUPS)}")


def namespace_info() -> NamespaceInfo:
    """Devices, dtypes and capabilities of the namespace, in the words of the Array API standard."""
    return NamespaceInfo()
