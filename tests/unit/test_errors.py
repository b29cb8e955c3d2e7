"""Errors: their places among Python's, their words, and that they keep nothing alive."""

import copy
import gc
import pickle
import weakref
from types import SimpleNamespace

import pytest

import tangrad
from tangrad._console.explanations.missing import describe_leak
from tangrad._console.explanations.rules import missing_rule
from tangrad._core.composition.policy import check_api_version
from tangrad._core.diagnostics import errors
from tangrad._core.diagnostics.source_info import current_source
from tangrad._lax.elementwise.primitives import sin_p
from tangrad.core import PrimitiveSet, RuleKind, RuleSet, ShapedArray, composition, register, rule_table
from tangrad.core.tools import Explanations, Plugin

TRACER_ERRORS = [
    errors.ConcretizationTypeError,
    errors.TracerBoolConversionError,
    errors.TracerIntegerConversionError,
    errors.TracerArrayConversionError,
    errors.NonConcreteBooleanIndexError,
    errors.UnexpectedTracerError,
]


class FakeTracer:
    __slots__ = ("__weakref__", "aval", "source_info")

    def __init__(self):
        self.aval = ShapedArray((3,), "float32")
        self.source_info = current_source()

    def origin(self):
        return "a value of the program traced from loss"


# --- kinds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error, bases",
    [
        (errors.ConcretizationTypeError, TypeError),
        (errors.TracerBoolConversionError, errors.ConcretizationTypeError),
        (errors.TracerIntegerConversionError, TypeError),
        (errors.TracerArrayConversionError, TypeError),
        (errors.NonConcreteBooleanIndexError, IndexError),
        (errors.UnexpectedTracerError, TypeError),
        (errors.ArgumentError, TypeError),
        (errors.ArgumentError, ValueError),
        (errors.TypePromotionError, ValueError),
        (errors.MissingRuleError, NotImplementedError),
        (errors.MissingRuleError, TypeError),
        (errors.MissingDistributionError, AttributeError),
        (errors.MissingDistributionImportError, ModuleNotFoundError),
        (errors.JaxprTypeError, TypeError),
        (errors.PluginConflictError, errors.PluginError),
        (errors.BrokenPluginError, errors.PluginError),
        (errors.ApiVersionError, errors.PluginError),
        (errors.DeniedPluginError, errors.PluginError),
        (errors.PluginError, errors.TangradError),
        (errors.PluginWarning, UserWarning),
    ],
)
def test_errors_are_of_pythons_kinds_too(error, bases):
    assert issubclass(error, bases)


@pytest.mark.parametrize("error", TRACER_ERRORS)
def test_tracer_errors_are_those_of_jax(error):
    jax = pytest.importorskip("jax")
    theirs = getattr(jax.errors, error.__name__)
    builtin = next(base for base in theirs.__mro__ if base.__module__ == "builtins")
    assert issubclass(error, builtin)


# --- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", TRACER_ERRORS)
def test_tracer_errors_say_what_where_and_what_to_write(error):
    text = str(error(FakeTracer(), "the argument `stop` of arange"))
    assert "f32[3]" in text
    assert "(for the argument `stop` of arange)" in text
    assert "It is a value of the program traced from loss." in text
    assert f"It was made at {__file__}:" in text
    assert "def f(" in text  # the code that does it
    assert "{" not in text
    assert all(len(line) <= 120 for line in text.splitlines()[2:])


@pytest.mark.parametrize("error", TRACER_ERRORS)
def test_tracer_errors_take_a_finished_message_and_a_bare_tracer(error):
    assert str(error("my words")) == "my words"
    assert "(for" not in str(error(FakeTracer()))
    assert "a traced value" in str(error(object()))
    assert "a traced value" in str(error(None))


def test_a_missing_rule_says_who_and_the_two_lines_that_add_it():
    family = PrimitiveSet("nufft_family", api=1)
    plain = family.primitive(lambda x: x, name="nufft1")
    kind = RuleKind("lower.abacus", signature="(ctx, *operands, **params)", doc="beads", api=1)
    rules = RuleSet("lower.abacus", api=1)
    rules.rule(sin_p)(lambda ctx, x: x)
    with register(family), register(kind):
        text = missing_rule("lower.abacus", plain, "tangrad-finufft 2.0")
        assert (
            "primitive 'nufft_family.nufft1', shipped by tangrad-finufft 2.0, has no rule of kind 'lower.abacus'"
            in text
        )
        assert "belongs to (by hand) (beads)" in text
        assert "rules of this kind: none." in text
        assert (
            '[project.entry-points."tangrad.rules.lower.abacus"]\n'
            '    nufft_family = "some_package.lower_abacus:lower_abacus"'
        ) in text
        assert "@lower_abacus.rule(nufft1)\n    def _(ctx, *operands, **params): ..." in text
        with register(rules):
            assert "rules of this kind: (by hand)." in missing_rule("lower.abacus", plain, "it")
        with pytest.raises(errors.MissingRuleError) as raised:
            rule_table("lower.abacus")[plain]
        assert str(raised.value) == missing_rule("lower.abacus", plain, "(by hand)")
    assert "no installed distribution declares that kind" in missing_rule("lower.abacus", plain, "it")


def test_the_kernel_alone_says_less_of_rules_and_leaks():
    class Plain:
        identity = "a.b"

    assert "'a.b', shipped by x, has no rule of kind 'jvp'" in Explanations().missing_rule("jvp", Plain, "x")
    assert "FakeTrace has ended and 1 of its tracers" in Explanations().leak(FakeTrace(), [None])


def test_the_kernel_alone_does_not_say_whose_rule_failed():
    family = PrimitiveSet("explained_family", api=1)
    wrong = family.primitive(lambda x: 3, name="wrong")
    with register(family):
        with pytest.raises(TypeError, match=r"must return one aval, got 3.*It is from"):
            wrong(1.0)
        plain = register(Explanations(), group="tangrad.explanations", name="missing", override=True)
        with plain, pytest.raises(TypeError) as raised:
            wrong(1.0)
    assert str(raised.value).endswith("must return one aval, got 3")


def test_a_decomposition_that_does_not_help_is_not_denied():
    family = PrimitiveSet("decomposed_family", api=1)
    doubled = family.primitive(lambda x: x, name="doubled", decompose=lambda x: x + x)
    plain = family.primitive(lambda x: x, name="plain")
    kind = RuleKind("undecomposed", signature="(x)", doc="rules that are made of nothing", api=1)
    with register(family), register(kind):
        for primitive, words in (
            (doubled, "it has a decomposition, but rules of this kind are not made of one"),
            (plain, "and no decomposition that would stand in"),
        ):
            with pytest.raises(errors.MissingRuleError, match=words):
                rule_table("undecomposed")[primitive]


@pytest.mark.parametrize(
    ("distribution", "is_installed", "is_usual"),
    [("tangrad-nn", False, True), ("tangrad-nn", True, False), ("tangrad-export", False, False)],
)
def test_the_whole_is_offered_only_where_it_helps(monkeypatch, distribution, is_installed, is_usual):
    from tangrad._console.explanations.missing import not_installed
    from tangrad.core import composition

    index = type(composition().index)
    monkeypatch.setattr(index, "has_distribution", lambda _, name: is_installed and name == "tangrad")
    text = str(not_installed("tangrad.something", distribution))
    assert f"Install it with: pip install {distribution}" in text
    assert text.endswith("pip install tangrad)") is is_usual


def test_the_distribution_of_a_package_is_that_of_most_of_its_names():
    from tangrad._console.explanations import catalogue

    assert catalogue.distribution_of("export") == catalogue.distribution_of_module("tangrad.export") == "tangrad-export"
    assert catalogue.distribution_of("export.symbolic_shape") == "tangrad-lax"
    assert catalogue.distribution_of_module("tangrad._lax.symbolic.dims") == "tangrad-lax"


def test_a_missing_distribution_is_named_the_same_way_by_attribute_and_by_import():
    by_name = errors.MissingDistributionError("tangrad.grad", "tangrad-autodiff")
    by_import = errors.MissingDistributionImportError("tangrad.numpy", "tangrad-numpy")
    assert "pip install tangrad-autodiff" in str(by_name)
    assert str(by_import) == str(by_name).replace("tangrad.grad", "tangrad.numpy").replace("autodiff", "numpy")
    assert by_import.name == "tangrad.numpy"
    assert str(errors.MissingDistributionError("my words")) == "my words"
    assert str(errors.MissingDistributionImportError("my words")) == "my words"


def test_an_api_version_that_does_not_fit():
    plugin = Plugin(composition(), "tangrad.primitives", "nufft", "finufft:nufft", "tangrad-finufft", "2.0")
    with pytest.raises(
        errors.ApiVersionError,
        match=r"tangrad-finufft 2\.0: finufft:nufft was written for extension API 7; this tangrad-core has 1\.",
    ):
        check_api_version(plugin, SimpleNamespace(api=7))


# --- what errors keep ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", TRACER_ERRORS)
def test_an_error_does_not_keep_its_tracer(error):
    tracer = FakeTracer()
    reference = weakref.ref(tracer)
    kept = error(tracer)
    del tracer
    assert reference() is None
    assert str(kept)


@pytest.mark.parametrize(
    "error",
    [
        errors.TracerBoolConversionError(FakeTracer()),
        errors.MissingDistributionError("tangrad.grad", "tangrad-autodiff"),
        errors.MissingDistributionImportError("tangrad.numpy", "tangrad-numpy"),
        errors.MissingRuleError("words"),
        errors.BrokenPluginError("words"),
    ],
)
def test_errors_survive_pickle_and_copy(error):
    for clone in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(clone) is type(error)
        assert str(clone) == str(error)


# --- leaks ---------------------------------------------------------------------------------------------------------


class Owner:
    pass


class Slotted:
    __slots__ = ("kept",)


GLOBAL = []


class FakeTrace:
    pass


@pytest.fixture
def collector_sees_all():
    """The collector leaves what the tests' modules hold alone, and names none of it as a holder."""
    gc.unfreeze()
    yield
    gc.freeze()


def leak_message(tracer):
    gc.collect()
    return str(describe_leak(FakeTrace(), [tracer]))


def test_leaks_name_the_global(collector_sees_all):
    GLOBAL.append(FakeTracer())
    try:
        text = leak_message(GLOBAL[0])
    finally:
        GLOBAL.clear()
    assert "FakeTrace has ended and 1 of its tracers are still held" in text
    assert f"f32[3], made at {__file__}" in text
    assert f"the global 'GLOBAL' of module {__name__} (in a list)" in text


def test_leaks_name_attributes_slots_and_closures():
    owner, slotted = Owner(), Slotted()
    owner.state = slotted.kept = tracer = FakeTracer()

    def hold(value):
        return lambda: value

    held = hold(tracer)
    text = leak_message(tracer)
    assert "the attribute 'state' of an object of type Owner" in text
    assert "the attribute 'kept' of an object of type Slotted" in text
    assert "the variable 'value' that function" in text
    assert held() is tracer


def test_of_many_leaks_some_are_listed():
    many = [FakeTracer() for _ in range(9)]
    text = str(describe_leak(FakeTrace(), many))
    assert "9 of its tracers" in text
    assert "and 4 more" in text
    assert len(text.splitlines()) < 12


def test_a_leaked_trace_without_tracers():
    assert "though none of its tracers" in str(describe_leak(FakeTrace(), []))


def test_what_a_worker_raises_can_be_sent_home():
    """An exception that went through a boundary of the API has a traceback among its attributes."""
    import tangrad

    for function, kind in ((lambda x: bool(x), errors.TracerBoolConversionError), (lambda x: {}["missing"], KeyError)):
        with pytest.raises(kind) as caught:
            tangrad.jit(function)(1.0)
        assert caught.value.unfiltered_traceback is not None
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is kind and again.args == caught.value.args and again.unfiltered_traceback is None


TRACED_SIZES = {
    "shape of zeros": lambda np, random, n: np.zeros(n),
    "num of linspace": lambda np, random, n: np.linspace(0, 1, n),
    "axes of transpose": lambda np, random, n: np.transpose(np.ones(3), n),
    "indices_or_sections of split": lambda np, random, n: np.split(np.ones(4), n),
    "num of random.split": lambda np, random, n: random.split(random.key(0), n),
    "shape of random.normal": lambda np, random, n: random.normal(random.key(0), (n, 2)),
    "shape of random.uniform": lambda np, random, n: random.uniform(random.key(0), (n,)),
    "shape of random.gumbel": lambda np, random, n: random.gumbel(random.key(0), (n,)),
}


@pytest.mark.parametrize("argument", TRACED_SIZES)
def test_errors_of_traced_sizes_name_the_argument(argument):
    """A size of 2, a number of parts: what decides the structure of a program cannot be traced."""
    run = lambda n: TRACED_SIZES[argument](tangrad.numpy, tangrad.random, n)
    run(2 if argument != "axes of transpose" else 0)  # as a number it is well
    with pytest.raises(errors.TracerIntegerConversionError, match=f"for the argument {argument}"):
        tangrad.jit(run)(2)


def test_unique_says_what_would_fix_the_number_of_its_results():
    with pytest.raises(errors.ConcretizationTypeError, match="the number of results of unique, which size= would fix"):
        tangrad.jit(tangrad.numpy.unique)(tangrad.numpy.ones(3))
