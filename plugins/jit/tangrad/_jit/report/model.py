"""The report of one compilation: data that can be printed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tangrad._jit.report import page, text
from tangrad._jit.report.facts import Facts


@dataclass(frozen=True, slots=True)
class CompileReport(Facts):
    """What compiling a program took, and what became of it; `print` shows a table, a notebook a picture.

    Attributes:
        name: of the function. backend, platform: what it was compiled for.
        stages: the stages in order, with their times.
        regions: the parts that were compiled once for several calls, the largest saving first.
        equations_traced: of the program as it was traced, those of programs within it included.
        equations_compiled: of the program as the backend got it, after the passes; those of a region count once.
        instructions_lowered: of the module that the backend's compiler got (StableHLO). None where there is none.
        instructions_compiled: of what runs (optimised HLO; calls in the Python function). None if unknown.
        memory: bytes, or None if unknown.
    """

    def to_dict(self) -> dict[str, Any]:
        """The report in dictionaries, lists, strings, numbers and None, as JSON has them."""
        found = {**asdict(self), "seconds": self.seconds}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

    def html(self) -> str:
        """The report as a page with a picture, which needs no other file and no network."""
        return page.whole_page(self)

    def _repr_html_(self) -> str:
        return page.fragment(self)

    def __str__(self) -> str:
        return text.table(self)
