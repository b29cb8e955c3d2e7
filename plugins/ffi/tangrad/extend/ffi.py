"""What other distributions may use of tangrad-ffi, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._ffi.attributes": "Dictionary Elements Scalar",
        "tangrad._ffi.host": "Instance",
        "tangrad._ffi.primitives": "ffi_call_p",
        "tangrad._ffi.frames": "buffer handler",
        "tangrad._ffi.targets": "find missing types",
    },
)
