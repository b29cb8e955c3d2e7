"""The backend as the kernel sees it: devices, arrays in and out, primitives applied at once, programs compiled.

Torch is imported with the first array: code that only compares backends need not wait for it.
"""

from functools import cached_property
from importlib import import_module

from tangrad.core import Array, Backend, Device, Executable, Literal, ShapedArray, Sharding, checked_operands
from tangrad.core.backends import chosen_device
from tangrad.core.caches import params_key, register_cache

MOST_APPLIED = 4096  # signatures of primitives that are kept


def _tensors():
    return import_module("tangrad_torch.tensors")


def _programs():
    return import_module("tangrad_torch.programs")


class TorchDevice(Device):
    """A device of PyTorch's: `torch` is its own name for it."""

    __slots__ = ("torch",)

    def __repr__(self):
        return f"TorchDevice({str(self.torch)!r})"


class TorchArray(Array):
    """An array: a tensor that is never written to.

    Attributes:
        tensor: the elements; unsigned integers of 16 bits and more as signed ones, for which torch has operations.
        committed: whether the user chose its device.
    """

    __slots__ = ("committed", "tensor")
    backend = None  # set below, where there is one

    def __init__(self, aval, tensor, committed=False):
        self.aval, self.tensor, self.committed = aval, tensor, committed

    def __getattr__(self, name):
        if name == "tensor":
            raise RuntimeError(f"the array of type {self.aval.str_short()} was deleted, or donated to a computation")
        return super().__getattr__(name)

    def to_numpy(self):
        return _tensors().to_numpy(self.tensor, self.aval)

    @property
    def device(self):
        return self.backend.device_of(self.tensor.device)

    def devices(self):
        return {self.device}

    def is_deleted(self):
        try:
            return self.tensor is None
        except RuntimeError:
            return True

    def delete(self):
        """Give up the contents. Using the array afterwards is an error."""
        if not self.is_deleted():
            del self.tensor

    def __dlpack__(self, **options):
        return to_torch(self).__dlpack__(**options)

    def __dlpack_device__(self):
        return to_torch(self).__dlpack_device__()


class TorchExecutable(Executable):
    """A compiled program, from lists of arrays to lists of arrays."""

    __slots__ = ("closed", "donated", "place", "program")

    def __init__(self, closed, options):
        self.closed, self.place = closed, options.device or backend.default_device()
        self.donated = [position for position, given in enumerate(options.donated) if given]
        self.program = _programs().Program(closed, self.place.torch)

    def execute(self, arrays):
        operands, tensors, committed = backend.prepared(arrays, self.place)
        for position in self.donated:
            operands[position].delete()
        results = self.program(*tensors)
        return [TorchArray(aval, x, committed) for aval, x in zip(self.closed.out_avals, results, strict=True)]

    def as_text(self):
        return self.program.text


class Lowered:
    """A program before it is compiled: what would run is text already."""

    def __init__(self, closed, options):
        self.executable = TorchExecutable(closed, options)

    def as_text(self, dialect=None):
        return self.executable.as_text()

    def compile(self):
        return self.executable


class TorchBackend(Backend):
    """What the entry point of `tangrad.backends` names."""

    name = "torch"
    platform = "cpu"
    lowering_kind = "lower.torch"
    array_type = TorchArray
    api = 1

    def __init__(self):
        self._applied = {}

    # --- devices ---------------------------------------------------------------------------------------------------

    @cached_property
    def _devices(self):
        made = []
        for number, name in enumerate(_tensors().device_names()):
            device = TorchDevice(self, number, name.type)
            device.torch = name
            made.append(device)
        return made

    def devices(self):
        """The processor first, as in PyTorch, then what torch calls the accelerator: cuda:0, …, or mps."""
        return self._devices

    @property
    def has_placements(self):
        return len(self._devices) > 1

    def default_device(self):
        """Where arrays are made: the device of the setting, if it is one of these, or the processor."""
        device = chosen_device()
        return device if isinstance(device, TorchDevice) else self._devices[0]

    def device_of(self, name):
        """The device that torch calls so. Raises ValueError where it is none of these."""
        for device in self._devices:
            if device.torch == name:
                return device
        known = ", ".join([str(device.torch) for device in self._devices])
        raise ValueError(f"a tensor is on {str(name)!r}, which is no device of the backend 'torch'; it has {known}")

    def placement(self, arrays):
        """Where a program on arrays runs: where they are committed to, else where the first one is."""
        if not self.has_placements:
            return self._devices[0]
        chosen = {array.device for array in arrays if getattr(array, "committed", False)}
        if len(chosen) > 1:
            found = " and ".join(sorted([str(device.torch) for device in chosen]))
            raise ValueError(f"arrays are committed to different devices, {found}; tangrad.device_put moves them")
        if chosen:
            return chosen.pop()
        return next((array.device for array in arrays if isinstance(array, TorchArray)), self.default_device())

    def _place(self, device):
        """The device that `device` means, and whether arrays are committed to it."""
        if isinstance(device, Sharding) and device.num_devices == 1:
            (device,) = device.device_order
        if device is None or device is chosen_device():
            return self.default_device(), False
        if not isinstance(device, TorchDevice):
            raise ValueError(f"expected a device of the backend 'torch', one of {self._devices}, got {device!r}")
        return device, True

    # --- arrays ----------------------------------------------------------------------------------------------------

    def put(self, value, aval, device=None):
        """A copy of a NumPy array, since its owner may write to it afterwards."""
        place, committed = self._place(device)
        return TorchArray(aval, _tensors().to_tensor(value, aval, copy=True).to(place.torch), committed)

    def adopt(self, contents, aval):
        place, committed = self._place(None)
        return TorchArray(aval, _tensors().to_tensor(contents, aval, copy=False).to(place.torch), committed)

    def move(self, array, device):
        place, committed = self._place(device)
        return TorchArray(array.aval, array.tensor.to(place.torch), committed)

    def own(self, array):
        """An array of any backend as one of this."""
        return array if isinstance(array, TorchArray) else self.put(array.to_numpy(), array.aval)

    def get(self, array):
        return array.to_numpy()

    def from_dlpack(self, external, device=None, copy=None):
        """An array over the memory of another library's array; see `tangrad.numpy.from_dlpack`."""
        made = from_torch(_tensors().from_dlpack(external, copy))
        return made if device is None else self.move(made, device)

    def block_until_ready(self, array):
        _tensors().wait_for(array.tensor)

    # --- computing -------------------------------------------------------------------------------------------------

    def prepared(self, args, place):
        """Operands, their tensors on a device, and whether results are committed to it."""
        operands = args
        if not all([type(arg) is TorchArray for arg in args]):
            operands = checked_operands(self, tuple(args))
            tensors = [_tensors().constant(x, place.torch) if type(x) is Literal else x.tensor for x in operands]
        else:
            tensors = [x.tensor for x in operands]
        if not self.has_placements:
            return operands, tensors, False
        committed = any([getattr(x, "committed", False) for x in operands])
        return operands, [tensor.to(place.torch) for tensor in tensors], committed

    def apply(self, primitive, args, params):
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
        if not primitive.multiple_results:
            return TorchArray(out, results, committed)
        return tuple([TorchArray(aval, result, committed) for aval, result in zip(out, results, strict=True)])

    def compile(self, closed_jaxpr, options):
        return TorchExecutable(closed_jaxpr, options)

    def lower(self, closed_jaxpr, options):
        return Lowered(closed_jaxpr, options)

    def clear_caches(self):
        self._applied.clear()


backend = TorchBackend()
TorchArray.backend = backend
register_cache(backend.clear_caches)  # what was made by rules that have changed since


def from_torch(tensor, copy=False):
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


def to_torch(array):
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
    return _tensors().exported(backend.own(array).tensor, array.aval)
