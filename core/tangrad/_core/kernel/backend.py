"""Backends: who holds arrays and computes with them, and how values become arrays of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from tangrad._core.diagnostics.errors import BackendError
from tangrad._core.dtypes import objects, promotion
from tangrad._core.dtypes.arguments import can_represent_array, represented_array
from tangrad._core.kernel.array import Array, literal
from tangrad._core.kernel.aval import ShapedArray, get_aval
from tangrad._core.kernel.backends import Backends
from tangrad._core.kernel.jaxpr import ClosedJaxpr
from tangrad._core.kernel.memories import HasMemories
from tangrad._core.kernel.transfers import brought, watch


class Device(HasMemories):
    """One device of a backend.

    Attributes:
        backend: the backend it belongs to.
        id: its number, from 0.
        platform: "cpu", "gpu", …
        process_index: the process that it is attached to.
    """

    __slots__ = ("__weakref__", "backend", "id", "platform", "process_index")

    def __init__(self, backend: Backend, id: int, platform: str, process_index: int = 0) -> None:
        self.backend, self.id, self.platform, self.process_index = backend, id, platform, process_index

    @property
    def device_kind(self) -> str:
        return self.platform

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id})"

    def __str__(self) -> str:
        return f"{self.backend.name}:{self.platform}:{self.id}"


class Executable:
    """A compiled program. `execute` takes and returns flat lists of the backend's arrays."""

    __slots__ = ()

    def execute(self, arrays: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def as_text(self) -> str:
        """The compiled program in the backend's own language."""
        raise NotImplementedError

    def cost_analysis(self) -> dict[str, float]:
        """Estimates such as `flops` and `bytes accessed`, as far as the backend knows them."""
        return {}

    def memory_analysis(self) -> Any:
        """Sizes of arguments, outputs and temporaries in bytes, or None."""
        return None

    def compile_facts(self) -> dict[str, Any]:
        """What reports say of its compilation, as far as it is known: `instructions` (a number), `origin`."""
        return {}

    def places(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """For each argument and each result its `Sharding`, or its one device; () if unknown."""
        return (), ()


class CompileOptions:
    """What a caller asks of `Backend.compile`.

    Attributes:
        name: the program's name, for messages and profiles.
        device: the device to run on, or None.
        donated: for each argument, whether its buffer may be overwritten.
        in_shardings: for each argument the `Sharding` that it must have, or None.
        out_shardings: the same for each result.
        places: for each argument its place in the call that is to be compiled for, as `Backend.places` says; or ().
        extra: options that only one backend knows.
    """

    __slots__ = ("device", "donated", "extra", "in_shardings", "name", "out_shardings", "places")

    def __init__(
        self,
        name: str = "main",
        device: Device | None = None,
        donated: tuple[bool, ...] = (),
        extra: dict[str, Any] | None = None,
        in_shardings: tuple[Any, ...] = (),
        out_shardings: tuple[Any, ...] = (),
        places: tuple[Any, ...] = (),
    ) -> None:
        self.name, self.device, self.donated, self.extra = name, device, donated, extra or {}
        self.in_shardings, self.out_shardings, self.places = in_shardings, out_shardings, places

    def changed(self, **changes: Any) -> CompileOptions:
        """A copy with other values of the attributes that are named."""
        return CompileOptions(**{**{name: getattr(self, name) for name in self.__slots__}, **changes})


class Backend:
    """A backend: an object that an entry point of `tangrad.backends` names.

    Attributes:
        name: what users choose it by.
        platform: the platform of its devices.
        has_placements: whether there are several devices, so that `placement` is asked before each run.
        process_index: the number of this process among those that compute together.
        sizes_at_call: whether one program serves all sizes, where those of its arguments are symbolic.
        profiler: what records its programs (`tangrad._profiler.backends` says how); None where nothing does.
        lowering_kind: the rule kind of its lowerings, such as "lower.numpy"; platforms refine it ("lower.xla.cuda").
        array_type: its subclass of `Array`, whose class attribute `backend` is this object.
        priority: where none is chosen and several are installed, the one with the highest is used; of equals, the first
            by name. They are all loaded then, so the module of a backend should import its compiler when that is
            needed.
        api: the version of the extension API it was written for.
    """

    name: str
    platform: str = "cpu"
    lowering_kind: str
    array_type: type[Array]
    api: ClassVar[int]
    priority: int = 0
    # Whether programs can run in more than one place, so that `placement` must be asked before each run.
    has_placements: bool = False
    process_index: int = 0
    sizes_at_call: bool = False
    profiler: Any = None

    def devices(self) -> Sequence[Device]:
        """The devices, at least one."""
        raise NotImplementedError

    def coordination(self) -> Any:
        """What joins this process with others whose devices it computes with: see `Coordination` in `protocols`.

        Raises BackendError where there is no such thing.
        """
        raise BackendError(f"the backend {self.name!r} computes in one process, on devices of that process alone")

    def put(self, value: Any, aval: ShapedArray, device: Any = None) -> Array:
        """An array with the contents of a NumPy array, of the aval's dtype.

        `device`: where: a device (default: the first), or, if the backend has several, a `Sharding`.
        """
        raise NotImplementedError

    def adopt(self, contents: np.ndarray, aval: ShapedArray) -> Array:
        """As `put`, of an array of the aval's shape and dtype without other references, which need not be copied."""
        return self.put(contents, aval)

    def from_dlpack(self, external: Any, device: Any = None, copy: bool | None = None) -> Array:
        """What another library holds as an array, here a copy of it. Raises BufferError if `copy` is False."""
        if copy is False:
            raise BufferError(f"the backend {self.name!r} shares no memory with other libraries, and copy is False")
        from tangrad._core.kernel import dlpack

        contents = dlpack.from_dlpack(external)
        return self.put(contents, get_aval(contents), device)

    def move(self, array: Any, device: Any) -> Array:
        """One of its arrays on another of its devices, or sharded as a `Sharding` says, and committed to that."""
        return self.put(array.to_numpy(), array.aval, device)

    def assemble(self, aval: ShapedArray, sharding: Any, parts: Sequence[Any]) -> Array:
        """An array of its parts on devices of this process: arrays of one device, in the order of the sharding's."""
        raise NotImplementedError

    def parts(self, array: Any) -> Sequence[Any]:
        """The parts of an array on devices of this process, in the order of its sharding's devices."""
        raise NotImplementedError

    def get(self, array: Array) -> np.ndarray:
        """The contents of one of its arrays, not to be written to."""
        raise NotImplementedError

    def rows(self, array: Array) -> Iterator[Array] | None:
        """The slices of one of its arrays along the first axis, which has a size above 0; None: by operations."""
        return None

    def part(self, array: Array, index: Any) -> Array | None:
        """`array[index]` of one of its arrays, where that takes no operation; None: by operations."""
        return None

    def reduced(self, array: Array) -> tuple[Any, ...]:
        """How one of its arrays is pickled: as its contents, which become an array on the backend in use."""
        return put, (array.to_numpy(), array.aval)

    def apply(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply a primitive to concrete arrays and literals now."""
        raise NotImplementedError

    def direct(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Callable[..., Any] | None:
        """What `apply` comes down to for operands with the avals of `args`: a function of these; None: there is none.

        The kernel keeps it for the signature. Its operands are not looked at before: literals are passed in the places
        of literals, and what is no plain array of this backend (deleted, on another device or backend) it has to hand
        to `evaluate`. A backend without it works, and looks for its kernel at each call of `apply`.
        """
        return None

    def compile(self, closed_jaxpr: ClosedJaxpr, options: CompileOptions) -> Executable:
        """Compile a program."""
        raise NotImplementedError

    def lower(self, closed_jaxpr: ClosedJaxpr, options: CompileOptions) -> Any:
        """The program in the backend's input language: an object with `as_text()` and `compile()`."""
        raise NotImplementedError

    def placement(self, arrays: Sequence[Any]) -> Any:
        """Where a program on `arrays` runs: a device, or None for the default one.

        Raises ValueError if they disagree.
        """
        return None

    def places(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The place of each of its arrays, to compile a program for them; () where that makes no difference."""
        return ()

    def block_until_ready(self, array: Array) -> None:
        """Wait until the array is computed."""

    def synchronize(self, effects: Any = None) -> None:
        """Wait for the side effects of programs that this thread has started, and raise the error of one that failed.

        `effects`: only for programs with one of these ordered effects; their errors are left for a later call.
        """

    def clear_caches(self) -> None:
        """Forget compiled programs."""

    def __repr__(self) -> str:
        return f"<backend {self.name}>"


_backends: Backends[Backend] = Backends()
backend_names, get_backend, loaded_backends = _backends.names, _backends.get, _backends.loaded
backend_named, preferred_backend, chosen_device = _backends.named, _backends.preferred, _backends.chosen_device


# --- values into arrays --------------------------------------------------------------------------------------------


def put(value: Any, aval: ShapedArray | None = None, backend: str | None = None, device: Device | None = None) -> Array:
    """A concrete array with the contents of a NumPy array, a number, or an array of another backend."""
    if aval is None:
        aval = get_aval(value)
    if device is None:
        device = chosen_device()
    chosen = get_backend(backend) if device is None or backend is not None else device.backend
    value = represented_array(value)
    if isinstance(value, Array):
        value = value.to_numpy()
    if type(value) is int:
        promotion.check_integer_fits(value, aval.dtype)
    if watch.on:
        brought(aval)
    storage = None if isinstance(aval.dtype, objects.ExtendedDType) else aval.dtype
    return chosen.put(np.asarray(value, dtype=storage), aval, device)


def as_operand(value: Any) -> Any:
    """`value` itself if traces know it (array, tracer, literal); a scalar as a literal, a NumPy array as an array."""
    if hasattr(type(value), "aval"):
        return value
    if can_represent_array(value):
        return as_operand(represented_array(value))
    aval = get_aval(value)
    # A float0 has a field by that name, and no number that could be hashed.
    if not aval.shape and not isinstance(aval.dtype, objects.ExtendedDType) and aval.dtype.names is None:
        return literal(value if not isinstance(value, np.ndarray) else value[()], aval.dtype, aval.weak_type)
    return put(value, aval)


def is_operand(value: Any) -> bool:
    """Whether a primitive can be applied to a value: an array, or what makes one.

    >>> from tangrad.core.transformations import is_operand
    >>> is_operand(1.5), is_operand("text")
    (True, False)
    """
    if hasattr(type(value), "aval"):
        return True
    try:
        as_operand(value)
    except TypeError:
        return False
    return True


def as_array(value: Any) -> Array:
    """As `as_operand`, but scalars and literals become arrays: what users are handed."""
    if isinstance(value, Array):
        return value
    if can_represent_array(value):
        return as_array(represented_array(value))
    return put(value.ndarray if hasattr(value, "ndarray") else value, getattr(value, "aval", None))
