"""Meshes, the kinds of shardings, and sharded arrays: what is behind `tangrad.sharding`."""

from tangrad._sharding.context import current_mesh as current_mesh
from tangrad._sharding.mesh import Mesh as Mesh
from tangrad._sharding.named import NamedSharding as NamedSharding
from tangrad._sharding.named import PartitionSpec as PartitionSpec
