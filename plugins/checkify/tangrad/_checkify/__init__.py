"""Checks of values while programs run. What authors of `checkify` rules need is a name of this package."""

from tangrad._checkify.failures import DivisionByZeroError, FailedCheckError, Failure, NaNError, OOBError
from tangrad._checkify.state import Checks, any_true, first_true
from tangrad._checkify.trace import CheckedProgram, checked_flat, checked_program, handed_on

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
