"""Recording what programs do with time and memory: traces, their annotations, and memory profiles."""

from tangrad._profiler.annotations import StepTraceAnnotation as StepTraceAnnotation
from tangrad._profiler.annotations import TraceAnnotation as TraceAnnotation
from tangrad._profiler.annotations import annotate_function as annotate_function
from tangrad._profiler.backends import device_memory_profile as device_memory_profile
from tangrad._profiler.backends import save_device_memory_profile as save_device_memory_profile
from tangrad._profiler.backends import start_server as start_server
from tangrad._profiler.backends import stop_server as stop_server
from tangrad._profiler.profile_data import ProfileData as ProfileData
from tangrad._profiler.profile_data import ProfileEvent as ProfileEvent
from tangrad._profiler.profile_data import ProfileLine as ProfileLine
from tangrad._profiler.profile_data import ProfilePlane as ProfilePlane
from tangrad._profiler.traces import ProfileOptions as ProfileOptions
from tangrad._profiler.traces import start_trace as start_trace
from tangrad._profiler.traces import stop_trace as stop_trace
from tangrad._profiler.traces import trace as trace
