# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._core.kernel.all_settings import (
    ForeignNames as ForeignNames,
    usable_settings as usable_settings,
)
from tangrad._core.settings.config import (
    SETTINGS as SETTINGS,
    Setting as Setting,
    cache_context as cache_context,
    check_optional_positive as check_optional_positive,
    check_optional_text as check_optional_text,
    define_choice as define_choice,
    define_flag as define_flag,
    define_setting as define_setting,
    is_checking_values as is_checking_values,
    one_of as one_of,
    optional_text as optional_text,
    shared as shared,
)

__all__ = [
    "ForeignNames",
    "SETTINGS",
    "Setting",
    "cache_context",
    "check_optional_positive",
    "check_optional_text",
    "define_choice",
    "define_flag",
    "define_setting",
    "is_checking_values",
    "one_of",
    "optional_text",
    "shared",
    "usable_settings",
]
