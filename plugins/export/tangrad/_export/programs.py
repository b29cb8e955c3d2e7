"""Exported programs for NumPy as bytes: as `tangrad.runtime` writes them, with flat arguments and results."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad.core import ClosedJaxpr, get_backend
from tangrad.extend.runtime import DEFAULT, SavedProgram, pack, program_sections, unpack


def written_program(closed: ClosedJaxpr, names: Sequence[str]) -> bytes:
    """A program, which takes arguments of these names. Raises ArtifactError for what has no form in files."""
    arguments = ["tuple", ["tuple", *["*"] * len(closed.in_avals)], ["dict"]]
    results = [f"result[{number}]" for number in range(len(closed.out_avals))]
    return pack(program_sections(closed, arguments, ["tuple", *["*"] * len(results)], names, results))


def read_program(data: bytes | memoryview) -> ClosedJaxpr:
    """The program of such bytes, all of it checked. Raises ArtifactError for anything else."""
    return SavedProgram(unpack(data), DEFAULT, get_backend("numpy")).closed
