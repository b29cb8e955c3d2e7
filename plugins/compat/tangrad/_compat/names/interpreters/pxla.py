"""`jax.interpreters.pxla`: meshes."""

from __future__ import annotations

from typing import Any

from tangrad.sharding import Mesh as Mesh
from tangrad.sharding import PartitionSpec as PartitionSpec

# How results become values of types of a package's own. Nothing reads it: there are no such types here.
global_result_handlers: dict[Any, Any] = {}
