# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._core.composition.files import read_own_file as read_own_file
from tangrad._core.diagnostics.logs import Logger as Logger
from tangrad._core.diagnostics.public_boundaries import method_boundaries as method_boundaries
from tangrad._core.kernel.array import ArrayOperators as ArrayOperators
from tangrad._core.kernel.aval import AbstractToken as AbstractToken
from tangrad._core.kernel.backend import (
    CompileOptions as CompileOptions,
    chosen_device as chosen_device,
    loaded_backends as loaded_backends,
)
from tangrad._core.kernel.jaxpr import carried_program as carried_program
from tangrad._core.kernel.primitive import (
    evaluate as evaluate,
    forget_direct_calls as forget_direct_calls,
)
from tangrad._core.kernel.sharding import (
    Parts as Parts,
    agreed_devices as agreed_devices,
    as_sharding as as_sharding,
    check_argument as check_argument,
    is_addressable as is_addressable,
    names_memories as names_memories,
    program_shardings as program_shardings,
    sharding_of_result as sharding_of_result,
    stated_claims as stated_claims,
    types_by_shardings as types_by_shardings,
    with_shardings_of_types as with_shardings_of_types,
)

__all__ = [
    "AbstractToken",
    "ArrayOperators",
    "CompileOptions",
    "Logger",
    "Parts",
    "agreed_devices",
    "as_sharding",
    "carried_program",
    "check_argument",
    "chosen_device",
    "evaluate",
    "forget_direct_calls",
    "is_addressable",
    "loaded_backends",
    "method_boundaries",
    "names_memories",
    "program_shardings",
    "read_own_file",
    "sharding_of_result",
    "stated_claims",
    "types_by_shardings",
    "with_shardings_of_types",
]
