"""Names: functions that came with JAX 0.11, and names of other libraries, which errors answer."""

import math
import re
from typing import Any

import numpy as onp
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, nn, random
from tangrad._console.explanations import missing
from tangrad._console.explanations.suggestions import ATTRIBUTES, FUNCTIONS, LAYERS, LAYERS_ARE, for_array
from tangrad._core.composition.registry import composition
from tangrad.core import hookimpl

# --- Functions that JAX has since 0.11 ---


BACKENDS = pytest.mark.parametrize("backend", ["numpy", "xla"])
INF, NAN = onp.inf, onp.nan
F = onp.float32([[3, NAN, 1, -0.0, 0, INF, -INF, 1], [2, 2, 1, 1, 0, 5, -5, NAN]])
VALUES = {
    "floats": F,
    "integers": onp.int8([[3, 1, 2, 1, 3, -128, 127, 0]]),
    "unsigned": onp.uint8([3, 0, 255, 255, 1]),
    "booleans": onp.array([True, False, True, False]),
}
LARGEST = {
    "floats": ([[NAN, INF, 3], [NAN, 5, 2]], [[1, 5, 0], [7, 5, 0]]),
    "integers": ([[127, 3, 3]], [[6, 0, 4]]),
    "unsigned": ([255, 255, 3], [2, 3, 0]),
    "booleans": ([True, True, False], [0, 2, 1]),
}
SMALLEST = {
    "floats": ([[-INF, -0.0, 0], [-5, 0, 1]], [[6, 3, 4], [6, 4, 2]]),
    "integers": ([[-128, 0, 1]], [[5, 7, 1]]),
    "unsigned": ([0, 1, 3], [1, 4, 0]),
    "booleans": ([False, False, True], [1, 3, 0]),
}


@BACKENDS
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("mode", ["largest", "smallest"])
def test_top_k(mode: str, kind: str, backend: str) -> None:
    expected = (LARGEST if mode == "largest" else SMALLEST)[kind]
    function = tangrad.jit(lambda x: np.top_k(x, 3, mode=mode, sorted=False), backend=backend)
    values, positions = function(VALUES[kind])
    onp.testing.assert_array_equal(values, expected[0])
    onp.testing.assert_array_equal(positions, expected[1])
    assert values.dtype == VALUES[kind].dtype
    assert positions.dtype == onp.int32


def test_top_k_along_another_axis_and_of_none() -> None:
    values, positions = np.top_k(F, 1, axis=0)
    assert positions.tolist() == [[0, 0, 0, 1, 0, 0, 1, 1]]
    assert values.shape == (1, 8)
    assert np.top_k(F, 0, mode="smallest")[0].shape == (2, 0)


def test_top_k_under_transformations() -> None:
    x = onp.float32([1, 4, 2])
    least = tangrad.grad(lambda x: (np.top_k(x, 2, mode="smallest")[0] * np.array([3.0, 5.0])).sum())(x)
    assert least.tolist() == [3, 0, 5]
    mapped = tangrad.vmap(lambda x: np.top_k(x, 2, mode="smallest")[1])(onp.stack([x, -x]))
    assert mapped.tolist() == [[0, 2], [1, 2]]


@BACKENDS
def test_minmax(backend: str) -> None:
    x = VALUES["integers"]

    def both(**options: Any) -> Any:
        found = tangrad.jit(lambda x: np.minmax(x, **options), backend=backend)(x)
        return [one.tolist() for one in found]

    assert both() == [-128, 127]
    assert both(axis=1, keepdims=True) == [[[-128]], [[127]]]
    assert both(axis=0) == [x[0].tolist(), x[0].tolist()]
    assert both(axis=1, initial=(0, 100)) == [[-128], [127]]
    assert both(axis=1, initial=(-128, 127), where=x > 100) == [[-128], [127]]
    assert both(axis=1, initial=5, where=x > 100) == [[5], [127]]
    assert [math.isnan(one) for one in np.minmax(F)] == [True, True]


def test_minmax_is_differentiated_and_mapped() -> None:
    spread = lambda x: np.subtract(*np.minmax(x)[::-1])
    assert tangrad.grad(spread)(onp.float32([1, 4, 2])).tolist() == [-1, 1, 0]
    assert tangrad.vmap(spread)(onp.float32([[1, 4], [2, 8]])).tolist() == [3, 6]


COEFFICIENTS = [1.0, 5.0, 2.0, 3.0]


@BACKENDS
@pytest.mark.parametrize("unroll", [None, 0, 2])
def test_polynomials(unroll: Any, backend: str) -> None:
    at = tangrad.jit(lambda x: lax.polynomial(x, COEFFICIENTS, unroll=unroll), backend=backend)
    assert at(2.0) == 43.0
    assert tangrad.grad(at)(2.0) == 49.0
    assert tangrad.grad(tangrad.grad(at))(2.0) == 40.0
    assert tangrad.vmap(at)(onp.float32([0, 1, 2])).tolist() == [1, 11, 43]
    x = onp.float32([0.5, -1, 2])
    onp.testing.assert_allclose(at(x), onp.polynomial.polynomial.polyval(x, COEFFICIENTS), rtol=1e-6)
    by_factors = tangrad.grad(lambda c: lax.polynomial(2.0, c, unroll=unroll))([1.0, 5.0, 2.0])
    assert [float(one) for one in by_factors] == [1, 2, 4]


def test_polynomials_of_many_kinds() -> None:
    assert lax.polynomial(3, [1, 2, 3]).tolist() == 34
    assert lax.polynomial(onp.arange(3), [1.0, 2.5]).tolist() == [1, 3, 5]  # coefficients are in the dtype of x
    assert lax.polynomial(onp.ones(3, onp.float16), [onp.float32(2), 2.0]).dtype == onp.float16
    assert lax.polynomial(3.0, [1.0]).weak_type
    assert lax.polynomial(F, []).tolist() == onp.zeros_like(F).tolist()
    assert lax.polynomial(F[0], [2.0]).tolist() == [2] * 8
    ones = onp.ones
    found = lax.polynomial(ones(3, onp.float32), [ones(3, onp.float32), 2.0, onp.arange(3, dtype=onp.float32)])
    assert found.tolist() == [3, 4, 5]
    for unroll in (0, 8):
        found = lax.polynomial(ones((3, 2), onp.float32), [ones((1, 2), onp.float32), 2.0, 1.0], unroll=unroll)
        assert found.tolist() == [[4, 4]] * 3
        assert lax.polynomial(2.0, [ones((1, 2), onp.float32), 2.0], unroll=unroll).tolist() == [[5, 5]]
    assert lax.polynomial(onp.float32(2), onp.arange(20, dtype=onp.float32)) == 18874370.0


@BACKENDS
def test_logarithms_to_base_2(backend: str) -> None:
    log2 = tangrad.jit(lax.log2, backend=backend)
    assert log2(onp.float32([0.25, 1, 8, 2.0**100])).tolist() == [-2, 0, 3, 100]
    onp.testing.assert_allclose(log2(onp.complex64([8, 3j])), [3, 1.5849625 + 2.2661801j], rtol=1e-6)
    onp.testing.assert_allclose(tangrad.grad(lax.log2)(4.0), 1 / (4 * math.log(2)), rtol=1e-6)
    assert lax.log2(8.0, accuracy=lax.AccuracyMode.DEFAULT).weak_type


REFUSED = {
    "mode": (lambda: np.top_k(F, 1, mode="x"), ValueError, "mode must be 'largest' or 'smallest', got 'x'"),
    "complex": (lambda: np.top_k(F * 0j, 1), ValueError, "complex numbers are not"),
    "too many": (lambda: np.top_k(F, 9), ValueError, "k must be at most"),
    "a negative number": (lambda: np.top_k(F, -1), ValueError, "k must not be negative"),
    "no number": (lambda: np.top_k(F, 1.5), TypeError, "k must be an integer"),
    "no axis": (lambda: np.top_k(F, 1, axis=None), TypeError, "axis must be an integer"),
    "an axis out of bounds": (lambda: np.top_k(F, 1, axis=2), ValueError, "axis 2 is out of bounds"),
    "three initial values": (lambda: np.minmax(F, initial=(1, 2, 3)), ValueError, "initial must be a number or a pair"),
    "where alone": (lambda: np.minmax(F, where=F > 1), ValueError, "where needs initial"),
    "nothing": (lambda: np.minmax(F[:0]), ValueError, "pass initial"),
    "out": (lambda: np.minmax(F, out=3), NotImplementedError, "minmax: the argument out"),
    "shapes": (lambda: lax.polynomial(F[0], [onp.ones(2, onp.float32), 1.0]), ValueError, "must broadcast together"),
    "unroll": (lambda: lax.polynomial(1.0, [1.0], unroll="x"), TypeError, "unroll must be an integer"),
    "a negative unroll": (lambda: lax.polynomial(1.0, [1.0], unroll=-1), ValueError, "unroll must not be negative"),
    "no array": (lambda: lax.polynomial("x", [1.0]), TypeError, "polynomial"),
    "integers": (lambda: lax.log2(8), TypeError, "log2 does not accept dtype int32"),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in multiply")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()


# --- Names and habits of other libraries: each error says what to write here, and what it says exists ---


X = np.arange(3.0)
SCOPE = {"tangrad": tangrad, "tnp": np, "lax": lax, "nn": nn, "random": random, "x": X}

SUGGESTED = [  # what was written, what the error suggests
    ("tnp.cat", "'tangrad.numpy.concatenate'"),
    ("tnp.random", "'tangrad.random'"),
    ("tnp.linalg.matmull", "'matmul'"),
    ("tnp.relu", "'tangrad.nn.relu'"),
    ("tnp.vmap", "'tangrad.vmap'"),
    ("tnp.Tensor", "'tangrad.numpy.array'"),
    ("tangrad.cond", "'tangrad.lax.cond'"),
    ("tangrad.scan", "'tangrad.lax.scan'"),
    ("lax.einsum", "'tangrad.numpy.einsum'"),
    ("nn.ReLU", "'relu'"),
    ("nn.Linear", "layers are in tangrad.example_libraries.stax"),
    ("nn.functional", "'tangrad.nn'"),
    ("random.randn", "'tangrad.random.normal(key, shape)'"),
    ("random.seed", "'tangrad.random.key(seed)'"),
    ("random.default_rng", "'tangrad.random.key(seed)'"),
    ("x.numpy", "'numpy.asarray(x)'"),
    ("x.detach", "'tangrad.lax.stop_gradient(x)'"),
    ("x.unsqueeze", "'tangrad.numpy.expand_dims(x, axis)'"),
    ("x.exp", "'tangrad.numpy.exp(x)'"),
    ("x.softmax", "'tangrad.nn.softmax(x)'"),
    ("x.exp_", "'x = tangrad.numpy.exp(x)'"),
    ("x.reshpae", "'reshape'"),
    ("random.random", "'tangrad.random.uniform(key, shape)'"),
    ("tangrad.tree_map", "'tangrad.tree.map'"),
    ("tnp.mul", "'tangrad.numpy.multiply'"),
    ("lax.case", "'tangrad.lax.switch'"),
    ("nn.layer_norm", "'tangrad.nn.standardize'"),
    ("x.lt", "'x < y'"),
    ("x.masked_fill_", "'tangrad.numpy.where(mask, value, x)'"),
    ("x.rsqrt", "'tangrad.lax.rsqrt(x)'"),
]


@pytest.mark.parametrize(("written", "suggested"), SUGGESTED)
def test_an_error_suggests(written: str, suggested: str) -> None:
    with pytest.raises(AttributeError) as raised:
        eval(written, SCOPE)
    assert suggested in str(raised.value)


# Names that are habits of NumPy, PyTorch, TensorFlow and older releases of JAX: each has an answer, by module.
HABITS = {
    "tnp": """random clip_by_value from_numpy tensor FloatTensor as_tensor relu sigmoid mm bmm addmm cast float128
        float int long half reduce_sum reduce_mean reduce_max reduce_logsumexp gather gather_nd
        scatter_nd unsqueeze view mul div sub topk index_select masked_fill masked_select norm inv det
        svd eigh lstsq rand randn randint randperm normal uniform numel dim ndims erf lgamma vmap jit
        grad one_hot embedding conv2d max_pool2d product alltrue sometrue asscalar row_stack in1d trapz
        cumproduct NaN Inf infty PINF msort round_ find_common_type mat matrix bmat asmatrix asfarray
        loadtxt genfromtxt save_npz memmap ndenumerate nditer ndindex errstate seterr testing ma range
        empty_strided chunk narrow clamp rsub addcmul cdist repeat_interleave broadcast_tensors flatten
        item tolist ascontiguousarray asfortranarray require putmask copyto expand""",
    "nn": """Linear Conv2d Dropout BatchNorm2d LayerNorm Module Sequential Embedding ReLU GELU CrossEntropyLoss
        MSELoss functional init cross_entropy mse_loss softmax_cross_entropy conv1d conv2d max_pool2d
        avg_pool2d layer_norm batch_norm linear dense embedding prelu leakyrelu softmin
        scaled_dot_product_attention optim l1_loss huber_loss binary_cross_entropy
        sigmoid_cross_entropy_with_logits upsample interpolate normalize""",
    "random": """randn rand seed default_rng manual_seed RandomState Generator shuffle random random_sample integers
        standard_normal standard_cauchy standard_gamma randperm stateless_uniform get_state set_state
        fork_rng sample bytes""",
    "lax": """where sum matmul relu for_loop forloop loop stop_grad all_reduce allreduce concat arange clip case
        if_else""",
    "tangrad": """Variable GradientTape function no_grad autograd tensor array ones zeros optimizers Adam sgd backward
        detach cuda to_device hvp scan cond PRNGKey key relu tree_map tree_multimap tree_flatten
        index_update lax_numpy compile vectorize print jnp np gradient seed gpus partial pytree flax
        optax ShapedArray""",
    "x": """numpy cpu gpu cuda to detach grad backward unsqueeze permute expand expand_as view_as type_as t mm
        clamp_ norm numel dim float byte char bfloat16 clone append pop fill masked_fill_ scatter_
        gather index_add_ index_put_ add_ mul_ div_ neg abs erf topk chunk unbind narrow
        repeat_interleave zero_ uniform_ new_zeros is_cuda stride strides data flags data_ptr assign_add
        get_shape tostring lt eq inverse H cat lerp rsqrt register_hook eval values iloc""",
}


def test_habits_have_answers() -> None:
    written = [f"{module}.{name}" for module, names in HABITS.items() for name in names.split()]
    assert len(written) > 250
    silent = []
    for one in written:
        with pytest.raises(AttributeError) as raised:
            eval(one, SCOPE)
        if "did you mean" not in str(raised.value) and LAYERS_ARE not in str(raised.value):
            silent.append(one)
    assert silent == []


ELSEWHERE_REFUSED = [  # what was written, the error, a part of its text
    ("del x[0]", TypeError, "tangrad.numpy.delete(x, 0) returns a copy without that part"),
    ("x[0] = 1", TypeError, "x.at[0].set(value) returns a changed copy"),
    ("x.at[0] = 1", TypeError, "x = x.at[0].set(values)"),
    ("x.at[0, 1] += 1", TypeError, "x = x.at[(0, 1)].add(values)"),
    ("x.at[1] **= 2", TypeError, "x = x.at[1].power(values)"),
    ("del x.at[0]", TypeError, "tangrad.numpy.delete(x, 0)"),
    ("x.at(0)", TypeError, "x.at[0].set(values)"),
    ("x.at.set(1)", AttributeError, "x.at[...].set(...) about all of x"),
    ("x.at.nonsense", AttributeError, "it is indexed, as in x.at[index].set(values)"),
    ("x.at[0](1)", TypeError, "x.at[index].set(values)"),
    ("x.at[0].put(1)", AttributeError, "it has get, set, add"),
    ("random.normal((3,))", TypeError, "got (3,) of type tuple"),
    ("random.uniform(3)", TypeError, "tangrad.random.key(seed)"),
    ("random.bernoulli(0.5)", TypeError, "key, part = tangrad.random.split(key)"),
]


@pytest.mark.parametrize(("written", "error", "text"), ELSEWHERE_REFUSED)
@pytest.mark.parametrize("transformed", [False, True], ids=["eager", "traced"])
def test_a_habit_of_other_libraries(written: str, error: type, text: str, transformed: bool) -> None:
    def program(x: tangrad.Array) -> tangrad.Array:
        exec(written, {**SCOPE, "x": x})
        return x.sum()

    with pytest.raises(error) as raised:
        (tangrad.grad(program) if transformed else program)(X)
    assert text in str(raised.value)
    assert X.tolist() == [0, 1, 2]


def rows() -> list[str]:
    return [*FUNCTIONS.values(), *ATTRIBUTES.values(), LAYERS_ARE]


@pytest.mark.parametrize("name", sorted({name for row in rows() for name in re.findall(r"tangrad(?:\.\w+)+", row)}))
def test_what_is_suggested_exists(name: str) -> None:
    found = tangrad
    for part in name.split(".")[1:]:
        found = getattr(found, part) if hasattr(found, part) else __import__(name, fromlist=["_"])


@pytest.mark.parametrize("row", sorted({row for row in ATTRIBUTES.values() if row.startswith("x")}))
def test_attributes_that_are_suggested_exist(row: str) -> None:
    for name in re.findall(r"\bx\.(?:at\[\w+\]\.)?(\w+)", row):
        assert hasattr(X, name) or hasattr(X.at[0], name), row


def test_no_row_is_about_what_exists() -> None:
    """A row whose name every module has would never be read."""
    assert not [name for name in ATTRIBUTES if hasattr(X, name)]
    assert not [name for name in {*FUNCTIONS, *LAYERS} if all(hasattr(module, name) for module in (np, lax, nn))]


def test_suggestions_for_attributes_follow_what_there_is() -> None:
    assert for_array("frobnicate", lambda: ["sum"]) == ""
    with (
        tangrad.core.register(lambda x: x, group="tangrad.array", name="frobnicated"),
        pytest.raises(AttributeError, match="did you mean 'frobnicated'"),
    ):
        X.frobnicate
    with pytest.raises(AttributeError, match=r"(?m)'frobnicate'$"):
        X.frobnicate


def test_what_arrays_lack_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries ask arrays for what these do not have, again and again; what is registered since is there."""
    asked = []
    find = composition().find
    monkeypatch.setattr(composition(), "find", lambda *cell: asked.append(cell) or find(*cell))
    monkeypatch.setattr(missing, "for_array", lambda name, known: asked.append(name) or f"; not {name}")
    for _ in range(3):
        assert not hasattr(X, "lacking")
        with pytest.raises(AttributeError, match="'lacking'; not lacking"):
            X.lacking
        assert tangrad.grad(lambda x: x * hasattr(x, "lacking"))(2.0) == 0
    assert [one for one in asked if "lacking" in one] == [("tangrad.array", "lacking"), "lacking"]
    with tangrad.core.register(lambda x: x + 1, group="tangrad.array", name="lacking"):
        assert X.lacking().tolist() == (X + 1).tolist()
    assert not hasattr(X, "lacking")


def test_what_a_hook_computes_is_asked_for_each_time() -> None:
    class Computes:
        there = False

        @hookimpl
        def tangrad_array_attribute(self, name: str) -> Any:
            return (lambda x: x) if name == "by_hook" and self.there else None

    hook = Computes()
    with tangrad.core.register(hook, group="tangrad.hooks", name="computes"):
        assert not hasattr(X, "by_hook")
        hook.there = True
        assert X.by_hook() is X
    assert not hasattr(X, "by_hook")
