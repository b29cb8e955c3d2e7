"""The backend as the kernel sees it: devices, arrays in and out, primitives applied at once, programs compiled.

Torch is imported with the first array: code that only compares backends need not wait for it.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from tangrad.core import Array, Backend, Device, Executable, ShapedArray, Sharding, checked_operands
from tangrad.core.backends import chosen_device
from tangrad.core.caches import params_key, register_cache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, TypeAlias

    import numpy as np
    import torch
    from torch import Tensor

    from tangrad.core import ClosedJaxpr, Primitive
    from tangrad.core.backends import CompileOptions
    from tangrad.typing import Params, Value
    from tangrad_torch.programs import Applied

    TorchName: TypeAlias = torch.device

MOST_APPLIED = 4096  # signatures of primitives that are kept


def _tensors() -> ModuleType:
    return import_module("tangrad_torch.tensors")


def _programs() -> ModuleType:
    return import_module("tangrad_torch.programs")


class TorchDevice(Device):
    """A device of PyTorch's: `torch` is its own name for it."""

    __slots__ = ("torch",)
    torch: TorchName

    def __repr__(self) -> str:
        return f"TorchDevice({str(self.torch)!r})"


class TorchArray(Array):
    """An array: a tensor that is never written to.

    Attributes:
        tensor: the elements; unsigned integers of 16 bits and more as signed ones, for which torch has operations.
        committed: whether the user chose its device.
    """

    __slots__ = ("_committed", "tensor")
    backend: TorchBackend  # set below, where there is one
    tensor: Tensor

    def __init__(self, aval: ShapedArray, tensor: Tensor, committed: bool = False) -> None:
        self.aval, self.tensor, self._committed = aval, tensor, committed

    def __getattr__(self, name: str) -> object:
        if name == "tensor":
            raise RuntimeError(f"the array of type {self.aval.str_short()} was deleted, or donated to a computation")
        return self._member(name)

    def to_numpy(self) -> np.ndarray:
        contents: np.ndarray = _tensors().to_numpy(self.tensor, self.aval)
        return contents

    @property
    def committed(self) -> bool:
        return self._committed

    @property
    def device(self) -> TorchDevice:
        return self.backend.device_of(self.tensor.device)

    def devices(self) -> set[TorchDevice]:
        return {self.device}

    def is_deleted(self) -> bool:
        try:
            return self.tensor is None
        except RuntimeError:
            return True

    def delete(self) -> None:
        """Give up the contents. Using the array afterwards is an error."""
        if not self.is_deleted():
            del self.tensor

    def __dlpack__(self, **options: Any) -> object:
        return to_torch(self).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = to_torch(self).__dlpack_device__()
        return kind, number


class TorchExecutable(Executable):
    """A compiled program, from lists of arrays to lists of arrays."""

    __slots__ = ("closed", "donated", "place", "program")

    def __init__(self, closed: ClosedJaxpr, options: CompileOptions) -> None:
        self.closed, (self.place, _) = closed, backend.place(options.device)
        self.donated = [position for position, given in enumerate(options.donated) if given]
        self.program = _programs().Program(closed, self.place.torch)

    def execute(self, arrays: Sequence[Value]) -> list[TorchArray]:
        operands, tensors, committed = backend.prepared(arrays, self.place)
        for position in self.donated:
            operands[position].delete()
        results = self.program(*tensors)
        return [TorchArray(aval, x, committed) for aval, x in zip(self.closed.out_avals, results, strict=True)]

    def as_text(self) -> str:
        text: str = self.program.text
        return text


class Lowered:
    """A program before it is compiled: what would run is text already."""

    def __init__(self, closed: ClosedJaxpr, options: CompileOptions) -> None:
        self.executable = TorchExecutable(closed, options)

    def as_text(self, dialect: str | None = None) -> str:
        return self.executable.as_text()

    def compile(self) -> TorchExecutable:
        return self.executable


class TorchBackend(Backend):
    """What the entry point of `tangrad.backends` names."""

    name = "torch"
    platform = "cpu"
    lowering_kind = "lower.torch"
    array_type = TorchArray
    api = 1

    def __init__(self) -> None:
        self._applied: dict[object, Applied] = {}

    # --- devices ---------------------------------------------------------------------------------------------------

    @cached_property
    def _devices(self) -> list[TorchDevice]:
        made = []
        for number, name in enumerate(_tensors().device_names()):
            device = TorchDevice(self, number, name.type)
            device.torch = name
            made.append(device)
        self.has_placements = len(made) > 1  # no array has a place before
        return made

    def devices(self) -> list[TorchDevice]:
        """The processor first, as in PyTorch, then what torch calls the accelerator: cuda:0, …, or mps."""
        return self._devices

    def default_device(self) -> TorchDevice:
        """Where arrays are made: the device of the setting, if it is one of these, or the processor."""
        device = chosen_device()
        return device if isinstance(device, TorchDevice) else self._devices[0]

    def device_of(self, name: torch.device) -> TorchDevice:
        """The device that torch calls so. Raises ValueError where it is none of these."""
        for device in self._devices:
            if device.torch == name:
                return device
        known = ", ".join([str(device.torch) for device in self._devices])
        raise ValueError(f"a tensor is on {str(name)!r}, which is no device of the backend 'torch'; it has {known}")

    def placement(self, arrays: Sequence[Value]) -> TorchDevice:
        """Where a program on arrays runs: where they are committed to, else where the first one is."""
        if not self.has_placements:
            return self._devices[0]
        chosen = {array.device for array in arrays if isinstance(array, TorchArray) and array.committed}
        if len(chosen) > 1:
            found = " and ".join(sorted([str(device.torch) for device in chosen]))
            raise ValueError(f"arrays are committed to different devices, {found}; tangrad.device_put moves them")
        if chosen:
            return next(iter(chosen))
        return next((array.device for array in arrays if isinstance(array, TorchArray)), self.default_device())

    def place(self, device: object) -> tuple[TorchDevice, bool]:
        """The device that `device` means, and whether arrays are committed to it."""
        if isinstance(device, Sharding) and device.num_devices == 1:
            (device,) = device.device_order
        if device is None or device is chosen_device():
            return self.default_device(), False
        if not isinstance(device, TorchDevice):
            raise ValueError(f"expected a device of the backend 'torch', one of {self._devices}, got {device!r}")
        return device, True

    # --- arrays ----------------------------------------------------------------------------------------------------

    def put(self, value: object, aval: ShapedArray, device: object = None) -> TorchArray:
        """A copy of a NumPy array, since its owner may write to it afterwards."""
        place, committed = self.place(device)
        return TorchArray(aval, _tensors().to_tensor(value, aval, copy=True).to(place.torch), committed)

    def adopt(self, contents: np.ndarray, aval: ShapedArray) -> TorchArray:
        place, committed = self.place(None)
        return TorchArray(aval, _tensors().to_tensor(contents, aval, copy=False).to(place.torch), committed)

    def move(self, array: TorchArray, device: object) -> TorchArray:
        place, committed = self.place(device)
        return TorchArray(array.aval, array.tensor.to(place.torch), committed)

    def own(self, array: Value) -> TorchArray:
        """An array of any backend as one of this."""
        return array if isinstance(array, TorchArray) else self.put(array.to_numpy(), array.aval)

    def get(self, array: Array) -> np.ndarray:
        return array.to_numpy()

    def from_dlpack(self, external: object, device: object = None, copy: bool | None = None) -> TorchArray:
        """An array over the memory of another library's array; see `tangrad.numpy.from_dlpack`."""
        made = from_torch(_tensors().from_dlpack(external, copy))
        return made if device is None else self.move(made, device)

    def block_until_ready(self, array: Array) -> None:
        _tensors().wait_for(self.own(array).tensor)

    # --- computing -------------------------------------------------------------------------------------------------

    def prepared(self, args: Sequence[Value], place: TorchDevice) -> tuple[Sequence[Value], list[Tensor], bool]:
        """Operands, their tensors on a device, and whether results are committed to it."""
        operands: Sequence[Value] = args
        if not all([type(arg) is TorchArray for arg in args]):
            operands = checked_operands(self, tuple(args))
        constant = _tensors().constant
        tensors = [x.tensor if isinstance(x, TorchArray) else constant(x, place.torch) for x in operands]
        if not self.has_placements:
            return operands, tensors, False
        committed = any([getattr(x, "committed", False) for x in operands])
        return operands, [tensor.to(place.torch) for tensor in tensors], committed

    def apply(
        self, primitive: Primitive, args: tuple[Value, ...], params: Params
    ) -> TorchArray | tuple[TorchArray, ...]:
        """Apply a primitive to arrays and literals now. What it becomes is kept for each signature."""
        place = self.placement(args)
        operands, tensors, committed = self.prepared(args, place)
        key = (primitive, params_key(params), place, *[x.aval for x in operands])
        found = self._applied.get(key)
        if found is None:
            if len(self._applied) >= MOST_APPLIED:
                self._applied.clear()
            inputs = tuple([x.aval for x in operands])
            found = self._applied[key] = _programs().applied(primitive, inputs, params, place.torch)
        run, out = found
        results = run(*tensors)
        if isinstance(out, tuple):
            return tuple([TorchArray(aval, result, committed) for aval, result in zip(out, results, strict=True)])
        assert not isinstance(results, tuple)
        return TorchArray(out, results, committed)

    def compile(self, closed_jaxpr: ClosedJaxpr, options: CompileOptions) -> TorchExecutable:
        return TorchExecutable(closed_jaxpr, options)

    def lower(self, closed_jaxpr: ClosedJaxpr, options: CompileOptions) -> Lowered:
        return Lowered(closed_jaxpr, options)

    def clear_caches(self) -> None:
        self._applied.clear()


backend = TorchBackend()
TorchArray.backend = backend
register_cache(backend.clear_caches)  # what was made by rules that have changed since


def from_torch(tensor: Tensor, copy: bool = False) -> TorchArray:
    """The array over a tensor's memory, on its device, or over a copy of it.

    Who goes on writing to the tensor changes the array: give away what you still write to with `copy=True`. 64-bit
    dtypes become 32-bit, in memory of their own, unless `enable_x64` is set.

    Raises TypeError for what is no dense tensor, ValueError for a tensor that requires gradients (`detach` it) or is
    on no device of this backend, and MissingRuleError for a dtype that arrays cannot have.

    >>> import torch
    >>> from tangrad_torch import from_torch
    >>> from_torch(torch.arange(3.0)) + 1
    Array([1., 2., 3.], dtype=float32)
    """
    if not _tensors().is_dense(tensor):
        raise TypeError(f"from_torch takes dense tensors, got {tensor!r} of type {type(tensor).__name__}")
    if tensor.requires_grad:
        raise ValueError("from_torch takes tensors that require no gradients, as Tangrad's are its own; detach it")
    device = backend.device_of(tensor.device)
    dtype, elements = _tensors().adopted(tensor)
    elements = elements.clone() if copy else elements
    return TorchArray(ShapedArray(tuple(tensor.shape), dtype), elements, device is not backend.default_device())


def to_torch(array: Array) -> Tensor:
    """The tensor that holds an array's elements, not to be written to; of random keys, the words they are made of.

    Arrays of other backends become tensors on the default device.

    >>> import tangrad
    >>> from tangrad_torch import to_torch
    >>> with tangrad.use_backend("torch"):
    ...     to_torch(tangrad.numpy.arange(3))
    tensor([0, 1, 2], dtype=torch.int32)
    """
    if not isinstance(array, Array):
        raise TypeError(f"to_torch takes arrays of Tangrad, got {array!r} of type {type(array).__name__}")
    tensor: Tensor = _tensors().exported(backend.own(array).tensor, array.aval)
    return tensor
