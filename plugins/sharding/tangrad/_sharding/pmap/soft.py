"""`soft_pmap`: a function of single examples, run on a chunk of them on each device.

The function is traced for the whole axis. That axis then is in two parts: one over the devices, which `pmap` maps, and
one over the examples of a device. What names the whole axis is computed along both by the rules of kind `split_axis`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from tangrad import devices as devices_named
from tangrad import tree
from tangrad._sharding.pmap.axes import (
    axes_of_arguments,
    axes_of_results,
    checked_axes,
    checked_size,
    inside_pmap,
    is_inside,
    mapped_size,
    trace_of_one,
)
from tangrad._sharding.pmap.functions import pmap
from tangrad.batching import SplitAxis, batch_flat, place_axis
from tangrad.core import (
    ClosedJaxpr,
    api_boundary,
    array_leaves,
    as_array,
    as_operand,
    copy_identity,
    eval_jaxpr,
    returned_leaves,
)
from tangrad.extend.jit import jit
from tangrad.extend.lax import reshape_p
from tangrad.sharding import Mesh, NamedSharding, PartitionSpec

if TYPE_CHECKING:
    from tangrad._sharding.pmap.functions import PmapFunction
    from tangrad.core import Array, Device
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import Dimensions, PyTree, Value


class _Axis:
    """The name of an axis that is private."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


P = ParamSpec("P")
R = TypeVar("R", covariant=True)


@overload
def soft_pmap(
    fun: Callable[P, R],
    axis_name: object = None,
    *,
    in_axes: object = 0,
    out_axes: object = 0,
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
) -> SoftPmapFunction[P, R]: ...
@overload
def soft_pmap(
    fun: None = None,
    axis_name: object = None,
    *,
    in_axes: object = 0,
    out_axes: object = 0,
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
) -> Callable[[Callable[P, R]], SoftPmapFunction[P, R]]: ...
def soft_pmap(
    fun: Callable[..., object] | None = None,
    axis_name: object = None,
    *,
    in_axes: object = 0,
    out_axes: object = 0,
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
) -> Callable[..., PyTree]:
    """Map a function along an axis of its arguments that may be longer than there are devices. It is compiled.

    Each device takes as many neighbouring examples as the others, and computes them together, as by `vmap`. Collectives
    are over the whole axis.

    Args:
        fun: a function of single examples; without it a decorator is returned.
        axis_name: a name for the mapped axis, for collectives.
        in_axes, out_axes: where the mapped axis is in the arguments and results: as in `pmap`.
        devices: the devices to run on; default: those of the backend in use. An axis that is shorter takes the first.
        backend: the name of another backend, or of a platform, to take devices of.
        axis_size: the size of the mapped axis, for a check or where no argument is mapped.

    Returns:
        a function of batches, with `lower(...)`.

    Raises:
        ValueError: for an axis that is longer than there are devices and does not divide by their number; sizes that
            differ, listed; results with out_axes=None that differ between examples. TypeError: for what is not
            callable, and arguments that are no arrays.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> count = 2 * len(tangrad.devices())
    >>> shares = tangrad.soft_pmap(lambda x: x / tangrad.lax.psum(x, "i"), axis_name="i")(np.ones(count))
    >>> bool(shares[0] == 1 / count)
    True
    """
    if fun is None:
        return lambda function: soft_pmap(
            function, axis_name, in_axes=in_axes, out_axes=out_axes, devices=devices, backend=backend,
            axis_size=axis_size,
        )  # fmt: skip
    if not callable(fun):
        raise TypeError(f"soft_pmap expects a function, got {fun!r} of type {type(fun).__name__}")
    if devices is not None and backend is not None:
        raise ValueError(
            f"soft_pmap takes devices or backend, not both; got devices={devices!r} and backend={backend!r}"
        )
    if devices is not None and not len(devices):
        raise ValueError("soft_pmap: devices must not be empty; None takes those of the backend")
    axis_size = checked_size(axis_size)
    checked_axes(in_axes, "in_axes")
    checked_axes(out_axes, "out_axes")
    return SoftPmapFunction(fun, axis_name, in_axes, out_axes, devices, backend, axis_size)


class SoftPmapFunction(Generic[P, R]):
    """A function made by `soft_pmap`."""

    def __init__(
        self,
        fun: Callable[..., PyTree],
        axis_name: Hashable,
        in_axes: object,
        out_axes: object,
        devices: Sequence[Device] | None,
        backend: str | None,
        axis_size: int | None,
    ) -> None:
        self._fun = fun
        self._name = _Axis("unnamed") if axis_name is None else axis_name
        self._outer = _Axis(f"devices of {self._name}")
        self._in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        self._out_axes = out_axes
        self._devices = devices
        self._backend = backend
        self._axis_size = axis_size
        self._jitted = jit(self._mapped)
        self.call = api_boundary(self._call)
        copy_identity(self, fun)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.call(args, kwargs)

    def __repr__(self) -> str:
        return f"<soft-pmapped {getattr(self._fun, '__name__', type(self._fun).__name__)}>"

    def lower(self, *args: object, **kwargs: object) -> Any:
        """The program for these arguments, not yet compiled."""
        return self._jitted.lower(*args, **kwargs)

    def _call(self, args: tuple[object, ...], kwargs: dict[str, object]) -> PyTree:
        array_leaves((args, kwargs), "soft_pmap: the arguments ")  # which names what is no array
        if is_inside():  # the devices are taken: examples are computed together
            return self._as_pmap()(*args, **kwargs)
        return self._jitted(*args, **kwargs)

    def _as_pmap(self) -> PmapFunction[..., PyTree]:
        return pmap(self._fun, self._name, in_axes=self._in_axes, out_axes=self._out_axes, axis_size=self._axis_size)

    # --- as it is traced --------------------------------------------------------------------------------------------

    def _mapped(self, *args: object, **kwargs: object) -> PyTree:
        leaves, structure = tree.flatten((args, kwargs))
        values = [as_operand(leaf) for leaf in leaves]
        axes = axes_of_arguments(self._in_axes, args, kwargs, values)
        size = mapped_size(values, axes, self._axis_size, args, kwargs)
        devices = self._devices_for(size)
        count, chunk = len(devices), size // len(devices)
        program, consts, out_tree = self._traced(structure, values, axes, size)
        axis = SplitAxis(self._name, chunk, self._outer, count)
        wanted = axes_of_results(self._out_axes, out_tree, [aval.shape for aval in program.out_avals])

        def of_chunk(*parts: Value) -> list[Value]:
            operands, dims = [*consts, *parts], [*[None] * len(consts), *axes]
            outs, out_dims = batch_flat(
                lambda *examples: eval_jaxpr(program.jaxpr, program.consts, *examples),
                [as_operand(value) for value in operands], dims, axis,
            )  # fmt: skip
            return [_placed(out, dim, axis, chunk) for out, dim, axis in zip(outs, out_dims, wanted, strict=True)]

        mapped = pmap(of_chunk, self._outer, in_axes=tuple(axes), out_axes=wanted, devices=devices, axis_size=count)
        chunks = [_split(value, axis, count) for value, axis in zip(values, axes, strict=True)]
        mesh = Mesh(devices, (self._outer,))
        outs = [_joined(as_operand(out), axis, mesh) for out, axis in zip(mapped(*chunks), wanted, strict=True)]
        return out_tree.unflatten([as_array(out) for out in outs])

    def _devices_for(self, size: int) -> list[Device]:
        there = list(devices_named(self._backend) if self._devices is None else self._devices)
        if size > len(there) and size % len(there):
            raise ValueError(
                f"soft_pmap: the mapped axis has size {size}, which does not divide into equal chunks for "
                f"{len(there)} devices"
            )
        return there[:size]

    def _traced(
        self, structure: PyTreeDef, values: Sequence[Value], axes: Sequence[int | None], size: int
    ) -> tuple[ClosedJaxpr, list[Value], PyTreeDef]:
        """The program of one example, with the constants that it takes first, and the structure of its result."""
        out_tree: list[PyTreeDef] = []

        def of_one(*examples: Array) -> list[Array]:
            call_args, call_kwargs = structure.unflatten(examples)
            with inside_pmap():
                outs, treedef = returned_leaves(self._fun(*call_args, **call_kwargs), "soft_pmap: the function")
            out_tree.append(treedef)
            return outs

        name = getattr(self._fun, "__name__", "soft_pmap")
        return *trace_of_one(of_one, values, axes, (self._name, size), name), out_tree[0]


def _placed(out: Value, dim: int | None, axis: int | None, size: int) -> Value:
    if axis is None and dim is not None:
        raise ValueError("soft_pmap: out_axes is None for a result that differs between examples; give it an axis")
    return out if axis is None else place_axis(out, dim, axis, size)


def _split(value: Value, axis: int | None, count: int) -> Value:
    """An argument with its mapped axis as two: one over devices, and behind it the examples of each."""
    if axis is None:
        return value
    shape = value.aval.shape
    return _with_shape(value, (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :]))


def _joined(value: Value, axis: int | None, mesh: Mesh) -> Value:
    """The opposite, of a result, whose chunks stay on their devices."""
    if axis is None:
        return value
    shape = value.aval.shape
    whole = _with_shape(value, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))
    return NamedSharding(mesh, PartitionSpec(*[None] * axis, *mesh.axis_names)).constrain(whole)


def _with_shape(value: object, shape: Dimensions) -> Array:
    return reshape_p.bind(value, new_sizes=shape, dimensions=None)
