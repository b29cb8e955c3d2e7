# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._checkify.arithmetic import (
    any_true as any_true,
    first_true as first_true,
)
from tangrad._checkify.failures import (
    DivisionByZeroError as DivisionByZeroError,
    OOBError as OOBError,
)
from tangrad._checkify.programs import (
    CheckedProgram as CheckedProgram,
    checked_program as checked_program,
)
from tangrad._checkify.rule_helpers import handed_on as handed_on
from tangrad._checkify.state import (
    Checks as Checks,
    Layout as Layout,
    earlier as earlier,
    placed as placed,
)
from tangrad._checkify.trace import checked_flat as checked_flat

__all__ = [
    "CheckedProgram",
    "Checks",
    "DivisionByZeroError",
    "Layout",
    "OOBError",
    "any_true",
    "checked_flat",
    "checked_program",
    "earlier",
    "first_true",
    "handed_on",
    "placed",
]
