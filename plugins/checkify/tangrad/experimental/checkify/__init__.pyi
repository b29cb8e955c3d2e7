# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._checkify.error import (
    Error as Error,
    init_error as init_error,
)
from tangrad._checkify.failures import (
    Failure as ErrorCategory,
    CheckError as JaxRuntimeError,
    all_checks as all_checks,
    automatic_checks as automatic_checks,
    div_checks as div_checks,
    float_checks as float_checks,
    index_checks as index_checks,
    nan_checks as nan_checks,
    user_checks as user_checks,
)
from tangrad._checkify.functions import (
    check as check,
    check_error as check_error,
    checkify as checkify,
    debug_check as debug_check,
)

__all__ = [
    "Error",
    "ErrorCategory",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
