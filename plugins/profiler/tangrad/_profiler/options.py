"""What a trace is to hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from tangrad.core import class_boundary


@class_boundary
@dataclass
class ProfileOptions:
    """How much a trace of XLA's profiler holds; other backends record annotations and compilations, whatever it says.

    Attributes:
        host_tracer_level: of what the runtime does on the host: 0 nothing, 1 annotations, 2 what takes long, 3 all.
        python_tracer_level: 1 for every call of a Python function, 0 for none.
        enable_hlo_proto: whether the programs themselves are written.
        include_dataset_ops: whether operations of input pipelines are.
        raise_error_on_start_failure: whether a collector that does not start is an error.
        advanced_configuration: more options, which collectors of devices know by name.
        start_timestamp_ns: when to begin, in nanoseconds since 1970; 0: at once.
        duration_ms: how long to record, in milliseconds; 0: until it is stopped.
        repository_path, session_id: where a server writes what it records.

    >>> from tangrad.profiler import ProfileOptions
    >>> ProfileOptions(python_tracer_level=0).host_tracer_level
    2
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 1
    enable_hlo_proto: bool = True
    include_dataset_ops: bool = True
    raise_error_on_start_failure: bool = False
    advanced_configuration: dict[str, bool | int | str] = field(default_factory=dict)
    start_timestamp_ns: int = 0
    duration_ms: int = 0
    repository_path: str = ""
    session_id: str = ""
