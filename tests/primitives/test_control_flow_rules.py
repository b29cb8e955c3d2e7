"""What is particular to single rules and lowerings: residuals, dead code, caches, effects, weak types, counters."""

import functools
import gc
import weakref

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import check_tracer_leaks, lax
from tangrad import use_backend as backend_setting
from tangrad._lax.control_flow.programs import counters, sums
from tangrad.autodiff import partial_eval_jaxpr, transpose_flat
from tangrad.core import ClosedJaxpr, as_array, dce_jaxpr, typeof
from tangrad.core.settings import SETTINGS
from tangrad.core.tools import check_jaxpr

BACKENDS = ("numpy", "xla")
X = np.linspace(0.1, 0.9, 5, dtype=np.float32)


def scans(jaxpr):
    """The scan equations of a jaxpr."""
    return [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan"]


# --- linearisation ---------------------------------------------------------------------------------------------------


def test_invariant_residuals_are_hoisted_and_not_stacked():
    def f(w, xs):
        return lax.scan(lambda c, x: (c * tnp.exp(tnp.sin(w)) + x, None), 1.0, xs)[0]

    jaxpr = tangrad.make_jaxpr(tangrad.grad(f))(0.5, X)
    check_jaxpr(jaxpr)
    first, second = scans(jaxpr)
    assert "exp" not in [eqn.primitive.name for eqn in first.params["jaxpr"].eqns]
    rows = second.invars[second.params["num_consts"] + second.params["num_carry"] :]
    assert len(rows) == 1  # the carry of each turn; exp(sin(w)) is the same in all


def test_scanned_inputs_and_results_are_not_stacked_twice():
    def f(xs):
        def step(c, x):
            y = tnp.tanh(c * x)
            return y, y

        return tnp.sum(lax.scan(step, 1.0, xs)[1])

    first, second = scans(tangrad.make_jaxpr(tangrad.grad(f))(X))
    stacked = len(first.outvars) - first.params["num_carry"]
    assert stacked <= 3  # y itself, the carry of each turn, and 1 - y²
    assert first.invars[-1] in second.invars  # xs


def test_dead_carries_and_results_go():
    def f(xs):
        def step(carry, x):
            a, b, c = carry
            return (a + x, b * a, c + 1), (b, tnp.sin(x))

        (a, _, _), (_, s) = lax.scan(step, (0.0, 1.0, 0), xs)
        return a, s

    jaxpr = tangrad.make_jaxpr(f)(X)
    thinned, _ = dce_jaxpr(jaxpr.jaxpr, [True, True])
    check_jaxpr(ClosedJaxpr(thinned, jaxpr.consts))
    (scan,) = scans(thinned)
    assert scan.params["num_carry"] == 1 and len(scan.outvars) == 2
    jaxpr = tangrad.make_jaxpr(lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, x)))(
        1.0
    )
    thinned, used = dce_jaxpr(jaxpr.jaxpr, [True, False])
    assert used == [False] and len(thinned.eqns[0].outvars) == 1
    jaxpr = tangrad.make_jaxpr(lambda x, y: lax.cond(x > 0, lambda a, b: (a, b), lambda a, b: (b, a * b), x, y))(
        1.0, 2.0
    )
    thinned, used = dce_jaxpr(jaxpr.jaxpr, [True, False])
    assert len(thinned.eqns[-1].outvars) == 1
    thinned, used = dce_jaxpr(jaxpr.jaxpr, [False, False])
    assert not thinned.eqns


def test_branches_share_slots_for_residuals():
    def f(x):
        return lax.cond(x > 0, lambda y: tnp.sin(y) * tnp.cos(y), lambda y: tnp.exp(y) * tnp.tanh(y), x)

    jaxpr = tangrad.make_jaxpr(tangrad.grad(f))(0.5)
    first = next(eqn for eqn in jaxpr.eqns if eqn.primitive.name == "cond")
    assert len(first.outvars) == 5  # the result, and four slots for the residuals of both


def test_linearize_evaluates_once_and_is_reused():
    def f(xs):
        return lax.scan(lambda c, x: (tnp.sin(c) * x, c), 1.0, xs)

    out, linear = tangrad.linearize(f, X)
    tangent = np.ones_like(X)
    expected = tangrad.jvp(f, (X,), (tangent,))
    for found, wanted in zip(tangrad.tree.leaves((out, linear(tangent))), tangrad.tree.leaves(expected)):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_linearized_while_runs_forward():
    def f(x):
        return lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, tnp.sin(s[1]) * x), (0, x))[1]

    out, linear = tangrad.linearize(f, 0.7)
    expected = tangrad.jvp(f, (0.7,), (1.0,))
    np.testing.assert_allclose([out, linear(1.0)], expected, rtol=1e-6)


def test_while_beside_a_gradient():
    """A loop that the gradient does not depend on is no obstacle."""

    def f(x):
        steps = lax.while_loop(lambda n: n < 5, lambda n: n + 1, 0)
        other = lax.while_loop(lambda y: y < 5, lambda y: y * 2, x)
        return tangrad.lax.stop_gradient(other) * x + steps

    np.testing.assert_allclose(tangrad.grad(f)(1.5), 6.0)
    np.testing.assert_allclose(tangrad.jit(tangrad.grad(f))(1.5), 6.0)


# --- partial evaluation ----------------------------------------------------------------------------------------------


def through_tape(function, primal, tangent):
    """The transpose of `t -> jvp(function, primal, t)`: mixed scans, conds and loops are taken apart on the tape."""

    def pushed(t):
        return [tangrad.jvp(function, (primal,), (t,))[1]]

    return transpose_flat(pushed, [typeof(tangent)], [tangent])[0]


@pytest.mark.parametrize("jitted", [False, True])
def test_mixed_loops_are_taken_apart(jitted):
    def scanned(x):
        def step(carry, y):
            i, c = carry
            return (i + 1, tnp.sin(c) * y + i), c * c

        (_, last), ys = lax.scan(step, (0, x), X)
        return last + tnp.sum(ys)

    def chosen(x):
        return lax.cond(x > 0, lambda y: tnp.sin(y) * y, lambda y: tnp.exp(y), x)

    def nested(x):
        def step(c, y):
            inner = lax.scan(lambda d, z: (tnp.sin(d) * z, None), c, X)[0]
            return lax.cond(y > 0.5, lambda a: a * y, lambda a: tnp.cos(a), inner), None

        return lax.scan(step, x, X)[0]

    def loop(x):
        return lax.fori_loop(0, 3, lambda i, y: tnp.sin(y) * (i + x), x)

    def called(x):
        inner = tangrad.jit(lambda y: lax.cond(y > 0, lambda: tnp.exp(y) * y, lambda: y))
        return tnp.sin(inner(x)) * scanned(inner(x))

    for function in (scanned, chosen, nested, loop, called):
        run = functools.partial(through_tape, function)
        one, other = as_array(np.float32(0.7)), as_array(np.float32(1))
        found = (tangrad.jit(run) if jitted else run)(one, other)
        np.testing.assert_allclose(found, tangrad.grad(function)(0.7), rtol=1e-5)


def test_partial_eval_of_jaxprs():
    jaxpr = tangrad.make_jaxpr(lambda a, b: (tnp.sin(a), tnp.cos(a) * b, a + 1, b))(1.0, 2.0)
    for outputs in (False, (False, False, True, False)):
        split = partial_eval_jaxpr(jaxpr, (True, False), outputs)
        check_jaxpr(split.known)
        check_jaxpr(split.unknown)
        assert split.out_known == (True, False, outputs is False, False)


# --- caches ----------------------------------------------------------------------------------------------------------


def test_functions_are_traced_once():
    count = []

    def step(c, x):
        count.append(1)
        return c + x, None

    for _ in range(3):
        lax.scan(step, 0.0, X)
    assert len(count) == 1
    lax.scan(step, 0.0, X.astype(np.float16))
    assert len(count) in (2, 3)  # the weakly typed carry is tried first


def test_values_of_outer_traces_are_not_remembered():
    scale = []

    def step(c, x):
        return c + x * scale[0], None

    for k in (1.0, 2.0):

        @tangrad.jit
        def run(xs, k):
            scale[:] = [k]
            return lax.scan(step, 0.0, xs)[0]

        np.testing.assert_allclose(run(X, k), k * X.sum(), rtol=1e-6)
        scale.clear()


def test_functions_and_programs_can_be_collected():
    def make():
        def step(c, x):
            return c + x, c

        lax.scan(step, 0.0, X)
        tangrad.grad(lambda x: lax.scan(step, x, X)[0])(1.0)
        lax.fori_loop(0, 3, lambda i, x: x + i, 0)
        return weakref.ref(step)

    for backend in BACKENDS:
        with backend_setting(backend):
            reference = make()
            gc.collect()
            assert reference() is None


def test_no_tracers_leak():
    def f(x):
        y = lax.scan(lambda c, z: (c * z, c), x, X)[0]
        y = lax.cond(y > 0, lambda: y * 2, lambda: y)
        return lax.fori_loop(0, 3, lambda i, v: v * x, y)

    with check_tracer_leaks(True), SETTINGS["check_jaxprs"](True):
        tangrad.jit(tangrad.grad(f))(0.5)
        tangrad.grad(f)(0.5)
        tangrad.vmap(tangrad.grad(f))(X)


# --- types -----------------------------------------------------------------------------------------------------------


def test_weak_types_are_as_in_jax():
    jax = pytest.importorskip("jax")

    def results(api):
        one = api.numpy.float32(1)
        return [
            api.lax.fori_loop(0, 5, lambda i, x: x * 2.0, 1.0),
            api.lax.fori_loop(0, 5, lambda i, x: x * 2.0, one),
            *api.lax.scan(lambda c, x: (one * c, c), 1.0, None, length=3),
            *api.lax.scan(lambda c, x: (c * 1.5, c), 1, None, length=3),
            *api.lax.scan(lambda c, x: (1.0, c), one, None, length=3),
            api.lax.while_loop(lambda c: c < 10, lambda c: c * 2, 1),
            api.lax.while_loop(lambda c: c < 10, lambda c: c * 2.5, 1),
            api.lax.while_loop(lambda c: c < 10, lambda c: 20.0, one),
            api.lax.cond(True, lambda: 1.0, lambda: one),
            api.lax.cond(2.5, lambda x: x, lambda x: -x, 1.0),
        ]

    for ours, theirs in zip(results(tangrad), results(jax)):
        assert ours.dtype == theirs.dtype and ours.aval.weak_type == theirs.weak_type
        np.testing.assert_allclose(ours, theirs)


def test_eager_loops_have_the_types_of_jitted_ones():
    one = tnp.float32(1)
    functions = (
        lambda x: lax.while_loop(lambda c: c > 10, lambda c: one * c, x),
        lambda x: lax.fori_loop(0, 0, lambda i, c: one * c, x),
        lambda x: lax.fori_loop(0, 2, lambda i, c: one * c, x),
        lambda x: lax.cond(x > 0, lambda y: y, lambda y: one * y, x),
    )
    for function in functions:
        eager, again, jitted = function(1.0), function(1.0), tangrad.jit(function)(1.0)
        assert eager.aval is jitted.aval and again.aval is jitted.aval


@pytest.mark.parametrize("backend", BACKENDS)
def test_long_eager_loops_go_on_compiled(backend):
    def body(s):
        return s[0] + 1, s[1] + s[0]

    with backend_setting(backend):
        for _ in range(2):
            count, total = lax.while_loop(lambda s: s[0] < 1000, body, (0, 0))
            assert count == 1000 and total == 499500


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "complex64"])
def test_dtypes(backend, dtype):
    dtype = tangrad.core.dtypes.as_dtype(dtype)
    x = np.arange(4).astype(dtype)
    with backend_setting(backend):
        last, ys = lax.scan(lambda c, y: (y, c), x[0], x)
        np.testing.assert_array_equal(np.asarray(last), x[-1])
        np.testing.assert_array_equal(np.asarray(ys), x[[0, 0, 1, 2]])
        assert ys.dtype == dtype


@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_are_carried(backend):
    with backend_setting(backend):
        keys = tangrad.random.split(tangrad.random.key(0), 3)

        def step(key, other):
            return tangrad.random.fold_in(key, 1), (other, tangrad.random.bits(other))

        last, (found, bits) = lax.scan(step, tangrad.random.key(1), keys)
        expected = [tangrad.random.bits(key) for key in keys]
        np.testing.assert_array_equal(np.asarray(bits), [np.asarray(b) for b in expected])
        np.testing.assert_array_equal(*[np.asarray(tangrad.random.key_data(k)) for k in (found, keys)])
        chosen = lax.cond(True, lambda: keys[0], lambda: last)
        np.testing.assert_array_equal(*[np.asarray(tangrad.random.key_data(k)) for k in (chosen, keys[0])])


# --- NumPy's loops ---------------------------------------------------------------------------------------------------


def test_counters_and_sums_are_found():
    def step(carry, x):
        i, j, total, other = carry
        return (i + 1, j - 2, total + x, other + total[0]), i

    start = (0, np.int16(3), np.zeros(3, np.float32), np.zeros(3, np.float32))
    scan = tangrad.make_jaxpr(lambda xs: lax.scan(step, start, xs))(np.ones((4, 3), np.float32)).eqns[-1]
    jaxpr = scan.params["jaxpr"].jaxpr
    assert counters(jaxpr, 0, 4) == {0: 1, 1: -2}
    assert list(sums(jaxpr, 0, 4)) == [3]


LOOPS = {
    "counts up": lambda x, n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, x)),
    "bound first": lambda x, n: lax.while_loop(lambda s: n > s[0], lambda s: (1 + s[0], s[1] * s[0]), (0, x)),
    "counts down": lambda x, n: lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] + s[0]), (n, x)),
    "never": lambda x, n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (n + 3, x)),
    "by two": lambda x, n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 2, s[1] * 2), (0, x)),
    "with a further condition": lambda x, n: lax.while_loop(
        lambda s: (s[0] < n) & (tnp.sum(s[1]) < 9), lambda s: (s[0] + 1, s[1] * 2), (0, x)
    ),
    "further condition reads the counter": lambda x, n: lax.while_loop(
        lambda s: (tnp.sum(s[1]) * s[0] < 9) & (s[0] < n), lambda s: (s[0] + 1, s[1] * 2), (0, x)
    ),
    "bound in the carry": lambda x, n: lax.while_loop(
        lambda s: s[0] < s[2], lambda s: (s[0] + 1, s[1] + s[0], s[2]), (0, x, n)
    ),
    "bound changes": lambda x, n: lax.while_loop(
        lambda s: s[0] < s[2], lambda s: (s[0] + 1, s[1] + s[0], s[2] - 1), (0, x, n)
    ),
    "counter is reset": lambda x, n: lax.while_loop(
        lambda s: s[2] < n, lambda s: (s[0] * 0, s[1] + s[0], s[2] + 1), (5, x, 0)
    ),
    "only counts": lambda x, n: lax.while_loop(lambda i: i < n, lambda i: i + 1, 0),
    "scan counts": lambda x, n: lax.scan(lambda c, y: ((c[0] + 3, c[1] * y + c[0]), c[0]), (n, 0.5), x),
    "scan counts back": lambda x, n: lax.scan(lambda c, y: ((c[0] + 3, c[1] * y), c[0]), (n, 0.5), x, reverse=True),
    "scan wraps": lambda x, n: lax.scan(lambda c, y: (c + np.int8(100), c), np.int8(1), x),
    "scan sums": lambda x, n: lax.scan(lambda c, y: (c + x * y, c[0]), x, x),
    "scan sums twice": lambda x, n: lax.scan(lambda c, y: ((c[0] + y, c[1] + c[0]), None), (x, x), x),
    "scan sum as result": lambda x, n: lax.scan(lambda c, y: (c + y, c + y), x, x),
    "scan invariant": lambda x, n: lax.scan(lambda c, y: (c * tnp.sin(tnp.sum(x)) + n * 2, tnp.exp(x)), 1.0, x),
    "empty": lambda x, n: lax.scan(lambda c, y: ((c[0] + 1, c[1] + x), c[1]), (n, x), x[:0]),
}


@pytest.mark.parametrize("name", list(LOOPS))
def test_loops_agree(name):
    run = LOOPS[name]
    found = {}
    for backend in BACKENDS:
        with backend_setting(backend), SETTINGS["check_jaxprs"](True):
            found[backend] = tangrad.tree.leaves(tangrad.jit(run)(X, 4))
            eager = tangrad.tree.leaves(run(X, 4))
        for one, other in zip(found[backend], eager):
            np.testing.assert_allclose(one, other, rtol=1e-6)
    for one, other in zip(found["numpy"], found["xla"]):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_operands_are_never_written_to():
    with backend_setting("numpy"):
        start = tnp.zeros(3)
        total = lax.scan(lambda c, y: (c + y, None), start, tnp.ones((4, 3)))[0]
        np.testing.assert_array_equal(start, np.zeros(3))
        np.testing.assert_array_equal(total, np.full(3, 4.0))


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_a_branch_sends_nothing_back_from_rows_that_it_is_not_for(backend):
    def each(x, w):
        return lax.cond(x > 0, lambda: tnp.log(x) * w, lambda: 0.0 * x * w)

    def total(x, w):
        return tnp.sum(tangrad.vmap(each, (0, None))(x, w))

    with tangrad.use_backend(backend):
        x = tnp.arange(3.0)
        for transformed in (tangrad.grad(total, (0, 1)), tangrad.jit(tangrad.grad(total, (0, 1)))):
            by_x, by_w = transformed(x, 2.0)  # log has no derivative at 0, and is minus infinity there
            np.testing.assert_allclose(by_x, [0.0, 2.0, 1.0], rtol=1e-6)
            np.testing.assert_allclose(by_w, np.log(2.0), rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_that_branches_close_over_are_not_repeated_for_each_row(backend):
    weights = np.full((3, 3), 0.5, np.float32)
    product = tangrad.custom_batching.sequential_vmap(lambda x: tnp.dot(weights, x))  # refuses mapped weights

    def f(x):
        return lax.cond(x.sum() > 0, lambda: tnp.dot(weights, x), lambda: product(x) * 2.0)

    rows = np.array([[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]], dtype=np.float32)
    with backend_setting(backend):
        assert tangrad.vmap(f)(rows).tolist() == [[3.0] * 3, [-6.0] * 3]
        gradient = tangrad.jit(tangrad.grad(lambda x: tangrad.vmap(f)(x).sum()))
        assert gradient(rows).tolist() == [[1.5] * 3, [3.0] * 3]
        jaxpr = tangrad.make_jaxpr(tangrad.vmap(f))(rows)
    assert all(var.aval.shape != (2, 3, 3) for eqn in jaxpr.eqns for var in eqn.outvars)
