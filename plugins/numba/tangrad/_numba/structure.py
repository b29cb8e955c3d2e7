"""Primitives that move elements, and those that reduce them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numba.blocks import Block, filled
from tangrad._numba.loops import (
    CODES,
    INDENT,
    Loop,
    Member,
    Number,
    Shape,
    UnsupportedError,
    Value,
    View,
    code_of,
    literal,
)

if TYPE_CHECKING:
    from tangrad.core import ShapedArray
    from tangrad.extend.lax import DotDimensionNumbers


# --- Primitives that move elements: most are views --------------------------------------------------------------------


def _broadcast(
    block: Block, out: Sequence[ShapedArray], x: Value, *, shape: Shape, broadcast_dimensions: Shape
) -> Value:
    if isinstance(x, Number):
        return replace(x, shape=tuple(shape))
    return block.view(x).broadcast(tuple(shape), tuple(broadcast_dimensions))


def _reshaped(block: Block, x: Value, shape: Shape) -> Value:
    if x.shape == shape:
        return x
    if isinstance(x, Number):
        return replace(x, shape=shape)
    if not shape:
        return block.number(x)
    view = block.view(x)
    found = view.reshaped(shape)
    if found is None:
        target = block.memory.take(view.shape, view.code)
        found = replace(target, part=block.write(view, target)).reshaped(shape)
    assert found is not None
    return found


def _reshape(block: Block, out: Sequence[ShapedArray], x: Value, *, new_sizes: Shape, dimensions: object) -> Value:
    if dimensions is not None:
        raise UnsupportedError("a reshape in another order")
    return _reshaped(block, x, out[0].shape)


def _squeeze(block: Block, out: Sequence[ShapedArray], x: Value, *, dimensions: Shape) -> Value:
    return _reshaped(block, x, out[0].shape)


def _transpose(block: Block, out: Sequence[ShapedArray], x: Value, *, permutation: Shape) -> Value:
    if isinstance(x, Number):
        return replace(x, shape=out[0].shape)
    return block.view(x).transposed(tuple(permutation)) if permutation else x


def _rev(block: Block, out: Sequence[ShapedArray], x: Value, *, dimensions: Shape) -> Value:
    return x if isinstance(x, Number) else block.view(x).reversed(tuple(dimensions))


def _slice(
    block: Block,
    out: Sequence[ShapedArray],
    x: Value,
    *,
    start_indices: Shape,
    limit_indices: Shape,
    strides: Shape | None,
) -> Value:
    if isinstance(x, Number):
        return replace(x, shape=out[0].shape)
    return block.view(x).sliced(start_indices, limit_indices, strides or (1,) * len(start_indices))


def _split(block: Block, out: Sequence[ShapedArray], x: Value, *, sizes: Shape, axis: int) -> tuple[Value, ...]:
    if isinstance(x, Number):
        return tuple([replace(x, shape=aval.shape) for aval in out])
    view, parts, start = block.view(x), [], 0
    for size in sizes:
        begin = tuple([start if k == axis else 0 for k in range(len(view.shape))])
        end = tuple([start + size if k == axis else full for k, full in enumerate(view.shape)])
        parts.append(view.sliced(begin, end, (1,) * len(begin)))
        start += size
    return tuple(parts)


def _window(block: Block, view: View, starts: Sequence[Value], sizes: Shape) -> View:
    """The part of a view at computed positions, moved so that it is within."""
    terms: list[str] = []
    numbers = [block.number(start) for start in starts]
    loop = block.loop((), numbers)
    for number, size, full, step in zip(numbers, sizes, view.shape, view.strides):
        if full > size:
            first = loop.let(f"min(max(i8({number.text}), 0), {full - size})", "i8").name
            terms.append(first if step == 1 else f"{first} * {step}")
    base = loop.let(" + ".join(terms) or "0", "i8").name
    return replace(view.moved(base, sizes), part=max(view.part, loop.part))


def _dynamic_slice(block: Block, out: Sequence[ShapedArray], x: Value, *starts: Value, slice_sizes: Shape) -> Value:
    if isinstance(x, Number):
        return replace(x, shape=tuple(slice_sizes))
    if not starts or any([_is_unsigned(start) for start in starts]):
        raise UnsupportedError("unsigned positions")
    return _window(block, block.view(x), starts, tuple(slice_sizes))


def _is_unsigned(value: Value) -> bool:
    return value.code == "u8"


def _dynamic_update_slice(block: Block, out: Sequence[ShapedArray], x: Value, update: Value, *starts: Value) -> Value:
    if not starts or any([_is_unsigned(start) for start in starts]):
        raise UnsupportedError("unsigned positions")
    if isinstance(x, View) and x.home in block.dead:
        target = x
    else:
        target = block.memory.take(out[0].shape, code_of(out[0].dtype))
        target = replace(target, part=block.write(x, target))
        block.own.add(target.home)
    if isinstance(update, Member):
        update = block.view(update)
    part = _window(block, target, starts, update.shape)
    return replace(target, part=_written_after(block, update, part))


def _written_after(block: Block, value: Value, target: View) -> int:
    """Have a value written over a part of memory that was written before; returns the part that does it."""
    if isinstance(value, Member):
        value = block.view(value)
    loop = Loop(target.shape, len(block.parts), block.memory.name)
    block.parts.append(loop)
    if isinstance(value, View):
        block.note(value, loop.part)
    loop.store(target, loop.operand(value))
    return loop.part


def _concatenate(block: Block, out: Sequence[ShapedArray], *xs: Value, dimension: int) -> Value:
    target = block.memory.take(out[0].shape, code_of(out[0].dtype))
    start, part = 0, -1
    for x in xs:
        begin = tuple([start if k == dimension else 0 for k in range(len(target.shape))])
        end = tuple([start + x.shape[k] if k == dimension else full for k, full in enumerate(target.shape)])
        part = max(part, block.write(x, target.sliced(begin, end, (1,) * len(begin))))
        start += x.shape[dimension]
    return replace(target, part=part)


def _pad(
    block: Block, out: Sequence[ShapedArray], x: Value, value: Value, *, padding_config: Sequence[tuple[int, int, int]]
) -> Value:
    if any([low < 0 or high < 0 for low, high, _ in padding_config]):
        raise UnsupportedError("negative padding")
    target = block.memory.take(out[0].shape, code_of(out[0].dtype))
    number = block.number(value)
    part = block.lines(filled(target, number.text))
    steps = tuple([interior + 1 for _, _, interior in padding_config])
    begin = tuple([low for low, _, _ in padding_config])
    end = tuple([low + (size - 1) * step + 1 if size else low for low, size, step in zip(begin, x.shape, steps)])
    inner = replace(target.sliced(begin, end, steps), part=part)
    return replace(target, part=_written_after(block, x, inner))


def _iota(block: Block, out: Sequence[ShapedArray], *, dtype: object, shape: Shape, dimension: int) -> Value:
    loop = block.loop(tuple(shape), ())
    code = code_of(dtype)
    if code == "b1":
        raise UnsupportedError("iota of bool")
    return block.result(loop.let(f"{code}({loop.count(dimension) if shape[dimension] != 1 else 0})", code))


def _zeros(block: Block, out: Sequence[ShapedArray], **params: object) -> Value:
    code = code_of(out[0].dtype)
    return Number(literal(out[0].dtype.type(0), code), code, out[0].shape)


def _move_axis(block: Block, out: Sequence[ShapedArray], x: Value, *, source: int, destination: int) -> Value:
    axes = [axis for axis in range(len(x.shape)) if axis != source]
    axes.insert(destination, source)
    return _transpose(block, out, x, permutation=tuple(axes))


def _broadcast_axis(block: Block, out: Sequence[ShapedArray], x: Value, *, shape: Shape, positions: Shape) -> Value:
    return _broadcast(block, out, x, shape=shape, broadcast_dimensions=positions)


def _append_dims(block: Block, out: Sequence[ShapedArray], x: Value, *, sizes: Shape) -> Value:
    return _broadcast(block, out, x, shape=out[0].shape, broadcast_dimensions=tuple(range(len(x.shape))))


MOVING = {
    "structure.broadcast_in_dim": _broadcast,
    "structure.reshape": _reshape,
    "structure.squeeze": _squeeze,
    "structure.transpose": _transpose,
    "structure.rev": _rev,
    "structure.slice": _slice,
    "structure.split": _split,
    "structure.dynamic_slice": _dynamic_slice,
    "structure.dynamic_update_slice": _dynamic_update_slice,
    "structure.concatenate": _concatenate,
    "structure.pad": _pad,
    "structure.iota": _iota,
    "autodiff.zeros": _zeros,
    "autodiff.append_dims": _append_dims,
    "batching.move_axis": _move_axis,
    "batching.broadcast_axis": _broadcast_axis,
}


# --- Reductions, products of matrices, and running totals -------------------------------------------------------------


LARGEST_PRODUCT = 1 << 11  # multiplications: beyond them a library's product of matrices is faster than loops

_DTYPES = {code: dtype for dtype, code in CODES.items()}


def _extremum(name: str, code: str) -> str:
    """The first value of a maximum or minimum: what any element takes the place of."""
    if code == "b1":
        return repr(name == "min")
    if code[0] == "f":
        return f"{code}({'-inf' if name == 'max' else 'inf'})"
    limits = np.iinfo(_DTYPES[code])
    return f"{code}({limits.min if name == 'max' else limits.max})"


def _steps(name: str, code: str, element: str, local: bool) -> tuple[str, str, str]:
    """Text of the first value, of the next one and of what is kept, where `{}` is what there is."""
    if name in ("max", "min"):
        sign = ">" if name == "max" else "<"
        is_nan = f" or {element} != {element}" if code[0] == "f" else ""
        return _extremum(name, code), f"{element} if {element} {sign} {{0}}{is_nan} else {{0}}", "{}"
    if name in ("and", "or"):
        start = f"{code}({-1 if name == 'and' and code[0] == 'i' else 0})" if code != "b1" else repr(name == "and")
        if name == "and" and code[0] == "u":
            start = f"{code}({np.iinfo(_DTYPES[code]).max})"
        return start, f"{code}({{0}} {'&' if name == 'and' else '|'} {element})", "{}"
    if code == "b1":
        raise UnsupportedError("sums of bool")
    if name == "sum" and code[0] == "f":
        if not local:
            return f"{code}(0)", f"{{0}} + {element}", "{}"
        return "0.0", f"plus({{0}}, f8({element}))", f"{code}({{}})"
    symbol = {"sum": "+", "prod": "*", "xor": "^"}[name]
    return f"{code}({int(name == 'prod')})", f"{code}({{0}} {symbol} {element})", "{}"


def _reduction(name: str) -> Callable[..., Number | View | Member]:
    def rule(block: Block, out: Sequence[ShapedArray], x: Value, *, axes: tuple[int, ...]) -> Value:
        if not axes:
            return x
        if isinstance(x, Number):
            x = block.view(x)
        return block.total(x, axes, lambda element, local: _steps(name, x.code, element, local))

    return rule


def _sum_trailing(block: Block, out: Sequence[ShapedArray], x: Value, *, count: int) -> Value:
    rank = len(x.shape)
    return _reduction("sum")(block, out, x, axes=tuple(range(rank - count, rank)))


# --- products ------------------------------------------------------------------------------------------------------


def _dot_general(
    block: Block,
    out: Sequence[ShapedArray],
    x: Value,
    y: Value,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: object,
    preferred_element_type: object,
) -> Value:
    (x_sum, y_sum), (x_batch, y_batch) = dimension_numbers
    code = code_of(out[0].dtype)
    if code[0] not in "fiu" or x.code != y.code:
        raise UnsupportedError("products of mixed types")
    left, right = block.view(x), block.view(y)
    x_free = [axis for axis in range(len(x.shape)) if axis not in (*x_sum, *x_batch)]
    y_free = [axis for axis in range(len(y.shape)) if axis not in (*y_sum, *y_batch)]
    if prod(out[0].shape) * prod([x.shape[axis] for axis in x_sum]) > LARGEST_PRODUCT:
        raise UnsupportedError("a large product")
    left = left.transposed((*x_batch, *x_free, *x_sum)) if left.shape else left
    right = right.transposed((*y_batch, *y_free, *y_sum)) if right.shape else right
    batch, rows, columns, terms = len(x_batch), len(x_free), len(y_free), len(x_sum)
    # The loop that is innermost should go along dense elements of the second factor: its columns, or the terms.
    columns_last = bool(columns) and bool(terms) and right.strides[batch + columns - 1] == 1
    front, free, summed = range(batch + rows), right.shape[batch : batch + columns], left.shape[batch + rows :]
    whole = (*left.shape[: batch + rows], *((*summed, *free) if columns_last else (*free, *summed)))
    first = batch + rows + (terms if columns_last else 0)
    places, axes = range(first, first + columns), range(len(whole) - terms, len(whole))
    if columns_last:
        axes = range(batch + rows, batch + rows + terms)
    seen_left = left.broadcast(whole, (*front, *axes))
    seen_right = right.broadcast(whole, (*range(batch), *places, *axes))
    result = block.elementwise(whole, code, [seen_left, seen_right], lambda a, b: _product(code, x.code, a, b))
    if not terms:
        return result
    return block.total(result, tuple(axes), lambda element, local: _steps("sum", code, element, local))


def _product(code: str, old: str, x: str, y: str) -> str:
    return f"({x} * {y})" if code[0] == "f" and old == code else f"{code}({code}({x}) * {code}({y}))"


# --- running totals -------------------------------------------------------------------------------------------------


def _running(name: str) -> Any:
    def rule(block: Block, out: Sequence[ShapedArray], x: Value, *, axis: int, reverse: bool) -> Value:
        view = block.view(x)
        target = block.memory.take(view.shape, view.code)
        start, step, _ = _steps(name, view.code, "t", False)
        part = block.lines(_running_lines(view, target, axis, reverse, (start, step)))
        block.note(view, part)
        return replace(target, part=part)

    return rule


def _running_lines(view: View, target: View, axis: int, reverse: bool, steps: tuple[str, str]) -> list[str]:
    """A total along one axis for each place of the others; of floats in their own precision, in order."""
    others = [k for k in range(len(view.shape)) if k != axis]
    lines = [f"{INDENT * depth}for n{k} in range({view.shape[k]}):" for depth, k in enumerate(others)]
    depth = len(others)
    size = view.shape[axis]
    order = f"range({size - 1}, -1, -1)" if reverse else f"range({size})"
    lines += [f"{INDENT * depth}s = {steps[0]}", f"{INDENT * depth}for n{axis} in {order}:"]
    inner = [
        f"t = {view.array}[{_place(view)}]",
        f"s = {steps[1].format('s')}",
        f"{target.array}[{_place(target)}] = s",
    ]
    return lines + [f"{INDENT * (depth + 1)}{line}" for line in inner]


def _place(view: View) -> str:
    terms = [view.base, str(view.offset), *[f"n{axis} * {step}" for axis, step in enumerate(view.strides) if step]]
    return " + ".join([term for term in terms if term])


REDUCING = {
    **{f"reductions.reduce_{name}": _reduction(name) for name in ("sum", "prod", "max", "min", "and", "or", "xor")},
    **{f"reductions.cum{name}": _running(name) for name in ("sum", "prod", "max", "min")},
    "batching.sum_axes": _reduction("sum"),
    "autodiff.sum_trailing": _sum_trailing,
    "contractions.dot_general": _dot_general,
}
