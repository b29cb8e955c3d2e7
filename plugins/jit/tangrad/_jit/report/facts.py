"""What a report has: times, regions, sizes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageTime:
    """How long one stage of compiling took.

    Attributes:
        stage: "tracing", "passes", "lowering" or "compiling".
        seconds: of the clock, measured where it happened.
        origin: "made", or where the result came from: "memory" (the trace of an earlier call, `seconds` are what it
            took then) or "disk" (the persistent cache, `seconds` are what reading took).
    """

    stage: str
    seconds: float
    origin: str = "made"


@dataclass(frozen=True, slots=True)
class RegionUse:
    """A part of the program that was compiled once for several calls.

    Attributes:
        name: of the jitted function, or a number for what was found.
        calls: how often it is called. equations: how many it has, those of programs within it included.
    """

    name: str
    calls: int
    equations: int


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes of a program; None where the backend does not say.

    Attributes:
        arguments, results, temporaries, code: what they are of.
    """

    arguments: int | None
    results: int | None
    temporaries: int | None
    code: int | None


@dataclass(frozen=True, slots=True)
class Facts:
    """The fields of a report, as `CompileReport` describes them."""

    name: str
    backend: str
    platform: str
    stages: tuple[StageTime, ...]
    regions: tuple[RegionUse, ...]
    equations_traced: int
    equations_compiled: int
    instructions_lowered: int | None
    instructions_compiled: int | None
    memory: MemoryUse | None

    @property
    def seconds(self) -> float:
        """All stages together, without what came from memory."""
        return sum([stage.seconds for stage in self.stages if stage.origin != "memory"])
