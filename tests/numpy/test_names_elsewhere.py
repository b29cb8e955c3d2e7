"""Names and habits of other libraries: each error says what to write here, and what it says exists."""

import re

import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import lax, nn, random
from tangrad._console.explanations.elsewhere import ATTRIBUTES, FUNCTIONS, LAYERS, LAYERS_ARE
from tangrad._console.explanations.suggestions import for_array

X = tnp.arange(3.0)
SCOPE = {"tangrad": tangrad, "tnp": tnp, "lax": lax, "nn": nn, "random": random, "x": X}

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


REFUSED = [  # what was written, the error, a part of its text
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


@pytest.mark.parametrize(("written", "error", "text"), REFUSED)
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
    assert not [name for name in {*FUNCTIONS, *LAYERS} if all(hasattr(module, name) for module in (tnp, lax, nn))]


def test_suggestions_for_attributes_follow_what_there_is() -> None:
    assert for_array("frobnicate", lambda: ["sum"]) == ""
    with (
        tangrad.core.register(lambda x: x, group="tangrad.array", name="frobnicated"),
        pytest.raises(AttributeError, match="did you mean 'frobnicated'"),
    ):
        X.frobnicate
    with pytest.raises(AttributeError, match=r"(?m)'frobnicate'$"):
        X.frobnicate
