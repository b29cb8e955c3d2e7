# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._console.explanations.catalogue import (
    distribution_of as distribution_of,
    owner_in as owner_in,
    public_names as public_names,
)
from tangrad._console.explanations.catalogue_data import (
    FAMILIES as FAMILIES,
    MODULES as MODULES,
    RULE_KINDS as RULE_KINDS,
)
from tangrad._console.report.model import (
    BAD as BAD,
    Entry as Entry,
    GOOD as GOOD,
    Key as Key,
    QUIET as QUIET,
    Report as Report,
    Sign as Sign,
    Table as Table,
    WARNING as WARNING,
)
from tangrad._console.report.names import normal_name as normal_name
from tangrad._console.report.page import to_html as to_html

__all__ = [
    "BAD",
    "Entry",
    "FAMILIES",
    "GOOD",
    "Key",
    "MODULES",
    "QUIET",
    "RULE_KINDS",
    "Report",
    "Sign",
    "Table",
    "WARNING",
    "distribution_of",
    "normal_name",
    "owner_in",
    "public_names",
    "to_html",
]
