"""How large a saved program may be, for those who load files of others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a file may ask for; one that asks for more is refused before anything is allocated for it.

    Attributes:
        file_bytes: of the whole file.
        program_bytes: of the section that describes the program; to read it takes some thirty times as much memory.
        equations: in the program and those nested in it.
        value_bytes: of any one array that the program takes, computes or returns.

    >>> from tangrad import runtime
    >>> runtime.Limits(value_bytes=1 << 20).equations
    100000
    """

    file_bytes: int = 4 << 30
    program_bytes: int = 64 << 20
    equations: int = 100_000
    value_bytes: int = 4 << 30


DEFAULT = Limits()
