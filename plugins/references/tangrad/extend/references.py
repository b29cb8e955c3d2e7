"""What other distributions may use of tangrad-references, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._references.cells": "discharged located value_program",
        "tangrad._references.indexing": "beyond chained read Slice written",
        "tangrad._references.rules": "check_distinct rearranged values_of written_places",
        "tangrad._references.types": "is_reference",
    },
)
