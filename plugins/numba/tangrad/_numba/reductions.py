"""Reductions, products of matrices, and running totals."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tangrad._numba.blocks import Block
from tangrad._numba.loops import INDENT, Value
from tangrad._numba.values import CODES, Number, UnsupportedError, View, code_of

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


def _reduction(name: str) -> Any:
    def rule(block: Block, out: Any, x: Value, *, axes: tuple[int, ...]) -> Value:
        if not axes:
            return x
        if isinstance(x, Number):
            x = block.view(x)
        return block.total(x, axes, lambda element, local: _steps(name, x.code, element, local))

    return rule


def _sum_trailing(block: Block, out: Any, x: Value, *, count: int) -> Value:
    rank = len(x.shape)
    return _reduction("sum")(block, out, x, axes=tuple(range(rank - count, rank)))  # type: ignore[no-any-return]


# --- products ------------------------------------------------------------------------------------------------------


def _dot_general(
    block: Block, out: Any, x: Value, y: Value, *, dimension_numbers: Any, precision: Any, preferred_element_type: Any
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
    def rule(block: Block, out: Any, x: Value, *, axis: int, reverse: bool) -> Value:
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


RULES = {
    **{f"reductions.reduce_{name}": _reduction(name) for name in ("sum", "prod", "max", "min", "and", "or", "xor")},
    **{f"reductions.cum{name}": _running(name) for name in ("sum", "prod", "max", "min")},
    "batching.sum_axes": _reduction("sum"),
    "autodiff.sum_trailing": _sum_trailing,
    "contractions.dot_general": _dot_general,
}
