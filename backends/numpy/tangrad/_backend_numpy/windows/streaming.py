"""Products with patches that nothing else reads: a part of the patches at a time, in memory that is kept.

A part stays in the cache, which the whole matrix would leave before it is multiplied. Stretches of a vector, each one
element further on, are multiplied by vectors where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad._backend_numpy.functions import FRESH, Bind, Cast, Function, Method, Opaque, Ufunc
from tangrad._backend_numpy.program import Program, Step, Stored, Value
from tangrad._backend_numpy.windows.patches import Array, MakePatches

if TYPE_CHECKING:
    from tangrad._backend_numpy.functions import Layout


PART = 1 << 17  # bytes of patches that are made at a time: OpenBLAS multiplies 32 x 144 by 144 x 256 at 1.3 times
# the speed of 144 x 4096
KEPT = 1 << 20  # bytes of a workspace up to which it is kept for the next call
MOST_KEPT = 2  # workspaces, for as many threads that run one program at the same time


class StreamedProduct(Function):
    """A step that multiplies the patches of its first operand by its second, a matrix for each group.

    Args:
        make: the step that made the patches. shape: of the product.
        on_left: whether the patches are the left factor. turned: whether they are transposed first.
    """

    __slots__ = ("run", "summed")
    nature = FRESH
    writes_into = True

    def __init__(self, make: MakePatches, shape: Sequence[int], on_left: bool, turned: bool) -> None:
        self.run = _product(make, tuple(shape), on_left, turned)
        self.summed = prod(make.patches.channel_sizes)

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        return self.run

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{bind(self.run, 'multiply_windows')}({', '.join(operands)})"

    def text_into(self, out: str, operands: Sequence[str], bind: Bind) -> list[str]:
        return [self.text([*operands, out], bind, False)]

    def flops(self, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> int:
        return int(2 * outputs[0].size * self.summed)


class _Part(NamedTuple):
    """A part of the patches within a workspace.

    Attributes:
        windows: where it comes from: a view of the padded array, or the index of it where the array is not padded.
        copy: where it goes, in the same shape; operand: the same memory as the factor of a product.
        place: the index of the product that it gives.
    """

    windows: Any
    copy: Array
    operand: Array
    place: Any


class _Workspace(NamedTuple):
    """Memory of one call. `inside`: where the array goes within padding, if there is any; `parts`: of the patches."""

    inside: Any
    parts: tuple[_Part, ...]


def _product(make: MakePatches, shape: tuple[int, ...], on_left: bool, turned: bool) -> Callable[..., Array]:
    """The function of the array, the other factor and, optionally, memory for the product."""
    dtype, copying = make.dtype, make.patches.copying(make.dtype)
    prepared, matmul, empty = copying.function(), np.matmul, np.empty
    idle: list[_Workspace] = []
    most = prod(copying.padded_shape) * dtype.itemsize + PART
    limit = MOST_KEPT if most <= KEPT else 0

    def multiply_windows(x: Array, factor: Array, out: Array | None = None) -> Array:
        try:
            workspace = idle.pop()
        except IndexError:
            workspace = _workspace(make, on_left, turned)
        inside, parts = workspace
        windows = prepared(x, inside)
        if len(parts) == 1:  # which for small arrays is a microsecond faster than the loop
            ((part, copy, operand, _),) = parts
            copy[...] = part if windows is None else windows[part]
            out = matmul(operand, factor, out) if on_left else matmul(factor, operand, out)
        else:
            out = empty(shape, dtype) if out is None else out
            for part, copy, operand, place in parts:
                copy[...] = part if windows is None else windows[part]
                if on_left:
                    matmul(operand, factor, out[place])
                else:
                    matmul(factor, operand, out[place])
        if len(idle) < limit:
            idle.append(workspace)
        return out

    return multiply_windows


def _workspace(make: MakePatches, on_left: bool, turned: bool) -> _Workspace:
    patches, dtype = make.patches, make.dtype
    copying = patches.copying(dtype)
    inside = windows = None
    if copying.is_padded:
        padded = copying.padding()
        inside, windows = padded[copying.target], copying.windows_in(padded)
    groups, channels, sizes = patches.groups, prod(patches.channel_sizes), patches.row_sizes
    before = 1 if patches.channels_last else 1 + len(patches.channel_sizes)
    blocks = list(_blocks(sizes, max(1, PART // (groups * channels * dtype.itemsize))))
    memory = np.empty(groups * channels * max([stop - start for _, start, stop in blocks]), dtype)
    parts = []
    for index, start, stop in blocks:
        view_shape = list(copying.view_shape)
        view_shape[before : before + len(sizes)] = [len(range(*one.indices(n))) for one, n in zip(index, sizes)]
        used = memory[: groups * channels * (stop - start)]
        matrix_shape = (stop - start, channels) if patches.channels_last else (channels, stop - start)
        operand = used.reshape(groups, *matrix_shape)
        operand = operand.transpose(0, 2, 1) if turned else operand
        place = (slice(None), slice(start, stop)) if on_left else (slice(None), slice(None), slice(start, stop))
        whole_index = (*[slice(None)] * before, *index)
        part = whole_index if windows is None else windows[whole_index]
        parts.append(_Part(part, used.reshape(view_shape), operand, place))
    return _Workspace(inside, tuple(parts))


def _blocks(sizes: Sequence[int], most: int) -> Iterator[tuple[tuple[slice, ...], int, int]]:
    """Blocks of an array of `sizes` that are contiguous in the order of C, of at most `most` elements if possible.

    Yields the index of each, and where it starts and stops when elements are counted.
    """
    across = prod(sizes[1:])
    height = -(-sizes[0] // -(-sizes[0] // max(1, most // across)))  # all of about one size
    for start in range(0, sizes[0], height):
        stop = min(start + height, sizes[0])
        if across <= most or len(sizes) == 1:
            yield (slice(start, stop), *[slice(None)] * len(sizes[1:])), start * across, stop * across
        else:
            for index, first, last in _blocks(sizes[1:], most):
                yield (slice(start, stop), *index), start * across + first, start * across + last


# --- which steps ---


def stream_patches(program: Program) -> None:
    """Replace patches that are read by one product alone."""
    uses = Counter([stored for step in program.steps for stored in step.inputs])
    uses.update(program.outputs)
    readers = {stored: step for step in program.steps for stored in step.inputs}
    replaced: dict[Step, list[Step]] = {}
    for step in program.steps:
        if not isinstance(step.function, MakePatches):
            continue
        passed, (found,) = [step], step.outputs
        reader = readers.get(found)
        if reader is not None and uses[found] == 1 and _is_turn(reader):
            passed.append(reader)
            (found,) = reader.outputs
            reader = readers.get(found)
        if reader is None or uses[found] != 1 or reader in replaced or not _is_product(reader):
            continue
        on_left, turned = reader.inputs[0] is found, len(passed) == 2
        rows_first = step.function.patches.channels_last != turned
        if on_left == rows_first:  # else it is rows that are summed over
            replaced |= {other: [] for other in passed}
            replaced[reader] = [_streamed(step, reader, on_left, turned)]
    program.steps = [new for step in program.steps for new in replaced.get(step, (step,))]


def _is_turn(step: Step) -> bool:
    function = step.function
    return isinstance(function, Method) and function.name == "transpose" and function.arguments == ((0, 2, 1),)


def _is_product(step: Step) -> bool:
    return isinstance(step.function, Ufunc) and step.function.ufunc is np.matmul


def _streamed(step: Step, reader: Step, on_left: bool, turned: bool) -> Step:
    (x,), (product,), make = step.inputs, reader.outputs, step.function
    factor: Stored = reader.inputs[1 if on_left else 0]
    assert isinstance(make, MakePatches)
    function = StreamedProduct(make, product.shape, on_left, turned)
    return Step(function, (x, factor), (product,), False, False, reader.primitive)


# --- stretches of a vector, as convolutions of vectors have them ---

FEW = 16  # columns that are copied one by one


class Stretches(Function):
    """A step that makes a matrix whose row i is a stretch of a vector from `start` + i on."""

    __slots__ = ("run", "start")
    nature = FRESH

    def __init__(self, start: int, shape: Sequence[int]) -> None:
        rows, columns = shape
        self.start = start

        def stretches(x: Array) -> Array:
            line = x[start : start + rows + columns - 1]
            if columns >= FEW:
                return np.lib.stride_tricks.sliding_window_view(line, columns).copy()
            out = np.empty((rows, columns), x.dtype)
            for column in range(columns):
                out[:, column] = line[column : column + rows]
            return out

        self.run = stretches

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        return self.run

    def text(self, operands: Sequence[str], bind: Bind, scalar: bool) -> str:
        return f"{bind(self.run, 'stretches')}({', '.join(operands)})"


def multiply_stretches(program: Program) -> None:
    """Replace products of stretches, or of these transposed, with a vector: they are convolutions."""
    producers = {stored: step for step in program.steps for stored in step.outputs}
    for step in program.steps:
        if step.function.key not in (np.matmul, "dot") or step.several:
            continue
        vectors = [stored for stored in step.inputs if len(stored.shape) == 1]
        matrices = [stored for stored in step.inputs if len(stored.shape) == 2]
        if len(vectors) != 1 or len(matrices) != 1 or vectors[0].dtype.kind not in "iufc":
            continue
        maker = producers.get(matrices[0])
        while maker is not None and (isinstance(maker.function, Cast) or _turns_matrix(maker)):
            maker = producers.get(maker.inputs[0])
        if maker is not None and isinstance(maker.function, Stretches):
            length = sum(maker.outputs[0].shape) - 1
            run = _multiply(maker.function.start, length, vectors[0].dtype)
            step.function, step.inputs = Opaque(run, FRESH), (maker.inputs[0], vectors[0])
    program.drop_dead_steps()


def _multiply(start: int, length: int, dtype: np.dtype) -> Callable[[Array, Array], Array]:
    def convolve(x: Array, factors: Array) -> Array:
        return np.convolve(x[start : start + length].astype(dtype, copy=False), factors[::-1], "valid")

    return convolve


def _turns_matrix(step: Step) -> bool:
    function = step.function
    return isinstance(function, Method) and function.name == "transpose" and function.arguments == ((1, 0),)


def adding_to_stretches(start: int) -> Callable[[Array, Array, Array], Array]:
    """The function that adds each element of a column times a row to the stretch from `start` + its position on."""

    def add_stretches(x: Array, column: Array, row: Array) -> Array:
        out, sums = x.copy(), np.convolve(column.reshape(-1), row.reshape(-1))
        out[start : start + len(sums)] += sums
        return out

    return add_stretches


def outer_factors(program: Program, x: Value) -> tuple[Stored, Stored] | None:
    """The column and the row of which a matrix is the product, element by element; None if it is not."""
    maker = program.producers.get(x.stored)
    if maker is None or maker.function.key is not np.multiply or x.ndim != 2 or x.stored.shape != x.shape:
        return None
    if x.dtype.isbuiltin != 1 or x.dtype.kind not in "iufc" or x.dtype == np.float16:
        return None
    found = {(1,) * (2 - len(factor.shape)) + factor.shape: factor for factor in maker.inputs}
    column, row = found.get((x.shape[0], 1)), found.get((1, x.shape[1]))
    return None if column is None or row is None else (column, row)


def places_given(program: Program, stored: Stored) -> Array | None:
    """Places that are known while compiling, none of them negative: as they are, or with what would become of those."""
    while stored.constant is None:
        maker = program.producers.get(stored)
        if maker is None:
            return None
        if isinstance(maker.function, Method) and maker.function.name == "reshape":
            (stored,) = maker.inputs
        elif maker.function.key in ("choose small", ("choose", stored.dtype)) and _keeps_places(program, maker):
            stored = maker.inputs[2]
        else:
            return None
    return stored.constant if stored.dtype.kind in "iu" and stored.constant.min(initial=0) >= 0 else None


def _keeps_places(program: Program, step: Step) -> bool:
    """Whether a choice is that of places where they are not negative."""
    mask, _, places = step.inputs
    if mask.constant is not None:
        return not mask.constant.any() and places.shape == step.outputs[0].shape
    maker = program.producers.get(mask)
    if maker is None or maker.function.key is not np.less or places.shape != step.outputs[0].shape:
        return False
    compared, zero = maker.inputs
    return compared is places and zero.constant is not None and not zero.constant.any()
