"""Checks of values while programs run. What authors of `checkify` rules need is a name of this package."""

from tangrad.runtime_checks.arithmetic import any_true, first_true
from tangrad.runtime_checks.failures import DivisionByZeroError, FailedCheckError, Failure, NaNError, OOBError
from tangrad.runtime_checks.programs import CheckedProgram, checked_flat, checked_program
from tangrad.runtime_checks.rules import handed_on
from tangrad.runtime_checks.state import Checks

__all__ = [
    "CheckedProgram",
    "Checks",
    "DivisionByZeroError",
    "FailedCheckError",
    "Failure",
    "NaNError",
    "OOBError",
    "any_true",
    "checked_flat",
    "checked_program",
    "first_true",
    "handed_on",
]
