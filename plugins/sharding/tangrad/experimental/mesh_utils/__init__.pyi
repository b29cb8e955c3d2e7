# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._sharding.mesh_making import create_device_mesh as create_device_mesh

__all__ = [
    "create_device_mesh",
]
