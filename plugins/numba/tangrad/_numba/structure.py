"""Primitives that move elements: most are views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tangrad._numba.blocks import Block, filled
from tangrad._numba.loops import Loop, Member, Value
from tangrad._numba.values import Number, Shape, UnsupportedError, View, code_of, literal


def _broadcast(block: Block, out: Any, x: Value, *, shape: Shape, broadcast_dimensions: Shape) -> Value:
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


def _reshape(block: Block, out: Any, x: Value, *, new_sizes: Shape, dimensions: Any) -> Value:
    if dimensions is not None:
        raise UnsupportedError("a reshape in another order")
    return _reshaped(block, x, out[0].shape)


def _squeeze(block: Block, out: Any, x: Value, *, dimensions: Shape) -> Value:
    return _reshaped(block, x, out[0].shape)


def _transpose(block: Block, out: Any, x: Value, *, permutation: Shape) -> Value:
    if isinstance(x, Number):
        return replace(x, shape=out[0].shape)
    return block.view(x).transposed(tuple(permutation)) if permutation else x


def _rev(block: Block, out: Any, x: Value, *, dimensions: Shape) -> Value:
    return x if isinstance(x, Number) else block.view(x).reversed(tuple(dimensions))


def _slice(block: Block, out: Any, x: Value, *, start_indices: Shape, limit_indices: Shape, strides: Any) -> Value:
    if isinstance(x, Number):
        return replace(x, shape=out[0].shape)
    return block.view(x).sliced(start_indices, limit_indices, strides or (1,) * len(start_indices))


def _split(block: Block, out: Any, x: Value, *, sizes: Shape, axis: int) -> tuple[Value, ...]:
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


def _dynamic_slice(block: Block, out: Any, x: Value, *starts: Value, slice_sizes: Shape) -> Value:
    if isinstance(x, Number):
        return replace(x, shape=tuple(slice_sizes))
    if not starts or any([_is_unsigned(start) for start in starts]):
        raise UnsupportedError("unsigned positions")
    return _window(block, block.view(x), starts, tuple(slice_sizes))


def _is_unsigned(value: Value) -> bool:
    return value.code == "u8"


def _dynamic_update_slice(block: Block, out: Any, x: Value, update: Value, *starts: Value) -> Value:
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


def _concatenate(block: Block, out: Any, *xs: Value, dimension: int) -> Value:
    target = block.memory.take(out[0].shape, code_of(out[0].dtype))
    start, part = 0, -1
    for x in xs:
        begin = tuple([start if k == dimension else 0 for k in range(len(target.shape))])
        end = tuple([start + x.shape[k] if k == dimension else full for k, full in enumerate(target.shape)])
        part = max(part, block.write(x, target.sliced(begin, end, (1,) * len(begin))))
        start += x.shape[dimension]
    return replace(target, part=part)


def _pad(block: Block, out: Any, x: Value, value: Value, *, padding_config: Any) -> Value:
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


def _iota(block: Block, out: Any, *, dtype: Any, shape: Shape, dimension: int) -> Value:
    loop = block.loop(tuple(shape), ())
    code = code_of(dtype)
    if code == "b1":
        raise UnsupportedError("iota of bool")
    return block.result(loop.let(f"{code}({loop.count(dimension) if shape[dimension] != 1 else 0})", code))


def _zeros(block: Block, out: Any, **params: Any) -> Value:
    code = code_of(out[0].dtype)
    return Number(literal(out[0].dtype.type(0), code), code, out[0].shape)


def _move_axis(block: Block, out: Any, x: Value, *, source: int, destination: int) -> Value:
    axes = [axis for axis in range(len(x.shape)) if axis != source]
    axes.insert(destination, source)
    return _transpose(block, out, x, permutation=tuple(axes))


def _broadcast_axis(block: Block, out: Any, x: Value, *, shape: Shape, positions: Shape) -> Value:
    return _broadcast(block, out, x, shape=shape, broadcast_dimensions=positions)


def _append_dims(block: Block, out: Any, x: Value, *, sizes: Shape) -> Value:
    return _broadcast(block, out, x, shape=out[0].shape, broadcast_dimensions=tuple(range(len(x.shape))))


RULES = {
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
