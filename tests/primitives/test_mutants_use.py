"""Mistakes as authors make them, each planted in a primitive that is right otherwise: the kit must name the check."""

import ctypes

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad.conformance import Sample, check, draw
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, register


def floating(x):
    if x.dtype.kind != "f":
        raise TypeError(f"expected floating-point numbers, got {x.str_short()}")
    return x


class Planted:
    """A family with one primitive and its rules, registered within a block."""

    def __init__(self, abstract_eval=floating, rules=(), **options):
        self.family = PrimitiveSet("planted", api=1)
        self.primitive = self.family.primitive(abstract_eval, name="planted", **options)
        self.sets = []
        for kind, rule in dict(rules).items():
            rule_set = RuleSet(kind, api=1)
            rule_set.add(self.primitive, rule)
            self.sets.append(rule_set)

    def failing(self, *samples, checks=None, **params):
        """The checks that fail."""
        return {cell.check for cell in self.report(*samples, checks=checks, **params).failures}

    def report(self, *samples, checks=None, **params):
        handles = [register(self.family), *[register(rules) for rules in self.sets]]
        try:
            only = ("numpy",) if any([rules.kind == "lower.numpy" for rules in self.sets]) else None
            made = [_as_sample(self.primitive, sample, params, only) for sample in samples]
            return check(self.primitive, made, checks, everywhere=0)
        finally:
            for handle in reversed(handles):
                handle.undo()


def _as_sample(primitive, sample, params, backends):
    """An argument, several, or all that a sample has by name."""
    if isinstance(sample, dict):
        return Sample(primitive, backends=backends, **sample)
    return Sample(primitive, sample if isinstance(sample, tuple) else (sample,), params, backends=backends)


def square(x):
    return lax.mul(x, x)


X = draw(2, 3)


def test_a_primitive_that_is_right_raises_no_alarm():
    assert not Planted(decompose=square).failing(X, draw(3, dtype="float64"), draw(2, 0))


# --- derivatives ------------------------------------------------------------------------------------------------------


def square_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return square(x), lax.mul(lax.mul(x, t), 2.0)


def with_jvp(rule, decompose=square):
    return Planted(decompose=decompose, rules={"jvp": rule})


def test_the_value_beside_a_derivative():
    def wrong(primals, tangents):
        out, tangent = square_jvp(primals, tangents)
        return lax.add(out, 100.0), tangent

    failing = with_jvp(wrong).failing(X)
    assert {"jvp", "usage"} <= failing  # the tangents are right; value_and_grad is wrong by 100


@pytest.mark.parametrize("position", [0, 1])
def test_results_exchanged_beside_a_derivative(position):
    def both(x):
        return lax.sin(x), lax.cos(x)

    def wrong(primals, tangents):
        (x,), (t,) = primals, tangents
        outs = both(x), (lax.mul(lax.cos(x), t), lax.neg(lax.mul(lax.sin(x), t)))
        return tuple([pair[::-1] if place == position else pair for place, pair in enumerate(outs)])

    planted = Planted(lambda x: (floating(x), x), decompose=both, multiple_results=True, rules={"jvp": wrong})
    assert "jvp" in planted.failing(X)


def test_a_rule_that_decides_by_a_value():
    def wrong(primals, tangents):
        (x,), (t,) = primals, tangents
        if x.ndim == 0 or (x > 0).all():  # nothing is wrong where values are at hand
            return square(x), lax.mul(lax.mul(x, t), 2.0)
        return square_jvp(primals, tangents)

    report = with_jvp(wrong).report(X)
    subjects = {cell.subject for cell in report.failures if cell.check == "usage"}
    assert {"grad", "jit(grad)", "vmap(grad)"} <= subjects
    assert "in wrong" in report.text() and "test_mutants_use.py" in report.text()  # where the `if` is


def test_a_batch_rule_that_decides_by_a_value():
    def wrong(args, dims, *, axis_info):
        return (square(args[0]) if float(args[0].ravel()[0]) < np.inf else args[0]), dims[0]

    report = Planted(decompose=square, rules={"batch": wrong}).report(X, checks=["batch", "usage"])
    assert {cell.subject for cell in report.failures if cell.check == "usage"} == {"jit(vmap) on numpy"}


def test_a_transpose_rule_that_decides_by_a_value():
    def double(x):
        return lax.mul(x, 2.0)

    def wrong(cotangent, x):
        return (double(cotangent) if float(cotangent.ravel()[0]) < np.inf else cotangent,)

    def jvp(primals, tangents):
        return planted.primitive.bind(*primals), planted.primitive.bind(*tangents)

    planted = Planted(decompose=double, rules={"jvp": jvp, "transpose": wrong})
    assert "usage" in planted.failing(X)


def test_a_derivative_of_another_dtype():
    def wrong(primals, tangents):
        out, tangent = square_jvp(primals, tangents)
        return out, lax.convert_element_type(tangent, np.float32) if tangent.dtype.name == "float16" else tangent

    assert with_jvp(wrong).failing(X) == {"dtypes"}


# --- special points ---------------------------------------------------------------------------------------------------


def sinc(x):
    is_zero = lax.eq(x, lax.full_like(x, 0))
    safe = lax.select(is_zero, lax.full_like(x, 1), x)
    return lax.select(is_zero, lax.full_like(x, 1), lax.div(lax.sin(safe), safe))


def sinc_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return sinc(x), lax.mul(t, lax.div(lax.sub(lax.cos(x), sinc(x)), x))


def kink(at):
    def jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        there = lax.eq(x, lax.full_like(x, at))
        return square(x), lax.mul(t, lax.select(there, lax.full_like(x, 7), lax.mul(x, 2.0)))

    return jvp


@pytest.mark.parametrize(
    ("decompose", "jvp"),
    [(sinc, sinc_jvp), (square, kink(0)), (square, kink(1)), (square, kink(-1))],
    ids=["0/0", "at 0", "at 1", "at -1"],
)
def test_a_derivative_that_is_wrong_at_a_point(decompose, jvp):
    assert "points" in with_jvp(jvp, decompose).failing(X, checks=["jvp", "transpose", "second", "points"])
    assert not with_jvp(jvp, decompose).failing(X, checks=["jvp", "transpose"])


def test_a_derivative_beyond_those_of_either_side():
    def wrong(primals, tangents):
        (x,), (t,) = primals, tangents
        return lax.abs(x), lax.mul(t, lax.select(lax.lt(x, 0.0 * x), -lax.full_like(x, 1), lax.exp(-1.0 * x) * 0 + 5))

    def convention(primals, tangents):
        (x,), (t,) = primals, tangents
        return lax.abs(x), lax.mul(t, lax.sign(x))  # 0 at 0

    assert "points" in with_jvp(wrong, lax.abs).failing(X, checks=["points"])
    assert not with_jvp(convention, lax.abs).failing(X, checks=["points"])


@pytest.mark.parametrize("share", [1.0, 0.0, 0.5], ids=["both", "neither", "half"])
def test_a_derivative_at_ties(share):
    def greater(primals, tangents):
        (x, y), (t, u) = primals, tangents
        tie = lax.full_like(x, share)
        by_x = lax.select(lax.gt(x, y), lax.full_like(x, 1), lax.select(lax.eq(x, y), tie, lax.full_like(x, 0)))
        by_y = lax.select(lax.gt(y, x), lax.full_like(x, 1), lax.select(lax.eq(x, y), tie, lax.full_like(x, 0)))
        return lax.max(x, y), lax.add(lax.mul(by_x, t), lax.mul(by_y, u))

    planted = Planted(lambda x, y: floating(x), decompose=lax.max, rules={"jvp": greater})
    failing = planted.failing((X, draw(2, 3, seed=1)), checks=["points"])
    assert failing == (set() if share == 0.5 else {"points"})


# --- mapping ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 130])
def test_a_batch_rule_that_is_wrong_for_some_sizes(size):
    def wrong(args, dims, *, axis_info):
        if axis_info.size != size:
            return square(args[0]), dims[0]
        return lax.neg(square(args[0])) if size else lax.mul(args[0][:, None] if args[0].ndim else args[0], 1), dims[0]

    report = Planted(decompose=square, rules={"batch": wrong}).report(X, checks=["batch"])
    assert {cell.subject for cell in report.failures} == {f"axis of size {size}"}


def test_a_batch_rule_that_drops_an_axis_of_size_1():
    def wrong(args, dims, *, axis_info):
        if axis_info.size == 1:
            return square(lax.squeeze(args[0], (dims[0],))), None
        return square(args[0]), dims[0]

    planted = Planted(decompose=square, rules={"batch": wrong})
    assert not planted.failing(X, checks=["batch"])  # not mapped: the same along the axis


# --- lowerings --------------------------------------------------------------------------------------------------------


def lowered(function, decompose=lax.neg):
    return Planted(decompose=decompose, rules={"lower.numpy": lambda ctx, x: function(x)})


def strideless(x):
    """The elements in the order of memory, from the lowest address on."""
    flat = x[tuple([slice(None, None, -1) if step < 0 else slice(None) for step in x.strides])]
    return -np.ascontiguousarray(flat).reshape(x.shape)


def column_wise(x):
    return -x.reshape(-1, order="A").reshape(x.shape) if x.flags.f_contiguous else -x


def test_operands_of_another_memory_layout():
    assert not lowered(lambda x: -x).failing(X)
    for wrong in (strideless, column_wise):
        report = lowered(wrong).report(X, checks=["layouts", "abstract"])
        assert {cell.check for cell in report.failures} == {"layouts"}, wrong.__name__


def test_operands_that_are_written_to():
    def wrong(x):
        out = -x
        if x.flags.c_contiguous:
            ctypes.memmove(x.ctypes.data, out.ctypes.data, x.nbytes)  # what a C library can do
        return out

    report = lowered(wrong).report(X, checks=["layouts"])
    assert "numpy, untouched" in {cell.subject for cell in report.failures}


SWALLOWED = {
    "NaN": lambda x: np.where(np.isnan(x), np.asarray(0, x.dtype), -x),
    "infinity": lambda x: -np.clip(x, np.finfo(x.dtype).min, np.finfo(x.dtype).max),
    "minus zero": lambda x: 0 - x,
    "denormal": lambda x: np.where(np.abs(x) < np.finfo(x.dtype).tiny, -0 * x, -x),
    "huge": lambda x: np.where(np.abs(x) > 1e30, np.asarray(np.inf, x.dtype) * -np.sign(x), -x).astype(x.dtype),
}


@pytest.mark.parametrize("what", SWALLOWED)
def test_a_value_that_does_not_come_through(what):
    def wrong(x):
        with np.errstate(all="ignore"):
            return SWALLOWED[what](x).astype(x.dtype)

    failing = lowered(wrong).failing(X, checks=["decomposition", "jit", "special"])
    assert failing == {"special"}


def test_a_decomposition_that_overflows():
    def root(x):
        return lax.sqrt(lax.mul(x, x))

    assert lowered(np.abs, root).failing(X, checks=["decomposition", "special"]) == {"special"}


@pytest.mark.parametrize("wrong", ["the rest", "one block", "the order"])
def test_blocks_that_are_put_together_wrongly(wrong):
    def blocked(x):
        out, flat, size = np.empty(x.size, x.dtype), x.ravel(), 100
        starts = list(range(0, x.size, size))
        for start in starts:
            out[start : start + size] = -flat[start : start + size]
        if x.size > size:
            if wrong == "the rest":
                out[x.size // size * size :] = 0
            elif wrong == "one block":
                out[size : 2 * size] = out[:size][: x.size - size]
            else:
                out[: x.size // size * size] = out[: x.size // size * size][::-1]
        return out.reshape(x.shape)

    planted = lowered(blocked)
    assert planted.failing(X, checks=["decomposition", "jit", "abstract"]) == set()
    assert planted.failing(X, checks=["sizes"]) == {"sizes"}


# --- effects ----------------------------------------------------------------------------------------------------------


def test_effects_of_a_decomposition_that_are_not_declared():
    def noisy(x):
        tangrad.debug.callback(lambda value: None, x)
        return lax.neg(x)

    report = Planted(decompose=noisy).report(X, checks=["effects"])
    assert {cell.subject for cell in report.failures} == {"of the decomposition"}


# --- what must be refused, and other dtypes ---------------------------------------------------------------------------


def axis_checked(x, *, axis):
    if x.dtype.kind != "f" or x.ndim == 0:
        raise TypeError("floating-point arrays with dimensions")
    if not 0 <= axis < x.ndim:
        raise ValueError("axis out of range")
    return x


REFUSED = [
    {"args": (np.ones(3, np.int32),), "params": {"axis": 0}, "raises": TypeError},
    {"args": (np.float32(1),), "params": {"axis": 0}, "raises": TypeError},
    {"args": (X,), "params": {"axis": 2}, "raises": (ValueError, IndexError)},
]


def turned(x, *, axis):
    return lax.rev(x, (axis,))


def test_arguments_that_must_be_refused():
    planted = Planted(axis_checked, decompose=turned)
    assert not planted.failing({"args": (X,), "params": {"axis": 1}}, *REFUSED)


def accepts_anything(x, *, axis):
    return x


def refuses_otherwise(x, *, axis):
    raise KeyError(axis)


@pytest.mark.parametrize("case", REFUSED, ids=["dtype", "rank", "axis"])
@pytest.mark.parametrize("abstract_eval", [accepts_anything, refuses_otherwise])
def test_arguments_that_are_not_refused_as_they_should(case, abstract_eval):
    report = Planted(abstract_eval, decompose=turned).report(case)
    assert {cell.check for cell in report.cells} == {"refusals"}
    assert {cell.subject for cell in report.failures} >= {"inferred", "staged"}


def test_integers_that_are_accepted_though_nothing_computes_them():
    assert Planted(lambda x: x, decompose=lax.sin).failing(X) == {"dtypes"}
    assert not Planted(floating, decompose=lax.sin).failing(X)


def test_a_promise_that_holds_for_some_dtypes_only():
    def promised(x):
        return ShapedArray(x.shape, np.float32) if floating(x).dtype.name == "float16" else x

    planted = Planted(promised, decompose=lax.neg, rules={"lower.numpy": lambda ctx, x: np.asarray(-x)})
    report = planted.report(X, checks=["abstract", "dtypes"])
    assert "float16" in {cell.subject for cell in report.failures} <= {"float16", "float16, derivative"}


def test_results_of_several_dtypes():
    def split(x):
        whole = lax.floor(x)
        return lax.sub(x, whole), lax.convert_element_type(whole, np.int32)

    def promised(x):
        return floating(x), ShapedArray(x.shape, np.int32)

    def wrong(primals, tangents):
        (x,), (t,) = primals, tangents
        fraction, whole = split(x)
        return (fraction, lax.add(whole, np.int32(1))), (t, np.zeros(x.shape, bool))

    right = Planted(promised, decompose=split, multiple_results=True)
    assert not right.failing(draw(2, 3, low=0.1, high=0.9))
    planted = Planted(promised, decompose=split, multiple_results=True, rules={"jvp": wrong})
    assert "jvp" in planted.failing(draw(2, 3, low=0.1, high=0.9))


# --- no alarm where nothing is wrong ----------------------------------------------------------------------------------


def test_constant_in_one_operand_is_not_linear_in_both():
    """x (cos² y + sin² y): that of y is rounding, and the rule need not know that x is all there is."""

    def scaled(x, y):
        return lax.mul(x, lax.add(square(lax.cos(y)), square(lax.sin(y))))

    def transpose(cotangent, x, y):
        assert hasattr(x, "aval") and not hasattr(y, "_linear")
        return planted.primitive.bind(cotangent, y), None

    def jvp(primals, tangents):
        (x, y), (t, u) = primals, tangents
        slope = lax.mul(x, lax.mul(lax.mul(lax.sin(y), lax.cos(y)), lax.sub(u, u)))
        return planted.primitive.bind(x, y), lax.add(planted.primitive.bind(t, y), slope)

    planted = Planted(lambda x, y: floating(x), decompose=scaled, rules={"jvp": jvp, "transpose": transpose})
    report = planted.report((X, draw(2, 3, seed=1)), checks=["jvp", "transpose"])
    assert not report.failures, report.text()
    assert "linear in (0,)" in {cell.subject for cell in report.cells}
