"""What the checks on eight devices share."""

import os
from typing import Any

import numpy as np

import tangrad
from tangrad.sharding import AxisType, Mesh, NamedSharding
from tangrad.sharding import PartitionSpec as P

ON_XLA = tangrad.default_backend() == "xla"


# The type of the axes: most checks are of programs that leave it to a compiler how values are sharded.
AXES = AxisType[os.environ.get("AXES_OF_CHECKS", "Auto")]


def mesh(x: int = 2, y: int = 4) -> Mesh:
    return tangrad.make_mesh((x, y), ("x", "y"), (AXES, AXES))


def by(*spec: Any) -> NamedSharding:
    return NamedSharding(mesh(), P(*spec))


def matrix(rows: int = 8, columns: int = 8) -> np.ndarray:
    return np.arange(rows * columns, dtype=np.float32).reshape(rows, columns) / 8


def assert_equal(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance)
