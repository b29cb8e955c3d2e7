"""Exported programs as bytes: for XLA as StableHLO, for NumPy as `tangrad.runtime` writes them."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from typing import Any

from tangrad._export.shardings import described
from tangrad._export.structures import described_tree
from tangrad.core import ClosedJaxpr, ShapedArray, dtypes, get_backend
from tangrad.dtypes import ExtendedDType
from tangrad.extend import runtime
from tangrad.extend.runtime import DEFAULT, SavedProgram, pack, program_sections, unpack

# ----------------------------------------------------------------------------------------------------------------------
# Exported programs for NumPy as bytes: as `tangrad.runtime` writes them, with flat arguments and results.


def written_program(closed: ClosedJaxpr, names: Sequence[str]) -> bytes:
    """A program, which takes arguments of these names. Raises ArtifactError for what has no form in files."""
    arguments = ["tuple", ["tuple", *["*"] * len(closed.in_avals)], ["dict"]]
    results = [f"result[{number}]" for number in range(len(closed.out_avals))]
    return pack(program_sections(closed, arguments, ["tuple", *["*"] * len(results)], names, results))


def read_program(data: bytes | memoryview) -> ClosedJaxpr:
    """The program of such bytes, all of it checked. Raises ArtifactError for anything else."""
    return SavedProgram(unpack(data), DEFAULT, get_backend("numpy")).closed


# --- Exported programs as bytes: a header of lengths and a digest, a description in JSON, and StableHLO ---------------
# docs/export.md has the format. Nothing in a file is executed, unpickled or evaluated; what it claims is compared with
# what there is before memory is taken for it.


MAGIC = b"tangrad\xe6"
# Magic, version, reserved, lengths of description, module, derivative (and, from version 2, program); SHA-256.
HEADERS = {1: struct.Struct("<8sHHIQQ32s"), 2: struct.Struct("<8sHHIQQQ32s")}
HEADER = HEADERS[1]
MOST = {
    "description": 16 << 20,
    "module": 2 << 30,
    "program": 2 << 30,
    "derivatives": 8,
    "arguments": 100_000,
    "dimensions": 64,
}


def serialize(exported: Any, vjp_order: int = 0) -> bytes:
    """A program as bytes, with `vjp_order` derivatives. See `Exported.serialize`."""
    if not isinstance(vjp_order, int) or not 0 <= vjp_order <= MOST["derivatives"]:
        raise ValueError(f"serialize: vjp_order must be an integer from 0 to {MOST['derivatives']}, got {vjp_order!r}")
    description = json.dumps(_described(exported), ensure_ascii=True, separators=(",", ":")).encode()
    module = exported.mlir_module_serialized
    derivative = serialize(exported.vjp(), vjp_order - 1) if vjp_order else b""
    parts = [description, module, derivative]
    if exported.program_serialized:
        parts.append(exported.program_serialized)
    version = len(parts) - 2  # earlier releases read what has no program for NumPy
    body = b"".join(parts)
    digest = hashlib.sha256(body).digest()
    return HEADERS[version].pack(MAGIC, version, 0, *map(len, parts), digest) + body


def _described(exported: Any) -> dict[str, Any]:
    scope = exported._plan.scope
    return {
        "name": exported.fun_name,
        "in_tree": described_tree(exported.in_tree),
        "in_avals": [described_aval(aval) for aval in exported.in_avals],
        "out_tree": described_tree(exported.out_tree),
        "out_avals": [described_aval(aval) for aval in exported.out_avals],
        "constraints": [] if scope is None else list(scope.constraints),
        "platforms": list(exported.platforms),
        "calling_convention": exported.calling_convention_version,
        "devices": exported.nr_devices,
        **_described_shardings(exported),
        "disabled_checks": [[check.kind, check.target] for check in exported.disabled_safety_checks],
        "global_constants": exported.uses_global_constants,
    }


def _described_shardings(exported: Any) -> dict[str, Any]:
    """Those of a program over several devices: earlier releases read what says nothing of it."""
    if exported.nr_devices == 1:
        return {}
    return {key: list(map(described, getattr(exported, key))) for key in ("in_shardings", "out_shardings")}


def described_aval(aval: ShapedArray) -> list[Any]:
    """A type as JSON: its dtype and its shape."""
    try:
        dtype = runtime.written(aval.dtype, None) if isinstance(aval.dtype, ExtendedDType) else None  # type: ignore[arg-type]
    except runtime.NotSavedError:
        raise ValueError(f"serialize: arrays of dtype {aval.dtype} have no form in files") from None
    return [dtype or dtypes.dtype_name(aval.dtype), [size if type(size) is int else str(size) for size in aval.shape]]
