"""Functions of arrays, of sparse ones by `sparsify`: their values are those of dense arrays, also under other
transformations and with them inside; what would be dense is refused."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax, use_backend
from tangrad.core import RuleSet, register
from tangrad.errors import MissingRuleError
from tangrad.experimental import sparse
from tangrad.experimental.sparse import BCOO, BCSR, sparsify

from .test_sparse import close

DENSE = np.float32([[0, 2, 0, 1], [3, 0, 0, 0], [0, 0, 0.4, -0.5]])
VECTOR = np.arange(1.0, 5, dtype="float32")
LAYOUTS = {"sparse": {}, "batches": {"n_batch": 1}, "dense": {"n_dense": 1}}


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param):
        yield request.param


# Functions of an array (3, 4), and whether the result is sparse.
PROGRAMS = {
    "sine": (lambda x: tnp.sin(x), True),
    "chain": (lambda x: tnp.tanh(2 * tnp.expm1(-x)) / 3, True),
    "square": (lambda x: x**2 + x * x - tnp.square(x), True),
    "roots": (lambda x: tnp.sqrt(abs(x)) + tnp.cbrt(x), True),
    "erf": (lambda x: tangrad.scipy.special.erf(x), True),
    "rounded": (lambda x: tnp.floor(x) + tnp.sign(x), True),
    "integers": (lambda x: x.astype("int32"), True),
    "by dense": (lambda x: x * DENSE[::-1] / VECTOR, True),
    "with dense": (lambda x: x + DENSE, False),
    "transpose": (lambda x: x.T.T, True),
    "stacked": (lambda x: tnp.stack([x, 2 * x]), True),
    "joined": (lambda x: tnp.concatenate([x, -x]), True),
    "part": (lambda x: x[1:, ::-2], True),
    "row": (lambda x: x[1], True),
    "rows": (lambda x: x[np.array([2, 0])], True),
    "new": (lambda x: x[None, :, None], True),
    "sums": (lambda x: x.sum(1), True),
    "total": (lambda x: x.sum(), False),
    "mean": (lambda x: x.mean(), False),
    "vector": (lambda x: x @ VECTOR, False),
    "contraction": (lambda x: tnp.einsum("ij,kj->ki", x, DENSE), False),
    "dense": (lambda x: tnp.cos(sparse.todense(x)), False),
    "jitted": (tangrad.jit(lambda x: 2 * tnp.sin(x)), True),
    "choice": (lambda x: lax.cond(x.shape[0] > 2, lambda x: 2 * x, lambda x: -x, x), True),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, x: tnp.sin(x), x), True),
    "scan": (lambda x: lax.scan(lambda x, w: (w * x, (x @ VECTOR).sum()), x, VECTOR), True),
    "gradient inside": (lambda x: tangrad.grad(lambda w: ((x @ w) ** 2).sum())(VECTOR), False),
    "gradient of a factor": (lambda x: tangrad.grad(lambda w: (w**2 * x).sum())(2.0), False),
    "mapped inside": (lambda x: tangrad.vmap(lambda w: x @ w)(np.stack([VECTOR, -VECTOR])), False),
}
# Layouts for which a program is not there.
NO_DENSE = ("contraction", "vector", "mapped inside", "gradient inside", "scan", "transpose")
REFUSED_LAYOUTS = [*[(name, "dense") for name in NO_DENSE], ("transpose", "batches")]
TAKEN_LAYOUTS = [(name, layout) for name in PROGRAMS for layout in LAYOUTS if (name, layout) not in REFUSED_LAYOUTS]


@pytest.mark.parametrize(("name", "layout"), TAKEN_LAYOUTS)
def test_values(on, name, layout):
    program, stays = PROGRAMS[name]
    mat = BCOO.fromdense(DENSE, **LAYOUTS[layout])
    expected = tangrad.tree.leaves(program(tnp.asarray(DENSE)))
    is_sparse = lambda leaf: isinstance(leaf, BCOO)
    for run in (sparsify(program), tangrad.jit(sparsify(program))):
        found = tangrad.tree.leaves(run(mat), is_leaf=is_sparse)
        assert is_sparse(found[0]) == stays
        for one, other in zip(found, expected, strict=True):
            close(one, other)


@pytest.mark.parametrize(("name", "layout"), REFUSED_LAYOUTS)
def test_layouts_that_are_refused(name, layout):
    with use_backend("numpy"), pytest.raises((NotImplementedError, ValueError), match=r"dense dimensions|apart"):
        sparsify(PROGRAMS[name][0])(BCOO.fromdense(DENSE, **LAYOUTS[layout]))


@pytest.mark.parametrize("name", ["sine", "chain", "square", "by dense", "joined", "vector", "loop", "scan", "dense"])
def test_derivatives(on, name):
    program = PROGRAMS[name][0]
    mat = BCOO.fromdense(DENSE)
    loss = lambda x: sum([(leaf * leaf).sum() for leaf in tangrad.tree.leaves(program(x))])
    slope = tangrad.jit(sparse.grad(sparsify(loss)))(mat)
    expected = tangrad.grad(loss)(tnp.asarray(DENSE))
    close(slope, np.where(DENSE != 0, expected, 0))


def test_mapped(on):
    mats = BCOO.fromdense(np.stack([DENSE, 2 * DENSE]), n_batch=1)
    found = tangrad.vmap(sparsify(lambda x: tnp.sin(x)[1:]))(mats)
    close(found, np.sin(np.stack([DENSE, 2 * DENSE]))[:, 1:])


def test_elements_that_are_there_twice(on):
    """What is not linear applies to their sum."""
    twice = BCOO((np.float32([1, 2, 3]), np.array([[1], [1], [0]])), shape=(3,))
    for run in (sparsify(tnp.sin), tangrad.jit(sparsify(tnp.sin))):
        close(run(twice), np.sin(np.float32([3, 3, 0])))
    close(sparsify(lambda x: x * x)(twice), np.float32([9, 9, 0]))
    close(sparsify(lambda x: -x)(twice), np.float32([-3, -3, 0]))


def test_rows_stay_rows(on):
    mat = BCSR.fromdense(DENSE)
    found = sparsify(lambda x: tnp.sin(2 * x))(mat)
    assert isinstance(found, BCSR)
    close(found.todense(), np.sin(2 * DENSE))
    close(sparsify(lambda x: x @ VECTOR)(mat), DENSE @ VECTOR)


def test_trees_and_options(on):
    mat = BCOO.fromdense(DENSE)
    program = sparsify(lambda args, scale=1: {"a": args[0] * scale, "b": args[1]}, use_tracer=True)
    found = program([mat, 3.0], scale=2)
    close(found["a"], 2 * DENSE)
    assert found["b"] == 3.0
    close(sparsify(tnp.sin)(VECTOR), np.sin(VECTOR))


def test_rules_of_others(on):
    """An operation gets a rule as of any other kind."""
    rules, maximum = RuleSet("sparse", api=1), tangrad.core.find_primitive("elementwise.max")

    @rules.rule(maximum)
    def _(x, y):
        x = x.with_unique_indices()
        return x.like(maximum.bind(x.data, y))

    mat = BCOO.fromdense(DENSE)
    positive_part = sparsify(lambda x: tnp.maximum(x, 0))
    with pytest.raises(MissingRuleError, match=r"elementwise\.max"):
        positive_part(mat)
    with register(rules):
        close(positive_part(mat), np.maximum(DENSE, 0))


REFUSED = {
    "cosine": (lambda x: tnp.cos(x), MissingRuleError, "apply it to `sparse.todense"),
    "comparison": (lambda x: x > 0, MissingRuleError, "apply it to `sparse.todense"),
    "power": (lambda x: x**0, NotImplementedError, "to the power 0"),
    "quotient": (lambda x: 1 / x, NotImplementedError, "division by a sparse array"),
    "number": (lambda x: x + 1, NotImplementedError, "would have no zeros"),
    "joined": (lambda x: tnp.concatenate([x, DENSE]), TypeError, "concatenate expects a BCOO"),
    "slices": (lambda x: lax.scan(lambda c, row: (c, row.sum()), 0.0, x), NotImplementedError, "scan over the slices"),
    "stacked": (lambda x: lax.scan(lambda c, w: (c, w * x), 0.0, VECTOR), NotImplementedError, "stacks sparse arrays"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    program, kind, words = REFUSED[name]
    with use_backend("numpy"), pytest.raises(kind, match=words):
        sparsify(program)(BCOO.fromdense(DENSE))


def test_no_function():
    with pytest.raises(TypeError, match="sparsify expects a function, got 3"):
        sparsify(3)
