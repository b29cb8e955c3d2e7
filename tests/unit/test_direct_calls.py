"""Direct calls: what eager functions remember gives what the long way gives, and is forgotten when that changes."""

import os
import subprocess
import sys

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad._core.kernel import primitive
from tangrad._core.kernel.primitive import EVAL_TRACE, dispatch
from tangrad._numpy.fusing import as_one
from tangrad.core import RuleSet, literal, register
from tangrad.core.caches import DirectCalls
from tangrad.extend.lax import add_p, clamp_p, sinh_p, split_p

BACKENDS = tangrad.core.backend_names()


@pytest.fixture(params=BACKENDS, autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


def vector():
    return np.asarray(numpy.array([1.0, -2.0, 3.0], "float32"))


def remembered(calls: DirectCalls, key, primitive, *args):
    """The result the first time, when it is remembered, and the second time."""
    return calls.apply(key, primitive, args), calls[key](*args)


def test_a_remembered_call_gives_what_the_first_one_gave(monkeypatch):
    monkeypatch.setattr(EVAL_TRACE, "process_primitive", dispatch)  # `debug_nans`, once used, has nothing remembered
    x = vector()
    first, second = remembered(DirectCalls(), (x.aval, x.aval), add_p, x, x)
    assert first.tolist() == second.tolist() == [2, -4, 6] and second.aval is first.aval
    assert type(second) is type(x)


def test_what_is_traced_is_not_remembered():
    calls = DirectCalls()
    jaxpr = tangrad.make_jaxpr(lambda x: calls.apply("key", add_p, (x, x)))(vector())
    assert not calls and [str(equation.primitive) for equation in jaxpr.eqns] == ["add"]


def test_operations_are_traced_after_they_were_remembered():
    def work(x):
        return np.sum(np.where(x > 0, np.concatenate([x, x])[:3] * 2.0, np.sin(x) ** 3))

    x = vector()
    expected = float(work(x))
    for function in (work, tangrad.jit(work), lambda x: tangrad.vmap(work)(x[None])[0]):
        assert float(function(x)) == pytest.approx(expected, rel=1e-6)
    assert numpy.isfinite(tangrad.grad(work)(x).to_numpy()).all()
    assert tangrad.make_jaxpr(lambda: vector() + vector())().eqns  # constants too are for the trace


@pytest.mark.parametrize(
    "x", [numpy.arange(3, dtype="int32"), numpy.array([1.0, -2.0], "float32")], ids=["int", "float"]
)
def test_numbers_that_are_equal_are_distinguished(x):
    made = np.asarray(x)
    for number in (0.0, -0.0, 0, 1, 1.0, True, numpy.float32(1), numpy.int8(1)) * 2:
        result = made * number
        (expected,) = tangrad.make_jaxpr(lambda x, number=number: x * number)(made).out_avals
        assert result.aval is expected
        assert numpy.signbit(result.to_numpy()).tolist() == numpy.signbit(x * numpy.float32(number)).tolist()


def test_an_array_without_dimensions_in_the_place_of_a_number():
    x = vector()
    for number in (2.0, np.float32(2), 2.0):
        assert (x * number).tolist() == (number * x).tolist() == [2, -4, 6]


def test_deleted_arrays_are_refused():
    x, y = vector(), vector()
    assert (x + y).tolist() == [2, -4, 6]
    y.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        x + y
    np.sin(x)
    with pytest.raises(RuntimeError, match="deleted"):
        np.sin(y)


def test_a_tracer_that_outlives_its_trace_is_refused():
    kept = []
    tangrad.jit(lambda x: kept.append(x) or x)(vector())
    vector() + vector()
    with pytest.raises(tangrad.errors.UnexpectedTracerError):
        kept[0] + kept[0]
    with pytest.raises(tangrad.errors.UnexpectedTracerError):
        vector() + kept[0]


def test_a_rule_that_overrides_another_takes_effect_at_once(backend):
    if backend != "numpy":
        pytest.skip("the rule is one of the NumPy backend")
    x = vector()
    own = np.sinh(x).tolist()
    mine = RuleSet("lower.numpy", api=1, override=True)

    @mine.rule(sinh_p)
    def negated(context, operand):
        return numpy.negative(operand)

    assert np.sinh(x).tolist() == own
    with register(mine, name="elementwise.mine"):
        assert np.sinh(x).tolist() == [-1, 2, -3]
    assert np.sinh(x).tolist() == own


def test_nans_are_found_in_what_was_remembered_before(backend):
    code = """
import tangrad, tangrad.numpy as np
x = np.zeros(2)
x / x, np.log(x - 1), np.sum(x / x)
for work in (lambda: x / x, lambda: np.log(x - 1), lambda: (x - np.inf) * 0.0):
    with tangrad.debug_nans(True):
        try:
            work()
        except FloatingPointError:
            continue
    raise SystemExit("no error")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TANGRAD_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_arrays_of_two_backends_with_one_type():
    if len(BACKENDS) < 2:
        pytest.skip("there is one backend")
    made = []
    for _ in range(2):
        for name in BACKENDS:
            with tangrad.use_backend(name):
                x = vector()
            result = np.reshape(x * 2.0 + x, (3, 1))
            made.append((type(result) is type(x), result.tolist()))
    assert set(map(str, made)) == {str((True, [[3.0], [-6.0], [9.0]]))}


# --- functions that are one operation ------------------------------------------------------------------------------


@as_one("scale", sequence="arrays")
def total(arrays, other=None, scale=1):
    """The scaled sum of arrays, made of several operations."""
    result = arrays[0]
    for x in arrays[1:]:
        result = result + x
    return (result if other is None else result + other) * scale


def test_a_call_in_any_form_is_the_same():
    x = vector()
    for _ in range(2):
        assert total([x, x], x, 2).tolist() == total(arrays=(x, x), scale=2, other=x).tolist() == [6, -12, 18]
        assert total([x, 1.0]).tolist() == [2, -1, 4]
        assert total([x], None, True).tolist() == total([x], scale=1).tolist() == [1, -2, 3]


def test_calls_that_are_not_one_operation_run_as_written():
    x = vector()
    assert total([x] * 100).tolist() == [100, -200, 300]
    assert total([x], scale=numpy.array([1.0, 0, 1], "float32")).tolist() == [1, 0, 3]  # has no hash
    with pytest.raises(TypeError, match="multiple values"):
        total([x], None, 2, scale=2)
    with pytest.raises(TypeError, match="unexpected"):
        total([x], nonsense=2)


def test_settings_are_part_of_what_is_remembered():
    wide = numpy.array([1, 2], "int32")
    assert np.sum(np.asarray(wide)).dtype == "int32"
    with tangrad.enable_x64(True):
        assert np.sum(np.asarray(wide)).dtype == "int64"
    assert np.sum(np.asarray(wide)).dtype == "int32"


# --- the kernel's table ----------------------------------------------------------------------------------------------


def test_the_kernel_keeps_what_computes_a_signature():
    """It is made once, of one, two and three operands, of literals alone, and with several results."""
    tangrad.core.backends.forget_direct_calls()
    x = vector()
    kept = []
    for _ in range(3):
        assert sinh_p.bind(x).tolist() == pytest.approx(numpy.sinh([1.0, -2.0, 3.0]), rel=1e-6)
        assert clamp_p.bind(literal(0.0, x.dtype), x, literal(2.0, x.dtype)).tolist() == [1, 0, 2]
        assert add_p.bind(literal(1.0, x.dtype), literal(2.0, x.dtype)).item() == 3
        first, second = split_p.bind(x, sizes=(1, 2), axis=0)
        assert first.tolist() == [1] and second.tolist() == [-2, 3]
        kept.append([dict(primitive.calls) for primitive in (sinh_p, clamp_p, add_p, split_p)])
    assert kept[0] == kept[1] == kept[2] and all(kept[0])


def test_what_is_kept_is_forgotten():
    x = vector()
    np.sin(x), sinh_p.bind(x)
    assert sinh_p.calls
    tangrad.core.backends.forget_direct_calls()
    assert not sinh_p.calls


def test_a_table_that_is_filled_again_is_cleared_again():
    x, calls = vector(), DirectCalls()
    for _ in range(2):
        calls.add("key", lambda: x)
        tangrad.core.backends.forget_direct_calls()
        assert not calls


def test_tables_and_their_number_are_bounded(monkeypatch):
    monkeypatch.setattr(primitive, "CALL_LIMIT", 8)
    tangrad.core.backends.forget_direct_calls()
    calls = DirectCalls()
    for key in range(30):
        calls.add(key, vector)
        DirectCalls().add(key, vector)
        assert len(calls) <= 8 and len(primitive._filled) <= 8


def test_a_primitive_that_is_defined_anew_forgets_its_functions():
    x = vector()
    sinh_p.bind(x)
    assert sinh_p.calls
    sinh_p.clear_cache()
    assert not sinh_p.calls and sinh_p.bind(x).tolist() == pytest.approx(numpy.sinh([1.0, -2.0, 3.0]), rel=1e-6)


def test_operands_with_more_than_one_backend_share_no_entry():
    if len(BACKENDS) < 2:
        pytest.skip("one backend is installed")
    for name in BACKENDS * 2:
        with tangrad.use_backend(name):
            x = vector()
            assert type(sinh_p.bind(x)) is type(x)
            assert type(add_p.bind(literal(1.0, x.dtype), literal(2.0, x.dtype))) is type(x)


@pytest.mark.parametrize("function", [np.exp, np.sinh, np.negative, np.floor, np.square, np.isfinite, lambda x: x + x])
def test_literals_are_computed_where_the_setting_says_whatever_was_before(function):
    """Of arrays without dimensions and of literals, whose types are equal: each goes where it is, in any order."""
    if len(BACKENDS) < 2:
        pytest.skip("one backend is installed")
    operands = {}
    for name in BACKENDS:
        with tangrad.use_backend(name):
            operands[name] = np.asarray(numpy.float32(2))
    for order in (BACKENDS, BACKENDS[::-1], BACKENDS):
        for name in order:
            with tangrad.use_backend(name):
                alone = function(literal(2.0, numpy.float32))
                assert type(alone) is type(operands[name])
                for made in operands.values():
                    assert type(function(made)) is type(made)
                    assert function(made).item() == pytest.approx(alone.item(), rel=1e-6)


def test_the_old_name_of_the_tables_warns():
    with pytest.warns(DeprecationWarning, match=r"tangrad\.core\.caches"):
        assert tangrad.core.DirectCalls is DirectCalls
