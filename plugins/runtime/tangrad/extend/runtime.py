"""What other distributions may use of tangrad-runtime, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._runtime.container": "DEFAULT pack unpack",
        "tangrad._runtime.parameters": "NotSavedError dtype_named read written",
        "tangrad._runtime.portability": "portable_program",
        "tangrad._runtime.reading": "SavedProgram",
        "tangrad._runtime.saving": "program_sections",
        "tangrad._runtime.sizes": "checked_constraints",
    },
)
