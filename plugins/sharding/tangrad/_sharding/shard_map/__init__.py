"""Functions mapped over the devices of a mesh: what is behind `tangrad.shard_map`."""

from tangrad._sharding.shard_map.replication import Places as Places
from tangrad._sharding.shard_map.replication import places as places
from tangrad._sharding.shard_map.replication import varying_of_program as varying_of_program
