"""What the distributions do to their arguments: dtypes, shapes and parameters, with messages that name the function."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._random.functions import stated_shape
from tangrad.core import as_operand, dtypes, literal
from tangrad.extend.lax import broadcast_in_dim_p, broadcast_shapes, convert_element_type_p
from tangrad.typing import Dimensions, DType, DTypeLike, Value


def float_dtype(name: str, dtype: DTypeLike | None, accepted: Any = np.floating) -> np.dtype:
    """The dtype of a sample: float32 (float64 with `enable_x64`) for None. Raises ValueError for one not accepted."""
    if dtype is None:
        return dtypes.canonicalize_dtype(float)
    made = dtypes.check_user_dtype_supported(getattr(dtype, "dtype", dtype) if not isinstance(dtype, type) else dtype)
    if not dtypes.issubdtype(made, accepted):
        kinds = "float" if accepted is np.floating else "float or complex"
        raise ValueError(f"{name}: dtype must be a {kinds} dtype, got {dtypes.dtype_name(made)}")
    return made


def int_dtype(name: str, dtype: Any, error: type[Exception] = ValueError) -> DType:
    """The dtype of a sample: int32 (int64 with `enable_x64`) for None. Raises `error` for one that is no integer's."""
    made = dtypes.check_user_dtype_supported(int if dtype is None else dtype)
    if not dtypes.issubdtype(made, np.integer):
        raise error(f"{name}: dtype must be an integer dtype, got {dtypes.dtype_name(made)}")
    return made


def sample_shape(name: str, shape: Any, *parameters: Any) -> tuple[Any, ...]:
    """The shape of a sample; for None that of the parameters. Raises ValueError where parameters do not fit it."""
    shapes = [np.shape(value) if not hasattr(type(value), "aval") else value.aval.shape for value in parameters]
    if shape is None:
        return broadcast_shapes(*shapes)
    made = stated_shape(name, shape)
    check_fits(name, made, *shapes)
    return made


def check_fits(name: str, shape: Dimensions, *shapes: tuple[Any, ...]) -> None:
    """Raise ValueError unless arrays of some shapes broadcast to `shape`."""
    if any(shapes):
        try:
            fits = broadcast_shapes(shape, *shapes) == shape
        except ValueError:
            fits = False
        if not fits:
            found = ", ".join([str(tuple(s)) for s in shapes])
            raise ValueError(f"{name}: parameters of shape {found} do not broadcast to the sample's shape {shape}")


def parameter(name: str, value: Any, dtype: DType, shape: Dimensions, argument: str = "a parameter") -> Value:
    """A parameter as an operand of `dtype`: of rank 0, or broadcast to `shape`."""
    if type(value) in (int, float) and dtype.kind == "f":
        return literal(float(value), dtype)
    try:
        operand = as_operand(value)
    except TypeError as error:
        raise TypeError(f"{name} requires an array or number as {argument}, got {value!r}") from error
    return fitted(name, converted(operand, dtype), shape)


def converted(operand: Value, dtype: DType) -> Value:
    """An operand in `dtype`, not weakly typed."""
    if operand.aval.dtype == dtype and not operand.aval.weak_type:
        return operand
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=False)


def fitted(name: str, operand: Value, shape: Dimensions) -> Value:
    """An operand of rank 0 or of `shape`. Raises ValueError for one that does not broadcast to it."""
    own = operand.aval.shape
    if not own or own == shape:
        return operand
    check_fits(name, shape, own)
    dimensions = tuple(range(len(shape) - len(own), len(shape)))
    return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dimensions)


def check_safe_cast(name: str, dtype: DType, **parameters: object) -> None:
    """Raise TypePromotionError for parameters that would lose digits, or their imaginary part, in `dtype`."""
    for argument, value in parameters.items():
        aval = as_operand(value).aval
        if aval.weak_type and aval.dtype.kind != "c":
            continue
        if dtypes.promote_types(aval.dtype, dtype) != dtype:
            found = dtypes.dtype_name(aval.dtype)
            raise dtypes.TypePromotionError(
                f"{name}: {argument} of dtype {found} cannot be converted to {dtypes.dtype_name(dtype)} without loss"
            )
