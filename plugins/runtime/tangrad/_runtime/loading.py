"""Loading a saved program, and running it on arrays of NumPy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import tree
from tangrad._runtime.container import (
    DEFAULT,
    HEADER_BYTES,
    ArtifactError,
    Limits,
    Requirement,
    check_header,
    of_type,
    unpack,
)
from tangrad._runtime.reading import SavedProgram
from tangrad.core import Array, Backend, dtypes, get_backend, put
from tangrad.core.programs import compile_program

if TYPE_CHECKING:
    from tangrad.core import ShapedArray
    from tangrad.typing import PyTree, Value


class LoadedProgram:
    """A saved program that is ready to run: a function of NumPy arrays that returns NumPy arrays.

    Arguments may be anything that NumPy takes for an array of the dtype and shape that was saved; arrays of another
    dtype are converted where no value can be lost. Results cannot be written to. Random keys, which NumPy has no arrays
    for, are taken and returned as arrays of Tangrad.

    Attributes:
        names, result_names: what each array among the arguments and results is called, in order.
        in_avals, out_avals: their types.
        requirements: for each family of primitives the family, the distribution that ships it, and its version when the
            program was saved.
    """

    def __init__(self, saved: SavedProgram, backend: Backend) -> None:
        closed = saved.closed
        self.names, self.result_names = tuple(saved.names), tuple(saved.result_names)
        self.in_avals, self.out_avals = tuple(closed.in_avals), tuple(closed.out_avals)
        self.requirements: tuple[Requirement, ...] = tuple(saved.requirements)
        self._structure, self._results = tree.structure(saved.arguments), tree.structure(saved.results)
        self._backend = backend
        self._sizes = saved.sizes
        try:
            self._program = compile_program(closed, backend, "saved_program", keep_unused=True)
        except Exception as error:  # whatever the rules of the backend say of parameters that were altered
            raise ArtifactError(f"the program cannot be compiled: {error}") from error
        # Where the arguments are arrays alone, which need not be looked for in trees, of sizes that are known: what
        # each must be. Of a small program the call is a quarter of the time.
        are_flat = self._structure == tree.structure(((0,) * len(self.in_avals), {})) and saved.sizes.are_known
        self._plain = [(np.ndarray, aval.dtype, aval.shape) for aval in self.in_avals] if are_flat else None
        self._is_single = self._results == tree.structure(0)

    def __call__(self, *args: PyTree, **kwargs: object) -> PyTree:
        """Run the program. Raises TypeError or ValueError naming the argument that does not fit."""
        if not kwargs and [(type(x), x.dtype, x.shape) if type(x) is np.ndarray else None for x in args] == self._plain:
            adopt = self._backend.adopt
            outs = self._outputs([adopt(x.copy(), aval) for x, aval in zip(args, self.in_avals)])
            return outs[0] if self._is_single else self._results.unflatten(outs)
        leaves, structure = tree.flatten((args, kwargs))
        if structure != self._structure:
            expected = ", ".join([f"{name}: {aval.str_short()}" for name, aval in zip(self.names, self.in_avals)])
            given = f"the program takes {expected or 'nothing'}, structured as {self._structure}"
            raise TypeError(f"{given}; got {structure}")
        return self._results.unflatten(self.run(leaves))

    def run(self, leaves: Sequence[Any]) -> list[Any]:
        """The same from the list of arrays, in the order of `names`, to the list of results."""
        if len(leaves) != len(self.in_avals):
            names = ", ".join(self.names)
            raise TypeError(f"the program takes {len(self.in_avals)} arrays ({names}), got {len(leaves)}")
        values = [value if isinstance(value, Array) else np.asarray(value) for value in leaves]
        avals = self._sizes.input_avals(values)
        arrays = [self._argument(*one) for one in zip(leaves, values, avals, self.names)]
        return self._outputs(arrays)

    def _outputs(self, arrays: Sequence[Value]) -> list[Any]:
        return [
            out if isinstance(out.aval.dtype, dtypes.ExtendedDType) else out.to_numpy()
            for out in self._program.execute(arrays)
        ]

    def _argument(self, value: float | np.ndarray, array: Any, aval: ShapedArray, name: str) -> Array:
        if array.dtype is aval.dtype and array.shape == aval.shape and type(value) is np.ndarray:
            return self._backend.adopt(array.copy(), aval)  # the caller may write to it
        if isinstance(aval.dtype, dtypes.ExtendedDType):
            if not isinstance(value, Array) or value.aval.shape != aval.shape or value.aval.dtype != aval.dtype:
                raise TypeError(f"argument {name} must be an array of type {aval.str_short()}, got {of_type(value)}")
            return put(value, aval, self._backend.name)  # of any backend
        array = np.asarray(array)
        if array.shape != aval.shape:
            raise ValueError(f"argument {name} must have shape {aval.shape}, got {array.shape}")
        if array.dtype != aval.dtype and not _fits(value, array, aval.dtype):
            raise TypeError(f"argument {name} must have dtype {dtypes.dtype_name(aval.dtype)}, got {array.dtype}")
        return self._backend.put(array, aval)

    def __repr__(self) -> str:
        inputs = ", ".join([f"{name}: {aval.str_short()}" for name, aval in zip(self.names, self.in_avals)])
        outputs = ", ".join([f"{name}: {aval.str_short()}" for name, aval in zip(self.result_names, self.out_avals)])
        return f"<saved program ({inputs}) -> ({outputs})>"


def _fits(value: float | np.ndarray, array: np.ndarray, dtype: np.dtype) -> bool:
    """Whether an argument of another dtype is taken: a Python number of the same kind, or what loses nothing."""
    if type(value) in (bool, int, float, complex):
        return np.can_cast(array.dtype, dtype, "same_kind") or (type(value) is int and array.astype(dtype) == value)
    return np.can_cast(array.dtype, dtype, "safe")


def load(source: str | os.PathLike[str] | bytes, limits: Limits = DEFAULT, backend: str = "numpy") -> LoadedProgram:
    """Read a program that `save` wrote, check all of it, and make it ready to run.

    Args:
        source: the path of the file, or its contents.
        limits: how large the program may be.
        backend: the backend that runs it.

    Returns:
        a function of NumPy arrays; see `LoadedProgram`.

    Raises:
        ArtifactError: for a file that was cut, altered, or written in a format that this version does not read; for one
            beyond the limits; for primitives that are not installed, each with the distribution and version to install.
        OSError: where the file cannot be read.

    No code of the file's is run: it has none. A program may still compute for long, or take much memory, when it is
    called.

    >>> import os, tempfile
    >>> import numpy
    >>> from tangrad import lax, runtime
    >>> path = os.path.join(tempfile.mkdtemp(), "square.tgr")
    >>> runtime.save(lambda x: lax.mul(x, x), path, numpy.zeros(2, "float32"))
    >>> square = runtime.load(path)
    >>> square
    <saved program (x: f32[2]) -> (result: f32[2])>
    >>> square(numpy.array([1, 2], "float32"))
    array([1., 4.], dtype=float32)
    """
    try:
        sections = unpack(source if isinstance(source, bytes) else _contents(source, limits))
        chosen = get_backend(backend)
        return LoadedProgram(SavedProgram(sections, limits, chosen), chosen)
    except RecursionError:
        raise ArtifactError("the program is nested deeper than can be loaded here: the stack is used up") from None
    except ArtifactError as error:
        if not isinstance(source, bytes):
            error.add_note(f"in {os.fspath(source)}")
        raise


def _contents(path: str | os.PathLike[str], limits: Limits) -> bytes:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > limits.file_bytes:
            raise ArtifactError(f"the file has {size} bytes; the limit file_bytes is {limits.file_bytes}")
        head = file.read(HEADER_BYTES)
        check_header(head, size)
        return head + file.read(size)
