# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.core import Sharding as Sharding
from tangrad.shardings.abstract import (
    AbstractMesh as AbstractMesh,
    get_abstract_mesh as get_abstract_mesh,
)
from tangrad.shardings.context import (
    current_mesh as get_mesh,
    set_mesh as set_mesh,
    use_mesh as use_mesh,
)
from tangrad.shardings.explicit import (
    auto_axes as auto_axes,
    explicit_axes as explicit_axes,
    reshard as reshard,
)
from tangrad.shardings.gspmd import GSPMDSharding as GSPMDSharding
from tangrad.shardings.hlo import HloSharding as HloSharding
from tangrad.shardings.mesh import Mesh as Mesh
from tangrad.shardings.mesh_axes import AxisType as AxisType
from tangrad.shardings.named import (
    NamedSharding as NamedSharding,
    PartitionSpec as PartitionSpec,
)
from tangrad.shardings.positional import PositionalSharding as PositionalSharding
from tangrad.shardings.propagation import ShardingTypeError as ShardingTypeError
from tangrad.shardings.single_device import SingleDeviceSharding as SingleDeviceSharding

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
