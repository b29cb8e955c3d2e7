"""A program that was trained and saved here runs where there is NumPy alone: same numbers, small, without the rest."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import nn, runtime, use_backend
from tangrad.core import backend_names
from tests.install.test_subsets import MEGABYTE

pytestmark = pytest.mark.slow
PROGRAM = """
import sys
import numpy as np
from tangrad import runtime
program = runtime.load("{path}")
data = dict(np.load("{data}"))
np.save("{out}", program(data["x"]))
assert "jaxlib" not in sys.modules and "jax" not in sys.modules
"""


def train(x, y):
    """A small network, a few steps of gradient descent."""

    def outputs(params, x):
        hidden = nn.relu(x @ params["w1"] + params["b1"])
        return nn.softmax(hidden @ params["w2"])

    def loss(params):
        return -tnp.mean(tnp.sum(tnp.log(outputs(params, x)) * y, axis=1))

    draw = np.random.default_rng(0).normal
    params = {"w1": draw(size=(8, 16)) / 3, "b1": np.zeros(16), "w2": draw(size=(16, 3)) / 4}
    params = {name: np.asarray(value, "float32") for name, value in params.items()}
    step = tangrad.jit(lambda params: tangrad.tree.map(lambda p, g: p - 0.5 * g, params, tangrad.grad(loss)(params)))
    first = loss(params)
    for _ in range(20):
        params = step(params)
    assert loss(params) < 0.9 * first
    return tangrad.jit(lambda x: outputs(params, x))


@pytest.mark.parametrize("backend", backend_names())
def test_trained_here_and_run_on_numpy_alone(tmp_path, make_environment, backend):
    draw = np.random.default_rng(1)
    x, y = draw.normal(size=(32, 8)).astype("float32"), np.eye(3, dtype="float32")[draw.integers(0, 3, 32)]
    with use_backend(backend):
        predict = train(x, y)
        runtime.save(predict, tmp_path / "it.tgr", x)
        expected = np.asarray(predict(x))
    np.savez(tmp_path / "in.npz", x=x)
    environment = make_environment("tangrad-runtime")
    installed = {name for name in environment.installed() if name.startswith(("tangrad", "jax"))}
    parts = ("core", "lax", "backend-numpy", "runtime")
    assert installed == {f"tangrad-{part}" for part in parts}
    environment.run(PROGRAM.format(path=tmp_path / "it.tgr", data=tmp_path / "in.npz", out=tmp_path / "out.npy"))
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, rtol=1e-5, atol=1e-6)
    printed = environment.command("python", "-m", "tangrad.runtime", str(tmp_path / "it.tgr"), str(tmp_path / "in.npz"))
    assert printed.startswith("result: float32[32, 3]")


def test_what_a_program_needs_is_named_where_it_is_missing(tmp_path, make_environment):
    runtime.save(lambda x: tnp.fft.fft(x), tmp_path / "it.tgr", np.ones(4, "float32"))
    environment = make_environment("tangrad-runtime")
    printed = environment.run(
        f"from tangrad import runtime\ntry:\n    runtime.load({str(tmp_path / 'it.tgr')!r})\n"
        "except runtime.ArtifactError as error:\n    print(error)"
    )
    assert "'fft', of tangrad-numpy 0.1.0: not installed; pip install tangrad-numpy" in printed


def test_the_install_is_small_and_pure_python(wheels, make_environment):
    names = {name for name in make_environment("tangrad-runtime").installed() if name.startswith("tangrad-")}
    files = [next(wheels.glob(f"{name.replace('-', '_')}-*.whl")) for name in names]
    assert all(file.name.endswith("-py3-none-any.whl") for file in wheels.glob("*.whl"))
    # pluggy and typing-extensions, the only others, are 20 and 45 kB.
    assert sum(file.stat().st_size for file in files) < 1.4 * MEGABYTE
