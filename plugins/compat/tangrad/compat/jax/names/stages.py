"""`jax.stages`: what `jit` and its stages return."""

from __future__ import annotations

from typing import Any

from tangrad import ShapeDtypeStruct as ArgInfo
from tangrad import jit as _jit
from tangrad.jitting.stages import Compiled as Compiled
from tangrad.jitting.stages import Lowered as Lowered
from tangrad.jitting.stages import TracedFunction as Traced

Wrapped = type(_jit(lambda: None))
CompilerOptions = dict[str, Any]
