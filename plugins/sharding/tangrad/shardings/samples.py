"""Samples of sharding constraints, for the conformance kit."""

from __future__ import annotations

from tangrad.conformance import Sample, draw
from tangrad.core import backend_names, get_backend
from tangrad.shardings.mesh import Mesh
from tangrad.shardings.named import NamedSharding, PartitionSpec
from tangrad.shardings.primitives import sharding_constraint_p

BY_IDENTITY = "a mesh is made of devices, which are compared by identity, and belong to their process"


def samples() -> list[Sample]:
    """Arrays constrained to the first device of each backend, by a mesh of its own."""
    found = []
    for name in backend_names():
        mesh = Mesh([get_backend(name).devices()[0]], ("x",))
        for spec in (PartitionSpec(), PartitionSpec(None, "x")):
            found.append(
                Sample(
                    sharding_constraint_p,
                    (draw(2, 3, dtype="float32"),),
                    {"sharding": NamedSharding(mesh, spec)},
                    without={"params": BY_IDENTITY, "pickle": BY_IDENTITY},
                    backends=(name,),
                )
            )
    return found
