# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._core.kernel.compilation import (
    LoweredProgram as LoweredProgram,
    Program as Program,
    backend_of as backend_of,
    compile_program as compile_program,
    lower_program as lower_program,
    one_at_a_time as one_at_a_time,
    program_for as program_for,
    report_hit as report_hit,
    to_arrays as to_arrays,
    usable_donations as usable_donations,
)
from tangrad._core.kernel.compile_time import computes_at_once as computes_at_once
from tangrad._core.kernel.nan_checks import (
    check_results as check_results,
    without_value_checks as without_value_checks,
)

__all__ = [
    "LoweredProgram",
    "Program",
    "backend_of",
    "check_results",
    "compile_program",
    "computes_at_once",
    "lower_program",
    "one_at_a_time",
    "program_for",
    "report_hit",
    "to_arrays",
    "usable_donations",
    "without_value_checks",
]
