"""The families of the operations that functions of `tangrad.numpy` are outside of transformations.

No program holds one of them, so none is announced: they need no rules. Backends may have lowerings, by which
such a function is a call or two; where there is none, what it is made of is compiled as one program.
"""

from __future__ import annotations

from tangrad.core import PrimitiveSet

numerical = PrimitiveSet("numerical", api=1)
# Of whole arrays: sets, norms, reductions. A family of their own, as their modules need not be loaded for `x % 2`.
whole_arrays = PrimitiveSet("whole_arrays", api=1)
