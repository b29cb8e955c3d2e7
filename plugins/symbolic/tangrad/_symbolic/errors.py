"""The errors about dimensions that are no numbers yet."""

from __future__ import annotations

from tangrad.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation


class UnsolvableDimensionsError(ValueError):
    """The sizes of the arguments do not determine the dimension variables, or contradict what is said of them."""
