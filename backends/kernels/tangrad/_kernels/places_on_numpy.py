"""Rows of a table, and counts of places, on NumPy by kernels, which count places below 0 from the end themselves."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tangrad._kernels.jobs import DTYPES, NUMBERS, Job, are_places, count, counts, is_known, number_of
from tangrad._kernels.library import replaced, replacing
from tangrad._kernels.on_numpy import KIND, caller
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.backend_numpy import FRESH, Kernel, Method, Stored, Ufunc
from tangrad.extend.lax import GatherScatterMode, gather_p, scatter_add_p, select_n_p

if TYPE_CHECKING:
    from tangrad.extend.backend_numpy import Lowering, Step, Value
    from tangrad.typing import DTypeLike, Params


def _before_wrapping(ctx: Lowering, stored: Stored, size: int) -> tuple[Stored, int]:
    """The places as they were before `where(i < 0, i + size, i)`, and the size; or (themselves, 0)."""
    producers = ctx.program.producers
    found, step = stored, producers.get(stored)
    while step is not None and isinstance(step.function, Method) and step.function.name == "reshape":
        found = step.inputs[0]
        step = producers.get(found)
    if step is None or step.primitive is not select_n_p or len(step.inputs) != 3:
        return stored, 0
    mask, added, plain = step.inputs
    if plain.dtype != stored.dtype or plain.shape != found.shape:
        return stored, 0
    if not (_is(producers.get(mask), np.less, plain, 0) and _is(producers.get(added), np.add, plain, size)):
        return stored, 0
    return plain, size


def _is(step: Step | None, ufunc: object, x: Stored, number: int) -> bool:
    """Whether a step is `ufunc(x, number)`."""
    if step is None or not isinstance(step.function, Ufunc) or step.function.ufunc is not ufunc:
        return False
    constant = step.inputs[1].constant
    return step.inputs[0] is x and constant is not None and constant.size == 1 and int(constant.reshape(())) == number


def _gather(ctx: Lowering, x: Value, indices: Value, **params: object) -> Value:
    """Whole rows along the first axis."""
    operand, places = ctx.in_avals
    if not _takes_rows(operand, places, ctx.out_aval, params) or indices.stored.shape != indices.shape:
        return replaced(KIND, gather_p)(ctx, x, indices, **params)
    stored, wrap = _before_wrapping(ctx, indices.stored, operand.shape[0])
    item, rows = operand.dtype.itemsize, operand.shape[0]
    clamps = params["mode"] is not GatherScatterMode.FILL_OR_DROP
    fill = 0 if clamps else _bytes(params["fill_value"], operand.dtype)
    width = item * prod(operand.shape[1:])
    plan = (NUMBERS[places.dtype.name], prod(places.shape), width, item, rows, wrap, int(clamps), fill)
    run = caller(Job("take", plan), [ctx.out_aval])
    return ctx.call(lambda *arrays: run(*arrays)[0], x, type(indices)(stored, stored.shape), nature=FRESH)


def _takes_rows(operand: ShapedArray, places: ShapedArray, out: ShapedArray, params: Params) -> bool:
    if not (isinstance(operand.dtype, np.dtype) and operand.dtype.kind in "biufc" and operand.dtype.itemsize <= 8):
        return False
    if not (is_known(operand) and are_places(places)) or not operand.ndim or not operand.shape[0]:
        return False
    offset, collapsed, index_map, batching, _ = params["dimension_numbers"].astuple()
    behind = tuple(range(places.ndim - 1, out.ndim))
    whole = tuple(params["slice_sizes"]) == (1, *operand.shape[1:]) and 0 not in operand.shape
    return whole and (tuple(offset), tuple(collapsed), tuple(index_map)) == (behind, (0,), (0,)) and not batching


def _bytes(value: object, dtype: DTypeLike) -> int:
    """The bytes of a number, as those of an integer."""
    with np.errstate(all="ignore"):
        return int.from_bytes(np.asarray(value).astype(dtype).tobytes().ljust(8, b"\0"), "little", signed=True)


def _scatter_add(ctx: Lowering, x: Value, indices: Value, updates: Value, **params: object) -> Value:
    """One number, added to elements of a vector as often as the places say; or rows or numbers, to those of a table."""
    operand, places, added = ctx.in_avals
    if indices.stored.shape != indices.shape:
        return replaced(KIND, scatter_add_p)(ctx, x, indices, updates, **params)
    if updates.stored.size == 1 and counts(operand, places, params):
        return _count(ctx, x, indices, updates)
    if _adds_rows(operand, places, added, params):
        return _add_rows(ctx, x, indices, updates)
    return replaced(KIND, scatter_add_p)(ctx, x, indices, updates, **params)


def _as_they_are(ctx: Lowering, indices: Value) -> tuple[Value, int]:
    """The places before those below 0 were wrapped, and what is to be added to these."""
    stored, wrap = _before_wrapping(ctx, indices.stored, ctx.in_avals[0].shape[0])
    return type(indices)(stored, stored.shape), wrap


def _unrepeated(x: Value) -> Value:
    """What is repeated in it, once."""
    return type(x)(x.stored, x.stored.shape)


def _count(ctx: Lowering, x: Value, indices: Value, number: Value) -> Value:
    size = ctx.in_avals[0].shape[0]
    plain, wrap = _as_they_are(ctx, indices)
    run = caller(count(ctx.in_avals[1], size, wrap), [ShapedArray((size,), "int32")])

    def add(x: np.ndarray, places: np.ndarray, number: np.ndarray) -> np.ndarray:
        (times,), out, number = run(places), x.copy(), number.reshape(())
        if out.dtype.kind == "f":
            np.copyto(out, out + times * number.astype(np.float64), "same_kind", where=times != 0)
        else:
            out += times.astype(out.dtype) * number
        return out

    return ctx.call(add, x, plain, _unrepeated(number), nature=FRESH)


def _adds_rows(operand: ShapedArray, places: ShapedArray, added: ShapedArray, params: Params) -> bool:
    """Whether whole rows, or elements of a vector, are added, behind the dimensions of the places."""
    if number_of(operand, DTYPES) is None or operand.ndim < 1 or params["mode"] is GatherScatterMode.CLIP:
        return False
    if not (is_known(operand) and are_places(places)) or not 0 < operand.shape[0] < 1 << 31 or 0 in operand.shape:
        return False
    window, inserted, index_map, batching, _ = params["dimension_numbers"].astuple()
    behind = tuple(range(places.ndim - 1, added.ndim))
    whole = added.shape == (*places.shape[:-1], *operand.shape[1:])
    return whole and (tuple(window), tuple(inserted), tuple(index_map)) == (behind, (0,), (0,)) and not batching


def _add_rows(ctx: Lowering, x: Value, indices: Value, updates: Value) -> Value:
    operand, places, _ = ctx.in_avals
    plain, wrap = _as_they_are(ctx, indices)
    one, size = x.stored.size == 1, operand.shape[0]
    kinds = NUMBERS[places.dtype.name], NUMBERS[operand.dtype.name]
    plan = kinds[0], prod(places.shape), size, wrap, kinds[1], prod(operand.shape[1:]), int(one)
    run = caller(Job("add_rows", plan), [operand])

    def add_rows(*arrays: np.ndarray) -> np.ndarray:
        return run(*arrays)[0]

    return ctx.call(add_rows, _unrepeated(x) if one else x, plain, updates, nature=FRESH)


def rule_set() -> RuleSet:
    """The rules of the family."""
    return replacing(KIND, {gather_p: Kernel(_gather), scatter_add_p: Kernel(_scatter_add)})


indexing = rule_set()
