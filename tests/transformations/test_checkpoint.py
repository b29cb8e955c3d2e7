"""`checkpoint`: the same values and derivatives, and what is kept for them. Small programs, each run by JAX too."""

import functools

import jax
import jax.ad_checkpoint
import numpy
import pytest

import tangrad
import tangrad.ad_checkpoint


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


X = numpy.linspace(0.1, 1.0, 3, dtype="float32")
W = numpy.arange(9.0, dtype="float32").reshape(3, 3) / 10

POLICIES = {
    "none": lambda t: None,
    "everything": lambda t: t.checkpoint_policies.everything_saveable,
    "nothing": lambda t: t.checkpoint_policies.nothing_saveable,
    "dots": lambda t: t.checkpoint_policies.dots_saveable,
    "dots_without_batch": lambda t: t.checkpoint_policies.dots_with_no_batch_dims_saveable,
    "names": lambda t: t.checkpoint_policies.save_only_these_names("b"),
    "other_names": lambda t: t.checkpoint_policies.save_any_names_but_these("b"),
    "but_names": lambda t: t.checkpoint_policies.save_anything_except_these_names("a"),
    "offloaded": lambda t: t.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host"),
    "both": lambda t: t.checkpoint_policies.save_from_both_policies(
        t.checkpoint_policies.dots_saveable, t.checkpoint_policies.save_only_these_names("a")
    ),
    "names_offloaded": lambda t: t.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"],
        names_which_can_be_offloaded=["b"],
        offload_src="device",
        offload_dst="pinned_host",
    ),
    "decisions": lambda t: (
        lambda primitive, *_, **params: (
            t.ad_checkpoint.Saveable if primitive.name == "sin" else t.ad_checkpoint.Recompute
        )
    ),
}


def network(t):
    np, name = t.numpy, t.ad_checkpoint.checkpoint_name

    def f(w, x):
        a = name(np.sin(x @ w), "a")
        b = name(np.cos(t.jit(lambda v: np.tanh(v) @ w)(a)), "b")
        return np.exp(b @ w)

    return f


def derivatives(t, policy, jitted):
    f = t.checkpoint(network(t), policy=POLICIES[policy](t))
    total = lambda w, x: f(w, x).sum()
    run = [f, t.grad(total, (0, 1)), t.grad(lambda w, x: t.grad(total, 1)(w, x).sum())]
    return [t.jit(function)(W, X) if jitted else function(W, X) for function in run]


@functools.cache
def derivatives_by_jax():
    return jax.tree.leaves(derivatives(jax, "none", True))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("jitted", [False, True])
def test_policies_change_no_number(policy, jitted):
    ours = tangrad.tree.leaves(derivatives(tangrad, policy, jitted))
    for found, expected in zip(ours, derivatives_by_jax(), strict=True):
        assert numpy.allclose(found, expected, rtol=1e-4, atol=1e-5)


PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def sines(t):
    return t.checkpoint(lambda x: t.numpy.sin(t.numpy.sin(x)))


@program
def transformations(t):
    f = sines(t)
    return f(1.0), t.grad(f)(1.0), t.jit(t.grad(f))(1.0), t.jvp(f, (X,), (X,)), t.vmap(t.grad(f))(X)


@program
def mapped(t):
    f = sines(t)
    return t.grad(lambda x: t.vmap(f)(x).sum())(X), t.jacrev(f)(X), t.jacfwd(f)(X)


@program
def higher_orders(t):
    f = sines(t)
    return t.grad(t.grad(f))(1.0), t.jit(t.grad(t.grad(t.grad(f))))(1.0), t.jvp(t.grad(f), (1.0,), (1.0,))


@program
def nested(t):
    f = t.checkpoint(lambda x: sines(t)(x) * t.checkpoint(t.numpy.exp)(x))
    return t.grad(f)(1.0), t.grad(t.checkpoint(f))(1.0), t.jit(t.grad(f))(1.0)


@program
def recursive(t):
    def chain(functions):
        if len(functions) == 1:
            return functions[0]
        half = len(functions) // 2
        first, second = chain(functions[:half]), chain(functions[half:])
        return lambda x: second(t.checkpoint(first)(x))

    f = chain([t.numpy.sin] * 8)
    return f(1.0), t.grad(f)(1.0), t.jit(t.grad(f))(1.0)


@program
def closed_over(t):
    def f(w, x):
        return t.checkpoint(lambda y: t.numpy.sin(y * w))(x).sum()

    return t.grad(f, (0, 1))(2.0, X), t.jit(t.grad(f, (0, 1)))(2.0, X), t.vmap(t.grad(f), (0, None))(X, X)


@program
def static_arguments(t):
    f = t.checkpoint(lambda x, deep: t.numpy.sin(t.numpy.sin(x)) if deep else x * 2, static_argnums=1)
    return t.grad(f)(1.0, True), t.grad(f)(1.0, False), f(1.0, True)


@program
def trees(t):
    f = t.checkpoint(lambda d, *, k: {"s": t.numpy.sin(d["x"]) * k, "n": d["n"] + 1})
    loss = lambda x: f({"x": x, "n": 3}, k=2.0)["s"].sum()
    return f({"x": X, "n": 3}, k=2.0), t.grad(loss)(X), t.jit(t.grad(loss))(X)


@program
def unused_results(t):
    f = t.checkpoint(lambda x, y: (t.numpy.sin(x), t.numpy.cos(y)))
    return t.grad(lambda x, y: f(x, y)[0].sum(), (0, 1))(X, X), t.jit(t.grad(lambda x, y: f(x, y)[0].sum(), 1))(X, X)


@program
def with_custom_rules(t):
    f = t.custom_jvp(lambda x: x**2)
    f.defjvp(lambda p, d: (f(*p), 10.0 * p[0] * d[0]))
    g = t.custom_vjp(lambda x: x**2)
    g.defvjp(lambda x: (g(x), x), lambda r, ct: (7.0 * r * ct,))
    both = t.checkpoint(lambda x: f(t.numpy.sin(x)) + g(t.numpy.cos(x)))
    return t.grad(both)(1.0), t.jit(t.grad(both))(1.0), t.vmap(t.grad(both))(X)


@program
def without_barriers(t):
    f = t.remat(lambda x: t.numpy.sin(t.numpy.sin(x)), prevent_cse=False)
    return t.jit(t.grad(f))(1.0), t.grad(f)(1.0)


@program
def inside_scan(t):
    body = t.checkpoint(lambda c, x: (t.numpy.sin(c * x), t.numpy.cos(c)))
    f = lambda c: t.lax.scan(body, c, X)[0]
    return t.grad(f)(0.5), t.jit(t.grad(f))(0.5), t.jit(t.vmap(t.grad(f)))(X)


@program
def around_scan(t):
    f = t.checkpoint(lambda c: t.lax.scan(lambda c, x: (t.numpy.sin(c * x), c), c, X)[0])
    return t.grad(f)(0.5), t.jit(t.grad(f))(0.5), t.jit(t.vmap(t.grad(f)))(X)


@functools.cache
def reference(name):
    return [numpy.asarray(leaf) for leaf in jax.tree.leaves(PROGRAMS[name](jax))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_jax(name):
    found, expected = tangrad.tree.leaves(PROGRAMS[name](tangrad)), reference(name)
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected):
        assert numpy.shape(mine) == numpy.shape(theirs)
        assert numpy.allclose(mine, theirs, rtol=1e-4, atol=1e-5), (mine, theirs)


# --- what is kept -----------------------------------------------------------------------------------------------------


def kept(policy, f=None):
    f = tangrad.checkpoint(f or network(tangrad), policy=policy)
    return [text for _, text in tangrad.ad_checkpoint.saved_residuals(f, W, X)]


def test_nothing_but_the_arguments_is_kept():
    assert kept(None) == ["from the argument w", "from the argument x"]
    plain = tangrad.ad_checkpoint.saved_residuals(network(tangrad), W, X)
    assert len(plain) > 4


def test_policies_keep_what_they_say():
    policies = tangrad.checkpoint_policies
    assert len(kept(policies.everything_saveable)) > 4
    named = [text for text in kept(policies.save_only_these_names("a", "b")) if "named" in text]
    assert [text.split()[1] for text in named] == ["'a'", "'b'"]
    dots = [text for text in kept(policies.dots_saveable) if "argument" not in text]
    assert dots and all(text.startswith("output of dot_general") for text in dots)
    assert kept(policies.nothing_saveable) == kept(None)
    offload = {"offload_src": "device", "offload_dst": "pinned_host"}
    both = policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"], names_which_can_be_offloaded=("b",), **offload
    )
    assert [text for text in kept(both) if "named" in text] == named
    assert kept(policies.offload_dot_with_no_batch_dims(**offload)) == kept(policies.dots_saveable)
    others = kept(policies.save_anything_except_these_names("a"))
    assert len(others) > 4 and not any("named 'a'" in text for text in others)
    assert [text for text in kept(policies.save_any_names_but_these("a")) if "named" in text] == named[1:]
    joined = kept(policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("a", "b")))
    assert set(joined) == {*named, *dots, *kept(None)}


def test_all_policies_of_jax_are_here():
    theirs = {name for name in dir(jax.checkpoint_policies) if not name.startswith("_")}
    assert theirs == {name for name in dir(tangrad.checkpoint_policies) if not name.startswith("_")}
    internals = {"name_p"}  # in the module since 0.12, and no policy
    theirs = {name for name in dir(jax.ad_checkpoint) if not name.startswith("_")} - internals
    assert theirs <= set(dir(tangrad.ad_checkpoint))


def test_names_are_those_of_values_alone():
    def f(x, t):
        return tangrad.jvp(lambda x: tangrad.ad_checkpoint.checkpoint_name_fwd(x, "n"), (x,), (t,))

    jaxpr = tangrad.make_jaxpr(f)(1.0, 1.0).jaxpr
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["name"]
    assert jaxpr.outvars[1] is jaxpr.invars[1]


def test_equal_policies_find_the_same_programs():
    policies = tangrad.checkpoint_policies
    assert policies.save_only_these_names("a") == policies.save_only_these_names("a")
    assert hash(policies.save_only_these_names("a")) == hash(policies.save_only_these_names("a"))
    assert policies.save_only_these_names("a") != policies.save_any_names_but_these("a")
    assert policies.save_only_these_names("a") != policies.save_only_these_names("b")


def test_what_is_kept_is_reported_by_source_line():
    def f(w, x):
        return numpy_of(tangrad).sin(x @ w)

    (_, kept_here), *_ = tangrad.ad_checkpoint.saved_residuals(
        tangrad.checkpoint(f, policy=tangrad.checkpoint_policies.everything_saveable), W, X
    )[-1:]
    line = f.__code__.co_firstlineno + 1
    assert f"test_checkpoint.py:{line}:" in kept_here and kept_here.endswith("(f)")


def numpy_of(t):
    return t.numpy


def test_names_of_arguments():
    def names(f, *args, **kwargs):
        return [text.removeprefix("from the argument ") for _, text in residuals(f, *args, **kwargs)]

    residuals = tangrad.ad_checkpoint.saved_residuals
    assert names(lambda x, y: x["a"][1] * y, {"a": (X, X)}, X) == ["x['a'][1]", "y"]
    assert names(lambda *xs: xs[0] * xs[1], X, X) == ["xs[0]", "xs[1]"]
    assert names(lambda x, *, k: x * k, X, k=X) == ["x", "k"]
    assert names(lambda x, **rest: x * rest["k"], X, k=X) == ["x", "kwargs['k']"]
    constant = tangrad.numpy.arange(3.0)
    assert names(lambda x: x * constant, X) == ["from a constant"]


def test_what_is_computed_again_is_not_merged_with_the_first_time_on_numpy():
    f = lambda x: tangrad.numpy.sum(tangrad.numpy.exp(tangrad.numpy.sin(x)))

    def sines(function):
        return tangrad.jit(tangrad.value_and_grad(function)).lower(X).as_text().count("sin(")

    with tangrad.use_backend("numpy"):
        assert (sines(f), sines(tangrad.checkpoint(f))) == (1, 2)
        assert sines(tangrad.checkpoint(f, prevent_cse=False)) == 1


def test_barriers_for_some_arguments():
    def barriers(prevent_cse):
        f = tangrad.checkpoint(lambda x, d: tangrad.numpy.sin(x) * d["w"] * d["b"], prevent_cse=prevent_cse)
        text = str(tangrad.make_jaxpr(tangrad.grad(lambda x, w, b: f(x, {"w": w, "b": b}).sum(), (0, 1, 2)))(X, X, X))
        assert numpy.allclose(tangrad.jit(tangrad.grad(lambda x: f(x, {"w": X, "b": X}).sum()))(X), numpy.cos(X) * X**2)
        return [line.split("=", 1)[1].strip() for line in text.splitlines() if "prevent_cse" in line][-1]

    assert barriers((True, {"w": False, "b": True})) == "(True, True, False, True)"  # keys are sorted
    assert barriers((True, False)) == "(True, False, False, True)"
    assert barriers(False) == "False"
    with pytest.raises(TypeError, match=r"must be a boolean or a tuple of booleans.*1.5"):
        tangrad.checkpoint(lambda x: x, prevent_cse=1.5)
    with pytest.raises(TypeError, match="must hold booleans, got 1"):
        tangrad.checkpoint(lambda x: x, prevent_cse=(1,))(X)
    with pytest.raises(ValueError, match="must be as the arguments of"):
        tangrad.checkpoint(lambda x: x, prevent_cse=(True, False))(X)


def test_static_arguments_need_not_be_hashable():
    f = tangrad.checkpoint(lambda options, x: tangrad.numpy.sin(x) * options[0], static_argnums=0)
    assert numpy.allclose(tangrad.grad(lambda x: f([2.0], x).sum())(X), 2 * numpy.cos(X))


def test_the_second_computation_is_in_the_program():
    def count(f):
        text = str(tangrad.make_jaxpr(tangrad.grad(f))(1.0))
        return text.count("= sin")

    plain = lambda x: tangrad.numpy.sin(tangrad.numpy.sin(tangrad.numpy.sin(x)))
    assert count(tangrad.checkpoint(plain)) > count(plain)
    kept_all = tangrad.checkpoint(plain, policy=tangrad.checkpoint_policies.everything_saveable)
    assert count(kept_all) == count(plain)


def test_print(capsys):
    tangrad.ad_checkpoint.print_saved_residuals(tangrad.checkpoint(tangrad.numpy.sin), 1.0)
    assert capsys.readouterr().out == "f32[] from the argument x\n"


def test_what_is_refused():
    with pytest.raises(TypeError, match="expects a function"):
        tangrad.checkpoint(3)
    with pytest.raises(TypeError, match="policy must be a function"):
        tangrad.checkpoint(lambda x: x, policy="dots")
    with pytest.raises(TypeError, match="returned 'text'"):
        tangrad.checkpoint(lambda x: "text")(1.0)
    with pytest.raises(TypeError, match="is 'text' of type str"):
        tangrad.checkpoint(lambda x: x)("text")
    wrong = tangrad.checkpoint(tangrad.numpy.sin, policy=lambda *_, **__: "keep")
    with pytest.raises(
        TypeError, match=r"policy must return a boolean, ad_checkpoint.Saveable.*got 'keep' of type str"
    ):
        tangrad.grad(wrong)(1.0)
    policies = tangrad.checkpoint_policies
    with pytest.raises(ValueError, match=r"either saved or offloaded, got \['a'\]"):
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a", "b"],
            names_which_can_be_offloaded=["a"],
            offload_src="device",
            offload_dst="pinned_host",
        )
    offloading = policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    joined = policies.save_from_both_policies(offloading, policies.dots_saveable)
    with pytest.raises(ValueError, match="joins policies that return booleans, got Recompute"):
        tangrad.grad(tangrad.checkpoint(tangrad.numpy.sin, policy=joined))(1.0)
    with pytest.raises(ValueError, match="static_argnums has 2"):
        tangrad.checkpoint(lambda x: x, static_argnums=2)(1.0)
    with pytest.raises(TypeError, match="must be integers"):
        tangrad.checkpoint(lambda x: x, static_argnums="x")
    with pytest.raises(TypeError, match="name must be a string"):
        tangrad.ad_checkpoint.checkpoint_name(1.0, 2)
    with pytest.raises(TypeError, match="expects names"):
        tangrad.checkpoint_policies.save_only_these_names(1)
    with pytest.raises(tangrad.errors.TracerBoolConversionError if hasattr(tangrad, "errors") else TypeError):
        tangrad.checkpoint(lambda x: x if x > 0 else -x)(1.0)


# --- operations inside loops and branches ---------------------------------------------------------------------------


def in_scan(api, x):
    return api.lax.scan(lambda c, _: (api.numpy.sin(c), api.numpy.sin(c)), x, None, length=3)[1].sum()


def in_scan_of_dots(api, x):
    np = api.numpy
    return api.lax.scan(lambda c, _: (np.sin(np.sin(c) @ (x * np.ones((3, 3)))), None), np.ones(3), None, length=3)[0]


def in_cond(api, x):
    np = api.numpy
    return api.lax.cond(x > 0, lambda x: np.sin(np.sin(x)), lambda x: x * np.cos(x), x)


def in_cond_in_scan(api, x):
    np = api.numpy
    body = lambda c, _: (api.lax.cond(c > 0, lambda c: np.sin(np.sin(c)), lambda c: c, c), None)
    return api.lax.scan(body, x, None, length=3)[0]


def in_jit_in_scan(api, x):
    np = api.numpy
    return api.lax.scan(lambda c, _: (api.jit(lambda c: np.sin(np.cos(c)))(c), c), x, None, length=3)[0]


JUDGED = ("sin", "cos", "dot_general")


def only(name):
    return lambda primitive, *_, **__: str(primitive) == name


def counts(api, function, policy):
    """How often each operation is in the linear program, and in the whole gradient."""
    f = api.checkpoint(lambda x: function(api, x), policy=policy)
    x = api.numpy.asarray(numpy.float32(0.7))
    linear = str(api.make_jaxpr(api.linearize(f, x)[1])(x))
    ones = api.numpy.ones_like(f(x))
    whole = str(api.make_jaxpr(lambda x: api.vjp(f, x)[1](ones))(x))
    return [text.count(f" {name}") for text in (linear, whole) for name in JUDGED]


@pytest.mark.parametrize("function", [in_scan, in_scan_of_dots, in_cond, in_cond_in_scan, in_jit_in_scan])
@pytest.mark.parametrize("kept", ["sin", "cos", "dot_general", None])
def test_policies_judge_single_operations_inside_loops_and_branches(function, kept, backend):
    policy = None if kept is None else only(kept)
    if backend == "numpy":  # programs are the same on both
        assert counts(tangrad, function, policy) == counts(jax, function, policy)
    got = tangrad.grad(tangrad.checkpoint(lambda x: function(tangrad, x).sum(), policy=policy))(0.7)
    assert numpy.allclose(got, tangrad.grad(lambda x: function(tangrad, x).sum())(0.7), rtol=1e-5)


def test_what_a_policy_forbids_inside_a_scan_is_not_kept():
    def kept(policy):
        f = tangrad.checkpoint(lambda x: in_scan(tangrad, x), policy=policy)
        return [aval.shape for aval, _ in tangrad.ad_checkpoint.saved_residuals(f, 0.7)]

    assert kept(None) == kept(only("tanh")) == [()]
    assert kept(only("cos")) == [(3,), (3,)] and kept(lambda *_, **__: True) == [(3,), (3,)]


# --- concrete values ------------------------------------------------------------------------------------------------


def branching(x):
    np = tangrad.numpy
    y = np.sin(x) * 2.0
    for _ in range(2):
        y = np.sin(y) if y > 0 else y * y
    if tangrad.lax.cond(x > 0, lambda x: x, lambda x: -2.0 * x, x) > 1.2:
        y = y + tangrad.jit(np.exp)(x)
    return y


@pytest.mark.parametrize("x", [1.0, -1.3])
def test_python_branches_on_concrete_values(x):
    f = tangrad.checkpoint(branching, concrete=True)
    for transformed in (
        lambda f: f(x),
        lambda f: tangrad.grad(f)(x),
        lambda f: tangrad.grad(tangrad.grad(f))(x),
        lambda f: tangrad.jvp(f, (x,), (1.0,)),
        lambda f: tangrad.linearize(f, x)[1](1.0),
    ):
        assert numpy.allclose(transformed(f), transformed(branching), rtol=1e-5)


def test_concrete_values_are_not_there_inside_jit_and_vmap():
    f = tangrad.checkpoint(branching, concrete=True)
    for call in (lambda: tangrad.jit(f)(1.0), lambda: tangrad.vmap(f)(X)):
        with pytest.raises(tangrad.errors.TracerBoolConversionError):
            call()
    plain = tangrad.checkpoint(tangrad.numpy.sin, concrete=True)
    assert numpy.allclose(tangrad.jit(tangrad.vmap(tangrad.grad(plain)))(X), numpy.cos(X))


# --- functions whose forward rule is left out of the first pass -----------------------------------------------------


@pytest.mark.parametrize("optimize", [True, False])
def test_optimize_remat_runs_the_function_in_the_first_pass(optimize):
    np = tangrad.numpy
    f = tangrad.custom_vjp(lambda x: np.sin(x))
    fwd = lambda x: (np.tanh(x), (np.cos(x), None))  # another function, so that it shows which one runs
    f.defvjp(fwd, lambda residuals, ct: (ct * residuals[0],), optimize_remat=optimize)
    value, gradient = tangrad.jit(tangrad.value_and_grad(tangrad.checkpoint(f)))(0.5)
    assert numpy.allclose(value, numpy.sin(0.5) if optimize else numpy.tanh(0.5))
    assert numpy.allclose(gradient, numpy.cos(0.5))
    assert numpy.allclose(tangrad.jit(tangrad.vmap(tangrad.grad(tangrad.checkpoint(f))))(X), numpy.cos(X))
    assert numpy.allclose(tangrad.grad(f)(0.5), numpy.cos(0.5))


def test_optimize_remat_does_not_go_with_symbolic_zeros():
    f = tangrad.custom_vjp(lambda x: x)
    with pytest.raises(NotImplementedError, match="symbolic_zeros"):
        f.defvjp(lambda x: (x, None), lambda _, ct: (ct,), symbolic_zeros=True, optimize_remat=True)
