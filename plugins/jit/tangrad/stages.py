"""The stages of compilation as types: what `jit(f).trace(x)`, its `lower()`, and the `compile()` of that return."""

from collections.abc import Mapping

from tangrad._jit.compile_report import CompileReport as CompileReport
from tangrad._jit.compile_report import MemoryUse as MemoryUse
from tangrad._jit.compile_report import RegionUse as RegionUse
from tangrad._jit.compile_report import StageTime as StageTime
from tangrad._jit.stages import ArgInfo as ArgInfo
from tangrad._jit.stages import Compiled as Compiled
from tangrad._jit.stages import Lowered as Lowered
from tangrad._jit.stages import TracedFunction as TracedFunction
from tangrad._jit.stages import Wrapped as Wrapped

Traced = TracedFunction
CompilerOptions = Mapping[str, str | bool | int | float]
