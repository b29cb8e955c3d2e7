"""The collectives of a compiled program, read from its HLO text: kind, how many devices talk together, bytes."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8}
KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
INSTRUCTION = re.compile(rf"= (?P<type>\(.*?\)|\S+) (?P<kind>{'|'.join(KINDS)})(?:-start)?\((?P<rest>.*)")
ARRAY = re.compile(r"(?P<dtype>[a-z]+\d*)\[(?P<shape>[\d,]*)\]")
IOTA = re.compile(r"replica_groups=\[(?P<groups>\d+),(?P<size>\d+)\]<=")
LISTED = re.compile(r"replica_groups=\{\{(?P<first>[\d,]+)\}")
MESH = re.compile(r"replica_groups=mesh\[(?P<axes>[^\]]*)\].*? \{(?P<over>[^}]*)\}")


class Collective(NamedTuple):
    """One instruction: its kind, the devices of a group, the bytes of its result on each device, how many arrays."""

    kind: str
    group: int
    bytes: int
    arrays: int


def collectives(text: str) -> list[Collective]:
    """The collectives of a program as XLA prints it, in order; those of loops and branches once.

    Raises ValueError for replica groups in a notation that is not known.

    >>> line = "%sum = f32[4,6]{1,0} all-reduce(%x), replica_groups={{0,1},{2,3}}, to_apply=%add"
    >>> collectives(line)
    [Collective(kind='all-reduce', group=2, bytes=96, arrays=1)]
    """
    found = []
    for match in INSTRUCTION.finditer(text):
        sizes = [
            BYTES[array["dtype"]] * math.prod([int(size) for size in array["shape"].split(",") if size])
            for array in ARRAY.finditer(match["type"])
        ]
        found.append(Collective(match["kind"], _group(match["kind"], match["rest"]), sum(sizes), len(sizes)))
    return found


def _group(kind: str, rest: str) -> int:
    """The devices of a group."""
    if kind == "collective-permute":
        return 2
    if found := IOTA.search(rest):
        return int(found["size"])
    if found := LISTED.search(rest):
        return found["first"].count(",") + 1
    if found := MESH.search(rest):
        sizes = dict([axis.split("=") for axis in found["axes"].split(",")])
        return math.prod([int(sizes[axis]) for axis in found["over"].split(",")])
    raise ValueError(f"no replica groups that are known in {rest}")
