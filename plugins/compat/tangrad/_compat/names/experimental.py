"""`jax.experimental`, and what is below it: names that Tangrad has not, or only for those who inherit from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import tangrad
from tangrad import numpy as jnp
from tangrad.core import AbstractValue, Array

if TYPE_CHECKING:
    from tangrad.core import Device


class MutableArray:
    """An array that is changed in place. Tangrad has none: it is there for `isinstance`."""

    def __new__(cls, *args: object, **options: object) -> MutableArray:
        raise NotImplementedError(
            "Tangrad, of which 'jax' is an alias here (tangrad.compat.jax), has no mutable arrays"
        )


# --- `array_serialization.serialization`: what managers of checkpoints are derived from -------------------------------


class GlobalAsyncCheckpointManagerBase(ABC):
    """What writes arrays to files while the program goes on. There is no manager here: classes may inherit from it."""

    @abstractmethod
    def check_for_errors(self) -> None:
        """Raise what went wrong in the background."""

    @abstractmethod
    def wait_until_finished(self) -> None:
        """Wait until everything is written."""

    @abstractmethod
    def serialize(self, *args: object, **kwargs: object) -> None:
        """Begin to write arrays."""

    @abstractmethod
    def deserialize(self, *args: object, **kwargs: object) -> None:
        """Read arrays."""


_NO_MANAGER = (
    "jax.experimental.array_serialization writes with TensorStore, from all processes of a cluster; Tangrad has no "
    "manager for that: save arrays with Orbax"
)


class GlobalAsyncCheckpointManager(GlobalAsyncCheckpointManagerBase):
    """The manager that writes with TensorStore. There is none here: modules name it in their signatures.

    Raises NotImplementedError where it is made.
    """

    def __new__(cls, *args: object, **options: object) -> GlobalAsyncCheckpointManager:
        raise NotImplementedError(_NO_MANAGER)


def get_tensorstore_spec(*args: object, **options: object) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(_NO_MANAGER)


# --- `colocated_python`: Python that runs beside the devices of a cluster. There is none here -------------------------


_WHY = (
    "jax.experimental.colocated_python needs a cluster that runs Python beside its devices; Tangrad runs programs in "
    "the processes that call them"
)


def colocated_cpu_devices(*args: object, **kwargs: object) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(_WHY)


def colocated_python(*args: object, **kwargs: object) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(_WHY)


def colocated_python_class(*args: object, **kwargs: object) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(_WHY)


class DeviceList:
    """A list of devices that is sent to a cluster: nothing makes one here."""


# --- `multihost_utils`: which of the processes that compute together are there ----------------------------------------


class ProcessFailureError(RuntimeError):
    """A process was lost. Nothing raises it: the others end, with a message that names it."""


@contextmanager
def live_devices(devices: Sequence[Device]) -> Iterator[list[Device]]:
    """The devices of `devices` whose processes live: all of them, since a process that is lost ends the others.

    Raises ValueError for a device that there is not.

    >>> import tangrad
    >>> with live_devices(tangrad.devices()) as found:
    ...     len(found) == len(tangrad.devices())
    True
    """
    known = set(tangrad.devices())
    for device in devices:
        if device not in known:
            raise ValueError(f"live_devices: there is no device {device!r} among {len(known)}")
    yield list(devices)


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether the cluster warned, before this step, that it will end a process: False, since none is asked.

    >>> reached_preemption_sync_point(0)
    False
    """
    return False


# --- `sparse.linalg`: linear systems of sparse matrices, solved densely -----------------------------------------------


def spsolve(data: object, indices: object, indptr: object, b: object, tol: float = 1e-6, reorder: int = 1) -> Array:
    """The solution of `A @ x = b`, where rows of the matrix `A` hold `data` at the columns `indices`.

    Args:
        data: the nonzero elements (nnz,). indices: their columns (nnz,). indptr: where rows begin in them (n + 1,).
        b: the right-hand side (n,).
        tol, reorder: steer solvers on GPUs; here the matrix is made dense, which takes memory in proportion to n².

    Raises ValueError for a right-hand side that is no vector of the matrix' size.
    """
    data, indices, indptr, b = (jnp.asarray(part) for part in (data, indices, indptr, b))
    size = indptr.shape[0] - 1
    if b.shape != (size,):
        raise ValueError(f"spsolve: the matrix has {size} rows, so b must have the shape ({size},), got {b.shape}")
    rows = jnp.searchsorted(indptr, jnp.arange(data.shape[0]), side="right") - 1
    dense = jnp.zeros((size, size), data.dtype).at[rows, indices].add(data)
    return jnp.linalg.solve(dense, b)


# --- `hijax`: types and primitives that are lowered to others; classes may inherit from these -------------------------


def _refused(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"{what} is one of jax's experimental hijax: 'jax' is an alias of Tangrad here (tangrad.compat.jax), which has "
        "none of them"
    )


class HiPrimitive:
    """A primitive that is lowered to others."""

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *args: Any, **params: Any) -> Any:
        raise _refused(f"the primitive {self.name!r}")


class VJPHiPrimitive(HiPrimitive):
    """One with a derivative of its own."""


class HiType(AbstractValue):
    """A type that is lowered to others."""


class MutableHiType(HiType):
    """One of values that change."""


class AvalQDD:
    """A type with what depends on its value."""

    def __init__(self, aval: AbstractValue, qdd: object) -> None:
        raise _refused("AvalQDD")


class AvalMutableQDD(AvalQDD):
    """One of values that change."""


class aval_property:  # noqa: N801 - as `property`
    """A property of values that is computed of their types."""

    def __init__(self, fget: Callable[..., object] | None) -> None:
        self.fget = fget


class aval_method:  # noqa: N801
    """A method of values that is computed of their types."""

    def __init__(self, fun: Callable[..., object]) -> None:
        self.fun = fun


class _EffectTypes:
    """Which effects loops may have. Here all may."""

    def add_type(self, effect: type[object]) -> None:
        return None


control_flow_allowed_effects = _EffectTypes()


def register_hitype(value_type: type[object], aval_of: Callable[..., object]) -> None:
    """Say of which type values of a class are. No trace asks: such values are no operands here."""
