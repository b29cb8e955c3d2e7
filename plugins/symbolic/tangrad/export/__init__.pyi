# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.symbolic.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from tangrad.symbolic.scopes import SymbolicScope as SymbolicScope
from tangrad.symbolic.shapes import is_symbolic_dim as is_symbolic_dim
from tangrad.symbolic.shapes import symbolic_args_specs as symbolic_args_specs
from tangrad.symbolic.shapes import symbolic_shape as symbolic_shape

__all__ = [
    "InconclusiveDimensionOperation",
    "SymbolicScope",
    "is_symbolic_dim",
    "symbolic_args_specs",
    "symbolic_shape",
]
