"""`buffer_callback`: calls of Python functions that write their results into memory which they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from tangrad import tree
from tangrad._debug.functions import VMAP_METHODS, io_callback, pure_callback
from tangrad.core import as_operand, dtypes
from tangrad.typing import PyTree

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
) -> Callable[..., Any]:
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
    known: dict[tuple[int, ...], Callable[..., Any]] = {}  # by the ranks of arguments: a compiled program is kept by it

    def call(*args: Any, **kwargs: Any) -> Any:
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
) -> Callable[..., Any]:
    """The callback as a function that returns its results; of arguments with more dimensions than `ranks`, a batch."""
    leaves, structure = tree.flatten(results)

    def call(*args: object, **kwargs: object) -> Any:
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


def _check_aliases(aliases: Mapping[int, int], given: list[Any], results: list[Any]) -> None:
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
