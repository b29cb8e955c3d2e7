"""What is saved for the runtime: functions, with primitives of every family."""

import json
import os
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, random, runtime, tree
from tangrad._runtime.container import DEFAULT, pack, unpack
from tangrad._runtime.loading import LoadedProgram
from tangrad._runtime.reading import SavedProgram
from tangrad._runtime.saving import sections_of
from tangrad.conformance import find_samples
from tangrad.core import Array, PrimitiveSet, RuleSet, ShapedArray, dtypes, get_backend, register
from tangrad.export import SymbolicScope, symbolic_args_specs, symbolic_shape
from tangrad.runtime import ArtifactError
from tangrad.runtime.__main__ import main

# --- Functions are saved with their structures and names; programs take and return NumPy arrays ---------------------


X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
PARAMETERS = {"w": np.full((3, 2), 0.5, "float32"), "b": [np.zeros(2, "float32"), None]}


def saved(tmp_path, function, *args, **kwargs):
    runtime.save(function, tmp_path / "it.tgr", *args, **kwargs)
    return runtime.load(tmp_path / "it.tgr")


def affine(params, x, *, scale):
    return (x @ params["w"] * scale + params["b"][0], {"again": x, "none": None})


def test_structures_and_names(tmp_path):
    program = saved(tmp_path, affine, PARAMETERS, X, scale=2.0)
    assert program.names == ("params['b'][0]", "params['w']", "x", "scale")
    assert program.result_names == ("result[0]", "result[1]['again']")
    out, rest = program(PARAMETERS, X, scale=3.0)
    np.testing.assert_allclose(out, X @ PARAMETERS["w"] * 3, rtol=1e-6)
    assert type(out) is np.ndarray and not out.flags.writeable and rest.keys() == {"again", "none"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((PARAMETERS, X), TypeError, "scale: f32"),
        ((PARAMETERS, X[:1], 1.0), TypeError, "the program takes"),
    ],
)
def test_calls_of_another_structure(tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        saved(tmp_path, affine, PARAMETERS, X, scale=2.0)(*arguments)


def test_calls_with_other_types(tmp_path):
    program = saved(tmp_path, lambda x, count: x * count, X, np.int32(2))
    with pytest.raises(ValueError, match=r"argument x must have shape \(2, 3\), got \(3,\)"):
        program(X[0], 2)
    with pytest.raises(TypeError, match="argument x must have dtype float32, got float64"):
        program(X.astype("float64"), 2)
    with pytest.raises(TypeError, match="argument count must have dtype int32, got float64"):
        program(X, 2.5)
    np.testing.assert_array_equal(program(X.astype("float16"), 2), X.astype("float16").astype("float32") * 2)


def test_64_bits_are_kept_whatever_the_setting_is(tmp_path):
    with enable_x64(True):
        program = saved(tmp_path, lambda x: tnp.cumsum(x) / 3, np.arange(4.0))
    assert program(np.arange(4.0)).dtype == np.float64
    np.testing.assert_array_equal(program(np.arange(4.0)), np.cumsum(np.arange(4.0)) / 3)


def test_gradients_maps_and_rules_of_ones_own_become_steps(tmp_path):
    @tangrad.custom_jvp
    def cube(x):
        return x**3

    cube.defjvps(lambda t, out, x: 5 * t)
    function = tangrad.jit(tangrad.vmap(tangrad.grad(tangrad.checkpoint(lambda x: tnp.sum(cube(x))))))
    program = saved(tmp_path, function, X)
    np.testing.assert_array_equal(program(X), np.full_like(X, 5))
    assert {family for family, _, _ in program.requirements} <= {"elementwise", "structure", "reductions"}


def test_random_keys_pass(tmp_path):
    program = saved(tmp_path, lambda key: (random.normal(key, (3,)), random.split(key)), random.key(0))
    numbers, keys = program(random.key(7))
    np.testing.assert_array_equal(numbers, random.normal(random.key(7), (3,)))
    np.testing.assert_array_equal(random.key_data(keys), random.key_data(random.split(random.key(7))))
    with pytest.raises(TypeError, match="must be an array of type key<fry>"):
        program(3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: tangrad.pure_callback(lambda y: y, x, x), "'callbacks.pure_callback', which cannot be saved"),
        (lambda x: tangrad.debug.print("{}", x), "side effects"),
        (lambda x: namedtuple("Pair", "a b")(x, x), "a node of type Pair; files have tuples, lists, dicts and None"),
        (lambda x: {2.5: x}, r"a dict with keys \[2.5\]"),
    ],
)
def test_what_a_file_cannot_hold_is_named(tmp_path, function, message):
    with pytest.raises(ArtifactError, match=message):
        runtime.save(function, tmp_path / "it.tgr", X)
    assert os.listdir(tmp_path) == []


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    before = saved(tmp_path, lambda x: x + 1, X)
    with pytest.raises(ArtifactError):
        runtime.save(lambda x: tangrad.debug.print("{}", x), tmp_path / "it.tgr", X)
    np.testing.assert_array_equal(runtime.load(tmp_path / "it.tgr")(X), before(X))
    assert os.listdir(tmp_path) == ["it.tgr"]


def test_unregistered_primitives_are_refused_when_saving(tmp_path):
    family = PrimitiveSet("homemade", api=1)
    double = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="double")
    lower = RuleSet("lower.numpy", api=1)
    lower.add(double, lambda ctx, x: x + x)
    with register(lower), pytest.raises(ArtifactError, match=r"'homemade\.double', which no installed distribution"):
        runtime.save(lambda x: double(x), tmp_path / "it.tgr", X)


def test_a_primitive_without_lowering_and_decomposition_is_named(tmp_path):
    double = PrimitiveSet("homemade", api=1).primitive(lambda x: ShapedArray(x.shape, x.dtype), name="double")
    with pytest.raises(ArtifactError, match=r"no lowering of kind 'lower\.numpy', no rule of kind 'portable'"):
        runtime.save(lambda x: double(x), tmp_path / "it.tgr", X)


# --- the command ----------------------------------------------------------------------------------------------------


def command(*arguments, status=0):
    done = subprocess.run(
        [sys.executable, "-m", "tangrad.runtime", *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def test_the_command_runs_a_program(tmp_path):
    saved(tmp_path, affine, PARAMETERS, X, scale=2.0)
    names = {"params['b'][0]": PARAMETERS["b"][0], "params['w']": PARAMETERS["w"], "x": X, "scale": np.float32(2)}
    np.savez(tmp_path / "in.npz", **names)
    assert "result[1]['again']: float32[2, 3]" in command(
        tmp_path / "it.tgr", tmp_path / "in.npz", "-o", tmp_path / "out.npz"
    )
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["result[1]['again']"], X)
    np.savez(tmp_path / "in.npz", *names.values())
    assert "result[0]: float32[2, 2]" in command(tmp_path / "it.tgr", tmp_path / "in.npz")
    assert "  x: float32[2, 3]" in command(tmp_path / "it.tgr")
    np.savez(tmp_path / "in.npz", y=X)
    assert "but the program takes" in command(tmp_path / "it.tgr", tmp_path / "in.npz", status=1)
    (tmp_path / "it.tgr").write_bytes(b"nothing")
    assert "not a saved program" in command(tmp_path / "it.tgr", status=1)


def test_loops_run_from_files(tmp_path):
    program = saved(tmp_path, lambda x: lax.fori_loop(0, 3, lambda i, y: y * i + 1, x), X)
    np.testing.assert_array_equal(program(X), ((X * 0 + 1) * 1 + 1) * 2 + 1)


# --- Every primitive there is: a program of it is saved and gives the same numbers, or is refused by name -----------


# What a file cannot carry, by the words that the refusal must have.
REFUSED = {
    "callbacks.pure_callback": "HostCall",
    "callbacks.io_callback": "side effects",
    "callbacks.debug_callback": "side effects",
    "callbacks.debug_print": "side effects",
    "foreign.ffi_call": "Dictionary",
    "sharding.inspect_sharding": "side effects",
}


def samples():
    for primitive, found in find_samples().items():
        usable = [one for one in found if one.raises is None and not one.axes and one.strategy is None]
        usable = [one for one in usable if "numpy" in (one.backends or ("numpy",))]
        if usable:
            yield primitive.identity, usable[:3]


def loaded(contents: bytes) -> LoadedProgram:
    backend = get_backend("numpy")
    return LoadedProgram(SavedProgram(unpack(contents), DEFAULT, backend), backend)


@pytest.mark.parametrize(("identity", "found"), [pytest.param(*one, id=one[0]) for one in samples()])
def test_a_program_of_one_primitive_runs_from_its_file(identity, found):
    for sample in found:
        with enable_x64(True), tangrad.use_backend("numpy"):
            args = sample.args
            if identity in REFUSED:
                with pytest.raises((ArtifactError, TypeError), match=REFUSED[identity]):
                    sections_of(sample.apply, args, {})
                continue
            expected = sample.apply(*args)
            program = loaded(pack(sections_of(sample.apply, args, {})))
        for one, other in zip(tree.leaves(expected), tree.leaves(program(*args)), strict=True):
            assert dtypes.dtype_name(one.dtype) == dtypes.dtype_name(other.dtype)
            if isinstance(other, Array):  # random keys
                one, other = one.to_numpy(), other.to_numpy()
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_what_a_file_cannot_carry_is_still_there():
    """So that a name that is refused no more, or is gone, leaves the table."""
    assert REFUSED.keys() <= dict(samples()).keys()


# --- Saved programs whose sizes are found when they are called ---


SIZES = ((1, 2), (4, 3), (1, 5))
W = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)


def network(x, mask):
    hidden = tnp.tanh(x @ W) * mask[:, None]
    carry, steps = lax.scan(lambda c, row: (c + row, c * row), tnp.zeros(4), hidden)
    return {"carry": carry, "steps": steps, "mean": hidden.sum() / x.shape[0], "sorted": tnp.sort(x, 0)[::-1]}


def types(*specs, constraints=()):
    scope = SymbolicScope(constraints)
    return [ShapedArray(symbolic_shape(spec, scope=scope), "float32") for spec in specs]


def arguments(n):
    draw = np.random.default_rng(n)
    return draw.normal(size=(n, 3)).astype("float32"), draw.uniform(size=n).astype("float32")


def sized(function, *args, **options):
    return runtime.load(pack(sections_of(function, args, {})), **options)


def test_a_program_runs_at_several_sizes(tmp_path):
    runtime.save(network, tmp_path / "it.tgr", *types("n, 3", "n"))
    program = runtime.load(tmp_path / "it.tgr")
    assert str(program) == (
        "<saved program (x: f32[n,3], mask: f32[n]) -> (result['carry']: f32[4], result['mean']: f32[], "
        "result['sorted']: f32[n,3], result['steps']: f32[n,4])>"
    )
    for size in (2, 7, 1, 2):
        x, mask = arguments(size)
        found, expected = program(x, mask), network(x, mask)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=1e-6)


def test_gradients_and_64_bits_and_keys():
    with enable_x64(True):
        spec = symbolic_args_specs(np.ones(3), "n")
        program = sized(tangrad.grad(lambda x: tnp.sum(x**2) / x.shape[0] * tnp.arange(x.shape[0])[-1]), spec)
    for size in (2, 5):
        x = np.linspace(1, 2, size)
        assert program(x).dtype == np.float64
        np.testing.assert_allclose(program(x), 2 * x / size * (size - 1))
    keys = ShapedArray(symbolic_shape("n"), random.key(0).dtype)
    draws = sized(tangrad.vmap(random.uniform), keys)
    for size in (2, 5):
        keys = random.split(random.key(1), size)
        np.testing.assert_array_equal(draws(keys), tangrad.vmap(random.uniform)(keys))


def test_the_command(tmp_path, capsys):
    runtime.save(lambda x: x * 2, tmp_path / "it.tgr", *types("n, 2*m"))
    np.savez(tmp_path / "in.npz", x=np.ones((3, 4), "float32"))
    assert main([str(tmp_path / "it.tgr")]) == 0 and "x: float32[n, 2*m]" in capsys.readouterr().out
    assert main([str(tmp_path / "it.tgr"), str(tmp_path / "in.npz")]) == 0
    assert "result: float32[3, 4]" in capsys.readouterr().out


def test_calls_that_do_not_fit_are_named():
    program = sized(lambda x, y: x.sum() + y, *types("a, 3", "2*a + 1", constraints=("a >= 2",)))
    x, y = np.ones((3, 3), "float32"), np.ones(7, "float32")
    assert program(x, y).shape == (7,)
    for args, message in (
        ((x, y[1:]), r"y is of shape \(2\*a \+ 1,\); its dimension 0 has size 6, where 2\*a \+ 1 is 7"),
        ((x[:, 1:], y), "x is of shape .* its dimension 1 has size 2, not 3"),
        ((x[0], y), "x, which is of shape .* with 2 dimensions"),
        ((x[:1], y[:3]), r"a is 1; its constraints \(a >= 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            program(*args)
    with pytest.raises(TypeError, match="argument y must have dtype float32, got float64"):
        program(x, y.astype("float64"))


def test_what_cannot_be_saved_or_would_be_too_large():
    with pytest.raises(ArtifactError, match="do not determine a, b"):
        sized(lambda x: x, *types("a*b"))
    cube = sized(
        lambda x: (x[:, None, None] * x[:, None] * x).sum(), *types("n"), limits=runtime.Limits(value_bytes=5000)
    )
    assert cube(np.ones(10, "float32")) == 1000
    with pytest.raises(ValueError, match=r"values of type f32\[n,n,n\], where n = 11, take 5324 bytes; the limit"):
        cube(np.ones(11, "float32"))


def changed(change):
    """The file of a small program with something else in its description."""
    sections = dict(
        sections_of(lambda x: tnp.reshape(x, (-1,)) * x.shape[0], tuple(types("n, m", constraints=("n >= 2",))), {})
    )
    description = json.loads(sections["program"])
    change(description)
    return pack({**sections, "program": json.dumps(description).encode()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format=1), "states no constraints"),
        (lambda d: d.pop("constraints"), "no list 'constraints'"),
        (lambda d: d.update(constraints=["n >= 2"] * 65), "the constraints of the sizes are"),
        (lambda d: d.update(constraints=["__import__('os') >= 1"]), "cannot be read"),
        (lambda d: d.update(constraints=["n >= 2", "0 >= n"]), "can never hold"),
        (lambda d: d.update(constraints=[3]), "expected a size or a constraint as text, got 3"),
        (lambda d: d["types"][0].__setitem__(1, ["n", "m" * 2000]), "expected a size or a constraint as text"),
        (lambda d: d["types"][0].__setitem__(1, ["n", "m, m"]), "expected one size"),
        (lambda d: d["types"][0].__setitem__(1, ["n", "m // 0"]), "cannot be read|None"),
        (lambda d: d["types"][0].__setitem__(1, ["n", "(a + b + c + d)^32 * (e + f + g + h)^32"]), "cannot be read"),
        (lambda d: d["types"][0].__setitem__(1, ["n", "k"]), "does not take what the program|gives"),
        (lambda d: d["types"][0].__setitem__(1, [2, 3]), "does not take what the program|gives"),
    ],
)
def test_files_with_false_sizes_are_refused(change, message):
    assert runtime.load(changed(lambda d: None))(np.ones((2, 3), "float32")).shape == (6,)
    with pytest.raises(ArtifactError, match=message):
        runtime.load(changed(change))


def test_constants_have_sizes():
    sections = dict(sections_of(lambda x: x + W.sum(1), tuple(types("3")), {}))
    description = json.loads(sections["program"])
    assert description["format"] == 1 and "constraints" not in description
    again = {"format": 2, "constraints": []}
    for row in description["types"]:
        row[1] = ["n" for _ in row[1]]
    with pytest.raises(ArtifactError, match=r"a constant is of type f32\[n"):
        runtime.load(pack({**sections, "program": json.dumps({**description, **again}).encode()}))
    assert set(unpack(pack(sections))) == {"program", "data"}
