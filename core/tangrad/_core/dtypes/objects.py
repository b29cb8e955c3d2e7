"""The dtypes: which there are, one object for each, 32 or 64 bits; their place among NumPy's, width and limits.

The kernel holds one `np.dtype` object for each dtype, so that dtypes can be compared with `is`; `as_dtype` and
`canonicalize_dtype` return that object. The narrow types come from ml_dtypes, which is optional and is imported only
when one of them is asked for: it costs more than all of this package.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from functools import lru_cache
from types import ModuleType
from typing import Any, TypeAlias, cast

import numpy as np

from tangrad._core.dtypes import lattice
from tangrad._core.settings.config import enable_x64, thread

DType: TypeAlias = "np.dtype[Any]"  # an extended dtype too, wherever a function is documented to let these pass

# The type of tangents of integers and booleans: a vector space of dimension zero.
float0: DType = np.dtype([("float0", np.void, 0)])

on_x64_change = enable_x64.on_change

NARROW_NAMES = frozenset({*lattice.NARROW_INTEGERS, *lattice.NARROW_FLOATS, "bfloat16"})


# --- extended dtypes ---


class extended(np.generic):  # noqa: N801 - named as NumPy names its scalar types
    """Scalar class of the extended dtypes, for `issubdtype`; it has no instances."""


class prng_key(extended):  # noqa: N801
    """Scalar class of the dtypes of random keys, for `issubdtype`; it has no instances."""


class ExtendedDType:
    """Base class of dtypes that NumPy does not know, such as the typed random keys.

    A subclass sets `name`, `itemsize` (bytes of one element), `type` (its scalar class, below `extended`), defines
    `physical_aval(aval)`, the type of the array that holds the elements' numbers, and may replace `str_short` and
    `way_out`: how users get at these numbers, for error messages. Two that are equal must hash alike: avals are
    interned by them.
    """

    __slots__ = ()
    name: str
    itemsize: int
    type: Any = extended  # a class; `type[extended]` would make mypy forbid the abstract default
    kind = "V"
    way_out = ""

    def physical_aval(self, aval: Any) -> Any:
        """The type of the array that holds the numbers that the elements of an array of type `aval` are made of."""
        raise NotImplementedError

    def of_physical(self, contents: Any) -> Any:
        """The array of this dtype whose elements are made of the numbers in `contents`, of the type `physical_aval`.

        Raises TypeError where nothing is made of numbers.
        """
        raise TypeError(f"arrays of {self.name} cannot be made of numbers")

    def str_short(self) -> str:
        """The short form that jaxprs print."""
        return self.name

    def __repr__(self) -> str:
        return self.name


# --- ml_dtypes, on demand ---


ML_DTYPES = "ml_dtypes>=0.5,<0.7"  # what the matrix runs; nothing here requires it


def ml_dtypes() -> ModuleType:
    """The package ml_dtypes, imported now unless it was before."""
    return importlib.import_module("ml_dtypes")


def narrow_dtype(name: str, error: type[Exception] = TypeError) -> DType:
    """The dtype of ml_dtypes with that name; raises `error` where it is not installed, or too old to have it."""
    try:
        package = ml_dtypes()
    except ImportError as cause:
        absent = isinstance(cause, ModuleNotFoundError) and cause.name == "ml_dtypes"
        what = "which is not installed" if absent else f"which does not load ({cause})"
        force = "" if absent else "--force-reinstall "
        raise error(
            f"dtype {name} needs the package ml_dtypes, {what}; NumPy {np.__version__} has none of the kind: "
            f'pip install {force}"{ML_DTYPES}"'
        ) from cause
    if not hasattr(package, name):
        raise error(
            f"dtype {name} is not in the installed ml_dtypes {package.__version__}, but in a later one: "
            f'pip install --upgrade "{ML_DTYPES}"'
        )
    return _intern(np.dtype(getattr(package, name)))


def narrow_type(module: str, name: str) -> type:
    """The scalar type of ml_dtypes with that name, of a `module` that has them all. Raises AttributeError."""
    if name not in NARROW_NAMES:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    scalar_type: type = narrow_dtype(name, AttributeError).type
    return scalar_type


# --- one object for each dtype ---

_by_name: dict[str, DType] = {name: np.dtype(name) for name in lattice.STRONG if name not in NARROW_NAMES}
_by_name["float0"] = float0
python_scalar_dtypes: dict[type, DType] = {
    bool: _by_name["bool"],
    int: _by_name["int64"],
    float: _by_name["float64"],
    complex: _by_name["complex128"],
}
_known: dict[Any, DType] = {dtype: dtype for dtype in _by_name.values()}
_known.update((dtype.type, dtype) for dtype in _by_name.values() if dtype is not float0)
_known.update(python_scalar_dtypes)
_ABSTRACT = frozenset(
    (np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact)
    + (np.floating, np.complexfloating, np.character, np.flexible)
)
_to_32_bit = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def _name_of(dtype: DType) -> str | None:
    """The name under which the lattice, or this module, knows a NumPy dtype; None for all others."""
    if dtype.type.__module__ == "ml_dtypes":
        return dtype.name if dtype.name in NARROW_NAMES else None
    if dtype == float0:
        return "float0"
    name = dtype.name
    return name if dtype.isnative and name in _by_name and _by_name[name] == dtype else None


def _intern(dtype: DType) -> DType:
    """The one object for a NumPy dtype. Raises TypeError for a dtype that arrays cannot have."""
    name = _name_of(dtype)
    if name is None:
        cure = "" if dtype.isnative else ", in this machine's byte order: use x.astype(x.dtype.newbyteorder('='))"
        holds = f"they hold booleans, integers, floats and complex numbers{cure}"
        raise TypeError(f"dtype {dtype} is not a dtype of arrays; {holds}")
    found = _by_name.setdefault(name, dtype)
    _known[found] = found
    if found is not float0:
        _known[found.type] = found
    return found


def as_dtype(dtype: object) -> DType:
    """The dtype that `dtype` names, 64-bit ones included; extended dtypes pass.

    Takes NumPy dtypes and scalar types, names, Python's `bool`, `int`, `float`, `complex` (64-bit), ml_dtypes' types.
    Raises TypeError, naming it, for what arrays cannot hold: objects, strings, dates, records, other byte orders.

    >>> from tangrad.core import dtypes
    >>> dtypes.as_dtype("float64"), dtypes.as_dtype(bool)
    (dtype('float64'), dtype('bool'))
    """
    try:
        found = _known.get(dtype)
    except TypeError:  # unhashable
        found = None
    return found if found is not None else _resolve(dtype)


def _resolve(dtype: Any) -> DType:
    if isinstance(dtype, ExtendedDType):
        return dtype  # type: ignore[return-value]  # see DType
    if isinstance(dtype, type):
        if dtype in _ABSTRACT or not (issubclass(dtype, np.generic) or hasattr(dtype, "dtype")):
            raise TypeError(_not_understood(dtype))  # NumPy would make `object` of most classes
    elif dtype is None:
        raise TypeError(_not_understood(dtype))  # NumPy would make float64 of it
    elif not isinstance(dtype, (np.dtype, str)) and hasattr(dtype, "shape"):
        raise TypeError(f"expected a dtype, got an array of type {type(dtype).__name__}: pass its .dtype")
    try:
        numpy_dtype = np.dtype(dtype)
    except (TypeError, ValueError):
        if isinstance(dtype, str) and dtype in NARROW_NAMES:
            return narrow_dtype(dtype)
        raise TypeError(_not_understood(dtype)) from None
    return _intern(numpy_dtype)


def _not_understood(dtype: object) -> str:
    return f"{dtype!r} is not a dtype; expected a name such as 'float32', a NumPy dtype, or bool, int, float, complex"


def canonicalize_dtype(dtype: object) -> DType:
    """The dtype that arrays get where `dtype` is asked for: 64-bit ones become 32-bit unless `enable_x64` is set.

    Takes what `as_dtype` takes, and None for the default float; extended dtypes pass. Raises TypeError as `as_dtype`.

    >>> from tangrad.core import dtypes
    >>> dtypes.canonicalize_dtype("float64"), dtypes.canonicalize_dtype(int)
    (dtype('float32'), dtype('int32'))
    """
    try:
        return _canonicalize(dtype, thread.enable_x64)
    except TypeError:
        return _canonicalize.__wrapped__(dtype, thread.enable_x64)  # it has no hash, or is no dtype: raises again


@lru_cache(2048)  # names can be spelled in many ways ('f4', '<f4', '=f4')
def _canonicalize(dtype: object, x64: bool) -> DType:
    wide = as_dtype(float if dtype is None else dtype)
    return wide if x64 else _by_name.get(_to_32_bit.get(wide.name, ""), wide)


def check_user_dtype_supported(dtype: object, function_name: str = "") -> DType:
    """The canonical form of a dtype that a user passed explicitly.

    Where a 64-bit dtype was asked for by name and `enable_x64` is off, the setting `explicit_x64_dtypes` decides: it is
    returned as asked, or refused with ValueError, or the 32-bit one is returned with a UserWarning at the user's line.
    Python's `int`, `float`, `complex` ask for no width and never warn. Raises TypeError as `as_dtype` does.
    """
    if dtype is None:
        raise TypeError("expected a dtype, got None")
    canonical = canonicalize_dtype(dtype)
    if dtype is not canonical and (isinstance(dtype, str) or dtype not in python_scalar_dtypes):
        wide = as_dtype(dtype)
        if wide is not canonical:
            return _explicit(wide, canonical, f" in {function_name}" if function_name else "")
    return canonical


def _explicit(wide: DType, canonical: DType, where: str) -> DType:
    """What becomes of a 64-bit dtype that was asked for by name while these are off."""
    if thread.explicit_x64_dtypes == "allow":
        return wide
    message = f"dtype {wide.name} was asked for{where}, but 64-bit dtypes are off"
    if thread.explicit_x64_dtypes == "error":
        raise ValueError(f"{message}, and explicit_x64_dtypes is 'error'. {_HOW_TO_ENABLE}")
    message = f"{message}: {canonical.name} is used. {_HOW_TO_ENABLE}"
    warnings.warn(message, UserWarning, stacklevel=user_stack_level())
    return canonical


_HOW_TO_ENABLE = (
    "Turn them on with tangrad.config.update('enable_x64', True) or the environment variable TANGRAD_ENABLE_X64=1."
)


def warn_truncated(wide: DType, narrow: DType) -> None:
    """Warn that 64-bit operands, made while these dtypes were on, give a 32-bit result now."""
    message = f"operands of dtype {wide.name} meet others while 64-bit dtypes are off: the result is {narrow.name}. "
    warnings.warn(message + _HOW_TO_ENABLE, UserWarning, stacklevel=user_stack_level())


def user_stack_level() -> int:
    """The `stacklevel`, for the caller, of the first frame outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "tangrad":
        level, frame = level + 1, frame.f_back
    return level


# --- default dtypes ---


def default_int_dtype() -> DType:
    """int32, or int64 with `enable_x64`: the dtype of Python integers."""
    return canonicalize_dtype(np.int64)


def default_uint_dtype() -> DType:
    """uint32, or uint64 with `enable_x64`."""
    return canonicalize_dtype(np.uint64)


def default_float_dtype() -> DType:
    """float32, or float64 with `enable_x64`: the dtype of Python floats."""
    return canonicalize_dtype(np.float64)


def default_complex_dtype() -> DType:
    """complex64, or complex128 with `enable_x64`: the dtype of Python complex numbers."""
    return canonicalize_dtype(np.complex128)


# --- names ---


def dtype_name(dtype: Any) -> str:
    """The name of a dtype: 'float32', 'bool', 'float0', 'key<fry>'."""
    return "float0" if dtype == float0 else str(dtype.name)


def short_name(dtype: object) -> str:
    """The name that jaxprs print: 'f32', 'i8', 'u4', 'c64', 'bf16', 'f8_e4m3fn', 'bool', 'float0', 'key<fry>'."""
    found = _short_names.get(dtype)
    if found is not None:
        return found
    if isinstance(dtype, ExtendedDType):
        return dtype.str_short()
    name = dtype_name(dtype)
    for word, letter in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        if name.startswith(word) and name != "float0":
            name = letter + name.removeprefix(word)
            break
    if dtype in _known:
        _short_names[dtype] = name
    return name


_short_names: dict[object, str] = {}


# --- their place among NumPy's scalar classes, their width and limits, the dtypes that go with them ---

# The default types; as arguments they become 32-bit unless enable_x64 is set, as every dtype does.
bool_ = np.bool_
int_ = np.int64
uint = np.uint64
float_ = np.float64
complex_ = np.complex128

_BOOL = as_dtype(bool)
_NARROW_FLOATS = frozenset({*lattice.NARROW_FLOATS, "bfloat16"})


def issubdtype(a: object, b: object) -> bool:
    """Whether the dtype or scalar class `a` is `b` or below it.

    As `numpy.issubdtype`, where bfloat16 and the narrow floats are `np.floating`, int4 and its kin `np.integer`, and
    typed keys are `prng_key` and `extended`.

    >>> import numpy as np
    >>> from tangrad.core import dtypes
    >>> dtypes.issubdtype("bfloat16", np.floating)
    True
    """
    try:
        return _issubdtype(a, b)
    except TypeError:
        return _issubdtype.__wrapped__(a, b)  # an unhashable argument, or one that is no dtype: raises again


@lru_cache(1024)
def _issubdtype(a: object, b: type) -> bool:
    if isinstance(b, ExtendedDType):
        return isinstance(a, ExtendedDType) and a == b
    lower, upper = _scalar_class(a), _scalar_class(b)
    if lower.__module__ == "ml_dtypes" and lower.__name__ in NARROW_NAMES:
        return upper is lower or issubclass(_numpy_class(lower.__name__), upper)
    return issubclass(lower, upper)


def _scalar_class(dtype: Any) -> type:
    if isinstance(dtype, ExtendedDType):
        return cast(type, dtype.type)
    if isinstance(dtype, type) and issubclass(dtype, np.generic):
        return dtype
    if isinstance(dtype, str) and dtype in NARROW_NAMES:
        return as_dtype(dtype).type
    return cast(type, np.dtype(dtype).type)


def _numpy_class(narrow: str) -> type:
    """The class of NumPy that is directly above a narrow dtype."""
    if narrow in _NARROW_FLOATS:
        return np.floating
    return np.unsignedinteger if narrow.startswith("u") else np.signedinteger


def bit_width(dtype: object) -> int:
    """Bits of one element: 4 for int4, 8 for bool. Of an extended dtype, those of its physical element."""
    dtype = as_dtype(dtype)
    if dtype_name(dtype) in NARROW_NAMES:
        digits = dtype.name.lstrip("bfloatuin").partition("_")[0]
        return int(digits)
    return 8 * int(dtype.itemsize)


itemsize_bits = bit_width


def finfo(dtype: object) -> Any:
    """Limits of a floating or complex dtype, as `numpy.finfo`. Raises ValueError for others."""
    return _limits("finfo", as_dtype(dtype))


def iinfo(int_type: object) -> Any:
    """Limits of an integer dtype, as `numpy.iinfo`. Raises ValueError for others."""
    return _limits("iinfo", as_dtype(int_type))


def _limits(kind: str, dtype: DType) -> Any:
    return getattr(ml_dtypes() if dtype_name(dtype) in NARROW_NAMES else np, kind)(dtype)


def to_inexact_dtype(dtype: object) -> DType:
    """The dtype of quotients and roots: float64 of 64-bit integers, float32 of the others and bool; else the same."""
    dtype = as_dtype(dtype)
    if dtype is _BOOL or issubdtype(dtype, np.integer):
        return as_dtype("float64" if dtype.itemsize == 8 else "float32")
    return dtype


def to_floating_dtype(dtype: object) -> DType:
    """The real floating dtype beside `dtype`: that of the parts of a complex one, else as `to_inexact_dtype`."""
    dtype = to_inexact_dtype(dtype)
    return as_dtype(dtype.type(0).real.dtype) if issubdtype(dtype, np.complexfloating) else dtype


def to_complex_dtype(dtype: object) -> DType:
    """The complex dtype that holds `dtype`: complex128 of 64-bit integers and floats, else complex64."""
    wide = dtype_name(to_inexact_dtype(dtype)) in ("float64", "complex128")
    return as_dtype("complex128" if wide else "complex64")


def to_numeric_dtype(dtype: np.dtype) -> DType:
    """`dtype`, or int32 for bool: the dtype in which booleans are counted."""
    dtype = as_dtype(dtype)
    return as_dtype("int32") if dtype is _BOOL else dtype
