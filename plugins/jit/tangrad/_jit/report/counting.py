"""What programs consist of: equations, and the regions among them."""

from __future__ import annotations

from typing import Any

from tangrad._jit.regions.primitives import region_p
from tangrad.core import ClosedJaxpr, Jaxpr
from tangrad.core.tools import sub_jaxprs


class Counted:
    """The equations of a program, counted once where they are in a region.

    Attributes:
        equations: their number, those of programs within it included.
        calls: for each region its program, its name, and how often it is called.
    """

    def __init__(self, program: ClosedJaxpr | Jaxpr) -> None:
        self.calls: dict[int, list[Any]] = {}
        self.equations = self._count(program)

    def _count(self, program: ClosedJaxpr | Jaxpr) -> int:
        total = len(program.eqns)
        for equation in program.eqns:
            if equation.primitive is region_p:
                total += self._called(equation.params["jaxpr"], equation.params["name"])
            elif equation.params:
                total += sum([self._count(inner) for inner in sub_jaxprs(equation.params)])
        return total

    def _called(self, region: ClosedJaxpr, name: str) -> int:
        """Count a call. Returns the equations of the region for its first one."""
        found = self.calls.get(id(region))
        if found is not None:
            found[2] += 1
            return 0
        self.calls[id(region)] = [region, name, 1]
        return self._count(region)


def equations_of(program: ClosedJaxpr | Jaxpr) -> int:
    """How many equations a program has, with those of the programs within it as often as they are there."""
    inner = [
        equations_of(inner) for equation in program.eqns if equation.params for inner in sub_jaxprs(equation.params)
    ]
    return len(program.eqns) + sum(inner)
