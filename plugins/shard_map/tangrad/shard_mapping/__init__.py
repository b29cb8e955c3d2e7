"""Functions mapped over the devices of a mesh: what is behind `tangrad.shard_map`."""

from tangrad.shard_mapping.fitting import Places as Places
from tangrad.shard_mapping.fitting import places as places
from tangrad.shard_mapping.replication import varying_of_program as varying_of_program
