"""Other names for the axes of whole programs: nested programs, rules that users wrote, types, shadowing."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax, use_backend
from tangrad._collectives.named_axes import renamed_axes, subst_axis_names, subst_under_binder, used_axis_names
from tangrad._collectives.primitives import psum_p
from tangrad.core import (
    ClosedJaxpr,
    DerivedRule,
    Jaxpr,
    NamedAxisEffect,
    PrimitiveSet,
    RuleKind,
    RuleSet,
    ShapedArray,
    axes_of_effects,
    decomposed,
    eval_jaxpr,
    register,
    rule_table,
    thread,
)
from tangrad.core.tools import check_jaxpr
from tangrad.errors import MissingRuleError

SIZE = 6
X = np.random.default_rng(0).normal(size=(SIZE, 3)).astype(np.float32)
SPLIT = {"i": ("rows", "columns")}  # of sizes 2 and 3


def program(function, *args, axes=(("i", SIZE),)):
    """The program of a function of one example along an axis i of size 6, or along other axes."""
    return tangrad.make_jaxpr(function, axis_env=axes)(*(args or (X[0],)))


def run(jaxpr, x=X, axes=("i",), transform=lambda function: function):
    """The program, mapped along axes of these names."""

    def one(*values):
        return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values)

    function = transform(one)
    for name in reversed(axes):
        function = tangrad.vmap(function, axis_name=name)
    return [np.asarray(leaf) for leaf in tangrad.tree.leaves(function(x))]


def same(found, expected, shape=()):
    assert len(found) == len(expected)
    for x, y in zip(found, expected):
        np.testing.assert_allclose(x.reshape(*shape, *x.shape[2:]) if shape else x, y, rtol=2e-5, atol=1e-6)


# --- nested programs -------------------------------------------------------------------------------------------------


def sums(v):
    return lax.psum(tnp.sin(v), "i") * lax.axis_index("i") + lax.pmean(v, ("i", 0))


def moved(v):
    ring = [(k, (k + 1) % SIZE) for k in range(SIZE)]
    everything = lax.all_gather(v, "i"), lax.ppermute(v, "i", ring), lax.pbroadcast(v, "i", 4), lax.pmax(v, "i")
    rows = tnp.stack([v * k for k in range(SIZE)])
    return everything, lax.psum_scatter(rows, "i"), lax.all_to_all(rows, "i", 0, 1)


def in_jit(v):
    return tangrad.jit(tangrad.jit(sums))(v) + tangrad.jit(sums)(2 * v)


def in_cond(v):
    return lax.cond(lax.psum(v[0], "i") > 0, sums, lambda w: lax.pmax(w, "i") - w, v)


def in_switch(v):
    return lax.switch(lax.axis_index("i") % 3, [sums, lambda w: lax.psum(w, "i"), lambda w: w], v)


def in_scan(v):
    return lax.scan(lambda c, x: (c + lax.psum(c * x, "i"), lax.axis_index("i") * x), v, v)


def in_while(v):
    apart = lambda w: lax.pmax(w[0], "i") - lax.pmin(w[0], "i") > 0.1
    return lax.while_loop(apart, lambda w: 0.5 * (w + lax.pmean(w, "i")), v)


def in_checkpoint(v):
    return tangrad.checkpoint(lambda w: sums(tangrad.jit(sums)(w)))(v)


@tangrad.custom_jvp
def forward(v):
    return tnp.sin(v) * lax.axis_index("i")


@forward.defjvp
def _forward(primals, tangents):
    slope = tnp.cos(primals[0]) * lax.axis_index("i")
    return forward(primals[0]), tangents[0] * slope + lax.psum(tangents[0], "i")


@tangrad.custom_vjp
def backward(v):
    return lax.psum(v, "i") * v


def _fwd(v):
    return backward(v), (v, lax.psum(v, "i"))


def _bwd(residuals, ct):
    return (lax.psum(ct * residuals[0], "i") + ct * residuals[1] * lax.axis_size("i"),)


backward.defvjp(_fwd, _bwd)


@tangrad.custom_vmap
def mapped(v):
    return lax.psum(v, "i") + v


@mapped.def_vmap
def _mapped(size, batched, v):
    return tnp.stack([lax.psum(row, "i") * 10 for row in v]), True


def in_linear_call(v):
    return tangrad.linear_call(lambda r, x: lax.psum(x, "i") * r, lambda r, ct: lax.psum(ct, "i") * r * 3, 2.0, v)


def in_root(v):
    newton = lambda f, x: lax.fori_loop(0, 8, lambda _, x: x - f(x) / (2 * x), x)
    residual = lambda x: x * x - 1.0 - lax.pmean(v[0], "i") ** 2
    return lax.custom_root(residual, tnp.float32(1.0), newton, lambda g, y: y / g(1.0)) * v


NESTED = {
    function.__name__: function
    for function in (
        sums,
        moved,
        in_jit,
        in_cond,
        in_switch,
        in_scan,
        in_while,
        in_checkpoint,
        in_linear_call,
        in_root,
    )
}
NESTED |= {"forward": forward, "backward": backward}
NESTED["rules in a scan"] = lambda v: lax.scan(lambda c, _: (forward(c) + 0.1 * backward(c), c), v, None, length=2)
NESTED["rules in jit"] = lambda v: tangrad.jit(lambda w: forward(backward(w)))(v)
REVERSE = [name for name in NESTED if name not in ("in_while", "moved")]


def total(function):
    """The gradient of the sum of everything inexact."""

    def scalar(v):
        leaves = tangrad.tree.leaves(function(v))
        return sum(tnp.sum(tnp.sin(leaf)) for leaf in leaves if np.issubdtype(leaf.dtype, np.inexact))

    return tangrad.grad(scalar)


@pytest.mark.parametrize("name", list(NESTED))
def test_renamed_programs_do_the_same(name):
    jaxpr = program(NESTED[name])
    renamed = subst_axis_names(jaxpr, {"i": "k"})
    check_jaxpr(renamed)
    assert used_axis_names(jaxpr) == {"i"} and used_axis_names(renamed) == {"k"}
    assert "'i'" not in str(renamed)
    same(run(renamed, axes=("k",)), run(jaxpr))
    with pytest.raises(NameError):
        run(renamed)


@pytest.mark.parametrize("name", list(NESTED))
def test_programs_of_a_split_axis_do_the_same(name):
    jaxpr = program(NESTED[name])
    split = subst_axis_names(jaxpr, SPLIT)
    check_jaxpr(split)
    same(run(split, X.reshape(2, 3, 3), ("rows", "columns")), run(jaxpr), (SIZE,))


@pytest.mark.parametrize("name", REVERSE)
def test_renamed_programs_have_the_same_derivatives(name):
    """Those that users wrote included: their rules run with the old names in scope."""
    jaxpr = program(NESTED[name])
    renamed = subst_axis_names(jaxpr, {"i": "k"})
    same(run(renamed, axes=("k",), transform=total), run(jaxpr, transform=total))
    # Named twice over, and derived outside of the map.
    again = subst_axis_names(renamed, {"k": "m"})

    def outside(jaxpr, axis):
        one = lambda v: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, v)
        return np.asarray(total(tangrad.vmap(one, axis_name=axis))(X))

    same([outside(again, "m")], [outside(jaxpr, "i")])


@pytest.mark.parametrize("name", ["forward", "rules in jit", "in_checkpoint", "in_scan"])
def test_split_programs_have_the_same_derivatives(name):
    jaxpr = program(NESTED[name])
    split = subst_axis_names(jaxpr, SPLIT)
    found = run(split, X.reshape(2, 3, 3), ("rows", "columns"), total)
    same(found, run(jaxpr, transform=total), (SIZE,))


def test_a_batch_rule_of_a_user_is_renamed():
    jaxpr = program(lambda v: tangrad.vmap(lambda w: mapped(w))(v))
    inner = program(lambda v: mapped(v), X[0, 0])
    renamed = subst_axis_names(inner, {"i": "k"})
    both = lambda v: eval_jaxpr(renamed.jaxpr, renamed.consts, v)[0]
    found = tangrad.vmap(tangrad.vmap(both), axis_name="k")(X)
    np.testing.assert_allclose(found, np.stack([X.sum(0) * 10] * SIZE), rtol=1e-5)
    same(run(jaxpr), [found])


def test_a_renamed_function_that_is_no_program_yet():
    """Outside of jit a call with a rule holds the function itself."""
    call = rule_table("axis_subst")
    seen = []

    def function(v):
        seen.append(v)
        return lax.psum(v, "i")

    custom = tangrad.custom_jvp(function)
    custom.defjvp(lambda primals, tangents: (custom(*primals), 2.0 * lax.psum(tangents[0], "i")))

    class Renaming(tangrad.core.Trace):
        """Hands on what it gets, with axis i named k."""

        def process_primitive(self, primitive, args, params):
            with tangrad.core.holding(trace=parent):
                return primitive.bind(*args, **call[primitive](params, lambda name: ("k",) if name == "i" else (name,)))

    def with_other_names(v):
        nonlocal parent
        parent = tangrad.core.current_trace()
        environment = thread.axis_environment
        thread.axis_environment = (*environment, ("i", SIZE))
        try:
            with tangrad.core.holding(trace=Renaming()):
                return custom(v)
        finally:
            thread.axis_environment = environment

    parent = None
    found = tangrad.vmap(with_other_names, axis_name="k")(X)
    np.testing.assert_allclose(found, np.stack([X.sum(0)] * SIZE), rtol=1e-5)
    slope = tangrad.vmap(lambda v: tangrad.jvp(with_other_names, (v,), (v,))[1], axis_name="k")(X)
    np.testing.assert_allclose(slope, np.stack([2 * X.sum(0)] * SIZE), rtol=1e-5)
    assert seen


# --- what substitutions are ------------------------------------------------------------------------------------------


def test_programs_that_nothing_changes_in_stay_the_same_object():
    jaxpr = program(in_scan)
    assert subst_axis_names(jaxpr, {}) is jaxpr
    assert subst_axis_names(jaxpr, {"other": "k"}) is jaxpr
    assert subst_axis_names(jaxpr, lambda name: (name,)) is jaxpr
    assert subst_axis_names(jaxpr.jaxpr, {}) is jaxpr.jaxpr
    assert isinstance(subst_axis_names(jaxpr.jaxpr, {"i": "k"}), Jaxpr)
    plain = program(lambda v: tangrad.jit(tnp.sin)(v))
    assert subst_axis_names(plain, {"i": "k"}) is plain


def test_a_nested_program_of_two_equations_stays_one():
    inner = tangrad.jit(lambda v: lax.psum(v, "i"))
    renamed = subst_axis_names(program(lambda v: inner(v) * inner(v + 1)), {"i": "k"})
    calls = [eqn.params["jaxpr"] for eqn in renamed.eqns if eqn.primitive.name == "jit"]
    assert len(calls) == 2 and calls[0] is calls[1]


def test_names_are_exchanged_at_once():
    jaxpr = program(lambda v: lax.psum(v, "i") - 2 * lax.psum(v, "j"), X[0], axes=[("i", 2), ("j", 3)])
    exchanged = subst_axis_names(jaxpr, {"i": "j", "j": "i"})
    same(run(exchanged, X.reshape(2, 3, 3), ("j", "i")), run(jaxpr, X.reshape(2, 3, 3), ("i", "j")))


def test_an_axis_that_is_gone():
    """No name in its place: the collectives are those of a single example."""
    jaxpr = program(lambda v: (lax.psum(v, "i"), lax.axis_index("i"), lax.pmax(v, ("i", 0))), axes=[("i", 1)])
    gone = subst_axis_names(jaxpr, {"i": ()})
    assert not used_axis_names(gone)
    total, index, greatest = eval_jaxpr(gone.jaxpr, gone.consts, X[0])
    np.testing.assert_array_equal(total, X[0])
    assert int(index) == 0 and float(greatest) == X[0].max()
    kept = program(
        lambda v: (
            lax.all_gather(v, "i"),
            lax.all_gather(v, "i", tiled=True),
            lax.psum_scatter(v[None], "i"),
            lax.psum_scatter(v, "i", tiled=True),
            lax.all_to_all(v[None], "i", 0, 1),
            lax.ppermute(v, "i", [(0, 0)]),
            lax.ppermute(v, "i", []),
            lax.pbroadcast(v, "i", 0),
        ),
        axes=[("i", 1)],
    )
    for name in ("numpy", "xla"):
        with use_backend(name):
            gone = subst_axis_names(kept, {"i": ()})
            found = tangrad.jit(lambda v, gone=gone: eval_jaxpr(gone.jaxpr, gone.consts, v))(X[0])
            expected = [X[:1], X[0], X[0], X[0], X[0][:, None], X[0], 0 * X[0], X[0]]
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_array_equal(x, y)


def test_types_are_renamed():
    kind = tangrad.ShapeDtypeStruct((3,), "float32", named_shape={"i": 6, "j": 2})
    jaxpr = tangrad.make_jaxpr(lambda v: lax.psum(v * 2, "i") + 1, axis_env=[("i", 6), ("j", 2)])(kind)
    assert used_axis_names(jaxpr) == {"i", "j"}
    renamed = subst_axis_names(jaxpr, {"i": "k"})
    assert [aval.str_short() for aval in (*renamed.in_avals, *renamed.out_avals)] == ["f32[3;j:2,k:6]", "f32[3;j:2]"]
    split = subst_axis_names(jaxpr, SPLIT, sizes={"rows": 2, "columns": 3})
    assert split.in_avals[0].str_short() == "f32[3;columns:3,j:2,rows:2]"
    check_jaxpr(split)
    with pytest.raises(NameError, match=r"size of the new axis 'rows'.*sizes=\{'rows'"):
        subst_axis_names(jaxpr, SPLIT)
    with pytest.raises(ValueError, match="'i' of size 6 cannot become axes"):
        subst_axis_names(jaxpr, SPLIT, sizes={"rows": 2, "columns": 2})
    with pytest.raises(ValueError, match=r"two axes of a value .* 'j'"):
        subst_axis_names(jaxpr, {"i": "j"})


def test_two_axes_of_one_name_are_refused():
    jaxpr = program(lambda v: lax.psum(v, ("i", "j")), axes=[("i", 2), ("j", 3)])
    with pytest.raises(ValueError, match="two axes of a reduction would be named 'k'"):
        subst_axis_names(jaxpr, {"i": "k", "j": "k"})
    with pytest.raises(ValueError, match="'j'"):
        subst_axis_names(jaxpr, {"i": "j"})


def test_what_is_no_program_and_what_is_no_substitution():
    with pytest.raises(TypeError, match="expects a jaxpr"):
        subst_axis_names(lambda v: v, {})
    with pytest.raises(TypeError, match="mapping or a function"):
        subst_axis_names(program(sums), "i")


def test_lists_of_axes():
    subst = lambda name: {"i": ("a", "b"), "j": ()}.get(name, (name,))
    assert renamed_axes(("i", 0, "k"), subst) == ("a", "b", 0, "k")
    assert renamed_axes("k", subst) == "k" and renamed_axes("i", subst) == ("a", "b")
    assert renamed_axes(("j",), subst) == ()


# --- programs that bind names, and primitives without a rule ---------------------------------------------------------


@pytest.fixture
def binder():
    """A primitive that maps a program over a named axis of its own: its name shadows those outside."""
    family = PrimitiveSet("binders", api=1)

    def effects(avals, params):
        own = NamedAxisEffect(params["axis_name"])
        return frozenset([effect for effect in params["jaxpr"].effects if effect != own])

    @family.primitive(multiple_results=True, weak_type="own", effects=effects)
    def map_rows(*avals, jaxpr, axis_name):
        "A program, mapped over the first axis of its operands."
        return tuple([ShapedArray((avals[0].shape[0], *out.shape), out.dtype) for out in jaxpr.out_avals])

    rules, batch = RuleSet("axis_subst", api=1), RuleSet("batch", api=1)

    @rules.rule(map_rows)
    def _(params, subst):
        jaxpr, (name,) = subst_under_binder(params["jaxpr"], subst, (params["axis_name"],))
        return {**params, "jaxpr": jaxpr, "axis_name": name}

    @batch.rule(map_rows)
    def _(args, dims, *, axis_info, jaxpr, axis_name):
        def one(*values):
            return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values)

        inner = tangrad.vmap(one, axis_name=axis_name)
        outs, out_dims = tangrad.batching.batch_flat(inner, args, dims, axis_info)
        return tuple(outs), tuple(out_dims)

    with register(family), register(rules), register(batch):
        yield map_rows


def bound(binder, function, axis_name, environment):
    """A program of one equation that binds `axis_name`, where the axes of `environment` are in scope."""
    inner = program(function, X[0], axes=[*environment, (axis_name, SIZE)])

    def outer(v):
        return binder.bind(v, jaxpr=ClosedJaxpr(inner.jaxpr, inner.consts), axis_name=axis_name)

    return tangrad.core.trace_to_closed_jaxpr(outer, [ShapedArray((SIZE, 3), "float32")])


def test_a_bound_name_shadows_one_outside(binder):
    jaxpr = bound(binder, lambda v: [lax.psum(v, "i")], "i", [])
    assert not jaxpr.effects
    assert subst_axis_names(jaxpr, {"i": "k"}) is jaxpr


def test_a_new_name_is_not_caught_by_a_bound_one(binder):
    """`j` outside becomes `i`; inside `i` is bound: it has to give way."""
    function = lambda v: [lax.psum(v, "j") - 2 * lax.psum(v, "i")]
    jaxpr = bound(binder, function, "i", [("j", 2)])
    assert axes_of_effects(jaxpr.effects) == {"j"}
    renamed = subst_axis_names(jaxpr, {"j": "i"})
    check_jaxpr(renamed)
    assert axes_of_effects(renamed.effects) == {"i"} and renamed.eqns[0].params["axis_name"] == "i_1"
    x = np.stack([X, 3 * X + 1])
    same(run(renamed, x, ("i",)), run(jaxpr, x, ("j",)))
    # A name that is not taken comes through as it is, and so do two at once.
    other = subst_axis_names(jaxpr, {"j": "k", "i": "never"})
    assert other.eqns[0].params["axis_name"] == "i"
    same(run(other, x, ("k",)), run(jaxpr, x, ("j",)))


def test_bound_names_stay_apart_from_each_other(binder):
    inner = program(lambda v: [lax.psum(v, ("i", "i_1")) + lax.psum(v, "j")], axes=[("i", 2), ("i_1", 3), ("j", 2)])
    jaxpr, names = subst_under_binder(inner, {"j": ("i", "i_1")}, ("i", "i_1"))
    assert len({*names, "i", "i_1"}) == 4
    assert used_axis_names(jaxpr) == {*names, "i", "i_1"}


def test_a_primitive_that_names_axes_needs_a_rule():
    family = PrimitiveSet("named", api=1)

    @family.primitive(effects=lambda avals, params: frozenset([NamedAxisEffect(params["where"])]))
    def twist(x, *, where):
        "Depends on an axis."
        return x

    with register(family):
        jaxpr = program(lambda v: twist.bind(v, where="i"))
        with pytest.raises(MissingRuleError, match=r"'named\.twist'.*'i'.*axis_subst"):
            subst_axis_names(jaxpr, {"i": "k"})
        assert subst_axis_names(jaxpr, {"j": "k"}) is jaxpr


def test_a_rule_is_not_derived_from_what_holds_without_names_only():
    """A third party's transformation, whose rules are derived where it has none, around a sum along a mapped axis."""
    derived = lambda primitive: lambda args, **params: primitive.decompose(*args, **params)
    kind = RuleKind("without_rules", api=1, signature="(args, **params) -> result", doc="runs it", derive=derived)
    words = r"psum along the mapped axis 'i' .* has no rule for the primitive 'collectives\.psum'"
    with register(kind):
        run = lambda x: rule_table("without_rules")[psum_p]((x,), axes=("i",), axis_index_groups=None)
        with pytest.raises(MissingRuleError, match=words):
            tangrad.vmap(run, axis_name="i")(tnp.ones(3))
        with pytest.raises(NameError, match="no mapped axis is named 'i'; no named axis is in scope"):
            run(tnp.ones(3))
        total = rule_table("without_rules")[psum_p]((tnp.ones(3),), axes=(0,), axis_index_groups=None)
        assert float(total) == 3.0


def test_a_collective_that_a_transformation_cannot_decompose_names_the_rule_kind():
    (eqn,) = tangrad.make_jaxpr(lambda x: tangrad.lax.psum(x, "i"), axis_env=[("i", 3)])(1.0).eqns

    def inside(x):
        with DerivedRule(eqn.primitive, "taylor"):
            return decomposed(eqn.primitive, (x,), eqn.params)

    with pytest.raises(MissingRuleError, match=r"cannot be decomposed.*rule kind is 'taylor'") as caught:
        tangrad.vmap(inside, axis_name="i")(np.ones(3))
    assert (caught.value.primitive, caught.value.kind) == ("collectives.psum", "taylor")
