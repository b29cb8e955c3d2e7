"""Programs of symbolic sizes at given sizes: numbers, or other dimensions, in the place of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tangrad._symbolic.evaluation import evaluate_shape
from tangrad.core import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, ShapedArray, Var
from tangrad.core.arguments import is_symbolic


def filled_in(value: Any, sizes: Mapping[str, Any]) -> Any:
    """A program, or a parameter or type of one, with `sizes` in the place of its variables.

    Tuples, lists and dictionaries are searched; anything else without sizes is handed back as it is. Raises KeyError
    for a variable without a size.

    >>> import tangrad
    >>> from tangrad import export
    >>> from tangrad._symbolic.filling import filled_in
    >>> spec = export.symbolic_args_specs(tangrad.ShapeDtypeStruct((3,), "float32"), "n")
    >>> filled_in(tangrad.make_jaxpr(lambda x: x.reshape(1, -1))(spec), {"n": 4})
    { lambda ; a:f32[4]. let b:f32[1,4] = reshape[dimensions=None new_sizes=(1, 4)] a in (b,) }
    """
    return _Filling(sizes).value(value)


class _Filling:
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        self.sizes = sizes
        self.programs: dict[int, Any] = {}  # a program that stands twice stays one

    def value(self, value: Any) -> Any:
        if is_symbolic(value):
            return value.evaluate(self.sizes)
        if isinstance(value, tuple):
            items = [self.value(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {name: self.value(item) for name, item in value.items()}
        if isinstance(value, ShapedArray):
            return value.update(shape=evaluate_shape(value.shape, self.sizes))
        if isinstance(value, (ClosedJaxpr, Jaxpr)):
            found = self.programs.get(id(value))
            if found is None:
                found = self.programs[id(value)] = self._program(value)
            return found
        return value

    def _program(self, program: ClosedJaxpr | Jaxpr) -> ClosedJaxpr | Jaxpr:
        if isinstance(program, ClosedJaxpr):
            return ClosedJaxpr(self.value(program.jaxpr), program.consts)
        variables: dict[Any, Any] = {}

        def made(var: Var) -> Var:
            kind = DropVar if type(var) is DropVar else Var
            variables[var] = kind(self.value(var.aval))
            return variables[var]

        def read(atom: Var | Literal) -> Var | Literal:
            return atom if type(atom) is Literal else variables[atom]

        constvars, invars = [[made(var) for var in some] for some in (program.constvars, program.invars)]
        eqns = []
        for eqn in program.eqns:
            operands = [read(atom) for atom in eqn.invars]
            params = self.value(dict(eqn.params))
            results = [made(var) for var in eqn.outvars]
            eqns.append(JaxprEqn(eqn.primitive, operands, results, params, eqn.effects, eqn.source_info))
        outvars = [read(atom) for atom in program.outvars]
        return Jaxpr(constvars, invars, outvars, eqns, program.effects, program.debug_name)
