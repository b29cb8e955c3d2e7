"""Recording what programs do with time and memory: traces, their annotations, and memory profiles."""

from tangrad._debug.profiling.annotations import StepTraceAnnotation as StepTraceAnnotation
from tangrad._debug.profiling.annotations import TraceAnnotation as TraceAnnotation
from tangrad._debug.profiling.annotations import annotate_function as annotate_function
from tangrad._debug.profiling.memory import device_memory_profile as device_memory_profile
from tangrad._debug.profiling.memory import save_device_memory_profile as save_device_memory_profile
from tangrad._debug.profiling.options import ProfileOptions as ProfileOptions
from tangrad._debug.profiling.server import start_server as start_server
from tangrad._debug.profiling.server import stop_server as stop_server
from tangrad._debug.profiling.traces import start_trace as start_trace
from tangrad._debug.profiling.traces import stop_trace as stop_trace
from tangrad._debug.profiling.traces import trace as trace
