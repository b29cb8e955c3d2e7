"""The scalar types, `tangrad.numpy.float32(3)`, and numbers with names, `tangrad.numpy.pi`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad.core import Array, api_boundary, dtypes

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike

# --- Numbers with names: `tangrad.numpy.pi`, `inf`, `nan`, … ---


pi: float = np.pi
e: float = np.e
euler_gamma: float = np.euler_gamma
inf: float = np.inf
nan: float = np.nan
newaxis = None


# ----------------------------------------------------------------------------------------------------------------------
# The scalar types: `tangrad.numpy.float32(3)` makes an array, and `dtype=tangrad.numpy.float32` names the dtype.
# They equal NumPy's types of the same names. Those of ml_dtypes are found when one of them is first used.


class ScalarType(type):
    """The class of scalar types, which are classes without instances: calling one makes an array."""

    name: str

    @property
    def dtype(cls) -> np.dtype:
        """The dtype that the type stands for, whatever the setting enable_x64 is."""
        return dtypes.as_dtype(cls.name)

    @api_boundary
    def __call__(cls, x: ArrayLike | Sequence[object] = 0) -> Array:
        return asarray(x, dtype=cls.dtype)

    def __eq__(cls, other: object) -> Any:
        if cls is other:
            return True
        if isinstance(other, np.dtype):
            return cls.dtype == other
        return not isinstance(other, ScalarType) and isinstance(other, type) and cls.dtype.type is other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: object) -> Any:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<scalar type tangrad.numpy.{cls.__name__}>"


def _scalar_type(name: str) -> ScalarType:
    documentation = f"The scalar type of {name}: makes an array of that dtype from a number, and names the dtype."
    label = "bool_" if name == "bool" else name
    return ScalarType(label, (), {"name": name, "__doc__": documentation, "__module__": "tangrad.numpy"})


bool_ = bool = _scalar_type("bool")
int8, int16, int32, int64 = [_scalar_type(name) for name in ("int8", "int16", "int32", "int64")]
uint8, uint16, uint32, uint64 = [_scalar_type(name) for name in ("uint8", "uint16", "uint32", "uint64")]
float16, float32, float64 = [_scalar_type(name) for name in ("float16", "float32", "float64")]
complex64, complex128 = _scalar_type("complex64"), _scalar_type("complex128")
single, double, csingle, cdouble = float32, float64, complex64, complex128
int_, uint, float_, complex_ = int64, uint64, float64, complex128

bfloat16 = _scalar_type("bfloat16")
int1, int2, int4 = _scalar_type("int1"), _scalar_type("int2"), _scalar_type("int4")
uint1, uint2, uint4 = _scalar_type("uint1"), _scalar_type("uint2"), _scalar_type("uint4")
float4_e2m1fn = _scalar_type("float4_e2m1fn")
float6_e2m3fn, float6_e3m2fn = _scalar_type("float6_e2m3fn"), _scalar_type("float6_e3m2fn")
float8_e3m4, float8_e4m3 = _scalar_type("float8_e3m4"), _scalar_type("float8_e4m3")
float8_e4m3fn, float8_e4m3fnuz = _scalar_type("float8_e4m3fn"), _scalar_type("float8_e4m3fnuz")
float8_e4m3b11fnuz, float8_e8m0fnu = _scalar_type("float8_e4m3b11fnuz"), _scalar_type("float8_e8m0fnu")
float8_e5m2, float8_e5m2fnuz = _scalar_type("float8_e5m2"), _scalar_type("float8_e5m2fnuz")

# The classes above them, for issubdtype: NumPy's own.
generic, number, integer, inexact = np.generic, np.number, np.integer, np.inexact
signedinteger, unsignedinteger = np.signedinteger, np.unsignedinteger
floating, complexfloating = np.floating, np.complexfloating
character, flexible, object_ = np.character, np.flexible, np.object_
