"""Programs of backends that ask for a place before each run: one compilation for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._jit.progress import watched
from tangrad.core import ClosedJaxpr
from tangrad.core.programs import compile_program, one_at_a_time


class Placed:
    """Runs a program where its arguments are: one compilation for each place."""

    __slots__ = ("_backend", "_jaxpr", "_name", "_options", "_programs")

    def __init__(self, jaxpr: ClosedJaxpr, backend: Any, name: str, options: dict[str, Any]) -> None:
        self._jaxpr = jaxpr
        self._backend = backend
        self._name = name
        self._options = options
        self._programs: dict[Any, Any] = {}

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        place = self._backend.placement(arrays)
        program = self._programs.get(place)
        if program is None:
            with one_at_a_time((id(self), place)):
                program = self._programs.get(place)
                if program is None:
                    program = self._programs[place] = watched(
                        self._name,
                        compile_program,
                        self._jaxpr,
                        self._backend,
                        self._name,
                        device=place,
                        **self._options,
                    )
        return program.execute(arrays)
