"""Random programs of repeated parts: with regions everywhere they compute what they compute without."""

import random

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, nn
from tangrad._jit import settings
from tangrad._jit.regions import program_pass
from tangrad.core import backend_names
from tangrad.random import fold_in, key, normal
from tests.transformations.test_regions import assert_as_whole, assert_close, batch, chained, layer, weights


@tangrad.custom_jvp
def bent(x):
    return np.sin(x) * x


bent.defjvps(lambda change, _, x: change * (np.cos(x) * x + np.sin(x)))


def convolved(weight, x, image, names, groups=1, kernel=(1, 2, 2, 2)):
    numbers = weight["in"].reshape(-1)[: numpy.prod(kernel)].reshape(kernel)
    params = {"dimension_numbers": names, "feature_group_count": groups}
    return np.tanh(lax.conv_general_dilated(x.reshape(image), numbers, (1, 1), "SAME", **params).reshape(x.shape)) + x


LAST, FIRST = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")


def attention(weight, x):
    centred = x - x.mean(-1, keepdims=True)
    y = centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-5) * weight["shift"][: x.shape[-1]]
    scores = np.exp((y @ y.T) * 0.1)
    x = x + (scores / scores.sum(-1, keepdims=True)) @ y
    return x + np.tanh(x @ weight["in"]) @ weight["out"]


STEPS = {
    "layer": layer,
    "attention": attention,
    "features last": lambda weight, x: convolved(weight, x, (1, 3, 4, 2), LAST),
    "features first": lambda weight, x: convolved(weight, x, (1, 2, 3, 4), FIRST, kernel=(2, 2, 1, 2)),
    "groups": lambda weight, x: convolved(weight, x, (1, 3, 4, 2), LAST, 2, (2, 2, 1, 2)),
    "bent": lambda weight, x: bent(x) + weight["shift"],
    "noise": lambda weight, x: x + normal(fold_in(key(0), 3), x.shape) * weight["shift"],
    "placed": lambda weight, x: x.at[1].set(weight["shift"]) * x[np.argmax(x, 0)[:3] % 3],
    "tanh": lambda weight, x: np.tanh(x @ weight["in"] + weight["shift"]),
    "gate": lambda weight, x: nn.sigmoid(x @ weight["in"]) * x + weight["shift"],
    "sorted": lambda weight, x: np.sort(x, -1) * 0.5 + weight["shift"],
    "choice": lambda weight, x: lax.cond(x.sum() > 0, lambda x: x * 0.5, lambda x: x @ weight["out"], x),
    "scan": lambda weight, x: lax.scan(lambda x, _: (np.sin(x @ weight["in"]), x[0]), x, None, length=2)[0],
    "columns": lambda weight, x: np.concatenate([x[:, 3:] * 2.0, x[:, :3]], -1),
    "chain": lambda weight, x: chained(x, 6),
    "same": lambda weight, x: x,
}


def written(block, copies, between, wrap, ends="whole"):
    def run(weight, x, lacking=""):
        for name in block:
            if name != lacking:
                x = STEPS[name](weight, x)
        return x

    part = run

    if wrap == "two jits":  # called in turn
        run, other = tangrad.jit(part), tangrad.jit(lambda weight, x: STEPS["layer"](weight, part(weight, x)))
    elif "jit" in wrap:
        run = tangrad.jit(run)
    if "checkpoint" in wrap:
        run = tangrad.checkpoint(run)

    def program(weights, x):
        first = x
        for number in range(copies):
            if number == {"first lacks": 0, "last lacks": copies - 1}.get(ends):
                x = part(weights[number], x, block[0])
            elif wrap == "two jits" and number % 2:
                x = other(weights[number], x)
            else:
                x = run(weights[number], x)
            if between == "index":
                x = x + first[number % 3]
            elif between == "skip" and number % 2:
                x = x + first
            elif between == "step" and number == 1:
                x = np.cos(x)
        return (x**2).mean()

    return program


def made(description):
    """The function of a description, and its arguments."""
    block, copies, between, wrap, transformed, ends = description
    function = written(block, copies, between, wrap, ends)
    args = weights(copies), batch()
    if "grad" in transformed:
        function = tangrad.value_and_grad(function, argnums=0 if ends == "constant input" else (0, 1))
    if "vmap" in transformed:
        function = tangrad.vmap(function, (None, 0))
        args = (args[0], np.stack([batch(1), batch(2)]))
    return function, args


def check_program(description):
    function, args = made(description)
    assert_as_whole(function, *args)


PARTS, PROGRAMS = 50, 40


def drawn(seed):
    """A block of steps, how often it comes, what is between, what is marked, the transformation, and what ends lack."""
    numbers = random.Random(seed)
    return (
        [numbers.choice(sorted(STEPS)) for _ in range(numbers.randint(1, 3))],
        numbers.randint(2, 5),
        numbers.choice(["nothing", "index", "skip", "step"]),
        numbers.choice(["plain", "jit", "checkpoint", "checkpoint of jit", "two jits"]),
        numbers.choice(["value", "grad", "vmap", "vmap of grad"]),
        numbers.choice(["whole", "first lacks", "last lacks", "constant input"]),
    )


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("backend", backend_names())
def test_a_few_programs_of_repeated_parts_compute_the_same(backend, seed):
    with tangrad.use_backend(backend):
        check_program(drawn(seed))


@pytest.mark.parametrize("limits", ["MEASURED", "NONE"])
def test_the_same_program_is_made_each_time_that_a_function_is_traced(limits):
    """Else the next process compiles again what the cache has."""
    found = 0
    for seed in range(30):
        block, _, *others = drawn(seed)
        texts = []
        for _ in range(2):
            function, args = made([[*block, "attention"], 8, *others])
            closed = program_pass.with_regions(tangrad.make_jaxpr(function)(*args), getattr(settings, limits), True)
            texts.append(str(closed))
            found += closed is not None
        assert texts[0] == texts[1], drawn(seed)
    assert found > 25


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("backend", backend_names())
def test_programs_of_repeated_parts_compute_the_same(backend, part):
    with tangrad.use_backend(backend):
        for number in range(PROGRAMS):
            seed = part * PROGRAMS + number
            try:
                check_program(drawn(seed))
            except Exception as error:
                error.add_note(f"program {seed}: {drawn(seed)}")
                raise


HANDED_ON = {
    "as it is": lambda x: x,
    "times one": lambda x: x * 1.0,
    "times ones": lambda x: x * np.ones(x.shape, x.dtype),
    "and zeros": lambda x: x + np.zeros(x.shape, x.dtype),
    "and back": lambda x: (x + 1.0) - 1.0,
    "turned twice": lambda x: x.T.T,
    "reversed twice": lambda x: x[::-1][::-1],
    "rolled twice": lambda x: np.roll(np.roll(x, 1), -1),
    "in another shape": lambda x: x.reshape(-1).reshape(x.shape),
    "negated twice": lambda x: np.negative(np.negative(x)),
    "inverted twice": lambda x: 1 / (1 / x),
    "an inverse": lambda x: np.log(np.exp(x)),
    "a power of one": lambda x: x ** np.ones(x.shape, x.dtype),
    "where it is": lambda x: np.where(np.ones(x.shape, bool), x, 0 * x),
    "its greatest": lambda x: np.maximum(np.maximum(x, x), -np.inf),
    "within everything": lambda x: lax.clamp(np.float32(-np.inf), x, np.float32(np.inf)),
    "a slice of all": lambda x: lax.slice(x, (0, 0), x.shape),
    "a dynamic slice of all": lambda x: lax.dynamic_slice(x, (0, 0), x.shape),
    "padded by nothing": lambda x: lax.pad(x, np.float32(0), [(0, 0, 0)] * 2),
    "written over": lambda x: lax.dynamic_update_slice(x * 0, x, (0, 0)),
    "written into itself": lambda x: lax.dynamic_update_slice(x, x[:1], (0, 0)),
    "in two parts": lambda x: np.concatenate([x[:2], x[2:]]),
    "one of two": lambda x: np.concatenate([x, x])[: x.shape[0]],
    "one of one": lambda x: np.stack([x])[0],
    "all rows": lambda x: x[np.arange(x.shape[0])],
    "a sum of one": lambda x: x.reshape((*x.shape, 1)).sum(-1),
    "a real part": lambda x: np.real(lax.complex(x, x)),
    "its bits": lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, np.int32), np.float32),
    "all of its digits": lambda x: lax.reduce_precision(x, 8, 23),
    "a condition": lambda x: lax.cond(True, lambda x: x, lambda x: -x, x),
    "a loop of none": lambda x: lax.fori_loop(0, 0, lambda _, x: x * 2, x),
    "a loop of one": lambda x: lax.fori_loop(0, 1, lambda _, x: x + 0.0, x),
    "a loop around": lambda x: lax.scan(lambda carry, row: (carry, np.sin(row)), x, x)[0],
    "rows of a loop": lambda x: lax.scan(lambda carry, row: (carry, row), 0.0, x)[1],
}


@pytest.mark.parametrize("name", HANDED_ON)
@pytest.mark.parametrize("backend", backend_names())
def test_what_regions_hand_on_is_not_overwritten(backend, name):
    step = tangrad.jit(HANDED_ON[name])

    def program(x):
        first = x
        for number in range(3):
            x = step(x) + first[number]
        return (x**2).mean()

    with tangrad.use_backend(backend):
        function, x = tangrad.value_and_grad(program), batch()
        whole = tangrad.jit(function, compile_regions=False)(x)
        assert_close(tangrad.jit(function, compile_regions="always")(x), whole)


COMPUTED = {
    "layers": layer,
    "a mask": lambda weight, x: x + nn.softmax(np.where(np.tri(x.shape[0]) > 0, x @ x.T, -1e9)) @ (x @ weight["out"]),
    "a normed layer": lambda weight, x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5),
    "a loop": STEPS["scan"],
    "a branch": lambda weight, x: lax.cond(x.sum() > 0, np.sin, lambda x: x @ weight["out"], x),
    "parts": lambda weight, x: x + np.tanh(np.split(np.concatenate([x, x], -1) @ np.tri(2 * x.shape[-1]), 2, -1)[0]),
}


def may_hand_on(function, *args):
    """What the lowering asks of a region."""
    pytest.importorskip("jaxlib")
    from tangrad._backend_xla.lower import regions

    return regions.may_hand_on(tangrad.make_jaxpr(function)(*args))


@pytest.mark.parametrize("name", HANDED_ON)
def test_what_may_be_an_argument_is_no_function_of_its_own(name):
    assert may_hand_on(HANDED_ON[name], batch())


@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_computed_is_a_function_of_its_own(name):
    assert not may_hand_on(COMPUTED[name], weights(1)[0], batch())
