"""The primitive that stands for a call of an exported program."""

from __future__ import annotations

from typing import Any

from tangrad.core import PrimitiveSet

exporting = PrimitiveSet("exporting", api=1)


@exporting.primitive(name="call_exported", multiple_results=True, weak_type="own")
def call_exported_p(*avals: Any, exported: Any) -> Any:
    """The results of an exported program on flat arguments."""
    return exported.results_for(avals)
