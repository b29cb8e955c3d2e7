"""How exactly products are computed: `Precision`, `DotAlgorithm` and its presets, and what users may write for them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tangrad._lax.settings import default_matmul_precision
from tangrad.core import dtypes
from tangrad.core.caches import exact_equality

if TYPE_CHECKING:
    import numpy as np


@exact_equality
class Precision(enum.Enum):
    """How exactly accelerators multiply float32 numbers; CPUs always multiply exactly.

    Members:
        DEFAULT: the fastest; also "default", "fastest", "bfloat16".
        HIGH: slower and more accurate; also "high", "bfloat16_3x", "tensorfloat32".
        HIGHEST: as float32 has it; also "highest", "float32".

    >>> import tangrad
    >>> tangrad.lax.Precision("highest")
    Precision.HIGHEST
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return PRECISION_NAMES.get(value) if isinstance(value, str) else None

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


PRECISION_NAMES: dict[str, Precision] = {
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
}


class DotAlgorithm(NamedTuple):
    """An algorithm for products of arrays, as its parts. Which ones run is up to the hardware; CPUs take presets only.

    Attributes:
        lhs_precision_type, rhs_precision_type: the dtypes that the operands are rounded to.
        accumulation_type: the dtype in which products are added up.
        lhs_component_count, rhs_component_count, num_primitive_operations: how many parts each operand is split into,
            and how many products of parts are added, to gain precision; 1 each where nothing is split.
        allow_imprecise_accumulation: whether some additions may be made in a lower precision.

    >>> import tangrad
    >>> tangrad.lax.DotAlgorithm("float16", "float16", "float32").num_primitive_operations
    1
    """

    lhs_precision_type: object
    rhs_precision_type: object
    accumulation_type: object
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


@exact_equality
class DotAlgorithmPreset(enum.Enum):
    """Algorithms for products of arrays that some hardware has, named by the dtypes of operands and accumulator.

    `ANY_F8` stands for every 8-bit float; `_X3`, `_X6`, `_X9` for that many operations in place of one, to gain
    precision. CPUs have DEFAULT, F16_F16_F16, F32_F32_F32, F64_F64_F64, BF16_BF16_F32 and its X3 and X6.

    >>> import tangrad
    >>> tangrad.lax.DotAlgorithmPreset["F32_F32_F32"]
    DotAlgorithmPreset.F32_F32_F32
    """

    DEFAULT = 1
    ANY_F8_ANY_F8_F32 = 2
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 3
    ANY_F8_ANY_F8_ANY = 4
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 5
    F16_F16_F16 = 6
    F16_F16_F32 = 7
    BF16_BF16_BF16 = 8
    BF16_BF16_F32 = 9
    BF16_BF16_F32_X3 = 10
    BF16_BF16_F32_X6 = 11
    BF16_BF16_F32_X9 = 12
    TF32_TF32_F32 = 13
    TF32_TF32_F32_X3 = 14
    F32_F32_F32 = 15
    F64_F64_F64 = 16

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


# What users may write for a precision.
PrecisionLike: TypeAlias = (
    str | Precision | tuple[str | Precision, str | Precision] | DotAlgorithm | DotAlgorithmPreset | None
)


def canonicalize_precision(precision: object) -> Any:
    """What a user wrote for a precision, as the primitives take it: None, a pair of Precision, or an algorithm.

    Raises ValueError for anything else.
    """
    if precision is None:
        default = default_matmul_precision.value
        return None if default is None else canonicalize_precision(default)
    if isinstance(precision, Precision):
        return precision, precision
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, str):
        if precision in PRECISION_NAMES:
            return PRECISION_NAMES[precision], PRECISION_NAMES[precision]
        if precision in DotAlgorithmPreset.__members__:
            return DotAlgorithmPreset[precision]
    if isinstance(precision, (tuple, list)) and len(precision) == 2:
        pair = tuple([PRECISION_NAMES.get(p, p) if isinstance(p, str) else p for p in precision])
        if all([isinstance(p, Precision) for p in pair]):
            return pair
    raise ValueError(
        f"precision must be None, a lax.Precision, one of the names {', '.join(map(repr, PRECISION_NAMES))}, a pair of "
        f"these, a lax.DotAlgorithm, or a lax.DotAlgorithmPreset or its name; got {precision!r}"
    )


# --- what the algorithms mean, for backends ---

_PRESETS = DotAlgorithmPreset
_FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e4m3b11fnuz")
_FLOAT8_RESULTS = ("float32", "float16", "bfloat16", *_FLOAT8)

# Preset -> the dtypes that operands may be stored in, the first of which others are converted to; those of results; the
# numbers that the operands are rounded to, and added up in; and how many operations make one product.
_ALGORITHMS: dict[DotAlgorithmPreset, tuple[Any, Any, str, str, int]] = {
    _PRESETS.ANY_F8_ANY_F8_F32: (None, _FLOAT8_RESULTS, "", "f32", 1),
    _PRESETS.ANY_F8_ANY_F8_F32_FAST_ACCUM: (None, _FLOAT8_RESULTS, "", "f32", 1),
    _PRESETS.ANY_F8_ANY_F8_ANY: (None, None, "", "f32", 1),
    _PRESETS.ANY_F8_ANY_F8_ANY_FAST_ACCUM: (None, None, "", "f32", 1),
    _PRESETS.F16_F16_F16: (["float16"], ["float16"], "f16", "f16", 1),
    _PRESETS.F16_F16_F32: (["float16"], ["float32", "float16"], "f16", "f32", 1),
    _PRESETS.BF16_BF16_BF16: (["bfloat16", "float32"], ["bfloat16"], "bf16", "bf16", 1),
    _PRESETS.BF16_BF16_F32: (["bfloat16", "float32"], ["float32", "bfloat16"], "bf16", "f32", 1),
    _PRESETS.BF16_BF16_F32_X3: (["float32"], ["float32"], "bf16", "f32", 3),
    _PRESETS.BF16_BF16_F32_X6: (["float32"], ["float32"], "bf16", "f32", 6),
    _PRESETS.BF16_BF16_F32_X9: (["float32"], ["float32"], "bf16", "f32", 9),
    _PRESETS.TF32_TF32_F32: (["float32"], ["float32"], "tf32", "f32", 1),
    _PRESETS.TF32_TF32_F32_X3: (["float32"], ["float32"], "tf32", "f32", 3),
    _PRESETS.F32_F32_F32: (["float32"], ["float32"], "f32", "f32", 1),
    _PRESETS.F64_F64_F64: (["float64"], ["float64"], "f64", "f64", 1),
}

CPU_ALGORITHMS = frozenset(
    (
        _PRESETS.DEFAULT,
        _PRESETS.F16_F16_F16,
        _PRESETS.F32_F32_F32,
        _PRESETS.F64_F64_F64,
        _PRESETS.BF16_BF16_F32,
        _PRESETS.BF16_BF16_F32_X3,
        _PRESETS.BF16_BF16_F32_X6,
    )
)


def is_algorithm(precision: object) -> bool:
    """Whether a precision determines how products are computed, not only how exactly."""
    return isinstance(precision, (DotAlgorithm, DotAlgorithmPreset))


def check_cpu_algorithm(precision: object) -> None:
    """Raise ValueError for an algorithm that CPUs do not have."""
    if is_algorithm(precision) and precision not in CPU_ALGORITHMS:
        names = ", ".join(sorted([preset.name for preset in CPU_ALGORITHMS]))
        raise ValueError(f"dot_general: precision {precision} is not supported on CPUs; supported: {names}")


def algorithm_dtypes(
    precision: Any, lhs: np.dtype, rhs: np.dtype, out: np.dtype
) -> tuple[np.dtype, np.dtype, np.dtype]:
    """The dtypes in which an algorithm takes the operands and gives the result, for operands and a result of some."""
    if isinstance(precision, DotAlgorithm):
        lhs, rhs = dtypes.as_dtype(precision.lhs_precision_type), dtypes.as_dtype(precision.rhs_precision_type)
        return lhs, rhs, dtypes.as_dtype(precision.accumulation_type)
    if precision is DotAlgorithmPreset.DEFAULT:
        return lhs, rhs, out
    stored, results, _, _, _ = _ALGORITHMS[precision]
    lhs, rhs = _one_of(stored, lhs), _one_of(stored, rhs)
    if results is not None and stored is not None and len(results) == 2:
        # The narrow result is for narrow operands only.
        narrow = dtypes.as_dtype(results[1])
        results = results if lhs is narrow and rhs is narrow else results[:1]
    return lhs, rhs, _one_of(results, out)


def _one_of(names: Sequence[str] | None, dtype: np.dtype) -> np.dtype:
    return dtype if names is None or dtypes.dtype_name(dtype) in names else dtypes.as_dtype(names[0])


def algorithm_parts(precision: Any, lhs: object, rhs: object) -> tuple[str, str, str, int, int, int, bool]:
    """An algorithm as StableHLO writes it: three types, three counts, and whether additions may be imprecise."""
    if isinstance(precision, DotAlgorithm):
        types = [dtypes.short_name(dtypes.as_dtype(dtype)) for dtype in precision[:3]]
        parts: Any = (*types, *precision[3:])
        return parts
    _, _, rounded, accumulated, operations = _ALGORITHMS[precision]
    if not rounded:
        for dtype in (lhs, rhs):
            if not dtypes.dtype_name(dtype).startswith("float8"):
                found = f"{dtypes.dtype_name(lhs)} and {dtypes.dtype_name(rhs)}"
                raise ValueError(f"dot_general: precision {precision} requires operands of 8-bit floats, got {found}")
        left, right = [dtypes.dtype_name(dtype).replace("float8_", "f8").upper() for dtype in (lhs, rhs)]
        return left, right, accumulated, 1, 1, operations, precision is _PRESETS.ANY_F8_ANY_F8_F32_FAST_ACCUM
    return rounded, rounded, accumulated, 1, 1, operations, False
