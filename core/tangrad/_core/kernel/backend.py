"""Backends: who holds arrays and computes with them, which one is in use, and how values become arrays of theirs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tangrad._core.composition.missing_names import explanations
from tangrad._core.composition.plugin import Plugin
from tangrad._core.composition.policy import check_api_version
from tangrad._core.composition.registry import composition
from tangrad._core.diagnostics.errors import BackendError, PluginError
from tangrad._core.dtypes import objects, promotion
from tangrad._core.dtypes.arguments import can_represent_array, represented_array
from tangrad._core.kernel.array import Array, literal
from tangrad._core.kernel.aval import ShapedArray, get_aval
from tangrad._core.kernel.device import Device
from tangrad._core.kernel.jaxpr import ClosedJaxpr
from tangrad._core.kernel.keys import Params
from tangrad._core.kernel.transfers import brought, watch
from tangrad._core.settings import config
from tangrad._core.settings.config import thread
from tangrad._core.settings.threads import free_after_fork

if TYPE_CHECKING:  # classes of others may have what these have, without inheriting from them
    from typing import Protocol
else:
    Protocol = object

BACKENDS_GROUP = "tangrad.backends"

# For every backend that has devices of this kind: of several readers none can be the one that declares it.
num_cpu_devices = config.define_setting(
    "num_cpu_devices",
    None,
    "How many CPU devices a backend makes; read when the backend is first used.",
    parse=config.parse_optional_integer,
    check=config.check_optional_positive,
)


class Executable(Protocol):
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


class CompileOptions(NamedTuple):
    """What a caller asks of `Backend.compile`.

    Attributes:
        name: the program's name, for messages and profiles.
        device: the device to run on, or None.
        donated: for each argument, whether its buffer may be overwritten.
        extra: options that only one backend knows.
        in_shardings: for each argument the `Sharding` that it must have, or None.
        out_shardings: the same for each result.
        places: for each argument its place in the call that is to be compiled for, as `Backend.places` gives it; or ().
    """

    name: str = "main"
    device: Device | None = None
    donated: tuple[bool, ...] = ()
    extra: Mapping[str, Any] = MappingProxyType({})
    in_shardings: tuple[Any, ...] = ()
    out_shardings: tuple[Any, ...] = ()
    places: tuple[Any, ...] = ()

    @property
    def shardings(self) -> list[Any]:
        """The shardings that are stated for arguments and results."""
        return [sharding for sharding in (*self.in_shardings, *self.out_shardings) if sharding is not None]

    def changed(self, **changes: Any) -> CompileOptions:
        """A copy with other values of the attributes that are named."""
        return self._replace(**changes)


class Backend(Protocol):
    """A backend: an object that an entry point of `tangrad.backends` names.

    Attributes:
        name: what users choose it by.
        platform: the platform of its devices.
        has_placements: whether there are several devices, so that `placement` is asked before each run.
        process_index: the number of this process among those that compute together.
        sizes_at_call: whether one program serves all sizes, where those of its arguments are symbolic.
        profiler: what records its programs (see `tangrad._profiler.backends`); None where nothing does.
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

    def from_dlpack(self, external: object, device: Any = None, copy: bool | None = None) -> Array:
        """What another library holds as an array, here a copy of it. Raises BufferError if `copy` is False."""
        if copy is False:
            raise BufferError(f"the backend {self.name!r} shares no memory with other libraries, and copy is False")
        from tangrad._core.kernel import dlpack

        contents = dlpack.from_dlpack(external)
        return self.put(contents, get_aval(contents), device)

    def move(self, array: Any, device: Any) -> Array:
        """One of its arrays on another of its devices, or sharded by a `Sharding`, and committed to that."""
        return self.put(array.to_numpy(), array.aval, device)

    def assemble(self, aval: ShapedArray, sharding: Any, parts: Sequence[Array]) -> Array:
        """An array of its parts on devices of this process: arrays of one device, in the order of the sharding's."""
        raise BackendError(f"the backend {self.name!r} has no arrays on several devices")

    def parts(self, array: Any) -> Sequence[Array]:
        """The parts of an array on devices of this process, in the order of its sharding's devices."""
        raise BackendError(f"the backend {self.name!r} has no arrays on several devices")

    def get(self, array: Array) -> np.ndarray:
        """The contents of one of its arrays, not to be written to."""
        raise NotImplementedError

    def rows(self, array: Array) -> Iterator[Array] | None:
        """The slices of one of its arrays along the first axis, which has a size above 0; None: by operations."""
        return None

    def part(self, array: Array, index: object) -> Array | None:
        """`array[index]` of one of its arrays, where that takes no operation; None: by operations."""
        return None

    def reduced(self, array: Array) -> tuple[object, ...]:
        """How one of its arrays is pickled: as its contents, which become an array on the backend in use."""
        return put, (array.to_numpy(), array.aval.plain)  # devices are of the process

    def apply(self, primitive: Any, args: tuple[Any, ...], params: Params) -> Any:
        """Apply a primitive to concrete arrays and literals now."""
        raise NotImplementedError

    def direct(self, primitive: Any, args: tuple[Any, ...], params: Params) -> Callable[..., object] | None:
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

    def placement(self, arrays: Sequence[Any]) -> Device | None:
        """Where a program on `arrays` runs: a device, or None for the default one.

        Raises ValueError if they disagree.
        """
        return None

    def places(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The place of each of its arrays, to compile a program for them; () where that makes no difference."""
        return ()

    def block_until_ready(self, array: Array) -> None:
        """Wait until the array is computed."""
        return

    def synchronize(self, effects: object = None) -> None:
        """Wait for the side effects of programs that this thread has started, and raise the error of one that failed.

        `effects`: only for programs with one of these ordered effects; their errors are left for a later call.
        """
        return

    def clear_caches(self) -> None:
        """Forget compiled programs."""
        return

    def __repr__(self) -> str:
        return f"<backend {self.name}>"


def members(kind: type[object]) -> frozenset[str]:
    """The names of the attributes and methods that a class, such as `Backend`, or a protocol asks for.

    >>> from tangrad.core import protocols
    >>> sorted(protocols.members(protocols.Lowered))
    ['as_text', 'compile']
    """
    declared = [name for base in kind.__mro__[:-1] for name in (*vars(base), *vars(base).get("__annotations__", ()))]
    return frozenset([name for name in declared if not name.startswith("_")])


def _check_backend(plugin: Plugin, loaded: object) -> None:
    """Raise TypeError for what is no backend: it may do without our base class, but not without what that has."""
    asked = () if Backend in type(loaded).__mro__ else members(Backend)
    missing = sorted([name for name in asked if not hasattr(loaded, name)])
    if missing:
        raise TypeError(
            f"expected a backend, got {loaded!r} of type {type(loaded).__name__}, which has no "
            f"{', '.join(missing)}: see tangrad.core.protocols.Backend"
        )
    check_api_version(plugin, loaded)


# --- which one is in use: the one asked for, the one of the settings, or the best there is ---

_loaded: dict[str, Backend] = {}
_default: list[Backend] = []  # the one that is used by default, once that is known
_lock = free_after_fork(threading.RLock())


def devices_of(backend: Any, name: object) -> Sequence[Device]:
    """The devices of a backend that was found by a name: its own, or that of a platform; none where it has no such.

    Backends with several platforms take the name of one.
    """
    if not isinstance(name, str) or name in (backend.name, backend.platform):
        return backend.devices()  # type: ignore[no-any-return]
    try:
        return backend.devices(name)  # type: ignore[no-any-return]
    except (RuntimeError, TypeError):
        return ()


def backend_names() -> tuple[str, ...]:
    """The names of the installed backends, sorted."""
    return tuple(sorted(composition().names(BACKENDS_GROUP)))


def get_backend(name: str | None = None) -> Backend:
    """The backend called `name`, or the default one. Raises BackendError naming those that are installed."""
    name = name or thread.backend
    if name is None:
        return _default[0] if _default else _choose_default()
    return _loaded.get(name) or _load(name)


def backend_named(name: str | Backend | None) -> Backend:
    """A backend by its own name, or the first that runs on the platform of that name ("cpu", "gpu")."""
    if name is not None and not isinstance(name, str):
        return name
    if name is None or name in backend_names():
        return get_backend(name)
    default = get_backend()
    if devices_of(default, name):
        return default
    for other in backend_names():
        try:
            backend = get_backend(other)
        except BackendError:
            continue
        if devices_of(backend, name):
            return backend
    return get_backend(name)  # raises, naming what is installed


def chosen_device() -> Any:
    """The device, or with a mesh in use the sharding, of new arrays if the setting `default_device` has one; else None.

    Raises BackendError where it is a text, such as "cpu", "xla" or "cpu:1", that names no device.
    """
    chosen = thread.default_device
    if not isinstance(chosen, str):
        return chosen
    name, _, number = chosen.partition(":")
    devices = devices_of(backend_named(name), name)
    if int(number or 0) >= len(devices):
        raise BackendError(f"there is no device {chosen!r}; there are {', '.join(map(repr, devices))}")
    return devices[int(number or 0)]


def preferred_backend() -> Backend:
    """The backend that new arrays are made on: that of the default device, or the default one."""
    device = chosen_device()
    return get_backend() if device is None else device.backend


def loaded_backends() -> tuple[Backend, ...]:
    """The backends that are in use: programs can have been started on these alone."""
    return tuple(_loaded.values())


def _missing(name: str) -> BackendError:
    installed = ", ".join(backend_names()) or "none"
    return BackendError(
        f"there is no backend {name!r}; installed: {installed}.{explanations().backends_to_install(name)}"
    )


def _check_setting(name: str | None) -> str | None:
    """What code sets as `backend`, by `use_backend` above all.

    Raises TypeError for what is no name, BackendError for one that no installed backend has. A variable
    of the environment is not checked so: it is read before anything is looked up.
    """
    if config.check_optional_text(name) and composition().find(BACKENDS_GROUP, str(name)) is None:
        raise _missing(str(name))
    return name


def _load(name: str) -> Backend:
    plugin = composition().find(BACKENDS_GROUP, name)
    if plugin is None:
        raise _missing(name)
    backend: Backend = plugin.load()
    with _lock:
        return _loaded.setdefault(name, backend)


def _choose_default() -> Backend:
    """The installed backend of the highest priority. One that is broken has warned already; the next serves."""
    usable, problems = [], []
    for name in backend_names():
        try:
            usable.append(_loaded.get(name) or _load(name))
        except (PluginError, BackendError) as error:  # what is not finished, or refused, is no reason for another
            problems.append(f"{name}: {error}")
    if not usable:
        causes = "; ".join(problems) or "none is installed"
        raise BackendError(f"no backend is usable ({causes}).{explanations().backends_to_install()}")
    chosen = max(usable, key=lambda backend: backend.priority)  # of equals `max` takes the first
    with _lock:
        _default[:] = [chosen]
    return chosen


def _forget(_: object) -> None:
    """Drop what was loaded, after the composition changed."""
    with _lock:
        _loaded.clear()
        _default.clear()


composition().on_change(_forget)
composition().set_check(BACKENDS_GROUP, _check_backend)
config.backend.check = _check_setting


# --- values into arrays ---


def put(value: Any, aval: ShapedArray | None = None, backend: str | None = None, device: Device | None = None) -> Array:
    """A concrete array with the contents of a NumPy array, a number, or an array of another backend."""
    if aval is None:
        aval = get_aval(value)
    place = chosen_device() if device is None else device
    chosen = get_backend(backend) if place is None or backend is not None else place.backend
    value = represented_array(value)
    if isinstance(value, Array):
        value = value.to_numpy()
    if type(value) is int:
        promotion.check_integer_fits(value, aval.dtype)
    if watch.on:
        brought(aval)
    storage = None if isinstance(aval.dtype, objects.ExtendedDType) else aval.dtype
    return chosen.put(np.asarray(value, dtype=storage), aval, device)


def as_operand(value: object) -> Any:
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


def is_operand(value: object) -> bool:
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
