"""Which loops are compiled: the setting."""

from __future__ import annotations

from typing import Any

from tangrad.core.settings import define_setting

CHOICES = ("auto", "always")


def _check(value: Any) -> Any:
    """A value of the setting. Raises TypeError or ValueError for what is none."""
    if value is False or (isinstance(value, str) and value in CHOICES):
        return value
    expected = f"expected False or one of {', '.join(map(repr, CHOICES))}"
    raise ValueError(expected) if isinstance(value, (str, bool)) else TypeError(expected)


def _parse(text: str) -> Any:
    word = text.strip().lower()
    return False if word in ("false", "0", "off", "no", "") else _check(word)


numba_loops = define_setting(
    "numba_loops",
    "auto",
    "Which loops of programs on the NumPy backend numba compiles: 'auto', False: none; 'always': also those that "
    "do not pay for it.",
    parse=_parse,
    check=_check,
    changes_results=True,
)
