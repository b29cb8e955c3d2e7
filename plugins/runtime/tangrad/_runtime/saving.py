"""Saving a function as a program in a file."""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable
from typing import Any

from tangrad import tree
from tangrad._runtime import trees
from tangrad._runtime.container import pack
from tangrad._runtime.errors import of_type
from tangrad._runtime.writing import program_sections
from tangrad.core import (
    ShapedArray,
    api_boundary,
    dtypes,
    get_aval,
    is_array_value,
    returned_leaves,
    trace_to_closed_jaxpr,
)
from tangrad.core.arguments import canonicalize_shape
from tangrad.tree_util import keystr


@api_boundary
def save(fun: Callable[..., Any], path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
    """Write a function, as the program that it is for arguments of these types, to a file.

    What the function closed over, trained parameters for instance, is written with it. The file holds no Python code:
    `load` runs it wherever there are the kernel, the primitives that it uses, and the NumPy backend.

    Args:
        fun: a function of trees of arrays, jitted or not.
        path: of the file; one that is there is replaced when the new one is whole.
        args, kwargs: examples of its arguments: arrays, numbers, or anything with `shape` and `dtype`, in tuples, lists
            and dicts. Their values are not read.

    Raises:
        ArtifactError: for what a file cannot hold, naming it: callbacks, primitives that no distribution registers,
            structures other than tuples, lists, dicts and None.
        TypeError: for arguments that are no arrays; and whatever the function raises.

    >>> import os, tempfile
    >>> import numpy
    >>> from tangrad import lax, runtime
    >>> path = os.path.join(tempfile.mkdtemp(), "sine.tgr")
    >>> runtime.save(lambda x: {"sine": lax.sin(x)}, path, numpy.zeros(3, "float32"))
    >>> runtime.load(path)(numpy.zeros(3, "float32"))
    {'sine': array([0., 0., 0.], dtype=float32)}
    """
    _write(path, pack(sections_of(fun, args, kwargs)))


def sections_of(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, bytes]:
    """The sections of the file of a function called with arguments of these types; see `program_sections`."""
    if not callable(fun):
        raise TypeError(f"save expects a function as its first argument, got {of_type(fun)}")
    leaves, structure = tree.flatten((args, kwargs))
    names = _names(fun, args, kwargs)
    avals = [_aval(leaf, name) for leaf, name in zip(leaves, names)]
    returned: list[Any] = []

    def run(*values: Any) -> list[Any]:
        call_args, call_kwargs = structure.unflatten(values)
        returned.append(fun(*call_args, **call_kwargs))
        return returned_leaves(returned[-1], "save: the function")[0]

    closed = trace_to_closed_jaxpr(run, avals, getattr(fun, "__name__", "a function"))
    arguments = trees.written((args, kwargs), "the function's arguments")
    results = trees.written(returned[-1], "the function's result")
    result_names = ["result" + keystr(path) for path, _ in tree.leaves_with_path(returned[-1])]
    return program_sections(closed, arguments, results, names, result_names)


def _aval(leaf: Any, name: str) -> ShapedArray:
    if is_array_value(leaf):
        return get_aval(leaf)
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return ShapedArray(canonicalize_shape(leaf.shape), dtypes.canonicalize_dtype(leaf.dtype))
    raise TypeError(f"save: {name} is {of_type(leaf)}, which is not an array; close over what is no array")


def _names(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """What each array among the arguments is called: `images`, `params['w']`."""
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (ValueError, TypeError, AttributeError):
        parameters = []
    plain = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    names = []
    for path, _ in tree.leaves_with_path((args, kwargs)):
        where, first, *rest = path
        if where.idx == 1:
            name = str(first.key)
        else:
            name = plain[first.idx] if first.idx < len(plain) else f"argument{first.idx}"
        names.append(name + keystr(tuple(rest)))
    return names


def _write(path: Any, contents: bytes) -> None:
    """Write a whole file or none: a concurrent reader sees the old one."""
    folder, name = os.path.split(os.path.abspath(os.fspath(path)))
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # as of any new file: that of `mkstemp` is the user's alone
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
