"""What other distributions may use of tangrad-ffi, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._ffi.host": "Instance",
        "tangrad._ffi.calls": "ffi_call_p",
        "tangrad._ffi.frames": "Dictionary Elements Scalar buffer handler",
        "tangrad._ffi.targets": "find missing types",
    },
)
