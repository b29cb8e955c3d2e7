"""Programs write over dead arrays, and never over living ones; parts of arrays are computed in threads, each once."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import tangrad
from tangrad import lax
from tangrad import numpy as tnp
from tangrad._backend_numpy import blocks, select, simplify, threads
from tangrad._backend_numpy.executable import array_function_into
from tangrad._backend_numpy.functions import UNKNOWN
from tangrad._backend_numpy.kernels import composed
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, eval_jaxpr, literal, register, trace_to_closed_jaxpr
from tangrad.core.backends import CompileOptions
from tests.backends.numpy_support import F32, NUMPY, put, same

p = pytest.importorskip("tangrad._lax.elementwise.primitives")
s = pytest.importorskip("tangrad._lax.structure.primitives")

family = PrimitiveSet("numpy_random_programs", api=1)
lower = RuleSet("lower.numpy", api=1)


@family.primitive
def matmul(x: Any, y: Any) -> Any:
    return ShapedArray((*x.shape[:-1], y.shape[-1]), x.dtype)


@family.primitive
def total(x: Any, *, axes: Any) -> Any:
    return ShapedArray([size for axis, size in enumerate(x.shape) if axis not in axes], x.dtype)


@family.primitive
def greatest(x: Any, *, axes: Any) -> Any:
    return ShapedArray([size for axis, size in enumerate(x.shape) if axis not in axes], x.dtype)


@family.primitive
def mysterious(x: Any) -> Any:
    return x


composed(lower, matmul)(lambda ctx, x, y: ctx.matmul(x, y))
composed(lower, total)(lambda ctx, x, *, axes: ctx.reduce(np.add, x, axes))
composed(lower, greatest)(lambda ctx, x, *, axes: ctx.reduce(np.maximum, x, axes))
_kept: list[Any] = []


@composed(lower, mysterious)
def _(ctx: Any, x: Any) -> Any:
    def keep(array: Any) -> Any:
        """Returns its operand, and remembers it: a rule of which nothing is known may do both."""
        _kept.append((array, array.copy()))
        return array

    return ctx.call(keep, x, nature=UNKNOWN)


def _pick(draw: Callable[..., Any], choices: Any) -> Any:
    """One of several things; by number, because strategies should not look into arrays."""
    return choices[draw(st.integers(0, len(choices) - 1))]


# Shapes are few, so that many arrays could take each other's place.
SHAPES = ((), (4,), (1, 4), (4, 4), (4, 1))


def _unary(draw: Callable[..., Any], x: Any) -> Any:
    return _pick(draw, (p.neg_p, p.sin_p, p.square_p, p.logistic_p)).bind(x)


def _binary(draw: Callable[..., Any], x: Any, y: Any) -> Any:
    return _pick(draw, (p.add_p, p.sub_p, p.mul_p, p.max_p)).bind(x, y)


def _select(draw: Callable[..., Any], x: Any, y: Any) -> Any:
    return p.select_n_p.bind(p.lt_p.bind(x, y), *_pick(draw, ((x, y), (y, x))))


def _spread(draw: Callable[..., Any], x: Any) -> Any:
    shape = _pick(draw, [shape for shape in ((4,), (4, 4), (2, 4)) if len(shape) >= x.ndim] or [x.shape])
    dims = range(len(shape) - x.ndim, len(shape))
    if any(size not in (1, shape[d]) for size, d in zip(x.shape, dims)):
        return x
    return s.broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=tuple(dims))


def _view(draw: Callable[..., Any], x: Any) -> Any:
    kind = _pick(draw, ("transpose", "reverse", "flatten", "first", "mystery", "column"))
    if kind == "mystery":
        return mysterious.bind(x)
    if not x.ndim or 0 in x.shape:
        return s.copy_p.bind(x)
    if kind == "transpose":
        return s.transpose_p.bind(x, permutation=tuple(range(x.ndim))[::-1])
    if kind == "reverse":
        return s.rev_p.bind(x, dimensions=(x.ndim - 1,))
    if kind == "flatten":
        return s.reshape_p.bind(x, new_sizes=(x.size,), dimensions=None)
    if kind == "column":
        return s.reshape_p.bind(x, new_sizes=(x.shape[0], 1), dimensions=None) if x.ndim == 1 else x
    limits = (1, *x.shape[1:])
    return s.slice_p.bind(x, start_indices=(0,) * x.ndim, limit_indices=limits, strides=None)


def _by_rows(draw: Callable[..., Any], x: Any, reduced: Any) -> Any:
    """As a softmax has it: a number for each row of a matrix, maybe changed, and the matrix."""
    column = s.reshape_p.bind(reduced, new_sizes=(4, 1), dimensions=None)
    column = _pick(draw, (lambda: column, lambda: _unary(draw, column), lambda: _binary(draw, column, column)))()
    return _binary(draw, x, s.broadcast_in_dim_p.bind(column, shape=(4, 4), broadcast_dimensions=(0, 1)))


def _contract(draw: Callable[..., Any], x: Any) -> Any:
    if x.shape == (4, 4):
        reduce = _pick(draw, (total, total, greatest))
        reduced = reduce.bind(x, axes=(_pick(draw, (0, 1, 1)),))
        return _pick(draw, (lambda: matmul.bind(x, x), lambda: reduced, lambda: _by_rows(draw, x, reduced)))()
    return total.bind(x, axes=tuple(range(x.ndim)))


def _update(draw: Callable[..., Any], x: Any, y: Any) -> Any:
    if x.ndim != 1 or y.ndim != 1 or x.size < y.size:
        return x
    return s.dynamic_update_slice_p.bind(x, y, literal(draw(st.integers(0, 3)), np.dtype("int32")))


def _pairs(values: list[Any]) -> list[tuple[Any, Any]]:
    return [(x, y) for x in values for y in values if x.shape == y.shape or not x.shape or not y.shape]


def _grow(draw: Callable[..., Any], values: list[Any]) -> Any:
    """One more value made of some of those there are; the latest are the likeliest."""
    recent = values[-4:]
    kind = _pick(draw, ("unary", "binary", "binary", "select", "spread", "view", "contract", "contract", "update"))
    if kind in ("binary", "select", "update"):
        x, y = _pick(draw, _pairs(recent))
        return {"binary": _binary, "select": _select, "update": _update}[kind](draw, x, y)
    x = _pick(draw, recent)
    return {"unary": _unary, "spread": _spread, "view": _view, "contract": _contract}[kind](draw, x)


@st.composite
def programs(draw: Callable[..., Any]) -> Any:
    """A closed jaxpr and its arguments' shapes."""
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))
    steps = draw(st.integers(1, 14))

    def function(*args: Any) -> list[Any]:
        values = list(args)
        for _ in range(steps):
            values.append(_grow(draw, values))
        outputs = [_pick(draw, values) for _ in range(draw(st.integers(0, 3)))]
        return [*outputs, values[-1]]

    return trace_to_closed_jaxpr(function, [ShapedArray(shape, F32) for shape in shapes])


@pytest.fixture(scope="module")
def registered() -> Any:
    given, simplify.GIVEN = simplify.GIVEN, 0
    fewest, select.FEWEST = select.FEWEST, 8
    with register(family), register(lower):
        yield
    simplify.GIVEN, select.FEWEST = given, fewest


def _arguments(closed: Any) -> list[Any]:
    random = np.random.default_rng(0)
    return [put(random.normal(size=aval.shape).astype(F32)) for aval in closed.in_avals]


@pytest.mark.usefixtures("registered")
@hypothesis.settings(max_examples=400)
@hypothesis.given(programs(), st.integers(0, 7))
def test_compiled_programs_compute_what_their_equations_do(closed: Any, mask: int) -> None:
    _kept.clear()
    donated = tuple([bool(mask >> position & 1) for position in range(len(closed.in_avals))])
    executable = NUMPY.compile(closed, CompileOptions("random", donated=donated))
    expected = [np.array(out) for out in eval_jaxpr(closed.jaxpr, closed.consts, *_arguments(closed))]
    first = None
    for _ in range(2):
        arguments = _arguments(closed)
        before = [np.array(argument) for argument in arguments]
        results = executable.execute(arguments)
        for result, wanted in zip(results, expected, strict=True):
            same(result, wanted)
        for argument, contents, gone in zip(arguments, before, donated, strict=True):
            assert argument.is_deleted() is gone
            if not gone:
                same(argument, contents)
        if first is not None:  # the second run did not write to the results of the first
            for result, wanted in zip(first, expected, strict=True):
                same(result, wanted)
        first = results
    for array, contents in _kept:
        same(array, contents)


@contextmanager
def small_blocks(size: int) -> Iterator[None]:
    """Within it, loops over blocks of so many bytes are made of whatever can be one."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"LARGE": 4, "WORK": 1, "BLOCK": size}.items():
            patch.setattr(blocks, name, value)
        yield


@pytest.mark.usefixtures("registered")
@hypothesis.settings(max_examples=300)
@hypothesis.given(programs(), st.integers(0, 7), st.sampled_from((16, 32)))
def test_blocks_compute_the_same(closed: Any, mask: int, size: int) -> None:
    donated = tuple([bool(mask >> position & 1) for position in range(len(closed.in_avals))])
    with small_blocks(size):
        executable = NUMPY.compile(closed, CompileOptions("blocks", donated=donated))
    expected = [np.array(out) for out in eval_jaxpr(closed.jaxpr, closed.consts, *_arguments(closed))]
    first: list[Any] = []
    for count in (1, 3):
        arguments = _arguments(closed)
        before = [np.array(argument) for argument in arguments]
        with threads.numpy_threads(count):
            results = executable.execute(arguments)
        for result, wanted in zip([*results, *first], [*expected, *(expected if first else [])], strict=True):
            same(result, wanted)
        for argument, contents, gone in zip(arguments, before, donated, strict=True):
            if not gone:
                same(argument, contents)
        first = results


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("permutation", [(1, 0, 2), (0, 2, 1), (2, 1, 0), (2, 0, 1)])
def test_transposed_operands_are_read_in_tiles(monkeypatch: pytest.MonkeyPatch, permutation: tuple[int, ...]) -> None:
    monkeypatch.setattr(blocks, "LARGE_TILED", 4)
    monkeypatch.setattr(blocks, "LONG_TILED", 2)
    monkeypatch.setattr(blocks, "TILE", 3)
    random = np.random.default_rng(0)
    x = put(random.normal(size=(7, 7, 7)).astype(F32))
    y = put(random.normal(size=(7,)).astype(F32))

    def function(x: Any, y: Any) -> tuple[Any, ...]:
        turned = s.transpose_p.bind(x, permutation=permutation)
        row = s.broadcast_in_dim_p.bind(y, shape=(7, 7, 7), broadcast_dimensions=(2,))
        alike = p.mul_p.bind(turned, p.add_p.bind(turned, turned))
        first = p.sub_p.bind(p.sin_p.bind(x), turned)
        second = p.mul_p.bind(p.mul_p.bind(first, alike), row)
        return first, alike, second, p.lt_p.bind(turned, x), p.sub_p.bind(turned, p.neg_p.bind(second))

    closed = trace_to_closed_jaxpr(function, [x.aval, y.aval])
    expected = [np.array(out) for out in eval_jaxpr(closed.jaxpr, closed.consts, x, y)]
    for donated in ((), (True, False)):
        executable = NUMPY.compile(closed, CompileOptions("tiles", donated=donated))
        text = executable.as_text()
        assert ("in_tiles" in text) == (permutation != (1, 0, 2)), text
        arguments = [put(np.array(x)), y]
        for result, wanted in zip(executable.execute(arguments), expected, strict=True):
            same(result, wanted)


def test_small_transposed_operands_are_read_as_they_are() -> None:
    x = put(np.ones((900, 900), F32))
    closed = trace_to_closed_jaxpr(lambda x: p.add_p.bind(x, s.transpose_p.bind(x, permutation=(1, 0))), [x.aval])
    assert "in_tiles" not in NUMPY.compile(closed, CompileOptions("small")).as_text()


@pytest.mark.usefixtures("registered")
def test_blocks_of_several_shapes() -> None:
    random = np.random.default_rng(0)
    shape = (6, 5, 7)
    x = put(random.normal(size=shape).astype(F32))
    for other_shape, dims in (
        ((), ()),
        ((7,), (2,)),
        ((6, 5, 1), (0, 1, 2)),
        ((6, 1, 7), (0, 1, 2)),
        ((1, 5, 7), (0, 1, 2)),
    ):
        other = put(random.normal(size=other_shape).astype(F32))

        def function(x: Any, y: Any, dims: Any = dims) -> tuple[Any, ...]:
            y = s.broadcast_in_dim_p.bind(y, shape=shape, broadcast_dimensions=dims)
            first = p.mul_p.bind(p.add_p.bind(x, y), x)
            second = p.select_n_p.bind(p.lt_p.bind(first, x), first, p.sin_p.bind(y))
            return first, p.neg_p.bind(second), second

        closed = trace_to_closed_jaxpr(function, [x.aval, other.aval])
        expected = [np.array(out) for out in eval_jaxpr(closed.jaxpr, closed.consts, x, other)]
        for size in (32, 160, 4000):
            with small_blocks(size):
                executable = NUMPY.compile(closed, CompileOptions("blocks"))
            for result, wanted in zip(executable.execute([x, other]), expected, strict=True):
                same(result, wanted)


# --- Loops on the NumPy backend overwrite what they carry where a part of it is replaced, and no other array ---


X = np.arange(12.0, dtype="float32").reshape(6, 2)


def written(a, i, value):
    return lax.dynamic_update_slice(a, tnp.broadcast_to(tnp.asarray(value, a.dtype), (1, 2)), (i, 0))


def alone(a, i):
    return written(a, i, i), None


def read_before_and_after(a, i):
    before = a[i]
    after = written(a, i, a[5] + before)
    return after, (before, after[i])


def stacked(a, i):
    after = written(a, i, i)
    return after, after


def swapped(carry, i):
    a, b = carry
    return (written(b, i, 1), written(a, i, 2)), None


def kept_beside(carry, i):
    a, b, c = carry
    return (written(a, i, c.sum()), a, b), b[i]


def shared(carry, i):
    a, b = carry
    after = written(a, i, b[0])
    return (after, after), None


def viewed(carry, i):
    a, part = carry
    after = written(a, i, part[0] + 1)
    return (after, after[:2]), part


def twice(a, i):
    return written(written(a, i, 7), 5 - i, a[i]), None


def in_turn(a, i):
    return written(written(a, i, 7), 5 - i, i), None


def closed_over(a, i):
    return written(a, i, tnp.asarray(X)[i] + 1), None


# Name -> a body, and how many arrays it carries.
BODIES = {
    "alone": (alone, None),
    "read before and after": (read_before_and_after, None),
    "stacked": (stacked, None),
    "swapped": (swapped, 2),
    "kept beside": (kept_beside, 3),
    "shared": (shared, 2),
    "viewed": (viewed, "part"),
    "twice": (twice, None),
    "in turn": (in_turn, None),
    "closed over": (closed_over, None),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("same", [False, True])
def test_what_a_loop_carries_is_overwritten_for_it_alone(name, same):
    """Against a loop in Python; the first value stays as it is, also where one array is all that is carried."""
    body, count = BODIES[name]
    with tangrad.use_backend("numpy"):
        arrays = [tnp.asarray(X), *[tnp.asarray(X if same else X + 10 * k) for k in (1, 2)]]
        if same:
            arrays = [arrays[0]] * 3
        init = arrays[0] if count is None else (arrays[0], arrays[1][:2]) if count == "part" else tuple(arrays[:count])
        before = tangrad.tree.map(np.array, init)
        steps = tnp.array([0, 3, 3, 1, 5], "int32")
        carry, rows = init, []
        for i in steps:
            carry, row = body(carry, i)
            rows.append(row)
        for run in (lax.scan, tangrad.jit(lambda body, *args: lax.scan(body, *args), static_argnums=0)):
            last, ys = run(body, init, steps)
            for one, other in zip(tangrad.tree.leaves(last), tangrad.tree.leaves(carry), strict=True):
                np.testing.assert_array_equal(one, other)
            for one, *others in zip(tangrad.tree.leaves(ys), *[tangrad.tree.leaves(row) for row in rows]):
                np.testing.assert_array_equal(one, np.stack(others))
            for one, other in zip(tangrad.tree.leaves(init), tangrad.tree.leaves(before), strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("body", "overwritten"),
    [(alone, (0,)), (in_turn, (0,)), (twice, ()), (read_before_and_after, ()), (stacked, ()), (shared, ())],
)
def test_which_carries_are_overwritten(body, overwritten):
    """Those that are not read any more, and of which no other result shows a part."""
    with tangrad.use_backend("numpy"):
        init = (X, X) if body is shared else X
        closed = tangrad.make_jaxpr(lambda *args: body(args if len(args) > 1 else args[0], 2))(
            *tangrad.tree.leaves(init)
        )
        count = len(tangrad.tree.leaves(init))
        *_, found = array_function_into(closed, range(count, len(closed.out_avals)), [(k, k) for k in range(count)])
    assert found == overwritten


# --- threads -------------------------------------------------------------------------------------------------------


def each_once(parts: range, count: int) -> list[int]:
    done: list[int] = []
    with threads.numpy_threads(count):
        threads.share(done.extend, parts)
    return done


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_part_is_done_once(count: int) -> None:
    for parts in (range(0), range(1), range(2), range(0, 1_000, 7)):
        assert sorted(each_once(parts, count)) == list(parts)


def test_parts_are_done_in_several_threads() -> None:
    meeting = threading.Barrier(3)

    def work(parts: Iterable[int]) -> None:
        for _ in parts:
            meeting.wait(120)  # which one thread alone never leaves

    with threads.numpy_threads(3):
        threads.share(work, range(3))


def test_parts_of_parts_are_not_parted() -> None:
    counts: list[int] = []

    def work(parts: Iterable[int]) -> None:
        for _ in parts:
            counts.append(threads.count())
            threads.share(lambda inner: counts.extend([-part for part in inner]), range(2))

    with threads.numpy_threads(2):
        threads.share(work, range(3))
        assert threads.count() == 2
    assert sorted(counts) == [-1, -1, -1, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("count", [1, 3])
def test_what_a_part_raises_is_raised(count: int) -> None:
    def work(parts: Iterable[int]) -> None:
        for part in parts:
            if part >= 3:
                raise ValueError(f"part {part}")

    with threads.numpy_threads(count):
        with pytest.raises(ValueError, match="part 3"):
            threads.share(work, range(20))
        assert threads.count() == count


def test_an_interrupt_ends_all_threads() -> None:
    caller, begun, done = threading.get_ident(), threading.Event(), threading.Event()

    def work(parts: Iterable[int]) -> None:
        for _ in parts:
            if threading.get_ident() == caller:
                assert begun.wait(120)
                raise KeyboardInterrupt
            begun.set()
            done.set()

    with threads.numpy_threads(2), pytest.raises(KeyboardInterrupt):
        threads.share(work, range(1_000))
    assert done.is_set()


def test_parts_report_no_floating_point_errors(recwarn: pytest.WarningsRecorder) -> None:
    def work(parts: Iterable[int]) -> None:
        for _ in parts:
            np.log(np.zeros(3))
            meeting.wait(120)

    meeting = threading.Barrier(2)
    with threads.numpy_threads(2), np.errstate(all="ignore"):
        threads.share(work, range(2))
    assert not recwarn
