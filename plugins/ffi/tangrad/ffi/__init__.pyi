# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._ffi.calls import ffi_call as ffi_call
from tangrad._ffi.errors import FfiError as FfiError
from tangrad._ffi.lowering import (
    ffi_lowering as ffi_lowering,
    host_lowering as host_lowering,
)
from tangrad._ffi.targets import (
    include_dir as include_dir,
    pycapsule as pycapsule,
    register_ffi_target as register_ffi_target,
    register_ffi_type as register_ffi_type,
)

__all__ = [
    "FfiError",
    "ffi_call",
    "ffi_lowering",
    "host_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_type",
]
