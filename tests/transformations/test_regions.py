"""Equal parts of a program are compiled once: which, and that nothing else changes."""

import warnings
from collections import Counter
from dataclasses import replace
from math import inf

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, nn, tree
from tangrad._jit.regions.program_pass import with_regions
from tangrad._jit.regions.repeats import find_stretches
from tangrad._jit.settings import MEASURED, NONE, Limits, compile_regions
from tangrad.core import ClosedJaxpr, Literal, PrimitiveSet, backend_names, eval_jaxpr, register
from tangrad.core.tools import check_jaxpr
from tangrad.extend.jit import region_p

# --- Equal parts of a program are compiled once: which, and that nothing else changes -------------------------------


BACKENDS = backend_names()
SIZE = 8


@pytest.fixture(params=BACKENDS)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


def weights(count, seed=0):
    numbers = numpy.random.default_rng(seed)
    return [
        {
            "in": np.asarray(numbers.normal(0, 0.3, (SIZE, SIZE)).astype("float32")),
            "out": np.asarray(numbers.normal(0, 0.3, (SIZE, SIZE)).astype("float32")),
            "shift": np.asarray(numbers.normal(0, 0.3, SIZE).astype("float32")),
        }
        for _ in range(count)
    ]


def batch(seed=7):
    return np.asarray(numpy.random.default_rng(seed).normal(0, 1, (3, SIZE)).astype("float32"))


def layer(weight, x):
    mean = x.mean(-1, keepdims=True)
    spread = ((x - mean) ** 2).mean(-1, keepdims=True)
    y = (x - mean) / np.sqrt(spread + 1e-5)
    return x + nn.gelu(y @ weight["in"] + weight["shift"]) @ weight["out"]


def deep(layer=layer):
    def loss(weights, x):
        for weight in weights:
            x = layer(weight, x)
        return (x**2).mean()

    return loss


SMALL = Limits(program=2, region=5, saved=1)  # as measured, for the small programs of these tests


def regions_of(function, *args, limits=SMALL, unmarked=True):
    """The programs of the calls of regions, one for each call."""
    program = tangrad.jit(function).trace(*args).jaxpr
    found = with_regions(program, limits, unmarked)
    if found is None:
        return []
    check_jaxpr(found)
    return list(calls_in(found))


def calls_in(program):
    for equation in program.eqns:
        if equation.primitive is region_p:
            yield equation.params["jaxpr"]
        for value in equation.params.values():
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, ClosedJaxpr) and equation.primitive is not region_p:
                    yield from calls_in(item)


def sizes(calls):
    """How often each region is called."""
    return sorted(Counter(map(id, calls)).values())


def assert_close(first, second, rtol=2e-5, atol=1e-6):
    for one, other in zip(tree.leaves(first), tree.leaves(second), strict=True):
        assert numpy.allclose(one, other, rtol=rtol, atol=atol), (one, other)


def assert_as_whole(function, *args):
    """Regions everywhere compute what the whole program does.

    XLA sums in another order within regions, which programs that are conditioned badly show: they are equal in float64.
    """
    both = lambda *args: [tangrad.jit(function, compile_regions=choice)(*args) for choice in ("always", False)]
    regions, whole = both(*args)
    try:
        assert_close(regions, whole)
    except AssertionError:
        assert_close(regions, whole, 1e-3, 1e-4)
        with tangrad.enable_x64(True):
            assert_close(*both(*tree.map(lambda leaf: np.asarray(leaf, "float64"), args)), 1e-9, 1e-11)


# --- which parts are regions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [4, 9])
def test_the_layers_of_a_python_loop_are_one_region_and_their_gradients_another(count):
    both = tangrad.value_and_grad(deep(), argnums=(0, 1))
    assert sizes(regions_of(both, weights(count), batch())) == [count, count]
    # The first is not differentiated with respect to its input: of its gradient less than half is there.
    assert sizes(regions_of(tangrad.value_and_grad(deep()), weights(count), batch())) == [count - 1, count]


def dense(weight, x):
    return np.tanh(np.tanh(x @ weight["in"] + weight["shift"]) @ weight["out"])


def test_a_copy_that_lacks_equations_is_a_call_where_they_take_little_beside_the_others():
    calls = lambda count, **limits: sizes(
        regions_of(tangrad.grad(deep(dense)), weights(count), batch(), limits=replace(SMALL, **limits))
    )
    assert calls(3) == [2, 3] and calls(9) == [9, 9]  # the gradient with respect to the input
    assert calls(9, spent=0) == [8, 9] and calls(3, spent=inf) == [3, 3]


def normed(weight, x):
    centred = x - x.mean(-1, keepdims=True)
    y = centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * (1 + weight["shift"])
    return x + np.tanh(y @ weight["in"]) @ weight["out"]


def test_what_is_cheap_is_computed_again_where_it_is_read():
    function = tangrad.grad(deep(normed), argnums=(0, 1))

    def handed_on(**limits):
        found = regions_of(function, weights(9), batch(), limits=replace(SMALL, **limits))
        assert sizes(found) == [9, 9]
        return [sum(aval.size for aval in program.out_avals) for program in dict.fromkeys(found)]

    kept, again = handed_on(), handed_on(again=True)
    assert again[0] < 0.8 * kept[0] and again[1] == kept[1]  # forward; the gradients are results
    for number in (0, (0, 1)):
        function = tangrad.value_and_grad(deep(normed), argnums=number)
        whole = tangrad.jit(function, compile_regions=False)(weights(9), batch())
        assert_close(tangrad.jit(function, compile_regions="always")(weights(9), batch()), whole)


@pytest.mark.parametrize("place", ["first", "last"])
def test_what_is_taken_along_between_the_equations_of_an_incomplete_copy_stays_outside(place):
    def branching(weights, x):
        for number, weight in enumerate(weights):
            at = number == (0 if place == "first" else len(weights) - 1)
            y = x @ weight["in"]
            x = np.tanh(y) @ weight["out"] if not at else np.tanh(y + np.cos(x)) @ weight["out"]
            x = layer(weight, x)
        return (x**2).mean()

    args = weights(9), batch()
    for function in (branching, tangrad.grad(branching), tangrad.grad(branching, argnums=(0, 1))):
        assert_as_whole(function, *args)


def test_the_steps_of_an_unrolled_recurrence_are_regions_though_each_reads_a_place_of_its_own():
    def unrolled(weight, xs):
        state = np.zeros((3, SIZE))
        for step in range(10):
            state = layer(weight, state + xs[step])
        return (state**2).mean()

    args = weights(1)[0], np.stack([batch(seed) for seed in range(10)])
    assert all(count >= 9 for count in sizes(regions_of(unrolled, *args)))
    assert len(sizes(regions_of(tangrad.grad(unrolled), *args))) == 2  # forward, and back
    function = tangrad.value_and_grad(unrolled, argnums=(0, 1))
    whole = tangrad.jit(function, compile_regions=False)(*args)
    assert_close(tangrad.jit(function, compile_regions="always")(*args), whole)


def test_calls_of_a_jitted_layer_are_regions_where_only_those_are_wanted():
    program = tangrad.value_and_grad(deep(tangrad.jit(layer)))
    assert sizes(regions_of(program, weights(6), batch(), unmarked=False)) == [5, 6]
    assert regions_of(tangrad.value_and_grad(deep()), weights(6), batch(), unmarked=False) == []


def test_marked_layers_hand_on_as_little_as_found_ones_and_their_incomplete_copies_are_calls():
    limits = replace(SMALL, again=True)
    total = lambda found: sum(aval.size for program in found for aval in program.out_avals)
    found, marked = [
        regions_of(tangrad.grad(deep(wrap(normed)), argnums=(0, 1)), weights(9), batch(), limits=limits)
        for wrap in (lambda layer: layer, tangrad.jit)
    ]
    assert sizes(found) == sizes(marked) == [9, 9] and total(marked) <= total(found)
    first_lacks = tangrad.grad(deep(tangrad.jit(dense)))
    assert sizes(regions_of(first_lacks, weights(9), batch())) == [9, 9]


def test_jitted_layers_that_are_called_in_turn_are_regions_each():
    one, other = tangrad.jit(layer), tangrad.jit(lambda weight, x: np.sin(normed(weight, x)))

    def program(weights, x):
        for number, weight in enumerate(weights):
            x = (other if number in (1, 2, 5) else one)(weight, x) * (number + 1.0)  # no period
        return x

    found = regions_of(program, weights(7), batch())
    assert sizes(found) == [3, 4]
    assert sizes(regions_of(program, weights(7), batch(), limits=replace(SMALL, again=True))) == [3, 4]


def test_a_longer_repetition_goes_through_what_is_marked():
    attended = tangrad.jit(lambda weight, x: x + np.tanh(x @ weight["in"]) @ weight["out"])

    def program(weights, x):
        for weight in weights:
            x = normed(weight, attended(weight, x))
        return x

    whole = tangrad.jit(program, compile_regions=False)(weights(5), batch())
    assert sizes(regions_of(program, weights(5), batch())) == [5]
    assert_close(tangrad.jit(program, compile_regions="always")(weights(5), batch()), whole)


@pytest.mark.parametrize(
    ("names", "dtype", "groups", "found"),
    [
        (("NHWC", "HWIO", "NHWC"), "float32", 1, True),
        (("NDHWC", "DHWIO", "NDHWC"), "float32", 1, True),
        (("NCHW", "OIHW", "NCHW"), "float32", 1, False),
        (("NHWC", "HWIO", "NHWC"), "float32", 2, False),
        (("NHWC", "HWIO", "NHWC"), "bfloat16", 1, False),
        (("NWC", "WIO", "NWC"), "float32", 1, False),
    ],
)
def test_convolutions_are_in_regions_where_functions_do_not_slow_them_down(names, dtype, groups, found):
    sizes_of = {"N": 2, "C": 4, "I": 4 // groups, "O": 4} | dict.fromkeys("HWD", 3)

    def network(kernels, x):
        for kernel in kernels:
            y = lax.conv_general_dilated(
                x, kernel, (1,) * (x.ndim - 2), "SAME", (1,) * (x.ndim - 2), None, names, groups
            )
            x = nn.relu((y - y.mean()) / np.sqrt(y.var() + 1)) + x
        return x.sum()

    x, kernel = [np.ones([sizes_of[name] for name in names[number]], dtype=dtype) for number in (0, 1)]
    limits = replace(SMALL, steady=True)
    assert bool(regions_of(tangrad.grad(network), [kernel] * 6, x, limits=limits)) == found
    assert not regions_of(tangrad.grad(network), [kernel] * 6, x)  # as for NumPy


def test_equal_functions_that_were_jitted_apart_are_one_region():
    def each(weights, x):
        for weight in weights:
            x = tangrad.jit(lambda weight, x: layer(weight, x))(weight, x)
        return x

    assert sizes(regions_of(each, weights(5), batch(), unmarked=False)) == [5]


def test_the_gradient_of_a_mapped_and_of_a_recomputed_layer_is_a_region():
    mapped = tangrad.vmap(tangrad.grad(deep()), (None, 0))
    assert sizes(regions_of(mapped, weights(6), np.stack([batch(1), batch(2)]))) == [5, 6]
    recomputed = tangrad.grad(deep(tangrad.checkpoint(layer)))
    assert max(sizes(regions_of(recomputed, weights(6), batch()))) >= 5


def test_layers_within_a_jitted_function_and_within_a_loop_are_found():
    inner = tangrad.jit(lambda weights, x: deep()(weights, x))
    assert sizes(regions_of(lambda weights, x: inner(weights, x) * 2, weights(8), batch())) == [8]

    def looped(weights, x):
        step = lambda x, _: (x + deep()(weights, x), None)
        return lax.scan(step, x, None, length=3)[0]

    assert sizes(regions_of(looped, weights(8), batch())) == [8]


def test_small_programs_and_what_is_computed_element_by_element_are_left_alone():
    assert regions_of(tangrad.grad(deep()), weights(2), batch(), limits=MEASURED) == []

    def chain(x):
        for _ in range(100):
            x = np.sin(x) * 1.01 + 0.1
        return x.sum()

    assert regions_of(tangrad.grad(chain), batch()) == []
    assert loops_of(tangrad.grad(chain), batch(), limits=NONE)[0] != []


def test_parts_with_effects_and_parts_that_differ_in_a_number_are_no_copies():
    def noisy(weights, x):
        for weight in weights:
            tangrad.debug.callback(lambda value: None, x[0, 0])
            x = layer(weight, x)
        return x

    for call in regions_of(noisy, weights(8), batch()):
        assert not call.effects

    def scaled(weights, x):
        for number, weight in enumerate(weights):
            x = layer(weight, x) * (1.0 + number)
        return x

    for program in regions_of(scaled, weights(8), batch()):
        assert all(float(eqn.invars[1].val) != 3.0 for eqn in program.eqns if isinstance(eqn.invars[-1], Literal))


def test_what_is_left_of_repetitions_that_overlap_others_repeats_itself():
    draw = numpy.random.default_rng(0)
    for _ in range(300):
        block = list(draw.integers(0, 3, draw.integers(1, 5)))
        numbers = [*block * draw.integers(2, 5), *draw.integers(0, 3, 4), *block * draw.integers(1, 4)]
        for start, length, period in find_stretches(numbers, [1] * len(numbers), Limits(2, region=3, saved=1)):
            part = numbers[start : start + length]
            assert length >= 2 * period and part[period:] == part[:-period]


def test_what_only_some_copies_hand_on_is_a_result_of_the_region():
    def kept(weights, x):
        middle = None
        for number, weight in enumerate(weights):
            y = x @ weight["in"]
            middle = y if number == 4 else middle
            x = layer(weight, y)
        return x, middle

    args = weights(8), batch()
    assert sizes(regions_of(kept, *args)) == [8]
    assert_close(tangrad.jit(kept, compile_regions="always")(*args), kept(*args))


# --- chains as loops --------------------------------------------------------------------------------------------------


def chained(x, steps):
    for _ in range(steps):
        x = np.sin(x) * 1.01 + 0.1
    return x


def wave(x, steps=400):
    return chained(x, steps).sum()


def loops_of(function, *args, limits=MEASURED):
    """The steps of the loops that a chain has become, and how many equations are left."""
    program = tangrad.jit(function).trace(*args).jaxpr
    found = with_regions(program, limits, True)
    if found is None:
        return [], len(program.eqns)
    check_jaxpr(found)
    scans = [equation for equation in found.eqns if equation.primitive.identity == "control_flow.scan"]
    return [equation.params["length"] for equation in scans], len(found.eqns)


def test_a_long_chain_is_a_loop_and_its_gradient_walks_the_stack_back():
    steps, left = loops_of(tangrad.value_and_grad(wave), batch())
    assert steps == [400, 400] and left < 10
    steps, left = loops_of(tangrad.grad(wave), batch())
    assert steps == [399, 399] and left < 12  # the last sine is unused
    steps, left = loops_of(wave, batch())
    assert steps == [25] and left < 10  # of 16 turns each
    assert loops_of(tangrad.grad(lambda x: wave(x, 20)), batch())[0] == []


def test_what_a_loop_would_stack_in_vain_stays_a_chain():
    def kept(x):
        seen = []
        for _ in range(200):
            x = np.sin(x) * 1.01 + 0.1
            seen.append(x)
        return seen

    assert loops_of(kept, np.ones(3))[0] == []
    large = np.zeros((1 << 16,))
    assert loops_of(tangrad.grad(wave), large)[0] == []  # 100 MB of cosines


def test_chains_compute_what_they_did(backend):
    def branching(x, weight):
        first = None
        for step in range(120):
            x = np.tanh(x * weight) + 0.5 * x
            first = x if step == 7 else first
        return (x * first).sum()

    for function in (wave, lambda x: branching(x, x + 1.0)):
        for transformed in (function, tangrad.value_and_grad(function), tangrad.vmap(tangrad.grad(function))):
            whole = tangrad.jit(transformed, compile_regions=False)(batch())
            for choice in ("auto", "always"):
                assert_close(tangrad.jit(transformed, compile_regions=choice)(batch()), whole)


# --- that nothing else changes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["auto", "marked", "always"])
def test_results_are_those_of_the_whole_program(backend, choice):
    args = weights(5), batch()
    for function in (deep(), deep(tangrad.jit(layer)), deep(tangrad.checkpoint(layer))):
        function = tangrad.value_and_grad(function)
        whole = tangrad.jit(function, compile_regions=False)(*args)
        assert_close(tangrad.jit(function, compile_regions=choice)(*args), whole)


def test_the_argument_counts_before_the_setting_and_both_are_checked():
    args = weights(6), batch()
    function = tangrad.grad(deep())

    def kept(**options):
        with tangrad.use_backend("xla"):
            return tangrad.jit(function, **options).lower(*args).as_text().count("inlineable")

    if "xla" in BACKENDS:
        assert kept() > 0 and kept(compile_regions=False) == 0 and kept(compile_regions="marked") == 0
        with compile_regions(False):
            assert kept() == 0 and kept(compile_regions="auto") > 0
    with pytest.raises(ValueError, match=r"compile_regions: expected False or one of 'auto'.*got 'all'"):
        tangrad.jit(function, compile_regions="all")
    with pytest.raises(TypeError, match=r"compile_regions: expected False or one of 'auto'.*got 3"):
        tangrad.jit(function, compile_regions=3)


def test_donated_arguments_are_overwritten(backend):
    def step(weights, x):
        slopes = tangrad.grad(deep())(weights, x)
        return tree.map(lambda weight, slope: weight - 0.1 * slope, weights, slopes)

    whole = tangrad.jit(step, compile_regions=False)(weights(6), batch())
    given = weights(6)
    result = tangrad.jit(step, compile_regions="always", donate_argnums=0)(given, batch())
    assert_close(result, whole)
    assert all(leaf.is_deleted() for leaf in tree.leaves(given))


def test_effects_happen_in_their_order(backend):
    seen = []

    def noisy(weights, x):
        for number, weight in enumerate(weights):
            tangrad.debug.callback(lambda value, number=number: seen.append(number), x[0, 0], ordered=True)
            x = layer(weight, x)
        return x

    tangrad.block_until_ready(tangrad.jit(noisy, compile_regions="always")(weights(6), batch()))
    tangrad.effects_barrier()
    assert seen == list(range(6))


def test_the_operation_that_makes_a_nan_is_named(backend):
    def broken(weights, x):
        for weight in weights:
            x = np.log(layer(weight, x) - 100.0)
        return x

    with tangrad.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        tangrad.jit(broken, compile_regions="always")(weights(6), batch())


ones = lambda x, *shape: x[0, 0] * np.ones(shape, x.dtype)
LARGE = {
    "none": (lambda x: x, False),
    "many multiplications": (lambda x: x + (ones(x, 256, 64) @ ones(x, 64, 256))[0, 0], True),
    "long sums": (lambda x: x + (ones(x, 8, 2048) @ ones(x, 2048, 8))[0, 0], True),
    "many matrices": (lambda x: x + np.sum(ones(x, 64, 4, 4) @ ones(x, 64, 4, 4)), True),
    "half precision": (lambda x: x + np.sum(x.T.astype("bfloat16") @ x.astype("bfloat16")), True),
}


@pytest.mark.parametrize("name", LARGE)
def test_small_products_within_regions_are_compiled_without_plans(monkeypatch, name):
    """XLA's library makes a plan for each product of each call when it first runs."""
    if "xla" not in BACKENDS:
        pytest.skip("XLA's option")
    from tangrad._backend_xla import jaxlib_api
    from tangrad._backend_xla.compiler_options import UNPLANNED_PRODUCTS

    given = []
    make = jaxlib_api.make_compile_options
    noted = lambda *args, overrides=None, **others: (
        given.append(overrides),
        make(*args, overrides=overrides, **others),
    )[1]
    monkeypatch.setattr(jaxlib_api, "make_compile_options", noted)
    more, is_large = LARGE[name]
    function = lambda weights, x: more(deep()(weights, x)[None, None] + x)
    chosen = {"compile_regions": "always", "compiler_options": {"xla_backend_optimization_level": 1}}
    with tangrad.use_backend("xla"):
        for options in ({"compile_regions": "always"}, chosen, {"compile_regions": False}):
            tangrad.jit(function, **options).lower(weights(6), batch()).compile()
    expected = {} if is_large else UNPLANNED_PRODUCTS
    assert given == [expected or None, {**expected, **chosen["compiler_options"]}, None]


def test_a_program_that_does_not_compile_with_regions_is_compiled_whole_with_one_warning(monkeypatch):
    if "xla" not in BACKENDS:
        pytest.skip("regions are functions on XLA alone")
    from tangrad._backend_xla import executable, jaxlib_api

    compile_module = executable.compile_module

    def refusing(module, *args):
        if module.kept_calls:
            raise jaxlib_api.XlaRuntimeError("INTERNAL: no calls here")
        return compile_module(module, *args)

    monkeypatch.setattr(executable, "compile_module", refusing)
    args = weights(6), batch()
    with tangrad.use_backend("xla"):
        whole = tangrad.grad(deep())(*args)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = tangrad.jit(tangrad.grad(deep()))(*args)
    assert_close(found, whole)
    assert [str(warning.message)[:16] for warning in caught] == ["XLA does not com"]


def test_a_pass_that_fails_leaves_the_program_whole_with_one_warning(monkeypatch):
    from tangrad._jit.regions import program_pass

    def fail(*args, **options):
        raise RuntimeError("no regions today")

    monkeypatch.setattr(program_pass, "with_regions", fail)
    with pytest.warns(RuntimeWarning, match="compiled whole.*no regions today") as caught:
        assert float(tangrad.jit(lambda x: (x * 2 + 1) * 2 + 1, compile_regions="always")(3.0)) == 15.0
    assert len(caught) == 1


# --- Programs that others' primitives carry ------------------------------------------------------------------------


@pytest.mark.parametrize("programs", ["call", "loop", None])
def test_programs_of_others_are_looked_into_where_the_primitive_declares_it(programs):
    family = PrimitiveSet(f"carrying_{programs}", api=1)
    carried_p = family.primitive(
        lambda *avals, jaxpr: tuple(jaxpr.out_avals),
        name="carried",
        multiple_results=True,
        decompose=lambda *args, jaxpr: tuple(eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)),
        programs=programs,
    )
    with register(family):
        network, x = weights(6), batch()
        inner = tangrad.make_jaxpr(deep())(network, x)
        function = lambda *leaves: carried_p.bind(*leaves, jaxpr=inner)[0]
        found = regions_of(function, *tree.leaves((network, x)))
        assert sizes(found) == ([] if programs is None else [6])
