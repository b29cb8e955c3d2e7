"""A program as the sections of a file: "program", in JSON, and "data", the contents of its constants.

The JSON object of "program" has

    "format"         1; 2, if the program has sizes that are found at the call
    "constraints"    those of such sizes, as texts; only in format 2
    "requirements"   for each family of primitives [family, distribution, version]
    "primitives"     identities, "family.name"
    "types"          [dtype, [size, …], weakly typed], of arrays; a size is a number, or a text such as "2*n + 1"
    "constants"      [type, offset in "data", bytes]
    "programs"       the program, last, after those nested in it: each [constants, inputs, equations, outputs]
    "arguments"      the structure of the arguments; "names": what each array among them is called
    "results"        the structure of the results; "result_names"

Constants, primitives and types are given by their numbers in these lists. The variables of a program are numbered:
first those that stand for its constants, then its inputs, then what its equations compute. `inputs` are their types;
`outputs` are atoms; an atom is the number of a variable, or [type, bytes in hexadecimal], a number written out. An
equation is [primitive, operands as atoms, {name: parameter}, types of the results]; parameters are as in `parameters`.
Every program refers to earlier ones only.

Whatever needs the program without Python's trees, such as a file of another kind that carries it too, calls
`program_sections` and puts the sections beside its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._runtime.container import ALIGNMENT
from tangrad._runtime.errors import ArtifactError
from tangrad._runtime.parameters import NotSavedError, bytes_of, written
from tangrad._runtime.portability import portable_program
from tangrad._runtime.requirements import requirements_of
from tangrad._runtime.sizes import WrittenSizes
from tangrad.core import ClosedJaxpr, JaxprEqn, Literal, Primitive, ShapedArray, Tracer, Var
from tangrad.core.arguments import SymbolicDimension, is_symbolic

if TYPE_CHECKING:
    from tangrad.typing import Value

FORMATS = (1, 2)
PROGRAM, DATA = "program", "data"


def program_sections(
    closed: ClosedJaxpr, arguments: Any, results: Any, names: Sequence[str], result_names: Sequence[str]
) -> dict[str, bytes]:
    """The sections of a program.

    Args:
        closed: the program; calls in it are written as their steps.
        arguments, results: the structures of its arguments and results, as `trees.written` gives them.
        names, result_names: what each argument and each result is called.

    Raises ArtifactError for what cannot be saved, naming it.
    """
    writer = _Writer()
    writer.program(portable_program(closed))
    description = {
        "format": 1 if writer.sizes.constraints is None else 2,
        "requirements": requirements_of(writer.primitives),
        "primitives": [primitive.identity for primitive in writer.primitives],
        "types": writer.types,
        "constants": writer.constants,
        "programs": writer.programs,
        "arguments": arguments,
        "names": list(names),
        "results": results,
        "result_names": list(result_names),
    }
    if writer.sizes.constraints is not None:
        description["constraints"] = writer.sizes.constraints
    text = json.dumps(description, separators=(",", ":"), allow_nan=False)
    return {PROGRAM: text.encode(), DATA: b"".join(writer.data)}


class _Writer:
    """The tables of a file as they grow."""

    def __init__(self) -> None:
        self.types: list[Any] = []
        self.constants: list[Any] = []
        self.data: list[bytes] = []
        self.programs: list[Any] = []
        self.primitives: dict[Any, int] = {}
        self.sizes = WrittenSizes()
        self._numbers: dict[Any, int] = {}  # types and programs
        self._kept: list[Any] = []  # what the table above knows by identity must live as long
        self._end = 0

    def aval(self, value: Any) -> int:
        """The number of a type."""
        found = self._numbers.get(value)
        if found is None:
            if not isinstance(value, ShapedArray) or value.named_shape:
                raise ArtifactError(f"values of type {value} cannot be saved")
            found = self._numbers[value] = len(self.types)
            shape = [self.size(size) if is_symbolic(size) else size for size in value.shape]
            self.types.append([written(value.dtype, self), shape, value.weak_type])
        return found

    def size(self, value: SymbolicDimension) -> str:
        """The text of a symbolic size."""
        return self.sizes.text(value)

    def primitive(self, value: Primitive) -> int:
        """The number of a primitive."""
        return self.primitives.setdefault(value, len(self.primitives))

    def array(self, value: Any) -> int:
        """The number of a constant: a NumPy array."""
        return self._constant(self.aval(ShapedArray(value.shape, value.dtype)), value)

    def _constant(self, type_: int, contents: np.ndarray) -> int:
        encoded = bytes_of(contents)
        self.constants.append([type_, self._end, len(encoded)])
        self.data += [encoded, bytes(-len(encoded) % ALIGNMENT)]
        self._end += len(encoded) + len(self.data[-1])
        return len(self.constants) - 1

    def program(self, closed: ClosedJaxpr) -> int:
        """The number of a program; equal ones are written once if they are one object."""
        found = self._numbers.get(id(closed))
        if found is not None:
            return found
        jaxpr = closed.jaxpr
        constants = [self._value(const) for const in closed.consts]
        places = {var: place for place, var in enumerate((*jaxpr.constvars, *jaxpr.invars))}
        equations = [self._equation(eqn, places) for eqn in jaxpr.eqns]
        inputs = [self.aval(var.aval) for var in jaxpr.invars]
        self.programs.append([constants, inputs, equations, [self._atom(atom, places) for atom in jaxpr.outvars]])
        self._kept.append(closed)
        found = self._numbers[id(closed)] = len(self.programs) - 1
        return found

    def _value(self, const: Value) -> int:
        if isinstance(const, Tracer):
            raise ArtifactError(f"the program closed over {const!r}, a value of a function that is being traced")
        aval = const.aval
        contents = const.ndarray if isinstance(const, Literal) else const.to_numpy()
        return self._constant(self.aval(aval), contents)

    def _equation(self, eqn: JaxprEqn, places: dict[Any, int]) -> Any:
        operands = [self._atom(atom, places) for atom in eqn.invars]
        params = {}
        for name, value in eqn.params.items():
            try:
                params[name] = written(value, self)
            except NotSavedError as error:
                raise ArtifactError(
                    f"the program uses {eqn.primitive.identity!r}, which cannot be saved: its parameter {name!r} is "
                    f"{error}, which has no form in a file"
                ) from None
        types = []
        for var in eqn.outvars:
            places[var] = len(places)
            types.append(self.aval(var.aval))
        return [self.primitive(eqn.primitive), operands, params, types]

    def _atom(self, atom: Var | Literal, places: dict[Any, int]) -> Any:
        if type(atom) is Literal:
            return [self.aval(atom.aval), bytes_of(np.asarray(atom.ndarray)).hex()]
        return places[atom]
