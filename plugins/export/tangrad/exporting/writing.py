"""Exported programs as bytes: a header of lengths and a digest, a description in JSON, and StableHLO.

docs/export.md has the format. Nothing in a file is executed, unpickled or evaluated; what it claims is compared with
what there is before memory is taken for it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

from tangrad.core import dtypes
from tangrad.dtypes import ExtendedDType
from tangrad.exporting.structures import described_tree

MAGIC = b"tangrad\xe6"
FORMAT_VERSION = 1
HEADER = struct.Struct("<8sHHIQQ32s")  # magic, version, reserved, lengths of description, module, derivative; SHA-256
MOST = {"description": 16 << 20, "module": 2 << 30, "derivatives": 8, "arguments": 100_000, "dimensions": 64}


def serialize(exported: Any, vjp_order: int = 0) -> bytes:
    """A program as bytes, with `vjp_order` derivatives. See `Exported.serialize`."""
    if not isinstance(vjp_order, int) or not 0 <= vjp_order <= MOST["derivatives"]:
        raise ValueError(f"serialize: vjp_order must be an integer from 0 to {MOST['derivatives']}, got {vjp_order!r}")
    description = json.dumps(_described(exported), ensure_ascii=True, separators=(",", ":")).encode()
    module = exported.mlir_module_serialized
    derivative = serialize(exported.vjp(), vjp_order - 1) if vjp_order else b""
    body = description + module + derivative
    digest = hashlib.sha256(body).digest()
    return HEADER.pack(MAGIC, FORMAT_VERSION, 0, len(description), len(module), len(derivative), digest) + body


def _described(exported: Any) -> dict[str, Any]:
    scope = exported._plan.scope
    return {
        "name": exported.fun_name,
        "in_tree": described_tree(exported.in_tree),
        "in_avals": [_described_aval(aval) for aval in exported.in_avals],
        "out_tree": described_tree(exported.out_tree),
        "out_avals": [_described_aval(aval) for aval in exported.out_avals],
        "constraints": [] if scope is None else list(scope.constraints),
        "platforms": list(exported.platforms),
        "calling_convention": exported.calling_convention_version,
        "devices": exported.nr_devices,
        "disabled_checks": [[check.kind, check.target] for check in exported.disabled_safety_checks],
        "global_constants": exported.uses_global_constants,
    }


def _described_aval(aval: Any) -> list[Any]:
    if isinstance(aval.dtype, ExtendedDType):
        raise ValueError(f"serialize: arrays of dtype {aval.dtype} have no form in files")
    return [dtypes.dtype_name(aval.dtype), [size if type(size) is int else str(size) for size in aval.shape]]
