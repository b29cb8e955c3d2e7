"""`pure_callback`, `io_callback`, `debug.callback`: calls of Python functions from within programs; `live_arrays`."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, overload

import numpy as np

import tangrad
from tangrad import tree
from tangrad._debug.calls import HostCall, current_overrides, function_name
from tangrad._debug.primitives import debug_callback_p, io_callback_p, pure_callback_p
from tangrad.core import Array, ShapedArray, api_boundary, as_operand, current_source, dtypes, is_array_value
from tangrad.tree_util import keystr
from tangrad.typing import ArrayLike, HasShapeAndDType, PyTree

if TYPE_CHECKING:
    from tangrad.core import Sharding
    from tangrad.typing import Value


VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized", None)


@overload
def pure_callback(
    callback: Callable[..., object],
    result_shape_dtypes: HasShapeAndDType,
    *args: object,
    sharding: Sharding | None = None,
    vmap_method: str | None = None,
    **kwargs: object,
) -> Array: ...
@overload
def pure_callback(
    callback: Callable[..., object],
    result_shape_dtypes: PyTree,
    *args: object,
    sharding: Sharding | None = None,
    vmap_method: str | None = None,
    **kwargs: object,
) -> PyTree: ...
@api_boundary
def pure_callback(
    callback: Callable[..., object],
    result_shape_dtypes: PyTree,
    *args: object,
    sharding: Sharding | None = None,
    vmap_method: str | None = None,
    **kwargs: object,
) -> PyTree:
    """Call a Python function without side effects from within a program.

    The function may be called more than once, or not at all where its results are unused. It has no derivative: give
    one to a function around it with `custom_jvp` or `custom_vjp`.

    Args:
        callback: a function of trees of arrays, which returns arrays of NumPy or of ours, or numbers.
        result_shape_dtypes: what it returns: a tree of objects with `shape` and `dtype`, such as `ShapeDtypeStruct`.
        args, kwargs: trees of arrays, passed to the function as arrays on the host.
        sharding: from which device it is called; None, or a sharding of one device.
        vmap_method: how it is mapped by `vmap`: "sequential" and "sequential_unrolled" call it for each row;
            "expand_dims" and "broadcast_all" call it once, with the batch's axis in front of all arguments, for what is
            not mapped of size 1 or of the batch's size; "legacy_vectorized" leaves what is not mapped as it is. None:
            mapping is an error.

    Returns:
        the declared tree, of arrays.

    Raises:
        TypeError: for arguments that are no arrays and declarations without shape or dtype; ValueError: for an unknown
            `vmap_method`, for 64-bit results where 64-bit types are off, and under differentiation;
            NotImplementedError: mapped without a `vmap_method`; CallbackError: when the function raises, or returns
            what was not declared. On an asynchronous backend, compiled, that comes up where results are waited for.

    >>> import numpy
    >>> import tangrad
    >>> result = tangrad.ShapeDtypeStruct((3,), "float32")
    >>> tangrad.jit(lambda x: 1 + tangrad.pure_callback(numpy.sort, result, x))(numpy.float32([3, 1, 2]))
    Array([2., 3., 4.], dtype=float32)
    """
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"pure_callback: vmap_method must be one of {VMAP_METHODS}, got {vmap_method!r}")
    call, operands, avals = _prepared("pure_callback", callback, result_shape_dtypes, sharding, args, kwargs)
    outs = pure_callback_p.bind(*operands, callback=call, result_avals=avals, vmap_method=vmap_method)
    return call.out_tree.unflatten(outs)


@overload
def io_callback(
    callback: Callable[..., object],
    result_shape_dtypes: HasShapeAndDType,
    *args: ArrayLike,
    sharding: Sharding | None = None,
    ordered: bool = False,
    **kwargs: object,
) -> Array: ...
@overload
def io_callback(
    callback: Callable[..., object],
    result_shape_dtypes: PyTree,
    *args: ArrayLike,
    sharding: Sharding | None = None,
    ordered: bool = False,
    **kwargs: object,
) -> PyTree: ...
@api_boundary
def io_callback(
    callback: Callable[..., object],
    result_shape_dtypes: PyTree,
    *args: object,
    sharding: Sharding | None = None,
    ordered: bool = False,
    **kwargs: object,
) -> PyTree:
    """Call a Python function with side effects from within a program: once each time the program comes by.

    Args:
        callback: a function of trees of arrays, which returns arrays of NumPy or of ours, numbers, or None.
        result_shape_dtypes: what it returns: a tree of objects with `shape` and `dtype`; None for nothing.
        args, kwargs: trees of arrays, passed to the function as arrays on the host.
        sharding: from which device it is called; None, or a sharding of one device.
        ordered: whether it is called after the ordered callbacks before it in the program, and in earlier programs.
            Those without order may be called in any; under `vmap` only they are possible, for each row.

    Returns:
        the declared tree, of arrays.

    Raises:
        as `pure_callback`, and ValueError where an ordered call is mapped.

    >>> import tangrad
    >>> seen = []
    >>> tangrad.jit(lambda x: tangrad.experimental.io_callback(lambda x: seen.append(int(x)), None, x))(3)
    >>> tangrad.effects_barrier()
    >>> seen
    [3]
    """
    call, operands, avals = _prepared("io_callback", callback, result_shape_dtypes, sharding, args, kwargs)
    outs = io_callback_p.bind(*operands, callback=call, result_avals=avals, ordered=bool(ordered))
    return call.out_tree.unflatten(outs)


@overload
def debug_callback(
    callback: Callable[..., object], *args: object, ordered: bool = False, partitioned: bool = False, **kwargs: object
) -> None: ...
@overload
def debug_callback(
    callback: None = None, *, ordered: bool = False, partitioned: bool = False
) -> Callable[..., None]: ...
@api_boundary
def debug_callback(
    callback: Callable[..., object] | None = None,
    *args: object,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: object,
) -> Any:
    """Call a Python function from within a program, to look into it.

    Nothing else changes: under differentiation the function sees the primals, under `vmap` it is called for each row.
    A transformation may make the call happen more than once: `checkpoint` shows what it computes again.

    Args:
        callback: a function; what it returns is ignored. Left out: `debug.callback(ordered=True)(function, *args)`, for
            functions with keyword arguments of these names.
        args, kwargs: handed to the function: trees of arrays, as arrays on the host, and any other objects.
        ordered: whether it is called after the ordered callbacks before it in the program, and in earlier programs.
        partitioned: whether a function that runs on several devices is shown the part of each.

    Raises:
        TypeError: for what cannot be called. What the function itself raises comes out where nothing is compiled; from
            compiled programs CallbackError, on an asynchronous backend where results or effects are waited for.

    >>> import tangrad
    >>> tangrad.debug.callback(lambda x, note: print(note, x), 2.0, note="x is")
    x is 2.0
    """
    if callback is None:
        if args or kwargs:
            raise TypeError(
                "debug.callback: without a function only `ordered` and `partitioned` can be given, got arguments "
                f"{args} and {kwargs}; give them with the function: debug.callback(ordered=True)(function, *args)"
            )
        return lambda function, /, *args, **kwargs: _call_for_debugging(function, args, kwargs, ordered, partitioned)
    return _call_for_debugging(callback, args, kwargs, ordered, partitioned)


def _call_for_debugging(callback: object, args: object, kwargs: object, ordered: bool, partitioned: bool) -> None:
    if not callable(callback):
        raise TypeError(
            f"debug.callback expects a function as its first argument, got {callback!r} of type "
            f"{type(callback).__name__}"
        )
    call, operands = debug_call("debug.callback", callback, args, kwargs)
    debug_callback_p.bind(*operands, callback=call, ordered=bool(ordered), partitioned=bool(partitioned))


# --- arguments ------------------------------------------------------------------------------------------------------


def debug_call(
    kind: str, function: Callable[..., object], args: object, kwargs: object
) -> tuple[HostCall, list[Value]]:
    """The call of a function for debugging, whose arguments need not be arrays; and those that are."""
    leaves, in_tree = tree.flatten((args, kwargs))
    static = {position: leaf for position, leaf in enumerate(leaves) if not is_array_value(leaf)}
    operands = [as_operand(leaf) for position, leaf in enumerate(leaves) if position not in static]
    return HostCall(kind, function, in_tree, None, current_overrides(), current_source(), static), operands


def _prepared(
    kind: str, function: object, declared: object, sharding: object, args: object, kwargs: object
) -> tuple[HostCall, list[Array], tuple[ShapedArray, ...]]:
    """The call, its operands, and the types of its results."""
    if not callable(function):
        raise TypeError(
            f"{kind} expects a function as its first argument, got {function!r} of type {type(function).__name__}"
        )
    _check_sharding(kind, sharding)
    leaves, in_tree = tree.flatten((args, kwargs))
    operands = []
    for position, leaf in enumerate(leaves):
        if not is_array_value(leaf):
            raise TypeError(
                f"{kind}: {_argument(position, args, kwargs)} for {function_name(function)!r} is {leaf!r} of type "
                f"{type(leaf).__name__}, which is not an array; close over it: lambda x: function(x, value)"
            )
        operands.append(as_operand(leaf))
    results, out_tree = tree.flatten(declared)
    avals = tuple([_declared_aval(kind, declared, leaf, position) for position, leaf in enumerate(results)])
    return HostCall(kind, function, in_tree, out_tree, current_overrides(), current_source()), operands, avals


def _argument(position: int, args: object, kwargs: object) -> str:
    path = tree.leaves_with_path((args, kwargs))[position][0]
    return ("args" if path[0].idx == 0 else "kwargs") + keystr(path[1:])


def _declared_aval(kind: str, declared: object, leaf: Any, position: int) -> ShapedArray:
    """The type of one result. Raises TypeError for what does not declare one, ValueError for 64 bits where off."""
    path = keystr(tree.leaves_with_path(declared)[position][0])
    try:
        shape, dtype = tuple(leaf.shape), dtypes.as_dtype(leaf.dtype)
        if isinstance(dtype, dtypes.ExtendedDType):
            raise TypeError(f"functions return no arrays of dtype {dtype}")
        canonical = dtypes.canonicalize_dtype(dtype)
    except (AttributeError, TypeError) as error:
        raise TypeError(
            f"{kind}: result_shape_dtypes{path} must have a shape and a dtype, such as tangrad.ShapeDtypeStruct((3,), "
            f"'float32'), got {leaf!r} of type {type(leaf).__name__}"
        ) from error
    if canonical != dtype:
        raise ValueError(
            f"{kind}: result_shape_dtypes{path} declares {dtypes.dtype_name(dtype)}, but 64-bit types are off; declare "
            f"{dtypes.dtype_name(canonical)}, or turn them on: tangrad.config.update('enable_x64', True)"
        )
    return ShapedArray(shape, dtype)


def _check_sharding(kind: str, sharding: object) -> None:
    if sharding is None:
        return
    devices: Any = getattr(sharding, "devices", None) or getattr(sharding, "device_set", ())
    if len(devices) != 1:
        raise ValueError(f"{kind}: sharding must be None or a sharding of one device, got {sharding!r}")


# --- `buffer_callback`: calls of Python functions that write their results into memory which they are given ---

Buffer = np.ndarray


class ExecutionStage(Enum):
    """At which stage of a program a callback is called: always while it runs, `ExecutionStage.EXECUTE`."""

    EXECUTE = "execute"


class ExecutionContext:
    """What a callback may know of the call beside its buffers.

    Attributes:
        stage: `ExecutionStage.EXECUTE`.
        stream: None: the memory is that of the host.
    """

    stage = ExecutionStage.EXECUTE
    stream: int | None = None


def buffer_callback(
    callback: Callable[..., None],
    result_shape_dtypes: PyTree,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., PyTree]:
    """A function that calls a Python function which writes its results into arrays that it is given.

    Args:
        callback: `callback(context, out, *args, **kwargs)`: `out` is a tree of NumPy arrays to be written to, of the
            structure of `result_shape_dtypes`; the arguments are NumPy arrays that are not to be changed. It returns
            None.
        result_shape_dtypes: a tree of objects with `shape` and `dtype`, such as `ShapeDtypeStruct`.
        has_side_effect: whether it is called even where its results are unused, once for each run.
        vmap_method: how it is mapped by `vmap`, as of `pure_callback`; None where `has_side_effect`: calls that are
            mapped one by one.
        input_output_aliases: position among the leaves of the arguments -> position among those of the results:
            this result holds that argument's values before the call.
        command_buffer_compatible: has no effect: nothing is replayed.

    Returns:
        a function of trees of arrays that returns trees of arrays, within programs or outside.

    Raises:
        TypeError: for what is not callable. ValueError: for an unknown `vmap_method`, and aliases that do not exist
            or are of another type. When it is called, as `pure_callback` does.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.buffer_callback import buffer_callback
    >>> def double(context, out, x):
    ...     out[...] = 2 * x
    >>> doubled = buffer_callback(double, np.zeros(3, "float32"))
    >>> doubled(np.arange(3.0))
    Array([0., 2., 4.], dtype=float32)
    """
    if not callable(callback):
        raise TypeError(f"buffer_callback: callback must be a function, got {callback!r}")
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"buffer_callback: vmap_method must be one of {VMAP_METHODS}, got {vmap_method!r}")
    if has_side_effect and vmap_method not in (None, "sequential"):
        raise ValueError(
            f"buffer_callback: with has_side_effect a mapped callback is called one by one, got "
            f"vmap_method={vmap_method!r}; pass 'sequential' or None"
        )
    aliases = {int(source): int(result) for source, result in (input_output_aliases or {}).items()}
    known: dict[
        tuple[int, ...], Callable[..., PyTree]
    ] = {}  # by the ranks of arguments: a compiled program is kept by it

    def call(*args: Any, **kwargs: Any) -> PyTree:
        leaves = tree.leaves((args, kwargs))
        _check_aliases(aliases, leaves, tree.leaves(result_shape_dtypes))
        ranks = tuple([len(as_operand(leaf).aval.shape) for leaf in leaves])
        if ranks not in known:
            known[ranks] = _on_host(callback, result_shape_dtypes, aliases, ranks)
        on_host = known[ranks]
        if has_side_effect:
            return io_callback(on_host, result_shape_dtypes, *args, **kwargs)
        return pure_callback(on_host, result_shape_dtypes, *args, vmap_method=vmap_method, **kwargs)

    return call


def _on_host(
    callback: Callable[..., None], results: object, aliases: Mapping[int, int], ranks: tuple[int, ...]
) -> Callable[..., PyTree]:
    """The callback as a function that returns its results; of arguments with more dimensions than `ranks`, a batch."""
    leaves, structure = tree.flatten(results)

    def call(*args: object, **kwargs: object) -> PyTree:
        given, before = tree.flatten((args, kwargs))
        given = [np.asarray(value) for value in given]
        batch = np.broadcast_shapes(*[value.shape[: value.ndim - rank] for value, rank in zip(given, ranks)])
        made = [np.zeros((*batch, *leaf.shape), dtypes.as_dtype(leaf.dtype)) for leaf in leaves]
        for source, result in aliases.items():
            made[result][...] = given[source]
        arguments, named = before.unflatten(given)
        out = structure.unflatten(made)
        callback(ExecutionContext(), out, *arguments, **named)
        return out

    return call


def _check_aliases(aliases: Mapping[int, int], given: list[object], results: list[HasShapeAndDType]) -> None:
    for source, result in aliases.items():
        for what, position, among in (("argument", source, given), ("result", result, results)):
            if not 0 <= position < len(among):
                raise ValueError(
                    f"buffer_callback: input_output_aliases names {what} {position}, and there are {len(among)}"
                )
        aval, wanted = as_operand(given[source]).aval, results[result]
        if aval.shape != tuple(wanted.shape) or aval.dtype != dtypes.as_dtype(wanted.dtype):
            raise ValueError(
                f"buffer_callback: input_output_aliases gives result {result} the memory of argument {source}, which "
                f"is of another type: {aval.str_short()}, not {dtypes.dtype_name(dtypes.as_dtype(wanted.dtype))}"
                f"{list(wanted.shape)}"
            )


def live_arrays(platform: str | None = None) -> list[Array]:
    """The arrays that are alive in this process, to find out what holds memory. Those that were deleted are left out.

    Args:
        platform: the name of a backend or platform; default: the backend in use.

    Returns:
        a list, in no particular order; constants that a backend keeps for its programs are in it.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> x = np.ones(3)
    >>> any(array is x for array in tangrad.live_arrays())
    True
    """
    kind = tangrad.devices(platform)[0].backend.array_type
    found: list[Array] = [value for value in gc.get_objects() if type(value) is kind and hasattr(value, "aval")]
    return [array for array in found if not getattr(array, "is_deleted", bool)()]  # which a backend need not have
