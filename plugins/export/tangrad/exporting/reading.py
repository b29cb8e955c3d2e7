"""Exported programs read from bytes; `writing` has the format."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NoReturn

from tangrad.core import ShapedArray, dtypes
from tangrad.exporting.checks import DisabledSafetyCheck
from tangrad.exporting.exported import Exported
from tangrad.exporting.structures import tree_from
from tangrad.exporting.writing import FORMAT_VERSION, HEADER, MAGIC, MOST
from tangrad.symbolic.parsing import parse_dimension
from tangrad.symbolic.scopes import SymbolicScope


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
    description, module, derivative = _parts(data, depth)
    try:
        fields = _fields(json.loads(bytes(description)))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        _refuse(f"its description cannot be read ({error})")
    vjp = _read(derivative, depth + 1) if len(derivative) else None
    if vjp is not None:
        _check_derivative(vjp, fields)
    return Exported(**fields, mlir_module_serialized=bytes(module), _get_vjp=None if vjp is None else lambda _: vjp)


def _parts(data: memoryview, depth: int) -> tuple[memoryview, memoryview, memoryview]:
    if len(data) < HEADER.size or bytes(data[: len(MAGIC)]) != MAGIC:
        _refuse("it does not begin as one")
    _, version, reserved, description, module, derivative, digest = HEADER.unpack(data[: HEADER.size])
    if version != FORMAT_VERSION or reserved:
        _refuse(f"it has version {version} of the format; this release reads version {FORMAT_VERSION}")
    if description > MOST["description"] or module > MOST["module"] or depth > MOST["derivatives"]:
        _refuse(f"it claims {description} bytes of description and {module} of program at derivative {depth}")
    body = data[HEADER.size :]
    if len(body) != description + module + derivative:
        _refuse(f"it claims {description + module + derivative} bytes after its header, and has {len(body)}")
    if hashlib.sha256(body).digest() != digest:
        _refuse("its contents were altered")
    return body[:description], body[description : description + module], body[description + module :]


def _refuse(problem: str) -> NoReturn:
    raise ValueError(f"this is no exported program: {problem}")


def _fields(found: Any) -> dict[str, Any]:
    """The description as fields of `Exported`; every part of it is of the kind that it should be."""
    if not isinstance(found, dict):
        raise ValueError("it is no table")
    scope = SymbolicScope(_strings(found["constraints"]))
    in_avals, out_avals = [tuple([_aval(entry, scope) for entry in _list(found[key])]) for key in _AVALS]
    in_tree, out_tree = tree_from(found["in_tree"]), tree_from(found["out_tree"])
    if in_tree.num_leaves != len(in_avals) or out_tree.num_leaves != len(out_avals):
        raise ValueError("its trees do not fit its types")
    shape = in_tree.unflatten(range(in_tree.num_leaves))
    if type(shape) is not tuple or [type(part) for part in shape] != [tuple, dict]:
        raise ValueError("its arguments are no pair of positional ones and keywords")
    checks = [DisabledSafetyCheck(str(kind), None if to is None else str(to)) for kind, to in found["disabled_checks"]]
    return {
        "fun_name": _text(found["name"]),
        "in_tree": in_tree,
        "in_avals": in_avals,
        "out_tree": out_tree,
        "out_avals": out_avals,
        "platforms": tuple(_strings(found["platforms"])),
        "calling_convention_version": _number(found["calling_convention"]),
        "nr_devices": _number(found["devices"]),
        "disabled_safety_checks": tuple(checks),
        "uses_global_constants": found["global_constants"] is True,
    }


_AVALS = ("in_avals", "out_avals")


def _check_derivative(vjp: Exported, fields: dict[str, Any]) -> None:
    primals = tuple([(aval.dtype, len(aval.shape)) for aval in fields["in_avals"]])
    given = tuple([(aval.dtype, len(aval.shape)) for aval in vjp.in_avals])
    count = len(fields["in_avals"])
    if given[:count] != primals or len(given) != count + len(fields["out_avals"]) or len(vjp.out_avals) != count:
        _refuse("its derivative is not of its own program")


def _aval(entry: Any, scope: SymbolicScope) -> ShapedArray:
    name, shape = entry
    if len(_list(shape)) > MOST["dimensions"]:
        raise ValueError(f"an array of {len(shape)} dimensions")
    sizes = [parse_dimension(size, scope) if isinstance(size, str) else _number(size) for size in shape]
    return ShapedArray(tuple(sizes), dtypes.as_dtype(_text(name)))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) > MOST["arguments"]:
        raise ValueError(f"expected a list, got {type(value).__name__}")
    return value


def _strings(value: Any) -> list[str]:
    return [_text(item) for item in _list(value)]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {type(value).__name__}")
    return value


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"expected a size, got {value!r:.80}")
    return value
