"""Saving a function as a program in a file."""

from __future__ import annotations

import inspect
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import tree
from tangrad._runtime import parameters
from tangrad._runtime.container import ALIGNMENT, ArtifactError, of_type, pack, requirements_of
from tangrad._runtime.parameters import NotSavedError, bytes_of, written
from tangrad._runtime.portability import portable_program
from tangrad._runtime.sizes import WrittenSizes
from tangrad.core import (
    Array,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    ShapedArray,
    Tracer,
    Var,
    api_boundary,
    dtypes,
    get_aval,
    is_array_value,
    returned_leaves,
    trace_to_closed_jaxpr,
)
from tangrad.core.arguments import SymbolicDimension, canonicalize_shape, is_symbolic
from tangrad.tree_util import keystr

if TYPE_CHECKING:
    from tangrad.core import AbstractValue
    from tangrad.typing import PyTree, Value


# --- A program as the sections of a file: "program", in JSON, and "data", the contents of its constants ---------------
# The JSON object of "program" has
#
#     "format"         1; 2, if the program has sizes that are found at the call
#     "constraints"    those of such sizes, as texts; only in format 2
#     "requirements"   for each family of primitives [family, distribution, version]
#     "primitives"     identities, "family.name"
#     "types"          [dtype, [size, …], weakly typed], of arrays; a size is a number, or a text such as "2*n + 1"
#     "constants"      [type, offset in "data", bytes]
#     "programs"       the program, last, after those nested in it: each [constants, inputs, equations, outputs]
#     "arguments"      the structure of the arguments; "names": what each array among them is called
#     "results"        the structure of the results; "result_names"
#
# Constants, primitives and types are given by their numbers in these lists. The variables of a program are numbered:
# first those that stand for its constants, then its inputs, then what its equations compute. `inputs` are their types;
# `outputs` are atoms; an atom is the number of a variable, or [type, bytes in hexadecimal], a number written out. An
# equation is [primitive, operands as atoms, {name: parameter}, types of the results]; parameters are as in
# `parameters`. Every program refers to earlier ones only.
#
# Whatever needs the program without Python's trees, such as a file of another kind that carries it too, calls
# `program_sections` and puts the sections beside its own.


FORMATS = (1, 2)
PROGRAM, DATA = "program", "data"


def program_sections(
    closed: ClosedJaxpr, arguments: object, results: object, names: Sequence[str], result_names: Sequence[str]
) -> dict[str, bytes]:
    """The sections of a program.

    Args:
        closed: the program; calls in it are written as their steps.
        arguments, results: the structures of its arguments and results, as `parameters.written_structure` gives them.
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
        self.types: list[object] = []
        self.constants: list[object] = []
        self.data: list[bytes] = []
        self.programs: list[object] = []
        self.primitives: dict[Primitive, int] = {}
        self.sizes = WrittenSizes()
        self._numbers: dict[object, int] = {}  # types and programs
        self._kept: list[object] = []  # what the table above knows by identity must live as long
        self._end = 0

    def aval(self, value: AbstractValue) -> int:
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

    def array(self, value: np.ndarray) -> int:
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

    def _equation(self, eqn: JaxprEqn, places: dict[Var, int]) -> list[object]:
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


@api_boundary
def save(fun: Callable[..., object], path: str | os.PathLike[str], *args: object, **kwargs: object) -> None:
    """Write a function, as the program that it is for arguments of these types, to a file.

    What the function closed over, trained parameters for instance, is written with it. The file holds no Python code:
    `load` runs it wherever there are the kernel, the primitives that it uses, and the NumPy backend.

    Args:
        fun: a function of trees of arrays, jitted or not.
        path: of the file; one that is there is replaced when the new one is whole.
        args, kwargs: examples of its arguments: arrays, numbers, or anything with `shape` and `dtype`, in tuples, lists
            and dicts. Their values are not read.

    Raises:
        ArtifactError: for what a file cannot hold, naming it: callbacks, primitives that no distribution registers,
            structures other than tuples, lists, dicts and None.
        TypeError: for arguments that are no arrays; and whatever the function raises.

    >>> import os, tempfile
    >>> import numpy
    >>> from tangrad import lax, runtime
    >>> path = os.path.join(tempfile.mkdtemp(), "sine.tgr")
    >>> runtime.save(lambda x: {"sine": lax.sin(x)}, path, numpy.zeros(3, "float32"))
    >>> runtime.load(path)(numpy.zeros(3, "float32"))
    {'sine': array([0., 0., 0.], dtype=float32)}
    """
    _write(path, pack(sections_of(fun, args, kwargs)))


def sections_of(fun: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, bytes]:
    """The sections of the file of a function called with arguments of these types; see `program_sections`."""
    if not callable(fun):
        raise TypeError(f"save expects a function as its first argument, got {of_type(fun)}")
    leaves, structure = tree.flatten((args, kwargs))
    names = _names(fun, args, kwargs)
    avals = [_aval(leaf, name) for leaf, name in zip(leaves, names)]
    returned: list[PyTree] = []

    def run(*values: Array) -> list[Value]:
        call_args, call_kwargs = structure.unflatten(values)
        returned.append(fun(*call_args, **call_kwargs))
        return returned_leaves(returned[-1], "save: the function")[0]

    closed = trace_to_closed_jaxpr(run, avals, getattr(fun, "__name__", "a function"))
    arguments = parameters.written_structure((args, kwargs), "the function's arguments")
    results = parameters.written_structure(returned[-1], "the function's result")
    result_names = ["result" + keystr(path) for path, _ in tree.leaves_with_path(returned[-1])]
    return program_sections(closed, arguments, results, names, result_names)


def _aval(leaf: object, name: str) -> ShapedArray:
    if is_array_value(leaf):
        return get_aval(leaf)
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return ShapedArray(canonicalize_shape(leaf.shape), dtypes.canonicalize_dtype(leaf.dtype))
    raise TypeError(f"save: {name} is {of_type(leaf)}, which is not an array; close over what is no array")


def _names(fun: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> list[str]:
    """What each array among the arguments is called: `images`, `params['w']`."""
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (ValueError, TypeError, AttributeError):
        parameters = []
    plain = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    names = []
    for path, _ in tree.leaves_with_path((args, kwargs)):
        where, first, *rest = path
        if where.idx == 1:
            name = str(first.key)
        else:
            name = plain[first.idx] if first.idx < len(plain) else f"argument{first.idx}"
        names.append(name + keystr(tuple(rest)))
    return names


def _write(path: str | os.PathLike[str], contents: bytes) -> None:
    """Write a whole file or none: a concurrent reader sees the old one."""
    folder, name = os.path.split(os.path.abspath(os.fspath(path)))
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # as of any new file: that of `mkstemp` is the user's alone
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
