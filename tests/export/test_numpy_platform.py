"""Exported programs on NumPy: called, differentiated, written and read, at any sizes; and what files hold beside."""

import json
from collections import OrderedDict, namedtuple
from hashlib import sha256

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import export, lax, random, runtime, use_backend
from tangrad._export.structures import _by_name, _by_type
from tangrad._export.writing import HEADERS, MAGIC
from tangrad.core import ShapedArray, backend_names
from tangrad.tree_util import register_pytree_node_class

# --- Exported programs on NumPy: called, differentiated, written and read, at any sizes; and what files hold beside.


SIZES = ((3, 4), (5, 2))


@pytest.fixture(autouse=True)
def on_numpy():
    with use_backend("numpy"):
        yield


def program(x, y):
    total, steps = lax.scan(lambda c, row: (c + row, c * row), np.zeros(x.shape[1]), x)
    return {"product": np.sin(x) @ y, "total": total, "steps": steps, "size": np.ones(3) * y.shape[0]}


def arguments(a, b):
    draw = numpy.random.default_rng(a)
    return draw.normal(size=(a, b)).astype("float32"), draw.normal(size=(b, 2 * a + 1)).astype("float32")


def exported(function=program, platforms=("numpy",)):
    spec = export.symbolic_args_specs(arguments(3, 4), ("a, b", "b, 2*a + 1"), constraints=("b >= 2",))
    return export.export(tangrad.jit(function), platforms=platforms)(*spec)


def assert_same(found, expected):
    assert tangrad.tree.structure(found) == tangrad.tree.structure(expected)
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected)):
        numpy.testing.assert_allclose(numpy.asarray(one), numpy.asarray(other), rtol=2e-5, atol=1e-5)


@pytest.fixture(scope="module")
def made():
    with use_backend("numpy"):
        return exported()


def test_one_program_runs_at_any_sizes_and_is_differentiated(made):
    def loss(function):
        return lambda x, y: sum((leaf**2).sum() for leaf in tangrad.tree.leaves(function(x, y)))

    read = export.deserialize(made.serialize(vjp_order=1))
    assert read.platforms == ("numpy",) and read == made
    for sizes in SIZES:
        x, y = arguments(*sizes)
        for call in (made.call, read.call, tangrad.jit(read.call)):
            assert_same(call(x, y), program(x, y))
        expected = tangrad.grad(loss(program), (0, 1))(x, y)
        assert_same(tangrad.grad(loss(read.call), (0, 1))(x, y), expected)
        assert_same(tangrad.jit(tangrad.grad(loss(made.call), (0, 1)))(x, y), expected)


def test_programs_are_nested_in_programs_and_saved(made, tmp_path):
    outer = exported(lambda x, y: made.call(x + 1, y)["product"].sum(1))
    runtime.save(made.call, tmp_path / "it.tgr", *made.in_avals)
    for sizes in SIZES:
        x, y = arguments(*sizes)
        assert_same(outer.call(x, y), program(x + 1, y)["product"].sum(1))
        assert_same(runtime.load(tmp_path / "it.tgr")(x, y), program(x, y))


def test_bad_calls_are_named(made):
    x, y = arguments(3, 4)
    with pytest.raises(ValueError, match=r"program: args\[1\] .* 1 has size 6, where 2\*a \+ 1 is 7"):
        made.call(x, y[:, 1:])
    with pytest.raises(ValueError, match=r"b is 1; its constraints \(b >= 2\)"):
        made.call(x[:, :1], y[:1])
    with pytest.raises(ValueError, match="exported for numpy alone, and has no module"):
        made.mlir_module()
    with pytest.raises(NotImplementedError, match=r"call_exported.* not mapped|not mapped.*call_exported"):
        tangrad.vmap(made.call)(x[None], y[None])
    with pytest.raises(NotImplementedError, match="ordered effects"):
        exported(lambda x, y: (tangrad.debug.print("{}", x, ordered=True), x)[1])
    with pytest.raises(ValueError, match="side effects"):
        exported(lambda x, y: (tangrad.debug.print("{}", x), x)[1])


@pytest.mark.skipif("xla" not in backend_names(), reason="without XLA there is one platform")
def test_both_platforms_in_one_file(made):
    both = export.deserialize(exported(platforms=["cpu", "numpy", "cuda"]).serialize(vjp_order=1))
    assert both.platforms == ("cpu", "numpy", "cuda") and both.module_platforms == ("cpu", "cuda")
    x, y = arguments(*SIZES[0])
    expected = program(x, y)
    for backend in ("xla", "numpy"):
        with use_backend(backend):
            assert_same(both.call(x, y), expected)
            with pytest.raises(NotImplementedError, match="ordered effects"):
                exported(lambda x, y: (tangrad.debug.print("{}", x, ordered=True), x)[1], ["cpu"])
    with use_backend("xla"), pytest.raises(ValueError, match="was exported for numpy, and is called on cpu"):
        made.call(x, y)
    with pytest.raises(ValueError, match="was exported for cpu, and is called on numpy"):
        exported(platforms=["cpu"]).call(x, y)


@pytest.mark.parametrize("backend", backend_names())
def test_random_keys_pass(backend):
    with use_backend(backend):
        platform = "numpy" if backend == "numpy" else "cpu"
        key = random.key(3)
        spec = ShapedArray(export.symbolic_shape("n"), random.split(key).dtype)

        def function(keys):
            return tangrad.vmap(random.uniform)(keys), tangrad.vmap(lambda one: random.fold_in(one, 1))(keys)

        made = export.export(tangrad.jit(function), platforms=[platform])(spec)
        read = export.deserialize(made.serialize())
        assert str(read.in_avals[0]) == "key<fry>[n]"
        for size in (2, 3):
            keys = random.split(key, size)
            numbers, folded = read.call(keys)
            expected, others = function(keys)
            assert_same((numbers, random.key_data(folded)), (expected, random.key_data(others)))


# --- structures -----------------------------------------------------------------------------------------------------

Pair = namedtuple("Pair", ["first", "second"])


@register_pytree_node_class
class Scaled:
    def __init__(self, values, factor):
        self.values, self.factor = values, factor

    def tree_flatten(self):
        return (self.values,), self.factor

    @classmethod
    def tree_unflatten(cls, factor, children):
        return cls(*children, factor)


@pytest.fixture
def registered():
    export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair")
    export.register_pytree_node_serialization(
        Scaled,
        serialized_name="tests.Scaled",
        serialize_auxdata=lambda factor: str(factor).encode(),
        deserialize_auxdata=lambda written: float(written),
    )
    yield
    for kind, name in ((Pair, "tests.Pair"), (Scaled, "tests.Scaled")):
        del _by_type[kind], _by_name[name]


def swapped(pair):
    return Pair(pair.second.values * pair.second.factor, {"first": pair.first})


def with_nodes():
    return export.export(tangrad.jit(swapped), platforms=["numpy"])(Pair(np.ones(2), Scaled(np.ones(3), 2.5)))


class Described:
    """An array with a word for each element, which a node without both is not."""

    def __init__(self, values, words):
        assert values.shape == (len(words),)
        self.values, self.words = values, words


tangrad.tree_util.register_pytree_node(
    Described, lambda d: ((d.values,), d.words), lambda w, children: Described(*children, w)
)


@pytest.mark.parametrize("platform", ["numpy", "cpu"])
def test_nodes_that_look_at_shapes_and_ordered_dictionaries(platform):
    try:
        export.register_pytree_node_serialization(
            Described,
            serialized_name="tests.Described",
            serialize_auxdata=lambda words: " ".join(words).encode(),
            deserialize_auxdata=lambda written: tuple(written.decode().split()),
        )
        values = numpy.ones(2, numpy.float32)
        given = OrderedDict(z=Described(values, ("a", "b")), a=[Described(values[:1], ("c",))])
        made = export.export(tangrad.jit(lambda d: (d, d["z"].values + 1)), platforms=[platform])(given)
        read = export.deserialize(made.serialize())
        assert (read.in_tree, read.out_tree) == (made.in_tree, made.out_tree)
        with use_backend("numpy" if platform == "numpy" else "xla"):
            back, more = read.call(given)
        assert type(back) is OrderedDict and list(back) == ["z", "a"] and back["z"].words == ("a", "b")
        assert list(more) == [2, 2]
        assert read._plan.labels[1].startswith("args[0]['a'][0]")
        with pytest.raises(ValueError, match="was exported for arguments"):
            read.call(OrderedDict(given, a=[Described(values, ("c", "d"))]))
    finally:
        del _by_type[Described], _by_name["tests.Described"]


def test_registered_nodes_are_written_and_read(registered):
    data = with_nodes().serialize()
    out = export.deserialize(data).call(Pair(np.zeros(2), Scaled(np.ones(3), 2.5)))
    assert type(out) is Pair and out.first[0] == 2.5 and out.second["first"].shape == (2,)
    with pytest.raises(TypeError, match="was exported for arguments"):
        export.deserialize(data).call(Pair(np.zeros(2), Scaled(np.ones(3), 2.0)))


def test_nodes_that_are_not_registered_are_named(registered):
    data = with_nodes().serialize()
    kept = _by_name.pop("tests.Pair")
    with pytest.raises(ValueError, match=r"a node 'tests\.Pair', which is not registered"):
        export.deserialize(data)
    _by_name["tests.Pair"] = kept
    with pytest.raises(ValueError, match="got a Other"):
        other = namedtuple("Other", "x")
        export.export(tangrad.jit(lambda o: o.x), platforms=["numpy"])(other(np.ones(2))).serialize()


def test_fields_that_changed_are_refused(registered):
    data = with_nodes().serialize()
    kept = _by_name["tests.Pair"], _by_type.pop(Pair)
    del _by_name["tests.Pair"]
    renamed = namedtuple("Pair", ["second", "first"])
    export.register_namedtuple_serialization(renamed, serialized_name="tests.Pair")
    with pytest.raises(ValueError, match="has the fields second,first, in the file first,second"):
        export.deserialize(data)
    del _by_type[renamed]
    _by_name["tests.Pair"], _by_type[Pair] = kept


def test_registrations_that_clash(registered):
    with pytest.raises(ValueError, match=r"is registered already, under the name 'tests\.Pair'"):
        export.register_namedtuple_serialization(Pair, serialized_name="another")
    with pytest.raises(ValueError, match=r"'tests\.Pair' is that of Pair already"):
        export.register_namedtuple_serialization(namedtuple("New", "a"), serialized_name="tests.Pair")
    with pytest.raises(ValueError, match="takes a type of named tuples"):
        export.register_namedtuple_serialization(int, serialized_name="int")
    with pytest.raises(TypeError, match="takes functions"):
        export.register_pytree_node_serialization(
            int, serialized_name="int", serialize_auxdata=None, deserialize_auxdata=int
        )


def test_a_type_whose_module_runs_again_is_registered_again(registered):
    """After an import that was interrupted."""
    again = type("Scaled", (), {"__module__": __name__})
    codec = {"serialize_auxdata": repr, "deserialize_auxdata": float}
    export.register_pytree_node_serialization(again, serialized_name="tests.Scaled", **codec)
    assert _by_type.pop(again) is _by_name["tests.Scaled"] and _by_name["tests.Scaled"].kind is again


# --- files ----------------------------------------------------------------------------------------------------------


def parts_of(data):
    header = HEADERS[2]
    lengths = header.unpack(data[: header.size])[3:7]
    parts, start = [], header.size
    for length in lengths:
        parts.append(data[start : start + length])
        start += length
    return parts


def packed(parts):
    body = b"".join(parts)
    return HEADERS[2].pack(MAGIC, 2, 0, *map(len, parts), sha256(body).digest()) + body


def test_programs_that_are_not_of_their_description_are_refused(made):
    parts = parts_of(made.serialize())
    assert packed(parts) == made.serialize()
    other = parts_of(exported(lambda x, y: x + 1).serialize())
    for wrong, message in (
        ([*parts[:3], b""], "has a program for NumPy of 0 bytes"),
        ([*parts[:3], parts[3][:-1]], "its program for NumPy cannot be read"),
        ([*parts[:3], other[3]], "of other types than it declares"),
        ([parts[0].replace(b'"numpy"', b'"tpu"'), *parts[1:]], "it is for"),
    ):
        with pytest.raises(ValueError, match=message):
            export.deserialize(packed(wrong))
    assert json.loads(parts[0])["platforms"] == ["numpy"]


# --- Programs are exported for the backend in use where no platform is named ----------------------------------------


@pytest.mark.parametrize(("backend", "platforms"), [("numpy", ("numpy",)), ("xla", ("cpu",))])
def test_an_exported_program_runs_where_it_was_made(backend, platforms):
    with tangrad.use_backend(backend):
        if backend == "xla" and tangrad.devices()[0].platform != "cpu":
            pytest.skip("the default device of XLA is no CPU")
        assert export.default_export_platform() == platforms[0]
        made = export.export(tangrad.jit(lambda x: np.sin(x) * 2))(tangrad.ShapeDtypeStruct((3,), np.float32))
        assert made.platforms == platforms
        x = np.arange(3.0)
        for program in (made, export.deserialize(made.serialize())):
            assert numpy.allclose(program.call(x), numpy.sin(numpy.arange(3.0)) * 2, atol=1e-6)
