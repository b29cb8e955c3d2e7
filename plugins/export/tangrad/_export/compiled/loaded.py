"""A compiled program that was read from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad import tree
from tangrad._export.exported import argument_labels
from tangrad.core import Array, Backend, Executable, ShapedArray, Tracer, get_aval, is_array_value, put
from tangrad.core.programs import check_values
from tangrad.extend.jit import check_not_shared


class LoadedCompiled:
    """A function of arrays of exactly the types that it was compiled for. It cannot be transformed.

    Attributes:
        fun_name: the name of the function.
        in_tree, in_avals: the structure of `(positional arguments, keyword arguments)`, and the types of the arrays.
        out_tree, out_avals: the same of the result.
        backend: the name of the backend that runs it.
    """

    def __init__(
        self, fields: dict[str, Any], backend: Backend, executable: Executable, kept: Sequence[int] | None
    ) -> None:
        self.fun_name: str = fields["name"]
        self.in_tree, self.out_tree = fields["in_tree"], fields["out_tree"]
        self.in_avals: tuple[ShapedArray, ...] = fields["in_avals"]
        self.out_avals: tuple[ShapedArray, ...] = fields["out_avals"]
        self.backend: str = backend.name
        self._labels = argument_labels(self.in_tree)
        self._kind, self._executable = backend.array_type, executable
        self._execute: Callable[[list[Any]], list[Any]] = executable.execute
        self._kept = range(len(self.in_avals)) if kept is None else kept
        self._donated = [position in fields["donated"] for position in range(len(self.in_avals))]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises TypeError for arguments of another structure, shape or dtype than it was compiled for, ValueError for a
        donated array that is another argument too.
        """
        leaves, structure = tree.flatten((args, kwargs))
        if structure != self.in_tree:
            raise TypeError(f"{self.fun_name}: expected arguments of structure {self.in_tree}, got {structure}")
        arrays = list(map(self._array, leaves, self.in_avals, self._labels))
        check_not_shared(self._labels.__getitem__, self._donated, arrays, self.fun_name)
        outs = self._execute([arrays[position] for position in self._kept])
        check_values(outs, f"the loaded program {self.fun_name!r}")
        return self.out_tree.unflatten(outs)

    def _array(self, leaf: Any, aval: ShapedArray, label: str) -> Array:
        if isinstance(leaf, Tracer) or not is_array_value(leaf):
            raise TypeError(f"{self.fun_name}: {label} must be an array, got {leaf!r}; a loaded program is not traced")
        given = get_aval(leaf)
        if given.shape != aval.shape or given.dtype != aval.dtype:
            raise TypeError(f"{self.fun_name}: {label} must be {aval.str_short()}, got {given.str_short()}")
        if isinstance(leaf, self._kind):
            return leaf
        return put(leaf.to_numpy() if isinstance(leaf, Array) else leaf, aval, self.backend)

    def as_text(self) -> str:
        """The program as text: optimised HLO on XLA, Python source on NumPy."""
        return str(self._executable.as_text())

    def __repr__(self) -> str:
        return f"<loaded {self.fun_name} for {self.backend}>"
