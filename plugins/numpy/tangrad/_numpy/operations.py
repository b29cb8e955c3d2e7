"""The families of the primitives that functions of `tangrad.numpy` are outside of transformations.

No program holds one of them, so none is announced, and transformations need no rules. Each has the function as its
decomposition, which a backend compiles as one program; a lowering, by which it is a call or two, takes its place.
"""

from __future__ import annotations

from tangrad.core import PrimitiveSet

numerical = PrimitiveSet("numerical", api=1)
# Of whole arrays: sets, norms, reductions. A family of their own, as their modules need not be loaded for `x % 2`.
whole_arrays = PrimitiveSet("whole_arrays", api=1)
