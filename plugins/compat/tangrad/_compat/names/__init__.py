"""`jax` itself: what Tangrad calls otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

import tangrad
from tangrad._compat.names.api_util import argnums_partial
from tangrad._compat.names.linear_util import wrap_init
from tangrad._compat.settings import config as config
from tangrad._compat.settings import override, read_environment
from tangrad.core import as_array
from tangrad.core.settings import usable_settings
from tangrad.tree_util import flatten_axes

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import PyTree

with suppress(ImportError):  # NumPy knows names such as "bfloat16" wherever jax was imported
    import ml_dtypes as _ml_dtypes

# The release whose behaviour and names the alias has.
__version__ = "0.10.2"
__version_info__ = (0, 10, 2)

read_environment()

# Context managers of settings that are settings of Tangrad are Tangrad's, but for one that has another name here.
enable_checks = usable_settings()["check_jaxprs"]

allow_f16_reductions = override("jax_allow_f16_reductions")
array_garbage_collection_guard = override("jax_array_garbage_collection_guard")
auto_pcast = override("jax_auto_pcast")
no_execution = override("jax_no_execution")
remove_size_one_mesh_axis_from_type = override("jax_remove_size_one_mesh_axis_from_type")
softmax_custom_jvp = override("jax_softmax_custom_jvp")
thread_guard = override("jax_thread_guard")


# By earlier names.
host_id, host_count, host_ids = tangrad.process_index, tangrad.process_count, tangrad.process_indices


def default_backend() -> str:
    """The platform of the devices that new arrays are made on: "cpu", "gpu" or "tpu".

    Here the backend has a name of its own, "numpy" or "xla": `tangrad.default_backend()`.
    """
    return tangrad.devices()[0].platform


def jvp(fun: Callable[..., PyTree], primals: PyTree, tangents: PyTree, has_aux: bool = False) -> tuple[PyTree, ...]:
    """As `tangrad.jvp`; Python's numbers that a function returns as it was given them are Python's numbers still."""
    given: dict[int, tuple[Array, object]] = {}

    def entered(leaf: object) -> object:
        if type(leaf) not in (bool, int, float, complex):
            return leaf
        array = as_array(leaf)
        given[id(array)] = array, leaf
        return array

    primals = tangrad.tree.map(entered, primals)
    value, derivative, *aux = tangrad.jvp(fun, primals, tangrad.tree.map(entered, tangents), has_aux)
    kept = [tangrad.tree.map(lambda leaf: given.get(id(leaf), (leaf, leaf))[1], out) for out in (value, derivative)]
    return (*kept, *aux)


def fwd_and_bwd(
    fun: Callable[..., PyTree], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., tuple[PyTree, ...]], Callable[[PyTree, PyTree], PyTree]]:
    """A function and its derivative as two functions, each of which is compiled once.

    Args:
        fun: a function of arrays, in trees.
        argnums: the position of the argument to differentiate by, or several.
        has_aux: whether `fun` returns `(output, auxiliary)`.
        jitted: whether both are jitted.

    Returns: `fwd(*args)`, which gives `(output, residuals)`, with `has_aux` also the auxiliary; and
        `bwd(residuals, cotangent)`, which gives the cotangent of the argument, or a tuple of them.

    >>> fwd, bwd = fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    >>> value, residuals = fwd(2.0, 3.0)
    >>> [float(cotangent) for cotangent in bwd(residuals, 1.0)]
    [3.0, 2.0]
    """
    several = isinstance(argnums, Sequence)
    wanted = tuple(argnums) if isinstance(argnums, Sequence) else (argnums,)

    def fwd(*args: PyTree) -> tuple[PyTree, ...]:
        partial, dynamic = argnums_partial(wrap_init(fun), wanted, args, require_static_args_hashable=False)
        return tangrad.vjp(partial.call_wrapped, *dynamic, has_aux=has_aux)

    def bwd(residuals: PyTree, cotangent: PyTree) -> PyTree:
        found = residuals(cotangent)
        return found if several else found[0]

    return (tangrad.jit(fwd), tangrad.jit(bwd)) if jitted else (fwd, bwd)


def smap(
    f: Callable[..., PyTree] | None = None, /, *, in_axes: object = ..., out_axes: object, axis_name: object
) -> Callable[..., PyTree]:
    """Map a function over the devices along one axis of the mesh in use: each computes with its part of the arrays.

    Args:
        f: the function; without it a decorator is returned.
        in_axes: for each argument (one for all, or a tuple with trees) the dimension that is divided, None: none;
            default: as types say, along an Explicit axis.
        out_axes: the dimensions of the results along which their parts are put together; None: they are the same.
        axis_name: the axis of the mesh.

    Raises:
        TypeError: for several axes. NotImplementedError: for dimensions of results that count from the end.

    >>> import tangrad
    >>> from tangrad import lax
    >>> with tangrad.set_mesh(tangrad.make_mesh((1,), ("i",))):
    ...     smap(lambda x: lax.psum(x, "i"), in_axes=0, out_axes=0, axis_name="i")(tangrad.numpy.ones(2))
    Array([1., 1.], dtype=float32)
    """
    if isinstance(axis_name, (list, tuple)):
        raise TypeError(f"smap: axis_name must be the name of one axis, got {axis_name!r}")
    if in_axes is ...:
        return tangrad.smap(f, out_axes=out_axes, axis_name=axis_name)

    def spec(axis: int | None, rank: int | None = None) -> object:
        if axis is not None and axis < 0 and rank is None:
            raise NotImplementedError(f"smap: out_axes must not count from the end, got {axis}")
        return tangrad.P() if axis is None else tangrad.P(*[None] * (axis % (rank or axis + 1)), axis_name)

    def of(function: Callable[..., PyTree]) -> Callable[..., PyTree]:
        def mapped(*args: PyTree) -> PyTree:
            leaves, structure = tangrad.tree.flatten(args)
            axes = flatten_axes("smap in_axes", structure, in_axes)
            specs = [spec(axis, tangrad.numpy.ndim(leaf)) for axis, leaf in zip(axes, leaves, strict=True)]
            out_specs = tangrad.tree.map(spec, out_axes, is_leaf=lambda axis: axis is None)
            options: Any = {"in_specs": structure.unflatten(specs), "out_specs": out_specs, "axis_names": {axis_name}}
            return tangrad.shard_map(function, **options)(*args)

        return wraps(function)(mapped)

    return of if f is None else of(f)
