"""Kernels as functions of arrays, which the kernel and public functions keep: see `Backend.direct`.

Text made here, as entries of programs are: a loop over operands takes as long as NumPy's addition of a few numbers.
Functions of as many operands share it, as closures: names of a closure are found at once, those of a namespace are not
where functions with several namespaces share their code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tangrad._backend_numpy.array import NumpyArray
from tangrad._backend_numpy.dispatch import is_silent, kernel_for, wrap_several
from tangrad._backend_numpy.quiet import quiet
from tangrad._backend_numpy.source import text_function
from tangrad.core import Literal, Primitive
from tangrad.core.backends import carried_program, evaluate
from tangrad.core.tools import own_fault

if TYPE_CHECKING:
    from tangrad.typing import Params, Values


def direct(primitive: Primitive, args: Values, params: Params) -> Callable[..., Any] | None:
    """As `Backend.direct`: of all primitives but those that carry a program: it would be kept alive."""
    kinds = [type(arg) for arg in args]
    if not kinds or not all([kind is NumpyArray or kind is Literal for kind in kinds]):
        return None
    if carried_program(params) is not None:
        return None
    avals = tuple([arg.aval for arg in args])
    function, aval = kernel_for(primitive, avals, params)
    silent = is_silent(primitive, avals, params)
    array = kinds.index(NumpyArray) if NumpyArray in kinds else None
    make = _maker(len(args), array, silent, primitive.multiple_results)
    made: Callable[..., Any] = make(primitive, params, function, aval)
    return made


@lru_cache(128)
def _maker(count: int, array: int | None, silent: bool, several: bool) -> Callable[..., Any]:
    """The function that makes direct calls of `count` operands.

    Args:
        array: the position of one that is no literal; None: all are.
        silent: the kernel reports no floating-point errors, so that it may run in any context.
        several: there is a tuple of results.
    """
    names = [f"x{position}" for position in range(count)]
    contents = ", ".join([f"{name}.ndarray" for name in names])
    # Deleted arrays, and those of other backends and devices, lack what is asked for; a kernel that computes eagerly is
    # in the quiet context already. `evaluate` deals with all of them.
    result = """\
out = NumpyArray()
                out.aval = aval
                out.ndarray = contents
                return out"""
    text = f"""\
def make(primitive, params, function, aval):
    def call({", ".join(names)}):
        if {"True" if array is None else f"type({names[array]}) is NumpyArray"}:
            try:
                contents = {f"function({contents})" if silent else f"quiet.run(function, {contents})"}
            except own_fault(AttributeError, RuntimeError):
                pass
            else:
                {"return wrap_several(aval, contents)" if several else result}
        return evaluate(primitive, ({", ".join(names)},), params)
    return call
"""
    namespace = {
        "__builtins__": {"AttributeError": AttributeError, "RuntimeError": RuntimeError, "type": type},
        "NumpyArray": NumpyArray,
        "quiet": quiet,
        "wrap_several": wrap_several,
        "evaluate": evaluate,
        "own_fault": own_fault,
    }
    return text_function(text, namespace, "make")
