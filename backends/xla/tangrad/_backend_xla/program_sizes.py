"""How large programs are: operations of StableHLO, instructions of HLO; for reports."""

from __future__ import annotations

import re
from typing import Any

from tangrad._backend_xla.module_contents import all_operations

# Of StableHLO's modules: what holds operations, and ends them.
_AROUND = frozenset({"builtin.module", "func.func", "func.return", "stablehlo.return", "sdy.mesh"})
# HLO's text has an instruction a line: `ROOT name = type opcode(...)`.
_INSTRUCTION = re.compile(r"^ +(?:ROOT )?%?[\w.-]+ = ", re.MULTILINE)


def operation_count(module: Any) -> int:
    """The operations of a StableHLO module, those of its functions and loops included."""
    return sum([operation.name not in _AROUND for operation, _ in all_operations(module.operation)])


def instruction_count(text: str) -> int:
    """The instructions of a program in HLO's text, those within fusions included."""
    return len(_INSTRUCTION.findall(text))
