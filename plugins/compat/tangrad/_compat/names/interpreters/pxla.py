"""`jax.interpreters.pxla`: meshes."""

from tangrad.sharding import Mesh as Mesh
from tangrad.sharding import PartitionSpec as PartitionSpec
