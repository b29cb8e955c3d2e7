"""What other distributions may use of tangrad-checkify, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._checkify.failures": "DivisionByZeroError OOBError",
        "tangrad._checkify.state": "Checks Layout any_true earlier first_true placed",
        "tangrad._checkify.trace": "CheckedProgram checked_flat checked_program handed_on",
    },
)
