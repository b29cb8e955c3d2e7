# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._sharding.context import current_mesh as current_mesh
from tangrad._sharding.local_views import (
    global_array as global_array,
    local_array as local_array,
)
from tangrad._sharding.mesh import Mesh as Mesh
from tangrad._sharding.named import (
    NamedSharding as NamedSharding,
    PartitionSpec as PartitionSpec,
)
from tangrad._sharding.primitives import (
    auto_axes_p as auto_axes_p,
    sharding_constraint_p as sharding_constraint_p,
)
from tangrad._sharding.propagation import (
    Axes as Axes,
    Operand as Operand,
    Unclear as Unclear,
    along as along,
    dropping as dropping,
    joined as joined,
    positionwise as positionwise,
    stacked as stacked,
    uncut_along as uncut_along,
    without as without,
)
from tangrad._sharding.sample_meshes import (
    left_out as left_out,
    line_and_grid as line_and_grid,
)
from tangrad._sharding.shard_map.fitting import (
    Places as Places,
    places as places,
)
from tangrad._sharding.shard_map.functions import shard_map as shard_map
from tangrad._sharding.shard_map.primitives import shard_map_p as shard_map_p
from tangrad._sharding.shard_map.replication import varying_of_program as varying_of_program
from tangrad._sharding.shard_map.sameness import (
    with_cotangent_sums as with_cotangent_sums,
    with_cotangent_sums_for as with_cotangent_sums_for,
)
from tangrad._sharding.shard_map.scope import axes_in_scope as axes_in_scope
from tangrad._sharding.shard_map.specs import uncut as uncut

__all__ = [
    "Axes",
    "Mesh",
    "NamedSharding",
    "Operand",
    "PartitionSpec",
    "Places",
    "Unclear",
    "along",
    "auto_axes_p",
    "axes_in_scope",
    "current_mesh",
    "dropping",
    "global_array",
    "joined",
    "left_out",
    "line_and_grid",
    "local_array",
    "places",
    "positionwise",
    "shard_map",
    "shard_map_p",
    "sharding_constraint_p",
    "stacked",
    "uncut",
    "uncut_along",
    "varying_of_program",
    "with_cotangent_sums",
    "with_cotangent_sums_for",
    "without",
]
