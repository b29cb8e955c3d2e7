"""What other distributions may use of tangrad-sharding, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._sharding.context": "current_mesh",
        "tangrad._sharding.making": "global_array local_array",
        "tangrad._sharding.manual_types": "check_divides linear_in sums_over Unclear",
        "tangrad._sharding.mesh": "Mesh",
        "tangrad._sharding.named": "NamedSharding PartitionSpec",
        "tangrad._sharding.partitioning.functions": "custom_partitioning_p",
        "tangrad._sharding.primitives": "auto_axes_p inspect_sharding_p sharding_constraint_p",
        "tangrad._sharding.propagation": (
            "Axes Operand along dropping joined positionwise stacked summed uncut_along with_shares without"
        ),
        "tangrad._sharding.samples": "left_out line_and_grid",
        "tangrad._sharding.unnamed": "SingleDeviceSharding",
        "tangrad._sharding.shard_map.functions": "shard_map",
        "tangrad._sharding.shard_map.primitives": "shard_map_p without_combining",
        "tangrad._sharding.shard_map.replication": "Places places varying_of_program",
        "tangrad._sharding.shard_map.scope": "axes_in_scope uncut with_cuts_of",
        "tangrad._sharding.shard_map.tracing": "with_cotangent_sums with_cotangent_sums_for",
    },
)
