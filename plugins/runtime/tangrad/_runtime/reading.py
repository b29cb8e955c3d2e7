"""The program of a file's sections. Nothing is believed: see `writing` for the form, and what is checked here.

Each equation must be what its primitive infers from the operands, each number must be in its table, each constant in
the data. No array is made but of the constants, whose bytes are in the file; sizes that are only stated are compared
with the limits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tangrad._runtime import parameters
from tangrad._runtime.container import ArtifactError, Limits, Requirement, check_requirements, find_usable, of_type
from tangrad._runtime.saving import DATA, FORMATS, PROGRAM
from tangrad._runtime.sizes import ReadSizes, SizesAtCall
from tangrad.core import (
    Backend,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    ShapedArray,
    Var,
    dtypes,
    equation_effects,
    keeps_alive,
)
from tangrad.core.arguments import is_symbolic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from tangrad.core import Array, Effect

    T = TypeVar("T")

    from tangrad.typing import Params

MOST_DIMENSIONS = 32  # NumPy 1's
DEEPEST = 150  # lists and objects within each other: what reads them calls itself as often


class SavedProgram:
    """The contents of a file.

    Attributes:
        closed: the program.
        arguments, results: trees with a leaf for each argument and result.
        names, result_names: what they are called.
        requirements: for each family of primitives the family, the distribution that ships it, and its version.
        sizes: those that are found at the call.
    """

    def __init__(self, sections: Mapping[str, object], limits: Limits, backend: Backend) -> None:
        try:
            self._read(_described(sections, limits), sections.get(DATA, b""), limits, backend)
        except RecursionError:  # the stack was deep before: `DEEPEST` leaves room on one that is not
            raise ArtifactError("the program is nested deeper than can be read here: the stack is used up") from None

    def _read(self, description: dict[str, object], data: object, limits: Limits, backend: Backend) -> None:
        self.requirements: list[Requirement] = [_requirement(row) for row in _list(description, "requirements")]
        check_requirements(self.requirements)
        reader = _Reader(description, data, limits, backend)
        self.closed = reader.result()
        self.arguments, self.names = _tree(description, "arguments", "names", len(self.closed.in_avals))
        self.results, self.result_names = _tree(description, "results", "result_names", len(self.closed.out_avals))
        self.sizes = SizesAtCall(self.closed, self.names, reader.avals, reader.size_variables, limits.value_bytes)


def _described(sections: Mapping[str, Any], limits: Limits) -> dict[str, object]:
    contents = sections.get(PROGRAM)
    if contents is None:
        raise ArtifactError(f"the file carries no program; it has the sections {sorted(sections)}")
    if len(contents) > limits.program_bytes:
        raise ArtifactError(
            f"the description of the program has {len(contents)} bytes; the limit program_bytes is "
            f"{limits.program_bytes}"
        )
    try:
        description = json.loads(str(contents, "utf-8"), parse_float=_no_float, parse_constant=_no_float)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"the description of the program cannot be read: {error}") from None
    _check_depth(description)
    if type(description) is not dict:
        raise ArtifactError(f"the description of the program is {of_type(description)}, expected an object")
    if description.get("format") not in FORMATS:
        raise ArtifactError(
            f"the program is written in format {description.get('format')!r}; this distribution reads formats "
            f"{FORMATS[0]} to {FORMATS[-1]}"
        )
    return description


def _check_depth(description: object) -> None:
    level = [description]
    for _ in range(DEEPEST):
        level = [
            item
            for one in level
            for item in (one.values() if type(one) is dict else one if type(one) is list else ())
            if type(item) in (dict, list)
        ]
        if not level:
            return
    raise ArtifactError(f"the description of the program cannot be read: it is nested deeper than {DEEPEST}")


def _no_float(text: str) -> NoReturn:
    raise ValueError(f"floats are written in hexadecimal, got {text[:20]}")


def _list(description: dict[str, object], name: str) -> list[Any]:
    found = description.get(name)
    if type(found) is not list:
        raise ArtifactError(f"the program has no list {name!r}, but {of_type(found)}")
    return found


def _requirement(row: object) -> Requirement:
    family, distribution, version = _fields(row, 3, "a requirement")
    if not all([isinstance(part, str) for part in (family, distribution, version)]):
        raise ArtifactError(f"a requirement is {row!r}; expected a family, a distribution and a version")
    _check_family(family)
    return family, distribution, version


def _fields(value: object, count: int, what: str) -> list[Any]:
    if type(value) is not list or len(value) != count:
        raise ArtifactError(f"{what} has {count} parts, got {of_type(value)}")
    return value


def _tree(description: dict[str, object], name: str, names: str, count: int) -> tuple[object, list[str]]:
    found = parameters.read_structure(description.get(name))
    words = _list(description, names)
    if _leaves(found) != count or len(words) != count or not all([isinstance(word, str) for word in words]):
        raise ArtifactError(f"the program has {count} {name}; their structure and names are of another number")
    return found, words


def _leaves(value: object) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return sum([_leaves(item) for item in value])
    return int(value is not None)


class _Reader:
    """The tables of a file; what a parameter refers to is taken from them."""

    def __init__(self, description: dict[str, object], data: Any, limits: Limits, backend: Backend) -> None:
        self._data, self._limits, self._backend = data, limits, backend
        self._arrays: dict[int, Array] = {}
        self._equations = 0
        self._programs: list[ClosedJaxpr] = []
        # What a table refers to comes before it; of itself, or of those after it, there is nothing yet.
        self.avals: list[ShapedArray] = []
        self._primitives: list[Primitive | None] = []
        self._constants: list[tuple[ShapedArray, np.ndarray]] = []
        self._sizes = ReadSizes(_list(description, "constraints") if description["format"] == 2 else None)
        self.avals = [self._type(row) for row in _list(description, "types")]
        self._primitives = [find_usable(_text(name)) for name in _list(description, "primitives")]
        self._constants = [self._contents(row) for row in _list(description, "constants")]
        for row in _list(description, "programs"):
            self._programs.append(self._program(row))

    def result(self) -> ClosedJaxpr:
        """The whole program: the last."""
        return self.program(len(self._programs) - 1)

    # --- what has a number -------------------------------------------------------------------------------------------

    def aval(self, number: object) -> ShapedArray:
        return _entry(self.avals, number, "type")

    def size(self, text: str) -> object:
        return self._sizes.size(text)

    @property
    def size_variables(self) -> set[str]:
        return self._sizes.variables

    def primitive(self, number: object) -> Any:
        return _entry(self._primitives, number, "primitive")

    def program(self, number: object) -> ClosedJaxpr:
        return _entry(self._programs, number, "program")

    def array(self, number: object) -> np.ndarray:
        return _entry(self._constants, number, "constant")[1]

    # --- tables ------------------------------------------------------------------------------------------------------

    def _type(self, row: object) -> ShapedArray:
        written, shape, weak = _fields(row, 3, "a type")
        dtype = parameters.read(written, self)
        if not isinstance(dtype, (np.dtype, dtypes.ExtendedDType)):
            raise ArtifactError(f"the dtype of a type is {of_type(dtype)}")
        sizes = shape if type(shape) is list and len(shape) <= MOST_DIMENSIONS else [None]
        sizes = [self.size(size) if isinstance(size, str) else size for size in sizes]
        if type(weak) is not bool or not all(
            [is_symbolic(size) or (type(size) is int and size >= 0) for size in sizes]
        ):
            raise ArtifactError(f"no type has shape {of_type(shape)} and weak type {weak!r}")
        aval = ShapedArray(tuple(sizes), dtype, weak)
        if any([is_symbolic(size) for size in sizes]):
            return aval  # how large it is will be known at the call
        if aval.size * dtype.itemsize > self._limits.value_bytes:
            raise ArtifactError(
                f"values of type {aval.str_short()} take {aval.size * dtype.itemsize} bytes; the limit value_bytes is "
                f"{self._limits.value_bytes}"
            )
        return aval

    def _contents(self, row: object) -> tuple[ShapedArray, np.ndarray]:
        number, start, length = _fields(row, 3, "a constant")
        aval: Any = self.aval(number)
        if any([is_symbolic(size) for size in aval.shape]):
            raise ArtifactError(f"a constant is of type {aval.str_short()}, whose size is not known")
        extended = isinstance(aval.dtype, dtypes.ExtendedDType)
        physical = aval.dtype.physical_aval(aval) if extended else aval
        if not all([type(at) is int and at >= 0 for at in (start, length)]) or start + length > len(self._data):
            raise ArtifactError(f"a constant is at byte {start!r}, {length!r} bytes long, outside of the data")
        if physical.size * physical.dtype.itemsize != length:
            raise ArtifactError(f"a constant of type {aval.str_short()} has {length} bytes")
        contents = self._data[start : start + length]
        if physical.dtype == dtypes.float0:
            return aval, np.zeros(physical.shape, dtypes.float0)
        return aval, parameters.array_of(contents, physical.dtype, physical.shape)

    # --- programs ----------------------------------------------------------------------------------------------------

    def _program(self, row: object) -> ClosedJaxpr:
        constants, inputs, equations, outputs = _fields(row, 4, "a program")
        if not all([type(part) is list for part in (constants, inputs, equations, outputs)]):
            raise ArtifactError("a program is made of four lists")
        values = [self._value(number) for number in constants]
        constvars = [Var(value.aval) for value in values]
        invars = [Var(self.aval(number)) for number in inputs]
        variables = [*constvars, *invars]
        eqns = [self._equation(equation, variables) for equation in equations]
        outvars = [self._atom(atom, variables) for atom in outputs]
        return ClosedJaxpr(Jaxpr(constvars, invars, outvars, eqns), values)

    def _value(self, number: int) -> Array:
        """A constant as an array of the backend; one array for each."""
        aval, contents = _entry(self._constants, number, "constant")
        if number not in self._arrays:
            self._arrays[number] = self._backend.put(contents, aval)
        return self._arrays[number]

    def _equation(self, row: object, variables: list[Var]) -> JaxprEqn:
        number, operands, params, types = _fields(row, 4, "an equation")
        if type(operands) is not list or type(params) is not dict or type(types) is not list:
            raise ArtifactError("an equation has a primitive, operands, parameters and types of its results")
        self._equations += 1
        if self._equations > self._limits.equations:
            raise ArtifactError(f"the program has more equations than the limit, {self._limits.equations}")
        primitive = self.primitive(number)
        atoms = [self._atom(atom, variables) for atom in operands]
        values = {name: parameters.read(value, self) for name, value in params.items()}
        stated = [self.aval(number) for number in types]
        effects = self._check(primitive, tuple([atom.aval for atom in atoms]), values, stated)
        outvars = [Var(aval) for aval in stated]
        variables += outvars
        return JaxprEqn(primitive, atoms, outvars, values, effects)

    def _check(
        self, primitive: Primitive, avals: tuple[ShapedArray, ...], params: Params, stated: list[ShapedArray]
    ) -> frozenset[Effect]:
        """The effects of an equation. Raises ArtifactError unless its results have the types that it states."""
        try:
            inferred = primitive.infer(avals, params)
            effects = equation_effects(primitive, avals, params)
        except Exception as error:  # whatever the primitive raises for operands that it does not take
            raise ArtifactError(f"{primitive.identity!r} does not take what the program gives it: {error}") from error
        types = list(inferred) if primitive.multiple_results else [inferred]
        same = len(types) == len(stated) and all(
            [one.shape == other.shape and one.dtype == other.dtype for one, other in zip(types, stated)]
        )
        if not same:
            raise ArtifactError(f"{primitive.identity!r} gives {types}, the program states {stated}")
        if keeps_alive(effects):
            raise ArtifactError(f"{primitive.identity!r} has side effects; saved programs have none")
        return effects

    def _atom(self, atom: object, variables: list[Var]) -> Var | Literal:
        if type(atom) is not list:
            return _entry(variables, atom, "variable")
        number, text = _fields(atom, 2, "a number")
        aval = self.aval(number)
        if aval.shape:
            raise ArtifactError(f"a number is written out as type {aval.str_short()}, which has dimensions")
        return Literal(parameters.scalar_of(aval.dtype, text), aval)


def _is_size(value: object) -> bool:
    return is_symbolic(value) or (type(value) is int and value >= 0)


def _entry(table: Sequence[T], number: object, what: str) -> T:
    if type(number) is not int or not 0 <= number < len(table):
        raise ArtifactError(f"the program refers to {what} {number!r}; there are {len(table)} before it")
    return table[number]


def _text(name: object) -> str:
    if not isinstance(name, str) or "." not in name:
        raise ArtifactError(f"a primitive is named {name!r}; expected family.name")
    _check_family(name.partition(".")[0])
    return name


def _check_family(name: str) -> None:
    """Raise ArtifactError for what no entry point is called, and must not be looked for among them."""
    if not re.fullmatch(r"[\w.-]+", name, re.ASCII):
        raise ArtifactError(f"no family of primitives is called {name!r}")
