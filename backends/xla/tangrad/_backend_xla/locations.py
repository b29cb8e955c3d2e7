"""MLIR locations of equations: where in the user's program an operation comes from, and the names around it.

XLA hands them on to its metadata, profiles and messages. Making one costs three times as much as an operation, so
each is made once for a place, a name stack and a primitive, and kept with the vocabulary.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from tangrad._backend_xla.mlir import ir

LOCATION_LIMIT = 1 << 16


class Locations:
    """The locations of one MLIR context.

    Tables go by the identity of code objects, whose hash is slow; each entry holds its code object, so that the
    identity lasts.
    """

    __slots__ = ("_context", "_lines", "_places", "_unknown")

    def __init__(self, context: Any) -> None:
        self._context = context
        self._unknown = ir.Location.unknown(context)
        self._places: dict[Any, Any] = {}
        self._lines: dict[int, tuple[Any, list[int], list[Any]]] = {}

    def of(self, source: Any, primitive_name: str, prefix: str) -> Any:
        """The location of an equation; `prefix` stands before its names."""
        if source is None:
            return self._unknown
        code, offset, names = source
        key = (id(code), offset, names, primitive_name, prefix)
        found = self._places.get(key)
        if found is None:
            found = self._make(code, offset, names, prefix, primitive_name)
            if len(self._places) >= LOCATION_LIMIT:
                self._places.clear()
            self._places[key] = (found, code)
            return found
        return found[0]

    def _make(self, code: Any, offset: int, names: Any, prefix: str, primitive_name: str) -> Any:
        place = None if code is None else self._place(code, offset)
        scopes = f"{names}/" if names else ""
        return ir.Location.name(f"{prefix}{scopes}{primitive_name}", place, self._context)

    def _place(self, code: Any, offset: int) -> Any:
        found = self._lines.get(id(code))
        if found is None:
            # All lines of the function at once, since to find one takes as long. Columns would take ten times as long.
            if len(self._lines) >= LOCATION_LIMIT >> 4:
                self._lines.clear()
            ranges = list(code.co_lines())
            found = self._lines[id(code)] = (code, [start for start, _, _ in ranges], [line for _, _, line in ranges])
        _, starts, lines = found
        line = lines[bisect_right(starts, offset) - 1]
        return ir.Location.file(code.co_filename, line or code.co_firstlineno, 0, self._context)
