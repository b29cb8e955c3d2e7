# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._sharding.abstract import (
    AbstractMesh as AbstractMesh,
    get_abstract_mesh as get_abstract_mesh,
)
from tangrad._sharding.context import (
    current_mesh as get_mesh,
    set_mesh as set_mesh,
    use_mesh as use_mesh,
)
from tangrad._sharding.explicit import (
    auto_axes as auto_axes,
    explicit_axes as explicit_axes,
    reshard as reshard,
)
from tangrad._sharding.gspmd import GSPMDSharding as GSPMDSharding
from tangrad._sharding.hlo import HloSharding as HloSharding
from tangrad._sharding.mesh import Mesh as Mesh
from tangrad._sharding.mesh_axes import AxisType as AxisType
from tangrad._sharding.named import (
    NamedSharding as NamedSharding,
    PartitionSpec as PartitionSpec,
)
from tangrad._sharding.positional import PositionalSharding as PositionalSharding
from tangrad._sharding.propagation import ShardingTypeError as ShardingTypeError
from tangrad._sharding.single_device import SingleDeviceSharding as SingleDeviceSharding
from tangrad.core import Sharding as Sharding

__all__ = [
    "AbstractMesh",
    "AxisType",
    "GSPMDSharding",
    "HloSharding",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "PositionalSharding",
    "Sharding",
    "ShardingTypeError",
    "SingleDeviceSharding",
    "auto_axes",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "reshard",
    "set_mesh",
    "use_mesh",
]
