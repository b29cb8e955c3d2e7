"""Python functions that programs call, and printing for debugging. This file only hands names on."""

from tangrad._debug.calls import HostCall as HostCall
from tangrad._debug.calls import HostProgram as HostProgram
from tangrad._debug.primitives import DebugEffect as DebugEffect
from tangrad._debug.primitives import IOEffect as IOEffect
from tangrad._debug.primitives import OrderedDebugEffect as OrderedDebugEffect
from tangrad._debug.primitives import OrderedIOEffect as OrderedIOEffect
