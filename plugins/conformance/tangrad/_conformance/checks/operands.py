"""Other operands than the samples: of other dtypes, larger, and with another memory layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.blame import measured_with
from tangrad._conformance.checks.execution import compiled, decomposed
from tangrad._conformance.checks.parameters import carries_program
from tangrad._conformance.comparison import Mismatch, as_numpy, check_same
from tangrad._conformance.point import is_differentiated
from tangrad._conformance.samples import Arguments, Sample, reference_backend
from tangrad.core import as_array, dtypes, find_primitive, get_aval
from tangrad.core.tools import families

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import Value

Cells = Iterator[tuple[str, Callable[[], None]]]

TRIED = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "uint32", "int64", "bool")


def check_dtypes(sample: Sample) -> Cells:
    """The sample's floating-point operands in each dtype that the abstract evaluation accepts; also their derivatives.

    A primitive that should refuse a dtype, and does not, is found by a lowering that cannot do without refusing, or
    that gives another dtype than was inferred.
    """
    if carries_program(sample) or sample.axes or sample.leave.__name__ != "_unchanged":
        return  # a program is of the dtypes that it was traced with
    floating = [i for i, arg in enumerate(sample.args) if dtypes.issubdtype(np.asarray(arg).dtype, np.inexact)]
    own = {np.asarray(sample.args[i]).dtype.name for i in floating}
    for name in TRIED if floating else ():
        other = _in_dtype(sample, floating, name) if {name} != own else None
        if other is not None:
            yield name, partial(_measured, other, partial(_check_types, other))
            # Where the sample is real, the primitive may know no derivative of complex numbers.
            alike = bool(own & {"complex64", "complex128"}) or not name.startswith("complex")
            if alike and (is_differentiated(other, 1) or (other.derivatives and name in ("float16", "bfloat16"))):
                yield f"{name}, derivative", partial(_measured, other, partial(_check_derivative, other, floating))


def _measured(sample: Sample, thunk: Callable[[], None]) -> None:
    with measured_with(sample):
        thunk()


def _in_dtype(sample: Sample, positions: list[int], name: str) -> Sample | None:
    """The sample in another dtype, or None where its abstract evaluation refuses that."""
    kind = dtypes.as_dtype(name)
    args = tuple([_converted(arg, kind) if i in positions else np.asarray(arg) for i, arg in enumerate(sample.args)])
    other = replace(sample, args=args)
    try:
        other.inferred()
    except (TypeError, ValueError, NotImplementedError):
        return None
    return other


def _converted(arg: object, kind: np.dtype) -> np.ndarray:
    array = np.asarray(arg)
    if array.dtype.kind == "c" and not dtypes.issubdtype(kind, np.complexfloating):
        array = array.real
    if dtypes.issubdtype(kind, np.unsignedinteger):
        array = np.abs(array.astype(np.float64))
    return array.astype(kind)


def _check_types(sample: Sample) -> None:
    promised = sample.inferred()
    with use_backend(reference_backend()):
        for position, (x, aval) in enumerate(zip(as_numpy(sample.apply(*sample.args)), promised, strict=True)):
            if x.shape != aval.shape or x.dtype != aval.dtype:
                what = f"{x.dtype.name}{list(x.shape)}"
                raise Mismatch(f"result {position}: inferred {aval.str_short()}, executed {what}")


def _check_derivative(sample: Sample, positions: list[int]) -> None:
    """Tangents and cotangents have the dtypes of what they belong to."""

    def function(*values: object) -> list[Array]:
        filled = list(sample.args)
        for position, value in zip(positions, values):
            filled[position] = value
        return [one for one in sample.apply(*filled) if dtypes.issubdtype(get_aval(one).dtype, np.inexact)]

    primals = tuple([sample.args[position] for position in positions])
    with use_backend(reference_backend()):
        if "jvp" not in sample.without:
            results, tangents = tangrad.jvp(function, primals, primals)
            _check_kinds("tangent", tangents, results)
        if "transpose" not in sample.without:
            results, pull = tangrad.vjp(function, *primals)
            _check_kinds("cotangent", pull(results), primals)


def _check_kinds(what: str, found: Sequence[object], expected: Sequence[object]) -> None:
    for position, (x, y) in enumerate(zip(found, expected, strict=True)):
        one, other = get_aval(x), get_aval(y)
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            raise Mismatch(f"{what} {position} is {one.str_short()}, what it belongs to {other.str_short()}")


LENGTH = 200  # of a dimension, or a little less
MOST = 50_000  # elements of an operand
PARTS = 8  # how many parts are compared, evenly over all


def check_sizes(sample: Sample) -> Cells:
    """Each dimension some hundreds long, where the parameters allow that: compiled, decomposed, in parts, elsewhere."""
    if carries_program(sample) or sample.axes or sample.leave.__name__ != "_unchanged":
        return
    for size in sorted({n for arg in sample.args for n in np.shape(arg) if n > 1}):
        large = grown(sample, size)
        if large is not None:
            what = f"dimensions of {size} made {LENGTH // size * size}"
            yield f"{what}, compiled", partial(_check_compiled, large)
            if decomposed(large) is not None:
                yield f"{what}, decomposed", partial(_check_decomposed, large)
            if _goes_along(sample, size):
                yield f"{what}, in parts", partial(_check_parts, sample, large, size)
            for name in sample.tried_on():
                if name != reference_backend():
                    yield f"{what}, on {name}", partial(_check_elsewhere, large, name)


def grown(sample: Sample, size: int, times: int | None = None) -> Sample | None:
    """The sample with its dimensions of a size repeated; None where its abstract evaluation refuses that."""
    times = LENGTH // size if times is None else times
    if times < 2 or any([np.size(arg) * times ** np.shape(arg).count(size) > MOST for arg in sample.args]):
        return None  # it is large itself, or would be huge
    args = tuple([_repeated(np.asarray(arg), size, times) for arg in sample.args])
    large = replace(sample, args=args, tolerance=max(sample.tolerance or 0.0, _slack(args)))
    try:
        large.inferred()
    except (TypeError, ValueError, NotImplementedError):
        return None
    return large


def _slack(args: Arguments) -> float:
    """Sums of more numbers are rounded more."""
    kinds = {np.asarray(arg).dtype.name for arg in args}
    if kinds & {"bfloat16", "float16"}:
        return 0.2
    return 1e-3 if kinds & {"float32", "complex64"} else 1e-7


def _repeated(array: np.ndarray, size: int, times: int) -> object:
    found = np.tile(array, [times if n == size else 1 for n in array.shape]) if array.ndim else array
    if array.dtype.kind not in "fc" or found.size == array.size:
        return found
    # A little different from each other, so that what is exchanged, left out or counted twice makes a difference.
    return (found * (1 - 0.1 * np.arange(found.size).reshape(found.shape) / found.size)).astype(array.dtype)


def _run(sample: Sample, name: str | None = None) -> list[np.ndarray]:
    with use_backend(name or reference_backend()):
        return as_numpy(sample.apply(*sample.args))


def _check_compiled(large: Sample) -> None:
    with use_backend(reference_backend()):
        check_same(compiled(large)(*large.args), _run(large), large.tolerance, "compiled, applied directly")


def _check_decomposed(large: Sample) -> None:
    function = decomposed(large)
    with use_backend(reference_backend()):
        if function is not None:
            check_same(function(*large.args), _run(large), large.tolerance, "decomposed, lowered")


def _check_elsewhere(large: Sample, name: str) -> None:
    check_same(_run(large, name), _run(large), large.tolerance, f"{name}, {reference_backend()}")


# --- primitives that work element by element along a dimension --------------------------------------------------------


def _cut(args: Arguments, size: int, start: int, stop: int) -> Arguments:
    """A part of the arguments, along all dimensions of a size."""
    return tuple([arg[tuple([slice(start, stop) if n == size else slice(None) for n in arg.shape])] for arg in args])


def _goes_along(sample: Sample, size: int) -> bool:
    """Whether, of twice the arguments, each half of the results comes from that half of the arguments."""
    twice = grown(sample, size, 2)
    shapes = [np.shape(arg) for arg in sample.args if np.ndim(arg)]
    # What is cut is recognised by its size: no other dimension may have it, before or after.
    if twice is None or any([shape.count(size) != 1 or 2 * size in shape for shape in shapes]):
        return False
    whole = _run(twice)
    for start in (0, size):
        half = _run(replace(sample, args=_cut(twice.args, 2 * size, start, start + size)))
        for x, y in zip(whole, half):
            (part,) = _cut((x,), 2 * size, start, start + size)
            if (
                part.shape != y.shape
                or part.shape == x.shape
                or not np.array_equal(part, y, equal_nan=x.dtype.kind in "fc")
            ):
                return False
    return True


def _check_parts(sample: Sample, large: Sample, size: int) -> None:
    whole, length = _run(large), LENGTH // size * size
    starts = list(range(0, length, size))
    for start in starts[:: max(1, len(starts) // PARTS)] + starts[-1:]:
        part = _run(replace(sample, args=_cut(large.args, length, start, start + size)))
        found = [_cut((x,), length, start, start + size)[0] for x in whole]
        check_same(found, part, sample.tolerance, f"elements from {start} of all, these alone")


def check_layouts(sample: Sample) -> Cells:
    """Operands with negative strides, and transposed ones, against fresh ones; and that they are left as they were."""
    if not any([np.size(arg) > 1 for arg in sample.args]):
        return
    for name in sample.tried_on():
        yield f"{name}, untouched", partial(_check_untouched, sample, name)
        for subject, (prepare, undo) in _layouts().items():
            yield f"{name}, {subject}", partial(_check_layout, sample, name, prepare, undo)


Turn = Callable[[Any], Any]


def _layouts() -> dict[str, tuple[Turn, Turn]]:
    """How an array gets another memory layout (by NumPy), and how a program puts it in order again: without a copy."""
    found: dict[str, tuple[Turn, Turn]] = {"transposed": (_moved, _moved_back)}
    if "structure" in families():
        found["negative strides"] = (np.flip, _turned)
    return found


def _moved(arg: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(arg, -1, 0)) if arg.ndim else arg


def _moved_back(value: Value) -> Value:
    last = np.ndim(value) - 1
    return find_primitive("batching.move_axis").bind(value, source=0, destination=last) if last > 0 else value


def _turned(value: Value) -> Value:
    dimensions = tuple(range(np.ndim(value)))
    return find_primitive("structure.rev").bind(value, dimensions=dimensions) if dimensions else value


def _check_layout(sample: Sample, name: str, prepare: Turn, undo: Turn) -> None:
    named = len(sample.axes)
    where = [tuple(range(named, np.ndim(arg))) for arg in sample.args]
    if prepare is np.flip:
        args = [np.flip(arg, axes) for arg, axes in zip(sample.args, where)]
    else:
        args = [_each(prepare, np.asarray(arg), named) for arg in sample.args]

    def applied(*values: object) -> tuple[Value, ...]:
        return sample.apply_one(*[undo(as_array(value)) for value in values])

    with use_backend(name):
        expected = as_numpy(sample.apply(*sample.args))
        check_same(sample.around(applied)(*args), expected, sample.tolerance, "in another layout, fresh")
        check_same(sample.around(tangrad.jit(applied))(*args), expected, sample.tolerance, "in a program, fresh")


def _each(function: Turn, array: np.ndarray, named: int) -> np.ndarray:
    """The function of each example, below the named axes."""
    if not named:
        return function(array)
    return np.stack([_each(function, row, named - 1) for row in array])


def _check_untouched(sample: Sample, name: str) -> None:
    """An implementation that works in place would change what its caller still holds."""
    with use_backend(name):
        held = [as_array(value) for value in sample.args]
        before = [np.array(np.asarray(value)) for value in held]
        sample.apply(*held)
        after = [np.asarray(value) for value in held]
    for position, (x, y) in enumerate(zip(after, before, strict=True)):
        if x.tobytes() != y.tobytes():
            raise Mismatch(f"operand {position} was {y!r}, and is {x!r} after the primitive was applied")
