"""What other distributions may use of tangrad-checkify, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._checkify.arithmetic": "any_true first_true",
        "tangrad._checkify.failures": "DivisionByZeroError OOBError",
        "tangrad._checkify.programs": "CheckedProgram checked_program",
        "tangrad._checkify.rule_helpers": "handed_on",
        "tangrad._checkify.state": "Checks Layout earlier placed",
        "tangrad._checkify.trace": "checked_flat",
    },
)
