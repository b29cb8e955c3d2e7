# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.runtime_checks.error import Error as Error
from tangrad.runtime_checks.error import init_error as init_error
from tangrad.runtime_checks.failures import CheckError as JaxRuntimeError
from tangrad.runtime_checks.failures import Failure as ErrorCategory
from tangrad.runtime_checks.failures import all_checks as all_checks
from tangrad.runtime_checks.failures import automatic_checks as automatic_checks
from tangrad.runtime_checks.failures import div_checks as div_checks
from tangrad.runtime_checks.failures import float_checks as float_checks
from tangrad.runtime_checks.failures import index_checks as index_checks
from tangrad.runtime_checks.failures import nan_checks as nan_checks
from tangrad.runtime_checks.failures import user_checks as user_checks
from tangrad.runtime_checks.functions import check as check
from tangrad.runtime_checks.functions import check_error as check_error
from tangrad.runtime_checks.functions import checkify as checkify
from tangrad.runtime_checks.functions import debug_check as debug_check

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
