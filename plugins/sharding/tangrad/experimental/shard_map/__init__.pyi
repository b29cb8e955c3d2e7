# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._sharding.shard_map.functions import shard_map as shard_map

__all__ = [
    "shard_map",
]
