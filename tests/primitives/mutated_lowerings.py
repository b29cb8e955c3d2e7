"""Lowerings for NumPy that are wrong at an edge, as authors of backends write them: a table of mutants, by primitive.

A mutant makes of the right rule a wrong one. Plain functions of arrays take its place;
`after`, `before` and `other` change what goes in and comes out, or the parameters.
"""

import numpy as np

from tangrad._backend_numpy.kernels import Kernel
from tangrad._lax.elementwise.primitives import RoundingMethod
from tangrad._lax.indexing.primitives import GatherScatterMode

CLIP = GatherScatterMode.CLIP


def plain(function):
    """Another function of the arrays altogether; it gets no parameters."""

    def mutate(rule):
        return lambda ctx, *arrays, **params: function(*arrays)

    return mutate


def of_dtype(function, kind):
    """Another function for arrays of one kind; the right one for the others."""

    def mutate(rule):
        def wrong(ctx, *values, **params):
            if ctx.in_avals[0].dtype.kind == kind:
                return ctx.call(function, *values, like=ctx.out_aval)
            return rule(ctx, *values, **params)

        return Kernel(wrong)

    return mutate


def saturating(function):
    """Integers stop at the ends of their dtype."""

    def run(x, y):
        limits = np.iinfo(x.dtype)
        exact = function(x.astype(object), y.astype(object))
        return np.asarray(np.clip(exact, int(limits.min), int(limits.max)), object).astype(x.dtype)

    return of_dtype(run, "i")


def after(change):
    """What comes out is changed, as NumPy arrays."""

    def mutate(rule):
        def wrong(ctx, *values, **params):
            found = rule(ctx, *values, **params)
            if isinstance(found, tuple):
                return ctx.call(lambda *arrays: tuple([change(one) for one in arrays]), *found, like=ctx.out_avals)
            return ctx.call(change, found, like=found)

        return Kernel(wrong)

    return mutate


def before(change, *positions):
    """What goes in at some positions (or at all) is changed, as NumPy arrays."""

    def mutate(rule):
        def wrong(ctx, *values, **params):
            chosen = positions or range(len(values))
            changed = [ctx.call(change, x, like=x) if i in chosen else x for i, x in enumerate(values)]
            return rule(ctx, *changed, **params)

        return Kernel(wrong)

    return mutate


def other(**changes):
    """Other parameters than those that are asked for; a function of the right one, or a value."""

    def mutate(rule):
        def wrong(ctx, *values, **params):
            new = {name: change(params[name]) if callable(change) else change for name, change in changes.items()}
            return rule(ctx, *values, **{**params, **new})

        return Kernel(wrong) if isinstance(rule, Kernel) else wrong

    return mutate


def in_half(array):
    """Rounded to half precision."""
    return array.astype(np.float16).astype(array.dtype) if array.dtype.kind == "f" else array


def wrapped(array):
    """Indices that count from the end where they are negative."""
    return np.where(array < 0, array + 3, array).astype(array.dtype)


def no_minus_zero(array):
    return array + array.dtype.type(0) if array.dtype.kind in "fc" else array


def turned(axis):
    return lambda array: np.flip(array, axis)


def _wrap_to_int(rule):
    """Floating-point numbers become integers as in C on most machines: what does not fit wraps around."""

    def wrong(ctx, x, *, new_dtype, weak_type):
        kinds = ctx.in_avals[0].dtype.kind, np.dtype(new_dtype).kind
        if kinds != ("f", "i"):
            return rule(ctx, x, new_dtype=new_dtype, weak_type=weak_type)

        def run(array):
            with np.errstate(all="ignore"):
                return array.astype(np.int64).astype(new_dtype)

        return ctx.call(run, x, like=ctx.out_aval)

    return Kernel(wrong)


def _truth_by_integer(rule):
    """0.5 becomes False."""

    def wrong(ctx, x, *, new_dtype, weak_type):
        if new_dtype != np.bool_ or ctx.in_avals[0].dtype.kind != "f":
            return rule(ctx, x, new_dtype=new_dtype, weak_type=weak_type)
        return ctx.call(lambda array: np.trunc(array) != 0, x, like=ctx.out_aval)

    return Kernel(wrong)


def _halves_up(rule):
    """Halves are rounded up, whatever is asked for."""

    def wrong(ctx, x, *, rounding_method):
        if rounding_method is RoundingMethod.AWAY_FROM_ZERO:
            return rule(ctx, x, rounding_method=rounding_method)
        return ctx.call(lambda array: np.floor(array + array.dtype.type(0.5)), x, like=ctx.out_aval)

    return Kernel(wrong)


def _last_of_ties(find):
    """The position of the last of equal elements."""

    def mutate(rule):
        def wrong(ctx, x, *, axes, index_dtype):
            def run(array):
                back = array.shape[axes[0]] - 1 - find(np.flip(array, axes[0]), axes[0])
                return back.astype(index_dtype)

            return ctx.call(run, x, like=ctx.out_aval)

        return Kernel(wrong)

    return mutate


def _unstable(rule):
    """Rows with equal keys come out in the opposite order."""

    def wrong(ctx, *values, dimension, is_stable, num_keys):
        if len(values) == 1 or num_keys > 1:
            return rule(ctx, *values, dimension=dimension, is_stable=is_stable, num_keys=num_keys)

        def run(*arrays):
            back = [np.flip(one, dimension) for one in arrays]
            order = np.argsort(back[0], dimension, kind="stable")
            return tuple([np.take_along_axis(one, order, dimension) for one in back])

        return ctx.call(run, *values, like=ctx.out_avals)

    return Kernel(wrong)


def _ties_backwards(rule):
    """Of equal elements the last ones are taken."""

    def wrong(ctx, x, *, k, axis):
        def run(array):
            order = array.shape[axis] - 1 - np.argsort(np.flip(array, axis), axis, kind="stable")
            found = np.flip(np.take(order, range(array.shape[axis] - k, array.shape[axis]), axis), axis)
            index = found.astype(np.int32)
            return np.take_along_axis(array, found, axis), index

        return ctx.call(run, x, like=ctx.out_avals)

    return Kernel(wrong)


def _without_repetition(rule):
    """Updates at one place do not add up: the last one counts, as in NumPy's x[i] += u."""

    def wrong(ctx, operand, indices, updates, **params):
        def once(index):
            first = np.unique(index, axis=0, return_index=True)[1]
            alone = np.full_like(index, 100)
            alone[first] = index[first]
            return alone

        if ctx.in_avals[1].ndim != 2:
            return rule(ctx, operand, indices, updates, **params)
        return rule(ctx, operand, ctx.call(once, indices, like=indices), updates, **params)

    return Kernel(wrong)


def _naive_logsumexp(rule):
    def wrong(ctx, x, *, axis, reverse):
        def run(array):
            turned_array = np.flip(array, axis) if reverse else array
            found = np.log(np.cumsum(np.exp(turned_array), axis))
            return (np.flip(found, axis) if reverse else found).astype(array.dtype)

        return ctx.call(run, x, like=ctx.out_aval)

    return Kernel(wrong)


def _by_quotient(x, y):
    return np.arctan(x / y)


def _by_logarithm(x, y):
    return np.exp(y * np.log(x)).astype(x.dtype)


def _half(x):
    return (np.exp(x) - np.exp(-x)) / x.dtype.type(2)


def _at_least_zero(x):
    return np.maximum(x, x.dtype.type(0)) if x.dtype.kind in "fi" else x


def _minus_infinity_for_nan(x):
    return np.where(np.isnan(x), -np.inf, x).astype(x.dtype) if x.dtype.kind == "f" else x


def _sum_that_saturates(x):
    return np.minimum(x.sum(1, dtype=np.int64), 2**31 - 1).astype(x.dtype)


def _square_that_saturates(x):
    return np.minimum(x.astype(np.int64) ** 2, 2**31 - 1).astype(x.dtype)


def _sine(x):
    return np.where(np.abs(x) < 1e-6, 0, np.sin(x)).astype(x.dtype)


def _error_function(x):
    return np.where(np.abs(x) < 1e-6, 0, np.tanh(x * 1.2)).astype(x.dtype)


def _remainder(x, y):
    return np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y))).astype(x.dtype)


def _rounded_down(x, y):
    return np.floor_divide(x, np.where(y == 0, 1, y))


def _width(x):
    return 8 * x.dtype.itemsize


def _shifted_with_sign(x, y):
    return np.where((y < 0) | (y > 31), 0, np.right_shift(x, np.clip(y, 0, 31))).astype(x.dtype)


def _one_zero_too_few(x):
    return np.where(x == _width(x), x - 1, x).astype(x.dtype)


def _ones_without_sign(x):
    return np.bitwise_count(x & np.iinfo(x.dtype).max).astype(x.dtype)


def _two_from_the_end(i):
    return np.where(i < 0, i + 2, i).astype(i.dtype)


def _with_upper_triangle(x):
    return x + np.triu(np.ones_like(x), 1)


def _adjoint(a):
    return np.ascontiguousarray(np.swapaxes(a, -1, -2))


NUMPY = {
    # signs of zero
    "elementwise.neg": {"0 - x": plain(lambda x: x.dtype.type(0) - x)},
    "elementwise.abs": {"keeps -0": of_dtype(lambda x: np.where(x < 0, -x, x), "f")},
    "elementwise.sign": {"loses -0": of_dtype(np.sign, "f")},
    "elementwise.sub": {"x + (0 - y)": plain(lambda x, y: x + (y.dtype.type(0) - y))},
    "elementwise.floor": {"loses -0": after(no_minus_zero), "towards zero": plain(np.trunc)},
    "elementwise.ceil": {"loses -0": after(no_minus_zero)},
    "elementwise.sqrt": {"a power": of_dtype(lambda x: np.power(x, np.full_like(x, 0.5)), "f")},
    "structure.rev": {"loses -0": after(no_minus_zero)},
    "structure.concatenate": {"loses -0": after(no_minus_zero)},
    # tiny numbers
    "elementwise.expm1": {"exp(x) - 1": of_dtype(lambda x: np.exp(x) - x.dtype.type(1), "f")},
    "elementwise.log1p": {"log(1 + x)": of_dtype(lambda x: np.log(x.dtype.type(1) + x), "f")},
    "elementwise.sinh": {"by exponentials": of_dtype(_half, "f")},
    "elementwise.atanh": {"by logarithms": of_dtype(lambda x: np.log((1 + x) / (1 - x)) / x.dtype.type(2), "f")},
    "elementwise.asinh": {"by a logarithm": of_dtype(lambda x: np.log(x + np.sqrt(x * x + 1)), "f")},
    "elementwise.sin": {"0 for tiny": of_dtype(_sine, "f")},
    "special.erf": {"0 for tiny": of_dtype(_error_function, "f")},
    # overflow
    "elementwise.mul": {"saturates": saturating(np.multiply)},
    "elementwise.add": {"saturates": saturating(np.add)},
    "elementwise.square": {"saturates": of_dtype(_square_that_saturates, "i")},
    "elementwise.tanh": {"by exponentials": of_dtype(lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1), "f")},
    "elementwise.logistic": {"exp / (1 + exp)": of_dtype(lambda x: np.exp(x) / (1 + np.exp(x)), "f")},
    "activations.softplus": {"log(1 + exp)": plain(lambda x: np.log(1 + np.exp(x)).astype(x.dtype))},
    "reductions.reduce_sum": {"in half": before(in_half), "saturates": of_dtype(_sum_that_saturates, "i")},
    "reductions.cumlogsumexp": {"naive": _naive_logsumexp},
    # NaN and infinities
    "elementwise.max": {"forgets NaN": of_dtype(np.fmax, "f")},
    "elementwise.min": {"forgets NaN": of_dtype(np.fmin, "f")},
    "elementwise.is_finite": {"knows NaN alone": plain(lambda x: ~np.isnan(x))},
    "elementwise.clamp": {"forgets NaN": of_dtype(lambda a, x, b: np.fmin(np.fmax(a, x), b), "f")},
    "elementwise.eq": {"NaN is NaN": of_dtype(lambda x, y: (x == y) | (np.isnan(x) & np.isnan(y)), "f")},
    "elementwise.le_to": {"no total order": of_dtype(np.less_equal, "f")},
    "elementwise.pow": {"by a logarithm": of_dtype(_by_logarithm, "f")},
    "reductions.reduce_max": {
        "forgets NaN": of_dtype(lambda x: np.fmax.reduce(x, 1), "f"),
        "from 0": after(_at_least_zero),
    },
    "reductions.cummax": {"forgets NaN": before(_minus_infinity_for_nan)},
    "windows.reduce_window_max": {"from 0": after(_at_least_zero)},
    # integers
    "elementwise.div": {"rounds down": of_dtype(_rounded_down, "i")},
    "elementwise.rem": {"sign of the divisor": of_dtype(np.mod, "f"), "by zero 0": of_dtype(_remainder, "i")},
    "elementwise.shift_left": {"modulo the width": plain(lambda x, y: np.left_shift(x, y % _width(x)))},
    "elementwise.shift_right_arithmetic": {"modulo the width": plain(lambda x, y: np.right_shift(x, y % _width(x)))},
    "elementwise.shift_right_logical": {"keeps the sign": of_dtype(_shifted_with_sign, "i")},
    "elementwise.clz": {"of 0 one too few": after(_one_zero_too_few)},
    "elementwise.population_count": {"without the sign": of_dtype(_ones_without_sign, "i")},
    "elementwise.mulhi": {"of 32 bits alone": of_dtype(lambda x, y: (x * y >> 16).astype(x.dtype), "i")},
    "elementwise.not": {"logical": of_dtype(lambda x: (x == 0).astype(x.dtype), "i")},
    # conversions and rounding
    "elementwise.convert_element_type": {"wraps": _wrap_to_int, "0.5 is False": _truth_by_integer},
    "elementwise.round": {"halves up": _halves_up},
    "elementwise.atan2": {"by a quotient": plain(_by_quotient)},
    "elementwise.reduce_precision": {"not at all": plain(lambda x: x.copy())},
    # order
    "sorting.sort": {"unstable": _unstable},
    "sorting.top_k": {"last of ties": _ties_backwards},
    "sorting.search_sorted": {"other side": other(side=lambda side: "left" if side == "right" else "right")},
    "reductions.argmax": {"last of ties": _last_of_ties(np.argmax)},
    "reductions.argmin": {"last of ties": _last_of_ties(np.argmin)},
    "reductions.cumsum": {"forwards": other(reverse=False)},
    # indices
    "indexing.gather": {"clips": other(mode=CLIP, fill_value=None), "from the end": before(wrapped, 1)},
    "indexing.scatter": {"clips": other(mode=CLIP), "from the end": before(wrapped, 1)},
    "indexing.scatter_add": {"each once": _without_repetition, "clips": other(mode=CLIP)},
    "structure.dynamic_slice": {"from the end": before(_two_from_the_end, 1, 2)},
    "structure.dynamic_update_slice": {"from the end": before(_two_from_the_end, 2, 3)},
    "structure.pad": {"with 0": before(np.zeros_like, 1)},
    # sums of products, linear algebra
    "contractions.dot_general": {"in half": before(in_half)},
    "windows.conv_general_dilated": {"kernel turned": before(turned(-1), 1)},
    "windows.reduce_window_sum": {"in half": before(in_half)},
    "fft.fft": {"other direction": after(np.conj)},
    "linalg.cholesky": {"both triangles": after(_with_upper_triangle)},
    "linalg.triangular_solve": {"no unit diagonal": other(unit_diagonal=lambda unit: not unit)},
    "systems.solve": {"transposed": before(_adjoint, 0)},
    # bits, programs
    "random.random_bits": {"one more": after(lambda x: x + x.dtype.type(1))},
    "random.threefry2x32": {"a bit turned": after(lambda x: x ^ x.dtype.type(1))},
    "control_flow.scan": {"forwards": other(reverse=False)},
    "control_flow.cond": {"the second where the third is due": before(lambda i: np.minimum(i, 1), 0)},
}
