"""Meshes for samples of the conformance kit, over as many devices as a backend has, up to eight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tangrad._sharding.mesh import Mesh
from tangrad.core import Device, get_backend

BY_IDENTITY = "a mesh is made of devices, which are compared by identity, and belong to their process"
ELSEWHERE = "its devices are those of another backend than the one that it is compared with"


def some_devices(backend: str | None = None) -> Sequence[Device]:
    """The first 1, 2, 4 or 8 devices of a backend (default: that in use)."""
    devices = get_backend(backend).devices()
    return devices[: max([number for number in (1, 2, 4, 8) if number <= len(devices)])]


def line_and_grid(backend: str | None = None) -> tuple[Mesh, Mesh]:
    """These in a row, with the axis "x", and in two rows where there are several, with the axes "x" and "y"."""
    devices = some_devices(backend)
    row = np.empty(len(devices), object)
    row[:] = devices
    return Mesh(row, ("x",)), Mesh(row.reshape(min(len(devices), 2), -1), ("x", "y"))


def left_out(backend: str) -> dict[str, str]:
    """The checks that do not apply to samples with devices of a backend, each with the reason."""
    without = {"params": BY_IDENTITY, "pickle": BY_IDENTITY}
    if backend != get_backend().name:
        without |= dict.fromkeys(("usage", "special", "sizes"), ELSEWHERE)
    return without
