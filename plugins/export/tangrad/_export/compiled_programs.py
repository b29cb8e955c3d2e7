"""Compiled programs as bytes, read and called: machine code for XLA, portable programs for NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad import tree
from tangrad._export.compiled_files import StoresPrograms, Unpacked, check_seal, packed, refuse, unpacked
from tangrad._export.exported import NUMPY, argument_labels
from tangrad._export.reading import check_arguments, read_aval, read_list, read_number, read_text
from tangrad._export.structures import described_tree, tree_from
from tangrad._export.writing import described_aval, read_program, written_program
from tangrad.core import (
    Array,
    Backend,
    Device,
    Executable,
    ShapedArray,
    Tracer,
    api_boundary,
    backend_names,
    get_aval,
    get_backend,
    is_array_value,
    put,
)
from tangrad.core.arguments import is_symbolic
from tangrad.core.programs import check_values, compile_program
from tangrad.extend.jit import check_not_shared, parts_of
from tangrad.extend.runtime import portable_program
from tangrad.extend.symbolic import SymbolicScope
from tangrad.stages import Compiled

if TYPE_CHECKING:
    from tangrad.extend.jit import CompiledParts
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import Params, PyTree


# --- A compiled program that was read from a file ---------------------------------------------------------------------


class LoadedCompiled:
    """A function of arrays of exactly the types that it was compiled for. It cannot be transformed.

    Attributes:
        fun_name: the name of the function.
        in_tree, in_avals: the structure of `(positional arguments, keyword arguments)`, and the types of the arrays.
        out_tree, out_avals: the same of the result.
        backend: the name of the backend that runs it.
    """

    def __init__(self, fields: Params, backend: Backend, executable: Executable, kept: Sequence[int] | None) -> None:
        self.fun_name: str = fields["name"]
        self.in_tree, self.out_tree = fields["in_tree"], fields["out_tree"]
        self.in_avals: tuple[ShapedArray, ...] = fields["in_avals"]
        self.out_avals: tuple[ShapedArray, ...] = fields["out_avals"]
        self.backend: str = backend.name
        self._labels = argument_labels(self.in_tree, self.in_avals)
        self._kind, self._executable = backend.array_type, executable
        self._execute: Callable[[list[object]], list[object]] = executable.execute
        self._kept = range(len(self.in_avals)) if kept is None else kept
        self._donated = [position in fields["donated"] for position in range(len(self.in_avals))]

    def __call__(self, *args: PyTree, **kwargs: object) -> PyTree:
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

    def _array(self, leaf: object, aval: ShapedArray, label: str) -> Array:
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


# --- Compiled programs as bytes ---------------------------------------------------------------------------------------


def serialize_compiled(compiled: Compiled, *, key: bytes | None = None) -> bytes:
    """A compiled program as bytes, which `load_compiled` reads; `Compiled.serialize` is the same.

    Args:
        compiled: what `jit(f).lower(...).compile()` returned.
        key: at least 16 bytes that the reader has too, to show who wrote the file; None: a secret of this user's.

    Raises:
        TypeError: for anything else.
        NotImplementedError: for programs over several devices, with effects, or that call Python.
        ValueError: for structures that files do not have; for a key that is too short.

    >>> import tangrad
    >>> from tangrad import export
    >>> compiled = tangrad.jit(lambda x: [x, x]).lower(1.5).compile()
    >>> data = export.serialize_compiled(compiled, key=b"0123456789abcdef")
    >>> [float(x) for x in tangrad.load_compiled(data, key=b"0123456789abcdef")(1.5)]
    [1.5, 1.5]
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(
            f"serialize_compiled takes what jit(f).lower(...).compile() returns, got a {type(compiled).__name__}"
        )
    parts = parts_of(compiled)
    closed, backend = parts.program, parts.backend
    _check(parts)
    if backend.name == NUMPY:
        facts: dict[str, object] = {}
        data = written_program(portable_program(closed), argument_labels(compiled.in_tree, closed.in_avals))
    elif isinstance(backend, StoresPrograms):
        facts, data = backend.store_program(parts.executable)
    else:
        raise NotImplementedError(f"the backend {backend.name!r} does not write its programs")
    description = {
        "backend": backend.name,
        "name": parts.name,
        "in_tree": described_tree(compiled.in_tree),
        "in_avals": [described_aval(aval) for aval in closed.in_avals],
        "out_tree": described_tree(compiled.out_tree),
        "out_avals": [described_aval(aval) for aval in closed.out_avals],
        "kept": None if parts.kept is None else list(parts.kept),
        "donated": _where(parts.donated),
        "device": None if parts.device is None else parts.device.id,
        "weak": _where([aval.weak_type for aval in closed.out_avals]),
        **facts,
    }
    return packed(description, data, key)


def _where(flags: Iterable[bool]) -> list[int]:
    return [position for position, flag in enumerate(flags) if flag]


def _check(parts: CompiledParts) -> None:
    name, closed = parts.name, parts.program
    if parts.outer:
        raise NotImplementedError(f"serialize: {name} uses values of a function that is being traced around it")
    if closed.effects:
        effects = ", ".join(sorted(map(str, closed.effects)))
        raise NotImplementedError(f"serialize: {name} has effects ({effects}), which files do not have")
    if any([is_symbolic(size) for aval in (*closed.in_avals, *closed.out_avals) for size in aval.shape]):
        raise NotImplementedError(f"serialize: {name} has sizes that are no numbers; export it instead")


# --- Compiled programs read from bytes --------------------------------------------------------------------------------


@api_boundary
def load_compiled(
    data: bytes | bytearray | memoryview, *, key: bytes | None = None, trusted: bool = False
) -> LoadedCompiled:
    """Make a program that `Compiled.serialize` wrote ready to run; nothing is traced, lowered or compiled for XLA.

    A file for XLA holds machine code, and is run only where it is known who wrote it. One for NumPy holds a program,
    all of whose parts are checked: no code runs when it is read, wherever it comes from.

    Args:
        data: the bytes.
        key: that of the writer; None: the secret of this user.
        trusted: whether to run machine code that is not sealed with it.

    Returns:
        A function of the arguments that the program was compiled for.

    Raises:
        ValueError: for other files, unknown versions, cut or altered ones; for a program of another version of jaxlib,
            or for another kind of device or processor.
        PermissionError: for machine code that is not sealed with the key.
        TypeError: for what is no bytes.

    >>> import tangrad
    >>> data = tangrad.jit(lambda x: {"same": x}).lower(1.5).compile().serialize(key=b"0123456789abcdef")
    >>> program = tangrad.load_compiled(data, key=b"0123456789abcdef")
    >>> float(program(1.5)["same"])
    1.5
    """
    found = unpacked(data)
    description = found.description if isinstance(found.description, dict) else {}
    is_portable = description.get("backend") == NUMPY
    if not (is_portable or trusted):
        check_seal(found, key)
    try:
        fields = _fields(description)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        refuse(f"its description cannot be read ({error})")
    return _portable(found, fields) if is_portable else _machine_code(found, fields)


def _fields(found: dict[str, object]) -> dict[str, Any]:
    scope = SymbolicScope(())
    in_avals, out_avals = [
        tuple([read_aval(entry, scope) for entry in read_list(found[side])]) for side in ("in_avals", "out_avals")
    ]
    in_tree, out_tree = tree_from(found["in_tree"]), tree_from(found["out_tree"])
    if in_tree.num_leaves != len(in_avals) or out_tree.num_leaves != len(out_avals):
        raise ValueError("its trees do not fit its types")
    check_arguments(in_tree)
    if any([is_symbolic(size) for aval in (*in_avals, *out_avals) for size in aval.shape]):
        raise ValueError("it has sizes that are no numbers")
    kept = None if found["kept"] is None else _positions(found["kept"], in_avals)
    weak = set(_positions(found.get("weak", []), out_avals))
    return {
        "backend": read_text(found["backend"]),
        "name": read_text(found["name"]),
        "in_tree": in_tree,
        "in_avals": in_avals,
        "out_tree": out_tree,
        "out_avals": tuple([aval.update(weak_type=at in weak) for at, aval in enumerate(out_avals)]),
        "kept": kept,
        "donated": _positions(found.get("donated", []), in_avals),
        "device": None if found.get("device") is None else read_number(found["device"]),
    }


def _positions(entry: object, avals: Sequence[ShapedArray]) -> list[int]:
    found = [read_number(position) for position in read_list(entry)]
    if any([position >= len(avals) for position in found]):
        raise ValueError("it takes or returns what there is none of")
    return found


def _portable(found: Unpacked, fields: Params) -> LoadedCompiled:
    try:
        closed = read_program(found.program)
    except ValueError as error:
        refuse(f"its program cannot be read ({error})")
    for own, stated in ((closed.in_avals, fields["in_avals"]), (closed.out_avals, fields["out_avals"])):
        if [aval.str_short() for aval in own] != [aval.str_short() for aval in stated]:
            refuse("its program is of other types than it declares")
    backend = get_backend(NUMPY)
    device = _device_of(backend, fields)
    program = compile_program(closed, backend, fields["name"], device=device, keep_unused=True)
    return LoadedCompiled(fields, backend, program.executable, None)


def _device_of(backend: Backend, fields: dict[str, object]) -> Device | None:
    """The device that `jit(device=)` named, if it did. Raises ValueError where there is none of its number."""
    number = fields["device"]
    devices = {device.id: device for device in backend.devices()}
    if number is not None and number not in devices:
        raise ValueError(f"{fields['name']} was compiled for device {number}; here there are {sorted(devices)}")
    return None if number is None else devices[number]


def _machine_code(found: Unpacked, fields: dict[str, object]) -> LoadedCompiled:
    name, kept = fields["backend"], fields["kept"]
    backend = get_backend(name) if name in backend_names() else None
    if not isinstance(backend, StoresPrograms):
        raise ValueError(f"{fields['name']} was compiled by the backend {name!r:.80}, which is not installed here")
    avals = fields["in_avals"] if kept is None else [fields["in_avals"][position] for position in kept]
    device = _device_of(backend, fields)
    facts = {**found.description, "device": device}
    executable = backend.restore_program(fields["name"], facts, found.program, avals, fields["out_avals"])
    return LoadedCompiled(fields, backend, executable, kept)


# --- `experimental.serialize_executable`: JAX's names for compiled programs as bytes ----------------------------------


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """A compiled program as bytes, and the structures of its arguments and results, which the bytes hold too.

    See `export.serialize_compiled` for what is refused.

    >>> import tangrad
    >>> from tangrad.experimental import serialize_executable
    >>> data, in_tree, out_tree = serialize_executable.serialize(tangrad.jit(lambda x: [x]).lower(1.5).compile())
    >>> float(serialize_executable.deserialize_and_load(data, in_tree, out_tree, trusted=True)(1.5)[0])
    1.5
    """
    return serialize_compiled(compiled), compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: str | None = None,
    execution_devices: Sequence[Device] | None = None,
    *,
    trusted: bool = False,
) -> LoadedCompiled:
    """Make the bytes of `serialize` ready to run. `load_compiled` does the same without the structures.

    Args:
        serialized, in_tree, out_tree: what `serialize` returned.
        backend: the name of the backend that it must be of; None: any.
        execution_devices: None: programs run on one device, the default one of their backend.
        trusted: see `load_compiled`.

    Raises:
        ValueError, PermissionError: as `load_compiled`; also for other structures, and for another backend.
        NotImplementedError: for execution_devices.

    >>> import tangrad
    >>> from tangrad.experimental import serialize_executable
    >>> data, in_tree, out_tree = serialize_executable.serialize(tangrad.jit(lambda x: [x]).lower(1.5).compile())
    >>> float(serialize_executable.deserialize_and_load(data, in_tree, out_tree, trusted=True)(1.5)[0])
    1.5
    """
    if execution_devices is not None:
        raise NotImplementedError("deserialize_and_load: execution_devices; programs are for the default device")
    loaded = load_compiled(serialized, trusted=trusted)
    if (loaded.in_tree, loaded.out_tree) != (in_tree, out_tree):
        raise ValueError(f"the program takes {loaded.in_tree} and returns {loaded.out_tree}, not as given")
    if backend not in (None, loaded.backend):
        raise ValueError(f"the program is of the backend {loaded.backend!r}, not of {backend!r}")
    return loaded
