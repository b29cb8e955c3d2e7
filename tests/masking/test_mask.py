"""`mask`: programs of arrays of any size, each a row of PROGRAMS, padded and mapped against whole ones.

`weights` are closed over: their gradient must not see the padding either.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tangrad
import tangrad.numpy as tnp
from tangrad import lax, mask, nn, shapecheck, tree, use_backend
from tangrad._lax.symbolic.solving import evaluate_shape
from tangrad._masking import ShapeError
from tangrad.core import backend_names
from tangrad.errors import MissingRuleError
from tangrad.export import SymbolicScope, symbolic_shape


@dataclass(frozen=True)
class Masked:
    """A function `(weights, *args)`, the specs of its arguments and its result, and the least size of each variable."""

    function: object
    specs: tuple[str, ...]
    out: object
    least: int = 1
    constraints: tuple[str, ...] = ()
    differentiable: bool = True


W = np.linspace(0.5, 1.5, 3, dtype="float32")  # what programs close over


def scanned(w, x):
    carry, ys = lax.scan(lambda c, row: (c * w[0] + tnp.log(row * w[1]), c * row), w[2], x)
    return carry, ys


def backwards(w, x):
    return lax.scan(lambda c, row: (tnp.tanh(c + row * w[0]), c), w[1], x, reverse=True)


def counted(w, x):
    return lax.fori_loop(0, 3, lambda i, y: y * w[0] + i, x)


def doubled(w, x):
    return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + tnp.sum(s[1]) / 10), (0, x))[1]


def chosen(w, x):
    return lax.cond(tnp.sum(x) > 3, lambda y: y * w[0], lambda y: tnp.cumsum(y) / w[1], x)


@tangrad.jit
def jitted(w, x):
    return tnp.exp(-x * w[0]) / tnp.mean(x)


def attention(w, q, k, v):
    scores = q @ k.T / tnp.sqrt(float(q.shape[1])) * w[0]
    return nn.softmax(scores, axis=-1) @ v


def convolved(w, x):
    return lax.conv_general_dilated(x[None, None], w[None, None], (1,), [(1, 1)])[0, 0]


def pooled(w, x):
    return lax.reduce_window(x * w[0], -np.inf, lax.max, (3,), (1,), "VALID")


def pooled_inside(w, x):
    return tangrad.grad(lambda y: tnp.sum(pooled(w, y) ** 2))(x)


def standardised(w, x):
    return (x - tnp.mean(x, axis=0)) / tnp.sqrt(tnp.var(x, axis=0) + 1e-2) * w


def distances(w, x, y):
    return tnp.sum((x[:, None, :] - y[None, :, :]) ** 2 * w, axis=-1)


def gradient_inside(w, x):
    return tangrad.grad(lambda y: tnp.sum(tnp.sin(y) * w[0] + y**2))(x)


def mapped_inside(w, x):
    return tangrad.vmap(lambda row: tnp.sum(row * w) / row)(x)


@tangrad.custom_jvp
def cube(x):
    return x**3


cube.defjvps(lambda tangent, out, x: 3 * x**2 * tangent)


@tangrad.custom_vjp
def damped(x, w):
    return tnp.log(x) * w


damped.defvjp(lambda x, w: (tnp.log(x) * w, (x, w)), lambda res, ct: (ct * res[1] / res[0] / 2, tnp.sum(ct * res[0])))


PROGRAMS = {
    # elementwise
    "polynomial": Masked(lambda w, x: x * w[0] + tnp.log(x) / w[1] - 2, ("n",), "n"),
    "where": Masked(lambda w, x: tnp.where(x > 1, x * w[0], tnp.sqrt(x * w[1])), ("n",), "n"),
    "broadcast": Masked(lambda w, x, y: x[:, None] * y + w[0], ("n", "m"), "(n, m)"),
    "clip": Masked(lambda w, x: tnp.clip(x, w[0], w[2]), ("n",), "n"),
    # reductions
    "sum of logs": Masked(lambda w, x: tnp.sum(tnp.log(w[0] * x)), ("n",), ""),
    "mean": Masked(lambda w, x: tnp.mean(x / w[0]), ("n",), ""),
    "product": Masked(lambda w, x: tnp.prod(x * w[0]), ("n",), ""),
    "extrema": Masked(lambda w, x: (tnp.max(x, axis=0) * w[0], tnp.min(x, axis=1)), ("(n, m)",), ("m", "n")),
    "positions": Masked(lambda w, x: (tnp.argmax(x), tnp.argmin(-x)), ("n",), ("", ""), differentiable=False),
    "logsumexp": Masked(lambda w, x: nn.logsumexp(x * w[0], axis=1), ("(n, m)",), "n"),
    "all": Masked(lambda w, x: (tnp.all(x > 0.1), tnp.any(x > 2.9)), ("n",), ("", ""), differentiable=False),
    "variance": Masked(standardised, ("(n, 3)",), "(n, 3)"),
    "softmax": Masked(lambda w, x: nn.softmax(x * w[0]), ("(n, m)",), "(n, m)"),
    # running totals
    "running sum": Masked(lambda w, x: tnp.cumsum(x * w[0]), ("n",), "n"),
    "running product from the end": Masked(lambda w, x: lax.cumprod(x * w[0], reverse=True), ("n",), "n"),
    "running extrema": Masked(lambda w, x: lax.cummax(x, reverse=True) + lax.cummin(x), ("n",), "n"),
    "running logsumexp": Masked(lambda w, x: lax.cumlogsumexp(x * w[0], reverse=True), ("n",), "n"),
    # structure
    "slices": Masked(lambda w, x: x[1:] * w[0] - x[:-1], ("n",), "n-1", least=2, constraints=("n >= 2",)),
    "every other": Masked(lambda w, x: x[::2] * w[0], ("n",), None),
    "the last": Masked(lambda w, x: x[-1] * w[0] + x[0], ("n",), ""),
    "the last two": Masked(lambda w, x: x[x.shape[0] - 2 :], ("n",), "2", least=2, constraints=("n >= 2",)),
    "reversed": Masked(lambda w, x: x[::-1] * x, ("n",), "n"),
    "joined": Masked(lambda w, x, y: tnp.concatenate([x, y * w[0], x]), ("n", "m"), "2*n+m"),
    "joined with one more": Masked(lambda w, x: tnp.concatenate([x, w[:1], x]), ("n",), "2*n+1"),
    "stacked": Masked(lambda w, x: tnp.stack([x, x * w[0]]), ("n",), "(2, n)"),
    "flattened": Masked(lambda w, x: tnp.ravel(x) * w[0], ("(n, m)",), "n*m"),
    "folded": Masked(lambda w, x: x.reshape(3, -1).sum(axis=0) * w[0], ("3*n",), "n"),
    "rows of three": Masked(lambda w, x: x.reshape(-1, 3) * w, ("3*n",), "(n, 3)"),
    "transposed": Masked(lambda w, x: (x * w[0]).T, ("(n, m)",), "(m, n)"),
    "padded": Masked(lambda w, x: tnp.pad(x * w[0], (1, 2), constant_values=3.0), ("n",), "n+3"),
    "counted": Masked(lambda w, x: x * tnp.arange(x.shape[0]), ("n",), "n"),
    "ones": Masked(lambda w, x: tnp.ones(x.shape) * x.shape[0] * w[0], ("(n, m)",), "(n, m)"),
    "one row": Masked(lambda w, x: lax.dynamic_index_in_dim(x, 1, 0, keepdims=False) * w[0], ("(n, m)",), "m"),
    "a row replaced": Masked(lambda w, x: lax.dynamic_update_index_in_dim(x, w[0] * x[0], 1, 0), ("(n, m)",), "(n, m)"),
    # indexing and sorting
    "taken": Masked(lambda w, x: x[tnp.array([0, -1, 0])] * w, ("n",), "3"),
    "added at": Masked(lambda w, x: x.at[tnp.array([0, -1])].add(w[:2]), ("n",), "n"),
    "table": Masked(lambda w, x: w[tnp.asarray(x * 10, "int32") % 3], ("n",), "n"),
    "sorted": Masked(lambda w, x: tnp.sort(x * w[0]), ("n",), "n"),
    "ranks": Masked(lambda w, x: tnp.argsort(-x), ("n",), "n", differentiable=False),
    "the greatest": Masked(lambda w, x: lax.top_k(x * w[0], 1)[0], ("n",), "1"),
    # contractions and windows
    "matrix by vector": Masked(lambda w, a, b: a @ b * w[0], ("(n, m)", "m"), "n"),
    "gram": Masked(lambda w, a: tnp.einsum("ij,kj->ik", a, a * w[0]), ("(n, m)",), "(n, n)"),
    "distances": Masked(distances, ("(n, 3)", "(m, 3)"), "(n, m)"),
    "attention": Masked(attention, ("(n, 4)", "(m, 4)", "(m, 2)"), "(n, 2)"),
    "convolution": Masked(convolved, ("n",), "n", least=3, constraints=("n >= 3",)),
    "greatest of three": Masked(pooled, ("n",), "n-2", least=3, constraints=("n >= 3",)),
    # matrices and transforms along other dimensions
    "triangles": Masked(lambda w, x: lax.linalg.cholesky(x @ x.mT + tnp.eye(2)) * w[0], ("(n, 2, 2)",), "(n, 2, 2)"),
    "spectra": Masked(lambda w, x: tnp.abs(tnp.fft.fft(x * w[0], axis=1)), ("(n, 4)",), "(n, 4)"),
    "pooling inside": Masked(pooled_inside, ("n",), "n", least=3, constraints=("n >= 3",)),
    # control flow, and other transformations
    "scan": Masked(scanned, ("n",), ("", "n")),
    "scan from the end": Masked(backwards, ("n",), ("", "n")),
    "scan over rows": Masked(lambda w, x: lax.scan(lambda c, r: (c + r, tnp.sum(c)), x[0], x), ("(n, m)",), ("m", "n")),
    "fori": Masked(counted, ("n",), "n"),
    "while": Masked(doubled, ("n",), "n", differentiable=False),
    "cond": Masked(chosen, ("n",), "n"),
    "a jvp rule": Masked(lambda w, x: cube(x * w[0]), ("n",), "n"),
    "a vjp rule": Masked(lambda w, x: damped(x, w[0]), ("n",), "n"),
    "a rule in jit": Masked(tangrad.jit(lambda w, x: cube(x) + damped(x, w[0])), ("n",), "n"),
    "jit": Masked(jitted, ("n",), "n"),
    "relu": Masked(lambda w, x: nn.relu(x - w[0]), ("n",), "n"),
    "grad inside": Masked(gradient_inside, ("n",), "n"),
    "vmap inside": Masked(mapped_inside, ("(n, 3)",), "(n, 3)"),
    "checkpoint": Masked(lambda w, x: tangrad.checkpoint(lambda y: tnp.sum(tnp.sin(y)) * w[0])(x), ("n",), ""),
}


PADDINGS = (np.nan, np.inf, -np.inf, 0.0, 1e30, -7.0)


def arguments(program, sizes, padded, draw):
    """The arguments at their logical sizes, and padded with what must not matter."""
    scope = SymbolicScope()
    plain, filled = [], []
    for spec in program.specs:
        shape = symbolic_shape(spec.strip("()"), scope=scope)
        x = draw.uniform(0.2, 3.0, evaluate_shape(shape, sizes)).astype("float32")
        large = draw.choice(PADDINGS, evaluate_shape(shape, padded)).astype("float32")
        large[tuple(slice(size) for size in x.shape)] = x
        plain.append(tnp.asarray(x))
        filled.append(tnp.asarray(large))
    return plain, filled


def names(program):
    return sorted({letter for spec in program.specs for letter in spec if letter.isalpha()})


def check_equal(masked, plain, what):
    """The part that counts is what the unpadded computation gives; the rest is 0."""
    for one, other in zip(tree.leaves(masked), tree.leaves(plain), strict=True):
        one, other = np.array(one), np.asarray(other)
        part = tuple(slice(size) for size in other.shape)
        np.testing.assert_allclose(one[part], other, rtol=2e-4, atol=2e-5, err_msg=what)
        one[part] = 0
        assert not one.any(), f"{what}: beyond what counts there is {one}"


def total(results):
    """A number that depends on every element of the results differently."""
    leaves = [leaf for leaf in tree.leaves(results) if tnp.issubdtype(leaf.dtype, tnp.floating)]
    return sum([tnp.sum(tnp.sin(leaf) * (1.5 + position)) for position, leaf in enumerate(leaves)])


def check(name, sizes, padded, seed, gradients=True):
    program = PROGRAMS[name]
    plain, filled = arguments(program, sizes, padded, np.random.default_rng(seed))
    weights = tnp.asarray(W)

    def run(w, args):
        function = mask(
            lambda *values: program.function(w, *values),
            list(program.specs),
            program.out,
            constraints=program.constraints,
        )
        return function(list(args), sizes)

    check_equal(run(weights, filled), program.function(weights, *plain), name)
    if program.differentiable and gradients:
        found = tangrad.grad(lambda w, args: total(run(w, args)), argnums=(0, 1))(weights, filled)
        expected = tangrad.grad(lambda w, args: total(program.function(w, *args)), argnums=(0, 1))(weights, plain)
        check_equal(found, expected, f"the gradient of {name}")


def cases():
    """A program, logical sizes, padded ones, and a seed."""

    @st.composite
    def drawn(draw):
        name = draw(st.sampled_from(sorted(PROGRAMS)))
        sizes, padded = {}, {}
        for variable in names(PROGRAMS[name]):
            sizes[variable] = draw(st.integers(PROGRAMS[name].least, 5))
            padded[variable] = sizes[variable] + draw(st.integers(0, 4))
        return name, sizes, padded, draw(st.integers(0, 2**16))

    return drawn()


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_as_if_it_were_not_padded(name):
    variables = names(PROGRAMS[name])
    with use_backend("numpy"):
        check(name, dict(zip(variables, (3, 4))), dict(zip(variables, (5, 6))), 0)


@given(cases())
def test_programs_of_any_size(case):
    with use_backend("numpy"):
        check(*case)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(cases())
def test_a_thousand_programs_of_any_size(case):
    with use_backend("numpy"):
        check(*case)


@pytest.mark.sweep
@settings(max_examples=4000, deadline=None)
@given(cases())
def test_programs_of_any_size_at_length(case):
    with use_backend("numpy"):
        check(*case)


def test_what_is_jitted_within_is_traced_once():
    traces = []
    twice = tangrad.jit(lambda x: traces.append(x) or tnp.concatenate([x, x]))
    function = tangrad.mask(twice, ["n"], "2*n")
    for size in (2, 3, 0):
        np.testing.assert_array_equal(function([tnp.arange(3)], {"n": size})[: 2 * size], 2 * list(range(size)))
    assert len(traces) == 1


# --- Masked functions under jit, grad and vmap, with sizes that are traced, on every backend ---


TRACED = ["sum of logs", "slices", "reversed", "joined", "flattened", "softmax", "sorted", "matrix by vector", "taken"]
TRACED += [
    "running product from the end",
    "scan",
    "scan from the end",
    "cond",
    "a rule in jit",
    "attention",
    "variance",
]


@pytest.fixture(params=backend_names())
def on(request):
    with use_backend(request.param):
        yield request.param


def masked(name):
    """A function of weights, padded arguments and sizes."""
    program = PROGRAMS[name]

    def run(w, args, dims):
        function = mask(
            lambda *values: program.function(w, *values), program.specs, program.out, constraints=program.constraints
        )
        return function(args, dims)

    return run


def differentiated(function):
    """The function's results, and the gradients of a number made of them."""

    def run(w, args, *rest):
        value = function(w, args, *rest)
        return value, tangrad.grad(lambda w, args: total(function(w, args, *rest)), argnums=(0, 1))(w, args)

    return run


@pytest.mark.parametrize("name", TRACED)
def test_one_compilation_serves_all_sizes(name):
    program = PROGRAMS[name]
    traces = []
    function = differentiated(masked(name))
    jitted = tangrad.jit(lambda *args: traces.append(args) or function(*args))
    with use_backend("numpy"):
        for seed, size in enumerate((4, 5)):
            sizes = {letter: size + place for place, letter in enumerate(names(program))}
            padded = {letter: 7 + place for place, letter in enumerate(sizes)}
            plain, filled = arguments(program, sizes, padded, np.random.default_rng(seed))
            expected = differentiated(lambda w, args: program.function(w, *args))(tnp.asarray(W), plain)
            check_equal(jitted(tnp.asarray(W), filled, sizes), expected, name)
    assert len(traces) == 1


@pytest.mark.parametrize("name", TRACED)
def test_examples_of_different_sizes_make_a_batch(name):
    program = PROGRAMS[name]
    with use_backend("numpy"):
        examples = []
        for seed, size in enumerate((4, 6)):
            sizes = {letter: size + place for place, letter in enumerate(names(program))}
            padded = {letter: 7 + place for place, letter in enumerate(sizes)}
            examples.append((sizes, *arguments(program, sizes, padded, np.random.default_rng(seed))))
        stacked = [tnp.stack(parts) for parts in zip(*[filled for _, _, filled in examples])]
        sizes = {letter: tnp.array([example[0][letter] for example in examples]) for letter in examples[0][0]}
        function = differentiated(masked(name))
        found = tangrad.vmap(function, in_axes=(None, 0, 0))(tnp.asarray(W), stacked, sizes)
        for place, (_, plain, _) in enumerate(examples):
            expected = differentiated(lambda w, args: program.function(w, *args))(tnp.asarray(W), plain)
            check_equal(tangrad.tree.map(lambda x, place=place: x[place], found), expected, name)


@pytest.mark.parametrize("name", ["scan", "attention", "joined", "flattened", "sorted", "a rule in jit"])
def test_on_each_backend(on, name):
    program = PROGRAMS[name]
    sizes = {letter: 3 + place for place, letter in enumerate(names(program))}
    padded = {letter: 5 + place for place, letter in enumerate(sizes)}
    plain, filled = arguments(program, sizes, padded, np.random.default_rng(0))
    expected = differentiated(lambda w, args: program.function(w, *args))(tnp.asarray(W), plain)
    check_equal(tangrad.jit(differentiated(masked(name)))(tnp.asarray(W), filled, sizes), expected, name)


def test_as_users_wrote_it():
    total_of = mask(lambda x: tnp.sum(x), in_shapes=["n"], out_shape="")
    assert total_of([tnp.array([5, 2, 9, 1])], {"n": 3}) == 16
    two = mask(lambda x, y: (x + y, {"y": tnp.sum(y)}), ["n", "n"], ("n", {"y": ""}))
    found = two([tnp.arange(4), tnp.arange(4)], {"n": 2})
    np.testing.assert_array_equal(found[0], [0, 2, 0, 0])
    assert found[1]["y"] == 1
    kept = mask(lambda x: tnp.sum(x, axis=1), ["(n, _)"], "n")
    np.testing.assert_array_equal(kept([tnp.ones((3, 4))], {"n": 2}), [4, 4, 0])
    trees = mask(lambda p: p["a"] @ p["b"], [{"a": "(n, m)", "b": "m"}], "n")
    np.testing.assert_array_equal(trees([{"a": tnp.ones((2, 3)), "b": tnp.ones(3)}], {"n": 2, "m": 2}), [2, 2])


def test_a_mask_within_a_mask():
    inner = mask(lambda x: tnp.sum(x), ["m"], "")
    outer = mask(lambda x, k: inner([x], {"m": k}) + x.shape[0], ["(n)", ""], None)
    with pytest.raises((TypeError, ValueError)):  # the inner one needs numbers for its padded sizes
        outer([tnp.arange(4.0), 2], {"n": 3})


def test_sizes_are_values_where_a_function_computes_with_them():
    seen = mask(lambda x: tnp.array([x.shape[0], x.shape[0] * 2 + 1, (x.shape[0] - 5) // 2]), ["n"], "3")
    np.testing.assert_array_equal(seen([tnp.zeros(7)], {"n": 4}), [4, 9, -1])
    np.testing.assert_array_equal(tangrad.jit(seen)([tnp.zeros(7)], {"n": 4}), [4, 9, -1])


@pytest.mark.parametrize(
    ("specs", "shapes", "dims", "error", "message"),
    [
        (["n", "n"], [(3,), (4,)], {"n": 2}, ValueError, r"args\[1\] is of shape \(n,\); its dimension 0 has size 4"),
        (["2*n+1"], [(4,)], {"n": 1}, ValueError, r"its dimension 0 has size 4, which 2\*n \+ 1 is for no n"),
        (["(n, m)"], [(4,)], {"n": 1, "m": 1}, ValueError, r"the spec '\(n, m\)' of args\[0\] does not fit"),
        (["n"], [(4,)], {"n": 5}, ValueError, "the size n is 5; it must be from 0 to the padded size, 4"),
        (["n"], [(4,)], {"n": -1}, ValueError, "the size n is -1"),
        (["n"], [(4,)], {}, ValueError, r"the specs have the sizes \['n'\], the call gives \[\]"),
        (["n"], [(4,)], {"n": 2, "m": 3}, ValueError, r"the call gives \['m', 'n'\]"),
        (["n"], [(4,)], {"n": 2.0}, TypeError, "the size n must be an integer without dimensions, got f32"),
        (["n"], [(4,)], {"n": np.ones(2, int)}, TypeError, "an integer without dimensions, got i"),
        (["n +"], [(4,)], {"n": 2}, ValueError, "the spec 'n \\+' of args"),
        ([3], [(4,)], {"n": 2}, TypeError, r"the spec of args\[0\] must be a string"),
        (["3"], [(4,)], {}, ValueError, "has 3 for dimension 0"),
    ],
)
def test_masks_that_do_not_fit(specs, shapes, dims, error, message):
    function = mask(lambda *args: sum([tnp.sum(arg) for arg in args]), specs, "")
    with pytest.raises(error, match=message):
        function([tnp.ones(shape) for shape in shapes], dims)


def test_results_of_another_shape():
    with pytest.raises(ShapeError, match=r"the result is of shape \(n,\), but its spec 'm' means \(m,\)"):
        mask(lambda x, y: x, ["n", "m"], "m")([tnp.ones(3), tnp.ones(3)], {"n": 2, "m": 2})
    with pytest.raises(ShapeError, match=r"the result\[1\] is of shape \(n - 1,\), but its spec 'n' means"):
        mask(lambda x: (x, x[1:]), ["n"], ["n", "n"], constraints=["n >= 2"])([tnp.ones(3)], {"n": 2})
    with pytest.raises(ValueError, match="the constraint n >= 2 does not hold for the logical sizes"):
        mask(lambda x: x[1:], ["n"], "n-1", constraints=["n >= 2"])([tnp.ones(3)], {"n": 1})


def test_what_is_no_function_and_no_sequence():
    with pytest.raises(TypeError, match="mask expects a function"):
        mask(3, ["n"], "n")
    with pytest.raises(TypeError, match="the arguments must be a tuple or a list"):
        mask(lambda x: x, ["n"], "n")(tnp.ones(3), {"n": 2})
    with pytest.raises(TypeError, match="the logical sizes must be a dict"):
        mask(lambda x: x, ["n"], "n")([tnp.ones(3)], 2)


def test_a_primitive_without_a_rule_is_named():
    with pytest.raises(MissingRuleError, match="would see the padding"):
        mask(lambda x: tangrad.debug.print("{}", x), ["n"], None)([tnp.ones(3)], {"n": 2})


def test_matrices_of_masked_sizes_are_refused():
    with pytest.raises(NotImplementedError, match=r"'linalg\.cholesky' over a dimension whose size is masked"):
        mask(lambda x: tnp.linalg.cholesky(x), ["(n, n)"], "(n, n)")([tnp.eye(3)], {"n": 2})


def test_paddings_by_a_size_are_refused():
    with pytest.raises(NotImplementedError, match="padding before or between elements by a size that is masked"):
        mask(lambda x: lax.pad(x, 0.0, [(x.shape[0], 0, 0)]), ["n"], "2*n")([tnp.ones(3)], {"n": 2})


# --- shapecheck -----------------------------------------------------------------------------------------------------


def test_shapecheck():
    @shapecheck(["(m, n)", "n"], "m")
    def matvec(a, b):
        return tnp.dot(a, b)

    np.testing.assert_array_equal(matvec(tnp.ones((2, 3)), tnp.ones(3)), [3, 3])
    assert shapecheck(["n", "m"], "n+m")(lambda x, y: tnp.concatenate([x, y]))(tnp.ones(1), tnp.ones(2)).shape == (3,)
    assert shapecheck(["(a, b)"], ["b", "(_, b)"])(lambda x: (x[0], x))
    for out in ("n", "m+1", "(m, n)", ""):
        with pytest.raises(ShapeError, match=r"the result is of shape \(m,\), but its spec"):
            shapecheck(["(m, n)", "n"], out)(matvec)
    with pytest.raises(ValueError, match="dot: "):
        shapecheck(["(m, n)", "m"], "m")(matvec)
    with pytest.raises(TypeError, match="shapecheck expects a function"):
        shapecheck(["n"], "n")(3)
