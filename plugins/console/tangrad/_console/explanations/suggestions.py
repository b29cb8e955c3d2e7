"""What an error about a name that does not exist suggests: the same name elsewhere, what other libraries call so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from tangrad._console.explanations import catalogue

# What to write -> names of functions and classes in modules of other libraries.
_WRITTEN = {
    # joining, shapes, types
    "tangrad.numpy.concatenate": "cat",
    "tangrad.numpy.hstack": "hcat",
    "tangrad.numpy.vstack": "vcat row_stack",
    "tangrad.numpy.expand_dims": "unsqueeze",
    "tangrad.numpy.transpose": "permute",
    "tangrad.numpy.reshape": "view",
    "tangrad.numpy.broadcast_to": "expand broadcast",
    "tangrad.lax.convert_element_type": "cast",
    "tangrad.numpy.array": "tensor FloatTensor Variable mat matrix",
    "tangrad.numpy.asarray": "as_tensor convert_to_tensor from_numpy asmatrix ascontiguousarray asfortranarray require",
    "tangrad.numpy.float32": "float",
    "tangrad.numpy.float64": "double longdouble float128",
    "tangrad.numpy.float16": "half",
    "tangrad.numpy.int32": "int",
    "tangrad.numpy.int64": "long",
    'tangrad.numpy.asarray(x, "float32")': "asfarray",
    "tangrad.numpy.block": "bmat",
    "tangrad.numpy.arange": "range",
    "tangrad.numpy.empty": "empty_strided",
    "tangrad.numpy.array_split": "chunk",
    "x[start:stop]": "narrow",
    "tangrad.numpy.ravel": "flatten",
    "tangrad.numpy.broadcast_arrays": "broadcast_tensors",
    "tangrad.numpy.repeat": "repeat_interleave",
    "tangrad.numpy.result_type": "find_common_type",
    "tangrad.numpy.ndim": "dim ndims rank",
    "x.item()": "item asscalar",
    "x.tolist()": "tolist",
    "numpy.ndindex(x.shape)": "ndindex",
    "numpy.ndenumerate(x)": "ndenumerate nditer",
    "tangrad.numpy.asarray(numpy.loadtxt(file))": "loadtxt",
    "tangrad.numpy.asarray(numpy.genfromtxt(file))": "genfromtxt",
    "tangrad.numpy.asarray(numpy.memmap(file, dtype))": "memmap",
    "tangrad.numpy.savez": "save_npz",
    # arithmetic, reductions
    "tangrad.numpy.clip": "clamp clip_by_value",
    "tangrad.numpy.matmul": "mm bmm mv",
    "x + a @ b": "addmm",
    "x + a * b": "addcmul",
    "tangrad.numpy.multiply": "mul",
    "tangrad.numpy.divide": "div",
    "tangrad.numpy.subtract": "sub",
    "y - x": "rsub",
    "tangrad.numpy.linalg.norm(x[:, None] - y, axis=-1)": "cdist",
    "tangrad.numpy.linalg.norm(x - y, axis=-1)": "pairwise_distance",
    "x / tangrad.numpy.linalg.norm(x, axis=-1, keepdims=True)": "normalize",
    "tangrad.numpy.linalg.norm": "norm",
    "tangrad.lax.rsqrt": "rsqrt",
    "tangrad.numpy.prod": "product reduce_prod",
    "tangrad.numpy.cumprod": "cumproduct",
    "tangrad.numpy.all": "alltrue reduce_all",
    "tangrad.numpy.any": "sometrue reduce_any",
    "tangrad.numpy.trapezoid": "trapz",
    "tangrad.numpy.isin": "in1d",
    "tangrad.numpy.inf": "infty PINF",
    "-tangrad.numpy.inf": "NINF",
    "tangrad.numpy.sort(x, axis=0)": "msort",
    "x.sum(where=mask)": "ma",
    "tangrad.debug_nans(True)": "errstate seterr",
    "numpy.testing": "testing",
    "tangrad.numpy.sum": "reduce_sum",
    "tangrad.numpy.mean": "reduce_mean",
    "tangrad.numpy.max": "reduce_max",
    "tangrad.numpy.min": "reduce_min",
    "tangrad.nn.logsumexp": "reduce_logsumexp",
    "tangrad.lax.psum": "all_reduce allreduce",
    "tangrad.numpy.size": "numel",
    "tangrad.lax.top_k": "topk",
    "x[indices]": "gather_nd",
    "tangrad.numpy.zeros(shape).at[indices].add(values)": "scatter_nd",
    "tangrad.numpy.where(mask, values, x)": "putmask place",
    "tangrad.numpy.take": "index_select",
    "tangrad.numpy.where(mask, value, x)": "masked_fill",
    "x[mask]": "masked_select",
    "x.at[indices].add(values)": "scatter_add index_add",
    "x.at[indices].set(values)": "index_update put",
    "x.at[:].set(values)": "copyto",
    # derivatives, compilation, loops
    "tangrad.lax.stop_gradient": "no_grad detach",
    "tangrad.grad": "GradientTape autograd gradients gradient backward",
    "tangrad.jvp(tangrad.grad(f), (x,), (v,))": "hvp",
    "tangrad.jit": "function compile njit",
    "tangrad.lax.map": "map_fn",
    "tangrad.lax.while_loop": "while",
    "tangrad.lax.fori_loop": "for_loop loop",
    "tangrad.lax.cond": "if_else",
    "tangrad.lax.switch": "case",
    "tangrad.lax.scan": "foldl",
    'tangrad.devices("gpu")': "cuda gpus",
    "tangrad.devices": "device",
    "tangrad.device_put": "to_device",
    # random numbers
    "tangrad.random.key(seed)": "seed manual_seed set_seed default_rng RandomState Generator get_state set_state",
    "tangrad.random.uniform(key, shape)": "rand random_sample sample stateless_uniform random_uniform",
    "tangrad.random.normal(key, shape)": "stateless_normal randn standard_normal random_normal",
    "tangrad.random.randint(key, shape, low, high)": "integers",
    "tangrad.random.randint(key, shape, low, high + 1)": "random_integers",
    "tangrad.random.cauchy(key, shape)": "standard_cauchy",
    "tangrad.random.exponential(key, shape)": "standard_exponential",
    "tangrad.random.gamma(key, a, shape)": "standard_gamma",
    "tangrad.random.t(key, df, shape)": "standard_t",
    'tangrad.random.bits(key, shape, "uint8")': "bytes",
    "tangrad.random.split(key)": "fork_rng",
    "tangrad.random.uniform(key, x.shape, x.dtype)": "rand_like",
    "tangrad.random.normal(key, x.shape, x.dtype)": "randn_like",
    "tangrad.random.permutation(key, count)": "randperm",
    "tangrad.random.permutation(key, x)": "shuffle",
    "tangrad.random.truncated_normal(key, lower, upper, shape)": "truncnorm",
    # losses, layers as functions, optimizers
    "-(targets * tangrad.nn.log_softmax(logits)).sum(-1)": (
        "cross_entropy CrossEntropyLoss softmax_cross_entropy softmax_cross_entropy_with_logits"
    ),
    "-(targets * log_probabilities).sum(-1)": "nll_loss",
    "tangrad.numpy.mean((predictions - targets) ** 2)": "mse_loss MSELoss",
    "tangrad.numpy.mean(abs(predictions - targets))": "l1_loss L1Loss",
    "tangrad.nn.softplus(logits) - targets * logits": (
        "binary_cross_entropy binary_cross_entropy_with_logits sigmoid_cross_entropy_with_logits BCELoss"
    ),
    "tangrad.numpy.where(abs(d) < 1, d * d / 2, abs(d) - 0.5), d = predictions - targets": "huber_loss smooth_l1_loss",
    "x @ weights + bias": "linear dense",
    "table[indices]": "embedding",
    "tangrad.lax.conv_general_dilated": "conv1d conv2d conv3d",
    "tangrad.lax.reduce_window": "max_pool2d avg_pool2d",
    "tangrad.nn.standardize": "layer_norm batch_norm",
    "tangrad.nn.leaky_relu(x, slope)": "prelu",
    "tangrad.nn.softmax(-x)": "softmin",
    "tangrad.image.resize": "upsample interpolate",
    "tangrad.nn.initializers": "init",
    "tangrad.example_libraries.optimizers": "optim",
    "tangrad.example_libraries.optimizers.sgd": "SGD",
    "tangrad.example_libraries.optimizers.adam": "Adam",
    "tangrad.random.bernoulli(key, keep, x.shape) * x / keep": "dropout Dropout",
    "tangrad.nn": "functional",
    "tangrad.example_libraries.stax": "keras",
    "tangrad.compat.jax": "flax equinox haiku optax",
    "tangrad.numpy": "jnp np lax_numpy",
    "functools.partial": "partial",
    "tangrad.core.ShapedArray": "ShapedArray",
    "tangrad.tree": "pytree",
    "tangrad.tree.map": "tree_map tree_multimap",
    "tangrad.tree.flatten": "tree_flatten",
    "tangrad.tree.unflatten": "tree_unflatten",
    "tangrad.tree.leaves": "tree_leaves",
    "tangrad.tree.structure": "tree_structure",
    "tangrad.tree.reduce": "tree_reduce",
    "tangrad.tree.all": "tree_all",
    "tangrad.tree.transpose": "tree_transpose",
}
FUNCTIONS: dict[str, str] = {name: written for written, names in _WRITTEN.items() for name in names.split()}

# What is another thing in one module of ours than everywhere else.
WITHIN = {"tangrad.random.random": "tangrad.random.uniform(key, shape)"}

# Layers are objects with parameters in them; here parameters are an argument.
LAYERS = frozenset(
    [
        "Module",
        "Parameter",
        "Sequential",
        "Layer",
        "Model",
        "Linear",
        "Dense",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "Conv",
        "Conv2D",
        "ConvTranspose2d",
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm",
        "LayerNorm",
        "GroupNorm",
        "RMSNorm",
        "Embedding",
        "Embed",
        "LSTM",
        "GRU",
        "RNN",
        "LSTMCell",
        "GRUCell",
        "Transformer",
        "MultiheadAttention",
        "MultiHeadAttention",
        "MultiHeadDotProductAttention",
        "MaxPool2d",
        "AvgPool2d",
        "Flatten",
    ]
)
LAYERS_ARE = (
    "; tangrad.nn has functions, which take parameters as arguments (the tutorial trains a network); layers are in "
    "tangrad.example_libraries.stax, or in Flax, Equinox and Haiku by tangrad.compat.jax"
)

# What to write -> attributes of arrays in other libraries.
_OF_ARRAYS = {
    "numpy.asarray(x)": (
        "numpy values data base flags strides stride storage data_ptr is_contiguous setflags newbyteorder"
    ),
    'tangrad.device_put(x, tangrad.devices("cpu")[0])': "cpu",
    'tangrad.device_put(x, tangrad.devices("gpu")[0])': "cuda gpu",
    "tangrad.device_put(x, device), or x.astype(dtype)": "to",
    "tangrad.lax.stop_gradient(x)": "detach",
    "tangrad.grad(function)": "requires_grad requires_grad_ grad grad_fn backward retain_grad is_leaf register_hook",
    "tangrad.numpy.expand_dims(x, axis)": "unsqueeze",
    "x.transpose(axes)": "permute",
    "tangrad.numpy.broadcast_to(x, shape)": "expand",
    "x.T": "t",
    "x @ y": "mm bmm matmul",
    "x.clip(low, high)": "clamp",
    "tangrad.numpy.linalg.norm(x)": "norm",
    "x.size": "numel",
    "x.ndim": "dim rank",
    'x.astype("float32")': "float",
    'x.astype("float16")': "half",
    'x.astype("float64")': "double",
    'x.astype("int32")': "int",
    'x.astype("int64")': "long",
    "x.astype(bool)": "bool",
    "x.astype(dtype)": "type",
    "x": "contiguous",
    "x.copy()": "clone",
    "tangrad.numpy.append(x, values)": "append",
    "tangrad.numpy.concatenate([x, y])": "extend cat",
    "tangrad.numpy.insert(x, index, values)": "insert",
    "x[:-1]": "pop",
    "tangrad.numpy.nonzero(x == value)": "index",
    "tangrad.numpy.full_like(x, value)": "fill",
    "x.at[indices].set(values)": "put scatter index_put",
    "x.at[index].set(value)": "itemset",
    "tangrad.numpy.resize(x, shape)": "resize",
    "tangrad.numpy.partition(x, kth)": "partition",
    "tangrad.numpy.where(mask, value, x)": "masked_fill",
    "x[mask]": "masked_select",
    "x.take(indices, axis)": "index_select",
    "x.at[indices].add(values)": "scatter_add index_add",
    "x.at[index].set(values)": "set",
    "x + y, or x.at[index].add(values)": "add",
    "x - y": "sub assign_sub",
    "x * y, or x.at[index].multiply(values)": "mul",
    "x / y": "div",
    "file.write(x.tobytes())": "tofile",
    "tangrad.vmap(function)(x)": "map apply_",
    "tangrad.numpy.broadcast_to(x, y.shape)": "expand_as",
    "x.reshape(y.shape)": "view_as reshape_as",
    "x.astype(y.dtype)": "type_as",
    'x.astype("uint8")': "byte",
    'x.astype("int8")': "char",
    'x.astype("bfloat16")': "bfloat16",
    "tangrad.numpy.take_along_axis(x, indices, axis)": "gather",
    "tangrad.lax.top_k(x, k)": "topk",
    "tangrad.numpy.array_split(x, count)": "chunk",
    "tangrad.numpy.unstack(x)": "unbind",
    "x[start:stop]": "narrow",
    "x.repeat(count, axis)": "repeat_interleave",
    "tangrad.numpy.zeros_like(x)": "zero",
    "tangrad.random.normal(key, x.shape)": "normal",
    "tangrad.random.uniform(key, x.shape)": "uniform",
    "tangrad.numpy.zeros(shape, x.dtype)": "new_zeros",
    "tangrad.numpy.ones(shape, x.dtype)": "new_ones",
    "tangrad.numpy.array(values, x.dtype)": "new_tensor",
    "x.device": "is_cuda",
    "x.itemsize": "element_size",
    "x + y": "assign_add",
    "x = y": "assign",
    "x.shape": "get_shape",
    "x.reshape(shape)": "set_shape",
    "len(x)": "len",
    "tangrad.numpy.count_nonzero(x == value)": "count",
    "x.tobytes()": "tostring dumps",
    "tangrad.numpy.save(file, x)": "dump",
    "x < y": "lt",
    "x > y": "gt",
    "x <= y": "le",
    "x >= y": "ge",
    "x == y": "eq",
    "x != y": "ne",
    "tangrad.numpy.linalg.inv(x)": "inverse",
    "tangrad.numpy.matrix_transpose(x).conj()": "H adjoint",
    "x + weight * (y - x)": "lerp",
    "x.block_until_ready()": "eval",
    "x[index]": "iloc loc",
    "x[:5]": "head",
}
ATTRIBUTES: dict[str, str] = {name: written for written, names in _OF_ARRAYS.items() for name in names.split()}


_ROOT = "tangrad."
_CLOSE, _VERY_CLOSE = 0.65, 0.85  # the second where there is something better to say
_MOST = 3


def for_module(module_name: str, name: str, known: Iterable[str]) -> str:
    """Return the end of the error for a name that a public module lacks, or "".

    Args:
        module_name: the public module, `tangrad.numpy`.
        name: the name that was asked for.
        known: the names that the module has.

    >>> for_module("tangrad.numpy", "relu", ["real", "ravel"])
    "; did you mean 'tangrad.nn.relu'?"
    >>> for_module("tangrad.numpy", "cat", [])
    "; did you mean 'tangrad.numpy.concatenate'?"
    """
    if name in LAYERS:
        return LAYERS_ARE
    other = WITHIN.get(f"{module_name}.{name}") or FUNCTIONS.get(name) or FUNCTIONS.get(name.lower())
    elsewhere = [other] if other is not None else _in_public_modules(module_name, name)
    return _question(elsewhere, _close(name, known, bool(elsewhere)))


def for_array(name: str, known: Callable[[], Iterable[str]]) -> str:
    """Return the end of the error for an attribute that arrays lack, or "".

    Args:
        name: the attribute that was asked for.
        known: returns the attributes that arrays have.

    >>> for_array("unsqueeze", lambda: ["squeeze"])
    "; did you mean 'tangrad.numpy.expand_dims(x, axis)' or 'squeeze'?"
    >>> for_array("exp", lambda: ["sum"])
    "; did you mean 'tangrad.numpy.exp(x)'?"
    """
    other = ATTRIBUTES.get(name) or ATTRIBUTES.get(name.rstrip("_"))
    if other is not None:
        elsewhere = [other]
    elif name.endswith("_") and name.rstrip("_"):  # PyTorch's updates in place
        elsewhere = ["x = " + one for one in _functions_of_arrays(name.rstrip("_"))]
    else:
        elsewhere = _functions_of_arrays(name)
    return _question(elsewhere, _close(name, known(), bool(elsewhere)))


def _functions_of_arrays(name: str) -> list[str]:
    places = ("numpy", "numpy.linalg", "nn", "lax")
    public = set(catalogue.public_names())
    return [f"{_ROOT}{place}.{name}(x)" for place in places if f"{place}.{name}" in public][:1]


def _in_public_modules(module_name: str, name: str) -> list[str]:
    """Return the public names that end in `name`, in whatever case, those nearest to the top first."""
    wanted = _folded(name)
    names = {_ROOT + one for one in catalogue.public_names()}
    modules = {one.rpartition(".")[0] for one in names} - {"tangrad"}
    found = [one for one in names | modules if _folded(one.rpartition(".")[2]) == wanted]
    exact = [one for one in found if one.rpartition(".")[2] == name] or found
    nearest = sorted(exact, key=lambda one: (not one.startswith(module_name), one.count("."), _later(one), one))
    return [one.rpartition(".")[2] if one.rpartition(".")[0] == module_name else one for one in nearest[:_MOST]]


def _later(name: str) -> bool:
    """Return whether a name is in a module that is suggested after the others: copies of JAX's names, and the like."""
    return name.startswith(("tangrad.compat", "tangrad.experimental", "tangrad.example_libraries", "tangrad.core"))


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _close(name: str, known: Iterable[str], very: bool) -> list[str]:
    return get_close_matches(name, known, n=_MOST, cutoff=_VERY_CLOSE if very else _CLOSE)


def _question(*suggestions: list[str]) -> str:
    unique = dict.fromkeys(one for some in suggestions for one in some)
    return f"; did you mean {' or '.join(map(repr, unique))}?" if unique else ""
