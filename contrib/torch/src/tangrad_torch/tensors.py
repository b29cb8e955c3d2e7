"""How torch holds elements, and how NumPy's become torch's and back.

Torch has unsigned integers of 16 bits and more, and next to no operations on them. Here they are held as signed ones of
the same bits: adding, multiplying, comparing for equality and moving them are the same, and the rules take care of the
rest (order, division, conversion).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch

from tangrad.core import dtypes
from tangrad.dtypes import canonicalize_dtype
from tangrad.errors import MissingRuleError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from torch import Tensor

    from tangrad.core import Literal, ShapedArray
    from tangrad.typing import DType

    Shape: TypeAlias = tuple[int, ...]
    Axes: TypeAlias = tuple[int, ...]
    Operation: TypeAlias = Callable[..., Tensor]  # what computes one tensor
    Operations: TypeAlias = Callable[..., tuple[Tensor, ...]]  # what computes several

KIND = "lower.torch"
WIDTHS = {"int": (8, 16, 32, 64), "float": (16, 32, 64), "complex": (64, 128)}
OWN = ["bool", "uint8", "bfloat16", *[f"{name}{width}" for name, widths in WIDTHS.items() for width in widths]]
UNSIGNED = {f"uint{width}": getattr(torch, f"int{width}") for width in (16, 32, 64)}
HELD_AS: dict[str, torch.dtype] = {name: getattr(torch, name) for name in OWN} | UNSIGNED | {"float0": torch.bool}
NAMES = {getattr(torch, name): name for name in (*OWN, *UNSIGNED)}


def stored(aval: ShapedArray) -> ShapedArray:
    """The type of the elements that are held: for random keys, of the words that they are made of."""
    return aval.dtype.physical_aval(aval) if isinstance(aval.dtype, dtypes.ExtendedDType) else aval


def torch_dtype(dtype: DType) -> torch.dtype:
    """What elements of a dtype are held as. Raises MissingRuleError where torch has none of the kind."""
    name = dtypes.dtype_name(dtype)
    if name not in HELD_AS:
        raise MissingRuleError(
            f"the backend 'torch' has no dtype {name}; it has {', '.join(NAMES.values())}", None, KIND
        )
    return HELD_AS[name]


def is_unsigned(dtype: DType) -> bool:
    """Whether elements are held as signed integers."""
    return dtypes.dtype_name(dtype) in UNSIGNED


def is_complex(dtype: DType) -> bool:
    return bool(torch_dtype(dtype).is_complex)


def is_floating(dtype: DType) -> bool:
    return bool(torch_dtype(dtype).is_floating_point)


# --- in and out ----------------------------------------------------------------------------------------------------


def _is_held_in_numpy(dtype: np.dtype) -> bool:
    return dtype.kind in "bifc" or dtype == np.uint8


def to_tensor(value: object, aval: ShapedArray, copy: bool) -> Tensor:
    """The tensor with the contents of a NumPy array, in its memory if that can be and no copy is asked for."""
    kind = stored(aval)
    held = torch_dtype(kind.dtype)
    if kind.dtype == dtypes.float0:
        return torch.zeros(kind.shape, dtype=held)
    contents = np.array(value, kind.dtype, order="C", copy=True if copy else None)
    if contents.shape != kind.shape:
        raise ValueError(f"expected contents of shape {kind.shape}, got {contents.shape}")
    if not contents.flags.writeable:  # torch has no tensors that cannot be written to
        contents = contents.copy()
    if not _is_held_in_numpy(kind.dtype):
        contents = contents.view(f"i{kind.dtype.itemsize}")
    return torch.from_numpy(contents).view(held)


def to_numpy(tensor: Tensor, aval: ShapedArray) -> np.ndarray:
    """The elements as a NumPy array that refuses to be written to: over the same memory, on the processor."""
    kind = stored(aval)
    if kind.dtype == dtypes.float0:
        return np.zeros(kind.shape, kind.dtype)
    tensor = tensor.cpu().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    contents: np.ndarray = tensor.numpy()
    contents = contents if _is_held_in_numpy(kind.dtype) else contents.view(kind.dtype)
    contents.flags.writeable = False
    return contents


def constant(literal: Literal, device: torch.device) -> Tensor:
    """The tensor of a literal, which programs share."""
    return _constant(literal.aval, literal.ndarray.tobytes(), device)


@lru_cache(4096)
def _constant(aval: ShapedArray, contents: bytes, device: torch.device) -> Tensor:
    return to_tensor(np.frombuffer(contents, aval.dtype)[0], aval, copy=True).to(device)


def exported(tensor: Tensor, aval: ShapedArray) -> Tensor:
    """A tensor of the array's own dtype, for others."""
    name = dtypes.dtype_name(stored(aval).dtype)
    return tensor.view(getattr(torch, name)) if name in UNSIGNED else tensor


def is_dense(value: Tensor) -> bool:
    """Whether a value is a tensor whose elements are contiguous in memory."""
    return isinstance(value, torch.Tensor) and value.layout == torch.strided


def adopted(tensor: Tensor) -> tuple[np.dtype, Tensor]:
    """The dtype that an array of a user's tensor has, and the elements as they are held."""
    if tensor.dtype not in NAMES:
        raise MissingRuleError(f"the backend 'torch' takes no tensors of {tensor.dtype}", None, KIND)
    name = NAMES[tensor.dtype]
    own, elements = dtypes.as_dtype(name), tensor.resolve_conj().resolve_neg().view(HELD_AS[name])
    dtype = canonicalize_dtype(own)
    return dtype, converted(elements, own, dtype)


def from_dlpack(external: object, copy: bool | None) -> Tensor:
    """The tensor over another library's memory; a copy if asked for, or needed and not forbidden."""
    if copy is not False and isinstance(external, np.ndarray) and not external.flags.writeable:
        external, copy = external.copy(), False  # torch has no tensors that cannot be written to
    tensor = torch.from_dlpack(external)
    return tensor.clone() if copy else tensor


# --- devices -------------------------------------------------------------------------------------------------------


def device_names() -> list[torch.device]:
    """What torch can compute on."""
    names = [torch.device("cpu")]
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if found is not None:
        # A tensor names the only one there is "mps:0", as "cuda:0".
        names += [torch.device(found.type, number) for number in range(torch.accelerator.device_count())]
    return names


def wait_for(tensor: Tensor) -> None:
    """Wait until a tensor is computed."""
    if tensor.device.type not in ("cpu", "meta"):
        torch.accelerator.synchronize(tensor.device)


# --- unsigned integers ---------------------------------------------------------------------------------------------


def in_order(x: Tensor) -> Tensor:
    """Unsigned integers, held as signed ones, as signed ones in the same order; and back."""
    return x ^ torch.iinfo(x.dtype).min


def shifted_right(x: Tensor, count: int, dtype: DType) -> Tensor:
    """Shifted by a number of bits from 1 to all but one, zeros entering."""
    if x.dtype == torch.uint8:
        return x >> count
    return (x >> count) & ((1 << (dtypes.bit_width(dtype) - count)) - 1)


def converted(x: Tensor, old: DType, new: DType) -> Tensor:
    """The elements in another dtype: integers wrap, floats saturate, NaN is 0 and imaginary parts are dropped."""
    held = torch_dtype(new)
    if old == new:
        return x
    if held == torch.bool:
        return x != 0
    if is_complex(old) and not held.is_complex:
        x, old = x.real, dtypes.to_floating_dtype(old)
    if is_floating(old) and not (held.is_floating_point or held.is_complex):
        return _saturated(x, new, held)
    if not is_unsigned(old) or not (held.is_floating_point or held.is_complex or _wider(held, x.dtype)):
        return x.to(held)
    if x.dtype != torch.int64:
        return (x.to(torch.int64) & ((1 << dtypes.bit_width(old)) - 1)).to(held)
    # Half of it, rounded to odd so that it is rounded once, has room in a signed number.
    half = (shifted_right(x, 1, old) | (x & 1)).to(held) * 2
    return torch.where(x < 0, half, x.to(held))


def _wider(held: torch.dtype, other: torch.dtype) -> bool:
    return bool(held.itemsize > other.itemsize)


def _saturated(x: Tensor, dtype: DType, held: torch.dtype) -> Tensor:
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    inside = torch.where((x >= low) & (x < float(high + 1)), x, 0)
    if limits.max > np.iinfo(np.int64).max:  # the upper half is held as negative numbers
        whole = torch.where(inside >= 2.0**63, (inside - 2.0**63).to(torch.int64) ^ -(2**63), inside.to(torch.int64))
    else:
        whole = inside.to(torch.int64).to(held)
    top = torch.tensor(high - (1 << 8 * held.itemsize) if is_unsigned(dtype) else high, dtype=held, device=x.device)
    bottom = torch.tensor(low, dtype=held, device=x.device)
    return torch.where(x >= float(high + 1), top, torch.where(x < low, bottom, whole))
