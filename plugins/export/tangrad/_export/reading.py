"""Exported programs read from bytes; `writing` has the format."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NoReturn

from tangrad._export.bytecode import DamagedModule, read_contents
from tangrad._export.exported import NUMPY, DisabledSafetyCheck, Exported, check_contents
from tangrad._export.structures import tree_from
from tangrad._export.writing import HEADER, HEADERS, MAGIC, MOST, MOST_DEVICES, SavedSharding, read_program, typed
from tangrad._export.writing import read as read_sharding
from tangrad.core import ClosedJaxpr, ShapedArray
from tangrad.dtypes import ExtendedDType
from tangrad.extend import runtime
from tangrad.extend.runtime import checked_constraints
from tangrad.extend.symbolic import SymbolicScope, parse_dimension

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import DType, Params


def deserialize(blob: bytes | bytearray | memoryview) -> Exported:
    """Read a program that `Exported.serialize` wrote.

    Returns:
        The `Exported`.

    Raises:
        ValueError: for anything else: other files, unknown versions, cut or altered ones. Nothing is half-read.
        TypeError: for what is no bytes.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad import export
    >>> data = export.export(tangrad.jit(np.sin))(np.ones(3)).serialize()
    >>> export.deserialize(data).out_avals
    (ShapedArray(float32[3]),)
    """
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise TypeError(f"deserialize takes bytes, got {type(blob).__name__}")
    return _read(memoryview(blob).cast("B"), 0)


def _read(data: memoryview, depth: int) -> Exported:
    description, module, derivative, written = _parts(data, depth)
    try:
        fields = _fields(json.loads(bytes(description)))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        _refuse(f"its description cannot be read ({error})")
    program = _program(written, fields)
    _check_module(bytes(module), fields)
    vjp = _read(derivative, depth + 1) if len(derivative) else None
    if vjp is not None:
        _check_derivative(vjp, fields)
    return Exported(
        **fields,
        mlir_module_serialized=bytes(module),
        program_serialized=bytes(written),
        _program=program,
        _get_vjp=None if vjp is None else lambda _: vjp,
    )


def _check_module(module: bytes, fields: Params) -> None:
    """Refuse a module that could not have been exported."""
    if not any([platform != NUMPY for platform in fields["platforms"]]):
        return
    try:
        found = read_contents(module)
    except DamagedModule as error:
        _refuse(f"its module cannot be read ({error})")
    except RecursionError:  # the stack was deep before
        _refuse("its module is nested deeper than can be read here: the stack is used up")
    check_contents(fields["fun_name"], *found, fields["disabled_safety_checks"])


def _program(written: memoryview, fields: Params) -> ClosedJaxpr | None:
    """The program for NumPy, or None where there is none."""
    if (NUMPY in fields["platforms"]) != (len(written) > 0):
        _refuse(f"it is for {fields['platforms']}, and has a program for NumPy of {len(written)} bytes")
    if not written:
        return None
    try:
        closed = read_program(written)
    except ValueError as error:
        _refuse(f"its program for NumPy cannot be read ({error})")
    for own, stated in ((closed.in_avals, fields["in_avals"]), (closed.out_avals, fields["out_avals"])):
        if [aval.plain.str_short() for aval in own] != [aval.plain.str_short() for aval in stated]:
            _refuse("its program for NumPy is of other types than it declares")
    return closed


def _parts(data: memoryview, depth: int) -> list[memoryview]:
    if len(data) < HEADER.size or bytes(data[: len(MAGIC)]) != MAGIC:
        _refuse("it does not begin as one")
    version, reserved = HEADER.unpack(data[: HEADER.size])[1:3]
    header = HEADERS.get(version)
    if header is None or reserved or len(data) < header.size:
        _refuse(f"it has version {version} of the format; this release reads versions {min(HEADERS)} to {max(HEADERS)}")
    *lengths, digest = header.unpack(data[: header.size])[3:]
    description, module, derivative, program = (*lengths, 0)[:4]
    most = MOST["description"], MOST["module"], len(data), MOST["program"]
    if any([length > limit for length, limit in zip((description, module, derivative, program), most)]) or (
        depth > MOST["derivatives"]
    ):
        _refuse(f"it claims parts of {description}, {module}, {derivative} and {program} bytes at derivative {depth}")
    body = data[header.size :]
    if len(body) != sum(lengths):
        _refuse(f"it claims {sum(lengths)} bytes after its header, and has {len(body)}")
    if hashlib.sha256(body).digest() != digest:
        _refuse("its contents were altered")
    parts, start = [], 0
    for length in (description, module, derivative, program):
        parts.append(body[start : start + length])
        start += length
    return parts


def _refuse(problem: str) -> NoReturn:
    raise ValueError(f"this is no exported program: {problem}")


def _fields(found: object) -> dict[str, Any]:
    """The description as fields of `Exported`; every part of it is of the kind that it should be."""
    if not isinstance(found, dict):
        raise ValueError("it is no table")
    scope = SymbolicScope(checked_constraints(found["constraints"]))
    in_avals, out_avals = [tuple([read_aval(entry, scope) for entry in read_list(found[key])]) for key in _AVALS]
    in_tree, out_tree = tree_from(found["in_tree"]), tree_from(found["out_tree"])
    if in_tree.num_leaves != len(in_avals) or out_tree.num_leaves != len(out_avals):
        raise ValueError("its trees do not fit its types")
    check_arguments(in_tree)
    checks = [DisabledSafetyCheck(str(kind), None if to is None else str(to)) for kind, to in found["disabled_checks"]]
    count = read_number(found["devices"])
    if not 1 <= count <= MOST_DEVICES:
        raise ValueError(f"a program for {count} devices")
    explicit = found.get("explicit") or {"in": [None] * len(in_avals), "out": [None] * len(out_avals)}
    in_avals, out_avals = [
        tuple([typed(aval, entry, count) for aval, entry in zip(avals, read_list(explicit[key]), strict=True)])
        for key, avals in (("in", in_avals), ("out", out_avals))
    ]
    return {
        "fun_name": read_text(found["name"]),
        "in_tree": in_tree,
        "in_avals": in_avals,
        "out_tree": out_tree,
        "out_avals": out_avals,
        "platforms": tuple(_strings(found["platforms"])),
        "calling_convention_version": read_number(found["calling_convention"]),
        "nr_devices": count,
        "in_shardings": _shardings(found, "in_shardings", in_avals, count),
        "out_shardings": _shardings(found, "out_shardings", out_avals, count),
        "disabled_safety_checks": tuple(checks),
        "uses_global_constants": found["global_constants"] is True,
    }


_AVALS = ("in_avals", "out_avals")


def _shardings(
    found: dict[str, object], key: str, avals: tuple[ShapedArray, ...], count: int
) -> tuple[SavedSharding | None, ...]:
    """How each value of a program over `count` devices is sharded."""
    if count == 1 and key not in found:
        return (None,) * len(avals)
    entries = read_list(found[key])
    return tuple([read_sharding(entry, aval.ndim, count) for entry, aval in zip(entries, avals, strict=True)])


def check_arguments(in_tree: PyTreeDef) -> None:
    """Raise ValueError unless a structure is that of positional arguments and keywords."""
    kinds = [(node.node_data() or (None,))[0] for node in (in_tree, *in_tree.children())]
    if kinds != [tuple, tuple, dict]:
        raise ValueError("its arguments are no pair of positional ones and keywords")


def _check_derivative(vjp: Exported, fields: Params) -> None:
    primals = tuple([(aval.dtype, len(aval.shape)) for aval in fields["in_avals"]])
    given = tuple([(aval.dtype, len(aval.shape)) for aval in vjp.in_avals])
    count = len(fields["in_avals"])
    if given[:count] != primals or len(given) != count + len(fields["out_avals"]) or len(vjp.out_avals) != count:
        _refuse("its derivative is not of its own program")


def read_aval(entry: Any, scope: SymbolicScope) -> ShapedArray:
    """A type from its description. Raises ValueError for anything else."""
    name, shape = entry
    if len(read_list(shape)) > MOST["dimensions"]:
        raise ValueError(f"an array of {len(shape)} dimensions")
    sizes = [parse_dimension(size, scope) if isinstance(size, str) else read_number(size) for size in shape]
    return ShapedArray(tuple(sizes), _dtype(name))


def _refer(_: object) -> NoReturn:
    raise ValueError("a dtype of its description refers to a table")


class _NoTables:
    """What dtypes in a description may refer to: nothing."""

    aval = array = primitive = program = size = staticmethod(_refer)


def _dtype(name: object) -> DType:
    if not isinstance(name, dict):
        return runtime.dtype_named(name)
    found = runtime.read(name, _NoTables())
    if not isinstance(found, ExtendedDType):
        raise ValueError(f"{name!r:.80} is no dtype")
    return found


def read_list(value: object) -> list[Any]:
    """A list, of not too many. Raises ValueError for anything else."""
    if not isinstance(value, list) or len(value) > MOST["arguments"]:
        raise ValueError(f"expected a list, got {type(value).__name__}")
    return value


def _strings(value: object) -> list[str]:
    return [read_text(item) for item in read_list(value)]


def read_text(value: object) -> str:
    """A text. Raises ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {type(value).__name__}")
    return value


def read_number(value: object) -> int:
    """A number that may be a size. Raises ValueError for anything else."""
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"expected a size, got {value!r:.80}")
    return value
