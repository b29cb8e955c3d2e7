"""The programs that loop rows time, by the row's program name. Each maker takes a `Side` and gives a `Case`."""

from collections.abc import Callable

from ..measure import Case
from ..sides import Side
from . import common, control_flow, deep, eager, many_devices, numerical, peers, steady, tracing

Maker = Callable[[Side], Case]


def program_table() -> dict[str, Maker]:
    """All programs. A name that two modules claim is an error."""
    table: dict[str, Maker] = {}
    for module in (
        tracing,
        steady,
        eager,
        control_flow,
        deep,
        common,
        many_devices,
        numerical,
        peers,
    ):
        repeated = table.keys() & module.PROGRAMS.keys()
        if repeated:
            raise ValueError(f"programs named twice: {sorted(repeated)}")
        table.update(module.PROGRAMS)
    return table
