"""Loops over large arrays on CPUs that XLA compiles as one function, as it does not by itself: calls that ask for it.

Only loops may be within such a function, and operations on parts that they take out of arrays. What an operation makes
of whole arrays is made by several threads, and there XLA fails.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from tangrad._backend_xla.jaxlib_api import VERSION
from tangrad._backend_xla.jaxlib_version import is_untested
from tangrad.core import ClosedJaxpr, ShapedArray, dtypes, literal, trace_to_closed_jaxpr
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext, Module
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import Dimensions, DType, Value

S = TypeVar("S")
INT32 = dtypes.as_dtype("int32")
ONE_FUNCTION = '{inlineable = "false", xla_cpu_small_call = "true"}'  # XLA compiles such a call with its loops as one


# --- calls ---------------------------------------------------------------------------------------------------------


def may_loop(module: Module) -> bool:
    """Return whether XLA is asked for it: not in modules that others read, nor of a version that may not know it."""
    return module.keeps_calls and not module.is_portable and not is_untested(VERSION)


# What a module has as functions: a program for each operation, types and parameters.
_programs: WeakKeyDictionary[Module, dict[Hashable, ClosedJaxpr]] = WeakKeyDictionary()


def call_as_one(
    ctx: FunctionContext,
    function: Callable[..., Sequence[Value]],
    operands: Sequence[IrValue],
    in_avals: Sequence[ShapedArray],
    name: str,
    key: Hashable,
) -> list[IrValue]:
    """Call a function of arrays, which a module has once for each `key`; its results."""
    programs = _programs.setdefault(ctx.module, {})
    program = programs.get(key)
    if program is None:
        program = programs[key] = trace_to_closed_jaxpr(function, in_avals, name)
    ctx.module.looping_calls += 1
    return ctx.call(program, operands, name, ctx.vocabulary.parsed(ONE_FUNCTION))


# --- what loops consist of -------------------------------------------------------------------------------------------


def repeat(count: int, body: Callable[[Value, S], S], state: S) -> S:
    if count == 1:
        return body(literal(0, INT32), state)

    def step(state: tuple[Value, S]) -> tuple[Value, S]:
        at, inner = state
        return p.add_p.bind(at, literal(1, INT32)), body(at, inner)

    return p.while_loop(lambda state: p.lt_p.bind(state[0], literal(count, INT32)), step, (literal(0, INT32), state))[1]


def full(value: object, shape: Dimensions, dtype: DType) -> Value:
    return p.broadcast_in_dim(literal(value, dtype), shape, ())


def convert(x: Value, dtype: DType) -> Value:
    return x if x.aval.dtype == dtype else p.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def with_bits_of(x: Value, dtype: DType) -> Value:
    return x if x.aval.dtype == dtype else p.bitcast_convert_type_p.bind(x, new_dtype=dtype)


def scaled(number: Value, by: int) -> Value:
    return p.mul_p.bind(number, literal(by, INT32))


def taken(x: Value, places: Sequence[Value | int], sizes: Dimensions) -> Value:
    return p.dynamic_slice_p.bind(x, *_indices(places), slice_sizes=sizes)


def put(x: Value, part: Value, places: Sequence[Value | int]) -> Value:
    return p.dynamic_update_slice_p.bind(x, part, *_indices(places))


def _indices(places: Sequence[Value | int]) -> list[Value]:
    return [literal(place, INT32) if isinstance(place, int) else place for place in places]
