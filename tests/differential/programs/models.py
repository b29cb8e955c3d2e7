"""Layers, losses and steps of models, as people write them."""

from collections import namedtuple

import numpy

from tests.differential.corpus import integers, normal, program, uniform


@program(lambda r: (normal(r, 4, 5) * 3,), grad=(0,))
def softmaxes(api, x):
    """softmax and log_softmax along axes."""
    return api.nn.softmax(x), api.nn.softmax(x, axis=0), api.nn.log_softmax(x), api.nn.softmax(x * 100)


@program(lambda r: (normal(r, 4, 6) * 2,), grad=(0,))
def activations(api, x):
    """The activation functions."""
    nn = api.nn
    smooth = nn.gelu(x), nn.gelu(x, approximate=False), nn.silu(x), nn.softplus(x), nn.sigmoid(x), nn.log_sigmoid(x)
    return smooth, nn.relu(x), nn.elu(x), nn.leaky_relu(x), nn.relu6(x), nn.swish(x), nn.selu(x), nn.hard_tanh(x)


@program(lambda r: (normal(r, 2, 3, 8), uniform(r, 0.5, 1.5, 8), normal(r, 8)), grad=(0, 1, 2))
def layer_norm(api, x, scale, shift):
    """Normalise the last axis."""
    np = api.numpy
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred * api.lax.rsqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5) * scale + shift


@program(lambda r: (normal(r, 6, 4), uniform(r, 0.5, 1.5, 4), normal(r, 4)), grad=(0, 1, 2))
def batch_norm(api, x, scale, shift):
    """Normalise over the batch, and update running averages."""
    np = api.numpy
    mean, variance = np.mean(x, 0), np.var(x, 0)
    return (x - mean) / np.sqrt(variance + 1e-3) * scale + shift, 0.9 * np.zeros(4) + 0.1 * mean


@program(lambda r: (normal(r, 2, 5, 8), normal(r, 8, 24), normal(r, 8, 8)), grad=(0, 1, 2))
def causal_attention(api, x, projection, out):
    """Multi-head attention with a causal mask."""
    np = api.numpy
    batch, time, width = x.shape
    query, key, value = np.split(x @ projection, 3, axis=-1)
    query, key, value = (part.reshape(batch, time, 2, width // 2) for part in (query, key, value))
    logits = np.einsum("bthd,bshd->bhts", query, key) / 2.0
    logits = np.where(np.tril(np.ones((time, time), bool)), logits, -1e9)
    mixed = np.einsum("bhts,bshd->bthd", api.nn.softmax(logits, axis=-1), value)
    return mixed.reshape(batch, time, width) @ out


@program(
    lambda r: (normal(r, 3, 5), normal(r, 3, 7), normal(r, 12, 15), normal(r, 15)),
    grad=(0, 1, 2, 3),
    vmap=(0, 0, None, None),
)
def recurrent_cell(api, state, inputs, weights, biases):
    """A gated recurrent cell, unrolled twice."""
    np = api.numpy
    for _ in range(2):
        gates = np.concatenate([state, inputs], axis=-1) @ weights + biases
        update, reset, candidate = np.split(gates, 3, axis=-1)
        update = api.nn.sigmoid(update)
        state = update * state + (1 - update) * np.tanh(candidate * api.nn.sigmoid(reset))
    return state


@program(
    lambda r: (
        [(normal(r, 6, 8), normal(r, 8)), (normal(r, 8, 3), normal(r, 3))],
        normal(r, 5, 6),
        integers(r, 0, 3, 5),
    ),
    grad=(0,),
    vmap=(None, 0, 0),
)
def perceptron_cross_entropy(api, parameters, inputs, labels):
    """A two-layer perceptron and the usual loss."""
    np = api.numpy
    (w1, b1), (w2, b2) = parameters
    logits = np.tanh(inputs @ w1 + b1) @ w2 + b2
    targets = api.nn.one_hot(labels, 3)
    return -np.mean(np.sum(api.nn.log_softmax(logits) * targets, axis=-1))


@program(
    lambda r: ({"kernel": normal(r, 3, 3, 1, 4) * 0.5, "dense": normal(r, 36, 5) * 0.3}, normal(r, 2, 6, 6, 1)),
    grad=(0, 1),
    vmap=(None, 0),
)
def image_classifier(api, parameters, images):
    """Convolution, ReLU, pooling, dense."""
    lax = api.lax
    x = lax.conv_general_dilated(
        images, parameters["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    x = lax.reduce_window(api.nn.relu(x), -numpy.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return api.nn.log_softmax(x.reshape(x.shape[0], -1) @ parameters["dense"])


@program(lambda r: (normal(r, 4), normal(r, 20, 4), integers(r, 0, 2, 20)), grad=(0,), vmap=(0, None, None))
def logistic_regression(api, weights, features, labels):
    """Regularised, from logits, without overflow."""
    np = api.numpy
    logits = features @ weights * 10
    losses = np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))
    return np.mean(losses) + 0.01 * np.sum(weights**2)


@program(lambda r: (normal(r, 12) * 2, normal(r, 12)), grad=(0, 1))
def huber_loss(api, predictions, targets):
    """Quadratic near zero, linear beyond."""
    np = api.numpy
    error = np.abs(predictions - targets)
    return np.mean(np.where(error < 1.0, 0.5 * error**2, error - 0.5))


@program(lambda r: (normal(r, 5, 4), normal(r, 5, 4)), grad=(0, 1))
def contrastive_loss(api, x, y):
    """Each row's partner against all others."""
    np = api.numpy
    x, y = (rows / np.sqrt(np.sum(rows**2, axis=1, keepdims=True)) for rows in (x, y))
    scores = x @ y.T / 0.1
    return np.mean(api.nn.logsumexp(scores, axis=1) - np.diag(scores))


@program(lambda r: (normal(r, 3), normal(r, 3), normal(r, 7, 3)), grad=(0, 1, 2))
def gaussian_log_likelihood(api, mean, log_scale, samples):
    """Independent normal distributions."""
    np = api.numpy
    standard = (samples - mean) * np.exp(-log_scale)
    return np.sum(-0.5 * standard**2 - log_scale - 0.5 * numpy.log(2 * numpy.pi).item(), axis=-1)


@program(lambda r: (normal(r, 6, 8),), grad=(0,))
def positional_encoding(api, x):
    """Sines and cosines of the position, added."""
    np = api.numpy
    positions, channels = np.arange(6)[:, None], np.arange(4)[None, :]
    angles = positions / 10000.0 ** (2 * channels / 8)
    return x + np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


@program(lambda r: (normal(r, 12, 2), normal(r, 3, 2)), grad=(0,))
def clustering_step(api, points, centres):
    """One step of k-means."""
    np = api.numpy
    nearest = np.argmin(np.sum((points[:, None] - centres[None]) ** 2, -1), axis=1)
    members = api.nn.one_hot(nearest, 3)
    return (members.T @ points) / np.maximum(np.sum(members, 0), 1.0)[:, None]


@program(lambda r: (normal(r, 2), uniform(r, 0.5, 1.5)), grad=(0, 1))
def pendulum_by_runge_kutta(api, state, length):
    """Three steps of the classical integrator."""
    np = api.numpy

    def derivative(s):
        return np.stack([s[1], -9.81 / length * np.sin(s[0])])

    for _ in range(3):
        k1 = derivative(state)
        k2 = derivative(state + 0.05 * k1)
        k3 = derivative(state + 0.05 * k2)
        k4 = derivative(state + 0.1 * k3)
        state = state + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


@program(lambda r: (uniform(r, 1.0, 9.0, 4),), grad=(0,))
def newton_square_root(api, x):
    """An unrolled iteration."""
    guess = api.numpy.ones_like(x)
    for _ in range(6):
        guess = 0.5 * (guess + x / guess)
    return guess


@program(lambda r: (integers(r, 0, 2, 6, 6),))
def game_of_life(api, cells):
    """Two generations by rolling the grid."""
    np = api.numpy
    for _ in range(2):
        shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        neighbours = sum(np.roll(cells, shift, axis=(0, 1)) for shift in shifts)
        cells = np.where((neighbours == 3) | ((cells == 1) & (neighbours == 2)), 1, 0)
    return cells


@program(lambda r: (normal(r, 8, 8),), grad=(0,))
def heat_equation(api, field):
    """Explicit steps with fixed borders."""
    for _ in range(3):
        inner = field[1:-1, 1:-1]
        laplacian = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2] - 4 * inner
        field = field.at[1:-1, 1:-1].add(0.1 * laplacian)
    return field


# --- Random numbers ---


def seeds(random):
    """A seed as an int32 scalar."""
    return (numpy.array(random.integers(0, 1000), "int32"),)


@program(seeds, exact=True)
def bits_and_splits(api, seed):
    """Keys derived from keys."""
    random = api.random
    key = random.PRNGKey(seed)
    first, second = random.split(key)
    return (
        key,
        random.split(key, 3),
        random.fold_in(key, 7),
        random.bits(first, (5,)),
        random.bits(second, (3,), "uint8"),
    )


@program(seeds, exact=True)
def uniforms(api, seed):
    """Uniform values on several intervals and in several dtypes."""
    random, np = api.random, api.numpy
    key = random.PRNGKey(seed)
    return (
        random.uniform(key, (4, 3)),
        random.uniform(key, (3,), minval=-2.0, maxval=5.0),
        random.uniform(key, (7,), dtype=np.float16),
        random.uniform(key),
    )


@program(seeds)
def normals(api, seed):
    """Normal values."""
    random = api.random
    key = random.PRNGKey(seed)
    return random.normal(key, (33,)), random.normal(key, ()) * 2.0 + 1.0


@program(seeds, exact=True)
def permutations(api, seed):
    """Permutations of a range, of an array's rows, of each row alone."""
    random, np = api.random, api.numpy
    key = random.PRNGKey(seed)
    table = np.arange(12).reshape(4, 3)
    return (
        random.permutation(key, 10),
        random.permutation(key, table),
        random.permutation(key, table, axis=1, independent=True),
    )


@program(seeds, exact=True)
def choices(api, seed):
    """With and without replacement, with and without probabilities."""
    random, np = api.random, api.numpy
    key = random.PRNGKey(seed)
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    return (
        random.choice(key, 9, (5,)),
        random.choice(key, 9, (5,), replace=False),
        random.choice(key, 4, (6,), p=weights),
    )


@program(seeds, exact=True)
def categories(api, seed):
    """Categorical draws from logits."""
    random, np = api.random, api.numpy
    logits = np.log(np.array([[0.1, 0.6, 0.3], [0.5, 0.25, 0.25]]))
    return random.categorical(random.PRNGKey(seed), logits), random.categorical(random.PRNGKey(seed), logits, axis=0)


@program(seeds, exact=True)
def typed_keys(api, seed):
    """Keys of a dtype of their own."""
    random = api.random
    key = random.key(seed)
    one, other = random.split(key)
    return random.key_data(one), random.bits(other, (4,)), random.key_data(random.fold_in(key, 3))


@program(lambda r: (r.normal(size=(4, 5)).astype("float32"), *seeds(r)), grad=(0,))
def dropout(api, x, seed):
    """Keep four elements of five, scaled."""
    keep = api.random.uniform(api.random.PRNGKey(seed), x.shape) < 0.8
    return api.numpy.where(keep, x / 0.8, 0.0)


@program(lambda r: (r.normal(size=3).astype("float32"), r.normal(size=3).astype("float32"), *seeds(r)), grad=(0, 1))
def reparametrised_sample(api, mean, log_scale, seed):
    """Gradients through a normal draw."""
    return mean + api.numpy.exp(log_scale) * api.random.normal(api.random.PRNGKey(seed), (5, 3))


# --- Parameters and results in containers ---


Moments = namedtuple("Moments", "mean second")


@program(
    lambda r: (
        {"layers": [{"w": normal(r, 3, 4), "b": normal(r, 4)}, {"w": normal(r, 4, 2), "b": None}], "scale": normal(r)},
        normal(r, 5, 3),
    ),
    grad=(0,),
    vmap=(None, 0),
)
def nested_parameters(api, parameters, x):
    """Dicts, lists and None."""
    for layer in parameters["layers"]:
        x = api.numpy.tanh(x @ layer["w"] + (0.0 if layer["b"] is None else layer["b"]))
    return {"out": x * parameters["scale"], "none": None}


@program(lambda r: ({"w": normal(r, 3), "b": normal(r, 2)}, {"w": normal(r, 3), "b": normal(r, 2)}), grad=(0, 1))
def descent_step(api, parameters, gradients):
    """tree.map over two trees."""
    return api.tree.map(lambda value, gradient: value - 0.1 * gradient, parameters, gradients)


@program(lambda r: (normal(r, 4), Moments(normal(r, 4), normal(r, 4) ** 2)), grad=(0, 1))
def adam_step(api, gradient, moments):
    """Moments in a named tuple."""
    np = api.numpy
    mean = 0.9 * moments.mean + 0.1 * gradient
    second = 0.999 * moments.second + 0.001 * gradient**2
    return Moments(mean, second), mean / (np.sqrt(second) + 1e-3)


@program(lambda r: ([normal(r, 2, 3), (normal(r, 4), normal(r))],), grad=(0,))
def global_norm(api, tree):
    """Clip a tree by its norm."""
    np = api.numpy
    norm = np.sqrt(sum(np.sum(leaf**2) for leaf in api.tree.leaves(tree)))
    return api.tree.map(lambda leaf: leaf * np.minimum(1.0, 1.0 / norm), tree)


@program(lambda r: ({"a": normal(r, 3), "b": (normal(r, 3), normal(r, 3))},), grad=(0,))
def flatten_and_rebuild(api, tree):
    """Leaves doubled and put back."""
    leaves, structure = api.tree.flatten(tree)
    return api.tree.unflatten(structure, [leaf * 2 for leaf in leaves]), sum(leaves)
