"""Compiled programs read from bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._export.compiled.container import Unpacked, check_seal, refuse, unpacked
from tangrad._export.compiled.loaded import LoadedCompiled
from tangrad._export.compiled.storing import StoresPrograms
from tangrad._export.exported import NUMPY
from tangrad._export.programs import read_program
from tangrad._export.reading import check_arguments, read_aval, read_list, read_number, read_text
from tangrad._export.structures import tree_from
from tangrad.core import Backend, Device, ShapedArray, api_boundary, backend_names, get_backend
from tangrad.core.arguments import is_symbolic
from tangrad.core.programs import compile_program
from tangrad.extend.symbolic import SymbolicScope


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


def _fields(found: dict[str, Any]) -> dict[str, Any]:
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


def _positions(entry: Any, avals: Sequence[ShapedArray]) -> list[int]:
    found = [read_number(position) for position in read_list(entry)]
    if any([position >= len(avals) for position in found]):
        raise ValueError("it takes or returns what there is none of")
    return found


def _portable(found: Unpacked, fields: dict[str, Any]) -> LoadedCompiled:
    try:
        closed = read_program(found.program)
    except ValueError as error:
        refuse(f"its program cannot be read ({error})")
    for own, stated in ((closed.in_avals, fields["in_avals"]), (closed.out_avals, fields["out_avals"])):
        if [aval.str_short() for aval in own] != [aval.str_short() for aval in stated]:
            refuse("its program is of other types than it says")
    backend = get_backend(NUMPY)
    device = _device_of(backend, fields)
    program = compile_program(closed, backend, fields["name"], device=device, keep_unused=True)
    return LoadedCompiled(fields, backend, program.executable, None)


def _device_of(backend: Backend, fields: dict[str, Any]) -> Device | None:
    """The device that `jit(device=)` named, if it did. Raises ValueError where there is none of its number."""
    number = fields["device"]
    devices = {device.id: device for device in backend.devices()}
    if number is not None and number not in devices:
        raise ValueError(f"{fields['name']} was compiled for device {number}; here there are {sorted(devices)}")
    return None if number is None else devices[number]


def _machine_code(found: Unpacked, fields: dict[str, Any]) -> LoadedCompiled:
    name, kept = fields["backend"], fields["kept"]
    backend = get_backend(name) if name in backend_names() else None
    if not isinstance(backend, StoresPrograms):
        raise ValueError(f"{fields['name']} was compiled by the backend {name!r:.80}, which is not installed here")
    avals = fields["in_avals"] if kept is None else [fields["in_avals"][position] for position in kept]
    device = _device_of(backend, fields)
    facts = {**found.description, "device": device}
    executable = backend.restore_program(fields["name"], facts, found.program, avals, fields["out_avals"])
    return LoadedCompiled(fields, backend, executable, kept)
