"""From what the stages of a compilation know to its report."""

from __future__ import annotations

from typing import Any

from tangrad._jit.compilation import Compilation
from tangrad._jit.report.counting import Counted, equations_of
from tangrad._jit.report.facts import MemoryUse, RegionUse, StageTime
from tangrad._jit.report.model import CompileReport
from tangrad.core import ClosedJaxpr

_MEMORY = (
    "argument_size_in_bytes",
    "output_size_in_bytes",
    "temp_size_in_bytes",
    "generated_code_size_in_bytes",
)


def report_of(name: str, traced: ClosedJaxpr, made: Compilation, backend: Any, executable: Any) -> CompileReport:
    """The report of one compilation. The program is lowered again, to count: keeping the module would take memory."""
    facts = executable.compile_facts()
    lowered: dict[str, Any] = getattr(backend.lower(made.program, made.options), "compile_facts", dict)()
    counted = Counted(made.program)
    regions = [RegionUse(label, calls, equations_of(region)) for region, label, calls in counted.calls.values()]
    return CompileReport(
        name=name,
        backend=backend.name,
        platform=backend.platform,
        stages=(
            StageTime("tracing", made.traced, "memory" if made.reused else "made"),
            StageTime("passes", made.passes),
            StageTime("lowering", made.lowered),
            StageTime("compiling", made.compiled, facts.get("origin", "made")),
        ),
        regions=tuple(sorted(regions, key=lambda region: (1 - region.calls) * region.equations)),
        equations_traced=equations_of(traced),
        equations_compiled=counted.equations,
        instructions_lowered=lowered.get("instructions"),
        instructions_compiled=facts.get("instructions"),
        memory=_memory(executable.memory_analysis()),
    )


def _memory(analysis: Any) -> MemoryUse | None:
    if analysis is None:
        return None
    arguments, results, temporaries, code = [getattr(analysis, name, None) for name in _MEMORY]
    return MemoryUse(arguments, results, temporaries, code or None)  # XLA says 0 for code that it did not measure
