"""Which parts of programs are compiled once: the setting."""

from __future__ import annotations

from typing import Any

from tangrad.core.settings import define_setting

CHOICES = ("auto", "marked", "always")


def _check(value: Any) -> Any:
    """A value of the setting. Raises TypeError or ValueError for what is none."""
    if value is False or (isinstance(value, str) and value in CHOICES):
        return value
    expected = f"expected False or one of {', '.join(map(repr, CHOICES))}"
    raise ValueError(expected) if isinstance(value, (str, bool)) else TypeError(expected)


def _parse(text: str) -> Any:
    word = text.strip().lower()
    return False if word in ("false", "0", "off", "no", "") else _check(word)


compile_regions = define_setting(
    "compile_regions",
    "auto",
    "Which equal parts of a program are compiled once: 'auto', 'marked' (calls of jitted functions alone), False: "
    "none; 'always': also where it does not pay, for tests.",
    parse=_parse,
    check=_check,
    changes_results=True,
)
