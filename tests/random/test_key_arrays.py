"""Arrays of keys, and draws of named shapes."""

import copy
import pickle

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax, random, xmap
from tangrad.random import NamedShape
from tests.random.support import BACKENDS, contents, reference, same, using

# --- Arrays of keys are arrays: indexed, reshaped, joined, compared, mapped, printed --------------------------------


np_ = tangrad.numpy
ON_BOTH = pytest.mark.parametrize("backend", BACKENDS)
MASK = np.array([[True, False, True], [False, False, True]])

# Programs of (api, array of six keys of shape (2, 3)).
PROGRAMS = {
    "index": lambda api, keys: keys[1, 2],
    "row": lambda api, keys: keys[-1],
    "slice": lambda api, keys: keys[:, ::2],
    "new axis": lambda api, keys: keys[:, None],
    "index array": lambda api, keys: keys[:, np.array([2, 0])],
    "index out of bounds": lambda api, keys: keys.at[:, np.array([2, 7])].get(mode="fill"),
    "take": lambda api, keys: api.numpy.take(keys, np.array([1, 9]), axis=0),
    "reshape": lambda api, keys: keys.reshape(3, -1),
    "ravel": lambda api, keys: keys.ravel(),
    "transpose": lambda api, keys: keys.T,
    "squeeze": lambda api, keys: keys[:1].squeeze(0),
    "stack": lambda api, keys: api.numpy.stack([keys[0], keys[1]], 1),
    "concatenate": lambda api, keys: api.numpy.concatenate([keys, keys], 1),
    "broadcast": lambda api, keys: api.numpy.broadcast_to(keys[0], (4, 3)),
    "where": lambda api, keys: api.numpy.where(MASK, keys, keys[0, 0]),
    "select": lambda api, keys: api.lax.select(MASK, keys, keys[::-1]),
    "update": lambda api, keys: keys.at[1].set(keys[0]),
    "update slice": lambda api, keys: api.lax.dynamic_update_slice(keys, keys[:1, :1], (1, 2)),
    "dynamic index": lambda api, keys: api.lax.dynamic_index_in_dim(keys, 1, 1),
    "reversed": lambda api, keys: api.lax.rev(keys, (0, 1)),
    "equal": lambda api, keys: keys == keys[0],
    "close": lambda api, keys: api.numpy.isclose(keys, keys[0]),
    "all close": lambda api, keys: api.numpy.allclose(keys, keys[::1]),
    "not all close": lambda api, keys: api.numpy.allclose(keys, keys[0]),
    "arrays equal": lambda api, keys: api.numpy.array_equal(keys[0], keys[:1].squeeze(0)),
    "unequal": lambda api, keys: keys != keys[0, 1],
    "array of arrays": lambda api, keys: api.numpy.array([keys[0, 0], keys[1, 1]]),
    "none in another order": lambda api, keys: api.random.permutation(keys[0, 0], keys[:0]),
    "barrier": lambda api, keys: api.lax.optimization_barrier(keys),
}


def six_keys():
    return random.split(random.key(1), (2, 3))


@ON_BOTH
@pytest.mark.parametrize("name", PROGRAMS)
def test_structural_operations(backend, name):
    jax = reference()
    with using(backend):
        expected = PROGRAMS[name](jax, jax.random.split(jax.random.key(1), (2, 3)))
        same(PROGRAMS[name](tangrad, six_keys()), expected, "eager")
        same(tangrad.jit(lambda keys: PROGRAMS[name](tangrad, keys))(six_keys()), expected, "jitted")


@ON_BOTH
def test_mapping(backend):
    with using(backend):
        keys = six_keys()
        same(tangrad.vmap(lambda one, other: one == other, (0, None))(keys[0], keys[0, 1]), np.array([0, 1, 0], bool))
        chosen = tangrad.vmap(lax.select, (0, 0, None))(MASK[0], keys[0], keys[1, 1])
        same(chosen, np.where(MASK[0][:, None], contents(keys[0]), contents(keys[1, 1])))
        same(tangrad.vmap(lambda row: row[::-1], 1, 1)(keys), contents(keys)[::-1])


@ON_BOTH
def test_sorted_along_with_numbers(backend):
    order = np.array([[3, 1, 2], [5, 0, 4]])
    with using(backend):
        keys = six_keys()
        for axis in (0, 1):
            expected = np.take_along_axis(contents(keys), np.argsort(order, axis)[..., None], axis)
            _, moved = lax.sort_key_val(order, keys, axis)
            same(moved, expected)
        same(random.permutation(keys[0, 0], keys[0]), contents(keys[0])[np.asarray(random.permutation(keys[0, 0], 3))])


@ON_BOTH
def test_padding(backend):
    with using(backend):
        keys = six_keys()
        words = contents(keys)
        expected = np.broadcast_to(words[0, 1], (3, 6, 2)).copy()
        expected[1:, :5:2] = words
        same(lax.pad(keys, keys[0, 1], ((1, 0, 0), (0, 1, 1))), expected)


@ON_BOTH
def test_constants_of_programs(backend):
    with using(backend):
        keys = six_keys()
        expected = contents(random.bits(keys[1, 1], (2,)))
        same(tangrad.jit(lambda: random.bits(keys[1, 1], (2,)))(), expected)
        same(tangrad.jit(lambda i: random.bits(keys[1, i], (2,)))(1), expected)


@ON_BOTH
def test_attributes(backend):
    with using(backend):
        keys = six_keys()
        assert (keys.shape, keys.ndim, keys.size, len(keys)) == ((2, 3), 2, 6, 2)
        assert (keys.itemsize, keys.nbytes) == (8, 48)
        assert keys.dtype == random.key_dtype() == random.key(0).dtype
        assert str(keys.dtype) == "key<fry>"
        assert tangrad.dtypes.issubdtype(keys.dtype, tangrad.dtypes.prng_key)
        assert not tangrad.dtypes.issubdtype(keys.dtype, np.unsignedinteger)
        assert isinstance(keys, tangrad.Array)
        assert [key.shape for key in keys] == [(3,), (3,)]


@ON_BOTH
def test_printed(backend):
    with using(backend):
        assert repr(random.key(7)) == "Array((), dtype=key<fry>) overlaying:\n[0 7]"
        assert str(random.key(7)) == f"{random.key(7)}" == repr(random.key(7))
        assert repr(six_keys()).startswith("Array((2, 3), dtype=key<fry>) overlaying:\n[[[")
        aval = tangrad.make_jaxpr(lambda key: random.bits(key))(random.key(0)).in_avals[0]
        assert (repr(aval), str(aval)) == ("ShapedArray(key<fry>[])", "key<fry>[]")


@ON_BOTH
def test_copies(backend):
    with using(backend):
        keys = six_keys()
        for other in (copy.copy(keys), copy.deepcopy(keys), pickle.loads(pickle.dumps(keys)), random.clone(keys)):
            assert other.dtype == keys.dtype
            same(other, contents(keys))
        same(tangrad.device_put(keys), contents(keys))


@ON_BOTH
def test_moves_between_backends(backend):
    with using("numpy" if backend == "xla" else "xla"):
        keys = six_keys()
    with using(backend):
        moved = tangrad.device_put(keys, tangrad.devices(backend)[0])
        same(moved, contents(keys))


@ON_BOTH
def test_donated(backend):
    with using(backend):
        keys = six_keys()
        expected = contents(keys)[::-1]
        same(tangrad.jit(lambda keys: keys[::-1], donate_argnums=0)(keys), expected)
        assert keys.is_deleted()


@ON_BOTH
def test_have_no_tangents(backend):
    def loss(x, key):
        return (x * random.normal(key, x.shape)).sum()

    with using(backend):
        key, x = random.key(3), np.ones(4, "float32")
        expected = contents(random.normal(key, (4,)))
        for program in (tangrad.grad(loss), tangrad.jit(tangrad.grad(loss)), tangrad.grad(tangrad.jit(loss))):
            np.testing.assert_allclose(program(x, key), expected, rtol=1e-6)
        zero = np.zeros((), tangrad.dtypes.float0)
        _, tangent = tangrad.jvp(loss, (x, key), (x, zero))
        np.testing.assert_allclose(tangent, expected.sum(), rtol=1e-6)
        with pytest.raises(TypeError, match="key<fry>"):
            tangrad.grad(loss, 1)(x, key)


@pytest.mark.parametrize(
    "call",
    [
        lambda key: np.asarray(key),
        lambda key: int(key),
        lambda key: float(key),
        lambda key: bool(key),
        lambda key: key.item(),
        lambda key: key.tolist(),
        lambda key: key + 1,
        lambda key: key < key,
        lambda key: key.astype("uint32"),
        lambda key: lax.add(key, key),
        lambda key: lax.sort(np_.stack([key, key])),
        lambda key: np_.sum(np_.stack([key, key])),
        lambda key: hash(key),
    ],
)
def test_are_no_numbers(call):
    with using("numpy"), pytest.raises((TypeError, ValueError)):
        call(random.key(0))


# --- Samples along named axes: of one key, and of each example its own ----------------------------------------------


KEY = random.key(7)
SAMPLERS = [
    random.bits,
    random.uniform,
    random.normal,
    random.exponential,
    random.gumbel,
    random.laplace,
    random.logistic,
    random.cauchy,
    lambda key, shape: random.bernoulli(key, 0.5, shape),
    lambda key, shape: random.randint(key, shape, 0, 1000),
    lambda key, shape: random.truncated_normal(key, -1.0, 1.0, shape=shape),
]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_each_example_has_a_sample_of_its_own(sampler):
    mapped = tangrad.vmap(lambda _: sampler(KEY, NamedShape(5, i=3)), axis_name="i")(jnp.zeros(3))
    folded = [sampler(random.fold_in(KEY, index), (5,)) for index in range(3)]
    assert np.asarray(mapped).tolist() == [np.asarray(one).tolist() for one in folded]


def test_named_axes_are_those_that_are_named():
    """Along "j" examples share samples, along "i" they do not; where axes are computed makes no difference."""

    def noisy(x):
        return x + random.normal(KEY, NamedShape(2, i=4))

    mapped = xmap(noisy, in_axes=["j", "i", ...], out_axes=["j", "i", ...])(jnp.zeros((3, 4, 2)))
    assert np.array_equal(mapped[0], mapped[1]) and len(np.unique(mapped[0])) == 8
    again = tangrad.vmap(tangrad.vmap(noisy, axis_name="i"), axis_name="j")(jnp.zeros((3, 4, 2)))
    assert np.array_equal(mapped, again)
    renamed = xmap(lambda x: lax.pmean(noisy(x), "i"), in_axes={0: "i"}, out_axes={})(jnp.zeros((4, 2)))
    np.testing.assert_allclose(renamed, np.mean(mapped[0], 0), rtol=1e-6)


def test_shapes_are_tuples():
    shape = NamedShape(2, 3, i=4)
    assert tuple(shape) == (2, 3) and shape.named == {"i": 4} and repr(shape) == "NamedShape(2, 3, i=4)"
    assert shape == NamedShape(2, 3, i=4) and shape != NamedShape(2, 3) and NamedShape(2) == (2,)
    assert hash(shape) == hash(NamedShape(2, 3, i=4)) and hash(NamedShape(2)) == hash((2,))
    assert np.array_equal(random.uniform(KEY, NamedShape(2)), random.uniform(KEY, (2,)))


def test_axes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"NamedShape\(i=4\) gives axis 'i' size 4, and it has size 3"):
        tangrad.vmap(lambda _: random.normal(KEY, NamedShape(i=4)), axis_name="i")(jnp.zeros(3))
    with pytest.raises(NameError, match=r"random\.normal: no mapped axis is named 'i'"):
        random.normal(KEY, NamedShape(i=4))


@pytest.mark.parametrize("caught", [TypeError, ValueError])
def test_bad_seeds_and_conversions_are_caught_by_either_class(caught):
    with pytest.raises(caught, match="takes one seed"):
        random.key(np.arange(4))
    with pytest.raises(caught, match="takes one seed"):
        random.PRNGKey(np.arange(4))
    with pytest.raises(caught, match="cannot convert key<fry> to int32"):
        tangrad.lax.convert_element_type(KEY, np.int32)
    with pytest.raises(caught, match="key<fry> takes no part in promotion"):
        jnp.add(KEY, 1)
    with pytest.raises(caught, match="cannot convert int32 to key<fry>"):
        tangrad.lax.convert_element_type(np.int32(0), KEY.dtype)


@pytest.mark.parametrize("name", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_a_dtype_of_keys_by_its_name(name):
    kind = tangrad.random.key_dtype(name)
    assert tangrad.random.key(3, dtype=name).dtype == kind
    words = tangrad.random.key_data(tangrad.random.key(3, impl=name))
    assert tangrad.random.wrap_key_data(words, dtype=name).dtype == kind
    with pytest.raises(ValueError, match="one of them"):
        tangrad.random.key(3, impl=name, dtype=name)
    with pytest.raises(ValueError, match="unknown random generator"):
        tangrad.random.key(3, dtype="float32")
    with pytest.raises(TypeError, match="unknown random generator"):
        tangrad.random.key(3, impl=object())
