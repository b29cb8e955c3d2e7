"""The kernel's rooms one by one: avals, keys, primitives, staging, jaxprs, the checker, dead code, rule tables."""

import copy
import gc
import pickle
import re
import threading
import weakref

import numpy as np
import pytest

import tangrad.core
from tangrad._core.diagnostics import errors
from tangrad._core.kernel import aval as aval_module
from tangrad._core.kernel.keys import params_key, typed_key
from tangrad.core import (
    ClosedJaxpr,
    Effect,
    JaxprEqn,
    Primitive,
    PrimitiveSet,
    RuleKind,
    RuleSet,
    ShapedArray,
    Trace,
    Var,
    composition,
    current_trace,
    dce_jaxpr,
    holding,
    literal,
    register,
    rule_table,
    trace_to_jaxpr,
)
from tangrad.core.arguments import canonicalize_shape
from tangrad.core.caches import FixedParams
from tangrad.core.tools import check_jaxpr, configure_plugins

F3 = ShapedArray((3,), "float32")

family = PrimitiveSet("kernel_test", api=1)


@family.primitive
def double(x):
    """Twice."""
    return ShapedArray(x.shape, x.dtype)


@family.primitive(multiple_results=True)
def both(x, y, *, order=()):
    """The operands."""
    return x, y


class Shout(Effect):
    """An effect that may not be dropped."""


SHOUT = Shout()


@family.primitive(effects=lambda avals, params: {SHOUT})
def shout(x):
    """The operand, aloud."""
    return ShapedArray(x.shape, x.dtype)


@pytest.fixture(autouse=True)
def registered():
    with register(family):
        yield


# --- avals ---------------------------------------------------------------------------------------------------------


def test_equal_avals_are_one_object():
    assert ShapedArray((3,), "float32") is F3 is ShapedArray([np.int64(3)], np.float32)
    assert ShapedArray((3,), "float32", weak_type=True) is not F3
    assert ShapedArray((3,), "float32", named_shape={"i": 2}) is ShapedArray((3,), "float32", False, (("i", 2),))
    assert pickle.loads(pickle.dumps(F3)) is F3 is copy.deepcopy(F3)
    assert F3.update(shape=(2, 3)).size == 6 and repr(F3) == "ShapedArray(float32[3])"
    assert str(F3) == "float32[3]" and str(F3.update(shape=(), weak_type=True)) == "~float32[]"


def test_avals_are_interned_weakly_but_for_the_latest():
    kept = [ShapedArray((7919, n), "float32") for n in range(1000, 4000)]
    assert len(aval_module._interned) >= 3000
    del kept
    gc.collect()
    left = [key for key in aval_module._interned if key[0][:1] == (7919,)]
    assert 0 < len(left) < 1100


def test_interning_in_threads_gives_one_object():
    made = []
    barrier = threading.Barrier(8)

    def make():
        barrier.wait()
        made.append([ShapedArray((11, n), "int8") for n in range(300)])

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one is other for row in made for one, other in zip(row, made[0]))


@pytest.mark.parametrize("shape", [(2.0,), ("3",), (None,), (2, 1.5)])
def test_shapes_take_integers_only(shape):
    with pytest.raises(TypeError, match="shapes must be sequences of integers"):
        canonicalize_shape(shape)


def test_negative_dimensions_are_refused():
    with pytest.raises(ValueError, match="negative"):
        canonicalize_shape((2, -1))


# --- keys ----------------------------------------------------------------------------------------------------------


def test_keys_distinguish_types_and_the_sign_of_zero():
    values = [
        1,
        1.0,
        True,
        0,
        0.0,
        -0.0,
        False,
        (1,),
        (1.0,),
        (True,),
        1 + 0j,
        "1",
        None,
        frozenset({1}),
        frozenset({True}),
    ]
    assert len({typed_key(value) for value in values}) == len(values)
    assert typed_key(float("nan")) == typed_key(float("nan"))
    assert params_key({"axes": (0, 1)}) != params_key({"axes": (False, True)})
    assert params_key({"x": 1}) != params_key({"x": 1.0})


# --- primitives ----------------------------------------------------------------------------------------------------


def test_results_are_weak_where_all_operands_are():
    weak = ShapedArray((), "float32", True)
    assert double.infer((weak,), {}).weak_type and not double.infer((F3,), {}).weak_type
    assert [a.weak_type for a in both.infer((weak, F3), {})] == [False, False]


def test_named_axes_are_joined():
    x, y = ShapedArray((), "float32", False, {"i": 2}), ShapedArray((), "float32", False, {"j": 3})
    assert [a.named_shape for a in both.infer((x, y), {})] == 2 * [(("i", 2), ("j", 3))]
    mixed = PrimitiveSet("kernel_mixed", api=1)

    @mixed.primitive
    def meet(x, y):
        """Meets."""
        return ShapedArray(x.shape, x.dtype)

    assert meet.infer((x, y), {}).named_shape == (("i", 2), ("j", 3))
    with pytest.raises(TypeError, match="axis 'i' has size 2 in one operand and 5"):
        meet.infer((x, ShapedArray((), "float32", False, {"i": 5})), {})


def test_parameters_must_be_hashable():
    with pytest.raises(TypeError, match=r"parameter 'order' of primitive 'kernel_test.both' must be hashable .* \[1\]"):
        both.infer((F3, F3), {"order": [1]})


def test_wrong_abstract_evaluation_is_named():
    wrong = PrimitiveSet("kernel_wrong", api=1)

    @wrong.primitive
    def nothing(x):
        """Nothing."""

    with pytest.raises(TypeError, match=r"primitive 'kernel_wrong\.nothing' must return one aval"):
        nothing.infer((F3,), {})
    with pytest.raises(ValueError, match="already has a primitive 'nothing'"):
        wrong.primitive(lambda x: x, name="nothing")


def test_primitives_pickle_by_identity():
    assert pickle.loads(pickle.dumps(double)) is double


# --- staging, jaxprs, the checker, dead code -----------------------------------------------------------------------


def staged(function, *avals):
    return ClosedJaxpr(*trace_to_jaxpr(lambda *args: function(*args), avals))


def test_printing():
    closed = staged(lambda x, y: both.bind(double.bind(x), y, order=(1, 0))[:1], F3, F3)
    assert str(closed) == (
        "{ lambda ; a:f32[3] b:f32[3]. let\n"
        "    c:f32[3] = double a\n"
        "    d:f32[3] _:f32[3] = both[order=(1, 0)] c b\n"
        "  in (d,) }"
    )
    check_jaxpr(closed)
    assert "test_kernel.py" in closed.pretty_print(source_info=True)
    assert closed._repr_html_().startswith("<pre")


def test_nested_programs_are_indented():
    inner = staged(lambda x: [double.bind(x)], F3)
    holder = PrimitiveSet("kernel_holder", api=1)

    @holder.primitive(multiple_results=True)
    def hold(x, *, jaxpr):
        """Holds a program."""
        return tuple(jaxpr.out_avals)

    printed = str(staged(lambda x: hold.bind(x, jaxpr=inner), F3))
    assert "b:f32[3] = hold[jaxpr={ lambda ; c:f32[3]. let d:f32[3] = double c in (d,) }] a" in printed


def test_constants_and_literals():
    array = np.arange(3.0, dtype="float32")
    jaxpr, constants = trace_to_jaxpr(lambda x: [both.bind(x, array)[1], 2.0], [F3])
    assert len(jaxpr.constvars) == len(constants) == 1 and repr(jaxpr.outvars[1]) == "2.0:f32[]"


def break_it(closed, how):
    jaxpr = closed.jaxpr
    eqn = jaxpr.eqns[0]
    broken = {
        "undefined": lambda: jaxpr.replace(eqns=[eqn.replace(invars=[Var(F3)])]),
        "twice": lambda: jaxpr.replace(eqns=[eqn, eqn]),
        "type": lambda: jaxpr.replace(eqns=[JaxprEqn(double, eqn.invars, [Var(ShapedArray((4,), "float32"))], {})]),
        "output": lambda: jaxpr.replace(outvars=[Var(F3)]),
        "effects": lambda: jaxpr.replace(eqns=[eqn.replace(effects=frozenset({SHOUT}))], effects=frozenset()),
    }
    return broken[how]()


@pytest.mark.parametrize("how", ["undefined", "twice", "type", "output", "effects"])
def test_the_checker_finds(how):
    closed = staged(lambda x: [double.bind(x)], F3)
    check_jaxpr(closed)
    with pytest.raises(errors.JaxprTypeError):
        check_jaxpr(break_it(closed, how))


TEXTS = {
    "type": r"results have types .*, the primitive infers .*, in the equation\n    b:f32\[4\] = double a",
    "output": r"a variable is read before .*, in the jaxpr\n\{ lambda ; a:f32\[3\]\. let .* in \(\w,\) \}",
}


@pytest.mark.parametrize("how", TEXTS)
def test_the_error_of_the_checker_is_a_text_and_holds_no_jaxpr(how):
    jaxpr = break_it(staged(lambda x: [double.bind(x)], F3), how)
    watched = weakref.ref(jaxpr)
    with pytest.raises(errors.JaxprTypeError) as caught:
        check_jaxpr(jaxpr)
    error = caught.value.with_traceback(None)  # its frames hold the jaxpr, as those of any error do
    assert re.fullmatch(TEXTS[how], str(error)) and error.args == (str(error),)
    del jaxpr, caught
    gc.collect()
    assert watched() is None


def test_dead_code_goes_and_effects_stay():
    def function(x, y):
        double.bind(y)
        shout.bind(y)
        return [double.bind(x), double.bind(y)]

    closed = staged(function, F3, F3)
    jaxpr, used = dce_jaxpr(closed.jaxpr, [True, False])
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["shout", "double"] and used == [True, True]
    pure = staged(lambda x, y: [double.bind(x), double.bind(y)], F3, F3)
    jaxpr, used = dce_jaxpr(pure.jaxpr, [True, False])
    assert len(jaxpr.eqns) == 1 and used == [True, False] and len(jaxpr.invars) == 1
    _, used = dce_jaxpr(pure.jaxpr, [True, False], instantiate=True)
    assert used == [True, True]


def test_former_ways_to_hold_and_to_end_a_trace_work_and_warn():
    with pytest.warns(DeprecationWarning, match=r"write tangrad\.core\.holding\(trace=\.\.\.\)"):
        hold = tangrad.core.set_current_trace
    before, trace = current_trace(), Trace()
    with hold(trace) as held:
        assert held is trace is current_trace()
    assert current_trace() is before
    with pytest.warns(DeprecationWarning, match=r"write tangrad\.core\.run_traced"):
        end = tangrad.core.close_trace
    assert end(trace)() is trace and not trace.alive


def test_the_current_trace_is_restored_after_an_error():
    before = current_trace()
    with pytest.raises(KeyboardInterrupt), holding(trace=Trace()):
        raise KeyboardInterrupt
    assert current_trace() is before

    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trace_to_jaxpr(interrupted, [F3])
    assert current_trace() is before


def test_a_result_that_is_no_array():
    with pytest.raises(TypeError, match="returned, as output 0, 'text' of type str"):
        trace_to_jaxpr(lambda x: ["text"], [F3], "f")


# --- rule tables ---------------------------------------------------------------------------------------------------

kind = RuleKind("kernel_kind", api=1, signature="(x)", doc="for tests", derive=lambda primitive: lambda: "derived")


def rules(answer, **options):
    made = RuleSet("kernel_kind", api=1, **options)
    made.add(double, lambda: answer)
    return made


def test_a_rule_and_its_undoing():
    table = rule_table("kernel_kind")
    with register(kind):
        with register(rules("mine")):
            assert table[double]() == "mine" and table.cell(double).status == "rule"
        with pytest.raises(errors.MissingRuleError, match=r"kernel_test.double.*kernel_kind") as caught:
            table[double]
        assert "RuleSet" in str(caught.value)


def test_two_rules_are_a_conflict_unless_one_overrides():
    table = rule_table("kernel_kind")
    with register(kind), register(rules("first")):
        conflict = pytest.raises(errors.PluginConflictError, match=r"kernel_kind.*has undo\(\); the author")
        with register(rules("second"), name="kernel_test.second"), conflict:
            table[double]
        with register(rules("third", override=True), name="kernel_test.third"):
            assert table[double]() == "third"
        assert table[double]() == "first"


def test_a_denied_rule():
    table = rule_table("kernel_kind")
    with register(kind), register(rules("mine")):
        configure_plugins(deny=["kernel_kind:double"])
        try:
            with pytest.raises(errors.DeniedPluginError, match=r"kernel_test\.double"):
                table[double]
        finally:
            configure_plugins()
        assert table[double]() == "mine"


def test_decomposition_is_the_last_resort():
    made = PrimitiveSet("kernel_decomposed", api=1)
    composed = made.primitive(lambda x: x, name="composed", decompose=lambda x: double.bind(x))
    with register(kind), register(made):
        cell = rule_table("kernel_kind").cell(composed)
        assert cell.status == "derived" and cell.rule() == "derived"


def test_platforms_fall_back_on_the_general_kind():
    general = RuleSet("lower.kernel", api=1)
    general.add(double, lambda: "general")
    special = RuleSet("lower.kernel.gpu", api=1)
    special.add(both, lambda: "special")
    with register(general), register(special):
        table = rule_table("lower.kernel.gpu")
        assert table[double]() == "general" and table[both]() == "special"
        assert table.cell(double).status == "general"


def test_declared_not_applicable():
    declared = RuleSet("kernel_kind", api=1)
    declared.not_applicable("it is not linear", double)
    with register(kind), register(declared):
        assert rule_table("kernel_kind").cell(double).status == "not applicable"
        with pytest.raises(errors.MissingRuleError, match="it is not linear"):
            rule_table("kernel_kind")[double]


@pytest.fixture
def shouting():
    """A kind whose rules have one form, and what made them."""
    made = []

    def loud(primitive, *words):
        made.append(primitive)
        return lambda: " ".join([primitive.name, *words])

    return RuleKind("kernel_kind", api=1, signature="(x)", doc="for tests", forms={"loud": loud}), made


def test_rules_of_a_form_are_made_by_the_owner_of_the_kind_when_they_are_needed(shouting):
    owner, made = shouting
    declared = RuleSet("kernel_kind", api=1)
    declared.form("loud", double, both, using=["indeed"])
    with register(declared), register(owner):
        assert made == []
        assert rule_table("kernel_kind")[double]() == "double indeed"
        assert rule_table("kernel_kind").cell(both).status == "rule"
        rule_table("kernel_kind")[double]
        assert made == [double, both]


def test_a_form_that_a_kind_does_not_have_sets_its_rules_aside(shouting):
    owner, made = shouting
    declared = RuleSet("kernel_kind", api=1)
    declared.form("quiet", double)
    with register(owner), pytest.raises(LookupError, match="'kernel_kind' have no form quiet; they have: loud"):
        register(declared)
    assert made == []


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: RuleSet("kernel_kind", api=1).add("double", len), TypeError),
        (lambda: rules("twice").form("loud", double), ValueError),
        (lambda: RuleSet("kernel_kind", api=1).add(double, "rule"), TypeError),
        (lambda: rules("twice").add(double, len), ValueError),
        (lambda: register(RuleSet("kernel_kind", api=1)), ValueError),
        (lambda: register(rules("x"), group="tangrad.rules.other_kind", name="kernel_test"), ValueError),
        (lambda: register(object(), group="tangrad.primitives", name="x"), TypeError),
        (lambda: register(PrimitiveSet("kernel_new", api=99)), errors.ApiVersionError),
    ],
)
def test_garbage_is_refused(wrong, error):
    with pytest.raises(error):
        wrong()


def test_api_versions_are_required():
    with pytest.raises(TypeError):
        PrimitiveSet("kernel_unversioned")
    with pytest.raises(TypeError):
        RuleSet("jvp")


def test_literals():
    assert literal(2, np.dtype("float32")) is literal(2, np.dtype("float32"))
    assert np.signbit(literal(-0.0, np.dtype("float32")).val) and not np.signbit(literal(0.0, np.dtype("float32")).val)
    with pytest.raises(OverflowError):
        literal(1 << 40, np.dtype("int32"))


def test_provenance_of_what_is_registered_by_hand():
    plugin = composition().provenance(family)
    assert plugin is not None and plugin.name == "kernel_test"


@pytest.mark.parametrize("name", ["", "two words", "line\nbreak", "#", "a'b", "<lambda>", "-x"])
def test_names_that_could_end_a_comment_or_a_policy_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="the name of a primitive must be made of letters"):
        Primitive(name, lambda x: x, family="named_family")
    with pytest.raises(ValueError, match="the name of a family must be made of letters"):
        PrimitiveSet(name, api=1)


def test_names_are_strings() -> None:
    with pytest.raises(TypeError, match="the name of a primitive must be a string, got 3"):
        Primitive(3, lambda x: x, family="named_family")  # type: ignore[arg-type]
    assert Primitive("größe.of-x_2", lambda x: x, family="named_family").name == "größe.of-x_2"


def test_types_are_inferred_once_for_parameters_fixed_or_not() -> None:
    """Also those of results without dimensions, or of length 0, which count as false."""
    seen = []
    family = PrimitiveSet("inferred_once", api=1)

    @family.primitive
    def shaped(x, *, shape):
        seen.append(shape)
        return ShapedArray(shape, x.dtype)

    avals = (ShapedArray((2,), np.float32),)
    for shape in ((), (0,), (3,)):
        for params in (FixedParams(shape=shape), {"shape": shape}, FixedParams(shape=shape)):
            assert shaped.infer(avals, params).shape == shape
    assert seen == [(), (0,), (3,)]


def test_closed_jaxprs_have_the_fields_of_their_program():
    closed = tangrad.make_jaxpr(lambda x: tangrad.lax.sin(x) + tangrad.numpy.asarray(np.arange(2.0, dtype="float32")))(
        1.0
    )
    assert (closed.invars, closed.outvars, closed.constvars) == (
        closed.jaxpr.invars,
        closed.jaxpr.outvars,
        closed.jaxpr.constvars,
    )
    fewer = closed.replace(eqns=closed.eqns[:1], outvars=closed.eqns[0].outvars)
    assert len(fewer.eqns) == 1 and fewer.consts == closed.consts and len(closed.eqns) > 1
    other = closed.replace(consts=[np.ones(2, "float32")] * len(closed.consts))
    assert other.jaxpr.eqns == closed.eqns and other.consts is not closed.consts
    assert closed.pretty_print(use_color=False) == str(closed)
