"""Random numbers: keys, bits and distributions. Bits, uniforms and permutations must be equal to the bit."""

import numpy

from ..corpus import program


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
