"""Every way in which a rule can go wrong: the error says primitive, kind, distribution, and what is expected."""

import sys
import tempfile
import traceback
from pathlib import Path

import numpy
import pluggy
import pytest

import tangrad
import tangrad.runtime
from tangrad import lax, use_backend
from tangrad._core.composition.plugin import Plugin
from tangrad._core.kernel.rules import find_rule_kind
from tangrad.core import (
    NamedAxisEffect,
    PrimitiveSet,
    RuleSet,
    ShapedArray,
    composition,
    decomposition_jaxpr,
    find_primitive,
    register,
    rule_table,
    trace_to_closed_jaxpr,
)
from tangrad.core.settings import SETTINGS
from tangrad.core.tools import is_internal, rule_kinds
from tangrad.errors import BrokenPluginError, PluginWarning
from tangrad.experimental.sparse import BCOO, sparsify
from tangrad.sharding import AxisType, Mesh, NamedSharding
from tangrad.sharding import PartitionSpec as P

np = tangrad.numpy
X = numpy.array([1.0, 2.0, 3.0], "float32")
WRONG = "going_wrong.doubled"


class Planted:
    """A primitive with what is wrong with it, registered within a block."""

    def __init__(self, rules=(), several=False, **options):
        self.family = PrimitiveSet("going_wrong", api=1)
        result = (lambda x, **params: (x, x)) if several else (lambda x, **params: ShapedArray(x.shape, x.dtype))
        options.setdefault("decompose", lambda x, **params: (x, x) if several else lax.mul(x, 2.0))
        evaluated = options.pop("abstract_eval", result)
        self.primitive = self.family.primitive(evaluated, name="doubled", multiple_results=several, **options)
        self.sets = []
        for kind, rule in dict(rules).items():
            self.sets.append(RuleSet(kind, api=1))
            self.sets[-1].add(self.primitive, rule)

    def __enter__(self):
        self.handles = [register(one) for one in (self.family, *self.sets)]
        return self.primitive

    def __exit__(self, *_):
        for handle in reversed(self.handles):
            handle.undo()


def text_of(error):
    """All that a user reads: the message and its notes, without the traceback's lines."""
    return "\n".join(traceback.format_exception_only(type(error), error))


def failing(program, planted):
    with planted as primitive, pytest.raises(Exception) as caught:
        program(primitive)
    return caught.value


# --- kinds and ways --------------------------------------------------------------------------------------------------


def returning(value):
    return lambda *args, **keywords: value


def generator(*args, **keywords):
    yield 1


def raising(error):
    def rule(*args, **keywords):
        raise error("what a library says")

    return rule


WAYS = {
    "no argument": lambda: 1,
    "too many arguments": lambda a, b, c, d, e, f, g: 1,
    "None": returning(None),
    "one number": returning(1.0),
    "a string": returning("nothing"),
    "an empty tuple": returning(()),
    "three of them": returning((1.0, 2.0, 3.0)),
    "a generator": generator,
    "TypeError inside": raising(TypeError),
    "KeyError inside": raising(KeyError),
    "ZeroDivisionError inside": lambda *args, **keywords: 1 / 0,
    "AttributeError inside": lambda *args, **keywords: numpy.nothing_of_the_kind,
}
PROGRAMS = {
    "jvp": [
        lambda f: tangrad.jvp(f, (X,), (X,)),
        lambda f: tangrad.grad(lambda x: f(x).sum())(X),
        lambda f: tangrad.jit(tangrad.grad(lambda x: f(x).sum()))(X),
        lambda f: tangrad.linearize(f, X),
    ],
    "transpose": [lambda f: tangrad.linear_transpose(f, X)(X)],
    "batch": [lambda f: tangrad.vmap(f)(X), lambda f: tangrad.jit(tangrad.vmap(f))(X)],
    "lower.numpy": [lambda f: _on("numpy", f), lambda f: _on("numpy", tangrad.jit(f))],
    "lower.xla": [lambda f: _on("xla", f), lambda f: _on("xla", tangrad.jit(f))],
    "mask": [lambda f: tangrad.mask(lambda x: f(x).sum(), ["n"], "")([X], {"n": 2})],
    "checkify": [lambda f: tangrad.experimental.checkify.checkify(f)(X)],
    "sparse": [lambda f: sparsify(f)(BCOO.fromdense(X))],
}


INNER = trace_to_closed_jaxpr(lambda x: (lax.sin(x),), [ShapedArray((3,), "float32")], "inner")
SIXTEEN = numpy.ones((16, 3), "float32")


def carrying(planted_rules):
    """A primitive with a program among its parameters, which is linear as far as derivatives are asked."""

    def jvp(primals, tangents, *, jaxpr):
        return planted.primitive.bind(*primals, jaxpr=jaxpr), planted.primitive.bind(*tangents, jaxpr=jaxpr)

    def kept(primals, tangents, *, jaxpr):
        (out,) = planted.primitive.bind(*primals, jaxpr=jaxpr)
        return (lax.sin(primals[0]),), (lax.mul(out, tangents[0]),)

    rules = {} if "linearize" in planted_rules else {"jvp": kept if "recompute" in planted_rules else jvp}
    evaluated = lambda x, *, jaxpr: (ShapedArray(x.shape, x.dtype),)
    decompose = lambda x, *, jaxpr: (lax.mul(x, 2.0),)
    planted = Planted(planted_rules | rules, several=True, abstract_eval=evaluated, decompose=decompose)
    return planted


def naming(planted_rules):
    """A primitive that names the axis d, and has a batch rule."""
    batch = lambda args, dims, *, axis_info: (lax.mul(args[0], 2.0), dims[0])
    effects = lambda avals, params: frozenset([NamedAxisEffect("d")])
    return Planted({"batch": batch} | planted_rules, decompose=None, effects=effects)


def _sum_of(f):
    return lambda x: f.bind(lax.sin(x), jaxpr=INNER)[0].sum()


def _shard_mapped(f):
    mesh = Mesh(numpy.array(tangrad.devices()[:1]), ("d",))
    body = tangrad.jit(lambda x: lax.add(f.bind(x), lax.axis_index("d").astype("float32")))
    tangrad.shard_map(lambda x: body(lax.pmean(x, "d")), mesh=mesh, in_specs=P("d"), out_specs=P())(X)


def _explicit(f):
    mesh = tangrad.make_mesh((1,), ("d",), axis_types=(AxisType.Explicit,))
    with tangrad.set_mesh(mesh):
        tangrad.jit(f)(tangrad.device_put(X, NamedSharding(mesh, P("d"))))


def _soft_mapped(f):
    tangrad.soft_pmap(lambda x: f.bind(x), axis_name="d")(SIXTEEN)


def _saved(f):
    tangrad.runtime.save(f, Path(tempfile.gettempdir()) / "never_written.tgr", X)


DIFFERENTIATED = [
    lambda f: tangrad.grad(_sum_of(f))(X),
    lambda f: tangrad.linearize(_sum_of(f), X),
    lambda f: tangrad.jit(tangrad.grad(_sum_of(f)))(X),
]
# Kind: what its primitive is, the programs that ask for its rule, and what may be returned.
FURTHER = {
    "dce": (carrying, [lambda f: tangrad.jit(lambda x: f.bind(x, jaxpr=INNER))(X)], ()),
    "linearize": (carrying, DIFFERENTIATED, ()),
    "partial_eval": (carrying, DIFFERENTIATED, ("None",)),
    "recompute": (
        carrying,
        [
            lambda f, keep=keep: tangrad.grad(tangrad.checkpoint(_sum_of(f), policy=lambda *_, **__: keep))(X)
            for keep in (True, False)
        ],
        ("None",),
    ),
    "replication": (naming, [_shard_mapped], ("None",)),
    "axis_subst": (naming, [_soft_mapped], ()),
    "split_axis": (naming, [_soft_mapped], ()),
    "sharding": (Planted, [_explicit], ()),
    "portable": (Planted, [_saved], ("one number",)),
}


def _on(backend, function):
    with use_backend(backend):
        return function(X)


LENIENT = ("checkify", "sparse")  # their rules return any array: a number is one


@pytest.mark.parametrize(
    ("kind", "way"), [(kind, way) for kind in PROGRAMS for way in WAYS if kind not in LENIENT or way != "one number"]
)
def test_the_rule_names_itself(kind, way):
    for program in PROGRAMS[kind]:
        decompose = None if kind == "transpose" else (lambda x: lax.mul(x, 2.0))
        error = failing(program, Planted({kind: WAYS[way]}, decompose=decompose))
        text = text_of(error)
        assert WRONG in text and kind in text, text
        assert "(by hand)" in text and __file__ in text, text  # the distribution, and the rule's line
        if "inside" not in way:
            assert find_rule_kind(kind).signature in text, text


@pytest.mark.parametrize(
    ("kind", "way"), [(kind, way) for kind, (_, _, right) in FURTHER.items() for way in WAYS if way not in right]
)
def test_the_rule_of_a_further_kind_names_itself(kind, way):
    planted, programs, _ = FURTHER[kind]
    for program in programs:
        text = text_of(failing(program, planted({kind: WAYS[way]})))
        assert f"the {kind} rule of {WRONG!r}" in text, text
        assert "(by hand)" in text and __file__ in text, text
        if "inside" not in way:
            assert find_rule_kind(kind).signature in text, text


@pytest.mark.parametrize(
    ("own", "way"),
    [
        (own, way)
        for own in ("abstract_eval", "decompose", "evaluate", "effects")
        for way in ("no argument", "None", "TypeError inside")
        if (own, way) != ("evaluate", "None")  # what an evaluation returns is the result
    ],
)
def test_what_a_primitive_has_itself_is_named(own, way):
    error = failing(lambda f: tangrad.jit(f)(X) if own == "effects" else f(X), Planted(**{own: WAYS[way]}))
    text = text_of(error)
    named = {"abstract_eval": "abstract evaluation", "decompose": "decomposition", "evaluate": "evaluation"}
    assert WRONG in text and named.get(own, own) in text, text
    assert "(by hand)" in text and __file__ in text, text


def test_every_kind_has_a_signature_to_show():
    assert all([find_rule_kind(kind).signature for kind in rule_kinds()])


# --- single mistakes -------------------------------------------------------------------------------------------------


def test_a_parameter_that_a_rule_does_not_take():
    planted = Planted({"jvp": lambda primals, tangents: (primals[0], tangents[0])}, decompose=lambda x, n: x)
    text = text_of(failing(lambda f: tangrad.grad(lambda x: f.bind(x, n=2).sum())(np.asarray(X)), planted))
    assert "jvp rule of 'going_wrong.doubled'" in text and "unexpected keyword argument 'n'" in text
    assert "(primals, tangents, **params)" in text


def test_a_batch_rule_without_axis_info():
    text = text_of(failing(lambda f: tangrad.vmap(f)(X), Planted({"batch": lambda args, dims: (args[0], 0)})))
    assert "batch rule of 'going_wrong.doubled'" in text and "'axis_info'" in text
    assert "(args, dims, *, axis_info, **params)" in text


@pytest.mark.parametrize("wrong", [5, -1, 1, "d", 1.0])
def test_a_dimension_that_is_none_of_a_split_axis(wrong):
    planted = naming({"split_axis": lambda args, dims, *, axis_info: (lax.mul(args[0], 2.0), wrong)})
    text = text_of(failing(_soft_mapped, planted))
    assert "the split_axis rule of 'going_wrong.doubled' returned" in text and "batch rule" not in text, text
    assert __file__ in text, text


@pytest.mark.parametrize(
    ("returned", "shown"),
    [
        (lambda x: x[:2], "f32[2]"),
        (lambda x: x.astype("int32"), "i32[3]"),
        (lambda x: lax.broadcast(x, (2,)), "f32[2,3]"),
    ],
)
def test_a_portable_rule_of_other_types(returned, shown):
    text = text_of(failing(_saved, Planted({"portable": lambda x: returned(x)})))
    assert f"the portable rule of 'going_wrong.doubled' returned {shown}; the primitive gives f32[3]" in text, text
    assert __file__ in text, text


def test_one_dimension_for_several_results():
    planted = Planted({"batch": lambda args, dims, *, axis_info: ((args[0], args[0]), 0)}, several=True)
    text = text_of(failing(lambda f: tangrad.vmap(f)(X), planted))
    assert "batch rule of 'going_wrong.doubled'" in text and "(outs, out_dims)" in text


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize(
    "transformed",
    [lambda f: f, tangrad.jit, tangrad.vmap, lambda f: tangrad.grad(lambda x: f(x).sum())],
    ids=["eager", "jit", "vmap", "grad"],
)
def test_a_decomposition_that_leads_to_itself(backend, transformed):
    planted = Planted(decompose=lambda x: planted.primitive(x))
    with use_backend(backend):
        error = failing(lambda f: transformed(f)(X), planted)
    text = text_of(error)
    assert isinstance(error, RecursionError) and len(text) < 1500
    assert "the decomposition of 'going_wrong.doubled' leads to itself" in text and __file__ in text, text


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("value", [[1], {1: 2}, ([1], 2), X, np.asarray(X)], ids=["list", "dict", "nested", "N", "A"])
def test_a_parameter_that_cannot_be_hashed(backend, value):
    with use_backend(backend):
        for program in (
            lambda f: f(X, n=value),
            tangrad.jit(lambda f: f.bind(np.asarray(X), n=value), static_argnums=0),
        ):
            text = text_of(failing(program, Planted()))
            assert "parameter 'n' of primitive 'going_wrong.doubled' must be hashable" in text, text


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize(
    "program",
    [
        lambda f: tangrad.jit(lambda n: f(X, n=n))(2),
        lambda f: tangrad.jit(lambda n: f(X, n=(1, n)))(2),
        lambda f: tangrad.grad(lambda n: f(X, n=n).sum())(2.0),
        lambda f: tangrad.vmap(lambda n: f(X, n=n))(X),
    ],
    ids=["jit", "in a tuple", "grad", "vmap"],
)
def test_a_traced_parameter(backend, program):
    with use_backend(backend):
        text = text_of(failing(program, Planted()))
    assert "parameter 'n' of primitive 'going_wrong.doubled' must be known" in text and "static_argnums" in text, text


@pytest.mark.parametrize(
    ("kind", "meant"),
    [("jpv", "jvp"), ("batching", "batch"), ("transposed", "transpose"), ("lower.nunpy", "lower.numpy")],
)
def test_a_rule_set_of_a_kind_that_is_none(kind, meant):
    rules = RuleSet(kind, api=1)
    rules.add(find_primitive("elementwise.sin"), lambda *args: args)
    with pytest.raises(ValueError, match=f"no rule kind '{kind}'; did you mean '{meant}'"):
        register(rules)


def test_a_rule_set_of_a_kind_that_may_be_declared_later_is_taken():
    rules = RuleSet("weather", api=1)
    rules.add(find_primitive("elementwise.sin"), lambda *args: args)
    register(rules).undo()


# --- what must stay as it is -----------------------------------------------------------------------------------------


def test_an_error_of_the_users_own_function_is_no_rules():
    def function(x):
        return lax.mul(x, 1 / 0)

    inner = tangrad.custom_jvp(function)
    inner.defjvps(lambda t, out, x: t)
    for program in (tangrad.jit(function), tangrad.grad(lambda x: inner(x).sum()), tangrad.vmap(tangrad.jit(function))):
        with pytest.raises(ZeroDivisionError) as caught:
            program(X)
        assert "rule" not in text_of(caught.value).replace("custom_jvp rule", "")


def test_it_is_said_whether_frames_are_filtered_or_not():
    for mode in ("off", "auto"):
        with SETTINGS["traceback_filtering"](mode):
            error = failing(lambda f: tangrad.vmap(f)(X), Planted({"batch": lambda args: 1}))
        assert str(error).count("Expected: batch rules are") == 1


def test_a_right_rule_is_called_as_before():
    with Planted({"jvp": lambda p, t: (lax.mul(p[0], 2.0), lax.mul(t[0], 2.0))}) as doubled:
        assert rule_table("jvp").cell(doubled).status == "rule"
        assert tangrad.grad(lambda x: doubled(x).sum())(X).tolist() == [2.0] * 3
        aval = ShapedArray((3,), "float32")
        assert len(decomposition_jaxpr(doubled, (aval,), {}).eqns) == 1


# --- plugins that cannot be loaded, frames of pluggy -----------------------------------------------------------------

BROKEN = """
import numpy


def _prepared():
    return numpy.nothing_of_the_kind


rules = _prepared()
"""


def test_a_plugin_that_cannot_be_loaded_shows_the_line_of_its_module(tmp_path, monkeypatch):
    (tmp_path / "broken_rules_of_a_test.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin = Plugin(composition(), "tangrad.rules.jvp", "elementwise", "broken_rules_of_a_test:rules", "broken", "1.0")
    with pytest.warns(PluginWarning), pytest.raises(BrokenPluginError) as caught:
        plugin.load()
    sys.modules.pop("broken_rules_of_a_test", None)
    line = 1 + BROKEN.split("\n").index("    return numpy.nothing_of_the_kind")
    assert f"broken_rules_of_a_test.py:{line}, in _prepared" in str(caught.value)
    with pytest.raises(BrokenPluginError, match=f"broken_rules_of_a_test.py:{line}"):
        plugin.load()


def test_filtered_tracebacks_show_no_frame_of_pluggy():
    assert is_internal(pluggy.__file__) and is_internal(pluggy.PluginManager.register.__code__.co_filename)
    assert not is_internal(__file__)
