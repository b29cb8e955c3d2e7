"""Eager computation: from a primitive and the types of its operands to the function that computes it.

Of this function `direct` makes what the kernel keeps for a signature. `apply` looks it up each time: it is for operands
on other devices, and for what is wrong, for which it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tangrad._backend_numpy.array import NumpyArray, physical, wrap
from tangrad._backend_numpy.functions import VIEW
from tangrad._backend_numpy.lowering import lower_primitive
from tangrad._backend_numpy.program import Program
from tangrad._backend_numpy.quiet import quiet, run_quietly
from tangrad._backend_numpy.sharded import common_place, default_sharding
from tangrad._backend_numpy.source import program_function, text_function
from tangrad.core import Literal, Primitive, ShapedArray, checked_operands
from tangrad.core.backends import carried_program, evaluate, forget_direct_calls
from tangrad.core.caches import JaxprCache, params_key, register_cache, weak_key
from tangrad.core.tools import own_fault

if TYPE_CHECKING:
    from tangrad.typing import Params, Values

    Types: TypeAlias = ShapedArray | tuple[ShapedArray, ...]
    Call: TypeAlias = Callable[..., np.ndarray | tuple[np.ndarray, ...]]
    Direct: TypeAlias = Callable[..., NumpyArray | tuple[NumpyArray, ...]]


CACHE_LIMIT = 4096
KEEP_FREE_MEMORY = 31 << 20  # bytes
EAGER_FOLD_LIMIT = 4096  # bytes: results without operands that the cache keeps

# (primitive, key of parameters, aval, …) -> function of arrays, type (or types) of the result
_kernels: dict[Hashable, tuple[Call, Types]] = {}
# The keys of kernels that only look at their operand anew, so that nothing is computed that could be reported.
_silent: set[object] = set()
# Those of primitives that carry programs, as long as the program lives.
_program_kernels = JaxprCache()


@register_cache
def clear_caches() -> None:
    """Forget the functions of all signatures."""
    forget_direct_calls()
    _kernels.clear()
    _silent.clear()
    _program_kernels.clear()


def wrap_several(avals: tuple[ShapedArray, ...], contents: tuple[np.ndarray, ...]) -> tuple[NumpyArray, ...]:
    """The results of a primitive with several, on the first device."""
    outs = []
    for aval, ndarray in zip(avals, contents):
        outs.append(wrap(aval, ndarray))
    return tuple(outs)


def apply(primitive: Primitive, args: Values, params: Params) -> NumpyArray | tuple[NumpyArray, ...]:
    """Apply a primitive to arrays, wherever they are, and literals."""
    operands = checked_operands(NumpyArray.backend, args)
    function, out = kernel_for(primitive, tuple([operand.aval for operand in operands]), params)
    contents = [operand.ndarray if type(operand) is Literal else operand.buffer() for operand in operands]
    place = common_place(primitive.name, operands, default_sharding())
    results: Any = run_quietly(function, *contents)
    if isinstance(out, tuple):
        return tuple([place.wrap(aval, result) for aval, result in zip(out, results)])
    return place.wrap(out, results)


def kernel_for(primitive: Primitive, avals: tuple[ShapedArray, ...], params: Params) -> tuple[Call, Types]:
    """The function of arrays for one signature, and the type of what it returns."""
    out = primitive.infer(avals, params)  # bad input gets the primitive's own error
    carried = carried_program(params)
    if carried is not None:
        key: Hashable = (primitive, avals, weak_key(params))
        return _program_kernels.get(carried, key, lambda: make_kernel(primitive, avals, params, out)[0]), out
    key = _kernel_key(primitive, avals, params)
    found = _kernels.get(key)
    if found is None:
        function, silent = make_kernel(primitive, avals, params, out)
        found = function, out
        if len(_kernels) >= CACHE_LIMIT:
            _kernels.clear()
            _silent.clear()
        if silent:
            _silent.add(key)
        _kernels[key] = found
    return found


def is_silent(primitive: Primitive, avals: tuple[ShapedArray, ...], params: Params) -> bool:
    """Whether the kernel that was made for a signature is known to compute nothing."""
    return _kernel_key(primitive, avals, params) in _silent


def _kernel_key(primitive: Primitive, avals: tuple[ShapedArray, ...], params: Params) -> Hashable:
    return (primitive, params_key(params), *avals)


def make_kernel(primitive: Primitive, avals: tuple[ShapedArray, ...], params: Params, out: Types) -> tuple[Call, bool]:
    """Lower one primitive by itself: to a function of NumPy as it is, or to generated text; whether it is silent."""
    program = Program(EAGER_FOLD_LIMIT)
    avals = tuple([aval.plain for aval in avals])
    types = [physical(aval) for aval in avals]
    operands = tuple([program.argument(type_.shape, type_.dtype) for type_ in types])
    out_avals = out if isinstance(out, tuple) else (out,)
    results = lower_primitive(program, primitive, operands, avals, out_avals, params)
    program.outputs = [program.whole(result) for result in results]
    function, _ = program_function(program, primitive.name, not primitive.multiple_results)
    return function, all([step.function.nature is VIEW for step in program.steps])


def _keep_free_memory() -> None:
    """Have the C library keep memory that is freed, instead of giving it back and asking for it anew at every call.

    glibc maps large arrays one by one and unmaps them when they are freed, so that every temporary is paid for in page
    faults: six additions of 65,536 floats took 620 µs, and 51 after this. It adapts when it sees a large array
    freed: from then on memory up to that size comes from the heap, of which it keeps twice as much. The array is never
    touched, so it takes no memory; other C libraries are not impressed.
    """
    np.empty(KEEP_FREE_MEMORY, np.uint8)


_keep_free_memory()


# --- Kernels as functions of arrays, which the kernel and public functions keep: see `Backend.direct` ---
# Text made here, as entries of programs are: a loop over operands takes as long as NumPy's addition of a few numbers.
# Functions of as many operands share it, as closures: names of a closure are found at once, those of a namespace are
# not where functions with several namespaces share their code.


def direct(primitive: Primitive, args: Values, params: Params) -> Direct | None:
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
    made: Direct = make(primitive, params, function, aval)
    return made


@lru_cache(128)
def _maker(count: int, array: int | None, silent: bool, several: bool) -> Callable[..., Direct]:
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
