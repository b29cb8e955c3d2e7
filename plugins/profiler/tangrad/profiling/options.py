"""What a trace is to hold."""

from __future__ import annotations

from dataclasses import dataclass

from tangrad.core import class_boundary


@class_boundary
@dataclass
class ProfileOptions:
    """How much a trace of XLA's profiler holds; other backends record annotations and compilations, whatever it says.

    Attributes:
        host_tracer_level: of what the runtime does on the host: 0 nothing, 1 annotations, 2 what takes long, 3 all.
        device_tracer_level: of what devices do: 0 nothing, 1 all.
        python_tracer_level: 1 for every call of a Python function, 0 for none.
        enable_hlo_proto: whether the programs themselves are written.

    >>> from tangrad.profiler import ProfileOptions
    >>> ProfileOptions(python_tracer_level=0).host_tracer_level
    2
    """

    host_tracer_level: int = 2
    device_tracer_level: int = 1
    python_tracer_level: int = 1
    enable_hlo_proto: bool = True
