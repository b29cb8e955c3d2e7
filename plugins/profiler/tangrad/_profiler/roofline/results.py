"""What a primitive costs, and what a program does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from tangrad.core import ShapedArray, dtypes


class RooflineShape(NamedTuple):
    """A shape and a dtype, with what they take.

    >>> import numpy
    >>> from tangrad.experimental.roofline import RooflineShape
    >>> RooflineShape((2, 3), numpy.dtype("float32")).bytes
    24
    """

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def from_aval(cls, aval: Any) -> RooflineShape:
        """Those of a type."""
        return cls(tuple(aval.shape), aval.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """How many bytes they take."""
        if isinstance(self.dtype, dtypes.ExtendedDType):
            return RooflineShape.from_aval(self.dtype.physical_aval(ShapedArray(self.shape, self.dtype))).bytes  # type: ignore[attr-defined]
        return (self.size * dtypes.bit_width(self.dtype) + 7) // 8

    @classmethod
    def total_bytes(cls, avals: Sequence[Any]) -> int:
        """How many bytes values of these types take; what is no array takes none."""
        return sum([cls.from_aval(aval).bytes for aval in avals if isinstance(aval, ShapedArray)])


class Cost(NamedTuple):
    """What calls of a primitive cost by themselves.

    Attributes:
        calls: how many there are.
        flops: operations of arithmetic, a fused multiplication and addition counted as two.
        bytes_read, bytes_written: of operands and results.
    """

    calls: int
    flops: int
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult:
    """What a program costs on one device: counted, not measured.

    Attributes:
        flops, hbm_bytes: of operations that compilers do not fuse into others: products of matrices, convolutions,
            factorisations. So many operations and bytes there are at least.
        unfused_flops, unfused_hbm_bytes: of all operations, each as if it read and wrote memory. So many at most.
        peak_hbm_bytes: of the values that are alive at once, where nothing is fused.
        ici_bytes: the axis of a mesh -> bytes that each device sends along it.
        by_primitive: the name of a primitive, with its family -> its `Cost`.

    Results can be added, and multiplied by a number of repetitions.

    >>> from tangrad.experimental.roofline import RooflineResult
    >>> (2 * RooflineResult(flops=3)).flops
    6
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: Mapping[Any, int] = field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0
    by_primitive: Mapping[str, Cost] = field(default_factory=dict)

    @classmethod
    def zeros(cls) -> RooflineResult:
        """That of a program that does nothing."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        if not isinstance(other, RooflineResult):
            return NotImplemented
        sent = {
            axis: self.ici_bytes.get(axis, 0) + other.ici_bytes.get(axis, 0)
            for axis in {**self.ici_bytes, **other.ici_bytes}
        }
        nothing = Cost(0, 0, 0, 0)
        costs = {
            name: Cost(
                *map(sum, zip(self.by_primitive.get(name, nothing), other.by_primitive.get(name, nothing), strict=True))
            )
            for name in {**self.by_primitive, **other.by_primitive}
        }
        return RooflineResult(
            flops=self.flops + other.flops,
            unfused_flops=self.unfused_flops + other.unfused_flops,
            ici_bytes=sent,
            hbm_bytes=self.hbm_bytes + other.hbm_bytes,
            peak_hbm_bytes=max(self.peak_hbm_bytes, other.peak_hbm_bytes),
            unfused_hbm_bytes=self.unfused_hbm_bytes + other.unfused_hbm_bytes,
            by_primitive=costs,
        )

    def __mul__(self, times: float) -> RooflineResult:
        return RooflineResult(
            flops=int(self.flops * times),
            unfused_flops=int(self.unfused_flops * times),
            ici_bytes={axis: int(count * times) for axis, count in self.ici_bytes.items()},
            hbm_bytes=int(self.hbm_bytes * times),
            peak_hbm_bytes=self.peak_hbm_bytes,
            unfused_hbm_bytes=int(self.unfused_hbm_bytes * times),
            by_primitive={
                name: Cost(*[int(count * times) for count in cost]) for name, cost in self.by_primitive.items()
            },
        )

    __rmul__ = __mul__
