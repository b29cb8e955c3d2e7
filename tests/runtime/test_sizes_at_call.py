"""Saved programs whose sizes are found when they are called."""

import json

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, random, runtime
from tangrad._runtime.container import pack, unpack
from tangrad._runtime.saving import sections_of
from tangrad.core import ShapedArray
from tangrad.export import SymbolicScope, symbolic_args_specs, symbolic_shape
from tangrad.runtime import ArtifactError
from tangrad.runtime.__main__ import main

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


def loaded(function, *args, **options):
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
        program = loaded(tangrad.grad(lambda x: tnp.sum(x**2) / x.shape[0] * tnp.arange(x.shape[0])[-1]), spec)
    for size in (2, 5):
        x = np.linspace(1, 2, size)
        assert program(x).dtype == np.float64
        np.testing.assert_allclose(program(x), 2 * x / size * (size - 1))
    keys = ShapedArray(symbolic_shape("n"), random.key(0).dtype)
    draws = loaded(tangrad.vmap(random.uniform), keys)
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
    program = loaded(lambda x, y: x.sum() + y, *types("a, 3", "2*a + 1", constraints=("a >= 2",)))
    x, y = np.ones((3, 3), "float32"), np.ones(7, "float32")
    assert program(x, y).shape == (7,)
    for args, message in (
        ((x, y[1:]), r"y is of shape \(2\*a \+ 1,\); its dimension 0 has size 6, where 2\*a \+ 1 is 7"),
        ((x[:, 1:], y), "x is of shape .* its dimension 1 has size 2, not 3"),
        ((x[0], y), "x is of shape .* with 2 dimensions"),
        ((x[:1], y[:3]), r"a is 1; its constraints \(a >= 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            program(*args)
    with pytest.raises(TypeError, match="argument y must have dtype float32, got float64"):
        program(x, y.astype("float64"))


def test_what_cannot_be_saved_or_would_be_too_large():
    with pytest.raises(ArtifactError, match="do not determine a, b"):
        loaded(lambda x: x, *types("a*b"))
    cube = loaded(
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
