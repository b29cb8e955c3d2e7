# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._ffi.attributes import (
    Dictionary as Dictionary,
    Elements as Elements,
    Scalar as Scalar,
)
from tangrad._ffi.host import Instance as Instance
from tangrad._ffi.primitives import ffi_call_p as ffi_call_p
from tangrad._ffi.python_handlers import (
    buffer as buffer,
    handler as handler,
)
from tangrad._ffi.targets import (
    find as find,
    missing as missing,
    types as types,
)

__all__ = [
    "Dictionary",
    "Elements",
    "Instance",
    "Scalar",
    "buffer",
    "ffi_call_p",
    "find",
    "handler",
    "missing",
    "types",
]
