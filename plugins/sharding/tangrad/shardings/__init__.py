"""Meshes, the kinds of shardings, and sharded arrays: what is behind `tangrad.sharding`."""

from tangrad.shardings.context import current_mesh as current_mesh
from tangrad.shardings.mesh import Mesh as Mesh
from tangrad.shardings.named import NamedSharding as NamedSharding
from tangrad.shardings.named import PartitionSpec as PartitionSpec
