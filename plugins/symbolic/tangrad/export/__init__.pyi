# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._export.checks import DisabledSafetyCheck as DisabledSafetyCheck
from tangrad._export.compiled.writing import serialize_compiled as serialize_compiled
from tangrad._export.exported import (
    Exported as Exported,
    newest_convention as maximum_supported_calling_convention_version,
    oldest_convention as minimum_supported_calling_convention_version,
)
from tangrad._export.functions import (
    default_export_platform as default_export_platform,
    export as export,
)
from tangrad._export.reading import deserialize as deserialize
from tangrad._export.structures import (
    register_namedtuple_serialization as register_namedtuple_serialization,
    register_pytree_node_serialization as register_pytree_node_serialization,
)
from tangrad._symbolic.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from tangrad._symbolic.scopes import SymbolicScope as SymbolicScope
from tangrad._symbolic.shapes import (
    is_symbolic_dim as is_symbolic_dim,
    symbolic_args_specs as symbolic_args_specs,
    symbolic_shape as symbolic_shape,
)

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "InconclusiveDimensionOperation",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "serialize_compiled",
    "symbolic_args_specs",
    "symbolic_shape",
]
