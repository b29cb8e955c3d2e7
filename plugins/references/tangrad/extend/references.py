"""What other distributions may use of tangrad-references, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._references.cells": "located",
        "tangrad._references.indexing": "chained read written",
        "tangrad._references.programs": "value_program",
        "tangrad._references.types": "is_reference",
        "tangrad._references.windows": "Slice beyond",
    },
)
