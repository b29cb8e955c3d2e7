"""What other distributions may use of tangrad-export, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._export.compiled_files": "StoresPrograms",
        "tangrad._export.primitives": "call_exported_p",
    },
)
