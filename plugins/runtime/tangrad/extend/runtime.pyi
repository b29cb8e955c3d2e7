# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._runtime.container import (
    pack as pack,
    unpack as unpack,
)
from tangrad._runtime.limits import DEFAULT as DEFAULT
from tangrad._runtime.parameters import (
    NotSavedError as NotSavedError,
    read as read,
    written as written,
)
from tangrad._runtime.portability import portable_program as portable_program
from tangrad._runtime.reading import SavedProgram as SavedProgram
from tangrad._runtime.sizes import checked_constraints as checked_constraints
from tangrad._runtime.writing import program_sections as program_sections

__all__ = [
    "DEFAULT",
    "NotSavedError",
    "SavedProgram",
    "checked_constraints",
    "pack",
    "portable_program",
    "program_sections",
    "read",
    "unpack",
    "written",
]
