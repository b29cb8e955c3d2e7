"""From what the stages of a compilation know to its report."""

from __future__ import annotations

from typing import Any

from tangrad._jit.compilation import Compilation
from tangrad._jit.regions.primitives import region_p
from tangrad._jit.report.facts import MemoryUse, RegionUse, StageTime
from tangrad._jit.report.model import CompileReport
from tangrad.core import ClosedJaxpr, Jaxpr
from tangrad.core.tools import sub_jaxprs

# --- What programs consist of: equations, and the regions among them ------------------------------------------------


class Counted:
    """The equations of a program, counted once where they are in a region.

    Attributes:
        equations: their number, those of programs within it included.
        calls: for each region its program, its name, and how often it is called.
    """

    def __init__(self, program: ClosedJaxpr | Jaxpr) -> None:
        self.calls: dict[int, list[Any]] = {}
        self.equations = self._count(program)

    def _count(self, program: ClosedJaxpr | Jaxpr) -> int:
        total = len(program.eqns)
        for equation in program.eqns:
            if equation.primitive is region_p:
                total += self._called(equation.params["jaxpr"], equation.params["name"])
            elif equation.params:
                total += sum([self._count(inner) for inner in sub_jaxprs(equation.params)])
        return total

    def _called(self, region: ClosedJaxpr, name: str) -> int:
        """Count a call. Returns the equations of the region for its first one."""
        found = self.calls.get(id(region))
        if found is not None:
            found[2] += 1
            return 0
        self.calls[id(region)] = [region, name, 1]
        return self._count(region)


def equations_of(program: ClosedJaxpr | Jaxpr) -> int:
    """How many equations a program has, with those of the programs within it as often as they are there."""
    inner = [
        equations_of(inner) for equation in program.eqns if equation.params for inner in sub_jaxprs(equation.params)
    ]
    return len(program.eqns) + sum(inner)


# --- From what the stages of a compilation know to its report -------------------------------------------------------


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
