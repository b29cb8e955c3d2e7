"""Python functions that programs call, and printing for debugging. This file only hands names on."""

from tangrad.debugging.calls import HostCall as HostCall
from tangrad.debugging.calls import HostProgram as HostProgram
from tangrad.debugging.effects import DebugEffect as DebugEffect
from tangrad.debugging.effects import IOEffect as IOEffect
from tangrad.debugging.effects import OrderedDebugEffect as OrderedDebugEffect
from tangrad.debugging.effects import OrderedIOEffect as OrderedIOEffect
